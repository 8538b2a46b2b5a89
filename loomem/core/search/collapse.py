"""Rows that say the same, shown once; and no source that crowds out the others. Pure.

Two texts say the same when their words are the same in the same order, but for case, how accents are written, the punctuation
around a word, and a few words that say nothing. One other word may be a number, a date, a negation, a quantity or a name, in
whatever language: then they are two, however much they have in common. In doubt both are shown.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable, Sequence
from typing import TypeVar

T = TypeVar("T")

_EDGES = ',;:"()[]{}…·、。，；：「」『』“”„‘’«»`'
"""Punctuation around a word that changes nothing. Others do: a question mark, `<5`, `_id`, `'s`."""
_ENDS = ".!"
"""What changes nothing behind a word: before it, it may be `.5`, or `!ready`."""
_MEASURES = "'\"“”„‘’"
"""Behind a number: feet, inches, minutes."""
_EMPTY = frozenset(["the", "please", "bitte", "proszę"])
"""Words that say nothing wherever they stand. Few do: `a` may be a blood group, `just` and `very` turn a negation about, `ein`
is a number and `an` the state of a light."""
_RAISED = re.compile("[²³¹⁰-₟¼-¾⅐-⅟]")
"""Figures that are not those of a number: 10² is not 102."""


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
    chunks = unicodedata.normalize("NFC" if _RAISED.search(text) else "NFKC", text).split()
    spelled = [bare for chunk in chunks if (bare := _bare(chunk))]
    # A capital may be a name: The Who.
    said = tuple(word.lower() for at, word in enumerate(spelled) if not _is_empty(word, first=at == 0))
    return said or tuple(word.lower() for word in spelled) or (text,)


def _bare(chunk: str) -> str:
    begun = chunk.lstrip(_EDGES)
    bare = begun.rstrip(_EDGES + _ENDS)
    measure = begun[len(bare) :][:1]
    return bare + measure if bare[-1:].isdigit() and measure in _MEASURES else bare


def _is_empty(word: str, *, first: bool) -> bool:
    return word in _EMPTY or (first and word.lower() in _EMPTY)
