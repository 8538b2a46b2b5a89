"""The broker keeps agents apart: credentials that reach an agent's own key prefixes, and no further, suffice for everything
a server process does; and whoever holds another agent's credentials cannot get round them."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from typing import Any

import msgspec
import nats.errors
import pytest

from identity.errors import AccessDenied, Conflict
from identity.ports import Entry, Marker, Put
from loomem.nats.endpoint import Endpoint, endpoint_from
from loomem.nats.follow import KvFeed
from loomem.nats.link import Link
from loomem.nats.topology import KvBuckets, call
from pattern.testing import NatsServer
from tests.contracts.nats_kit import Told, linked, put, remove

PROJECT = "loom-memory-project-p"
USER = "loom-memory-user-u"
GLOBAL = "loom-memory-global"
IDENTITY = "loom-identity-p"
SYSTEM = "loom-memory-system"


def reaches(agent: str) -> dict[str, tuple[list[str], list[str]]]:
    """Return per bucket which keys a root agent may write and read."""
    own = [f"agents.{agent}.>", f"core.{agent}.>", f"shared.{agent}.>"]
    return {
        PROJECT: (own, [*own[:2], "shared.>"]),
        USER: (["personal.user.>", "streams.>"], ["personal.user.>", "streams.>"]),
        GLOBAL: ([f"shared.{agent}.>"], ["shared.>"]),
        IDENTITY: ([f"roots.{agent}"], ["root", f"roots.{agent}"]),
        SYSTEM: (["leases.>"], ["probe", "leases.>"]),
    }


def user_of(agent: str) -> dict[str, Any]:
    """Return the broker's user for an agent."""
    allow = ["$JS.API.INFO", "$JS.FC.>", "$JS.ACK.>"]
    for bucket, (written, read) in reaches(agent).items():
        allow += [f"$KV.{bucket}.{keys}" for keys in written]
        for keys in read:
            allow += [
                f"$JS.API.DIRECT.GET.KV_{bucket}.$KV.{bucket}.{keys}",
                f"$JS.API.CONSUMER.CREATE.KV_{bucket}.*.$KV.{bucket}.{keys}",
            ]
        allow += [f"$JS.API.CONSUMER.INFO.KV_{bucket}.*", f"$JS.API.CONSUMER.DELETE.KV_{bucket}.*"]
    subscribe = {"allow": [f"_INBOX_{agent}.>"]}
    return {"user": agent, "password": agent, "permissions": {"publish": {"allow": allow}, "subscribe": subscribe}}


@pytest.fixture
def server(nats_servers: Callable[..., NatsServer]) -> NatsServer:
    users = [{"user": "operator", "password": "operator"}, user_of("A"), user_of("B")]
    return nats_servers(auth=f"authorization {{ users: {json.dumps(users)} }}")


@asynccontextmanager
async def as_agent(server: NatsServer, agent: str) -> AsyncGenerator[Link]:
    async def source() -> Endpoint:
        endpoint = endpoint_from(server.url, user=agent, password=agent)
        return msgspec.structs.replace(endpoint, inbox_prefix=f"_INBOX_{agent}")

    async with Link(source, name=agent) as link:
        await link.ready(5)
        yield link


@pytest.fixture
async def operator(server: NatsServer) -> AsyncGenerator[Link]:
    """The operator's connection, after the operator has made the buckets."""
    async with linked(server.url.replace("://", "://operator:operator@")) as link:
        for bucket in (PROJECT, USER, GLOBAL, IDENTITY, SYSTEM):
            await KvBuckets(link).ensure(bucket)
        yield link


@pytest.fixture
async def a(server: NatsServer, operator: Link) -> AsyncGenerator[Link]:
    async with as_agent(server, "A") as link:
        yield link


@pytest.fixture
async def b(server: NatsServer, operator: Link) -> AsyncGenerator[Link]:
    async with as_agent(server, "B") as link:
        yield link


MINE = [
    (PROJECT, "agents.A.m.1", "agents.A.>"),
    (PROJECT, "core.A.m.1", "core.A.>"),
    (PROJECT, "shared.A.m.1", "shared.>"),
    (USER, "personal.user.m.1", "personal.user.>"),
    (USER, "streams.s.m.1", "streams.>"),
    (GLOBAL, "shared.A.m.1", "shared.>"),
    (IDENTITY, "roots.A", "roots.A"),
    (SYSTEM, "leases.dream", "leases.>"),
]


