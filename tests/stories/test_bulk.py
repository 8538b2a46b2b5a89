"""Acceptance checks 33-35: many memories in one call, and what becomes of each."""

from __future__ import annotations

from typing import Any

import pytest

from pattern.testing.agents import Agent, Agents
from tests.stories.conftest import GLOBAL_BUCKET, PROJECT_BUCKET, USER_BUCKET, RawStore

NOBODY = "3f0c2a9e-6a52-4c1d-9d57-0e2b7c6a1f10"
NO_ID = "memoryId must be the id of a memory, a UUID such as 3f0c2a9e-6a52-4c1d-9d57-0e2b7c6a1f10"
BLANK = "content must not be blank"
NOTHING_REMEMBERED: dict[str, Any] = {"stored": 0, "failed": 0, "errors": [], "memoryIds": [], "revisions": []}
NOTHING_FORGOTTEN: dict[str, Any] = {"deleted": 0, "failed": 0, "errors": []}


def items(*contents: str) -> list[dict[str, Any]]:
    return [{"content": content} for content in contents]


async def stored(raw: RawStore) -> dict[str, str]:
    """Return the contents of everything in the buckets by id."""
    return {record["id"]: record["content"] for record in (await raw.everywhere()).values()}


async def fill(agent: Agent, count: int, **more: Any) -> list[str]:
    """Store memories; returns their ids."""
    answer = await agent.call("remember-bulk", memories=[{"content": f"memory {n}", **more} for n in range(count)])
    assert answer["stored"] == count
    return answer["memoryIds"]


# --- remember-bulk ----------------------------------------------------------------------------------------------------


@pytest.mark.requirement("bulk-33.empty")
async def test_no_memories_are_no_work(agents: Agents) -> None:
    me = await agents()
    assert await me.call("remember-bulk") == NOTHING_REMEMBERED
    for flags in ({}, {"validate": False}, {"atomic": True}, {"stopOnError": True}):
        assert await me.call("remember-bulk", memories=[], **flags) == NOTHING_REMEMBERED, flags
    assert await me.call("forget-bulk") == NOTHING_FORGOTTEN
    for flags in ({}, {"stopOnError": True}, {"force": True}):
        assert await me.call("forget-bulk", memoryIds=[], **flags) == NOTHING_FORGOTTEN, flags


@pytest.mark.requirement("bulk-33.validate")
async def test_one_bad_item_keeps_all_out(agents: Agents, raw: RawStore) -> None:
    me = await agents()
    for arguments in (
        {},
        {"validate": True},
        {"validate": True, "stopOnError": True},
        {"atomic": True, "validate": False},
    ):
        failure = await me.refused("remember-bulk", memories=items("one", " ", "three"), **arguments)
        assert failure.code == "VALIDATION_ERROR"
        assert f"memories[1]: {BLANK}" in failure.message
        assert failure.details == {
            "field": "memories",
            "validationErrors": [{"index": 1, "error": BLANK, "code": "VALIDATION_ERROR"}],
            "totalMemories": 3,
        }
    bad = [
        {"content": "x", "scope": "team"},
        "no object",
        {"content": "x", "metadata": {"priority": 9}},
        *items("good"),
    ]
    failure = await me.refused("remember-bulk", memories=bad)
    assert [(error["index"], error["code"]) for error in failure.details["validationErrors"]] == [
        (0, "INVALID_CATEGORY"),
        (1, "VALIDATION_ERROR"),
        (2, "VALIDATION_ERROR"),
    ]
    assert await stored(raw) == {}


@pytest.mark.requirement("bulk-33.lenient")
async def test_without_validation_the_good_items_are_stored(agents: Agents, raw: RawStore) -> None:
    me = await agents()
    answer = await me.call("remember-bulk", memories=items("one", "", "three"), validate=False)
    ids = answer["memoryIds"]
    assert answer == {
        "stored": 2,
        "failed": 1,
        "errors": [{"index": 1, "error": BLANK, "code": "VALIDATION_ERROR"}],
        "memoryIds": ids,
        "revisions": [1, 2],
        "position": f"{PROJECT_BUCKET}@2",
    }
    assert await stored(raw) == dict(zip(ids, ["one", "three"], strict=True))


