"""What the reference does not have: fetching, updating, lives of one's own, pages, relations, and views of one's own."""

from __future__ import annotations

import asyncio
import json
import random
import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from pattern.testing import ManualClock, NatsAccount
from pattern.testing.agents import Agent, Agents
from tests.stories.conftest import PROJECT_BUCKET, USER_BUCKET, RawStore
from tests.stories.wire import wire_to

NOBODY = "3f0c2a9e-6a52-4c1d-9d57-0e2b7c6a1f10"
SCOPES = ["private", "personal", "team", "public"]
GRACE_S = 86_400


async def remember(agent: Agent, content: str = "something", **arguments: Any) -> str:
    """Store a memory; returns its id."""
    return (await agent.call("remember", content=content, **arguments))["memoryId"]


async def get(agent: Agent, ident: str) -> dict[str, Any]:
    return (await agent.call("get-memory", memoryId=ident))["memory"]


def rows(recalled: dict[str, Any]) -> list[dict[str, Any]]:
    return [record for scope in SCOPES for record in recalled[scope]]


async def everything(agent: Agent, **arguments: Any) -> dict[str, dict[str, Any]]:
    """Return all that an agent recalls, page by page, by id."""
    found: dict[str, dict[str, Any]] = {}
    page = await agent.call("recall-context", limit=200, **arguments)
    while True:
        found |= {record["id"]: record for record in rows(page)}
        if "cursor" not in page:
            return found
        page = await agent.call("recall-context", limit=200, cursor=page["cursor"], **arguments)


# --- one memory by its id ---------------------------------------------------------------------------------------------


@pytest.mark.requirement("deliver-5.get", "deliver-5.structured")
async def test_a_memory_is_fetched_by_its_id(agents: Agents, raw: RawStore, manual_clock: ManualClock) -> None:
    me, other = await agents(clock=manual_clock), await agents("agent-b", user="user-v", clock=manual_clock)
    helper = await agents(subagent="explore", clock=manual_clock)
    private, core = await remember(me, metadata={"tags": ["t"]}), await remember(me, category="core")
    team = await remember(me, category="decisions")
    answer = await me.call("get-memory", memoryId=private)
    stored = (await raw.records(PROJECT_BUCKET))[f"agents.agent-a.m.{private}"]
    assert answer["memory"] == {**stored, "revision": 1}
    assert f"{PROJECT_BUCKET}@2" in answer["position"].split(",")
    result = await me.client.call_tool("get-memory", {"memoryId": private})
    assert json.loads(getattr(result.content[0], "text", "")) == answer

    assert (await get(helper, private))["agentId"] == "agent-a"
    assert (await get(other, team))["category"] == "decisions"
    for agent, ident in [(other, private), (other, core), (helper, core), (me, NOBODY)]:
        failure = await agent.refused("get-memory", memoryId=ident)
        assert failure.code == "MEMORY_NOT_FOUND"
        assert failure.message == "No memory with this id is visible to you"
        assert failure.details == {"memoryId": ident}
    for bad in ("", "nope", "a.*"):
        assert (await me.refused("get-memory", memoryId=bad)).code == "VALIDATION_ERROR"
    manual_clock.advance(86_401)
    assert (await me.refused("get-memory", memoryId=private)).code == "MEMORY_NOT_FOUND"


# --- updating ---------------------------------------------------------------------------------------------------------


