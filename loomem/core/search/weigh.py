"""What multiplies the joined score of a memory, by what is known of it. Pure.

Age, trust, role, level, who said it, importance, what the owner marked (`metadata.tier`), ratings, and a date the question
names. Each is a factor with a name, so that an answer can say how it came about. Reading changes none of them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import exp

import msgspec

from loomem.core.knowledge import FactType, Knowledge, Role, Trust
from loomem.core.record import Category, Memory
from loomem.core.row import Row
from loomem.core.search.settings import Decay, SearchSettings, Weights
from loomem.core.times import stored_millis

DAY_MS = 86_400_000
PINNED_FLOOR = 0.8
_TIERS = {"core": 2.0, "pinned": 1.5, "ephemeral": 0.5}
_STATES = (FactType.PREFERENCE, FactType.PROJECT_STATE)
_PLAIN = Knowledge()

Ratings = Callable[[Row], float]
"""Gives the factor of what was rated of a row; 1 when nothing was."""


class Factor(msgspec.Struct, frozen=True):
    """One multiplier, and why."""

    name: str
    value: float


class Span(msgspec.Struct, frozen=True):
    """Time that a question speaks of; milliseconds since 1970, the end excluded."""

    start: int
    end: int


class Weighing(msgspec.Struct, frozen=True, kw_only=True):
    """What all rows of one answer are weighed by."""

    now_ms: int
    settings: SearchSettings
    spans: Sequence[Span] = ()
    ratings: Ratings | None = None

    def factors(self, row: Row, strength: float) -> list[Factor]:
        """Return the factors of a row that are not 1; `strength` says how well it matches, in [0, 1]."""
        known = row.memory.knowledge or _PLAIN
        weights = self.settings.weights
        found = [
            Factor("age", self._age(row, known, strength)),
            Factor("trust", trust_factor(known, weights)),
            Factor("role", role_factor(known, weights)),
            Factor("level", weights.level.derived if known.level > 0 else weights.level.stated),
            Factor("tier", _TIERS.get(_tier(row.memory), 1.0)),
            Factor("importance", known.importance**weights.importance if known.importance > 0 else 1.0),
            Factor("preference", weights.preference if known.fact_type is FactType.PREFERENCE else 1.0),
            Factor("speaker", _speaker(known, weights)),
            Factor("date", weights.dated if self._dated(row) else 1.0),
            Factor("ratings", 1.0 if self.ratings is None else self.ratings(row)),
        ]
        return [factor for factor in found if factor.value != 1.0]

    def _age(self, row: Row, known: Knowledge, strength: float) -> float:
        decay, tier = self.settings.decay, _tier(row.memory)
        if tier == "core" or row.memory.category is Category.CORE:
            return 1.0
        faded = age_factor(self.now_ms - row.updated, known.level, decay)
        if tier == "pinned":
            faded = max(faded, PINNED_FLOOR)
        elif tier == "ephemeral":
            faded *= faded
        return faded + (1 - faded) * decay.relief * strength

    def _dated(self, row: Row) -> bool:
        if not self.spans:
            return False
        dates = dates_of(row.memory)
        return any(span.start <= date < span.end for span in self.spans for date in dates)


def age_factor(age_ms: int, level: int, decay: Decay) -> float:
    """Return what is left of a score at an age."""
    rate = decay.derived_per_day if level > 0 else decay.stated_per_day
    return max(exp(-rate * max(0, age_ms) / DAY_MS), decay.floor)


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


def _tier(memory: Memory) -> str:
    tier = (memory.metadata or {}).get("tier")
    return tier if isinstance(tier, str) else ""


def _speaker(known: Knowledge, weights: Weights) -> float:
    if known.fact_type not in _STATES:
        return 1.0
    return {"user": weights.user_state, "assistant": weights.assistant_state}.get(known.author or "", 1.0)
