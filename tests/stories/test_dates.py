"""Dates of what was taken from conversations, as a client of search has them: which are shown, and what a filter keeps."""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from loomem.core.dates import anchor_of, resolve
from pattern.testing import ManualClock
from pattern.testing.agents import Agent, Agents
from tests.stories.conftest import USER_BUCKET, RawStore
from tests.stories.test_search import contents, rows, told

SUNDAY = datetime(2026, 4, 5, 12, tzinfo=UTC)
WARSAW = {"PATTERN_TIMEZONE": "Europe/Warsaw"}


async def taken(raw: RawStore, me: Agent, content: str, **knowledge: Any) -> str:
    """Store a memory as one that was taken from a conversation, and return its id."""
    stored = await me.call("memory_store", content=content)
    key = f"personal.user.m.{stored['memoryId']}"
    held = (await raw.records(USER_BUCKET))[key]
    held["knowledge"] |= {"contract": 1, "author": "user", "sourceId": "talk-7", **knowledge}
    await raw.put(USER_BUCKET, key, json.dumps(held).encode())
    return stored["memoryId"]


async def settled(me: Agent) -> None:
    """Wait until the memories that were put beside the tools are seen."""
    later = await me.call("memory_store", content="Nothing of interest.")
    await me.call("memory_search", query="nothing", at_least=later["position"])


def marks(text: str, content: str) -> str:
    """Return the dates that stand before a row."""
    [line] = [line for line in text.split("\n") if content in line]
    return " ".join(re.findall(r"\[(?:event:|observed:|recorded:)?\d{4}-\d\d-\d\d\]", line))


def event_of(words: str, conversation: str | None, zone: str) -> dict[str, Any]:
    """Return the dates of what was said in a conversation, as the taking in of it reads them."""
    anchor = anchor_of(conversation, ZoneInfo(zone))
    found = resolve(words, anchor)
    day = {} if anchor is None else {"conversationDate": anchor.isoformat()}
    return day | ({"eventUnknown": True} if found is None else {"eventDate": found.first.isoformat()})


@pytest.mark.requirement("dates-16", "dates-marks")
async def test_what_nobody_dated_is_found_by_no_date(agents: Agents, raw: RawStore, manual_clock: ManualClock) -> None:
    manual_clock.set(SUNDAY)
    me = await agents(clock=manual_clock)
    today = manual_clock.now().date().isoformat()
    await taken(raw, me, "I moved to Ulm yesterday.", **event_of("yesterday", "2026-04-02", "UTC"))
    await taken(raw, me, "I moved to Bonn yesterday.", **event_of("yesterday", None, "UTC"))
    await me.call("remember", content="We moved the old piano.")
    await settled(me)
    moved = {"I moved to Ulm yesterday.", "I moved to Bonn yesterday.", "We moved the old piano."}
    assert set(await contents(me, "moved")) == moved
    for words in ("2020-01-01", "last year"):
        since = set(await contents(me, "moved", time_filter=words))
        assert "I moved to Bonn yesterday." not in since
        assert "We moved the old piano." in since
    assert "I moved to Ulm yesterday." in await contents(me, "moved", time_filter="2020-01-01")
    text = await told(me, "moved")
    assert marks(text, "to Ulm") == f"[event:2026-04-01] [observed:2026-04-02] [recorded:{today}]"
    assert marks(text, "to Bonn") == f"[recorded:{today}]"
    assert marks(text, "piano") == f"[{today}]"


@pytest.mark.requirement("dates-marks")
async def test_a_row_of_another_kind_has_one_date(agents: Agents, raw: RawStore, manual_clock: ManualClock) -> None:
    me = await agents(clock=manual_clock)
    await taken(raw, me, "The oven broke.", contract=None, eventDate="2026-03-15")
    await me.call("memory_store", content="The oven is old.", metadata={"date": "2026-03-16"})
    await settled(me)
    text = await told(me, "oven")
    assert marks(text, "broke") == "[2026-03-15]"
    assert marks(text, "oven is old") == f"[{manual_clock.now().date()}] [observed:2026-03-16]"
    [row] = [row for row in await rows(me, "oven broke") if row["content"] == "The oven broke."]
    assert "contract" not in row


