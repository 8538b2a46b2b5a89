"""A warm start equals a cold one: whatever was written, removed, interrupted or lost between two processes."""

from __future__ import annotations

import asyncio
import hashlib
import sqlite3
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from identity.keys import Kind
from identity.ports import Put, Reason, Remove
from identity.visibility import Scope, Sight, space_for
from loomem.core import analyse
from loomem.core.analyse import Analyser, Language, Terms
from loomem.core.limits import Limits
from loomem.core.plan import Draft, created
from loomem.core.record import CATEGORIES, encode
from loomem.views.projection import Projection
from loomem.views.stretch import Stretch
from loomem.views.warm import WarmStart
from tests.doubles import MemoryBroker
from tests.laws.worlds import agent

ME = agent("a")
IDS = ["one", "two", "three", "four"]


class Step(msgspec.Struct, frozen=True):
    """One change of the store: a memory with this text, or None to remove it."""

    scope: Scope
    ident: str
    text: str | None
    reason: Reason = Reason.FORGET


steps = st.lists(
    st.builds(
        Step,
        scope=st.sampled_from(list(Scope)),
        ident=st.sampled_from(IDS),
        text=st.none() | st.text(min_size=1, max_size=5, alphabet="abcżłó漢"),
        reason=st.sampled_from([Reason.FORGET, Reason.EXPIRE]),
    ),
    max_size=12,
)


async def write(broker: MemoryBroker, changes: Sequence[Step]) -> None:
    for step in changes:
        space = space_for(ME, step.scope)
        bucket = await broker.open(space.bucket)
        held = bucket.held(space.key(Kind.MEMORY, step.ident))
        lives = held is not None and hasattr(held, "value")
        op = f"{bucket.sequence}"
        if step.text is not None:
            draft = Draft(scope=step.scope, category=CATEGORIES[step.scope][-1], content=step.text)
            if step.scope in (Scope.PRIVATE, Scope.PERSONAL):
                draft = msgspec.structs.replace(draft, category=CATEGORIES[step.scope][2])
            memory = created(draft, ME, step.ident, 1_000 + bucket.sequence, Limits())
            expected = held.revision if held is not None and lives else 0
            await bucket.write(
                Put(key=space.key(Kind.MEMORY, step.ident), value=encode(memory), expected=expected, op=op)
            )
        elif held is not None and lives:
            await bucket.write(
                Remove(key=space.key(Kind.MEMORY, step.ident), expected=held.revision, op=op, reason=step.reason)
            )


async def seen(broker: MemoryBroker, path: Path | None) -> Any:
    """Return everything that a process sees, which leaves what it was told at `path`."""
    warm = None if path is None else WarmStart(path, broker.clock, least=0)
    async with asyncio.timeout(10), Projection(broker, broker, ME, warm=warm) as projection:
        await projection.ready()
        await projection.sync()
        records = projection.records
        rows = {(row.place.bucket, row.key): (row.memory, row.revision) for row in records.rows()}
        found = rows, {ident: records.forgotten(ident) for ident in IDS}, records.corrupt()
    if warm is not None:
        await warm.close()
    return found


@given(steps, steps, st.booleans())
@settings(max_examples=40, deadline=None)
@pytest.mark.requirement("search-8.warm")
def test_a_warm_start_equals_a_cold_one(before: list[Step], after: list[Step], wiped: bool) -> None:
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


@pytest.mark.requirement("search-8.warm")
async def test_a_warm_start_is_told_the_rest_only(tmp_path: Path) -> None:
    path, broker = tmp_path / "a.sqlite", MemoryBroker()
    await write(broker, [Step(Scope.TEAM, ident, "x") for ident in IDS])
    await seen(broker, path)
    team = space_for(ME, Scope.TEAM)
    warm = WarmStart(path, broker.clock, least=0)
    stretch = Stretch(Sight(Scope.TEAM, team.bucket, team.root, None, mine=True), Kind.MEMORY)
    bookmark = await warm.bookmark(stretch)
    assert bookmark is not None
    assert bookmark.revision == 4
    told = [change.key async for page in warm.told(stretch, bookmark) for change in page]
    await warm.close()
    assert sorted(told) == sorted(team.key(Kind.MEMORY, ident) for ident in IDS)


@pytest.mark.requirement("search-8.warm")
async def test_what_is_erased_leaves_the_copy_too(tmp_path: Path) -> None:
    path, broker = tmp_path / "a.sqlite", MemoryBroker()
    await write(broker, [Step(Scope.TEAM, "one", "x" * 40)])
    await seen(broker, path)
    assert b"x" * 40 in path.read_bytes()
    await write(broker, [Step(Scope.TEAM, "one", None)])
    await seen(broker, path)
    assert b"x" * 40 not in path.read_bytes()