@pytest.mark.requirement("deliver-5.update", "deliver-3.ttl")
async def test_an_update_changes_what_it_names_and_keeps_the_rest(
    agents: Agents, raw: RawStore, manual_clock: ManualClock
) -> None:
    me = await agents(clock=manual_clock)
    ident = await remember(me, "first", metadata={"tags": ["t"], "own": 1})
    before = await get(me, ident)
    key = f"agents.agent-a.m.{ident}"
    manual_clock.advance(3_600)
    answer = await me.call("update-memory", memoryId=ident, expectedRevision=1, content="second")
    assert answer == {
        "memoryId": ident,
        "scope": "private",
        "category": "recent",
        "updatedAt": "2026-01-02T04:04:05.000Z",
        "expiresAt": before["expiresAt"],
        "revision": 2,
        "position": f"{PROJECT_BUCKET}@2",
    }
    after = {**before, "content": "second", "updatedAt": "2026-01-02T04:04:05.000Z", "revision": 2}
    assert await get(me, ident) == after
    # The server erases what was edited when it would have erased the original, not later and not never.
    assert (await raw.headers(PROJECT_BUCKET, key))["Nats-TTL"] == f"{23 * 3_600 + GRACE_S}s"

    steps: list[tuple[dict[str, Any], dict[str, Any]]] = [
        ({"metadata": {"priority": 1}}, {"metadata": {"priority": 1}}),
        ({"ttlSeconds": 60}, {"expiresAt": "2026-01-02T04:05:05.000Z"}),
        ({"metadata": {}}, {"metadata": None}),
        ({"category": "longterm"}, {"category": "longterm", "expiresAt": None}),
        ({"category": "tasks", "content": "third"}, {"category": "tasks", "expiresAt": "2026-01-03T04:04:05.000Z"}),
        ({"category": "core"}, {"category": "core", "expiresAt": None}),
    ]
    for change, expected in steps:
        revision = (await get(me, ident))["revision"]
        await me.call("update-memory", memoryId=ident, expectedRevision=revision, **change)
        record = await get(me, ident)
        assert {name: record.get(name) for name in expected} == expected, change
        assert record["createdAt"] == before["createdAt"]
    assert (await get(me, ident))["content"] == "third"
    assert set(await raw.everywhere()) == {f"core.agent-a.m.{ident}"}


@pytest.mark.requirement("deliver-5.update")
async def test_who_was_slower_is_told_what_there_is_now(agents: Agents) -> None:
    me = await agents()
    again = await agents()
    ident = await remember(me, "first", category="decisions")
    await me.call("update-memory", memoryId=ident, expectedRevision=1, content="mine")
    failure = await again.refused("update-memory", memoryId=ident, expectedRevision=1, content="lost")
    assert failure.code == "CONFLICT"
    current = await get(me, ident)
    revision = current.pop("revision")
    assert failure.details == {
        "memoryId": ident,
        "expectedRevision": 1,
        "currentRevision": revision,
        "current": current,
    }
    assert current["content"] == "mine"
    await again.call("update-memory", memoryId=ident, expectedRevision=revision, content="seen and settled")
    assert (await get(me, ident))["content"] in ("mine", "seen and settled")
    recalled = await me.call("recall-context", atLeast=(await again.call("recall-context"))["position"])
    assert [record["content"] for record in recalled["team"]] == ["seen and settled"]


@pytest.mark.requirement("deliver-5.update")
async def test_what_cannot_be_updated(agents: Agents, raw: RawStore) -> None:
    me, other = await agents(), await agents("agent-b", user="user-v")
    helper = await agents(subagent="explore")
    mine, core, team = await remember(me), await remember(me, category="core"), await remember(me, category="learnings")
    revisions = {ident: (await get(me, ident))["revision"] for ident in (mine, core, team)}
    before = await raw.everywhere()

    async def refused(agent: Agent, ident: str, **change: Any) -> tuple[str, str | None]:
        arguments = {"memoryId": ident, "expectedRevision": revisions.get(ident, 1), **change}
        failure = await agent.refused("update-memory", **arguments)
        return failure.code, failure.details.get("field")

    invalid = "VALIDATION_ERROR"
    assert await refused(other, team, content="x") == ("ACCESS_DENIED", None)
    assert await refused(helper, team, content="x") == ("ACCESS_DENIED", None)
    assert await refused(other, mine, content="x") == ("MEMORY_NOT_FOUND", None)
    assert await refused(helper, mine, content="x") == ("MEMORY_NOT_FOUND", None)
    assert await refused(helper, core, content="x") == ("MEMORY_NOT_FOUND", None)
    assert await refused(me, NOBODY, content="x") == ("MEMORY_NOT_FOUND", None)
    assert await refused(me, mine) == (invalid, "content")
    assert await refused(me, mine, content=" ") == (invalid, "content")
    assert await refused(me, mine, content="x" * 32_769) == (invalid, "content")
    assert await refused(me, mine, metadata={"priority": 7}) == (invalid, "metadata.priority")
    assert await refused(me, mine, ttlSeconds=0) == (invalid, "ttlSeconds")
    assert await refused(me, mine, content="x", expectedRevision=0) == (invalid, "expectedRevision")
    assert await refused(me, mine, content="x", expectedRevision="1") == (invalid, "expectedRevision")
    assert await refused(me, mine, content="x", expectedRevision=None) == (invalid, "expectedRevision")
    assert await refused(me, mine, category="decisions") == ("INVALID_CATEGORY", "category")
    assert await refused(me, team, category="recent") == ("INVALID_CATEGORY", "category")
    assert await refused(me, core, category="longterm") == ("CORE_PROTECTED", None)
    assert await refused(me, core, ttlSeconds=60) == (invalid, "ttlSeconds")
    assert await raw.everywhere() == before


