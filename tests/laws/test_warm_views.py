"""A warm start of everything: rows, vectors, ratings and answers are those of a cold one, wherever the copy was cut off."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Sequence
from datetime import UTC
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from identity.keys import Kind, parse_key
from identity.ports import Put, Reason, Remove
from identity.visibility import Scope, space_for
from loomem.core.embedding import Embedded, EmbeddingState, Readiness, unit_vector
from loomem.core.limits import Limits
from loomem.core.plan import Draft, created
from loomem.core.rating import Ratings
from loomem.core.rating import encode as encode_ratings
from loomem.core.record import Category, encode
from loomem.core.search.settings import SearchSettings
from loomem.core.vector import Stored, content_hash
from loomem.core.vector import encode as encode_vector
from loomem.search import Search
from loomem.views import backlog
from loomem.views.backlog import Backlog, Changed, Learnt, Restarted, Step, steps_of
from loomem.views.together import Views, views_of
from loomem.views.warm import WarmStart
from tests.doubles import MemoryBroker
from tests.laws.worlds import agent

ME = agent("a")
MODEL = "ear"
SPACE = space_for(ME, Scope.PRIVATE)
IDS = ("one", "two", "three")
TEXTS = ("the red drum", "a tax form", "the drum of tax")


class Change(msgspec.Struct, frozen=True):
    """One change of the store."""

    kind: Kind
    ident: str
    text: str | None
    """Of the memory, or that the vector was made of; None removes what is there."""
    good: int = 1


changes = st.lists(
    st.builds(
        Change,
        kind=st.sampled_from([Kind.MEMORY, Kind.MEMORY, Kind.VECTOR, Kind.FEEDBACK]),
        ident=st.sampled_from(IDS),
        text=st.none() | st.sampled_from(TEXTS),
        good=st.integers(0, 4),
    ),
    max_size=14,
)


class Ear:
    """Embeds by letters."""

    async def query(self, text: str) -> Embedded:
        return Embedded(MODEL, meaning(text))

    async def look(self) -> EmbeddingState:
        return self.state()

    def state(self) -> EmbeddingState:
        return EmbeddingState(state=Readiness.READY, model=MODEL)


def meaning(text: str) -> bytes:
    return unit_vector([text.count(letter) + 0.5 for letter in "drumtax"])


async def write(broker: MemoryBroker, some: Sequence[Change]) -> None:
    bucket = await broker.open(SPACE.bucket)
    for change in some:
        memory_key = parse_key(SPACE.key(Kind.MEMORY, change.ident))
        assert memory_key is not None
        key = memory_key.vector(MODEL) if change.kind is Kind.VECTOR else memory_key.beside(change.kind)
        held = bucket.held(key)
        expected = held.revision if held is not None and hasattr(held, "value") else 0
        op = f"{bucket.sequence}"
        if change.text is not None:
            await bucket.write(Put(key=key, value=value_of(change, change.text), expected=expected, op=op))
        elif expected:
            await bucket.write(Remove(key=key, expected=expected, op=op, reason=Reason.FORGET))


def value_of(change: Change, text: str) -> bytes:
    match change.kind:
        case Kind.MEMORY:
            draft = Draft(scope=Scope.PRIVATE, category=Category.LONGTERM, content=text)
            return encode(created(draft, ME, change.ident, 1_000, Limits()))
        case Kind.VECTOR:
            return encode_vector(Stored.of(model=MODEL, hash=content_hash(text), values=meaning(text)))
        case _:
            last = "2026-01-01T00:00:00.000Z"
            rated = Ratings(
                id=change.ident,
                owner=ME.agent_id,
                agent_id=ME.agent_id,
                good=float(change.good),
                n=change.good,
                last=last,
            )
            return encode_ratings(rated)


async def seen(broker: MemoryBroker, path: Path | None) -> Any:
    """Return everything that a process sees and answers; it leaves what it was told at `path`."""
    warm = None if path is None else WarmStart(path, broker.clock, least=0)
    async with asyncio.timeout(20), views_of(broker, broker, ME, warm=warm) as views:
        await views.projection.complete()
        found = await everything(views, broker)
    if warm is not None:
        await warm.close()
    return found


async def everything(views: Views, broker: MemoryBroker) -> Any:
    rows = list(views.projection.records.rows())
    search = Search(views=views, clock=broker.clock, settings=SearchSettings(), zone=UTC, asker=Ear())
    await views.words.settled()
    answers: list[Any] = []
    for question in ("drum", "tax form", "red"):
        ranking = await search.rank(question, lambda _: True, lambda: lambda _: True, 10)
        answers.append(sorted((one.row.id, round(one.score, 6)) for one in ranking.rows))
    return (
        {row.key: (row.memory, row.revision) for row in rows},
        {row.key: views.vectors.vector(row, MODEL) for row in rows},
        {row.key: views.feedback.of(row) for row in rows},
        [(one.held, one.counted) for one in views.vectors.status if one.held],
        answers,
    )


@given(changes, changes, st.booleans())
@settings(max_examples=25, deadline=None)
@pytest.mark.requirement("search-8.warm")
def test_vectors_ratings_and_answers_are_those_of_a_cold_start(
    before: list[Change], after: list[Change], wiped: bool
) -> None:
    async def run() -> None:
        with tempfile.TemporaryDirectory() as folder:
            path, broker = Path(folder) / "views" / "a.sqlite", MemoryBroker()
            await write(broker, before)
            await seen(broker, path)
            broker.clock.move(seconds=1)
            if wiped:
                for bucket in broker.buckets.values():
                    bucket.wipe()
            await write(broker, after)
            assert await seen(broker, path) == await seen(broker, None)
            assert await seen(broker, path) == await seen(broker, None)  # also after what the second one left

    asyncio.run(run())


class Cut(WarmStart):
    """A copy whose writer ends after some pieces: before the next one is written, or as soon as it is."""

    pieces = 0
    heard = True

    def _write(self, piece: Any, marks: Any) -> None:
        if self.pieces == 0:
            if not self.heard:
                super()._write(piece, marks)
            raise asyncio.CancelledError
        self.pieces -= 1
        super()._write(piece, marks)


@given(changes, changes, st.integers(0, 8), st.booleans(), st.booleans())
@example(before=[Change(Kind.MEMORY, ident, "x") for ident in IDS], after=[], pieces=0, heard=True, goes_on=True)
@settings(max_examples=25, deadline=None)
@pytest.mark.requirement("search-8.warm")
def test_a_copy_that_was_cut_off_is_as_good_as_far_as_it_goes(
    before: list[Change], after: list[Change], pieces: int, heard: bool, goes_on: bool
) -> None:
    async def run() -> None:
        with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
            patch.setattr(backlog, "CHUNK_BYTES", 1)  # each step is a piece
            path, broker = Path(folder) / "a.sqlite", MemoryBroker()
            await write(broker, before)
            warm = Cut(path, broker.clock, least=0, every_s=100)
            warm.pieces, warm.heard = pieces, heard
            async with asyncio.timeout(20), views_of(broker, broker, ME, warm=warm) as views:
                await views.projection.complete()
                keep = views.projection._bookmarks  # pyright: ignore[reportPrivateUsage]
                try:
                    await warm.write(keep)
                except asyncio.CancelledError:
                    warm.pieces = 1_000 if goes_on else 0
                await write(broker, after[:3])
                await views.projection.complete()
                if not goes_on:
                    warm._given_up = True  # pyright: ignore[reportPrivateUsage] - killed
            await warm.close()
            await write(broker, after[3:])
            assert await seen(broker, path) == await seen(broker, None)

    asyncio.run(run())


steps = st.lists(
    st.builds(
        Changed,
        st.text(max_size=3),
        st.text(max_size=3),
        st.integers(0, 9),
        st.just(5),
        st.none(),
        st.binary(max_size=40),
    )
    | st.builds(Restarted, st.text(max_size=3))
    | st.builds(Learnt, st.text(max_size=3), st.integers(0, 9), st.text(max_size=9), st.just(""), st.just("")),
    max_size=30,
)


@given(steps, st.integers(1, 200), st.lists(st.booleans(), max_size=60))
def test_a_backlog_gives_each_step_once_and_in_order(some: list[Step], chunk: int, takes: list[bool]) -> None:
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        patch.setattr(backlog, "CHUNK_BYTES", chunk)
        waiting, taken, left = Backlog(Path(folder) / "views"), list[Step](), list(some)
        for takes_now in takes:
            if takes_now:
                taken += steps_of(waiting.take())
            elif left:
                waiting.add(left.pop(0))
        for step in left:
            waiting.add(step)
        while waiting:
            taken += steps_of(waiting.take())
        assert taken == some
        assert waiting.take() == b""
        assert list(Path(folder).rglob("*")) in ([], [Path(folder) / "views"])  # nothing that outlives the process
        waiting.clear()


def test_a_backlog_that_grows_too_large_is_given_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(backlog, "CHUNK_BYTES", 10)
    monkeypatch.setattr(backlog, "LIMIT_BYTES", 100)
    waiting = Backlog(tmp_path)
    for _ in range(4):
        waiting.add(Restarted("a stretch"))
    with pytest.raises(OSError, match="keep up"):
        waiting.add(Restarted("a stretch" * 20))
    waiting.clear()
    assert not waiting
