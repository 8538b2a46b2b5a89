"""The command as the SDK's own client starts it, in both eras of the protocol, with the embedded broker."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from mcp.client import Client
from mcp.client.stdio import StdioServerParameters, stdio_client

from loomem.core.search.settings import SearchSettings
from pattern.profiles import Profile, tools
from tests.stories.served import environment


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A home whose node, if a test started one, is gone afterwards."""
    home = tmp_path_factory.mktemp("home")
    yield home
    stop = [sys.executable, "-m", "pattern", "node", "stop"]
    subprocess.run(stop, env=environment(home, {}), cwd=home, check=True, capture_output=True, timeout=30)


@pytest.mark.requirement("shown-clients", "deliver-2.start")
@pytest.mark.parametrize("mode", ["legacy", "auto", "2026-07-28"])
async def test_a_stranger_s_client_remembers_and_recalls(home: Path, mode: str) -> None:
    settings = environment(home, {"PATTERN_NODE_IDLE_S": "60"})
    server = StdioServerParameters(command=sys.executable, args=["-m", "pattern"], env=settings, cwd=home)
    async with asyncio.timeout(60), Client(stdio_client(server), mode=mode) as client:
        listed = [tool.name for tool in (await client.list_tools()).tools]
        assert listed == [tool.name for tool in tools(Profile.FULL, SearchSettings())]
        stored = await client.call_tool("remember", {"content": f"said in {mode}"})
        assert not stored.is_error, stored
        recalled = await client.call_tool("recall-context", {"search": f"said in {mode}"})
        health = await client.call_tool("pattern_health", {})
    assert recalled.structured_content["counts"]["private"] == 1
    assert health.structured_content["storage"]["embedded"]
    assert health.structured_content["storage"]["connected"]
