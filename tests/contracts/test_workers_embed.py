"""The embedding worker against a real server and a model behind a real API: one vector per memory and model, none without."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AsyncExitStack
from datetime import UTC, datetime, timedelta

import msgspec
import pytest

from identity.errors import Unavailable
from identity.ports import Entry, Marker, Put
from loomem.core.embedding import Readiness, components_of
from loomem.core.jobs import decode as decode_failures
from loomem.core.limits import Limits
from loomem.core.times import iso
from loomem.core.vector import Stored, content_hash, encode, text_of
from loomem.embed import host
from loomem.embed import remote as remote_adapter
from loomem.embed.opening import leaves_this_machine
from loomem.embed.settings import Adapter, EmbedSettings
from loomem.nats.link import Link
from loomem.nats.topology import KvBuckets
from loomem.workers import duty
from loomem.workers.services import Services
from loomem.workers.status import WorkerStatus
from pattern.testing.accounts import NatsAccount
from pattern.testing.server import NatsServer
from tests.contracts.embed_kit import BUCKET, embedding, forget, keep, key_of, look, memory, remote
from tests.contracts.embeddings_api import REFUSED, embeddings_api
from tests.contracts.workers_kit import linked, writes
from tests.waiting import eventually


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(duty, "BACKOFF_S", (0.05,))
    monkeypatch.setattr(host, "PAUSES_S", (0.05, 0.05))
    monkeypatch.setattr(host, "RELOAD_S", (0.05,))
    monkeypatch.setattr(remote_adapter, "PAUSES_S", (0.02,))


async def complete(link: Link, *models: str) -> None:
    """Return when every memory has its vector, and nothing else has one."""

    async def holds() -> bool:
        return (await look(link)).complete(*models)

    await eventually(holds, within_s=20)


@pytest.mark.requirement("embed-vectors")
async def test_each_memory_gets_one_vector_of_the_text_it_is_found_by(nats_account: NatsAccount) -> None:
    async with embeddings_api() as api, linked(nats_account.url) as link:
        bucket = await KvBuckets(link).open(BUCKET)
        for number in range(40):
            await keep(bucket, f"fact {number}", number=number, metadata={"speaker": "Anna"})
        async with embedding(link, remote(api.url)):
            await complete(link, "words")
            await keep(bucket, "written while it works", number=99)
            await complete(link, "words")
        found = await look(link)
    assert set(api.asked.values()) == {1}, "no text was embedded twice"
    assert "Anna: fact 7" in api.asked
    assert api.largest > 1, "those that waited went together"
    assert api.keys == {"Bearer secret key"}
    stored = found.vectors["memory-7"]["words"]
    assert sum(c * c for c in components_of(stored.values)) == pytest.approx(1.0, abs=1e-2)


@pytest.mark.requirement("embed-vectors")
async def test_what_did_not_change_is_not_embedded_again(nats_account: NatsAccount) -> None:
    async with embeddings_api() as api, linked(nats_account.url) as link:
        bucket = await KvBuckets(link).open(BUCKET)
        revision = await keep(bucket, "the same words")
        async with embedding(link, remote(api.url)) as services:
            await complete(link, "words")
            await keep(bucket, "the same words", expected=revision, metadata={"tags": ["new"]})
            await eventually(lambda: embedder(services.workers()).processed >= 3)
        before = await writes(link, BUCKET)
        async with embedding(link, remote(api.url)) as services:
            await eventually(_idle(services))
        assert await writes(link, BUCKET) == before
    assert api.asked["the same words"] == 1


def _idle(services: Services) -> Callable[[], Awaitable[bool]]:
    """Return what says that nothing is left to do."""

    async def holds() -> bool:
        return not await services.pending()

    return holds


@pytest.mark.requirement("embed-vectors")
async def test_a_changed_text_gets_another_vector(nats_account: NatsAccount) -> None:
    async with embeddings_api() as api, linked(nats_account.url) as link:
        bucket = await KvBuckets(link).open(BUCKET)
        revision = await keep(bucket, "first")
        async with embedding(link, remote(api.url)):
            await complete(link, "words")
            await keep(bucket, "second", expected=revision)
            await complete(link, "words")


@pytest.mark.requirement("embed-vectors")
async def test_a_memory_changed_while_it_is_embedded_is_not_left_with_the_old_vector(nats_account: NatsAccount) -> None:
    async with embeddings_api() as api, linked(nats_account.url) as link:
        bucket = await KvBuckets(link).open(BUCKET)
        async with embedding(link, remote(api.url)) as services:
            await eventually(lambda: services.embedding().state is Readiness.READY)
            api.gate.clear()
            revision = await keep(bucket, "old words")
            await eventually(lambda: api.held > 0)
            for number in range(5):
                revision = await keep(bucket, f"new words {number}", expected=revision)
            api.gate.set()
            await complete(link, "words")


@pytest.mark.requirement("embed-gone")
@pytest.mark.parametrize("how", ["forgotten", "deleted and kept", "left as a stub"])
async def test_vectors_go_with_their_memory(nats_account: NatsAccount, how: str) -> None:
    async with embeddings_api() as api, linked(nats_account.url) as link:
        bucket = await KvBuckets(link).open(BUCKET)
        revisions = [await keep(bucket, f"fact {number}", number=number) for number in range(6)]
        async with embedding(link, remote(api.url)), embedding(link, remote(api.url, "other")):
            await complete(link, "words", "other")
            for number in range(3):
                if how == "forgotten":
                    await forget(bucket, revisions[number], number=number)
                elif how == "left as a stub":
                    await keep(bucket, "", number=number, expected=revisions[number], erased=True)
                else:
                    deleted = iso(datetime.now(UTC))
                    await keep(bucket, f"fact {number}", number=number, expected=revisions[number], deletedAt=deleted)
            await complete(link, "words", "other")
            assert len((await look(link)).vectors) == 3
        async with embedding(link, remote(api.url)) as services:
            await eventually(_idle(services))
            assert len((await look(link)).vectors) == 3, "they do not come back"


@pytest.mark.requirement("embed-gone")
async def test_a_restored_memory_gets_its_vector_again(nats_account: NatsAccount) -> None:
    async with embeddings_api() as api, linked(nats_account.url) as link:
        bucket = await KvBuckets(link).open(BUCKET)
        async with embedding(link, remote(api.url)):
            revision = await keep(bucket, "kept", deletedAt=iso(datetime.now(UTC)))
            await keep(bucket, "kept", expected=revision)
            await complete(link, "words")
            revision = await keep(bucket, "forgotten", number=2)
            await forget(bucket, revision, number=2)
            await keep(bucket, "forgotten", number=2)
            await complete(link, "words")


@pytest.mark.requirement("embed-gone")
async def test_a_vector_that_was_written_too_late_is_found_and_removed(nats_account: NatsAccount) -> None:
    """What a worker leaves that was overtaken by a deletion, and killed before it could look again."""
    async with embeddings_api() as api, linked(nats_account.url) as link:
        bucket = await KvBuckets(link).open(BUCKET)
        async with embedding(link, remote(api.url)):
            revision = await keep(bucket, "gone")
            await complete(link, "words")
            await forget(bucket, revision)
            await complete(link, "words")
            values = b"\0\x3c" + b"\0\0" * 63
            late = Stored.of(model="words", hash=content_hash("gone"), values=values)
            op = f"vector-of {revision} late"
            await bucket.write(Put(key="agents.A.v.memory-1.words", value=encode(late), expected=0, op=op))
            await complete(link, "words")


@pytest.mark.requirement("embed-gone")
async def test_vectors_whose_memory_left_no_trace_are_swept(nats_account: NatsAccount) -> None:
    async with embeddings_api() as api, linked(nats_account.url) as link:
        bucket = await KvBuckets(link).open(BUCKET)
        await keep(bucket, "there")
        late = Stored.of(model="gone-model", hash=content_hash("x"), values=b"\0\x3c")
        await bucket.write(Put(key="agents.A.v.nobody.gone-model", value=encode(late), expected=0, op="late"))
        async with embedding(link, remote(api.url)):
            await complete(link, "words")


@pytest.mark.requirement("embed-expire")
async def test_a_vector_expires_with_its_memory(nats_account: NatsAccount) -> None:
    async with embeddings_api() as api, linked(nats_account.url) as link:
        bucket = await KvBuckets(link).open(BUCKET)
        # As if its grace were nearly over.
        ends = datetime.now(UTC) + timedelta(seconds=3 - Limits().ttl_grace_s)
        await keep(bucket, "short-lived", ttl_s=3, expiresAt=iso(ends))
        async with embedding(link, remote(api.url)):
            await complete(link, "words")
            assert isinstance(await bucket.get("agents.A.v.memory-1.words"), Entry)

        async def gone() -> bool:
            held = [await bucket.get(key) for key in (key_of(), "agents.A.v.memory-1.words")]
            return all(isinstance(found, Marker) for found in held)

        await eventually(gone, within_s=10)  # with no worker there
        async with embedding(link, remote(api.url)) as services:
            await eventually(_idle(services))
            assert (await look(link)).vectors == {}


async def test_a_memory_that_lives_longer_than_its_vector_gets_another(nats_account: NatsAccount) -> None:
    async with embeddings_api() as api, linked(nats_account.url) as link:
        bucket = await KvBuckets(link).open(BUCKET)
        ends = datetime.now(UTC) + timedelta(seconds=2 - Limits().ttl_grace_s)
        revision = await keep(bucket, "short-lived", ttl_s=30, expiresAt=iso(ends))
        async with embedding(link, remote(api.url)):
            await complete(link, "words")
            await keep(bucket, "short-lived", expected=revision)
            await eventually(lambda: api.asked["short-lived"] == 2, within_s=10)
            await complete(link, "words")


@pytest.mark.requirement("embed-dead")
async def test_a_text_the_model_refuses_is_given_up_with_its_reason_and_holds_nobody_up(
    nats_account: NatsAccount,
) -> None:
    async with embeddings_api() as api, linked(nats_account.url) as link:
        bucket = await KvBuckets(link).open(BUCKET)
        for number in range(20):
            await keep(bucket, f"an {REFUSED} thing" if number == 7 else f"fact {number}", number=number)
        async with embedding(link, remote(api.url)) as services:

            async def others() -> bool:
                return len((await look(link)).vectors) == 19

            await eventually(others)
            await eventually(_idle(services))
            status = embedder(await services.status())
            assert (status.dead, status.pending) == (1, 0)
            found = await look(link)
            assert "memory-7" not in found.vectors
            failure = decode_failures(found.failures["memory-7"]).failures[0]
            assert (failure.worker, failure.dead, failure.attempts) == (status.name, True, 1)
            assert "HTTP 400" in failure.last_error
            assert REFUSED not in failure.last_error, "the reason does not quote the text"
            # What is put right is embedded, and nothing stands against it any more.
            revision = (await bucket.get(key_of(7))).revision  # pyright: ignore[reportOptionalMemberAccess]
            await keep(bucket, "a decent thing", number=7, expected=revision)
            await complete(link, "words")
            await eventually(lambda: embedder(services.workers()).dead == 0)


@pytest.mark.requirement("embed-privacy")
async def test_on_a_shared_broker_nothing_is_sent_to_another_machine_unless_it_may_be_for_all(
    nats_account: NatsAccount,
) -> None:
    async with embeddings_api() as api, linked(nats_account.url) as link:
        await keep(await KvBuckets(link).open(BUCKET), "of another user")
        # The same server under an address that only the resolver knows to be this machine.
        elsewhere = msgspec.structs.replace(remote(api.url), url=api.url.replace("127.0.0.1", "127.1"))
        async with embedding(link, elsewhere) as services:
            await eventually(lambda: services.embedding().state is Readiness.FAILED)
            assert "PATTERN_EMBEDDER_REMOTE_FOR_ALL=true" in (services.embedding().reason or "")
            with pytest.raises(Unavailable, match="words alone"):
                await services.host.query("what I ask")
            await asyncio.sleep(0.5)  # there is no event for embedding nothing
        assert (api.requests, (await look(link)).vectors) == (0, {})
        async with embedding(link, msgspec.structs.replace(elsewhere, remote_for_all=True)):
            await complete(link, "words")
        assert api.asked["of another user"] == 1


@pytest.mark.requirement("embed-privacy")
@pytest.mark.parametrize(
    ("url", "leaves"),
    [
        ("http://127.0.0.1:8080/v1", False),
        ("http://[::1]:8080/v1", False),
        ("http://localhost/v1", False),
        ("https://api.openai.com/v1", True),
        ("http://localhost.example/v1", True),
        ("http://127.0.0.1@example.com/v1", True),
        ("http://192.168.0.4/v1", True),
        ("http://[::1/v1", True),
        ("", True),
    ],
)
def test_what_is_not_known_to_be_this_machine_is_another(url: str, leaves: bool) -> None:
    assert leaves_this_machine(remote(url)) is leaves


async def test_a_refused_text_does_not_keep_the_vector_of_the_former_one(nats_account: NatsAccount) -> None:
    async with embeddings_api() as api, linked(nats_account.url) as link:
        bucket = await KvBuckets(link).open(BUCKET)
        revision = await keep(bucket, "decent")
        async with embedding(link, remote(api.url)) as services:
            await complete(link, "words")
            await keep(bucket, REFUSED, expected=revision)
            await eventually(lambda: embedder(services.workers()).dead == 1)
            assert (await look(link)).vectors == {}


@pytest.mark.requirement("embed-compete")
async def test_two_crews_share_the_work(nats_account: NatsAccount) -> None:
    async with AsyncExitStack() as stack:
        api = await stack.enter_async_context(embeddings_api())
        links = [await stack.enter_async_context(linked(nats_account.url)) for _ in range(2)]
        bucket = await KvBuckets(links[0]).open(BUCKET)
        crews = [await stack.enter_async_context(embedding(link, remote(api.url))) for link in links]
        for number in range(120):
            await keep(bucket, f"fact {number}", number=number)
        await complete(links[0], "words")
        assert all(embedder(crew.workers()).processed > 0 for crew in crews)
        assert sum(api.asked.values()) <= 125, "each text once, but for a race or two"


@pytest.mark.requirement("embed-model")
async def test_another_model_embeds_everything_again_beside_the_former(nats_account: NatsAccount) -> None:
    async with embeddings_api() as api, linked(nats_account.url) as link:
        bucket = await KvBuckets(link).open(BUCKET)
        for number in range(10):
            await keep(bucket, f"fact {number}", number=number)
        async with embedding(link, remote(api.url)):
            await complete(link, "words")
        async with embedding(link, remote(api.url, "better/words v2")):
            await complete(link, "words", "better/words v2")
            revision = (await bucket.get(key_of(3))).revision  # pyright: ignore[reportOptionalMemberAccess]
            await forget(bucket, revision, number=3)
            await complete(link, "words", "better/words v2")


@pytest.mark.requirement("embed-outage")
async def test_a_broker_that_restarts_in_the_middle_costs_nothing(nats_private: NatsServer) -> None:
    chance = random.Random(7)
    async with embeddings_api() as api, linked(nats_private.url) as link:
        bucket = await KvBuckets(link).open(BUCKET)
        async with embedding(link, remote(api.url)):
            for number in range(60):
                await keep(bucket, f"fact {number}", number=number)
                if number in (20, 45):
                    await asyncio.sleep(chance.random() / 10)
                    await asyncio.to_thread(nats_private.kill)
                    await asyncio.to_thread(nats_private.start)
                    await link.ready(10)
            await complete(link, "words")


@pytest.mark.requirement("embed-outage")
async def test_a_model_that_is_down_is_waited_for_and_said(nats_account: NatsAccount) -> None:
    async with embeddings_api() as api, linked(nats_account.url) as link:
        bucket = await KvBuckets(link).open(BUCKET)
        async with embedding(link, remote(api.url)) as services:
            await eventually(lambda: services.embedding().state is Readiness.READY)
            api.down = True
            for number in range(5):
                await keep(bucket, f"fact {number}", number=number)
            await eventually(lambda: services.embedding().state is Readiness.FAILED)
            assert "503" in (services.embedding().reason or "")
            assert not await _kept(services), "a model that is down is no reason for the node to stay"
            api.down = False
            await complete(link, "words")
            assert services.embedding().state is Readiness.READY
            assert embedder(await services.status()).dead == 0


def embedder(workers: Sequence[WorkerStatus]) -> WorkerStatus:
    """Return how the worker is that embeds."""
    [one] = [worker for worker in workers if worker.name.startswith("embed-")]
    return one


async def _kept(services: Services) -> bool:
    """Return whether the worker's jobs keep the node; those it has in hand do."""
    return (await services.pending()) and embedder(services.workers()).state != "working"


