"""The engine's behaviour, the same on the double in memory and on the real broker."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from typing import Any

import pytest

from identity.errors import (
    AccessDenied,
    Conflict,
    CoreProtected,
    InvalidCategory,
    InvalidInput,
    LimitExceeded,
    LoomError,
    NotFound,
)
from identity.keys import Kind, Root, Space, project_bucket, user_bucket
from identity.ports import Entry, Marker, Put, Reason
from loomem.core.limits import Limits
from loomem.core.scan import ScanPolicy
from loomem.engine import Engine
from pattern.testing.accounts import NatsAccount
from tests.contracts.engine_kit import nats_world
from tests.laws.worlds import World, agent

A, B = agent("a"), agent("b", user="v")
SUB = agent("a", subagent="explore")
UNKNOWN = "00000000-0000-4000-8000-000000000000"


@pytest.fixture(params=["memory", "nats"])
async def world(request: pytest.FixtureRequest) -> AsyncGenerator[World]:
    if request.param == "memory":
        yield World()
        return
    account: NatsAccount = request.getfixturevalue("nats_account")
    async with nats_world(account.url) as real:
        yield real


async def held(world: World, space: Space, ident: str) -> Entry | Marker | None:
    """Return what a key of a space holds."""
    return await (await world.buckets.open(space.bucket)).get(space.key(Kind.MEMORY, ident))


def private(caller: str = "a" * 32) -> Space:
    return Space(project_bucket(A.project_id), Root.AGENTS, caller)


def personal() -> Space:
    return Space(user_bucket(A.user_id), Root.PERSONAL, "user")


async def contents(engine: Engine, **filters: object) -> set[str]:
    """Return the contents of everything that a recall finds."""
    answer = await engine.recall(**filters)  # type: ignore[arg-type]
    return {row["content"] for rows in (answer.private, answer.personal, answer.team, answer.public) for row in rows}


# --- remember ---------------------------------------------------------------------------------------------------------


async def test_a_new_memory_is_private_and_recent_and_lies_under_its_key(world: World) -> None:
    async with world.enter(A) as me:
        one = await me.remember(content=" x ")
        entry = await held(world, private(), one.memory_id)
        assert isinstance(entry, Entry)
        assert entry.revision == one.revision
        assert one.as_json() == {
            "memoryId": one.memory_id,
            "expiresAt": "2026-01-02T12:00:00.000Z",
            "scope": "private",
            "category": "recent",
            "revision": one.revision,
            "position": f"{private().bucket}@{one.revision}",
        }
        assert b'"content":" x "' in entry.value
        assert b"metadata" not in entry.value


@pytest.mark.parametrize(
    ("scope", "category", "where"),
    [
        (None, "longterm", "private"),
        (None, "core", "personal"),
        (None, "decisions", "team"),
        ("shared", "learnings", "team"),
        ("user", "tasks", "personal"),
        ("private", "core", "private"),
        ("public", "architecture", "public"),
    ],
)
async def test_scope_follows_category(world: World, scope: str | None, category: str, where: str) -> None:
    async with world.enter(A) as me:
        one = await me.remember(content="x", scope=scope, category=category)
        assert (one.scope, one.category) == (where, category)
        assert (one.expires_at is not None) == (category == "tasks")
        assert (await me.recall(scopes=[where])).total == 1


BAD: list[tuple[dict[str, Any], type[LoomError], str]] = [
    ({}, InvalidInput, "content"),
    ({"content": ""}, InvalidInput, "content"),
    ({"content": " \n\t"}, InvalidInput, "content"),
    ({"content": 5}, InvalidInput, "content"),
    ({"content": "x" * 32_769}, InvalidInput, "content"),
    ({"content": "語" * 10_923}, InvalidInput, "content"),
    ({"content": "a\0b"}, InvalidInput, "content"),
    ({"content": "a\ud800"}, InvalidInput, "content"),
    ({"content": "x", "scope": "banana"}, InvalidInput, "scope"),
    ({"content": "x", "scope": 1}, InvalidInput, "scope"),
    ({"content": "x", "category": "banana"}, InvalidCategory, "category"),
    ({"content": "x", "scope": "team"}, InvalidCategory, "category"),
    ({"content": "x", "scope": "team", "category": "core"}, InvalidCategory, "category"),
    ({"content": "x", "scope": "private", "category": "decisions"}, InvalidCategory, "category"),
    ({"content": "x", "metadata": []}, InvalidInput, "metadata"),
    ({"content": "x", "metadata": {"tags": "a"}}, InvalidInput, "metadata.tags"),
    ({"content": "x", "metadata": {"tags": ["a"] * 11}}, InvalidInput, "metadata.tags"),
    ({"content": "x", "metadata": {"tags": ["a" * 51]}}, InvalidInput, "metadata.tags"),
    ({"content": "x", "metadata": {"priority": 0}}, InvalidInput, "metadata.priority"),
    ({"content": "x", "metadata": {"priority": 4}}, InvalidInput, "metadata.priority"),
    ({"content": "x", "metadata": {"priority": True}}, InvalidInput, "metadata.priority"),
    ({"content": "x", "metadata": {"priority": "1"}}, InvalidInput, "metadata.priority"),
    ({"content": "x", "metadata": {"relatedTo": [1]}}, InvalidInput, "metadata.relatedTo"),
    ({"content": "x", "metadata": {"source": 1}}, InvalidInput, "metadata.source"),
    ({"content": "x", "metadata": {"n": 2**80}}, InvalidInput, "metadata.n"),
    ({"content": "x", "metadata": {"x": "y" * 11_000}}, InvalidInput, "metadata"),
    ({"content": "x", "ttl_seconds": 0}, InvalidInput, "ttlSeconds"),
    ({"content": "x", "ttl_seconds": "1"}, InvalidInput, "ttlSeconds"),
    ({"content": "x", "ttl_seconds": 10**12}, InvalidInput, "ttlSeconds"),
    ({"content": "x", "category": "core", "ttl_seconds": 60}, InvalidInput, "ttlSeconds"),
]


async def test_bad_memories_are_refused_by_every_creating_verb_and_change_nothing(world: World) -> None:
    async with world.enter(A) as me:
        for arguments, error, field in BAD:
            with pytest.raises(error) as caught:
                await me.remember(**{"content": None, **arguments})
            assert caught.value.details["field"] == field
            item = {"ttlSeconds" if key == "ttl_seconds" else key: value for key, value in arguments.items()}
            with pytest.raises(InvalidInput) as caught:
                await me.remember_bulk(memories=[{"content": "good"}, item])
            assert [bad["index"] for bad in caught.value.details["validationErrors"]] == [1]
            partly = await me.remember_bulk(memories=[item, {"content": "good"}], validate=False)
            assert (partly.stored, partly.failed, partly.errors[0].index) == (1, 1, 0)
        assert (await me.recall(search="x")).total == 0


async def test_the_limit_of_content_counts_bytes(world: World) -> None:
    async with world.enter(A) as me:
        await me.remember(content="x" * 32_768)
        await me.remember(content="é" * 16_384)
        assert (await me.recall()).total == 2


async def test_a_life_can_be_given(world: World) -> None:
    async with world.enter(A) as me:
        one = await me.remember(content="x", category="longterm", ttl_seconds=60)
        assert one.expires_at == "2026-01-01T12:01:00.000Z"
        world.clock.move(seconds=60)
        assert (await me.recall()).total == 1  # only strictly before now is over
        world.clock.move(milliseconds=1)
        answer = await me.recall()
        assert (answer.total, answer.counts.expired) == (0, 1)
        assert (await me.recall(include_expired=True)).total == 1
        with pytest.raises(NotFound):
            await me.get(memory_id=one.memory_id)


# --- limits -----------------------------------------------------------------------------------------------------------


async def test_core_is_limited_on_every_path(world: World) -> None:
    async with world.enter(A, limits=Limits(core=2)) as me:
        kept = await me.remember(content="1", category="core")
        await me.remember(content="2", category="core")
        with pytest.raises(LimitExceeded) as full:
            await me.remember(content="3", category="core")
        assert (full.value.details["currentCount"], full.value.details["maxCount"]) == (2, 2)
        items = [{"content": f"{n}", "category": "core"} for n in range(3)]
        assert (await me.remember_bulk(memories=items)).failed == 3
        with pytest.raises(LimitExceeded):
            await me.remember_bulk(memories=items, atomic=True)
        longterm = await me.remember(content="x", scope="personal", category="longterm")
        with pytest.raises(LimitExceeded):
            await me.update(memory_id=longterm.memory_id, expected_revision=longterm.revision, category="core")
        await me.forget(memory_id=kept.memory_id, force=True)
        partly = await me.remember_bulk(memories=items)
        assert (partly.stored, [error.index for error in partly.errors]) == (1, [1, 2])
        assert partly.errors[0].code == "STORAGE_FULL"


async def test_a_space_is_limited(world: World) -> None:
    async with world.enter(A, limits=Limits(space=3)) as me:
        await me.remember_bulk(memories=[{"content": f"{n}", "category": "longterm"} for n in range(3)])
        with pytest.raises(LimitExceeded):
            await me.remember(content="4")
        await me.remember(content="elsewhere", category="decisions")
        world.clock.move(days=1)
    async with world.enter(A, limits=Limits(space=3)) as me:
        with pytest.raises(LimitExceeded):
            await me.remember(content="4")


async def test_limits_hold_under_concurrency(world: World) -> None:
    async with world.enter(A, limits=Limits(core=10)) as me:
        results = await asyncio.gather(
            *(me.remember(content=f"{n}", category="core") for n in range(30)), return_exceptions=True
        )
        assert sum(isinstance(result, LimitExceeded) for result in results) == 20
        assert (await me.recall()).total == 10


async def test_what_has_expired_makes_room(world: World) -> None:
    async with world.enter(A, limits=Limits(space=2)) as me:
        await me.remember(content="1")
        await me.remember(content="2")
        with pytest.raises(LimitExceeded):
            await me.remember(content="3")
        world.clock.move(days=2)
        await me.remember(content="3")


# --- update -----------------------------------------------------------------------------------------------------------


async def test_an_update_needs_the_revision_it_knows(world: World) -> None:
    async with world.enter(A) as me:
        one = await me.remember(content="first", category="longterm", metadata={"tags": ["a"]})
        world.clock.move(seconds=5)
        two = await me.update(memory_id=one.memory_id, expected_revision=one.revision, content="second")
        assert two.updated_at == "2026-01-01T12:00:05.000Z"
        with pytest.raises(Conflict) as lost:
            await me.update(memory_id=one.memory_id, expected_revision=one.revision, content="third")
        assert lost.value.details["currentRevision"] == two.revision
        assert lost.value.details["current"]["content"] == "second"
        row = (await me.get(memory_id=one.memory_id)).memory
        assert (row["content"], row["revision"]) == ("second", two.revision)
        assert row["metadata"] == {"tags": ["a"]}
        await me.update(memory_id=one.memory_id, expected_revision=two.revision, metadata={})
        assert "metadata" not in (await me.get(memory_id=one.memory_id)).memory


async def test_of_many_updates_at_once_one_wins(world: World) -> None:
    async with world.enter(A) as me, world.enter(A) as twin:
        one = await me.remember(content="0", category="longterm")
        results = await asyncio.gather(
            *(
                who.update(memory_id=one.memory_id, expected_revision=one.revision, content=f"{n}")
                for n, who in enumerate([me, twin] * 5)
            ),
            return_exceptions=True,
        )
        assert sorted(type(result).__name__ for result in results) == ["Conflict"] * 9 + ["Updated"]


async def test_an_update_keeps_the_end_unless_it_sets_one(world: World) -> None:
    async with world.enter(A) as me:
        one = await me.remember(content="x")
        world.clock.move(hours=1)
        two = await me.update(memory_id=one.memory_id, expected_revision=one.revision, content="y")
        assert two.expires_at == one.expires_at
        three = await me.update(memory_id=one.memory_id, expected_revision=two.revision, ttl_seconds=60)
        assert three.expires_at == "2026-01-01T13:01:00.000Z"
        four = await me.update(memory_id=one.memory_id, expected_revision=three.revision, category="longterm")
        assert four.expires_at is None
        five = await me.update(memory_id=one.memory_id, expected_revision=four.revision, category="tasks")
        assert five.expires_at == "2026-01-02T13:00:00.000Z"
        world.clock.move(days=2)
        with pytest.raises(NotFound):
            await me.update(memory_id=one.memory_id, expected_revision=five.revision, content="z")


async def test_private_core_has_its_own_key(world: World) -> None:
    async with world.enter(A) as me, world.enter(SUB) as sub:
        one = await me.remember(content="x", category="longterm")
        assert await contents(sub, at_least=one.position) == {"x"}
        two = await me.update(memory_id=one.memory_id, expected_revision=one.revision, category="core")
        gone = await held(world, private(), one.memory_id)
        assert isinstance(gone, Marker)
        assert gone.reason is Reason.MOVE
        row = (await me.get(memory_id=one.memory_id)).memory
        assert (row["category"], row["revision"]) == ("core", two.revision)
        assert (await sub.recall(at_least=two.position)).total == 0
        with pytest.raises(CoreProtected):
            await me.update(memory_id=one.memory_id, expected_revision=two.revision, category="longterm")


async def test_bad_updates_are_refused(world: World) -> None:
    async with world.enter(A) as me, world.enter(B) as other:
        one = await me.remember(content="x", category="decisions")
        await other.recall(at_least=one.position)
        for arguments, error in [
            ({}, InvalidInput),
            ({"expected_revision": 0, "content": "y"}, InvalidInput),
            ({"expected_revision": "1", "content": "y"}, InvalidInput),
            ({"content": " "}, InvalidInput),
            ({"category": "recent"}, InvalidCategory),
            ({"memory_id": UNKNOWN, "content": "y"}, NotFound),
            ({"memory_id": "nope", "content": "y"}, InvalidInput),
        ]:
            with pytest.raises(error):
                await me.update(**{"memory_id": one.memory_id, "expected_revision": one.revision, **arguments})  # type: ignore[arg-type]
        with pytest.raises(AccessDenied):
            await other.update(memory_id=one.memory_id, expected_revision=one.revision, content="y")


# --- commit -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("category", ["recent", "tasks"])
@pytest.mark.parametrize("scope", ["private", "personal"])
async def test_a_commit_makes_a_memory_last_in_its_place(world: World, category: str, scope: str) -> None:
    async with world.enter(A) as me:
        one = await me.remember(content="x", scope=scope, category=category, metadata={"tags": ["t"]})
        done = await me.commit(memory_id=one.memory_id)
        assert (done.previous_category, done.previous_scope, done.new_scope) == (category, scope, scope)
        row = (await me.get(memory_id=one.memory_id)).memory
        assert row["category"] == "longterm"
        assert "expiresAt" not in row
        assert row["createdAt"] < row["updatedAt"]
        assert row["metadata"] == {"tags": ["t"]}
        world.clock.move(days=30)
        assert (await me.recall()).total == 1


@pytest.mark.parametrize(("source", "target"), [("private", "personal"), ("personal", "private")])
async def test_a_commit_moves_between_buckets(world: World, source: str, target: str) -> None:
    async with world.enter(A) as me:
        one = await me.remember(content="x", scope=source)
        done = await me.commit(memory_id=one.memory_id, target_scope=target, new_content="y")
        assert (done.previous_scope, done.new_scope, done.warnings) == (source, target, None)
        answer = await me.recall()
        assert (answer.total, getattr(answer, target)[0]["content"]) == (1, "y")
        spaces = {"private": private(), "personal": personal()}
        gone = await held(world, spaces[source], one.memory_id)
        there = await held(world, spaces[target], one.memory_id)
        assert isinstance(gone, Marker)
        assert isinstance(there, Entry)
        assert gone.reason is Reason.MOVE
        assert there.op is not None
        assert there.op.startswith(f"move {spaces[source].bucket} {spaces[source].key(Kind.MEMORY, one.memory_id)} ")


async def test_bad_commits_are_refused(world: World) -> None:
    async with world.enter(A) as me, world.enter(B) as other, world.enter(SUB) as sub:
        recent = await me.remember(content="x")
        longterm = await me.remember(content="l", category="longterm")
        core = await me.remember(content="c", category="core")
        team = await me.remember(content="t", category="decisions")
        for arguments, error in [
            ({"memory_id": ""}, InvalidInput),
            ({"memory_id": None}, InvalidInput),
            ({"memory_id": "nope"}, InvalidInput),
            ({"memory_id": UNKNOWN}, NotFound),
            ({"memory_id": longterm.memory_id}, InvalidInput),
            ({"memory_id": core.memory_id}, CoreProtected),
            ({"memory_id": team.memory_id}, NotFound),
            ({"memory_id": recent.memory_id, "target_scope": "team"}, InvalidInput),
            ({"memory_id": recent.memory_id, "target_scope": "banana"}, InvalidInput),
            ({"memory_id": recent.memory_id, "new_content": " "}, InvalidInput),
            ({"memory_id": recent.memory_id, "new_content": "x" * 40_000}, InvalidInput),
        ]:
            with pytest.raises(error) as caught:
                await me.commit(**arguments)  # type: ignore[arg-type]
            assert type(caught.value) is error
        for who in (other, sub):
            with pytest.raises(NotFound):
                await who.commit(memory_id=recent.memory_id)
        assert (await me.get(memory_id=recent.memory_id)).memory["revision"] == recent.revision
        world.clock.move(days=2)
        with pytest.raises(NotFound):
            await me.commit(memory_id=recent.memory_id)


# --- share ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("scope", ["private", "personal"])
@pytest.mark.parametrize("keep", [False, True])
async def test_a_share_gives_the_team_a_new_memory(world: World, scope: str, *, keep: bool) -> None:
    async with world.enter(A) as me, world.enter(B) as other:
        one = await me.remember(content="x", scope=scope, category="longterm", metadata={"priority": 1})
        world.clock.move(seconds=1)
        done = await me.share(memory_id=one.memory_id, keep_original=keep)
        assert (done.original_deleted, done.warnings) == (not keep, None)
        assert done.team_memory_id != one.memory_id
        row = (await other.recall(at_least=done.position)).team[0]
        assert row["category"] == "learnings"
        assert (row["agentId"], row["metadata"]) == (A.agent_id, {"priority": 1})
        assert row["createdAt"] == row["updatedAt"] == "2026-01-01T12:00:01.000Z"
        assert len(getattr(await me.recall(), scope)) == keep


async def test_bad_shares_are_refused(world: World) -> None:
    async with world.enter(A) as me, world.enter(SUB) as sub:
        recent = await me.remember(content="x")
        core = await me.remember(content="c", category="core")
        longterm = await me.remember(content="l", category="longterm")
        for arguments, error in [
            ({"memory_id": recent.memory_id}, InvalidCategory),
            ({"memory_id": longterm.memory_id, "category": "recent"}, InvalidCategory),
            ({"memory_id": UNKNOWN}, NotFound),
            ({"memory_id": core.memory_id}, CoreProtected),
            ({"memory_id": longterm.memory_id, "keep_original": "yes"}, InvalidInput),
        ]:
            with pytest.raises(error) as caught:
                await me.share(**arguments)  # type: ignore[arg-type]
            assert type(caught.value) is error
        with pytest.raises(NotFound):
            await sub.share(memory_id=longterm.memory_id)
        assert (await me.recall()).total == 3
        assert not (await me.share(memory_id=core.memory_id, keep_original=True)).original_deleted
        assert (await me.share(memory_id=core.memory_id, force=True)).original_deleted


# --- forget -----------------------------------------------------------------------------------------------------------


async def test_only_the_creator_forgets(world: World) -> None:
    async with world.enter(A) as me, world.enter(B) as other, world.enter(SUB) as sub:
        mine = await me.remember(content="x")
        core = await me.remember(content="c", category="core")
        team = await me.remember(content="t", category="decisions")
        public = await me.remember(content="p", scope="public", category="decisions")
        for who in (other, sub):
            for one in (team, public):
                with pytest.raises(AccessDenied) as denied:
                    await who.forget(memory_id=one.memory_id)
                assert type(denied.value) is AccessDenied
            for one in (mine, core):
                with pytest.raises(NotFound):
                    await who.forget(memory_id=one.memory_id, force=True)
        with pytest.raises(CoreProtected, match="force=true"):
            await me.forget(memory_id=core.memory_id)
        for one in (mine, core, team, public):
            done = await me.forget(memory_id=one.memory_id, force=True)
            assert (done.deleted, done.category) == (True, one.category)
            with pytest.raises(NotFound):
                await me.forget(memory_id=one.memory_id)
        marker = await held(world, private(), mine.memory_id)
        assert isinstance(marker, Marker)
        assert marker.reason is Reason.FORGET
        with pytest.raises(InvalidInput):
            await me.forget(memory_id="nope")


async def test_what_another_process_wrote_a_moment_ago_is_known(world: World) -> None:
    async with world.enter(A) as me, world.enter(A) as twin:
        for number in range(5):
            one = await me.remember(content=f"{number}")
            assert (await twin.forget(memory_id=one.memory_id)).deleted
            with pytest.raises(NotFound):
                await me.update(memory_id=one.memory_id, expected_revision=one.revision, content="late")


async def test_two_forget_the_same(world: World) -> None:
    async with world.enter(A) as me, world.enter(A) as twin:
        one = await me.remember(content="x")
        await twin.recall(at_least=one.position)
        results = await asyncio.gather(
            *(who.forget(memory_id=one.memory_id) for who in (me, twin)), return_exceptions=True
        )
        deleted = [getattr(result, "deleted", None) for result in results]
        assert deleted.count(True) == 1


# --- cleanup ----------------------------------------------------------------------------------------------------------


async def test_cleanup_erases_only_what_is_due_and_mine(world: World) -> None:
    limits = Limits(recent=5, tasks=3, core=2)
    async with world.enter(A, limits=Limits(core=3)) as me, world.enter(agent("b"), limits=limits) as other:
        await other.remember(content="old of another")
        await me.remember(content="old")
        world.clock.move(days=1, seconds=1)
        for number in range(7):
            world.clock.move(seconds=1)
            await me.remember(content=f"recent {number}")
            await me.remember(content=f"task {number}", category="tasks")
        for number in range(3):
            await me.remember(content=f"core {number}", category="core")
    async with world.enter(A, limits=limits) as me:
        first = await me.cleanup(expire_only=True)
        assert (first.expired, first.deleted, first.errors) == (1, 0, [])
        second = await me.cleanup()
        assert (second.expired, second.deleted) == (0, 6)
        assert len(second.errors) == 1
        assert "3 core memories" in second.errors[0]
        assert await contents(me) == {
            *(f"recent {n}" for n in range(2, 7)),
            *(f"task {n}" for n in range(4, 7)),
            *(f"core {n}" for n in range(3)),
        }
        third = await me.cleanup()
        assert (third.expired, third.deleted, third.position) == (0, 0, None)
    async with world.enter(agent("b")) as other:
        assert (await other.recall()).counts.expired == 1


# --- bulk -------------------------------------------------------------------------------------------------------------


async def test_empty_bulks_do_nothing(world: World) -> None:
    async with world.enter(A) as me:
        nothing: tuple[object, ...] = (None, [])
        for memories in nothing:
            assert (await me.remember_bulk(memories=memories)).as_json() == {
                "stored": 0,
                "failed": 0,
                "errors": [],
                "memoryIds": [],
                "revisions": [],
            }
            assert (await me.forget_bulk(memory_ids=memories)).as_json() == {"deleted": 0, "failed": 0, "errors": []}
        with pytest.raises(InvalidInput):
            await me.remember_bulk(memories="x")
        with pytest.raises(InvalidInput):
            await me.remember_bulk(memories=[{"content": "x"}] * 1_001)


async def test_a_bulk_stores_in_order_over_all_spaces(world: World) -> None:
    told: list[tuple[float, float | None]] = []

    async def progress(done: float, total: float | None, message: str) -> None:
        told.append((done, total))

    async with world.enter(A) as me:
        categories = ["recent", "core", "decisions", "longterm"]
        items = [{"content": f"{n}", "category": categories[n % 4]} for n in range(450)]
        done = await me.remember_bulk(memories=items, progress=progress)
        assert (done.stored, done.failed, len(done.memory_ids)) == (437, 13, 437)  # 113 of core, where 100 fit
        assert [error.index for error in done.errors] == [n for n in range(450) if n % 4 == 1][100:]
        shown = {row["id"]: row for row in (await me.recall(limit=200, categories=["core"])).personal}
        assert [shown[i]["content"] for i in done.memory_ids if i in shown] == [f"{n}" for n in range(1, 400, 4)]
        assert told[-1] == (450, 450)
        total = (await me.recall(at_least=done.position)).total
        assert total == 437


async def test_half_of_a_bulk_is_bad(world: World) -> None:
    async with world.enter(A) as me:
        items = [{"content": " " if n % 2 else f"{n}"} for n in range(100)]
        done = await me.remember_bulk(memories=items, validate=False)
        assert (done.stored, done.failed, len(done.memory_ids)) == (50, 50, 50)
        assert [error.index for error in done.errors] == list(range(1, 100, 2))
        with pytest.raises(InvalidInput) as refused:
            await me.remember_bulk(memories=items)
        assert len(refused.value.details["validationErrors"]) == 50
        assert refused.value.details["totalMemories"] == 100
        stopped = await me.remember_bulk(memories=items, validate=False, stop_on_error=True)
        assert (stopped.stored, stopped.failed, stopped.errors[0].index) == (1, 1, 1)


async def test_all_or_nothing(world: World) -> None:
    async with world.enter(A) as me:
        both = [{"content": "a"}, {"content": "b", "category": "decisions"}]
        assert (await me.remember_bulk(memories=both, atomic=True)).stored == 2
        with pytest.raises(InvalidInput):
            await me.remember_bulk(memories=[*both, {"content": "c", "category": "core"}], atomic=True)
        with pytest.raises(InvalidInput):
            await me.remember_bulk(memories=[*both, {"content": ""}], atomic=True, validate=False)
        assert (await me.recall()).total == 2
        many = await me.remember_bulk(memories=[{"content": f"{n}"} for n in range(1_000)], atomic=True)
        assert many.revisions == list(range(many.revisions[0], many.revisions[0] + 1_000))


async def test_forget_bulk_tells_what_it_could_not(world: World) -> None:
    async with world.enter(A) as me:
        good = await me.remember(content="x")
        core = await me.remember(content="c", category="core")
        done = await me.forget_bulk(memory_ids=["", good.memory_id, "nope", core.memory_id, good.memory_id, 5])
        assert (done.deleted, done.failed) == (1, 5)
        assert [error.memory_id for error in done.errors] == ["", "nope", core.memory_id, good.memory_id, "number"]
        assert [error.code for error in done.errors] == [
            "VALIDATION_ERROR",
            "VALIDATION_ERROR",
            "CORE_PROTECTED",
            "MEMORY_NOT_FOUND",
            "VALIDATION_ERROR",
        ]
        stopped = await me.forget_bulk(memory_ids=["nope", core.memory_id], stop_on_error=True, force=True)
        assert (stopped.deleted, stopped.failed) == (0, 1)
        assert (await me.forget_bulk(memory_ids=[core.memory_id], force=True)).deleted == 1
        many = await me.remember_bulk(memories=[{"content": f"{n}"} for n in range(500)])
        assert (await me.forget_bulk(memory_ids=many.memory_ids)).deleted == 500
        assert (await me.recall()).total == 0


# --- isolation --------------------------------------------------------------------------------------------------------


async def test_who_sees_what(world: World) -> None:
    other_project, other_user = agent("c", project="q"), agent("b", user="v")
    async with world.enter(A) as me:
        for scope, category in [
            ("private", "recent"),
            ("private", "core"),
            ("personal", "longterm"),
            ("personal", "core"),
            ("team", "decisions"),
            ("public", "decisions"),
        ]:
            await me.remember(content=f"{scope} {category}", scope=scope, category=category)
    async with world.enter(other_user) as seen_by:
        assert await contents(seen_by) == {"team decisions", "public decisions"}
        assert (await seen_by.recall()).counts.expired == 0
    async with world.enter(other_project) as seen_by:
        assert await contents(seen_by) == {"personal longterm", "personal core", "public decisions"}
    async with world.enter(SUB) as seen_by:
        assert await contents(seen_by) == {"private recent", "team decisions", "public decisions"}
        await seen_by.remember(content="of the sub-agent")
    async with world.enter(A) as me:
        assert len(await contents(me)) == 6


async def test_a_forged_record_is_counted_and_never_shown(world: World) -> None:
    async with world.enter(A) as me, world.enter(agent("b")) as other:
        one = await me.remember(content="x", category="decisions")
        bucket = await world.buckets.open(private().bucket)
        entry = await bucket.get(Space(bucket.name, Root.SHARED, A.agent_id).key(Kind.MEMORY, one.memory_id))
        assert isinstance(entry, Entry)
        door = other._door  # pyright: ignore[reportPrivateUsage]
        forged = Space(bucket.name, Root.SHARED, "b" * 32).key(Kind.MEMORY, one.memory_id)
        written = await door.send(bucket.name, Put(key=forged, value=entry.value, expected=0, op="forged"))
        answer = await me.recall(at_least=written.position)
        assert (answer.total, answer.corrupt) == (1, 1)
        health = me.counts()
        assert health.view.corrupt_samples == [
            {"bucket": bucket.name, "key": forged, "reason": "it names another creator than its key"}
        ]


# --- the scanner ------------------------------------------------------------------------------------------------------


async def test_what_the_scanner_finds_is_told_redacted_or_refused(world: World) -> None:
    secret = "password: hunter2-hunter2"
    async with world.enter(A, scan=ScanPolicy.WARN) as me:
        one = await me.remember(content=secret, metadata={"source": secret})
        assert one.warnings is not None
        assert [w.field for w in one.warnings if w.type == "password"] == ["content", "metadata.source"]
        many = await me.remember_bulk(memories=[{"content": "x"}, {"content": secret}])
        assert many.warnings is not None
        assert many.warnings[0].index == 1
        done = await me.commit(memory_id=one.memory_id, new_content=secret)
        assert done.warnings
    async with world.enter(A, scan=ScanPolicy.REDACT) as me:
        two = await me.remember(content=secret)
        assert "hunter2" not in (await me.get(memory_id=two.memory_id)).memory["content"]
        shared = await me.share(memory_id=one.memory_id)
        assert "hunter2" not in (await me.get(memory_id=shared.team_memory_id)).memory["content"]
    async with world.enter(A, scan=ScanPolicy.BLOCK) as me:
        with pytest.raises(InvalidInput) as refused:
            await me.remember(content=secret)
        assert "hunter2" not in str(refused.value.details) + refused.value.message
