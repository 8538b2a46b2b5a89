"""Ratings, as a client of the tools gives them: who may, what they do to the ranking, and how they are taken back."""

from __future__ import annotations

import json
from typing import Any

import pytest

from pattern.testing.agents import Agent, Agents
from tests.stories.conftest import PROJECT_BUCKET, RawStore
from tests.stories.test_knowledge import UNKNOWN, stored
from tests.stories.told import told

HELPFUL: dict[str, Any] = {
    "usefulness": 4,
    "harmful": False,
    "justification": "it answered the question",
    "model_version": "model-1",
}
HARMFUL = {**HELPFUL, "usefulness": 0, "harmful": True}


async def found(agent: Agent, query: str) -> list[str]:
    return [row["content"] for row in (await agent.call("memory_search", query=query))["rows"]]


@pytest.mark.requirement("know-42.answers")
async def test_a_rating_is_accepted_rejected_or_invalid(agents: Agents) -> None:
    me, stranger = await agents("agent-a", user="ann"), await agents("agent-b", user="ben")
    mine, theirs = await stored(me, "walnut"), await stored(stranger, "hazelnut")
    assert json.loads(await told(me, "memory_feedback", chunk_id=mine, **HELPFUL)) == {
        "ok": True, "accepted": 1, "rejected": [],
    }  # fmt: skip
    rated = await me.call("memory_feedback", chunk_id=mine, **HARMFUL)
    assert (rated["alpha"], rated["beta"], rated["harmful"], rated["ratings"]) == (2.0, 6.0, 1, 2)
    for foreign in (theirs, UNKNOWN):
        answer = json.loads(await told(me, "memory_feedback", chunk_id=foreign, **HELPFUL))
        assert answer == {
            "ok": True, "accepted": 0, "rejected": [{"chunk_id": foreign, "reason": "not_found_in_stream"}],
        }  # fmt: skip
    for bad in ({"usefulness": 5}, {"justification": ""}, {"justification": "x" * 501}):
        text = await told(me, "memory_feedback", chunk_id=mine, **{**HELPFUL, **bad})
        assert text.startswith("validation failed: ")


@pytest.mark.requirement("know-42.ranking")
async def test_what_is_rated_harmful_stands_below_its_equal_until_it_is_taken_back(agents: Agents) -> None:
    me, mate = await agents("agent-a", user="ann"), await agents("agent-b", user="ben")
    left = await stored(me, "The walnut stands on the left, number 1", stream="__project__")
    right = await stored(me, "The walnut stands on the right, number 2", stream="__project__")
    before = await found(mate, "walnut")
    assert len(before) == 2
    first = left if "left" in before[0] else right
    rated = await me.call("memory_feedback", chunk_id=first, **HARMFUL)
    await mate.call("recall-context", atLeast=rated["position"])
    assert await found(mate, "walnut") == before[::-1]
    assert await found(me, "walnut") == before[::-1]
    taken = await me.call("memory_feedback", chunk_id=first, withdraw=True, **HARMFUL)
    await mate.call("recall-context", atLeast=taken["position"])
    assert await found(mate, "walnut") == before


@pytest.mark.requirement("know-42.place")
async def test_each_rater_writes_under_its_own_prefix_and_changes_no_record(agents: Agents, raw: RawStore) -> None:
    me, mate = await agents("agent-a", user="ann"), await agents("agent-b", user="ben")
    ident = await stored(me, "walnut", stream="__project__")
    before = (await me.call("get-memory", memoryId=ident))["memory"]
    for agent in (me, mate):
        await agent.call("memory_feedback", chunk_id=ident, **{**HELPFUL, "justification": "ask a@b.pl"})
    assert (await me.call("get-memory", memoryId=ident))["memory"] == before
    records = await raw.records(PROJECT_BUCKET)
    assert {key for key in records if ".f." in key} == {f"shared.{name}.f.{ident}" for name in ("agent-a", "agent-b")}
    assert "a@b.pl" not in str(records)


@pytest.mark.requirement("know-42.again")
async def test_what_is_said_again_in_a_trajectory_replaces_what_was_said(agents: Agents) -> None:
    me = await agents()
    ident = await stored(me, "walnut")
    await me.call("memory_feedback", chunk_id=ident, **HARMFUL, trajectory_id="talk-1")
    again = await me.call("memory_feedback", chunk_id=ident, **HELPFUL, trajectory_id="talk-1")
    assert (again["alpha"], again["beta"], again["harmful"], again["ratings"]) == (2.0, 1.0, 0, 1)


@pytest.mark.requirement("know-42.owner")
async def test_a_rating_counts_for_no_other_memory_of_the_same_id(agents: Agents, raw: RawStore) -> None:
    me, mate = await agents("agent-a", user="ann"), await agents("agent-b", user="ben")
    ident = await stored(me, "The walnut stands on the left", stream="__project__")
    await stored(me, "The walnut stands on the right", stream="__project__")
    held = (await raw.records(PROJECT_BUCKET))[f"shared.agent-a.m.{ident}"]
    twin = {**held, "agentId": mate.name, "content": "A walnut of somebody else altogether"}
    await raw.put(PROJECT_BUCKET, f"shared.agent-b.m.{ident}", json.dumps(twin).encode())
    rated = await me.call("memory_feedback", chunk_id=ident, **HARMFUL)
    answer = await mate.call("memory_search", query="walnut", explain=True, at_least=rated["position"])
    weighed = {row["content"]: row["explained"]["factors"].get("ratings", 1.0) for row in answer["rows"]}
    assert len(weighed) == 3
    assert weighed["The walnut stands on the left"] < 0.6
    assert weighed["A walnut of somebody else altogether"] == 1.0