@pytest.mark.requirement("bulk-33.stop")
async def test_with_stop_on_error_nothing_after_the_bad_item_is_touched(agents: Agents, raw: RawStore) -> None:
    me = await agents()
    answer = await me.call(
        "remember-bulk", memories=items("one", "", "three", "", "five"), validate=False, stopOnError=True
    )
    assert (answer["stored"], answer["failed"]) == (1, 1)
    assert answer["errors"] == [{"index": 1, "error": BLANK, "code": "VALIDATION_ERROR"}]
    assert await stored(raw) == {answer["memoryIds"][0]: "one"}


@pytest.mark.requirement("bulk-34", "deliver-5.progress")
async def test_every_other_item_bad(agents: Agents, raw: RawStore) -> None:
    me = await agents()
    bad: list[dict[str, Any]] = [{"content": ""}, {}, {"content": "x", "scope": "moon"}, {"content": 5}]
    memories = [item for n in range(50) for item in (bad[n % 4], {"content": f"good {n}", "category": category(n)})]
    told: list[tuple[float, float | None]] = []

    async def hear(done: float, total: float | None, _message: str) -> None:
        told.append((done, total))

    answer = await me.call_with("remember-bulk", {"memories": memories, "validate": False}, progress=hear)
    assert (answer["stored"], answer["failed"]) == (50, 50)
    assert [error["index"] for error in answer["errors"]] == list(range(0, 100, 2))
    assert len(set(answer["memoryIds"])) == 50
    assert await stored(raw) == dict(zip(answer["memoryIds"], [f"good {n}" for n in range(50)], strict=True))
    assert {total for _, total in told} == {100}
    assert [done for done, _ in told] == sorted(done for done, _ in told)
    assert told[-1] == (100, 100)


def category(n: int) -> str:
    """Return categories that fall into two buckets in turn."""
    return ["recent", "core", "decisions"][n % 3]


@pytest.mark.requirement("bulk-34.atomic", "deliver-3.atomic")
async def test_atomic_is_all_or_nothing_in_one_bucket(agents: Agents, raw: RawStore) -> None:
    me = await agents(env={"PATTERN_LIMIT_SPACE": "1000"})
    one_bucket = [{"content": f"{n}", "category": ["recent", "decisions"][n % 2]} for n in range(1_000)]
    answer = await me.call("remember-bulk", memories=one_bucket, atomic=True)
    assert (answer["stored"], answer["failed"], answer["errors"]) == (1_000, 0, [])
    assert answer["position"] == f"{PROJECT_BUCKET}@1000"
    assert answer["revisions"] == list(range(1, 1_001))

    # 500 of them are private, so the last of these does not fit any more, and none is stored.
    failure = await me.refused("remember-bulk", memories=[{"content": f"{n}"} for n in range(501)], atomic=True)
    assert failure.code == "STORAGE_FULL"
    assert failure.details == {"currentCount": 500, "maxCount": 1_000, "scope": "private"}
    two_buckets = [{"content": "x"}, {"content": "y", "category": "core"}]
    failure = await me.refused("remember-bulk", memories=two_buckets, atomic=True)
    assert failure.code == "VALIDATION_ERROR"
    assert failure.details == {"field": "atomic"}
    too_many = await me.refused("remember-bulk", memories=[{"content": "x"}] * 1_001, atomic=True)
    assert too_many.code == "VALIDATION_ERROR"
    assert "1001 items, more than the allowed 1000" in too_many.message
    assert len(await raw.records(PROJECT_BUCKET)) == 1_000
    assert await raw.records(USER_BUCKET) == {}


# --- forget-bulk ------------------------------------------------------------------------------------------------------


@pytest.mark.requirement("bulk-35.errors")
async def test_what_cannot_be_forgotten_is_told_by_its_id(agents: Agents, raw: RawStore) -> None:
    me, other = await agents(), await agents("agent-b")
    good, kept = await fill(me, 2)
    [foreign] = await fill(other, 1, category="decisions")
    answer = await me.call("forget-bulk", memoryIds=["", good, "nope"])
    assert {**answer, "position": ""} == {
        "deleted": 1,
        "failed": 2,
        "errors": [
            {"memoryId": "", "error": "memoryId is required: the id of a memory", "code": "VALIDATION_ERROR"},
            {"memoryId": "nope", "error": NO_ID, "code": "VALIDATION_ERROR"},
        ],
        "position": "",
    }
    answer = await me.call("forget-bulk", memoryIds=[foreign, NOBODY, good, 5])
    assert answer["deleted"] == 0
    assert [(error["memoryId"], error["code"]) for error in answer["errors"]] == [
        (foreign, "ACCESS_DENIED"),
        (NOBODY, "MEMORY_NOT_FOUND"),
        (good, "MEMORY_NOT_FOUND"),
        ("number", "VALIDATION_ERROR"),
    ]
    assert set(await stored(raw)) == {kept, foreign}
    twice = await me.call("forget-bulk", memoryIds=[kept, kept])
    assert (twice["deleted"], twice["failed"]) == (1, 1)
    assert twice["errors"][0]["code"] == "MEMORY_NOT_FOUND"


