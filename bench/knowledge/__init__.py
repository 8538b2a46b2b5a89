"""What is read out of text by rules, without a model, measured on labelled sets of ours: `python -m bench knowledge`.

    facts   how well facts are found in what people say
    pairs   what a fact is found to mean for an older one
    entities  how well whom and what a sentence names is found
    beside  what facts beside a conversation do to search: `python -m bench beside --data FILE`

The labelled sentences stand in `bench/knowledge_sets` and `tests/data/pairs_*.txt`, in two halves each: rules are made with the one
in view, and measured on the other.
"""

from bench.knowledge.beside import beside
from bench.knowledge.entities import entities as entities_found
from bench.knowledge.facts import knowledge as facts_found
from bench.knowledge.pairs import contradictions
from bench.report import Effort, Row

__all__ = ["beside", "knowledge"]


async def knowledge(effort: Effort) -> list[Row]:
    """Measure every part, one after another."""
    return [row for part in (facts_found, contradictions, entities_found) for row in await part(effort)]
