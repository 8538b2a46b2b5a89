"""Bringing records of an older contract up to date, in place, before a bucket is served.

Only what conversations were taken in as carries a contract (`core.sources`); everything else is left alone. A record that
cannot be brought up to date stops the workers with a message that says which and why, since they would build on it; reading
and writing go on, for they need no worker.
"""

from __future__ import annotations

import asyncio
import logging

from identity.errors import Conflict, Corrupt, LoomError, NotFound, Unavailable
from identity.keys import Kind
from identity.ports import Bucket, Clock, Entry, Event, Feed, Put, Reset
from loomem.core import plan
from loomem.core.audit.notes import Action, noted
from loomem.core.limits import Limits
from loomem.core.record import Memory, decode, encode
from loomem.core.sources import CONTRACT, is_source, renewed, source_op
from loomem.core.times import millis

log = logging.getLogger(__name__)

FILTER = f"*.*.{Kind.MEMORY}.*"
SYNC_S = 600.0
"""How long the feed may take to tell everything there is; it gives up much sooner when nothing arrives at all."""
TRIES = 5
_CARRIES = b'"contract":'


class RepairFailed(LoomError):
    """A record of an older contract cannot be brought up to date."""

    code = "REPAIR_FAILED"


class Repair:
    """Repairs buckets; each once for as long as the crew runs."""

    def __init__(self, feed: Feed, limits: Limits, clock: Clock) -> None:
        self._feed = feed
        self._limits = limits
        self._clock = clock
        self._done: set[str] = set()

    async def __call__(self, bucket: Bucket) -> None:
        """Bring what a bucket holds up to the contract of today.

        Raises: RepairFailed, Unavailable, AccessDenied, NotFound (the bucket is gone).
        """
        if bucket.name in self._done:
            return
        older = await self._older(bucket.name)
        for entry in older:
            try:
                await self._renew(bucket, entry)
            except (Unavailable, NotFound):
                raise
            except LoomError as error:
                raise RepairFailed(
                    f"The record {entry.key} of bucket {bucket.name} is of an older contract and cannot be brought up to "
                    f"contract {CONTRACT}: {error.message} Reading goes on; the workers stand still until it can, or until "
                    "it is deleted.",
                    bucket=bucket.name,
                    key=entry.key,
                ) from error
        if older:
            log.info("event=contract_repaired bucket=%s records=%d contract=%d", bucket.name, len(older), CONTRACT)
        self._done.add(bucket.name)

    async def _older(self, bucket: str) -> list[Entry]:
        found: dict[str, Entry] = {}

        def look(event: Event) -> None:
            match event:
                case Entry() if _CARRIES in event.value and _renewed(event) is not None:
                    found[event.key] = event
                case Reset():
                    found.clear()
                case _:
                    pass

        async with self._feed.follow(bucket, FILTER, look) as following, asyncio.timeout(SYNC_S):
            await following.sync()
        return list(found.values())

    async def _renew(self, bucket: Bucket, entry: Entry) -> None:
        held: Entry | None = entry
        for _ in range(TRIES):
            memory = None if held is None else _renewed(held)
            if held is None or memory is None:
                return  # somebody else did it, or it is gone
            op, now_ms = f"contract {CONTRACT} {held.revision}", millis(self._clock.now())
            put = Put(
                key=held.key,
                value=encode(memory),
                expected=held.revision,
                op=source_op(op) if is_source(memory) else op,
                ttl_s=plan.server_ttl_s(memory, now_ms, self._limits),
                trail=plan.trail_after(held, now_ms),
                did=noted("", memory.project_id, "", Action.CHANGED, (), ()),
            )
            try:
                await bucket.write(put)
            except Conflict as conflict:
                now = await bucket.get(held.key, at_least=conflict.actual)
                held = now if isinstance(now, Entry) else None
            else:
                return
        raise Unavailable("a record of an older contract changes faster than it can be brought up to date")


def _renewed(entry: Entry) -> Memory | None:
    try:
        return renewed(decode(entry.value))
    except Corrupt:
        return None  # shown by the views; nobody changes what nobody understands
