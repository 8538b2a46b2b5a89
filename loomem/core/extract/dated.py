"""The day that a sentence speaks of. Pure."""

from __future__ import annotations

from datetime import UTC, date, datetime, time

import msgspec

from loomem.core.search.when import Mention, mentioned

_SOMEDAY = (date(2024, 2, 10), date(2025, 11, 25))
"""Two days to read words from: what means the same on both needs no day to be read from."""


class Dated(msgspec.Struct, frozen=True, kw_only=True):
    """A date in words, and the day it is."""

    words: str
    """As they stand in the sentence."""
    day: date | None
    """The first day of it; None where nobody says from which day the words are to be read."""
    before: bool
    """Whether it is over, or cannot be said to lie ahead."""


def dated(sentence: str, anchor: date | None) -> Dated | None:
    """Return the first date that a sentence speaks of, read on a day; None when it speaks of none."""
    if anchor is not None:
        found = _read(sentence, anchor)
        return None if not found else _told(sentence, found[0], found[0].when.start.date(), anchor)
    first, second = (_read(sentence, day) for day in _SOMEDAY)
    if not first:
        return None
    day = first[0].when.start.date()
    same = any(one.at == first[0].at and one.when.start.date() == day for one in second)
    return _told(sentence, first[0], day if same else None, None)


def _told(sentence: str, mention: Mention, day: date | None, anchor: date | None) -> Dated:
    return Dated(
        words=sentence[mention.at : mention.end], day=day, before=day is None or anchor is None or day <= anchor
    )


def _read(sentence: str, day: date) -> list[Mention]:
    return mentioned(sentence, datetime.combine(day, time(), UTC))
