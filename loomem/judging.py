"""What a new fact means for those that are there: which it is compared with, what the comparison says, whose place it takes.

Compared is what lies in the same space and still holds: found by meaning where there are vectors, and by words, those of the
same attributes too. Rules judge, at once; a model does when it is switched on, for the nearest ones, and when it gives no
answer in time the rules do. All that the fact contradicts gives way, save what is trusted further.
What it merely adds to keeps its place, and they share a root.

Deliberately absent: the rules (`core.contradict`), the write: supersession stands in the successor (`core.facts`).
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Collection, Sequence
from typing import Protocol

import msgspec

from identity.errors import LoomError
from identity.ports import Clock
from loomem.core.contradict import Kind, Verdict, judge
from loomem.core.contradict.hints import hints
from loomem.core.contradict.settings import ContradictSettings
from loomem.core.embedding import Asker, Readiness
from loomem.core.facts import SUBJECT, may_supersede, trust_in
from loomem.core.knowledge import BY_RULES, Judgement, Knowledge, Role
from loomem.core.record import Category
from loomem.core.row import Place, Row
from loomem.core.search.gist import gist
from loomem.core.times import millis
from loomem.core.vector import speaker_of
from loomem.views.together import Views

log = logging.getLogger(__name__)

FIND_S = 1.0
"""How long finding what to compare may take; what is found by then is compared."""
MODEL_S = 10.0
WORDS_POOLS = (60, 480)
"""Hits of the words that are looked at; many more where former versions and sources take the first ones' places."""
MEANING_POOL = 50
COMPARED = 40
"""Facts that rules compare a new one with."""
COMPARED_CHARS = 2_000
"""A longer memory is no single fact."""
SUPERSEDED_LIMIT = 20

_PASSING = frozenset({Category.CORE, Category.RECENT, Category.TASKS})
"""What is protected, and what goes by itself."""


class ModelJudge(Protocol):
    """A model that judges, wherever it is."""

    async def judge(self, new: str, old: Sequence[str], *, within_s: float) -> tuple[str, list[Verdict]]:
        """Return which model judged, and its verdicts in the order of the older facts. Raises: Unavailable."""
        ...


class Found(msgspec.Struct, frozen=True, kw_only=True):
    """What a new fact means for those that are there."""

    superseded: tuple[Row, ...] = ()
    """Whose place it takes."""
    blocked: tuple[Row, ...] = ()
    """Those that it contradicts, but that are trusted further."""
    extended: tuple[Row, ...] = ()
    """Those that it adds to."""
    judgements: tuple[Judgement, ...] = ()
    """Of `superseded` and `extended`, in that order."""
    reasons: tuple[str, ...] = ()
    """As whoever judged gave them, which may be in words of the older fact: to be shown, not to be kept."""


