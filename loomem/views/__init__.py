"""Read models: what a process holds of the buckets, disposable and private to it.

    projection  follows every stretch of keys its caller may read, and waits for those who ask
    track       one such stretch: how far it is
    records     the memories, by place and category

Deliberately absent: writes to anything but memory, locks and files shared between processes, the meaning of a query
(`loomem.core.recall`).
"""
