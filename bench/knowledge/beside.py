"""Search over conversations with the facts that were read in them beside the turns, against the turns alone, through the product.

The same store is asked twice: when it holds the turns, and when the offline extractor's facts have come to them. A fact
that is found counts as the turn it was read in.
"""

from __future__ import annotations

import re
from datetime import date
from pathlib import Path

from bench.report import Effort, Row
from bench.retrieval import product
from bench.retrieval.data import Haystack, Question, Session, Turn, read
from bench.retrieval.measures import Measures, mean, measure
from loomem.core.dates import find
from loomem.core.extract import Extracted, ExtractSettings, offline
from loomem.core.transcript import Form, SpeakerRole, Transcript, Utterance
from loomem.core.transcript.names import role_of

CONVERSATIONS = 2
"""Of a file; embedding takes minutes for each on a small machine."""


async def beside(effort: Effort) -> list[Row]:
    """Measure the first conversations of each file of `--data`, and say which."""
    rows: list[Row] = []
    for file in effort.data:
        alone: list[Measures] = []
        together: list[Measures] = []
        with product.home() as home:
            for haystack in read(file)[:CONVERSATIONS]:
                step = max(1, round(1 / effort.share))
                asked = [one for one in haystack.questions if haystack.gold(one, "turn")][::step]
                facts = [pair for session in haystack.sessions for pair in facts_of(session)]
                print(
                    f"{haystack.id}: {len(haystack.turns)} turns, {len(facts)} facts, {len(asked)} questions",
                    flush=True,
                )
                first, second = await _answers(home, haystack, facts, asked)
                gold = [haystack.gold(question, "turn") for question in asked]
                alone += map(measure, first, gold)
                together += map(measure, second, gold)
        rows += _rows(file.name.split(".")[0], mean(alone), mean(together))
    if not rows:
        print("beside: no --data given, nothing measured")
    return rows


def facts_of(session: Session) -> list[tuple[Turn, Extracted]]:
    """Return the facts of a sitting, each with the turn it was read in."""
    said: list[Utterance] = []
    turns = [turn for turn in session.turns if turn.text.strip()]
    at = 0
    for turn in turns:
        size = len(turn.text.encode())
        role = role_of(turn.speaker) or SpeakerRole.OTHER
        said.append(
            Utterance(speaker=turn.speaker, role=role, byte_start=at, byte_end=at + size, text=turn.text, byte_label=at)
        )
        at += size + 1
    transcript = Transcript(form=Form.NAMES, utterances=tuple(said))
    found = offline(transcript, conversation_date=_day(session), settings=ExtractSettings())
    starts = {one.byte_start: turn for one, turn in zip(said, turns, strict=True)}
    return [(starts[max(start for start in starts if start <= (fact.byte_start or 0))], fact) for fact in found]


def _day(session: Session) -> date | None:
    return next((one.resolved.first for one in find(session.date, None) if one.resolved is not None), None)


async def _answers(
    home: Path, haystack: Haystack, facts: list[tuple[Turn, Extracted]], questions: list[Question]
) -> tuple[list[list[str]], list[list[str]]]:
    user = re.sub(r"[^A-Za-z0-9]+", "-", haystack.id)
    texts = [question.text for question in questions]
    async with product.asked(home, user) as asked:
        await asked.store(haystack)
        await asked.embedded()
        alone, _ = await product.timed_answers(asked, texts)
        await asked.store_facts([(fact.content, turn.id) for turn, fact in facts])
        await asked.embedded()
        together, _ = await product.timed_answers(asked, texts)
    return alone, together


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
