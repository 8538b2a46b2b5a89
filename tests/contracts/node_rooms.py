"""Homes for nodes in tests: specs that start a real node with a tiny worker, and a look at what processes remain."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path

import msgspec

from identity.ports import Entry, Put
from loomem.nats.link import Link
from loomem.nats.topology import KvBuckets
from loomem.node import NodeFiles, NodeSpec, NodeState, read_state
from loomem.node.broker import DEFAULT_GUARD, Guard
from tests.waiting import eventually

PROGRAM = Path(__file__).with_name("node_process.py")


def node_spec(
    home: Path,
    *,
    url: str | None = None,
    version: str = "1.0.0",
    idle_s: float = 300,
    guard: Guard = DEFAULT_GUARD,
    worker: str = "idle",
) -> NodeSpec:
    command = (sys.executable, str(PROGRAM), str(home), url or "", version, str(idle_s), guard, worker)
    return NodeSpec(home=home, url=url, version=version, command=command, idle_s=idle_s)


async def next_state(spec: NodeSpec, condition: Callable[[NodeState], bool]) -> NodeState:
    """Return the node's state once it is as wanted."""
    found: list[NodeState] = []

    def fits() -> bool:
        state = read_state(spec)
        if state is not None and condition(state):
            found.append(state)
        return bool(found)

    await eventually(fits)
    return found[0]


async def keep_something(link: Link) -> None:
    """Write something that must outlive everything."""
    bucket = await KvBuckets(link).open("loom-memory-global")
    await bucket.write(Put(key="shared.somebody.m.1", value=b"still here", expected=0, op="the first write"))


async def is_kept(link: Link) -> bool:
    bucket = await KvBuckets(link).open("loom-memory-global")
    found = await bucket.get("shared.somebody.m.1")
    return isinstance(found, Entry) and found.value == b"still here"


def runs(pid: int | None) -> bool:
    """Return whether a process is there; a zombie is not, whoever forgets to bury it."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text("utf-8", "replace")
    except OSError:
        return False
    return stat.rpartition(")")[2].split()[0] != "Z"


def processes_of(home: Path) -> list[str]:
    """Return the command lines of all processes that have to do with a home."""
    found: list[str] = []
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit() and int(folder.name) != os.getpid() and runs(int(folder.name)):
            try:
                command = (folder / "cmdline").read_bytes()
            except OSError:
                continue
            if os.fsencode(home) in command:
                found.append(command.replace(b"\0", b" ").decode("utf-8", "replace"))
    return found


def forge(spec: NodeSpec, **changes: object) -> None:
    """Change what the node says of itself."""
    files = NodeFiles.of(spec)
    state = files.read_state()
    assert state is not None
    files.write_state(msgspec.structs.replace(state, **changes))
