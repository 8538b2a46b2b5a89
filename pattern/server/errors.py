"""The only place where a failure becomes an answer: text for the model, `{code, message, details}` for programs.

Whatever fails inside a tool is an answer with `isError`, so that the model can read it and do better; protocol errors
are the SDK's. The message of an unexpected error stays in the log, since it may quote what was stored.
"""

from __future__ import annotations

import json
import logging
import traceback
from pathlib import Path
from typing import Annotated, Any

import msgspec
from mcp_types import CallToolResult, TextContent

from identity.errors import AccessDenied, InvalidInput, LoomError, NotFound, Unavailable

log = logging.getLogger(__name__)

NAME_CHARS = 100
"""How much of a name that is none is said back."""


class Failure(msgspec.Struct, frozen=True):
    """What every tool answers when it cannot do what was asked."""

    code: Annotated[str, msgspec.Meta(description="Only when the call failed, as the next two: why.")]
    message: str
    details: dict[str, Any]


def failure(error: Exception, *, tool: str, deadline_s: float, fails: str | None = None) -> CallToolResult:
    """Return the answer for an error that a tool raised; `fails` as the tool declares it."""
    known = _known(error, tool, deadline_s)
    body = Failure(known.code, known.message, known.details)
    text = json.dumps(msgspec.structs.asdict(body), ensure_ascii=False, default=str)
    before = "Error: " if fails is None else "" if isinstance(known, InvalidInput | NotFound | AccessDenied) else fails
    return CallToolResult(
        content=[TextContent(type="text", text=f"{before}{_printable(known.message)}")],
        structured_content=json.loads(_printable(text)),
        is_error=True,
    )


def unknown_tool(name: str) -> CallToolResult:
    """Return the answer for a tool that does not exist, worded as the SDK words it."""
    text = _printable(f"Unknown tool: {name[:NAME_CHARS]}")
    return CallToolResult(content=[TextContent(type="text", text=text)], is_error=True)


def _known(error: Exception, tool: str, deadline_s: float) -> LoomError:
    match error:
        case LoomError():
            return error
        case TimeoutError():
            return Unavailable(
                f"{tool} did not finish within {deadline_s:g} s; it may or may not have taken effect: "
                "check with recall-context before repeating it, and pattern_health for the cause"
            )
        case RecursionError():
            return InvalidInput("the arguments are nested too deeply")
        case _:
            log.error("event=tool_failed tool=%s error=%s at=%s", tool, type(error).__name__, _where(error))
            return LoomError(
                f"{tool} failed unexpectedly ({type(error).__name__}); the server's log on stderr has more"
            )


def _where(error: Exception) -> str:
    """Return the innermost places of an error, without its words, which may quote content."""
    frames = traceback.extract_tb(error.__traceback__)[-4:]
    return "<".join(f"{Path(frame.filename).name}:{frame.lineno}" for frame in reversed(frames))


def _printable(text: str) -> str:
    """Return text that UTF-8 can carry; a message may quote an argument that it cannot."""
    return text.encode("utf-8", "replace").decode()
