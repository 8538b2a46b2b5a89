"""A chunk (what stands between two spaces) taken apart into pieces that an index or a query can use. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator
from enum import IntEnum
from typing import NamedTuple

from loomem.core.analyse.characters import classes, clusters, fold, lower

TOKEN_LIMIT = 64
"""Characters of a term that count; the same for documents and queries."""
_SPLIT_LIMIT = 4
"""An identifier of more letter-digit changes is a hash or a key, whose parts say nothing."""


class Kind(IntEnum):
    """What a piece is. Those up to `SIGN` have a place in the order of the text."""

    WORD = 0
    """Stands alone between separators."""
    PART = 1
    """A word inside an identifier, a number, an address."""
    CHARACTER = 2
    """One of a script without spaces."""
    SIGN = 3
    """Emoji, currency, arrow; or a name such as C++."""
    WHOLE = 4
    """An identifier, number or address of several parts."""
    CAMEL = 5
    """A part of a word without separator: get, User, 8."""
    PAIR = 6
    """Two neighbouring characters of a script without spaces, or of a Korean word."""
    SYLLABLE = 7
    """One syllable of a Korean word."""


class Piece(NamedTuple):
    kind: Kind
    text: str
    """Without case, not folded."""


_OF_LETTERS = frozenset((Kind.WORD, Kind.PART, Kind.WHOLE, Kind.CAMEL))
"""May be nothing but accents, which is nothing."""
_WORD = "[uld]+"
_TOKENS = re.compile(
    r"(?P<sharp>[ul]{1,2}(?:\+\+|#)(?![uld]))"
    rf"|(?P<compound>{_WORD}(?:(?:[._\-/:@'#+&=?\\~%]{{1,3}}|(?<=d),(?=d)){_WORD})*)"
    r"|(?P<ideographs>h+)|(?P<hangul>k+)|(?P<unspaced>[tm]+)|(?P<sign>s|rr?)"
)
_SEGMENTS = re.compile(r"[/:@?&=#\\~%+]+")
_DOTS = re.compile(r"[.,]+")
_HYPHENS = re.compile(r"[-_']+")
_CONTRACTED = frozenset(("s", "m", "d", "ll", "re", "ve"))
"""Anna's, I'm, we'll: English, and no word of its own."""
_CAMEL = re.compile("u+(?=ul)|u?l+|u+|d+")
_NUMBER = re.compile(r"[\d.,']*\d")
_GROUPED = re.compile(r"\d{1,3}(?:\.\d{3})+|\d{1,3}(?:,\d{3})+")
_GROUPED_DECIMAL = re.compile(r"(\d{1,3}(?:,\d{3})+)\.(\d+)|(\d{1,3}(?:\.\d{3})+),(\d+)")
_SPACED_NUMBER = re.compile(r"\d\d?\d?(?: \d{3})+(?!\d)")  # begins with one set: the scan for it is quick


def chunks(text: str) -> list[str]:
    """Return what stands between the spaces of a clean text; a number grouped by spaces stays together."""
    return _SPACED_NUMBER.sub(_join_number, text).split()


def _join_number(found: re.Match[str]) -> str:
    before = found.string[found.start() - 1 : found.start()]
    return found[0] if before and before in "0123456789.," else found[0].replace(" ", "'")


def is_plain(chunk: str) -> bool:
    """Say whether a chunk is one word of letters without accents, as most are: its only piece is itself in lower case."""
    return chunk.isascii() and chunk.isalpha() and (len(chunk) == 1 or chunk[1:].islower())


def pieces(chunk: str) -> list[Piece]:
    """Return the pieces of a chunk, in the order of the text."""
    if is_plain(chunk):
        return [Piece(Kind.WORD, chunk.lower()[:TOKEN_LIMIT])]
    return [piece for piece in _all(chunk) if piece.kind not in _OF_LETTERS or fold(piece.text)]


