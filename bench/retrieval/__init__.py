"""How well search finds what was said: conversations stored and asked through the product, beside a plain BM25.

    data       conversations with questions whose evidence is known, from a file
    measures   recall, hit, NDCG and MRR of rankings
    bar        Okapi BM25, against which the product is measured in the same run
    product    a served process of ours: every turn a `memory_store`, every question a `memory_search`
    figures    the tables and the rows of budgets
    run        the benchmark: `python -m bench retrieval --data FILE ...`

Deliberately absent: the data (its licences allow measuring, not copying), any retriever that reaches round the tools.
"""

from bench.retrieval.run import retrieval

__all__ = ["retrieval"]
