"""Files that a call names: read and written only under the allowed directories, whatever the path says.

A path is resolved first, symbolic links and `..` included, and must then lie under one of the directories; only regular
files are opened. A written file appears whole or not at all. Nothing here blocks the event loop, and no error echoes
what a file holds.
Deliberately absent: any knowledge of what is in the files.
"""

from __future__ import annotations

import asyncio
import contextlib
import errno
import os
import secrets
import stat
from collections.abc import AsyncGenerator, Generator
from contextlib import asynccontextmanager
from pathlib import Path

from identity.errors import InvalidInput

_REASONS = {
    errno.ENOENT: "does not exist",
    errno.ENOTDIR: "goes through something that is no directory",
    errno.EACCES: "may not be accessed by this process",
    errno.EPERM: "may not be accessed by this process",
    errno.EROFS: "is on a read-only file system",
    errno.ENOSPC: "does not fit: the disk is full",
    errno.ENAMETOOLONG: "is too long for a file name",
    errno.ELOOP: "is a loop of symbolic links",
}


class Writing:
    """A file being written under a temporary name."""

    def __init__(self, path: Path, field: str, allowed: str) -> None:
        self.path = path
        self.size = 0
        """Bytes written so far."""
        self._field = field
        self._allowed = allowed
        self._temporary = path.with_name(f".{path.name[:100]}.{secrets.token_hex(6)}.tmp")
        self._descriptor: int | None = None

    async def write(self, data: bytes) -> None:
        """Append. Raises: InvalidInput (the disk is full, for one)."""
        await asyncio.to_thread(self._append, data)

    def create(self) -> None:
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
        with _faults(self.path, self._field, self._allowed):
            self._descriptor = os.open(self._temporary, flags, 0o600)

    def publish(self) -> None:
        """Put the file in its place, on disk before this returns."""
        descriptor = self._opened()
        with _faults(self.path, self._field, self._allowed):
            os.fsync(descriptor)
            self._close()  # Windows does not rename an open file
            os.replace(self._temporary, self.path)
            _sync_directory(self.path.parent)

    def discard(self) -> None:
        """Leave nothing behind of what was not published."""
        self._close()
        with contextlib.suppress(OSError):
            self._temporary.unlink(missing_ok=True)

    def _append(self, data: bytes) -> None:
        descriptor = self._opened()
        view = memoryview(data)
        with _faults(self.path, self._field, self._allowed):
            while view:
                view = view[os.write(descriptor, view) :]
        self.size += len(data)

    def _opened(self) -> int:
        if self._descriptor is None:
            raise ValueError("the file is not open")
        return self._descriptor

    def _close(self) -> None:
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None


class Files:
    """Opens files under `roots`; relative paths begin at the first of them."""

    def __init__(self, roots: tuple[Path, ...]) -> None:
        if not roots:
            raise ValueError("Files needs a directory")
        self.roots = tuple(root.absolute() for root in roots)

    async def read(self, raw: object, *, field: str, limit_bytes: int) -> bytes:
        """Return what a file holds.

        Raises: InvalidInput naming the field and the allowed directories: outside of them, absent, no regular file, too
        large, not readable.
        """
        text = _checked(raw, field)
        return await asyncio.to_thread(self._read, text, field, limit_bytes)

    @asynccontextmanager
    async def writing(self, raw: object, *, field: str) -> AsyncGenerator[Writing]:
        """Give a file to write into, readable by its owner only; leaving without an error puts it in place, replacing another.

        Raises: InvalidInput as `read`, also when its directory does not exist.
        """
        path = await asyncio.to_thread(self._target, _checked(raw, field), field)
        writing = Writing(path, field, self._allowed())
        try:
            await asyncio.to_thread(writing.create)
            yield writing
            await asyncio.to_thread(writing.publish)
        finally:
            # Not in a thread: a cancelled task must not leave before the file is closed and gone.
            writing.discard()

    def _resolve(self, text: str, field: str) -> Path:
        path = Path(os.path.realpath(self.roots[0] / text))
        if not any(path.is_relative_to(os.path.realpath(root)) for root in self.roots):
            raise InvalidInput(
                f"{field} must name a file under {self._allowed()}; this path leads elsewhere",
                field=field,
                allowed=[str(root) for root in self.roots],
            )
        return path

    def _read(self, text: str, field: str, limit_bytes: int) -> bytes:
        path = self._resolve(text, field)
        with _faults(path, field, self._allowed()):
            self._regular(os.stat(path, follow_symlinks=False), field)
            flags = (
                os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
            )
            with open(os.open(path, flags), "rb") as file:
                facts = os.fstat(file.fileno())
                self._regular(facts, field)
                data = file.read(limit_bytes + 1)
        if len(data) > limit_bytes:
            raise InvalidInput(
                f"{field} is a file of {max(facts.st_size, len(data))} bytes, more than the allowed {limit_bytes}",
                field=field,
                fileSize=facts.st_size,
                maxSize=limit_bytes,
            )
        return data

    def _target(self, text: str, field: str) -> Path:
        path = self._resolve(text, field)
        with _faults(path, field, self._allowed()):
            if not path.parent.is_dir():
                raise InvalidInput(f"{field}: the directory {path.parent} does not exist; create it first", field=field)
            with contextlib.suppress(FileNotFoundError):
                self._regular(os.stat(path, follow_symlinks=False), field)
        return path

    def _regular(self, facts: os.stat_result, field: str) -> None:
        if not stat.S_ISREG(facts.st_mode):
            kind = "a directory" if stat.S_ISDIR(facts.st_mode) else "no regular file"
            raise InvalidInput(f"{field} must name a file under {self._allowed()}; this is {kind}", field=field)

    def _allowed(self) -> str:
        return ", ".join(str(root) for root in self.roots)


def _checked(raw: object, field: str) -> str:
    if not isinstance(raw, str) or not raw.strip():
        raise InvalidInput(f"{field} must be a path (a string that is not blank)", field=field)
    try:
        encoded = os.fsencode(raw)
    except UnicodeEncodeError:
        raise InvalidInput(f"{field} holds characters that no file name can have", field=field) from None
    if b"\0" in encoded:
        raise InvalidInput(f"{field} holds a NUL character; remove it", field=field)
    return raw


@contextlib.contextmanager
def _faults(path: Path, field: str, allowed: str) -> Generator[None]:
    """Translate what the operating system says."""
    try:
        yield
    except OSError as error:
        said = _REASONS.get(error.errno or 0, error.strerror or "cannot be used")
        raise InvalidInput(f"{field}: {path} {said} (allowed: files under {allowed})", field=field) from None


def _sync_directory(path: Path) -> None:
    """Make a rename durable, where a directory can be opened."""
    if os.name != "posix":
        return
    directory = os.open(path, os.O_RDONLY)
    try:
        os.fsync(directory)
    finally:
        os.close(directory)
