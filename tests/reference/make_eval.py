"""What pycocoevalcap gives for made-up captions and answers, tokenised here by other means than the program's."""

import json
import random
import re
import sys
import unicodedata

from pycocoevalcap.bleu.bleu import Bleu
from pycocoevalcap.cider.cider import Cider
from pycocoevalcap.rouge.rouge import Rouge

import common

# A word, seen through names for what may stand in one: the rules of core/eval/words.h as one expression.
LETTER = r"[^\W_\u3041-\u30ff\u3400-\u4dbf\u4e00-\u9fff]"
WORD = re.compile(
    rf"(?P<number>\d+(?:[.,:]\d+)+(?:[-'/_@]?{LETTER}+)*)|(?P<word>{LETTER}+(?:(?:[-'/_@]|(?<=\d)[.,:](?=\d)){LETTER}+)*)|(?P<one>[$%&#+=*]|[\u3041-\u30ff\u3400-\u4dbf\u4e00-\u9fff])"
)
CLITIC = re.compile(r"(.+)(n't|'s|'re|'ve|'ll|'d|'m)$")


def normalised(text):
    return " ".join(unicodedata.normalize("NFC", text).lower().split())


def words(text):
    text = normalised(text).replace("\u2019", "'").replace("\u2010", "-").replace("\u2011", "-")
    found = []
    for match in WORD.finditer(text):
        word = match.group()
        if word == "cannot":
            found += ["can", "not"]
        elif split := CLITIC.match(word):
            found += split.groups()
        else:
            found.append(word)
    return found


# The output of the Penn Treebank tokenizer of Stanford's CoreNLP 3.4.1, its punctuation and brackets removed.
TOKENISED = [
    ("A man isn't riding the dog's bike.", "a man is n't riding the dog 's bike"),
    ("The dogs' t-shirt costs $3.50 (50% off) & more!", "the dogs t-shirt costs $ 3.50 50 % off & more"),
    ("red/blue and #1 at home, 1,000 flags", "red/blue and # 1 at home 1,000 flags"),
    ("I cannot say \"hello\" \u2014 it\u2019s o'clock\u2026", "i can not say hello it 's o'clock"),
    ("\u00c9lan CAF\u00c9 \u041f\u0420\u0418\u0412\u0415\u0422 na\u00efve [x] {y}", "\u00e9lan caf\u00e9 \u043f\u0440\u0438\u0432\u0435\u0442 na\u00efve x y"),
    ("they're we've I'll he'd I'm don't won't can't", "they 're we 've i 'll he 'd i 'm do n't wo n't ca n't"),
    ("a black-and-white photo; two-story house: yes", "a black-and-white photo two-story house yes"),
    ("x+y=z 3*4 a_b", "x + y = z 3 * 4 a_b"),
    ("10:30 1/2 no", "10:30 1/2 no"),
    ("'quoted' words -- dash - dash", "quoted words dash dash"),
    ("", ""),
    ("...", ""),
    (" \t\n\u3000 ", ""),
]  # fmt: skip
# Where the program goes its own way: no space between words, marks, ill-formed bytes as Latin-1 here.
OWN = [
    ("\u4e00\u96bb\u732b\u3002\u3042\u308b", "\u4e00 \u96bb \u732b \u3042 \u308b"),
    ("a cat \U0001f600 sits", "a cat \U0001f600 sits"),
    ("three o\u2019clock", "three o'clock"),
    ("E\u0301toile cafe\u0301", "\u00e9toile caf\u00e9"),
    ("\u0939\u093f\u0928\u094d\u0926\u0940 \u0915\u0940\u0964", "\u0939\u093f\u0928\u094d\u0926\u0940 \u0915\u0940"),
]

COLOURS = ["red", "blue", "green", "dark-green", "white", "caf\u00e9-brown"]
SHAPES = ["circle", "square", "star", "dog's bowl", "\u0437\u0432\u0435\u0437\u0434\u0430", "\u00dcbergr\u00f6\u00dfe"]
PLACES = ["to the left of", "above", "beside", "isn't near"]


def caption(draw):
    text = f"a {draw.choice(['large ', 'small ', ''])}{draw.choice(COLOURS)} {draw.choice(SHAPES)}"
    for _ in range(draw.randint(0, 2)):
        text += f" {draw.choice(PLACES)} a {draw.choice(COLOURS)} {draw.choice(SHAPES)}"
    return text + draw.choice(["", ".", " on a white background", ", 3.5 cm wide!"])


