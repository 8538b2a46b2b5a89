"""How well entities are recognised offline: precision and recall on labelled sentences, by language and half."""

from __future__ import annotations

import msgspec

from bench.report import ROOT, Effort, Row
from loomem.core.graph.kinds import EntityType
from loomem.core.graph.names import key_of
from loomem.core.graph.recognise import entities_in, recognise

SETS = ROOT / "bench" / "knowledge_sets"
HALVES = ("development", "held_out")
PRECISION_AIM, RECALL_AIM = 0.9, 0.6
_KINDS = {
    "P": EntityType.PERSON,
    "O": EntityType.ORGANIZATION,
    "J": EntityType.PROJECT,
    "T": EntityType.TECHNOLOGY,
    "L": EntityType.PLACE,
    "C": EntityType.CODE,
}


class Expected(msgspec.Struct, frozen=True):
    """An entity that a sentence names: by any of these names, as any of these types."""

    names: frozenset[str]
    types: frozenset[str]


class Sentence(msgspec.Struct, frozen=True):
    language: str
    text: str
    expected: tuple[Expected, ...]


class Score(msgspec.Struct):
    """Counts, and what follows from them."""

    right: int = 0
    wrong: int = 0
    missed: int = 0

    @property
    def precision(self) -> float:
        return self.right / (self.right + self.wrong) if self.right + self.wrong else 1.0

    @property
    def recall(self) -> float:
        return self.right / (self.right + self.missed) if self.right + self.missed else 1.0

    def add(self, other: Score) -> None:
        self.right += other.right
        self.wrong += other.wrong
        self.missed += other.missed


def sentences(half: str) -> list[Sentence]:
    """Return the labelled sentences of a half. Raises: OSError."""
    lines = (SETS / f"entities.{half}.txt").read_text(encoding="utf-8").splitlines()
    return [_sentence(line) for line in lines if line.strip() and not line.startswith("#")]


def judged(sentence: Sentence) -> tuple[Score, list[str]]:
    """Return how a sentence was read, and what was wrong or missed in it."""
    found = {key_of(one.name): one for one in entities_in(recognise(sentence.text))}
    score, faults = Score(), list[str]()
    for expected in sentence.expected:
        hits = [key for key in expected.names if key in found and found[key].type in expected.types]
        if hits:
            score.right += 1
            del found[hits[0]]
        else:
            score.missed += 1
            faults.append(f"missed {'/'.join(sorted(expected.names))}")
    score.wrong += len(found)
    faults += [f"wrong {one.name} ({one.type})" for one in found.values()]
    return score, faults


def scores(half: str) -> tuple[dict[str, Score], list[str]]:
    """Return the scores of a half, of all of it and of each language, and the faults by sentence."""
    by: dict[str, Score] = {"all": Score()}
    faults: list[str] = []
    for sentence in sentences(half):
        score, wrong = judged(sentence)
        by["all"].add(score)
        by.setdefault(sentence.language, Score()).add(score)
        faults += [f"{sentence.language}: {fault}: {sentence.text}" for fault in wrong]
    return by, faults


async def entities(effort: Effort) -> list[Row]:
    """Measure both halves."""
    del effort  # there is little to do
    return [
        row for half in HALVES for language, score in scores(half)[0].items() for row in _rows(half, language, score)
    ]


def _rows(half: str, language: str, score: Score) -> list[Row]:
    where = f"entities, {half.replace('_', ' ')}, {language}"
    overall = language == "all"
    figures = (
        (f"{where}: precision of {score.right + score.wrong}", score.precision, PRECISION_AIM),
        (f"{where}: recall of {score.right + score.missed}", score.recall, RECALL_AIM),
    )
    return [
        Row(benchmark="knowledge", what=what, value=value, unit="", must=aim if overall else None, higher=True)
        for what, value, aim in figures
    ]


def _sentence(line: str) -> Sentence:
    language, text, expected = (
        part.strip() for part in [*line.rsplit("|", 1)[0].split("|", 1), line.rsplit("|", 1)[1]]
    )
    entities = [part.strip() for part in expected.split(";") if part.strip()]
    return Sentence(language, text, tuple(map(_expected, entities)))


def _expected(text: str) -> Expected:
    names, types = text.rsplit("=", 1)
    spelled = [names] if types == "C" and names.count("/") > 1 else names.split("/")
    if types == "C":
        spelled = [names, *names.split("/")]
    return Expected(frozenset(map(key_of, spelled)), frozenset(str(_KINDS[kind]) for kind in types.split("/")))
