"""The day that a sentence speaks of. Pure."""

from __future__ import annotations

from datetime import date, timedelta

import msgspec

from loomem.core.dates import Mention, find
from loomem.core.dates.names import WEEKDAYS


class Dated(msgspec.Struct, frozen=True, kw_only=True):
    """A date in words, and the day it is."""

    words: str
    """As they stand in the sentence."""
    day: date | None
    """The first day of it; None where nobody can say which day it is."""
    before: bool
    """Whether it is over, or cannot be said to lie ahead."""


def dated(sentence: str, anchor: date | None, *, over: bool = False) -> Dated | None:
    """Return the date that a sentence speaks of, read on a day: the first that is known, else the first; None for none.

    `over` says that the sentence tells what was: then a weekday alone is the last one before that day.
    """
    mentions = find(sentence, anchor)
    if not mentions:
        return None
    mention: Mention = next((one for one in mentions if one.resolved is not None), mentions[0])
    day = None if mention.resolved is None else mention.resolved.first
    if day is None and over and anchor is not None:
        day = _last(mention.words, anchor)
    return Dated(
        words=sentence[mention.start : mention.end], day=day, before=day is None or anchor is None or day <= anchor
    )


def _last(words: str, anchor: date) -> date | None:
    weekday = WEEKDAYS.get(words.casefold())
    return None if weekday is None else anchor - timedelta(days=(anchor.weekday() - weekday - 1) % 7 + 1)
