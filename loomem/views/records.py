"""The view of records: every memory that one caller may see, folded from what the buckets tell.

Rows lie on shelves by place and category, so counts are lengths and a recall touches only what it asks for. A shelf keeps
the order of the last changes, so sorting by date finds it nearly sorted.
Deliberately absent: any I/O, any wait, any write to a bucket; the projection feeds it, recall and quotas read it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import count
from typing import Protocol

from msgspec.structs import force_setattr as set_field

from identity.agent import Caller
from identity.errors import Corrupt
from identity.keys import Key, Kind, Root, Space, escape_token, parse_key, stream_of_token, unescape_token
from identity.ports import Entry, Marker, Reason
from identity.visibility import Scope, Sight, may_change, sights
from loomem.core.recall import Shelf
from loomem.core.record import Category, Memory, decode
from loomem.core.row import Place, Row, check_belongs, row_of
from loomem.views.chains import Chains, Group, Member, group_of
from loomem.views.taken import Taken

_Shelves = dict[Category, dict[str, Row]]
_Address = tuple[str, str]
"""Bucket and key."""
FOLDED_LIMIT = 16_000_000
"""Characters of folded content kept for search: all of some 10 000 memories; beyond it, search folds as it goes."""
TOLD_AT_ONCE = 250
"""Rows that a view is told of before others have their turn: a millisecond or two."""
_SHARED_LIMIT = 20_000
"""Sets of tags, and names, remembered for sharing between rows."""


class Watcher(Protocol):
    """A view that is made of visible rows: expired ones and superseded ones included, deleted ones not."""

    def put(self, row: Row) -> None:
        """Take a row that has become visible. A memory that changes is another row, with another number."""
        ...

    def drop(self, row: Row) -> None:
        """Let go of a row that is not visible any more."""
        ...


class Records:
    """The memories one caller may see."""

    def __init__(self, caller: Caller, within: Sequence[Sight] | None = None) -> None:
        """Hold what lies under the caller's sights, or under those given, which a worker may have."""
        self._caller = caller
        self._sights = sights(caller) if within is None else tuple(within)
        self._places: dict[tuple[int, str], Place] = {}
        self._shelves: dict[Place, _Shelves] = {}
        self._own: list[_Shelves] = []
        """Those of the caller's own places."""
        self._shadowed: dict[Place, dict[str, Row]] = {}
        """Older copies of memories that are on their way between two of the caller's places."""
        self._deleted: dict[Place, dict[str, Row]] = {}
        """Deleted ones that may still be restored."""
        self._stubs: dict[Place, dict[str, Row]] = {}
        """What is left of erased ones that took another's place."""
        self._groups: dict[Group, list[Place]] = {}
        self.chains = Chains(self._members)
        """Which memories took whose place."""
        self.taken = Taken()
        """What was taken from which source."""
        self._numbers = count(1)
        self._by_number: dict[int, Row] = {}
        self._watchers: list[Watcher] = []
        self._corrupt: dict[_Address, tuple[Scope, str]] = {}
        self._forgotten: dict[str, set[Place]] = {}
        """Tokens of ids that somebody deleted from the caller's own places, for as long as their tombstones are known."""
        self._folded_size = 0
        self._shared_tags: dict[tuple[str, ...], tuple[str, ...]] = {}
        self._shared_strings: dict[str, str] = {}

    def watch(self, watcher: Watcher) -> None:
        """Tell a view of every row, those that are there already first."""
        self._watchers.append(watcher)
        for row in self._by_number.values():
            watcher.put(row)

    def watch_in_turns(self, watcher: Watcher) -> Iterator[None]:
        """Tell a view of every row, some at each turn; of what changes meanwhile it is told at once.

        So it may be told of a row twice, and to drop one that it was never told of.
        """
        numbers = list(self._by_number)
        self._watchers.append(watcher)
        for at in range(0, len(numbers), TOLD_AT_ONCE):
            for number in numbers[at : at + TOLD_AT_ONCE]:
                if (row := self._by_number.get(number)) is not None:
                    watcher.put(row)
            yield

    def unwatch(self, watcher: Watcher) -> None:
        """Tell a view nothing more."""
        if watcher in self._watchers:
            self._watchers.remove(watcher)

    # --- folding ---

    def apply(self, sight: Sight, change: Entry | Marker, key: Key | None = None) -> None:
        """Take one change of a bucket, whose key may be parsed already.

        Changes of one key must come in order; repeated ones do no harm.
        """
        key = key or parse_key(change.key)
        if key is None or key.kind is not Kind.MEMORY:
            return
        place = self._place(sight, key)
        ident = _ident(key.id)
        memory = None
        self._corrupt.pop((sight.bucket, change.key), None)
        if place.mine:
            self._bury(place, key.id, forgotten=isinstance(change, Marker) and change.reason is Reason.FORGET)
        if isinstance(change, Entry):
            try:
                memory = decode(change.value)
                check_belongs(memory, place, key)
            except Corrupt as error:
                memory = None
                self._corrupt[sight.bucket, change.key] = (sight.scope, error.message)
        if memory is not None:
            self._share(memory)
            if memory.erased and place.mine:
                self._bury(place, key.id, forgotten=True)
            self._put(place, memory, change.revision)
        elif ident is not None:
            self._drop(place, ident)
        else:
            self._drop_hashed(place, key.id)

    def keys(self, sight: Sight) -> Iterator[str]:
        """Yield the keys of everything held under a sight, unreadable ones included."""
        for place in self._places_of(sight):
            for rows in self._rows_of(place):
                for ident in rows:
                    yield place.key(ident)
        for bucket, name in self._corrupt:
            if bucket == sight.bucket and _under(sight, name):
                yield name

    def forget_keys(self, sight: Sight, keys: Iterable[str]) -> None:
        """Take away what the bucket does not hold any more."""
        for name in keys:
            self._corrupt.pop((sight.bucket, name), None)
            key = parse_key(name)
            if key is None:
                continue
            ident = _ident(key.id)
            place = self._place(sight, key)
            if ident is None:
                self._drop_hashed(place, key.id)
            else:
                self._drop(place, ident)

    def forget_tombstones(self, sight: Sight) -> None:
        """Take away what is known of deletions under a sight; it is told again or was swept."""
        for place in self._places_of(sight):
            for token in [token for token, places in self._forgotten.items() if place in places]:
                self._bury(place, token, forgotten=False)

    # --- reading ---

    def row(self, number: int) -> Row | None:
        """Return the visible row with a number."""
        return self._by_number.get(number)

    def at(self, sight: Sight, key: Key) -> Row | None:
        """Return the visible row of a memory, by the address of anything that stands beside it."""
        place = self._places.get((self._sights.index(sight), key.owner))
        if place is None or place.root is not key.root:
            return None
        ident = _ident(key.id)
        for rows in self._shelves[place].values():
            if ident is None:
                found = next((row for each, row in rows.items() if escape_token(each) == key.id), None)
            else:
                found = rows.get(ident)
            if found is not None:
                return found
        return None

    def place(self, sight: Sight, key: Key) -> Place:
        """Return the place that a key lies in."""
        return self._place(sight, key)

    def rows(self) -> Collection[Row]:
        """Return every visible row, streams included; not a copy."""
        return self._by_number.values()

    def deleted(self, ident: str) -> list[Row]:
        """Return the deleted rows with this id that are not erased yet, the caller's own first."""
        found = [rows[ident] for rows in self._deleted.values() if ident in rows]
        return sorted(found, key=lambda row: (not row.place.mine, row.place.fetch, row.revision))

    def stubs(self, ident: str) -> list[Row]:
        """Return the caller's own stubs with this id, the newest first."""
        found = [rows[ident] for place, rows in self._stubs.items() if place.mine and ident in rows]
        return sorted(found, key=_age)

    def deleted_rows(self) -> list[Row]:
        """Return every deleted row that is not erased yet."""
        return [row for rows in self._deleted.values() for row in rows.values()]

    def streams(self) -> list[Place]:
        """Return the caller's streams that hold something."""
        return [place for place, shelves in self._shelves.items() if place.stream is not None and any(shelves.values())]

    def places(self) -> list[Place]:
        """Return every place that holds something visible, streams included."""
        return [place for place, shelves in self._shelves.items() if any(shelves.values())]

    def shelves(self) -> list[Shelf]:
        """Return everything visible in the four scopes, in the order of the fetch; expired rows included, streams not."""
        return [
            Shelf(place.scope, category, rows.values())
            for place in sorted(self._shelves, key=lambda place: place.fetch)
            for category, rows in self._shelves[place].items()
            if rows and place.stream is None
        ]

    def find(self, ident: str) -> list[Row]:
        """Return the visible rows with this id: the caller's own first, then in the order of the fetch.

        Ids are unique in what one agent writes; nobody can keep a stranger from using one again.
        """
        return sorted(
            self._each(self._shelves.values(), ident),
            key=lambda row: (not row.place.mine, row.place.fetch, row.revision),
        )

    def copies(self, ident: str) -> list[Row]:
        """Return the caller's own rows with this id, the newest first; more than one while a move is unfinished."""
        copies = list(self._each(self._own, ident))
        copies += [rows[ident] for rows in self._shadowed.values() if ident in rows]
        return sorted(copies, key=_age)

    def forgotten(self, ident: str) -> bool:
        """Say whether the caller erased a memory with this id, as far as its tombstone or stub is still there."""
        return escape_token(ident) in self._forgotten

    def own(self, scope: Scope, stream: str | None = None) -> list[Shelf]:
        """Return the shelves of the caller's own part of a scope, or of one of its streams."""
        return [
            Shelf(scope, category, rows.values())
            for place, shelves in self._shelves.items()
            if place.mine and place.scope is scope and place.stream == stream
            for category, rows in shelves.items()
        ]

    def count(self) -> int:
        """Return how many memories are visible, expired ones included."""
        return len(self._by_number)

    def corrupt(self, scopes: Sequence[Scope] = tuple(Scope)) -> dict[_Address, str]:
        """Return the unreadable records of some scopes and what is wrong with each."""
        return {address: reason for address, (scope, reason) in self._corrupt.items() if scope in scopes}

    # --- within ---

    def _bury(self, place: Place, token: str, *, forgotten: bool) -> None:
        places = self._forgotten.get(token)
        if forgotten:
            self._forgotten.setdefault(token, set()).add(place)
        elif places is not None:
            places.discard(place)
            if not places:
                del self._forgotten[token]

    def _place(self, sight: Sight, key: Key) -> Place:
        number = self._sights.index(sight)
        place = self._places.get((number, key.owner))
        if place is None:
            place = Place(
                bucket=sight.bucket,
                root=key.root,
                owner=key.owner,
                scope=sight.scope,
                fetch=number,
                mine=self._is_mine(sight, key),
                stream=stream_of_token(key.owner) if key.root is Root.STREAMS else None,
            )
            self._places[number, key.owner] = place
            self._groups.setdefault(group_of(place), []).append(place)
            self._shelves[place] = {}
            if place.mine:
                self._own.append(self._shelves[place])
        return place

    def _is_mine(self, sight: Sight, key: Key) -> bool:
        if key.root is Root.STREAMS:
            return sight.mine
        owner = sight.owner if sight.owner is not None else self._caller.agent_id
        return escape_token(owner) == key.owner and may_change(self._caller, Space(sight.bucket, key.root, owner))

    def _rows_of(self, place: Place) -> tuple[dict[str, Row], ...]:
        """Return everything held of a place, visible or not."""
        hidden = (held.get(place, {}) for held in (self._shadowed, self._deleted, self._stubs))
        return (*self._shelves[place].values(), *hidden)

    def _members(self, group: Group, ident: str) -> Iterator[Member]:
        places = self._groups.get(group, ())
        for place in places:
            for rows in self._shelves[place].values():
                if (row := rows.get(ident)) is not None:
                    yield Member(place, row.memory, visible=True)
        for held in (self._shadowed, self._deleted, self._stubs):
            for place in places:
                if (row := held.get(place, {}).get(ident)) is not None:
                    yield Member(place, row.memory, visible=False)

    def _places_of(self, sight: Sight) -> list[Place]:
        number = self._sights.index(sight)
        return [place for (of, _), place in self._places.items() if of == number]

    def _put(self, place: Place, memory: Memory, revision: int) -> None:
        self._take(place, memory.id)
        self.chains.put(place, memory)
        if len(self._shared_tags) > _SHARED_LIMIT:
            self._shared_tags.clear()
        folds = self._folded_size < FOLDED_LIMIT
        row = row_of(memory, place, revision, self._shared_tags, folds=folds, number=next(self._numbers))
        self.taken.put(row)
        if memory.erased or memory.deleted_at is not None:
            hidden = self._stubs if memory.erased else self._deleted
            hidden.setdefault(place, {})[memory.id] = row
            if place.mine:
                self._settle(memory.id)
        elif place.mine:
            self._settle(memory.id, row)
        else:
            self._shelve(row)

    def _share(self, memory: Memory) -> None:
        """Let a record share the strings that many have: a tenth of what it takes."""
        shared = self._shared_strings
        if len(shared) > _SHARED_LIMIT:
            shared.clear()
        set_field(memory, "agent_id", shared.setdefault(memory.agent_id, memory.agent_id))
        set_field(memory, "project_id", shared.setdefault(memory.project_id, memory.project_id))
        if memory.updated_at == memory.created_at:
            set_field(memory, "updated_at", memory.created_at)

    def _drop(self, place: Place, ident: str) -> None:
        self._take(place, ident)
        self.chains.drop(place, ident)
        self.taken.drop(place, ident)
        if place.mine:
            self._settle(ident)

    def _drop_hashed(self, place: Place, token: str) -> None:
        """Drop a record whose id is too long to stand in its key: search for it."""
        for rows in self._rows_of(place):
            for ident in [ident for ident in rows if escape_token(ident) == token]:
                self._drop(place, ident)

    def _take(self, place: Place, ident: str) -> None:
        for hidden in (self._deleted, self._stubs):
            if (rows := hidden.get(place)) is not None:
                rows.pop(ident, None)
                if not rows:
                    del hidden[place]
        taken = None
        for rows in self._shelves[place].values():
            if (taken := rows.pop(ident, None)) is not None:
                del self._by_number[taken.number]
                for watcher in self._watchers:
                    watcher.drop(taken)
                break
        else:
            if (shadow := self._shadowed.get(place)) is not None:
                taken = shadow.pop(ident, None)
                if not shadow:
                    del self._shadowed[place]
        if taken is not None:
            self._folded_size -= taken.folded_size

    def _shadow(self, row: Row) -> None:
        self._folded_size += row.folded_size
        self._shadowed.setdefault(row.place, {})[row.memory.id] = row

    def _shelve(self, row: Row) -> None:
        self._folded_size += row.folded_size
        self._shelves[row.place].setdefault(row.memory.category, {})[row.memory.id] = row
        self._by_number[row.number] = row
        for watcher in self._watchers:
            watcher.put(row)

    def _settle(self, ident: str, row: Row | None = None) -> None:
        """Let the newest of the caller's own copies of a memory be the visible one."""
        others = self.copies(ident)
        if row is None and not others:
            return
        copies = others if row is None else [*others, row]
        newest = min(copies, key=_age)
        for copy in others:
            self._take(copy.place, ident)
        for copy in copies:
            if copy is newest:
                self._shelve(copy)
            else:
                self._shadow(copy)

    def _each(self, places: Iterable[_Shelves], ident: str) -> Iterator[Row]:
        for by_category in places:
            for rows in by_category.values():
                if (row := rows.get(ident)) is not None:
                    yield row


def _age(row: Row) -> tuple[int, int]:
    return -row.updated, row.order


def _ident(token: str) -> str | None:
    """Return the id that a key's token spells, or None when it is hashed or no token of ours."""
    try:
        ident = unescape_token(token)
    except ValueError:
        return None
    return ident if ident is not None and escape_token(ident) == token else None


def _under(sight: Sight, name: str) -> bool:
    return name.startswith(sight.filter.removesuffix(">"))
