"""What waits to be written into the copy of the views: kept as it came, until there is time to write it.

While a store is being loaded nothing may compete with that, and by then it is more than one would hold in memory. So it
is appended to a file without a name, which vanishes with the process, and read back from the front. What is taken is
whole steps, in order.

Told from the event loop and from the thread that takes texts apart. Deliberately absent: what a step does to the copy.
"""

from __future__ import annotations

import os
import tempfile
import threading
from collections import deque
from collections.abc import Iterator
from pathlib import Path
from typing import IO

import msgspec

CHUNK_BYTES = 512 * 1024
"""What is held in memory before it goes to the file, and what is taken at a time."""
LIMIT_BYTES = 1 << 30
_LENGTH_BYTES = 4


class Changed(msgspec.Struct, frozen=True, gc=False, tag="c", array_like=True):
    """A key of a stretch holds something else."""

    stretch: str
    key: str
    revision: int
    at: int
    """Microseconds since 1970."""
    reason: str | None
    value: bytes | None


class Restarted(msgspec.Struct, frozen=True, gc=False, tag="r", array_like=True):
    """A stretch is told from its beginning."""

    stretch: str


class Learnt(msgspec.Struct, frozen=True, gc=False, tag="l", array_like=True):
    """A text was taken apart."""

    address: str
    revision: int
    words: str
    stems: str
    languages: str


Step = Changed | Restarted | Learnt


class Backlog:
    """Steps, the oldest first."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._lock = threading.Lock()
        self._encoder = msgspec.msgpack.Encoder()
        self._newest = bytearray()
        self._file: IO[bytes] | None = None
        self._chunks: deque[tuple[int, int]] = deque()
        """Those in the file: where each begins, and its length."""
        self._end = 0

    def __bool__(self) -> bool:
        return bool(self._newest or self._chunks)

    def add(self, step: Step) -> None:
        """Put a step behind the others. Raises: OSError, also when there are too many."""
        encoded = self._encoder.encode(step)
        with self._lock:
            self._newest += len(encoded).to_bytes(_LENGTH_BYTES, "little")
            self._newest += encoded
            if len(self._newest) >= CHUNK_BYTES:
                self._spill()

    def take(self) -> bytes:
        """Take some of the oldest steps, for `steps_of`; nothing when there are none. Raises: OSError."""
        with self._lock:
            if not self._chunks:
                taken, self._newest = bytes(self._newest), bytearray()
                return taken
            at, length = self._chunks.popleft()
            if self._file is None:
                raise OSError("the file is closed")
            taken = os.pread(self._file.fileno(), length, at)
            if not self._chunks:
                os.ftruncate(self._file.fileno(), 0)
                self._end = 0
            return taken

    def clear(self) -> None:
        """Let go of everything."""
        with self._lock:
            self._newest = bytearray()
            self._chunks.clear()
            if self._file is not None:
                self._file.close()
                self._file = None
            self._end = 0

    def _spill(self) -> None:
        if self._end + len(self._newest) > LIMIT_BYTES:
            raise OSError("the disk does not keep up")
        if self._file is None:
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._file = tempfile.TemporaryFile(dir=self._folder, buffering=0)  # noqa: SIM115 - it lives as long as this
        written = os.pwrite(self._file.fileno(), self._newest, self._end)
        if written != len(self._newest):
            raise OSError("no space left")
        self._chunks.append((self._end, written))
        self._end += written
        self._newest = bytearray()


def steps_of(taken: bytes) -> Iterator[Step]:
    """Yield the steps of what was taken."""
    at = 0
    while at < len(taken):
        length = int.from_bytes(taken[at : at + _LENGTH_BYTES], "little")
        at += _LENGTH_BYTES
        yield _decoder.decode(taken[at : at + length])
        at += length


_decoder = msgspec.msgpack.Decoder(Step)
