"""A warm start: on disk, a copy of what one caller's views were told and how far, so that the next process is told the rest only.

Disposable, never the truth: the feed checks the bookmark against the log and starts over when it does not fit, what cannot
be read is thrown away, and whoever deletes the file loses time. What is erased from a bucket is overwritten here with the
next writing; small stores are not copied at all. Several processes of one caller may write one file: of a key the newer
revision stays, and what was removed stays as a gap, so that nobody who lags brings it back.

One SQLite file, used in threads. Deliberately absent: what an entry means; any error towards a caller.
"""

from __future__ import annotations

import asyncio
import functools
import logging
import secrets
import sqlite3
import time
from collections.abc import AsyncGenerator, Callable, Collection, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from identity.errors import Unavailable
from identity.ports import Bookmark, Clock, Entry, Marker, Reason, Witness
from loomem.core import analyse
from loomem.core.analyse import Language, Terms
from loomem.views.backlog import Backlog, Changed, Learnt, Restarted, Step, steps_of
from loomem.views.stretch import Stretch
from loomem.views.text import Source

log = logging.getLogger(__name__)
T = TypeVar("T")

FORMAT = 3_000 + analyse.VERSION
"""Of the file; terms of another analyser are of no use."""
LEAST = 2_000
"""Changes that a caller is told before they are worth a copy."""
EVERY_S = 5.0
PAGE = 1_000
"""Changes that are read at a time: the whole copy of a large view would take more memory than the view."""
AT_ONCE = 500
"""Rows of one statement."""
REST = 2.0
"""Between two pieces that are written, as many times what the first one took."""
BUSY_S = 60.0
"""Writing waits so long at most for a moment in which nothing is told."""
CLOSE_S = 1.0
"""How long the last writing may take: a server has two seconds to leave."""
GAP_LIFE_S = 30 * 86_400
"""As long as tombstones live, and longer than any other marker."""
WITNESSES = 8
"""Changes by which a store is recognised."""
KNOWN_S = 30.0
"""How long the terms of one commit may take to be read."""
HEARD_S = 3_600
"""A bookmark is renewed after so long even when nothing was told."""

_SCHEMA = """
CREATE TABLE IF NOT EXISTS entries (
  sight TEXT NOT NULL, key TEXT NOT NULL, revision INTEGER NOT NULL, at INTEGER NOT NULL, reason TEXT, value BLOB,
  PRIMARY KEY (sight, key)) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS gaps ON entries (at) WHERE value IS NULL;
CREATE INDEX IF NOT EXISTS by_revision ON entries (sight, revision);
CREATE TABLE IF NOT EXISTS bookmarks (
  sight TEXT PRIMARY KEY, epoch TEXT NOT NULL, revision INTEGER NOT NULL, heard REAL NOT NULL);
CREATE TABLE IF NOT EXISTS terms (
  address TEXT PRIMARY KEY, revision INTEGER NOT NULL, words TEXT NOT NULL, stems TEXT NOT NULL, languages TEXT NOT NULL)
  WITHOUT ROWID;
"""
_PUT = """
INSERT INTO entries VALUES {rows}
ON CONFLICT DO UPDATE SET revision = excluded.revision, at = excluded.at, reason = excluded.reason, value = excluded.value
WHERE excluded.revision > entries.revision
"""
_LEARN = "INSERT OR REPLACE INTO terms VALUES {rows}"
_UNLEARN = "DELETE FROM terms WHERE address IN (VALUES {rows})"
_RECALL = "SELECT address, revision, words, stems, languages FROM terms WHERE address IN (VALUES {rows})"
_MARK = """
INSERT INTO bookmarks VALUES (?, ?, ?, ?)
ON CONFLICT DO UPDATE SET revision = excluded.revision, heard = excluded.heard
WHERE excluded.revision >= bookmarks.revision
"""


class _Batch(msgspec.Struct):
    """What is to be written of one stretch."""

    changes: dict[str, Changed]
    starts_over: bool = False
    told: int = 0
    """Up to which revision it goes."""


