"""What meaning costs: the default model by length of text, queries beside a backlog, and memories through the worker."""

from __future__ import annotations

import asyncio
import random
import resource
import sys
import time
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from uuid import uuid4

from bench.report import Effort, Row, spread
from bench.world import WORDS, Stopwatch, broker
from identity.ports import Bucket, Put
from loomem.core.embedding import Embedder
from loomem.core.limits import Limits
from loomem.core.record import encode, from_fields
from loomem.embed.opening import open_embedder
from loomem.embed.settings import EmbedSettings
from loomem.nats.endpoint import Endpoint, endpoint_from
from loomem.nats.link import Link
from loomem.nats.topology import KvBuckets
from loomem.workers.services import open_services
from pattern.clock import SystemClock

ROUNDS = 40
LENGTHS = (40, 100, 300, 1_000)
MEMORIES = 200
MEMORY_CHARS = 300
CONNECT_S = 10.0
BUCKET = "loom-memory-project-bench"


async def embed(effort: Effort) -> list[Row]:
    """The model alone, then the model behind the worker and a broker."""
    rows: list[Row] = []
    before = _rss_mb()
    async with open_embedder(EmbedSettings()) as model:
        await model.query("warm")
        rows += await _lengths(model, effort.rounds(ROUNDS))
        rows += await _beside_a_backlog(model, effort.rounds(ROUNDS))
        rows.append(Row(benchmark="embed", what="model loaded: resident memory", value=_rss_mb() - before, unit="MB"))
    rows += await _through_the_worker(effort.rounds(MEMORIES))
    return rows


async def _lengths(model: Embedder, rounds: int) -> list[Row]:
    rows: list[Row] = []
    for length in LENGTHS:
        laps = Stopwatch()
        for number in range(rounds):
            text = _text(length, number)
            with laps.lap():
                await model.passages([text])
        found = spread(laps.seconds)
        rows.append(Row(benchmark="embed", what=f"text of {length:,} characters, p50", value=found.p50, unit="ms"))
    return rows


async def _beside_a_backlog(model: Embedder, rounds: int) -> list[Row]:
    """Queries while memories are being embedded all the time, as after an import."""
    laps = Stopwatch()

    async def backlog() -> None:
        for number in range(10**9):
            await model.passages([_text(MEMORY_CHARS, number)])

    async with asyncio.TaskGroup() as group:
        working = group.create_task(backlog())
        for number in range(rounds):
            with laps.lap():
                await model.query(_text(40, -number))
        working.cancel()
    found = spread(laps.seconds)
    return [
        Row(benchmark="embed", what="query of 40 characters beside a backlog, p50", value=found.p50, unit="ms"),
        Row(benchmark="embed", what="query of 40 characters beside a backlog, p95", value=found.p95, unit="ms"),
    ]


async def _through_the_worker(count: int) -> list[Row]:
    with broker(durable=True) as url:
        async with _linked(url) as link:
            bucket = await KvBuckets(link).open(BUCKET)
            for number in range(count):
                await _keep(bucket, number)
            began = time.perf_counter()
            async with open_services(link, limits=Limits(), clock=SystemClock(), embed=EmbedSettings()) as services:
                while await services.pending():  # noqa: ASYNC110 - the broker tells nobody when a queue is empty
                    await asyncio.sleep(0.05)
                seconds = time.perf_counter() - began
    what = f"memories of {MEMORY_CHARS} characters through the worker"
    return [Row(benchmark="embed", what=what, value=count / seconds, unit="/s", higher=True)]


@asynccontextmanager
async def _linked(url: str) -> AsyncGenerator[Link]:
    endpoint = endpoint_from(url)

    async def source() -> Endpoint:
        return endpoint

    async with Link(source, name="bench") as link:
        await link.ready(CONNECT_S)
        yield link


async def _keep(bucket: Bucket, number: int) -> None:
    fields = {
        "id": f"m-{number}",
        "agentId": "a",
        "projectId": "bench",
        "scope": "private",
        "category": "longterm",
        "content": _text(MEMORY_CHARS, number),
        "createdAt": "2026-01-01T00:00:00.000Z",
        "updatedAt": "2026-01-01T00:00:00.000Z",
        "version": 1,
    }
    value = encode(from_fields(fields))
    await bucket.write(Put(key=f"agents.a.m.m-{number}", value=value, expected=0, op=f"bench {uuid4()}"))


def _text(length: int, number: int) -> str:
    chance = random.Random(number)
    return " ".join(chance.choice(WORDS) for _ in range(length // 4))[:length]


def _rss_mb() -> float:
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / 1024 if sys.platform == "linux" else peak / 1024 / 1024
