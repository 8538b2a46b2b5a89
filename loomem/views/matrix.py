"""The vectors of one model, in one block of memory, and which of them are nearest to a question's. Synchronous.

Rows of half floats; a slot is counted when it has the number of a row, and free when nobody holds it. Up to some tens of
thousands every counted vector is compared. Above, a scan of sign bits (of the components less their mean, as the vectors of
a model all point much the same way) chooses a few thousand, and these are compared.

The block is a bytearray, which grows without being copied and needs no library; numpy is imported by whoever asks first.
No BLAS: its threads spin against each other where cores are few, and a product of this size does not need it.
"""

from __future__ import annotations

from array import array
from collections.abc import Collection
from typing import TYPE_CHECKING

from loomem.core.embedding import Vector
from loomem.core.search.fuse import Hit
from loomem.core.vector import HASH_BYTES

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

EXACT_LIMIT = 20_000
"""Counted vectors up to which each is compared: 4 ms of them. At half of it the scan of signs saves a fifth of the time, and misses a
seventh of the best 500 (`python -m bench vectors`)."""
CHOSEN = 4_000
"""Vectors that the bits choose; at least eight times what is asked for."""
SLICE = 512
"""Rows converted at once, so that they stay in the cache."""
SIGNS_SLICE = 512
MEAN_SAMPLE = 1_000
_ROOM = 1_024
_SCALE = 2.0**112


class _Signs:
    """Which components of each vector are above the mean, a bit each."""

    def __init__(self, mean: NDArray[np.float32], bits: NDArray[np.uint64], dirty: set[int]) -> None:
        self.mean = mean
        self.bits = bits
        """A row for each 64 components, a column for each slot: a scan reads it from end to end."""
        self.dirty = dirty
        """Slots whose vector has changed since."""

    def of(self, vectors: NDArray[np.float32]) -> NDArray[np.uint64]:
        """Return the bits of some vectors, a row each."""
        import numpy as np

        packed = np.packbits(vectors > self.mean, axis=1)
        padded = np.zeros((len(packed), 8 * len(self.bits)), np.uint8)
        padded[:, : packed.shape[1]] = packed
        return padded.view(np.uint64)