class _Piece(msgspec.Struct, frozen=True):
    """Some of what is to be written."""

    taken: bytes
    began: float
    """The broker was heard after this, in seconds since 1970, by everything in it."""


class _Overtaken(Exception):
    pass


class WarmStart:
    """The copy of one caller's views. Whatever goes wrong with it, it is given up and nobody else notices."""

    def __init__(self, path: Path, clock: Clock, *, least: int = LEAST, every_s: float = EVERY_S) -> None:
        self._path = path
        self._clock = clock
        self._least = least
        self._every_s = every_s
        self._held: sqlite3.Connection | None = None
        self._given_up = False
        # One thread of its own: a call that is cancelled leaves its work running, and nothing may run beside that.
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="warm start")
        self._backlog = Backlog(path.parent)
        """What was told and is not written yet."""
        self._piece: _Piece | None = None
        """What was taken from it and may not be written yet."""
        self._noted = 0
        """How many changes were told."""
        self._unwritten: set[str] = set()
        """Stretches of which something is in the backlog."""
        self._began = 0.0
        """When the backlog began, in seconds since 1970."""
        self._busy_at = 0.0
        """When something was put into it last, by the monotonic clock."""
        self._epochs: dict[str, str] = {}
        self._marked: dict[str, Bookmark] = {}
        self._worthwhile = False

    # --- reading ---

    async def bookmark(self, stretch: Stretch) -> Bookmark | None:
        """Return how far a stretch had been told at the last writing, or None when nothing is known of it."""
        return await self._in_thread(lambda: self._bookmark(stretch.name))

    async def told(self, stretch: Stretch, bookmark: Bookmark) -> AsyncGenerator[list[Entry | Marker], None]:
        """Yield what a stretch had been told up to a bookmark, in pages and in no order; of each key the last change.

        A key that another process overwrites meanwhile is left out: the feed tells it again.

        Raises: Unavailable, when it cannot be read to its end.
        """
        after = ""
        while True:
            page = await self._in_thread(functools.partial(self._page, stretch.name, bookmark.revision, after))
            if page is None:
                raise Unavailable("the copy of the views cannot be read")
            if not page:
                return
            yield [_change(*row) for row in page]
            after = page[-1][0]

    # --- what is told ---

    def note(self, name: str, change: Entry | Marker) -> None:
        """Remember a change of the stretch of a name until it is written."""
        at = _micros(change.at)
        if isinstance(change, Entry):
            self._put(Changed(name, change.key, change.revision, at, None, change.value))
        else:
            self._put(Changed(name, change.key, change.revision, at, str(change.reason), None))
        self._noted += 1
        self._unwritten.add(name)

    def start_over(self, name: str) -> None:
        """Forget everything of the stretch of a name: it is told again."""
        self._put(Restarted(name))

    def _put(self, step: Step) -> None:
        if self._given_up:
            return
        if not self._backlog:
            self._began = time.time()
        self._busy_at = time.monotonic()
        try:
            self._backlog.add(step)
        except OSError as error:
            self._give_up(str(error))

    # --- texts that were taken apart (`views.text.Analysed`) ---

    def known(self, sources: Sequence[Source]) -> Mapping[Source, Terms]:
        """Return the terms of texts that this or an earlier process took apart. Blocks: for threads alone."""
        if self._given_up or not self._path.exists():
            return {}
        try:
            return self._thread.submit(self._guarded, lambda: self._known(sources)).result(KNOWN_S) or {}
        except (sqlite3.Error, OSError, ValueError, RuntimeError, TimeoutError) as error:
            log.warning("event=terms_not_read reason=%r", type(error).__name__)
            return {}

    def learn(self, terms: Mapping[Source, Terms]) -> None:
        """Remember the terms of texts until they are written."""
        for (address, revision), each in terms.items():
            self._put(Learnt(address, revision, each.words, each.stems, " ".join(each.languages)))

    # --- writing ---

    async def keep(self, bookmarks: Callable[[], Mapping[Stretch, Bookmark]]) -> None:
        """Write what was told from time to time, until cancelled; then once more, as far as that does not take long.

        It is written when nothing has been told or taken apart for a moment, and piece by piece: nobody waits for it.
        """
        try:
            while not self._given_up:
                await self._be_quiet()
                await self.write(bookmarks, rest=REST)
        finally:
            with suppress(TimeoutError):
                async with asyncio.timeout(CLOSE_S):
                    await self.write(bookmarks)

    async def _be_quiet(self) -> None:
        """Return when it is time to write: when nothing new came for a while, though not never."""
        await asyncio.sleep(self._every_s)
        until = time.monotonic() + BUSY_S
        # Nobody says when nothing happens.
        while self._busy_at > time.monotonic() - self._every_s / 5 and time.monotonic() < until:  # noqa: ASYNC110
            await asyncio.sleep(self._every_s / 5)

    async def write(self, bookmarks: Callable[[], Mapping[Stretch, Bookmark]], *, rest: float = 0.0) -> None:
        """Write what was told, with a `rest` between two pieces, in parts of what a piece took.

        `bookmarks` says how far each stretch is now. A piece that more follow goes as far as what it tells, for a store
        is told in the order of its revisions.
        """
        is_last = False
        while not is_last and self._worth_writing():
            try:
                # One that was given to the thread and not heard of may be written or not; twice does no harm, and without
                # it the next ones would leave a gap.
                piece = self._piece = self._piece or _Piece(self._backlog.take(), self._began)
            except OSError as error:
                self._give_up(str(error))
                return
            is_last = not self._backlog
            marks = self._marks(bookmarks()) if is_last else {}
            if piece.taken or marks:
                self._unwritten -= marks.keys()  # now: while it is written more may be told of them
                began = time.monotonic()
                await self._in_thread(functools.partial(self._write, piece, marks))
                self._marked |= marks
                if not is_last:
                    await asyncio.sleep(rest * (time.monotonic() - began))
            self._piece = None

    def _marks(self, bookmarks: Mapping[Stretch, Bookmark]) -> dict[str, Bookmark]:
        marks = {stretch.name: bookmark for stretch, bookmark in bookmarks.items()}
        return {name: mark for name, mark in marks.items() if name in self._unwritten or self._is_stale(name, mark)}

    async def close(self) -> None:
        """Let go of the file."""
        self._given_up = True
        self._backlog.clear()
        await asyncio.get_running_loop().run_in_executor(self._thread, self._close)
        self._thread.shutdown(wait=False)

    def _worth_writing(self) -> bool:
        if self._given_up:
            return False
        self._worthwhile = self._worthwhile or self._noted >= self._least or self._path.exists()
        return self._worthwhile

    def _is_stale(self, name: str, mark: Bookmark) -> bool:
        known = self._marked.get(name)
        return known is not None and mark.heard - known.heard > HEARD_S

    # --- within, in a thread ---

    async def _in_thread(self, work: Callable[[], T]) -> T | None:
        if self._given_up:
            return None
        try:
            return await asyncio.get_running_loop().run_in_executor(self._thread, lambda: self._guarded(work))
        except _Overtaken:
            self._give_up("another process began it anew")
        except (sqlite3.Error, OSError, ValueError) as error:
            self._give_up(type(error).__name__)
        return None

    def _guarded(self, work: Callable[[], T]) -> T | None:
        """Do some work unless the copy is given up; a file that cannot be read goes before other work could meet it."""
        if self._given_up:
            return None
        try:
            return work()
        except sqlite3.OperationalError:  # locked for long, no space, read-only: the file itself is well
            self._given_up = True
            raise
        except (sqlite3.Error, OSError, ValueError):
            self._given_up = True
            with suppress(OSError):
                self._path.unlink(missing_ok=True)
            raise

    def _give_up(self, reason: str) -> None:
        log.warning("event=warm_start_given_up reason=%r", reason)
        self._given_up = True
        self._backlog.clear()

    def _close(self) -> None:
        if self._held is not None:
            self._held.close()
            self._held = None

    def _connection(self) -> sqlite3.Connection:
        if self._held is None:
            self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._path.touch(mode=0o600)
            connection = sqlite3.connect(self._path, timeout=2.0, isolation_level=None, check_same_thread=False)
            version = connection.execute("PRAGMA user_version").fetchone()[0]
            if version not in (0, FORMAT):
                connection.close()
                raise ValueError(f"format {version}")
            connection.execute("PRAGMA secure_delete = ON")
            connection.execute("PRAGMA journal_mode = TRUNCATE")
            connection.execute("PRAGMA synchronous = NORMAL")
            connection.executescript(_SCHEMA)
            connection.execute(f"PRAGMA user_version = {FORMAT}")
            self._held = connection
        return self._held

    def _oldest_gap(self) -> int:
        return _micros(self._clock.now()) - GAP_LIFE_S * 10**6

    def _bookmark(self, name: str) -> Bookmark | None:
        if not self._path.exists():
            return None
        with closing(self._connection().cursor()) as cursor:
            found = cursor.execute("SELECT epoch, revision, heard FROM bookmarks WHERE sight = ?", (name,)).fetchone()
            if found is None or found[1] == 0:
                return None
            epoch, revision, heard = found
            ends = [
                cursor.execute(
                    "SELECT key, revision, at FROM entries WHERE sight = ? AND revision <= ? "
                    f"ORDER BY revision {order} LIMIT ?",
                    (name, revision, WITNESSES // 2),
                ).fetchall()
                for order in ("DESC", "ASC")
            ]
        witnesses = tuple(Witness(key, at_revision, _moment(at)) for rows in ends for key, at_revision, at in rows)
        self._epochs[name] = epoch
        self._marked[name] = bookmark = Bookmark(revision=revision, heard=heard, witnesses=witnesses)
        return bookmark

    def _page(self, name: str, revision: int, after: str) -> list[tuple[str, int, int, str | None, bytes | None]]:
        with closing(self._connection().cursor()) as cursor:
            return cursor.execute(
                "SELECT key, revision, at, reason, value FROM entries WHERE sight = ? AND key > ? AND revision <= ? "
                "AND (value IS NOT NULL OR (reason = ? AND at > ?)) ORDER BY key LIMIT ?",
                (name, after, revision, Reason.FORGET, self._oldest_gap(), PAGE),
            ).fetchall()

    def _known(self, sources: Sequence[Source]) -> dict[Source, Terms]:
        with closing(self._connection().cursor()) as cursor:
            rows = _execute(cursor, _RECALL, [(address,) for address, _ in sources])
        wanted = set(sources)
        return {
            (address, revision): Terms(words, stems, tuple(Language(language) for language in languages.split()))
            for address, revision, words, stems, languages in rows
            if (address, revision) in wanted
        }

    def _write(self, piece: _Piece, marks: Mapping[str, Bookmark]) -> None:
        batches, learnt = _sorted_out(piece.taken)
        connection = self._connection()
        with connection, closing(connection.cursor()) as cursor:  # all of it or nothing
            cursor.execute("BEGIN IMMEDIATE")
            for name in {*batches, *marks}:
                batch, mark = batches.get(name), marks.get(name)
                if mark is None and batch is not None and batch.told:
                    # What became of these keys since they were told is told from there on, while its markers live.
                    mark = Bookmark(revision=batch.told, heard=piece.began, witnesses=())
                self._write_sight(cursor, name, batch, mark)
            _execute(cursor, _LEARN, [msgspec.structs.astuple(each) for each in learnt])
            cursor.execute("DELETE FROM entries WHERE value IS NULL AND at < ?", (self._oldest_gap(),))

    def _write_sight(self, cursor: sqlite3.Cursor, name: str, batch: _Batch | None, mark: Bookmark | None) -> None:
        known = self._epochs.get(name)
        if known is None or (batch is not None and batch.starts_over):
            self._epochs[name] = secrets.token_hex(8)
            cursor.execute("DELETE FROM entries WHERE sight = ?", (name,))
            cursor.execute("DELETE FROM terms WHERE address GLOB ?", (f"{name.removesuffix('>')}*",))
            cursor.execute("DELETE FROM bookmarks WHERE sight = ?", (name,))
            cursor.execute("INSERT INTO bookmarks VALUES (?, ?, 0, 0)", (name, self._epochs[name]))
        else:
            found = cursor.execute("SELECT epoch FROM bookmarks WHERE sight = ?", (name,)).fetchone()
            if found is None or found[0] != known:
                raise _Overtaken
        if batch is not None:
            bucket = name.partition(" ")[0]
            _execute(cursor, _PUT, [msgspec.structs.astuple(change) for change in batch.changes.values()])
            _execute(cursor, _UNLEARN, [(f"{bucket} {key}",) for key in batch.changes])
        if mark is not None:
            cursor.execute(_MARK, (name, self._epochs[name], mark.revision, mark.heard))


def _execute(cursor: sqlite3.Cursor, statement: str, rows: Sequence[tuple[Any, ...]]) -> list[Any]:
    """Execute a statement for many rows at a time, and return what it finds.

    Between two steps the module gives up the interpreter, and beside a busy thread waits milliseconds to have it back: a
    step a row would make thousands of rows take seconds.
    """
    found: list[Any] = []
    for at in range(0, len(rows), AT_ONCE):
        some = rows[at : at + AT_ONCE]
        row = f"({', '.join('?' * len(some[0]))})"
        cursor.execute(statement.format(rows=", ".join([row] * len(some))), [value for each in some for value in each])
        found += cursor.fetchall()
    return found


def _sorted_out(taken: bytes) -> tuple[dict[str, _Batch], Collection[Learnt]]:
    """Return what is to be written: of each key the last change, and the terms of texts that stand there still."""
    batches: dict[str, _Batch] = {}
    learnt: dict[str, Learnt] = {}
    for step in steps_of(taken):
        match step:
            case Changed(stretch=name, key=key, revision=revision):
                batch = batches.setdefault(name, _Batch({}))
                batch.changes[key] = step
                batch.told = max(batch.told, revision)
                learnt.pop(f"{name.partition(' ')[0]} {key}", None)
            case Restarted(stretch=name):
                batches[name] = _Batch({}, starts_over=True)
            case Learnt(address=address):
                learnt[address] = step
    return batches, learnt.values()


def _change(key: str, revision: int, at: int, reason: str | None, value: bytes | None) -> Entry | Marker:
    if value is None:
        return Marker(key=key, revision=revision, at=_moment(at), reason=Reason(reason or Reason.OTHER))
    return Entry(key=key, value=value, revision=revision, at=_moment(at))


_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def _micros(moment: datetime) -> int:
    return (moment - _EPOCH) // timedelta(microseconds=1)


def _moment(micros: int) -> datetime:
    return _EPOCH + timedelta(microseconds=micros)


def scrub(folder: Path, keys: Sequence[str]) -> int:
    """Overwrite what the copies in a folder hold of some keys; return how many rows. Blocks: run it in a thread.

    A copy that cannot be written is removed: it is disposable.
    """
    rows = 0
    for path in sorted(folder.glob("*.sqlite")):
        try:
            with closing(sqlite3.connect(path, timeout=2.0)) as connection, connection:
                connection.execute("PRAGMA secure_delete = ON")
                for key in keys:
                    rows += connection.execute(
                        "DELETE FROM entries WHERE key = ? AND value IS NOT NULL", (key,)
                    ).rowcount
                    rows += connection.execute("DELETE FROM terms WHERE address GLOB ?", (f"*{key}",)).rowcount
        except sqlite3.Error:
            path.unlink(missing_ok=True)
    return rows