def worsened(draw, text):
    parts = text.split()
    for _ in range(draw.randint(0, 3)):
        at = draw.randrange(len(parts))
        match draw.randrange(4):
            case 0:
                del parts[at]
            case 1:
                parts.insert(at, parts[at])
            case 2:
                parts[at] = draw.choice(COLOURS)
            case 3:
                parts[at] = parts[at].upper()
        if not parts:
            return ""
    return " ".join(parts)


def texts():
    draw = random.Random(20)
    made = []
    for _ in range(44):
        references = [caption(draw)]
        references += [worsened(draw, references[0]) + " again" for _ in range(draw.randint(0, 4))]
        made.append({"candidate": worsened(draw, draw.choice(references)), "references": references, "question": False,
                     "kinds": [f"{min(len(references), 3)} references"]})  # fmt: skip
    for i in range(16):
        answer = draw.choice(["Yes", "no", "two", "a red star", "white", "to the left"])
        made.append({"candidate": answer.lower() if i % 3 else "no", "references": [answer], "question": True,
                     "kinds": [draw.choice(["colour", "count"]), "short"]})  # fmt: skip
    made += [
        {"candidate": "", "references": ["a red circle on a white background", "circle"], "question": False, "kinds": ["odd", "empty"]},
        {"candidate": "...", "references": ["a red circle"], "question": False, "kinds": ["odd", "empty"]},
        {"candidate": "the the the the the the", "references": ["the cat the mat", "there is a cat on the mat"], "question": False, "kinds": ["odd"]},
        {"candidate": "a red circle " * 20, "references": ["a red circle"], "question": False, "kinds": ["odd"]},
        {"candidate": "  A Red\tCIRCLE ", "references": ["no", "a red circle"], "question": False, "kinds": ["odd", "alone"]},
        {"candidate": "\u4e00\u96bb\u7d05\u8272\u7684\u732b", "references": ["\u4e00\u96bb\u732b", "\u7d05\u8272\u7684\u732b\u3002"], "question": False, "kinds": ["odd"]},
        {"candidate": "a red circle above", "references": ["a red circle above a star", "a circle"], "question": False, "kinds": ["tie"]},
        {"candidate": "CAFE\u0301", "references": ["caf\u00e9"], "question": True, "kinds": ["odd"]},
        {"candidate": "yes.", "references": ["yes", "..."], "question": True, "kinds": ["odd"]},
    ]  # fmt: skip
    return made


def metrics(split, texts):
    def joined(choose):
        return {i: [" ".join(words(text)) for text in choose(row)] for i, row in enumerate(texts)}

    references, candidates = joined(lambda row: row["references"]), joined(lambda row: [row["candidate"]])
    exact = [normalised(row["candidate"]) in map(normalised, row["references"]) for row in texts]
    values = {
        "exact_match": sum(exact) / len(exact),
        "bleu4": Bleu(4).compute_score(references, candidates, verbose=0)[0][3],
        "rouge_l": float(Rouge().compute_score(references, candidates)[0]),
        "cider": float(Cider().compute_score(references, candidates)[0]),
    }
    return [{"metric": name, "split": split, "value": value, "n": len(texts)} for name, value in values.items()]


def make(folder):
    """Texts with the metrics of each split, words, and the small letters of capitals."""
    made = texts()
    splits = {"captions": [row for row in made if not row["question"]], "questions": [row for row in made if row["question"]]}
    for kind in sorted({kind for row in made for kind in row["kinds"]}):
        splits[kind] = [row for row in made if kind in row["kinds"]]
    for text, expected in TOKENISED:
        assert words(text) == expected.split(), (text, words(text))
    alphabets = [*range(0xC0, 0x180), *range(0x386, 0x3AC), *range(0x400, 0x530), *range(0x531, 0x557), *range(0x1E00, 0x1F00), *range(0xFF21, 0xFF3B)]
    capitals = [c for c in map(chr, alphabets) if len(c.lower()) == 1 != c.isspace() and unicodedata.normalize("NFC", c) == c and c.lower() != c]
    (folder / "eval.json").write_text(json.dumps({
        "texts": made,
        "metrics": [metric for name, rows in splits.items() for metric in metrics(name, rows)],
        "words": [{"text": text, "words": expected.split()} for text, expected in TOKENISED + OWN],
        "lower": [{"capital": c, "small": c.lower()} for c in capitals],
    }))  # fmt: skip


if __name__ == "__main__":
    sys.exit(common.run(make, __file__, packages=("pycocoevalcap", "numpy")))
