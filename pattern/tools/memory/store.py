"""memory_store: one confirmed fact."""

from __future__ import annotations

from identity.ports import Progress
from loomem.fact_results import Stored
from pattern.server.tool import Arguments, Backend, Shape, Tool
from pattern.tools.memory.words import STREAM, one_line


async def _store(backend: Backend, given: Arguments, _progress: Progress) -> Stored:
    engine = await backend.engine()
    return await engine.store(
        content=given.get("content"),
        source=given.get("source"),
        subject=given.get("subject"),
        metadata=given.get("metadata"),
        relations=given.get("relations"),
        supersedes=given.get("supersedes"),
        stream=given.get("stream"),
    )


def _told(stored: Stored) -> str:
    instead = f", supersedes: {', '.join(stored.supersedes)}" if stored.supersedes else ""
    lines = [f'Stored: "{one_line(stored.content)}..." (id: {stored.memory_id}{instead})']
    lines += [
        f"{_RELATIONS.get(one.relation, one.relation)} {one.memory_id}: {one.reason} (judged by {one.by})"
        for one in stored.judged or ()
    ]
    # What was redacted shows in the echo.
    lines += [f"Warning: {notice.description}" for notice in stored.warnings or () if notice.type != "redacted"]
    return "\n".join(lines)


_RELATIONS = {"updates": "Supersedes", "extends": "Adds to"}
_WORD = Shape(type="string")

STORE = Tool(
    name="memory_store",
    title="Store a fact",
    about="Store one confirmed fact, decision or preference for good, in a sentence that is understood without its "
    "context. It takes the place of what it contradicts, or of `supersedes`; that stays in the history. Never a secret.",
    params={
        "content": Shape(type="string", about="One fact; at most 102 400 bytes."),
        "subject": Shape(type="string", default="user", about="Whom or what it is about."),
        "source": Shape(
            type="string",
            default="mcp",
            about="Where it comes from: user_direct, confirmed_preference, first_party_doc, assistant_generated, "
            "external_web...",
        ),
        "metadata": Shape(type="object", about="Anything else, e.g. tags; at most 10 240 bytes."),
        "relations": Shape(
            type="array",
            about="What it says of two things, at most 64.",
            items=Shape(
                type="object",
                fields={
                    "subject": _WORD,
                    "relation": _WORD,
                    "object": _WORD,
                    "subject_type": Shape(type="string", default="Concept"),
                    "object_type": Shape(type="string", default="Concept"),
                },
                required=("subject", "relation", "object"),
            ),
        ),
        "supersedes": Shape(
            type="string",
            about="Id of the memory that this one replaces. One that is trusted further keeps its place, as does what "
            "remember wrote: update-memory or forget that.",
        ),
        "stream": STREAM,
    },
    required=("content",),
    seldom=frozenset({"source", "relations", "stream"}),
    result=Stored,
    run=_store,
    says=_told,
    fails="Failed to store: ",
)
