"""One user's machine as the proofs need it: a home, a project, servers that are spoken to byte by byte, and what can be killed.

`pattern` runs here as a client starts it: `python -m pattern` on pipes. The client is by hand, because the proofs look at
bytes, signals and ends of processes, which a client library hides. Every line that a server writes is checked as it comes.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
import time
from collections.abc import AsyncGenerator, Callable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from itertools import count
from pathlib import Path
from typing import Any, Self

from loomem.node import NodeFiles, NodeSpec, NodeState, read_state, stop
from pattern.version import VERSION
from tests.waiting import eventually

ROOT = Path(__file__).parents[2]
LINE_BYTES = 64 * 1024 * 1024
CALL_S = 120.0
"""Longer than any tool takes by its own deadline, and than twenty servers at once take to start on a busy machine."""
GONE_S = 2.0
"""What the project promises: a server is gone so soon after its client is."""
CALL_FAILS_S = 2.0
"""What the project promises: without a broker a call fails so soon."""
PAGE = 200

Json = dict[str, Any]


class Fault(Exception):
    """A tool's answer that says it failed."""

    def __init__(self, answer: Json) -> None:
        self.code: str = answer.get("code", "")
        self.message: str = answer.get("message", "")
        self.details: Json = answer.get("details", {})
        super().__init__(f"{self.code}: {self.message}")


class Gone(Exception):
    """The server ended before it answered; what was asked may have been done."""


class Server:
    """A server process and the pipes to it."""

    def __init__(self, process: asyncio.subprocess.Process, stderr: Path) -> None:
        self.process = process
        self.stderr = stderr
        self.stdout = bytearray()
        """All that it wrote."""
        self.notes: list[Json] = []
        """Notifications it sent."""
        self.noted = asyncio.Event()
        self.unasked: list[Json] = []
        """Answers to no request: what a server says of a line it cannot read."""
        self.answered = asyncio.Event()
        self._asked: dict[int, asyncio.Future[Json]] = {}
        self._ids = count(1)

    @property
    def pid(self) -> int:
        return self.process.pid

    async def listen(self) -> None:
        """Take what the server says until it ends; a line that is no JSON-RPC message is an error."""
        stream = self.process.stdout
        assert stream is not None
        try:
            while line := await stream.readline():
                self.stdout += line
                self._take(json.loads(line))
        finally:
            for answer in self._asked.values():
                if not answer.done():
                    answer.set_exception(Gone())

    def _take(self, message: Json) -> None:
        assert message["jsonrpc"] == "2.0", message
        if "method" in message:
            self.notes.append(message)
            self.noted.set()
            return
        asked = self._asked.get(message["id"])
        if asked is None:
            self.unasked.append(message)
            self.answered.set()
        elif not asked.done():
            asked.set_result(message)

    async def send(self, line: bytes) -> None:
        """Write bytes to the server as they are."""
        stdin = self.process.stdin
        assert stdin is not None
        try:
            stdin.write(line)
            await stdin.drain()
        except (BrokenPipeError, ConnectionResetError) as error:
            raise Gone from error

    async def request(self, method: str, params: Json | None = None, *, timeout_s: float = CALL_S) -> Json:
        """Return the whole answer, be it a result or an error. Raises: Gone, TimeoutError."""
        number = next(self._ids)
        answer: asyncio.Future[Json] = asyncio.get_running_loop().create_future()
        self._asked[number] = answer
        try:
            body = {"jsonrpc": "2.0", "id": number, "method": method, "params": params or {}}
            # In ASCII, so that lone surrogates can be sent the only way that JSON has for them.
            await self.send(json.dumps(body).encode() + b"\n")
            async with asyncio.timeout(timeout_s):
                return await answer
        finally:
            del self._asked[number]

    async def initialize(self) -> Json:
        """Greet the server; return what it says of itself."""
        answer = await self.request(
            "initialize",
            {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "proof", "version": "1"}},
        )
        await self.send(b'{"jsonrpc": "2.0", "method": "notifications/initialized"}\n')
        return answer["result"]

    async def tools(self) -> list[str]:
        """Return the names of the tools."""
        answer = await self.request("tools/list")
        return [tool["name"] for tool in answer["result"]["tools"]]

    async def call(self, tool: str, **arguments: Any) -> Json:
        """Return a tool's structured result. Raises: Fault (the tool says it failed), Gone, TimeoutError."""
        params: Json = {"name": tool, "arguments": arguments, "_meta": {"progressToken": f"{tool}-{next(self._ids)}"}}
        answer = await self.request("tools/call", params)
        assert "result" in answer, answer
        result = answer["result"]
        if result.get("isError"):
            raise Fault(result["structuredContent"])
        return result["structuredContent"]

    async def all_memories(self, **filters: Any) -> list[Json]:
        """Return every visible memory, page by page."""
        found: list[Json] = []
        more: Json = {}
        while True:
            page = await self.call("recall-context", limit=PAGE, **filters, **more)
            for scope in ("private", "personal", "team", "public"):
                found += page[scope]
            if not page["hasMore"]:
                return found
            more = {"cursor": page["cursor"]}

    async def healthy(self, *, within_s: float = 30) -> Json:
        """Return the report of health once it says that all is well. Raises: AssertionError with the last report."""
        return await self.report(lambda report: report["status"] == "healthy", within_s=within_s)

    async def report(self, wanted: Callable[[Json], bool], *, within_s: float = 30) -> Json:
        """Return the report of health once it is as wanted. Raises: AssertionError with the last report."""
        report: Json = {}
        with suppress(TimeoutError):
            async with asyncio.timeout(within_s):
                while not wanted(report := await self.call("pattern_health")):  # noqa: ASYNC110
                    await asyncio.sleep(0.05)
                return report
        raise AssertionError(report)

    def hang_up(self) -> None:
        """End its stdin, as a client does that leaves."""
        stdin = self.process.stdin
        assert stdin is not None
        stdin.close()

    def signal(self, word: signal.Signals) -> None:
        with suppress(ProcessLookupError):
            self.process.send_signal(word)

    async def ended(self, *, within_s: float = 10) -> int:
        """Return the exit code."""
        async with asyncio.timeout(within_s):
            return await self.process.wait()

    async def kill(self) -> None:
        self.signal(signal.SIGKILL)
        await self.ended()

    def log(self) -> str:
        """Return what it wrote to stderr; must be UTF-8."""
        return self.stderr.read_bytes().decode()


