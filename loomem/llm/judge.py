"""Whether a fact contradicts an older one, as the model judges: one short question for each pair.

What it answers that is no judgement counts as none; that it gives no answer at all is told, so that rules can judge.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

import msgspec

from loomem.core.contradict import Kind, Verdict
from loomem.core.llm import Fault, ModelFailed, Models, Question, Use, cut_reason
from loomem.llm.prompts import Piece, framed, rules

ANSWER_TOKENS = 100
PAIR_CHARS = 2_000
"""Of a fact, what is judged."""

_RULES = rules(
    """\
You judge what a new fact means for an older one about the same things. Answer with JSON: {"relation": ..., "reason": ...}

relation is exactly one of
- "updates": both cannot be true now: the new one gives another value for the same attribute of the same subject, negates it, or \
says that it is over. The older one is then outdated as a whole, so every claim of it must be replaced.
- "extends": both are true, and the new one adds detail to what the older one says.
- "none": they are about different subjects, attributes, times or projects; or they say the same; or you are not sure.

reason: at most 15 words, without quoting either fact.
"""
)
SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "relation": {"type": "string", "enum": [str(kind) for kind in Kind]},
        "reason": {"type": "string"},
    },
    "required": ["relation", "reason"],
    "additionalProperties": False,
}


class _Judged(msgspec.Struct):
    relation: Kind
    reason: str = ""


async def judge(models: Models, new: str, old: Sequence[str], *, within_s: float) -> list[Verdict]:
    """Return what a new fact means for each of some older ones.

    Raises: ModelFailed (there is no answer for one of them: off, budget, network, refused).
    """
    asked: list[asyncio.Task[Verdict]] = []
    try:
        async with asyncio.TaskGroup() as group:
            asked += [group.create_task(_judged(models, new, each, within_s)) for each in old]
    except ExceptionGroup as failed:
        raise next(error for error in failed.exceptions if isinstance(error, ModelFailed)) from failed
    return [task.result() for task in asked]


async def _judged(models: Models, new: str, old: str, within_s: float) -> Verdict:
    question = Question(
        use=Use.JUDGE,
        rules=_RULES,
        given=framed([Piece("older", old[:PAIR_CHARS]), Piece("new", new[:PAIR_CHARS])]),
        schema=SCHEMA,
        answer_tokens=ANSWER_TOKENS,
        timeout_s=within_s,
    )
    try:
        answer = await models.ask(question)
        said = msgspec.convert(answer.value, _Judged)
    except ModelFailed as failed:
        if failed.fault is Fault.MALFORMED:
            return Verdict(Kind.NONE, "the model's answer is no judgement")
        raise
    except msgspec.ValidationError:
        return Verdict(Kind.NONE, "the model's answer is no judgement")
    return Verdict(said.relation, cut_reason(said.reason) or "as the model judges")