@pytest.mark.parametrize(("name", "key", "filter"), MINE)
async def test_an_agent_does_all_its_work_with_its_own_permissions(a: Link, name: str, key: str, filter: str) -> None:
    bucket = await KvBuckets(a).open(name)
    told = Told()
    async with KvFeed(a).follow(name, filter, told.append) as following:
        first = await bucket.write(put(key, "one"))
        await following.sync()
        with pytest.raises(Conflict):
            await bucket.write(put(key, "again"))
        second = await bucket.write(put(key, "two", expected=first, ttl_s=1000))
        await following.sync()
        third = await bucket.write(remove(key, second))
        await following.sync()
        await bucket.write(put(key, "three"))
        await following.sync()
    held = await bucket.get(key)
    assert isinstance(held, Entry)
    assert held.value == b"three"
    assert [change.revision for change in told.changes] == [first, second, third, held.revision]
    assert isinstance(told.changes[2], Marker)


async def test_an_agent_changes_several_keys_together(a: Link) -> None:
    bucket = await KvBuckets(a).open(PROJECT)
    await bucket.write_all([put("agents.A.m.1"), put("core.A.m.1"), put("shared.A.m.1")])


async def test_an_agent_goes_on_following_after_a_crash(a: Link, server: NatsServer) -> None:
    bucket = await KvBuckets(a).open(PROJECT)
    told = Told()
    async with KvFeed(a).follow(PROJECT, "agents.A.>", told.append) as following:
        await bucket.write(put("agents.A.m.1"))
        await following.sync()
        await asyncio.to_thread(server.kill)
        await asyncio.to_thread(server.start)
        await a.ready(5)
        await bucket.write(put("agents.A.m.2"))
        await following.sync()
    assert told.keys == ["agents.A.m.1", "agents.A.m.2"]
    assert told.resets == 0


async def test_what_is_shared_is_read_by_others(a: Link, b: Link) -> None:
    await (await KvBuckets(a).open(PROJECT)).write(put("shared.A.m.1", "for all"))
    told = Told()
    async with KvFeed(b).follow(PROJECT, "shared.>", told.append) as following:
        await following.sync()
    assert told.state == {"shared.A.m.1": b"for all"}


async def test_a_batch_with_one_foreign_key_changes_nothing(a: Link, b: Link) -> None:
    bucket = await KvBuckets(b).open(PROJECT)
    foreign: list[list[Put]] = [
        [put("agents.A.m.9"), put("agents.B.m.9")],
        [put("agents.B.m.9"), put("agents.A.m.9"), put("agents.B.m.8")],
        [put("agents.B.m.9"), put("agents.A.m.9")],
    ]
    for changes in foreign:
        with pytest.raises(AccessDenied):
            await bucket.write_all(changes)
    assert await bucket.get("agents.B.m.9") is None
    assert await (await KvBuckets(a).open(PROJECT)).get("agents.A.m.9") is None


async def test_keys_of_another_agent_are_out_of_reach(a: Link, b: Link) -> None:
    await (await KvBuckets(a).open(PROJECT)).write(put("agents.A.m.1", "private"))
    bucket = await KvBuckets(b).open(PROJECT)
    async with asyncio.timeout(2):
        with pytest.raises(AccessDenied):
            await bucket.get("agents.A.m.1")
        with pytest.raises(AccessDenied):
            await bucket.write(put("agents.A.m.1", "mine now", expected=1))
        with pytest.raises(AccessDenied):
            await bucket.write(put("shared.A.m.1", "in A's name"))
        for keys in ("agents.A.>", "agents.>", ">"):
            with pytest.raises(AccessDenied):
                async with KvFeed(b).follow(PROJECT, keys, Told().append):
                    pytest.fail("B follows A")


SUBJECT = f"$KV.{PROJECT}.agents.A.m.1"
OWN = f"$KV.{PROJECT}.agents.B.>"
STREAM = f"KV_{PROJECT}"