# --- a life of its own ------------------------------------------------------------------------------------------------


@pytest.mark.requirement("deliver-5.ttl", "deliver-6.expiry")
async def test_a_memory_lives_as_long_as_was_asked_for(
    agents: Agents, raw: RawStore, manual_clock: ManualClock
) -> None:
    me = await agents(clock=manual_clock)
    other = await agents("agent-b", clock=manual_clock)
    answer = await me.call("remember", content="short", category="decisions", ttlSeconds=60)
    assert answer["expiresAt"] == "2026-01-02T03:05:05.000Z"
    ident = answer["memoryId"]
    headers = await raw.headers(PROJECT_BUCKET, f"shared.agent-a.m.{ident}")
    assert headers["Nats-TTL"] == f"{60 + GRACE_S}s"
    await other.call("get-memory", memoryId=ident, atLeast=answer["position"])
    before = await raw.everywhere()

    manual_clock.advance(60)  # its last moment
    for agent in (me, other):
        assert set(await everything(agent)) == {ident}
    manual_clock.advance(0.001)
    for agent in (me, other):
        recalled = await agent.call("recall-context")
        assert (recalled["total"], recalled["counts"]["expired"]) == (0, 1)
        assert (await agent.refused("get-memory", memoryId=ident)).code == "MEMORY_NOT_FOUND"
    assert await raw.everywhere() == before

    bulk = await me.call("remember-bulk", memories=[{"content": "x", "category": "longterm", "ttlSeconds": 5}])
    assert (await get(me, bulk["memoryIds"][0]))["expiresAt"] == "2026-01-02T03:05:10.001Z"
    for bad in (0, -1, 1.5, "60", True, 10**12):
        failure = await me.refused("remember", content="x", ttlSeconds=bad)
        assert (failure.code, failure.details) == ("VALIDATION_ERROR", {"field": "ttlSeconds"}), bad
    assert (await me.refused("remember", content="x", category="core", ttlSeconds=60)).code == "VALIDATION_ERROR"


# --- limits -----------------------------------------------------------------------------------------------------------


