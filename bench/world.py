"""What a benchmark needs around it: a NATS server, servers of ours over stdio, and memories to fill them with.

The stdio client here is a bare one, so that what is measured is the server and not a client library: lines of JSON out, lines of
JSON in.
"""

from __future__ import annotations

import asyncio
import json
import os
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncGenerator, Generator, Sequence
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

from bench.report import ROOT
from pattern.testing.server import NatsServer, ServerOptions

OURS = (sys.executable, "-m", "pattern")
BULK = 1_000
LINE_BYTES_LIMIT = 64 * 1024 * 1024
ANSWER_S = 120.0
STOP_S = 5.0
WORDS = ("amber", "basil", "cedar", "delta", "ember", "fjord", "grove", "harbor", "island", "kelp", "meadow", "ocean")


@contextmanager
def broker(*, durable: bool) -> Generator[str]:
    """URL of a fresh server; with `durable` a write is on disk when it is acknowledged, as in the embedded default."""
    with (
        tempfile.TemporaryDirectory(prefix="bench-nats-") as folder,
        NatsServer(Path(folder), ServerOptions(sync_always=durable)) as server,
    ):
        yield server.url


def agent(url: str, name: str = "one") -> dict[str, str]:
    """What the environment says to a process of ours: agents of one project and one user, told apart by name."""
    return {
        "NATS_URL": url,
        "PATTERN_NODE": "off",
        "LOOMINAL_PROJECT_ID": "bench",
        "LOOMINAL_AGENT_ID": name.rjust(32, "0"),
        "LOOMINAL_USER_ID": "bench",
        "PATTERN_LIMIT_SPACE": "1000000",
        "LOG_LEVEL": "ERROR",
    }


class Server:
    """An MCP server process and a bare client of it."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self._process = process
        self._count = 0
        self.pid = process.pid

    async def request(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        """Return the result of one request. Raises: RuntimeError for an error reply."""
        self._count += 1
        self._send({"jsonrpc": "2.0", "id": self._count, "method": method, "params": params})
        async with asyncio.timeout(ANSWER_S):
            while (answer := await self._read()).get("id") != self._count:
                pass
        if "result" not in answer:
            raise RuntimeError(f"{method}: {answer}")
        return answer["result"]

    async def initialize(self) -> None:
        """Open the session."""
        client = {"name": "bench", "version": "1"}
        await self.request("initialize", {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": client})
        self._send({"jsonrpc": "2.0", "method": "notifications/initialized"})

    async def tool(self, name: str, **arguments: Any) -> dict[str, Any]:
        """Return the structured result of a tool. Raises: RuntimeError when it reports an error."""
        result = await self.request("tools/call", {"name": name, "arguments": arguments})
        if result.get("isError"):
            raise RuntimeError(f"{name}: {result['content']}")
        return result["structuredContent"]

    def rss_mb(self) -> float:
        """Resident memory of the process. Units: MB."""
        answer = subprocess.run(["ps", "-o", "rss=", "-p", str(self.pid)], capture_output=True, text=True, check=True)
        return int(answer.stdout) / 1024

    def _send(self, message: dict[str, Any]) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(message).encode() + b"\n")

    async def _read(self) -> dict[str, Any]:
        assert self._process.stdout is not None
        line = await self._process.stdout.readline()
        if not line:
            raise RuntimeError("the server closed its output")
        return json.loads(line)


@asynccontextmanager
async def stdio(environment: dict[str, str], command: Sequence[str] = OURS) -> AsyncGenerator[Server]:
    """A server process, spawned and not yet initialized; it ends with the block."""
    inherited = {k: v for k, v in os.environ.items() if not k.startswith(("NATS_", "PATTERN_", "LOOMINAL_"))}
    # Without cached bytecode every start compiles all that it imports, which is no user's case.
    inherited.pop("PYTHONDONTWRITEBYTECODE", None)
    pipe = asyncio.subprocess.PIPE
    process = await asyncio.create_subprocess_exec(
        *command, env={**inherited, **environment}, cwd=ROOT, stdin=pipe, stdout=pipe, limit=LINE_BYTES_LIMIT
    )
    try:
        yield Server(process)
    finally:
        assert process.stdin is not None
        process.stdin.close()
        try:
            async with asyncio.timeout(STOP_S):
                await process.wait()
        except TimeoutError:
            process.kill()
            await process.wait()


@asynccontextmanager
async def session(environment: dict[str, str]) -> AsyncGenerator[Server]:
    """A server of ours that has answered its first recall: connected, and its views are there."""
    async with stdio(environment) as server:
        await server.initialize()
        await server.tool("recall-context", limit=1)
        yield server


async def fill(server: Server, size: int) -> None:
    """Store this many memories: thirds private, personal and team, of half a kilobyte each as stored."""
    for start in range(0, size, BULK):
        items = [memory(index) for index in range(start, min(start + BULK, size))]
        await server.tool("remember-bulk", memories=items)


def memory(index: int) -> dict[str, Any]:
    """The arguments of one memory; the same for the same index."""
    chance = random.Random(index)
    scope, category = (("private", "longterm"), ("personal", "longterm"), ("team", "decisions"))[index % 3]
    return {
        "content": f"memory {index}: " + " ".join(chance.choices(WORDS, k=30)),
        "scope": scope,
        "category": category,
        "metadata": {"tags": [f"tag{index % 20}", f"group{index % 7}"], "priority": 1 + index % 3},
    }


class Stopwatch:
    """Durations of one thing done many times. Units: seconds."""

    def __init__(self) -> None:
        self.seconds: list[float] = []

    @contextmanager
    def lap(self) -> Generator[None]:
        began = time.perf_counter()
        yield
        self.seconds.append(time.perf_counter() - began)
