"""The extraction worker on a real server: one job a source, whoever does it; what a deleted source leaves; older contracts."""

from __future__ import annotations

import asyncio
from datetime import date

import msgspec
import pytest

from identity.keys import parse_key
from identity.ports import Bucket, Put, Reason, Remove
from loomem.core import jobs
from loomem.core.extract import Extracted
from loomem.core.jobs import Extraction, Step
from loomem.core.knowledge import FactType
from loomem.core.plan import deleted
from loomem.core.record import Memory, encode
from loomem.core.sources import CONTRACT, fact_id, fact_record, fragment_id, is_source_op
from loomem.nats.topology import KvBuckets, call
from loomem.node.supervise import cause_of
from loomem.workers.reading import OfflineReader, Reading
from loomem.workers.repair import RepairFailed
from pattern.testing.accounts import NatsAccount
from tests.contracts.embed_kit import memory
from tests.contracts.extract_kit import BUCKET, TALK, extracting, keep, key_of, look, now_ms, records
from tests.contracts.workers_kit import held, linked, writes
from tests.waiting import eventually


def read(*contents: str) -> Extraction:
    """Return a state in which these facts wait to be stored."""
    facts = tuple(Extracted(content=each, fact_type=FactType.FACT, confidence=0.9) for each in contents)
    return Extraction(
        step=Step.READ, since="2026-05-01T00:00:00.000Z", by="a model", facts=facts, count=len(facts), dropped=1
    )


async def beside(bucket: Bucket, ident: str, state: Extraction) -> None:
    key = parse_key(key_of(ident))
    assert key is not None
    value = jobs.encode(msgspec.structs.replace(jobs.NOTHING, extraction=state))
    await bucket.write(Put(key=f"{key.prefix}.x.{key.id}", value=value, expected=0, op="t"))


