"""The same memories whatever the machine says of time zones and characters: stored times are UTC, dates have a stated zone."""

from __future__ import annotations

import os
import subprocess
import sys
from datetime import UTC, datetime

import pytest

from pattern.testing import ManualClock
from pattern.testing.agents import Agents
from tests.house.sources import ROOT
from tests.stories.served import C_LOCALE

TIMES = "date or time or expir or since or bound or moment or zone or stored or iso or lives"
FILES = (
    "tests/laws/test_record.py",
    "tests/laws/test_recall.py",
    "tests/laws/test_settings.py",
    "tests/stories/test_recall.py",
    "tests/stories/test_beyond.py",
    "tests/stories/test_scenarios.py",
    "tests/stories/test_search.py",
)


@pytest.mark.requirement("lesson-3.17.stored")
async def test_stored_times_are_utc_and_naive_dates_are_read_in_the_stated_zone(
    agents: Agents, manual_clock: ManualClock
) -> None:
    manual_clock.set(datetime(2026, 3, 28, 20, 0, tzinfo=UTC))  # 01:30 of the next day in India
    india = await agents("india", clock=manual_clock, env={"PATTERN_TIMEZONE": "Asia/Kolkata"})
    greenwich = await agents("greenwich", clock=manual_clock)
    written = await india.call("remember", content="when was this?", category="decisions")
    stored = (await india.call("get-memory", memoryId=written["memoryId"]))["memory"]
    assert stored["createdAt"] == "2026-03-28T20:00:00.000Z"

    async def seen(agent: str, **bounds: str) -> int:
        reader = india if agent == "india" else greenwich
        return (await reader.call("recall-context", atLeast=written["position"], **bounds))["total"]

    assert await seen("india", createdAfter="2026-03-29") == 1
    assert await seen("greenwich", createdAfter="2026-03-29") == 0
    assert await seen("greenwich", createdAfter="2026-03-29T01:30:00+05:30") == 1
    assert await seen("india", createdBefore="2026-03-29T01:29:59") == 0


@pytest.mark.timeout(300)
@pytest.mark.requirement("lesson-3.17.zones")
@pytest.mark.parametrize(
    "settings",
    [{"TZ": "Asia/Kolkata"}, {"TZ": "America/New_York"}, C_LOCALE],
    ids=["Kolkata", "New York", "C locale"],
)
def test_what_depends_on_time_passes_elsewhere(settings: dict[str, str]) -> None:
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *FILES, "-k", TIMES]
    environment = {**os.environ, **settings}
    run = subprocess.run(
        command, cwd=ROOT, env=environment, capture_output=True, encoding="utf-8", timeout=280, check=False
    )
    assert run.returncode == 0, run.stdout[-3000:] + run.stderr[-2000:]
    assert " passed" in run.stdout
