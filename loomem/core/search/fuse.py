"""The answers of several arms to one question, joined into one score for each memory. Pure.

Scores are joined, not ranks: each arm's scores are brought to [0, 1] within the answer, weighted and added. A turn of a
conversation is also lent a part of what its neighbours have.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import msgspec

WORDS_WEIGHT = 0.6
MEANING_WEIGHT = 0.4
NEIGHBOURS_WEIGHT = 0.2


class Hit(msgspec.Struct, frozen=True, gc=False):
    """What an arm found, and how well; comparable within one answer of one arm only."""

    number: int
    """Of the row."""
    score: float


class Signals(msgspec.Struct, frozen=True, kw_only=True):
    """What is known of a question before anything is found."""

    text: str
    """As it was asked."""


class Thread(msgspec.Struct, frozen=True):
    """A conversation, and where in it a memory stands."""

    numbers: Sequence[int]
    """Of the rows of the whole conversation, in its order."""
    at: int
    """Index of the memory among them."""


Threads = Callable[[int], Thread | None]
"""Gives the conversation that a row is a turn of, if it is one."""


class Part(msgspec.Struct, frozen=True, gc=False):
    """What one arm gave to a memory's score."""

    arm: str
    """"words", "meaning" or "thread"."""
    rank: int | None
    """From 1; None where the arm has no ranks or did not find the memory."""
    raw: float
    """As the arm scored it."""
    normal: float
    """In [0, 1]."""
    weight: float


class Fused(msgspec.Struct, frozen=True):
    """A memory with its joined score."""

    number: int
    score: float
    """In [0, 1]: 1 for what is best in every arm. Not a probability."""
    parts: tuple[Part, ...] = ()
    """What it is made of; for `explain`."""


def fuse(
    question: Signals,
    words: Sequence[Hit],
    meaning: Sequence[Hit],
    threads: Threads | None = None,
) -> list[Fused]:
    """Return all that any arm found, the best first; what an arm alone found keeps that arm's order.

    `words` and `meaning` are each the best of their arm, best first. Where the caller can score what the other arm found
    (an exact vector index can), it should add those hits: what is absent counts as the arm's worst.
    """
    del question
    arms = (("words", words, _by_most(words), WORDS_WEIGHT), ("meaning", meaning, _by_range(meaning), MEANING_WEIGHT))
    total = sum(weight for _, hits, _, weight in arms if hits)
    own: dict[int, float] = {}
    parts: dict[int, list[Part]] = {}
    for name, hits, normal, weight in arms:
        for rank, hit in enumerate(hits, 1):
            own[hit.number] = own.get(hit.number, 0.0) + normal[hit.number] * weight / total
            part = Part(name, rank, hit.score, normal[hit.number], weight / total)
            parts.setdefault(hit.number, []).append(part)
    lent = {} if threads is None else _lent(own, threads)
    share = NEIGHBOURS_WEIGHT if lent else 0.0
    found: list[Fused] = []
    for number, score in own.items():
        if number in lent:
            parts[number].append(Part("thread", None, lent[number], lent[number], share))
        found.append(Fused(number, (score + share * lent.get(number, 0.0)) / (1 + share), tuple(parts[number])))
    return sorted(found, key=lambda one: -one.score)


def _by_most(hits: Sequence[Hit]) -> dict[int, float]:
    most = max((hit.score for hit in hits), default=0.0)
    return {hit.number: hit.score / most if most > 0 else 0.0 for hit in hits}


def _by_range(hits: Sequence[Hit]) -> dict[int, float]:
    if not hits:
        return {}
    least, most = min(hit.score for hit in hits), max(hit.score for hit in hits)
    return {hit.number: (hit.score - least) / (most - least) if most > least else 1.0 for hit in hits}


def _lent(own: Mapping[int, float], threads: Threads) -> dict[int, float]:
    """Return for each turn of a conversation what the turns beside it have, on average."""
    lent: dict[int, float] = {}
    for number in own:
        thread = threads(number)
        if thread is not None:
            near = (*thread.numbers[max(0, thread.at - 1) : thread.at], *thread.numbers[thread.at + 1 : thread.at + 2])
            lent[number] = sum(own.get(other, 0.0) for other in near) / 2
    return lent
