"""What the view of words costs: loading it, asking it, its memory, and how soon a put is found. No broker is involved.

Texts are drawn from a vocabulary in which, as in a language, a few words are everywhere and most are rare.
"""

from __future__ import annotations

import asyncio
import itertools
import os
import random
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from bench.report import Effort, Row, Spread, spread
from bench.world import Stopwatch
from loomem.views.text import Text

VOCABULARY = 30_000
WORDS = (15, 60)
PLACES = 5
ROUNDS = 400
PUTS = 60
_FREQUENT = [
    "the",
    "of",
    "and",
    "to",
    "a",
    "in",
    "is",
    "that",
    "for",
    "it",
    "was",
    "on",
    "are",
    "as",
    "with",
    "they",
    "at",
    "be",
    "this",
    "from",
    "i",
    "have",
    "or",
    "by",
    "one",
    "had",
    "not",
    "but",
    "what",
    "all",
    "were",
    "when",
    "we",
    "there",
    "can",
    "an",
    "your",
    "which",
    "their",
    "if",
    "do",
    "will",
    "each",
    "about",
    "how",
    "up",
    "out",
]
_SYLLABLES = [
    "ba",
    "co",
    "di",
    "fu",
    "ga",
    "hel",
    "in",
    "jo",
    "ka",
    "lor",
    "mu",
    "ne",
    "op",
    "pra",
    "qui",
    "ro",
    "sta",
    "te",
    "un",
    "vo",
    "wi",
    "xe",
    "yo",
    "zu",
]


def vocabulary() -> list[str]:
    """Words, the most frequent first."""
    chooser = random.Random(1)
    words = {"".join(chooser.choices(_SYLLABLES, k=chooser.randint(2, 4))) for _ in range(VOCABULARY * 2)}
    rare = [word for word in sorted(words) if len(word) > 4]
    chooser.shuffle(rare)
    return _FREQUENT + rare[:VOCABULARY]


def texts(words: list[str], seed: int = 2) -> Iterator[str]:
    """Texts without end; the same for the same seed."""
    chooser = random.Random(seed)
    weights = list(itertools.accumulate(1 / rank for rank in range(1, len(words) + 1)))
    while True:
        yield " ".join(chooser.choices(words, cum_weights=weights, k=chooser.randint(*WORDS)))


async def text(effort: Effort) -> list[Row]:
    """Load, ask with 5 and 12 words in two of five places, put one more and wait until it is found."""
    rows: list[Row] = []
    for size in effort.sizes:
        rows += await _measure(size, effort)
    return rows


async def _measure(size: int, effort: Effort) -> list[Row]:
    words = vocabulary()
    said = list(itertools.islice(texts(words), size + effort.rounds(ROUNDS)))
    before = resident_mb()
    async with Text() as view:
        began, began_cpu = time.perf_counter(), time.process_time()
        for ident in range(size):
            view.put(ident, f"place{ident % PLACES}", said[ident])
        await view.wait()
        load_s, load_cpu_s = time.perf_counter() - began, time.process_time() - began_cpu
        after = resident_mb()
        asked = {count: _ask(view, said[size:], count) for count in (5, 12)}
        puts = await _puts(view, size, effort.rounds(PUTS))
    rows = [
        Row(benchmark="text", what=f"load of {size:,}", value=load_s, unit="s"),
        Row(benchmark="text", what=f"processor time of it, {size:,}", value=load_cpu_s, unit="s"),
        Row(benchmark="text", what=f"memory of {size:,}", value=after - before, unit="MB"),
    ]
    for count, found in asked.items():
        rows += [
            Row(benchmark="text", what=f"{count} words, of {size:,}, p50", value=found.p50, unit="ms"),
            Row(benchmark="text", what=f"{count} words, of {size:,}, p95", value=found.p95, unit="ms"),
        ]
    rows += [
        Row(benchmark="text", what=f"put until found, of {size:,}, p50", value=puts.p50, unit="ms"),
        Row(benchmark="text", what=f"put until found, of {size:,}, p95", value=puts.p95, unit="ms"),
    ]
    return rows


def resident_mb() -> float:
    """Memory of this process. Units: MB."""
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


def _ask(view: Text, texts: Sequence[str], count: int) -> Spread:
    laps = Stopwatch()
    for asked in texts:
        question = " ".join(asked.split()[:count])
        with laps.lap():
            view.search(question, ["place1", "place3"], 20)
    return spread(laps.seconds)


async def _puts(view: Text, size: int, rounds: int) -> Spread:
    laps = Stopwatch()
    for index in range(rounds):
        with laps.lap():
            await view.wait(view.put(size + index, "place1", f"a needle{index} in the hay"))
        if not view.search(f"needle{index}", ["place1"], 1):
            raise RuntimeError("a put that was waited for is not found")
        await asyncio.sleep(0)
    return spread(laps.seconds)
