"""Many servers on one machine: whoever comes first starts the node, and nobody is locked out."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.stories.machine import Server, Stopwatch, contents, machine

SERVERS = 20


@pytest.mark.timeout(300)
@pytest.mark.requirement("lesson-3.2", "deliver-2.start", "store-49.create")
async def test_twenty_servers_started_together_can_all_write(tmp_path: Path, tell: Callable[[str], None]) -> None:
    async with machine(tmp_path) as here:

        async def start_and_write(number: int) -> tuple[Server, str]:
            server = await here.server()
            written = await server.call("remember", content=f"from server {number}", category="longterm")
            return server, written["position"]

        with Stopwatch() as took:
            started = await asyncio.gather(*(start_and_write(number) for number in range(SERVERS)))

        assert len(here.nodes()) == 1
        assert len(here.brokers()) == 1
        wanted = sorted(f"from server {number}" for number in range(SERVERS))
        newest = max((position for _, position in started), key=lambda position: int(position.rpartition("@")[2]))
        for server, _ in started:
            seen = await server.call("recall-context", limit=200, atLeast=newest)
            assert sorted(contents(seen["private"])) == wanted
        tell(f"{SERVERS} servers started and wrote within {took.seconds:.1f} s; one node")
