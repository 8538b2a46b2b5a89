"""What one process knows: private, in memory, disposable.

    projection   follows every stretch of keys that one caller may read, and folds what it is told
    stretch      what one feed tells of: one kind of values under one sight; what people said comes before what workers made
    track        one of these stretches being followed: how far it is, and who waits for it
    kinds        which view folds what
    records      the view of records that comes of it
    chains       which memory took whose place, of all that the buckets hold, deleted ones and stubs too
    feedback     what all raters said of each memory
    words        the index of words (`text`), fed with the rows
    vectors      the vectors of the rows, by model (`matrix`), fed with what the workers wrote
    together     all of them, opened together
    dates        which memories tell of which day
    warm         a copy of what was told, on disk, for the next start; `backlog` is what waits to be written there
    threads      which memories are turns of one conversation, in which order

Deliberately absent: writing into buckets, files but for `warm`, locks between processes, and any second source: a view equals the fold of the log, or it is wrong.
"""
