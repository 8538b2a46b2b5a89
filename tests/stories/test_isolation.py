"""Acceptance checks 41-45: who sees what, whose it is to change, and who an agent is.

Here on a broker that trusts everybody, where the code keeps agents apart; `test_credentials` repeats it on one that does
so itself.
"""

from __future__ import annotations

import hashlib
import socket
from pathlib import Path
from typing import Any

import pytest

from pattern.testing.agents import Agent, Agents
from tests.stories.conftest import RawStore

SCOPES = ("private", "personal", "team", "public")
LASTING = {"private": "longterm", "personal": "longterm", "team": "decisions", "public": "learnings"}


async def seen(agent: Agent, *after: dict[str, Any]) -> dict[str, set[str]]:
    """Return the contents an agent recalls by scope, once it has heard of these writes as far as it may."""
    buckets = {f"loom-memory-project-{agent.caller.project_id}", f"loom-memory-user-{agent.caller.user_id}"}
    known = [
        write["position"] for write in after if write["position"].split("@")[0] in {*buckets, "loom-memory-global"}
    ]
    recalled = await agent.call("recall-context", **({"atLeast": ",".join(known)} if known else {}))
    return {scope: {memory["content"] for memory in recalled[scope]} for scope in SCOPES}


async def in_every_scope(agent: Agent, who: str) -> list[dict[str, Any]]:
    """Store one memory in each scope, and core ones; returns what the writes answered."""
    memories = [(f"{who} {scope}", scope, LASTING[scope]) for scope in SCOPES]
    memories += [(f"{who} {scope} core", scope, "core") for scope in ("private", "personal")]
    return [
        await agent.call("remember", content=content, scope=scope, category=category)
        for content, scope, category in memories
    ]


def all_of(who: str, *scopes: str, core: bool = True) -> dict[str, set[str]]:
    """Return what `seen` gives when somebody sees these scopes of another."""
    found: dict[str, set[str]] = {scope: set() for scope in SCOPES}
    for scope in scopes:
        found[scope] = {f"{who} {scope}", *([f"{who} {scope} core"] if core and scope in SCOPES[:2] else [])}
    return found


# --- who sees what ----------------------------------------------------------------------------------------------------


@pytest.mark.requirement("isolation-41.private", "isolation-41.personal", "isolation-41.team", "isolation-41.public")
async def test_each_sees_what_the_table_gives_it(agents: Agents) -> None:
    alice = await agents("alice", user="ann")
    written = await in_every_scope(alice, "alice")

    sister = await agents("bea", user="ann")
    helper = await agents("alice", user="ann", subagent="explore")
    colleague = await agents("carol", user="carol")
    elsewhere = await agents("dora", user="ann", project="other")
    stranger = await agents("eve", user="eve", project="other")

    assert await seen(alice, *written) == all_of("alice", *SCOPES)
    assert await seen(sister, *written) == all_of("alice", "personal", "team", "public")
    assert await seen(elsewhere, *written) == all_of("alice", "personal", "public")
    assert await seen(colleague, *written) == all_of("alice", "team", "public")
    assert await seen(stranger, *written) == all_of("alice", "public")
    assert await seen(helper, *written) == all_of("alice", "private", "team", "public", core=False)


@pytest.mark.requirement("isolation-41.private", "isolation-41.personal")
async def test_what_is_not_visible_is_unknown_to_every_tool(agents: Agents) -> None:
    alice, carol = await agents("alice", user="ann"), await agents("carol", user="carol")
    written = await in_every_scope(alice, "alice")
    private, personal, team, _, core, personal_core = (write["memoryId"] for write in written)
    await seen(carol, *written)
    for ident in (private, personal, core, personal_core):
        for tool, more in (
            ("get-memory", {}),
            ("forget", {"force": True}),
            ("commit-insight", {}),
            ("share-learning", {}),
            ("update-memory", {"expectedRevision": 1, "content": "mine now"}),
        ):
            failure = await carol.refused(tool, memoryId=ident, **more)
            assert failure.code == "MEMORY_NOT_FOUND", tool
            assert failure.details == {"memoryId": ident}, tool
            assert "alice" not in failure.message, tool
    gone = await carol.call("forget-bulk", memoryIds=[private, team], force=True)
    assert [(error["memoryId"], error["code"]) for error in gone["errors"]] == [
        (private, "MEMORY_NOT_FOUND"),
        (team, "ACCESS_DENIED"),
    ]
    assert await seen(alice) == all_of("alice", *SCOPES)


