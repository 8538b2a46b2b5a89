"""How well facts are found in what people say, without a model: sentences labelled by hand, in three languages.

    facts    precision and recall: `python -m bench knowledge`
    beside   what facts beside a conversation do to search: `python -m bench beside --data FILE`

The labelled sentences stand in `bench/knowledge_sets`, in two halves: rules are made with the one in view, and measured on the other.
"""

from bench.knowledge.beside import beside
from bench.knowledge.facts import knowledge

__all__ = ["beside", "knowledge"]