class Judging:
    """Judges the new facts of one caller, or of a worker, against the views it has."""

    def __init__(
        self,
        *,
        views: Views,
        clock: Clock,
        settings: ContradictSettings | None = None,
        asker: Asker | None = None,
        model: ModelJudge | None = None,
    ) -> None:
        self.settings = settings or ContradictSettings()
        self._projection = views.projection
        self._words = views.words
        self._vectors = views.vectors
        self._clock = clock
        self._asker = asker
        self._model = model

    async def judged(
        self, text: str, known: Knowledge, within: Callable[[Place], bool], *, besides: Collection[str] = ()
    ) -> Found:
        """Return what a fact means for those in some places, without those of some ids.

        Raises: nothing of its own; what cannot be found in time is not compared.
        """
        if not self.settings.enabled:
            return Found()
        nearest, others = await self._candidates(text, within, besides)
        rows = [*nearest, *others][:COMPARED]
        if not rows:
            return Found()
        asked = rows[: self.settings.candidates]
        by, verdicts = await self._verdicts(text, known, asked, rows)
        return _found(known, rows, verdicts, by)

    # --- within ---

    async def _verdicts(
        self, text: str, known: Knowledge, asked: Sequence[Row], rows: Sequence[Row]
    ) -> tuple[str, dict[str, Verdict]]:
        """Return who judged, and the verdicts by the key of the row."""
        if self._model is not None:
            try:
                name, said = await self._model.judge(text, [row.memory.content for row in asked], within_s=MODEL_S)
                return name, {row.key: verdict for row, verdict in zip(asked, said, strict=True)}
            except (LoomError, ValueError) as error:
                log.warning("event=judged_by_rules reason=%r", str(error)[:200])
        verdicts: dict[str, Verdict] = {}
        for row in rows:
            verdicts[row.key] = judge(text, row.memory.content, subject=known.subject, old_subject=_subject(row))
            await asyncio.sleep(0)  # each takes a millisecond
        return BY_RULES, verdicts

    async def _candidates(
        self, text: str, within: Callable[[Place], bool], besides: Collection[str]
    ) -> tuple[list[Row], list[Row]]:
        """Return what to compare with: the nearest in meaning, then what else shares words."""
        vector = None
        try:
            async with asyncio.timeout(FIND_S):
                await self._projection.settle()  # what this process has just written is compared too
                await self._words.settled()
                if self._asker is not None and self._asker.state().state is not Readiness.LOADING:
                    vector = await self._asker.query(gist(text))
        except (TimeoutError, LoomError) as error:
            log.info("event=judged_without_meaning reason=%s", type(error).__name__)
        places = [place for place in self._projection.records.places() if within(place)]
        if not places:
            return [], []
        now_ms = millis(self._clock.now())
        near: list[Row] = []
        if vector is not None:
            hits = self._vectors.search(vector, places, MEANING_POOL)
            numbers = [hit.number for hit in hits if hit.score >= self.settings.similarity]
            near = self._eligible(numbers, now_ms, besides)[: self.settings.candidates]
        known = {row.key for row in near}
        asked = [_plain(text), *([more] if (more := hints(text)) else [])]
        others: list[Row] = []
        for pool in WORDS_POOLS:
            found = [self._words.search(each, places, pool) for each in asked]
            numbers = [hit.number for hits_ in found for hit in hits_]
            others = [row for row in self._eligible(numbers, now_ms, besides) if row.key not in known]
            if len(others) >= COMPARED or all(len(hits_) < pool for hits_ in found):
                break
        return near, others

    def _eligible(self, numbers: Sequence[int], now_ms: int, besides: Collection[str]) -> list[Row]:
        records = self._projection.records
        rows = [row for number in dict.fromkeys(numbers) if (row := records.row(number)) is not None]
        return [
            row
            for row in rows
            if row.id not in besides
            and not row.expired(now_ms)
            and not records.chains.is_superseded(row)
            and _is_fact(row)
        ]


def _is_fact(row: Row) -> bool:
    """Say whether a memory is a statement that another may replace: no source, no part of one, nothing protected or passing,
    and not what somebody said in a conversation."""
    memory, known = row.memory, row.memory.knowledge
    if memory.category in _PASSING or speaker_of(memory.metadata) is not None or len(memory.content) > COMPARED_CHARS:
        return False
    return known is None or (known.role is Role.CLAIM and not (known.source_id is not None and known.level == 0))


def _subject(row: Row) -> str | None:
    known = row.memory.knowledge
    return SUBJECT if known is None else known.subject


def _plain(text: str) -> str:
    """Return a text as words alone, so that nothing in it is taken for a phrase or an exclusion."""
    return " ".join("".join(c if c.isalnum() or c in "._" else " " for c in text[:COMPARED_CHARS]).split())


def _found(known: Knowledge, rows: Sequence[Row], verdicts: dict[str, Verdict], by: str) -> Found:
    updated = [row for row in rows if _kind(verdicts, row) is Kind.UPDATES][:SUPERSEDED_LIMIT]
    allowed = [row for row in updated if may_supersede(known.trust, trust_in(row.memory.knowledge))]
    extended = [row for row in rows if _kind(verdicts, row) is Kind.EXTENDS][:SUPERSEDED_LIMIT]
    told = [*allowed, *extended]
    return Found(
        superseded=tuple(allowed),
        blocked=tuple(row for row in updated if row not in allowed),
        extended=tuple(extended),
        judgements=tuple(
            Judgement(
                memory_id=row.id,
                relation=str(verdicts[row.key].kind),
                # A model may quote what it was shown, and that must not outlive the memory it stands in.
                reason=verdicts[row.key].reason if by == BY_RULES else None,
                by=by,
            )
            for row in told
        ),
        reasons=tuple(verdicts[row.key].reason for row in told),
    )


def _kind(verdicts: dict[str, Verdict], row: Row) -> Kind:
    verdict = verdicts.get(row.key)
    return Kind.NONE if verdict is None else verdict.kind
