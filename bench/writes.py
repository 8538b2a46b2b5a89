"""What a write costs: against the least the broker can do, and many at once against one by one."""

from __future__ import annotations

import time
from pathlib import Path

from bench.report import Effort, Row, spread
from bench.world import BULK, Stopwatch, agent, broker, memory, session
from loomem.nats.endpoint import Endpoint, endpoint_from
from loomem.nats.link import Link
from loomem.nats.topology import KvBuckets
from pattern.service import running
from pattern.settings import Settings, from_environment

ROUNDS = 1_000
START_S = 10.0
FLOOR_BUCKET = "loom-memory-floor"
FLOOR_VALUE = b"x" * 500
CREATE = "Nats-Expected-Last-Subject-Sequence"


async def write(effort: Effort) -> list[Row]:
    """An acknowledged write of the engine against a bare compare-and-set publish of the same size and durability.

    The two take turns, so that whatever else the machine does hits both.
    """
    floor, engine_laps, tool_laps = Stopwatch(), Stopwatch(), Stopwatch()
    with broker(durable=True) as url:
        endpoint = endpoint_from(url)
        async with Link(lambda: _same(endpoint), name="floor") as link, running(_settings(url)) as service:
            await link.ready(START_S)
            await KvBuckets(link).open(FLOOR_BUCKET)
            engine = await service.engine()
            for index in range(effort.rounds(ROUNDS)):
                with floor.lap():
                    await link.js.publish(f"$KV.{FLOOR_BUCKET}.{index}", FLOOR_VALUE, headers={CREATE: "0"})
                with engine_laps.lap():
                    await engine.remember(**memory(index))
        async with session(agent(url)) as server:
            for index in range(effort.rounds(ROUNDS)):
                with tool_laps.lap():
                    await server.tool("remember", **memory(index))
    least, ours, tool = spread(floor.seconds), spread(engine_laps.seconds), spread(tool_laps.seconds)
    return [
        Row(benchmark="write", what="bare publish, p50", value=least.p50, unit="ms"),
        Row(benchmark="write", what="engine remember, p50", value=ours.p50, unit="ms"),
        Row(benchmark="write", what="engine remember, p99", value=ours.p99, unit="ms"),
        Row(benchmark="write", what="remember over stdio, p50", value=tool.p50, unit="ms"),
        Row(benchmark="write", what="engine / bare, p50", value=ours.p50 / least.p50, unit="×", must=2.0, aim=1.3),
    ]


async def bulk(_: Effort) -> list[Row]:
    """One remember-bulk of 1 000 against 1 000 remembers, both over stdio."""
    with broker(durable=True) as url:
        async with session(agent(url)) as server:
            began = time.perf_counter()
            for index in range(BULK):
                await server.tool("remember", **memory(index))
            single = time.perf_counter() - began
            many = Stopwatch()
            for round_ in range(1, 4):
                items = [memory(round_ * BULK + index) for index in range(BULK)]
                with many.lap():
                    await server.tool("remember-bulk", memories=items)
    best = min(many.seconds)
    return [
        Row(benchmark="bulk", what=f"{BULK} remembers", value=single, unit="s"),
        Row(benchmark="bulk", what=f"one remember-bulk of {BULK}", value=best, unit="s"),
        Row(benchmark="bulk", what="single / bulk", value=single / best, unit="×", must=5, aim=20, higher=True),
    ]


def _settings(url: str) -> Settings:
    return from_environment(agent(url), Path.cwd())


async def _same(endpoint: Endpoint) -> Endpoint:
    return endpoint
