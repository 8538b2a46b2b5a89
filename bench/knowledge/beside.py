"""Search over conversations with the facts that were read in them, against the utterances alone, through the product.

Each sitting is taken in as a conversation (`memory_ingest`) with its utterances as fragments, by two users: for the one no facts
are taken, for the other the offline extractor's are. Both are asked the same questions. A row counts as the turn it is, or
was read in, and once: a second row of a turn, and a whole conversation, only take the place in which they stand.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import date
from pathlib import Path

import msgspec

from bench.report import Effort, Row
from bench.retrieval import product
from bench.retrieval.data import Haystack, Question, Session, read, spoken
from bench.retrieval.measures import Measures, mean, measure
from loomem.core.dates import find
from loomem.core.extract import ExtractSettings, offline
from loomem.core.sources import fact_id, fragment_id
from loomem.core.transcript import segment

CONVERSATIONS = 2
"""Of a file; embedding takes minutes for each on a small machine."""
ROWS = 10
"""Of an answer, as it is measured."""
WITHOUT = {"PATTERN_FRAGMENTS_ENABLED": "true", "PATTERN_EXTRACTION_ENABLED": "false"}
WITH = {"PATTERN_FRAGMENTS_ENABLED": "true", "PATTERN_EXTRACTION_ENABLED": "true", "PATTERN_EXTRACTION_WAIT_S": "50"}


class Sitting(msgspec.Struct, frozen=True):
    """A sitting as a conversation that is taken in."""

    text: str
    day: date | None
    fragments: tuple[str, ...]
    """The turn of each utterance."""
    facts: tuple[str, ...]
    """The turn of each fact that is to be read in it."""


async def beside(effort: Effort) -> list[Row]:
    """Measure the first conversations of each file of `--data`, print the figures of each, and say which."""
    rows: list[Row] = []
    for file in effort.data:
        alone: list[Measures] = []
        together: list[Measures] = []
        with product.home() as home:
            for haystack in read(file)[:CONVERSATIONS]:
                step = max(1, round(1 / effort.share))
                asked = [one for one in haystack.questions if haystack.gold(one, "turn")][::step]
                sittings = [sitting_of(session) for session in haystack.sessions]
                one = await _answered(home, haystack, sittings, asked, WITHOUT)
                two = await _answered(home, haystack, sittings, asked, WITH)
                facts = sum(len(sitting.facts) for sitting in sittings)
                print(f"{haystack.id}: {len(haystack.turns)} turns, {facts} facts, {len(asked)} questions")
                print(_line("turns alone", mean(one)), _line("with facts", mean(two)), sep="\n", flush=True)
                alone += one
                together += two
        rows += _rows(file.name.split(".")[0], mean(alone), mean(together))
    if not rows:
        print("beside: no --data given, nothing measured")
    return rows


def sitting_of(session: Session) -> Sitting:
    """Return a sitting as it is taken in, and which turn each thing is that is taken from it.

    Raises: ValueError, when an utterance is not a turn.
    """
    turns = [turn for turn in session.turns if turn.text.strip()]
    text = "\n".join(" ".join(spoken(turn).split()) for turn in turns)
    day = next((one.resolved.first for one in find(session.date, None) if one.resolved is not None), None)
    transcript = segment(text)
    said = transcript.utterances
    if len(said) != len(turns):
        raise ValueError(f"{session.id}: {len(turns)} turns are {len(said)} utterances")
    facts = offline(transcript, conversation_date=day, settings=ExtractSettings())
    read_in = [max(at for at, one in enumerate(said) if one.byte_label <= (fact.byte_start or 0)) for fact in facts]
    return Sitting(text, day, tuple(turn.id for turn in turns), tuple(turns[at].id for at in read_in))


def counted(ids: Sequence[str], turns: Mapping[str, str]) -> list[str]:
    """Return what each row of an answer counts as: a turn where it is the first of it, else nothing but a place."""
    seen: set[str] = set()
    found: list[str] = []
    for at, ident in enumerate(ids):
        turn = turns.get(ident)
        found.append(f"place {at}" if turn is None or turn in seen else turn)
        seen.add(found[-1])
    return found


async def _answered(
    home: Path, haystack: Haystack, sittings: Sequence[Sitting], questions: Sequence[Question], settings: dict[str, str]
) -> list[Measures]:
    facts = settings is WITH
    user = re.sub(r"[^A-Za-z0-9]+", "-", f"{haystack.id} {'with' if facts else 'without'}")
    turns: dict[str, str] = {}
    async with product.asked(home, user, turns, settings) as asked:
        for sitting in sittings:
            day = None if sitting.day is None else sitting.day.isoformat()
            source = await asked.ingest(sitting.text, day, facts=len(sitting.facts) if facts else 0)
            turns.update(_taken(source, sitting, facts=facts))
        await asked.embedded()
        await asked.settled()
        answers = [await asked.rows(question.text, ROWS) for question in questions]
    gold = [haystack.gold(question, "turn") for question in questions]
    return [measure(counted(ids, turns), right) for ids, right in zip(answers, gold, strict=True)]


def _taken(source: str, sitting: Sitting, *, facts: bool) -> Iterator[tuple[str, str]]:
    yield from ((fragment_id(source, at), turn) for at, turn in enumerate(sitting.fragments))
    if facts:
        yield from ((fact_id(source, at), turn) for at, turn in enumerate(sitting.facts))


def _line(title: str, found: Measures) -> str:
    return f"  {title:12} recall@10 {found.recall_10:.4f}  ndcg@10 {found.ndcg_10:.4f}"


def _rows(data: str, alone: Measures, together: Measures) -> list[Row]:
    rows: list[Row] = []
    for name in ("recall_10", "ndcg_10"):
        before, after = getattr(alone, name), getattr(together, name)
        title = f"{data}, first {CONVERSATIONS} conversations, {name.replace('_', '@')}"
        rows += [
            Row(benchmark="beside", what=f"{title}: turns alone", value=before, unit="", higher=True),
            Row(benchmark="beside", what=f"{title}: with facts", value=after, unit="", higher=True),
            Row(benchmark="beside", what=f"{title}: ratio", value=after / before, unit="x", must=1.0, higher=True),
        ]
    return rows
