"""A real `python -m pattern` on pipes, spoken to line by line, so that a test sees every byte of it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Self

from pattern.tools import memory, pattern
from tests.house.sources import ROOT

TOOLS = len(memory.TOOLS) + len(pattern.TOOLS)
"""Of the profile that a server has when nobody says."""
HANDSHAKE = {
    "protocolVersion": "2025-11-25",
    "capabilities": {},
    "clientInfo": {"name": "test", "version": "1"},
}
C_LOCALE = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}


def environment(home: Path, settings: Mapping[str, str]) -> dict[str, str]:
    """Return what a server under test gets: nothing of ours but the paths, coverage, and these settings."""
    kept = {name: value for name, value in os.environ.items() if name in ("PATH", "LANG", "COVERAGE_PROCESS_CONFIG")}
    return {
        **kept,
        "HOME": str(home),
        "PYTHONPATH": str(ROOT),
        "PATTERN_HOME": str(home / "memory"),
        "PATTERN_NODE_IDLE_S": "1",
        "MCP_PROJECT_PATH": str(home),
        "PATTERN_FILES_DIR": str(home),
        **settings,
    }


class Served:
    """One server process and the client's ends of its pipes."""

    def __init__(
        self, home: Path, settings: Mapping[str, str], *, program: tuple[str, ...] = ("-m", "pattern")
    ) -> None:
        with (home / "stderr").open("wb") as stderr:
            self.process = subprocess.Popen(
                [sys.executable, *program],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=stderr,
                env=environment(home, settings),
                cwd=home,
            )
        self.home = home
        self.lines: list[bytes] = []
        """Everything it wrote, by lines."""
        self._ids = 0

    def handshake(self) -> Self:
        """Do what every client does first."""
        self.ask("initialize", HANDSHAKE)
        self.send({"jsonrpc": "2.0", "method": "notifications/initialized"})
        return self

    def send(self, message: dict[str, Any] | bytes) -> None:
        """Write one line."""
        assert self.process.stdin is not None
        self.process.stdin.write((message if isinstance(message, bytes) else json.dumps(message).encode()) + b"\n")
        self.process.stdin.flush()

    def post(self, method: str, params: Mapping[str, Any] | None = None) -> int:
        """Send a request and return its id."""
        self._ids += 1
        self.send({"jsonrpc": "2.0", "id": self._ids, "method": method, "params": dict(params or {})})
        return self._ids

    def ask(self, method: str, params: Mapping[str, Any] | None = None) -> Any:
        """Send a request and return its result."""
        ident = self.post(method, params)
        while True:
            message = self.heard()
            if message.get("id") == ident:
                assert "result" in message, message
                return message["result"]

    def call(self, tool: str, **arguments: object) -> Any:
        """Return what a tool answers."""
        return self.ask("tools/call", {"name": tool, "arguments": arguments})

    def heard(self) -> dict[str, Any]:
        """Return the next message."""
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        assert line, f"the server has left: {self.stderr()}"
        self.lines.append(line)
        return json.loads(line)

    def hang_up(self) -> None:
        """Close its stdin."""
        assert self.process.stdin is not None
        self.process.stdin.close()

    def left(self, within_s: float) -> tuple[int, float]:
        """Return its exit code and how long it took to leave."""
        began = time.perf_counter()
        code = self.process.wait(within_s + 5)
        assert self.process.stdout is not None
        self.lines += self.process.stdout.readlines()
        return code, time.perf_counter() - began

    def stderr(self) -> str:
        """Return what it logged."""
        return (self.home / "stderr").read_text("utf-8", "strict")


@contextmanager
def served(
    home: Path, settings: Mapping[str, str], *, program: tuple[str, ...] = ("-m", "pattern")
) -> Generator[Served, None, None]:
    """Run a server for the length of the context."""
    server = Served(home, settings, program=program)
    try:
        yield server
    finally:
        if server.process.poll() is None:
            server.process.kill()
            server.process.wait()
        for pipe in (server.process.stdin, server.process.stdout):
            if pipe is not None:
                pipe.close()