@pytest.mark.requirement("deliver-5.limits")
@pytest.mark.parametrize(
    ("scope", "category", "limit"),
    [
        ("private", "longterm", "SPACE"),
        ("team", "decisions", "SPACE"),
        ("public", "learnings", "SPACE"),
        ("personal", "longterm", "PERSONAL"),
    ],
)
async def test_a_full_space_takes_nothing_more_on_any_path(
    agents: Agents, raw: RawStore, tmp_path: Path, scope: str, category: str, limit: str
) -> None:
    me = await agents(env={f"PATTERN_LIMIT_{limit}": "3"})
    item = {"content": "fits", "scope": scope, "category": category}
    first = await me.call("remember", **item)
    await me.call("export-memories", outputPath="one.json")
    filling = await me.call("remember-bulk", memories=[item] * 3)
    assert (filling["stored"], filling["failed"]) == (2, 1)
    assert [(error["index"], error["code"]) for error in filling["errors"]] == [(2, "STORAGE_FULL")]
    full = {"currentCount": 3, "maxCount": 3, "scope": scope}

    refusals = {"remember": item, "remember-bulk": {"memories": [item], "atomic": True}}
    if scope == "private":
        refusals |= {"remember-task": {"content": "x"}, "remember-learning": {"content": "x"}}
    elsewhere = "personal" if scope == "private" else "private"
    source = {"content": "on its way", "scope": elsewhere}
    if scope == "personal":
        refusals |= {"core-memory": {"content": "x"}}
    if scope in ("private", "personal"):
        ident = await remember(me, "on its way", scope=elsewhere)
        refusals |= {"commit-insight": {"memoryId": ident, "targetScope": scope}}
    if scope == "team":
        lasting = await remember(me, "on its way", category="longterm")
        refusals |= {"share-learning": {"memoryId": lasting}}
    before = await raw.everywhere()
    for tool, arguments in refusals.items():
        failure = await me.refused(tool, **arguments)
        assert (failure.code, failure.details) == ("STORAGE_FULL", full), (tool, source)
        assert "3 of 3 memories of your own in scope" in failure.message

    envelope = json.loads((tmp_path / "one.json").read_text())
    stranger = {**envelope["memories"][0], "id": NOBODY}
    (tmp_path / "more.json").write_text(json.dumps({**envelope, "memories": [stranger]}))
    imported = await me.call("import-memories", inputPath="more.json")
    assert (imported["imported"], imported["skipped"]) == (0, 1)
    assert "3 of 3 memories of your own" in imported["errors"][0]
    assert await raw.everywhere() == before

    other = await agents("agent-b", user="user-v", env={f"PATTERN_LIMIT_{limit}": "3"})
    await other.call("remember", **item)  # a limit is each owner's
    await me.call("forget", memoryId=first["memoryId"])
    await me.call("remember", **item)


# --- pages ------------------------------------------------------------------------------------------------------------


@pytest.mark.requirement("deliver-5.pages")
async def test_pages_show_every_memory_once_whatever_is_written_meanwhile(agents: Agents) -> None:
    me = await agents()
    places = [("private", "recent"), ("personal", "core"), ("team", "decisions"), ("public", "learnings")]
    items = [
        {"content": f"{n}", "scope": places[n % 4][0], "category": places[n % 4][1], "metadata": {"tags": ["all"]}}
        for n in range(25)
    ]
    ids = (await me.call("remember-bulk", memories=items))["memoryIds"]
    whole = await me.call("recall-context", tags=["all"])
    assert "cursor" not in whole
    seen: list[str] = []
    shapes: list[tuple[int, int, bool, bool]] = []
    cursor: dict[str, str] = {}
    while True:
        page = await me.call("recall-context", limit=10, tags=["all"], **cursor)
        seen += [record["id"] for record in rows(page)]
        shapes.append((len(rows(page)), page["total"], page["hasMore"], "cursor" in page))
        if not page["hasMore"]:
            break
        cursor = {"cursor": page["cursor"]}
        if len(seen) == 10:  # what is forgotten was shown, what is new sorts before what was shown
            await me.call("forget", memoryId=seen[0], force=True)
            await me.call("remember", content="new", category="core", metadata={"tags": ["all"]})
    assert shapes == [(10, 25, True, True), (10, 25, True, True), (5, 25, False, False)]
    assert sorted(seen) == sorted(ids)

    for bad, complaint in [
        ({"cursor": "garbage"}, "unchanged"),
        ({"cursor": cursor["cursor"]}, "another question"),
        ({"cursor": cursor["cursor"], "tags": ["all"], "search": "1"}, "another question"),
        ({"cursor": 5}, "must be a string"),
    ]:
        failure = await me.refused("recall-context", **bad)
        assert (failure.code, failure.details) == ("VALIDATION_ERROR", {"field": "cursor"})
        assert complaint in failure.message


