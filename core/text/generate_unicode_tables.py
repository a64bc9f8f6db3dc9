"""Writes unicode_tables.cpp: the Unicode facts a Qwen tokenizer needs, as the `tokenizers` library sees them.

The library mixes Unicode versions: Oniguruma's recent one for \\p{L}, \\p{N} and \\s, and an older one for NFC. Models were
trained on ids made that way, so the library itself is asked, code point by code point, rather than unicode.org.

    python generate_unicode_tables.py > unicode_tables.cpp
"""

import unicodedata

import tokenizers
from tokenizers import Regex, normalizers, pre_tokenizers

CODE_POINTS = [c for c in range(0x110000) if not 0xD800 <= c < 0xE000]
HANGUL = range(0xAC00, 0xD7A4)
nfc = normalizers.NFC().normalize_str
nfd = normalizers.NFD().normalize_str


def matching(regex):
    """The code points that a one-character regex matches."""
    remove = pre_tokenizers.Split(Regex(regex), "removed")
    found = set()
    for start in range(0, len(CODE_POINTS), 1 << 14):
        chunk = CODE_POINTS[start : start + (1 << 14)]
        kept = {ord(c) for piece, _ in remove.pre_tokenize_str("".join(map(chr, chunk))) for c in piece}
        found |= set(chunk) - kept
    return found


def combining_classes():
    """{code point: canonical combining class} of what the library reorders; the numbers are unicodedata's, the order is checked."""
    ypogegrammeni = 0x345  # the only one of class 240, the highest there is
    classes = {ypogegrammeni: 240}
    for c in CODE_POINTS:
        if c != ypogegrammeni and nfd(chr(ypogegrammeni) + chr(c)) == chr(c) + chr(ypogegrammeni):
            classes[c] = unicodedata.combining(chr(c))
    stable = {c: k for c, k in classes.items() if nfd(chr(c)) == chr(c)}
    witnesses = {k: c for c, k in stable.items()}
    for c, k in stable.items():
        for other, w in witnesses.items():
            if c != w:
                assert (nfd(chr(w) + chr(c)) == chr(c) + chr(w)) == (0 < k < other), (hex(c), hex(w))
    return classes


def decompositions():
    """Two lists of (code point, first, second), one step of canonical decomposition: what NFC composes again, and what it does not.

    second is 0 where there is only one."""
    full = {c: nfd(chr(c)) for c in CODE_POINTS if c not in HANGUL and nfd(chr(c)) != chr(c)}
    by_text = {text: c for c, text in full.items() if nfc(text) == chr(c)}
    any_by_text = {text: c for c, text in full.items()}

    def one(text):
        return ord(text) if len(text) == 1 else by_text.get(text) or any_by_text[text]

    composing, lasting = [], []
    for c, text in full.items():
        composes = nfc(text) == chr(c)
        if len(text) == 1 or (not composes and text in by_text):
            lasting.append((c, one(text), 0))
        else:
            (composing if composes else lasting).append((c, one(text[:-1]), ord(text[-1])))
    return composing, lasting


def ranges(points):
    """[(first, last)] of runs of consecutive code points."""
    runs = []
    for p in sorted(points):
        if runs and runs[-1][1] == p - 1:
            runs[-1][1] = p
        else:
            runs.append([p, p])
    return runs


def table(kind, name, rows):
    """One C++ array, wrapped to the width of the project."""
    print(f"const {kind} {name}_data[] = {{")
    line = "   "
    for row in rows:
        cell = " {" + ",".join(f"0x{v:X}" for v in row) + "},"
        if len(line) + len(cell) > 120:
            print(line)
            line = "   "
        line += cell
    print(line + f"\n}};\nconst std::span<const {kind}> {name}{{{name}_data}};\n")


def main():
    classes = combining_classes()
    by_class = [(first, last, k) for k in sorted(set(classes.values())) for first, last in ranges(c for c in classes if classes[c] == k)]
    print(f"// Made by generate_unicode_tables.py from tokenizers {tokenizers.__version__}; do not edit.")
    print('#include "core/text/unicode_tables.h"\n\n// clang-format off\nnamespace vitrine::unicode {\n')
    table("Range", "letters", ranges(matching(r"\p{L}")))
    table("Range", "numbers", ranges(matching(r"\p{N}")))
    table("Range", "spaces", ranges(matching(r"\s")))
    table("ClassRange", "combining_classes", sorted(by_class))
    composing, lasting = decompositions()
    table("Decomposition", "composing", composing)
    table("Decomposition", "lasting", lasting)
    print("}  // namespace vitrine::unicode")


main()