@pytest.mark.parametrize("damage", [b"", b"no database at all" * 100, b"SQLite format 3\0" + b"\xff" * 5000])
async def test_a_damaged_copy_is_thrown_away(tmp_path: Path, damage: bytes) -> None:
    path, broker = tmp_path / "a.sqlite", MemoryBroker()
    await write(broker, [Step(Scope.TEAM, "one", "x")])
    path.write_bytes(damage)
    assert await seen(broker, path) == await seen(broker, None)
    assert await seen(broker, path) == await seen(broker, None)


async def test_a_copy_of_a_later_format_is_thrown_away(tmp_path: Path) -> None:
    path, broker = tmp_path / "a.sqlite", MemoryBroker()
    with sqlite3.connect(path) as connection:
        connection.execute("PRAGMA user_version = 99")
    connection.close()
    assert await seen(broker, path) == await seen(broker, None)
    assert not path.exists()


async def test_a_small_store_is_not_copied(tmp_path: Path) -> None:
    path, broker = tmp_path / "a.sqlite", MemoryBroker()
    await write(broker, [Step(Scope.TEAM, "one", "x")])
    warm = WarmStart(path, broker.clock)
    async with asyncio.timeout(5), Projection(broker, broker, ME, warm=warm) as projection:
        await projection.ready()
    await warm.close()
    assert not path.exists()


async def test_two_processes_of_one_caller_leave_one_copy_that_is_right(tmp_path: Path) -> None:
    path, broker = tmp_path / "a.sqlite", MemoryBroker()
    await write(broker, [Step(Scope.TEAM, ident, "x") for ident in IDS])
    await seen(broker, path)
    first, second = (
        WarmStart(path, broker.clock, least=0, every_s=0.01),
        WarmStart(path, broker.clock, least=0, every_s=0.01),
    )
    async with (
        asyncio.timeout(10),
        Projection(broker, broker, ME, warm=first) as one,
        Projection(broker, broker, ME, warm=second) as other,
    ):
        for text in ("y", None, "z", None):
            await write(broker, [Step(Scope.TEAM, "two", text), Step(Scope.TEAM, "three", text)])
            await one.sync()
            await other.sync()
    await first.close()
    await second.close()
    assert await seen(broker, path) == await seen(broker, None)


@pytest.mark.requirement("search-8.warm")
async def test_texts_are_taken_apart_once(tmp_path: Path) -> None:
    path, broker = tmp_path / "a.sqlite", MemoryBroker()
    await write(broker, [Step(Scope.TEAM, ident, "running") for ident in IDS])
    await seen(broker, path)
    first = WarmStart(path, broker.clock, least=0)
    terms = {
        ("b agents.a.m.1", 3): Terms("running", "run", (Language.ENGLISH,)),
        ("b agents.a.m.2", 4): Terms("", "", ()),
    }
    first.learn(terms)
    await first.write(dict)
    await first.close()
    second = WarmStart(path, broker.clock, least=0)
    asked = [*terms, ("b agents.a.m.1", 5)]
    assert await asyncio.to_thread(second.known, asked) == terms
    await second.close()


@pytest.mark.requirement("search-8.warm")
async def test_the_terms_of_what_is_erased_leave_the_copy_too(tmp_path: Path) -> None:
    path, broker = tmp_path / "a.sqlite", MemoryBroker()
    await write(broker, [Step(Scope.TEAM, "one", "x")])
    await seen(broker, path)
    team = space_for(ME, Scope.TEAM)
    source = (f"{team.bucket} {team.key(Kind.MEMORY, 'one')}", 1)
    warm = WarmStart(path, broker.clock, least=0)
    warm.learn({source: Terms("secretword", "secretword", ())})
    await warm.write(dict)
    await warm.close()
    assert b"secretword" in path.read_bytes()
    await write(broker, [Step(Scope.TEAM, "one", None)])
    await seen(broker, path)
    assert b"secretword" not in path.read_bytes()


def test_the_analyser_gives_what_the_version_of_its_terms_stands_for() -> None:
    texts = [
        "Running tests of `parseHTTPRequest` at 12:30",
        "Zażółć gęślą jaźń",
        "東京タワーに行った",
        "wie die Häuser",
        "สวัสดี",
    ]
    reading = Analyser()
    said = "|".join(f"{each.words};{each.stems};{each.languages}" for each in map(reading.document, texts))
    digest = hashlib.sha256(said.encode()).hexdigest()[:12]
    assert (analyse.VERSION, digest) == (1, "0de3e30682b5"), (
        "terms have changed: raise `analyse.VERSION`, then note the digest here"
    )
