"""How much of a question the words of a memory hold. Pure.

BM25 says which memory is better, and not whether any is good: the best of a poor answer may share nothing with the question
but "why", or two Thai letters. So the words count for less when none of their best hits has much of the question.
"""

from __future__ import annotations

from collections.abc import Sequence

from loomem.core.analyse import Analyser, Terms
from loomem.core.search.turns import letters

LOOKED_AT = 3
"""Of the best hits of the words: more change nothing (docs/retrieval.md), and each costs a tenth of a millisecond."""
ENOUGH = 0.35
"""The part of a short question that, once held, makes the words count fully;"""
LONG_LETTERS = 300
"""of a question of so many letters half of it is enough, and ever less of a longer one, most of whose words say nothing."""
LEAST = 0.03
"""A question of which so little is enough need not be looked at."""


def enough(text: str) -> float:
    """Return which part of a question a memory must hold for its words to count fully."""
    return ENOUGH / (1 + (letters(text) / LONG_LETTERS) ** 2)


def counting(text: str, part: float) -> float:
    """Return how far the words count, from 0 to 1, for a question of which their best hits hold some part.

    The square, so that it falls slowly below enough, where words are still worth much, and fast where what is held is chance.
    """
    return min(1.0, part / enough(text)) ** 2


def held(analyser: Analyser, text: str, contents: Sequence[str]) -> float:
    """Return the part of a question's terms, by their weight, that the best of some texts holds; 1 where it has no terms."""
    documents = [analyser.document(content) for content in contents]
    question = analyser.query(text, {language for document in documents for language in document.languages})
    whole = sum(term.weight for term in question.terms)
    if not whole or question.prefixes:
        return 1.0

    def part(document: Terms) -> float:
        words, stems = frozenset(document.words.split()), frozenset(document.stems.split())
        found = (term.weight for term in question.terms if term.word in words or not stems.isdisjoint(term.stems))
        return sum(found) / whole

    return max(map(part, documents), default=0.0)
