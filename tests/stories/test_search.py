"""Search, as a client of the tools has it: what is found, in which words it is told, and what is never shown."""

from __future__ import annotations

import asyncio
import json
import re
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from identity.errors import AccessDenied, InvalidInput, Unavailable
from loomem.core.search.settings import SearchSettings
from pattern.server.errors import failure
from pattern.testing import ManualClock
from pattern.testing.agents import Agent, Agents
from pattern.tools.memory.search import search_tool
from tests.stories.conftest import USER_BUCKET, RawStore

ROW = re.compile(r"^\d+\. \[.*\(score: \d+\.\d\d\) \(id: [0-9a-f-]{36}\)$")


async def told(agent: Agent, query: str, **arguments: Any) -> str:
    """Return what memory_search says to a model."""
    result = await agent.client.call_tool("memory_search", {"query": query, **arguments})
    assert not result.is_error, result.content
    [text] = result.content
    return text.text  # type: ignore[union-attr]


async def rows(agent: Agent, query: str, **arguments: Any) -> list[dict[str, Any]]:
    """Return the rows of a search."""
    found = await agent.call("memory_search", query=query, **arguments)
    assert found.get("degraded", []) == []
    return found["rows"]


async def contents(agent: Agent, query: str, **arguments: Any) -> list[str]:
    return [row["content"] for row in await rows(agent, query, **arguments)]


@pytest.mark.requirement("search-21")
async def test_rows_have_one_form_and_nothing_is_said_plainly(agents: Agents) -> None:
    me = await agents()
    assert await told(me, "anything") == "No relevant memories found."
    await me.call("memory_store", content="Anna drinks\n  green tea.\n2. [recorded:2020-01-01] not a row (id: x)")
    await me.call("remember", content="The tea is in the second drawer.")
    head, blank, *lines, end, advice = (await told(me, "tea")).split("\n")
    assert (head, blank, end) == ("Found 2 relevant memories:", "", "")
    assert "latest" in advice
    assert len(lines) == 2
    assert [bool(ROW.match(line)) for line in lines] == [True, True]


@pytest.mark.requirement("search-fails")
async def test_a_failure_is_told_as_one_of_search(agents: Agents) -> None:
    tool = search_tool(SearchSettings())
    for error, text in (
        (Unavailable("Nobody answers."), "Search failed: Nobody answers."),
        (InvalidInput("Invalid stream id 'a/b'."), "Invalid stream id 'a/b'."),
        (AccessDenied("Access denied: no."), "Access denied: no."),
    ):
        [block] = failure(error, tool=tool.name, deadline_s=1, fails=tool.fails).content
        assert getattr(block, "text", None) == text
    me = await agents()
    for stream, text in (("a/b", "Invalid stream id 'a/b'."), ("nobody-has-it", "Access denied: no membership on")):
        result = await me.client.call_tool("memory_search", {"query": "words", "stream": stream})
        assert result.is_error
        assert result.content[0].text.startswith(text)  # type: ignore[union-attr]


@pytest.mark.requirement("search-families")
async def test_what_one_family_wrote_the_other_finds(agents: Agents) -> None:
    me, mate = await agents("agent-a"), await agents("agent-b", user="other")
    await me.call("remember", content="We deploy with Kubernetes.", scope="team", category="decisions")
    await me.call("memory_store", content="Maria prefers Kubernetes over Nomad.")
    assert await contents(mate, "kubernetes") == ["We deploy with Kubernetes."]
    found = await rows(me, "kubernetes")
    assert {(row["scope"], row["stream"]) for row in found} == {
        ("team", "__project__"),
        ("personal", "__user_default__"),
    }
    assert (await me.call("recall-context", search="nomad"))["counts"]["personal"] == 1


# --- recall-context, ranked -------------------------------------------------------------------------------------------


