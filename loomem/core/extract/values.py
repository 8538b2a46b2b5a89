"""A fact that was read in a conversation, what it may be, and what the settings say of it. Pure values."""

from __future__ import annotations

from datetime import date

import msgspec

from loomem.core.facts import PREFERENCE_IMPORTANCE
from loomem.core.knowledge import FactType

FACTS_LIMIT = 20
"""Of one conversation."""
CONFIDENCE_FLOOR = 0.5
"""What is less certain is no fact."""

_STATIC = frozenset({FactType.FACT, FactType.PREFERENCE, FactType.EXPERIENCE})


class Topic(msgspec.Struct, frozen=True, kw_only=True):
    """A kind of fact that the settings name, in the stead of the built-in ones."""

    name: str
    description: str = ""
    fact_type: str | None = None

    @property
    def key(self) -> str:
        """What facts of this kind are called."""
        return self.fact_type or self.name


class ExtractSettings(msgspec.Struct, frozen=True, kw_only=True):
    """How many facts of which kinds are taken from a conversation."""

    facts_limit: int = FACTS_LIMIT
    confidence_floor: float = CONFIDENCE_FLOOR
    topics: tuple[Topic, ...] = ()


class Candidate(msgspec.Struct, frozen=True, kw_only=True):
    """What somebody, a model or a rule, takes for a fact."""

    content: str
    key: str = FactType.FACT
    """A built-in type, or the key of a topic."""
    subject: str | None = None
    event_date: str | None = None
    """`YYYY-MM-DD`, the first day of the event; anything else is no date."""
    event_context: str | None = None
    """The words that date was read from, as they stand in the conversation."""
    attributed_to: str | None = None
    confidence: float = CONFIDENCE_FLOOR
    byte_start: int | None = None
    byte_end: int | None = None
    """Where it stands in the source; None where nobody can say."""


class Extracted(msgspec.Struct, frozen=True, kw_only=True):
    """A fact as it is stored."""

    content: str
    fact_type: FactType
    topic: str | None = None
    subject: str | None = None
    event_date: date | None = None
    event_context: str | None = None
    attributed_to: str | None = None
    """`user` or `assistant`, where the conversation says who speaks."""
    confidence: float
    byte_start: int | None = None
    byte_end: int | None = None

    @property
    def importance(self) -> float:
        """How much it weighs in a ranking."""
        return max(PREFERENCE_IMPORTANCE, self.confidence) if self.fact_type is FactType.PREFERENCE else self.confidence

    @property
    def static(self) -> bool:
        """Whether it is expected to stay true."""
        return self.fact_type in _STATIC


class Accepted(msgspec.Struct, frozen=True, kw_only=True):
    """What of the candidates is stored, in order, and how many are not, by reason."""

    facts: tuple[Extracted, ...]
    dropped: dict[str, int]


class SoFar(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """What a model has read of a conversation, while it is read piece by piece. As long as the facts are, however many pieces."""

    answered: tuple[str, ...] = ()
    """The questions that were answered, each by its digest."""
    facts: tuple[Extracted, ...] = ()
    dropped: dict[str, int] = {}


UNREAD = SoFar()
