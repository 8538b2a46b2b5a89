"""What the collector is told is taken back, and what is held meanwhile is still let go of where nothing points at it."""

from __future__ import annotations

import gc
import weakref

from pattern import collector


class Ring:
    """Points at itself, so only the collector finds out that nobody needs it."""

    def __init__(self) -> None:
        self.me = self


async def test_what_stays_is_looked_at_no_more_until_it_is_released() -> None:
    before = gc.get_threshold()
    gc.set_threshold(700, 10, 10)  # an earlier server in this process may have relaxed it
    ring = Ring()
    seen = weakref.ref(ring)
    try:
        collector.relax()
        assert gc.get_threshold() != (700, 10, 10)
        await collector.settle()
        assert gc.get_freeze_count() > 0
        del ring
        gc.collect()
        assert seen() is not None
        collector.release()
        gc.collect()
        assert seen() is None
    finally:
        gc.unfreeze()
        gc.set_threshold(*before)