@pytest.mark.requirement("search-24", "dates-marks")
async def test_evidence_of_a_conversation(agents: Agents, raw: RawStore) -> None:
    me = await agents()
    await taken(raw, me, "Moved to Ulm.", conversationDate="2026-04-02", eventDate="2026-04-01", byteStart=3, byteEnd=9)
    await taken(raw, me, "Moved to Bonn.", conversationDate="2026-04-02")
    await me.call("remember", content="Moved to Kiel.")
    await settled(me)
    plain, evident = await told(me, "moved"), await told(me, "moved", evidence_fields=True)
    assert "[author: user; conversation: 2026-04-02; event: 2026-04-01 (resolved); source: talk-7] (score" in evident
    assert "[author: user; conversation: 2026-04-02; event: unknown; source: talk-7] (score" in evident

    def kiel(text: str) -> list[str]:
        return [line for line in text.split("\n") if "Kiel" in line]

    assert kiel(plain) == kiel(evident)
    assert all("byte" not in key.lower() for row in await rows(me, "moved") for key in row)


@pytest.mark.requirement("dates-16", "dates-zones")
async def test_near_midnight_the_day_is_the_one_of_the_reader(
    agents: Agents, raw: RawStore, manual_clock: ManualClock
) -> None:
    # Clocks in Warsaw change on 29 March 2026; half past eleven at night in UTC is the next day there.
    manual_clock.set(datetime(2026, 3, 28, 23, 30, tzinfo=UTC))
    me = await agents(clock=manual_clock, env=WARSAW)
    said = "2026-03-28T23:10:00Z"
    await taken(raw, me, "Wczoraj kupiłem rower.", **event_of("wczoraj", said, "Europe/Warsaw"))
    await taken(raw, me, "Dziś sprzedałem rower.", **event_of("dziś", said, "Europe/Warsaw"))
    await settled(me)
    text = await told(me, "rower")
    assert marks(text, "kupiłem") == "[event:2026-03-28] [observed:2026-03-29] [recorded:2026-03-29]"
    assert marks(text, "sprzedałem") == "[event:2026-03-29] [observed:2026-03-29] [recorded:2026-03-29]"
    assert await contents(me, "rower", time_filter="dziś") == ["Dziś sprzedałem rower."]
    assert set(await contents(me, "rower", time_filter="yesterday")) == {
        "Dziś sprzedałem rower.",
        "Wczoraj kupiłem rower.",
    }
    assert await contents(me, "rower", time_filter="morgen") == []


@pytest.mark.requirement("dates-queries")
async def test_questions_speak_of_dates_in_words(agents: Agents, raw: RawStore, manual_clock: ManualClock) -> None:
    manual_clock.set(SUNDAY)
    me = await agents(clock=manual_clock)
    for day in ("2026-03-27", "2026-04-01", "2026-04-03"):
        await taken(raw, me, f"The walk led to the river ({day[-2:]}).", eventDate=day)
    await settled(me)
    for question, day in (
        ("the walk of last Friday", "2026-04-03"),
        ("the walk of Friday last week", "2026-03-27"),
        ("walk w zeszłą środę", "2026-04-01"),
        ("walk letzten Mittwoch", "2026-04-01"),
        ("walk two days ago", "2026-04-03"),
    ):
        assert (await rows(me, question))[0]["event"] == day, question
    for filter_, count in (("last Friday", 1), ("letzten Mittwoch", 2), ("ostatnie 7 dni", 2), ("the last 2 weeks", 3)):
        assert len(await contents(me, "walk", time_filter=filter_)) == count, filter_
