"""What multiplies the joined score of a memory, by what is known of it. Pure.

Age, trust, role, level, who said it, importance, what the owner marked (`metadata.tier`), ratings, and a date the question
names. Each is a factor with a name, so that an answer can say how it came about. Reading changes none of them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import exp, prod

import msgspec

from loomem.core.knowledge import FactType, Knowledge, Role, Trust
from loomem.core.record import Category, Memory
from loomem.core.row import Row
from loomem.core.search.settings import Decay, SearchSettings, Weights
from loomem.core.times import stored_millis

DAY_MS = 86_400_000
PINNED_FLOOR = 0.8
TIERS = {"core": 2.0, "pinned": 1.5, "ephemeral": 0.5}
_STATES = (FactType.PREFERENCE, FactType.PROJECT_STATE)
_PLAIN = Knowledge()

Ratings = Callable[[Row], float]
"""Gives the factor of what was rated of a row; 1 when nothing was."""


class Factor(msgspec.Struct, frozen=True):
    """One multiplier, and why."""

    name: str
    value: float


class Span(msgspec.Struct, frozen=True):
    """Days that a question speaks of: their first midnight and the one after the last, as if in UTC, as dates without a time are."""

    start: int
    end: int


_Said = tuple[str | None, Role, int, float, FactType | None, str | None]
"""What of the knowledge about a memory weighs."""


class Weighing:
    """What all rows of one answer are weighed by."""

    def __init__(
        self,
        *,
        now_ms: int,
        settings: SearchSettings,
        spans: Sequence[Span] = (),
        ratings: Ratings | None = None,
        related: Mapping[int, float] | None = None,
    ) -> None:
        """`related`: what relations give to rows, by their numbers."""
        self._now_ms = now_ms
        self._settings = settings
        self._spans = spans
        self._ratings = ratings
        self._related = related or {}
        self._known: dict[_Said, float] = {}
        """The factor of what was said before: many rows say the same."""

    def weight(self, row: Row, strength: float) -> float:
        """Return what a row's score is multiplied by; `strength` says how well it matches, in [0, 1]."""
        memory = row.memory
        known = memory.knowledge or _PLAIN
        if memory.metadata is None:
            product = self._age(row, "", strength)
        else:
            tier = tier_of(row)
            product = self._age(row, tier, strength) * TIERS.get(tier, 1.0)
        said = (known.trust, known.role, known.level, known.importance, known.fact_type, known.author)
        factor = self._known.get(said)
        if factor is None:
            factor = self._known[said] = prod(one.value for one in _of_knowledge(known, self._settings.weights))
        product *= factor
        if self._spans:
            product *= self._date(row)
        if self._ratings is not None:
            product *= self._ratings(row)
        if self._related:
            product *= self._graph(row)
        return product

    def factors(self, row: Row, strength: float) -> list[Factor]:
        """Return the factors of a row's weight that are not 1."""
        tier = tier_of(row)
        found = [
            Factor("age", self._age(row, tier, strength)),
            Factor("tier", TIERS.get(tier, 1.0)),
            *_of_knowledge(row.memory.knowledge or _PLAIN, self._settings.weights),
            Factor("date", self._date(row)),
            Factor("ratings", 1.0 if self._ratings is None else self._ratings(row)),
            Factor("graph", self._graph(row)),
        ]
        return [factor for factor in found if factor.value != 1.0]

    def _age(self, row: Row, tier: str, strength: float) -> float:
        decay, memory = self._settings.decay, row.memory
        if tier == "core" or memory.category is Category.CORE:
            return 1.0
        level = 0 if memory.knowledge is None else memory.knowledge.level
        faded = age_factor(self._now_ms - began_of(row), level, decay)
        if tier == "pinned":
            faded = max(faded, PINNED_FLOOR)
        elif tier == "ephemeral":
            faded *= faded
        return faded + (1 - faded) * decay.relief * strength

    def _graph(self, row: Row) -> float:
        return 1.0 + self._settings.graph.boost_factor * self._related.get(row.number, 0.0)

    def _date(self, row: Row) -> float:
        dated = any(span.start <= date < span.end for span in self._spans for date in dates_of(row.memory))
        return self._settings.weights.dated if dated else 1.0


def _of_knowledge(known: Knowledge, weights: Weights) -> list[Factor]:
    return [
        Factor("trust", trust_factor(known, weights)),
        Factor("role", role_factor(known, weights)),
        Factor("level", weights.level.derived if known.level > 0 else weights.level.stated),
        Factor("importance", known.importance**weights.importance if known.importance > 0 else 1.0),
        Factor("preference", weights.preference if known.fact_type is FactType.PREFERENCE else 1.0),
        Factor("speaker", _speaker(known, weights)),
    ]


def age_factor(age_ms: int, level: int, decay: Decay) -> float:
    """Return what is left of a score at an age."""
    rate = decay.derived_per_day if level > 0 else decay.stated_per_day
    return max(exp(-rate * max(0, age_ms) / DAY_MS), decay.floor)


def began_of(row: Row) -> int:
    """Return from when on a row ages: its writing, or the end of the day of its conversation if that was over by then.

    Milliseconds since 1970. What is taken in today of an old conversation is as old as that.
    """
    said = None if row.memory.knowledge is None else row.memory.knowledge.conversation_date
    day = stored_millis(said[:10]) if said else None
    return row.updated if day is None else min(row.updated, day + DAY_MS)


def trust_factor(known: Knowledge, weights: Weights) -> float:
    """Return what the trust in a memory's source multiplies."""
    match known.trust:
        case None | Trust.A1:
            return weights.trust.a1
        case Trust.A2:
            return weights.trust.a2
        case _:
            return weights.trust.b


def role_factor(known: Knowledge, weights: Weights) -> float:
    """Return what the role of a memory multiplies."""
    match known.role:
        case Role.CLAIM:
            return weights.role.claim
        case Role.CUE:
            return weights.role.cue
        case Role.EVIDENCE:
            return weights.role.evidence


def observed_of(memory: Memory) -> str | None:
    """Return the day on which a memory was said, if it tells: of its conversation, or a `date` in its metadata."""
    known = memory.knowledge
    if known is not None and known.conversation_date:
        return known.conversation_date[:10]
    date = (memory.metadata or {}).get("date")
    return date[:10] if isinstance(date, str) and stored_millis(date[:10]) is not None else None


def dates_of(memory: Memory) -> list[int]:
    """Return when a memory happened or was said, as far as it tells; midnights in milliseconds since 1970."""
    known = memory.knowledge
    said = (None if known is None else known.event_date, observed_of(memory))
    return [date for text in said if text and (date := stored_millis(text[:10])) is not None]


def tier_of(row: Row) -> str:
    """Return what the owner of a memory marked it as; empty when nothing.

    What others marked lifts theirs over the reader's own for nobody: it counts where the reader may change the memory.
    """
    tier = (row.memory.metadata or {}).get("tier") if row.place.mine else None
    return tier if isinstance(tier, str) else ""


def _speaker(known: Knowledge, weights: Weights) -> float:
    if known.fact_type not in _STATES:
        return 1.0
    return {"user": weights.user_state, "assistant": weights.assistant_state}.get(known.author or "", 1.0)
