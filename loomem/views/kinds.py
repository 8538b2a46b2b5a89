"""Which view folds what: a bucket holds values of several kinds under one prefix, and each kind has its view."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Protocol

from identity.keys import Key, Kind, parse_key
from identity.ports import Entry, Marker
from identity.visibility import Sight
from loomem.views.records import Records
from loomem.views.stretch import Stretch


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

    @property
    def kinds(self) -> tuple[Kind, ...]:
        """The kinds that are folded."""
        return (Kind.MEMORY, *self._others)

    def apply(self, sight: Sight, change: Entry | Marker) -> None:
        """Take one change of a bucket; of a kind that no view folds, nothing is taken."""
        key = parse_key(change.key)
        if key is None:
            return
        if key.kind is Kind.MEMORY:
            self._records.apply(sight, change, key)
        elif (view := self._others.get(key.kind)) is not None:
            view.apply(sight, key, change)

    def keys(self, stretch: Stretch) -> Iterable[str]:
        """Return the keys of everything held of a stretch."""
        if stretch.kind is Kind.MEMORY:
            return self._records.keys(stretch.sight)
        return self._others[stretch.kind].keys(stretch.sight)

    def forget(self, stretch: Stretch, keys: Iterable[str]) -> None:
        """Take away what the bucket does not hold any more of a stretch."""
        if stretch.kind is Kind.MEMORY:
            self._records.forget_keys(stretch.sight, keys)
            return
        view = self._others[stretch.kind]
        for name in keys:
            if (key := parse_key(name)) is not None:
                view.forget(stretch.sight, key)

    def start_over(self, stretch: Stretch) -> None:
        """Take away what is known of deletions; it is told again or was swept."""
        if stretch.kind is Kind.MEMORY:
            self._records.forget_tombstones(stretch.sight)
