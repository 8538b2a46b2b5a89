"""Every number of search in one value, with its default; the settings override them.

Bounds stand in the types, so that whoever reads settings can refuse what means nothing and say what would.
"""

from __future__ import annotations

from typing import Annotated

import msgspec
from msgspec import Meta

Share = Annotated[float, Meta(ge=0.0, le=1.0)]
Factor = Annotated[float, Meta(ge=0.0, le=10.0)]
Rows = Annotated[int, Meta(ge=1, le=1_000)]


class TopK(msgspec.Struct, frozen=True, kw_only=True):
    """How many rows an answer has."""

    default: Rows = 5
    most: Rows = 20
    """What a call may ask for."""
    counting_default: Rows = 30
    """For questions that count or list."""
    counting_most: Rows = 30


class Arms(msgspec.Struct, frozen=True, kw_only=True):
    """What each arm adds to a score. Measured (docs/retrieval.md)."""

    words: Share = 0.55
    """For a short question; the rest of it is the meaning's."""
    words_long: Share = 0.2
    """For a long text as a question."""
    neighbours: Factor = 0.6
    """What a turn of a conversation is lent by the turns around it."""
    meaning_floor: Share = 0.0
    """Cosines below it count as nothing; 0 = off."""


class GraphArm(msgspec.Struct, frozen=True, kw_only=True):
    """What relations add: rows that speak of what a question names, or of what is related to it."""

    enabled: bool = True
    """Whether they are looked at."""
    max_hops: Annotated[int, Meta(ge=0, le=2)] = 2
    """Relations that are followed: a row counts 1 for what is named itself, 0.5 for its neighbours, 0.25 for theirs."""
    boost_factor: Share = 0.3
    """A row found by others too is multiplied by 1 + this x what it counts; one found by relations alone scores this x that."""
    max_graph_additions: Annotated[int, Meta(ge=0, le=100)] = 3
    """Rows that nothing else found, at most."""


class Decay(msgspec.Struct, frozen=True, kw_only=True):
    """How a score fades with age: e^(-rate x days)."""

    stated_per_day: Share = 0.05
    """Of what stands as it was said (level 0)."""
    derived_per_day: Share = 0.03
    """Of what was extracted or merged (level 1)."""
    floor: Share = 0.5
    """Nothing fades below it, so that what is old and matches well is still found."""
    relief: Share = 0.0
    """How much a strong match is spared: 1 = a perfect one does not fade."""


class TrustWeights(msgspec.Struct, frozen=True, kw_only=True):
    """By how far the source is trusted."""

    a1: Factor = 1.0
    """Also of memories that say nothing of it."""
    a2: Factor = 0.92
    b: Factor = 0.80
    """Also of any other word."""


class RoleWeights(msgspec.Struct, frozen=True, kw_only=True):
    """By what a memory is for."""

    claim: Factor = 1.0
    cue: Factor = 0.8
    evidence: Factor = 0.5


class LevelWeights(msgspec.Struct, frozen=True, kw_only=True):
    """By how much a memory was worked on."""

    stated: Factor = 1.0
    derived: Factor = 1.5


class Weights(msgspec.Struct, frozen=True, kw_only=True):
    """What multiplies the score of a memory, by what is known of it."""

    preference: Factor = 1.0
    """Of preferences and decisions, beside their importance, which is above that of facts."""
    importance: Share = 0.15
    """How much the importance of a memory counts: 1 = it is a factor as it stands, 0 = not at all."""
    dated: Factor = 1.25
    """Of what happened, or was said, on a date that the question names."""
    user_state: Factor = 1.0
    """Of preferences and project states that the user said; 1.3 to 1.5 favours them."""
    assistant_state: Factor = 1.0
    """Of those that an assistant said; below 1 damps them."""
    feedback: Share = 0.25
    """By how much ratings may raise or lower a score."""
    harmful: Share = 0.5
    """Of what somebody rated harmful."""
    trust: TrustWeights = TrustWeights()
    role: RoleWeights = RoleWeights()
    level: LevelWeights = LevelWeights()


class SearchSettings(msgspec.Struct, frozen=True, kw_only=True):
    """How search answers."""

    deadline_ms: Annotated[int, Meta(ge=50, le=30_000)] = 500
    """An arm that has not answered by then is left out, and the answer says that it is degraded."""
    warm_up_ms: Annotated[int, Meta(ge=0, le=30_000)] = 2_000
    """So much longer the first questions wait, while the node starts or its model is being loaded."""
    evidence_fields: bool = False
    """Whether rows say who said it, when, and which record it was taken from."""
    per_source: Annotated[int, Meta(ge=0, le=1_000)] = 0
    """Most rows from one source or conversation; 0 = no cap."""
    top_k: TopK = TopK()
    arms: Arms = Arms()
    graph: GraphArm = GraphArm()
    decay: Decay = Decay()
    weights: Weights = Weights()
