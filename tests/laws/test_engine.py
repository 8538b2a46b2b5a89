"""The engine on a broker in memory: remember, read, change, forget."""

from __future__ import annotations

import asyncio

import pytest

from identity.errors import Conflict, InvalidInput, NotFound, Unavailable
from identity.keys import project_bucket, user_bucket
from tests.laws.worlds import World, agent


@pytest.fixture
def world() -> World:
    return World()


async def test_what_is_remembered_is_recalled_at_once(world: World) -> None:
    async with world.enter() as me:
        one = await me.remember(content="x")
        assert (one.scope, one.category, one.expires_at) == ("private", "recent", "2026-01-02T12:00:00.000Z")
        answer = await me.recall()
        assert answer.private == [
            {
                "id": one.memory_id,
                "agentId": "a" * 32,
                "projectId": "p",
                "scope": "private",
                "category": "recent",
                "content": "x",
                "createdAt": "2026-01-01T12:00:00.000Z",
                "updatedAt": "2026-01-01T12:00:00.000Z",
                "expiresAt": "2026-01-02T12:00:00.000Z",
                "version": 1,
                "revision": one.revision,
            }
        ]
        assert answer.summary == "## recent\nx"
        assert answer.as_json()["counts"] == {"private": 1, "personal": 0, "team": 0, "public": 0, "expired": 0}


async def test_what_is_forgotten_is_gone(world: World) -> None:
    async with world.enter() as me:
        one = await me.remember(content="x")
        assert (await me.forget(memory_id=one.memory_id)).deleted
        with pytest.raises(NotFound):
            await me.get(memory_id=one.memory_id)
        assert (await me.recall()).total == 0


async def test_two_agents_share_the_team_scope_only(world: World) -> None:
    async with world.enter(agent("a")) as a, world.enter(agent("b", user="v")) as b:
        shared = await a.remember(content="for all", category="decisions")
        await a.remember(content="mine")
        await a.remember(content="me", category="core")
        answer = await b.recall(at_least=shared.position)
        assert [row["content"] for row in answer.team] == ["for all"]
        assert answer.total == 1


async def test_fifty_at_once(world: World) -> None:
    async with world.enter() as me, asyncio.TaskGroup() as group:
        tasks = [group.create_task(me.remember(content=f"{n}")) for n in range(50)]
    assert len({task.result().memory_id for task in tasks}) == 50


async def test_an_answer_that_is_lost_leaves_nothing_double(world: World) -> None:
    async with world.enter() as me:
        world.broker.fail_next("after", Unavailable("no answer"))
        with pytest.raises(Unavailable):
            await me.remember(content="x")
        assert (await me.recall()).total <= 1  # the change may or may not have happened, and the error says so


async def test_a_bulk_that_loses_the_broker_tells_what_it_stored(world: World) -> None:
    async with world.enter() as me:
        await me.recall()
        items = [{"content": f"{n}"} for n in range(500)]
        world.broker.fail_next("before", Unavailable("gone"), skip=1)
        done = await me.remember_bulk(memories=items)
        assert (done.stored, done.failed) == (200, 300)
        assert {error.code for error in done.errors} == {"NATS_ERROR"}
        assert done.memory_ids == [row["id"] for row in (await me.recall(limit=200)).private]
        world.broker.fail_next("before", Unavailable("gone"))
        with pytest.raises(Unavailable):
            await me.remember_bulk(memories=items)


async def test_a_bulk_without_batches_goes_one_by_one(world: World) -> None:
    async with world.enter() as me:
        await me.recall()
        world.broker.fail_next("before", Conflict(key="k", expected=0, actual=1))
        done = await me.remember_bulk(memories=[{"content": f"{n}"} for n in range(5)])
        assert done.stored == 5


async def test_a_forgotten_bulk_stops_where_the_broker_does(world: World) -> None:
    async with world.enter() as me:
        many = await me.remember_bulk(memories=[{"content": f"{n}"} for n in range(5)])
        world.broker.fail_next("before", Unavailable("gone"))
        with pytest.raises(Unavailable):
            await me.forget_bulk(memory_ids=many.memory_ids)
        assert (await me.recall()).total == 5