# --- more filters -----------------------------------------------------------------------------------------------------


@pytest.mark.requirement("deliver-5.any")
async def test_one_of_several_tags_is_enough(agents: Agents) -> None:
    me = await agents()
    for content, tags in [("a", ["a"]), ("b", ["b"]), ("ab", ["a", "b"]), ("c", ["c"]), ("upper", ["A"])]:
        await remember(me, content, metadata={"tags": tags})
    await remember(me, "none")

    async def found(**arguments: Any) -> set[str]:
        return {record["content"] for record in (await everything(me, **arguments)).values()}

    assert await found(tagsAny=["a", "b"]) == {"a", "b", "ab"}
    assert await found(tagsAny=["a", "nobody"]) == {"a", "ab"}
    assert await found(tagsAny=[]) == {"a", "b", "ab", "c", "upper", "none"}
    assert await found(tagsAny=["a", "c"], tags=["b"]) == {"ab"}


@pytest.mark.requirement("deliver-5.related")
async def test_relations_are_followed_both_ways_to_a_depth(agents: Agents) -> None:
    me = await agents()
    start = await remember(me, "start")
    one = await remember(me, "one", category="decisions", metadata={"relatedTo": [start]})
    two = await remember(me, "two", scope="personal", metadata={"relatedTo": [one]})
    three = await remember(me, "three", metadata={"relatedTo": [two]})
    await remember(me, "loop", metadata={"relatedTo": [start, three]})
    await remember(me, "alone")

    async def distances(**arguments: Any) -> dict[str, int]:
        found = (await everything(me, **arguments)).values()
        return {record["content"]: record["distance"] for record in found}

    assert await distances(relatedTo=start) == {"one": 1, "loop": 1}
    assert await distances(relatedTo=start, depth=2) == {"one": 1, "loop": 1, "two": 2, "three": 2}
    assert await distances(relatedTo=three, depth=1) == {"two": 1, "loop": 1}
    # A filter chooses among what is related; the way there may lead through what it leaves out.
    assert await distances(relatedTo=start, depth=2, scopes=["personal"]) == {"two": 2}
    assert await distances(relatedTo=start, depth=5, search="t") == {"two": 2, "three": 2}
    for bad in (0, 6, 1.5):
        failure = await me.refused("recall-context", relatedTo=start, depth=bad)
        assert (failure.code, failure.details) == ("VALIDATION_ERROR", {"field": "depth"})


@pytest.mark.requirement("deliver-5.related")
async def test_relations_lead_through_visible_memories_alone(agents: Agents, manual_clock: ManualClock) -> None:
    me, other = await agents(clock=manual_clock), await agents("agent-b", clock=manual_clock)
    end = await remember(me, "end", category="learnings")
    hidden = await remember(other, "hidden", metadata={"relatedTo": [end]})
    fleeting = await remember(me, "fleeting", metadata={"relatedTo": [end]}, ttlSeconds=60)
    gone = await remember(me, "gone", metadata={"relatedTo": [end]})
    start = await remember(me, "start", category="longterm", metadata={"relatedTo": [hidden, fleeting, gone, NOBODY]})
    await remember(me, "also names them", category="longterm", metadata={"relatedTo": [hidden, NOBODY]})
    assert {r["content"] for r in (await everything(me, relatedTo=start, depth=5)).values()} >= {"fleeting", "gone"}
    await me.call("forget", memoryId=gone)
    manual_clock.advance(61)
    assert await everything(me, relatedTo=start, depth=5) == {}
    assert await everything(me, relatedTo=end, depth=5) == {}
    shown = await everything(other, relatedTo=end)
    assert [record["content"] for record in shown.values()] == ["hidden"]


# --- views of one's own -----------------------------------------------------------------------------------------------


