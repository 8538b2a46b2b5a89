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
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
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
BATCH = 2_000
"""Changes that are written without waiting for that."""
BACKLOG_LIMIT = 100_000
"""Changes that wait to be written; with more, the disk does not keep up and the copy is given up."""
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

    changes: dict[str, Entry | Marker]
    starts_over: bool = False


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
        self._batches: dict[str, _Batch] = {}
        self._epochs: dict[str, str] = {}
        self._marked: dict[str, Bookmark] = {}
        self._learnt: dict[Source, Terms] = {}
        self._worthwhile = False
        self._backlog = 0
        self._full = asyncio.Event()

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

    def note(self, stretch: Stretch, change: Entry | Marker) -> None:
        """Remember a change until it is written."""
        if not self._given_up:
            batch = self._batches.setdefault(stretch.name, _Batch({}))
            batch.changes[change.key] = change
            self._backlog += 1
            if self._backlog >= BATCH:
                self._full.set()
            if self._backlog > BACKLOG_LIMIT:
                self._give_up("the disk does not keep up")

    def start_over(self, stretch: Stretch) -> None:
        """Forget everything of a stretch: it is told again."""
        if not self._given_up:
            self._batches[stretch.name] = _Batch({}, starts_over=True)

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
        if not self._given_up and len(self._learnt) < BACKLOG_LIMIT:
            self._learnt.update(terms)

    # --- writing ---

    async def keep(self, bookmarks: Callable[[], Mapping[Stretch, Bookmark]]) -> None:
        """Write what was told from time to time, until cancelled; then once more, if that does not take long."""
        try:
            while not self._given_up:
                with suppress(TimeoutError):
                    async with asyncio.timeout(self._every_s):
                        await self._full.wait()
                self._full.clear()
                await self.write(bookmarks())
        finally:
            with suppress(TimeoutError):
                async with asyncio.timeout(CLOSE_S):
                    await self.write(bookmarks())

    async def write(self, bookmarks: Mapping[Stretch, Bookmark]) -> None:
        """Write what was told; `bookmarks` says how far each stretch is now."""
        if not self._worth_writing():
            return
        batches, self._batches, self._backlog = self._batches, {}, 0
        marks = {stretch.name: bookmark for stretch, bookmark in bookmarks.items()}
        marks = {name: mark for name, mark in marks.items() if name in batches or self._is_stale(name, mark)}
        learnt, self._learnt = self._learnt, {}
        if marks or batches or learnt:
            await self._in_thread(lambda: self._write(batches, marks, learnt))
            self._marked |= marks

    async def close(self) -> None:
        """Let go of the file."""
        self._given_up = True
        await asyncio.get_running_loop().run_in_executor(self._thread, self._close)
        self._thread.shutdown(wait=False)

    def _worth_writing(self) -> bool:
        if self._given_up:
            return False
        self._worthwhile = self._worthwhile or self._backlog >= self._least or self._path.exists()
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
        self._batches.clear()
        self._learnt.clear()

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

    def _write(
        self, batches: Mapping[str, _Batch], marks: Mapping[str, Bookmark], learnt: Mapping[Source, Terms]
    ) -> None:
        connection = self._connection()
        with connection, closing(connection.cursor()) as cursor:  # all of it or nothing
            cursor.execute("BEGIN IMMEDIATE")
            for name in {*batches, *marks}:
                self._write_sight(cursor, name, batches.get(name), marks.get(name))
            rows = [(*source, each.words, each.stems, " ".join(each.languages)) for source, each in learnt.items()]
            _execute(cursor, _LEARN, rows)
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
            _execute(cursor, _PUT, [_row(name, change) for change in batch.changes.values()])
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


def _row(name: str, change: Entry | Marker) -> tuple[str, str, int, int, str | None, bytes | None]:
    reason, value = (None, change.value) if isinstance(change, Entry) else (str(change.reason), None)
    return (name, change.key, change.revision, _micros(change.at), reason, value)


def _change(key: str, revision: int, at: int, reason: str | None, value: bytes | None) -> Entry | Marker:
    if value is None:
        return Marker(key=key, revision=revision, at=_moment(at), reason=Reason(reason or Reason.OTHER))
    return Entry(key=key, value=value, revision=revision, at=_moment(at))


_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def _micros(moment: datetime) -> int:
    return (moment - _EPOCH) // timedelta(microseconds=1)


def _moment(micros: int) -> datetime:
    return _EPOCH + timedelta(microseconds=micros)
