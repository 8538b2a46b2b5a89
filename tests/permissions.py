"""Permissions that hold for root too, so that tests of refused files can run in a container.

Root may write everywhere by a capability, not by being root. Without it the kernel looks at the mode of a file for root as for anybody.
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Generator
from contextlib import contextmanager

OBEDIENT = ("setpriv", "--bounding-set=-dac_override,-dac_read_search", "--inh-caps=-dac_override,-dac_read_search")
"""Before a command: runs it without the right to ignore modes (Linux)."""

_VERSION_3 = 0x20080522
_IGNORE_MODES = (1 << 1) | (1 << 2)
"""CAP_DAC_OVERRIDE and CAP_DAC_READ_SEARCH."""


@contextmanager
def obeying_modes() -> Generator[None]:
    """Make this thread, and those it starts, obey the modes of files for the length of the context."""
    if os.geteuid() != 0:
        yield
        return
    libc = ctypes.CDLL(None, use_errno=True)
    header = (ctypes.c_uint32 * 2)(_VERSION_3, 0)
    # Twice (low and high) effective, permitted and inheritable.
    before = (ctypes.c_uint32 * 6)()
    _checked(libc.capget(header, before))
    fewer = (ctypes.c_uint32 * 6)(*before)
    fewer[0] &= ~_IGNORE_MODES
    _checked(libc.capset(header, fewer))
    try:
        yield
    finally:
        _checked(libc.capset(header, before))


def _checked(result: int) -> None:
    if result != 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
