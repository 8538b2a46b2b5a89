"""What a worker makes of a memory and puts beside it: looked at before the memory, written only over what was seen.

The order of the two looks is what makes it safe. Whoever made what is seen knew the memory no later than it is seen now, so
nothing newer is replaced by something older; and what appears after the look makes the compare-and-set fail. Removing is
bounded by the same order: only revisions up to what was seen.

Deliberately absent: what is made (`embed`, `graph`), when it is right as it is.
"""

from __future__ import annotations

from uuid import uuid4

import msgspec

from identity.errors import Conflict
from identity.keys import Key, Kind
from identity.ports import Bucket, Entry, Marker, Put
from loomem.nats.pull import Job


class Seen(msgspec.Struct, frozen=True, kw_only=True):
    """What was made of a memory, and the memory, as they were seen in this order."""

    path: str
    """The key of what was made."""
    made: Entry | Marker | None
    memory: Entry | Marker | None

    @property
    def until(self) -> int:
        """The first revision of which these looks say nothing."""
        return max((held.revision for held in (self.made, self.memory) if held is not None), default=0) + 1


async def look(bucket: Bucket, key: Key, path: str, job: Job) -> Seen:
    """Return what stands at a path, then the memory beside it, no older than what was made of it. Raises: Unavailable."""
    made = await bucket.get(path)
    known = job.change.revision if key.kind is Kind.MEMORY else 0
    memory = await bucket.get(key.beside(Kind.MEMORY), at_least=max(known, source_of(made)))
    return Seen(path=path, made=made, memory=memory)


async def write(bucket: Bucket, seen: Seen, value: bytes, *, kind: str, ttl_s: int | None) -> bool:
    """Write what was made of the memory that was seen; `kind` names it. Returns False when somebody else was quicker.

    Raises: Unavailable.
    """
    assert seen.memory is not None  # noqa: S101 - there is a memory
    put = Put(
        key=seen.path,
        value=value,
        expected=seen.made.revision if isinstance(seen.made, Entry) else 0,
        op=f"{kind}{_OF} {seen.memory.revision} {uuid4()}",
        ttl_s=ttl_s,
    )
    try:
        await bucket.write(put)
    except Conflict:
        return False
    return True


_OF = "-of"


def source_of(made: Entry | Marker | None) -> int:
    """Return the revision of the memory that something was made of, as its operation says; 0 = it does not."""
    words = (made.op or "").split() if isinstance(made, Entry) else []
    known = len(words) == 3 and words[0].endswith(_OF) and words[1].isascii() and words[1].isdigit()
    return int(words[1]) if known else 0
