"""A language model with the programs as they are installed: a server and its node, as processes, and a model on loopback."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.llm_server import Asked, LlmServer, Reply, llm_server, says
from tests.stories.conversations import DAY, fact
from tests.stories.machine import Server, machine

pytestmark = [pytest.mark.requirement("llm-processes"), pytest.mark.timeout(240)]
TALK = """\
User: I prefer Rust over Go for services.
Assistant: Noted, Rust for services."""
SAYS = "User prefers Rust over Go for services."


def answers(asked: Asked) -> Reply:
    """Read one fact in a conversation, let a new fact replace the older one, name nobody."""
    wanted = asked.body["output_config"]["format"]["schema"]["properties"]
    if "facts" in wanted:
        return says({"facts": [fact(SAYS, "preference_or_decision", attributed_to="user")]})
    if "relation" in wanted:
        return says({"relation": "updates", "reason": "as the model has it"})
    return says({"entities": [], "relations": []})


async def told(server: Server, tool: str, **arguments: Any) -> tuple[str, dict[str, Any]]:
    """Return a tool's answer in words and in JSON."""
    answer = (await server.request("tools/call", {"name": tool, "arguments": arguments}))["result"]
    assert not answer.get("isError"), answer
    return answer["content"][0]["text"], answer["structuredContent"]


def asked_to(llm: LlmServer, field: str) -> int:
    return sum(field in one.body["output_config"]["format"]["schema"]["properties"] for one in llm.asked)


async def test_a_server_and_its_node_read_and_judge_by_the_model_and_tell_its_budget(tmp_path: Path) -> None:
    async with llm_server() as llm:
        llm.rule = answers
        async with machine(tmp_path, **llm.environment, PATTERN_EXTRACTION_WAIT_S="60") as here:
            server = await here.server()
            await server.healthy()
            text, result = await told(server, "memory_ingest", content=TALK, conversation_date=DAY)
            assert "Read by claude-haiku-4-5." in text
            assert result["extraction"]["extractor"] == "claude-haiku-4-5"
            assert SAYS in text
            assert asked_to(llm, "facts") == 1

            _, old = await told(server, "memory_store", content="The office plant is watered by Ann")
            _, new = await told(server, "memory_store", content="The office plant is watered by a robot that Ann built")
            assert new["supersedes"] == [old["memoryId"]]
            assert new["judged"][0]["by"] == "claude-haiku-4-5"
            assert asked_to(llm, "relation") >= 1
            assert any("robot" in one.user for one in llm.asked)

            text, _ = await told(server, "memory_status")
            [line] = [line for line in text.splitlines() if line.startswith("Language model: ")]
            assert line.startswith("Language model: extract, judge, entities; today, of all agents: ")
            calls = int(line.partition("agents: ")[2].partition("/")[0])
            assert 2 <= calls <= llm.calls


async def test_with_a_budget_of_nothing_the_rules_read_and_the_answer_says_so(tmp_path: Path) -> None:
    async with llm_server() as llm:
        llm.rule = answers
        settings = {"PATTERN_LLM_CALLS_PER_DAY": "0", "PATTERN_EXTRACTION_WAIT_S": "60"}
        async with machine(tmp_path, **llm.environment, **settings) as here:
            server = await here.server()
            await server.healthy()
            text, result = await told(server, "memory_ingest", content=TALK, conversation_date=DAY)
            assert result["extraction"]["extractor"] == "offline"
            assert "Read by our own rules" in text
            assert "I prefer Rust over Go for services." in text
            status, _ = await told(server, "memory_status", source_id=result["sourceId"])
            assert "the model was not asked" in status
            assert "0/0 calls" in status
            assert llm.calls == 0
