"""What the tests of purging share: memories with everything that is made of them, and a look into the server's files."""

from __future__ import annotations

import secrets
import string
from pathlib import Path

import msgspec

from identity.agent import AgentId, Caller, ProjectId, UserId
from identity.keys import Kind, Space
from identity.ports import Bucket, Put
from identity.visibility import Scope, space_for
from loomem.core.knowledge import Knowledge, Role
from loomem.core.limits import Limits
from loomem.core.rating import Ratings
from loomem.core.rating import encode as encode_ratings
from loomem.core.record import Category, Memory, encode
from loomem.nats.follow import KvFeed
from loomem.nats.link import Link
from loomem.nats.streams import Streams
from loomem.nats.topology import KvBuckets
from loomem.purge import Purge
from tests.contracts.workers_kit import SystemClock

ME = Caller(agent_id=AgentId("a" * 32), project_id=ProjectId("p"), user_id=UserId("u"))
SPACE: Space = space_for(ME, Scope.PERSONAL)


def purge_of(link: Link, *, caller: Caller = ME, everybody: bool = False) -> Purge:
    return Purge(
        caller=caller,
        buckets=KvBuckets(link),
        feed=KvFeed(link),
        streams=Streams(link),
        limits=Limits(),
        clock=SystemClock(),
        everybody=everybody,
    )


def words() -> str:
    """Return a text that nothing compresses and that stands nowhere else."""
    return "".join(secrets.choice(string.ascii_letters + string.digits) for _ in range(48))


async def keep(
    bucket: Bucket,
    ident: str,
    content: str,
    *,
    space: Space = SPACE,
    expected: int = 0,
    knowledge: Knowledge | None = None,
    deleted_at: str | None = None,
) -> int:
    """Store a memory."""
    memory = Memory(
        id=ident,
        agent_id=ME.agent_id,
        project_id=ME.project_id,
        scope=Scope.PERSONAL,
        category=Category.LONGTERM,
        content=content,
        created_at="2026-01-01T00:00:00.000Z",
        updated_at="2026-01-01T00:00:00.000Z",
        version=1,
        deleted_at=deleted_at,
        knowledge=knowledge,
    )
    key = space.key(Kind.MEMORY, ident)
    return await bucket.write(Put(key=key, value=encode(memory), expected=expected, op=secrets.token_hex(8)))


async def surround(bucket: Bucket, ident: str, content: str) -> None:
    """Write beside a memory all that is ever made of one, each with its content in it."""
    value = content.encode()
    rating = encode_ratings(Ratings(id=ident, owner=SPACE.token, agent_id=content, last="2026-01-01T00:00:00.000Z"))
    for key, held in (
        (f"{SPACE.prefix}.{Kind.VECTOR}.{ident}.one", value),
        (f"{SPACE.prefix}.{Kind.VECTOR}.{ident}.two", value),
        (SPACE.key(Kind.GRAPH, ident), value),
        (SPACE.key(Kind.JOB, ident), value),
        (SPACE.key(Kind.FEEDBACK, ident), rating),
    ):
        await bucket.write(Put(key=key, value=held, expected=0, op=secrets.token_hex(8)))


def source() -> Knowledge:
    return Knowledge(role=Role.EVIDENCE, contract=1)


def taken(from_id: str) -> Knowledge:
    return Knowledge(source_id=from_id, level=1)


def in_files(directory: Path, text: str) -> list[str]:
    """Return the files under a directory that hold a text."""
    wanted = text.encode()
    return [str(path) for path in directory.rglob("*") if path.is_file() and wanted in path.read_bytes()]


def builtins(value: object) -> object:
    return msgspec.to_builtins(value)
