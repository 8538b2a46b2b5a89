"""Identities are loaded from the real store, enrolled once, and nobody's record is overwritten."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator
from typing import Any

import pytest

from identity.agent import Caller, root_agent_id, subagent_id
from identity.errors import AccessDenied, Unavailable
from identity.keys import identity_bucket
from identity.ports import Bucket, Buckets, Entry, Put
from identity.registry import PAUSES_S, IdentitySpec, load, root_key, subagent_key
from loomem.nats.endpoint import Endpoint, endpoint_from
from loomem.nats.link import Link
from loomem.nats.topology import KvBuckets
from pattern.testing.accounts import NatsAccount
from pattern.testing.server import NatsServer

HOST, PATH = "devbox", "/home/dev/acme"
ROOT = root_agent_id(HOST, PATH)


def spec(
    hostname: str = HOST,
    path: str = PATH,
    agent_id: str | None = None,
    subagent_type: str | None = None,
    *,
    warp: bool = False,
) -> IdentitySpec:
    return IdentitySpec(
        hostname=hostname,
        os_user="dev",
        project_path=path,
        project_id="acme",
        agent_id=agent_id,
        subagent_type=subagent_type,
        warp=warp,
    )


def link_to(url: str) -> Link:
    async def source() -> Endpoint:
        return endpoint_from(url)

    return Link(source, name="test")


@pytest.fixture
async def buckets(nats_account: NatsAccount) -> AsyncGenerator[KvBuckets]:
    async with link_to(nats_account.url) as link:
        yield KvBuckets(link)


async def never(_seconds: float) -> None:
    raise AssertionError("an answer is not waited for")


async def loaded(buckets: Buckets, identity: IdentitySpec) -> Caller:
    async with asyncio.timeout(5):
        return await load(buckets, identity, sleep=never)


async def warp_writes(buckets: Buckets, key: str, **record: str) -> None:
    bucket = await buckets.open(identity_bucket(spec().project))
    held = await bucket.get(key)
    expected = held.revision if isinstance(held, Entry) else 0
    await bucket.write(Put(key=key, value=json.dumps(record).encode(), expected=expected, op=f"warp {record}"))


async def record_at(buckets: Buckets, key: str) -> dict[str, Any] | None:
    held = await (await buckets.open(identity_bucket(spec().project))).get(key)
    return json.loads(held.value) if isinstance(held, Entry) else None


@pytest.mark.requirement("isolation-44.absent", "deliver-4.enrol")
async def test_an_absent_record_is_an_answer_and_is_enrolled(buckets: KvBuckets) -> None:
    assert (await loaded(buckets, spec())).agent_id == ROOT
    first = await record_at(buckets, root_key(spec()))

    assert (await loaded(buckets, spec())).agent_id == ROOT

    assert first is not None
    assert first.pop("createdAt").endswith("Z")
    assert first == {"agentId": ROOT, "hostname": HOST, "projectPath": PATH, "override": False}
    assert await record_at(buckets, root_key(spec())) == await record_at(buckets, f"roots.{ROOT}")
    assert await record_at(buckets, "root") is None, "Warp's record is Warp's"


@pytest.mark.requirement("deliver-4.enrol")
async def test_many_processes_enrol_one_record(buckets: KvBuckets) -> None:
    callers = await asyncio.gather(*(loaded(buckets, spec()) for _ in range(20)))
    held = await (await buckets.open(identity_bucket(spec().project))).get(root_key(spec()))
    assert {caller.agent_id for caller in callers} == {ROOT}
    assert isinstance(held, Entry)
    assert held.revision == 1


@pytest.mark.requirement("isolation-44.host")
async def test_a_second_host_keeps_its_own_root(buckets: KvBuckets) -> None:
    other = root_agent_id("other", PATH)
    await warp_writes(buckets, "root", agentId=ROOT, hostname=HOST, projectPath=PATH, createdAt="t")
    assert (await loaded(buckets, spec())).agent_id == ROOT

    await warp_writes(buckets, "root", agentId=other, hostname="other", projectPath=PATH, createdAt="t")

    assert (await loaded(buckets, spec(hostname="other"))).agent_id == other
    assert (await loaded(buckets, spec())).agent_id == ROOT
    assert (await record_at(buckets, "root") or {})["agentId"] == other


@pytest.mark.requirement("deliver-4.warp")
async def test_what_warp_said_of_this_host_stays_when_another_host_takes_its_record(buckets: KvBuckets) -> None:
    elsewhere = root_agent_id(HOST, "/elsewhere")
    await warp_writes(buckets, "root", agentId=elsewhere, hostname=HOST, projectPath="/elsewhere", createdAt="t")
    assert (await loaded(buckets, spec())).agent_id == elsewhere

    other = root_agent_id("other", PATH)
    await warp_writes(buckets, "root", agentId=other, hostname="other", projectPath=PATH, createdAt="t")

    assert (await loaded(buckets, spec())).agent_id == elsewhere


@pytest.mark.requirement("deliver-4.warp")
async def test_an_override_that_warp_wrote_is_for_every_host(buckets: KvBuckets) -> None:
    await warp_writes(buckets, "root", agentId="everywhere", hostname="other", projectPath=PATH, createdAt="t")
    assert (await loaded(buckets, spec())).agent_id == "everywhere"


@pytest.mark.requirement("isolation-44.override")
async def test_an_override_ends_with_the_process_that_has_it(buckets: KvBuckets) -> None:
    assert (await loaded(buckets, spec(agent_id="laptop"))).agent_id == "laptop"
    assert (await record_at(buckets, root_key(spec())) or {})["override"] is True

    assert (await loaded(buckets, spec())).agent_id == ROOT

    assert (await record_at(buckets, root_key(spec())) or {})["override"] is False
    assert (await loaded(buckets, spec(agent_id="laptop"))).agent_id == "laptop"
    assert (await record_at(buckets, root_key(spec())) or {})["agentId"] == ROOT


@pytest.mark.requirement("isolation-42.stable")
@pytest.mark.parametrize("subagent_type", ["explore", "code review", "ünïcode/../x", "x" * 256])
async def test_a_sub_agent_is_the_same_whether_or_not_warp_came_first(buckets: KvBuckets, subagent_type: str) -> None:
    expected = subagent_id(ROOT, subagent_type)
    before = await loaded(buckets, spec(subagent_type=subagent_type))
    assert (before.agent_id, before.parent_id, before.subagent_type) == (expected, ROOT, subagent_type)
    assert (await record_at(buckets, subagent_key(ROOT, subagent_type)) or {})["agentId"] == expected

    await warp_writes(buckets, "root", agentId=ROOT, hostname=HOST, projectPath=PATH, createdAt="t")
    if subagent_type == "explore":  # the others are no keys that Warp could write
        await warp_writes(
            buckets, "subagent/explore", agentId=expected, parentId=ROOT, subagentType="explore", createdAt="t"
        )

    assert await loaded(buckets, spec(subagent_type=subagent_type)) == before


async def test_a_sub_agent_belongs_to_an_overridden_root(buckets: KvBuckets) -> None:
    caller = await loaded(buckets, spec(agent_id="laptop", subagent_type="explore"))
    assert caller.parent_id == "laptop"
    assert caller.agent_id == subagent_id(caller.parent_id, "explore")


async def test_an_unreadable_record_is_left_alone_and_does_not_stop_anybody(buckets: KvBuckets) -> None:
    bucket = await buckets.open(identity_bucket(spec().project))
    for key in ("root", root_key(spec())):
        await bucket.write(Put(key=key, value=b"{not json", expected=0, op=key))

    assert (await loaded(buckets, spec())).agent_id == ROOT

    held = await bucket.get(root_key(spec()))
    assert isinstance(held, Entry)
    assert held.value == b"{not json"


async def test_warps_mode_waits_for_warp_and_then_says_what_to_do(buckets: KvBuckets) -> None:
    pauses: list[float] = []

    async def sleep(seconds: float) -> None:
        pauses.append(seconds)

    with pytest.raises(Unavailable, match="Start Warp in this folder, or unset LOOMINAL_IDENTITY"):
        await load(buckets, spec(warp=True), sleep=sleep)
    assert tuple(pauses) == PAUSES_S
    assert await record_at(buckets, root_key(spec())) is None

    async def warp_comes(_seconds: float) -> None:
        await warp_writes(buckets, "root", agentId=ROOT, hostname=HOST, projectPath=PATH, createdAt="t")

    assert (await load(buckets, spec(warp=True), sleep=warp_comes)).agent_id == ROOT


class Unreachable:
    """A store that is not reachable for some attempts, and then is the real one."""

    def __init__(self, buckets: Buckets, attempts: int) -> None:
        self._buckets = buckets
        self._left = attempts

    async def open(self, name: str) -> Bucket:
        if self._left > 0:
            self._left -= 1
            raise Unavailable
        return await self._buckets.open(name)


@pytest.mark.requirement("isolation-44.wait")
async def test_ten_failed_attempts_wait_and_then_it_is_read_a_last_time(buckets: KvBuckets) -> None:
    pauses: list[float] = []

    async def sleep(seconds: float) -> None:
        pauses.append(seconds)

    assert (await load(Unreachable(buckets, 10), spec(), sleep=sleep)).agent_id == ROOT
    assert pauses == [n / 10 for n in range(1, 11)]
    assert sum(pauses) == pytest.approx(5.5)
    with pytest.raises(Unavailable):
        await load(Unreachable(buckets, 11), spec(), sleep=sleep)


@pytest.mark.requirement("isolation-44.wait")
async def test_a_broker_that_comes_late_is_waited_for(nats_private: NatsServer) -> None:
    nats_private.kill()
    async with link_to(nats_private.url) as link, asyncio.timeout(20):

        async def broker_comes(_seconds: float) -> None:
            if not nats_private.running:
                nats_private.start()

        assert (await load(KvBuckets(link), spec(), sleep=broker_comes)).agent_id == ROOT


class Forbidden:
    """A project whose identity bucket is absent and may not be made."""

    async def open(self, name: str) -> Bucket:
        raise AccessDenied


async def test_who_may_not_read_identities_has_the_derived_one() -> None:
    assert (await loaded(Forbidden(), spec())).agent_id == ROOT
