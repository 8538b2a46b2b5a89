"""The answers of several arms to one question, joined into one score for each memory. Pure.

Scores are joined, not ranks: the order of an arm says which is better, its scores also by how much (rank fusion lost to the
words alone on conversations). Then a turn of a conversation is lent some of what the turns around it have, for an answer
seldom repeats the words of its question. What follows the question and the store, and why:

    words or meaning   a short question names what it wants, so words count a little more than meaning; a long text is a situation, in
                       which most words mean nothing, so meaning counts up to four times as much
    little in common   when no memory holds much of the question's words (`cover`), words count less: the best of them is not good
    the scale          words by the best score, as no word found is zero; meaning by its range, as cosines of anything with
                       anything are near .8; of a few memories by the usual range at least, for all of them may be near
    neighbours         their scores squared, so that good ones lend and many poor ones do not; less with each step away; and
                       less to a turn that says next to nothing, that asks, or that is as long as an article
    speakers           when a question names one speaker, what somebody else said counts a little less

All weights are smooth, and the optima flat. What was measured, and tried in vain, stands in docs/retrieval.md.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence

import msgspec

from loomem.core.analyse.characters import fold
from loomem.core.search.cover import counting
from loomem.core.search.settings import Arms
from loomem.core.search.turns import WIDE_FROM, letters

LONG_LETTERS = 300
"""A question of so many letters stands half-way between short and long."""
STEP = math.exp(-1 / 2.5)
"""What is left of a lent score with each turn that lies between."""
ASKING_LENDS = 0.3
"""So much more a turn that asks lends, for the next one answers;"""
ASKING_LACKS = 0.1
"""and so much less it counts itself."""
CURT_LETTERS = 15
"""A turn of so many letters takes half of what is lent to it: it is a greeting or a thank-you."""
LONG_TURN_LETTERS = 1_000
"""Of so many, too: it says all that it means by itself, and what is around it is of something else."""
ASKING_LETTERS = 300
"""A longer turn tells more than it asks, if it asks."""
EDGE = 0.5
"""How far the missing neighbours of a sitting's first and last turns are made up for; 0 not, 1 wholly."""
EDGE_LEAST = 0.3
"""Of the neighbours, at least so many are taken to be there."""
OTHERS_SAID = 1 / 1.15
"""For a turn of somebody else than the one speaker the question names."""
ALONE = 1.1
"""What a memory that is no turn lends itself, for its square: as much as the better turns are lent around them."""
ROLES = frozenset({"", "user", "human", "assistant", "ai", "agent", "bot", "system", "memory", "me"})
"""Speakers who are no names: that a question has such a word says nothing of who is meant."""
SPREAD = 0.15
"""How far apart the best and the poorest cosine of a large store usually are. Of few memories, the poorest may be nearly as good."""
FEW = 50
"""Of so many hits on, their own range is the scale; the fewer they are, the more it is `SPREAD`."""
EXPLAINED = 100
"""Of the best, those that get their parts."""
DEFAULTS = Arms()


class Hit(msgspec.Struct, frozen=True, gc=False):
    """What an arm found, and how well; comparable within one answer of one arm only."""

    number: int
    """Of the row."""
    score: float


class Signals(msgspec.Struct, frozen=True, kw_only=True):
    """What is known of a question before anything is found."""

    text: str
    """As it was asked."""
    held: float = 1.0
    """The part of it that the words of the best memory hold; less than enough of it lets the words count less."""


