"""What is read out of text, by rules, measured on labelled sets of ours: `python -m bench knowledge`.

pairs   what a fact means for an older one
"""

from bench.knowledge.pairs import contradictions
from bench.report import Effort, Row


async def knowledge(effort: Effort) -> list[Row]:
    """Measure every part, one after another."""
    return [row for part in (contradictions,) for row in await part(effort)]
