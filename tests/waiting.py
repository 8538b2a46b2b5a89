"""Waiting for what has no event: a file, another process's end, what a broker does by itself."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

LOOK_S = 0.01
WITHIN_S = 10.0
"""Longer than anything takes that will happen: a guard against hanging, and no claim on speed."""


async def eventually(holds: Callable[[], bool | Awaitable[bool]], *, within_s: float = WITHIN_S) -> None:
    """Return once something holds. Raises: TimeoutError."""
    async with asyncio.timeout(within_s):
        while True:
            held = holds()
            if held if isinstance(held, bool) else await held:
                return
            await asyncio.sleep(LOOK_S)
