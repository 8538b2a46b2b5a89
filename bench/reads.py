"""What a read costs: recall with filters at several sizes, and how soon one process sees what another wrote."""

from __future__ import annotations

import time
from typing import Any

from bench.report import Effort, Row, spread
from bench.world import Stopwatch, agent, broker, fill, session

ROUNDS = 200
BUDGETS = {10_000: (20.0, 5.0)}
VISIBLE_ROUNDS = 100

FILTERS: tuple[dict[str, Any], ...] = (
    {"tags": ["tag3"], "limit": 20},
    {"search": "amber basil", "limit": 20},
    {"categories": ["decisions"], "minPriority": 2, "maxPriority": 2, "limit": 20},
    {
        "scopes": ["private", "team"],
        "tagsAny": ["group1", "group2"],
        "createdAfter": "2020-01-01T00:00:00Z",
        "limit": 20,
    },
)


async def recall(effort: Effort) -> list[Row]:
    """`recall-context` with filters, over stdio, four kinds of filter in turn."""
    rows: list[Row] = []
    for size in effort.sizes:
        laps = Stopwatch()
        with broker(durable=False) as url:
            async with session(agent(url)) as server:
                await fill(server, size)
                for index in range(effort.rounds(ROUNDS)):
                    with laps.lap():
                        await server.tool("recall-context", **FILTERS[index % len(FILTERS)])
        found = spread(laps.seconds)
        must, aim = BUDGETS.get(size, (None, None))
        rows += [
            Row(benchmark="recall", what=f"filtered, of {size:,}, p50", value=found.p50, unit="ms"),
            Row(benchmark="recall", what=f"filtered, of {size:,}, p95", value=found.p95, unit="ms", must=must, aim=aim),
        ]
    return rows


async def visible(effort: Effort) -> list[Row]:
    """From the acknowledgement in one process to the answer of another that contains the memory, asked again until it does."""
    seconds: list[float] = []
    with broker(durable=True) as url:
        async with session(agent(url, "one")) as writer, session(agent(url, "two")) as reader:
            for index in range(effort.rounds(VISIBLE_ROUNDS)):
                word = f"needle{index:04d}x"
                await writer.tool("remember", content=word, category="decisions")
                began = time.perf_counter()
                while not (await reader.tool("recall-context", search=word))["team"]:
                    pass
                seconds.append(time.perf_counter() - began)
    found = spread(seconds)
    return [
        Row(
            benchmark="visible", what="written here, recalled there, p50", value=found.p50, unit="ms", must=100, aim=25
        ),
        Row(benchmark="visible", what="the same, p99", value=found.p99, unit="ms"),
    ]
