"""The workers of a node or of `pattern-memory worker`, put together."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from functools import partial
from uuid import uuid4

import msgspec

from identity.ports import Clock
from loomem.core.audit.settings import AuditSettings
from loomem.core.contradict.settings import ContradictSettings
from loomem.core.embedding import EmbeddingState
from loomem.core.extract import ExtractSettings
from loomem.core.graph.dictionary import Dictionary
from loomem.core.limits import Limits
from loomem.core.llm import LlmSettings, Models, Use
from loomem.embed.host import ModelHost
from loomem.embed.opening import open_embedder
from loomem.embed.settings import Adapter, EmbedSettings
from loomem.llm.budget import Budget
from loomem.llm.client import opened
from loomem.nats.audit import AuditStream
from loomem.nats.follow import KvFeed
from loomem.nats.link import Link
from loomem.nats.streams import Streams
from loomem.nats.topology import KvBuckets
from loomem.workers.audit import AuditWorker
from loomem.workers.crew import Crew, CrewLimits
from loomem.workers.duty import Worker
from loomem.workers.embed import EmbedWorker
from loomem.workers.expire import ExpireWorker
from loomem.workers.extract import ExtractWorker, Hygiene
from loomem.workers.graph import GraphWorker, Rules
from loomem.workers.naming import ModelNames
from loomem.workers.placing import Places
from loomem.workers.reading import ModelReader
from loomem.workers.repair import Repair
from loomem.workers.spaces import Spaces
from loomem.workers.status import WorkerStatus

EXTRACT_SETTINGS = ExtractSettings()
CONTRADICT_SETTINGS = ContradictSettings()
NO_MODEL = EmbedSettings(adapter=Adapter.NONE)
NO_LLM = LlmSettings(key=None)


class _Ids:
    """Ids that nobody can guess."""

    def memory_id(self) -> str:
        return str(uuid4())

    def op_id(self) -> str:
        return uuid4().hex


class Services:
    """What runs in the background of this process."""

    def __init__(self, crew: Crew, host: ModelHost, embedder: str | None, models: Models) -> None:
        self._crew = crew
        self.host = host
        self.models = models
        self._embedder = embedder

    def workers(self) -> tuple[WorkerStatus, ...]:
        """Return how each worker is, with what was pending when that was last asked."""
        return self._crew.workers()

    async def status(self) -> tuple[WorkerStatus, ...]:
        """Return how each worker is, having asked the broker what is pending."""
        return await self._crew.status()

    async def pending(self) -> bool:
        """Return whether there is something to do. Raises: AccessDenied, Unavailable."""
        return await self._crew.pending()

    def embedding(self) -> EmbeddingState:
        """Return how the model is, with what was pending when that was last asked."""
        pending = self._crew.waiting(self._embedder) if self._embedder is not None else None
        return msgspec.structs.replace(self.host.state(), pending=pending)


@asynccontextmanager
async def open_services(
    link: Link,
    *,
    limits: Limits,
    clock: Clock,
    replicas: int = 1,
    crew_limits: CrewLimits | None = None,
    embed: EmbedSettings = NO_MODEL,
    rules: ExtractSettings = EXTRACT_SETTINGS,
    hygiene: Hygiene | None = None,
    contradict: ContradictSettings = CONTRADICT_SETTINGS,
    audit: AuditSettings | None = None,
    llm: LlmSettings = NO_LLM,
    names: Dictionary | None = None,
    shared: bool = True,
) -> AsyncGenerator[Services, None]:
    """Run all workers over an operator's link for as long as the context lasts; leaving it drains them.

    `names`: what memories name is read with this dictionary; None = it is not read. `shared`: the broker may hold memories of other users than the one whose settings `embed` and `llm` are. Entering does not wait for
    the broker, nor for the model. Buckets that exist are brought up to what the server can do.
    """
    buckets, feed, streams = KvBuckets(link, replicas=replicas), KvFeed(link), Streams(link)
    host = ModelHost(embed, open_model=partial(open_embedder, shared=shared))
    kept = audit or AuditSettings()
    workers: list[Worker] = [
        ExpireWorker(buckets, feed, streams, limits, clock),
        AuditWorker(AuditStream(link, kept, replicas=replicas), clock, kept),
    ]
    embedder: str | None = None
    if host.name is not None:
        workers.append(EmbedWorker(host, host.name, streams, limits, clock))
        embedder = workers[-1].name
    if names is not None:
        workers.append(GraphWorker(Rules(names), streams, limits, clock))
    budget = Budget(buckets, clock, _Ids(), llm)
    async with (
        host.running(),
        opened(llm, budget, shared=shared) as models,
        Spaces(feed, buckets) as spaces,
    ):
        if names is not None and models.off(Use.ENTITIES) is None:
            workers.append(GraphWorker(ModelNames(models, names), streams, limits, clock))
        asker = host if host.name is not None else None
        workers.append(
            ExtractWorker(
                ModelReader(models, llm, rules),
                limits,
                clock,
                hygiene=hygiene,
                placing=Places(spaces, clock, models, contradict, asker),
            )
        )
        crew = Crew(link, buckets, feed, workers, clock=clock, limits=crew_limits, prepare=Repair(feed, limits, clock))
        async with crew.running():
            yield Services(crew, host, embedder, models)
