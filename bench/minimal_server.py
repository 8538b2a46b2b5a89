"""The least that the same SDK can serve over stdio: one tool. The peer against which our start is measured.

It loads the SDK's low-level server, as ours does, and nothing else.
"""

from __future__ import annotations

import asyncio
from typing import Any

from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server
from mcp_types import ListToolsResult, PaginatedRequestParams, Tool


async def list_tools(_context: Any, _params: PaginatedRequestParams | None) -> ListToolsResult:
    """Return the one tool."""
    return ListToolsResult(tools=[Tool(name="echo", description="Nothing.", input_schema={"type": "object"})])


async def main() -> None:
    server = Server("minimal", on_list_tools=list_tools)
    async with stdio_server() as (read, write):
        await server.run(read, write, server.create_initialization_options())


if __name__ == "__main__":
    asyncio.run(main())
