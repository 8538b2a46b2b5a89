"""The rules of search. Pure: no index, no clock, no I/O; `loomem.search` asks the arms and calls these.

    settings   every number of it, with its default
    fuse       the answers of the arms, joined into one score for each memory
    gist       what of a long question is embedded
    within     rows of which one holds the other: facts, and conversations, in utterances
    turns      what metadata say of the conversation that a memory is a turn of

Deliberately absent: the arms themselves (`loomem.views`), who may see what (`identity.visibility`; it is settled before an
arm scores), a reranker, a call of a language model.
"""
