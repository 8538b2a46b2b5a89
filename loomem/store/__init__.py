"""What is done with stored memories: every write, and every way in and out of the buckets.

    intake     from raw arguments to new memories that are not stored yet
    write      the one door of every write: where it goes, room for it, its end, the secrets in it
    quota      the room left in the caller's own spaces, with what is on its way
    lifecycle  editing, committing, sharing, forgetting one memory
    cleaning   what facts are cleaned of before they are stored
    facts      facts: stored, and in whose place
    history    the versions of a fact
    deletion   hiding a memory so that it can be restored
    feedback   ratings, each beside what it rates
    streams    which streams the caller has
    overview   streams by name, and a memory in numbers
    move       a memory goes to another key, in one batch or in two steps that anybody can finish
    bulk       many memories in one call
    read       what is asked of the views
    transfer   export and import: whose an item is, what exists already, what stays out and why
    files      files that a call names, under the allowed directories only
    migrate    a live store of the older layout is read into ours

Deliberately absent: decisions (`loomem.core`, pure), the broker (behind `identity.ports`), what is visible
(`identity.visibility`), indexes: a write changes a bucket, and the views hear of it from there.
"""
