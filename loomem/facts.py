"""The part of the engine that knows facts: stores them, takes conversations in, tells their history, deletes and restores, rates and counts.

As all of `loomem.engine`, of which every engine inherits this: raw arguments in, checked here, results out.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from datetime import tzinfo

import msgspec

from identity.errors import NotFound, Unavailable
from identity.ports import Progress
from loomem.core import limits as check
from loomem.core import plan
from loomem.core.audit.notes import Action
from loomem.core.facts import FactSettings
from loomem.core.rating import clean_given
from loomem.core.recall import clean_scopes
from loomem.core.sources import is_source
from loomem.core.stats import Meaning
from loomem.core.streams import Stream
from loomem.fact_results import (
    Deleted,
    DeletedMemories,
    History,
    Ingested,
    MemoryStats,
    MemoryStatus,
    Namespaces,
    Rated,
    Restored,
    Stored,
)
from loomem.graph_results import GraphFound, Ruled
from loomem.judging import Judging
from loomem.results import Job
from loomem.search import Search
from loomem.store import deletion, facts, feedback, graph, history, overview
from loomem.store.cleaning import Cleaning
from loomem.store.ingest import Intake, RawTranscript
from loomem.store.streams import stream_of
from loomem.store.write import Door, doing
from loomem.views.graph import Graph
from loomem.views.jobs import Jobs


class FactEngine:
    """What one caller may do with facts."""

    def __init__(
        self,
        door: Door,
        settings: FactSettings,
        search: Search | None,
        zone: tzinfo,
        jobs: Jobs | None,
        judging: Judging | None = None,
        llm: Callable[[], Awaitable[str]] | None = None,
    ) -> None:
        self._door = door
        self._facts = settings
        self._search = search
        self._jobs = jobs
        self._intake = Intake(door, settings, zone, jobs)
        self._judging = judging
        self._llm = llm

    async def store(
        self,
        *,
        content: object,
        source: object = None,
        subject: object = None,
        metadata: object = None,
        relations: object = None,
        supersedes: object = None,
        stream: object = None,
    ) -> Stored:
        """Store a fact with what is known of it, in the caller's personal space or the stream that is named.

        Raises: InvalidInput, AccessDenied (no such stream), LimitExceeded, Unavailable.
        """
        raw = facts.RawFact(
            content=content,
            source=source,
            subject=subject,
            metadata=metadata,
            relations=relations,
            supersedes=supersedes,
            stream=stream,
        )
        return await facts.store(self._door, raw, self._facts, self._judging)

    async def ingest(
        self,
        *,
        content: object,
        conversation_date: object = None,
        stream: object = None,
        wait: object = None,
        progress: Progress | None = None,
    ) -> Ingested:
        """Store a conversation as a source from which facts are taken, and wait for them, bounded.

        Raises: InvalidInput, AccessDenied (no such stream), LimitExceeded, Unavailable. Then nothing was stored.
        """
        raw = RawTranscript(content=content, conversation_date=conversation_date, stream=stream, wait=wait)
        return await self._intake.ingest(raw, progress)

    async def delete(self, *, chunk_id: object, stream: object = None) -> Deleted:
        """Hide a memory of the caller's own at once and everywhere; it can be restored for as long as the limits say.

        Raises: InvalidInput, NotFound, AccessDenied, CoreProtected, Conflict, Unavailable.
        """
        ident = check.clean_id(chunk_id, self._door.limits, field="chunk_id")
        return await deletion.delete(self._door, ident, await self._stream(stream))

    async def restore(self, *, memory_id: object) -> Restored:
        """Bring back a deleted memory of the caller's own.

        Raises: InvalidInput, NotFound, AccessDenied, LimitExceeded, Conflict, Unavailable.
        """
        ident = check.clean_id(memory_id, self._door.limits)
        with doing(Action.RESTORED):
            return await deletion.restore(self._door, ident)

    async def deleted(self) -> DeletedMemories:
        """Return what can be restored, the last deleted first. Raises: Unavailable."""
        return await deletion.deleted(self._door)

    async def feedback(
        self,
        *,
        chunk_id: object,
        usefulness: object = None,
        harmful: object = None,
        justification: object = None,
        model_version: object = None,
        prompt_version: object = None,
        trajectory_id: object = None,
        withdraw: object = None,
    ) -> Rated:
        """Rate a memory that the caller can see, or with `withdraw` take back all that the caller said of it.

        Raises: InvalidInput, Conflict, Unavailable.
        """
        ident = check.clean_id(chunk_id, self._door.limits, field="chunk_id")
        if check.clean_flag("withdraw", withdraw, default=False):
            return await feedback.withdraw(self._door, ident)
        raw = {
            "usefulness": usefulness,
            "harmful": harmful,
            "justification": justification,
            "model_version": model_version,
            "prompt_version": prompt_version,
            "trajectory_id": trajectory_id,
        }
        given = clean_given(raw, plan.text_of(self._door.now_ms))
        cleaning = Cleaning(self._door, self._facts.pii)
        given = msgspec.structs.replace(given, justification=cleaning.text(given.justification, field="justification"))
        return await feedback.rate(self._door, ident, given)

    async def history(self, *, chunk_id: object, limit: object = None, stream: object = None) -> History:
        """Return the versions of a fact, from the id of any of them.

        Raises: InvalidInput, AccessDenied (it is in another stream), Unavailable.
        """
        ident = check.clean_id(chunk_id, self._door.limits, field="chunk_id")
        found = await history.history(self._door, ident, history.clean_limit(limit), await self._stream(stream))
        return msgspec.structs.replace(found, extraction=await self._extraction(ident)) if found.versions else found

    async def graph(
        self,
        *,
        entity: object,
        depth: object = None,
        direction: object = None,
        stream: object = None,
        scopes: object = None,
    ) -> GraphFound:
        """Return an entity that memories speak of, and how it is related to others.

        Raises: InvalidInput, AccessDenied (no such stream), Unavailable.
        """
        asked = graph.Asked(
            name=graph.clean_name(entity),
            depth=graph.clean_depth(depth),
            direction=graph.clean_direction(direction),
            stream=await self._stream(stream),
            scopes=clean_scopes(scopes),
        )
        return await graph.around(self._door, self._entities(), asked)

    async def rule(self, *, verdict: object, name: object, into: object, stream: object = None) -> Ruled:
        """Say that two names are one entity (`merge`), or two (`split`), or take that back (`none`); in the personal space or a stream.

        Raises: InvalidInput, AccessDenied (no such stream), NotFound (nothing to take back), Conflict, Unavailable.
        """
        decided = graph.clean_verdict(verdict)
        one, other = graph.clean_name(name, field="name"), graph.clean_name(into, field="into")
        return await graph.rule(self._door, self._entities(), decided, one, other, await self._stream(stream))

    def _entities(self) -> Graph:
        if self._search is None:
            raise Unavailable("This process keeps no graph")
        return self._search.graph

    async def namespaces(self) -> Namespaces:
        """Return the streams that the caller may name. Raises: Unavailable."""
        return await overview.namespaces(self._door, self._facts.namespaces)

    async def memory_status(self, *, stream: object = None, source_id: object = None) -> MemoryStatus:
        """Return how a stream stands, or all that the caller may see, and how the extraction of a source is.

        Raises: InvalidInput, NotFound (no such source), AccessDenied, Unavailable.
        """
        ident = None if source_id is None else check.clean_id(source_id, self._door.limits, field="source_id")
        found = await self._stream(stream)
        status = await overview.status(self._door, found, await self._meaning(), self._jobs)
        status = msgspec.structs.replace(status, llm=None if self._llm is None else await self._llm())
        if ident is None:
            return status
        await self._door.look_up([ident])
        extraction = await self._extraction(self._door.rows(ident)[0].id)
        if extraction is None:
            raise NotFound("This is the id of a memory, not of a source that memory_ingest stored", memoryId=ident)
        return msgspec.structs.replace(status, source_id=ident, extraction=extraction)

    async def memory_stats(self, *, stream: object = None) -> MemoryStats:
        """Return a stream in numbers, or all that the caller may see. Raises: InvalidInput, AccessDenied, Unavailable."""
        found = await self._stream(stream)
        indexed = None if self._search is None else self._search.indexed
        return await overview.stats(self._door, found, await self._meaning(), indexed)

    async def _extraction(self, ident: str) -> Job | None:
        """Return how the extraction of a source is; None for what is none. Raises: Unavailable."""
        rows = self._door.projection.records.find(ident)
        return await self._intake.job(rows[0]) if rows and is_source(rows[0].memory) else None

    async def _meaning(self) -> Meaning | None:
        return None if self._search is None else await self._search.meaning()

    async def _stream(self, word: object) -> Stream | None:
        return await stream_of(self._door, word, self._facts.namespaces)
