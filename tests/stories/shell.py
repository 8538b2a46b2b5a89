"""The command `pattern-memory`, as a shell runs it."""

from __future__ import annotations

import os
import pty
import subprocess
import sys
from pathlib import Path

from tests.stories.served import environment


class Shell:
    """Runs `pattern-memory` in one folder against one broker."""

    def __init__(self, home: Path, settings: dict[str, str]) -> None:
        self._home = home
        self._settings = settings

    def run(self, *arguments: str, text: str = "", **settings: str) -> subprocess.CompletedProcess[str]:
        """Return what a command did."""
        return subprocess.run(
            [sys.executable, "-m", "pattern", *arguments],
            input=text,
            env=environment(self._home, {**self._settings, **settings}),
            cwd=self._home,
            capture_output=True,
            timeout=60,
            check=False,
            encoding="utf-8",
        )

    def run_on_terminal(self, *arguments: str, **settings: str) -> str:
        """Return what a command that succeeds draws on the terminal that its stderr is."""
        ours, theirs = pty.openpty()
        with os.fdopen(ours, "rb", buffering=0) as screen, os.fdopen(theirs, "wb") as terminal:
            subprocess.run(
                [sys.executable, "-m", "pattern", *arguments],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=terminal,
                env=environment(self._home, {**self._settings, "TERM": "xterm", **settings}),
                cwd=self._home,
                timeout=60,
                check=True,
            )
            os.set_blocking(ours, False)
            return (screen.read(65_536) or b"").decode()