def consumer(name: str, **config: object) -> dict[str, object]:
    whole = {"name": name, "ack_policy": "none", "deliver_policy": "all", "deliver_subject": "_INBOX_B.x", **config}
    return {"stream_name": STREAM, "config": whole}


@pytest.mark.parametrize(
    ("api", "body"),
    [
        ("STREAM.INFO." + STREAM, {"subjects_filter": ">"}),
        ("STREAM.NAMES", None),
        ("STREAM.MSG.GET." + STREAM, {"last_by_subj": SUBJECT}),
        ("STREAM.PURGE." + STREAM, {"filter": SUBJECT}),
        ("STREAM.UPDATE." + STREAM, {"name": STREAM}),
        ("STREAM.DELETE." + STREAM, None),
        ("STREAM.SNAPSHOT." + STREAM, {"deliver_subject": "_INBOX_B.x"}),
        ("STREAM.CREATE.KV_copy", {"name": "KV_copy", "mirror": {"name": STREAM}}),
        ("DIRECT.GET." + STREAM, {"last_by_subj": SUBJECT}),
        ("DIRECT.GET." + STREAM, {"multi_last": [SUBJECT]}),
        ("DIRECT.GET." + STREAM, {"seq": 1}),
        (f"DIRECT.GET.{STREAM}.{SUBJECT}", None),
        ("CONSUMER.CREATE." + STREAM, consumer("", filter_subject=OWN)),
        (f"CONSUMER.CREATE.{STREAM}.c", consumer("c", filter_subject=SUBJECT)),
        (f"CONSUMER.CREATE.{STREAM}.c.{SUBJECT}", consumer("c", filter_subject=SUBJECT)),
        (f"CONSUMER.DURABLE.CREATE.{STREAM}.c", consumer("c", durable_name="c", filter_subject=SUBJECT)),
        # A subject that is allowed, with a body that asks for something else:
        (f"CONSUMER.CREATE.{STREAM}.c.{OWN}", consumer("c", filter_subject=SUBJECT)),
        (f"CONSUMER.CREATE.{STREAM}.c.{OWN}", consumer("c", filter_subjects=[OWN, SUBJECT])),
        (f"CONSUMER.CREATE.{STREAM}.c.{OWN}", consumer("c", filter_subject=OWN, deliver_subject=SUBJECT)),
    ],
)
async def test_a_raw_client_cannot_get_round_it(a: Link, b: Link, api: str, body: object) -> None:
    bucket = await KvBuckets(a).open(PROJECT)
    await bucket.write(put("agents.A.m.1", "private"))
    with pytest.raises(AccessDenied):
        await call(b, api, body)
    held = await bucket.get("agents.A.m.1")
    assert isinstance(held, Entry)
    assert held.value == b"private"


async def test_answers_to_another_agent_are_not_heard(b: Link) -> None:
    denied = asyncio.Event()
    hear = b.nc.heard

    async def listen(error: Exception) -> None:
        await hear(error)
        if "subscription" in str(error):
            denied.set()

    b.nc._error_cb = listen  # pyright: ignore[reportPrivateUsage] - how the refusal of a subscription shows
    await b.nc.subscribe("_INBOX_A.>")  # pyright: ignore[reportUnknownMemberType]
    async with asyncio.timeout(5):
        await denied.wait()


async def test_the_librarys_own_ordered_consumer_needs_more_than_an_agent_may(a: Link) -> None:
    """Why the ordered consumer is ours: this one is created on a subject that names no filter."""
    with pytest.raises((nats.errors.Error, TimeoutError)):
        await asyncio.wait_for(a.js.subscribe(f"$KV.{PROJECT}.agents.A.>", stream=STREAM, ordered_consumer=True), 1)


async def test_an_absent_bucket_needs_an_operator(a: Link, operator: Link) -> None:
    await call(operator, f"STREAM.DELETE.KV_{USER}")
    async with asyncio.timeout(5):
        with pytest.raises(AccessDenied, match="operator"):
            await KvBuckets(a).open(USER)
    await KvBuckets(operator).ensure(USER)
    await (await KvBuckets(a).open(USER)).write(put("personal.user.m.1"))
