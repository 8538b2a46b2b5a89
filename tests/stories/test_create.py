"""Acceptance checks 1-11: what a new memory is, where it goes, and what is refused."""

from __future__ import annotations

import asyncio
import json
from datetime import datetime, timedelta
from itertools import count
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

from pattern.testing import ManualClock
from pattern.testing.agents import Agent, Agents
from tests.stories.conftest import GLOBAL_BUCKET, PROJECT_BUCKET, USER_BUCKET, RawStore

OWN = ["recent", "tasks", "longterm", "core"]
COMMON = ["decisions", "architecture", "learnings"]
SCOPES = {"private": OWN, "personal": OWN, "team": COMMON, "public": COMMON}
DAY = timedelta(hours=24)


async def get(agent: Agent, answer: dict[str, Any]) -> dict[str, Any]:
    """Return the record that a creating tool has made."""
    return (await agent.call("get-memory", memoryId=answer["memoryId"]))["memory"]


def time_of(text: str) -> datetime:
    return datetime.fromisoformat(text)


# --- one memory with nothing but content ------------------------------------------------------------------------------


@pytest.mark.requirement("create-1.defaults", "create-1.expiry", "create-1.key")
async def test_content_alone_makes_a_private_recent_memory(
    agents: Agents, raw: RawStore, manual_clock: ManualClock
) -> None:
    me = await agents(clock=manual_clock)
    answer = await me.call("remember", content="x")

    ident = answer["memoryId"]
    assert UUID(ident).version == 4
    assert str(UUID(ident)) == ident
    key = f"agents.agent-a.m.{ident}"
    assert await raw.records(PROJECT_BUCKET) == {
        key: {
            "id": ident,
            "agentId": "agent-a",
            "projectId": "project-p",
            "scope": "private",
            "category": "recent",
            "content": "x",
            "createdAt": "2026-01-02T03:04:05.000Z",
            "updatedAt": "2026-01-02T03:04:05.000Z",
            "expiresAt": "2026-01-03T03:04:05.000Z",
            "version": 1,
        }
    }
    assert answer == {
        "memoryId": ident,
        "expiresAt": "2026-01-03T03:04:05.000Z",
        "scope": "private",
        "category": "recent",
        "revision": 1,
        "position": f"{PROJECT_BUCKET}@1",
    }


@pytest.mark.requirement("create-1.expiry")
async def test_a_recent_memory_expires_a_day_from_now_by_the_clock_of_the_machine(agents: Agents) -> None:
    me = await agents()
    before = datetime.now().astimezone()
    record = await get(me, await me.call("remember", content="x"))
    after = datetime.now().astimezone()
    assert before - timedelta(milliseconds=1) <= time_of(record["createdAt"]) <= after
    assert time_of(record["expiresAt"]) == time_of(record["createdAt"]) + DAY


@pytest.mark.requirement("create-2")
async def test_lasting_categories_do_not_expire(agents: Agents) -> None:
    me = await agents()
    for category in ("longterm", "core", *COMMON):
        answer = await me.call("remember", content="it stays", category=category)
        record = await get(me, answer)
        assert record["category"] == category
        assert not {"expiresAt"} & (record.keys() | answer.keys()), category


# --- content ----------------------------------------------------------------------------------------------------------

CREATING = ["remember", "remember-task", "remember-learning", "core-memory", "remember-bulk"]


def arguments(tool: str, item: dict[str, Any]) -> dict[str, Any]:
    """Return what makes a creating tool store one memory."""
    return {"memories": [item]} if tool == "remember-bulk" else item


@pytest.mark.requirement("create-3.blank")
@pytest.mark.parametrize("tool", CREATING)
async def test_blank_content_is_refused(agents: Agents, tool: str) -> None:
    me = await agents()
    blank = "content must not be blank"
    for item, complaint in [
        ({}, "content is required"),
        ({"content": None}, "content is required"),
        ({"content": ""}, blank),
        ({"content": "   "}, blank),
        ({"content": "\n\r\n\n"}, blank),
        ({"content": "\u2003\t"}, blank),
    ]:
        failure = await me.refused(tool, **arguments(tool, item))
        assert failure.code == "VALIDATION_ERROR", item
        assert complaint in failure.message, item
    assert (await me.call("recall-context"))["total"] == 0


@pytest.mark.requirement("create-3.type")
@pytest.mark.parametrize("tool", CREATING)
async def test_content_that_is_no_string_is_refused_with_our_code(agents: Agents, tool: str) -> None:
    me = await agents()
    for content in (5, 1.5, True, ["x"], {"x": 1}):
        failure = await me.refused(tool, **arguments(tool, {"content": content}))
        assert failure.code == "VALIDATION_ERROR", content
        assert "content must be a string, not " in failure.message, content
    assert (await me.call("recall-context"))["total"] == 0


