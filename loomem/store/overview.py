"""What there is, in names and numbers: the streams of a caller, and how one of them, or all it may see, stands.

From the views alone, and never a word of content. Deliberately absent: how the service as a whole is (`pattern_health`).
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress

from identity.errors import Unavailable
from loomem.core.plan import text_of
from loomem.core.stats import Figures, Meaning, Standing, embeddings, figures
from loomem.core.streams import ALIASES, USER_DEFAULT, Stream, is_stream_id
from loomem.fact_results import MemoryStats, MemoryStatus, Namespace, Namespaces
from loomem.store.streams import existing
from loomem.store.write import Door
from loomem.views.jobs import Jobs
from loomem.views.projection import ViewState

EVERYTHING = "all you may see"
NOT_COUNTED = "n/a"
HOUR_MS = 3_600_000

_TYPES = {"__project__": "project", "__public__": "organization_shared"}


async def namespaces(door: Door, configured: Mapping[str, str]) -> Namespaces:
    """Return the streams that the caller may name. Raises: Unavailable."""
    named: dict[str, str] = {}
    if not door.caller.is_subagent:
        named = {alias: ident for alias, ident in configured.items() if is_stream_id(ident)}
        known = {*named.values()}
        named |= {ident: ident for ident in sorted(await existing(door)) if is_stream_id(ident) and ident not in known}
    built_in = {alias if alias not in named else word: word for alias, word in ALIASES.items()}
    rows = [
        Namespace(
            alias=alias,
            stream_id=ident,
            type=_TYPES.get(ident, "user_private"),
            access="write" if ident in _TYPES else "owner",
            default=ident == USER_DEFAULT,
        )
        for alias, ident in (*built_in.items(), *named.items())
    ]
    return Namespaces(namespaces={row.alias: row.stream_id for row in rows}, details=rows)


async def status(door: Door, stream: Stream | None, meaning: Meaning | None, jobs: Jobs | None) -> MemoryStatus:
    """Return how the memory stands. Raises: Unavailable."""
    await door.projection.settle()
    with suppress(Unavailable):
        await door.projection.sync()  # a view that only had not begun to follow is not behind
    found = _figures(door, stream, meaning)
    view = door.projection.status
    return MemoryStatus(
        status="ok" if view.state is ViewState.READY else f"degraded (the views are {view.state})",
        stream=EVERYTHING if stream is None else stream.word,
        memories=found.live,
        embedded=found.embedded,
        pending=found.pending,
        embeddings=embeddings(found, meaning),
        undecodable=view.corrupt,
        failed_extractions=None if jobs is None else jobs.failed_since(door.now_ms - HOUR_MS),
        empty_extractions=None if jobs is None else jobs.empty_since(door.now_ms - HOUR_MS),
    )


async def stats(door: Door, stream: Stream | None, meaning: Meaning | None, indexed: int | None) -> MemoryStats:
    """Return the memory in numbers; `indexed`: how many texts the index of words holds. Raises: Unavailable."""
    await door.projection.settle()
    found = _figures(door, stream, meaning)
    records = door.projection.records
    gone = [row for row in records.deleted_rows() if stream is None or stream.holds(row.place)]
    oldest, newest = (None if at is None else text_of(at) for at in (found.oldest_ms, found.newest_ms))
    return MemoryStats(
        stream=EVERYTHING if stream is None else stream.word,
        health={
            "live": found.live,
            "deleted": len(gone),
            "superseded": found.superseded,
            "L0": found.level0,
            "L1": found.level1,
            "oldest": oldest,
            "newest": newest,
            "last_ingest": newest,
            "last_search": None,
        },
        retrieval={
            "embedded": found.embedded if meaning is not None else None,
            "pending": found.pending if meaning is not None else None,
            "bm25_indexed": indexed if stream is None else None,
            "undecodable": len(records.corrupt()),
        },
        consolidation={"awaiting_L0": None, "threshold": None, "runs_total": None, "last": None},
        fact_types=found.fact_types,
        attribution=found.attribution,
        trust=found.trust,
        activity={**{f"stored_{name}": count for name, count in found.stored.items()}, "searches": None},
        extraction={"facts_per_ingest_24h": None, "facts_per_ingest_7d": None, "llm_failures": None, "empty": None},
        meta={"event_log_enabled": False, "scanned_rows": found.scanned, "generated_at": text_of(door.now_ms)},
    )


def _figures(door: Door, stream: Stream | None, meaning: Meaning | None) -> Figures:
    records = door.projection.records
    rows = (row for row in records.rows() if stream is None or stream.holds(row.place))
    standing = (
        Standing(row, records.chains.is_superseded(row), meaning is not None and meaning.embedded(row)) for row in rows
    )
    return figures(standing, door.now_ms)
