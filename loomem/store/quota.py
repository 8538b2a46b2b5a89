"""Quotas: how much one caller may store, counted in its view plus what this process has on its way.

Near a limit it is counted once the caller's own acknowledged writes are in the view, and with them what others wrote before:
so calls of several processes of one agent overshoot by their number, no more. The limits of recent and tasks are soft: nothing
is refused, the oldest are evicted later.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import contextmanager

from identity.errors import LimitExceeded
from identity.visibility import Scope
from loomem.core.limits import Limits
from loomem.core.record import Category
from loomem.views.projection import Projection

NEAR = 1_000
"""With less room than this left, the view is waited for: others write less while it lags."""


class Slot:
    """Memories on their way: they count until the view has them."""

    def __init__(self, projection: Projection, scope: Scope, stream: str | None, *, new: int, core: int) -> None:
        self.scope = scope
        self.stream = stream
        self.new = new
        """How many the space gains."""
        self.core = core
        """How many of its core memories it gains; without `new` when a memory that is there becomes core."""
        self.applied: Callable[[], bool] | None = None
        """Says whether the view has them, once they are written."""
        self._projection = projection

    def note(self, bucket: str, key: str, revision: int) -> None:
        """Say that they are written; of several calls the last counts."""
        self.applied = self._projection.mark(bucket, key, revision)


class Quotas:
    """The room left in the caller's own spaces."""

    def __init__(self, projection: Projection, limits: Limits) -> None:
        self._projection = projection
        self._limits = limits
        self._slots: set[Slot] = set()

    @contextmanager
    def slot(self, scope: Scope, now_ms: int, stream: str | None = None, *, new: int, core: int) -> Generator[Slot]:
        """Hold room.

        Raises: LimitExceeded saying which limit, how much is there and what to do.
        """
        self._forget_applied()
        self._check(scope, stream, core, now_ms, core=True)
        self._check(scope, stream, new, now_ms, core=False)
        slot = Slot(self._projection, scope, stream, new=new, core=core)
        self._slots.add(slot)
        try:
            yield slot
        finally:
            if slot.applied is None:
                self._slots.discard(slot)

    def is_near(self, scope: Scope, stream: str | None = None, *, new: int, core: int) -> bool:
        """Say whether the view, as it is, leaves so little room that it must not lag behind one's own writes and removals."""
        return any(
            count > 0 and self._used(scope, stream, core=kind) + count + NEAR > self.limit(scope, core=kind)
            for count, kind in ((new, False), (core, True))
        )

    def limit(self, scope: Scope, *, core: bool) -> int:
        """Return how many memories (or core memories) the caller's own part of a scope may hold."""
        if core:
            return self._limits.core
        return self._limits.personal if scope is Scope.PERSONAL else self._limits.space

    def _fits(self, scope: Scope, stream: str | None, count: int, *, core: bool) -> bool:
        return count == 0 or self._used(scope, stream, core=core) + count <= self.limit(scope, core=core)

    def _check(self, scope: Scope, stream: str | None, count: int, now_ms: int, *, core: bool) -> None:
        if self._fits(scope, stream, count, core=core):
            return
        limit, used = self.limit(scope, core=core), self._used(scope, stream, core=core, now_ms=now_ms)
        if used + count > limit:
            where = f"scope {scope}" if stream is None else f"stream {stream}"
            what = f"core memories in your {scope} space" if core else f"memories of your own in {where}"
            raise LimitExceeded(
                f"{used} of {limit} {what}; forget some that are not needed any more, or raise the limit in the settings",
                currentCount=used,
                maxCount=limit,
                scope=str(scope),
            )

    def _used(self, scope: Scope, stream: str | None, *, core: bool, now_ms: int | None = None) -> int:
        """Return how much is there; without `now_ms` what has expired counts too, which is cheaper and never less."""
        slots = (slot for slot in self._slots if slot.scope is scope and slot.stream == stream)
        used = sum(slot.core if core else slot.new for slot in slots)
        for shelf in self._projection.records.own(scope, stream):
            if not core or shelf.category is Category.CORE:
                used += len(shelf.rows) if now_ms is None else sum(not row.expired(now_ms) for row in shelf.rows)
        return used

    def _forget_applied(self) -> None:
        applied = [slot for slot in self._slots if slot.applied is not None and slot.applied()]
        self._slots.difference_update(applied)
