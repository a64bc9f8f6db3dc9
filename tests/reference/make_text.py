"""Reference data for core/text: what `tokenizers` and `transformers` make of texts of every kind.

Files: NAME.json are small tokenizers (the real one is tests/data/qwen3-tokenizer); cases-NAME.bin what each encodes,
decode-NAME.bin what it decodes, nfc.bin and classes.bin what the library knows of Unicode, chat.json conversations.
Binary files are little-endian: a count of 32 bits stands before each string and each list of 32-bit numbers.
"""

import json
import random
import struct

import tokenizers
from tokenizers import Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, trainers

import common
import text_chats
import text_samples

QWEN = common.TEST_DATA / "qwen3-tokenizer"


def packed_text(text):
    data = text if isinstance(text, bytes) else text.encode()
    return struct.pack("<I", len(data)) + data


def packed_numbers(numbers):
    return struct.pack(f"<I{len(numbers)}i", len(numbers), *numbers)


def without_added_tokens(definition):
    """The same tokenizer, blind to added tokens and never making one: what text that people typed must become."""
    contents = {t["content"] for t in definition["added_tokens"]}
    merges = [m for m in definition["model"]["merges"] if (m.replace(" ", "", 1) if isinstance(m, str) else "".join(m)) not in contents]
    return Tokenizer.from_str(json.dumps(definition | {"added_tokens": [], "model": definition["model"] | {"merges": merges}}))


def write_cases(path, definition, samples):
    """Each record: the text, its ids as plain text, its ids with added tokens recognised."""
    recognising, blind = Tokenizer.from_str(json.dumps(definition)), without_added_tokens(definition)
    texts = [s.decode("utf-8", "replace") if isinstance(s, bytes) else s for s in samples]
    with path.open("wb") as out:
        for sample, plain, recognised in zip(
            samples, blind.encode_batch(texts, add_special_tokens=False), recognising.encode_batch(texts, add_special_tokens=False)
        ):
            out.write(packed_text(sample) + packed_numbers(plain.ids) + packed_numbers(recognised.ids))


def write_decodings(path, definition, count, rng):
    """Each record: ids, their text without and with special tokens."""
    tokenizer = Tokenizer.from_str(json.dumps(definition))
    size = tokenizer.get_vocab_size(with_added_tokens=True)
    special = [t["id"] for t in definition["added_tokens"]]
    with path.open("wb") as out:
        for _ in range(count):
            ids = [rng.choice(special) if rng.random() < 0.1 else rng.randrange(size + 3) for _ in range(rng.randrange(0, 60))]
            if rng.random() < 0.5:  # the tokens of single bytes: broken and split characters
                ids = [rng.randrange(256) if rng.random() < 0.8 else i for i in ids]
            out.write(packed_numbers(ids))
            for skip in (True, False):
                out.write(packed_text(tokenizer.decode(ids, skip_special_tokens=skip)))


def write_pieces(path, definition, samples):
    """Each record: the text, the bytes of each piece that the regex splits it into."""
    split = pre_tokenizers.Split(Regex(definition["pre_tokenizer"]["pretokenizers"][0]["pattern"]["Regex"]), "isolated")
    with path.open("wb") as out:
        for text in samples:
            out.write(packed_text(text) + packed_numbers([len(piece.encode()) for piece, _ in split.pre_tokenize_str(text)]))


def write_unicode(folder, rng):
    """classes.bin: one byte a code point, 0 other, 1 letter, 2 number, 3 space. nfc.bin: pairs of a text and its NFC."""
    points = [c for c in range(0x110000) if not 0xD800 <= c < 0xE000]
    classes = bytearray(0x110000)
    for value, regex in enumerate((r"\p{L}", r"\p{N}", r"\s"), start=1):
        remove = pre_tokenizers.Split(Regex(regex), "removed")
        for start in range(0, len(points), 1 << 14):
            chunk = points[start : start + (1 << 14)]
            kept = {ord(c) for piece, _ in remove.pre_tokenize_str("".join(map(chr, chunk))) for c in piece}
            for c in set(chunk) - kept:
                classes[c] = value
    (folder / "classes.bin").write_bytes(classes)

    nfc, nfd = normalizers.NFC().normalize_str, normalizers.NFD().normalize_str
    texts = [chr(c) for c in points] + [d for c in points if (d := nfd(chr(c))) != chr(c)]
    texts += [text_samples.marks(rng) for _ in range(20000)] + [text_samples.jamo(rng) for _ in range(2000)]
    with (folder / "nfc.bin").open("wb") as out:
        for text in texts:
            out.write(packed_text(text) + packed_text(nfc(text)))


