"""The record of who did what to which memory, and when: values alone, and never content.

    notes     what a writer says beside its change, and what it passes on of changes nobody may have recorded yet
    lines     what is put on record of a change, and how people are shown it
    settings  how long, and how much

How it is kept. Whoever changes a memory says with the change itself, in headers, what it is doing; so nothing has to be
written twice and no process that dies between two writes can lose the second. A worker (`loomem.workers.audit`) takes each
change from the bucket's own stream and puts it on record, in a stream that is only appended to. It costs the writer a
header, and nobody gets round it: a change without a note is recorded as a change of whoever the key belongs to.

A bucket keeps the last version of a key alone, so a version may be gone before the worker has seen it. Therefore each
change passes on what came before it (`Past`); the adapter reads that from the key it is about to write.

Deliberately absent: ratings (their own records, signed and dated), what is derived (vectors, entities, job states), and
reading: it changes nothing. An export is told, since content leaves by it.
"""
