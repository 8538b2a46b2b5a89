"""Time and chance, made plain: a clock that moves when told, and ids that count."""

from __future__ import annotations

import itertools
import secrets
import uuid
from datetime import UTC, datetime, timedelta


class ManualClock:
    """A clock (`identity.ports.Clock`) that stands still until it is moved."""

    def __init__(self, now: datetime = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)) -> None:
        self._now = now

    def now(self) -> datetime:
        return self._now

    def advance(self, seconds: float) -> datetime:
        """Move the clock forward and return the new time."""
        self._now += timedelta(seconds=seconds)
        return self._now

    def set(self, now: datetime) -> None:
        """Put the clock to a time; backwards too."""
        self._now = now


class SequentialIds:
    """Ids (`identity.ports.Ids`) in a countable order: valid version-4 UUIDs that sort as they were made.

    Two instances never give the same id, unless they are given the same `seed`.
    """

    def __init__(self, *, seed: int | None = None) -> None:
        self._seed = secrets.randbits(48) if seed is None else seed
        self._count = itertools.count(1)

    def memory_id(self) -> str:
        return str(uuid.UUID(int=(self._seed << 80) | next(self._count), version=4))

    def op_id(self) -> str:
        return f"op-{self._seed:x}-{next(self._count)}"
