"""Several keys changed together: all or none, once."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator

import pytest

from identity.errors import Conflict, InvalidInput, Unavailable
from identity.ports import Entry, Marker, Reason
from loomem.nats import faults
from loomem.nats.batch import BATCH_MAX
from loomem.nats.bucket import KvBucket
from loomem.nats.link import Link, Message
from loomem.nats.topology import KvBuckets, call, features_of, stream_config
from pattern.testing import NatsAccount, NatsServer
from tests.contracts.nats_kit import BUCKET, linked, put, remove


@pytest.fixture
async def link(nats_account: NatsAccount) -> AsyncGenerator[Link]:
    async with linked(nats_account.url) as link:
        yield link


@pytest.fixture
async def bucket(link: Link) -> KvBucket:
    return await KvBuckets(link).open(BUCKET)


async def values(bucket: KvBucket, *keys: str) -> list[bytes | None]:
    held = await asyncio.gather(*(bucket.get(key) for key in keys))
    return [entry.value if isinstance(entry, Entry) else None for entry in held]


async def last_sequence(link: Link) -> int:
    last: int = (await call(link, f"STREAM.INFO.KV_{BUCKET}"))["state"]["last_seq"]
    return last


async def test_every_change_gets_its_revision(bucket: KvBucket) -> None:
    keys = [f"agents.A.m.{n}" for n in range(5)]
    revisions = await bucket.write_all([put(key, key) for key in keys])
    assert [(entry.value.decode(), entry.revision) for entry in await entries(bucket, keys)] == list(
        zip(keys, revisions, strict=True)
    )


async def entries(bucket: KvBucket, keys: list[str]) -> list[Entry]:
    held = await asyncio.gather(*(bucket.get(key) for key in keys))
    return [entry for entry in held if isinstance(entry, Entry)]


async def test_creating_changing_and_removing_go_together(bucket: KvBucket) -> None:
    a, b = await bucket.write_all([put("a", "1"), put("b", "1")])
    await bucket.write_all([put("a", "2", expected=a, ttl_s=100), remove("b", b, reason=Reason.MOVE), put("c", "1")])
    assert await values(bucket, "a", "b", "c") == [b"2", None, b"1"]
    marker = await bucket.get("b")
    assert isinstance(marker, Marker)
    assert marker.reason is Reason.MOVE


async def test_one_key_that_is_not_as_expected_stops_all(link: Link, bucket: KvBucket) -> None:
    a, b = await bucket.write_all([put("a", "1"), put("b", "1")])
    b2 = await bucket.write(put("b", "2", expected=b))
    before = await last_sequence(link)
    with pytest.raises(Conflict) as raised:
        await bucket.write_all([put("c", "3"), put("a", "3", expected=a), put("b", "3", expected=b)])
    assert (raised.value.key, raised.value.expected, raised.value.actual) == ("b", b, b2)
    assert raised.value.value == b"2"
    assert await last_sequence(link) == before


async def test_keys_are_created_over_markers(bucket: KvBucket) -> None:
    await bucket.write(remove("a", await bucket.write(put("a", "1"))))
    await bucket.write_all([put("a", "2"), put("b", "2")])
    assert await values(bucket, "a", "b") == [b"2", b"2"]


async def test_the_same_batch_is_applied_once(link: Link, bucket: KvBucket) -> None:
    changes = [put(f"k{n}") for n in range(10)]
    revisions = await bucket.write_all(changes)
    assert await bucket.write_all(changes) == revisions
    # One of the keys has moved on; the others still tell.
    await bucket.write(put("k0", "newer", expected=revisions[0]))
    assert await bucket.write_all(changes) == revisions
    assert await last_sequence(link) == revisions[-1] + 1


async def test_a_thousand_changes_are_one_batch(link: Link, bucket: KvBucket) -> None:
    revisions = await bucket.write_all([put(f"agents.A.m.{n}", b"x" * 3000) for n in range(BATCH_MAX)])
    assert revisions == list(range(1, BATCH_MAX + 1))
    assert await last_sequence(link) == BATCH_MAX


async def test_one_change_is_a_batch_too(bucket: KvBucket) -> None:
    assert await bucket.write_all([put("a")]) == [1]


async def test_a_batch_that_makes_no_sense_is_refused(link: Link, bucket: KvBucket) -> None:
    for changes in ([], [put("a"), put("a")], [put("a"), put("b c")], [put(f"k{n}") for n in range(BATCH_MAX + 1)]):
        with pytest.raises(InvalidInput):
            await bucket.write_all(changes)
    assert await last_sequence(link) == 0


async def test_batches_at_once_do_not_mix(bucket: KvBucket) -> None:
    async with asyncio.timeout(20), asyncio.TaskGroup() as group:
        tasks = [group.create_task(bucket.write_all([put(f"k{batch}-{n}") for n in range(20)])) for batch in range(60)]
    for task in tasks:
        revisions = task.result()
        assert revisions == list(range(revisions[0], revisions[0] + 20))


async def test_a_stream_that_takes_no_batches_says_what_is_needed(link: Link) -> None:
    """Writing one by one instead would not be all or nothing."""
    await call(link, f"STREAM.CREATE.KV_{BUCKET}", stream_config(BUCKET, features_of((2, 11))))
    bucket = await KvBuckets(link).open(BUCKET)
    with pytest.raises(Unavailable):
        await bucket.write_all([put("a"), put("b")])
    assert not bucket.atomic
    with pytest.raises(Unavailable, match=r"2\.12"):
        await bucket.write_all([put("a"), put("b")])
    assert await last_sequence(link) == 0
    assert await bucket.write_all([put("a")]) == [1]


async def test_a_stream_that_takes_no_lifetimes_takes_the_batch_without(link: Link) -> None:
    config = stream_config(BUCKET, features_of((2, 12)))
    for field in ("allow_msg_ttl", "subject_delete_marker_ttl"):
        del config[field]
    await call(link, f"STREAM.CREATE.KV_{BUCKET}", config)
    bucket = await KvBuckets(link).open(BUCKET)
    await bucket.write_all([put("a", ttl_s=100), put("b", ttl_s=100)])
    assert not bucket.ttl
    assert await values(bucket, "a", "b") == [b"value", b"value"]


class DeafLink(Link):
    """A link that loses the answer to a batch's commit after the broker has carried it out."""

    lost = 0

    async def request(self, subject: str, data: bytes = b"", **more: object) -> Message:  # type: ignore[override]
        answer = await super().request(subject, data, **more)  # type: ignore[arg-type]
        headers = more.get("headers")
        if self.lost and isinstance(headers, dict) and "Nats-Batch-Commit" in headers:
            self.lost -= 1
            raise faults.NoAnswer
        return answer


async def test_a_lost_acknowledgement_of_a_batch_is_recognised(nats_account: NatsAccount) -> None:
    async with linked(nats_account.url, kind=DeafLink) as link:
        assert isinstance(link, DeafLink)
        bucket = await KvBuckets(link).open(BUCKET)
        link.lost = 1
        assert await bucket.write_all([put("a"), put("b"), put("c")]) == [1, 2, 3]
        link.lost = 1
        a = await bucket.write_all([put("a", "2", expected=1), remove("b", 2)])
        assert a == [4, 5]
        assert await last_sequence(link) == 5


async def test_a_batch_cut_off_by_a_crash_is_applied_once(nats_private: NatsServer) -> None:
    async with linked(nats_private.url) as link:
        bucket = await KvBuckets(link).open(BUCKET)
        nats_private.pause()
        async with asyncio.timeout(15), asyncio.TaskGroup() as group:
            write = group.create_task(bucket.write_all([put(f"k{n}") for n in range(100)]))
            await asyncio.sleep(0)
            await asyncio.to_thread(nats_private.kill)
            await asyncio.to_thread(nats_private.start)
        assert write.result() == list(range(1, 101))
        assert await last_sequence(link) == 100
