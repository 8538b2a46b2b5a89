"""What stands under a word, kept small: most words have one thing under them, and few have many."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Generic, TypeVar, cast

T = TypeVar("T", int, str)

_FEW = 8
"""Things that are kept in a tuple; more are in a set."""


class Postings(Generic[T]):
    """Things by words."""

    def __init__(self) -> None:
        self._by: dict[str, T | tuple[T, ...] | set[T]] = {}

    def add(self, word: str, thing: T) -> bool:
        """Put a thing under a word; say whether it is the first there."""
        held = self._by.get(word)
        if held is None:
            self._by[word] = thing
            return True
        if isinstance(held, set):
            held.add(thing)
        elif isinstance(held, tuple):
            if thing not in held:
                self._by[word] = (*held, thing) if len(held) < _FEW else {*held, thing}
        elif held != thing:
            self._by[word] = (held, thing)
        return False

    def remove(self, word: str, thing: T) -> bool:
        """Take a thing away from under a word, if it is there; say whether nothing is there any more."""
        held = self._by.get(word)
        if isinstance(held, set):
            held.discard(thing)
            if len(held) <= _FEW:
                self._by[word] = tuple(held)
        elif isinstance(held, tuple):
            left = tuple(each for each in held if each != thing)
            if len(left) == 1:
                self._by[word] = left[0]
            else:
                self._by[word] = left
        elif held == thing:
            del self._by[word]
            return True
        return False

    def of(self, word: str) -> Collection[T]:
        """Return what stands under a word."""
        held = self._by.get(word)
        if held is None:
            return ()
        return held if isinstance(held, tuple | set) else (cast("T", held),)

    def __contains__(self, word: str) -> bool:
        return word in self._by

    def __len__(self) -> int:
        return len(self._by)

    def __iter__(self) -> Iterator[str]:
        return iter(self._by)
