"""The view of rulings on names: which pairs somebody said to be one or two, where. What it means is `core.graph.joining`."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import msgspec

from identity.errors import Corrupt
from identity.keys import Key, escape_token
from identity.ports import Entry, Marker
from identity.visibility import Scope, Sight
from loomem.core.graph.names import key_of
from loomem.core.graph.ruling import Ruling, Verdict, decode, ruling_id
from loomem.core.row import Place
from loomem.views.records import Records


class Ruled(msgspec.Struct, frozen=True):
    """A ruling and where it stands."""

    place: Place
    ruling: Ruling

    @property
    def counts_before(self) -> tuple[bool, str, str]:
        """Of two rulings on one pair, the caller's own counts before another's, and the later before the earlier."""
        return self.place.mine, self.ruling.at, self.ruling.agent_id


class Rulings:
    """The rulings that one caller may see."""

    def __init__(self, records: Records) -> None:
        self._records = records
        self._held: dict[tuple[str, str], Ruled | None] = {}
        """By bucket and key; None = unreadable."""

    # --- folding ---

    def apply(self, sight: Sight, key: Key, change: Entry | Marker) -> None:
        """Take what a key holds now."""
        address = sight.bucket, change.key
        self._held.pop(address, None)
        if isinstance(change, Entry):
            try:
                ruling = decode(change.value)
            except Corrupt:
                self._held[address] = None
                return
            placed = escape_token(ruling_id(ruling.name, ruling.into)) == key.id
            self._held[address] = Ruled(self._records.place(sight, key), ruling) if placed else None

    def keys(self, sight: Sight) -> Iterator[str]:
        """Yield the keys of everything held under a sight."""
        under = sight.filter.removesuffix(">")
        for bucket, name in self._held:
            if bucket == sight.bucket and name.startswith(under):
                yield name

    def forget(self, sight: Sight, key: Key) -> None:
        """Take away what the bucket does not hold any more."""
        self._held.pop((sight.bucket, key.beside(key.kind)), None)

    # --- reading ---

    def within(self, within: Callable[[Place], bool]) -> list[Ruling]:
        """Return the rulings that count in some places, one for each pair.

        What strangers ruled in public counts for nobody but themselves.
        """
        if not self._held:
            return []
        found: dict[str, Ruled] = {}
        for ruled in self._held.values():
            if ruled is None or not within(ruled.place) or (ruled.place.scope is Scope.PUBLIC and not ruled.place.mine):
                continue
            pair = ruling_id(ruled.ruling.name, ruled.ruling.into)
            known = found.get(pair)
            if known is None or ruled.counts_before > known.counts_before:
                found[pair] = ruled
        return [ruled.ruling for ruled in sorted(found.values(), key=lambda one: (one.ruling.at, one.ruling.name))]


class Decided:
    """What some rulings say of names."""

    def __init__(self, rulings: list[Ruling]) -> None:
        self._into: dict[str, str] = {}
        self._from: dict[str, list[str]] = {}
        self._split: set[frozenset[str]] = set()
        for ruling in rulings:
            name, into = key_of(ruling.name), key_of(ruling.into)
            if ruling.verdict is Verdict.SPLIT:
                self._split.add(frozenset((name, into)))
            else:
                self._into[name] = into  # of several the latest
        for name, into in self._into.items():
            self._from.setdefault(into, []).append(name)

    def merged(self, key: str) -> str | None:
        """Return the name that a name was ruled to go by."""
        return self._into.get(key)

    def merges(self, key: str) -> list[str]:
        """Return the names that were ruled to go by a name."""
        return self._from.get(key, [])

    def is_split(self, one: str, other: str) -> bool:
        """Say whether two names were ruled to be two entities."""
        return frozenset((one, other)) in self._split
