"""A text as words and signs, each with its place, and known sequences of them found: the longest first. Pure.

A word is as long as it can be, so a name is found at word boundaries alone. Case and accents do not count; whoever finds
something looks at how it is written, if that matters.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Generic, TypeVar, cast

import msgspec

from loomem.core.graph.names import key_of

T = TypeVar("T")

_TOKEN = re.compile(r"\w+|[^\w\s]")
_SENTENCE_ENDS = frozenset(".!?…")


class Token(msgspec.Struct, frozen=True, gc=False):
    """A word or a sign of a text."""

    text: str
    key: str
    start: int
    end: int

    @property
    def is_capital(self) -> bool:
        """Whether it is a word that begins with a capital letter and goes on with a small one."""
        return len(self.text) > 1 and self.text[0].isupper() and self.text[1:].islower()

    @property
    def is_word(self) -> bool:
        return self.text[0].isalnum() or self.text[0] == "_"


def tokens_of(text: str) -> list[Token]:
    """Return the words and signs of a text."""
    return [Token(m.group(), _folded(m.group()), m.start(), m.end()) for m in _TOKEN.finditer(text)]


def begins(tokens: Sequence[Token], at: int) -> bool:
    """Say whether a token is the first of a sentence, or of what is quoted or labelled: its capital says nothing there."""
    if at == 0:
        return True
    before = tokens[at - 1]
    if before.text in _SENTENCE_ENDS or before.text in ':"“„«(-*•>|':
        return not (before.text == "." and at > 1 and len(tokens[at - 2].text) == 1)
    return False


class Known(Generic[T]):
    """Sequences of words that mean something."""

    def __init__(self) -> None:
        self._root: dict[str, object] = {}

    def add(self, name: str, meaning: T) -> None:
        """Know a name; the first meaning of two counts."""
        here = self._root
        for token in tokens_of(name):
            here = cast("dict[str, object]", here.setdefault(token.key, {}))
        if here is not self._root:
            here.setdefault("", meaning)

    @property
    def is_empty(self) -> bool:
        return not self._root

    def find(self, tokens: Sequence[Token]) -> Iterator[tuple[int, int, T]]:
        """Yield from where to where known names stand, and what they mean; none of them overlap."""
        at = 0
        while at < len(tokens):
            found = self._longest(tokens, at)
            if found is None:
                at += 1
            else:
                yield at, found[0], found[1]
                at = found[0]

    def _longest(self, tokens: Sequence[Token], start: int) -> tuple[int, T] | None:
        here, at, best = self._root, start, None
        while at < len(tokens):
            following = here.get(tokens[at].key)
            if following is None:
                break
            here, at = cast("dict[str, object]", following), at + 1
            if "" in here:
                best = at, cast("T", here[""])
        return best


def _folded(word: str) -> str:
    return key_of(word) or word
