"""The search of every door: asks the arms, joins what they find, weighs it, and shows each thing once.

    words     the index of words, at once
    meaning   the vectors near the question's, as soon as somebody has embedded it

Who may see what is settled by the places before an arm scores. What else a row must be (not superseded, valid at a
moment, of some kind) is asked of every row found, and more is fetched until enough pass or there is no more.
What is there at the deadline is the answer; it says what is missing. A search changes nothing.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Collection, Sequence
from datetime import tzinfo
from typing import Protocol

import msgspec

from identity.errors import LoomError
from identity.ports import Clock
from loomem.core.embedding import Asker, Embedded
from loomem.core.row import Place, Row
from loomem.core.search.fuse import Fused, Hit, Signals, Threads, fuse
from loomem.core.search.settings import SearchSettings
from loomem.core.search.weigh import Factor, Ratings, Span, Weighing
from loomem.core.search.when import mentioned
from loomem.core.times import millis
from loomem.views.projection import Projection
from loomem.views.words import Words

POOL = 100
"""Rows that each arm is asked for, at least."""
POOL_PER_ROW = 3
POOL_LIMIT = 20_000
"""Rows that an arm is asked for when most of what it finds may not be shown."""
QUESTION_CHARS = 2_000
"""Of a question that are embedded."""

Admit = Callable[[Row], bool]


class Meaning(Protocol):
    """An index of vectors."""

    def search(self, question: Embedded, places: Collection[Place] | None, limit: int) -> list[Hit]:
        """Return the rows in some places (None: in all) whose vectors are nearest, the nearest first."""
        ...

    def scores(self, question: Embedded, numbers: Collection[int]) -> list[Hit]:
        """Return how near these rows are, as far as they have a vector of the question's model."""
        ...

    def lacking(self) -> str | None:
        """Return what is missing of it, in words, if anything."""
        ...


class Scored(msgspec.Struct, frozen=True):
    """A row that was found, with its score and where that comes from."""

    row: Row
    score: float
    fused: Fused
    factors: list[Factor]


class Ranking(msgspec.Struct, frozen=True):
    """All that was found, the best first."""

    rows: list[Scored]
    degraded: list[str]
    exhausted: bool
    """There is nothing beyond these rows."""


class Search:
    """Finds rows of one caller's projection."""

    def __init__(
        self,
        *,
        projection: Projection,
        words: Words,
        clock: Clock,
        settings: SearchSettings,
        zone: tzinfo,
        meaning: Meaning | None = None,
        asker: Asker | None = None,
        threads: Threads | None = None,
        ratings: Ratings | None = None,
    ) -> None:
        self.settings = settings
        self.zone = zone
        self.clock = clock
        self._projection = projection
        self._words = words
        self._meaning = meaning
        self._asker = asker
        self._threads = threads
        self._ratings = ratings

    async def rank(self, text: str, within: Callable[[Place], bool], admit: Admit, wanted: int) -> Ranking:
        """Return the rows that a text finds in some places and that may be shown: `wanted` of them, and some more.

        Raises: nothing of its own; what an arm cannot do stands in `degraded`.
        """
        degraded: list[str] = []
        embedded = await self._prepared(text, degraded)
        every = self._projection.records.places()
        places: list[Place] | None = [place for place in every if within(place)]
        if len(places) == len(every):
            places = None
        pool = max(POOL, POOL_PER_ROW * wanted)
        words, all_words = self._admitted(lambda limit: self._words.search(text, places, limit), admit, pool)
        meaning: list[Hit] = []
        all_meaning = True
        if embedded is not None and self._meaning is not None:
            near = self._meaning
            meaning, all_meaning = self._admitted(lambda limit: near.search(embedded, places, limit), admit, pool)
            known = {hit.number for hit in meaning}
            missing = [hit.number for hit in words if hit.number not in known]
            meaning = sorted([*meaning, *near.scores(embedded, missing)], key=lambda hit: -hit.score)
        fused = fuse(Signals(text=text), words, meaning, self._threads)
        return Ranking(self._weighed(text, fused), degraded, all_words and all_meaning)

    # --- within ---

    async def _prepared(self, text: str, degraded: list[str]) -> Embedded | None:
        """Wait for the words and for the question's vector, both at once and neither beyond the deadline."""
        until = asyncio.get_running_loop().time() + self.settings.deadline_ms / 1_000
        embedded: Embedded | None = None

        async def settle() -> None:
            try:
                async with asyncio.timeout_at(until):
                    await self._words.settled()
            except TimeoutError:
                degraded.append(f"words: {self._words.status.pending} memories are not indexed yet")

        async def embed(asker: Asker) -> None:
            nonlocal embedded
            try:
                async with asyncio.timeout_at(until):
                    embedded = await asker.query(text[:QUESTION_CHARS])
            except TimeoutError:
                degraded.append("meaning: the question was not embedded in time")
            except LoomError as error:
                degraded.append(f"meaning: {error.message}")

        async with asyncio.TaskGroup() as group:
            group.create_task(settle())
            if self._asker is not None and self._meaning is not None and text.strip():
                group.create_task(embed(self._asker))
        if embedded is not None and self._meaning is not None and (lacking := self._meaning.lacking()) is not None:
            degraded.append(f"meaning: {lacking}")
        return embedded

    def _admitted(self, arm: Callable[[int], list[Hit]], admit: Admit, pool: int) -> tuple[list[Hit], bool]:
        """Return an arm's hits that may be shown, and whether these are all it has."""
        limit = pool
        while True:
            hits = arm(limit)
            shown: list[Hit] = []
            for hit in hits:
                row = self._projection.records.row(hit.number)
                if row is not None and admit(row):
                    shown.append(hit)
            if len(hits) < limit or len(shown) >= pool or limit >= POOL_LIMIT:
                return shown[:pool], len(hits) < limit and len(shown) <= pool
            limit = min(4 * limit, POOL_LIMIT)

    def _weighed(self, text: str, fused: Sequence[Fused]) -> list[Scored]:
        now = self.clock.now()
        spans = [Span(millis(one.when.start), millis(one.when.end)) for one in mentioned(text, now.astimezone(self.zone))]
        weighing = Weighing(now_ms=millis(now), settings=self.settings, spans=spans, ratings=self._ratings)
        found: list[Scored] = []
        for one in fused:
            row = self._projection.records.row(one.number)
            if row is not None:
                factors = weighing.factors(row, one.score)
                score = one.score
                for factor in factors:
                    score *= factor.value
                found.append(Scored(row, score, one, factors))
        return sorted(found, key=lambda one: (-one.score, one.row.order))
