"""Buckets: made once, by whoever comes first, with what the server can do, and used as they are when others made them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable

import pytest

from identity.errors import Unavailable
from identity.keys import GLOBAL_BUCKET, IDENTITY_PREFIX, SYSTEM_BUCKET
from identity.ports import Entry, Marker, Put
from loomem.nats.bucket import MARKER_LIFE_S
from loomem.nats.follow import KvFeed
from loomem.nats.link import Link
from loomem.nats.topology import KINDS, KvBuckets, call, features_of, kind_of, stream_config
from pattern.testing import NatsAccount, NatsCluster, NatsServer
from tests.contracts.nats_kit import BUCKET, Told, linked, put, remove
from tests.waiting import eventually

IDENTITY = f"{IDENTITY_PREFIX}p"


@pytest.fixture
async def link(nats_account: NatsAccount) -> AsyncGenerator[Link]:
    async with linked(nats_account.url) as link:
        yield link


async def config_of(link: Link, bucket: str) -> dict[str, object]:
    config: dict[str, object] = (await call(link, f"STREAM.INFO.KV_{bucket}"))["config"]
    return config


@pytest.mark.parametrize("bucket", [BUCKET, GLOBAL_BUCKET, SYSTEM_BUCKET, "loom-memory-user-u"])
async def test_a_bucket_is_made_with_everything_this_server_can_do(link: Link, bucket: str) -> None:
    opened = await KvBuckets(link).open(bucket)
    assert (opened.name, opened.atomic, opened.ttl) == (bucket, True, True)
    config = await config_of(link, bucket)
    expected = {
        "subjects": [f"$KV.{bucket}.>"],
        "max_msgs_per_subject": 1,
        "storage": "file",
        "discard": "new",
        "compression": "s2",
        "num_replicas": 1,
        "allow_direct": True,
        "allow_rollup_hdrs": True,
        "deny_delete": False,
        "allow_msg_ttl": True,
        "allow_atomic": True,
        "subject_delete_marker_ttl": MARKER_LIFE_S * 10**9,
    }
    assert {field: config.get(field) for field in expected} == expected


async def test_other_libraries_see_an_ordinary_bucket(link: Link) -> None:
    await KvBuckets(link).open(BUCKET)
    kv = await link.js.key_value(BUCKET)
    await kv.create("agents.A.m.1", b"theirs")
    held = await (await KvBuckets(link).open(BUCKET)).get("agents.A.m.1")
    assert isinstance(held, Entry)
    assert (held.value, held.op) == (b"theirs", None)


async def test_opening_at_once_makes_one_bucket(nats_account: NatsAccount) -> None:
    async with linked(nats_account.url) as one, linked(nats_account.url) as two:
        buckets = [KvBuckets(one), KvBuckets(two)]
        async with asyncio.timeout(10):
            opened = await asyncio.gather(*(buckets[n % 2].open(BUCKET) for n in range(20)))
        assert len({id(bucket) for bucket in opened}) == 2
        assert (await call(one, "STREAM.NAMES"))["streams"] == [f"KV_{BUCKET}"]


async def test_opening_again_asks_nobody(link: Link) -> None:
    buckets = KvBuckets(link)
    bucket = await buckets.open(BUCKET)
    sent = link.nc.stats["out_msgs"]
    assert await buckets.open(BUCKET) is bucket
    assert link.nc.stats["out_msgs"] == sent


async def test_what_is_in_a_bucket_survives_opening(nats_account: NatsAccount) -> None:
    async with linked(nats_account.url) as link:
        revision = await (await KvBuckets(link).open(BUCKET)).write(put("k"))
    async with linked(nats_account.url) as link:
        for opened in (await KvBuckets(link).open(BUCKET), await KvBuckets(link).ensure(BUCKET)):
            held = await opened.get("k")
            assert isinstance(held, Entry)
            assert held.revision == revision


async def test_an_older_bucket_is_used_as_it_is_and_upgraded_when_asked(link: Link) -> None:
    await call(link, f"STREAM.CREATE.KV_{BUCKET}", stream_config(BUCKET, features_of((2, 10))) | {"max_bytes": 10**6})
    old = await KvBuckets(link).open(BUCKET)
    await old.write(put("a", ttl_s=100))
    with pytest.raises(Unavailable):
        await old.write_all([put("b"), put("c")])
    upgraded = await KvBuckets(link).ensure(BUCKET)
    await upgraded.write_all([put("b", ttl_s=100), put("c")])
    config = await config_of(link, BUCKET)
    assert config["max_bytes"] == 10**6
    assert config["allow_atomic"] is True
    assert isinstance(await upgraded.get("a"), Entry)


async def test_an_identity_bucket_is_configured_as_other_programs_do(link: Link) -> None:
    """A program that makes it with its library's defaults finds it equal, not in use under another configuration."""
    bucket = await KvBuckets(link).open(IDENTITY)
    assert not bucket.atomic
    config = await config_of(link, IDENTITY)
    assert not config.get("allow_msg_ttl")
    assert not config.get("allow_atomic")
    assert config.get("compression") == "none"


