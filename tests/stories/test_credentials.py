"""The tools under broker credentials of each agent's own: the same stories, on a broker that keeps agents apart."""

from __future__ import annotations

import re
import subprocess
import sys

import pytest

from tests.house.sources import ROOT

STORIES = ("create", "recall", "lifecycle", "bulk", "transfer", "beyond", "isolation")
AT_LEAST = 60
"""Fewer would mean that the choice of stories has gone wrong."""


@pytest.mark.timeout(400)
@pytest.mark.requirement("shown-credentials")
def test_the_stories_hold_with_credentials_for_each_agent() -> None:
    files = [f"tests/stories/test_{story}.py" for story in STORIES]
    run = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--guarded", *files],
        cwd=ROOT,
        capture_output=True,
        encoding="utf-8",
        timeout=380,
        check=False,
    )
    assert run.returncode == 0, run.stdout[-4000:] + run.stderr[-2000:]
    passed = re.search(r"(\d+) passed", run.stdout)
    assert passed is not None
    assert int(passed[1]) >= AT_LEAST
