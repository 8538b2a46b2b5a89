"""A memory as a view holds it: the record with what filters and sorting ask for, computed once. Pure."""

from __future__ import annotations

import msgspec

from identity.errors import Corrupt
from identity.keys import Key, Kind, Root, escape_token
from identity.visibility import Scope
from loomem.core.record import CATEGORIES, SORT_RANK, Memory
from loomem.core.times import stored_millis

NEVER = 1 << 62
"""Expiry, in milliseconds since 1970, of what never expires."""

_UPDATED_BITS = 49
_FETCH_BITS = 4
_REVISION_BITS = 64


class Place(msgspec.Struct, frozen=True, kw_only=True):
    """A space as one caller sees it."""

    bucket: str
    root: Root
    owner: str
    """Escaped, as in the key."""
    scope: Scope
    fetch: int
    """In which order of the fetch (private, the parent's, personal, team, public) its rows come: settles ties."""
    mine: bool
    """Whether the caller may change what lies here."""
    stream: str | None = None
    """Id of the stream, for a place that is one."""

    def key(self, id: str) -> str:
        """Return the key of a memory of this place."""
        return f"{self.root}.{self.owner}.{Kind.MEMORY}.{escape_token(id)}"


class Row(msgspec.Struct, frozen=True, gc=False, eq=False):
    """One visible memory. Times in milliseconds since 1970."""

    memory: Memory
    place: Place
    revision: int
    created: int
    updated: int
    expires: int
    """`NEVER`, or the moment after which it is hidden."""
    order: int
    """Rows sort by it: category rank, then newest update first, then fetch order. No two rows share one."""
    tags: tuple[str, ...]
    related: tuple[str, ...]
    priority: int
    folded: str | None
    """Content as case-insensitive search compares it, where there was room to keep it; else search folds it anew."""
    number: int = 0
    """By which the other views know this row as it is; a change of the memory gets a new one."""

    @property
    def id(self) -> str:
        return self.memory.id

    @property
    def key(self) -> str:
        return self.place.key(self.memory.id)

    @property
    def folded_size(self) -> int:
        """Characters that the folded content takes beside the content."""
        return 0 if self.folded is None or self.folded is self.memory.content else len(self.folded)

    def expired(self, now_ms: int) -> bool:
        """Say whether its time is over (strictly before now)."""
        return self.expires < now_ms


def fold(text: str) -> str:
    """Return a text as case-insensitive search compares it."""
    return text.casefold()


def row_of(
    memory: Memory,
    place: Place,
    revision: int,
    tags: dict[tuple[str, ...], tuple[str, ...]],
    *,
    folds: bool = True,
    number: int = 0,
) -> Row:
    """Return the row of a record at a revision of its key.

    `tags` lets rows with equal tags share them; `folds` says whether there is room for the folded content.
    """
    created = stored_millis(memory.created_at) or 0
    updated = created if memory.updated_at == memory.created_at else stored_millis(memory.updated_at) or 0
    expires = stored_millis(memory.expires_at)
    own_tags = memory.tags
    order = SORT_RANK[memory.category]
    order = (order << _UPDATED_BITS) | ((1 << (_UPDATED_BITS - 1)) - updated)
    order = (order << _FETCH_BITS) | place.fetch
    order = (order << _REVISION_BITS) | revision
    return Row(
        memory,
        place,
        revision,
        created,
        updated,
        NEVER if expires is None else expires,
        order,
        tags.setdefault(own_tags, own_tags),
        memory.related_to,
        memory.priority,
        _folded(memory.content) if folds else None,
        number,
    )


def _folded(content: str) -> str:
    folded = fold(content)
    return content if folded == content else folded


_CREATOR_ROOTS = frozenset({Root.AGENTS, Root.CORE, Root.SHARED})


def check_belongs(memory: Memory, place: Place, key: Key) -> None:
    """Refuse a record that contradicts the key it lies under: the broker guards keys, nobody guards what values say.

    Raises: Corrupt.
    """
    if escape_token(memory.id) != key.id:
        raise Corrupt("it names another id than its key")
    if memory.scope is not place.scope:
        raise Corrupt(f"it names scope {memory.scope}, its key {place.scope}")
    if memory.category not in CATEGORIES[place.scope]:
        raise Corrupt(f"scope {place.scope} does not hold category {memory.category}")
    if (memory.category == "core") != (key.root is Root.CORE) and place.scope is Scope.PRIVATE:
        raise Corrupt(f"a memory of category {memory.category} does not live under {key.root}")
    if key.root in _CREATOR_ROOTS and escape_token(memory.agent_id) != key.owner:
        raise Corrupt("it names another creator than its key")
