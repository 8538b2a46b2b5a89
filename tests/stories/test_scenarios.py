"""Scenarios that cross several checks: time, metadata, many at once, who may do what, and size."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable
from typing import Any

import pytest
from mcp_types import CallToolResult

from pattern.testing import ManualClock, NatsAccount
from pattern.testing.agents import Agent, Agents
from tests.stories.conftest import PROJECT_BUCKET, RawStore
from tests.stories.wire import wire_to

NOBODY = "3f0c2a9e-6a52-4c1d-9d57-0e2b7c6a1f10"
SCOPES = ["private", "personal", "team", "public"]
DAY_S = 86_400
DEADLINE_S = 60
"""Of everything that happens at once: what takes longer hangs."""


async def remember(agent: Agent, content: str = "something", **arguments: Any) -> str:
    """Store a memory; returns its id."""
    return (await agent.call("remember", content=content, **arguments))["memoryId"]


async def get(agent: Agent, ident: str) -> dict[str, Any]:
    return (await agent.call("get-memory", memoryId=ident))["memory"]


async def shown(agent: Agent, **arguments: Any) -> dict[str, str]:
    """Return the contents of what an agent recalls, by id."""
    recalled = await agent.call("recall-context", limit=200, **arguments)
    return {record["id"]: record["content"] for scope in SCOPES for record in recalled[scope]}


async def outcome(call: Awaitable[CallToolResult]) -> str:
    """Return the code of a call's failure, or "ok"."""
    result = await call
    answer: dict[str, Any] = result.structured_content or {}
    return answer["code"] if result.is_error else OK


# --- 18: expiry, driven by the clock ----------------------------------------------------------------------------------


@pytest.mark.requirement("scenario-18")
async def test_what_expires_when_and_what_still_can_be_done_with_it(
    agents: Agents, raw: RawStore, manual_clock: ManualClock
) -> None:
    me = await agents(clock=manual_clock)
    temporary = {
        f"{scope}/{category}": await remember(me, scope=scope, category=category)
        for scope in ("private", "personal")
        for category in ("recent", "tasks")
    }
    kept = {category: await remember(me, category=category) for category in ("longterm", "core", "decisions")}
    committed, renewed = await remember(me, "committed"), await remember(me, "renewed", category="tasks")

    manual_clock.advance(DAY_S - 1)
    await me.call("commit-insight", memoryId=committed)
    await me.call(
        "update-memory", memoryId=renewed, expectedRevision=(await get(me, renewed))["revision"], ttlSeconds=10
    )
    manual_clock.advance(1)
    everything = {*temporary.values(), *kept.values(), committed, renewed}
    assert set(await shown(me)) == everything
    manual_clock.advance(0.001)
    assert set(await shown(me)) == everything - set(temporary.values())
    assert (await me.call("recall-context"))["counts"]["expired"] == 4
    assert set(await shown(me, includeExpired=True)) == everything

    recent = temporary["private/recent"]
    for tool, arguments in [
        ("get-memory", {}),
        ("commit-insight", {}),
        ("share-learning", {}),
        ("update-memory", {"expectedRevision": 1, "content": "too late"}),
    ]:
        failure = await me.refused(tool, memoryId=recent, **arguments)
        assert failure.code == "MEMORY_NOT_FOUND", tool
    assert (await me.call("export-memories"))["exported"] == 5
    assert (await me.call("export-memories", includeExpired=True))["exported"] == 9
    health = (await me.call("pattern_health"))["scopes"]
    assert {scope: health[scope]["expired"] for scope in SCOPES} == {
        "private": 2,
        "personal": 2,
        "team": 0,
        "public": 0,
    }

    # What is erased on request is erased; the rest of it goes with a cleanup, and only that.
    assert (await me.call("forget", memoryId=recent))["deleted"] is True
    assert (await me.call("cleanup", expireOnly=True))["expired"] == 3
    assert {key.rsplit(".", 1)[1] for key in await raw.everywhere()} == everything - set(temporary.values())

    manual_clock.advance(9.5)
    assert set(await shown(me)) == {*kept.values(), committed}
    manual_clock.advance(365 * DAY_S)
    assert set(await shown(me)) == {*kept.values(), committed}


