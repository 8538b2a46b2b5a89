"""The wire of a client that started us: one JSON message a line, on stdin and stdout.

The SDK's own stdio transport reads in a thread that cannot be cancelled (so SIGTERM would wait for the next line), leaves
a line it cannot parse without an answer (so its caller would wait for ever) and guards stdout only once it is imported.
Here the event loop reads stdin, every line gets an answer, and `pattern.wire` took both pipes before all imports.
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
import stat
from collections import Counter
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing, suppress
from typing import Any, BinaryIO

import anyio
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from mcp.server.lowlevel import Server
from mcp.shared.message import SessionMessage
from mcp_types import (
    INVALID_REQUEST,
    PARSE_ERROR,
    ErrorData,
    JSONRPCError,
    JSONRPCMessage,
    JSONRPCRequest,
    JSONRPCResponse,
    RequestId,
    jsonrpc_message_adapter,
)
from pydantic import ValidationError

from pattern.server.lifetime import GRACE_S, end_within

log = logging.getLogger(__name__)

LINE_BYTES = 64 * 1024 * 1024
"""Longest message that is read: a bulk of a thousand memories of the largest size fits, escaped."""

ID_DIGITS = 1000

DRAIN_S = 1.0
"""How long requests that were sent before the end of stdin may still take."""

Incoming = MemoryObjectSendStream[SessionMessage | Exception]
Outgoing = MemoryObjectSendStream[SessionMessage]


async def serve(
    server: Server[Any], stdin: BinaryIO, stdout: BinaryIO, on_end: Callable[[Callable[[], None]], None]
) -> None:
    """Serve one client until stdin ends, or until what was given to `on_end` is called (from any thread)."""
    incoming, to_server = anyio.create_memory_object_stream[SessionMessage | Exception](0)
    from_server, outgoing = anyio.create_memory_object_stream[SessionMessage](0)
    loop = asyncio.get_running_loop()
    async with asyncio.TaskGroup() as group:
        lines = _lines(stdin, one_socket=os.path.samestat(os.fstat(stdin.fileno()), os.fstat(stdout.fileno())))
        unanswered = _Unanswered()
        reading = group.create_task(_read(lines, incoming, from_server.clone(), unanswered))
        group.create_task(_write(outgoing, stdout, unanswered, reading.cancel))
        on_end(lambda: loop.call_soon_threadsafe(reading.cancel) and None)
        await server.run(to_server, from_server, server.create_initialization_options())


class _Unanswered:
    """The requests that have no answer yet; an id may be in use twice, whatever the protocol says."""

    def __init__(self) -> None:
        self._ids: Counter[RequestId] = Counter()
        self._changed = asyncio.Event()

    def asked(self, message: JSONRPCMessage) -> None:
        """Take into account what the client sends."""
        if isinstance(message, JSONRPCRequest):
            self._ids[message.id] += 1

    def answered(self, message: JSONRPCMessage) -> None:
        """Take into account what the client gets."""
        if isinstance(message, JSONRPCResponse | JSONRPCError) and message.id is not None:
            self._ids[message.id] -= 1
            self._changed.set()

    async def settle(self) -> None:
        """Return when all are answered, or when that takes too long."""
        with suppress(TimeoutError):
            async with asyncio.timeout(DRAIN_S):
                while +self._ids:
                    self._changed.clear()
                    await self._changed.wait()


async def _read(
    lines: AsyncGenerator[bytes, None], incoming: Incoming, outgoing: Outgoing, unanswered: _Unanswered
) -> None:
    """Hand each message to the server; the end of stdin is the end of the session, once what was asked is answered."""
    async with incoming, outgoing:
        try:
            async with aclosing(lines):
                async for line in lines:
                    message = _message(line)
                    if message is not None:
                        unanswered.asked(message)
                        await incoming.send(SessionMessage(message))
                    elif line.strip():
                        await outgoing.send(SessionMessage(_unreadable(line)))
            end_within(DRAIN_S + GRACE_S / 2)
            await unanswered.settle()
        except (anyio.BrokenResourceError, anyio.ClosedResourceError):
            log.debug("event=server_ended_first")
        finally:
            end_within(GRACE_S)


async def _write(
    outgoing: MemoryObjectReceiveStream[SessionMessage],
    stdout: BinaryIO,
    unanswered: _Unanswered,
    gone: Callable[[], Any],
) -> None:
    """Write what the server says; when nobody reads any more, the session is over."""
    async with outgoing:
        async for item in outgoing:
            line = item.message.model_dump_json(by_alias=True, exclude_unset=True).encode() + b"\n"
            try:
                await asyncio.to_thread(_put, stdout, line)
            except OSError:
                gone()
            unanswered.answered(item.message)


def _put(stdout: BinaryIO, line: bytes) -> None:
    stdout.write(line)
    stdout.flush()


def _message(line: bytes) -> JSONRPCMessage | None:
    """Return the message of a line, or None when it is none.

    Arguments that are not valid Unicode (lone surrogates, bytes that are no UTF-8) pass, so that the tool can name the
    one that is not. All the rest may have to be sent back.
    """
    try:
        return jsonrpc_message_adapter.validate_json(line, by_name=False)
    except ValidationError:
        pass
    try:
        value: dict[str, Any] = json.loads(line.decode("utf-8", "surrogateescape"))
        message = jsonrpc_message_adapter.validate_python(value, by_name=False)
        value["params"] = {**(value.get("params") or {}), "arguments": None}
        json.dumps(value, ensure_ascii=False).encode()
    except (ValueError, RecursionError):
        return None
    return message


def _unreadable(line: bytes) -> JSONRPCError:
    """Return the answer to a line that is no message; who waits for the answer to an id that can be read gets it."""
    ident = _asked_as(line)
    if ident is None:
        return JSONRPCError(jsonrpc="2.0", id=None, error=ErrorData(code=PARSE_ERROR, message="Not a JSON-RPC message"))
    return JSONRPCError(jsonrpc="2.0", id=ident, error=ErrorData(code=INVALID_REQUEST, message="Not a valid request"))


def _asked_as(line: bytes) -> RequestId | None:
    """Return the id of what looks like a request, None if nothing does or its id is none."""
    try:
        value: Any = json.loads(line.decode("utf-8", "surrogateescape"), parse_int=_short_integer)
        ident = value["id"] if "method" in value else None
        return ident if type(ident) is int or (type(ident) is str and ident.encode()) else None
    except (ValueError, TypeError, KeyError, RecursionError):
        return None


def _short_integer(digits: str) -> int | None:
    """Return an integer; Python refuses to read a very long one, and no id is."""
    return int(digits) if len(digits) < ID_DIGITS else None


async def _lines(stdin: BinaryIO, *, one_socket: bool) -> AsyncGenerator[bytes, None]:
    """Tell the lines of stdin; pipes and sockets are read by the event loop, files and terminals in a thread.

    A socket that is stdin and stdout at once is read in a thread too, or writing to it would not block either.
    """
    mode = os.fstat(stdin.fileno()).st_mode
    if one_socket or not (stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode)):
        while line := await asyncio.to_thread(stdin.readline, LINE_BYTES):
            yield line
        return
    reader = asyncio.StreamReader(limit=LINE_BYTES)
    transport, _ = await asyncio.get_running_loop().connect_read_pipe(
        lambda: asyncio.StreamReaderProtocol(reader), stdin
    )
    try:
        while True:
            try:
                line = await reader.readline()
            except ValueError:  # longer than the limit; what was read of it is gone
                line = b"?"
            if not line:
                return
            yield line
    finally:
        transport.close()
