"""A bucket: what is read, what a write promises, and what the broker's quirks become."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable
from datetime import UTC, datetime

import msgspec
import pytest

from identity.errors import Conflict, InvalidInput, LimitExceeded, Unavailable
from identity.ports import Change, Entry, Marker, Reason
from loomem.nats import faults
from loomem.nats.bucket import KvBucket
from loomem.nats.link import Link
from loomem.nats.topology import KvBuckets, call, features_of, stream_config
from pattern.testing import NatsAccount, NatsServer
from tests.contracts.nats_kit import BUCKET, linked, put, remove
from tests.waiting import eventually

KEY = "agents.A.m.1"


@pytest.fixture
async def link(nats_account: NatsAccount) -> AsyncGenerator[Link]:
    async with linked(nats_account.url) as link:
        yield link


@pytest.fixture
async def bucket(link: Link) -> KvBucket:
    return await KvBuckets(link).open(BUCKET)


async def test_a_written_value_is_read_with_revision_time_and_operation(bucket: KvBucket) -> None:
    change = put(KEY, "hello")
    revision = await bucket.write(change)
    held = await bucket.get(KEY)
    assert isinstance(held, Entry)
    assert (held.key, held.value, held.revision, held.op) == (KEY, b"hello", revision, change.op)
    assert abs((datetime.now(UTC) - held.at).total_seconds()) < 60


async def test_a_key_that_never_held_anything_is_none(bucket: KvBucket) -> None:
    assert await bucket.get(KEY) is None


@pytest.mark.parametrize("value", [b"", b"\x00\xff", "zażółć 記憶".encode(), b"x" * 1_000_000])
async def test_any_bytes_survive(bucket: KvBucket, value: bytes) -> None:
    await bucket.write(put(KEY, value))
    held = await bucket.get(KEY)
    assert isinstance(held, Entry)
    assert held.value == value


async def test_a_stale_revision_is_a_conflict(bucket: KvBucket) -> None:
    first = await bucket.write(put(KEY, "one"))
    second = await bucket.write(put(KEY, "two", expected=first))
    for change in (put(KEY, "three", expected=first), put(KEY, "three"), remove(KEY, first)):
        with pytest.raises(Conflict) as raised:
            await bucket.write(change)
        conflict = raised.value
        assert (conflict.key, conflict.expected, conflict.actual) == (KEY, change.expected, second)
        assert conflict.value == b"two"


async def test_changing_a_key_that_holds_nothing_is_a_conflict(bucket: KvBucket) -> None:
    with pytest.raises(Conflict) as raised:
        await bucket.write(put(KEY, expected=7))
    assert (raised.value.actual, raised.value.value) == (0, None)


@pytest.mark.parametrize("reason", list(Reason))
@pytest.mark.requirement("deliver-3.markers")
async def test_a_removal_leaves_a_marker_with_its_reason(bucket: KvBucket, reason: Reason) -> None:
    revision = await bucket.write(put(KEY))
    change = remove(KEY, revision, reason=reason)
    removed = await bucket.write(change)
    held = await bucket.get(KEY)
    assert isinstance(held, Marker)
    assert (held.revision, held.reason, held.op) == (removed, reason, change.op)


async def test_a_key_is_created_over_a_marker(bucket: KvBucket) -> None:
    await bucket.write(remove(KEY, await bucket.write(put(KEY, "one"))))
    revision = await bucket.write(put(KEY, "two"))
    held = await bucket.get(KEY)
    assert isinstance(held, Entry)
    assert (held.value, held.revision) == (b"two", revision)


async def test_a_marker_is_no_revision_to_change(bucket: KvBucket) -> None:
    first = await bucket.write(put(KEY, "one"))
    marker = await bucket.write(remove(KEY, first))
    with pytest.raises(Conflict) as raised:
        await bucket.write(put(KEY, "two", expected=first))
    assert (raised.value.actual, raised.value.value) == (marker, None)


@pytest.mark.requirement("deliver-3.markers")
async def test_a_marker_of_another_program_is_a_marker(link: Link, bucket: KvBucket) -> None:
    await bucket.write(put(KEY))
    kv = await link.js.key_value(BUCKET)
    await kv.delete(KEY)
    held = await bucket.get(KEY)
    assert isinstance(held, Marker)
    assert (held.reason, held.op) == (Reason.OTHER, None)
    await bucket.write(put(KEY, "again"))


@pytest.mark.requirement("deliver-3.markers")
async def test_an_expired_value_is_a_marker_that_says_so(link: Link, bucket: KvBucket) -> None:
    await bucket.write(put(KEY, ttl_s=1))
    kv = await link.js.key_value(BUCKET)
    async with asyncio.timeout(5):
        while isinstance(held := await bucket.get(KEY), Entry):  # noqa: ASYNC110 - the server has no event for a reader
            await asyncio.sleep(0.02)
    assert isinstance(held, Marker)
    assert held.reason is Reason.EXPIRE
    # The library takes the server's marker for a value of None: why markers are recognised by us.
    entry = await kv.get(KEY)
    assert entry.value is None or entry.value == b""
    assert entry.operation is None
    await bucket.write(put(KEY, "again"))


async def test_an_edit_without_a_lifetime_keeps_the_value_for_ever(link: Link, bucket: KvBucket) -> None:
    first = await bucket.write(put(KEY, ttl_s=100))
    assert (await headers(link, KEY))["Nats-TTL"] == "100s"
    second = await bucket.write(put(KEY, expected=first))
    assert "Nats-TTL" not in await headers(link, KEY)
    await bucket.write(put(KEY, expected=second, ttl_s=50))
    assert (await headers(link, KEY))["Nats-TTL"] == "50s"


async def test_a_marker_lives_as_long_as_asked_or_a_week(link: Link, bucket: KvBucket) -> None:
    await bucket.write(remove(KEY, await bucket.write(put(KEY))))
    assert (await headers(link, KEY))["Nats-TTL"] == f"{7 * 86_400}s"
    await bucket.write(remove(KEY, await bucket.write(put(KEY)), ttl_s=30 * 86_400))
    assert (await headers(link, KEY))["Nats-TTL"] == f"{30 * 86_400}s"


async def headers(link: Link, key: str) -> dict[str, str]:
    return dict((await link.request(f"$JS.API.DIRECT.GET.KV_{BUCKET}.$KV.{BUCKET}.{key}")).headers)


async def test_the_same_operation_is_applied_once(bucket: KvBucket) -> None:
    creation = put(KEY, "one")
    revision = await bucket.write(creation)
    assert await bucket.write(creation) == revision
    change = put(KEY, "two", expected=revision)
    changed = await bucket.write(change)
    assert await bucket.write(change) == changed
    removal = remove(KEY, changed)
    removed = await bucket.write(removal)
    assert await bucket.write(removal) == removed


async def test_the_servers_deduplication_does_not_recognise_a_repeated_compare_and_set(
    link: Link, bucket: KvBucket
) -> None:
    """Why operation ids are ours and are read back."""
    subject = f"$KV.{BUCKET}.{KEY}"
    message = {"Nats-Msg-Id": "same", "Nats-Expected-Last-Subject-Sequence": "0"}
    assert b'"error"' not in (await link.request(subject, b"x", headers=message)).data
    assert b"wrong last sequence" in (await link.request(subject, b"x", headers=message)).data


async def test_contending_writers_each_win_once(bucket: KvBucket) -> None:
    revision = await bucket.write(put(KEY, "0"))

    async def add_one() -> None:
        nonlocal revision
        while True:
            held = await bucket.get(KEY)
            assert isinstance(held, Entry)
            try:
                await bucket.write(put(KEY, str(int(held.value) + 1), expected=held.revision))
            except Conflict:
                continue
            return

    async with asyncio.timeout(20), asyncio.TaskGroup() as group:
        for _ in range(30):
            group.create_task(add_one())
    held = await bucket.get(KEY)
    assert isinstance(held, Entry)
    assert held.value == b"30"


@pytest.mark.parametrize(
    "key", ["", ".a", "a.", "a..b", "a b", "a*", "a.>", "a\r\nPUB x 1", "zażółć", "x" * 513, "a.b\n"]
)
async def test_a_key_that_nats_cannot_hold_is_refused(bucket: KvBucket, key: str) -> None:
    with pytest.raises(InvalidInput):
        await bucket.get(key)
    with pytest.raises(InvalidInput):
        await bucket.write(put(key))
    await bucket.write(put("a.b"))


@pytest.mark.parametrize("ttl_s", [0, -1])
async def test_a_lifetime_below_a_second_is_refused(bucket: KvBucket, ttl_s: int) -> None:
    with pytest.raises(InvalidInput):
        await bucket.write(put(KEY, ttl_s=ttl_s))


@pytest.mark.parametrize("over", [1, -40])
async def test_a_value_that_does_not_fit_is_refused_and_the_connection_lives(
    link: Link, bucket: KvBucket, over: int
) -> None:
    """With -40 the value alone would fit: the server counts the headers, and closes the connection of a client that does not."""
    client = link.nc
    with pytest.raises(InvalidInput, match="larger"):
        await bucket.write(put(KEY, b"x" * (client.max_payload + over)))
    await bucket.write(put(KEY, "fits"))
    assert link.nc is client


async def fill(bucket: KvBucket, size_bytes: int) -> None:
    for number in range(size_bytes // 1000):
        await bucket.write(put(f"agents.A.m.full{number}", b"x" * 1000))


async def test_a_life_of_any_length_is_one(bucket: KvBucket) -> None:
    for number, life_s in enumerate((9_000_000_000, 9_000_000_001, 250_000_000_000, 10**30)):
        change = put(f"agents.A.m.long{number}", "x", ttl_s=life_s)
        assert await bucket.write(change)


async def test_a_full_bucket_is_a_limit_and_removal_still_works(link: Link, bucket: KvBucket) -> None:
    revision = await bucket.write(put(KEY, b"x" * 1000))
    config = (await call(link, f"STREAM.INFO.KV_{BUCKET}"))["config"]
    await call(link, f"STREAM.UPDATE.KV_{BUCKET}", config | {"max_bytes": 5000})
    with pytest.raises(LimitExceeded, match="full"):
        await fill(bucket, 10_000)
    await bucket.write(remove(KEY, revision))
    await bucket.write(put("agents.A.m.small", b"x"))


async def test_a_full_store_is_a_limit(nats_servers: Callable[..., NatsServer]) -> None:
    server = nats_servers(
        auth="accounts { A { jetstream { max_file: 64KB, max_mem: 1MB }, users: [ { user: a, password: a } ] } }"
    )
    async with linked(server.url.replace("://", "://a:a@")) as link:
        bucket = await KvBuckets(link).open(BUCKET)
        revision = await bucket.write(put(KEY, b"x" * 1000))
        other = await bucket.write(put("agents.A.m.2", b"x" * 1000))
        with pytest.raises(LimitExceeded, match="full"):
            await fill(bucket, 400_000)
        with pytest.raises(Conflict):
            await bucket.write(remove(KEY, revision + 100))
        assert isinstance(await bucket.get(KEY), Entry)
        for key, held in ((KEY, revision), ("agents.A.m.2", other)):
            await bucket.write(remove(key, held))
            assert isinstance(await bucket.get(key), Marker)


async def test_a_value_over_the_buckets_own_limit_is_refused(link: Link, bucket: KvBucket) -> None:
    config = (await call(link, f"STREAM.INFO.KV_{BUCKET}"))["config"]
    await call(link, f"STREAM.UPDATE.KV_{BUCKET}", config | {"max_msg_size": 1000})
    with pytest.raises(InvalidInput, match="larger"):
        await bucket.write(put(KEY, b"x" * 2000))


async def test_a_write_is_told_soon_that_there_is_no_broker(nats_private: NatsServer) -> None:
    async with linked(nats_private.url) as link:
        bucket = await KvBuckets(link).open(BUCKET)
        await asyncio.to_thread(nats_private.kill)
        await eventually(lambda: not link.connected)
        async with asyncio.timeout(2):
            with pytest.raises(Unavailable, match="NATS_URL"):
                await bucket.write(put(KEY))
        async with asyncio.timeout(2):
            with pytest.raises(Unavailable, match="doctor"):
                await bucket.get(KEY)


async def test_a_write_cut_off_by_a_crash_is_applied_once(nats_private: NatsServer) -> None:
    async with linked(nats_private.url) as link:
        bucket = await KvBuckets(link).open(BUCKET)
        nats_private.pause()
        async with asyncio.timeout(15), asyncio.TaskGroup() as group:
            writes = [group.create_task(bucket.write(put(f"agents.A.m.{n}", str(n)))) for n in range(50)]
            await asyncio.sleep(0)
            await asyncio.to_thread(nats_private.kill)
            await asyncio.to_thread(nats_private.start)
        revisions = [write.result() for write in writes]
        held = await asyncio.gather(*(bucket.get(f"agents.A.m.{n}") for n in range(50)))
        assert [entry.revision for entry in held if isinstance(entry, Entry)] == revisions
        info = await call(link, f"STREAM.INFO.KV_{BUCKET}")
        assert info["state"]["last_seq"] == info["state"]["messages"] == 50


class SwallowingBucket(KvBucket):
    """A bucket whose next acknowledgements get lost after the broker has stored the change."""

    lost = 0
    meanwhile: Change | None = None
    dead = False
    """Lose the changes themselves."""

    async def _publish(self, change: Change, base: int, past: str) -> int:
        revision = base if self.lost and self.dead else await super()._publish(change, base, past)
        if self.lost:
            self.lost -= 1
            if self.meanwhile is not None:
                await super()._publish(self.meanwhile, revision, past)
            raise faults.NoAnswer
        return revision


async def test_a_lost_acknowledgement_is_recognised_by_its_operation(link: Link, bucket: KvBucket) -> None:
    deaf = SwallowingBucket(link, BUCKET)
    for change in (put(KEY, "one"), put(KEY, "two", expected=1), remove(KEY, 2), put(KEY, "three")):
        deaf.lost = 1
        before = (await call(link, f"STREAM.INFO.KV_{BUCKET}"))["state"]["last_seq"]
        assert await deaf.write(change) == before + 1
        assert (await call(link, f"STREAM.INFO.KV_{BUCKET}"))["state"]["last_seq"] == before + 1


async def test_a_change_that_may_have_happened_is_not_made_twice(link: Link, bucket: KvBucket) -> None:
    """The acknowledgement is lost, and somebody removes the key before it is read back: creating it again would undo that."""
    deaf = SwallowingBucket(link, BUCKET)
    deaf.lost, deaf.meanwhile = 1, remove(KEY, 1)
    with pytest.raises(Unavailable, match="not known"):
        await deaf.write(put(KEY, "one"))
    assert isinstance(await bucket.get(KEY), Marker)


async def test_a_change_that_happened_and_was_overtaken_is_recognised_by_the_trail(
    link: Link, bucket: KvBucket
) -> None:
    first = await bucket.write(put(KEY, "one"))
    mine = put(KEY, "two", expected=first)
    deaf = SwallowingBucket(link, BUCKET)
    theirs = msgspec.structs.replace(put(KEY, "three"), trail=((mine.op, first + 1), ("move a b 1 c", first)))
    deaf.lost, deaf.meanwhile = 1, theirs
    assert await deaf.write(mine) == first + 1
    held = await bucket.get(KEY)
    assert isinstance(held, Entry)
    assert (held.value, held.trail) == (b"three", theirs.trail)


async def test_a_change_that_the_trail_does_not_show_has_not_happened(link: Link, bucket: KvBucket) -> None:
    base = put(KEY, "one")
    first = await bucket.write(base)
    deaf = SwallowingBucket(link, BUCKET)
    theirs = msgspec.structs.replace(put(KEY, "three"), trail=((base.op, first),))
    deaf.lost, deaf.dead, deaf.meanwhile = 1, True, theirs
    with pytest.raises(Conflict) as lost:
        await deaf.write(put(KEY, "two", expected=first))
    assert (lost.value.actual, lost.value.value) == (first + 1, b"three")


async def test_a_bucket_lost_with_its_store_is_made_again(link: Link, bucket: KvBucket) -> None:
    await bucket.write(put(KEY, "one"))
    await call(link, f"STREAM.DELETE.KV_{BUCKET}")
    assert await bucket.write(put(KEY, "two")) == 1
    with pytest.raises(Conflict):
        await bucket.write(put("agents.A.m.2", expected=9))


async def test_a_stream_that_takes_no_lifetimes_is_written_without(link: Link) -> None:
    await call(link, f"STREAM.CREATE.KV_{BUCKET}", stream_config(BUCKET, features_of((2, 10))))
    bucket = await KvBuckets(link).open(BUCKET)
    assert bucket.ttl
    revision = await bucket.write(put(KEY, ttl_s=100))
    assert not bucket.ttl
    held = await bucket.get(KEY)
    assert isinstance(held, Entry)
    assert held.revision == revision
    await bucket.write(remove(KEY, revision))
    assert isinstance(await bucket.get(KEY), Marker)


class Lagging(KvBucket):
    """A bucket of a cluster of which the replica that answers lags, for the next so many reads."""

    old: Entry | Marker | None = None
    lags = 0

    async def look_at(self, key: str) -> Entry | Marker | None:
        if self.lags > 0:
            self.lags -= 1
            return self.old
        return await super().look_at(key)


@pytest.fixture
async def lagging(bucket: KvBucket) -> Lagging:
    return Lagging(bucket.link, bucket.name)


async def test_a_reader_that_knows_a_revision_is_not_told_an_older_one(lagging: Lagging) -> None:
    first = await lagging.write(put(KEY, "one"))
    lagging.old = await lagging.get(KEY)
    second = await lagging.write(put(KEY, "two", expected=first))
    lagging.lags = 3

    held = await lagging.get(KEY, at_least=second)

    assert isinstance(held, Entry)
    assert held.value == b"two"
    unheard_of = await lagging.get(KEY, at_least=second + 1000)
    assert unheard_of == held


async def test_a_loser_is_told_of_the_winner_by_a_replica_that_lags(lagging: Lagging) -> None:
    first = await lagging.write(put(KEY, "one"))
    lagging.old = await lagging.get(KEY)
    second = await lagging.write(put(KEY, "two", expected=first))
    third = await lagging.write(put(KEY, "three", expected=second))
    lagging.lags = 2

    with pytest.raises(Conflict) as lost:
        await lagging.write(put(KEY, "four", expected=second))

    assert (lost.value.actual, lost.value.value) == (third, b"three")
