"""Rows that say the same, shown once; and no source that crowds out the others. Pure.

Two texts say the same when they are equal but for case, punctuation around words and spaces; or when nearly all of their words
are, in the same order, and neither a number, a date, a negation nor a name is among what differs. In doubt both are shown.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable, Sequence
from difflib import SequenceMatcher
from typing import TypeVar

T = TypeVar("T")

NEARLY = 0.9
"""Share of the words of two texts that must be common."""
LONG = 10
"""Words from which on a text may be nearly another."""
COMPARED_LIMIT = 400
"""Words that are compared; longer texts are the same only when they are equal."""

_EDGES = ".,;:!\"'()[]{}…·、。，；：！「」『』“”„‘’«»<>*_`"
"""Punctuation around a word that changes nothing; a question mark does."""


def _listed(words: str) -> frozenset[str]:
    return frozenset(words.casefold().split())


_NEGATIONS = _listed(
    # English, Polish, German
    "no not never none nothing nobody neither nor cannot without except unless longer stopped "
    "nie nigdy nic nikt żaden żadna żadne bez ani brak oprócz "
    "nicht nie niemals kein keine keinen keinem keiner keines nichts niemand ohne weder außer "
    # Russian, French, Spanish, Italian, Portuguese, Arabic
    "не нет ни никогда ничего никто без кроме "
    "ne pas jamais rien aucun aucune sans sauf sin nunca nada nadie ningún ninguna non mai niente nessuno senza "
    "não nem nunca sem لا ليس لم لن ما غير بدون أبدا"
)
_DATES = _listed(
    "monday tuesday wednesday thursday friday saturday sunday january february march april may june july august "
    "september october november december today yesterday tomorrow morning evening night noon midnight "
    "poniedziałek wtorek środa czwartek piątek sobota niedziela dziś dzisiaj wczoraj jutro rano wieczorem "
    "stycznia lutego marca kwietnia maja czerwca lipca sierpnia września października listopada grudnia "
    "montag dienstag mittwoch donnerstag freitag samstag sonntag januar februar märz mai juni juli oktober dezember "
    "heute gestern morgen abends"
)
_COUNTS = _listed(
    "zero one two three four five six seven eight nine ten eleven twelve hundred thousand million first second third "
    "once twice half double all some many few most every each any always sometimes often rarely "
    "jeden dwa trzy cztery pięć sześć siedem osiem dziewięć dziesięć sto tysiąc raz "
    "eins zwei drei vier fünf sechs sieben acht neun zehn hundert tausend einmal zweimal"
)
_TELLING = _NEGATIONS | _DATES | _COUNTS
_UNSPACED = re.compile(r"[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff\uac00-\ud7af]")


def collapse(ranked: Sequence[T], text: Callable[[T], str], limit: int) -> list[tuple[T, list[T]]]:
    """Return the first rows that say something new, at most `limit`, each with those that say the same and come later."""
    kept: list[tuple[T, list[T], _Text]] = []
    exact: dict[tuple[str, ...], int] = {}
    for one in ranked:
        said = _Text(text(one))
        at = exact.get(said.words)
        if at is None:
            at = next((at for at, (_, _, other) in enumerate(kept) if said.is_nearly(other)), None)
        if at is not None:
            kept[at][1].append(one)
        elif len(kept) < limit:
            exact[said.words] = len(kept)
            kept.append((one, [], said))
        else:
            break
    return [(one, same) for one, same, _ in kept]


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


def say_the_same(one: str, other: str) -> bool:
    """Say whether two texts say the same, as far as that is sure."""
    first, second = _Text(one), _Text(other)
    return first.words == second.words or first.is_nearly(second)


class _Text:
    """A text as it is compared."""

    def __init__(self, text: str) -> None:
        chunks = unicodedata.normalize("NFKC", text).split()
        self._spelled = [bare for chunk in chunks if (bare := chunk.strip(_EDGES))] or [text]
        self.words = tuple(word.casefold() for word in self._spelled)
        self._bag = frozenset(self.words)

    def is_nearly(self, other: _Text) -> bool:
        """Say whether all that differs between two texts is words that change nothing."""
        sizes = len(self.words), len(other.words)
        if min(sizes) < LONG or max(sizes) > COMPARED_LIMIT:
            return False
        if len(self._bag & other._bag) < NEARLY * len(self._bag | other._bag):
            return False
        matcher = SequenceMatcher(None, self.words, other.words, autojunk=False)
        return not any(
            self._tells(one) or other._tells(two)
            for how, *at in matcher.get_opcodes()
            if how != "equal"
            for one, two in [(range(at[0], at[1]), range(at[2], at[3]))]
        )

    def _tells(self, part: range) -> bool:
        """Say whether one of these words may change what is said."""
        return any(
            self.words[at] in _TELLING
            or not self._spelled[at].isalpha()
            or self._spelled[at] != self._spelled[at].lower()
            or "n't" in self.words[at]
            or _UNSPACED.search(self.words[at]) is not None
            for at in part
        )
