"""The buckets there are, as the operator sees them: found, watched, swept. For workers; an agent's rights do not reach here.

Deliberately absent: making and upgrading buckets (`topology`), reading and writing values (`bucket`, `follow`).
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

import msgspec

from identity.errors import NotFound, Unavailable
from identity.keys import BUCKET_PREFIX
from loomem.nats.link import Link, Message
from loomem.nats.topology import call

_PREFIX = f"KV_{BUCKET_PREFIX}"
_PAGES = 1_000
"""Of 1 024 names each: a bound, not a limit anybody meets."""


class BucketFacts(msgspec.Struct, frozen=True):
    """What the server does by itself for a bucket."""

    erases_values: bool
    """It knows per-message TTL (2.11 and later)."""
    erases_markers: bool
    """Its markers go by themselves."""


class Streams:
    """Lists, watches and sweeps the memory buckets of the broker."""

    def __init__(self, link: Link) -> None:
        self._link = link

    async def buckets(self) -> frozenset[str]:
        """Return the names of all memory buckets.

        Raises: AccessDenied, Unavailable.
        """
        names: set[str] = set()
        seen = 0
        for _ in range(_PAGES):
            page = await call(self._link, "STREAM.NAMES", {"offset": seen, "subject": "$KV.>"})
            streams: list[str] = page.get("streams") or []
            names.update(name.removeprefix("KV_") for name in streams if name.startswith(_PREFIX))
            seen += len(streams)
            if not streams or seen >= page.get("total", 0):
                break
        return frozenset(names)

    @asynccontextmanager
    async def watched(self, on_change: Callable[[], None]) -> AsyncGenerator[None, None]:
        """Call `on_change` when a stream was created or deleted, and at each (re)connect, since that may have been missed."""

        async def tell(advisory: Message) -> None:
            if advisory.subject.rsplit(".", 1)[-1].startswith(_PREFIX):
                on_change()

        async with AsyncExitStack() as stack:
            for action in ("CREATED", "DELETED"):
                await stack.enter_async_context(self._link.subscribe(f"$JS.EVENT.ADVISORY.STREAM.{action}.*", tell))
            stack.callback(self._link.on_connected(on_change))
            yield

    async def facts(self, bucket: str) -> BucketFacts:
        """Return what the server does by itself for a bucket.

        Raises: NotFound, AccessDenied, Unavailable.
        """
        config: dict[str, Any] = (await call(self._link, f"STREAM.INFO.KV_{bucket}"))["config"]
        values = bool(config.get("allow_msg_ttl"))
        return BucketFacts(values, values and bool(config.get("subject_delete_marker_ttl")))

    async def purge(self, bucket: str, keys: str, before: int) -> None:
        """Take away all keys of a pattern whose revision is below `before`, and leave no markers.

        For what follows from something else and is gone with it: whoever holds it hears of that. Raises: as `sweep`.
        """
        await call(self._link, f"STREAM.PURGE.KV_{bucket}", {"filter": f"$KV.{bucket}.{keys}", "seq": before})

    async def erase(self, bucket: str, revision: int) -> bool | None:
        """Overwrite one change in the server's store and take it out; None = nothing stands there (any more).

        False = this bucket was made by a version that forbade it: then `unlink` is what there is.

        Raises: NotFound (the bucket), AccessDenied, Unavailable.
        """
        if not await self.stands(bucket, revision):
            return None
        config: dict[str, Any] = (await call(self._link, f"STREAM.INFO.KV_{bucket}"))["config"]
        if config.get("deny_delete"):
            return False
        try:
            await call(self._link, f"STREAM.MSG.DELETE.KV_{bucket}", {"seq": revision, "no_erase": False})
        except (NotFound, Unavailable):
            if await self.stands(bucket, revision):
                raise
        return True

    async def unlink(self, bucket: str, key: str, revision: int) -> None:
        """Take away what a key held up to a revision; the bytes stay in the server's files until it makes room. Raises: as `erase`."""
        await self.sweep(bucket, key, revision)

    async def stands(self, bucket: str, revision: int) -> bool:
        """Say whether the stream itself still has the change of this revision. Raises: as `erase`."""
        try:
            await call(self._link, f"STREAM.MSG.GET.KV_{bucket}", {"seq": revision})
        except NotFound:
            return False
        return True

    async def held(self, bucket: str, keys: str) -> tuple[frozenset[str], int]:
        """Return the keys of a pattern that hold something or have a marker, and the last revision at that time.

        Raises: NotFound, AccessDenied, Unavailable.
        """
        found: set[str] = set()
        last = 0
        for _ in range(_PAGES):
            ask = {"subjects_filter": f"$KV.{bucket}.{keys}", "offset": len(found)}
            info = await call(self._link, f"STREAM.INFO.KV_{bucket}", ask)
            last = last or int(info["state"]["last_seq"])
            page: dict[str, int] = info["state"].get("subjects") or {}
            found.update(subject.removeprefix(f"$KV.{bucket}.") for subject in page)
            if not page or len(found) >= info.get("total", 0):
                break
        return frozenset(found), last

    async def sweep(self, bucket: str, key: str, revision: int) -> None:
        """Take a marker away for good, without leaving another. What was written after `revision` stays.

        Raises: NotFound (the bucket), AccessDenied, Unavailable.
        """
        await call(self._link, f"STREAM.PURGE.KV_{bucket}", {"filter": f"$KV.{bucket}.{key}", "seq": revision + 1})
