"""Purging: nothing of it is left, in the stream or in the server's files, and what was cut short is ended."""

from __future__ import annotations

import asyncio
import secrets
import sys
from pathlib import Path

import pytest

from identity.errors import AccessDenied, NotFound
from identity.keys import GLOBAL_BUCKET, SYSTEM_BUCKET, Kind, Root, Space
from identity.ports import Entry, Marker
from loomem.core.knowledge import Knowledge
from loomem.core.plan import is_stub
from loomem.core.record import decode
from loomem.nats.link import Link
from loomem.nats.streams import Streams
from loomem.nats.topology import Features, KvBuckets, call, stream_config
from pattern.testing.accounts import NatsAccount
from pattern.testing.guarded import GuardedBroker
from pattern.testing.server import NatsServer
from tests.contracts.audit_kit import all_recorded, recording
from tests.contracts.purge_kit import ME, SPACE, in_files, keep, purge_of, source, surround, taken, words
from tests.contracts.workers_kit import held, linked

KINDS = {"memory": 1, "vectors": 2, "graph": 1, "jobs": 1, "ratings": 1}


def store_of(server: NatsServer) -> Path:
    return server.store_directory


@pytest.mark.requirement("purge-physical", "purge-receipt", "purge-dry")
async def test_nothing_of_a_memory_is_left_in_the_stream_or_in_the_files_of_the_server(
    nats_private: NatsServer,
) -> None:
    content, other = words(), words()
    async with linked(nats_private.url) as link:
        bucket = await KvBuckets(link).open(SPACE.bucket)
        revision = await keep(bucket, "gone", content)
        await surround(bucket, "gone", content)
        stays = await keep(bucket, "stays", other)
        purge = purge_of(link)
        found, absent = await purge.by_ids(["gone", "nothing"])
        preview = await purge.preview(found, absent)
        assert preview.dry_run
        assert not preview.verified
        assert [row.keys for row in preview.purged] == [KINDS]
        assert isinstance(await bucket.get(SPACE.key(Kind.MEMORY, "gone")), Entry)
        assert in_files(store_of(nats_private), content)

        receipt = await purge.run(found, absent)
        row = receipt.purged[0]
        assert (receipt.verified, row.verified, row.overwritten) == (True, True, True)
        assert receipt.not_found == ["nothing"]
        assert (row.id, row.stream, row.space, row.keys) == ("gone", f"KV_{SPACE.bucket}", SPACE.prefix, KINDS)
        assert revision in row.revisions
        assert len(row.revisions) == 6
        streams = Streams(link)
        assert not any([await streams.stands(SPACE.bucket, each) for each in row.revisions])
        everything = await held(link, SPACE.bucket)
        assert [key for key, change in everything.items() if isinstance(change, Entry)] == [
            SPACE.key(Kind.MEMORY, "stays")
        ]
        assert isinstance(everything[SPACE.key(Kind.MEMORY, "gone")], Marker)
        assert await streams.stands(SPACE.bucket, stays)
    assert in_files(store_of(nats_private), content) == []
    assert in_files(store_of(nats_private), other)


@pytest.mark.requirement("purge-audited")
async def test_a_purge_is_on_record_once_for_each_memory(nats_account: NatsAccount) -> None:
    async with linked(nats_account.url) as link:
        bucket = await KvBuckets(link).open(SPACE.bucket)
        await keep(bucket, "gone", "words")
        purge = purge_of(link)
        await purge.run(*await purge.by_ids(["gone"]))
        async with recording(link) as services:
            lines = await all_recorded(link, services)
    assert [(line.action, line.id, line.agent) for line in lines if line.action == "purged"] == [
        ("purged", "gone", ME.agent_id)
    ]


@pytest.mark.requirement("purge-source")
async def test_what_was_taken_from_a_source_goes_with_it_and_nothing_else_does(nats_account: NatsAccount) -> None:
    async with linked(nats_account.url) as link:
        bucket = await KvBuckets(link).open(SPACE.bucket)
        await keep(bucket, "source", "a conversation", knowledge=source())
        for ident in ("fact-1", "fact-2"):
            await keep(bucket, ident, "a fact", knowledge=taken("source"))
        await keep(bucket, "other", "a fact", knowledge=taken("another source"))
        purge = purge_of(link)
        receipt = await purge.run(*await purge.by_ids(["source"]))
        assert {row.id: row.taken_from for row in receipt.purged} == {
            "fact-1": "source",
            "fact-2": "source",
            "source": None,
        }
        assert receipt.purged[-1].id == "source"
        entries = [key for key, change in (await held(link, SPACE.bucket)).items() if isinstance(change, Entry)]
        assert entries == [SPACE.key(Kind.MEMORY, "other")]


@pytest.mark.requirement("purge-stub")
async def test_nothing_that_was_replaced_comes_back(nats_private: NatsServer) -> None:
    content = words()
    async with linked(nats_private.url) as link:
        bucket = await KvBuckets(link).open(SPACE.bucket)
        await keep(bucket, "old", "was so")
        await keep(bucket, "new", content, knowledge=Knowledge(supersedes=("old",)))
        receipt = await purge_of(link).run(*await purge_of(link).by_ids(["new"]))
        assert [(row.stub, row.verified) for row in receipt.purged] == [(True, True)]
        left = await bucket.get(SPACE.key(Kind.MEMORY, "new"))
        assert isinstance(left, Entry)
        assert is_stub(left.op)
        stub = decode(left.value)
        assert (stub.content, stub.erased) == ("", True)
        assert stub.knowledge is not None
        assert stub.knowledge.supersedes == ("old",)
        standing = [key for key, change in (await held(link, SPACE.bucket)).items() if isinstance(change, Entry)]
        assert sorted(standing) == sorted(SPACE.key(Kind.MEMORY, ident) for ident in ("old", "new"))
        assert in_files(store_of(nats_private), content) == []
        # Both together leave nothing.
        await keep(bucket, "newer", words(), knowledge=Knowledge(supersedes=("old",)))
        receipt = await purge_of(link).run(*await purge_of(link).by_ids(["newer", "old"]))
        assert [row.stub for row in receipt.purged] == [False, False]


