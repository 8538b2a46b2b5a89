"""Acceptance checks 26-32: what becomes of a memory: committed, shared, forgotten, cleaned up."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pattern.testing import ManualClock, NatsServer
from pattern.testing.agents import Agent, Agents
from tests.stories.conftest import GLOBAL_BUCKET, PROJECT_BUCKET, USER_BUCKET, RawStore

NOBODY = "3f0c2a9e-6a52-4c1d-9d57-0e2b7c6a1f10"
METADATA = {"tags": ["a", "b"], "priority": 1, "relatedTo": [NOBODY], "source": "a story", "own": {"deep": [1, None]}}


async def remember(agent: Agent, **arguments: Any) -> str:
    """Store a memory; returns its id."""
    return (await agent.call("remember", **{"content": "something", **arguments}))["memoryId"]


async def get(agent: Agent, ident: str) -> dict[str, Any]:
    return (await agent.call("get-memory", memoryId=ident))["memory"]


# --- commit -----------------------------------------------------------------------------------------------------------


@pytest.mark.requirement("lifecycle-26.record", "lifecycle-26.key", "lifecycle-26.result")
@pytest.mark.parametrize(("category", "content"), [("recent", None), ("tasks", "said better")])
async def test_a_committed_memory_lasts(
    agents: Agents, raw: RawStore, manual_clock: ManualClock, category: str, content: str | None
) -> None:
    me = await agents(clock=manual_clock)
    ident = await remember(me, category=category, metadata=METADATA)
    key = f"agents.agent-a.m.{ident}"
    before = (await raw.records(PROJECT_BUCKET))[key]
    manual_clock.advance(90)
    answer = await me.call("commit-insight", memoryId=ident, **({} if content is None else {"newContent": content}))
    assert answer == {
        "memoryId": ident,
        "previousCategory": category,
        "previousScope": "private",
        "newScope": "private",
        "revision": 2,
        "position": f"{PROJECT_BUCKET}@2",
    }
    after = {**before, "category": "longterm", "updatedAt": "2026-01-02T03:05:35.000Z"}
    after["content"] = content or before["content"]
    del after["expiresAt"]
    assert await raw.records(PROJECT_BUCKET) == {key: after}
    headers = await raw.headers(PROJECT_BUCKET, key)
    assert headers["Nats-Expected-Last-Subject-Sequence"] == "1"
    assert "Nats-TTL" not in headers
    manual_clock.advance(10 * 86_400)
    assert await get(me, ident) == {**after, "revision": 2}


@pytest.mark.requirement("lifecycle-27.personal")
async def test_a_memory_committed_to_personal_moves_to_the_bucket_of_the_user(agents: Agents, raw: RawStore) -> None:
    me = await agents()
    ident = await remember(me, metadata=METADATA)
    before = await get(me, ident)
    answer = await me.call("commit-insight", memoryId=ident, targetScope="personal")
    assert (answer["previousScope"], answer["newScope"]) == ("private", "personal")
    assert answer["position"] == f"{USER_BUCKET}@{answer['revision']}"

    assert await raw.records(PROJECT_BUCKET) == {}
    records = await raw.records(USER_BUCKET)
    assert list(records) == [f"personal.user.m.{ident}"]
    recalled = await me.call("recall-context")
    assert recalled["private"] == []
    [record] = recalled["personal"]
    kept = {"id", "agentId", "projectId", "content", "metadata", "createdAt", "version"}
    assert {name: record[name] for name in kept} == {name: before[name] for name in kept}
    assert (record["scope"], record["category"]) == ("personal", "longterm")
    assert "expiresAt" not in record
    elsewhere = await agents("agent-b", project="another")
    assert (await get(elsewhere, ident))["content"] == "something"


@pytest.mark.requirement("lifecycle-27.team")
async def test_a_memory_cannot_be_committed_to_others(agents: Agents, raw: RawStore) -> None:
    me = await agents()
    ident = await remember(me)
    before = await raw.records(PROJECT_BUCKET)
    for target in ("team", "public", "shared", "banana"):
        failure = await me.refused("commit-insight", memoryId=ident, targetScope=target, newContent="changed")
        assert failure.code == "VALIDATION_ERROR", target
        assert failure.details["field"] == "targetScope"
    assert await raw.everywhere() == before
    assert (await get(me, ident))["revision"] == 1


@pytest.mark.requirement("lifecycle-28.unknown")
async def test_what_is_not_mine_or_over_cannot_be_committed(agents: Agents, manual_clock: ManualClock) -> None:
    me = await agents(clock=manual_clock)
    other = await agents("agent-b", clock=manual_clock)
    helper = await agents(subagent="explore", clock=manual_clock)
    mine, theirs, shared = await remember(me), await remember(other), await remember(other, category="decisions")
    await helper.call("get-memory", memoryId=mine)  # a sub-agent sees it, and still may not
    for agent, ident in [(me, NOBODY), (me, theirs), (me, shared), (helper, mine)]:
        failure = await agent.refused("commit-insight", memoryId=ident)
        assert failure.code == "MEMORY_NOT_FOUND", ident
        assert failure.details == {"memoryId": ident}
    manual_clock.advance(86_400)
    await me.call("commit-insight", memoryId=mine)  # its last moment
    late = await remember(me)
    manual_clock.advance(86_400.001)
    failure = await me.refused("commit-insight", memoryId=late)
    assert failure.code == "MEMORY_NOT_FOUND"
    assert "expired" in failure.message


@pytest.mark.requirement("lifecycle-28.longterm", "lifecycle-28.core")
@pytest.mark.parametrize("scope", ["private", "personal"])
async def test_what_lasts_already_cannot_be_committed(agents: Agents, scope: str) -> None:
    me = await agents()
    longterm = await remember(me, scope=scope, category="longterm")
    failure = await me.refused("commit-insight", memoryId=longterm)
    assert failure.code == "VALIDATION_ERROR"
    assert "longterm" in failure.message
    core = await remember(me, scope=scope, category="core")
    assert (await me.refused("commit-insight", memoryId=core)).code == "CORE_PROTECTED"
    assert [(await get(me, ident))["category"] for ident in (longterm, core)] == ["longterm", "core"]


@pytest.mark.requirement("lifecycle-28.personal")
async def test_a_personal_memory_can_be_committed(agents: Agents) -> None:
    me = await agents()
    ident = await remember(me, scope="personal", category="recent")
    answer = await me.call("commit-insight", memoryId=ident)
    assert (answer["previousCategory"], answer["previousScope"], answer["newScope"]) == ("recent", *["personal"] * 2)
    record = await get(me, ident)
    assert (record["scope"], record["category"]) == ("personal", "longterm")
    assert "expiresAt" not in record
    task = await remember(me, scope="personal", category="tasks")
    assert (await me.call("commit-insight", memoryId=task, targetScope="private"))["newScope"] == "private"
    assert (await get(me, task))["scope"] == "private"


@pytest.mark.requirement("lifecycle-28.content")
async def test_committed_content_obeys_the_rules_of_content(agents: Agents, raw: RawStore) -> None:
    me = await agents()
    ident = await remember(me)
    before = await raw.records(PROJECT_BUCKET)
    for content in ("", "  \n", "x" * 40_000, 5):
        failure = await me.refused("commit-insight", memoryId=ident, newContent=content)
        assert failure.code == "VALIDATION_ERROR"
        assert failure.details["field"] == "newContent"
    assert await raw.everywhere() == before


# --- share ------------------------------------------------------------------------------------------------------------


@pytest.mark.requirement("lifecycle-29.share", "lifecycle-29.gone")
@pytest.mark.parametrize("scope", ["private", "personal"])
async def test_a_shared_memory_is_a_new_one_of_the_team(
    agents: Agents, raw: RawStore, manual_clock: ManualClock, scope: str
) -> None:
    me, other = await agents(clock=manual_clock), await agents("agent-b", clock=manual_clock)
    ident = await remember(me, content="worth sharing", scope=scope, category="longterm", metadata=METADATA)
    manual_clock.advance(60)
    answer = await me.call("share-learning", memoryId=ident)
    new = answer["teamMemoryId"]
    assert new != ident
    assert answer == {
        "teamMemoryId": new,
        "originalDeleted": True,
        "revision": answer["revision"],
        "position": f"{PROJECT_BUCKET}@{answer['revision']}",
    }
    assert await raw.everywhere() == {
        f"shared.agent-a.m.{new}": {
            "id": new,
            "agentId": "agent-a",
            "projectId": "project-p",
            "scope": "team",
            "category": "learnings",
            "content": "worth sharing",
            "metadata": METADATA,
            "createdAt": "2026-01-02T03:05:05.000Z",
            "updatedAt": "2026-01-02T03:05:05.000Z",
            "version": 1,
        }
    }
    assert (await me.refused("get-memory", memoryId=ident)).code == "MEMORY_NOT_FOUND"
    recalled = await other.call("recall-context", atLeast=answer["position"], scopes=["team"])
    assert [record["id"] for record in recalled["team"]] == [new]


@pytest.mark.requirement("lifecycle-29.keep")
@pytest.mark.parametrize("keep", ["keepOriginal", "keepPrivate"])
async def test_the_original_can_be_kept(agents: Agents, keep: str) -> None:
    me = await agents()
    ident = await remember(me, content="mine and ours", category="longterm")
    before = await get(me, ident)
    answer = await me.call("share-learning", memoryId=ident, category="decisions", **{keep: True})
    assert answer["originalDeleted"] is False
    recalled = await me.call("recall-context")
    assert recalled["private"] == [before]
    [shared] = recalled["team"]
    assert shared["id"] == answer["teamMemoryId"]
    assert (shared["category"], shared["content"]) == ("decisions", "mine and ours")


@pytest.mark.requirement("lifecycle-30.recent", "lifecycle-30.category", "lifecycle-30.unknown", "lifecycle-30.core")
async def test_what_cannot_be_shared(agents: Agents, raw: RawStore) -> None:
    me, other = await agents(), await agents("agent-b")
    recent, task, longterm = [await remember(me, category=category) for category in ("recent", "tasks", "longterm")]
    core, private_core = await remember(me, category="core"), await remember(me, category="core", scope="private")
    ours, theirs = await remember(me, category="decisions"), await remember(other, category="longterm")
    before = await raw.everywhere()
    for arguments, code in [
        ({"memoryId": recent}, "INVALID_CATEGORY"),
        ({"memoryId": task, "keepOriginal": True}, "INVALID_CATEGORY"),
        ({"memoryId": longterm, "category": "recent"}, "INVALID_CATEGORY"),
        ({"memoryId": longterm, "category": "banana"}, "INVALID_CATEGORY"),
        ({"memoryId": NOBODY}, "MEMORY_NOT_FOUND"),
        ({"memoryId": theirs}, "MEMORY_NOT_FOUND"),
        ({"memoryId": ours}, "MEMORY_NOT_FOUND"),
        ({"memoryId": core}, "CORE_PROTECTED"),
        ({"memoryId": private_core}, "CORE_PROTECTED"),
        ({"memoryId": ""}, "VALIDATION_ERROR"),
        ({}, "VALIDATION_ERROR"),
    ]:
        failure = await me.refused("share-learning", **arguments)
        assert failure.code == code, arguments
    wrong = await me.refused("share-learning", memoryId=longterm, category="recent")
    assert wrong.details == {"field": "category", "allowed": ["decisions", "architecture", "learnings"]}
    assert await raw.everywhere() == before

    kept = await me.call("share-learning", memoryId=core, keepOriginal=True)
    forced = await me.call("share-learning", memoryId=private_core, force=True)
    assert (kept["originalDeleted"], forced["originalDeleted"]) == (False, True)
    assert (await get(me, core))["category"] == "core"
    assert (await me.refused("get-memory", memoryId=private_core)).code == "MEMORY_NOT_FOUND"


# --- forget -----------------------------------------------------------------------------------------------------------


@pytest.mark.requirement("lifecycle-31.own")
async def test_ones_own_memories_are_forgotten_once(agents: Agents, raw: RawStore) -> None:
    me = await agents()
    for scope, category in [
        ("private", "recent"),
        ("private", "tasks"),
        ("personal", "longterm"),
        ("team", "decisions"),
        ("public", "learnings"),
    ]:
        ident = await remember(me, scope=scope, category=category)
        answer = await me.call("forget", memoryId=ident)
        assert {**answer, "position": ""} == {"deleted": True, "category": category, "memoryId": ident, "position": ""}
        again = await me.refused("forget", memoryId=ident)
        assert again.code == "MEMORY_NOT_FOUND"
        assert again.details == {"memoryId": ident}
    assert await raw.everywhere() == {}
    assert (await me.call("recall-context"))["total"] == 0


@pytest.mark.requirement("lifecycle-31.core")
@pytest.mark.parametrize("scope", ["private", "personal"])
async def test_a_core_memory_is_forgotten_only_with_force(agents: Agents, raw: RawStore, scope: str) -> None:
    me = await agents()
    ident = await remember(me, scope=scope, category="core")
    for arguments in ({}, {"force": False}):
        failure = await me.refused("forget", memoryId=ident, **arguments)
        assert failure.code == "CORE_PROTECTED"
        assert "force=true" in failure.message
    assert (await get(me, ident))["category"] == "core"
    answer = await me.call("forget", memoryId=ident, force=True)
    assert (answer["deleted"], answer["category"]) == (True, "core")
    assert await raw.everywhere() == {}


@pytest.mark.requirement("lifecycle-31.foreign")
async def test_what_another_agent_made_is_not_mine_to_forget(agents: Agents) -> None:
    me, other = await agents(), await agents("agent-b", project="another")
    helper = await agents(subagent="explore")
    team, public = await remember(me, category="decisions"), await remember(other, scope="public", category="learnings")
    for agent, ident, creator in [(helper, team, "agent-a"), (me, public, "agent-b"), (helper, public, "agent-b")]:
        for force in (False, True):
            failure = await agent.refused("forget", memoryId=ident, force=force)
            assert failure.code == "ACCESS_DENIED"
            assert failure.details == {"memoryId": ident, "creator": creator}
    # What one may not even see is not there.
    for ident in (team, await remember(me), await remember(me, scope="private", category="core")):
        assert (await other.refused("forget", memoryId=ident, force=True)).code == "MEMORY_NOT_FOUND"
    assert (await get(me, team))["content"] == (await get(other, public))["content"] == "something"


@pytest.mark.requirement("lifecycle-31.malformed")
async def test_an_id_that_is_none_is_refused(agents: Agents) -> None:
    me = await agents()
    for arguments in (
        {},
        {"memoryId": ""},
        {"memoryId": "  "},
        {"memoryId": "nope"},
        {"memoryId": "a b"},
        {"memoryId": 5},
    ):
        failure = await me.refused("forget", **arguments)
        assert failure.code == "VALIDATION_ERROR", arguments
        assert failure.details["field"] == "memoryId"


# --- cleanup ----------------------------------------------------------------------------------------------------------


async def fill(agent: Agent, count: int, category: str, **more: Any) -> list[str]:
    """Store memories of one category; returns their ids."""
    items = [{"content": f"{category} {n}", "category": category, **more} for n in range(count)]
    answer = await agent.call("remember-bulk", memories=items)
    assert answer["stored"] == count
    return answer["memoryIds"]


@pytest.mark.requirement("lifecycle-32.evict")
async def test_cleanup_evicts_the_oldest_beyond_the_limits(agents: Agents, manual_clock: ManualClock) -> None:
    me = await agents(clock=manual_clock)
    newest = await fill(me, 500, "recent")
    manual_clock.advance(-60)  # age is what records say, not the order in which they came
    oldest = [*await fill(me, 5, "recent"), *await fill(me, 3, "tasks")]
    manual_clock.advance(30)
    newer = [*await fill(me, 500, "recent"), *await fill(me, 500, "tasks")]
    lasting = await fill(me, 3, "longterm")
    manual_clock.advance(60)
    answer = await me.call("cleanup")
    assert {**answer, "position": ""} == {"expired": 0, "deleted": 8, "errors": [], "position": ""}

    counts = (await me.call("pattern_health"))["scopes"]["private"]["byCategory"]
    assert counts == {"recent": 1_000, "tasks": 500, "longterm": 3}
    for ident in oldest:
        assert (await me.refused("get-memory", memoryId=ident)).code == "MEMORY_NOT_FOUND"
    for ident in (newest[0], newest[-1], newer[0], newer[-1], lasting[0]):
        await get(me, ident)
    assert await me.call("cleanup") == {"expired": 0, "deleted": 0, "errors": []}


@pytest.mark.requirement("lifecycle-32.expire-only")
async def test_expired_memories_are_cleaned_apart(agents: Agents, raw: RawStore, manual_clock: ManualClock) -> None:
    me = await agents(clock=manual_clock, env={"PATTERN_LIMIT_RECENT": "5"})
    await fill(me, 3, "recent")
    await fill(me, 1, "decisions", ttlSeconds=60)
    await fill(me, 1, "longterm", scope="personal", ttlSeconds=60)
    manual_clock.advance(86_401)
    live = await fill(me, 5, "recent")
    # Five live ones are no more than the limit, whatever has expired beside them.
    answer = await me.call("cleanup")
    assert {**answer, "position": ""} == {"expired": 5, "deleted": 0, "errors": [], "position": ""}
    assert sorted(await raw.everywhere()) == sorted(f"agents.agent-a.m.{ident}" for ident in live)

    manual_clock.advance(1)
    live += await fill(me, 2, "recent")
    assert await me.call("cleanup", expireOnly=True) == {"expired": 0, "deleted": 0, "errors": []}
    assert len(await raw.records(PROJECT_BUCKET)) == 7
    manual_clock.advance(86_400)
    answer = await me.call("cleanup", expireOnly=True)
    assert (answer["expired"], answer["deleted"]) == (5, 0)
    assert sorted(await raw.everywhere()) == sorted(f"agents.agent-a.m.{ident}" for ident in live[5:])


@pytest.mark.requirement("lifecycle-32.core")
async def test_cleanup_only_reports_too_many_core_memories(agents: Agents, raw: RawStore) -> None:
    generous = await agents(env={"PATTERN_LIMIT_CORE": "101"})
    await fill(generous, 101, "core")
    await generous.close()
    me = await agents()
    answer = await me.call("cleanup")
    assert (answer["expired"], answer["deleted"]) == (0, 0)
    [error] = answer["errors"]
    assert "101 core memories" in error
    assert "1 more than the allowed 100" in error
    assert len(await raw.records(USER_BUCKET)) == 101


@pytest.mark.requirement("lifecycle-32.failure")
async def test_a_deletion_that_fails_is_told_and_stops_no_other(
    agents: Agents, nats_servers: Callable[..., NatsServer], manual_clock: ManualClock, tmp_path: Path
) -> None:
    deny = f'permissions: {{ publish: {{ allow: ">", deny: "$KV.{PROJECT_BUCKET}.agents.agent-a.m.{NOBODY}" }} }}'
    users = f"{{ user: full, password: x }}, {{ user: limited, password: x, {deny} }}"
    server = nats_servers(auth=f"authorization {{ users: [ {users} ] }}")
    full, limited = (server.url.replace("://", f"://{user}:x@") for user in ("full", "limited"))

    before = await agents(clock=manual_clock, env={"NATS_URL": full})
    ids = await fill(before, 3, "tasks")
    exported = await before.call("export-memories", outputPath="tasks.json")
    assert exported["filepath"] == str(tmp_path / "tasks.json")
    envelope = json.loads((tmp_path / "tasks.json").read_text())
    envelope["memories"] = [{**envelope["memories"][0], "id": NOBODY}]
    (tmp_path / "one.json").write_text(json.dumps(envelope))
    assert (await before.call("import-memories", inputPath="one.json"))["imported"] == 1
    manual_clock.advance(86_401)

    me = await agents(clock=manual_clock, env={"NATS_URL": limited})
    answer = await me.call("cleanup")
    assert (answer["expired"], answer["deleted"]) == (3, 0)
    [error] = answer["errors"]
    assert error.startswith(f"{NOBODY}: ")
    left = await me.call("recall-context", includeExpired=True)
    assert [record["id"] for record in left["private"]] == [NOBODY]
    assert NOBODY not in ids


@pytest.mark.requirement("lifecycle-32.owner")
async def test_cleanup_leaves_what_others_own(agents: Agents, raw: RawStore, manual_clock: ManualClock) -> None:
    few = {"PATTERN_LIMIT_RECENT": "2", "PATTERN_LIMIT_TASKS": "2"}
    me = await agents(clock=manual_clock, env=few)
    other = await agents("agent-b", user="user-v", clock=manual_clock, env=few)
    helper = await agents(subagent="explore", clock=manual_clock, env=few)
    for agent in (other, helper):
        await fill(agent, 1, "decisions", ttlSeconds=60)
        await fill(agent, 1, "learnings", scope="public", ttlSeconds=60)
        await fill(agent, 1, "tasks")
    manual_clock.advance(86_401)
    for agent in (other, helper):
        await fill(agent, 3, "recent")
        await fill(agent, 3, "recent", scope="personal")
    mine = await fill(me, 4, "recent")
    buckets = (PROJECT_BUCKET, USER_BUCKET, GLOBAL_BUCKET, "loom-memory-user-user-v")
    before = {bucket: await raw.records(bucket) for bucket in buckets}
    answer = await me.call("cleanup")
    assert (answer["expired"], answer["deleted"], answer["errors"]) == (0, 2, [])
    after = {bucket: await raw.records(bucket) for bucket in buckets}
    gone = [key for bucket in buckets for key in before[bucket] if key not in after[bucket]]
    assert len(gone) == 2
    assert set(gone) < {f"agents.agent-a.m.{ident}" for ident in mine}
    assert (await helper.call("cleanup"))["expired"] == 3
    assert (await other.call("cleanup"))["expired"] == 3
