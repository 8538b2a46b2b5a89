"""The search of every door: asks the arms, joins what they find, weighs it, and shows each thing once.

    words     the index of words, at once
    meaning   the vectors near the question's, as soon as somebody has embedded it
    relations what speaks of whom a question names, or of what is related to that: lifted where the others found it, and a few more
    time      what happened or was said on a date that the question names, behind what the others found

Who may see what is settled by the places before an arm scores. What else a row must be (not superseded, valid at a
moment, of some kind) is asked of every row found, and more is fetched until enough pass or there is no more.
What is there at the deadline is the answer; it says what is missing. A search changes nothing.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Collection, Sequence
from datetime import UTC, datetime, tzinfo
from itertools import islice

import msgspec

from identity.errors import LoomError
from identity.ports import Clock
from loomem.core.analyse import Analyser
from loomem.core.embedding import Asker, Embedded, Readiness
from loomem.core.position import format_position
from loomem.core.row import Place, Row
from loomem.core.search.admit import happened_within, since, was_valid
from loomem.core.search.collapse import capped, collapse
from loomem.core.search.cover import LEAST, LOOKED_AT, enough, held
from loomem.core.search.fuse import Fused, Hit, Part, Signals, fuse
from loomem.core.search.gist import gist
from loomem.core.search.question import Question
from loomem.core.search.settings import SearchSettings
from loomem.core.search.weigh import Span, Weighing
from loomem.core.search.when import mentioned, only_dates
from loomem.core.search.within import held_once, holding, is_fragment, is_told, is_whole
from loomem.core.stats import Meaning
from loomem.core.times import millis
from loomem.core.vector import text_of
from loomem.found import shown, within_budget
from loomem.results import Arm, Explained, Found, FoundRow
from loomem.views.near import beyond, near
from loomem.views.together import Views

POOL = 500
"""Rows that each arm is asked for, at least."""
POOL_PER_ROW = 3
WEIGHED, WEIGHED_PER_ROW = 200, 10
"""Of what the arms found, how many of the best are weighed: no factors lift what is behind them to the front."""
WANTED_MORE, WANTED_LIMIT = 10, 1_000
"""How many times as many rows are ranked, and up to how many, when too few of them say something new."""
TOLD_PER_ROW = 4
"""How many conversations for each row that is shown are looked at for whether all of them is in fragments."""
FACTS_LEND = 0.1
"""What of the square of the best fact's match is lent to the utterance it stands in. Measured (docs/retrieval.md)."""
TIMELY = 0.1
"""Score of a row that nothing but its date brings."""
TIMELY_LIMIT = 100
POOL_LIMIT = 20_000
"""Rows that an arm is asked for when most of what it finds may not be shown."""

SLICE = 500
"""Rows that are weighed before the time is looked at again."""

Admit = Callable[[Row], bool]
Bound = Callable[[Sequence[int]], Collection[int]]
"""Gives which of some rows a question's `-word` and "phrase" let pass."""


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


class _Once(msgspec.Struct, frozen=True):
    """A row that is shown, for itself and others."""

    best: Scored
    """It, with what the facts in it lend it."""
    others: tuple[Row, ...] = ()
    """What it holds, and what says the same."""
    event: str | None = None
    """The day that facts in it tell."""