@pytest.mark.parametrize(
    "theirs",
    [
        {"max_msgs_per_subject": 1, "allow_direct": True},
        {"max_msgs_per_subject": 1, "allow_direct": False},
        {"max_msgs_per_subject": 5, "allow_direct": False, "max_bytes": 10**6},
        {"max_msgs_per_subject": 1, "allow_direct": True, "max_age": 3600 * 10**9, "storage": "memory"},
    ],
)
async def test_an_identity_bucket_of_another_program_is_used_as_it_is(link: Link, theirs: dict[str, object]) -> None:
    config = {
        "name": f"KV_{IDENTITY}",
        "subjects": [f"$KV.{IDENTITY}.>"],
        "discard": "new",
        "allow_rollup_hdrs": True,
        "deny_delete": True,
    }
    await call(link, f"STREAM.CREATE.KV_{IDENTITY}", config | theirs)
    before = await config_of(link, IDENTITY)
    await link.request(f"$KV.{IDENTITY}.subagent/explore", b'{"agentId":"x"}', headers={"Their-Header": "a: b"})
    for bucket in (await KvBuckets(link).open(IDENTITY), await KvBuckets(link).ensure(IDENTITY)):
        held = await bucket.get("subagent/explore")
        assert isinstance(held, Entry)
        assert (held.value, held.revision) == (b'{"agentId":"x"}', 1)
    bucket = await KvBuckets(link).open(IDENTITY)
    assert await bucket.get("root") is None
    revision = await bucket.write(put("root", "{}"))
    changed = await bucket.write(put("root", "{1}", expected=revision))
    told = Told()
    async with KvFeed(link).follow(IDENTITY, ">", told.append) as following:
        await following.sync()
    assert told.state == {"subagent/explore": b'{"agentId":"x"}', "root": b"{1}"}
    await bucket.write(remove("root", changed))
    assert isinstance(await bucket.get("root"), Marker)
    assert await config_of(link, IDENTITY) == before


def test_every_bucket_has_a_kind() -> None:
    assert kind_of(SYSTEM_BUCKET).prefix == SYSTEM_BUCKET
    assert kind_of(IDENTITY).plain
    assert [kind.prefix for kind in KINDS if kind.plain] == [IDENTITY_PREFIX]
    for bucket in (BUCKET, "loom-memory-user-u", GLOBAL_BUCKET, "anything"):
        assert not kind_of(bucket).plain


@pytest.mark.parametrize(
    ("version", "message_ttl", "atomic"),
    [
        ((2, 9), False, False),
        ((2, 10), False, False),
        ((2, 11), True, False),
        ((2, 12), True, True),
        ((3, 0), True, True),
    ],
)
def test_a_server_is_asked_for_what_it_can_do(version: tuple[int, int], message_ttl: bool, atomic: bool) -> None:
    features = features_of(version)
    assert (features.message_ttl, features.atomic) == (message_ttl, atomic)
    config = stream_config(BUCKET, features, replicas=3)
    assert ("allow_msg_ttl" in config, "allow_atomic" in config) == (message_ttl, atomic)
    assert config["num_replicas"] == 3


async def test_a_broker_without_jetstream_says_so(nats_servers: Callable[..., NatsServer]) -> None:
    server = nats_servers(config="# No store_dir, and no JetStream.")
    async with linked(server.url) as link, asyncio.timeout(2):
        with pytest.raises(Unavailable, match="without JetStream"):
            await KvBuckets(link).open(BUCKET)


async def test_replicas_that_one_server_cannot_hold_are_said(link: Link) -> None:
    with pytest.raises(Unavailable, match="replicas"):
        await KvBuckets(link, replicas=3).open(BUCKET)


async def test_a_cluster_keeps_writes_and_feeds_through_the_loss_of_a_node(nats_cluster: NatsCluster) -> None:
    async with linked(nats_cluster.url) as link:
        bucket = await KvBuckets(link, replicas=3).open(BUCKET)
        assert (await config_of(link, BUCKET))["num_replicas"] == 3
        told = Told()
        async with KvFeed(link).follow(BUCKET, ">", told.append) as following:
            revisions = [await bucket.write(put(f"k{n}")) for n in range(20)]
            await following.sync()
            leader = (await call(link, f"STREAM.INFO.KV_{BUCKET}"))["cluster"]["leader"]
            node = next(node for node in nats_cluster.nodes if node.options.name == leader)
            await asyncio.to_thread(node.kill)
            async with asyncio.timeout(40):
                revisions.append(await write_through(link, put("after")))
                await eventually(lambda: "after" in told.keys, within_s=20)
        assert [change.revision for change in told.changes] == sorted(set(revisions))


async def write_through(link: Link, change: Put) -> int:
    """Write as a caller does that gives an outage more than one call's time."""
    while True:
        try:
            return await (await KvBuckets(link).open(BUCKET)).write(change)
        except Unavailable:
            await asyncio.sleep(0.1)
