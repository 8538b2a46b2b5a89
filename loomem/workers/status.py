"""How the workers are: what they did, what waits, what failed. Names, numbers and times only, never content."""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum

import msgspec

from loomem.core.times import iso


class State(StrEnum):
    STARTING = "starting"
    """No bucket is served yet."""
    WAITING = "waiting"
    """Everything known is done."""
    WORKING = "working"
    DISCONNECTED = "disconnected"
    DRAINING = "draining"
    STOPPED = "stopped"


class WorkerStatus(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """One worker of one crew. Counts are since the crew started; `pending` and `dead` are those of all crews together."""

    name: str
    state: State
    buckets: int
    """Buckets it serves now."""
    processed: int
    failed: int
    retried: int
    dead: int
    """Jobs given up, whose failure stands in their bucket."""
    pending: int | None
    """Jobs waiting or given out; None while the broker cannot say."""
    last_run_at: str | None = None
    last_error: str | None = None


class Tally(msgspec.Struct, kw_only=True):
    """What one worker counts while it runs."""

    buckets: int = 0
    busy: int = 0
    processed: int = 0
    failed: int = 0
    retried: int = 0
    last_run_at: str | None = None
    last_error: str | None = None

    def did(self, now: datetime, count: int = 1) -> None:
        self.processed += count
        self.last_run_at = iso(now)

    def erred(self, now: datetime, error: str) -> None:
        self.last_run_at = iso(now)
        self.last_error = error
