"""What a character is, and how different spellings of one become the same. Pure."""

from __future__ import annotations

import unicodedata

UPPER, LETTER, DIGIT, IDEOGRAPH, HANGUL, UNSPACED, UNSPACED_MARK, SYMBOL, FLAG, GAP = "uldhktmsr "
"""Classes of characters: capital, other letter or mark, decimal digit, Han or kana, Hangul, base and mark of a script
written without spaces (Thai, Lao, Khmer, Myanmar), emoji or other sign, regional indicator, everything that separates."""

JOINERS = "._-/:@'#+&=?\\~%,"
"""What may stand inside an identifier, a number or an address; each is its own class."""

_IDEOGRAPHS = (
    (0x2E80, 0x2FDF),
    (0x3005, 0x3007),
    (0x3021, 0x3029),
    (0x3041, 0x30FA),
    (0x30FC, 0x312F),
    (0x31A0, 0x31FF),
    (0x3400, 0x9FFF),
    (0xF900, 0xFAFF),
    (0x1AFF0, 0x1B16F),
    (0x20000, 0x3FFFF),
)
_HANGUL = ((0x1100, 0x11FF), (0x3130, 0x318F), (0xA960, 0xA97F), (0xAC00, 0xD7FF))
_UNSPACED = ((0x0E01, 0x0E4E), (0x0E80, 0x0ECE), (0x0EDC, 0x0EFF), (0x1000, 0x109F), (0x1780, 0x17D3), (0xAA60, 0xAA7F))
_COENG = 0x17D2
"""Khmer: binds the next consonant below the one before."""
_KEYCAP = 0x20E3
_ZERO_WIDTH_SPACE = 0x200B
_APOSTROPHES = frozenset("\u2018\u2019\u02bc\u02b9\u2032\u05f3")
_DASHES = frozenset("\u2010\u2011\u2212")
_LIGATURES = str.maketrans(
    {
        "ł": "l", "ø": "o", "đ": "d", "ð": "d", "þ": "th", "æ": "ae", "œ": "oe", "ı": "i", "ħ": "h", "ŧ": "t", "ŋ": "n",
        "ə": "e", "ɓ": "b", "ɗ": "d", "ƙ": "k", "ѐ": "е", "ґ": "г", "ى": "ي", "ة": "ه", "ک": "ك", "ی": "ي", "ٱ": "ا",
    }
)  # fmt: skip
"""Letters whose mark is not a combining one, and the final letters of Arabic that writers confuse."""
_MARKS_TO_FOLD = ("LATIN", "GREEK", "CYRILLIC", "ARABIC", "HEBREW", "COMBINING")
"""Scripts whose marks people leave out when they type. Elsewhere (kana, the scripts of India) a mark is a sound."""


def _within(code: int, ranges: tuple[tuple[int, int], ...]) -> bool:
    return any(low <= code <= high for low, high in ranges)


class _Classes(dict[int, str]):
    def __missing__(self, code: int) -> str:
        found = self[code] = _class_of(code)
        return found


def _class_of(code: int) -> str:
    character = chr(code)
    category = unicodedata.category(character)
    if character in JOINERS:
        return character
    if category == "Nd":
        return DIGIT
    if category[0] in "LMN":
        return _letter(code, category)
    if category in ("So", "Sc", "Sm") and code > 0x7F:
        return FLAG if 0x1F1E6 <= code <= 0x1F1FF else SYMBOL
    return SYMBOL if category == "Co" else GAP


def _letter(code: int, category: str) -> str:
    if _within(code, _IDEOGRAPHS):
        return IDEOGRAPH
    if _within(code, _HANGUL):
        return HANGUL
    if _within(code, _UNSPACED):
        return UNSPACED_MARK if category[0] == "M" else UNSPACED
    return UPPER if category in ("Lu", "Lt") else LETTER


class _Cleaning(dict[int, str | None]):
    def __missing__(self, code: int) -> str | None:
        found = self[code] = _clean_one(code)
        return found


def _clean_one(code: int) -> str | None:
    character = chr(code)
    category = unicodedata.category(character)
    if code == _ZERO_WIDTH_SPACE or category in ("Cc", "Cs", "Cn"):
        return " "
    if category == "Cf" or code == _KEYCAP or 0xFE00 <= code <= 0xFE0F or 0x1F3FB <= code <= 0x1F3FF:
        return None
    if category == "Nd":
        return str(unicodedata.decimal(character))
    if character in _APOSTROPHES:
        return "'"
    return "-" if character in _DASHES else character


_CLASSES = _Classes()
_CLEANING = _Cleaning()


def clean(text: str) -> str:
    """Return a text in which every spelling of a character is one: NFKC, ASCII digits, nothing invisible."""
    if text.isascii():
        return text
    return unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).translate(_CLEANING))


def classes(text: str) -> str:
    """Return the class of each character of a clean text."""
    return text.translate(_CLASSES)


def lower(word: str) -> str:
    """Return a clean word without case, accents kept."""
    return word.lower() if word.isascii() else unicodedata.normalize("NFKC", word.casefold())


def fold(word: str) -> str:
    """Return a word of `lower` without accents, tashkeel, niqqud and the like."""
    if word.isascii():
        return word
    apart = unicodedata.normalize("NFKD", word)
    kept = [c for c in apart if unicodedata.category(c) != "Mn" or not _may_go(c)]
    return unicodedata.normalize("NFKC", "".join(kept)).translate(_LIGATURES).replace("ـ", "")


def _may_go(mark: str) -> bool:
    return unicodedata.name(mark, "").startswith(_MARKS_TO_FOLD) and "KATAKANA" not in unicodedata.name(mark, "")


def clusters(text: str, found: str) -> list[str]:
    """Return a run of an unspaced script as readers count characters: a base with what stands on, under or after it.

    `found` are the classes of the text.
    """
    parts: list[str] = []
    for character, kind in zip(text, found, strict=True):
        if parts and (kind == UNSPACED_MARK or ord(parts[-1][-1]) == _COENG):
            parts[-1] += character
        else:
            parts.append(character)
    return parts
