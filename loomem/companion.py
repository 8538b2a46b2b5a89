"""A task that lives as long as a context: what every part uses that does something behind its callers."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any

INSIST_S = 0.5
"""After so long a cancellation is repeated."""


class Companion:
    """One task that runs as long as a context is entered.

    A bare `TaskGroup` in a context manager would wrap every exception of the body in a group; this one wraps only what
    the task itself raised.
    """

    def __init__(self) -> None:
        self._group = asyncio.TaskGroup()
        self._task: asyncio.Task[None] | None = None

    async def start(self, work: Coroutine[Any, Any, None], name: str) -> None:
        await self._group.__aenter__()
        self._task = self._group.create_task(work, name=name)

    async def stop(self, error: BaseException | None) -> None:
        """Cancel the task and wait for its end. Raises: what the task raised, as a group."""
        while self._task is not None and not self._task.done():
            # More than once, in case a library underneath takes a cancellation for its own.
            self._task.cancel()
            await asyncio.wait((self._task,), timeout=INSIST_S)
        # A cancellation may be the group's own way to end the body, so the group has to see it.
        cancelled = error if isinstance(error, asyncio.CancelledError) else None
        await self._group.__aexit__(type(cancelled) if cancelled else None, cancelled, None)
