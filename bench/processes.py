"""What a process costs: its start against a minimal server of the same SDK, its views, its memory."""

from __future__ import annotations

import asyncio
import statistics
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from bench.report import Effort, Row
from bench.search import BATCH, MODEL, linked, vectors
from bench.world import OURS, WORDS, agent, broker, fill, session, stdio
from identity.keys import Kind, parse_key
from identity.ports import Entry, Put
from loomem.core.record import decode
from loomem.core.vector import Stored, content_hash, encode, text_of
from loomem.nats.streams import Streams
from loomem.nats.topology import KvBuckets
from loomem.views.warm import LEAST

ROUNDS = 11
SETTLED_S = 2.0
"""A server gives back what its start needed a moment after everything is there."""
QUIET_LOOKS, COPIED_S = 4, 600
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
    """A server started on a filled broker: when its first recall answers, and the memory it takes when words and vectors are there."""
    rows: list[Row] = []
    for size in effort.sizes:
        with broker(durable=False) as url, tempfile.TemporaryDirectory() as home:
            async with session(agent(url)) as writer:
                await fill(writer, size)
            await _embed(url)
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
        at_first = server.rss_mb()
        # Its memory is that of all views: the records, the vectors that came with them, and the words, which come later.
        while (await server.tool("memory_stats"))["retrieval"]["bm25_indexed"] != size:  # noqa: ASYNC110
            await asyncio.sleep(0.2)
        await server.tool("memory_search", query=WORDS[0])
        await asyncio.sleep(SETTLED_S)
        memory = server.rss_mb()
        if size >= LEAST:
            await _copied(Path(environment["PATTERN_HOME"]))
    if found["total"] != size:
        raise RuntimeError(f"{found['total']} of {size} memories recalled")
    must, aim = READY_BUDGETS.get(size, (None, None))
    must_mb, aim_mb = MEMORY_BUDGETS.get(size, (None, None))
    return [
        Row(
            benchmark="views", what=f"{what}: spawn to first recall", value=ready - began, unit="s", must=must, aim=aim
        ),
        Row(benchmark="views", what=f"{what}: of it after tools/list", value=ready - listed, unit="s"),
        Row(benchmark="views", what=f"{what}: resident memory at that time", value=at_first, unit="MB"),
        Row(
            benchmark="views",
            what=f"{what} with words and vectors: resident memory",
            value=memory,
            unit="MB",
            must=must_mb,
            aim=aim_mb,
        ),
    ]


async def _copied(home: Path) -> None:
    """Return when the server has written its copy of the views: when that has not grown for a while."""
    sizes: list[int] = []
    while len(sizes) <= QUIET_LOOKS or not sizes[-1] or len(set(sizes[-QUIET_LOOKS:])) > 1:
        sizes.append(sum(file.stat().st_size for file in (home / "views").glob("*.sqlite")))
        await asyncio.sleep(1.0)
        if len(sizes) > COPIED_S:
            raise RuntimeError("the copy of the views was not written")


async def _embed(url: str) -> None:
    """Put a vector beside each memory, as a worker does."""
    made = vectors(2)
    async with linked(url) as link:
        buckets, streams = KvBuckets(link), Streams(link)
        for name in await streams.buckets():
            bucket = await buckets.open(name)
            paths = sorted((await streams.held(name, f"*.*.{Kind.MEMORY}.*"))[0])
            for start in range(0, len(paths), BATCH):
                held = await asyncio.gather(*map(bucket.get, paths[start : start + BATCH]))
                puts: list[Put] = []
                for entry in held:
                    key = parse_key(entry.key) if isinstance(entry, Entry) else None
                    if key is not None and isinstance(entry, Entry):
                        made_of = content_hash(text_of(decode(entry.value)))
                        value = encode(Stored.of(model=MODEL, hash=made_of, values=next(made)))
                        puts.append(Put(key=key.vector(MODEL), value=value, expected=0, op=f"{key.id} vector"))
                await bucket.write_all(puts)


async def _to_tools(environment: dict[str, str], command: Sequence[str]) -> float:
    began = time.perf_counter()
    async with stdio(environment, command) as server:
        await server.initialize()
        await server.request("tools/list", {})
        return time.perf_counter() - began
