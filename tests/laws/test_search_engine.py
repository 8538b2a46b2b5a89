"""The search over all views: both arms, what is missing and said so, its deadline, and rows that are fetched until enough pass."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from datetime import UTC, tzinfo
from struct import pack
from typing import Any
from zoneinfo import ZoneInfo

import msgspec
import pytest

from identity.errors import Unavailable
from identity.keys import Kind, parse_key
from identity.ports import Put
from identity.visibility import Scope, space_for
from loomem.core.embedding import Embedded, EmbeddingState, Readiness, unit_vector
from loomem.core.scan import ScanPolicy
from loomem.core.search.settings import SearchSettings
from loomem.core.vector import Stored, content_hash, encode
from loomem.engine import Engine
from loomem.search import Search
from loomem.views.text import Text
from loomem.views.together import views_of
from tests.doubles import CountingIds
from tests.laws.worlds import LIMITS, World, agent

ME = agent()
SOUND = {"drum": (1.0, 0.0, 0.0), "percussion": (0.9, 0.1, 0.0), "tax": (0.0, 0.0, 1.0)}
"""Where the words of these tests point."""


def meaning(text: str) -> bytes:
    found = [SOUND[word] for word in text.split() if word in SOUND] or [(0.0, 1.0, 0.0)]
    return unit_vector([sum(parts) for parts in zip(*found, strict=True)])


class Listener:
    """Embeds the questions of these tests, unless it is told to fail or to be slow."""

    def __init__(self, model: str = "ear") -> None:
        self.model = model
        self.failure: Unavailable | None = None
        self.slow = False
        self.heard: list[str] = []

    async def query(self, text: str) -> Embedded:
        self.heard.append(text)
        if self.failure is not None:
            raise self.failure
        if self.slow:
            await asyncio.Event().wait()
        return Embedded(self.model, meaning(text))

    async def look(self) -> EmbeddingState:
        return self.state()

    def state(self) -> EmbeddingState:
        return EmbeddingState(state=Readiness.READY, model=self.model)


@asynccontextmanager
async def searching(
    world: World, asker: Listener | None = None, settings: SearchSettings | None = None, zone: tzinfo = UTC
) -> AsyncGenerator[Engine]:
    """An engine with all its views."""
    async with asyncio.timeout(30), views_of(world.feed, world.buckets, ME, patience_s=5) as views:
        yield Engine(
            caller=ME,
            buckets=world.buckets,
            projection=views.projection,
            limits=LIMITS,
            clock=world.clock,
            ids=CountingIds(),
            scan=ScanPolicy.OFF,
            zone=zone,
            search=Search(
                views=views, clock=world.clock, settings=settings or SearchSettings(), zone=zone, asker=asker
            ),
        )


async def store(world: World, engine: Engine, *contents: str, models: Sequence[str] = ("ear",)) -> None:
    """Store memories and, as a worker does, their vectors."""
    space = space_for(ME, Scope.PRIVATE)
    bucket = await world.buckets.open(space.bucket)
    for content in contents:
        memory_id = (await engine.remember(content=content, category="longterm")).memory_id
        key = parse_key(space.key(Kind.MEMORY, memory_id))
        assert key is not None
        for model in models:
            value = encode(Stored.of(model=model, hash=content_hash(content), values=meaning(content)))
            await bucket.write(Put(key=key.vector(model), value=value, expected=0, op=f"{model} {memory_id}"))
    await engine._projection.complete()  # pyright: ignore[reportPrivateUsage] - what workers wrote has no position here


async def indexed(engine: Engine) -> None:
    """Return when all that was stored is found by its words, so that no search has to wait for them."""
    await engine._search._words.settled()  # pyright: ignore[reportPrivateUsage, reportOptionalMemberAccess] - no wait of its own


async def found(engine: Engine, query: str, **arguments: Any) -> list[str]:
    return [row.content for row in (await engine.search(query=query, **arguments)).rows]


@pytest.mark.requirement("search-arms")
async def test_both_arms_find_and_each_alone_does() -> None:
    world, ear = World(), Listener()
    async with searching(world, ear) as engine:
        await store(world, engine, "we bought a drum", "the tax form", "a walk in the park")
        assert (await found(engine, "percussion"))[0] == "we bought a drum"
        answer = await engine.search(query="tax percussion", explain=True)
        assert answer.degraded == []
        explained = {row.content: row.explained for row in answer.rows}
        form = explained["the tax form"]
        assert form is not None
        assert [arm.arm for arm in form.arms] == ["words", "meaning"]
        ear.failure = Unavailable("Nobody embeds.")
        answer = await engine.search(query="tax percussion")
        assert [row.content for row in answer.rows] == ["the tax form"]
        assert answer.degraded == ["meaning: Nobody embeds"]
        assert (await engine.search(query="")).rows == []
        assert "" not in ear.heard


@pytest.mark.requirement("lesson-3.10")
async def test_at_the_deadline_what_is_there_is_the_answer() -> None:
    world, ear = World(), Listener()
    async with searching(world, ear, SearchSettings(deadline_ms=500)) as engine:
        await store(world, engine, "we bought a drum")
        await indexed(engine)
        ear.slow = True  # for ever: there is an answer because of the deadline alone
        answer = await engine.search(query="drum")
        assert [row.content for row in answer.rows] == ["we bought a drum"]
        assert answer.degraded == ["meaning: the question was not embedded in time"]


@pytest.mark.requirement("lesson-3.10")
async def test_words_that_are_not_indexed_yet_are_said_to_be_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    world = World()
    async with searching(world, None, SearchSettings(deadline_ms=50)) as engine:
        await store(world, engine, "we bought a drum")
        search = engine._search  # pyright: ignore[reportPrivateUsage] - the index is to be late
        assert search is not None

        async def never() -> None:
            await asyncio.Event().wait()

        monkeypatch.setattr(search._words, "settled", never)  # pyright: ignore[reportPrivateUsage]
        answer = await engine.search(query="drum")
        assert answer.degraded == []  # all are there by now
        status = msgspec.structs.replace(search._words.status, pending=2)  # pyright: ignore[reportPrivateUsage]
        monkeypatch.setattr(type(search._words), "status", status)  # pyright: ignore[reportPrivateUsage]
        assert (await engine.search(query="drum")).degraded == ["words: 2 memories are not indexed yet"]


@pytest.mark.requirement("lesson-3.18", "vectors-prune")
async def test_two_models_coexist_and_only_vectors_of_the_question_s_model_count() -> None:
    world = World()
    async with searching(world, Listener("ear")) as old, searching(world, Listener("new ear")) as new:
        await store(world, old, "we bought a drum", "the tax form")
        assert (await found(old, "percussion"))[0] == "we bought a drum"
        answer = await new.search(query="percussion drum")
        assert answer.degraded == ["meaning: 2 of 2 memories have no vector yet"]
        assert [row.content for row in answer.rows] == ["we bought a drum"]
        assert (await new.memory_status()).embeddings.endswith("2 vectors of former models")
        assert "former" not in (await old.memory_status()).embeddings
        await store(world, new, "a snare", models=("ear", "new ear"))
        assert (await new.search(query="percussion")).degraded == ["meaning: 2 of 3 memories have no vector yet"]
        assert (await old.search(query="percussion")).degraded == []


@pytest.mark.requirement("lesson-3.18", "vectors-foreign")
async def test_a_vector_of_another_length_under_the_name_of_the_model_spoils_nothing() -> None:
    world = World()
    async with searching(world, Listener()) as engine:
        bucket = await world.buckets.open(space_for(ME, Scope.TEAM).bucket)
        planted = await engine.remember(content="planted", category="decisions", scope="team")
        key = parse_key(space_for(ME, Scope.TEAM).key(Kind.MEMORY, planted.memory_id))
        assert key is not None
        value = encode(Stored.of(model="ear", hash=content_hash("planted"), values=unit_vector([1.0] * 9)))
        await bucket.write(Put(key=key.vector("ear"), value=value, expected=0, op="planted"))
        await store(world, engine, "we bought a drum", "the tax form")
        answer = await engine.search(query="percussion")
        assert answer.rows[0].content == "we bought a drum"
    async with searching(world, Listener()) as fresh:
        assert (await found(fresh, "percussion"))[0] == "we bought a drum"


@pytest.mark.requirement("vectors-foreign")
@pytest.mark.parametrize("planted", [(65504.0, 0.0, 0.0), (float("nan"), 0.0, 0.0), (float("-inf"), 0.0, 1.0)])
async def test_a_vector_that_is_not_of_length_1_is_counted_and_ranks_nothing(planted: tuple[float, ...]) -> None:
    world, texts = World(), ("we bought a drum", "the tax form", "a walk in the park")
    async with searching(world, Listener()) as engine:
        await store(world, engine, *texts)
        before = await engine.search(query="percussion", explain=True)
        memory_id = (await engine.remember(content="planted", category="longterm")).memory_id
        space = space_for(ME, Scope.PRIVATE)
        key, bucket = parse_key(space.key(Kind.MEMORY, memory_id)), await world.buckets.open(space.bucket)
        assert key is not None
        value = encode(Stored.of(model="ear", hash=content_hash("planted"), values=pack("<3e", *planted)))
        await bucket.write(Put(key=key.vector("ear"), value=value, expected=0, op="planted"))
        await engine._projection.complete()  # pyright: ignore[reportPrivateUsage] - as in `store`
        after = await engine.search(query="percussion", explain=True)
        assert [(row.content, row.explained) for row in after.rows] == [
            (row.content, row.explained) for row in before.rows
        ]
        vectors = engine._search._vectors  # pyright: ignore[reportPrivateUsage, reportOptionalMemberAccess] - what it counts
        assert vectors.unreadable == 1
        assert (await engine.memory_status()).embeddings == "warming up (3/4 indexed, 1 pending, 75%); 1 unreadable"
        await engine.forget(memory_id=memory_id)


@pytest.mark.requirement("search-gone")
async def test_the_vector_of_what_is_gone_or_changed_finds_nothing() -> None:
    world = World()
    async with searching(world, Listener()) as engine, searching(world, Listener()) as other:
        await store(world, engine, "we bought a drum", "the tax form")
        answer = await engine.search(query="percussion", top_k=1)
        [row] = answer.rows
        await engine.update(memory_id=row.id, expected_revision=row.revision, content="we sold it")
        await other.search(query="x", at_least=answer.position)
        for each in (engine, other):
            async with asyncio.timeout(1):
                while "we bought a drum" in await found(each, "percussion"):
                    pass
        explained = [row.explained for row in (await engine.search(query="percussion", explain=True)).rows]
        assert len(explained) == 1, "the changed one has no vector until it is made"
        await engine.forget(memory_id=row.id)
        assert await found(engine, "sold") == ["the tax form"]
    async with searching(world, Listener()) as fresh:
        assert await found(fresh, "percussion") == ["the tax form"]


@pytest.mark.requirement("search-overfetch")
async def test_rows_are_fetched_until_enough_may_be_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("loomem.search.POOL", 10)
    world = World()
    async with searching(world) as engine:
        old = [await engine.remember(content=f"plum {n}", category="longterm") for n in range(60)]
        for stored in old[:50]:
            await engine.forget(memory_id=stored.memory_id)
        world.clock.move(days=30)
        for number in range(50):
            await engine.remember(content="plum plum plum", category="longterm", ttl_seconds=1)
            assert number < 50
        world.clock.move(seconds=10)
        # Fifty that match better have expired.
        assert len(await found(engine, "plum", top_k=10)) == 10
        for _ in range(120):
            await engine.remember(content="plum plum", category="longterm")
        # A hundred and twenty that match better say the same.
        assert len(set(await found(engine, "plum", top_k=8))) == 8


async def test_an_engine_without_an_index_says_so() -> None:
    async with World().enter() as engine:
        with pytest.raises(Unavailable, match="without an index"):
            await engine.search(query="x")


async def test_a_source_may_have_a_cap() -> None:
    world = World()
    async with searching(world, None, SearchSettings(per_source=1)) as engine:
        for conversation, number in (("a", 1), ("a", 2), ("b", 3)):
            content = f"plum {number}"
            await engine.remember(content=content, category="longterm", metadata={"conversation": conversation})
        first, second, _ = await found(engine, "plum")
        assert {first, second} & {"plum 3"}


@pytest.mark.requirement("search-dates", "search-zones")
@pytest.mark.parametrize("zone", ["Asia/Kolkata", "America/New_York", "UTC"])
async def test_a_date_is_the_same_day_in_every_zone(zone: str) -> None:
    world = World()
    async with searching(world, None, SearchSettings(deadline_ms=5_000), ZoneInfo(zone)) as engine:
        for day in ("2025-12-30", "2025-12-31", "2026-01-01"):
            await engine.remember(content=f"said {day[-2:]}", category="longterm", metadata={"date": day})
        assert await found(engine, "2025-12-31") == ["said 31"]
        assert await found(engine, "yesterday") == ["said 31"]
        assert set(await found(engine, "December 2025")) == {"said 30", "said 31"}
        row = (await engine.search(query="2025-12-30")).rows[0]
        await engine.forget(memory_id=row.id)
        assert await found(engine, "2025-12-30") == []


# --- what a question commands ------------------------------------------------------------------------------------------


@pytest.mark.requirement("search-commands")
async def test_what_is_excluded_is_shown_by_no_arm() -> None:
    world = World()
    async with searching(world, Listener()) as engine:
        await store(world, engine, "a drum and a Café", "a drum in the attic", "percussion alone", "said on 2025-12-30")
        assert set(await found(engine, "drum percussion -attic")) >= {"a drum and a Café", "percussion alone"}
        assert "a drum in the attic" in await found(engine, "drum")
        for query in ("drum -attic", "percussion -attic", "percussion -ATTIC", 'percussion -"the attic"'):
            assert "a drum in the attic" not in await found(engine, query), query
        assert "a drum and a Café" not in await found(engine, "percussion -cafe")
        assert "said on 2025-12-30" not in await found(engine, "2025-12-30 drum -said")
        # What excludes everything it names asks for it.
        assert "a drum in the attic" in await found(engine, "-attic")


@pytest.mark.requirement("search-commands")
async def test_a_phrase_binds_every_arm_unless_it_stands_nowhere() -> None:
    world = World()
    async with searching(world, Listener()) as engine:
        await store(world, engine, "we bought a drum", "a drum was bought", "percussion alone")
        assert await found(engine, '"bought a drum"') == ["we bought a drum"]
        assert await found(engine, 'percussion "bought a drum"') == ["we bought a drum"]
        assert set(await found(engine, '"drum percussion"')) == {
            "we bought a drum",
            "a drum was bought",
            "percussion alone",
        }


async def test_commands_bind_rows_that_are_not_indexed_yet() -> None:
    async with Text(pause_s=60) as text:
        text.put(1, "a", "a drum in the Attic")
        text.put(2, "a", "a drum and a Café")
        assert text.passing(text.query("drum -attic"), [1, 2]) == {2}
        assert text.passing(text.query('"drum and a cafe"'), [1, 2]) == {2}
        assert text.passing(text.query('-"the attic" drum'), [1, 2]) == {2}


# --- versions, and moments ----------------------------------------------------------------------------------------------


@pytest.mark.requirement("lesson-3.20")
async def test_what_was_superseded_never_stands_before_what_took_its_place() -> None:
    world = World()
    async with searching(world) as engine:
        first = await engine.store(content="plum plum plum")
        await engine.store(content="plum jam is what we say when plum is meant", supersedes=first.memory_id)
        for number in range(3):
            await engine.store(content=f"a plum {number} in a long sentence of other words")
        contents = await found(engine, "plum", include_superseded=True)
        at = contents.index("plum plum plum")
        assert contents[at - 1] == "plum jam is what we say when plum is meant"
        assert len(contents) == 5
        recalled = await engine.recall(query="plum", include_superseded=True)
        assert recalled.total == 5
        order = [record["content"] for record in recalled.personal]
        assert order.index("plum plum plum") == 1 + order.index("plum jam is what we say when plum is meant")
        assert "plum plum plum" not in await found(engine, "plum")


@pytest.mark.requirement("search-30")
async def test_what_changes_while_a_search_waits_is_not_shown() -> None:
    world, ear = World(), Listener()
    async with searching(world, ear, SearchSettings(deadline_ms=2_000)) as engine:
        old = await engine.store(content="the drum is red")
        await engine.remember(content="a drum for a moment", category="longterm", ttl_seconds=60)

        async def meanwhile(text: str) -> Embedded:
            await engine.store(content="the drum is blue", supersedes=old.memory_id)
            world.clock.move(seconds=90)
            ear.__dict__.pop("query")
            return Embedded("ear", meaning(text))

        ear.__dict__["query"] = meanwhile
        assert "the drum is red" not in (contents := await found(engine, "drum"))
        assert "a drum for a moment" not in contents


@pytest.mark.requirement("search-25")
async def test_every_row_says_which_arms_brought_it() -> None:
    world = World()
    async with searching(world, None, SearchSettings(per_source=1)) as engine:
        for number in range(12):
            metadata = {"conversation": "one" if number < 11 else "two", "tier": "core" if number == 11 else "plain"}
            content = f"plum {'plum ' * (12 - number)}{number}"
            await engine.remember(content=content, category="longterm", metadata=metadata)
        rows = (await engine.search(query="plum", top_k=2, explain=True)).rows
        assert rows[0].content == "plum plum 11"
        assert all(row.explained is not None and row.explained.arms for row in rows)


@pytest.mark.requirement("lesson-3.10")
async def test_after_the_deadline_more_is_not_weighed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("loomem.search.SLICE", 10)
    world, ear = World(), Listener()
    async with searching(world, ear, SearchSettings(deadline_ms=300)) as engine:
        for number in range(30):
            await engine.remember(content=f"plum {number}", category="longterm")
        await indexed(engine)
        ear.slow = True
        answer = await engine.search(query="plum", top_k=5)
        assert len(answer.rows) == 5
        assert answer.degraded[-1] == "ranking: 20 of 30 rows were not weighed in time"
        assert ear.heard == ["plum"], "it is asked once, however often more is fetched"


@pytest.mark.requirement("search-dates")
async def test_a_ranked_recall_counts_rows_of_a_date_only_when_it_asks_for_nothing_else() -> None:
    world = World()
    async with searching(world) as engine:
        await engine.remember(content="a walk", category="longterm", metadata={"date": "2025-12-30"})
        await engine.remember(content="tea", category="longterm", metadata={"date": "2025-12-30"})
        assert (await engine.recall(query="the walk of 30 December 2025")).total == 1
        assert (await engine.recall(query="30 December 2025")).total == 2


async def pages(world: World, engine: Engine, **asked: Any) -> tuple[list[str], set[int], list[Any]]:
    """Return the contents of all pages of a ranked recall in their order, the totals told, and what each page lacked."""
    seen: list[str] = []
    totals: set[int] = set()
    lacking: list[Any] = []
    cursor = None
    while True:
        page = await engine.recall(**asked, cursor=cursor)
        seen += [record["content"] for record in page.private]
        totals.add(page.total)
        lacking.append(page.degraded)
        if not page.has_more:
            return seen, totals, lacking
        cursor = page.cursor
        world.clock.move(days=1)  # what fades faster falls behind


@pytest.mark.requirement("search-recall")
async def test_the_pages_of_a_ranked_recall_hold_each_row_once() -> None:
    world, ear = World(), Listener()
    async with searching(world, ear, SearchSettings(deadline_ms=5_000)) as engine:
        for number in range(700):
            level = {"priority": 1 + number % 3, "tier": "ephemeral" if number % 7 == 0 else "plain"}
            await engine.remember(content=f"plum {'plum ' * (number % 9)}{number}", category="longterm", metadata=level)
            world.clock.move(seconds=600)
        seen, totals, _ = await pages(world, engine, query="plum", limit=100)
        assert (len(seen), len(set(seen)), totals) == (700, 700, {700})


@pytest.mark.requirement("search-recall")
async def test_later_pages_are_of_the_ranking_of_the_first_even_when_the_meaning_comes_or_goes() -> None:
    world, ear = World(), Listener()
    async with searching(world, ear, SearchSettings(deadline_ms=5_000)) as engine:
        await store(world, engine, *(f"drum {number}" for number in range(6)), *(f"percussion {n}" for n in range(6)))
        ear.failure = Unavailable("Nobody embeds.")
        first = await engine.recall(query="drum", limit=4)
        ear.failure = None
        second = await engine.recall(query="drum", limit=4, cursor=first.cursor)
        assert (first.total, second.total, second.has_more) == (6, 6, False)
        assert second.degraded == first.degraded == ["meaning: Nobody embeds"]
        whole = await engine.recall(query="drum", limit=4)
        assert (whole.total, whole.degraded) == (12, None)
        ear.failure = Unavailable("Nobody embeds.")
        rest = await engine.recall(query="drum", limit=20, cursor=whole.cursor)
        assert (rest.total, len(rest.private), rest.degraded) == (12, 8, None)
        # What is changed or gone meanwhile shifts nothing.
        changed, gone = rest.private[0], rest.private[1]
        await engine.update(memory_id=changed["id"], expected_revision=changed["revision"], content="a snare")
        await engine.forget(memory_id=gone["id"])
        again = await engine.recall(query="drum", limit=20, cursor=whole.cursor)
        assert [record["id"] for record in again.private] == [
            record["id"] for record in rest.private if record["id"] != gone["id"]
        ]
        assert again.private[0]["content"] == "a snare"
        # Another process, or one that has forgotten, makes it anew.
        ear.failure = None
        async with searching(world, ear) as other:
            page = await other.recall(query="drum", limit=20, cursor=whole.cursor)
            assert len(page.private) == 6, "the changed one is not found any more"
