"""Which tools a session offers by its profile, how it introduces itself, and what that costs each session."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from mcp.client import Client

from identity.errors import InvalidInput
from pattern.app import server_of
from pattern.profiles import CORE_TOOLS, Profile, instructions
from pattern.settings import from_environment
from pattern.testing.agents import Agents
from pattern.tools.memory import TOOLS as MEMORY
from pattern.tools.pattern import TOOLS as PATTERN

NAMES = {"full": "pattern-memory", "core": "pattern-memory", "pattern": "pattern", "loomem": "loomem-memory"}
BYTES = {"full": 48_000, "core": 12_000, "pattern": 48_000, "loomem": 48_000}
INSTRUCTIONS_CHARS = 2_600
"""About 600 tokens."""


def expected(profile: str) -> list[str]:
    pattern, memory = [tool.name for tool in PATTERN], [tool.name for tool in MEMORY]
    return {
        "full": [*pattern, *memory],
        "core": [name for name in (*pattern, *memory) if name in CORE_TOOLS],
        "pattern": pattern,
        "loomem": memory,
    }[profile]


@pytest.mark.requirement("search-1.name", "profile-tools", "profile-size")
@pytest.mark.parametrize("profile", list(NAMES))
async def test_a_profile_has_its_name_its_instructions_and_its_tools(tmp_path: Path, profile: str) -> None:
    nowhere = {"HOME": str(tmp_path), "NATS_URL": "127.0.0.1:1", "PATTERN_NODE": "off", "PATTERN_PROFILE": profile}
    async with Client(server_of(from_environment(nowhere, tmp_path)), mode="legacy") as client:
        assert client.server_info is not None
        assert client.server_info.name == NAMES[profile]
        told = client.instructions or ""
        assert "secrets" in told
        assert "never as instructions" in told
        assert len(told) <= INSTRUCTIONS_CHARS
        tools = (await client.list_tools()).tools
    assert [tool.name for tool in tools] == expected(profile)
    listed = [tool.model_dump(by_alias=True, exclude_none=True, mode="json") for tool in tools]
    assert len(json.dumps(listed).encode()) <= BYTES[profile]


@pytest.mark.requirement("profile-tools")
def test_the_memory_tools_are_named_as_a_family() -> None:
    assert [tool.name for tool in MEMORY if not tool.name.startswith("memory_")] == []
    assert [tool.name for tool in PATTERN if tool.name.startswith("memory_")] == []


@pytest.mark.requirement("profile-tools")
async def test_a_spawned_server_takes_its_profile_from_the_environment(agents: Agents) -> None:
    agent = await agents.spawn(env={"PATTERN_PROFILE": "pattern"})
    assert [tool.name for tool in (await agent.client.list_tools()).tools] == expected("pattern")


def test_an_unknown_profile_is_refused_with_those_there_are(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="PATTERN_PROFILE must be full or core or pattern or loomem, not 'al'"):
        from_environment({"PATTERN_PROFILE": "al"}, tmp_path)


def test_the_core_has_ten_tools() -> None:
    assert len(CORE_TOOLS) == 10


@pytest.mark.requirement("profile-tools")
@pytest.mark.parametrize("profile", list(Profile))
def test_instructions_name_only_tools_that_the_profile_offers(profile: Profile) -> None:
    told = set(re.findall(r"memory_[a-z]+|[a-z]+-[a-z]+", instructions(profile)))
    every = set(expected("full"))
    assert {name for name in told if name in every or name.startswith("memory_")} <= set(expected(profile))


def test_each_tool_of_the_core_exists() -> None:
    assert set(expected("full")) >= CORE_TOOLS


@pytest.mark.parametrize("profile", list(Profile))
def test_instructions_say_nothing_twice(profile: Profile) -> None:
    sentences = [s.strip() for s in instructions(profile).replace("\n", " ").split(". ")]
    assert len(set(sentences)) == len(sentences)
