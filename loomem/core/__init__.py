"""The rules of memory, pure: values in, values out.

    record     one memory, as its bucket holds it
    row        one memory, as a view holds it
    limits     every limit, and the checks that all write paths share
    times      ISO-8601 in UTC
    knowledge  what is known of a memory beside its text
    facts      what a fact is read to be, how far it is trusted, whose place it may take
    transcript  a conversation taken apart: who said what, and where it stands
    extract    what of it are facts: the rules for all, and a reader without a model
    streams    the words by which spaces are named
    rating     what a memory was worth to its readers
    stats      a stretch of memory in numbers
    plan       what becomes of a memory: edited, committed, shared
    moves      a move between two keys, told by its operation id
    recall     which rows answer a call, in which order, and their summary
    position   how far the buckets were, as an opaque word
    scan       secrets: found, told, redacted, refused
    frames     what in a text looks like the edge of a frame in which a model is shown text
    hygiene    text as the memory_* tools store it: no markup, no personal data
    pii        personal data: found by its form and what stands beside it (`pii_settings`: which kinds)
    envelope   the export file, format 1.0
    legacy     the layout of older stores

Deliberately absent: I/O, clock, chance, event loop, log. The present and new ids come in as arguments.
"""
