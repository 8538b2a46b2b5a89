"""The wire on pipes, sockets and files: every line gets an answer, and nothing that is sent ends the session."""

from __future__ import annotations

import asyncio
import json
import os
import socket
import threading
from collections.abc import AsyncGenerator, Callable, Generator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any, BinaryIO

import pytest
from mcp.server.lowlevel import Server

from pattern.app import server_of
from pattern.server import stdio
from pattern.settings import from_environment

PING = b'{"jsonrpc":"2.0","id":1,"method":"ping"}\n'


@pytest.fixture(autouse=True)
def no_end(monkeypatch: pytest.MonkeyPatch) -> None:
    """The wire makes sure that its process ends; here that is the test's."""

    def stay(_seconds: float) -> None:
        pass

    monkeypatch.setattr(stdio, "end_within", stay)


@pytest.fixture
def server(tmp_path: Path) -> Server[Any]:
    nowhere = {"HOME": str(tmp_path), "NATS_URL": "127.0.0.1:1", "PATTERN_NODE": "off"}
    return server_of(from_environment(nowhere, tmp_path))


@contextmanager
def pipe() -> Generator[tuple[BinaryIO, BinaryIO], None, None]:
    read, write = os.pipe()
    with os.fdopen(read, "rb") as reading, os.fdopen(write, "wb", buffering=0) as writing:
        yield reading, writing


@asynccontextmanager
async def serving(server: Server[Any], stdin: BinaryIO, stdout: BinaryIO) -> AsyncGenerator[Callable[[], None], None]:
    """Serve in the background; gives what ends it from outside. Leaving waits for the end of the session."""
    ends: list[Callable[[], None]] = []
    async with asyncio.timeout(10), asyncio.TaskGroup() as group:
        group.create_task(stdio.serve(server, stdin, stdout, ends.append))
        await asyncio.sleep(0)
        yield ends[0]


async def answers(reading: BinaryIO, count: int) -> list[dict[str, Any]]:
    return [json.loads(await asyncio.to_thread(reading.readline)) for _ in range(count)]


@pytest.mark.parametrize(
    "line",
    [
        b"nonsense",
        b"[]",
        b"{}",
        b"5",
        b'{"jsonrpc":"2.0","id":1}',
        b'{"jsonrpc":"2.0","id":"\\ud800","method":"ping"}',
        b"\xff\xfe\x00",
        b"[" * 5000,
    ],
)
async def test_a_line_that_is_no_message_is_answered_and_the_next_one_is_heard(
    server: Server[Any], line: bytes
) -> None:
    with pipe() as (stdin, client_out), pipe() as (client_in, stdout):
        async with serving(server, stdin, stdout):
            client_out.write(line + b"\n\n" + PING)
            unreadable, pong = await answers(client_in, 2)
            client_out.close()
    assert (unreadable["id"], unreadable["error"]["code"]) == (None, -32700)
    assert pong == {"jsonrpc": "2.0", "id": 1, "result": {}}


@pytest.mark.parametrize(
    "rest",
    [
        b'"method":5',
        b'"method":"\\udfff"',
        b'"method":"ping","params":[1]',
        b'"method":"ping","params":{"_meta":{"progressToken":"\\ud800"}}',
        b'"method":"tools/call","params":{"name":"\\ud800"}',
        b'"method":"tools/call","params":{"name":"update-memory","arguments":{"expectedRevision":'
        + b"9" * 5000
        + b"}}",
    ],
)
@pytest.mark.parametrize("ident", [7, "seven"])
async def test_who_waits_for_the_answer_to_a_request_that_is_none_gets_it(
    server: Server[Any], rest: bytes, ident: int | str
) -> None:
    with pipe() as (stdin, client_out), pipe() as (client_in, stdout):
        async with serving(server, stdin, stdout):
            client_out.write(b'{"jsonrpc":"2.0","id":' + json.dumps(ident).encode() + b"," + rest + b"}\n")
            [answer] = await answers(client_in, 1)
            client_out.close()
    assert (answer["id"], answer["error"]["code"]) == (ident, -32600)


async def test_a_line_beyond_the_limit_is_answered_too(server: Server[Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stdio, "LINE_BYTES", 1000)
    with pipe() as (stdin, client_out), pipe() as (client_in, stdout):
        async with serving(server, stdin, stdout):
            client_out.write(b"x" * 2500 + b"\n" + PING)
            heard: list[dict[str, Any]] = []
            while not heard or "result" not in heard[-1]:
                heard += await answers(client_in, 1)
            client_out.close()
    assert all(answer["error"]["code"] == -32700 for answer in heard[:-1])
    assert 1 <= len(heard[:-1]) <= 4


async def test_a_file_may_be_stdin(server: Server[Any], tmp_path: Path) -> None:
    script = tmp_path / "script"
    script.write_bytes(PING * 3)
    with script.open("rb") as stdin, pipe() as (client_in, stdout):
        async with serving(server, stdin, stdout):
            assert len(await answers(client_in, 3)) == 3


async def test_one_socket_may_be_both_ends(server: Server[Any]) -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs, theirs.makefile("rb") as stdin, theirs.makefile("wb") as stdout, ours.makefile("rb") as client:
        async with serving(server, stdin, stdout):
            ours.sendall(PING)
            assert len(await answers(client, 1)) == 1
            ours.shutdown(socket.SHUT_WR)


async def test_a_client_that_reads_no_more_ends_the_session(server: Server[Any]) -> None:
    with pipe() as (stdin, client_out), pipe() as (client_in, stdout):
        async with serving(server, stdin, stdout):
            client_in.close()
            client_out.write(PING)
        assert not client_out.closed


async def test_it_ends_from_another_thread_while_nobody_says_anything(server: Server[Any]) -> None:
    with pipe() as (stdin, client_out), pipe() as (client_in, stdout):
        async with serving(server, stdin, stdout) as end:
            client_out.write(PING)
            await answers(client_in, 1)
            thread = threading.Thread(target=end)
            thread.start()
        thread.join()