@pytest.mark.requirement("isolation-45")
async def test_a_core_memory_follows_its_user_into_another_project(agents: Agents) -> None:
    here = await agents("alice", user="ann")
    stored = await here.call("core-memory", content="Prefers tabs")
    there = await agents("alice-elsewhere", user="ann", project="other")
    assert (await seen(there, stored))["personal"] == {"Prefers tabs"}
    gone = await there.call("forget", memoryId=stored["memoryId"], force=True)
    assert (await seen(here, gone))["personal"] == set(), "it is one memory, wherever it is changed"


# --- sub-agents -------------------------------------------------------------------------------------------------------


@pytest.mark.requirement("isolation-43.read")
async def test_a_sub_agent_reads_of_its_parent_what_is_not_core(agents: Agents) -> None:
    parent = await agents("alice")
    written = [
        await parent.call("remember", content=f"{scope} {category}", scope=scope, category=category)
        for scope in ("private", "personal")
        for category in ("recent", "tasks", "longterm", "core")
    ]
    helper = await agents("alice", subagent="explore")
    assert await seen(helper, *written) == {
        "private": {"private recent", "private tasks", "private longterm"},
        "personal": set(),
        "team": set(),
        "public": set(),
    }
    memory = (await helper.call("get-memory", memoryId=written[0]["memoryId"]))["memory"]
    assert memory["agentId"] == "alice", "it is seen to be the parent's"
    for hidden in written[3:]:
        failure = await helper.refused("get-memory", memoryId=hidden["memoryId"])
        assert failure.code == "MEMORY_NOT_FOUND"
    health = await helper.call("pattern_health")
    assert (health["scopes"]["private"]["visible"], health["scopes"]["private"]["own"]) == (3, 0)
    assert health["core"] == {"private": 0, "personal": 0, "limit": 100}


@pytest.mark.requirement("isolation-43.change")
async def test_a_sub_agent_changes_nothing_of_its_parents(agents: Agents, tmp_path: Path) -> None:
    parent, helper = await agents("alice"), await agents("alice", subagent="explore")
    written = await in_every_scope(parent, "alice")
    recent = await parent.call("remember", content="alice recent")
    await seen(helper, *written, recent)
    before = await parent.call("recall-context")
    for ident, codes in (
        (written[0]["memoryId"], {"MEMORY_NOT_FOUND"}),
        (recent["memoryId"], {"MEMORY_NOT_FOUND"}),
        (written[2]["memoryId"], {"ACCESS_DENIED", "MEMORY_NOT_FOUND"}),
        (written[3]["memoryId"], {"ACCESS_DENIED", "MEMORY_NOT_FOUND"}),
        (written[4]["memoryId"], {"MEMORY_NOT_FOUND"}),
    ):
        for tool, more in (
            ("forget", {"force": True}),
            ("commit-insight", {}),
            ("share-learning", {"force": True}),
            ("update-memory", {"expectedRevision": 1, "content": "changed"}),
        ):
            assert (await helper.refused(tool, memoryId=ident, **more)).code in codes, (tool, ident)
        assert (await helper.call("forget-bulk", memoryIds=[ident], force=True))["failed"] == 1
    await helper.call("cleanup")
    exported = await helper.call("export-memories", outputPath="mine.json")
    assert exported["exported"] == 2, "team and public; what is only its to read it does not carry away"
    after = await parent.call("recall-context")
    assert after == before


