"""The projection: follows every stretch of keys that one caller may read, and folds what it is told into the views.

One subscription per sight and kind (a broker that enforces scopes allows one filter each). What people said is told first;
what workers made of it, vectors above all, when that is there, so that a recall never waits for it. A position means what
people said, and reads wait for nothing else.

A view changes only here and only by what a bucket says, so it is the fold of the log whatever happens to this process;
who writes waits for the echo.
Deliberately absent: any write; the broker (behind `ports.Feed`); what a row means (`views.records`).
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from enum import StrEnum
from functools import partial
from types import TracebackType
from typing import Self

import msgspec

from identity.agent import Caller
from identity.errors import InvalidInput, LoomError, Unavailable
from identity.keys import Kind, parse_key
from identity.ports import Bookmark, Buckets, Feed
from identity.visibility import Scope, Sight, sights
from loomem.core.position import Position
from loomem.views.kinds import Kinds, View
from loomem.views.records import Records
from loomem.views.stretch import Stretch
from loomem.views.track import START, Mark, Track
from loomem.views.warm import WarmStart

log = logging.getLogger(__name__)

PATIENCE_S = 15.0
"""How long a read waits for a view that is told nothing new, when the call it belongs to has no nearer deadline: a cluster
may take so long to choose a leader."""
LOADING_TURNS = 2
"""How many times as long it waits for one that is getting on: telling a large store takes its time."""
GRACE_SHARE, GRACE_S = 0.1, 0.25
"""What follows the memories lets whoever waited for them go first: for this share of the time they took, and no longer."""
_RETRY_S = (0.1, 0.2, 0.5, 1.0, 2.0)
"""Pauses before a stretch is opened again; the last one repeats."""


class ViewState(StrEnum):
    LOADING = "loading"
    """Not everything that the buckets held at the start has been told yet."""
    READY = "ready"
    BEHIND = "behind"
    """Ready once, and now being told again, or not connected to its feed."""


class Status(msgspec.Struct, frozen=True, kw_only=True):
    """How a projection is, for health."""

    state: ViewState
    records: int
    corrupt: int
    position: Position
    error: str | None = None


class Projection:
    """The views of one caller, kept up to date while the context is open."""

    def __init__(
        self,
        feed: Feed,
        buckets: Buckets,
        caller: Caller,
        *,
        views: Callable[[Records], Mapping[Kind, View]] | None = None,
        patience_s: float = PATIENCE_S,
        warm: WarmStart | None = None,
        within: Sequence[Sight] | None = None,
    ) -> None:
        """`views` makes what folds the kinds of values beside the memories; `warm` has what earlier processes were told.

        `within` are other sights than the caller's: those of one space, for a worker.
        """
        self.records = Records(caller, within)
        self._feed = feed
        self._buckets = buckets
        self._patience_s = patience_s
        self._warm = warm
        kinds = Kinds(self.records, {} if views is None else views(self.records))
        stretches = [Stretch(sight, kind) for kind in kinds.kinds for sight in within or sights(caller)]
        self._all = [Track(stretch, kinds, warm) for stretch in stretches]
        self._tracks = [track for track in self._all if track.stretch.is_said]
        """What reads wait for."""
        self._group: asyncio.TaskGroup | None = None
        self._tasks: list[asyncio.Task[None]] = []
        self._keeping: asyncio.Task[None] | None = None

    async def __aenter__(self) -> Self:
        group = asyncio.TaskGroup()
        await group.__aenter__()
        self._group = group
        self._tasks = [group.create_task(self._follow(track)) for track in self._all]
        if self._warm is not None:
            self._keeping = group.create_task(self._warm.keep(self._bookmarks))
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        group, self._group = self._group, None
        if self._keeping is not None:
            self._keeping.cancel()  # first: it writes how far the others are
            await asyncio.wait((self._keeping,))
        for task in self._tasks:
            task.cancel()
        if group is None:
            return
        if kind is asyncio.CancelledError:
            await group.__aexit__(
                kind, error, trace
            )  # the group may be what cancelled the body, for a failure of its own
        else:
            await group.__aexit__(None, None, None)

    # --- waiting ---

    async def ready(self, scopes: Sequence[Scope] = tuple(Scope)) -> None:
        """Return when everything that people had written before the start is in the views of these scopes.

        Raises: Unavailable, when that takes too long.
        """
        await self._until(dict.fromkeys(self._of(scopes), START), "are still loading")

    async def loaded(self) -> None:
        """Return when what people had written before the start is in the views, as far as it can be had, and a moment later.

        However long that takes: for work that should come after, not for a call. The moment is for calls that waited too.
        """
        began = asyncio.get_running_loop().time()
        for track in self._tracks:
            await track.tried.wait()
        took_s = asyncio.get_running_loop().time() - began
        await asyncio.sleep(min(GRACE_SHARE * took_s, GRACE_S))

    async def filled(self) -> None:
        """Return when what workers had made before the start is in the views too, as far as it can be had. As `loaded`."""
        for track in self._all:
            await track.tried.wait()

    async def settle(self, scopes: Sequence[Scope] = tuple(Scope)) -> None:
        """Return when the caller's own acknowledged writes are in the views of these scopes.

        Raises: Unavailable, when that takes too long.
        """
        await self._until({track: track.own for track in self._of(scopes)}, "lag behind")

    async def wait(self, position: Position, *, field: str = "atLeast") -> None:
        """Return when the views hold everything that people had written into the buckets up to a position.

        Raises: InvalidInput (the position is of a bucket the caller does not see), Unavailable.
        """
        if not position.keys() <= {track.stretch.bucket for track in self._tracks}:
            raise InvalidInput(f"{field} is a position in a store that you do not see", field=field)
        behind = [
            track
            for track in self._tracks
            if (sequence := position.get(track.stretch.bucket)) and not track.reached(track.mark(sequence))
        ]
        await self._within(lambda: self._sync(behind), "lag behind")

    async def sync(self) -> None:
        """Return when the views hold everything that people have written into the buckets.

        Raises: Unavailable.
        """
        await self._within(lambda: self._sync(self._tracks), "lag behind")

    async def complete(self) -> None:
        """Return when the views hold everything that the buckets hold now, what workers wrote too.

        Raises: Unavailable.
        """
        await self._within(lambda: self._sync(self._all), "lag behind")

    async def told(self, kind: Kind) -> None:
        """Return when what there was of one kind at the start is in the views, and what the caller wrote of it since, as far as it can be had.

        However long that takes: bounded by whoever calls.
        """
        for track in self._all:
            if track.stretch.kind is kind:
                await track.tried.wait()
                if track.error is None:
                    await track.reach(track.own)

    def wrote(self, bucket: str, key: str, revision: int) -> None:
        """Note an acknowledged write of the caller, so that its next read waits for it."""
        if (track := self._track_of(bucket, key)) is not None:
            track.own = max(track.own, track.mark(revision))

    def mark(self, bucket: str, key: str, revision: int) -> Callable[[], bool]:
        """Return what says whether a write of this moment is in the views."""
        if (track := self._track_of(bucket, key)) is None:
            return lambda: True
        return partial(track.reached, track.mark(revision))

    # --- what is known ---

    @property
    def position(self) -> Position:
        """How far the views of what people said are, by bucket."""
        return self.position_of(tuple(Scope))

    def position_of(self, scopes: Sequence[Scope]) -> Position:
        """How far the views of these scopes are, by bucket."""
        position: dict[str, int] = {}
        for track in self._of(scopes):
            bucket = track.stretch.bucket
            position[bucket] = max(position.get(bucket, 0), track.cursor)
        return position

    @property
    def status(self) -> Status:
        tracks = self._tracks
        if not all(track.loaded for track in tracks):
            state = ViewState.LOADING
        elif all(track.caught_up and track.following is not None for track in tracks):
            state = ViewState.READY
        else:
            state = ViewState.BEHIND
        error = next((track.error.message for track in tracks if track.error is not None), None)
        return Status(
            state=state,
            records=self.records.count(),
            corrupt=len(self.records.corrupt()),
            position=self.position,
            error=error,
        )

    # --- within ---

    async def _follow(self, track: Track) -> None:
        stretch, failures = track.stretch, 0
        if not stretch.is_said:
            await self.loaded()
        since = await self._warm_up(track)
        while True:
            try:
                await self._buckets.open(stretch.bucket)
                if track.cursor and since is None:
                    track.start_over()  # a new subscription tells everything again
                async with self._feed.follow(stretch.bucket, stretch.filter, track.on_event, since=since) as following:
                    since = None
                    track.following, track.error, failures = following, None, 0
                    track.attached.set()
                    await asyncio.get_running_loop().create_future()
            except LoomError as error:
                track.fail(error)
                log.warning(
                    "event=view_interrupted scope=%s kind=%s code=%s", stretch.sight.scope, stretch.kind, error.code
                )
            finally:
                track.following = None
                track.attached.clear()
            await asyncio.sleep(_RETRY_S[min(failures, len(_RETRY_S) - 1)])
            failures += 1

    async def _warm_up(self, track: Track) -> Bookmark | None:
        """Take what an earlier process was told, and return from where the feed may go on."""
        bookmark = None if self._warm is None else await self._warm.bookmark(track.stretch)
        if self._warm is None or bookmark is None:
            return None
        try:
            async for changes in self._warm.told(track.stretch, bookmark):
                track.warm_up(changes)
        except Unavailable:
            track.start_over()
            return None
        track.go_on(bookmark)
        return bookmark

    def _bookmarks(self) -> dict[Stretch, Bookmark]:
        """Return how far each stretch is that is followed."""
        marks = {track.stretch: track.following.bookmark for track in self._all if track.following is not None}
        return {stretch: mark for stretch, mark in marks.items() if mark is not None}

    async def _until(self, goals: dict[Track, Mark], how: str) -> None:
        if not all(track.reached(mark) for track, mark in goals.items()):
            await self._within(lambda: self._reach(goals), how)

    async def _reach(self, goals: dict[Track, Mark]) -> None:
        for track, mark in goals.items():
            await track.reach(mark)

    async def _sync(self, tracks: Sequence[Track]) -> None:
        await self._reach(dict.fromkeys(tracks, START))
        await asyncio.gather(*map(_synced, tracks))

    async def _within(self, wait: Callable[[], Awaitable[None]], how: str) -> None:
        for _ in range(LOADING_TURNS):
            told = self._told()
            with suppress(TimeoutError):
                async with asyncio.timeout(self._patience_s):
                    await wait()
                    return
            if self._told() == told:
                break
        late = [track for track in self._tracks if not track.reached(track.own)]
        scopes = ", ".join(dict.fromkeys(track.stretch.sight.scope for track in late)) or "all scopes"
        why = next((f": {track.error.message}" for track in late if track.error is not None), "")
        how = how if all(track.loaded for track in late) else "are still loading"
        raise Unavailable(f"The views of {scopes} {how}{why}; try again in a moment", retry_after_s=1.0)

    def _told(self) -> list[int]:
        """Return how far each stretch has come: whether the views are getting on."""
        return [track.cursor for track in self._all]

    def _of(self, scopes: Sequence[Scope]) -> list[Track]:
        return [track for track in self._tracks if track.stretch.sight.scope in scopes]

    def _track_of(self, bucket: str, key: str) -> Track | None:
        if (parsed := parse_key(key)) is None:
            return None
        for track in self._tracks:
            sight, kind = track.stretch.sight, track.stretch.kind
            if kind is parsed.kind and sight.bucket == bucket and key.startswith(sight.filter.removesuffix(">")):
                return track
        return None


async def _synced(track: Track) -> None:
    """Return when a track holds everything that its bucket holds now. Raises: Unavailable, AccessDenied."""
    if track.error is not None:
        raise track.error
    await track.attached.wait()
    if track.following is None:
        raise Unavailable
    await track.following.sync()