@pytest.mark.requirement("create-4.ascii", "create-4.bytes")
@pytest.mark.parametrize(
    ("fits", "exceeds", "size"),
    [("x" * 32_768, "x" * 32_769, 32_769), ("€" * 10_922 + "xx", "€" * 10_923, 32_769)],
    ids=["ascii", "three bytes a character"],
)
@pytest.mark.parametrize("tool", CREATING)
async def test_content_is_limited_in_bytes(agents: Agents, tool: str, fits: str, exceeds: str, size: int) -> None:
    me = await agents()
    failure = await me.refused(tool, **arguments(tool, {"content": exceeds}))
    assert failure.code == "VALIDATION_ERROR"
    assert f"content is {size} bytes of UTF-8, more than the allowed 32768" in failure.message
    if tool != "remember-bulk":
        assert failure.details == {"field": "content", "contentSize": size, "maxSize": 32_768}
    await me.call(tool, **arguments(tool, {"content": fits}))
    recalled = await me.call("recall-context")
    assert [record["content"] for record in recalled["private"] + recalled["personal"]] == [fits]


# --- scope and category -----------------------------------------------------------------------------------------------


@pytest.mark.requirement("create-5")
@pytest.mark.parametrize("scope", SCOPES)
async def test_a_scope_holds_its_categories_and_refuses_the_others(agents: Agents, scope: str) -> None:
    me = await agents()
    for category in [*OWN, *COMMON, "banana"]:
        if category in SCOPES[scope]:
            answer = await me.call("remember", content=category, scope=scope, category=category)
            assert (answer["scope"], answer["category"]) == (scope, category)
        else:
            failure = await me.refused("remember", content=category, scope=scope, category=category)
            assert failure.code == "INVALID_CATEGORY"
            assert failure.details == {"field": "category", "allowed": SCOPES[scope]}
            assert all(name in failure.message for name in [f"'{category}'", scope, *SCOPES[scope]])
    recalled = await me.call("recall-context")
    assert sorted(record["category"] for record in recalled[scope]) == sorted(SCOPES[scope])
    assert recalled["total"] == len(SCOPES[scope])


@pytest.mark.requirement("create-5")
@pytest.mark.parametrize("scope", ["team", "public"])
async def test_a_shared_scope_asks_for_a_category(agents: Agents, scope: str) -> None:
    me = await agents()
    failure = await me.refused("remember", content="x", scope=scope)
    assert failure.code == "INVALID_CATEGORY"
    assert failure.details["allowed"] == COMMON


@pytest.mark.requirement("create-6.core", "create-6.shared")
async def test_without_a_scope_the_category_chooses(agents: Agents) -> None:
    me = await agents()
    chosen = {
        category: (await get(me, await me.call("remember", content="x", category=category)))["scope"]
        for category in [*OWN, *COMMON]
    }
    assert chosen == {
        "recent": "private",
        "tasks": "private",
        "longterm": "private",
        "core": "personal",
        "decisions": "team",
        "architecture": "team",
        "learnings": "team",
    }


@pytest.mark.requirement("create-7.legacy")
async def test_older_names_of_scopes_are_understood(agents: Agents) -> None:
    me = await agents()
    for old, category, scope in [
        ("shared", "decisions", "team"),
        ("project", "learnings", "team"),
        ("project-only", "architecture", "team"),
        ("user", "longterm", "personal"),
        ("user-only", "core", "personal"),
    ]:
        answer = await me.call("remember", content=old, scope=old, category=category)
        assert answer["scope"] == scope, old
        [record] = (await me.call("recall-context", search=old, categories=[category]))[scope]
        assert (record["scope"], record["content"]) == (scope, old)


@pytest.mark.requirement("create-7.unknown")
async def test_an_unknown_scope_is_refused(agents: Agents) -> None:
    me = await agents()
    for scope in ("banana", "", "Private", "private "):
        failure = await me.refused("remember", content="x", scope=scope)
        assert failure.code == "VALIDATION_ERROR", scope
        assert failure.details == {"field": "scope", "allowed": ["private", "personal", "team", "public"]}
        assert "private, personal, team, public" in failure.message
    assert (await me.call("recall-context"))["total"] == 0


# --- metadata ---------------------------------------------------------------------------------------------------------


