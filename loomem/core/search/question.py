"""A question: the arguments of a search, checked, and what they mean together. Pure.

Any text is a question. What is wrong about the other arguments is said with what is allowed.
"""

from __future__ import annotations

import re
from datetime import datetime, tzinfo

import msgspec

from identity.errors import InvalidInput
from identity.visibility import Scope
from loomem.core import limits as check
from loomem.core.recall import clean_query_text, clean_scopes
from loomem.core.search.settings import SearchSettings, TopK
from loomem.core.search.when import UNDERSTOOD, resolve
from loomem.core.streams import Stream

LATEST_S = 253_402_300_799
"""The last second of the year 9999."""


class RawQuestion(msgspec.Struct, frozen=True, kw_only=True):
    """The arguments of a search as they came."""

    query: object
    top_k: object = None
    time_filter: object = None
    valid_at: object = None
    include_superseded: object = None
    max_context_tokens: object = None
    scopes: object = None
    evidence_fields: object = None
    explain: object = None


class Question(msgspec.Struct, frozen=True, kw_only=True):
    """A checked question. Times in milliseconds since 1970."""

    text: str
    rows: int
    """How many at most."""
    counting: bool = False
    """It counts or lists: more rows, and no budget of tokens."""
    scopes: tuple[Scope, ...] = tuple(Scope)
    stream: Stream | None = None
    """The one space to look in; None = everywhere in the scopes."""
    since: datetime | None = None
    """What happened before this midnight in the reader's zone is left out, and what is yet to happen."""
    valid_at: int | None = None
    include_superseded: bool = False
    tokens: int | None = None
    evidence: bool = False
    explain: bool = False


def clean_question(
    raw: RawQuestion, stream: Stream | None, settings: SearchSettings, *, now: datetime, zone: tzinfo
) -> Question:
    """Return the question that raw arguments ask; words for dates are read at `now` in `zone`.

    Raises: InvalidInput naming the field and what is allowed.
    """
    text = clean_query_text(raw.query)
    counting = is_counting(text)
    tokens = raw.max_context_tokens
    return Question(
        text=text,
        rows=_rows(raw.top_k, settings.top_k, counting=counting),
        counting=counting,
        scopes=clean_scopes(raw.scopes),
        stream=stream,
        since=None if raw.time_filter is None else _since(raw.time_filter, now, zone),
        valid_at=None
        if raw.valid_at is None
        else 1_000 * check.clean_integer("valid_at", raw.valid_at, low=-LATEST_S, high=LATEST_S),
        include_superseded=check.clean_flag("include_superseded", raw.include_superseded, default=False),
        tokens=None
        if tokens is None or counting
        else check.clean_integer("max_context_tokens", tokens, low=1, high=check.SAFE_INTEGER),
        evidence=check.clean_flag("evidence_fields", raw.evidence_fields, default=settings.evidence_fields),
        explain=check.clean_flag("explain", raw.explain, default=False),
    )


def _rows(asked: object, limits: TopK, *, counting: bool) -> int:
    usual, most = (limits.counting_default, limits.counting_most) if counting else (limits.default, limits.most)
    if asked is None:
        return min(usual, most)
    if isinstance(asked, bool) or not isinstance(asked, int | float) or asked != asked:
        raise InvalidInput(f"top_k must be a number from 1 to {most}", field="top_k")
    return int(max(1, min(asked, most)))


def _since(asked: object, now: datetime, zone: tzinfo) -> datetime:
    moment = resolve(asked, now.astimezone(zone)) if isinstance(asked, str) else None
    if moment is None:
        shown = repr(asked[:40]) if isinstance(asked, str) else check.kind_of(asked)
        raise InvalidInput(f"time_filter must be {UNDERSTOOD}, not {shown}", field="time_filter")
    return moment.start


# --- questions that count or list -------------------------------------------------------------------------------------

COUNTING_LETTERS = 400
"""Of the beginning and of the end of a question, how many letters are read for what it counts."""
_COUNTING = re.compile(
    r"""\b(?:
        how\ many | how\ often | number\ of | how\ much\ .*\b(?:in\ total|altogether)
      | count\ (?:of|the|all|every|how|up|my|our) | ^count\b
      | (?:list|enumerate|name)\ (?:all|every|each|everything) | which\b[^.?!]*\ball
      | ile | ilu | wymień | wypisz | wylicz | policz | lista | wszystkie | wszystkich | jak\ często
      | wie\ ?viele? | wie\ oft | anzahl | liste\ (?:alle|aller|mir|der|die|von) | (?:nenne|zähle|liste)\b[^.?!]*\b(?:alle|auf)
      | sämtliche
    )\b""",
    re.VERBOSE,
)


def is_counting(text: str) -> bool:
    """Say whether a question asks for a number or a full list, in English, Polish or German.

    It says so where it begins or ends: what is long is a text that is pasted, and reading all of it would take its square.
    """
    ends = (text,) if len(text) <= 2 * COUNTING_LETTERS else (text[:COUNTING_LETTERS], text[-COUNTING_LETTERS:])
    return any(_COUNTING.search(part.casefold()) is not None for part in ends)
