"""What reading dates in words costs, and how much of the tables in tests/data is read: right, and guessed where nobody knows."""

from __future__ import annotations

import time

from bench.report import Effort, Row
from loomem.core.dates import find
from tests.laws.test_dates import ALL, LANGUAGES, answered

SENTENCES = (
    "I moved yesterday with my two cats to a new flat in Leeds, and on 15 March 2026 we will have the first party.",
    "The cats are fine, and nothing else happened here at all; thanks for asking, my friend.",
)
ROUNDS = 400


async def dates(effort: Effort) -> list[Row]:
    """Return shares of right answers by language, how many were guessed, and the time of two sentences."""
    rows: list[Row] = []
    guessed = 0
    for language in LANGUAGES:
        mine = [case for of, case in ALL if of == language]
        answers = [answered(case, case.anchor) for case in mine]
        right = sum(answer == (case.days, case.times) for answer, case in zip(answers, mine, strict=True))
        guessed += sum(case.days == ("?",) and answer[0] != ("?",) for answer, case in zip(answers, mine, strict=True))
        share = right / len(mine)
        rows.append(
            Row(benchmark="dates", what=f"{language} right of {len(mine)}", value=share, unit="", must=1.0, higher=True)
        )
    rows.append(Row(benchmark="dates", what="guessed", value=guessed, unit="", must=0))
    for name, sentence in zip(("with dates", "without"), SENTENCES, strict=True):
        rounds = effort.rounds(ROUNDS)
        anchor = next(case.anchor for _, case in ALL)
        began = time.perf_counter()
        for _ in range(rounds):
            find(sentence, anchor)
        each = (time.perf_counter() - began) * 1e6 / rounds
        rows.append(Row(benchmark="dates", what=f"a sentence {name}", value=each, unit="µs"))
    return rows