# --- 20: metadata -----------------------------------------------------------------------------------------------------


@pytest.mark.requirement("scenario-20")
async def test_metadata_are_the_same_wherever_a_memory_goes(agents: Agents) -> None:
    me = await agents()
    metadata: dict[str, Any] = {
        "tags": ["größe", "タグ", "a b"],
        "priority": 3,
        "relatedTo": [NOBODY, "not a uuid"],
        "source": "https://example.org/?q=1",
        "team": {"size": 3, "ratio": 0.1, "names": ["Ada", None, True], "empty": {}, "big": 2**53 - 1},
        "🧠": "",
    }
    ids = {
        "recent": await remember(me, metadata=metadata),
        "longterm": await remember(me, category="longterm", metadata=metadata),
        "core": await remember(me, category="core", metadata=metadata),
        "decisions": await remember(me, category="decisions", metadata=metadata),
    }
    await me.call("commit-insight", memoryId=ids["recent"], newContent="said better", targetScope="personal")
    shared = (await me.call("share-learning", memoryId=ids["longterm"]))["teamMemoryId"]
    revision = (await get(me, ids["decisions"]))["revision"]
    await me.call("update-memory", memoryId=ids["decisions"], expectedRevision=revision, content="decided anew")
    places = {ids["recent"]: "personal", shared: "team", ids["core"]: "personal", ids["decisions"]: "team"}

    async def check() -> None:
        for ident, scope in places.items():
            record = await get(me, ident)
            assert record["scope"] == scope
            assert record["metadata"] == metadata
            assert list(record["metadata"]) == list(metadata)

    await check()
    await me.call("export-memories", outputPath="all.json")
    await me.call("forget-bulk", memoryIds=list(places), force=True)
    assert await shown(me) == {}
    imported = await me.call("import-memories", inputPath="all.json", overwriteExisting=True)
    assert (imported["imported"], imported["skipped"]) == (4, 0)
    await check()


# --- 25: many at once -------------------------------------------------------------------------------------------------


@pytest.mark.requirement("scenario-25")
async def test_many_agents_remember_forget_and_recall_at_once(agents: Agents, raw: RawStore) -> None:
    """Four sessions, two of them of one agent, each with many calls in flight: nothing lost, doubled, or in the way."""
    sessions = [await agents(), await agents(), await agents("agent-b"), await agents("agent-c", user="user-v")]

    async def live(number: int, session: Agent, lane: int) -> list[str]:
        kept: list[str] = []
        for step in range(5):
            name = f"{number}/{lane}/{step}"
            ident = await remember(session, name, category=["longterm", "decisions"][step % 2])
            assert (await shown(session, search=name)) == {ident: name}
            if step == 2:
                assert (await session.call("forget", memoryId=ident))["deleted"] is True
                assert (await shown(session, search=name)) == {}
            else:
                kept.append(ident)
        return kept

    async with asyncio.timeout(DEADLINE_S), asyncio.TaskGroup() as group:
        lives = [
            group.create_task(live(number, session, lane))
            for number, session in enumerate(sessions)
            for lane in range(4)
        ]
    kept = [ident for task in lives for ident in task.result()]
    assert len(set(kept)) == len(kept) == 4 * 4 * 4
    assert {record["id"] for record in (await raw.everywhere()).values()} == set(kept)
    position = ",".join([(await session.call("recall-context", scopes=["team"]))["position"] for session in sessions])
    for session in sessions:
        assert len(await shown(session, scopes=["team"], atLeast=position)) == 4 * 4 * 2


