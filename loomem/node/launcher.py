"""Find the node or start it, from any number of processes at once.

`ensure` is cheap when the node is there (a small file, a lock probe, one TCP connect) and may be called in a loop. One
client at a time starts or replaces a node, under the launch lock; the others wait for what comes of it.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import socket
import time
from collections.abc import Awaitable, Callable

import msgspec

from identity.errors import LoomError, Unavailable
from loomem.nats.endpoint import Endpoint
from loomem.nats.link import Link
from loomem.node.presence import STATUS_S, NodeReport, ask_status
from loomem.node.process import POLL_S, is_alive, is_locked, require_posix, spawn_detached, try_lock
from loomem.node.state import NodeFiles, NodeSpec, NodeState, Phase, is_newer, shown_url

ENSURE_S = 10.0
STOP_S = 15.0
"""Longer than a node takes to drain its services and stop its server, each of which is bounded."""
TAKE_OVER_S = 7.0
"""An older node that has not left by then is killed, so that a start succeeds within its own bound."""
KILL_S = 2.0
LAUNCHES_MAX = 2
"""A node that ends without a word may have been killed; one that does so twice has something to be told."""
CONNECT_S = 0.5

Source = Callable[[], Awaitable[Endpoint]]


class Found(msgspec.Struct, frozen=True):
    """What a look at the node's folder tells."""

    locked: bool
    """A node, or the server of one that was just killed, is there."""
    state: NodeState | None
    """What the node says of itself; a leftover unless `locked`."""
    reachable: bool
    """The node runs, is the process it says it is, and its server (if it has one) takes connections."""


