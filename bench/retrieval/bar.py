"""The bar: Okapi BM25 over the spoken turns, k1 1.5, b .75, with English stems and few stop words, Han text as characters and pairs.

It is what one gets in an afternoon without us, so what the product adds is measured against it and not against nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

import bm25s
import Stemmer

K1, B = 1.5, 0.75
_PIECES = re.compile(r"(?P<han>[㐀-鿿豈-﫿]+)|\w+")
_STOP_WORDS = (
    "a about am an and are as at be been but by could did do does for from had has have he her his how i if in "
    "into is it its me my of on or our she should so that the their them then there these they this to was we "
    "were what when where which who why will with would you your"
)
_STOP = frozenset(_STOP_WORDS.split(" "))


class Bar:
    """An index of texts under names."""

    def __init__(self, names: Sequence[str], texts: Sequence[str]) -> None:
        self._names = names
        self._stemmer = Stemmer.Stemmer("english")
        self._index = bm25s.BM25(k1=K1, b=B)
        self._index.index([self._terms(text) for text in texts], show_progress=False)

    def search(self, text: str, limit: int) -> list[str]:
        """Return the names of the texts that have any of the words, the best first."""
        terms = self._terms(text)
        if not terms:
            return []
        found, scores = self._index.retrieve([terms], k=min(limit, len(self._names)), show_progress=False)
        return [self._names[int(at)] for at, score in zip(found[0], scores[0], strict=True) if score > 0]

    def _terms(self, text: str) -> list[str]:
        return self._stemmer.stemWords(list(_pieces(text.lower())))


def _pieces(text: str) -> Iterator[str]:
    for match in _PIECES.finditer(text):
        piece = match[0]
        if match["han"]:
            yield from piece
            yield from (piece[at : at + 2] for at in range(len(piece) - 1))
        elif piece not in _STOP:
            yield piece
