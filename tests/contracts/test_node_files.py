"""What a node keeps on disk stays small, whole and private; what the kernel must do, it does."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from identity.errors import Unavailable
from loomem.node import NodeFiles
from loomem.node.process import is_alive, is_locked, require_posix, start_mark, take_lock, try_lock
from loomem.node.state import LOG_BYTES_MAX


@pytest.fixture
def files(tmp_path: Path) -> NodeFiles:
    files = NodeFiles(tmp_path / "home" / "node" / "embedded")
    files.prepare(tmp_path / "home")
    return files


def test_a_long_log_is_put_aside_before_a_start(files: NodeFiles) -> None:
    files.log.write_bytes(b"x" * LOG_BYTES_MAX)
    files.rotate_log()
    assert files.log_size() == LOG_BYTES_MAX

    files.log.write_bytes(b"x" * LOG_BYTES_MAX + b"y")
    files.rotate_log()
    assert files.log_size() == 0
    assert files.log.with_suffix(".log.1").stat().st_size == LOG_BYTES_MAX + 1


def test_a_log_that_grows_long_is_emptied_under_those_who_write_it(files: NodeFiles) -> None:
    descriptor = files.open_log()
    try:
        os.write(descriptor, b"old\n" * LOG_BYTES_MAX)
        files.trim_log()
        os.write(descriptor, b"new\n")
    finally:
        os.close(descriptor)

    assert files.log.read_bytes() == b"new\n"
    assert files.log.with_suffix(".log.1").stat().st_size == LOG_BYTES_MAX


def test_the_log_tail_starts_behind_its_offset_and_has_so_many_lines(files: NodeFiles) -> None:
    assert files.log_tail(3) == ""
    files.log.write_text("one\ntwo\nthree\nfour\n")
    assert files.log_tail(2) == "three\nfour"
    assert files.log_tail(9, offset=len("one\n")) == "two\nthree\nfour"


def test_the_token_is_made_once_and_the_node_id_follows_it(files: NodeFiles) -> None:
    token, node_id = files.secret(), files.node_id()
    again = NodeFiles(files.root)
    assert (again.secret(), again.node_id()) == (token, node_id)
    assert node_id not in token
    assert token not in node_id


def test_a_folder_open_to_others_is_closed(files: NodeFiles, tmp_path: Path) -> None:
    files.root.chmod(0o755)
    files.prepare(tmp_path / "home")
    assert files.root.stat().st_mode & 0o777 == 0o700


def test_a_state_of_another_time_is_no_state(files: NodeFiles) -> None:
    assert files.read_state() is None
    files.state.write_text('{"phase": "levitating"}')
    assert files.read_state() is None


@pytest.mark.requirement("deliver-2.lock")
async def test_a_lock_is_held_by_one_open_file_and_free_when_it_is_closed(files: NodeFiles) -> None:
    assert is_locked(files.lock) is False
    held = try_lock(files.lock)
    assert held is not None
    assert is_locked(files.lock) is True
    assert try_lock(files.lock) is None
    assert await take_lock(files.lock, 0.05) is None

    inherited = os.dup(held)
    os.close(held)
    assert is_locked(files.lock) is True
    os.close(inherited)
    again = await take_lock(files.lock, 1)
    assert again is not None
    os.close(again)


def test_a_process_is_told_from_another_with_its_id() -> None:
    mark = start_mark(os.getpid())
    assert is_alive(os.getpid(), mark)
    assert not is_alive(os.getpid(), "0")
    assert not is_alive(2**22 + 1, None)


def test_windows_is_told_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(sys, "platform", "win32")
        with pytest.raises(Unavailable, match="NATS_URL") as failure:
            require_posix()
    assert "Windows" in failure.value.message