@pytest.mark.requirement("create-8")
@pytest.mark.parametrize("tool", CREATING)
async def test_metadata_beyond_its_limits_is_refused(agents: Agents, tool: str) -> None:
    me = await agents()
    bad: list[tuple[dict[str, Any], str]] = [
        ({"tags": [f"t{n}" for n in range(11)]}, "metadata.tags holds 11 tags, more than the allowed 10"),
        ({"tags": ["t" * 51]}, "metadata.tags: a tag has 51 characters, more than the allowed 50"),
        ({"tags": "api"}, "metadata.tags must be an array of strings"),
        ({"tags": [1]}, "metadata.tags must be an array of strings"),
        *(({"priority": n}, "metadata.priority must be 1 (high), 2 or 3 (low)") for n in (0, 4, 9, 1.5, "1", True)),
    ]
    for metadata, complaint in bad:
        failure = await me.refused(tool, **arguments(tool, {"content": "x", "metadata": metadata}))
        assert failure.code == "VALIDATION_ERROR", metadata
        assert complaint in failure.message, metadata
    assert (await me.call("recall-context"))["total"] == 0

    most = {"tags": [f"{n}".rjust(50, "t") for n in range(10)], "priority": 3}
    await me.call(tool, **arguments(tool, {"content": "x", "metadata": most}))
    recalled = await me.call("recall-context")
    assert [record["metadata"] for record in recalled["private"] + recalled["personal"]] == [most]


# --- the shortcuts ----------------------------------------------------------------------------------------------------


@pytest.mark.requirement("create-9.task", "create-9.learning")
@pytest.mark.parametrize(("tool", "category"), [("remember-task", "tasks"), ("remember-learning", "recent")])
async def test_shortcuts_know_their_place(agents: Agents, manual_clock: ManualClock, tool: str, category: str) -> None:
    me = await agents(clock=manual_clock)
    answer = await me.call(tool, content="x", scope="team", category="decisions", metadata={"tags": ["t"]})
    assert (answer["scope"], answer["category"]) == ("private", category)
    assert answer["expiresAt"] == "2026-01-03T03:04:05.000Z"
    recalled = await me.call("recall-context")
    assert recalled["team"] == []
    [record] = recalled["private"]
    assert (record["category"], record["expiresAt"]) == (category, answer["expiresAt"])
    assert record["metadata"] == {"tags": ["t"]}


@pytest.mark.requirement("create-10.core")
async def test_core_memory_goes_to_the_bucket_of_the_user_and_stays(agents: Agents, raw: RawStore) -> None:
    me = await agents()
    answer = await me.call("core-memory", content="likes tests", scope="team", category="recent")
    assert (answer["scope"], answer["category"]) == ("personal", "core")
    assert "expiresAt" not in answer
    records = await raw.records(USER_BUCKET)
    assert list(records) == [f"personal.user.m.{answer['memoryId']}"]
    [record] = records.values()
    assert (record["scope"], record["category"], record["content"]) == ("personal", "core", "likes tests")
    assert "expiresAt" not in record
    assert await raw.records(PROJECT_BUCKET) == {}


# --- the limit of core memories ---------------------------------------------------------------------------------------


async def fill_core(agent: Agent, count: int, scope: str = "personal") -> list[str]:
    """Store core memories; returns their ids."""
    items = [{"content": f"core {n}", "scope": scope, "category": "core"} for n in range(count)]
    answer = await agent.call("remember-bulk", memories=items)
    assert answer["stored"] == count
    return answer["memoryIds"]


@pytest.mark.requirement("create-10.limit")
async def test_the_hundredth_core_memory_is_the_last(agents: Agents) -> None:
    me = await agents()
    ids = await fill_core(me, 99)
    await me.call("core-memory", content="the hundredth")
    failure = await me.refused("core-memory", content="one too many")
    assert failure.code == "STORAGE_FULL"
    assert failure.details == {"currentCount": 100, "maxCount": 100, "scope": "personal"}
    assert "100 of 100 core memories" in failure.message
    assert (await me.call("recall-context", categories=["core"]))["total"] == 100

    await me.call("forget", memoryId=ids[0], force=True)
    await me.call("core-memory", content="there is room again")
    # The limit is each owner's and each scope's: another's core memories, and private ones, do not count.
    await me.call("remember", content="private", scope="private", category="core")
    other = await agents("agent-b", user="user-v")
    await other.call("core-memory", content="another user's first")


