"""One stretch of keys being followed: how far it is, and who waits for it to get further."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable

import msgspec

from identity.errors import AccessDenied, LoomError
from identity.ports import Bookmark, CaughtUp, Entry, Event, Following, Marker, Reset
from loomem.views.kinds import Kinds
from loomem.views.stretch import Stretch
from loomem.views.warm import WarmStart


class Mark(msgspec.Struct, frozen=True, order=True):
    """A point of what a feed tells.

    Sequences grow within one telling of a bucket. When the feed starts over it may be another store, whose sequences
    begin anew; then a mark of before is behind us as soon as everything has been told again.
    """

    telling: int
    sequence: int


START = Mark(0, 0)


class Track:
    """Applies what one feed tells, each change once."""

    def __init__(self, stretch: Stretch, views: Kinds, warm: WarmStart | None = None) -> None:
        self.stretch = stretch
        self.cursor = 0
        """Every change of the stretch up to this sequence of the bucket has been applied."""
        self.caught_up = False
        self.loaded = False
        """Caught up at least once."""
        self.following: Following | None = None
        self.attached = asyncio.Event()
        """Set while there is a `following`."""
        self.tried = asyncio.Event()
        """Set when it has loaded, or cannot as things are."""
        self.error: LoomError | None = None
        self.own = START
        """The caller's newest acknowledged write here."""
        self._views = views
        self._warm = warm
        self._name = stretch.name
        self._telling = 0
        self._told: set[str] | None = None
        """While the feed starts over: the keys it has told again."""
        self._waiting: list[tuple[Mark, asyncio.Future[None]]] = []

    def on_event(self, event: Event) -> None:
        """Take what the feed tells."""
        match event:
            case Entry() | Marker():
                self._apply(event)
            case CaughtUp():
                self._finish()
            case Reset():
                self.start_over()
        if self._waiting:
            self._wake()

    def start_over(self) -> None:
        """Expect everything to be told again; what is not told until then is gone."""
        self.cursor = 0
        self.caught_up = False
        self._telling += 1
        self._told = set()
        self._views.start_over(self.stretch)
        if self._warm is not None:
            self._warm.start_over(self._name)

    def warm_up(self, changes: Iterable[Entry | Marker]) -> None:
        """Take some of what was told to an earlier process."""
        for change in changes:
            self._views.apply(self.stretch.sight, change)

    def go_on(self, bookmark: Bookmark) -> None:
        """Expect what comes after a bookmark; everything up to it has been taken."""
        self.cursor = bookmark.revision

    def mark(self, sequence: int) -> Mark:
        """Return the point at which a sequence of the bucket stands."""
        return Mark(self._telling, sequence)

    def reached(self, mark: Mark) -> bool:
        """Say whether the stretch has loaded, and everything up to a point has been applied."""
        if mark.telling < self._telling:
            return self.caught_up
        return self.loaded and self.cursor >= mark.sequence

    async def reach(self, mark: Mark) -> None:
        """Return when that is so.

        Raises: AccessDenied, at once, when the broker refuses it: no waiting mends that.
        """
        if not self.reached(mark):
            if isinstance(self.error, AccessDenied):
                raise self.error
            future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self._waiting.append((mark, future))
            try:
                await future
            finally:
                self._waiting = [(at, other) for at, other in self._waiting if other is not future]

    def fail(self, error: LoomError) -> None:
        """Note why the stretch is not followed."""
        self.error = error
        self.tried.set()
        if isinstance(error, AccessDenied):
            for _, future in self._waiting:
                if not future.done():
                    future.set_exception(error)

    def _apply(self, event: Entry | Marker) -> None:
        if event.revision <= self.cursor:
            return  # told already
        if self._told is not None and isinstance(event, Entry):
            self._told.add(event.key)
        self._views.apply(self.stretch.sight, event)
        self.cursor = event.revision
        if self._warm is not None:
            self._warm.note(self._name, event)

    def _finish(self) -> None:
        if self._told is not None:
            gone = [key for key in self._views.keys(self.stretch) if key not in self._told]
            self._views.forget(self.stretch, gone)
            self._told = None
        self.caught_up = self.loaded = True
        self.tried.set()

    def _wake(self) -> None:
        for mark, future in self._waiting:
            if self.reached(mark) and not future.done():
                future.set_result(None)
