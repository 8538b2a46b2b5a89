"""The graph worker against a real server: one contribution for each memory that names something, none without its memory."""

from __future__ import annotations

import pytest

from identity.keys import Kind, Root, Space
from identity.ports import Put, Reason, Remove
from loomem.core.graph.contribution import Named, contribution_of, encode
from loomem.core.graph.dictionary import EMPTY, Dictionary, dictionary_of
from loomem.core.graph.ruling import Ruling, Verdict, ruling_id
from loomem.core.graph.ruling import encode as encode_ruling
from loomem.core.limits import Limits
from loomem.core.vector import content_hash
from loomem.nats.link import Link
from loomem.nats.topology import KvBuckets
from loomem.workers import duty
from loomem.workers.services import Services, open_services
from pattern.testing.accounts import NatsAccount
from tests.contracts.embed_kit import BUCKET, forget, keep, key_of
from tests.contracts.graph_kit import look, reading
from tests.contracts.workers_kit import SystemClock, linked, writes
from tests.llm_server import llm_server, says
from tests.waiting import eventually

FIRST = "Anna Nowak works at Acme Corp."
SECOND = "Ben Carter lives in Berlin."


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(duty, "BACKOFF_S", (0.05,))


async def complete(link: Link, dictionary: Dictionary = EMPTY) -> None:
    """Return when every memory that names something has its contribution, and nothing else has one."""

    async def holds() -> bool:
        return (await look(link)).complete(dictionary)

    await eventually(holds, within_s=20)


async def idle(services: Services) -> None:
    async def holds() -> bool:
        return not await services.pending()

    await eventually(holds, within_s=20)


def graph_key(number: int = 1) -> str:
    return key_of(number).replace(".m.", ".g.")


@pytest.mark.requirement("graph-worker.one")
async def test_each_memory_that_names_something_has_one_contribution(nats_account: NatsAccount) -> None:
    async with linked(nats_account.url) as link:
        bucket = await KvBuckets(link).open(BUCKET)
        for number in range(20):
            await keep(bucket, FIRST if number % 2 else "nothing that has a name", number=number)
        async with reading(link):
            await complete(link)
            await keep(bucket, SECOND, number=99)
            await complete(link)
        found = await look(link)
        assert len(found.said) == 11
        assert [one.name for one in found.said["memory-99"].entities] == ["Ben Carter", "Berlin"]


@pytest.mark.requirement("graph-worker.one")
async def test_a_contribution_follows_the_text_and_goes_with_its_memory(nats_account: NatsAccount) -> None:
    async with linked(nats_account.url) as link:
        bucket = await KvBuckets(link).open(BUCKET)
        revision = await keep(bucket, FIRST)
        async with reading(link) as services:
            await complete(link)
            revision = await keep(bucket, SECOND, expected=revision)
            await complete(link)
            assert "Berlin" in {one.name for one in (await look(link)).said["memory-1"].entities}
            revision = await keep(bucket, "no name at all", expected=revision)
            await complete(link)
            revision = await keep(bucket, FIRST, expected=revision)
            await complete(link)
            revision = await keep(bucket, FIRST, expected=revision, deletedAt="2026-01-01T00:00:00.000Z")
            await complete(link)
            assert (await look(link)).said == {}
            revision = await keep(bucket, FIRST, expected=revision)
            await complete(link)
            await forget(bucket, revision)
            await complete(link)
            await idle(services)
            assert (await look(link)).said == {}


@pytest.mark.requirement("graph-worker.one")
async def test_what_did_not_change_is_not_read_again(nats_account: NatsAccount) -> None:
    async with linked(nats_account.url) as link:
        bucket = await KvBuckets(link).open(BUCKET)
        revision = await keep(bucket, FIRST)
        async with reading(link) as services:
            await complete(link)
            await keep(bucket, FIRST, expected=revision, metadata={"tags": ["new"]})
            await idle(services)
        before = await writes(link, BUCKET)
        async with reading(link) as services:
            await idle(services)
        assert await writes(link, BUCKET) == before


