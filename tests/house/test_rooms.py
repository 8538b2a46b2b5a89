"""Each thing has its room: what may import what, who reads the environment, who writes to the terminal."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.house.sources import PACKAGES, ROOT, modules

FORBIDDEN_NAMES = {"utils", "util", "helpers", "helper", "manager", "common", "misc", "v2"}


@pytest.mark.requirement("deliver-1.layers")
def test_imports_follow_the_layers() -> None:
    lint = Path(sys.executable).with_name("lint-imports")
    report = subprocess.run([lint, "--no-cache"], cwd=ROOT, capture_output=True, text=True, timeout=60, check=False)
    assert report.returncode == 0, report.stdout


def test_only_the_composition_root_reads_the_environment() -> None:
    readers = [m.path for m in modules(*PACKAGES) if m.mentions("os.environ", "os.getenv", "environ", "getenv")]
    allowed = {"pattern/app.py", "pattern/__main__.py"}
    assert [path for path in readers if path not in allowed and not path.startswith("pattern/testing/")] == []


def test_only_the_command_line_and_the_transport_write_to_stdout() -> None:
    writers = [m.path for m in modules(*PACKAGES) if m.mentions("print", "sys.stdout")]
    assert [
        path for path in writers if not path.startswith(("pattern/cli/", "pattern/server/", "pattern/__main__"))
    ] == []


def test_no_room_has_a_name_that_says_nothing() -> None:
    names = {part.removesuffix(".py") for m in modules(*PACKAGES, "tests", "bench") for part in m.path.split("/")}
    assert names & FORBIDDEN_NAMES == set()


def test_no_task_is_born_outside_a_task_group() -> None:
    loose = [m.path for m in modules(*PACKAGES) if m.mentions("asyncio.create_task", "asyncio.ensure_future")]
    assert loose == []


def test_every_package_draws_its_map() -> None:
    silent = [m.path for m in modules(*PACKAGES) if m.path.endswith("__init__.py") and not m.text.startswith('"""')]
    assert silent == []
