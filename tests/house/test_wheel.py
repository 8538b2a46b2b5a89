"""The wheel holds the three packages, and what it unpacks to runs by itself."""

from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from tests.house.sources import PACKAGES, ROOT


@pytest.mark.requirement("deliver-1.wheel")
def test_the_built_wheel_runs_without_the_sources(tmp_path: Path) -> None:
    build = [sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", tmp_path]
    subprocess.run(build, cwd=ROOT, check=True, capture_output=True, timeout=60)
    (wheel,) = tmp_path.glob("*.whl")
    unpacked = tmp_path / "unpacked"
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(unpacked)
    assert {path.name for path in unpacked.iterdir() if "-" not in path.name} == set(PACKAGES)
    assert all((unpacked / package / "py.typed").exists() for package in PACKAGES)

    run = [sys.executable, "-m", "pattern", "--version"]
    told = subprocess.run(
        run,
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(unpacked)},
        capture_output=True,
        text=True,
        timeout=30,
        check=True,
    )
    version = wheel.name.split("-")[1]
    assert version in told.stdout
