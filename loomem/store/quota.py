"""Quotas: how much one caller may store, counted in its view plus what this process has on its way.

Two processes of one agent may overshoot by what both have on their way, no more. The limits of recent and tasks are soft:
nothing is refused, the oldest are evicted later.
"""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager

import msgspec

from identity.errors import LimitExceeded
from identity.visibility import Scope
from loomem.core.limits import Limits
from loomem.core.record import Category
from loomem.views.projection import Projection


class Slot(msgspec.Struct, eq=False):
    """Memories on their way: they count until the view has them."""

    scope: Scope
    core: bool
    count: int
    written: tuple[str, str, int] | None = None
    """Bucket, key and revision of the last of them, once acknowledged."""


class Quotas:
    """The room left in the caller's own spaces."""

    def __init__(self, projection: Projection, limits: Limits) -> None:
        self._projection = projection
        self._limits = limits
        self._slots: set[Slot] = set()

    @contextmanager
    def slot(self, scope: Scope, core: bool, now_ms: int, *, count: int = 1) -> Generator[Slot]:
        """Hold room for new memories, all core or none.

        Raises: LimitExceeded saying which limit, how much is there and what to do.
        """
        self._forget_applied()
        if core:
            self._check(scope, count, now_ms, core=True)
        self._check(scope, count, now_ms, core=False)
        slot = Slot(scope, core, count)
        self._slots.add(slot)
        try:
            yield slot
        finally:
            if slot.written is None:
                self._slots.discard(slot)

    def lacks(self, scope: Scope, count: int, *, core: bool) -> bool:
        """Say whether the view, as it is, leaves too little room: time to wait for one's own removals before refusing."""
        kinds = (False, True) if core else (False,)
        return any(self._used(scope, core=kind) + count > self.limit(scope, core=kind) for kind in kinds)

    def limit(self, scope: Scope, *, core: bool) -> int:
        """Return how many memories (or core memories) the caller's own part of a scope may hold."""
        if core:
            return self._limits.core
        return self._limits.personal if scope is Scope.PERSONAL else self._limits.space

    def _check(self, scope: Scope, count: int, now_ms: int, *, core: bool) -> None:
        limit = self.limit(scope, core=core)
        if self._used(scope, core=core) + count <= limit:
            return
        used = self._used(scope, core=core, now_ms=now_ms)
        if used + count > limit:
            what = f"core memories in your {scope} space" if core else f"memories of your own in scope {scope}"
            raise LimitExceeded(
                f"{used} of {limit} {what}; forget some that are not needed any more, or raise the limit in the settings",
                currentCount=used,
                maxCount=limit,
                scope=str(scope),
            )

    def _used(self, scope: Scope, *, core: bool, now_ms: int | None = None) -> int:
        """Return how much is there; without `now_ms` what has expired counts too, which is cheaper and never less."""
        used = sum(slot.count for slot in self._slots if slot.scope is scope and (slot.core or not core))
        for shelf in self._projection.records.own(scope):
            if not core or shelf.category is Category.CORE:
                used += len(shelf.rows) if now_ms is None else sum(not row.expired(now_ms) for row in shelf.rows)
        return used

    def _forget_applied(self) -> None:
        applied = [s for s in self._slots if s.written is not None and self._projection.applied(*s.written)]
        self._slots.difference_update(applied)