class Turn(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """A memory as a turn of a conversation; `loomem.views.threads` keeps them."""

    sitting: int
    """Tells the conversations apart, and the days of one."""
    at: int
    """Its place among the turns of the sitting, from 0."""
    size: int
    """How many they are."""
    speaker: str
    """Folded; empty where nobody is named."""
    letters: int
    """How long it is."""
    asks: bool
    """Whether it ends as a question does."""


Threads = Callable[[int], Turn | None]
"""Gives what a row is a turn of; None for one that is no turn."""


class Part(msgspec.Struct, frozen=True, gc=False):
    """What one arm gave to a memory's score."""

    arm: str
    """"words", "meaning" or "thread"."""
    rank: int | None
    """From 1; None for what is lent."""
    raw: float
    """As the arm scored it."""
    normal: float
    """As it was brought to the other arms' scale."""
    weight: float
    """By which that counts."""


class Fused(msgspec.Struct, frozen=True, gc=False):
    """A memory with its joined score."""

    number: int
    score: float
    """In [0, 1]; near 1 for what is best in every arm. Not a probability, and the best of a poor answer is not far from it."""
    parts: tuple[Part, ...] = ()
    """What it is made of, for `explain`."""


def fuse(
    question: Signals,
    words: Sequence[Hit],
    meaning: Sequence[Hit],
    threads: Threads | None = None,
    *,
    settings: Arms = DEFAULTS,
    explained: int = EXPLAINED,
) -> list[Fused]:
    """Return all that any arm found, the best first. One arm alone, without conversations, keeps its order.

    `words` and `meaning` are the best of their arm, the best first, up to 500 of each: the range of the meaning is that of
    what is given. What an arm did not find has nothing from it, so where the caller can score what the other arm found (an
    index of vectors can), it should add those hits. The first `explained` have their parts.
    """
    if settings.meaning_floor > 0:
        meaning = [hit for hit in meaning if hit.score >= settings.meaning_floor]
    arms = _arms(words_share(question, settings), words, meaning)
    own = _added(arms)
    placed = {} if threads is None else {number: turn for number in own if (turn := threads(number)) is not None}
    _discount_others(own, placed, question)
    lent = _lent(own, placed, settings.neighbours)
    scores = {number: (score + ALONE * score * score) / (1 + ALONE) for number, score in own.items()}
    scores |= {number: _joined(own[number], turn, lent.get(number)) for number, turn in placed.items()}
    most = max(1.0, *scores.values()) if scores else 1.0  # neighbours may lift the best beyond 1
    order = sorted(scores, key=lambda number: -scores[number])
    parts = _parts(arms, lent, placed, order[:explained])
    return [Fused(number, scores[number] / most, parts.get(number, ())) for number in order]


def words_share(question: Signals, settings: Arms = DEFAULTS) -> float:
    """Return how much of a score is the words', for a question; the rest is the meaning's."""
    short, long = settings.words, settings.words_long
    share = long + (short - long) / (1 + (letters(question.text) / LONG_LETTERS) ** 2)
    return share * counting(question.text, question.held)


class _Arm(msgspec.Struct, frozen=True):
    name: str
    hits: Sequence[Hit]
    normals: Sequence[float]
    weight: float


def _arms(share: float, words: Sequence[Hit], meaning: Sequence[Hit]) -> list[_Arm]:
    if not words or not meaning:
        share = 1.0 if words else 0.0
    return [_Arm("words", words, _by_most(words), share), _Arm("meaning", meaning, _by_range(meaning), 1 - share)]


def _by_most(hits: Sequence[Hit]) -> list[float]:
    most = max((hit.score for hit in hits), default=0.0)
    return [hit.score / most if most > 0 else 0.0 for hit in hits]


def _by_range(hits: Sequence[Hit]) -> list[float]:
    if not hits:
        return []
    scores = [hit.score for hit in hits]
    most = max(scores)
    least = min(scores)
    if len(scores) < FEW:
        least = min(least, most - SPREAD * (1 - len(scores) / FEW))
    return [(score - least) / (most - least) if most > least else 1.0 for score in scores]


def _added(arms: Sequence[_Arm]) -> dict[int, float]:
    own: dict[int, float] = {}
    for arm in arms:
        for hit, normal in zip(arm.hits, arm.normals, strict=True):
            own[hit.number] = own.get(hit.number, 0.0) + normal * arm.weight
    return own


def _discount_others(own: dict[int, float], placed: Mapping[int, Turn], question: Signals) -> None:
    """Where the question names one of the speakers, let what the others said count less."""
    asked = fold(question.text.casefold())
    speakers = {turn.speaker for turn in placed.values()} - ROLES
    named = [speaker for speaker in speakers if _names(asked, speaker)]
    if len(named) == 1:
        for number, turn in placed.items():
            if turn.speaker and turn.speaker != named[0]:
                own[number] *= OTHERS_SAID


def _names(asked: str, speaker: str) -> bool:
    if any(letter >= WIDE_FROM for letter in speaker):
        return speaker in asked  # where no spaces are between words
    return re.search(rf"(?<!\w){re.escape(speaker)}(?!\w)", asked) is not None


def _lent(own: Mapping[int, float], placed: Mapping[int, Turn], weight: float) -> dict[int, float]:
    """Return what each turn is lent by those before and after it in its sitting, weighted.

    The lender's square, less by `STEP` for each step; so one pass forth and one back is enough.
    """
    sittings: dict[int, list[tuple[int, int, float]]] = {}
    for number, turn in placed.items():
        if turn.size > 1:
            lends = own[number] ** 2 * (1 + ASKING_LENDS * _asks(turn))
            sittings.setdefault(turn.sitting, []).append((turn.at, number, lends))
    lent: dict[int, float] = {}
    for sitting in sittings.values():
        sitting.sort()
        _pass(sitting, lent)
        sitting.reverse()
        _pass(sitting, lent)
    return {number: score * _taken(placed[number]) * weight for number, score in lent.items()}


def _pass(sitting: Sequence[tuple[int, int, float]], lent: dict[int, float]) -> None:
    passing, last = 0.0, sitting[0][0]
    for at, number, lends in sitting:
        passing *= STEP ** abs(at - last)
        lent[number] = lent.get(number, 0.0) + passing
        passing, last = passing + lends, at


def _taken(turn: Turn) -> float:
    """Return which part of what is lent to a turn it takes: more at an edge, less when it is curt or long."""
    lacking = (STEP**turn.at + STEP ** (turn.size - 1 - turn.at)) / 2
    edge = 1 - EDGE + EDGE / max(1 - lacking, EDGE_LEAST)
    return edge * turn.letters / (turn.letters + CURT_LETTERS) / (1 + (turn.letters / LONG_TURN_LETTERS) ** 2)


def _asks(turn: Turn) -> float:
    """Return how far a turn is a question: a long one tells something first."""
    return 1 / (1 + (turn.letters / ASKING_LETTERS) ** 2) if turn.asks else 0.0


def _joined(own: float, turn: Turn | None, lent: float | None) -> float:
    if turn is None or lent is None:
        return (own + ALONE * own * own) / (1 + ALONE)
    return (own + lent) * (1 - ASKING_LACKS * _asks(turn)) / (1 + ALONE)


def _parts(
    arms: Sequence[_Arm], lent: Mapping[int, float], placed: Mapping[int, Turn], numbers: Sequence[int]
) -> dict[int, tuple[Part, ...]]:
    if not numbers:
        return {}
    wanted = frozenset(numbers)
    parts: dict[int, tuple[Part, ...]] = dict.fromkeys(numbers, ())
    for arm in arms:
        for rank, (hit, normal) in enumerate(zip(arm.hits, arm.normals, strict=True), 1):
            if hit.number in wanted:
                parts[hit.number] += (Part(arm.name, rank, hit.score, normal, arm.weight),)
    for number in wanted & lent.keys():
        weight = _taken(placed[number])
        raw = lent[number] / weight if weight else 0.0
        parts[number] += (Part("thread", None, raw, raw, weight),)
    return parts
