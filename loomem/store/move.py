"""Moves: a memory, or what is made of it, goes to another key and the old key is emptied.

Within one bucket both happen in one atomic batch, where the server has those. Else, and between two buckets, the new one
is written first and its operation id names the old one (`core.moves`): whoever finds it there with the old one still in
place (the expiry worker does) may finish the move. Until then views show the newer of the two.
"""

from __future__ import annotations

import logging

from identity.errors import Conflict, LoomError, Unavailable
from identity.ports import Reason
from loomem.core.moves import Move
from loomem.core.record import Memory
from loomem.results import Notice
from loomem.store.write import Door, Held, Written

log = logging.getLogger(__name__)


async def move(door: Door, source: Held, memory: Memory) -> tuple[Written, Notice | None]:
    """Write a memory and empty the key it comes from; the notice says when the latter has to wait.

    Raises: Conflict (the source was changed, or the target is taken; nothing has moved), LimitExceeded, Unavailable.
    """
    if door.space_of(memory).bucket == source.bucket:
        emptied = door.remove(source, Reason.MOVE)
        try:
            written = await door.create_all(source.bucket, [memory], also=[emptied], leaves=source.memory.scope)
        except Unavailable as error:
            if not error.unsupported:
                raise
        else:
            return written[0], None
    way = Move(bucket=source.bucket, key=source.key, revision=source.revision, id=door.ids.op_id())
    new = await door.create(memory, op=way.op)
    try:
        await door.send(source.bucket, door.moved(way.ended_by(source.memory)))
    except Conflict:
        # Somebody changed or removed the source after it was read: what has been written is out of date.
        await door.send(
            new.bucket, door.remove(Held(new.bucket, new.key, memory, new.revision), Reason.MOVE, whole=True)
        )
        raise
    except LoomError as error:
        # The move stands: its target is acknowledged, and the worker removes the source if it is still the same.
        log.warning("event=move_unfinished id=%s code=%s", memory.id, error.code)
        return new, Notice(type="move-unfinished", description=f"The old copy is removed later: {error.message}")
    return new, None
