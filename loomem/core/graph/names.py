"""Names: when two spellings are one, and when one is a part of another. Pure."""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache

NAME_CHARS = 200
"""Of one name; what is longer is none."""
_PLAIN = str.maketrans({"ł": "l", "đ": "d", "ø": "o", "æ": "ae", "œ": "oe", "ħ": "h", "ı": "i"})
_PLAIN_BOTH = {**_PLAIN, ord("Ł"): "L", ord("Ø"): "O"}
_EDGES = " \t\r\n\"'`´‘’“”„«»<>()[]{}*_,;:!?"
_POSSESSIVE = re.compile(r"['’]s\Z")


@lru_cache(maxsize=20_000)
def key_of(name: str) -> str:
    """Return by what a name is known, whatever its case, accents and quotes; empty when it is no name."""
    text = name.strip(_EDGES).rstrip(".")
    text = _POSSESSIVE.sub("", text)
    if text.isascii():
        return " ".join(text.lower().split())
    text = unicodedata.normalize("NFKD", text).casefold().translate(_PLAIN)
    return " ".join("".join(c for c in text if not unicodedata.combining(c)).split())


def plain(text: str) -> str:
    """Return a text without accents, its case kept."""
    if text.isascii():
        return text
    text = unicodedata.normalize("NFKD", text).translate(_PLAIN_BOTH)
    return "".join(c for c in text if not unicodedata.combining(c))


def is_name(name: str) -> bool:
    """Say whether a text can be a name."""
    return 0 < len(name) <= NAME_CHARS and any(c.isalnum() for c in key_of(name))


def is_part(short: str, long: str) -> bool:
    """Say whether the words of one key stand side by side, in order, in another that has more words."""
    return len(short) < len(long) and f" {short} " in f" {long} "


def parts(key: str) -> list[str]:
    """Return every shorter run of the words of a key."""
    words = key.split()
    return [
        " ".join(words[start:end])
        for start in range(len(words))
        for end in range(start + 1, len(words) + 1)
        if end - start < len(words)
    ]
