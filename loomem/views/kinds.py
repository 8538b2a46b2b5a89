"""Which view folds what: a bucket holds values of several kinds under one prefix, and each kind has its view."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Protocol

from identity.keys import Key, Kind, parse_key
from identity.ports import Entry, Marker
from identity.visibility import Sight
from loomem.views.records import Records

_MEMORY = str(Kind.MEMORY)


class View(Protocol):
    """A view that is folded from the values of one kind."""

    def apply(self, sight: Sight, key: Key, change: Entry | Marker) -> None:
        """Take one change. Those of one key come in order, and a repeated one must do no harm."""
        ...

    def keys(self, sight: Sight) -> Iterable[str]:
        """Return the keys of everything held under a sight."""
        ...

    def forget(self, sight: Sight, key: Key) -> None:
        """Take away what the bucket does not hold any more."""
        ...


class Kinds:
    """The records and the other views, as one for whoever follows a feed."""

    def __init__(self, records: Records, others: Mapping[Kind, View]) -> None:
        self._records = records
        self._others = others

    def apply(self, sight: Sight, change: Entry | Marker) -> None:
        """Take one change of a bucket; of a kind that no view folds, nothing is taken."""
        if change.key.split(".", 3)[2:3] == [_MEMORY] or not self._others:
            self._records.apply(sight, change)
        elif (key := parse_key(change.key)) is not None and (view := self._others.get(key.kind)) is not None:
            view.apply(sight, key, change)

    def keys(self, sight: Sight) -> Iterator[str]:
        """Yield the keys of everything held under a sight."""
        yield from self._records.keys(sight)
        for view in self._others.values():
            yield from view.keys(sight)

    def forget_keys(self, sight: Sight, keys: Iterable[str]) -> None:
        """Take away what the bucket does not hold any more."""
        memories: list[str] = []
        for name in keys:
            key = parse_key(name)
            if key is not None and (view := self._others.get(key.kind)) is not None:
                view.forget(sight, key)
            else:
                memories.append(name)
        self._records.forget_keys(sight, memories)

    def forget_tombstones(self, sight: Sight) -> None:
        """Take away what is known of deletions under a sight; it is told again or was swept."""
        self._records.forget_tombstones(sight)
