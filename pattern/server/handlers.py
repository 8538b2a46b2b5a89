"""The SDK's server around our tools: it speaks the protocol (both eras of it), we answer `tools/list` and `tools/call`."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Any

from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server
from mcp_types import CallToolRequestParams, CallToolResult, ListToolsResult, PaginatedRequestParams

from identity.errors import LoomError
from pattern.server.arguments import checked
from pattern.server.errors import failure, unknown_tool
from pattern.server.reply import reply
from pattern.server.schema import listed
from pattern.server.tool import Backend, Tool

log = logging.getLogger(__name__)

Context = ServerRequestContext[Backend, Any]

WAKE_S = 0.02


def build(
    tools: Sequence[Tool],
    backend: Callable[[], AbstractAsyncContextManager[Backend]],
    *,
    name: str,
    version: str,
    instructions: str,
    brief: bool = False,
) -> Server[Backend]:
    """Return a server that offers these tools; `backend` is entered once per server run, before the first answer.

    `brief` tells less of each tool, as `schema` says.
    """
    by_name = {tool.name: tool for tool in tools}
    answer = ListToolsResult(tools=[listed(tool, brief=brief) for tool in tools])

    async def list_tools(context: Context, _params: PaginatedRequestParams | None) -> ListToolsResult:
        # Waking imports and connects, which holds the event loop: let this answer leave first.
        asyncio.get_running_loop().call_later(WAKE_S, context.lifespan_context.wake)
        return answer

    async def call_tool(context: Context, params: CallToolRequestParams) -> CallToolResult:
        tool = by_name.get(params.name)
        return unknown_tool(params.name) if tool is None else await call(tool, params.arguments, context)

    return Server(
        name,
        version=version,
        instructions=instructions,
        lifespan=lambda _server: backend(),
        on_list_tools=list_tools,
        on_call_tool=call_tool,
    )


async def call(tool: Tool, arguments: dict[str, Any] | None, context: Context) -> CallToolResult:
    """Return a tool's answer; whatever goes wrong is an answer too."""
    began = time.perf_counter()
    try:
        known = checked(tool, arguments)
        async with asyncio.timeout(tool.deadline_s):
            result = await tool.run(context.lifespan_context, known, context.session.report_progress)
        answer = reply(result, tool.says)
    except Exception as error:  # noqa: BLE001 - the edge: a bug in one call must not end the session
        answer = failure(error, tool=tool.name, deadline_s=tool.deadline_s, fails=tool.fails)
        outcome = error.code if isinstance(error, LoomError) else type(error).__name__
    else:
        outcome = "ok"
    log.debug("event=tool_called tool=%s outcome=%s ms=%.1f", tool.name, outcome, (time.perf_counter() - began) * 1e3)
    return answer
