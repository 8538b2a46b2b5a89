"""Search in conversations that were stored turn by turn, as a client of the tools has it. Words alone: no node runs here."""

from __future__ import annotations

from typing import Any

import pytest

from pattern.testing.agents import Agent, Agents

TALK = (
    ("Ana", "Shall we have tea?"),
    ("Ben", "Gladly. How was your trip to Ljubljana?"),
    ("Ana", "Wonderful, we swam in the river for two weeks."),
    ("Ben", "So nice, I envy you."),
    ("Ana", "Do you still paint?"),
    ("Ben", "Not since two weeks before Easter."),
    ("Ana", "What a pity, you were good at it."),
)


async def store(agent: Agent, turns: tuple[tuple[str, str], ...], **more: Any) -> None:
    for at, (speaker, text) in enumerate(turns, 1):
        metadata = {"conversation": "c1", "turn": f"D1:{at}", "speaker": speaker, **more}
        await agent.call("memory_store", content=text, metadata=metadata)


async def contents(agent: Agent, query: str) -> list[str]:
    return [row["content"] for row in (await agent.call("memory_search", query=query))["rows"]]


@pytest.mark.requirement("search-threads.lent")
async def test_the_turn_beside_a_good_one_comes_before_an_equal_one_elsewhere(agents: Agents) -> None:
    me = await agents()
    await store(me, TALK, date="3 May 2026")
    found = await contents(me, "How many weeks was the trip to Ljubljana?")
    assert found[:2] == [TALK[1][1], TALK[2][1]] or found[:2] == [TALK[2][1], TALK[1][1]]
    assert found.index(TALK[2][1]) < found.index(TALK[5][1])


@pytest.mark.requirement("search-threads.days")
async def test_turns_of_another_day_lend_nothing(agents: Agents) -> None:
    together, apart = await agents("agent-a", user="a"), await agents("agent-b", user="b")
    await store(together, TALK, date="3 May 2026")
    for at, turn in enumerate(TALK, 1):
        await store(apart, (turn,), date=f"{at} May 2026")
    scores = [await _score(agent, "the trip to Ljubljana, two weeks", TALK[2][1]) for agent in (together, apart)]
    assert scores[0] > scores[1]


@pytest.mark.requirement("search-threads.speaker")
async def test_whom_the_question_names_is_heard_first(agents: Agents) -> None:
    me = await agents()
    await store(me, (("Ana", "I was in Rome in spring."), ("Ben", "I was in Rome in winter.")))
    assert await contents(me, "When was Ben in Rome?") == ["I was in Rome in winter.", "I was in Rome in spring."]
    assert await contents(me, "When was Ana in Rome?") == ["I was in Rome in spring.", "I was in Rome in winter."]


async def _score(agent: Agent, query: str, content: str) -> float:
    rows = (await agent.call("memory_search", query=query))["rows"]
    return next(row["score"] for row in rows if row["content"] == content)
