"""Reading: the date that a whole text is, and the dates that a sentence speaks of. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import date
from functools import cache

import msgspec

from loomem.core.dates import english, german, numeric, polish
from loomem.core.dates.language import Form, Ready, Row, bare, pattern, pieces, ready, row
from loomem.core.dates.meanings import Said
from loomem.core.dates.spans import Grain, Resolved

LANGUAGES = (numeric.NUMERIC, english.ENGLISH, polish.POLISH, german.GERMAN)
WHOLE_LETTERS = 100
"""No date is longer."""
_BEFORE = 160
"""How far back a sentence is read for what makes a date in it none."""
_NEAR = 20
"""How far back a word stands that is next to a date."""
_SENTENCE = re.compile(r"[!?;\n]|\.(?= )")


class Mention(msgspec.Struct, frozen=True):
    """Words for a time in a text."""

    start: int
    end: int
    words: str
    resolved: Resolved | None
    """None when they do not say which day, or nobody knows when they were said."""
    part_of: Resolved | None = None
    """What an unresolved time is somewhere within: March, of "early March"; the last week, of "in the last seven days"."""


def resolve(text: str, anchor: date | None) -> Resolved | None:
    """Return the days that a whole text names, as seen from a day; None when it names none, or says it vaguely.

    Without an anchor, what is said beside today is unknown.
    """
    text = text.strip()
    if not 0 < len(text) <= WHOLE_LETTERS:
        return None
    parts = pieces(" ".join(text.split()))
    for language in _ready():
        said = row(parts, language.symbols)
        for whole in bare(said.text, language.lead):
            for form in language.forms:
                match = pattern(form.pattern).fullmatch(whole) if form.head in whole else None
                if match is not None:
                    return _meant(form, match, anchor)
    return None


def find(text: str, anchor: date | None) -> tuple[Mention, ...]:
    """Return the dates that a text speaks of, in order; of those that overlap the one that begins first, or is longer.

    Vague ones and, without an anchor, those beside today are there unresolved.
    """
    parts = pieces(text)
    words = {part.word for part in parts}
    digits = any(word.isdigit() for word in words)
    found = [
        one
        for language in _ready()
        if digits or not language.heads.isdisjoint(words)
        for one in _mentions(text, row(parts, language.symbols), language, anchor)
    ]
    kept: list[Mention] = []
    for one in sorted(found, key=lambda one: (one.start, -one.end, one.resolved is None)):
        if not kept or one.start >= kept[-1].end:
            kept.append(one)
    return tuple(kept)


@cache
def _ready() -> tuple[Ready, ...]:
    return tuple(map(ready, LANGUAGES))


def _mentions(text: str, said: Row, language: Ready, anchor: date | None) -> Iterator[Mention]:
    for form in language.forms:
        if form.whole or form.head not in said.text:
            continue
        for match in pattern(form.pattern).finditer(said.text):
            if match.end() == match.start() or not _is_date(text, said, match, language):
                continue
            start, end = said.place(match.start()), said.place(match.end())
            before = _SENTENCE.split(said.text[max(0, match.start() - _BEFORE) : match.start()])[-1]
            ahead = _has(language.ahead, before + match[0].split(" ")[0])
            resolved = None if _has(form.unless, before) else _meant(form, match, anchor, ahead=ahead)
            guess = _guessed(before, match, resolved, language)
            whole = None
            if resolved is not None and resolved.grain is Grain.WITHIN:
                whole, resolved = resolved, None
            if guess is not None:
                start = said.place(match.start() - guess)
                whole, resolved = resolved if _has(language.part, before) else None, None
            yield Mention(start, end, text[start:end], resolved, whole)


def _meant(form: Form, match: re.Match[str], anchor: date | None, *, ahead: bool = False) -> Resolved | None:
    try:
        return form.meaning(Said(match.groupdict(), ahead=ahead), anchor)
    except (ValueError, OverflowError):
        return None  # 30 February, or beyond the years that there are


def _is_date(text: str, said: Row, match: re.Match[str], language: Ready) -> bool:
    """Say whether words that may be other words or names are a date here: by a year, an ordinal, or a capital letter."""
    groups = match.groupdict()
    if groups.get("lower") is not None:  # a noun with a capital, unless it begins a sentence
        at = said.place(match.start())
        return text[at].islower() or (_begins(text, at) and text[said.place(match.end()) :][1:2].islower())
    for name in ("month", "month2", "weekday"):
        if groups.get(name) is None:
            continue
        at = said.place(match.start(name) - 1)
        word = text[at : said.place(match.end(name))]
        doubtful = word.lower() in language.doubtful
        if groups.get("alone") is not None and (doubtful or word.lower() in language.names):
            return False
        sure = any(groups.get(sign) for sign in ("year", "in_year", "sure"))
        if doubtful and not (sure or word[0].isupper() or _has(language.sure, said.text[: match.start()][-_NEAR:])):
            return False
    return True


def _begins(text: str, at: int) -> bool:
    before = text[:at].rstrip()
    return not before or before[-1] in ".!?:\n\"'„“"


def _has(words: str, text: str) -> bool:
    return bool(words) and pattern(words).search(text) is not None


def _guessed(before: str, match: re.Match[str], resolved: Resolved | None, language: Ready) -> int | None:
    """Return how many characters before a date make it a guess; None when it is none."""
    groups = match.groupdict()
    signs = [language.near]
    if "count" in groups:
        signs.append(language.counted)
    if resolved is not None and resolved.grain not in {Grain.DAY, Grain.RANGE, Grain.WITHIN}:
        signs.append(language.part)
    for sign in signs:
        found = pattern(sign).search(before) if sign else None
        if found is not None:
            return len(found[0])
    return None
