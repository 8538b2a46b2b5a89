"""The view of jobs: how the extraction of each source is that one caller may see. Fed by what stands beside memories (kind `x`).

It comes up behind the memories, as all that workers write; who asks after one job asks its bucket.
Deliberately absent: doing a job, or putting one off (`loomem.workers`).
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import suppress

import msgspec

from identity.errors import Corrupt
from identity.keys import Key, Kind, escape_token
from identity.ports import Entry, Marker
from identity.visibility import Sight
from loomem.core.jobs import EXTRACTOR, JobRecord, JobState, State, decode, state_of
from loomem.core.row import Row
from loomem.core.times import stored_millis

Address = tuple[str, str]
"""Bucket and key of the record of a job."""


class Seen(msgspec.Struct, frozen=True):
    """How a job is, and as of which change of its bucket."""

    state: JobState
    revision: int


_UNSEEN = Seen(state_of(None), 0)


class Jobs:
    """The extractions that were begun."""

    def __init__(self) -> None:
        self._held: dict[Address, Seen] = {}
        self._news: dict[Address, set[asyncio.Event]] = {}

    # --- folding ---

    def apply(self, sight: Sight, key: Key, change: Entry | Marker) -> None:  # noqa: ARG002 - as the port has it
        """Take one change. Those of one key come in order, and a repeated one does no harm."""
        address = (sight.bucket, change.key)
        record = _record(change)
        if record is None or (record.extraction is None and record.failure_of(EXTRACTOR) is None):
            self._held.pop(address, None)
        else:
            self._held[address] = Seen(_light(state_of(record)), change.revision)
        for event in self._news.get(address, ()):
            event.set()

    def keys(self, sight: Sight) -> Iterator[str]:
        """Yield the keys of everything held under a sight."""
        under = sight.filter.removesuffix(">")
        yield from (key for bucket, key in self._held if bucket == sight.bucket and key.startswith(under))

    def forget(self, sight: Sight, key: Key) -> None:
        """Take away what the bucket does not hold any more."""
        self._held.pop((sight.bucket, key.beside(key.kind)), None)

    # --- reading ---

    def failed_since(self, ms: int) -> int:
        """Return how many extractions failed at their last try, if that was since a moment; in milliseconds since 1970."""
        return sum(_is_since(seen.state.failed_at, ms) for seen in self._held.values())

    def empty_since(self, ms: int) -> int:
        """Return how many extractions found nothing and failed in nothing, since a moment."""
        done = (seen.state.extraction for seen in self._held.values() if seen.state.state is State.DONE)
        return sum(
            each is not None and not each.count and not each.failed_pieces and _is_since(each.since, ms)
            for each in done
        )

    async def told(self, address: Address, *, within_s: float) -> Seen:
        """Return how a job is once it is over or a try has failed; after so long, however it is then."""
        news = asyncio.Event()
        self._news.setdefault(address, set()).add(news)
        try:
            with suppress(TimeoutError):
                async with asyncio.timeout(within_s):
                    while not _is_told(self._held.get(address, _UNSEEN).state):
                        await news.wait()
                        news.clear()
        finally:
            self._news[address].discard(news)
            if not self._news[address]:
                del self._news[address]
        return self._held.get(address, _UNSEEN)


def address_of(row: Row) -> Address:
    """Return where the record of a row's job stands."""
    place = row.place
    return place.bucket, f"{place.root}.{place.owner}.{Kind.JOB}.{escape_token(row.id)}"


def _is_since(text: str | None, ms: int) -> bool:
    at = stored_millis(text)
    return at is not None and at >= ms


def _is_told(state: JobState) -> bool:
    return state.is_over or state.reason is not None


def _record(change: Entry | Marker) -> JobRecord | None:
    if isinstance(change, Marker):
        return None
    with suppress(Corrupt):
        return decode(change.value)
    return None


def _light(state: JobState) -> JobState:
    """Return a state without the facts that wait to be stored."""
    if state.extraction is None or not state.extraction.facts:
        return state
    return msgspec.structs.replace(state, extraction=msgspec.structs.replace(state.extraction, facts=()))