@pytest.mark.requirement("deliver-6.fold", "lesson-3.5.gone")
async def test_every_view_is_the_fold_of_the_buckets(agents: Agents, raw: RawStore) -> None:
    """After whatever two agents did, what each recalls is what the buckets hold for it, and so is what a new one recalls."""
    chance = random.Random(7)
    pair = [await agents("agent-a"), await agents("agent-b", user="user-v")]
    mine: list[list[str]] = [[], []]
    done = Counter[str]()
    for step in range(150):
        who = chance.randrange(2)
        agent, ids = pair[who], mine[who]
        verb = chance.choice(["remember", "remember", "remember", "forget", "commit", "share", "update"])
        if verb == "remember" or not ids:
            category = chance.choice(["recent", "tasks", "longterm", "core", "decisions", "learnings"])
            scope = chance.choice(
                ["team", "public"] if category in ("decisions", "learnings") else ["private", "personal"]
            )
            answer = await agent.call("remember", content=f"step {step}", scope=scope, category=category)
            ids.append(answer["memoryId"])
        else:
            ident = chance.choice(ids)
            tool, arguments = {
                "forget": ("forget", {"force": True}),
                "commit": ("commit-insight", {"targetScope": chance.choice(["private", "personal"])}),
                "share": ("share-learning", {"keepOriginal": chance.choice([True, False])}),
                "update": (
                    "update-memory",
                    {"expectedRevision": (await get(agent, ident))["revision"], "content": f"{step}"},
                ),
            }[verb]
            result = await agent.client.call_tool(tool, {"memoryId": ident, **arguments})
            answer: dict[str, Any] = result.structured_content or {}
            if result.is_error:
                assert answer["code"] in ("VALIDATION_ERROR", "CORE_PROTECTED", "INVALID_CATEGORY", "MEMORY_NOT_FOUND")
                continue
            if verb == "forget" or answer.get("originalDeleted"):
                ids.remove(ident)
            if "teamMemoryId" in answer:
                ids.append(answer["teamMemoryId"])
        done[verb] += 1
    assert min(done[verb] for verb in ("remember", "forget", "commit", "share", "update")) >= 3

    common = [(await agent.call("recall-context", scopes=["team", "public"]))["position"] for agent in pair]
    buckets = {**await raw.everywhere(), **await raw.records("loom-memory-user-user-v")}
    for who, (agent, owner, user) in enumerate(zip(pair, ("agent-a", "agent-b"), ("user-u", "user-v"), strict=True)):
        own_bucket = await raw.records(f"loom-memory-user-{user}")
        folded = {
            record["id"]: record
            for key, record in buckets.items()
            if key.startswith((f"agents.{owner}.", f"core.{owner}.", "shared.")) or own_bucket.get(key) == record
        }
        assert set(mine[who]) <= set(folded)
        fresh = await agents(owner, user=user)
        for view in (agent, fresh):
            await view.call("recall-context", atLeast=",".join(common))
            shown = await everything(view)
            for record in shown.values():
                del record["revision"]
            assert shown == folded


@pytest.mark.requirement("deliver-6.fold")
async def test_recall_asks_the_broker_nothing(agents: Agents, raw: RawStore) -> None:
    me = await agents()
    ident = await remember(me, "mine")
    await everything(me)  # every view is open now
    async with raw.listening() as heard:
        for _ in range(3):
            assert set(await everything(me)) == {ident}
            assert (await get(me, ident))["content"] == "mine"
        await raw.flush()
        # What workers make of memories is followed once these are there, whoever recalls.
        assert [subject for subject in heard if not re.search(r"CONSUMER\.CREATE\..*\.[vgx]\.>$", subject)] == []
        second = await remember(me, "heard")
        await raw.flush()
        assert f"$KV.{PROJECT_BUCKET}.agents.agent-a.m.{second}" in heard


@pytest.mark.requirement("deliver-6.own")
async def test_a_read_sees_every_write_before_it(agents: Agents) -> None:
    me = await agents()
    for n in range(20):
        ident = await remember(me, f"{n}", scope=["private", "personal"][n % 2], category="longterm")
        assert ident in await everything(me)
        revision = (await get(me, ident))["revision"]
        await me.call("update-memory", memoryId=ident, expectedRevision=revision, content=f"{n} changed")
        assert (await get(me, ident))["content"] == f"{n} changed"
        assert (await me.call("recall-context", search=f"{n} changed"))["total"] >= 1
        if n % 3 == 0:
            await me.call("forget", memoryId=ident)
            assert ident not in await everything(me)


