"""What memory_store takes in is clean before it is stored or said back."""

from __future__ import annotations

import pytest

from pattern.testing.agents import Agents


@pytest.mark.requirement("search-7.store", "search-7.nested")
async def test_personal_data_is_redacted_in_what_is_said_back_and_in_what_is_stored(agents: Agents) -> None:
    agent = await agents()
    stored = await agent.call(
        "memory_store",
        content="call me at 600 700 800, a@b.pl; the id is abc600700800def",
        subject="a@b.pl",
        metadata={"contact": {"a@b.pl": ["600 700 800"]}, "order_id": "600700800"},
    )
    clean = "call me at [PHONE], [EMAIL]; the id is abc600700800def"
    assert stored["content"] == clean
    memory = (await agent.call("get-memory", memoryId=stored["memoryId"]))["memory"]
    assert memory["content"] == clean
    assert memory["metadata"]["contact"] == {"[EMAIL]": ["[PHONE]"]}
    assert memory["metadata"]["order_id"] == "600700800"
    assert "a@b.pl" not in str(memory)
    assert (await agent.call("memory_search", query="call"))["rows"][0]["content"] == clean


@pytest.mark.requirement("search-7.settings")
async def test_redaction_follows_the_settings(agents: Agents) -> None:
    env = {"PATTERN_PII_REDACT_PHONES": "false", "PATTERN_PII_BLOCKLIST": "Falcon, Eagle"}
    agent = await agents(env=env)
    stored = await agent.call("memory_store", content="falcon: call 600 700 800, a@b.pl")
    assert stored["content"] == "[REDACTED]: call 600 700 800, [EMAIL]"
    silent = await agents(env={"PATTERN_PII_ENABLED": "off"})
    assert (await silent.call("memory_store", content="mail a@b.pl"))["content"] == "mail a@b.pl"


@pytest.mark.requirement("search-14.fixed", "search-14.refused")
async def test_markup_is_decoded_and_stripped_to_a_fixed_point_or_refused(agents: Agents) -> None:
    agent = await agents()
    stored = await agent.call("memory_store", content="&amp;lt;b&amp;gt;x")
    assert stored["content"] == "x"
    again = await agent.call("memory_store", content=stored["content"])
    assert again["content"] == "x"
    before = (await agent.call("pattern_health"))["scopes"]["personal"]
    refused = await agent.refused("memory_store", content="&" + "amp;" * 8 + "lt;")
    assert (refused.code, refused.details["field"]) == ("VALIDATION_ERROR", "content")
    refused = await agent.refused("memory_store", content="y", metadata={"note": "&" + "amp;" * 8 + "lt;"})
    assert refused.code == "VALIDATION_ERROR"
    assert (await agent.call("pattern_health"))["scopes"]["personal"] == before


@pytest.mark.requirement("hygiene-code")
async def test_code_and_comparisons_are_stored_as_they_are(agents: Agents) -> None:
    agent = await agents()
    code = "if a < b > c: Vec<T> -> `<b>`"
    stored = await agent.call("memory_store", content=code)
    assert (await agent.call("get-memory", memoryId=stored["memoryId"]))["memory"]["content"] == code
