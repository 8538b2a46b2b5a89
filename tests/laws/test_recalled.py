"""Laws of what was recalled: it is known for that, in every shape in which it comes back, and nobody said it."""

from __future__ import annotations

import json
import time
from datetime import date
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loomem.core.extract import ExtractSettings, offline
from loomem.core.transcript import render, segment
from loomem.core.transcript.recalled import blanked, is_own_tool, without_recalled
from loomem.llm.extract import heard
from loomem.results import Found, FoundRow
from pattern.tools.memory import TOOLS as MEMORY
from pattern.tools.memory.search import told
from pattern.tools.pattern import TOOLS as PATTERN

SAID = "I moved to Kraków last year."
KEPT = "User prefers tabs over spaces."
ROW = f"1. [event:2026-04-01] [recorded:2026-04-02] [trust:a1 ×1.00] {KEPT} (score: 0.91) (id: 5f0c-1)"


def answer(**options: Any) -> str:
    row = FoundRow(
        id="5f0c-1",
        content=KEPT,
        score=0.9,
        scope="personal",
        stream="personal",
        project="p",
        category="recent",
        agent="a",
        mine=True,
        recorded="2026-04-02",
        created_at="",
        updated_at="",
        revision=1,
        trust="a1",
        weight=1.0,
        **options,
    )
    return told(Found(took_ms=1.0, position="", rows=[row, row], degraded=[], counting=True, evidence=True))


SHAPES = [
    ROW,
    f"1. [2026-04-01] {KEPT} (score: 0.90) (id: abc)",
    f"  ⎿  {ROW}",
    f"> {ROW}\n> 2. [2026-04-01] {KEPT} (score: 0.90) (id: abc)",
    ROW.replace(" over", "\n     over").replace(" (id", "\n     (id"),
    f"<recalled>\n{KEPT}\n\n{KEPT}\n</recalled>",
    f'<memory id="5">{KEPT}</memory>',
    f"<relevant-memories>{KEPT}</relevant-memories>",
    f"Hm. <SYSTEM-REMINDER>{KEPT}",
]


def facts(text: str) -> list[str]:
    found = offline(segment(render(text).text), conversation_date=date(2026, 5, 1), settings=ExtractSettings())
    return [fact.content for fact in found]


def given_to_the_model(text: str) -> str:
    rendered = render(text).text
    return heard(rendered, segment(rendered))


@pytest.mark.requirement("extract-recalled")
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("label", ["User: ", ""])
def test_what_is_pasted_of_a_memory_is_heard_by_nobody(shape: str, label: str) -> None:
    text = f"{label}{SAID}\n{shape}\n\n{label}I work as a baker in Gdańsk.\n"
    assert facts(text) == [SAID, "I work as a baker in Gdańsk."]
    left = given_to_the_model(text)
    assert "tabs" not in left
    assert SAID in left
    assert "baker" in left


@pytest.mark.requirement("extract-recalled")
def test_the_answer_of_a_search_as_it_is_told_is_recalled_whole() -> None:
    assert without_recalled(f"{SAID}\n{answer(contract=1, observed='2026-04-01')}\nThanks").split() == [
        *SAID.split(),
        "Thanks",
    ]
    assert facts(f"User: {answer()}\nUser: {SAID}") == [SAID]


@pytest.mark.requirement("extract-recalled")
@pytest.mark.parametrize(
    "said",
    [
        "1. [2026-04-01] We moved the launch to May.",
        "My score is (score: 9) and my id is (id: 7).",
        "The page has a <div> and a <memory-card> in it.",
        "I said 1 < 2 and <context was never closed.",
    ],
)
def test_what_only_looks_like_it_stays(said: str) -> None:
    assert without_recalled(said) == blanked(said) == said


@pytest.mark.requirement("extract-recalled")
def test_every_tool_of_ours_is_known_whatever_stands_before_its_name() -> None:
    for tool in (*PATTERN, *MEMORY):
        for name in (tool.name, f"mcp__pattern__{tool.name}", f"pattern:{tool.name}"):
            assert is_own_tool(name), name
    for name in ("Bash", "mcp__files__read", "memory", "get-memory-usage"):
        assert not is_own_tool(name)


ANTHROPIC: list[Any] = [
    {"role": "user", "content": SAID},
    {"role": "assistant", "content": [
        {"type": "tool_use", "id": "t1", "name": "mcp__pattern__memory_search", "input": {"query": "editor"}},
        {"type": "tool_use", "id": "t2", "name": "Bash", "input": {"command": "ls"}}]},
    {"role": "user", "content": [
        {"type": "tool_result", "tool_use_id": "t1", "content": [{"type": "text", "text": KEPT}]},
        {"type": "tool_result", "tool_use_id": "t2", "content": "main.py"}]},
    {"role": "assistant", "content": "Noted."},
]  # fmt: skip
OPENAI: list[Any] = [
    {"role": "user", "content": SAID},
    {"role": "assistant", "content": None, "tool_calls": [
        {"id": "t1", "function": {"name": "recall-context", "arguments": "{}"}},
        {"id": "t2", "function": {"name": "ls", "arguments": "{}"}}]},
    {"role": "tool", "tool_call_id": "t1", "content": KEPT},
    {"role": "tool", "tool_call_id": "t2", "content": "main.py"},
    {"role": "function", "name": "memory_graph", "content": KEPT},
    {"role": "assistant", "content": "Noted."},
]  # fmt: skip


@pytest.mark.requirement("extract-recalled")
@pytest.mark.parametrize("messages", [ANTHROPIC, OPENAI])
@pytest.mark.parametrize("by_line", [False, True])
def test_what_our_own_tools_answered_is_left_out_of_a_transcript(messages: list[Any], by_line: bool) -> None:
    text = "\n".join(json.dumps({"message": one}) for one in messages) if by_line else json.dumps(messages)
    rendered = render(text)
    assert "tabs" not in rendered.text
    assert "main.py" in rendered.text
    assert rendered.left_out >= len(KEPT)
    assert facts(text) == [SAID]
    assert "tabs" not in given_to_the_model(text)


PIECES = ["<memory>", "</memory>", "<recalled>", "1. [2026-01-01]", "(score: 0.9) (id: a)", "\n", "\n\n", "é said", " "]


@pytest.mark.requirement("extract-recalled")
@given(st.lists(st.sampled_from(PIECES) | st.text(max_size=5), max_size=30).map("".join))
def test_what_is_blanked_keeps_every_place(text: str) -> None:
    blank = blanked(text)
    assert len(blank) == len(text)
    assert all(after in (before, " ") for before, after in zip(text, blank, strict=True))
    assert [at for at, one in enumerate(blank) if one == "\n"] == [at for at, one in enumerate(text) if one == "\n"]
    assert len(without_recalled(text)) <= len(text)


@pytest.mark.requirement("segment-bounded")
@pytest.mark.parametrize(
    "unit", ["<memory>", "<a", "1. [2026-01-01] x\n", "(score: 0.9) (id: a)", "(score: 0.9)", "<memory></recalled>\n\n"]
)
def test_time_is_bounded(unit: str) -> None:
    text = unit * (1_000_000 // len(unit))
    began = time.process_time()
    without_recalled(text)
    assert time.process_time() - began < 5
