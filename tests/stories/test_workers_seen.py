"""The workers of the node, as an agent sees them in health."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.stories.machine import machine


@pytest.mark.requirement("deliver-3b.crew")
async def test_health_shows_the_crew_and_what_it_has_done(tmp_path: Path) -> None:
    async with machine(tmp_path) as here:
        server = await here.server()
        await server.call("remember", content="a job for the crew")
        health = await server.report(lambda report: report["node"].get("workers", [{}])[0].get("processed", 0) > 0)
    assert health["status"] == "healthy"
    assert health["node"]["running"] is True
    expiry = health["node"]["workers"][0]
    assert (expiry["name"], expiry["failed"], expiry["dead"]) == ("expire", 0, 0)
    assert expiry["buckets"] >= 1


@pytest.mark.requirement("deliver-3b.evict")
async def test_the_node_keeps_the_limits_that_the_environment_sets(tmp_path: Path) -> None:
    async with machine(tmp_path, PATTERN_LIMIT_RECENT="2", PATTERN_LIMIT_TASKS="1") as here:
        server = await here.server()
        for number in range(4):
            await server.call("remember", content=f"recent {number}")
            await server.call("remember-task", content=f"task {number}")
        await server.call("remember", content="for ever", category="longterm")
        kept = {"recent": 2, "tasks": 1, "longterm": 1}
        await server.report(lambda report: report["scopes"]["private"]["byCategory"] == kept)
        left = {memory["content"] for memory in await server.all_memories()}
    assert left == {"recent 3", "recent 2", "task 3", "for ever"}
