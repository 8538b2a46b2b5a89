"""Ratings: what users of a memory said of its worth, and what that is worth in a ranking. Pure.

Every rater keeps one record per memory, under its own prefix: how much good and bad it said of it, and its last ratings one
by one. What all raters said together is `Rating`. To rate again within one trajectory replaces what was said there; to
withdraw takes away the rater's whole record. So whatever was said can be taken back.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import msgspec

from identity.errors import Corrupt, InvalidInput
from loomem.core import limits as check
from loomem.core.times import stored_millis

SCHEMA_VERSION = 1
USEFULNESS_MOST = 4
JUSTIFICATION_CHARS = 500
PROMPT_VERSION = "loomem-feedback-v1"
EVENTS_KEPT = 50
"""Ratings of one rater of one memory that are kept one by one; older ones count on, summed up."""
HARM = 4
"""How much bad a harmful memory is said to do, beside what it lacks in usefulness."""
HALF_LIFE_MS = 90 * 86_400_000
"""After so long a rating counts half."""
_WORD_CHARS = 200


class Given(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """One rating."""

    usefulness: int
    harmful: bool = False
    justification: str
    model_version: str
    prompt_version: str = PROMPT_VERSION
    trajectory_id: str | None = None
    at: str

    @property
    def good(self) -> float:
        return self.usefulness / USEFULNESS_MOST

    @property
    def bad(self) -> float:
        return 1 - self.good + (HARM if self.harmful else 0)


class Ratings(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """What one rater said of one memory: the record."""

    id: str
    """Of the memory."""
    owner: str
    """In whose part of the root the memory lies, as its key spells it: an id may stand in several."""
    agent_id: str
    """Who rated last."""
    good: float = 0.0
    bad: float = 0.0
    harmful: int = 0
    n: int = 0
    last: str
    events: tuple[Given, ...] = ()
    """The last ones, oldest first."""
    version: int = SCHEMA_VERSION


class Rating(msgspec.Struct, frozen=True, kw_only=True):
    """What all raters together said of a memory. Times in milliseconds since 1970."""

    alpha: float = 1.0
    beta: float = 1.0
    harmful: int = 0
    n: int = 0
    last_ms: int = 0

    def factor(self, now_ms: int, *, most: float = 0.25, harm: float = 0.5) -> float:
        """Return by what a score is multiplied: 1 when nothing was said, within 1 ± `most`, and `harm` for what harms.

        Few ratings move it little, and all fade over months; that somebody was harmed does not.
        """
        if self.n == 0:
            return 1.0
        mean = self.alpha / (self.alpha + self.beta)
        faded = 0.5 ** (max(0, now_ms - self.last_ms) / HALF_LIFE_MS)
        factor = 1 + 2 * most * (mean - 0.5) * self.n / (self.n + 2) * faded
        return min(factor, 1.0) * harm if self.harmful else factor


NOTHING = Rating()


def clean_given(raw: Mapping[str, object], now: str) -> Given:
    """Return a rating as it may be kept. Raises: InvalidInput naming the field."""
    usefulness = check.whole_number(raw.get("usefulness"))
    if usefulness is None or not 0 <= usefulness <= USEFULNESS_MOST:
        raise _invalid("usefulness", f"must be a whole number from 0 (useless) to {USEFULNESS_MOST} (crucial)")
    harmful = raw.get("harmful")
    if not isinstance(harmful, bool):
        raise _invalid("harmful", "must be true or false")
    prompt, trajectory = raw.get("prompt_version"), raw.get("trajectory_id")
    return Given(
        usefulness=usefulness,
        harmful=harmful,
        justification=_text(raw, "justification", JUSTIFICATION_CHARS),
        model_version=_text(raw, "model_version", _WORD_CHARS),
        prompt_version=PROMPT_VERSION if prompt is None else _text(raw, "prompt_version", _WORD_CHARS),
        trajectory_id=None if trajectory is None else _text(raw, "trajectory_id", _WORD_CHARS),
        at=now,
    )


def rated(before: Ratings | None, given: Given, *, ident: str, owner: str, agent_id: str) -> Ratings:
    """Return a rater's record with one more rating, which takes the place of what it said in the same trajectory.

    What it said of another's memory of the same id is no part of it.
    """
    if before is None or before.owner != owner:
        before = Ratings(id=ident, owner=owner, agent_id=agent_id, last=given.at)
    again = [
        event
        for event in before.events
        if given.trajectory_id is not None and event.trajectory_id == given.trajectory_id
    ]
    events = [event for event in before.events if event not in again]
    return Ratings(
        id=ident,
        owner=owner,
        agent_id=agent_id,
        good=max(0.0, before.good + given.good - sum(event.good for event in again)),
        bad=max(0.0, before.bad + given.bad - sum(event.bad for event in again)),
        harmful=max(0, before.harmful + given.harmful - sum(event.harmful for event in again)),
        n=before.n + 1 - len(again),
        last=given.at,
        events=(*events, given)[-EVENTS_KEPT:],
    )


def together(records: Iterable[Ratings]) -> Rating:
    """Return what several raters said of a memory."""
    alpha, beta, harmful, n, last = 1.0, 1.0, 0, 0, 0
    for one in records:
        alpha += one.good
        beta += one.bad
        harmful += one.harmful
        n += one.n
        last = max(last, stored_millis(one.last) or 0)
    return Rating(alpha=alpha, beta=beta, harmful=harmful, n=n, last_ms=last)


def encode(ratings: Ratings) -> bytes:
    """Return the value to store."""
    return msgspec.json.encode(ratings)


def decode(value: bytes) -> Ratings:
    """Return the record of a stored value. Raises: Corrupt."""
    try:
        ratings = _decoder.decode(value)
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise Corrupt(f"no record of ratings: {error}") from None
    if ratings.version != SCHEMA_VERSION or min(ratings.good, ratings.bad, ratings.harmful, ratings.n) < 0:
        raise Corrupt("a record of ratings that this version does not read")
    return ratings


_decoder = msgspec.json.Decoder(Ratings)


def _text(raw: Mapping[str, object], field: str, most: int) -> str:
    value = raw.get(field)
    if not isinstance(value, str) or not value.strip():
        raise _invalid(field, f"must be a text of 1 to {most} characters")
    if len(value) > most:
        raise _invalid(field, f"has {len(value)} characters, more than the allowed {most}")
    try:
        return check.clean_text(field, value)
    except InvalidInput as error:
        raise InvalidInput(f"validation failed: {error.message}", field=field) from None


def _invalid(field: str, why: str) -> InvalidInput:
    return InvalidInput(f"validation failed: {field} {why}", field=field)