class Machine:
    """A home, a project folder, and the processes that belong to them."""

    def __init__(self, folder: Path, group: asyncio.TaskGroup, environment: Mapping[str, str]) -> None:
        self.folder = folder
        self.home = folder / "home"
        self.project = folder / "project"
        self.project.mkdir(parents=True)
        self.servers: list[Server] = []
        self._group = group
        self._environment = dict(environment)
        self.spec = NodeSpec(home=self.home, url=None, version=VERSION, command=(), idle_s=0)

    def environment(self, **changes: str) -> dict[str, str]:
        """Return what a server is started with: ours without any setting of this project, and these."""
        prefixes = ("NATS_", "LOOMINAL_", "PATTERN_", "MCP_", "XDG_")
        # How Python runs in a sandbox of a developer is not how an installed program runs.
        drop = {"PYTHONDONTWRITEBYTECODE", "PYTHONUNBUFFERED", "DEBUG", "LOG_LEVEL"}
        ours = {name: value for name, value in os.environ.items() if not name.startswith(prefixes) and name not in drop}
        own = {
            "HOME": str(self.folder),
            "PATTERN_HOME": str(self.home),
            "PYTHONPATH": str(ROOT),
            # A model in each node would take the time of what a proof is about; those of embedding ask for one.
            "PATTERN_EMBEDDER": "none",
        }
        return {**ours, **own, **self._environment, **changes}

    async def spawn(
        self, *, prefix: Sequence[str] = (), program: Sequence[str] = ("-m", "pattern"), **environment: str
    ) -> Server:
        """Start a server, or a Python program that starts it; nothing is said to it yet. `prefix` is a command before it."""
        stderr = self.folder / f"server-{len(self.servers)}.log"
        with stderr.open("wb") as log:
            process = await asyncio.create_subprocess_exec(
                *prefix,
                sys.executable,
                *program,
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=log,
                cwd=self.project,
                env=self.environment(**environment),
                limit=LINE_BYTES,
            )
        server = Server(process, stderr)
        self.servers.append(server)
        self._group.create_task(server.listen(), name=f"server {process.pid}")
        return server

    async def server(self, *, prefix: Sequence[str] = (), **environment: str) -> Server:
        """Start a server and greet it."""
        server = await self.spawn(prefix=prefix, **environment)
        await server.initialize()
        return server

    # --- the node ---

    @property
    def node(self) -> NodeState | None:
        """The node, if one is there."""
        return read_state(self.spec)

    @property
    def node_files(self) -> NodeFiles:
        return NodeFiles.of(self.spec)

    async def next_node(self, *, other_than: int | None = None, within_s: float = 30) -> NodeState:
        """Return the state of the node once one runs with its broker, and not as the process named."""
        found: list[NodeState] = []

        def runs() -> bool:
            state = self.node
            if state is not None and state.pid != other_than and state.server_pid is not None:
                found.append(state)
            return bool(found)

        await eventually(runs, within_s=within_s)
        return found[0]

    def kill_node(self) -> int | None:
        """Kill the node as a crash would; return its process id, or None when there was none."""
        state = self.node
        return kill(state.pid) if state is not None else None

    def kill_broker(self) -> int | None:
        """Kill the node's nats-server; return its process id, or None when there was none."""
        state = self.node
        return kill(state.server_pid) if state is not None and state.server_pid is not None else None

    # --- what runs ---

    def processes(self) -> dict[int, str]:
        """Return the processes that belong to this machine, by id, with their command lines."""
        home = os.fsencode(self.home)
        return {
            pid: command.replace(b"\0", b" ").decode("utf-8", "replace").strip()
            for pid, command, environment in _all_processes()
            if home in command or b"PATTERN_HOME=" + home in environment.split(b"\0")
        }

    def nodes(self) -> list[int]:
        return [pid for pid, command in self.processes().items() if command.endswith("node run")]

    def brokers(self) -> list[int]:
        return [pid for pid, command in self.processes().items() if "nats-server" in command.split()[0]]

    async def nothing_runs(self, *, within_s: float = 20) -> None:
        """Return when no process of this machine is left. Raises: AssertionError with those that are."""
        with suppress(TimeoutError):
            await eventually(lambda: not self.processes(), within_s=within_s)
        left = self.processes()
        assert not left, left

    async def end(self) -> None:
        """End everything that still runs; raises AssertionError when something had to be killed."""
        for server in self.servers:
            if server.process.returncode is None:
                await server.kill()
            server.hang_up()
        # More than once, because a server may have been killed between its order for a node and the node's first breath.
        for _ in range(5):
            await stop(self.spec)
            with suppress(TimeoutError):
                await eventually(lambda: not self.processes(), within_s=4)
                return
        left = self.processes()
        for pid in left:
            kill(pid)
        assert not left, left

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_exc: object) -> None:
        await self.end()


@asynccontextmanager
async def machine(folder: Path, **environment: str) -> AsyncGenerator[Machine]:
    """Give a machine of its own; at the end nothing of it may run any more."""
    async with asyncio.TaskGroup() as group, Machine(folder, group, environment) as one:
        yield one


def kill(pid: int) -> int:
    """End a process as a crash would."""
    with suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)
    return pid


def alive(pid: int) -> bool:
    """Return whether a process runs; a zombie does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()[0] != b"Z"
    except OSError:
        return False


def _all_processes() -> Iterator[tuple[int, bytes, bytes]]:
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit() and int(folder.name) != os.getpid() and alive(int(folder.name)):
            with suppress(OSError):
                yield int(folder.name), (folder / "cmdline").read_bytes(), (folder / "environ").read_bytes()


class Stopwatch:
    """How long something took, in seconds."""

    def __enter__(self) -> Self:
        self._began = time.monotonic()
        return self

    def __exit__(self, *_exc: object) -> None:
        self.seconds = time.monotonic() - self._began


def contents(memories: Sequence[Json]) -> list[str]:
    """Return what the memories say."""
    return [memory["content"] for memory in memories]
