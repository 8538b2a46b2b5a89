"""The workers of the node, as an agent sees them in health."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from tests.stories.machine import machine


@pytest.mark.requirement("deliver-3b.crew")
async def test_health_shows_the_crew_and_what_it_has_done(tmp_path: Path) -> None:
    async with machine(tmp_path) as here:
        server = await here.server()
        await server.call("remember", content="a job for the crew")
        async with asyncio.timeout(30):
            while True:
                health = await server.call("pattern_health")
                if (workers := health["node"].get("workers")) and workers[0]["processed"] >= 1:
                    break
                await asyncio.sleep(0.1)
    assert health["status"] == "healthy"
    assert health["node"]["running"] is True
    [expiry] = workers
    assert (expiry["name"], expiry["failed"], expiry["dead"]) == ("expire", 0, 0)
    assert expiry["buckets"] >= 1