@pytest.mark.timeout(120)
@pytest.mark.requirement("purge-killed")
async def test_a_purge_that_was_killed_is_ended_by_the_next(nats_private: NatsServer) -> None:
    texts = {f"m-{number}": words() for number in range(40)}
    async with linked(nats_private.url) as link:
        bucket = await KvBuckets(link).open(SPACE.bucket)
        await KvBuckets(link).open(SYSTEM_BUCKET)
        for ident, content in texts.items():
            knowledge = Knowledge(supersedes=("old",)) if ident.endswith("7") else None
            await keep(bucket, ident, content, knowledge=knowledge)
            await surround(bucket, ident, content)
        for _ in range(4):
            process = await asyncio.create_subprocess_exec(
                sys.executable, "-m", "tests.contracts.purge_process", nats_private.url, *texts, stdout=-1
            )
            assert process.stdout is not None
            await process.stdout.readline()
            await asyncio.sleep(secrets.randbelow(30) / 1000)
            process.kill()
            await process.wait()
        purge = purge_of(link)
        receipt = await purge.run(*await purge.by_ids(list(texts)))
        assert receipt.verified
        entries = {key: change for key, change in (await held(link, SPACE.bucket)).items() if isinstance(change, Entry)}
        assert all(is_stub(change.op) for change in entries.values())
        assert set(entries) == {SPACE.key(Kind.MEMORY, ident) for ident in texts if ident.endswith("7")}
        assert not [key for key, change in (await held(link, SYSTEM_BUCKET)).items() if isinstance(change, Entry)]
    assert [ident for ident, content in texts.items() if in_files(store_of(nats_private), content)] == []


@pytest.mark.requirement("purge-select")
async def test_what_was_deleted_and_what_lies_in_a_stream_can_be_purged_as_a_whole(nats_account: NatsAccount) -> None:
    stream = Space(SPACE.bucket, Root.STREAMS, "work")
    async with linked(nats_account.url) as link:
        bucket = await KvBuckets(link).open(SPACE.bucket)
        await keep(bucket, "deleted", "x", deleted_at="2026-01-02T00:00:00.000Z")
        await keep(bucket, "live", "x")
        await keep(bucket, "work", "x", space=stream)
        purge = purge_of(link)
        assert [one.id for one in await purge.deleted()] == ["deleted"]
        assert [one.id for one in await purge.in_space(stream.bucket, stream.prefix)] == ["work"]


@pytest.mark.requirement("purge-own", "forget-operator")
async def test_only_an_operator_reaches_what_is_others(nats_account: NatsAccount) -> None:
    theirs = Space(GLOBAL_BUCKET, Root.SHARED, "b" * 32)
    async with linked(nats_account.url) as link:
        bucket = await KvBuckets(link).open(GLOBAL_BUCKET)
        await keep(bucket, "theirs", "x", space=theirs)
        assert await purge_of(link).by_ids(["theirs"]) == ([], ["theirs"])
        with pytest.raises(NotFound):
            await purge_of(link).forget("theirs", force=False)
        operator = purge_of(link, everybody=True)
        assert [one.id for one in (await operator.by_ids(["theirs"]))[0]] == ["theirs"]
        assert [one.id for one in await operator.forget("theirs", force=False)] == ["theirs"]
        assert isinstance(await bucket.get(theirs.key(Kind.MEMORY, "theirs")), Marker)
        async with recording(link) as services:
            lines = await all_recorded(link, services)
        assert [(line.action, line.agent) for line in lines][-1] == ("forgotten", ME.agent_id)


@pytest.mark.requirement("purge-permissions")
async def test_an_agents_credentials_cannot_purge(nats_private: NatsServer) -> None:
    async with GuardedBroker(nats_private) as broker:
        mine = (await broker.admit(ME)).endpoint

        async def source() -> object:
            return mine

        async with Link(source, name="agent") as link:  # type: ignore[arg-type]
            await link.ready(5)
            with pytest.raises(AccessDenied):
                await purge_of(link).by_ids(["x"])
            with pytest.raises(AccessDenied):
                await call(link, f"STREAM.MSG.DELETE.KV_{SPACE.bucket}", {"seq": 1})


@pytest.mark.requirement("purge-older")
async def test_a_bucket_of_an_older_version_is_purged_and_the_receipt_says_what_stays(
    nats_account: NatsAccount,
) -> None:
    async with linked(nats_account.url) as link:
        config = stream_config(SPACE.bucket, Features(message_ttl=True, atomic=True)) | {"deny_delete": True}
        await call(link, f"STREAM.CREATE.KV_{SPACE.bucket}", config)
        bucket = await KvBuckets(link).open(SPACE.bucket)
        await keep(bucket, "gone", "words")
        receipt = await purge_of(link).run(*await purge_of(link).by_ids(["gone"]))
        assert [(row.verified, row.overwritten) for row in receipt.purged] == [(True, False)]