def _all(chunk: str) -> Iterator[Piece]:
    found = classes(chunk)
    for match in _TOKENS.finditer(found):
        text, kinds = chunk[match.start() : match.end()], match[0]
        match match.lastgroup:
            case "compound":
                yield from _compound(text)
            case "hangul":
                yield from _hangul(text)
            case "ideographs" | "unspaced":
                yield from _unspaced(clusters(text, kinds))
            case "sharp":
                yield Piece(Kind.SIGN, lower(text))
                yield Piece(Kind.CAMEL, lower(text.rstrip("+#")))
            case _:
                yield Piece(Kind.SIGN, text)


def _unspaced(characters: list[str]) -> Iterator[Piece]:
    characters = [lower(character) for character in characters]
    if len(characters) == 1:
        yield Piece(Kind.WORD, characters[0])
        return
    for index, character in enumerate(characters):
        yield Piece(Kind.CHARACTER, character)
        if index:
            yield Piece(Kind.PAIR, characters[index - 1] + character)


def _hangul(word: str) -> Iterator[Piece]:
    yield Piece(Kind.WORD, word[:TOKEN_LIMIT])
    if len(word) > 1:
        for syllable in word:
            yield Piece(Kind.SYLLABLE, syllable)
        for index in range(len(word) - 1):
            yield Piece(Kind.PAIR, word[index : index + 2])


def _compound(text: str) -> Iterator[Piece]:
    segments = _SEGMENTS.split(text)
    alone = len(segments) == 1
    if not alone:
        yield Piece(Kind.WHOLE, lower(text)[:TOKEN_LIMIT])
    for segment in segments:
        yield from _dotted(segment, alone)


def _dotted(text: str, alone: bool) -> Iterator[Piece]:
    names = _DOTS.split(text)
    if len(names) > 1:
        alone = False
        yield from (Piece(Kind.WHOLE, form) for form in _numbers(text) or _dotted_forms(text))
    for name in names:
        yield from _name(name, alone)


def _dotted_forms(text: str) -> list[str]:
    whole = lower(text)[:TOKEN_LIMIT]
    return [whole, whole[1:]] if whole[0] == "v" and whole[1:2].isdigit() else [whole]


def _numbers(text: str) -> list[str]:
    """Return how else a number may be written: without grouping, with a decimal point."""
    if not _NUMBER.fullmatch(text):
        return []
    text = text.replace("'", "")
    forms = [text.replace(",", ".")]
    if match := _GROUPED_DECIMAL.fullmatch(text):
        whole, rest = match[1] or match[3], match[2] or match[4]
        forms = [f"{_DOTS.sub('', whole)}.{rest}"]
    elif _GROUPED.fullmatch(text):
        forms.append(_DOTS.sub("", text))
    elif text.count(".") > 1:
        forms.append(".".join(text.split(".")[:2]))  # 3.11 is asked for where 3.11.4 is written
    return [form[:TOKEN_LIMIT] for form in forms]


def _name(text: str, alone: bool) -> Iterator[Piece]:
    words = _HYPHENS.split(text)
    if len(words) == 2 and "'" in text and words[1].lower() in _CONTRACTED:
        words.pop()
    if len(words) > 1:
        alone = False
        yield Piece(Kind.WHOLE, lower("".join(words))[:TOKEN_LIMIT])
    for word in words:
        yield Piece(Kind.WORD if alone else Kind.PART, lower(word)[:TOKEN_LIMIT])
        yield from _camel(word)


def _camel(word: str) -> Iterator[Piece]:
    if word.islower() and word.isalpha():
        return
    kinds = classes(word)
    parts = [word[match.start() : match.end()] for match in _CAMEL.finditer(kinds)]
    if 1 < len(parts) <= _SPLIT_LIMIT:
        yield from (Piece(Kind.CAMEL, lower(part)) for part in parts if len(part) > 1 or part.isdigit())