@pytest.mark.requirement("bulk-35.stop")
async def test_forgetting_stops_at_the_first_failure(agents: Agents, raw: RawStore) -> None:
    me = await agents()
    first, second, third = await fill(me, 3)
    answer = await me.call("forget-bulk", memoryIds=[first, NOBODY, second, "", third], stopOnError=True)
    assert (answer["deleted"], answer["failed"]) == (1, 1)
    assert [error["memoryId"] for error in answer["errors"]] == [NOBODY]
    assert set(await stored(raw)) == {second, third}
    answer = await me.call("forget-bulk", memoryIds=["", second], stopOnError=True)
    assert (answer["deleted"], answer["failed"]) == (0, 1)
    assert set(await stored(raw)) == {second, third}


@pytest.mark.requirement("bulk-35.core")
async def test_core_memories_are_forgotten_in_bulk_only_with_force(agents: Agents, raw: RawStore) -> None:
    me = await agents()
    core = [*await fill(me, 2, category="core"), *await fill(me, 1, category="core", scope="private")]
    [recent] = await fill(me, 1)
    answer = await me.call("forget-bulk", memoryIds=[*core, recent])
    assert (answer["deleted"], answer["failed"]) == (1, 3)
    assert [(error["memoryId"], error["code"]) for error in answer["errors"]] == [(i, "CORE_PROTECTED") for i in core]
    assert all("force=true" in error["error"] for error in answer["errors"])
    assert set(await stored(raw)) == set(core)
    answer = await me.call("forget-bulk", memoryIds=core, force=True)
    assert (answer["deleted"], answer["failed"], answer["errors"]) == (3, 0, [])
    assert await stored(raw) == {}


# --- many, over all buckets -------------------------------------------------------------------------------------------


@pytest.mark.requirement("store-49.routing", "scenario-23")
async def test_two_thousand_are_stored_listed_filtered_exported_and_forgotten(agents: Agents, raw: RawStore) -> None:
    me = await agents()
    places = [("private", "longterm"), ("personal", "longterm"), ("team", "decisions"), ("public", "learnings")]
    ids: list[str] = []
    for start in (0, 1_000):
        memories = [
            {
                "content": f"memory {n} of a large set",
                "scope": places[n % 4][0],
                "category": places[n % 4][1],
                "metadata": {"tags": [f"n{n % 10}"], "priority": n % 3 + 1},
            }
            for n in range(start, start + 1_000)
        ]
        answer = await me.call("remember-bulk", memories=memories)
        assert (answer["stored"], answer["failed"]) == (1_000, 0)
        ids += answer["memoryIds"]
    assert len(await raw.records(PROJECT_BUCKET)) == 1_000
    assert len(await raw.records(USER_BUCKET)) == len(await raw.records(GLOBAL_BUCKET)) == 500

    listed: list[str] = []
    cursor: dict[str, str] = {}
    while True:
        page = await me.call("recall-context", limit=200, **cursor)
        assert page["total"] == 2_000
        listed += [record["id"] for scope, _ in places for record in page[scope]]
        if not page["hasMore"]:
            break
        cursor = {"cursor": page["cursor"]}
    assert len(listed) == 2_000
    assert set(listed) == set(ids)

    filtered = await me.call("recall-context", tags=["n3"], minPriority=3, scopes=["team", "public"], limit=200)
    expected = {ids[n] for n in range(2_000) if n % 10 == 3 and n % 3 == 2 and n % 4 in (2, 3)}
    assert {record["id"] for scope in ("team", "public") for record in filtered[scope]} == expected
    assert (await me.call("recall-context", search="memory 1999 "))["total"] == 1
    exported = await me.call("export-memories")
    assert exported["exported"] == 2_000

    for start in (0, 1_000):
        answer = await me.call("forget-bulk", memoryIds=ids[start : start + 1_000])
        assert (answer["deleted"], answer["failed"]) == (1_000, 0)
    assert (await me.call("recall-context"))["total"] == 0
    assert await raw.everywhere() == {}