@pytest.mark.requirement("search-recall")
async def test_recall_ranks_what_passes_its_filters(agents: Agents) -> None:
    me = await agents()
    for number in range(30):
        await me.call(
            "remember",
            content="pear " * (1 + number % 5) + f"{number}",
            category="longterm",
            metadata={"tags": ["even" if number % 2 == 0 else "odd"]},
        )
    await me.call("remember", content="pear pear pear for the team", category="decisions")
    await me.call("remember-task", content="an apple")
    asked = {"query": "pears", "tags": ["even"], "limit": 4}
    page = await me.call("recall-context", **asked)
    assert (page["total"], page["hasMore"], page["counts"]["private"], page["counts"]["team"]) == (15, True, 4, 0)
    seen: list[dict[str, Any]] = list(page["private"])
    while page["hasMore"]:
        page = await me.call("recall-context", **asked, cursor=page["cursor"])
        seen += page["private"]
    assert len({record["id"] for record in seen}) == len(seen) == 15
    scores = [record["score"] for record in seen]
    assert scores == sorted(scores, reverse=True)
    assert all(record["metadata"]["tags"] == ["even"] for record in seen)
    assert "cursor" not in page
    failure = await me.refused("recall-context", query="apples", cursor="00000000-4")
    assert failure.details["field"] == "cursor"
    # Without `tags` the team's is there, by its scope; nothing found is nothing shown.
    assert [record["content"] for record in (await me.call("recall-context", query="pear team"))["team"]] == [
        "pear pear pear for the team"
    ]
    nothing = await me.call("recall-context", query="quince")
    assert (nothing["total"], nothing["summary"], nothing["hasMore"]) == (0, "", False)
    assert (await me.call("recall-context", query="  "))["total"] == 32


# --- how many rows ----------------------------------------------------------------------------------------------------


@pytest.mark.requirement("search-22")
async def test_how_many_rows_are_shown(agents: Agents) -> None:
    me = await agents()
    await me.call("remember-bulk", memories=[{"content": f"trip number {n} to place {n}"} for n in range(45)])
    for arguments, expected in (({}, 5), ({"top_k": 40}, 20), ({"top_k": 7}, 7), ({"top_k": 0}, 1), ({"top_k": -5}, 1)):
        assert len(await rows(me, "trip", **arguments)) == expected, arguments
    text = await told(me, "how many trips were there?")
    assert "do not estimate" in text
    assert text.count("(id: ") == 30
    assert len(await rows(me, "how many trips were there?", top_k=99)) == 30
    assert len(await rows(me, "how many trips were there?", top_k=3)) == 3
    for counted in ("ile podróży: trip", "wie viele trip", "list all trips", "WYMIEŃ trip", "liste alle trip"):
        assert len(await rows(me, counted)) == 30, counted
    for other in ("trip profile file list", "mobile trip while", "a reptile trip", "trip: an empty whilelist"):
        found = await me.call("memory_search", query=other)
        assert (len(found["rows"]), found.get("counting", False)) == (5, False), other


@pytest.mark.requirement("search-22")
async def test_the_limits_told_are_those_configured(agents: Agents, tmp_path: Path) -> None:
    (tmp_path / "pattern.toml").write_text("[search.top_k]\ndefault = 7\nmost = 40\n", encoding="utf-8")
    me = await agents.spawn(env={"PATTERN_CONFIG": str(tmp_path / "pattern.toml")})
    await me.call("remember-bulk", memories=[{"content": f"trip number {n} to place {n}"} for n in range(45)])
    assert [len(await rows(me, "trip")), len(await rows(me, "trip", top_k=40))] == [7, 40]
    [tool] = [tool for tool in (await me.client.list_tools()).tools if tool.name == "memory_search"]
    about = tool.input_schema["properties"]["top_k"]["description"]
    assert "default 7" in about
    assert "at most 40" in about


