"""memory_namespaces, memory_status, memory_stats: what there is, in names and numbers."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from identity.ports import Progress
from loomem.fact_results import MemoryStats, MemoryStatus, Namespace, Namespaces
from pattern.server.tool import Arguments, Backend, Shape, Tool
from pattern.tools.memory.ingest import job
from pattern.tools.memory.words import STREAM


async def _namespaces(backend: Backend, _given: Arguments, _progress: Progress) -> Namespaces:
    engine = await backend.engine()
    return await engine.namespaces()


async def _status(backend: Backend, given: Arguments, _progress: Progress) -> MemoryStatus:
    engine = await backend.engine()
    return await engine.memory_status(stream=given.get("stream"), source_id=given.get("source_id"))


async def _stats(backend: Backend, given: Arguments, _progress: Progress) -> MemoryStats:
    engine = await backend.engine()
    return await engine.memory_stats(stream=given.get("stream"))


def _named(found: Namespaces) -> str:
    return "\n".join(["Your namespaces:", *map(_name, found.details)]) if found.details else "(no accessible streams)"


def _name(row: Namespace) -> str:
    default = ", default" if row.default else ""
    return f"- {row.alias} (stream_id: {row.stream_id}, type: {row.type}, access: {row.access}{default})"


def _standing(found: MemoryStatus) -> str:
    # There is no event log, and what the record of changes cannot take waits in its bucket; what workers failed at,
    # `pattern_health` tells.
    return "\n".join(
        (
            f"Loomem Status: {found.status}",
            f"Your stream: {found.stream}",
            f"Your memories: {found.memories}",
            f"Embeddings (this stream): {found.embeddings}",
            f"Associator: {found.associator}",
            "Event log drops: n/a",
            "Audit write failures: n/a",
            f"Undecodable chunks (last full scan): {found.undecodable}",
            f"LLM failures (last 60m): extraction={_count(found.failed_extractions)}, ner=n/a, embedding=n/a, "
            "consolidation=n/a",
            f"Empty extractions (last 60m): {_count(found.empty_extractions)}",
            *([] if found.extraction is None else [f"Source {found.source_id}: {_job(found)}"]),
            *([] if found.llm is None else [f"Language model: {found.llm}"]),
        )
    )


def _count(value: int | None) -> str:
    return "n/a" if value is None else str(value)


def _job(found: MemoryStatus) -> str:
    return "" if found.extraction is None else job(found.extraction, found.source_id or "")


def _numbers(found: MemoryStats) -> str:
    sections: dict[str, Mapping[str, object]] = {
        name: value for name, value in msgspec.structs.asdict(found).items() if name != "stream"
    }
    lines = [
        f"[{name}] {', '.join(map(_number, *zip(*values.items(), strict=True)))}" for name, values in sections.items()
    ]
    return "\n".join([f"Loomem Stats — stream {found.stream}", *lines])


def _number(name: str, value: object) -> str:
    return f"{name}={'n/a' if value is None else str(value).lower() if isinstance(value, bool) else value}"


NAMESPACES = Tool(
    name="memory_namespaces",
    title="Your memories",
    about="List the memories (streams) that you may name in `stream`.",
    result=Namespaces,
    run=_namespaces,
    says=_named,
    fails="Namespaces failed: ",
    read_only=True,
)
STATUS = Tool(
    name="memory_status",
    title="Memory status",
    about="How many memories there are, and whether all are indexed; with `source_id` how far the facts of a conversation "
    "are. Use it when something seems to be missing.",
    params={"stream": STREAM, "source_id": Shape(type="string", about="Id that memory_ingest gave.")},
    result=MemoryStatus,
    run=_status,
    says=_standing,
    fails="Status failed: ",
    read_only=True,
)
STATS = Tool(
    name="memory_stats",
    title="Memory in numbers",
    about="Counts by kind, trust, age and state; never content.",
    params={"stream": STREAM},
    result=MemoryStats,
    run=_stats,
    says=_numbers,
    fails="Stats failed: ",
    read_only=True,
)
