"""The language model: the one room that speaks to it, and what is asked of it. Used by workers and the node alone.

    client    asks, bounded; the only importer of `anthropic`, and not before the first call
    budget    one budget a day for all agents, taken from before each call
    prompts   stored text as data that no text can get out of
    extract   facts of a conversation
    judge     whether a fact contradicts another
    entities  who and what a text names

Deliberately absent: a call that nobody switched on; what becomes of the answers (`loomem.workers`, `loomem.judging`); any
text of an answer in a log.
"""