@pytest.mark.requirement("embed-gone")
async def test_without_a_model_vectors_go_with_their_memory_too(nats_account: NatsAccount) -> None:
    async with embeddings_api() as api, linked(nats_account.url) as link:
        bucket = await KvBuckets(link).open(BUCKET)
        revisions = [await keep(bucket, f"fact {number}", number=number) for number in range(3)]
        async with embedding(link, remote(api.url)):
            await complete(link, "words")
        await forget(bucket, revisions[0], number=0)
        async with embedding(link, EmbedSettings(adapter=Adapter.NONE)):
            await complete(link, "words")
            assert len((await look(link)).vectors) == 2


async def test_without_a_model_nothing_is_embedded_and_nothing_waits(nats_account: NatsAccount) -> None:
    async with linked(nats_account.url) as link:
        bucket = await KvBuckets(link).open(BUCKET)
        await keep(bucket, "words alone")
        async with embedding(link, EmbedSettings(adapter=Adapter.NONE)) as services:
            await eventually(_idle(services))
            assert [worker.name for worker in services.workers()] == ["expire", "audit", "extract"]
            assert services.embedding().state is Readiness.OFF
        async with embedding(link, EmbedSettings(adapter=Adapter.OPENAI, url="ftp://nowhere")) as services:
            await eventually(lambda: services.embedding().state is Readiness.FAILED)
            await eventually(_idle(services))
            assert "PATTERN_EMBEDDER_URL" in (services.embedding().reason or "")
        assert (await look(link)).vectors == {}


def test_the_text_is_the_one_of_the_words() -> None:
    assert text_of(memory("hello", metadata={"speaker": "Jan"})) == "Jan: hello"
