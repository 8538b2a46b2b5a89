"""What a hybrid search costs, its question's embedding apart: p50, p95 and p99 at several sizes, for one caller and for many.

The views are those of a server, in this process, on a broker that holds memories with synthetic vectors, in groups and
mostly one direction, as a model's are. The callers share the process, as those of one server do: what each of many waits is
the others' work, so it grows with their number. Time to searchable is told apart, by servers over stdio.
"""

from __future__ import annotations

import asyncio
import gc
import itertools
import random
import time
from collections.abc import AsyncGenerator, Iterator, Sequence
from contextlib import asynccontextmanager
from datetime import UTC

from bench.report import Effort, Row, spread
from bench.text import resident_mb, texts, vocabulary
from bench.world import Stopwatch, agent, broker, session
from identity.agent import AgentId, Caller, ProjectId, UserId
from identity.keys import Kind, parse_key
from identity.ports import Put
from identity.visibility import Scope, space_for
from loomem.core.embedding import Embedded, EmbeddingState, Readiness, Vector, unit_vector
from loomem.core.limits import Limits
from loomem.core.record import Category, Memory, encode
from loomem.core.scan import ScanPolicy
from loomem.core.search.settings import SearchSettings
from loomem.core.times import iso
from loomem.core.vector import Stored, content_hash, text_of
from loomem.core.vector import encode as encode_vector
from loomem.engine import Engine
from loomem.nats.endpoint import Endpoint, endpoint_from
from loomem.nats.follow import KvFeed
from loomem.nats.link import Link
from loomem.nats.topology import KvBuckets
from loomem.search import Search
from loomem.views.together import Views, views_of
from pattern import collector
from pattern.clock import RandomIds, SystemClock

DIMENSIONS = 384
MODEL = "synthetic"
GROUPS = 300
ROUNDS = 400
VISIBLE_ROUNDS = 60
CALLERS = (1, 8, 32)
BATCH = 250
WORDS_ASKED = 6
BUDGETS = {10_000: (15.0, 5.0), 100_000: (80.0, 40.0)}
CALLER = Caller(
    agent_id=AgentId("1" * 32),
    project_id=ProjectId("bench"),
    user_id=UserId("bench"),
    parent_id=None,
    subagent_type=None,
)
LOADED_S = 600.0


class Known:
    """Gives a vector for any question at once: the embedding is not what is measured."""

    def __init__(self) -> None:
        self._vectors = vectors(97)

    async def query(self, text: str) -> Embedded:  # noqa: ARG002 - a port
        return Embedded(MODEL, next(self._vectors))

    async def look(self) -> EmbeddingState:
        return self.state()

    def state(self) -> EmbeddingState:
        return EmbeddingState(state=Readiness.READY, model=MODEL)


def vectors(seed: int) -> Iterator[Vector]:
    """Vectors as of a model; the same for the same seed."""
    import numpy as np

    shape = np.random.default_rng(1)
    base = shape.normal(size=DIMENSIONS) * 1.5
    groups = shape.normal(size=(GROUPS, DIMENSIONS)) * 0.7
    chooser = np.random.default_rng(seed)
    while True:
        noise = chooser.normal(size=DIMENSIONS) * 0.6
        made = base + groups[chooser.integers(GROUPS)] + noise
        yield unit_vector((made / np.linalg.norm(made)).tolist())


async def search(effort: Effort) -> list[Row]:
    """Hybrid search at several sizes and with 1, 8 and 32 callers; then how soon what is written is found."""
    rows: list[Row] = []
    for size in effort.sizes:
        rows += await _at(size, effort)
    return rows + await _visible(effort)


async def _at(size: int, effort: Effort) -> list[Row]:
    rows: list[Row] = []
    what = f"{size:,} memories"
    with broker(durable=False) as url:
        async with linked(url) as link:
            await _fill(KvBuckets(link), size)
        gc.collect()
        before = resident_mb()
        began = time.perf_counter()
        async with linked(url) as link, asyncio.timeout(LOADED_S), _opened(link) as (views, engine):
            await views.projection.ready()
            records_s = time.perf_counter() - began
            await views.words.settled()
            words_s = time.perf_counter() - began
            asked = _questions(effort.rounds(ROUNDS))
            await views.filled()
            await collector.settle()  # as a server does
            for question in asked[:20]:
                await engine.search(query=question)
            taken_mb = resident_mb() - before
            for callers in CALLERS:
                rows += await _asked(engine, asked, callers, what, size)
    must, aim = {10_000: (2.0, 0.8), 100_000: (12.0, 5.0)}.get(size, (None, None))
    return [
        Row(
            benchmark="search",
            what=f"{what} with vectors: records ready",
            value=records_s,
            unit="s",
            must=must,
            aim=aim,
        ),
        Row(benchmark="search", what=f"{what}: words and vectors too", value=words_s, unit="s"),
        Row(benchmark="search", what=f"{what}: memory of all views", value=taken_mb, unit="MB"),
        *rows,
    ]


