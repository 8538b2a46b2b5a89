"""Where a node lives and what it says of itself.

Every node has a folder of its own under the home, named after the broker it serves, so that homes and brokers are
isolated from each other. Files that hold a secret are readable by their owner alone; state is replaced atomically.
"""

from __future__ import annotations

import hashlib
import os
import re
import secrets
from collections.abc import Mapping
from enum import StrEnum
from pathlib import Path

import msgspec

from identity.errors import InvalidInput, Unavailable
from loomem.nats.endpoint import Endpoint, endpoint_from

LOG_BYTES_MAX = 1024 * 1024
"""A log beyond this is put aside (one generation is kept)."""


class NodeSpec(msgspec.Struct, frozen=True, kw_only=True):
    """Which node is meant and how to start it."""

    home: Path
    """Absolute; made with mode 0700 when absent."""
    url: str | None
    """The user's own broker, credentials and all; None = the node brings its own nats-server."""
    version: str
    """Of this program. A node of an older version is replaced."""
    command: tuple[str, ...]
    """The node's command line; must end in `run_node` for an equal spec."""
    idle_s: float
    """The node leaves after so many seconds without a client."""
    environment: Mapping[str, str] | None = None
    """All of the node's environment; None = as ours."""

    def __repr__(self) -> str:
        return f"NodeSpec(home={str(self.home)!r}, version={self.version!r}, embedded={self.url is None})"


class Phase(StrEnum):
    STARTING = "starting"
    RUNNING = "running"
    """Clients may come: the broker, if it is ours, takes connections."""
    STOPPING = "stopping"
    FAILED = "failed"
    """It could not start, or not go on; `error` says why and what to do."""


