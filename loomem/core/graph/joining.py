"""Which names are one entity. Pure: what is known of each name comes in, what follows goes out.

A name is one with another, and goes by it, when

- somebody ruled so (`ruling`),
- a memory says that it is another's alias, or
- both are names of persons and it is a part of the other: "Anna" of "Anna Nowak".

Only persons are joined by their words, and only where nothing else is possible: with "Anna Nowak" and "Anna Kowalska" about,
"Anna" is neither, and stands by itself with both as candidates. Somebody's ruling that two names are two comes before all.
Nothing here is remembered: when the memory goes that spoke of the second Anna, the first one has her short name back.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Protocol

import msgspec

STEPS_LIMIT = 32
"""Names that are passed on the way from one to what it goes by."""
MEMBERS_LIMIT = 200
"""Names of one entity that are looked at."""


class Known(Protocol):
    """What is known of names, each by its key."""

    def exists(self, key: str) -> bool:
        """Say whether a memory speaks of a name."""
        ...

    def called(self, key: str) -> Collection[str]:
        """Return the names of which a memory says that this one is an alias."""
        ...

    def aliases(self, key: str) -> Collection[str]:
        """Return the aliases that a memory says a name has."""
        ...

    def wholes(self, key: str) -> Collection[str]:
        """Return the names of persons of which this one, a person's too, is a part."""
        ...

    def parts(self, key: str) -> Collection[str]:
        """Return the names of persons that are parts of this one, a person's too."""
        ...

    def merged(self, key: str) -> str | None:
        """Return the name that somebody ruled this one to go by."""
        ...

    def merges(self, key: str) -> Collection[str]:
        """Return the names that somebody ruled to go by this one."""
        ...

    def is_split(self, one: str, other: str) -> bool:
        """Say whether somebody ruled two names to be two entities."""
        ...


class Standing(msgspec.Struct, frozen=True):
    """What a name goes by."""

    key: str
    candidates: tuple[str, ...] = ()
    """Where it may be several others, and goes by itself: those."""


def standing(key: str, known: Known) -> Standing:
    """Return what a name goes by; itself, when it is not one with another."""
    return _standing(key, known, frozenset())


def members(key: str, known: Known) -> list[str]:
    """Return all names that go by a name, itself first."""
    found = {key: None}
    queue = [key]
    while queue and len(found) < MEMBERS_LIMIT:
        here = queue.pop(0)
        near: Iterable[str] = (*known.merges(here), *known.aliases(here), *known.parts(here))
        for name in sorted(set(near)):
            if name not in found and known.exists(name) and standing(name, known).key == key:
                found[name] = None
                queue.append(name)
    return list(found)


def _standing(key: str, known: Known, above: frozenset[str]) -> Standing:
    path = [key]
    first: tuple[str, ...] = ()
    while len(path) < STEPS_LIMIT:
        step = _step(path[-1], known, above)
        if len(step) != 1:
            if len(path) == 1:
                first = step
            break
        if step[0] in path:
            # Each says that it is the other's alias: whichever is asked for, they go by the same one.
            return Standing(min(path[path.index(step[0]) :]))
        path.append(step[0])
    return Standing(path[-1], first)


def _step(key: str, known: Known, above: frozenset[str]) -> tuple[str, ...]:
    """Return the one name that a name goes by, or all those that it may."""
    ruled = known.merged(key)
    if ruled is not None and known.exists(ruled):
        return (ruled,)
    near = {
        name
        for name in (*known.called(key), *known.wholes(key))
        if name != key and name not in above and known.exists(name) and not known.is_split(key, name)
    }
    if len(near) < 2 or len(above) >= STEPS_LIMIT:
        return tuple(near)
    ends = {_standing(name, known, above | {key}).key for name in near}
    return tuple(sorted(ends))
