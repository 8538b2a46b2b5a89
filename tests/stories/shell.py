"""The command `pattern-memory`, as a shell runs it."""

from __future__ import annotations

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
