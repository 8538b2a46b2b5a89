"""Should an approximate index find the nearest vectors? Ours, every vector or a scan of signs, against HNSW of usearch.

    exact    every vector compared: what the others are measured against
    signs    as in the views: a scan of sign bits chooses some thousands, and these are compared
    hnsw     usearch, half floats, its default graph; it takes no filter, so it is asked for more and what may not be seen is
             dropped afterwards

Both on one core, on synthetic vectors as a model's are: in groups, mostly one direction. Asked of everything, and of one
space in twenty. `usearch` is for this comparison alone: pip install usearch.
"""

from __future__ import annotations

import importlib
import itertools
import time
from collections.abc import Callable, Sequence
from typing import Any

from bench.report import Effort, Row, spread
from bench.search import DIMENSIONS, vectors
from bench.text import resident_mb
from loomem.core.embedding import Vector
from loomem.core.search.fuse import Hit
from loomem.views.matrix import Matrix

ASKED = 100
WANTED = 500
"""What a search asks the vectors for (`loomem.search.POOL`)."""
BEST = 20
SPACES = 20
ONE = 7
"""The space that is asked of alone."""
OVERSHOT = 4
"""How many times as much the index without a filter is asked for, in a space."""

Find = Callable[[Vector, bool], list[int]]
"""Gives the numbers of the nearest in everything, or in one space."""


async def vectors_(effort: Effort) -> list[Row]:
    """Build, memory, one question, and how many of the best are found, at several sizes."""
    rows: list[Row] = []
    for size in effort.sizes:
        rows += _at(size, effort.rounds(ASKED))
    return rows


def _at(size: int, asked: int) -> list[Row]:
    made, questions = list(itertools.islice(vectors(2), size)), list(itertools.islice(vectors(97), asked))
    before, began = resident_mb(), time.process_time()
    held = Matrix(DIMENSIONS, exact_limit=0)  # the signs are asked at every size
    for number, vector in enumerate(made, 1):
        held.count(held.add(number % SPACES, b"\0" * 16, vector), number)
    while held.wants_preparing() and held.prepare():
        pass
    built = time.process_time() - began
    taken = resident_mb() - before

    def ours(question: Vector, alone: bool, *, exact: bool) -> list[int]:
        return _numbers(held.search(question, [ONE] if alone else None, WANTED, exact=exact))

    what = f"{size:,} vectors"
    right = {alone: [ours(question, alone, exact=True) for question in questions] for alone in (False, True)}
    rows = [_row(f"{what}, ours: build", built, "s"), _row(f"{what}, ours: memory", taken, "MB")]
    rows += _asked(f"{what}, exact", lambda question, alone: ours(question, alone, exact=True), questions, right)
    rows += _asked(f"{what}, signs", lambda question, alone: ours(question, alone, exact=False), questions, right)
    return rows + _of_usearch(made, questions, right, what)


def _of_usearch(
    made: Sequence[Vector], questions: Sequence[Vector], right: dict[bool, list[list[int]]], what: str
) -> list[Row]:
    import numpy as np

    try:
        usearch: Any = importlib.import_module("usearch.index")
    except ImportError:
        print("usearch is not installed: ours alone", flush=True)
        return []
    before, began = resident_mb(), time.process_time()
    index = usearch.Index(ndim=DIMENSIONS, metric="ip", dtype="f16")
    keys = np.arange(1, len(made) + 1, dtype=np.uint64)
    for at in range(0, len(made), 10_000):
        some = b"".join(made[at : at + 10_000])
        index.add(keys[at : at + 10_000], np.frombuffer(some, np.float16).reshape(-1, DIMENSIONS), threads=1)
    built, taken = time.process_time() - began, resident_mb() - before

    def find(question: Vector, alone: bool) -> list[int]:
        wanted = WANTED * OVERSHOT if alone else WANTED
        found = index.search(np.frombuffer(question, np.float16), wanted, threads=1).keys.tolist()
        return [number for number in found if not alone or number % SPACES == ONE][:WANTED]

    rows = [_row(f"{what}, hnsw: build", built, "s"), _row(f"{what}, hnsw: memory", taken, "MB")]
    return rows + _asked(f"{what}, hnsw", find, questions, right)


def _asked(what: str, find: Find, questions: Sequence[Vector], right: dict[bool, list[list[int]]]) -> list[Row]:
    rows: list[Row] = []
    for alone, of in ((False, "everything"), (True, "one space in twenty")):
        seconds: list[float] = []
        found: list[list[int]] = []
        for question in questions:
            began = time.process_time()
            found.append(find(question, alone))
            seconds.append(time.process_time() - began)
        rows.append(_row(f"{what}: {WANTED} of {of}, p50", spread(seconds).p50, "ms"))
        for best in (BEST, WANTED):
            share = sum(_share(some, all_, best) for some, all_ in zip(found, right[alone], strict=True))
            rows.append(_row(f"{what}: of the best {best} of {of}", share / len(questions), "found", higher=True))
    return rows


def _share(found: Sequence[int], right: Sequence[int], best: int) -> float:
    return len(set(found[:best]) & set(right[:best])) / len(right[:best])


def _numbers(hits: Sequence[Hit]) -> list[int]:
    return [hit.number for hit in hits]


def _row(what: str, value: float, unit: str, *, higher: bool = False) -> Row:
    return Row(benchmark="vectors", what=what, value=value, unit=unit, higher=higher)
