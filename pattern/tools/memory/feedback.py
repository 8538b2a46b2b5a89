"""memory_feedback: what a memory was worth."""

from __future__ import annotations

import msgspec

from identity.ports import Progress
from loomem.fact_results import Rated
from pattern.server.tool import Arguments, Backend, Shape, Tool
from pattern.tools.memory.words import CHUNK


async def _feedback(backend: Backend, given: Arguments, _progress: Progress) -> Rated:
    engine = await backend.engine()
    return await engine.feedback(
        chunk_id=given.get("chunk_id"),
        usefulness=given.get("usefulness"),
        harmful=given.get("harmful"),
        justification=given.get("justification"),
        model_version=given.get("model_version"),
        prompt_version=given.get("prompt_version"),
        trajectory_id=given.get("trajectory_id"),
        withdraw=given.get("withdraw"),
    )


def _told(rated: Rated) -> str:
    said = {"ok": rated.ok, "accepted": rated.accepted, "rejected": rated.rejected}
    return msgspec.json.encode(said).decode()


FEEDBACK = Tool(
    name="memory_feedback",
    title="Rate a memory",
    about="Say after an answer what a memory that you found was worth, so that better ones come first. To rate it again in the "
    "same trajectory replaces what you said; `withdraw` takes all of it back.",
    params={
        "chunk_id": CHUNK,
        "usefulness": Shape(
            type="integer", minimum=0, maximum=4, about="4 crucial, 3 important, 2 helpful, 1 marginal, 0 useless."
        ),
        "harmful": Shape(type="boolean", about="Only when it is wrong or misled you."),
        "justification": Shape(type="string", about="Why, in 1 to 500 characters."),
        "model_version": Shape(type="string", about="Which model judges."),
        "prompt_version": Shape(type="string", default="loomem-feedback-v1"),
        "trajectory_id": Shape(type="string", about="Id of the conversation or run."),
        "withdraw": Shape(type="boolean", default=False, about="Take back all you said of it."),
    },
    required=("chunk_id", "usefulness", "harmful", "justification", "model_version"),
    result=Rated,
    run=_feedback,
    says=_told,
    fails="Feedback failed: ",
)