async def test_a_cleanup_that_cannot_erase_one_erases_the_rest(world: World) -> None:
    async with world.enter() as me:
        await me.remember_bulk(memories=[{"content": f"{n}"} for n in range(3)])
        world.clock.move(days=2)
        await me.recall()
        refused = Conflict(key="k", expected=1, actual=2)
        for _ in range(2):  # the batch, and the first of them alone
            world.broker.fail_next("before", refused)
        done = await me.cleanup()
        assert (done.expired, len(done.errors)) == (2, 1)


async def test_relations_are_followed_both_ways(world: World) -> None:
    async with world.enter() as me:
        a = await me.remember(content="a", category="longterm")
        b = await me.remember(content="b", category="decisions", metadata={"relatedTo": [a.memory_id]})
        c = await me.remember(content="c", category="core", metadata={"relatedTo": [b.memory_id]})
        near = await me.recall(related_to=a.memory_id)
        assert [(row["id"], row["distance"]) for row in near.team] == [(b.memory_id, 1)]
        far = await me.recall(related_to=[a.memory_id], depth=2, scopes=["personal"])
        assert [(row["id"], row["distance"]) for row in far.personal] == [(c.memory_id, 2)]
        assert far.total == 1


async def test_health_counts_what_is_mine_and_what_i_see(world: World) -> None:
    async with world.enter(agent("a")) as a, world.enter(agent("b")) as b:
        await a.remember(content="x", category="decisions")
        await b.remember(content="y", category="decisions")
        await a.remember(content="z", category="core")
        last = await a.remember(content="r")
        await a.recall(at_least=last.position)
        world.clock.move(days=2)
        health = a.counts().as_json()
        assert health["scopes"]["team"] == {
            "visible": 2,
            "own": 1,
            "limit": 10_000,
            "byCategory": {"decisions": 2},
            "expired": 0,
        }
        assert health["scopes"]["private"]["expired"] == 1
        assert health["core"] == {"private": 0, "personal": 1, "limit": 100}
        assert health["view"]["state"] == "ready"


@pytest.mark.parametrize("verb", ["commit", "share", "forget"])
async def test_a_change_that_is_always_overtaken_gives_up(world: World, verb: str) -> None:
    async with world.enter() as me:
        category = "recent" if verb == "commit" else "longterm"
        one = await me.remember(content="x", category=category)
        for _ in range(3):
            world.broker.fail_next("before", Conflict(key="k", expected=1, actual=2))
        with pytest.raises(Conflict):
            await getattr(me, verb)(memory_id=one.memory_id)
        assert (await me.get(memory_id=one.memory_id)).memory["revision"] == one.revision
        await getattr(me, verb)(memory_id=one.memory_id)


async def test_a_move_whose_source_changed_is_undone_and_made_again(world: World) -> None:
    async with world.enter() as me:
        one = await me.remember(content="x")
        project = project_bucket(agent().project_id)
        world.broker.fail_next("before", Conflict(key="k", expected=1, actual=2), bucket=project)
        done = await me.commit(memory_id=one.memory_id, target_scope="personal")
        assert done.warnings is None
        assert (await me.recall()).counts.personal == 1
        assert (await me.recall()).total == 1


async def test_a_target_that_is_taken_is_told(world: World) -> None:
    async with world.enter() as me:
        one = await me.remember(content="x")
        user = world.broker.buckets[user_bucket(agent().user_id)]
        user.plant(f"personal.user.m.{one.memory_id}", b"unreadable")
        with pytest.raises(Conflict, match="in the way"):
            await me.commit(memory_id=one.memory_id, target_scope="personal")
        assert (await me.recall()).private[0]["content"] == "x"


