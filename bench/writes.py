"""What a write costs: against the least the broker can do, and many at once against one by one."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path

import nats

from bench.report import Row, spread
from bench.world import BULK, Stopwatch, agent, broker, memory, session
from pattern.service import running
from pattern.settings import from_environment

ROUNDS = 1_000
FLOOR_BUCKET = "floor"


async def write(_: Sequence[int]) -> list[Row]:
    """An acknowledged write of the engine against a bare compare-and-set publish of the same size and durability.

    The two take turns, so that whatever else the machine does hits both.
    """
    floor, engine_laps, tool_laps = Stopwatch(), Stopwatch(), Stopwatch()
    with broker(durable=True) as url:
        settings = from_environment(agent(url), Path.cwd())
        client = await nats.connect(url)
        try:
            bare = client.jetstream()
            await bare.add_stream(name=FLOOR_BUCKET, subjects=[f"{FLOOR_BUCKET}.>"], max_msgs_per_subject=1)
            value = b"x" * 500
            expected = {"Nats-Expected-Last-Subject-Sequence": "0"}
            async with running(settings) as service:
                engine = await service.engine()
                for index in range(ROUNDS):
                    with floor.lap():
                        await bare.publish(f"{FLOOR_BUCKET}.{index}", value, headers=dict(expected))
                    with engine_laps.lap():
                        await engine.remember(**memory(index))
        finally:
            await client.close()
        async with session(agent(url)) as server:
            for index in range(ROUNDS):
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


async def bulk(_: Sequence[int]) -> list[Row]:
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
