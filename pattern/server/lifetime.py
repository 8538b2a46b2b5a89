"""When a stdio server ends: its stdin does, it is told to, or who started it is gone. Then within two seconds.

An orphan would hold a connection, and with it the background node, for ever. Orderly ways come first (the wire ends,
everything is closed); `end_within` makes sure, since a thread that blocks on a pipe, or a hung call, cannot be
cancelled. The parent is watched by asking who it is: PDEATHSIG would fire already when the thread that started us ends.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from collections.abc import Callable

GRACE_S = 1.4
POLL_S = 0.25


def end_within(seconds: float, code: int = 0) -> None:
    """Make sure that this process is gone after so many seconds, whatever hangs."""
    timer = threading.Timer(seconds, leave, (code,))
    timer.daemon = True
    timer.start()


def leave(code: int) -> None:
    """End this process now, without waiting for threads."""
    try:
        sys.stderr.flush()
    finally:
        os._exit(code)


def watch_parent(parent: int, ended: Callable[[], None]) -> None:
    """Call `ended` (in a thread) when `parent`, the process that started this one, is gone."""

    def poll() -> None:
        while os.getppid() == parent:
            time.sleep(POLL_S)
        end_within(GRACE_S)
        ended()

    threading.Thread(target=poll, name="parent-watch", daemon=True).start()


def on_signals(ended: Callable[[], None]) -> None:
    """Call `ended` (in the main thread) on SIGTERM, SIGINT or SIGHUP."""

    def told(_number: int, _frame: object) -> None:
        end_within(GRACE_S)
        ended()

    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, told)
