"""Dates in questions: the spans of days that words name, in the reader's zone, and a question without them. Pure.

    resolve   the whole text is a date, or None
    mentioned the dates that a text speaks of
    without   the rest of it

What the words mean is `loomem.core.dates`'s to say, as it is for stored text; here days become moments, and long texts are cut.
A question is searched with its dates in it: without them plain BM25 finds less (recall@10 .57 instead of .60 on the 93 questions
of LoCoMo that name one), since what people say names dates, too.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, date, datetime, time, timedelta

import msgspec

from loomem.core import dates

UNDERSTOOD = (
    "a date such as 2026-01-31, 31.1.2026, 15 March 2026 or March 2026, or words such as today, yesterday, last week, "
    "last Friday, last year, 3 days ago, two weeks ago, the last 7 days (English, Polish or German)"
)

MENTIONED_LETTERS = 1_000
"""Of the beginning and of the end of a text, how many letters are read for dates: a dialogue is about what was said last."""
_WORD_LETTERS = 40


class When(msgspec.Struct, frozen=True):
    """Some days, in the zone they were read in."""

    start: datetime
    """Their first midnight."""
    end: datetime
    """The midnight after the last."""


class Mention(msgspec.Struct, frozen=True):
    """A date that a text speaks of."""

    when: When
    at: int
    """Index of its first character."""
    end: int


def resolve(text: str, now: datetime) -> When | None:
    """Return the days that a text names, read at an aware moment in the reader's zone; None when it names none.

    A date and time is the day it is in, in that zone.
    """
    try:
        if ":" in text:
            local = dates.day_of(datetime.fromisoformat(text.strip().upper()), now.tzinfo or UTC)
            return _days(local, local, now)
    except (ValueError, OverflowError):
        pass
    found = dates.resolve(text, now.date())
    return None if found is None else _days(found.first, found.last, now)


def mentioned(text: str, now: datetime) -> list[Mention]:
    """Return the dates that a text speaks of, in order; of two that overlap, the one that begins first, or is longer.

    Of a long text, those in its first and last `MENTIONED_LETTERS`.
    """
    found: list[Mention] = []
    for begins, part in _ends(text):
        for one in dates.find(part, now.date()):
            days = one.resolved or one.part_of
            when = None if days is None else _days(days.first, days.last, now)
            if when is not None:
                found.append(Mention(when, begins + one.start, begins + one.end))
    return found


def without(text: str, mentions: Iterable[Mention]) -> str:
    """Return what is left of a text without the dates in it, as it was written."""
    left: list[str] = []
    at = 0
    for one in mentions:
        left.append(text[at : one.at])
        at = one.end
    return "".join([*left, text[at:]])


def only_dates(text: str, now: datetime) -> bool:
    """Say whether a text names dates and nothing else."""
    if len(text) > 2 * MENTIONED_LETTERS:
        return False
    mentions = mentioned(text, now)
    return bool(mentions) and not any(char.isalnum() for char in without(text, mentions))


def _ends(text: str) -> list[tuple[int, str]]:
    """Return what of a text is read for dates, each part with where it begins; words stay whole where there are spaces."""
    if len(text) <= 2 * MENTIONED_LETTERS:
        return [(0, text)]
    head, tail = text[:MENTIONED_LETTERS], text[-MENTIONED_LETTERS:]
    ends = len(head) - next((at for at, char in enumerate(head[: -_WORD_LETTERS - 1 : -1]) if char.isspace()), 0)
    begins = next((at for at, char in enumerate(tail[:_WORD_LETTERS]) if char.isspace()), 0)
    return [(0, head[:ends]), (len(text) - len(tail) + begins, tail[begins:])]


def _days(first: date, last: date, now: datetime) -> When | None:
    try:
        return When(
            datetime.combine(first, time(), now.tzinfo), datetime.combine(last + timedelta(days=1), time(), now.tzinfo)
        )
    except OverflowError:
        return None  # no midnight comes after the last day there is