@pytest.mark.requirement("know-43.once")
async def test_what_was_read_before_a_crash_is_stored_and_not_read_again(
    nats_account: NatsAccount, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def never(_self: OfflineReader, _text: str, *, day: date | None) -> Reading:
        raise AssertionError(day)

    monkeypatch.setattr(OfflineReader, "read", never)
    async with linked(nats_account.url) as link:
        bucket = await KvBuckets(link).open(BUCKET)
        [source] = records()
        await beside(bucket, source.id, read("one", "two", "three"))
        first = fact_record(source, 0, read("one").facts[0], "2026-05-01T00:00:00.000Z")
        await keep(bucket, first)  # the one that was written before the crash
        await keep(bucket, source)
        async with extracting(link):

            async def done() -> bool:
                extraction = (await look(link)).jobs[source.id].extraction
                return extraction is not None and extraction.step is Step.DONE

            await eventually(done)
    async with linked(nats_account.url) as link:
        found = await look(link)
        state = found.jobs[source.id].extraction
        assert state is not None
        assert (state.count, state.dropped, state.by, state.facts) == (3, 1, "a model", ())
        assert sorted(each.content for each in found.taken(source.id)) == ["one", "three", "two"]


@pytest.mark.requirement("know-43.meanwhile")
async def test_a_fact_that_was_forgotten_meanwhile_does_not_come_back(nats_account: NatsAccount) -> None:
    async with linked(nats_account.url) as link:
        bucket = await KvBuckets(link).open(BUCKET)
        [source] = records()
        await beside(bucket, source.id, read("one", "two"))
        revision = await keep(bucket, fact_record(source, 0, read("one").facts[0], "2026-05-01T00:00:00.000Z"))
        gone = Remove(key=key_of(fact_id(source.id, 0)), expected=revision, op="f", reason=Reason.FORGET)
        await bucket.write(gone)
        await keep(bucket, source)
        async with extracting(link):

            async def stored() -> bool:
                return len((await look(link)).taken(source.id)) == 1

            await eventually(stored)
        assert [each.content for each in (await look(link)).taken(source.id)] == ["two"]


@pytest.mark.requirement("know-41", "know-40.source")
async def test_the_worker_completes_a_delete_that_was_cut_short(nats_account: NatsAccount) -> None:
    """The source is deleted; whoever deleted it was killed before its parts, facts and fragments were."""
    async with linked(nats_account.url) as link:
        bucket = await KvBuckets(link).open(BUCKET)
        talk = "\n".join(f"User: line {number} of the talk about Rust." for number in range(60))
        head, *parts = records(talk, limit=400)
        assert len(parts) > 3
        assert head.knowledge is not None
        head = msgspec.structs.replace(head, knowledge=msgspec.structs.replace(head.knowledge, fragments=1))
        said = msgspec.structs.replace(parts[0], id=fragment_id(head.id, 0), content="line")
        facts = [fact_record(head, number, each, head.created_at) for number, each in enumerate(read("a", "b").facts)]
        other = records()[0]
        await beside(bucket, head.id, msgspec.structs.replace(read("a", "b"), step=Step.DONE, facts=()))
        for each in (*parts, said, *facts, other):
            await keep(bucket, each)
        await keep(bucket, deleted(head, now_ms()))
        async with extracting(link):

            async def hidden() -> bool:
                return all(each.deleted_at is not None for each in (await look(link)).taken(head.id))

            await eventually(hidden)
        found = await look(link)
        assert {each.deleted_at for each in found.taken(head.id)} == {found.memories[head.id].deleted_at}
        assert len(found.taken(head.id)) == len(parts) + 3
        assert found.memories[other.id].deleted_at is None


@pytest.mark.requirement("know-43.once")
async def test_two_crews_do_each_job_once(nats_account: NatsAccount) -> None:
    async with linked(nats_account.url) as link, linked(nats_account.url) as second:
        bucket = await KvBuckets(link).open(BUCKET)
        async with extracting(link), extracting(second):
            sources = [records()[0] for _ in range(20)]
            for source in sources:
                await keep(bucket, source)

            async def done() -> bool:
                found = (await look(link)).jobs
                states = [found.get(source.id) for source in sources]
                return all(each and each.extraction and each.extraction.step is Step.DONE for each in states)

            await eventually(done, within_s=30)
        facts = (await look(link)).facts()
        assert facts
        assert set(facts.values()) == {1}
        assert {source for source, _ in facts} == {source.id for source in sources}


@pytest.mark.requirement("know-14.limits")
async def test_a_source_that_is_split_is_read_whole(nats_account: NatsAccount) -> None:
    talk = "\n".join(f"User: I prefer Rust {number} over Go {number}." for number in range(10))
    async with linked(nats_account.url) as link:
        bucket = await KvBuckets(link).open(BUCKET)
        head, *parts = records(talk, limit=100)
        assert parts
        await keep(bucket, head, *parts)
        async with extracting(link):

            async def read_all() -> bool:
                return len([each for each in (await look(link)).taken(head.id) if "9" in each.content]) > 1

            await eventually(read_all)


# --- contracts --------------------------------------------------------------------------------------------------------


def older(source: Memory) -> Memory:
    """Return a record as contract 0 had it."""
    assert source.knowledge is not None
    known = msgspec.structs.replace(source.knowledge, contract=0, event_unknown=False, extract=False)
    return msgspec.structs.replace(source, knowledge=known)


@pytest.mark.requirement("know-48")
async def test_records_of_an_older_contract_are_brought_up_to_date(nats_account: NatsAccount) -> None:
    async with linked(nats_account.url) as link:
        bucket = await KvBuckets(link).open(BUCKET)
        source = older(records()[0])
        dated = fact_record(source, 0, read("one").facts[0], source.created_at)
        assert dated.knowledge is not None
        dated = msgspec.structs.replace(
            dated, knowledge=msgspec.structs.replace(dated.knowledge, contract=0, event_date="2026-04-01")
        )
        plain, today = memory("plain"), records()[0]
        assert today.knowledge is not None
        today = msgspec.structs.replace(today, knowledge=msgspec.structs.replace(today.knowledge, extract=False))
        before = {each.id: await keep(bucket, each) for each in (source, dated, plain, today)}
        async with extracting(link):

            async def renewed() -> bool:
                known = [each.knowledge for each in (await look(link)).memories.values()]
                return all(each is None or each.contract in (None, CONTRACT) for each in known)

            await eventually(renewed)
        found = (await look(link)).memories
        entries = await held(link, BUCKET)
        assert len(found) == 4
        known = source.knowledge
        assert known is not None
        assert found[source.id].knowledge == msgspec.structs.replace(known, contract=CONTRACT, event_unknown=True)
        fact = found[dated.id].knowledge
        assert fact is not None
        assert (fact.contract, fact.event_date, fact.event_unknown) == (CONTRACT, "2026-04-01", False)
        assert found[source.id].content == source.content
        for ident in (plain.id, today.id):
            assert entries[key_of(ident)].revision == before[ident]
        assert is_source_op(
            entries[key_of(source.id)].op
        )  # it is a source still, for whoever looks at operations alone
        count = await writes(link, BUCKET)
        async with extracting(link):
            await asyncio.sleep(0.2)
        assert await writes(link, BUCKET) == count


@pytest.mark.requirement("know-48.failed")
async def test_a_record_that_cannot_be_brought_up_to_date_stops_the_workers_alone(nats_account: NatsAccount) -> None:
    async with linked(nats_account.url) as link:
        bucket = await KvBuckets(link).open(BUCKET)
        source = older(records()[0])
        await keep(bucket, source)
        info = await call(link, f"STREAM.INFO.KV_{BUCKET}")
        # The fault: a record larger than the bucket takes any more.
        full = {**info["config"], "max_msg_size": len(encode(source)) // 2}
        await call(link, f"STREAM.UPDATE.KV_{BUCKET}", full)
        with pytest.raises(ExceptionGroup) as failed:
            async with asyncio.timeout(20), extracting(link):
                await asyncio.Event().wait()
        cause = cause_of(failed.value)
        assert isinstance(cause, RepairFailed)
        assert key_of(source.id) in cause.message
        assert BUCKET in cause.message
        held_now = await bucket.get(key_of(source.id))
        assert held_now is not None
        assert (await look(link)).memories[source.id].content == TALK
