"""The rules of memories: pure, so that every decision can be tried without a broker, a clock or a loop.

    record     a memory as its bucket holds it, and back
    limits     every limit, and the checks that all doors share
    times      times as records hold them
    row        a memory as a view holds it, and whether it belongs where it lies
    recall     what may be asked, which rows answer, in which order, and their summary
    plan       what becomes of a memory: created, edited, committed, shared
    moves      the operation id that tells of a move between buckets
    position   how far buckets were, as opaque text
    scan       secrets in what is about to be stored
    envelope   export files
    legacy     how a store of the older layout spelled its keys and scopes

Deliberately absent: asyncio, logging, the present (it comes in as an argument), randomness (`identity.ports.Ids`), the
broker, files.
"""
