"""The search of every door: asks the arms, joins what they find, weighs it, and shows each thing once.

    words     the index of words, at once
    meaning   the vectors near the question's, as soon as somebody has embedded it
    time      what happened or was said on a date that the question names, behind what the others found

Who may see what is settled by the places before an arm scores. What else a row must be (not superseded, valid at a
moment, of some kind) is asked of every row found, and more is fetched until enough pass or there is no more.
What is there at the deadline is the answer; it says what is missing. A search changes nothing.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from datetime import UTC, tzinfo

import msgspec

from identity.errors import LoomError
from identity.ports import Clock
from loomem.core.embedding import Asker, Embedded, Readiness
from loomem.core.position import format_position
from loomem.core.row import Place, Row
from loomem.core.search.admit import happened_within, was_valid
from loomem.core.search.collapse import capped, collapse
from loomem.core.search.fuse import Fused, Hit, Part, Signals, fuse
from loomem.core.search.gist import gist
from loomem.core.search.question import Question
from loomem.core.search.settings import SearchSettings
from loomem.core.search.weigh import Span, Weighing
from loomem.core.search.when import mentioned
from loomem.core.times import millis
from loomem.found import shown, within_budget
from loomem.results import Arm, Explained, Found, FoundRow
from loomem.views.together import Views

POOL = 500
"""Rows that each arm is asked for, at least."""
POOL_PER_ROW = 3
WEIGHED, WEIGHED_PER_ROW = 200, 10
"""Of what the arms found, how many of the best are weighed: no factors lift what is behind them to the front."""
WANTED_MORE, WANTED_LIMIT = 10, 1_000
"""How many times as many rows are ranked, and up to how many, when too few of them say something new."""
TIMELY = 0.1
"""Score of a row that nothing but its date brings."""
TIMELY_LIMIT = 100
POOL_LIMIT = 20_000
"""Rows that an arm is asked for when most of what it finds may not be shown."""

Admit = Callable[[Row], bool]


class Scored(msgspec.Struct, frozen=True):
    """A row that was found, with its score and where that comes from."""

    row: Row
    score: float
    fused: Fused


class Ranking(msgspec.Struct, frozen=True):
    """What was found, the best first."""

    rows: list[Scored]
    weighing: Weighing
    degraded: list[str]
    exhausted: bool
    """There is nothing beyond these rows."""


class Search:
    """Finds rows of one caller's projection."""

    def __init__(
        self,
        *,
        views: Views,
        clock: Clock,
        settings: SearchSettings,
        zone: tzinfo,
        asker: Asker | None = None,
    ) -> None:
        self.settings = settings
        self.zone = zone
        self.clock = clock
        self._projection = views.projection
        self._words = views.words
        self._vectors = views.vectors
        self._threads = views.threads.turn
        self._dates = views.dates
        self._asker = asker
        self._feedback = views.feedback
        self._chains = views.projection.records.chains

    async def answer(self, question: Question) -> Found:
        """Return the rows that answer a question, each thing once, as many as were asked for."""
        began = time.perf_counter()
        wanted = question.rows
        while True:
            ranking = await self.rank(
                question.text, _places(question), self._admit(question), wanted, explain=question.explain
            )
            ranked, shown = self._once(question, ranking)
            if len(shown) >= question.rows or ranking.exhausted or wanted >= WANTED_LIMIT:
                break
            wanted *= WANTED_MORE  # most of it said the same
        weighing = ranking.weighing if question.explain else None
        rows = [self._shown(one, [other.row.id for other in same], weighing) for one, same in shown]
        fitting = within_budget(rows, question.tokens)
        return Found(
            rows=fitting,
            counting=question.counting,
            evidence=question.evidence,
            more=len(fitting) < len(rows) or sum(1 + len(same) for _, same in shown) < len(ranked),
            degraded=ranking.degraded,
            took_ms=round((time.perf_counter() - began) * 1_000, 1),
            position=format_position(self._projection.position_of(question.scopes)),
        )

    def embedded(self) -> Callable[[Row], bool] | None:
        """Return what says whether a row has a vector of the model in use; None when there is to be no model."""
        state = None if self._asker is None else self._asker.state()
        if state is None or state.state is Readiness.OFF:
            return None
        held = self._vectors.status
        model = state.model or (held[0].model if held else None)
        if model is None:
            return lambda _: False
        return lambda row: self._vectors.vector(row, model) is not None

    def lacks(self) -> str | None:
        """Return why questions are not embedded, in words, if they are not."""
        state = None if self._asker is None else self._asker.state()
        if state is None or state.state in (Readiness.READY, Readiness.OFF):
            return None
        return f"the model is {state.state}{f': {state.reason}' if state.reason else ''}"

    async def rank(
        self, text: str, within: Callable[[Place], bool], admit: Admit, wanted: int, *, explain: bool = False
    ) -> Ranking:
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
        if embedded is not None:
            near = self._vectors
            meaning, all_meaning = self._admitted(lambda limit: near.search(embedded, places, limit), admit, pool)
            known = {hit.number for hit in meaning}
            missing = [hit.number for hit in words if hit.number not in known]
            meaning = sorted([*meaning, *near.scores(embedded, missing)], key=lambda hit: -hit.score)
        fused = fuse(
            Signals(text=text),
            words,
            meaning,
            self._threads,
            settings=self.settings.arms,
            explained=wanted if explain else 0,
        )
        spans = self._spans(text)
        fused += self._timely(spans, fused, within, admit)
        weighing = self._weighing(spans)
        weighed = self._weighed(weighing, fused[: max(WEIGHED, WEIGHED_PER_ROW * wanted)])
        return Ranking(weighed, weighing, degraded, all_words and all_meaning and len(weighed) == len(fused))

    # --- within ---

    def _once(self, question: Question, ranking: Ranking) -> tuple[list[Scored], list[tuple[Scored, list[Scored]]]]:
        """Return what was found in its order, and what of it is shown, each thing once with what says the same."""
        ranked = capped(ranking.rows, _source_of, self.settings.per_source)
        if question.include_superseded:
            return ranked, [(one, []) for one in ranked[: question.rows]]  # versions of a fact are much alike
        return ranked, collapse(ranked, lambda one: one.row.memory.content, question.rows)

    def _admit(self, question: Question) -> Admit:
        now_ms = millis(self.clock.now())
        chains = self._chains
        hides = not question.include_superseded and not chains.is_empty

        def admit(row: Row) -> bool:
            if row.expired(now_ms) or (hides and chains.is_superseded(row)):
                return False
            at = question.valid_at
            if at is not None and not was_valid(row.memory, chains.valid_until(row), at):
                return False
            return question.after is None or happened_within(row, question.after, now_ms)

        return admit

    def _shown(self, one: Scored, same: list[str], weighing: Weighing | None) -> FoundRow:
        explained = None
        if weighing is not None:
            explained = Explained(
                joined=round(one.fused.score, 4),
                arms=[
                    Arm(
                        arm=part.arm,
                        rank=part.rank,
                        raw=round(part.raw, 4),
                        normal=round(part.normal, 4),
                        weight=round(part.weight, 4),
                    )
                    for part in one.fused.parts
                ],
                factors={factor.name: round(factor.value, 4) for factor in weighing.factors(one.row, one.fused.score)},
            )
        return shown(
            one.row,
            one.score,
            zone=self.zone,
            weights=self.settings.weights,
            supersedes=self._chains.replaced_by(one.row.place, one.row.memory),
            superseded_by=self._chains.superseded_by(one.row),
            same=same,
            explained=explained,
        )

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
                    embedded = await asker.query(gist(text))
            except TimeoutError:
                degraded.append("meaning: the question was not embedded in time")
            except LoomError as error:
                degraded.append(f"meaning: {error.message.rstrip('.')}")

        async with asyncio.TaskGroup() as group:
            group.create_task(settle())
            if self._asker is not None and text.strip():
                group.create_task(embed(self._asker))
        if embedded is not None and (lacking := self._vectors.lacking(embedded)) is not None:
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

    def _worth(self, row: Row) -> float:
        rating, weights = self._feedback.of(row), self.settings.weights
        if rating.n == 0:
            return 1.0
        return rating.factor(millis(self.clock.now()), most=weights.feedback, harm=weights.harmful)

    def _spans(self, text: str) -> list[Span]:
        """Return the days that a question speaks of, as they are called in the reader's zone."""
        now = self.clock.now().astimezone(self.zone)
        whens = [one.when for one in mentioned(text, now)]
        return [Span(millis(when.start.replace(tzinfo=UTC)), millis(when.end.replace(tzinfo=UTC))) for when in whens]

    def _timely(
        self, spans: Sequence[Span], fused: Sequence[Fused], within: Callable[[Place], bool], admit: Admit
    ) -> list[Fused]:
        """Return rows of a time that no other arm found."""
        known = {one.number for one in fused}
        found: list[Fused] = []
        for number in self._dates.within(spans):
            row = self._projection.records.row(number)
            if number not in known and row is not None and within(row.place) and admit(row):
                known.add(number)
                found.append(Fused(number, TIMELY, (Part("time", len(found) + 1, 1.0, 1.0, TIMELY),)))
                if len(found) == TIMELY_LIMIT:
                    break
        return found

    def _weighing(self, spans: Sequence[Span]) -> Weighing:
        return Weighing(
            now_ms=millis(self.clock.now()),
            settings=self.settings,
            spans=spans,
            ratings=self._worth if self._feedback.count() else None,
        )

    def _weighed(self, weighing: Weighing, fused: Sequence[Fused]) -> list[Scored]:
        found: list[Scored] = []
        for one in fused:
            row = self._projection.records.row(one.number)
            if row is not None:
                found.append(Scored(row, one.score * weighing.weight(row, one.score), one))
        return sorted(found, key=lambda one: (-one.score, one.row.order))


def _places(question: Question) -> Callable[[Place], bool]:
    def within(place: Place) -> bool:
        return place.scope in question.scopes and (question.stream is None or question.stream.holds(place))

    return within


def _source_of(one: Scored) -> object | None:
    """Return what a row was taken from: a source, or the conversation it is a turn of."""
    memory = one.row.memory
    if memory.knowledge is not None and memory.knowledge.source_id is not None:
        return memory.knowledge.source_id
    conversation = (memory.metadata or {}).get("conversation")
    return conversation if isinstance(conversation, str) else None
