"""Deleting that can be undone: hidden at once and everywhere, kept for a while, never back by itself."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from pattern.testing import ManualClock
from pattern.testing.agents import Agent, Agents
from tests.stories.conftest import PROJECT_BUCKET, USER_BUCKET, RawStore
from tests.stories.shell import Shell
from tests.stories.test_knowledge import UNKNOWN, recalled, record, stored
from tests.stories.told import told

DAY_S = 86_400


async def hidden_from(agent: Agent, ident: str, word: str) -> None:
    """Assert that nothing tells of a memory any more."""
    assert await recalled(agent, search=word, includeSuperseded=True) == []
    assert (await agent.call("memory_search", query=word, include_superseded=True))["rows"] == []
    assert (await agent.refused("get-memory", memoryId=ident)).code == "MEMORY_NOT_FOUND"
    assert (await agent.call("memory_history", chunk_id=ident))["versions"] == []
    assert (await agent.call("memory_status"))["memories"] == 0
    health = await agent.call("pattern_health")
    assert sum(scope["visible"] for scope in health["scopes"].values()) == 0


@pytest.mark.requirement("know-delete.hidden")
async def test_what_is_deleted_is_hidden_everywhere_and_its_content_is_kept(agents: Agents, raw: RawStore) -> None:
    me, again = await agents(), await agents()
    ident = await stored(me, "about walnuts")
    assert await recalled(again) == ["about walnuts"]
    assert await told(me, "memory_delete", chunk_id=ident) == f"Deleted memory {ident}."
    await hidden_from(me, ident, "walnuts")
    async with asyncio.timeout(1):
        while await recalled(again):
            pass
    await hidden_from(again, ident, "walnuts")
    held = await record(raw, ident)
    assert held["content"] == "about walnuts"
    assert held["deletedAt"] > held["createdAt"]


@pytest.mark.requirement("know-delete.ttl")
async def test_the_server_erases_it_when_it_cannot_be_restored_any_more(agents: Agents, raw: RawStore) -> None:
    me = await agents(env={"PATTERN_RETENTION_SOFT_DELETE_DAYS": "2"})
    ident = await stored(me, "about walnuts")
    key = f"personal.user.m.{ident}"
    assert "Nats-TTL" not in await raw.headers(USER_BUCKET, key)
    await me.call("memory_delete", chunk_id=ident)
    assert (await raw.headers(USER_BUCKET, key))["Nats-TTL"].removesuffix("s") in (str(2 * DAY_S), "48h0m0")


@pytest.mark.requirement("know-delete.refused")
async def test_only_its_creator_deletes_and_core_is_protected(agents: Agents) -> None:
    me, mate = await agents("agent-a"), await agents("agent-b")
    theirs = await stored(mate, "of the mate", stream="__project__")
    core = (await me.call("core-memory", content="for ever"))["memoryId"]
    for tool in ("memory_delete",):
        assert (await me.refused(tool, chunk_id=theirs)).code == "ACCESS_DENIED"
        assert (await me.refused(tool, chunk_id=core)).code == "CORE_PROTECTED"
        for unknown in (UNKNOWN, "nonsense"):
            assert await told(me, tool, chunk_id=unknown) == f"Memory {unknown} not found."
    helper = await agents("agent-a", subagent="explore")
    private = await stored(me, "of the parent", stream="__private__")
    assert (await helper.refused("memory_delete", chunk_id=private)).code == "MEMORY_NOT_FOUND"
    gone = await stored(me, "gone")
    await me.call("memory_delete", chunk_id=gone)
    assert await told(me, "memory_delete", chunk_id=gone) == f"Memory {gone} not found."
    assert await recalled(me) == ["for ever", "of the mate", "of the parent"]


@pytest.mark.requirement("know-delete.restore")
async def test_the_command_line_lists_and_restores(agents: Agents, shell: Shell) -> None:
    who = {"LOOMINAL_PROJECT_ID": "project-p", "LOOMINAL_AGENT_ID": "agent-a", "LOOMINAL_USER_ID": "user-u"}
    me = await agents()
    ident = await stored(me, "about walnuts")
    await me.call("memory_delete", chunk_id=ident)
    listed = await asyncio.to_thread(shell.run, "deleted", "--json", **who)
    [one] = json.loads(listed.stdout)["memories"]
    assert (one["memoryId"], one["content"], one["stream"]) == (ident, "about walnuts", "__user_default__")
    done = await asyncio.to_thread(shell.run, "restore", ident, **who)
    assert (done.returncode, done.stdout) == (0, f"Restored in __user_default__: {ident}\n")
    async with asyncio.timeout(5):
        while not await recalled(me):
            pass
    assert await recalled(me) == ["about walnuts"]
    again = await asyncio.to_thread(shell.run, "restore", ident, **who)
    assert again.returncode == 4
    assert "It is not deleted" in again.stderr


@pytest.mark.requirement("know-delete.forget")
async def test_forgetting_what_was_deleted_erases_it_at_once(agents: Agents, raw: RawStore) -> None:
    me = await agents()
    one, two = await stored(me, "one"), await stored(me, "two")
    for ident in (one, two):
        await me.call("memory_delete", chunk_id=ident)
    assert (await me.call("forget", memoryId=one))["deleted"] is True
    assert (await me.call("forget-bulk", memoryIds=[two]))["deleted"] == 1
    assert await raw.records(USER_BUCKET) == {}


@pytest.mark.requirement("know-delete.import")
async def test_an_old_export_does_not_bring_it_back_unless_it_is_asked_to(agents: Agents, tmp_path: Path) -> None:
    me = await agents()
    ident = await stored(me, "about walnuts")
    await me.call("export-memories", outputPath="old.json")
    await me.call("memory_delete", chunk_id=ident)
    exported = await me.call("export-memories", outputPath="new.json")
    assert exported["exported"] == 0
    refused = await me.call("import-memories", inputPath="old.json")
    assert (refused["imported"], refused["skipped"]) == (0, 1)
    assert "was deleted" in refused["errors"][0]
    assert await recalled(me) == []
    assert (await me.call("import-memories", inputPath="old.json", overwriteExisting=True))["imported"] == 1
    assert await recalled(me) == ["about walnuts"]


@pytest.mark.requirement("know-delete.processes")
async def test_two_processes_lose_it_within_a_second_and_a_third_never_has_it(agents: Agents) -> None:
    me, other = await agents.spawn(), await agents.spawn("agent-b")
    old = await stored(me, "walnut old", stream="__project__")
    ids = {name: await stored(me, f"walnut {name}", stream="__project__") for name in ("deleted", "forgotten")}
    async with asyncio.timeout(5):
        while len(await recalled(other)) < 3:
            pass
    await me.call("memory_delete", chunk_id=ids["deleted"])
    await me.call("forget", memoryId=ids["forgotten"])
    await stored(me, "walnut new", stream="__project__", supersedes=old)
    async with asyncio.timeout(1):
        while await recalled(other) != ["walnut new"]:
            pass
    third = await agents.spawn("agent-c", env={"PATTERN_WARM_START": "off"})
    for agent in (me, other, third):
        assert await recalled(agent) == ["walnut new"]
        assert [row["content"] for row in (await agent.call("memory_search", query="walnut"))["rows"]] == ["walnut new"]
        assert (await agent.call("memory_history", chunk_id=old))["total"] == 2


# --- nothing that was replaced comes back -----------------------------------------------------------------------------


async def replaced(agent: Agent, **arguments: Any) -> tuple[str, str]:
    old = await stored(agent, "User lives in Berlin", **arguments)
    return old, await stored(agent, "User lives in Rome", supersedes=old, **arguments)


@pytest.mark.requirement("know-9.gone")
@pytest.mark.parametrize("tool", ["memory_delete", "forget", "forget-bulk", "cleanup"])
async def test_the_older_one_does_not_come_back_when_the_newer_one_goes(
    agents: Agents, raw: RawStore, manual_clock: ManualClock, tool: str
) -> None:
    me, mate = await agents(clock=manual_clock), await agents("agent-b", clock=manual_clock)
    old, new = await replaced(me, stream="__project__")
    match tool:
        case "memory_delete":
            await me.call(tool, chunk_id=new)
        case "forget":
            await me.call(tool, memoryId=new)
        case "forget-bulk":
            await me.call(tool, memoryIds=[new])
        case _:
            revision = (await me.call("get-memory", memoryId=new))["memory"]["revision"]
            await me.call("update-memory", memoryId=new, expectedRevision=revision, ttlSeconds=60)
            manual_clock.advance(61)
            assert (await me.call(tool))["expired"] == 1
    fresh = await agents("agent-c", clock=manual_clock)
    for agent in (me, fresh):
        assert await recalled(agent) == []
        assert [v["memoryId"] for v in (await agent.call("memory_history", chunk_id=old))["versions"]] == [old]
        assert (await agent.call("memory_search", query="Berlin Rome"))["rows"] == []
    async with asyncio.timeout(1):
        while await recalled(mate):
            pass
    held = (await raw.records(PROJECT_BUCKET))[f"shared.agent-a.m.{new}"]
    if tool != "memory_delete":
        assert held["content"] == ""
        assert held["erased"] is True
        assert "Rome" not in str(held)
    assert (
        await me.refused("memory_store", content="x", supersedes=old, stream="__project__")
    ).code == "VALIDATION_ERROR"


@pytest.mark.requirement("know-9.export")
async def test_a_stub_is_in_no_export_and_no_import_undoes_it(agents: Agents) -> None:
    me = await agents()
    _, new = await replaced(me)
    await me.call("export-memories", outputPath="both.json")
    await me.call("forget", memoryId=new)
    assert (await me.call("export-memories", outputPath="none.json"))["exported"] == 0
    assert (await me.call("import-memories", inputPath="both.json"))["imported"] == 0
    assert await recalled(me) == []
    assert (await me.call("import-memories", inputPath="both.json", overwriteExisting=True))["imported"] == 2
    assert await recalled(me) == ["User lives in Rome"]


@pytest.mark.requirement("know-9.moved")
async def test_moving_the_newer_one_elsewhere_does_not_bring_the_older_one_back(agents: Agents) -> None:
    me = await agents()
    _, new = await replaced(me, stream="__private__")
    await me.call("share-learning", memoryId=new)
    found = await me.call("recall-context")
    assert [memory["content"] for memory in found["private"]] == []
    assert [memory["content"] for memory in found["team"]] == ["User lives in Rome"]


@pytest.mark.requirement("know-9.outdated")
async def test_what_was_replaced_is_not_moved_to_where_it_would_hold_again(agents: Agents) -> None:
    me = await agents()
    old, new = await replaced(me, stream="__private__")
    refused = await me.refused("share-learning", memoryId=old)
    assert (refused.code, refused.details["supersededBy"]) == ("VALIDATION_ERROR", new)


@pytest.mark.requirement("know-delete.source")
async def test_what_was_taken_from_a_source_goes_with_it_and_names_it(agents: Agents, raw: RawStore) -> None:
    me = await agents()
    source, fact, other = await stored(me, "the talk"), await stored(me, "from the talk"), await stored(me, "another")
    for ident in (fact, other):
        derived = await record(raw, ident)
        derived["knowledge"]["sourceId"] = source
        await raw.put(USER_BUCKET, f"personal.user.m.{ident}", derived)
    async with asyncio.timeout(5):
        while "sourceId" not in (await me.call("get-memory", memoryId=other))["memory"]["knowledge"]:
            pass
    assert await told(me, "memory_delete", chunk_id=other) == f"Deleted memory {other}. Its source {source} is kept."
    assert await recalled(me, includeExtracted=True) == ["from the talk", "the talk"]
    refused = await me.refused("memory_store", content="newer", supersedes=fact)
    assert "was taken from the source" in refused.message
    answer = await told(me, "memory_delete", chunk_id=source)
    assert answer == f"Deleted memory {source}. 1 memories taken from it went with it."
    assert await recalled(me) == []