class _Asked(msgspec.Struct, frozen=True):
    """A question that is ready to be looked up."""

    text: str
    embedded: Embedded | None
    degraded: list[str]
    until: float
    """The deadline, by the clock of the loop."""

    def is_late(self) -> bool:
        return asyncio.get_running_loop().time() >= self.until


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
        self._threads = views.threads
        self._dates = views.dates
        self._asker = asker
        self._analyser = Analyser()
        self._feedback = views.feedback
        self.graph = views.graph
        self._chains = views.projection.records.chains

    async def answer(self, question: Question) -> Found:
        """Return the rows that answer a question, each thing once, as many as were asked for."""
        began = time.perf_counter()
        wanted = question.rows
        asked = await self._asked(question.text)
        admit = self._admit(question)  # only now: what is superseded or expired meanwhile is not shown
        while True:
            late = asked.is_late()
            ranking = self._rank(asked, _places(question), admit, wanted, explain=question.explain)
            shown = self._once(question, ranking)
            if late or len(shown) >= question.rows or ranking.exhausted or wanted >= WANTED_LIMIT:
                break
            wanted *= WANTED_MORE  # most of it said the same
        weighing = ranking.weighing if question.explain else None
        rows = [self._shown(question.text, one, weighing) for one in shown]
        fitting = within_budget(rows, question.tokens)
        return Found(
            rows=fitting,
            counting=question.counting,
            evidence=question.evidence,
            more=len(fitting) < len(rows) or sum(1 + len(one.others) for one in shown) < len(ranking.rows),
            degraded=ranking.degraded,
            took_ms=round((time.perf_counter() - began) * 1_000, 1),
            position=format_position(self._projection.position_of(question.scopes)),
        )

    @property
    def indexed(self) -> int:
        """How many rows the index of words holds now, superseded ones too."""
        return self._words.status.texts

    async def meaning(self) -> Meaning | None:
        """Return how the model is now, as whoever holds it says; None when there is to be none."""
        state = None if self._asker is None else await self._asker.look()
        if state is None or state.state is Readiness.OFF:
            return None
        held = self._vectors.status
        model = state.model or (held[0].model if held else "")
        trouble: list[str] = []
        if state.state is not Readiness.READY:
            trouble.append(f"the model is {state.state}{f': {state.reason}' if state.reason else ''}")
        if self._vectors.unreadable:
            trouble.append(f"{self._vectors.unreadable} unreadable")
        if former := sum(each.held for each in held if each.model != model):
            trouble.append(f"{former} vectors of former models")
        return Meaning(state.state, lambda row: self._vectors.has(row, model), "; ".join(trouble) or None)

    async def rank(
        self,
        text: str,
        within: Callable[[Place], bool],
        admitting: Callable[[], Admit],
        wanted: int,
        *,
        dated: bool = True,
    ) -> Ranking:
        """Return the rows that a text finds in some places and that may be shown: `wanted` of them, and some more.

        `admitting` gives what may be shown, once the search has waited for what it needs. Without `dated`, rows that share
        nothing but a date with the text are found only where the text is a date.
        Raises: nothing of its own; what an arm cannot do stands in `degraded`.
        """
        asked = await self._asked(text)
        return self._rank(asked, within, admitting(), wanted, dated=dated)

    # --- within ---

    def _rank(
        self,
        asked: _Asked,
        within: Callable[[Place], bool],
        admit: Admit,
        wanted: int,
        *,
        explain: bool = False,
        dated: bool = True,
    ) -> Ranking:
        text, embedded, degraded = asked.text, asked.embedded, list(asked.degraded)
        every = self._projection.records.places()
        places: list[Place] | None = [place for place in every if within(place)]
        if len(places) == len(every):
            places = None
        bound = self._words.bound(text, places)
        late = asked.is_late
        pool = max(POOL, POOL_PER_ROW * wanted)
        words, all_words = self._admitted(lambda limit: self._words.search(text, places, limit), admit, pool, late)
        meaning: list[Hit] = []
        all_meaning = True
        if embedded is not None:
            near = self._vectors

            def nearest(limit: int) -> list[Hit]:
                return near.search(embedded, places, limit)

            meaning, all_meaning = self._admitted(nearest, admit, pool, late, bound)
            known = {hit.number for hit in meaning}
            missing = [hit.number for hit in words if hit.number not in known]
            meaning = sorted([*meaning, *near.scores(embedded, missing)], key=lambda hit: -hit.score)
        fused = fuse(
            Signals(text=text, held=self._held(text, words) if meaning else 1.0),
            words,
            meaning,
            None if self._threads.is_empty else self._threads.turn,
            settings=self.settings.arms,
            explained=len(words) + len(meaning) if explain else 0,
        )
        now = self.clock.now().astimezone(self.zone)
        spans = self._spans(text, now)
        if dated or only_dates(text, now):
            timely = self._timely(spans, fused, within, admit)
            may = None if bound is None else bound([one.number for one in timely])
            fused += timely if may is None else [one for one in timely if one.number in may]
        related = self._related(text, within, admit)
        weighing = self._weighing(spans, {one.number: related[one.number] for one in fused if one.number in related})
        led_to = self._led_to(related, fused, bound)
        best = [*self._with_utterances(fused, max(WEIGHED, WEIGHED_PER_ROW * wanted)), *led_to]
        weighed, taken = self._weighed(weighing, best, late)
        if taken < len(best):
            degraded.append(f"ranking: {len(best) - taken} of {len(best)} rows were not weighed in time")
        return Ranking(
            self._after_successors(weighed),
            weighing,
            degraded,
            all_words and all_meaning and len(weighed) == len(fused) + len(led_to),
        )

    def _with_utterances(self, fused: list[Fused], most: int) -> list[Fused]:
        """Return the best of what was found, and the utterances in which any of it was read, if those were found at all."""
        records = self._projection.records
        best = [row for one in fused[:most] if (row := records.row(one.number)) is not None]
        later = {one.number: one for one in fused[most:]}
        others = [row for number in later if (row := records.row(number)) is not None]
        return [*fused[:most], *(later[others[at].number] for at in holding(best, others))]

    def _held(self, text: str, words: Sequence[Hit]) -> float:
        """Return which part of a question the best of what its words found holds; 1 where that is not asked."""
        if not words or enough(text) < LEAST:
            return 1.0
        rows = (self._projection.records.row(hit.number) for hit in words[:LOOKED_AT])
        return held(self._analyser, text, [text_of(row.memory) for row in rows if row is not None])

    def _after_successors(self, ranked: list[Scored]) -> list[Scored]:
        """Return rows with each that was superseded behind what took its place, right behind it if it stood before."""
        if self._chains.is_empty:
            return ranked
        held = {one.row.id for one in ranked}
        waiting: dict[str, list[Scored]] = {}
        told: set[str] = set()
        ordered: list[Scored] = []
        for one in ranked:
            successor = self._chains.superseded_by(one.row)
            if successor is not None and successor in held and successor not in told:
                waiting.setdefault(successor, []).append(one)
                continue
            following = [one]
            while following:
                here = following.pop(0)
                ordered.append(here)
                told.add(here.row.id)
                following = [*waiting.pop(here.row.id, ()), *following]
        # Ids may meet in a ring, when several places have them.
        return ordered + [one for left in waiting.values() for one in left]

    def _once(self, question: Question, ranking: Ranking) -> list[_Once]:
        """Return what of the rows that were found is shown, each thing once, with what it holds and what says the same."""
        ranked, most = ranking.rows, self.settings.per_source
        if question.include_superseded:  # versions of a fact are much alike
            if (first := capped(ranked, lambda one: _source_of(one.row), most)) != ranked:
                ranked = self._after_successors(first)
            return [_Once(one) for one in ranked[: question.rows]]
        each = capped(self._held_once(question, ranking), lambda one: _source_of(one.best.row), most)
        return [
            _Once(
                one.best, (*one.others, *(row for other in same for row in (other.best.row, *other.others))), one.event
            )
            for one, same in collapse(each, lambda one: one.best.row.memory.content, question.rows)
        ]

    def _held_once(self, question: Question, ranking: Ranking) -> list[_Once]:
        """Return the rows that were found, each that another one holds with that one.

        What was read in an utterance lends it some of how well it matches, and the utterance weighs what it weighs: what lifts
        facts over what they were taken from says nothing of which of two utterances answers.
        """
        ranked = ranking.rows
        rows = [one.row for one in ranked]
        found: list[_Once] = []
        for each in held_once(rows, self._told(rows, TOLD_PER_ROW * question.rows)):
            best = ranked[each.shown]
            fused = best.fused
            if each.like is not None:
                score = fused.score * ranking.weighing.weight(rows[each.like], fused.score)
                best = Scored(best.row, min(best.score, score), fused)
            elif each.facts:
                lent = max(ranked[at].fused.score for at in each.facts) ** 2
                part = Part("facts", None, lent, lent, FACTS_LEND)
                match = fused.score + FACTS_LEND * lent
                fused = Fused(fused.number, match, (*fused.parts, part) if fused.parts else ())
                best = Scored(best.row, match * ranking.weighing.weight(best.row, min(1.0, match)), fused)
            found.append(_Once(best, tuple(rows[at] for at in each.within), each.event))
        return sorted(found, key=lambda one: (-one.best.score, one.best.row.order))

    def _told(self, rows: Sequence[Row], most: int) -> set[str]:
        """Return which of the first `most` conversations, and parts of them, are in fragments that were kept, all of them."""
        taken = self._projection.records.taken
        told: set[str] = set()
        for row in islice((row for row in rows if is_whole(row.memory)), most):
            known = row.memory.knowledge
            source = row.id if known is None or known.source_id is None else known.source_id
            others = [other.memory for other in taken.named(row.place, source)]
            if is_told(row.memory, [one for one in others if one.deleted_at is None and is_fragment(one)]):
                told.add(row.id)
        return told

    def _admit(self, question: Question) -> Admit:
        now = self.clock.now()
        now_ms = millis(now)
        time_asked = None if question.since is None else since(question.since, now)
        chains = self._chains
        hides = not question.include_superseded and not chains.is_empty

        def admit(row: Row) -> bool:
            if row.expired(now_ms) or (hides and chains.is_superseded(row)):
                return False
            at = question.valid_at
            if at is not None and not was_valid(row.memory, chains.valid_until(row), at):
                return False
            return time_asked is None or happened_within(row, time_asked)

        return admit

    def _shown(self, question: str, once: _Once, weighing: Weighing | None) -> FoundRow:
        explained, one = None, once.best
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
        replaced = (self._chains.replaced_by(row.place, row.memory) for row in (one.row, *once.others))
        return shown(
            one.row,
            one.score,
            question=question,
            zone=self.zone,
            weights=self.settings.weights,
            supersedes=list(dict.fromkeys(ident for each in replaced for ident in each)),
            superseded_by=self._chains.superseded_by(one.row),
            same=[row.id for row in once.others],
            event=once.event,
            explained=explained,
        )

    async def _asked(self, text: str) -> _Asked:
        """Wait for the words and for the question's vector, both at once and neither beyond the deadline."""
        until = asyncio.get_running_loop().time() + self.settings.deadline_ms / 1_000
        if self._asker is not None and self._asker.state().state is Readiness.LOADING:
            until += self.settings.warm_up_ms / 1_000
        degraded: list[str] = []
        embedded: Embedded | None = None

        async def settle() -> None:
            try:
                async with asyncio.timeout_at(until):
                    await self._words.settled()
            except TimeoutError:
                if (pending := self._words.status.pending) > 0:  # what was missing may be there by now
                    degraded.append(f"words: {pending} memories are not indexed yet")

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
        return _Asked(text, embedded, degraded, until)

    def _admitted(
        self,
        arm: Callable[[int], list[Hit]],
        admit: Admit,
        pool: int,
        late: Callable[[], bool],
        bound: Bound | None = None,
    ) -> tuple[list[Hit], bool]:
        """Return an arm's hits that may be shown, and whether these are all it has.

        After the deadline more are fetched once at most.
        """
        limit = pool
        while True:
            last = late()
            hits = arm(limit)
            may = None if bound is None else bound([hit.number for hit in hits])
            shown: list[Hit] = []
            for hit in hits:
                row = self._projection.records.row(hit.number)
                if row is not None and (may is None or hit.number in may) and admit(row):
                    shown.append(hit)
            if len(hits) < limit or len(shown) >= pool or limit >= POOL_LIMIT or last:
                return shown[:pool], len(hits) < limit and len(shown) <= pool
            limit = min(4 * limit, POOL_LIMIT)

    def _worth(self, row: Row) -> float:
        rating, weights = self._feedback.of(row), self.settings.weights
        if rating.n == 0:
            return 1.0
        return rating.factor(millis(self.clock.now()), most=weights.feedback, harm=weights.harmful)

    def _spans(self, text: str, now: datetime) -> list[Span]:
        """Return the days that a question speaks of, as they are called in the reader's zone."""
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

    def _related(self, text: str, within: Callable[[Place], bool], admit: Admit) -> dict[int, float]:
        """Return how near rows are to what a question names, by their relations."""
        arm = self.settings.graph
        if not arm.enabled or self.graph.is_empty:
            return {}
        return near(self.graph.asked(within, admit), text, self._projection.records.count(), arm.max_hops)

    def _led_to(self, related: dict[int, float], fused: Sequence[Fused], bound: Bound | None) -> list[Fused]:
        """Return the few rows that relations alone lead to."""
        arm = self.settings.graph
        found = beyond(
            related, (one.number for one in fused), arm.max_graph_additions if bound is None else len(related)
        )
        if bound is not None:
            may = bound([number for number, _ in found])
            found = [one for one in found if one[0] in may][: arm.max_graph_additions]
        return [
            Fused(number, arm.boost_factor * g, (Part("graph", rank, g, g, arm.boost_factor),))
            for rank, (number, g) in enumerate(found, 1)
        ]

    def _weighing(self, spans: Sequence[Span], related: dict[int, float]) -> Weighing:
        return Weighing(
            now_ms=millis(self.clock.now()),
            settings=self.settings,
            spans=spans,
            ratings=self._worth if self._feedback.count() else None,
            related=related,
        )

    def _weighed(
        self, weighing: Weighing, fused: Sequence[Fused], late: Callable[[], bool]
    ) -> tuple[list[Scored], int]:
        """Return rows by their weighed score, and how many were weighed: the best `SLICE`, and the others while there is time."""
        found: list[Scored] = []
        taken = 0
        while taken < len(fused) and (taken == 0 or not late()):
            for one in fused[taken : taken + SLICE]:
                row = self._projection.records.row(one.number)
                if row is not None:
                    found.append(Scored(row, one.score * weighing.weight(row, one.score), one))
            taken = min(taken + SLICE, len(fused))
        return sorted(found, key=lambda one: (-one.score, one.row.order)), taken


def _places(question: Question) -> Callable[[Place], bool]:
    def within(place: Place) -> bool:
        return place.scope in question.scopes and (question.stream is None or question.stream.holds(place))

    return within


def _source_of(row: Row) -> object | None:
    """Return what a row was taken from: a source, or the conversation it is a turn of."""
    memory = row.memory
    if memory.knowledge is not None and memory.knowledge.source_id is not None:
        return memory.knowledge.source_id
    conversation = (memory.metadata or {}).get("conversation")
    return conversation if isinstance(conversation, str) else None
