"""Several keys of one bucket, changed together or not at all.

The server takes a batch in one piece: every message names the batch, the last one commits it, and only then is anything
stored. Its sequences follow one another, so a single key that shows our operation id tells the revisions of all.
"""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Sequence

import msgspec

from identity.errors import AccessDenied, Conflict, InvalidInput, Unavailable
from identity.ports import Change, Entry, Marker, Put
from loomem.nats import faults
from loomem.nats.bucket import LOOKS, Ack, KvBucket, Pending, check, headers_of, persist

BATCH_MAX = 1000
"""The server's own limit."""
LOOK_AT_ONCE = 64
BATCH_S = 10.0


async def write_all(bucket: KvBucket, changes: Sequence[Change]) -> list[int]:
    """Apply all changes or none of them; the port says what that promises and raises."""
    if not 1 <= len(changes) <= BATCH_MAX:
        raise InvalidInput(f"A batch holds 1 to {BATCH_MAX} changes (got {len(changes)}).", field="changes")
    for change in changes:
        check(change)
    if len({change.key for change in changes}) < len(changes):
        raise InvalidInput("A batch changes each key once.", field="changes")
    if len(changes) == 1:
        return [await bucket.write(changes[0])]
    batch = _Batch(bucket, changes)
    return await persist(bucket.link, batch.attempt)


class _Batch:
    def __init__(self, bucket: KvBucket, changes: Sequence[Change]) -> None:
        self._bucket = bucket
        self._pending = [Pending(change) for change in changes]

    async def attempt(self) -> list[int]:
        """Send the batch until it is refused, acknowledged or met by silence."""
        if not self._bucket.atomic:
            raise Unavailable(
                "Changing several keys together needs nats-server 2.12 or later and a bucket made for it. "
                "Update the server, or make the changes one by one.",
                unsupported="batch",
            )
        await self._see_past()
        for _ in range(LOOKS):
            if self._pending[0].look and (revisions := await self._look()) is not None:
                return revisions
            for pending in self._pending:
                pending.look = True
            try:
                last = await self._send()
            except Conflict:
                continue
            except faults.NoAnswer:
                for pending in self._pending:
                    pending.unknown = True
                raise
            except faults.NobodyThere:
                await self._bucket.remake()
                raise
            return self._revisions(last, at=len(self._pending) - 1)
        raise faults.Busy("The broker's replicas disagree about some keys right now.", retry_after_s=1.0)

    def _revisions(self, revision: int, *, at: int) -> list[int]:
        return [revision - at + index for index in range(len(self._pending))]

    async def _look(self) -> list[int] | None:
        """Return the revisions if the batch has happened, None if it has to be sent (again). Raises: as `Pending.settle`."""
        held = await self._look_at_all(self._pending)
        for index, (pending, seen) in enumerate(zip(self._pending, held, strict=True)):
            if (revision := pending.found(seen)) is not None:
                return self._revisions(revision, at=index)
        for pending, seen in zip(self._pending, held, strict=True):
            pending.settle(seen)
        await asyncio.sleep(max(pending.pause_s for pending in self._pending))
        return None

    async def _see_past(self) -> None:
        """Read the keys that are written over, for what is passed on of them."""
        over = [pending for pending in self._pending if pending.reads_past]
        for pending, held in zip(over, await self._look_at_all(over), strict=True):
            pending.saw(held)

    async def _look_at_all(self, some: Sequence[Pending]) -> list[Entry | Marker | None]:
        gate = asyncio.Semaphore(LOOK_AT_ONCE)

        async def look(key: str) -> Entry | Marker | None:
            async with gate:
                return await self._bucket.look_at(key)

        return await asyncio.gather(*(look(pending.change.key) for pending in some))

    async def _send(self) -> int:
        """Publish every message and return the sequence of the last.

        Raises: Conflict (a key is not as expected, the server does not say which), and as `Link.request`.
        """
        link = self._bucket.link
        batch_id = uuid.uuid4().hex
        last = len(self._pending)
        ack = Ack()
        for number, pending in enumerate(self._pending, 1):
            change = pending.change
            headers = headers_of(change, pending.base, ttl=self._bucket.ttl, past=pending.past)
            headers |= {"Nats-Batch-Id": batch_id, "Nats-Batch-Sequence": str(number)}
            subject = f"$KV.{self._bucket.name}.{change.key}"
            value = change.value if isinstance(change, Put) else b""
            if 1 < number < last:
                await link.publish(subject, value, headers=headers)
                continue
            if number == last:
                headers["Nats-Batch-Commit"] = "1"
            # The first answer (empty when the batch is taken) comes before the rest is sent: a refusal costs nothing.
            answer = await link.request(subject, value, headers=headers, timeout_s=BATCH_S)
            ack = msgspec.json.decode(answer.data, type=Ack) if answer.data else Ack()
            if ack.error is not None:
                raise self._refused(ack)
        return ack.seq

    def _refused(self, ack: Ack) -> Exception:
        assert ack.error is not None  # noqa: S101 - asked by the caller
        for pending in self._pending:
            if self._bucket.link.was_refused(f"$KV.{self._bucket.name}.{pending.change.key}"):
                # Dropped on its way, without a word to the batch, which is incomplete now.
                return AccessDenied("The broker (NATS) refuses one of these keys to these credentials.")
        if ack.error.err_code == faults.ATOMIC_DISABLED:
            self._bucket.lacks(atomic=True)
        if ack.error.err_code == faults.TTL_DISABLED and self._bucket.ttl:
            self._bucket.lacks(ttl=True)
            return faults.Busy("The bucket takes no lifetimes; writing without.")
        return ack.error.raised()
