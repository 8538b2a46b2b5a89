"""The agents of the testing kit are real ones: real clients, real broker, each what its name, project and user make it."""

from __future__ import annotations

from typing import Any, cast

import pytest

from pattern.testing.agents import Agents, ToolFailed
from pattern.testing.determinism import ManualClock

both = pytest.mark.parametrize("agents", ["open", "guarded"], indirect=True)


def contents(recalled: Any) -> set[str]:
    """Return the contents of all memories in an answer of recall-context."""
    match recalled:
        case {"content": str(text)}:
            return {text}
        case dict() as table:
            return {text for value in cast("dict[str, Any]", table).values() for text in contents(value)}
        case list() as rows:
            return {text for row in cast("list[Any]", rows) for text in contents(row)}
        case _:
            return set()


@both
async def test_agents_of_a_project_share_and_others_do_not_see(agents: Agents) -> None:
    alice = await agents("alice")
    helper = await agents("alice", subagent="explore")
    ben = await agents("ben", user="ben")
    stranger = await agents("carol", project="other", user="carol")

    await alice.call("remember", content="mine", scope="private", category="longterm")
    await alice.call("remember", content="ours", scope="team", category="decisions")
    await alice.call("remember", content="personal", scope="personal", category="longterm")
    await alice.call("remember", content="everybody's", scope="public", category="longterm")

    assert contents(await alice.call("recall-context")) == {"mine", "ours", "personal", "everybody's"}
    assert contents(await helper.call("recall-context")) == {"mine", "ours", "everybody's"}
    assert contents(await ben.call("recall-context")) == {"ours", "everybody's"}
    assert contents(await stranger.call("recall-context")) == {"everybody's"}


async def test_who_an_agent_is_follows_from_its_name_project_and_user(agents: Agents) -> None:
    alice, again = await agents("alice"), await agents("alice")
    helper = await agents("alice", subagent="explore")
    ben = await agents("ben", user="ben", project="other")

    assert alice.caller == again.caller
    assert helper.caller.parent_id == alice.caller.agent_id
    assert ben.caller.agent_id != alice.caller.agent_id
    assert (ben.caller.user_id, ben.caller.project_id) == ("ben", "other")
    for agent in (alice, helper, ben):
        stored = await agent.call("remember", content="x")
        memory = await agent.call("get-memory", memoryId=stored["memoryId"])
        assert memory["memory"]["agentId"] == agent.caller.agent_id


async def test_a_failing_tool_is_an_exception_with_its_code(agents: Agents) -> None:
    alice = await agents("alice")
    with pytest.raises(ToolFailed, match="scope") as caught:
        await alice.call("remember", content="x", scope="nowhere")
    assert caught.value.code == "VALIDATION_ERROR"
    assert caught.value.tool == "remember"
    assert caught.value.details["field"] == "scope"


@pytest.mark.parametrize("mode", ["legacy", "2026-07-28"])
async def test_agents_speak_both_eras_of_the_protocol(agents: Agents, mode: str) -> None:
    alice = await agents("alice", mode=mode)
    await alice.call("remember", content="x")
    assert contents(await alice.call("recall-context")) == {"x"}


async def test_time_is_the_tests_own(manual_clock: ManualClock, agents: Agents) -> None:
    alice = await agents("alice")
    await alice.call("remember", content="short-lived", ttlSeconds=60)
    assert contents(await alice.call("recall-context")) == {"short-lived"}

    manual_clock.advance(61)

    assert contents(await alice.call("recall-context")) == set()


async def test_a_spawned_agent_shares_with_one_in_this_process(agents: Agents) -> None:
    alice, ben = await agents("alice"), await agents.spawn("ben", DEBUG="true")
    await ben.call("remember", content="from another process", scope="team", category="decisions")

    assert contents(await alice.call("recall-context")) == {"from another process"}
    assert "event=ready" in ben.log()


async def test_an_agent_that_cannot_start_is_an_error_where_it_is_opened(agents: Agents) -> None:
    with pytest.raises(Exception, match=r".+"):
        await agents.spawn("alice", PATTERN_NODE="nonsense")
