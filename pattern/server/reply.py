"""A result as clients get it: structured, and as the same JSON in text for those who read only that."""

from __future__ import annotations

import msgspec
from mcp_types import CallToolResult, TextContent


def reply(result: msgspec.Struct) -> CallToolResult:
    """Return the answer that holds a result; what is None or unset is left out by the result's own declaration."""
    text = msgspec.json.format(msgspec.json.encode(result), indent=2).decode()
    return CallToolResult(
        content=[TextContent(type="text", text=text)],
        structured_content=msgspec.to_builtins(result, str_keys=True),
    )
