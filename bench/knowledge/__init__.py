"""How well facts are found in what people say, without a model: sentences labelled by hand, in three languages.

    facts   the benchmark: `python -m bench knowledge`

The labelled sentences stand in `bench/knowledge_sets`, in two halves: rules are made with the one in view, and measured on the other.
"""

from bench.knowledge.facts import knowledge

__all__ = ["knowledge"]
