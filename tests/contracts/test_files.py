"""Files that a call names stay under the allowed directories, whole or not at all, and errors tell nothing of content."""

from __future__ import annotations

import asyncio
import os
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from identity.errors import InvalidInput
from loomem.store.files import Files
from tests.permissions import obeying_modes

LIMIT = 1_000


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """An allowed directory with a secret beside it."""
    (tmp_path / "secret.txt").write_text("TOP SECRET")
    root = tmp_path / "allowed"
    root.mkdir()
    (root / "in.json").write_text("inside")
    return root


async def refused(files: Files, path: object) -> InvalidInput:
    with pytest.raises(InvalidInput) as read:
        await files.read(path, field="inputPath", limit_bytes=LIMIT)
    assert read.value.field == "inputPath"
    assert "SECRET" not in read.value.message
    return read.value


async def refused_to_write(files: Files, path: object) -> InvalidInput:
    with pytest.raises(InvalidInput) as write:
        async with files.writing(path, field="outputPath") as file:
            await file.write(b"x")
    assert write.value.field == "outputPath"
    return write.value


async def test_relative_and_absolute_paths_within_are_read(root: Path) -> None:
    files = Files((root,))
    for path in ("in.json", "./in.json", str(root / "in.json"), f"../{root.name}/in.json"):
        assert await files.read(path, field="inputPath", limit_bytes=LIMIT) == b"inside"


async def test_a_second_directory_is_allowed_too(root: Path, tmp_path: Path) -> None:
    files = Files((root, tmp_path))
    assert await files.read(str(tmp_path / "secret.txt"), field="inputPath", limit_bytes=LIMIT) == b"TOP SECRET"


async def test_every_way_out_is_refused(root: Path, tmp_path: Path) -> None:
    files = Files((root,))
    (root / "link.json").symlink_to(tmp_path / "secret.txt")
    (root / "out").symlink_to(tmp_path)
    twin = tmp_path / "allowed-twin"
    twin.mkdir()
    (twin / "x").write_text("SECRET twin")
    for path in ("../secret.txt", str(tmp_path / "secret.txt"), "link.json", "out/secret.txt", str(twin / "x")):
        assert str(root) in (await refused(files, path)).message
        assert str(root) in (await refused_to_write(files, path)).message
    assert (tmp_path / "secret.txt").read_text() == "TOP SECRET"
    assert os.listdir(twin) == ["x"]


async def test_only_regular_files_are_opened(root: Path) -> None:
    files = Files((root,))
    os.mkfifo(root / "pipe")
    (root / "directory").mkdir()
    for path in ("pipe", "directory", "."):
        async with asyncio.timeout(5):
            await refused(files, path)
            await refused_to_write(files, path)
    async with asyncio.timeout(5):
        await refused(Files((Path("/dev"),)), "/dev/zero")


async def test_what_does_not_exist_is_said_so(root: Path) -> None:
    files = Files((root,))
    (root / "loop").symlink_to(root / "loop")
    assert "does not exist" in (await refused(files, "nothing.json")).message
    assert "does not exist" in (await refused_to_write(files, "no/such/place.json")).message
    await refused(files, "in.json/below")
    await refused(files, "loop")
    await refused_to_write(files, "x" * 300)


@pytest.mark.parametrize("path", [None, 5, "", "  ", "a\0b", "\ud800", ["in.json"]])
async def test_what_is_no_path_is_refused(root: Path, path: object) -> None:
    await refused(Files((root,)), path)
    await refused_to_write(Files((root,)), path)


async def test_a_file_larger_than_the_limit_is_refused(root: Path) -> None:
    files = Files((root,))
    (root / "large").write_bytes(b"x" * (LIMIT + 1))
    (root / "fits").write_bytes(b"x" * LIMIT)
    assert len(await files.read("fits", field="inputPath", limit_bytes=LIMIT)) == LIMIT
    assert (await refused(files, "large")).details["maxSize"] == LIMIT


async def test_a_written_file_is_whole_and_for_its_owner_only(root: Path) -> None:
    files = Files((root,))
    async with files.writing("out.json", field="outputPath") as file:
        await file.write(b"one ")
        assert not (root / "out.json").exists()
        await file.write(b"two")
    assert (root / "out.json").read_bytes() == b"one two"
    assert file.size == 7
    assert file.path.samefile(root / "out.json")
    assert stat.S_IMODE((root / "out.json").stat().st_mode) == 0o600


async def test_a_failed_or_cancelled_write_leaves_everything_as_it_was(root: Path) -> None:
    files = Files((root,))

    async def write(error: BaseException) -> None:
        async with files.writing("in.json", field="outputPath") as file:
            await file.write(b"half")
            raise error

    with pytest.raises(RuntimeError):
        await write(RuntimeError())
    with pytest.raises(asyncio.CancelledError):
        await write(asyncio.CancelledError())
    assert (root / "in.json").read_text() == "inside"
    assert os.listdir(root) == ["in.json"]


async def test_a_link_within_is_followed(root: Path) -> None:
    files = Files((root,))
    (root / "link").symlink_to(root / "in.json")
    assert await files.read("link", field="inputPath", limit_bytes=LIMIT) == b"inside"
    async with files.writing("link", field="outputPath") as file:
        await file.write(b"new")
    assert (root / "in.json").read_text() == "new"


@pytest.fixture
def sealed(root: Path) -> Iterator[Path]:
    """An allowed directory that nobody may write into, root included."""
    root.chmod(0o500)
    with obeying_modes():
        yield root
    root.chmod(0o700)


async def test_a_directory_without_permission_is_said_so(sealed: Path) -> None:
    assert "may not be accessed" in (await refused_to_write(Files((sealed,)), "new.json")).message
