"""What becomes of what was taken from a source when it is deleted, forgotten or restored, and when that is cut short."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from pattern.testing.agents import Agent, Agents
from tests.stories.conftest import USER_BUCKET, RawStore
from tests.stories.conversations import TALK, found, working
from tests.stories.shell import Shell
from tests.stories.told import told
from tests.waiting import eventually

ENV = {"PATTERN_FRAGMENTS_ENABLED": "true", "PATTERN_NAMESPACES": "work=110"}
ME = {"LOOMINAL_AGENT_ID": "agent-a", "LOOMINAL_PROJECT_ID": "project-p", "LOOMINAL_USER_ID": "user-u"}
ASKED = "Rust for services"


async def taken(agent: Agent, url: str, **arguments: Any) -> dict[str, Any]:
    async with working(url):
        return await agent.call("memory_ingest", content=TALK, **arguments)


async def everything(agent: Agent) -> set[str]:
    """Return the ids of all that may be seen, by search and by recall."""
    rows = await agent.call("recall-context", includeExtracted=True, limit=200)
    recalled = {row["id"] for scope in ("private", "personal", "team", "public") for row in rows[scope]}
    return recalled | set(await found(agent, ASKED)) | set(await found(agent, "Zoë Kraków"))


@pytest.mark.requirement("know-40.fact", "know-delete.source")
async def test_deleting_a_fact_leaves_its_source_and_siblings(agents: Agents, node_url: str) -> None:
    me = await agents(env=ENV)
    source = await taken(me, node_url)
    facts = source["extraction"]["factIds"]
    assert len(facts) >= 2
    before = await everything(me)
    answer = await told(me, "memory_delete", chunk_id=facts[0])
    assert answer == f"Deleted memory {facts[0]}. Its source {source['sourceId']} is kept."
    assert before - await everything(me) == {facts[0]}


@pytest.mark.requirement("know-40.source")
async def test_deleting_a_source_takes_all_that_was_taken_from_it(agents: Agents, node_url: str, raw: RawStore) -> None:
    me = await agents(env=ENV)
    other = await agents(env=ENV)
    elsewhere = await taken(me, node_url, stream="work")
    again = await taken(me, node_url)
    apart = (await me.call("memory_store", content="I prefer Rust over Go for services."))["memoryId"]
    before = await everything(me)
    source = await taken(me, node_url)
    new = await everything(me) - before
    assert len(new) == 1 + len(source["facts"]) + 3

    answer = await told(me, "memory_delete", chunk_id=source["sourceId"])
    assert answer == f"Deleted memory {source['sourceId']}. {len(new) - 1} memories taken from it went with it."
    assert await everything(me) == before
    await eventually(lambda: gone(other, new))
    assert {apart, again["sourceId"]} < before
    rows = (await found(me, ASKED, stream="work")).values()
    assert elsewhere["sourceId"] in {row.get("sourceId") for row in rows}
    for ident in new:
        assert (await me.refused("get-memory", memoryId=ident)).code == "MEMORY_NOT_FOUND"
        assert "No version chain" in await told(me, "memory_history", chunk_id=ident)
    held = [value for key, value in (await raw.records(USER_BUCKET)).items() if ".m." in key and value["id"] in new]
    assert len({value["deletedAt"] for value in held}) == 1
    assert len(held) == len(new)
    assert (await me.refused("memory_delete", chunk_id=source["sourceId"])).code == "MEMORY_NOT_FOUND"


async def gone(agent: Agent, idents: set[str]) -> bool:
    return not await everything(agent) & idents


@pytest.mark.requirement("know-40.restore")
async def test_restoring_a_source_brings_back_what_went_with_it(agents: Agents, node_url: str, shell: Shell) -> None:
    me = await agents(env=ENV)
    source = await taken(me, node_url)
    facts = source["extraction"]["factIds"]
    await me.call("memory_delete", chunk_id=facts[0])
    before = await everything(me)
    await me.call("memory_delete", chunk_id=source["sourceId"])
    listed = await asyncio.to_thread(shell.run, "deleted", **ME)
    assert listed.stdout.count("\n") > 0
    assert source["sourceId"] in listed.stdout
    assert facts[1] not in listed.stdout  # it comes with its source
    refused = await asyncio.to_thread(shell.run, "restore", facts[1], **ME)
    assert f"was deleted with the source {source['sourceId']}" in refused.stderr
    restored = await asyncio.to_thread(shell.run, "restore", source["sourceId"], **ME)
    assert restored.returncode == 0, restored.stderr
    await eventually(lambda: same(me, before))


async def same(agent: Agent, idents: set[str]) -> bool:
    return await everything(agent) == idents


@pytest.mark.requirement("know-40.forget")
async def test_forgetting_a_source_erases_what_was_taken_from_it(agents: Agents, node_url: str, raw: RawStore) -> None:
    me = await agents(env=ENV)
    one, two = await taken(me, node_url), await taken(me, node_url)
    await me.call("forget", memoryId=one["sourceId"])
    left = {value["id"] for key, value in (await raw.records(USER_BUCKET)).items() if ".m." in key}
    assert left == await everything(me)
    assert two["sourceId"] in left
    assert not left & {one["sourceId"], *one["extraction"]["factIds"]}
    answer = await me.call("forget-bulk", memoryIds=[two["sourceId"]])
    assert answer["deleted"] == 1
    assert not [key for key in await raw.records(USER_BUCKET) if ".m." in key]


@pytest.mark.requirement("know-41")
async def test_a_delete_that_was_cut_short_is_completed(agents: Agents, node_url: str, raw: RawStore) -> None:
    """As a process leaves it that is killed after the source and before what was taken from it."""
    me = await agents(env=ENV)
    source = await taken(me, node_url)
    ident = source["sourceId"]

    async def cut_short() -> None:
        key = f"personal.user.m.{ident}"
        held = (await raw.records(USER_BUCKET))[key]
        await raw.put(USER_BUCKET, key, {**held, "deletedAt": held["updatedAt"]})

    await cut_short()
    await eventually(lambda: absent(me, ident))
    assert len(await everything(me)) > 0  # the rest is still there
    answer = await told(me, "memory_delete", chunk_id=ident)
    assert answer.startswith(f"Deleted memory {ident}.")
    assert await everything(me) == set()
    assert (await me.refused("memory_delete", chunk_id=ident)).code == "MEMORY_NOT_FOUND"


async def absent(agent: Agent, ident: str) -> bool:
    return ident not in await everything(agent)
