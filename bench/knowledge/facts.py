"""Precision and recall of the offline extractor on labelled utterances, by language and half; its figures as JSON beside."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from datetime import date

import msgspec

from bench.report import ROOT, Effort, Row
from loomem.core.extract import Extracted, ExtractSettings, offline
from loomem.core.transcript import Form, SpeakerRole, Transcript, Utterance

SETS = ROOT / "bench" / "knowledge_sets"
HALVES = ("development", "held_out")
TALK = "-talk-"
"""In the ids of longer turns in which most sentences are no facts: these are also counted apart."""
COVERED = 0.5
"""Of a labelled fact, how much a found one must hold to be it."""
PRECISION_AIM, RECALL_AIM = 0.9, 0.6


class Labelled(msgspec.Struct, frozen=True):
    """A fact, in the words of the utterance."""

    text: str
    type: str
    event: date | None = None


class Sample(msgspec.Struct, frozen=True):
    """An utterance and what is a fact in it."""

    id: str
    lang: str
    role: SpeakerRole
    text: str
    facts: tuple[Labelled, ...] = ()
    either: tuple[str, ...] = ()
    """What may be taken for a fact or not."""
    date: date | None = None
    speaker: str | None = None


class Counts(msgspec.Struct, frozen=True):
    """What was found in some samples."""

    found: int = 0
    right: int = 0
    labelled: int = 0
    hit: int = 0
    typed: int = 0
    dated: int = 0
    dates: int = 0

    def plus(self, other: Counts) -> Counts:
        names = self.__struct_fields__
        return Counts(*(getattr(self, name) + getattr(other, name) for name in names))

    @property
    def precision(self) -> float:
        return self.right / self.found if self.found else 1.0

    @property
    def recall(self) -> float:
        return self.hit / self.labelled if self.labelled else 1.0


class Judged(msgspec.Struct, frozen=True):
    """A sample, what was found in it, and how right that is."""

    sample: Sample
    counts: Counts
    wrong: tuple[str, ...]
    missed: tuple[str, ...]


async def knowledge(effort: Effort) -> list[Row]:
    """Measure both halves, print what was found by language, keep it as JSON in bench/results/."""
    del effort  # there is little to do
    rows: list[Row] = []
    kept: dict[str, dict[str, Counts]] = {}
    for half in HALVES:
        judged = [judge(sample) for sample in read(half)]
        by_language = {lang: total(one for one in judged if one.sample.lang == lang) for lang in _languages(judged)}
        talk = total(one for one in judged if TALK in one.sample.id)
        kept[half] = {**by_language, "small talk": talk, "all": total(judged)}
        rows += [row for lang, counts in kept[half].items() for row in _rows(half, lang, counts)]
    file = ROOT / "bench" / "results" / f"knowledge-{time.strftime('%Y-%m-%dT%H-%M-%S')}.json"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(msgspec.json.format(msgspec.json.encode(kept), indent=2))
    return rows


def read(half: str) -> list[Sample]:
    """Return the labelled utterances of a half. Raises: OSError, msgspec.ValidationError."""
    lines = (SETS / f"utterances.{half}.jsonl").read_bytes().splitlines()
    return [msgspec.json.decode(line, type=Sample) for line in lines if line.strip()]


def judge(sample: Sample) -> Judged:
    """Return how right the extractor is about one utterance."""
    said = Utterance(
        speaker=sample.speaker or sample.role.value.capitalize(),
        role=sample.role,
        byte_start=0,
        byte_end=len(sample.text.encode()),
        text=sample.text,
        byte_label=0,
    )
    transcript = Transcript(form=Form.ROLES, utterances=(said,))
    found = offline(transcript, conversation_date=sample.date, settings=ExtractSettings())
    spans = [_span(sample.text, fact.text) for fact in sample.facts]
    either = [_span(sample.text, text) for text in sample.either]
    places = [(fact.byte_start or 0, fact.byte_end or 0) for fact in found]
    right = [any(_holds(place, span) for span in spans) for place in places]
    counted = [ok or not any(_holds(place, span) for span in either) for ok, place in zip(right, places, strict=True)]
    pairs = [
        (label, next((fact for fact, place in zip(found, places, strict=True) if _holds(place, span)), None))
        for label, span in zip(sample.facts, spans, strict=True)
    ]
    return Judged(
        sample=sample,
        counts=_counts(pairs, found=sum(counted), right=sum(right)),
        wrong=tuple(fact.content for fact, ok, counts in zip(found, right, counted, strict=True) if counts and not ok),
        missed=tuple(label.text for label, fact in pairs if fact is None),
    )


def _counts(pairs: Sequence[tuple[Labelled, Extracted | None]], *, found: int, right: int) -> Counts:
    hits = [(label, fact) for label, fact in pairs if fact is not None]
    dates = [(label, fact) for label, fact in hits if label.event is not None]
    return Counts(
        found=found,
        right=right,
        labelled=len(pairs),
        hit=len(hits),
        typed=sum(fact.fact_type == label.type for label, fact in hits),
        dated=sum(fact.event_date == label.event for label, fact in dates),
        dates=len(dates),
    )


def _span(text: str, part: str) -> tuple[int, int]:
    """Return where a part of a text stands. Units: bytes. Raises: ValueError."""
    at = text.index(part)
    start = len(text[:at].encode())
    return start, start + len(part.encode())


def _holds(place: tuple[int, int], span: tuple[int, int]) -> bool:
    shared = min(place[1], span[1]) - max(place[0], span[0])
    return shared >= COVERED * (span[1] - span[0])


def _languages(judged: Iterable[Judged]) -> list[str]:
    return list(dict.fromkeys(one.sample.lang for one in judged))


def total(judged: Iterable[Judged]) -> Counts:
    """Return the counts of some samples together."""
    found = Counts()
    for one in judged:
        found = found.plus(one.counts)
    return found


def _rows(half: str, lang: str, counts: Counts) -> list[Row]:
    aims = (PRECISION_AIM, RECALL_AIM) if lang == "all" else (None, None)
    where = f"facts, {half.replace('_', ' ')}, {lang}"
    return [
        Row(
            benchmark="knowledge",
            what=f"{where}: precision of {counts.found}",
            value=counts.precision,
            unit="",
            must=aims[0],
            higher=True,
        ),
        Row(
            benchmark="knowledge",
            what=f"{where}: recall of {counts.labelled}",
            value=counts.recall,
            unit="",
            must=aims[1],
            higher=True,
        ),
        Row(
            benchmark="knowledge",
            what=f"{where}: type right, of those found",
            value=counts.typed / max(1, counts.hit),
            unit="",
            higher=True,
        ),
        Row(
            benchmark="knowledge",
            what=f"{where}: day right, of {counts.dates} dated",
            value=counts.dated / max(1, counts.dates),
            unit="",
            higher=True,
        ),
    ]


def main(half: str = "development") -> None:
    """Print what is wrong and what is missed in a half, for whoever works on the rules."""
    judged = [judge(sample) for sample in read(half)]
    for one in judged:
        for text in one.wrong:
            print(f"wrong   {one.sample.id}  {text}")
        for text in one.missed:
            print(f"missed  {one.sample.id}  {text}")


if __name__ == "__main__":
    main()