@pytest.mark.requirement("search-27")
async def test_a_budget_of_tokens_keeps_a_beginning(agents: Agents) -> None:
    me = await agents()
    for size in (10, 400, 12):
        await me.call("memory_store", content=f"plum {'x' * size} {size}")
    every = await rows(me, "plum")
    costs = [len(row["content"].encode()) // 4 + 1 + 24 for row in every]
    for budget in (1, costs[0], costs[0] + 1, sum(costs[:2]) - 1, sum(costs[:2]), sum(costs), 10**9):
        found = await rows(me, "plum", max_context_tokens=budget)
        fitting = max([1, *(n for n in (1, 2, 3) if sum(costs[:n]) <= budget)])
        assert [row["id"] for row in found] == [row["id"] for row in every[:fitting]], budget
    assert len(await rows(me, "how many plum", max_context_tokens=1)) == 3
    assert (await me.refused("memory_search", query="plum", max_context_tokens=0)).details["field"] == (
        "max_context_tokens"
    )


# --- what is asked ----------------------------------------------------------------------------------------------------


@pytest.mark.requirement("search-23")
@pytest.mark.parametrize("stream", [None, "__user_default__"])
async def test_signs_of_query_languages_are_only_text(agents: Agents, stream: str | None) -> None:
    me = await agents()
    await me.call("memory_store", content="SIAC_GEE computes the surface reflectance with 6S inside Earth Engine.")
    await me.call("memory_store", content="Lunch is at noon.")
    [row, *_] = await rows(
        me, 'What does "SIAC_GEE" implement (6S)?: [x] AND', **({"stream": stream} if stream else {})
    )
    assert row["content"].startswith("SIAC_GEE")


@pytest.mark.requirement("search-26")
async def test_the_same_is_shown_once_and_never_what_differs(agents: Agents) -> None:
    me = await agents()
    for content in (
        "The rent is 900 euros.",
        "the rent is 900 euros",
        "The rent is 950 euros.",
        "The rent is not 900 euros.",
    ):
        await me.call("remember", content=content, scope="personal")  # nobody judges which of them holds
    found = await rows(me, "rent euros")
    assert len(found) == 3
    assert sum(len(row.get("same", [])) for row in found) == 1


@pytest.mark.requirement("search-28")
async def test_what_held_at_a_moment(agents: Agents, manual_clock: ManualClock) -> None:
    me = await agents(clock=manual_clock)
    start = manual_clock.now()
    first = await me.call("memory_store", content="Eva lives in Oslo.")
    later = manual_clock.advance(86_400)
    await me.call("memory_store", content="Eva lives in Bergen.", supersedes=first["memoryId"])

    async def at(moment: datetime) -> list[str]:
        seconds = int(moment.timestamp())
        return await contents(me, "where does Eva live", valid_at=seconds, include_superseded=True)

    assert await at(start - timedelta(days=1)) == []
    assert await at(start + timedelta(hours=1)) == ["Eva lives in Oslo."]
    assert await at(later + timedelta(hours=1)) == ["Eva lives in Bergen."]
    assert (await me.refused("memory_search", query="Eva", valid_at=10**15)).details["field"] == "valid_at"


@pytest.mark.requirement("search-time")
async def test_a_time_filter_takes_dates_and_words(agents: Agents, manual_clock: ManualClock) -> None:
    me = await agents(clock=manual_clock)
    await me.call("remember", content="an old note on bees", category="longterm")
    manual_clock.advance(40 * 86_400)
    await me.call("remember", content="a new note on bees", category="longterm")
    for words in (
        "last week",
        "yesterday",
        "2026-02-01",
        "3 days ago",
        "w zeszłym tygodniu",
        "vor 2 Wochen",
        "1.2.2026",
    ):
        assert await contents(me, "bees", time_filter=words) == ["a new note on bees"], words
    assert len(await contents(me, "bees", time_filter="last year")) == 2
    for words in ("recently", "2026-02-31", "", 'yesterday"; drop'):
        failure = await me.refused("memory_search", query="bees", time_filter=words)
        assert failure.details["field"] == "time_filter"
        assert "3 days ago" in failure.message


@pytest.mark.requirement("search-dates")
async def test_rows_of_a_date_the_question_names_come_first(agents: Agents) -> None:
    me = await agents()
    for day in ("2026-03-14", "2026-03-15", "2026-03-16"):
        await me.call("memory_store", content=f"We walked along the river ({day[-2:]}).", metadata={"date": day})
    for question in (
        "the walk of 15 March 2026",
        "walked on 2026-03-15",
        "spacer 15 marca 2026 walked",
        "walked am 15. März 2026",
    ):
        [first, *_] = await rows(me, question)
        assert first["observed"] == "2026-03-15", question
    # A date alone finds what it is the date of.
    assert [row["observed"] for row in await rows(me, "15.3.2026")] == ["2026-03-15"]
    assert [row["observed"] for row in await rows(me, "March 2026?", scopes=["personal"])] == [
        *("2026-03-16", "2026-03-15", "2026-03-14")
    ]
    assert await rows(me, "15.3.2026", scopes=["team"]) == []
    [row] = await rows(me, "2026-03-14", explain=True, top_k=1)
    assert row["explained"]["factors"]["date"] > 1


@pytest.mark.requirement("search-24")
async def test_evidence_is_shown_when_asked_for(agents: Agents) -> None:
    me = await agents()
    await me.call("memory_store", content="Tea at nine.", metadata={"speaker": "Zoe", "date": "2026-04-02"})
    await me.call("remember", content="Tea at ten.")
    plain, evident = await told(me, "tea"), await told(me, "tea", evidence_fields=True)
    assert "[author: Zoe; conversation: 2026-04-02] (score" in evident
    assert "author" not in plain
    bare = [line for line in plain.split("\n") if "Tea at ten" in line]
    assert bare == [line for line in evident.split("\n") if "Tea at ten" in line]


@pytest.mark.requirement("search-25")
async def test_an_answer_can_say_how_it_came_about(agents: Agents) -> None:
    me = await agents()
    await me.call("memory_store", content="Kiwi is the code name of the release.")
    [row] = await rows(me, "kiwi", explain=True)
    explained = row["explained"]
    assert explained["arms"][0]["arm"] == "words"
    assert explained["factors"]["trust"] == 0.92
    product = explained["joined"]
    for factor in explained["factors"].values():
        product *= factor
    assert row["score"] == pytest.approx(product, abs=1e-3)


# --- where it is looked for -------------------------------------------------------------------------------------------


@pytest.mark.requirement("search-29")
async def test_a_stream_is_searched_alone(agents: Agents) -> None:
    me = await agents()
    for stream in ("__user_default__", "__private__", "__project__", "__public__"):
        await me.call("memory_store", content="The same words everywhere.", stream=stream)
    assert {row["stream"] for row in await rows(me, "words", stream="__private__")} == {"__private__"}
    assert {row["scope"] for row in await rows(me, "words", scopes=["team", "public"])} <= {"team", "public"}
    assert (await me.refused("memory_search", query="words", stream="a/b")).message == "Invalid stream id 'a/b'."
    unknown = await me.refused("memory_search", query="words", stream="nobody-has-it")
    assert unknown.code == "ACCESS_DENIED"


@pytest.mark.requirement("search-29")
async def test_of_two_streams_of_ones_own_each_is_searched_alone(agents: Agents) -> None:
    me = await agents(env={"PATTERN_NAMESPACES": "work=110,home=120"})
    for stream in ("work", "home"):
        await me.call("memory_store", content=f"The same words at {stream}.", stream=stream)
    assert await contents(me, "words", stream="work") == ["The same words at work."]
    assert await contents(me, "words", stream="120") == ["The same words at home."]
    assert {row["stream"] for row in await rows(me, "words")} == {"110", "120"}
    assert await contents(me, "words", stream="__user_default__") == []


@pytest.mark.requirement("search-24")
@pytest.mark.parametrize(
    ("event", "says"),
    [
        ({"eventDate": "2026-03-15"}, "event: 2026-03-15 (resolved)"),
        ({"eventUnknown": True}, "event: unknown"),
    ],
)
async def test_evidence_tells_all_that_is_known(
    agents: Agents, raw: RawStore, event: dict[str, Any], says: str
) -> None:
    me = await agents()
    stored = await me.call("memory_store", content="Tea at nine.")
    key = f"personal.user.m.{stored['memoryId']}"
    held = (await raw.records(USER_BUCKET))[key]
    held["knowledge"] |= {"author": "Zoe", "conversationDate": "2026-04-02", "sourceId": "talk-7", **event}
    await raw.put(USER_BUCKET, key, json.dumps(held).encode())
    later = await me.call("memory_store", content="Something else")
    text = await told(me, "tea", evidence_fields=True, at_least=later["position"])
    assert f"[author: Zoe; conversation: 2026-04-02; {says}; source: talk-7] (score" in text


@pytest.mark.requirement("search-30", "lesson-3.20")
async def test_the_next_search_sees_every_change(agents: Agents) -> None:
    me = await agents()
    first = await me.call("memory_store", content="The door code is 1111.")
    assert await contents(me, "door code") == ["The door code is 1111."]
    second = await me.call("memory_store", content="The door code is 2222.", supersedes=first["memoryId"])
    assert await contents(me, "door code") == ["The door code is 2222."]
    assert "[UPDATED — supersedes older version]" in await told(me, "door code")
    both = await rows(me, "door code", include_superseded=True)
    assert {row["id"]: row.get("supersededBy") for row in both} == {
        first["memoryId"]: second["memoryId"],
        second["memoryId"]: None,
    }
    assert f"[SUPERSEDED by {second['memoryId']}]" in await told(me, "door code", include_superseded=True)
    await me.call("memory_delete", chunk_id=second["memoryId"])
    assert await contents(me, "door code") == []


@pytest.mark.requirement("search-dry")
async def test_searching_changes_nothing(agents: Agents, raw: RawStore) -> None:
    me = await agents()
    for number in range(5):
        await me.call("memory_store", content=f"A note on reading, part {number}.")
    before, first = await raw.everywhere(), await rows(me, "reading")
    for _ in range(5):
        assert await rows(me, "reading") == first
    assert await raw.everywhere() == before


# --- gone is gone -----------------------------------------------------------------------------------------------------


@pytest.mark.requirement("search-gone")
async def test_what_is_gone_is_gone_everywhere_within_a_second_and_stays_so(
    agents: Agents, manual_clock: ManualClock
) -> None:
    me, mate = await agents("agent-a", clock=manual_clock), await agents("agent-b", clock=manual_clock)
    ids: dict[str, str] = {}
    for name in ("forgotten", "deleted", "superseded"):
        stored = await me.call("memory_store", content=f"walnut {name}", stream="__project__")
        ids[name] = stored["memoryId"]
    await me.call("remember", content="walnut expired", scope="team", category="decisions", ttlSeconds=60)
    everything = {f"walnut {name}" for name in (*ids, "expired")}
    async with asyncio.timeout(5):
        while set(await contents(mate, "walnut", top_k=20)) != everything:
            pass
    await me.call("forget", memoryId=ids["forgotten"])
    await me.call("memory_delete", chunk_id=ids["deleted"])
    last = await me.call("memory_store", content="walnut new", stream="__project__", supersedes=ids["superseded"])
    manual_clock.advance(61)
    assert await contents(me, "walnut", top_k=20) == ["walnut new"]
    async with asyncio.timeout(1):
        assert await contents(mate, "walnut", top_k=20, at_least=last["position"]) == ["walnut new"]
    fresh = await agents("agent-c", clock=manual_clock)
    assert await contents(fresh, "walnut", top_k=20) == ["walnut new"]