@pytest.mark.requirement("scenario-25")
async def test_of_racing_updates_one_wins_and_the_others_know(agents: Agents) -> None:
    sessions = [await agents() for _ in range(3)]
    ident = await remember(sessions[0], "0", category="longterm")

    async def count(session: Agent) -> int:
        """Add one, ten times, however often others are quicker; returns how often they were."""
        lost = 0
        record = await get(session, ident)
        for _ in range(10):
            while True:
                arguments = {
                    "memoryId": ident,
                    "expectedRevision": record["revision"],
                    "content": str(int(record["content"]) + 1),
                }
                result = await session.client.call_tool("update-memory", arguments)
                answer: dict[str, Any] = result.structured_content or {}
                if not result.is_error:
                    record = {"revision": answer["revision"], "content": arguments["content"]}
                    break
                assert answer["code"] == "CONFLICT"
                assert answer["details"]["expectedRevision"] == record["revision"]
                lost += 1
                current = answer["details"]
                assert current["currentRevision"] > record["revision"]
                record = {"revision": current["currentRevision"], "content": current["current"]["content"]}
        return lost

    async with asyncio.timeout(DEADLINE_S):
        losses = await asyncio.gather(*map(count, sessions))
    assert sum(losses) > 0
    assert (await sessions[0].call("get-memory", memoryId=ident, atLeast=f"{PROJECT_BUCKET}@31"))["memory"][
        "content"
    ] == "30"


@pytest.mark.requirement("scenario-25")
async def test_racing_ends_of_one_memory_agree(agents: Agents, raw: RawStore) -> None:
    """Whatever two sessions do to one memory at the same time, one story comes out of it, and all tell the same."""
    one, two = await agents(), await agents()
    lasting, personal = {"category": "longterm"}, {"category": "longterm", "scope": "personal"}
    races: list[tuple[dict[str, Any], tuple[str, dict[str, Any]], tuple[str, dict[str, Any]]]] = [
        ({}, ("forget", {}), ("forget", {})),
        ({}, ("commit-insight", {}), ("forget", {})),
        ({}, ("commit-insight", {"targetScope": "personal"}), ("commit-insight", {})),
        ({}, ("commit-insight", {"targetScope": "personal"}), ("forget", {})),
        ({}, ("commit-insight", {"newContent": "a"}), ("commit-insight", {"newContent": "b"})),
        ({}, ("update-memory", {"content": "changed"}), ("forget", {})),
        (lasting, ("share-learning", {}), ("forget", {})),
        (personal, ("share-learning", {}), ("forget", {})),
        (personal, ("share-learning", {}), ("share-learning", {})),
    ]
    for memory, (first, first_arguments), (second, second_arguments) in races * 3:
        answer = await one.call("remember", content="contended", **memory)
        ident = answer["memoryId"]
        await two.call("get-memory", memoryId=ident, atLeast=answer["position"])
        arguments = {"memoryId": ident, "expectedRevision": answer["revision"]}  # which only an update looks at
        async with asyncio.timeout(DEADLINE_S):
            outcomes = await asyncio.gather(
                outcome(one.client.call_tool(first, arguments | first_arguments)),
                outcome(two.client.call_tool(second, arguments | second_arguments)),
            )
        race = (memory, first, second, outcomes)
        assert set(outcomes) <= {OK, UNSEEN, "CONFLICT", INVALID}, race
        assert OK in outcomes, race
        held = {record["id"]: record for record in (await raw.everywhere()).values()}
        shared = [record for record in held.values() if record["scope"] == "team"]
        assert len(shared) == [*zip((first, second), outcomes, strict=True)].count(("share-learning", OK)), race
        if "forget" in (first, second) and outcomes[(first, second).index("forget")] == OK:
            assert ident not in held, race
        assert len(held) <= 1, race
        position = ",".join([(await session.call("recall-context"))["position"] for session in (one, two)])
        views = [await shown(session, atLeast=position) for session in (one, two)]
        assert views[0] == views[1] == {record["id"]: record["content"] for record in held.values()}, race
        forgotten = await one.call("forget-bulk", memoryIds=list(held))
        await two.call("recall-context", atLeast=forgotten.get("position", position))


