"""The extraction worker on a real server: one job a source, whoever does it; what a deleted source leaves; older contracts."""

from __future__ import annotations

import asyncio
import re
from collections import Counter
from datetime import date

import msgspec
import pytest

from identity.keys import parse_key
from identity.ports import Bucket, Put, Reason, Remove
from loomem.core import jobs
from loomem.core.extract import Extracted, SoFar
from loomem.core.jobs import Extraction, Step
from loomem.core.knowledge import FactType
from loomem.core.plan import deleted
from loomem.core.record import Memory, encode
from loomem.core.sources import CONTRACT, fact_id, fact_record, fragment_id, is_source_op
from loomem.llm.extract import cut
from loomem.nats.link import Link
from loomem.nats.topology import KvBuckets, call
from loomem.node.supervise import cause_of
from loomem.workers.crew import CrewLimits
from loomem.workers.reading import Notes, OfflineReader, Reading
from loomem.workers.repair import RepairFailed
from pattern.testing.accounts import NatsAccount
from tests.contracts.embed_kit import memory
from tests.contracts.extract_kit import BUCKET, TALK, extracting, keep, key_of, look, now_ms, records
from tests.contracts.workers_kit import held, linked, writes
from tests.llm_server import Asked, Reply, fails, llm_server, says
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
    async def never(_self: OfflineReader, _text: str, *, day: date | None, notes: Notes) -> Reading:
        raise AssertionError(day, notes)

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


# --- long ones, with a model ---


def long_talk(lines: int = 160) -> str:
    return "".join(f"User: line {number} says that I prefer word{number}.\n" for number in range(lines))


def answers(asked: Asked) -> Reply:
    """Say one fact of a piece, about the first word in it."""
    word = re.findall(r"word(\d+)\.", asked.user)[0]
    fact = {"content": f"User prefers word{word}", "fact_type": "preference", "confidence": 0.9}
    return says({"facts": [fact]})


async def extraction_of(link: Link, ident: str) -> Extraction | None:
    record = (await look(link)).jobs.get(ident)
    return None if record is None else record.extraction


@pytest.mark.requirement("know-43.pieces")
@pytest.mark.parametrize("fails_at", [2, None])
async def test_a_long_source_is_read_on_where_a_crew_was_cut_off(
    nats_account: NatsAccount, fails_at: int | None
) -> None:
    """The first crew is cancelled while the model keeps it waiting for the fourth piece; the second one asks the rest."""
    text = long_talk()
    size = len(list(cut(text, 1_200)))
    assert size > 4
    async with llm_server() as llm, linked(nats_account.url) as link:
        settings = llm.settings(transcript_tokens=300, judge=False, entities=False)
        bucket = await KvBuckets(link).open(BUCKET)
        [source] = records(text)
        await keep(bucket, source)

        def slow(asked: Asked) -> Reply:
            if llm.calls == fails_at:
                return fails(500)
            return msgspec.structs.replace(answers(asked), waits_s=60.0 if llm.calls == 4 else 0.0)

        llm.rule = slow
        async with extracting(link, llm=settings, crew_limits=CrewLimits(drain_s=0.1)):
            await eventually(lambda: llm.calls == 4, within_s=20)
            held = await extraction_of(link, source.id)
            assert held is not None
            assert held.so_far is not None
            answered = 3 - (fails_at is not None)
            assert (held.step, len(held.so_far.answered), len(held.so_far.facts)) == (Step.READING, answered, answered)
        llm.rule = answers
        async with extracting(link, llm=settings):

            async def done() -> bool:
                held = await extraction_of(link, source.id)
                return held is not None and held.step is Step.DONE

            await eventually(done, within_s=20)
        held = await extraction_of(link, source.id)
        assert held is not None
        assert (held.so_far, held.pieces, held.failed_pieces, held.count) == (None, size, 0, size)
        unanswered = {4} if fails_at is None else {4, fails_at}
        asked = Counter(one.user.partition("\n")[2] for at, one in enumerate(llm.asked, 1) if at not in unanswered)
        pieces = Counter(re.findall(r"word(\d+)\.", one)[0] for one in asked.elements())
        assert set(pieces.values()) == {1}  # none that was answered is asked again
        assert llm.calls == size + len(unanswered)


