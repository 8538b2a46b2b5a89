"""What a process costs: its start against a minimal server of the same SDK, its views, its memory."""

from __future__ import annotations

import statistics
import sys
import tempfile
import time
from collections.abc import Sequence

from bench.report import Effort, Row
from bench.world import OURS, agent, broker, fill, session, stdio
from loomem.views.warm import LEAST

ROUNDS = 11
MINIMAL = (sys.executable, "-m", "bench.minimal_server")
READY_BUDGETS = {10_000: (2.0, 0.8), 100_000: (12.0, 5.0)}
MEMORY_BUDGETS = {10_000: (170.0, 120.0), 100_000: (480.0, 300.0)}


async def start(effort: Effort) -> list[Row]:
    """From the spawn to the reply of `tools/list`, ours and the minimal server in turn; the first of each warms caches."""
    seconds: dict[tuple[str, ...], list[float]] = {OURS: [], MINIMAL: []}
    with broker(durable=True) as url:
        for _round in range(effort.rounds(ROUNDS)):
            for command, laps in seconds.items():
                laps.append(await _to_tools(agent(url), command))
    ours, minimal = (statistics.median(laps[1:]) * 1e3 for laps in seconds.values())
    return [
        Row(benchmark="start", what="minimal server: spawn to tools/list", value=minimal, unit="ms"),
        Row(benchmark="start", what="ours: spawn to tools/list", value=ours, unit="ms"),
        Row(benchmark="start", what="ours over minimal", value=ours - minimal, unit="ms", must=150, aim=50),
    ]


async def views(effort: Effort) -> list[Row]:
    """A server started on a filled broker: when its first recall answers, and the memory it then takes."""
    rows: list[Row] = []
    for size in effort.sizes:
        with broker(durable=False) as url, tempfile.TemporaryDirectory() as home:
            async with session(agent(url)) as writer:
                await fill(writer, size)
            environment = {**agent(url), "PATTERN_HOME": home}
            rows += await _first_recall(environment, size, f"{size:,} memories")
            if size >= LEAST:
                rows += await _first_recall(environment, size, f"{size:,} memories, started again")
    return rows


async def _first_recall(environment: dict[str, str], size: int, what: str) -> list[Row]:
    began = time.perf_counter()
    async with stdio(environment) as server:
        await server.initialize()
        await server.request("tools/list", {})
        listed = time.perf_counter()
        found = await server.tool("recall-context", limit=1)
        ready = time.perf_counter()
        memory = server.rss_mb()
    if found["total"] != size:
        raise RuntimeError(f"{found['total']} of {size} memories recalled")
    must, aim = READY_BUDGETS.get(size, (None, None))
    must_mb, aim_mb = MEMORY_BUDGETS.get(size, (None, None))
    return [
        Row(
            benchmark="views", what=f"{what}: spawn to first recall", value=ready - began, unit="s", must=must, aim=aim
        ),
        Row(benchmark="views", what=f"{what}: of it after tools/list", value=ready - listed, unit="s"),
        Row(benchmark="views", what=f"{what}: resident memory", value=memory, unit="MB", must=must_mb, aim=aim_mb),
    ]


async def _to_tools(environment: dict[str, str], command: Sequence[str]) -> float:
    began = time.perf_counter()
    async with stdio(environment, command) as server:
        await server.initialize()
        await server.request("tools/list", {})
        return time.perf_counter() - began