@pytest.mark.requirement("isolation-43.create", "lesson-3.22.promote")
async def test_a_sub_agent_has_memories_of_its_own_until_it_shares_them(agents: Agents) -> None:
    parent, helper = await agents("alice", user="ann"), await agents("alice", user="ann", subagent="explore")
    same_type = await agents("alice", user="ann", subagent="explore")
    other_type = await agents("alice", user="ann", subagent="review")
    carol = await agents("carol", user="carol")
    written = await in_every_scope(helper, "helper")

    assert await seen(helper, *written) == all_of("helper", *SCOPES)
    assert await seen(same_type, *written) == all_of("helper", *SCOPES), "all of one type are one agent"
    for other in (parent, other_type, carol):
        assert await seen(other, *written) == all_of("helper", "team", "public")

    stored = await helper.call("get-memory", memoryId=written[0]["memoryId"])
    assert stored["memory"]["agentId"] == helper.caller.agent_id
    shared = await helper.call("share-learning", memoryId=written[0]["memoryId"])
    assert (await seen(parent, shared))["team"] == {"helper team", "helper private"}
    assert (await parent.refused("forget", memoryId=shared["teamMemoryId"])).code == "ACCESS_DENIED"
    gone = await helper.call("forget", memoryId=shared["teamMemoryId"])
    assert (await seen(parent, gone))["team"] == {"helper team"}


# --- who an agent is --------------------------------------------------------------------------------------------------


def derived(hostname: str, path: Path | str) -> str:
    return hashlib.sha256(f"{hostname}{path}".encode()).hexdigest()[:32]


def warp_root(agent_id: str, hostname: str, path: Path | str) -> dict[str, Any]:
    """Return the record that Warp keeps of a project's root agent."""
    return {
        "agentId": agent_id,
        "hostname": hostname,
        "projectPath": str(path),
        "createdAt": "2026-01-02T03:00:00.000Z",
    }


IDENTITIES = "loom-identity-project-p"
NAMELESS = {"LOOMINAL_AGENT_ID": ""}


async def id_of(agent: Agent) -> str:
    stored = await agent.call("remember", content="who am I")
    return (await agent.call("get-memory", memoryId=stored["memoryId"]))["memory"]["agentId"]


@pytest.mark.requirement("deliver-4.warp")
@pytest.mark.parametrize("case", ["ours", "override", "foreign", "none"])
async def test_warps_record_counts_when_it_speaks_of_this_host_or_is_meant_for_all(
    agents: Agents, raw: RawStore, tmp_path: Path, case: str
) -> None:
    here = derived(socket.gethostname(), tmp_path)
    records = {
        "ours": warp_root(derived(socket.gethostname(), "/another/folder"), socket.gethostname(), "/another/folder"),
        "override": warp_root("our-agent", "another-host", "/srv/acme"),
        "foreign": warp_root(derived("another-host", "/srv/acme"), "another-host", "/srv/acme"),
    }
    expected = {"ours": records["ours"]["agentId"], "override": "our-agent", "foreign": here, "none": here}
    if case in records:
        await raw.make(IDENTITIES)
        await raw.put(IDENTITIES, "root", records[case])
    assert await id_of(await agents(env=NAMELESS)) == expected[case]
    if case in records:
        assert (await raw.records(IDENTITIES))["root"] == records[case], "what Warp wrote is never changed"


@pytest.mark.requirement("deliver-4.warp", "isolation-42.stable")
async def test_a_sub_agent_is_the_one_that_warp_registered(agents: Agents, raw: RawStore, tmp_path: Path) -> None:
    root = derived(socket.gethostname(), tmp_path)
    sub = hashlib.sha256(f"{root}explore".encode()).hexdigest()[:32]
    alone = await agents(env=NAMELESS, subagent="explore")
    assert await id_of(alone) == sub
    await raw.put(IDENTITIES, "root", warp_root(root, socket.gethostname(), tmp_path))
    await raw.put(IDENTITIES, "subagent/explore", {"agentId": sub, "parentId": root, "subagentType": "explore"})
    assert await id_of(await agents(env=NAMELESS, subagent="explore")) == sub