class NodeState(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The content of `node.json`. Holds no secret."""

    node_id: str
    phase: Phase
    pid: int
    started: str | None = None
    """When the kernel started `pid`, as it says it; None where it does not. Tells a process from one that got its id."""
    version: str
    url: str
    """Without any secret."""
    since: float
    """Units: seconds since the epoch."""
    port: int | None = None
    server_pid: int | None = None
    error: str | None = None
    """Why it failed; of a running node, why its workers do not work."""


class NodeFiles(msgspec.Struct, frozen=True):
    """The paths of one node, and the only code that reads and writes there."""

    root: Path

    @classmethod
    def of(cls, spec: NodeSpec) -> NodeFiles:
        return cls(spec.home / "node" / node_key(spec.url))

    @property
    def state(self) -> Path:
        return self.root / "node.json"

    @property
    def lock(self) -> Path:
        """Held by the node and its nats-server while either lives."""
        return self.root / "lock"

    @property
    def launch_lock(self) -> Path:
        """Held by the one client that is just starting or replacing the node."""
        return self.root / "launch.lock"

    @property
    def token(self) -> Path:
        return self.root / "token"

    @property
    def config(self) -> Path:
        return self.root / "nats.conf"

    @property
    def store(self) -> Path:
        return self.root / "js"

    @property
    def ports(self) -> Path:
        """Where nats-server says on which port it listens."""
        return self.root / "ports"

    @property
    def last_port(self) -> Path:
        return self.root / "port"

    @property
    def log(self) -> Path:
        return self.root / "node.log"

    def prepare(self, home: Path) -> None:
        """Make the folders.

        Raises: InvalidInput (the home is no absolute path), Unavailable (it cannot be used; says what to do).
        """
        if not home.is_absolute():
            raise InvalidInput(f"PATTERN_HOME must be an absolute path, not {str(home)!r}.", field="PATTERN_HOME")
        try:
            str(home).encode()
        except UnicodeEncodeError:
            # nats-server reads the path from its configuration file, which is UTF-8.
            raise InvalidInput(f"PATTERN_HOME must be valid UTF-8, not {str(home)!r}.", field="PATTERN_HOME") from None
        try:
            home.parent.mkdir(parents=True, exist_ok=True)
            for folder in (home, self.root.parent, self.root):
                folder.mkdir(mode=0o700, exist_ok=True)
            found = self.root.stat()
            if found.st_uid == os.geteuid() and found.st_mode & 0o077:
                self.root.chmod(0o700)
        except FileExistsError as error:
            raise Unavailable(_unusable(home, f"{error.filename} is not a directory")) from error
        except OSError as error:
            raise Unavailable(_unusable(home, f"{error.filename or home}: {error.strerror}")) from error
        if found.st_uid != os.geteuid():
            raise Unavailable(_unusable(home, "it belongs to another user"))
        if not os.access(self.root, os.R_OK | os.W_OK | os.X_OK):
            raise Unavailable(_unusable(home, f"{self.root} is not writable"))

    def read_state(self) -> NodeState | None:
        """Return what the last node wrote, whether it still lives or not; None when there is nothing readable."""
        try:
            return msgspec.json.decode(self.state.read_bytes(), type=NodeState)
        except (OSError, msgspec.MsgspecError):
            return None

    def write_state(self, state: NodeState) -> None:
        # After a power failure there is no node whose state could matter: no need to wait for the disk.
        replace_file(self.state, msgspec.json.encode(state), durable=False)

    def remove_state(self) -> None:
        self.state.unlink(missing_ok=True)

    def secret(self) -> str:
        """Return the token of this node's broker; made at the first call, the same ever after."""
        try:
            return self.token.read_text("ascii").strip()
        except FileNotFoundError:
            replace_file(self.token, secrets.token_urlsafe(32).encode())
            return self.token.read_text("ascii").strip()

    def node_id(self) -> str:
        """Return the name by which node and clients meet on the broker: stable, unguessable, no secret itself."""
        return hashlib.sha256(b"node " + self.secret().encode()).hexdigest()[:16]

    def endpoint(self, port: int) -> Endpoint:
        """Return how to reach the node's own broker on this port, token included."""
        return Endpoint(servers=(shown_url(None, port),), token=self.secret())

    def rotate_log(self) -> None:
        """Put a long log aside, so that all logs together stay bounded."""
        try:
            if self.log.stat().st_size > LOG_BYTES_MAX:
                self.log.replace(self.log.with_suffix(".log.1"))
        except FileNotFoundError:
            return

    def trim_log(self) -> None:
        """Do the same while processes have the log open for appending: they go on writing to the emptied file."""
        try:
            if self.log.stat().st_size > LOG_BYTES_MAX:
                replace_file(self.log.with_suffix(".log.1"), self.log.read_bytes()[-LOG_BYTES_MAX:])
                os.truncate(self.log, 0)
        except FileNotFoundError:
            return

    def open_log(self) -> int:
        """Return a descriptor that appends to the log; the caller closes it."""
        return os.open(self.log, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)

    def log_size(self) -> int:
        try:
            return self.log.stat().st_size
        except FileNotFoundError:
            return 0

    def log_tail(self, lines: int, *, offset: int = 0) -> str:
        """Return the last lines of the log that stand behind the offset."""
        try:
            with self.log.open("rb") as log:
                log.seek(max(offset, self.log_size() - LOG_BYTES_MAX))
                text = log.read(LOG_BYTES_MAX).decode("utf-8", "replace")
        except FileNotFoundError:
            return ""
        return "\n".join(text.splitlines()[-lines:])


def node_key(url: str | None) -> str:
    """Return the folder name of the node that serves this broker; credentials and order of a list make no difference."""
    if url is None:
        return "embedded"
    servers = sorted(endpoint_from(url).servers)
    return "url-" + hashlib.sha256("\n".join(servers).encode()).hexdigest()[:16]


def shown_url(url: str | None, port: int | None) -> str:
    """Return the broker's address without any secret."""
    return endpoint_from(url).shown if url is not None else f"nats://127.0.0.1:{port or 0}"


def is_newer(version: str, than: str) -> bool:
    """Return whether a version comes after another one; development and pre-releases come before their release."""
    return _order(version) > _order(than)


_STAGES = {"dev": -4, "a": -3, "b": -2, "rc": -1, "": 0, "post": 1}


def _order(version: str) -> tuple[tuple[int, ...], int, int]:
    match = re.match(r"v?(\d+(?:\.\d+)*)[.-]?(dev|a|b|rc|post|)(\d*)", version)
    if match is None:
        return (), 0, 0
    release = [int(part) for part in match[1].split(".")]
    while release and release[-1] == 0:
        release.pop()
    return tuple(release), _STAGES[match[2]], int(match[3] or 0)


def replace_file(path: Path, content: bytes, *, durable: bool = True) -> None:
    """Write a file that only its owner may read, so that a reader sees the old content or the new."""
    fresh = path.with_name(f".{path.name}.{os.getpid()}")
    descriptor = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        file.write(content)
        if durable:
            file.flush()
            os.fsync(file.fileno())
    fresh.replace(path)


def _unusable(home: Path, why: str) -> str:
    return (
        f"The memory cannot live in {home}: {why}. Point PATTERN_HOME to a local folder you can write to, "
        "or set NATS_URL to use a NATS server of your own."
    )