@pytest.mark.requirement("scenario-25")
@pytest.mark.parametrize("tool", ["forget", "forget-bulk"])
async def test_what_is_moved_while_it_is_being_forgotten_is_gone(
    agents: Agents, nats_account: NatsAccount, raw: RawStore, tool: str
) -> None:
    one = await agents()
    async with wire_to(nats_account.url) as (wire, url):
        late = await agents(env={"NATS_URL": url})
        answer = await one.call("remember", content="on the move")
        ident = answer["memoryId"]
        await late.call("get-memory", memoryId=ident, atLeast=answer["position"])
        wire.hold()
        await one.call("commit-insight", memoryId=ident, targetScope="personal")
        arguments = {"memoryIds": [ident]} if tool == "forget-bulk" else {"memoryId": ident}
        async with asyncio.timeout(DEADLINE_S), asyncio.TaskGroup() as group:
            forgetting = group.create_task(late.call(tool, **arguments))
            await late.call("recall-context")
            assert not forgetting.done()
            wire.release()
        assert forgetting.result()["deleted"] == 1
        assert await raw.everywhere() == {}
        await late.close()


# --- 33: who may do what ----------------------------------------------------------------------------------------------

OK, DENIED, UNSEEN, CORE, INVALID = "ok", "ACCESS_DENIED", "MEMORY_NOT_FOUND", "CORE_PROTECTED", "VALIDATION_ERROR"
MEMORIES: dict[str, dict[str, Any]] = {
    "private": {"category": "longterm"},
    "private core": {"scope": "private", "category": "core"},
    "personal": {"scope": "personal", "category": "longterm"},
    "personal core": {"category": "core"},
    "team": {"category": "decisions"},
    "public": {"scope": "public", "category": "learnings"},
}
"""What one root agent has stored."""
CALLERS: dict[str, dict[str, Any]] = {
    "its sub-agent": {"name": "agent-a", "subagent": "explore"},
    "another agent of the project": {"name": "agent-b", "user": "user-v"},
    "its user's agent in another project": {"name": "agent-c", "project": "project-q"},
    "a stranger": {"name": "agent-d", "project": "project-q", "user": "user-v"},
}
SEEN: dict[str, set[str]] = {
    "its sub-agent": {"private", "team", "public"},
    "another agent of the project": {"team", "public"},
    "its user's agent in another project": {"personal", "personal core", "public"},
    "a stranger": {"public"},
}
SHARED = {"team", "public"}


@pytest.mark.requirement("scenario-33")
@pytest.mark.parametrize("caller", CALLERS)
async def test_nobody_sees_or_changes_more_than_the_table_says(agents: Agents, raw: RawStore, caller: str) -> None:
    owner, other = await agents(), await agents(**CALLERS[caller])
    ids = {name: await remember(owner, name, **arguments) for name, arguments in MEMORIES.items()}
    before = await raw.everywhere()
    assert len(before) == 6
    recalled = await other.call("recall-context")
    seen = {record["content"] for scope in SCOPES for record in recalled[scope]}
    assert seen == SEEN[caller]
    assert recalled["total"] == len(seen)
    counts = (await other.call("pattern_health"))["scopes"]
    assert sum(counts[scope]["visible"] for scope in SCOPES) == len(seen)

    mine = {"personal", "personal core"} & seen  # the personal space is one user's, in every project
    unknown = await other.refused("get-memory", memoryId=NOBODY)
    for name, ident in ids.items():
        if name in mine:
            continue
        changing = DENIED if name in SHARED & seen else UNSEEN
        for tool, arguments, code in [
            ("get-memory", {}, OK if name in seen else UNSEEN),
            ("forget", {}, changing),
            ("forget", {"force": True}, changing),
            ("update-memory", {"expectedRevision": 1, "content": "changed"}, changing),
            ("commit-insight", {}, UNSEEN),
            ("commit-insight", {"targetScope": "personal"}, UNSEEN),
            ("share-learning", {"force": True}, UNSEEN),
            ("share-learning", {"keepOriginal": True}, UNSEEN),
        ]:
            result = await other.client.call_tool(tool, {"memoryId": ident, **arguments})
            answer: dict[str, Any] = result.structured_content or {}
            assert (answer["code"] if result.is_error else OK) == code, (name, tool)
            if tool == "get-memory" and code == UNSEEN:
                assert answer["message"] == unknown.message
                assert answer["details"] == {"memoryId": ident}
    others = [ident for name, ident in ids.items() if name not in mine]
    bulk = await other.call("forget-bulk", memoryIds=others, force=True)
    assert (bulk["deleted"], bulk["failed"]) == (0, len(others))
    assert {error["memoryId"]: error["code"] for error in bulk["errors"]} == {
        ident: DENIED if name in SHARED & seen else UNSEEN for name, ident in ids.items() if name not in mine
    }
    for ident in others:
        assert (await other.call("recall-context", relatedTo=ident, depth=5))["total"] == 0
    exported = await other.call("export-memories")
    assert exported["exported"] == len(seen - {"private"})  # the parent's is read, not taken along
    cleaned = await other.call("cleanup")
    assert (cleaned["expired"], cleaned["deleted"], cleaned["errors"]) == (0, 0, [])
    assert await raw.everywhere() == before