async def test_a_bulk_that_stops_does_nothing_after_the_failure(world: World) -> None:
    async with world.enter() as me:
        await me.recall()
        refused = Conflict(key="k", expected=0, actual=1)
        world.broker.fail_next("before", refused)  # the batch
        world.broker.fail_next("before", refused, skip=1)  # the second of them alone
        done = await me.remember_bulk(memories=[{"content": f"{n}"} for n in range(5)], stop_on_error=True)
        assert (done.stored, [error.index for error in done.errors]) == (1, [1])
        world.broker.fail_next("before", refused)
        world.broker.fail_next("before", Unavailable("gone"), skip=2)
        done = await me.remember_bulk(memories=[{"content": f"{n}"} for n in range(5)])
        assert (done.stored, [error.index for error in done.errors]) == (2, [2, 3, 4])
        assert (await me.recall()).total == 3


async def test_a_cleanup_leaves_what_somebody_has_changed_or_erased(world: World) -> None:
    async with world.enter() as me:
        ids = (await me.remember_bulk(memories=[{"content": f"{n}"} for n in range(3)])).memory_ids
        await me.recall()
        world.clock.move(days=2)
        bucket = world.broker.buckets[project_bucket(agent().project_id)]
        with world.broker.hold():
            bucket.erase(f"agents.{'a' * 32}.m.{ids[0]}")
            bucket.plant(f"agents.{'a' * 32}.m.{ids[1]}", b"changed")
            done = await me.cleanup()
        assert (done.expired, len(done.errors)) == (1, 1)
        assert ids[1] in done.errors[0]


async def test_bad_arguments_of_bulks_are_told_by_index(world: World) -> None:
    async with world.enter() as me:
        with pytest.raises(InvalidInput) as refused:
            await me.remember_bulk(
                memories=[{"content": f"{n}"} for n in range(3)] + [5, None, "x", [], {}, {"content": 1}]
            )
        assert [bad["index"] for bad in refused.value.details["validationErrors"]] == [3, 4, 5, 6, 7, 8]
        assert "and 1 more" in refused.value.message
        told: list[str] = []

        async def progress(done: float, total: float | None, message: str) -> None:
            told.append(message)

        await me.remember_bulk(memories=[{"content": "x"}], atomic=True, progress=progress)
        assert (await me.remember_bulk(memories=[], atomic=True)).stored == 0
        assert told == ["1 of 1"]


async def test_who_knows_a_revision_is_never_told_an_older_one_by_a_replica_that_lags(world: World) -> None:
    async with world.enter() as me:
        one = await me.remember(content="one", category="longterm")
        bucket = await world.broker.open(project_bucket(agent().project_id))
        old = await bucket.get(next(held.key for held in bucket.holds()))
        two = await me.update(memory_id=one.memory_id, expected_revision=one.revision, content="two")
        bucket.lagging = [old, old]
        three = await me.update(memory_id=one.memory_id, expected_revision=two.revision, content="three")
        bucket.lagging = [old, old]
        with pytest.raises(Conflict) as lost:
            await me.update(memory_id=one.memory_id, expected_revision=two.revision, content="four")
    assert lost.value.details["currentRevision"] == three.revision
    assert lost.value.details["current"]["content"] == "three"


async def test_an_old_server_without_batches_serves_all_but_all_or_nothing(world: World) -> None:
    world.broker.atomic = False
    async with world.enter() as me:
        done = await me.remember_bulk(memories=[{"content": f"{n}", "category": "longterm"} for n in range(5)])
        assert done.stored == 5
        with pytest.raises(Unavailable):
            await me.remember_bulk(memories=[{"content": "a"}, {"content": "b"}], atomic=True)
        shared = await me.share(memory_id=done.memory_ids[0])
        assert shared.original_deleted
        one = done.memory_ids[1]
        await me.update(memory_id=one, expected_revision=done.revisions[1], category="core")
        assert (await me.recall(categories=["core"])).private[0]["id"] == one
        assert (await me.forget_bulk(memory_ids=done.memory_ids[1:], force=True)).deleted == 4
        assert (await me.recall()).total == 1
