"""The view of the graph: what the visible memories say of entities, aliases and relations, and nothing else.

Contributions (kind `g`; rulings on names are of it too) stand beside their memories and come in any order with them; declared relations stand in the memories
and are here with them. Both are kept by the names in them and put together only when somebody asks, for the places and moments
that are asked for (`views.lens`). So an entity, an alias or a relation is there exactly while a memory that may be shown says
so; a contribution made of another text than its memory has now counts for nothing.
Deliberately absent: recognising (`core.graph`), making contributions (`loomem.workers.graph`), any wait.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Iterator

import msgspec

from identity.errors import Corrupt
from identity.keys import Key, Kind, Root
from identity.ports import Entry, Marker
from identity.visibility import Sight
from loomem.core.graph.contribution import Contribution, Named, contribution_of, declared, decode, names_in, unproven
from loomem.core.graph.dictionary import EMPTY, Dictionary
from loomem.core.graph.ruling import is_ruling
from loomem.core.row import Place, Row
from loomem.core.vector import content_hash, text_of
from loomem.views.lens import Lens, Support
from loomem.views.postings import Postings
from loomem.views.records import Records
from loomem.views.rulings import Rulings

log = logging.getLogger(__name__)


class _Held(msgspec.Struct, frozen=True, gc=False):
    """A contribution as its bucket holds it, empty where that cannot be read."""

    space: int
    ident: str
    """Token of the memory's id."""
    value: bytes


class Graph:
    """What one caller's memories say of entities."""

    def __init__(self, records: Records, dictionary: Dictionary = EMPTY) -> None:
        """`dictionary` resolves the names of declared relations, and those that are asked for."""
        self.rulings = Rulings(records)
        self.dictionary = dictionary
        self._records = records
        self._spaces: dict[tuple[Sight, Root, str], int] = {}
        self._addresses: list[tuple[Sight, Root, str]] = []
        self._slots: dict[int, _Held] = {}
        self._by_ident: dict[int, dict[str, int]] = {}
        """Slots by space, then by the token of the memory's id."""
        self._last = 0
        self._declared: dict[int, Contribution] = {}
        """By the number of the row."""
        self._names: Postings[int] = Postings()
        """Slots by the keys of the names in them; declarations as the negative number of their row."""
        self._words: Postings[str] = Postings()
        """Names of several words by each of them."""
        records.watch(self)

    # --- folding contributions ---

    def apply(self, sight: Sight, key: Key, change: Entry | Marker) -> None:
        """Take what a key holds now."""
        if is_ruling(key.id):
            self.rulings.apply(sight, key, change)
            return
        space = self._space(sight, key)
        self._remove(space, key.id)
        if isinstance(change, Entry):
            try:
                said = decode(change.value)
                value = change.value
            except Corrupt as error:
                log.warning("event=contribution_unreadable key=%s reason=%r", change.key, error.message)
                said, value = None, b""
            row = self._records.at(sight, key)
            # The id of the row is the same text, and kept anyway.
            ident = row.id if row is not None and row.id == key.id else key.id
            self._last += 1
            self._slots[self._last] = _Held(space, ident, value)
            self._by_ident.setdefault(space, {})[ident] = self._last
            if said is not None:
                self._index(said, self._last)

    def keys(self, sight: Sight) -> Iterator[str]:
        """Yield the keys of every contribution and ruling held under a sight."""
        yield from self.rulings.keys(sight)
        for (of, root, owner), space in self._spaces.items():
            if of == sight:
                for ident in self._by_ident.get(space, ()):
                    yield f"{root}.{owner}.{Kind.GRAPH}.{ident}"

    def forget(self, sight: Sight, key: Key) -> None:
        """Take away what the bucket does not hold any more."""
        self.rulings.forget(sight, key)
        self._remove(self._space(sight, key), key.id)

    # --- folding rows ---

    def put(self, row: Row) -> None:
        """Take the relations that a row declares."""
        known = row.memory.knowledge
        if known is not None and known.relations:
            said = self._resolved(declared(known.relations))
            self._declared[row.number] = said
            self._index(said, -row.number)

    def drop(self, row: Row) -> None:
        """Let go of the relations that a row declared."""
        said = self._declared.pop(row.number, None)
        if said is not None:
            self._unindex(said, -row.number)

    # --- asking ---

    def asked(self, within: Callable[[Place], bool], admit: Callable[[Row], bool]) -> Lens:
        """Return the graph of what some places hold and may be shown now."""
        return Lens(self, self.rulings.within(within), within, admit)

    def sources(self, key: str) -> Collection[int]:
        """Return where a name stands; what it says is for `support`."""
        return self._names.of(key)

    def names_with(self, word: str) -> Collection[str]:
        """Return the names of several words that have a word."""
        return self._words.of(word)

    def knows(self, key: str) -> bool:
        """Say whether a name stands anywhere; whether it may be shown is another question."""
        return key in self._names

    def support(self, source: int, within: Callable[[Place], bool], admit: Callable[[Row], bool]) -> Support | None:
        """Return what a source says, if its memory is there, may be shown, and still has the text it was made of."""
        if source < 0:
            row = self._records.row(-source)
            said = self._declared.get(-source)
        else:
            held = self._slots[source]
            sight, root, owner = self._addresses[held.space]
            row = self._records.at(sight, Key(root, owner, Kind.GRAPH, held.ident))
            said = decode(held.value)
        if row is None or said is None or not within(row.place) or not admit(row):
            return None
        if source > 0 and not said.generation:
            said = unproven(said)
        elif source > 0 and said.generation != content_hash(text_of(row.memory)):
            return None
        return Support(row, said)

    @property
    def is_empty(self) -> bool:
        return not len(self._names)

    @property
    def contributions(self) -> int:
        """How many contributions are held, readable or not."""
        return len(self._slots)

    # --- within ---

    def _space(self, sight: Sight, key: Key) -> int:
        address = sight, key.root, key.owner
        space = self._spaces.get(address)
        if space is None:
            space = self._spaces[address] = len(self._addresses)
            self._addresses.append(address)
        return space

    def _remove(self, space: int, ident: str) -> None:
        slot = self._by_ident.get(space, {}).pop(ident, None)
        if slot is None:
            return
        held = self._slots.pop(slot)
        if held.value:
            self._unindex(decode(held.value), slot)

    def _index(self, said: Contribution, source: int) -> None:
        for key in names_in(said):
            if self._names.add(key, source) and " " in key:
                for word in key.split():
                    self._words.add(word, key)

    def _unindex(self, said: Contribution, source: int) -> None:
        for key in names_in(said):
            if self._names.remove(key, source) and " " in key:
                for word in key.split():
                    self._words.remove(word, key)

    def _resolved(self, said: Contribution) -> Contribution:
        """Return a declaration under the names that the dictionary has for them; as it was written is an alias."""
        if self.dictionary.is_empty:
            return said

        def named(one: Named) -> Named:
            name = self.dictionary.canonical(one.name)
            kind = self.dictionary.type_of(one.name) or one.type
            return Named(name, kind, () if name == one.name else (one.name,))

        ties = (
            msgspec.structs.replace(
                tie, subject=self.dictionary.canonical(tie.subject), object=self.dictionary.canonical(tie.object)
            )
            for tie in said.ties
        )
        return contribution_of(map(named, said.entities), ties)