@pytest.mark.requirement("create-10.everywhere")
async def test_no_way_leads_around_the_limit_of_core_memories(agents: Agents, tmp_path: Path) -> None:
    me = await agents()
    await fill_core(me, 99)
    export = await me.call("export-memories", category="core", outputPath="core.json")
    assert export["exported"] == 99
    await me.call("core-memory", content="the hundredth")

    core = {"content": "one too many", "category": "core"}
    assert (await me.refused("remember", **core)).code == "STORAGE_FULL"
    bulk = await me.call("remember-bulk", memories=[core, {"content": "not core", "category": "longterm"}])
    assert (bulk["stored"], bulk["failed"]) == (1, 1)
    assert [(error["index"], error["code"]) for error in bulk["errors"]] == [(0, "STORAGE_FULL")]
    assert (await me.refused("remember-bulk", memories=[core], atomic=True)).code == "STORAGE_FULL"

    envelope = json.loads((tmp_path / "core.json").read_text())
    stranger = {**envelope["memories"][0], "id": "3f0c2a9e-6a52-4c1d-9d57-0e2b7c6a1f10", "content": "one too many"}
    (tmp_path / "more.json").write_text(json.dumps({**envelope, "memories": [stranger]}))
    imported = await me.call("import-memories", inputPath="more.json")
    assert (imported["imported"], imported["skipped"]) == (0, 1)
    [error] = imported["errors"]
    assert stranger["id"] in error
    assert "100 of 100 core memories" in error

    longterm = await me.call("remember", content="longterm", scope="personal", category="longterm")
    promotion = {"memoryId": longterm["memoryId"], "expectedRevision": longterm["revision"], "category": "core"}
    assert (await me.refused("update-memory", **promotion)).code == "STORAGE_FULL"
    recalled = await me.call("recall-context", categories=["core"])
    assert recalled["total"] == 100
    assert (await me.call("recall-context", search="one too many"))["total"] == 0


@pytest.mark.requirement("create-10.projects")
async def test_core_memories_count_over_all_projects_of_the_user(agents: Agents) -> None:
    here = await agents("agent-a", project="one")
    there = await agents("agent-b", project="two")
    await fill_core(here, 60)
    position = (await here.call("core-memory", content="the sixty-first"))["position"]
    await there.call("recall-context", atLeast=position)
    await fill_core(there, 39)
    failure = await there.refused("core-memory", content="one too many")
    assert failure.code == "STORAGE_FULL"
    assert failure.details["currentCount"] == 100
    assert (await there.call("recall-context", scopes=["personal"]))["total"] == 100


@pytest.mark.requirement("create-10.limit")
async def test_of_many_at_once_no_more_than_the_limit_is_stored(agents: Agents) -> None:
    me = await agents(env={"PATTERN_LIMIT_CORE": "5"})
    answers = await asyncio.gather(*(me.client.call_tool("core-memory", {"content": f"{n}"}) for n in range(12)))
    refused = [answer.structured_content for answer in answers if answer.is_error]
    assert len(refused) == 7
    assert {(answer or {})["code"] for answer in refused} == {"STORAGE_FULL"}
    assert (await me.call("recall-context"))["total"] == 5


@pytest.mark.requirement("deliver-5.overshoot")
async def test_processes_that_write_at_once_overshoot_by_their_number_at_most(agents: Agents) -> None:
    limit = 30
    crew = [await agents(env={"PATTERN_LIMIT_SPACE": str(limit)}) for _ in range(4)]

    async def write(agent: Agent) -> int:
        """Write until there is no more room; returns how many found some."""
        for stored in count():
            answer = await agent.client.call_tool("remember", {"content": "x", "category": "longterm"})
            if answer.is_error:
                assert (answer.structured_content or {})["code"] == "STORAGE_FULL"
                return stored
        raise AssertionError

    stored = sum(await asyncio.gather(*map(write, crew)))
    assert limit <= stored <= limit + len(crew)
    rebuilt = await agents()
    assert (await rebuilt.call("pattern_health"))["scopes"]["private"]["own"] == stored


# --- many at once -----------------------------------------------------------------------------------------------------


@pytest.mark.requirement("create-11", "store-49.routing")
async def test_fifty_at_once_are_fifty_memories(agents: Agents, raw: RawStore) -> None:
    me = await agents()
    places = [("private", "recent"), ("personal", "longterm"), ("team", "decisions"), ("public", "learnings")]
    answers = await asyncio.gather(
        *(
            me.call("remember", content=f"memory {n}", scope=scope, category=category)
            for n, (scope, category) in enumerate(places[n % 4] for n in range(50))
        )
    )
    ids = [answer["memoryId"] for answer in answers]
    assert len(set(ids)) == 50
    shown = await asyncio.gather(*(get(me, answer) for answer in answers))
    assert [record["content"] for record in shown] == [f"memory {n}" for n in range(50)]

    buckets = {"private": PROJECT_BUCKET, "personal": USER_BUCKET, "team": PROJECT_BUCKET, "public": GLOBAL_BUCKET}
    roots = {"private": "agents.agent-a", "personal": "personal.user", "team": "shared.agent-a"}
    stored = {bucket: await raw.records(bucket) for bucket in set(buckets.values())}
    for answer in answers:
        scope = answer["scope"]
        key = f"{roots.get(scope, 'shared.agent-a')}.m.{answer['memoryId']}"
        assert stored[buckets[scope]].pop(key)["scope"] == scope
    assert stored == {PROJECT_BUCKET: {}, USER_BUCKET: {}, GLOBAL_BUCKET: {}}
