"""Acceptance checks 12-25: which memories are recalled, in which order, and how they are summed up."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from loomem.core.times import iso
from pattern.testing import ManualClock
from pattern.testing.agents import Agent, Agents
from tests.stories.conftest import PROJECT_BUCKET, RawStore

SCOPES = ["private", "personal", "team", "public"]
NO_ROWS: dict[str, list[Any]] = {"private": [], "personal": [], "team": [], "public": []}


def contents(recalled: dict[str, Any]) -> list[str]:
    """Return the contents of all rows, in the order of scopes and of the rows in each."""
    return [record["content"] for scope in SCOPES for record in recalled[scope]]


async def found(agent: Agent, **arguments: Any) -> set[str]:
    """Return the contents of what a recall selects."""
    recalled = await agent.call("recall-context", limit=200, **arguments)
    found = set(contents(recalled))
    assert recalled["total"] == len(found)
    return found


# --- nothing, and how much --------------------------------------------------------------------------------------------


@pytest.mark.requirement("recall-12")
async def test_nothing_stored_is_nothing_recalled(agents: Agents) -> None:
    me = await agents()
    recalled = await me.call("recall-context")
    assert {**recalled, "position": ""} == {
        **NO_ROWS,
        "summary": "",
        "counts": {"private": 0, "personal": 0, "team": 0, "public": 0, "expired": 0},
        "total": 0,
        "hasMore": False,
        "position": "",
    }


@pytest.mark.requirement("recall-13")
async def test_the_limit_is_fifty_and_clamped(agents: Agents) -> None:
    me = await agents()
    await me.call("remember-bulk", memories=[{"content": f"memory {n}"} for n in range(300)])
    for arguments, expected in [
        ({}, 50),
        ({"limit": 10}, 10),
        ({"limit": 500}, 200),
        ({"limit": 0}, 1),
        ({"limit": -3}, 1),
    ]:
        recalled = await me.call("recall-context", **arguments)
        assert len(recalled["private"]) == expected, arguments
        assert recalled["counts"]["private"] == expected
        assert (recalled["total"], recalled["hasMore"]) == (300, True)


# --- order ------------------------------------------------------------------------------------------------------------


@pytest.mark.requirement("recall-14")
async def test_order_is_by_rank_and_then_by_the_newest_update(agents: Agents, manual_clock: ManualClock) -> None:
    me = await agents(clock=manual_clock)
    categories = ["tasks", "recent", "learnings", "decisions", "longterm", "core"]
    first: dict[str, dict[str, Any]] = {}
    for round_ in (1, 2, 3):
        for category in categories:
            answer = await me.call(
                "remember", content=f"{category} {round_}", category=category, scope=scope_of(category)
            )
            first.setdefault(category, answer)
            manual_clock.advance(1)
    for category in ("tasks", "longterm"):
        answer = first[category]
        await me.call(
            "update-memory", memoryId=answer["memoryId"], expectedRevision=answer["revision"], content=f"{category} 1!"
        )
        manual_clock.advance(1)

    recalled = await me.call("recall-context")
    assert [record["content"] for record in recalled["private"]] == [
        *("longterm 1!", "longterm 3", "longterm 2"),
        *("recent 3", "recent 2", "recent 1"),
        *("tasks 1!", "tasks 3", "tasks 2"),
    ]
    assert [record["content"] for record in recalled["personal"]] == ["core 3", "core 2", "core 1"]
    assert [record["content"] for record in recalled["team"]] == [
        *("decisions 3", "learnings 3", "decisions 2", "learnings 2", "decisions 1", "learnings 1")
    ]
    assert recalled["summary"] == "\n\n".join(
        f"## {text.split()[0]}\n{text}"
        for text in [
            *("core 3", "core 2", "core 1"),
            *("longterm 1!", "longterm 3", "longterm 2"),
            *("decisions 3", "learnings 3", "decisions 2", "learnings 2", "decisions 1", "learnings 1"),
            *("recent 3", "recent 2", "recent 1"),
            *("tasks 1!", "tasks 3", "tasks 2"),
        ]
    )
    # The limit cuts the merged list, not each scope.
    top = await me.call("recall-context", limit=4)
    assert {scope: [record["content"] for record in top[scope]] for scope in SCOPES} == {
        **NO_ROWS,
        "personal": ["core 3", "core 2", "core 1"],
        "private": ["longterm 1!"],
    }
    assert top["counts"] == {"private": 1, "personal": 3, "team": 0, "public": 0, "expired": 0}


def scope_of(category: str) -> str | None:
    return "personal" if category == "core" else None


@pytest.mark.requirement("recall-15")
async def test_core_memories_are_recalled(agents: Agents) -> None:
    me = await agents()
    answer = await me.call("core-memory", content="prefers plain words")
    recalled = await me.call("recall-context")
    assert recalled["counts"] == {"private": 0, "personal": 1, "team": 0, "public": 0, "expired": 0}
    [record] = recalled["personal"]
    assert (record["id"], record["category"]) == (answer["memoryId"], "core")
    assert record["revision"] == answer["revision"]
    assert contents(recalled) == ["prefers plain words"]


# --- expired ----------------------------------------------------------------------------------------------------------


@pytest.mark.requirement("recall-16")
async def test_expired_memories_are_counted_and_hidden(agents: Agents, manual_clock: ManualClock) -> None:
    me = await agents(clock=manual_clock)
    await me.call("remember-task", content="a task")
    await me.call("remember", content="personal and recent", scope="personal")
    await me.call("remember", content="a decision with an end", category="decisions", ttlSeconds=60)
    await me.call("remember", content="it lasts", category="longterm")
    manual_clock.advance(86_401)

    recalled = await me.call("recall-context")
    assert contents(recalled) == ["it lasts"]
    assert recalled["counts"] == {"private": 1, "personal": 0, "team": 0, "public": 0, "expired": 3}
    assert (recalled["total"], recalled["summary"]) == (1, "## longterm\nit lasts")

    cases: list[tuple[dict[str, Any], int]] = [
        ({"categories": ["core"]}, 3),
        ({"search": "nothing like it"}, 3),
        ({"tags": ["none"]}, 3),
        ({"scopes": ["private"]}, 1),
        ({"scopes": ["team", "personal"]}, 2),
        ({"scopes": ["public"]}, 0),
        ({"scopes": []}, 0),
    ]
    for arguments, expired in cases:
        filtered = await me.call("recall-context", **arguments)
        assert filtered["counts"]["expired"] == expired, arguments
    everything = await me.call("recall-context", includeExpired=True)
    assert everything["total"] == 4
    assert everything["counts"]["expired"] == 3


# --- tags and priority ------------------------------------------------------------------------------------------------


@pytest.mark.requirement("recall-17.all", "recall-17.case")
async def test_tags_must_all_be_there_exactly(agents: Agents) -> None:
    me = await agents()
    tagged: list[tuple[str, dict[str, list[str]]]] = [
        ("both", {"tags": ["api", "docs"]}),
        ("three", {"tags": ["docs", "more", "api"]}),
        ("api alone", {"tags": ["api"]}),
        ("upper case", {"tags": ["API", "docs"]}),
        ("longer", {"tags": ["apis", "docs"]}),
        ("empty", {"tags": []}),
    ]
    for content, metadata in tagged:
        await me.call("remember", content=content, metadata=metadata)
    await me.call("remember", content="none")
    everything = {"both", "three", "api alone", "upper case", "longer", "empty", "none"}
    assert await found(me) == everything
    assert await found(me, tags=[]) == everything
    assert await found(me, tags=["api", "docs"]) == {"both", "three"}
    assert await found(me, tags=["docs", "api"]) == {"both", "three"}
    assert await found(me, tags=["api"]) == {"both", "three", "api alone"}
    assert await found(me, tags=["API"]) == {"upper case"}
    assert await found(me, tags=["Docs"]) == set()


@pytest.mark.requirement("recall-18.min", "recall-18.max", "recall-18.range")
async def test_priority_bounds_are_inclusive_and_unset_counts_as_two(agents: Agents) -> None:
    me = await agents()
    for priority in (1, 2, 3):
        await me.call("remember", content=f"{priority}", metadata={"priority": priority})
    await me.call("remember", content="unset")
    assert await found(me, minPriority=2) == {"2", "3", "unset"}
    assert await found(me, maxPriority=1) == {"1"}
    assert await found(me, minPriority=2, maxPriority=2) == {"2", "unset"}
    assert await found(me, minPriority=3, maxPriority=1) == set()
    assert await found(me, minPriority=1, maxPriority=3) == {"1", "2", "3", "unset"}
    for bad in (0, 4, "high"):
        assert (await me.refused("recall-context", minPriority=bad)).code == "VALIDATION_ERROR"
        assert (await me.refused("recall-context", maxPriority=bad)).details == {"field": "maxPriority"}


# --- times ------------------------------------------------------------------------------------------------------------


@pytest.mark.requirement("recall-19.since", "recall-19.bounds")
async def test_since_excludes_its_moment_and_the_other_bounds_include_theirs(
    agents: Agents, manual_clock: ManualClock
) -> None:
    me = await agents(clock=manual_clock)
    made = manual_clock.now()
    answer = await me.call("remember", content="x", category="longterm")
    changed = manual_clock.advance(60)
    await me.call("update-memory", memoryId=answer["memoryId"], expectedRevision=answer["revision"], content="changed")
    instant = timedelta(milliseconds=1)
    for field, moment, inside, outside in [
        ("since", changed, -instant, timedelta()),
        ("createdAfter", made, timedelta(), instant),
        ("createdBefore", made, timedelta(), -instant),
        ("updatedAfter", changed, timedelta(), instant),
        ("updatedBefore", changed, timedelta(), -instant),
    ]:
        assert await found(me, **{field: iso(moment + inside)}) == {"changed"}, field
        assert await found(me, **{field: iso(moment + outside)}) == set(), field
    assert await found(me, since="2026-01-02") == {"changed"}
    assert await found(me, since="2026-01-02T04:05:04.999+01:00") == {"changed"}
    assert await found(me, since="2026-01-02T04:05:05+01:00") == set()


@pytest.mark.requirement("recall-19.garbage")
async def test_a_date_that_cannot_be_read_is_refused(agents: Agents) -> None:
    me = await agents()
    await me.call("remember", content="x")
    for field in ("since", "createdAfter", "createdBefore", "updatedAfter", "updatedBefore"):
        for garbage in ("yesterday", "2026-02-30", "", 5):
            failure = await me.refused("recall-context", **{field: garbage})
            assert failure.code == "VALIDATION_ERROR", (field, garbage)
            assert failure.details == {"field": field}
            assert field in failure.message


# --- words ------------------------------------------------------------------------------------------------------------


@pytest.mark.requirement("recall-20.case", "recall-20.literal")
async def test_search_finds_parts_of_words_in_any_case_and_takes_them_literally(agents: Agents) -> None:
    me = await agents()
    texts = {"a rest api", "REST is rest", "Restaurants", "50% (or so) [a-z]* ^end$", "Straße", "nothing"}
    for text in texts:
        await me.call("remember", content=text, metadata={"tags": ["REST"], "source": "rest"})
    assert await found(me, search="REST") == {"a rest api", "REST is rest", "Restaurants"}
    assert await found(me, search="staur") == {"Restaurants"}
    assert await found(me, search="REST IS") == {"REST is rest"}
    assert await found(me, search="STRASSE") == {"Straße"}
    assert await found(me, search="") == texts
    for literal in ("[a-z]*", "^end$", "(or so)", "50%"):
        assert await found(me, search=literal) == {"50% (or so) [a-z]* ^end$"}, literal
    for pattern in (".*", "res.", "^a", "rest|nothing", "%"):
        assert await found(me, search=pattern) == ({"50% (or so) [a-z]* ^end$"} if pattern == "%" else set()), pattern


# --- all together -----------------------------------------------------------------------------------------------------


@pytest.mark.requirement("recall-21")
async def test_all_filters_together_select_the_one_that_passes_each(agents: Agents, manual_clock: ManualClock) -> None:
    me = await agents(clock=manual_clock)
    right = {
        "content": "Use REST for the public interface",
        "scope": "team",
        "category": "decisions",
        "metadata": {"tags": ["api", "docs"], "priority": 1},
    }
    near_misses = [
        {**right, "content": "Use gRPC for the public interface"},
        {**right, "scope": "public"},
        {**right, "category": "learnings"},
        {**right, "metadata": {"tags": ["api"], "priority": 1}},
        {**right, "metadata": {"tags": ["api", "docs"], "priority": 3}},
        {**right, "metadata": {"tags": ["api", "docs"]}},
        {**right, "scope": "private", "category": "longterm"},
    ]
    await me.call("remember", **{**right, "content": "too early: REST"})
    manual_clock.advance(10)
    start = iso(manual_clock.now())
    await me.call("remember-bulk", memories=near_misses)
    answer = await me.call("remember", **right)
    end = iso(manual_clock.now())
    manual_clock.advance(10)
    await me.call("remember", **{**right, "content": "too late: REST"})

    recalled = await me.call(
        "recall-context",
        scopes=["team", "private"],
        categories=["decisions", "recent"],
        tags=["docs", "api"],
        tagsAny=["api", "none"],
        minPriority=1,
        maxPriority=1,
        search="rest",
        since="2026-01-02T03:04:05.000Z",
        createdAfter=start,
        createdBefore=end,
        updatedAfter=start,
        updatedBefore=end,
        limit=10,
    )
    assert recalled["total"] == 1
    assert [record["id"] for record in recalled["team"]] == [answer["memoryId"]]
    assert recalled["counts"] == {"private": 0, "personal": 0, "team": 1, "public": 0, "expired": 0}


@pytest.mark.requirement("recall-22.scopes", "recall-22.legacy")
async def test_scopes_choose_where_to_look(agents: Agents) -> None:
    me = await agents()
    for scope, category in [
        ("private", "longterm"),
        ("personal", "core"),
        ("team", "decisions"),
        ("public", "learnings"),
    ]:
        await me.call("remember", content=scope, scope=scope, category=category)
    cases: list[tuple[dict[str, Any], set[str]]] = [
        ({"scopes": ["team"]}, {"team"}),
        ({"scopes": ["private", "public"]}, {"private", "public"}),
        ({"scopes": []}, set()),
        ({"scopes": ["shared"]}, {"team"}),
        ({"scopes": ["both"]}, set(SCOPES)),
        ({"scope": "shared"}, {"team"}),
        ({"scope": "private"}, {"private"}),
        ({"scope": "both"}, set(SCOPES)),
        ({"scope": "private", "scopes": ["team"]}, {"team"}),
        ({}, set(SCOPES)),
    ]
    for arguments, scopes in cases:
        recalled = await me.call("recall-context", **arguments)
        rows = {scope: [record["content"] for record in recalled[scope]] for scope in SCOPES}
        assert rows == {scope: [scope] if scope in scopes else [] for scope in SCOPES}, arguments
    failure = await me.refused("recall-context", scopes=["banana"])
    assert failure.code == "VALIDATION_ERROR"
    assert failure.details == {"field": "scopes", "allowed": SCOPES}


# --- the summary ------------------------------------------------------------------------------------------------------


@pytest.mark.requirement("recall-23.cut")
async def test_a_long_memory_is_cut_in_the_summary(agents: Agents) -> None:
    me = await agents()
    text = "".join(f"{n:05} " for n in range(900))[:5_000]
    await me.call("remember", content=text)
    summary: str = (await me.call("recall-context"))["summary"]
    assert len(summary.encode()) <= 4_096
    assert summary.startswith("## recent\n00000 00001 ")
    assert summary.endswith("...")
    shown = summary.removeprefix("## recent\n").removesuffix("...")
    assert text.startswith(shown)
    assert len(shown) > 4_000


@pytest.mark.requirement("recall-23.order")
async def test_short_memories_stand_in_the_summary_in_order(agents: Agents, manual_clock: ManualClock) -> None:
    me = await agents(clock=manual_clock)
    await me.call("remember-task", content="the task")
    manual_clock.advance(1)
    await me.call("remember", content="the insight", category="longterm")
    assert (await me.call("recall-context"))["summary"] == "## longterm\nthe insight\n\n## tasks\nthe task"


@pytest.mark.requirement("recall-24")
async def test_the_cut_splits_no_character(agents: Agents) -> None:
    me = await agents()
    for text in ("🧠" * 2_000, "a" + "🧠" * 2_000, "👩‍👩‍👧‍👦" * 400):
        answer = await me.call("remember-task", content=text)
        summary: str = (await me.call("recall-context", limit=1))["summary"]
        assert len(summary.encode("utf-8", "strict")) <= 4_096
        body = summary.removeprefix("## tasks\n").removesuffix("...")
        assert text.startswith(body)
        assert len(body.encode()) > 3_900
        assert body[-1] in "🧠👦"
        await me.call("forget", memoryId=answer["memoryId"])


# --- what older writers left ------------------------------------------------------------------------------------------


@pytest.mark.requirement("recall-25")
async def test_a_record_of_the_older_scope_shared_is_a_team_memory(agents: Agents, raw: RawStore) -> None:
    me = await agents()
    await me.call("recall-context")
    ident = "3f0c2a9e-6a52-4c1d-9d57-0e2b7c6a1f10"
    record = {
        "id": ident,
        "agentId": "agent-b",
        "projectId": "project-p",
        "scope": "shared",
        "category": "decisions",
        "content": "from before there were four",
        "createdAt": "2026-01-02T03:00:00.000Z",
        "updatedAt": "2026-01-02T03:00:00.000Z",
        "version": 1,
    }
    revision = await raw.put(PROJECT_BUCKET, f"shared.agent-b.m.{ident}", record)
    recalled = await me.call("recall-context", atLeast=f"{PROJECT_BUCKET}@{revision}")
    assert recalled["team"] == [{**record, "scope": "team", "revision": revision}]
    assert recalled["counts"]["team"] == 1
    assert (await me.call("recall-context", scope="shared"))["total"] == 1