class NodeStatus(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """What `node status` tells. Holds no secret."""

    running: bool
    phase: Phase | None = None
    url: str
    log_path: str
    pid: int | None = None
    server_pid: int | None = None
    node_id: str | None = None
    version: str | None = None
    uptime_s: float | None = None
    store_bytes: int | None = None
    """What an embedded store takes on disk."""
    workers: list[dict[str, object]] | None = None
    """What each worker says of itself; None when the node was not asked or did not answer."""
    embedding: dict[str, object] | None = None
    """How the model is that embeds."""
    error: str | None = None


async def ensure(spec: NodeSpec, *, timeout_s: float = ENSURE_S) -> NodeState:
    """Return the state of a running node, not older than this program; start it, detached, when there is none.

    Raises: Unavailable (says what to do), InvalidInput (home or URL make no sense).
    """
    require_posix()
    files = NodeFiles.of(spec)
    offset = await asyncio.to_thread(_prepare, files, spec)
    try:
        async with asyncio.timeout(timeout_s):
            while True:
                if (state := _usable(spec, await look(files))) is not None:
                    return state
                if (launch := await asyncio.to_thread(try_lock, files.launch_lock)) is not None:
                    try:
                        return await _Launch(spec, files).run()
                    finally:
                        os.close(launch)
                await asyncio.sleep(POLL_S)
    except TimeoutError:
        raise Unavailable(await asyncio.to_thread(_late, files, timeout_s, offset), retry_after_s=1.0) from None


async def embedded_endpoint(spec: NodeSpec, *, timeout_s: float = ENSURE_S) -> Endpoint:
    """Return where the embedded server listens now; starts the node when it is not there.

    Raises: as `ensure`.
    """
    return await asyncio.to_thread(endpoint_of, spec, await ensure(spec, timeout_s=timeout_s))


def endpoint_of(spec: NodeSpec, state: NodeState) -> Endpoint:
    """Return the endpoint of a running embedded node, token included."""
    return NodeFiles.of(spec).endpoint(state.port or 0)


def read_state(spec: NodeSpec) -> NodeState | None:
    """Return the state of the node, or None when none is there (whatever an earlier one left behind)."""
    found = _look(NodeFiles.of(spec))
    return found.state if found.locked else None


async def start(spec: NodeSpec) -> NodeState:
    """Start the node, or find it; for the command line.

    Raises: as `ensure`.
    """
    return await ensure(spec)


async def stop(spec: NodeSpec, *, timeout_s: float = STOP_S) -> bool:
    """Have the node drain and leave, its server with it; return whether one was there.

    Clients that are still there start it again.

    Raises: Unavailable (it is still there, though it was killed).
    """
    require_posix()
    files = NodeFiles.of(spec)
    found = await look(files)
    if not found.locked:
        return False
    await _send_away(files, found, timeout_s)
    return True


def logs(spec: NodeSpec, *, lines: int = 200) -> str:
    """Return the last lines of the log of node and server."""
    return NodeFiles.of(spec).log_tail(lines)


async def status(spec: NodeSpec, *, source: Source | None = None) -> NodeStatus:
    """Return how the node is. Its workers are asked over the broker; one of the user's own is found by `source`."""
    files = NodeFiles.of(spec)
    found = await look(files)
    store = await asyncio.to_thread(_store_bytes, files) if spec.url is None else None
    state = found.state
    if state is None or not (found.locked or state.phase is Phase.FAILED):
        return NodeStatus(
            running=False, url=shown_url(spec.url, None) if spec.url else "", log_path=str(files.log), store_bytes=store
        )
    report = await _ask(spec, state, source) if found.reachable else None
    return NodeStatus(
        running=found.locked and state.phase is Phase.RUNNING,
        phase=state.phase,
        url=state.url,
        log_path=str(files.log),
        pid=state.pid,
        server_pid=state.server_pid,
        node_id=state.node_id,
        version=state.version,
        uptime_s=round(time.time() - state.since, 1) if found.locked else None,
        store_bytes=store,
        workers=report.workers if report is not None else None,
        embedding=report.embedding if report is not None else None,
        error=state.error,
    )


async def _ask(spec: NodeSpec, state: NodeState, source: Source | None) -> NodeReport | None:
    async def embedded() -> Endpoint:
        return await asyncio.to_thread(endpoint_of, spec, state)

    if source is None and spec.url is not None:
        return None
    try:
        async with Link(source or embedded, name="pattern-memory node status") as link:
            await link.ready(STATUS_S)
            return await ask_status(link, state.node_id, timeout_s=STATUS_S)
    except LoomError:
        return None


def _prepare(files: NodeFiles, spec: NodeSpec) -> int:
    files.prepare(spec.home)
    return files.log_size()


async def look(files: NodeFiles) -> Found:
    return await asyncio.to_thread(_look, files)


def _look(files: NodeFiles) -> Found:
    state = files.read_state()
    locked = is_locked(files.lock)
    reachable = (
        locked
        and state is not None
        and state.phase is Phase.RUNNING
        and is_alive(state.pid, state.started)
        and (state.port is None or _answers(state.port))
    )
    return Found(locked, state, reachable)


def _answers(port: int) -> bool:
    try:
        with socket.create_connection(("127.0.0.1", port), timeout=CONNECT_S):
            return True
    except OSError:
        return False


def _usable(spec: NodeSpec, found: Found) -> NodeState | None:
    if found.reachable and found.state is not None and not is_newer(spec.version, found.state.version):
        return found.state
    return None


class _Launch:
    """The one client that starts or replaces the node, holding the launch lock."""

    def __init__(self, spec: NodeSpec, files: NodeFiles) -> None:
        self._spec = spec
        self._files = files
        self._child: int | None = None
        self._offset = 0
        self._launches = 0

    async def run(self) -> NodeState:
        while True:
            found = await look(self._files)
            if (state := _usable(self._spec, found)) is not None:
                return state
            if not found.locked:
                await asyncio.to_thread(self._advance)
            elif found.reachable:
                # It runs and is still not usable: it is older than we are.
                await _send_away(self._files, found, TAKE_OVER_S)
            await asyncio.sleep(POLL_S)

    def _advance(self) -> None:
        """Start the node, or see how the start goes."""
        if self._child is None:
            self._launch()
            return
        alive = is_alive(self._child, None)
        # Read after the look at the process: it writes why it failed before it ends.
        state = self._files.read_state()
        if state is not None and state.phase is Phase.FAILED:
            raise Unavailable(state.error)
        if alive:
            return
        if self._launches == LAUNCHES_MAX:
            raise Unavailable(
                f"The memory node ended before it was ready. It said:\n{self._files.log_tail(8, offset=self._offset)}\n"
                f"The whole log is {self._files.log}."
            )
        self._child = None

    def _launch(self) -> None:
        self._launches += 1
        self._files.remove_state()
        self._files.rotate_log()
        self._offset = self._files.log_size()
        log = self._files.open_log()
        try:
            self._child = spawn_detached(
                self._spec.command, folder=self._files.root, log=log, environment=self._spec.environment
            )
        finally:
            os.close(log)


async def _send_away(files: NodeFiles, found: Found, timeout_s: float) -> None:
    """Ask the node that holds the lock to drain and leave, and wait until it has.

    Raises: Unavailable.
    """
    state = found.state
    for word, wait_s in ((signal.SIGTERM, timeout_s), (signal.SIGKILL, KILL_S)):
        await asyncio.to_thread(_tell, state, word)
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(wait_s):
                return await _until_gone(files, state)
    raise Unavailable(
        f"The memory node does not leave: something still holds {files.lock}"
        + (f" (process {state.pid}, server {state.server_pid})." if state is not None else ".")
        + " End it by hand and try again."
    )


def _tell(state: NodeState | None, word: signal.Signals) -> None:
    """Signal the node: the holder of the lock wrote the state, and the start time shows that its id is still its own."""
    if state is not None and is_alive(state.pid, state.started):
        with contextlib.suppress(ProcessLookupError):
            os.kill(state.pid, word)


async def _until_gone(files: NodeFiles, state: NodeState | None) -> None:
    while True:
        if not await asyncio.to_thread(_is_there, files, state):
            return
        await asyncio.sleep(POLL_S)


def _is_there(files: NodeFiles, state: NodeState | None) -> bool:
    """Return whether the lock is held, or the process that held it has not quite ended."""
    return is_locked(files.lock) or (state is not None and is_alive(state.pid, state.started))


def _late(files: NodeFiles, timeout_s: float, offset: int) -> str:
    found = _look(files)
    said = files.log_tail(6, offset=offset)
    if found.locked and found.state is not None:
        doing = {
            Phase.STARTING: "is still starting (a large store takes longer; try again)",
            Phase.RUNNING: "runs but does not answer (try `pattern-memory node stop`, then again)",
            Phase.STOPPING: "is still leaving (try again)",
            Phase.FAILED: "is ending after a failure (try again)",
        }[found.state.phase]
        where = f"The memory node, process {found.state.pid}, {doing}."
    else:
        where = "The memory node did not come up; try again."
    heard = f" It said:\n{said}\n" if said else " "
    return f"{where} Waited {timeout_s:g} s.{heard}The whole log is {files.log}."


def _store_bytes(files: NodeFiles) -> int:
    total = 0
    for folder, _, names in os.walk(files.store):
        for name in names:
            # The server may drop a block between the listing and the look.
            with contextlib.suppress(FileNotFoundError):
                total += os.stat(os.path.join(folder, name)).st_size
    return total