def small_tokenizers(qwen, rng):
    """{name: definition} of tokenizers of the same kind with a tiny vocabulary, as a demo model carries one."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(Regex(qwen["pre_tokenizer"]["pretokenizers"][0]["pattern"]["Regex"]), "isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    )
    tokenizer.decoder = decoders.ByteLevel()
    special = [t["content"] for t in qwen["added_tokens"] if t["special"]]
    trainer = trainers.BpeTrainer(vocab_size=900, special_tokens=special, initial_alphabet=pre_tokenizers.ByteLevel.alphabet(), show_progress=False)
    tokenizer.train_from_iterator(text_samples.training_text(rng), trainer)
    tokenizer.add_tokens(["<think>", "</think>"])
    plain = json.loads(tokenizer.to_str())

    def changed(**parts):
        return json.loads(json.dumps(plain)) | parts

    # Words that no merge makes: reached only where merges are ignored. What is added comes after the vocabulary.
    size = len(plain["model"]["vocab"])
    odd = plain["model"]["vocab"] | {"photograph": size, "Ġstraße": size + 1}
    pushed = [t | {"id": t["id"] + 2 * (t["id"] >= size)} for t in plain["added_tokens"]]
    cafe = {"id": size + 2, "content": "caf\u00e9 \u4e2d", "single_word": False, "lstrip": False, "rstrip": False, "normalized": True, "special": False}
    normalised = [t | {"normalized": True} for t in plain["added_tokens"]] + [cafe]
    # A word that merges make, but added as well; and a longer one that begins with it.
    word = max(("".join(m) for m in plain["model"]["merges"] if "".join(m).isascii()), key=len)
    flags = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False, "special": False}
    words = [{"id": plain["model"]["vocab"][word], "content": word} | flags, {"id": size + 2, "content": word + "s"} | flags]
    return {
        "small": plain,
        "small-words-added": changed(added_tokens=plain["added_tokens"] + words),
        "small-nfc-text-merges": changed(normalizer={"type": "NFC"}, model=plain["model"] | {"merges": [" ".join(m) for m in plain["model"]["merges"]]}),
        "small-ignore-merges": changed(added_tokens=pushed, model=plain["model"] | {"vocab": odd, "ignore_merges": True}),
        "small-odd-words": changed(added_tokens=pushed, model=plain["model"] | {"vocab": odd}),
        "small-normalised": changed(normalizer={"type": "NFC"}, added_tokens=normalised),
    }


def make(folder):
    """Text: tokenizer, Unicode and chat template."""
    rng = random.Random(20250)
    qwen = json.loads((QWEN / "tokenizer.json").read_text())
    samples = text_samples.everything(rng, [t["content"] for t in qwen["added_tokens"]])
    assert len(samples) > 20000
    write_cases(folder / "cases-qwen3.bin", qwen, samples)
    write_pieces(folder / "pieces.bin", qwen, [s for s in samples if isinstance(s, str) and len(s) < 1000])
    write_decodings(folder / "decode-qwen3.bin", qwen, 3000, rng)
    for name, definition in small_tokenizers(qwen, rng).items():
        (folder / f"{name}.json").write_text(json.dumps(definition, ensure_ascii=False, indent=2))
        write_cases(folder / f"cases-{name}.bin", definition, rng.sample(samples, 3000) + text_samples.words(rng, definition))
        write_decodings(folder / f"decode-{name}.bin", definition, 300, rng)
    write_unicode(folder, rng)
    text_chats.write(folder / "chat.json", QWEN, Tokenizer.from_str(json.dumps(qwen)), without_added_tokens(qwen), rng)


if __name__ == "__main__":
    common.run(make, __file__, inputs=[text_samples.__file__, text_chats.__file__, QWEN / "tokenizer.json", QWEN / "tokenizer_config.json"])
