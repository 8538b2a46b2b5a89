"""The view of ratings: what everybody whose ratings one caller may see said of each memory.

A rating stands under its rater's prefix beside the space of what it rates, and counts for the memory whose owner and
id it names.
Unreadable ones count for nothing. Deliberately absent: rating (`loomem.store.feedback`), what it is worth (`core.rating`).
"""

from __future__ import annotations

from collections.abc import Iterator

from identity.errors import Corrupt
from identity.keys import Key, Root, escape_token
from identity.ports import Entry, Marker
from identity.visibility import Sight
from loomem.core.rating import NOTHING, Rating, Ratings, decode, together
from loomem.core.row import Row

_Address = tuple[str, Root, str, str]
"""Bucket, root, and the tokens of owner and id. What is told of core memories stands under `agents`."""


class Feedback:
    """Ratings of memories, summed up over their raters."""

    def __init__(self) -> None:
        self._by: dict[_Address, dict[str, Ratings]] = {}
        """By the key of each rater's record."""
        self._of: dict[tuple[str, str], _Address] = {}
        """What each record rates, by its bucket and key."""
        self._sums: dict[_Address, Rating] = {}

    # --- folding ---

    def apply(self, sight: Sight, key: Key, change: Entry | Marker) -> None:
        """Take one change."""
        self.forget(sight, key)
        if isinstance(change, Entry):
            try:
                ratings = decode(change.value)
            except Corrupt:
                return
            address = self._of[sight.bucket, change.key] = _address(sight.bucket, key.root, ratings.owner, key.id)
            held = self._by.setdefault(address, {})
            held[change.key] = ratings
            self._sums[address] = together(held.values())

    def keys(self, sight: Sight) -> Iterator[str]:
        """Yield the keys of everything held under a sight."""
        under = sight.filter.removesuffix(">")
        for (bucket, *_), held in self._by.items():
            if bucket == sight.bucket:
                yield from (key for key in held if key.startswith(under))

    def forget(self, sight: Sight, key: Key) -> None:
        """Take away what the bucket does not hold any more."""
        name = key.beside(key.kind)
        address = self._of.pop((sight.bucket, name), None)
        if address is None:
            return
        held = self._by[address]
        del held[name]
        if held:
            self._sums[address] = together(held.values())
        else:
            del self._by[address], self._sums[address]

    # --- reading ---

    def of(self, row: Row) -> Rating:
        """Return what was said of a row."""
        if not self._sums:
            return NOTHING
        return self._sums.get(
            _address(row.place.bucket, row.place.root, row.place.owner, escape_token(row.id)), NOTHING
        )

    def count(self) -> int:
        """Return how many memories were rated."""
        return len(self._sums)


def _address(bucket: str, root: Root, owner: str, token: str) -> _Address:
    return bucket, Root.AGENTS if root is Root.CORE else root, owner, token
