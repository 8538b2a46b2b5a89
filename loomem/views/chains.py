"""The view of supersession: which memory took whose place, and the versions of a fact in their order.

A memory names those whose place it takes (`knowledge.supersedes`), and nothing is written to them; so what is superseded,
until when it held, and its chain follow from the successors alone, whatever order they are told in. A successor counts

- within its group: in team and public everybody's parts together, elsewhere one owner's;
- over what is not trusted further than itself;
- over an earlier version, so that no circle can hide its members from each other.

Successors count when they are deleted too, and when nothing but a stub is left of them: what they replaced does not come
back. Deliberately absent: any wait, any I/O; which of it is shown (`loomem.store`, search).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

import msgspec

from identity.keys import Root
from loomem.core.facts import may_supersede, trust_in
from loomem.core.record import Memory
from loomem.core.row import Place, Row
from loomem.core.times import stored_millis

MEMBERS_LIMIT = 1_000
"""Versions of one chain that are looked at."""


class Group(msgspec.Struct, frozen=True):
    """Places whose memories may supersede each other."""

    bucket: str
    root: Root
    owner: str | None


class Member(msgspec.Struct, frozen=True, eq=False):
    """A memory of a chain, as its bucket holds it: it may be deleted, or a stub."""

    place: Place
    memory: Memory
    visible: bool

    @property
    def version(self) -> int:
        known = self.memory.knowledge
        return 1 if known is None else known.chain_version

    @property
    def since(self) -> int:
        """From when on it holds, in milliseconds since 1970."""
        return since(self.memory)


Held = Callable[[Group, str], Iterable[Member]]
"""What a group holds under an id, the visible first."""


def group_of(place: Place) -> Group:
    """Return the group that a place belongs to; core memories are of their owner's private ones."""
    root = Root.AGENTS if place.root is Root.CORE else place.root
    return Group(place.bucket, root, None if root is Root.SHARED else place.owner)


def since(memory: Memory) -> int:
    """Return from when on a memory holds: what is known of it, else when it was written; in milliseconds since 1970."""
    known = memory.knowledge
    told = None if known is None else stored_millis(known.valid_from)
    return told if told is not None else stored_millis(memory.created_at) or 0


class Chains:
    """Which memories took whose place, of all that one caller may see."""

    def __init__(self, held: Held) -> None:
        self._held = held
        self._by: dict[tuple[Group, str], dict[tuple[Place, str], Memory]] = {}
        """Those that name an id, by it."""
        self._names: dict[tuple[Place, str], tuple[str, ...]] = {}

    # --- folding ---

    def put(self, place: Place, memory: Memory) -> None:
        """Take what a key holds now."""
        self.drop(place, memory.id)
        known = memory.knowledge
        if known is None or not known.supersedes:
            return
        group, address = group_of(place), (place, memory.id)
        self._names[address] = known.supersedes
        for ident in known.supersedes:
            self._by.setdefault((group, ident), {})[address] = memory

    def drop(self, place: Place, ident: str) -> None:
        """Hear that a key holds nothing any more."""
        if not self._names or not (names := self._names.pop((place, ident), ())):
            return
        group = group_of(place)
        for name in names:
            by = self._by.get((group, name))
            if by is not None:
                by.pop((place, ident), None)
                if not by:
                    del self._by[group, name]

    # --- reading ---

    @property
    def is_empty(self) -> bool:
        """Whether no memory took another's place."""
        return not self._by

    def is_superseded(self, row: Row) -> bool:
        """Say whether a memory took a row's place."""
        return any(True for _ in self._successors(row.place, row.memory))

    def superseded_by(self, row: Row) -> str | None:
        """Return the id of the memory that took a row's place, or None when none did."""
        successor = self._successor(row.place, row.memory) if self._by else None
        return None if successor is None else successor.id

    def replaced_by(self, place: Place, memory: Memory) -> list[str]:
        """Return the ids of those whose place a memory took; a claim that does not count is none."""
        known = memory.knowledge
        group = group_of(place)
        return [
            ident
            for ident in (() if known is None else known.supersedes)
            if any(_counts(memory, old.memory) for old in self._held(group, ident))
        ]

    def would_come_back(self, row: Row) -> bool:
        """Say whether a row is superseded by nothing but memories that are deleted: alone elsewhere, it would be back."""
        successors = list(self._successors(row.place, row.memory)) if self._by else []
        return bool(successors) and all(new.deleted_at is not None for new in successors)

    def valid_until(self, row: Row) -> int | None:
        """Return until when a row held: as it says itself, or until its successor; in milliseconds since 1970."""
        known = row.memory.knowledge
        told = None if known is None else stored_millis(known.valid_until)
        successors = [since(memory) for memory in self._successors(row.place, row.memory)]
        ends = [*successors, *([] if told is None else [told])]
        return min(ends, default=None)

    def chain(self, place: Place, ident: str) -> list[Member]:
        """Return all versions of what an id of a place is a version of, oldest first; deleted ones and stubs among them."""
        group = group_of(place)
        found: dict[tuple[str, str], Member] = {}
        queue = [member for member in self._held(group, ident) if group.owner is not None or member.place == place]
        while queue and len(found) < MEMBERS_LIMIT:
            member = queue.pop()
            address = (member.place.owner, member.memory.id)
            if address not in found:
                found[address] = member
                queue += self._beside(group, member)
        return sorted(found.values(), key=lambda member: (member.version, member.since, member.memory.id))

    def successor(self, member: Member) -> str | None:
        """Return the id of what took the place of a version."""
        successor = self._successor(member.place, member.memory)
        return None if successor is None else successor.id

    # --- within ---

    def _successors(self, place: Place, memory: Memory) -> Iterator[Memory]:
        by = self._by.get((group_of(place), memory.id)) if self._by else None
        if by is not None:
            yield from (new for new in by.values() if _counts(new, memory))

    def _successor(self, place: Place, memory: Memory) -> Memory | None:
        """Return the first of those that took a memory's place, one that can be read if there is any."""
        return min(
            self._successors(place, memory),
            key=lambda new: (new.deleted_at is not None, since(new), new.id),
            default=None,
        )

    def _beside(self, group: Group, member: Member) -> Iterator[Member]:
        """Yield what a version replaced, and what replaced it."""
        known = member.memory.knowledge
        for ident in () if known is None else known.supersedes:
            yield from (old for old in self._held(group, ident) if _counts(member.memory, old.memory))
        for place, ident in list(self._by.get((group, member.memory.id), ())):
            for new in self._held(group, ident):
                if new.place == place and _counts(new.memory, member.memory):
                    yield new


def _counts(new: Memory, old: Memory) -> bool:
    known = new.knowledge
    if known is None or old.id not in known.supersedes:
        return False
    version = 1 if old.knowledge is None else old.knowledge.chain_version
    return known.chain_version > version and may_supersede(known.trust, trust_in(old.knowledge))
