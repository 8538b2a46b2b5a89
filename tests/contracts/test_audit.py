"""The record of changes: one entry per change, whoever dies meanwhile; bounded, and nobody's who has no business with it."""

from __future__ import annotations

import asyncio
import os
import random
import secrets
from collections import Counter
from collections.abc import Callable
from contextlib import AsyncExitStack

import msgspec
import pytest

from identity.agent import AgentId, Caller, ProjectId, UserId
from identity.errors import AccessDenied, Conflict, Unavailable
from identity.keys import Kind, Space
from identity.ports import Bucket, Put, Reason, Remove
from identity.visibility import Scope, space_for
from loomem.core.audit.lines import Line
from loomem.core.audit.notes import Action, noted
from loomem.core.audit.settings import AuditSettings
from loomem.nats.audit import STREAM, SUBJECTS, AuditStream, audit_config
from loomem.nats.endpoint import Endpoint
from loomem.nats.link import Link
from loomem.nats.topology import KvBuckets, call
from pattern.testing.accounts import NatsAccount
from pattern.testing.guarded import GuardedBroker
from pattern.testing.server import NatsServer
from tests.contracts.audit_kit import all_recorded, recorded, recorder, recording
from tests.contracts.workers_kit import linked
from tests.waiting import eventually

ME = Caller(agent_id=AgentId("a" * 32), project_id=ProjectId("p"), user_id=UserId("u"))
SPACE: Space = space_for(ME, Scope.PRIVATE)
STEPS = 80
HOT = 6
"""Memories that all writers change at once."""


def note(action: Action) -> str:
    return noted(ME.agent_id, ME.project_id, ME.user_id, action, (), ())


class Writer:
    """Stores, changes and forgets memories that others change too, and knows each change that was acknowledged."""

    def __init__(self, bucket: Bucket, chance: random.Random, name: str) -> None:
        self._bucket = bucket
        self._chance = chance
        self._name = name
        self.acknowledged: list[tuple[str, int, str]] = []
        self.unknown = 0

    async def step(self, number: int) -> None:
        fresh = self._chance.random() < 0.4
        ident = f"{self._name}-{number}" if fresh else f"hot-{self._chance.randrange(HOT)}"
        key = SPACE.key(Kind.MEMORY, ident)
        op = secrets.token_hex(8)
        try:
            held = await self._bucket.get(key)
            standing = held.revision if held is not None and hasattr(held, "value") else 0
            if standing and self._chance.random() < 0.2:
                revision = await self._bucket.write(
                    Remove(key=key, expected=standing, op=op, reason=Reason.FORGET, did=note(Action.FORGOTTEN))
                )
                self.acknowledged.append((ident, revision, Action.FORGOTTEN))
                return
            action = Action.CHANGED if standing else Action.STORED
            revision = await self._bucket.write(
                Put(key=key, value=b'{"content":"x"}', expected=standing, op=op, did=note(action))
            )
            self.acknowledged.append((ident, revision, action))
        except Conflict:
            pass
        except Unavailable:
            self.unknown += 1


def of_changes(lines: list[Line]) -> Counter[tuple[str, int, str]]:
    return Counter((line.id, line.revision, line.action) for line in lines)


@pytest.mark.timeout(300)
@pytest.mark.requirement("audit-once", "audit-killed")
async def test_one_entry_per_acknowledged_change_though_recorders_and_the_broker_are_killed(
    nats_private: NatsServer, long_form: bool, tell: Callable[[str], None]
) -> None:
    seed = int(os.environ.get("PATTERN_SEED") or secrets.randbelow(10**6))
    chance = random.Random(seed)
    rounds = 20 if long_form else 3
    async with AsyncExitStack() as stack:
        links = [await stack.enter_async_context(linked(nats_private.url)) for _ in range(4)]
        writers = [Writer(await KvBuckets(link).open(SPACE.bucket), chance, f"w{n}") for n, link in enumerate(links)]
        for number in range(rounds):
            async with recorder(nats_private.url) as one, asyncio.TaskGroup() as group:

                async def write(writer: Writer, number: int = number) -> None:
                    for step in range(STEPS):
                        await writer.step(number * STEPS + step)

                async def disturb(process: asyncio.subprocess.Process = one, number: int = number) -> None:
                    await asyncio.sleep(chance.random() / 2)
                    process.kill()
                    if number % 2 == 0:
                        await asyncio.sleep(chance.random() / 2)
                        await asyncio.to_thread(nats_private.kill)
                        await asyncio.to_thread(nats_private.start)

                for writer in writers:
                    group.create_task(write(writer))
                group.create_task(disturb())
        async with recording(links[0]) as services:
            lines = await all_recorded(links[0], services, within_s=60)
    changes = Counter(change for writer in writers for change in writer.acknowledged)
    unknown = sum(writer.unknown for writer in writers)
    tell(f"{sum(changes.values())} changes, recorder killed {rounds} times: PATTERN_SEED={seed}")
    found = of_changes(lines)
    assert max(found.values()) == 1
    by_revision = Counter(line.revision for line in lines)
    assert max(by_revision.values()) == 1
    lost = [change for change in changes if by_revision[change[1]] != 1]
    assert not lost
    # Of very many changes to one memory that nobody was there to record it may be known only that they were.
    assert not [change for change in changes if not found[change] and not change[0].startswith("hot")]
    assert len(lines) - len(changes) <= unknown


