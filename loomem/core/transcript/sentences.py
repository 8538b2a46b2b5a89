"""Sentences of a text, with where they stand. Pure, linear.

A line ends a sentence; so does a stop, where no abbreviation, number or small letter says otherwise.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import msgspec

from loomem.core.dates.names import GERMAN_MONTHS

_STOP = re.compile(r"(?<![.!?…])[.!?…]++[)\]\"'”’»]*+(?=\s)|(?<![。！？])[。！？]++[」』”]*+|\n++")
_WORDS_BEFORE = re.compile(r"(?:([^\s(\[\"'„“]{1,6})\s)?([^\s(\[\"'„“]{1,14})$")
_WORD_AFTER = re.compile(r"\s{1,8}([^\s.,!?]{1,12})")
_BEFORE_CHARS = 22
_GERMAN_ARTICLES = frozenset("am der die das den dem zum vom im beim zur bis".split())  # noqa: SIM905
"""Before a number with a stop they make it an ordinal."""
_ABBREVIATIONS = frozenset(
    """mr mrs ms dr prof st jr sr vs e.g i.e approx no inc ltd co fig dept est jan feb mar apr jun jul aug sep sept oct nov dec mt ave
    z.b d.h u.a bzw ca hr fr str nr inkl ggf evtl tel abs vgl max min sog o.g i.d.r s.o mind dipl ing
    np m.in tj tzn ul al pl os inż mgr r godz wg św ks płk gen ok tys mln mld pon wt czw sob ww dot
    m mme mlle av bd art p pp sra sres ud dott sig""".split()  # noqa: SIM905
)


class Sentence(msgspec.Struct, frozen=True):
    """A sentence, without blanks at its edges; indices are characters of the text."""

    start: int
    end: int
    text: str


def sentences(text: str) -> Iterator[Sentence]:
    """Tell the sentences of a text in order."""
    start = 0
    for match in _STOP.finditer(text):
        if match[0][0] == "\n" or _ends(text, match):
            yield from _cut(text, start, match.end())
            start = match.end()
    yield from _cut(text, start, len(text))


def _cut(text: str, start: int, end: int) -> Iterator[Sentence]:
    said = text[start:end]
    clean = said.strip()
    if clean:
        first = start + len(said) - len(said.lstrip())
        yield Sentence(first, first + len(clean), clean)


def _ends(text: str, match: re.Match[str]) -> bool:
    """Say whether a stop ends a sentence."""
    stop = match[0]
    if stop[0] != ".":
        return True
    follows = _WORD_AFTER.match(text, match.end())
    after = "" if follows is None else follows[1]
    if after[:1].islower():
        return False
    words = _WORDS_BEFORE.search(text, max(0, match.start() - _BEFORE_CHARS), match.start())
    if stop != "." or words is None:
        return True
    before = words[2].lower()
    if before.isdecimal():
        ordinal = after.lower() in GERMAN_MONTHS or (words[1] or "").lower() in _GERMAN_ARTICLES
        return len(before) > 2 or not ordinal
    if len(before) == 1:
        return not before.isalpha()
    return before not in _ABBREVIATIONS and not before.endswith("str")
