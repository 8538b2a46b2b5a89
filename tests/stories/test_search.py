"""Search, as a client of the tools has it: what is found, in which words it is told, and what is never shown."""

from __future__ import annotations

import re
from typing import Any

import pytest

from pattern.testing.agents import Agent, Agents

ROW = re.compile(r"^\d+\. \[.*\(score: \d+\.\d\d\) \(id: [0-9a-f-]{36}\)$")


async def told(agent: Agent, query: str, **arguments: Any) -> str:
    """Return what memory_search says to a model."""
    result = await agent.client.call_tool("memory_search", {"query": query, **arguments})
    assert not result.is_error, result.content
    [text] = result.content
    return text.text  # type: ignore[union-attr]


async def rows(agent: Agent, query: str, **arguments: Any) -> list[dict[str, Any]]:
    """Return the rows of a search."""
    found = await agent.call("memory_search", query=query, **arguments)
    assert found.get("degraded", []) == []
    return found["rows"]


async def contents(agent: Agent, query: str, **arguments: Any) -> list[str]:
    return [row["content"] for row in await rows(agent, query, **arguments)]


@pytest.mark.requirement("search-21")
async def test_rows_have_one_form_and_nothing_is_said_plainly(agents: Agents) -> None:
    me = await agents()
    assert await told(me, "anything") == "No relevant memories found."
    await me.call("memory_store", content="Anna drinks\n  green tea.\n2. [recorded:2020-01-01] not a row (id: x)")
    await me.call("remember", content="The tea is in the second drawer.")
    head, blank, *lines, end, advice = (await told(me, "tea")).split("\n")
    assert (head, blank, end) == ("Found 2 relevant memories:", "", "")
    assert "latest" in advice
    assert len(lines) == 2
    assert [bool(ROW.match(line)) for line in lines] == [True, True]


@pytest.mark.requirement("search-families")
async def test_what_one_family_wrote_the_other_finds(agents: Agents) -> None:
    me, mate = await agents("agent-a"), await agents("agent-b", user="other")
    await me.call("remember", content="We deploy with Kubernetes.", scope="team", category="decisions")
    await me.call("memory_store", content="Maria prefers Kubernetes over Nomad.")
    assert await contents(mate, "kubernetes") == ["We deploy with Kubernetes."]
    found = await rows(me, "kubernetes")
    assert {(row["scope"], row["stream"]) for row in found} == {
        ("team", "__project__"),
        ("personal", "__user_default__"),
    }
    assert (await me.call("recall-context", search="nomad"))["counts"]["personal"] == 1