async def _asked(engine: Engine, asked: Sequence[str], callers: int, what: str, size: int) -> list[Row]:
    laps = Stopwatch()

    async def ask(questions: Sequence[str]) -> None:
        for question in questions:
            with laps.lap():
                found = await engine.search(query=question)
            if found.degraded or not found.rows:
                raise RuntimeError(f"a search was incomplete: {found.degraded}")

    async with asyncio.TaskGroup() as group:
        for index in range(callers):
            group.create_task(ask(asked[index::callers]))
    found = spread(laps.seconds)
    must, aim = BUDGETS.get(size, (None, None)) if callers == 1 else (None, None)
    whom = f"{what}, {callers} caller{'s' if callers > 1 else ''}"
    return [
        Row(benchmark="search", what=f"{whom}, p50", value=found.p50, unit="ms"),
        Row(benchmark="search", what=f"{whom}, p95", value=found.p95, unit="ms", must=must, aim=aim),
        Row(benchmark="search", what=f"{whom}, p99", value=found.p99, unit="ms"),
    ]


async def _visible(effort: Effort) -> list[Row]:
    """From the acknowledgement of a write to the answer of a search that has it: in another process, and in the same."""
    other, same = Stopwatch(), Stopwatch()
    with broker(durable=True) as url:
        async with session(agent(url, "one")) as writer, session(agent(url, "two")) as reader:
            for index in range(effort.rounds(VISIBLE_ROUNDS)):
                word = f"needle{index:04d}x"
                await writer.tool("remember", content=f"a {word}", category="decisions")
                with other.lap():
                    while not (await reader.tool("memory_search", query=word))["rows"]:
                        pass
                with same.lap():
                    if not (await writer.tool("memory_search", query=word))["rows"]:
                        raise RuntimeError("what a process wrote itself it does not find")
    return [
        Row(
            benchmark="search",
            what="written here, found there, p50",
            value=spread(other.seconds).p50,
            unit="ms",
            must=100,
            aim=25,
        ),
        Row(benchmark="search", what="the same, p99", value=spread(other.seconds).p99, unit="ms"),
        Row(benchmark="search", what="written and found here, p50", value=spread(same.seconds).p50, unit="ms"),
    ]


@asynccontextmanager
async def linked(url: str) -> AsyncGenerator[Link]:
    async def source() -> Endpoint:
        return endpoint_from(url)

    async with Link(source, name="bench") as link:
        await link.ready(10)
        yield link


@asynccontextmanager
async def _opened(link: Link) -> AsyncGenerator[tuple[Views, Engine]]:
    buckets, clock = KvBuckets(link), SystemClock()
    async with views_of(KvFeed(link), buckets, CALLER) as views:
        yield (
            views,
            Engine(
                caller=CALLER,
                buckets=buckets,
                projection=views.projection,
                limits=Limits(),
                clock=clock,
                ids=RandomIds(),
                scan=ScanPolicy.OFF,
                zone=UTC,
                search=Search(views=views, clock=clock, settings=SearchSettings(), zone=UTC, asker=Known()),
            ),
        )


async def _fill(buckets: KvBuckets, size: int) -> None:
    """Store memories in three scopes, and a vector beside each."""
    spaces = [space_for(CALLER, scope) for scope in (Scope.PRIVATE, Scope.PERSONAL, Scope.TEAM)]
    made, said = vectors(2), texts(vocabulary())
    now = iso(SystemClock().now())
    ids = RandomIds()
    for start in range(0, size, 3 * BATCH):
        for space in spaces:
            bucket = await buckets.open(space.bucket)
            puts: list[Put] = []
            for _ in range(min(BATCH, -(-(size - start) // 3))):
                ident = ids.memory_id()
                memory = _memory(ident, next(said), space is spaces[2], space is spaces[1], now)
                key = parse_key(space.key(Kind.MEMORY, ident))
                if key is None:
                    raise RuntimeError("a key of ours is none")
                stored = Stored.of(model=MODEL, hash=content_hash(text_of(memory)), values=next(made))
                puts.append(Put(key=space.key(Kind.MEMORY, ident), value=encode(memory), expected=0, op=ids.op_id()))
                puts.append(Put(key=key.vector(MODEL), value=encode_vector(stored), expected=0, op=ids.op_id()))
            await bucket.write_all(puts)


def _memory(ident: str, content: str, team: bool, personal: bool, now: str) -> Memory:
    scope = Scope.TEAM if team else Scope.PERSONAL if personal else Scope.PRIVATE
    return Memory(
        id=ident,
        agent_id=CALLER.agent_id,
        project_id=CALLER.project_id,
        scope=scope,
        category=Category.DECISIONS if team else Category.LONGTERM,
        content=content,
        created_at=now,
        updated_at=now,
        version=1,
    )


def _questions(count: int) -> list[str]:
    chooser = random.Random(3)
    some = itertools.islice(texts(vocabulary(), seed=4), count)
    return [" ".join(chooser.sample(text.split(), k=min(WORDS_ASKED, len(text.split())))) for text in some]
