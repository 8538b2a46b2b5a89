"""The engine on a broker in memory: remember, read, change, forget."""

from __future__ import annotations

import asyncio

import pytest

from identity.errors import NotFound
from tests.laws.worlds import World, agent


@pytest.fixture
def world() -> World:
    return World()


async def test_what_is_remembered_is_recalled_at_once(world: World) -> None:
    async with world.enter() as me:
        one = await me.remember(content="x")
        assert (one.scope, one.category, one.expires_at) == ("private", "recent", "2026-01-02T12:00:00.000Z")
        answer = await me.recall()
        assert answer.private == [
            {
                "id": one.memory_id,
                "agentId": "a" * 32,
                "projectId": "p",
                "scope": "private",
                "category": "recent",
                "content": "x",
                "createdAt": "2026-01-01T12:00:00.000Z",
                "updatedAt": "2026-01-01T12:00:00.000Z",
                "expiresAt": "2026-01-02T12:00:00.000Z",
                "version": 1,
                "revision": one.revision,
            }
        ]
        assert answer.summary == "## recent\nx"
        assert answer.as_json()["counts"] == {"private": 1, "personal": 0, "team": 0, "public": 0, "expired": 0}


async def test_what_is_forgotten_is_gone(world: World) -> None:
    async with world.enter() as me:
        one = await me.remember(content="x")
        assert (await me.forget(memory_id=one.memory_id)).deleted
        with pytest.raises(NotFound):
            await me.get(memory_id=one.memory_id)
        assert (await me.recall()).total == 0


async def test_two_agents_share_the_team_scope_only(world: World) -> None:
    async with world.enter(agent("a")) as a, world.enter(agent("b", user="v")) as b:
        shared = await a.remember(content="for all", category="decisions")
        await a.remember(content="mine")
        await a.remember(content="me", category="core")
        answer = await b.recall(at_least=shared.position)
        assert [row["content"] for row in answer.team] == ["for all"]
        assert answer.total == 1


async def test_fifty_at_once(world: World) -> None:
    async with world.enter() as me, asyncio.TaskGroup() as group:
        tasks = [group.create_task(me.remember(content=f"{n}")) for n in range(50)]
    assert len({task.result().memory_id for task in tasks}) == 50