@pytest.mark.requirement("audit-overwritten")
async def test_changes_that_were_overwritten_before_anybody_looked_are_recorded(nats_account: NatsAccount) -> None:
    key = SPACE.key(Kind.MEMORY, "m")
    async with linked(nats_account.url) as link:
        bucket = await KvBuckets(link).open(SPACE.bucket)
        revision = await bucket.write(Put(key=key, value=b"{}", expected=0, op="1", did=note(Action.STORED)))
        for op in ("2", "3"):
            revision = await bucket.write(Put(key=key, value=b"{}", expected=revision, op=op, did=note(Action.CHANGED)))
        gone = Remove(key=key, expected=revision, op="4", reason=Reason.FORGET, did=note(Action.FORGOTTEN))
        await bucket.write(gone)
        await bucket.write(Put(key=key, value=b"{}", expected=0, op="5", did=note(Action.IMPORTED)))
        async with recording(link) as services:
            lines = await all_recorded(link, services)
    assert [(line.action, line.op, line.late) for line in lines] == [
        ("stored", "1", True),
        ("changed", "2", True),
        ("changed", "3", True),
        ("forgotten", "4", True),
        ("imported", "5", False),
    ]
    assert {(line.agent, line.project, line.user) for line in lines} == {(ME.agent_id, ME.project_id, ME.user_id)}
    assert [line.at for line in lines] == sorted(line.at for line in lines)


@pytest.mark.requirement("audit-raw")
async def test_a_raw_client_that_says_nothing_is_on_record_all_the_same(nats_account: NatsAccount) -> None:
    async with linked(nats_account.url) as link:
        await KvBuckets(link).open(SPACE.bucket)
        await link.request(f"$KV.{SPACE.bucket}.{SPACE.key(Kind.MEMORY, 'raw')}", b"secret words")
        async with recording(link) as services:
            lines = await all_recorded(link, services)
        pages = [entry async for entry in AuditStream(link).read()]
    assert [(line.id, line.agent, line.owner) for line in lines] == [("raw", "", ME.agent_id)]
    assert b"secret" not in msgspec.json.encode(pages)


@pytest.mark.requirement("audit-retention")
async def test_the_record_is_bounded_by_age_and_size_and_nothing_in_it_can_be_changed(
    nats_account: NatsAccount,
) -> None:
    async with linked(nats_account.url) as link:
        stream = AuditStream(link, AuditSettings(retention_days=7, max_mb=2))
        await stream.ensure()
        config = (await call(link, f"STREAM.INFO.{STREAM}"))["config"]
        assert config["max_age"] == 7 * 86_400 * 10**9
        assert config["max_bytes"] == 2 * 1024 * 1024
        assert (config["discard"], config["deny_delete"], config["deny_purge"]) == ("old", True, True)
        await AuditStream(link).ensure()
        config = (await call(link, f"STREAM.INFO.{STREAM}"))["config"]
        assert config["max_age"] == audit_config(AuditSettings())["max_age"]
        await stream.tell(Line(action="exported", agent="A", op="1"))
        for answer in ("STREAM.PURGE", "STREAM.MSG.DELETE"):
            with pytest.raises(Unavailable):
                await call(link, f"{answer}.{STREAM}", {"seq": 1})
        assert len(await recorded(link)) == 1


@pytest.mark.requirement("audit-full")
async def test_what_the_record_has_no_room_for_waits_in_its_bucket_and_is_counted(nats_account: NatsAccount) -> None:
    """The stream is replaced by one that takes nothing, then given back."""
    async with linked(nats_account.url) as link:
        bucket = await KvBuckets(link).open(SPACE.bucket)
        full = audit_config(AuditSettings()) | {"max_msgs": 1, "discard": "new"}
        await call(link, f"STREAM.CREATE.{STREAM}", full)
        await AuditStream(link).tell(Line(action="exported", agent="A", op="1"))
        async with recording(link) as services:
            await bucket.write(Put(key=SPACE.key(Kind.MEMORY, "m"), value=b"{}", expected=0, op="1"))

            async def waits() -> bool:
                await services.pending()
                worker = next(each for each in services.workers() if each.name == "audit")
                return worker.pending == 1 and worker.last_error is not None

            await eventually(waits)
            await call(link, f"STREAM.DELETE.{STREAM}")
            lines = await all_recorded(link, services)
    assert [line.action for line in lines] == ["stored"]


@pytest.mark.requirement("audit-told-once")
async def test_what_an_agent_tells_of_itself_stands_once_however_often_it_is_sent(nats_account: NatsAccount) -> None:
    async with linked(nats_account.url) as link:
        stream = AuditStream(link)
        for _ in range(3):
            await stream.tell(Line(action="exported", agent="A", op="one"))
        assert [line.op for line in await recorded(link)] == ["one"]
        assert (await stream.held()).entries == 1


@pytest.mark.requirement("audit-permissions")
async def test_an_agents_credentials_read_nothing_of_the_record_and_tell_under_their_own_name_only(
    nats_private: NatsServer,
) -> None:
    async with GuardedBroker(nats_private) as broker:
        mine = (await broker.admit(ME)).endpoint

        async def source() -> Endpoint:
            return mine

        async with Link(source, name="agent") as link:
            await link.ready(5)
            stream = AuditStream(link)
            await stream.tell(Line(action="exported", agent=ME.agent_id, op="one"))
            with pytest.raises(AccessDenied):
                await stream.tell(Line(action="exported", agent="somebody", op="two"))
            with pytest.raises(AccessDenied):
                [entry async for entry in stream.read()]
            with pytest.raises(AccessDenied):
                await call(link, f"CONSUMER.CREATE.{STREAM}.x.{SUBJECTS}", {"stream_name": STREAM, "config": {}})
