"""What a memory's metadata say of the conversation it is a turn of. Pure.

    conversation    a string or a number; it may name one sitting, or all that two people ever said to each other.
                    `session` beside it, or in its stead, names a sitting of it; both may be called so or with `_id`
    turn            its order in there: a number, or a string such as "D1:3", in which numbers count as numbers
    date            of the sitting, in any form; what was said on another day is no neighbour
    speaker         who said it

Without `turn` the order is that in which the memories were made. What names a speaker and a turn or a date, but no
conversation, is a turn of the conversation that has no name.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

import msgspec

from loomem.core.analyse.characters import fold
from loomem.core.record import Memory

WIDE_FROM = "\u2e80"
"""From here on a character is worth some letters: Han, kana, Hangul, emoji."""
WIDE = 3
NUMBER_DIGITS = 18
"""A longer row of digits is a text."""

_CONVERSATION = (("conversation", "conversation_id"), ("session", "session_id"))
_QUESTION_MARKS = ("?", "\uff1f", "\u061f")
_DIGITS = re.compile(r"(\d+)")
_CLOCK = re.compile(
    r"(?:(?<=\d)t)?\d{1,2}:\d{2}(?::\d{2}(?:[.,]\d+)?)?\s*(?:[ap]\.?\s?m\b\.?)?(?:z\b|\s?[+-]\d{2}:?\d{2}\b|\s?utc\b)?|\b(?:at|on)\b"
)
_DAY_S = 86_400


Order = tuple[tuple[int, int | str], ...]
"""Compares as a reader orders texts with numbers in them."""


class Said(msgspec.Struct, frozen=True, gc=False):
    """A turn, and where it belongs."""

    sitting: tuple[str, ...]
    """Conversation, session of it, and day."""
    order: Order
    """Turns of one sitting compare by it; without a `turn`, empty."""
    speaker: str
    """Folded; empty where nobody is named."""
    letters: int
    """How long it is without its speaker's name; a wide character counts as some letters."""
    asks: bool
    """Whether it ends as a question does."""


def said(memory: Memory) -> Said | None:
    """Return what a memory is a turn of; None for a memory that is none."""
    metadata = memory.metadata or {}
    conversation = tuple(_first(metadata, names) for names in _CONVERSATION)
    speaker, turn, date = _name(metadata.get("speaker")), _name(metadata.get("turn")), day(metadata.get("date"))
    if not any(conversation) and not (speaker and (turn or date)):
        return None
    text = memory.content.removeprefix(f"{speaker}:").strip() if speaker else memory.content.strip()
    return Said(
        sitting=(*conversation, date),
        order=natural(turn),
        speaker=fold(speaker.casefold()),
        letters=letters(text),
        asks=text.endswith(_QUESTION_MARKS),
    )


def letters(text: str) -> int:
    """Return how long a text is to a reader: a wide character says as much as some letters."""
    return len(text) if text.isascii() else sum(WIDE if letter >= WIDE_FROM else 1 for letter in text)


def natural(text: str) -> Order:
    """Return what texts with numbers in them are ordered by: "2" before "10", "D1:9" before "D1:10"."""
    return tuple(
        (0, int(part)) if part.isdecimal() and len(part) <= NUMBER_DIGITS else (1, part)
        for part in _DIGITS.split(text.casefold())
        if part
    )


def day(date: object) -> str:
    """Return a date without its time of day, in whatever form it is written; only good for telling days apart."""
    if isinstance(date, int | float) and not isinstance(date, bool):
        return str(date // _DAY_S) if abs(date) < 1e11 else str(date // (_DAY_S * 1_000))
    return " ".join(_CLOCK.sub(" ", date.casefold()).split()) if isinstance(date, str) else ""


def _first(metadata: Mapping[str, object], names: Sequence[str]) -> str:
    return next((name for key in names if (name := _name(metadata.get(key)))), "")


def _name(value: object) -> str:
    if isinstance(value, str):
        return value.strip()
    return str(value) if isinstance(value, int | float) and not isinstance(value, bool) else ""
