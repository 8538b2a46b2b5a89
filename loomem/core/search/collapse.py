"""Rows that say the same, shown once; and no source that crowds out the others. Pure.

Two texts say the same when their words are the same in the same order, but for case, the punctuation around a word, and
articles and fillers. One other word may be a number, a date, a negation or a name, in whatever language: then they are two,
however much they have in common. In doubt both are shown.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Iterable, Sequence
from typing import TypeVar

T = TypeVar("T")

_EDGES = ".,;:!\"'()[]{}…·、。，；：！「」『』“”„‘’«»<>*_`"
"""Punctuation around a word that changes nothing; a question mark does."""
_FILLERS_OF_LANGUAGES = (
    "a an the really very quite just please also "  # English
    "bardzo też również naprawdę właśnie "  # Polish
    "der das ein eine sehr auch wirklich eben"  # German, without `die`, which is an English verb
)
_FILLERS = frozenset(_FILLERS_OF_LANGUAGES.split(" "))


def collapse(ranked: Sequence[T], text: Callable[[T], str], limit: int) -> list[tuple[T, list[T]]]:
    """Return the first rows that say something new, at most `limit`, each with those that say the same and come later."""
    kept: dict[tuple[str, ...], tuple[T, list[T]]] = {}
    for one in ranked:
        said = said_in(text(one))
        known = kept.get(said)
        if known is not None:
            known[1].append(one)
        elif len(kept) < limit:
            kept[said] = (one, [])
        else:
            break
    return list(kept.values())


def capped(ranked: Iterable[T], source: Callable[[T], object | None], most: int) -> list[T]:
    """Return rows with at most `most` of one source first; the others of it follow at the end. 0 = no cap."""
    if most < 1:
        return list(ranked)
    first: list[T] = []
    later: list[T] = []
    counts: dict[object, int] = {}
    for one in ranked:
        name = source(one)
        counts[name] = counts.get(name, 0) + 1
        (first if name is None or counts[name] <= most else later).append(one)
    return first + later


def said_in(text: str) -> tuple[str, ...]:
    """Return the words by which a text says what it says."""
    chunks = unicodedata.normalize("NFKC", text).split()
    spelled = [bare for chunk in chunks if (bare := chunk.strip(_EDGES))]
    # A capital may be a name: vitamin A.
    said = tuple(word.casefold() for at, word in enumerate(spelled) if not _is_filler(word, first=at == 0))
    return said or tuple(word.casefold() for word in spelled) or (text,)


def _is_filler(word: str, *, first: bool) -> bool:
    return word in _FILLERS or (first and word.casefold() in _FILLERS)
