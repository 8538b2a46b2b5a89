"""Takes the client's pipes away from descriptors 0 and 1, before anything is imported that might use them.

From then on a stray `print`, a warning or a child process writes to stderr and reads nothing, so stdout carries JSON-RPC
alone from its first byte. Nothing but the standard library may be imported here.
"""

from __future__ import annotations

import os
from typing import BinaryIO


def claim() -> tuple[BinaryIO, BinaryIO]:
    """Return the client's ends of stdin and stdout; descriptors 0 and 1 lead elsewhere from now on."""
    stdin = os.fdopen(os.dup(0), "rb")
    stdout = os.fdopen(os.dup(1), "wb")
    nothing = os.open(os.devnull, os.O_RDWR)
    os.dup2(nothing, 0)
    try:
        os.dup2(2, 1)
    except OSError:  # started without a stderr
        os.dup2(nothing, 1)
        os.dup2(nothing, 2)
    os.close(nothing)
    return stdin, stdout
