"""memory_delete: hide a memory, so that it can be undone for a while."""

from __future__ import annotations

from identity.ports import Progress
from loomem.fact_results import Deleted
from pattern.server.tool import Arguments, Backend, Tool
from pattern.tools.memory.words import CHUNK, STREAM


async def _delete(backend: Backend, given: Arguments, _progress: Progress) -> Deleted:
    engine = await backend.engine()
    return await engine.delete(chunk_id=given.get("chunk_id"), stream=given.get("stream"))


def _told(gone: Deleted) -> str:
    if gone.failed_steps:
        steps = ", ".join(gone.failed_steps)
        return f"Deleted memory {gone.memory_id} (partial: failed steps = [{steps}]; retry recommended)."
    text = f"Deleted memory {gone.memory_id}."
    if gone.derived:
        text += f" {gone.derived} memories taken from it went with it."
    if gone.source_id is not None:
        text += f" Its source {gone.source_id} is kept."
    return text


DELETE = Tool(
    name="memory_delete",
    title="Delete a memory",
    about="Delete one memory of the user's or yours; only when the user wants it gone. It vanishes at once and everywhere; "
    "the user can bring it back for 30 days with `pattern-memory restore`.",
    params={"chunk_id": CHUNK, "stream": STREAM},
    required=("chunk_id",),
    result=Deleted,
    run=_delete,
    says=_told,
    fails="Delete failed: ",
    destructive=True,
    idempotent=True,
)