@pytest.mark.requirement("deliver-6.own")
@pytest.mark.parametrize("tool", ["recall-context", "get-memory"])
async def test_with_a_position_a_read_waits_for_the_write_of_another_process(
    agents: Agents, nats_account: NatsAccount, tool: str
) -> None:
    me = await agents()
    async with wire_to(nats_account.url) as (wire, url):
        other = await agents("agent-b", env={"NATS_URL": url})
        await other.call("recall-context")
        wire.hold()
        answer = await me.call("remember", content="news", category="decisions")
        assert await everything(other) == {}
        arguments = {"memoryId": answer["memoryId"]} if tool == "get-memory" else {}
        async with asyncio.TaskGroup() as group:
            reading = group.create_task(other.call(tool, atLeast=answer["position"], **arguments))
            await other.call("recall-context")
            assert not reading.done()
            wire.release()
        read = reading.result()
        assert (read["memory"] if tool == "get-memory" else read["team"][0])["content"] == "news"
        await other.close()


@pytest.mark.requirement("deliver-6.own")
async def test_a_position_that_means_nothing_here_is_refused(agents: Agents) -> None:
    me, stranger = await agents(), await agents("agent-b", project="another", user="user-v")
    elsewhere = (await stranger.call("remember", content="x"))["position"]
    for position in ("", "garbage", "a@b", f"{PROJECT_BUCKET}@-1", elsewhere):
        failure = await me.refused("recall-context", atLeast=position)
        assert (failure.code, failure.details) == ("VALIDATION_ERROR", {"field": "atLeast"}), position


@pytest.mark.requirement("deliver-6.resume", "lesson-3.5.reconnect")
async def test_who_was_away_goes_on_from_where_it_was(agents: Agents, nats_account: NatsAccount, raw: RawStore) -> None:
    me = await agents()
    async with wire_to(nats_account.url) as (wire, url):
        away = await agents("agent-b", env={"NATS_URL": url})
        kept, forgotten = (
            await remember(me, "kept", category="decisions"),
            await remember(me, "forgotten", category="learnings"),
        )
        seen = (await me.call("recall-context"))["position"]
        await away.call("recall-context", atLeast=seen)
        assert set(await everything(away)) == {kept, forgotten}
        before = await raw.consumers(PROJECT_BUCKET)

        wire.cut()
        await me.call("forget", memoryId=forgotten)
        new = await me.call("remember", content="new", category="decisions")
        assert (await away.refused("recall-context")).code == "NATS_ERROR"
        wire.mend()
        recalled = await recovered(away, atLeast=new["position"])
        assert {record["id"] for record in recalled["team"]} == {kept, new["memoryId"]}
        assert (await away.refused("get-memory", memoryId=forgotten)).code == "MEMORY_NOT_FOUND"
        # Its feed of team memories did not tell everything again: it goes on after the last change it had seen.
        resumed = [
            consumer
            for name, consumer in (await raw.consumers(PROJECT_BUCKET)).items()
            if name not in before and consumer["filter_subject"] == f"$KV.{PROJECT_BUCKET}.shared.*.m.>"
        ]
        assert [(c["deliver_policy"], c["opt_start_seq"]) for c in resumed] == [("by_start_sequence", 3)]
        await away.close()


async def recovered(agent: Agent, **arguments: Any) -> dict[str, Any]:
    """Return the first recall that the broker answers again; bounded."""
    async with asyncio.timeout(10):
        while True:
            result = await agent.client.call_tool("recall-context", arguments)
            if not result.is_error:
                return result.structured_content or {}


# --- forgotten is forgotten -------------------------------------------------------------------------------------------


