"""A result as clients get it: structured, and in text for those who read only that: the same JSON, or a tool's own words."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec
from mcp_types import CallToolResult, TextContent


def reply(result: msgspec.Struct, says: Callable[[Any], str] | None = None) -> CallToolResult:
    """Return the answer that holds a result; what is None or unset is left out by the result's own declaration."""
    text = says(result) if says is not None else msgspec.json.format(msgspec.json.encode(result), indent=2).decode()
    return CallToolResult(
        content=[TextContent(type="text", text=text)],
        structured_content=msgspec.to_builtins(result, str_keys=True),
    )