@pytest.mark.requirement("graph-worker.one")
async def test_a_contribution_without_a_memory_or_of_another_text_is_put_right(nats_account: NatsAccount) -> None:
    async with linked(nats_account.url) as link:
        bucket = await KvBuckets(link).open(BUCKET)
        forged = encode(contribution_of([Named("Mallory", "Person")], [], generation=content_hash("else"), made="x"))
        await bucket.write(Put(key=graph_key(7), value=forged, expected=0, op="t 1"))
        await keep(bucket, FIRST, number=8)
        await bucket.write(Put(key=graph_key(8), value=forged, expected=0, op="t 2"))
        await keep(bucket, FIRST, number=9)
        await bucket.write(Put(key=graph_key(9), value=b"no contribution", expected=0, op="t 3"))
        async with reading(link) as services:
            await idle(services)
            assert (await look(link)).complete()
            await bucket.write(Put(key=graph_key(70), value=forged, expected=0, op="t 4"))
            await complete(link)


@pytest.mark.requirement("graph-worker.one")
async def test_rulings_are_left_alone(nats_account: NatsAccount) -> None:
    async with linked(nats_account.url) as link:
        bucket = await KvBuckets(link).open(BUCKET)
        key = Space(BUCKET, Root.AGENTS, "A").key(Kind.GRAPH, ruling_id("Ania", "Anna"))
        ruling = Ruling(verdict=Verdict.MERGE, name="Ania", into="Anna", agent_id="A", at="2026")
        revision = await bucket.write(Put(key=key, value=encode_ruling(ruling), expected=0, op="t 1"))
        await keep(bucket, FIRST)
        async with reading(link) as services:
            await complete(link)
            await idle(services)
        async with reading(link) as services:
            await idle(services)
        assert len((await look(link)).rulings) == 1
        await bucket.write(Remove(key=key, expected=revision, op="t 2", reason=Reason.OTHER))


@pytest.mark.requirement("graph-worker.two")
async def test_two_dictionaries_do_not_undo_each_other_for_ever(nats_account: NatsAccount) -> None:
    one, other = (dictionary_of(f'persons = ["{name}"]') for name in ("Bluebeard", "Redbeard"))
    async with linked(nats_account.url) as link, linked(nats_account.url) as second:
        bucket = await KvBuckets(link).open(BUCKET)
        async with reading(link, one) as first, reading(second, other) as last:
            for number in range(10):
                await keep(bucket, f"Bluebeard met Redbeard, {number}", number=number)
            await idle(first)
            await idle(last)
            before = await writes(link, BUCKET)
            assert before <= 10 * 4
            await idle(first)
            assert await writes(link, BUCKET) == before
        found = await look(link)
        assert len(found.said) == 10
        assert {one.name for said in found.said.values() for one in said.entities} <= {"Bluebeard", "Redbeard"}


@pytest.mark.requirement("graph-worker.one")
async def test_another_dictionary_reads_everything_again(nats_account: NatsAccount) -> None:
    dictionary = dictionary_of('persons = ["Bluebeard"]')
    async with linked(nats_account.url) as link:
        bucket = await KvBuckets(link).open(BUCKET)
        await keep(bucket, f"bluebeard knows. {FIRST}")
        async with reading(link):
            await complete(link)
        async with reading(link, dictionary):
            await complete(link, dictionary)
        assert "Bluebeard" in {one.name for one in (await look(link)).said["memory-1"].entities}


@pytest.mark.requirement("graph-worker.model")
async def test_a_model_adds_to_what_the_rules_read_and_is_asked_once(nats_account: NatsAccount) -> None:
    names = [{"name": "Zorg", "type": "Project", "confidence": 0.9}]
    answer = says({"texts": [{"id": "0", "entities": names, "relations": []}]})
    async with llm_server() as server, linked(nats_account.url) as link:
        bucket = await KvBuckets(link).open(BUCKET)
        server.script = [answer, says({"nothing": 1})]
        llm = server.settings(entities=True)
        clock = SystemClock()

        async def named(number: int, wanted: set[str]) -> None:
            async def holds() -> bool:
                seen = await look(link)
                said = seen.said.get(f"memory-{number}")
                return said is not None and {one.name for one in said.entities} == wanted

            await eventually(holds, within_s=30)

        async with open_services(link, limits=Limits(), clock=clock, names=EMPTY, llm=llm) as services:
            revision = await keep(bucket, f"Zorg is late. {FIRST}")
            await named(1, {"Zorg", "Anna Nowak", "Acme Corp"})
            await keep(bucket, f"Zorg is late. {FIRST}", expected=revision, metadata={"tags": ["new"]})
            await idle(services)
            assert server.calls == 1
            await keep(bucket, SECOND, number=2)
            await named(2, {"Ben Carter", "Berlin"})
            await eventually(lambda: any(one.dead for one in services.workers()), within_s=20)
        await named(1, {"Zorg", "Anna Nowak", "Acme Corp"})
