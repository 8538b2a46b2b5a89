"""What only the kernel can promise: a lock that dies with its holders, a process that is still that process.

POSIX alone; on Windows importing works and using says what to do instead.
"""

from __future__ import annotations

import asyncio
import ctypes
import os
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from identity.errors import Unavailable

if sys.platform != "win32":
    import fcntl

POLL_S = 0.02
"""How often a lock or another process is looked at: there is no event for either."""

PR_SET_PDEATHSIG = 1
SIGKILL = 9

# Runs in a fresh interpreter, because forking a client with threads is not safe. The node is a grandchild in a session
# of its own: no terminal, no zombie in a client that outlives it, nothing of the client's stdio.
_DETACH = """
import os, sys
os.setsid()
child = os.fork()
if child:
    os.write(1, b"%d" % child)
    os._exit(0)
os.dup2(2, 1)
try:
    os.execvp(sys.argv[1], sys.argv[1:])
except OSError as error:
    sys.exit(f"{sys.argv[1]}: {error.strerror}")
"""


def require_posix() -> None:
    """Raises: Unavailable, on Windows."""
    if sys.platform == "win32":
        raise Unavailable(
            "On Windows the memory needs a NATS server of its own: start nats-server with JetStream (for example in "
            "Docker or WSL) and set NATS_URL, for example NATS_URL=nats://127.0.0.1:4222. There is no background node."
        )


def try_lock(path: Path) -> int | None:
    """Take a lock and return the descriptor that holds it, or None when somebody else has it.

    The lock belongs to the open file: it lasts until the descriptor and all that were inherited from it are closed.

    Raises: Unavailable (the file system has no locks).
    """
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    taken = False
    try:
        taken = _flock(descriptor, path, exclusive=True)
    finally:
        if not taken:
            os.close(descriptor)
    return descriptor if taken else None


async def take_lock(path: Path, timeout_s: float) -> int | None:
    """Do the same, but wait for the holder to go.

    A start needs this: the nats-server of a node killed a moment ago may still be dying, and a client that looks
    whether the lock is held has it, shared, for a moment.
    """
    deadline = asyncio.get_running_loop().time() + timeout_s
    while (descriptor := try_lock(path)) is None:
        if asyncio.get_running_loop().time() > deadline:
            return None
        await asyncio.sleep(POLL_S)
    return descriptor


def is_locked(path: Path) -> bool:
    """Return whether somebody holds the lock.

    Raises: Unavailable (the file system has no locks).
    """
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_CLOEXEC)
    except FileNotFoundError:
        return False
    try:
        return not _flock(descriptor, path, exclusive=False)
    finally:
        os.close(descriptor)


def _flock(descriptor: int, path: Path, *, exclusive: bool) -> bool:
    try:
        fcntl.flock(descriptor, (fcntl.LOCK_EX if exclusive else fcntl.LOCK_SH) | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError as error:
        raise Unavailable(
            f"The file system of {path.parent} cannot lock files ({error.strerror}). "
            "Point PATTERN_HOME to a folder on a local disk."
        ) from error
    return True


def start_mark(pid: int) -> str | None:
    """Return when the kernel started a process, as it says it; None when it is gone or the kernel does not tell."""
    _, mark = _state_and_start(pid)
    return mark


def is_alive(pid: int, started: str | None) -> bool:
    """Return whether the process runs and is the one that was started then (where the kernel tells)."""
    try:
        os.kill(pid, 0)
    except (ProcessLookupError, PermissionError):
        return False
    state, mark = _state_and_start(pid)
    # A zombie has an id and nothing else; whoever should bury it may never do so.
    return state != "Z" and (started is None or mark == started)


def _state_and_start(pid: int) -> tuple[str | None, str | None]:
    try:
        stat = Path(f"/proc/{pid}/stat").read_text("utf-8", "replace")
    except OSError:
        return None, None
    # The command name, in parentheses, may itself hold spaces and parentheses.
    fields = stat.rpartition(")")[2].split()
    return fields[0], fields[19]


def spawn_detached(
    command: Sequence[str], *, folder: Path, log: int, environment: Mapping[str, str] | None = None
) -> int:
    """Start a process that outlives us and shares nothing with us, and return its id.

    Raises: Unavailable.
    """
    try:
        done = subprocess.run(
            [sys.executable, "-I", "-S", "-c", _DETACH, *command],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=log,
            # Not the client's folder: it may be removed, and its modules must not be found before ours.
            cwd=folder,
            env=environment,
            timeout=10,
            check=True,
        )
    except (OSError, subprocess.SubprocessError) as error:
        raise Unavailable(f"The memory node cannot be started: {error}") from error
    return int(done.stdout)


def die_with_parent() -> Callable[[], None]:
    """Return what a child must run before its `exec` so that the kernel kills it when its parent dies (Linux).

    The kernel watches the *thread* that started the child: spawn from the main thread only.
    """
    libc = ctypes.CDLL(None, use_errno=True)
    parent = os.getpid()

    def before_exec() -> None:
        # The parent may have died before the kernel was asked to watch it.
        if libc.prctl(PR_SET_PDEATHSIG, SIGKILL) != 0 or os.getppid() != parent:
            os._exit(127)

    return before_exec