@pytest.mark.requirement("know-43.pieces")
async def test_the_time_of_a_job_is_that_of_a_piece(nats_account: NatsAccount) -> None:
    """All pieces together take longer than a job may; each alone does not."""
    text = long_talk()
    async with llm_server() as llm, linked(nats_account.url) as link:
        bucket = await KvBuckets(link).open(BUCKET)
        [source] = records(text)
        llm.rule = lambda asked: msgspec.structs.replace(answers(asked), waits_s=0.6)
        settings = llm.settings(transcript_tokens=300, judge=False, entities=False)
        size = len(list(cut(text, 1_200)))
        job_s = 3.0
        assert size * 0.6 > job_s
        async with extracting(link, llm=settings, crew_limits=CrewLimits(job_s=job_s)) as services:
            await services.models.warm()  # what the first question would wait for is no piece's time
            await keep(bucket, source)

            async def done() -> bool:
                held = await extraction_of(link, source.id)
                return held is not None and held.step is Step.DONE

            await eventually(done, within_s=30)
        found = (await look(link)).jobs[source.id]
        assert found.failures == ()
        assert llm.calls == size


@pytest.mark.requirement("know-43.pieces")
async def test_what_another_model_said_is_not_gone_on_with(nats_account: NatsAccount) -> None:
    async with llm_server() as llm, linked(nats_account.url) as link:
        bucket = await KvBuckets(link).open(BUCKET)
        [source] = records(long_talk(10))
        old = SoFar(answered=("of another model",), facts=read("one").facts, dropped={"twice": 3})
        await beside(bucket, source.id, Extraction(step=Step.READING, since="2026-05-01T00:00:00.000Z", so_far=old))
        await keep(bucket, source)
        llm.rule = answers
        async with extracting(link, llm=llm.settings(judge=False, entities=False)):

            async def done() -> bool:
                held = await extraction_of(link, source.id)
                return held is not None and held.step is Step.DONE

            await eventually(done, within_s=20)
        assert [each.content for each in (await look(link)).taken(source.id)] == ["User prefers word0"]


# --- judged by a model ---


def judges(asked: Asked) -> Reply:
    """Say one fact of a conversation; of two facts that the newer one ends a habit, and adds to what is said of a home."""
    if "facts" in asked.body["output_config"]["format"]["schema"]["properties"]:
        return says({"facts": [{"content": "Ann sold her boat Wanda and her house", "confidence": 0.9}]})
    older = asked.user.partition("fence=")[2].partition("fence=")[0]
    relation = "updates" if "sails" in older else "extends" if "lives" in older else "none"
    return says({"relation": relation, "reason": "so"})


@pytest.mark.requirement("know-10.extracted")
async def test_what_is_read_is_judged_by_the_model_against_what_is_there(nats_account: NatsAccount) -> None:
    async with llm_server() as llm, linked(nats_account.url) as link:
        llm.rule = judges
        bucket = await KvBuckets(link).open(BUCKET)
        [before], [source] = records("User: earlier"), records("User: Ann sold her boat Wanda, and her house too.")
        assert before.knowledge is not None
        nothing = msgspec.structs.replace(before.knowledge, extract=False)
        before = msgspec.structs.replace(before, knowledge=nothing)
        said = read("Ann sails her boat Wanda", "Ann lives in her house", "The boat market is slow").facts
        sails, lives, market = [fact_record(before, at, each, before.created_at) for at, each in enumerate(said)]
        await keep(bucket, sails, lives, market, before)
        await keep(bucket, source)
        async with extracting(link, llm=llm.settings(entities=False, judge_model="claude-judge")):

            async def done() -> bool:
                held = await extraction_of(link, source.id)
                return held is not None and held.step is Step.DONE

            await eventually(done, within_s=20)
        [fact] = (await look(link)).taken(source.id)
        assert fact.knowledge is not None
        assert fact.knowledge.supersedes == (sails.id,)
        relations = {one.memory_id: (one.relation, one.by) for one in fact.knowledge.judged}
        assert relations == {sails.id: ("updates", "claude-judge"), lives.id: ("extends", "claude-judge")}
        assert {one.body["model"] for one in llm.asked} == {"claude-haiku-4-5", "claude-judge"}


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
