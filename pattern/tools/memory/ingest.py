"""memory_ingest: a conversation as a source, and the facts that are read in it."""

from __future__ import annotations

from collections.abc import Iterator

from identity.ports import Progress
from loomem.fact_results import Fact, FragmentCounts, Ingested
from loomem.results import Job
from pattern.server.tool import Arguments, Backend, Shape, Tool
from pattern.tools.memory.words import STREAM, one_line

REASON_CHARS = 200


async def _ingest(backend: Backend, given: Arguments, progress: Progress) -> Ingested:
    engine = await backend.engine()
    return await engine.ingest(
        content=given.get("content"),
        conversation_date=given.get("conversation_date"),
        stream=given.get("stream"),
        wait=given.get("wait"),
        progress=progress,
    )


def told(taken: Ingested) -> str:
    """Return what became of a conversation, in words: its source first, whatever else happened."""
    lines = [f"Source: {taken.source_id}", *_extraction(taken), *map(_fact, taken.facts or ())]
    lines += [f"Warning: {notice.description}" for notice in taken.warnings or () if notice.type != "redacted"]
    if taken.fragments is not None:
        lines.append(fragments(taken.fragments))
    return "\n".join(lines)


def job(found: Job, source: str) -> str:
    """Return how the extraction of a source is, in a line."""
    match found.state:
        case "off":
            return f"Stored raw transcript (id: {source}). Knowledge extraction disabled."
        case "failed":
            return f"Extraction failed ({_kind(found)}): {_reason(found)}. No facts stored."
        case "done":
            return "".join(_done(found))
        case _:
            why = f" The last try failed: {_reason(found)}; it is tried again." if found.reason else ""
            return f"Extraction {found.state}.{why}"


def fragments(counts: FragmentCounts) -> str:
    """Return what became of the utterances, in one sentence."""
    if counts.reason is not None:
        return f"Stored 0 fragments (segmentation skipped: {one_line(counts.reason)})."
    failed = f", {counts.failed} fragment writes failed" if counts.failed else ""
    skipped = f", {counts.skipped} fragments skipped (sanitizer would rewrite the slice)" if counts.skipped else ""
    return f"Stored {counts.stored} fragments{failed}{skipped}."


def _extraction(taken: Ingested) -> Iterator[str]:
    found = taken.extraction
    yield job(found, taken.source_id)
    if found.state in ("pending", "running"):
        yield "Accepted: the conversation is stored and searchable; memory_status with its source_id tells when its facts are."


def _done(found: Job) -> Iterator[str]:
    read, stored = found.extracted or 0, len(found.fact_ids or ())
    yield f"Extracted {read} facts from conversation, stored {stored}, skipped {found.skipped or 0}."
    if found.failed_pieces:
        yield f" Warning: {found.failed_pieces} extraction chunk(s) failed; facts may be incomplete."
        yield f" First error: {_reason(found)}."
    yield f" Read by {'our own rules, without a model' if found.extractor == 'offline' else found.extractor}."
    if found.reason and not found.failed_pieces:
        yield f" {_reason(found)}."


def _fact(fact: Fact) -> str:
    dates = f" [event:{fact.event}]" if fact.event else ""
    instead = f", supersedes: {', '.join(fact.supersedes)}" if fact.supersedes else ""
    return f"- {one_line(fact.content)}{dates} (id: {fact.memory_id}{instead})"


def _kind(found: Job) -> str:
    return "given up" if (found.attempts or 0) > 1 else "config" if not found.attempts else "error"


def _reason(found: Job) -> str:
    return one_line(found.reason or "unknown")[:REASON_CHARS].rstrip(".")


INGEST = Tool(
    name="memory_ingest",
    title="Take a conversation in",
    about="Store a whole conversation (up to 2 MiB; lines such as `User: ...`, JSON messages or .jsonl), and the facts that are "
    "read in it. The answer always gives the source id, with which the conversation can be read, asked after and deleted.",
    params={
        "content": Shape(type="string", about="The conversation, in order and verbatim."),
        "conversation_date": Shape(
            type="string", about='The day it took place, e.g. 2026-01-31; "yesterday" in it counts from there.'
        ),
        "stream": STREAM,
        "wait": Shape(
            type="boolean", default=True, about="Wait for the facts, up to 20 seconds; else they follow by themselves."
        ),
    },
    required=("content",),
    seldom=frozenset({"stream", "wait"}),
    result=Ingested,
    run=_ingest,
    says=told,
    fails="Failed to ingest: ",
)