@pytest.mark.requirement("scenario-33")
async def test_a_bulk_write_goes_to_spaces_of_its_writer_alone(agents: Agents, raw: RawStore) -> None:
    helper = await agents(subagent="explore")
    items = [{"content": name, **arguments, "agentId": "agent-a"} for name, arguments in MEMORIES.items()]
    answer = await helper.call("remember-bulk", memories=items)
    assert answer["stored"] == 6
    me = helper.caller.agent_id
    assert me != "agent-a"
    records = await raw.everywhere()
    assert {key.rsplit(".", 2)[0] for key in records} == {
        f"agents.{me}",
        f"core.{me}",
        "personal.type=3Aexplore",
        f"shared.{me}",
    }
    assert {record["agentId"] for record in records.values()} == {me}


# --- 50: size ---------------------------------------------------------------------------------------------------------


@pytest.mark.requirement("scale-50")
async def test_of_ten_thousand_a_filtered_recall_finds_the_right_ones(agents: Agents) -> None:
    me = await agents()
    categories = ["recent", "tasks", "longterm", "decisions", "learnings"]
    ids: list[str] = []
    for start in range(0, 10_000, 1_000):
        items = [
            {
                "content": f"memory {n} about {'brokers' if n % 7 == 0 else 'something else'}",
                "category": categories[n % 5],
                "metadata": {"tags": [f"t{n % 10}", f"u{n % 13}"], "priority": n % 3 + 1},
            }
            for n in range(start, start + 1_000)
        ]
        ids += (await me.call("remember-bulk", memories=items))["memoryIds"]
    assert len(set(ids)) == 10_000

    def expected(*, tag: int, priority: int, category: str) -> set[str]:
        return {
            ids[n]
            for n in range(10_000)
            if n % 10 == tag and n % 3 + 1 >= priority and categories[n % 5] == category and n % 7 == 0
        }

    slowest = 0.0
    for turn in range(20):
        tag, priority, category = turn % 10, turn % 3 + 1, categories[turn % 5]
        arguments = {
            "tags": [f"t{tag}"],
            "minPriority": priority,
            "categories": [category],
            "search": "BROKERS",
            "limit": 200,
        }
        began = time.perf_counter()
        recalled = await me.call("recall-context", **arguments)
        slowest = max(slowest, time.perf_counter() - began)
        found = {record["id"] for scope in SCOPES for record in recalled[scope]}
        assert found == expected(tag=tag, priority=priority, category=category)
        assert recalled["total"] == len(found) > 0
    # The percentile is the benchmark's; a machine that is busy with other things may take its time here.
    assert slowest < 1.0
    assert (await me.call("recall-context"))["total"] == 10_000
