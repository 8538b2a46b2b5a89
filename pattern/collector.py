"""What the process tells its garbage collector and its allocator: that what the views hold stays.

Loading makes hundreds of thousands of objects and hardly any garbage, and a collector that counts what is made would go
through all of them again and again, and through everything that is held whenever it is thorough: a pause that grows with
the store. And the allocator keeps the pages that loading needed, a fifth of the process and more.
"""

from __future__ import annotations

import asyncio
import ctypes
import gc
from contextlib import suppress

YOUNG, MIDDLE, OLD = 20_000, 20, 50
"""Objects, then rounds, after which each generation is gone through; Python's own are 700, 10 and 10."""


def relax() -> None:
    """Have the collector look less often: from here on much is made that stays."""
    gc.set_threshold(YOUNG, MIDDLE, OLD)


async def settle() -> None:
    """Leave what is there now out of every collection, and give back the memory that is free."""
    gc.collect(1)
    gc.freeze()
    await asyncio.to_thread(_trim)


def release() -> None:
    """Let the collector look at everything again: what was held is held no more."""
    gc.unfreeze()


def _trim() -> None:
    with suppress(AttributeError, OSError):  # glibc has it, others give back by themselves or not at all
        ctypes.CDLL(None).malloc_trim(0)
