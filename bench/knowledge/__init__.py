"""How well facts, names and relations are found in what people say, without a model: sentences labelled by hand, in three languages.

    facts     facts in utterances
    entities  whom and what a sentence names

The labelled sentences stand in `bench/knowledge_sets`, in two halves: rules are made with the one in view, and measured on the other.
`python -m bench knowledge` measures all of it.
"""

from bench.knowledge import entities, facts
from bench.report import Effort, Row


async def knowledge(effort: Effort) -> list[Row]:
    """Measure every part, one after another."""
    return [row for part in (facts.knowledge, entities.entities) for row in await part(effort)]


__all__ = ["knowledge"]