@pytest.mark.requirement("lesson-3.5.gone")
async def test_what_is_forgotten_is_gone_in_every_process_at_once(agents: Agents) -> None:
    me = await agents()
    others = [await agents(), await agents("agent-b"), await agents(subagent="explore")]
    ident = await remember(me, "soon gone", category="decisions")
    position = (await me.call("recall-context"))["position"]
    for other in others:
        await other.call("recall-context", atLeast=position)
        assert ident in await everything(other)
    await me.call("forget", memoryId=ident)
    async with asyncio.timeout(1):
        for other in others:
            while ident in await everything(other):
                pass
            assert (await other.refused("get-memory", memoryId=ident)).code == "MEMORY_NOT_FOUND"
    rebuilt = await agents("agent-b")
    assert await everything(rebuilt, includeExpired=True) == {}
    assert (await rebuilt.refused("get-memory", memoryId=ident)).code == "MEMORY_NOT_FOUND"


@pytest.mark.requirement("lesson-3.5.import")
async def test_an_older_export_does_not_bring_back_what_was_forgotten(agents: Agents) -> None:
    me = await agents()
    ids = [await remember(me, "private", category="longterm"), await remember(me, "team", category="decisions")]
    await me.call("export-memories", outputPath="old.json")
    await me.call("forget-bulk", memoryIds=ids)
    again = await agents()  # whose view never held them
    for agent in (me, again):
        imported = await agent.call("import-memories", inputPath="old.json")
        assert (imported["imported"], imported["skipped"]) == (0, 2)
        for ident in ids:
            assert any(ident in error and "was forgotten" in error for error in imported["errors"])
        assert await everything(agent) == {}
    imported = await again.call("import-memories", inputPath="old.json", overwriteExisting=True)
    assert (imported["imported"], imported["skipped"]) == (2, 0)
    assert set(await everything(again)) == set(ids)


# --- the version of a record ------------------------------------------------------------------------------------------


@pytest.mark.requirement("lesson-3.23.version")
async def test_a_record_of_an_unknown_version_is_counted_and_not_guessed_at(agents: Agents, raw: RawStore) -> None:
    me = await agents()
    good = await remember(me, "readable", category="decisions")
    [record] = (await raw.records(PROJECT_BUCKET)).values()
    assert record["version"] == 1

    newer = {**record, "id": NOBODY, "agentId": "agent-b", "version": 2, "content": "from the future"}
    key = f"shared.agent-b.m.{NOBODY}"
    await raw.put(PROJECT_BUCKET, key, newer)
    revision = await raw.put(PROJECT_BUCKET, f"agents.agent-a.m.{NOBODY}", b'{"id": "3f0c')
    recalled = await me.call("recall-context", atLeast=f"{PROJECT_BUCKET}@{revision}")
    assert [row["id"] for row in rows(recalled)] == [good]
    assert (recalled["total"], recalled["corrupt"]) == (1, 2)
    assert (await me.call("recall-context", scopes=["team"]))["corrupt"] == 1
    assert (await me.refused("get-memory", memoryId=NOBODY)).code == "MEMORY_NOT_FOUND"
    health = await me.call("pattern_health")
    assert health["status"] == "degraded"
    assert any("2 records cannot be read" in reason for reason in health["reasons"])
    samples = {sample["key"]: sample["reason"] for sample in health["view"]["corruptSamples"]}
    assert set(samples) == {key, f"agents.agent-a.m.{NOBODY}"}
    assert "version 2" in samples[key]
    assert "future" not in str(health)

    await raw.put(
        PROJECT_BUCKET,
        f"agents.agent-a.m.{NOBODY}",
        {**record, "id": NOBODY, "scope": "private", "category": "longterm"},
    )
    revision = await raw.put(PROJECT_BUCKET, key, {**newer, "version": 1})
    recalled = await me.call("recall-context", atLeast=f"{PROJECT_BUCKET}@{revision}")
    assert "corrupt" not in recalled
    assert recalled["total"] == 3
    assert (await me.call("pattern_health"))["status"] == "healthy"
    assert await raw.records(USER_BUCKET) == {}
