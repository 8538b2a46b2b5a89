"""The agents of the testing kit are real ones: real clients, real broker, each what its name, project and user make it."""

from __future__ import annotations

from pathlib import Path

import pytest

from pattern.testing.agents import Agent, Agents, Mode, ToolFailed
from pattern.testing.determinism import ManualClock

both = pytest.mark.parametrize("agents", ["open", "guarded"], indirect=True)


SCOPES = ("private", "personal", "team", "public")


async def contents(agent: Agent) -> set[str]:
    """Return the contents of all memories that an agent recalls."""
    recalled = await agent.call("recall-context")
    return {memory["content"] for scope in SCOPES for memory in recalled[scope]}


@both
async def test_agents_of_a_project_share_and_others_do_not_see(agents: Agents) -> None:
    alice = await agents("alice")
    helper = await agents("alice", subagent="explore")
    ben = await agents("ben", user="ben")
    stranger = await agents("carol", project="other", user="carol")

    await alice.call("remember", content="mine", scope="private", category="longterm")
    await alice.call("remember", content="ours", scope="team", category="decisions")
    await alice.call("remember", content="personal", scope="personal", category="longterm")
    await alice.call("remember", content="everybody's", scope="public", category="learnings")

    assert await contents(alice) == {"mine", "ours", "personal", "everybody's"}
    assert await contents(helper) == {"mine", "ours", "everybody's"}
    assert await contents(ben) == {"ours", "everybody's"}
    assert await contents(stranger) == {"everybody's"}


async def test_who_an_agent_is_follows_from_its_name_project_and_user(agents: Agents) -> None:
    alice, again = await agents("alice"), await agents("alice")
    helper = await agents("alice", subagent="explore")
    ben = await agents("ben", user="ben", project="other")

    assert alice.caller == again.caller
    assert helper.caller.parent_id == alice.caller.agent_id
    assert (ben.caller.agent_id, ben.caller.user_id, ben.caller.project_id) == ("ben", "ben", "other")
    for agent in (alice, helper, ben):
        stored = await agent.call("remember", content="x")
        memory = await agent.call("get-memory", memoryId=stored["memoryId"])
        assert memory["memory"]["agentId"] == agent.caller.agent_id


async def test_an_agent_without_a_name_of_its_own_is_derived_from_its_folder(agents: Agents) -> None:
    derived = await agents(env={"LOOMINAL_AGENT_ID": ""})
    stored = await derived.call("remember", content="x")
    memory = await derived.call("get-memory", memoryId=stored["memoryId"])
    assert memory["memory"]["agentId"] == derived.caller.agent_id
    assert len(derived.caller.agent_id) == 32


async def test_a_closed_session_is_over(agents: Agents) -> None:
    alice, ben = await agents("alice"), await agents("ben")
    await alice.close()
    await ben.call("remember", content="x")
    with pytest.raises(Exception, match="async context manager"):
        await alice.call("recall-context")


async def test_a_failing_tool_is_an_exception_with_its_code(agents: Agents) -> None:
    alice = await agents("alice")
    with pytest.raises(ToolFailed, match="scope") as caught:
        await alice.call("remember", content="x", scope="nowhere")
    assert caught.value.code == "VALIDATION_ERROR"
    assert caught.value.details["field"] == "scope"


@pytest.mark.parametrize("mode", ["legacy", "2026-07-28"])
async def test_agents_speak_both_eras_of_the_protocol(agents: Agents, mode: Mode) -> None:
    alice = await agents("alice", mode=mode)
    await alice.call("remember", content="x")
    assert await contents(alice) == {"x"}


async def test_time_is_the_tests_own(manual_clock: ManualClock, agents: Agents) -> None:
    alice = await agents("alice", clock=manual_clock)
    await alice.call("remember", content="short-lived", ttlSeconds=60)
    assert await contents(alice) == {"short-lived"}

    manual_clock.advance(61)

    assert await contents(alice) == set()


async def test_a_spawned_agent_shares_with_one_in_this_process(agents: Agents) -> None:
    alice, ben = await agents("alice"), await agents.spawn("ben")
    await ben.call("remember", content="from another process", scope="team", category="decisions")

    assert await contents(alice) == {"from another process"}
    assert "event=ready" in ben.log()


async def test_an_agent_that_cannot_start_is_an_error_with_its_own_words(agents: Agents, tmp_path: Path) -> None:
    (tmp_path / ".loominal-config.json").write_text("{")
    with pytest.raises(Exception, match=r".*") as caught:
        await agents.spawn("alice")
    assert ".loominal-config.json is not valid" in "".join(caught.value.__notes__)


@pytest.mark.requirement("isolation-44.absent")
async def test_warps_mode_without_warp_is_an_error_that_the_client_sees(agents: Agents) -> None:
    alone = await agents("alice", env={"LOOMINAL_AGENT_ID": "", "LOOMINAL_IDENTITY": "warp"})
    failure = await alone.refused("remember", content="x")
    assert failure.code == "NATS_ERROR"
    assert "Start Warp in this folder, or unset LOOMINAL_IDENTITY" in failure.message
