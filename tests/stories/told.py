"""What a tool says to a model: its text, where the others look at its structure."""

from __future__ import annotations

from typing import Any

from mcp_types import TextContent

from pattern.testing.agents import Agent


async def told(agent: Agent, tool: str, **arguments: Any) -> str:
    """Return the text of an answer, be it a failure or not."""
    answer = await agent.client.call_tool(tool, arguments)
    [content] = answer.content
    assert isinstance(content, TextContent)
    return content.text
