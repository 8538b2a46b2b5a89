"""What a purge erased, as it is shown to people and kept by them. Ids, sequence numbers and counts; never content."""

from __future__ import annotations

import msgspec


class Purged(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """One memory that was purged, or would be."""

    id: str
    bucket: str
    stream: str
    """The server's stream that holds the bucket."""
    space: str
    """Key prefix: root and owner."""
    revisions: tuple[int, ...] = ()
    """Sequence numbers that were taken out of the stream."""
    keys: dict[str, int] = {}
    """How many keys of each kind: memory, vectors, ratings, graph, jobs."""
    taken_from: str | None = None
    """The source it was taken from, when it goes with that."""
    stub: bool = False
    """Whether a stub without content stays, because this memory took another's place."""
    overwritten: bool = False
    """Whether its bytes were overwritten in the server's files, too; else the server reuses the room in its own time."""
    verified: bool = False
    """Whether a scan of the stream afterwards found nothing of it: by key, and by sequence number."""


class Receipt(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """What a purge did, or with `dry_run` would do."""

    dry_run: bool
    at: str
    agent: str
    project: str
    purged: list[Purged]
    resumed: int = 0
    """How many of them an earlier purge had begun."""
    not_found: list[str] = []
    warm_copies: int = 0
    """Rows that were erased from copies of views on this machine."""
    verified: bool = False