class Matrix:
    """The vectors of one model."""

    def __init__(self, dimensions: int, *, exact_limit: int | None = None) -> None:
        self.dimensions = dimensions
        self.exact_limit = EXACT_LIMIT if exact_limit is None else exact_limit
        self.counted = 0
        """Slots that have the number of a row."""
        self._values = bytearray()
        self._hashes = bytearray()
        self._numbers = array("q")
        self._spaces = array("i")
        self._free: list[int] = []
        self._signs: _Signs | None = None

    def __len__(self) -> int:
        return len(self._numbers) - len(self._free)

    # --- holding ---

    def add(self, space: int, hash: bytes, values: Vector) -> int:
        """Hold a vector, counted for no row as yet; return its slot."""
        if self._free:
            slot = self._free.pop()
            self._hashes[slot * HASH_BYTES : (slot + 1) * HASH_BYTES] = hash
            self._values[slot * len(values) : (slot + 1) * len(values)] = values
            self._spaces[slot] = space
        else:
            slot = len(self._numbers)
            self._values += values
            self._hashes += hash
            self._numbers.append(0)
            self._spaces.append(space)
        if self._signs is not None:
            self._signs.dirty.add(slot)
        return slot

    def remove(self, slot: int) -> None:
        """Let go of a slot."""
        self.count(slot, 0)
        self._free.append(slot)

    def count(self, slot: int, number: int) -> None:
        """Let a slot stand for a row, or with 0 for none."""
        self.counted += bool(number) - bool(self._numbers[slot])
        self._numbers[slot] = number

    def hash(self, slot: int) -> bytes:
        """Return the hash of the text that the vector of a slot was made of."""
        return bytes(self._hashes[slot * HASH_BYTES : (slot + 1) * HASH_BYTES])

    def number(self, slot: int) -> int:
        """Return the row that a slot stands for; 0 for none."""
        return self._numbers[slot]

    def vector(self, slot: int) -> Vector:
        """Return the vector of a slot."""
        size = 2 * self.dimensions
        return bytes(self._values[slot * size : (slot + 1) * size])

    # --- asking ---

    def search(self, vector: Vector, spaces: Collection[int] | None, limit: int, *, exact: bool = False) -> list[Hit]:
        """Return the rows in some spaces (None: in all) whose vectors are nearest, the nearest first."""
        import numpy as np

        slots = self._counted(spaces)
        chosen = max(CHOSEN, 8 * limit)
        if not exact and len(slots) > max(self.exact_limit, chosen):
            slots = self._nearby(vector, slots, chosen)
        scores = self._scores(vector, slots)
        if len(slots) > limit:
            best = np.argpartition(-scores, limit)[:limit]
            slots, scores = slots[best], scores[best]
        order = np.lexsort((slots, -scores))
        numbers = np.frombuffer(self._numbers, np.int64)[slots[order]]
        return [Hit(number, score) for number, score in zip(numbers.tolist(), scores[order].tolist(), strict=True)]

    def scores(self, vector: Vector, numbers: Collection[int]) -> list[Hit]:
        """Return how near some rows are, as far as a slot stands for them."""
        import numpy as np

        held = np.frombuffer(self._numbers, np.int64)
        asked = np.fromiter(numbers, np.int64, len(numbers))
        wanted = np.zeros(int(held.max(initial=0)) + 1, np.bool_)
        wanted[asked[asked < len(wanted)]] = True
        wanted[0] = False  # no row
        slots = np.flatnonzero(wanted[held])
        scores = self._scores(vector, slots)
        return [Hit(number, score) for number, score in zip(held[slots].tolist(), scores.tolist(), strict=True)]

    def lengths(self, slots: Collection[int]) -> list[float]:
        """Return how long the vectors of some slots are; of one that is no row of numbers, far from 1."""
        import numpy as np

        chosen = np.fromiter(slots, np.int64, len(slots))
        lengths = np.empty(len(chosen), np.float32)
        for at in range(0, len(chosen), SLICE):
            some = self._floats(chosen[at : at + SLICE])
            np.einsum("ij,ij->i", some, some, out=lengths[at : at + SLICE])
        return np.sqrt(lengths).tolist()

    # --- the signs ---

    def wants_preparing(self) -> bool:
        """Say whether there are so many vectors that their signs are of use, and are not all there."""
        return self.counted > self.exact_limit and (self._signs is None or bool(self._signs.dirty))

    def prepare(self) -> bool:
        """Note the signs of some more vectors; say whether there is more to do. A few milliseconds."""
        import numpy as np

        signs = self._signs
        if signs is None or signs.bits.shape[1] < len(self._numbers):
            signs = self._signs = self._unsigned()
        slots = np.array([signs.dirty.pop() for _ in range(min(len(signs.dirty), SIGNS_SLICE))], np.int64)
        signs.bits[:, slots] = signs.of(self._floats(slots)).T
        return bool(signs.dirty)

    def _unsigned(self) -> _Signs:
        """Return room for the signs of all vectors, with some to spare, and their mean as it is now."""
        import numpy as np

        size = len(self._numbers)
        sample = np.arange(0, size, max(1, size // MEAN_SAMPLE))
        room = np.zeros((-(-self.dimensions // 64), size + size // 4 + _ROOM), np.uint64)
        return _Signs(self._floats(sample).mean(axis=0), room, set(range(size)))

    def _nearby(self, vector: Vector, slots: NDArray[np.int64], count: int) -> NDArray[np.int64]:
        """Return those slots whose signs differ least from the question's; all of them while there are no signs."""
        import numpy as np

        signs = self._signs
        if signs is not None and 0 < len(signs.dirty) <= SIGNS_SLICE:
            self.prepare()
            signs = self._signs
        if signs is None or signs.dirty:
            return slots
        size = len(self._numbers)
        differing = np.zeros(size, np.uint16)
        asked = signs.of(_floats_of(np.frombuffer(vector, np.int16)[None]))[0]
        for row, word in zip(signs.bits, asked, strict=True):
            differing += np.bitwise_count(row[:size] ^ word)
        if len(slots) < size:
            differing = differing[slots]
        return slots[np.argpartition(differing, count)[:count]]

    # --- within ---

    def _counted(self, spaces: Collection[int] | None) -> NDArray[np.int64]:
        import numpy as np

        counted = np.frombuffer(self._numbers, np.int64) > 0
        if spaces is not None:
            held = np.frombuffer(self._spaces, np.int32)
            wanted = np.zeros(int(held.max(initial=0)) + 1, np.bool_)
            wanted[[space for space in spaces if space < len(wanted)]] = True
            counted &= wanted[held]
        return np.flatnonzero(counted)

    def _scores(self, vector: Vector, slots: NDArray[np.int64]) -> NDArray[np.float32]:
        import numpy as np

        asked = _floats_of(np.frombuffer(vector, np.int16)) * _SCALE
        rows = np.frombuffer(self._values, np.int16).reshape(-1, self.dimensions)
        scores = np.empty(len(slots), np.float32)
        dense = len(slots) == len(rows)
        for at in range(0, len(slots), SLICE):
            some = rows[at : at + SLICE] if dense else rows[slots[at : at + SLICE]]
            np.einsum("ij,j->i", _shifted(some), asked, out=scores[at : at + SLICE])
        return scores

    def _floats(self, slots: NDArray[np.int64]) -> NDArray[np.float32]:
        import numpy as np

        return _floats_of(np.frombuffer(self._values, np.int16).reshape(-1, self.dimensions)[slots])


def _floats_of(halves: NDArray[np.int16]) -> NDArray[np.float32]:
    """Return half floats as floats."""
    import numpy as np

    return _shifted(halves) * np.float32(_SCALE)


def _shifted(halves: NDArray[np.int16]) -> NDArray[np.float32]:
    """Return half floats as floats, all divided by `_SCALE`, six times as fast as numpy converts them.

    The bits are shifted to their place; what is left to do, the other bias of the exponent, is a factor. Infinities and
    NaN, which no vector of length 1 has, come out as large numbers.
    """
    import numpy as np

    wide = halves.astype(np.int32)  # the sign fills the upper half
    wide <<= 13
    wide &= np.int32(-0x70002000)  # the sign, and below it what the half float had
    return wide.view(np.float32)
