"""Over every verb, error texts and counts included, nobody sees what the table of visibility denies it.

Calls are drawn at random: two agents of a project, a sub-agent, the user's agent in a second project, and a second user
there, on one store. After each call the buckets are read by a stranger to the service, who judges what was told and what
was written; then the caller recalls everything, which must be exactly what the table gives it.
"""

from __future__ import annotations

import asyncio
import json
import uuid
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import HealthCheck, Phase, given, note, settings
from hypothesis import strategies as st

from pattern.testing import AccountPool, NatsAccount
from tests.stories.leaks import (
    BUCKETS,
    CAST,
    UNCONFIGURED,
    Leak,
    Player,
    World,
    counted,
    gone,
    in_stream,
    world,
)

SCOPES = ("private", "personal", "team", "public")
CATEGORIES = ("recent", "tasks", "longterm", "core", "decisions", "architecture", "learnings")
BY_SCOPE = {scope: CATEGORIES[:4] if scope in SCOPES[:2] else CATEGORIES[4:] for scope in SCOPES}
NOW = "2026-01-02T03:04:05.000Z"
LENGTH = 100
"""Calls of one game, and as many more to see what became of them."""
ODD = "odd"
"""An id that is no UUID, as imports may bring one."""


class Call(msgspec.Struct, frozen=True):
    """What is drawn for one call; each verb reads of it what it needs."""

    who: str
    verb: str
    scope: str
    pick: int
    other: int
    flag: bool
    flip: bool


class Turn:
    """One call in the world."""

    def __init__(self, world: World, call: Call) -> None:
        self.world = world
        self.call = call
        self.me = world.players[call.who]
        self.ident = world.ids[call.pick % len(world.ids)]
        """Of any memory there ever was, whosever it is."""
        self.another = world.ids[call.other % len(world.ids)]
        kinds = BY_SCOPE[call.scope]
        self.category = kinds[call.pick % len(kinds)]

    async def tool(self, name: str, said: str = "", /, **arguments: Any) -> dict[str, Any]:
        return await self.world.call(self.me, name, arguments, said)

    def memory(self) -> dict[str, Any]:
        """Return arguments of a new memory that is full of words nobody else may see."""
        marker = self.world.marker()
        labels = {
            "tags": [f"tag-{self.world.marker()}"],
            "relatedTo": [self.ident, self.another],
            "source": f"src-{self.world.marker()}",
            "free": {self.world.marker(): [self.world.marker()]},
        }
        return {"content": f"content {marker}", "metadata": labels}


# --- the verbs --------------------------------------------------------------------------------------------------------


async def remember(turn: Turn) -> None:
    call = turn.call
    more = {"ttlSeconds": 60} if call.flag and turn.category != "core" else {}
    before = set(turn.world.held)
    answer = await turn.tool("remember", scope=call.scope, category=turn.category, **turn.memory(), **more)
    _check_home(turn, before, answer, call.scope, turn.category)


async def shortcut(turn: Turn) -> None:
    tool, scope, category = (
        ("remember-task", "private", "tasks"),
        ("remember-learning", "private", "recent"),
        ("core-memory", "personal", "core"),
    )[turn.call.pick % 3]
    before = set(turn.world.held)
    _check_home(turn, before, await turn.tool(tool, **turn.memory()), scope, category)


def _check_home(turn: Turn, before: set[tuple[str, str]], answer: dict[str, Any], scope: str, category: str) -> None:
    (new,) = set(turn.world.held) - before
    bucket, root = turn.me.home_of(scope, category)
    assert (new[0], new[1].split(".")[0]) == (bucket, root), new
    assert new[1].endswith(answer["memoryId"])


async def remember_bulk(turn: Turn) -> None:
    memories = [{**turn.memory(), "scope": scope, "category": BY_SCOPE[scope][1]} for scope in SCOPES]
    if turn.call.flip:
        memories.append({**turn.memory(), "scope": "team", "category": "core"})
    await turn.tool("remember-bulk", memories=memories, validate=turn.call.flag)


async def by_id(turn: Turn) -> None:
    """Every tool that takes an id: a hidden one is answered as one that never was."""
    call = turn.call
    choices: list[tuple[str, dict[str, Any]]] = [
        ("get-memory", {}),
        ("forget", {"force": call.flag}),
        ("commit-insight", {"targetScope": "personal"} if call.flag else {}),
        ("share-learning", {"force": call.flag, "keepOriginal": call.flip}),
        ("update-memory", {"expectedRevision": 1 + call.other % 40, **turn.memory()}),
        ("update-memory", {"expectedRevision": 1 + call.other % 40, "category": "longterm"}),
    ]
    tool, more = choices[call.other % len(choices)]
    await _named(turn, tool, "memoryId", more)


async def _named(turn: Turn, tool: str, field: str, more: dict[str, Any]) -> None:
    """Call a tool with the id of a memory, and once more with one that never was when the caller cannot know it."""
    world = turn.world
    hidden = turn.ident not in {record["id"] for at, record in world.held.items() if turn.me.may_read(at)}
    answer = await turn.tool(tool, **{field: turn.ident}, **more)
    if hidden:
        never = f"n{uuid.uuid4().hex}" if turn.ident == ODD else str(uuid.uuid4())
        other = await turn.tool(tool, **{field: never}, **more)
        if json.dumps(answer).replace(turn.ident, never) != json.dumps(other):
            raise Leak(f"{tool} tells a hidden memory from none: {answer}, {other}")


# --- of the knowledge tools -------------------------------------------------------------------------------------------

RATED = {"usefulness": 3, "harmful": False, "model_version": "model-1"}


def _words(me: Player) -> dict[str, tuple[str, str]]:
    """Return the words by which a player may name a place to store in, each with its bucket and root."""
    private, personal, team, public = (me.home_of(scope, "longterm") for scope in SCOPES)
    words = {
        "": personal,
        "personal": personal,
        "__user_default__": personal,
        "__private__": private,
        "__project__": team,
        "project": team,
        "__public__": public,
    }
    if me.who.subagent is None and me.who not in [CAST[name] for name in UNCONFIGURED]:
        words |= {"work": (me.who.user_bucket, "streams"), me.who.stream: (me.who.user_bucket, "streams")}
    return words


async def store(turn: Turn) -> None:
    """Store a fact in each place that may be named."""
    call, words = turn.call, _words(turn.me)
    word = list(words)[call.pick % len(words)]
    before, given = set(turn.world.held), turn.memory()
    if call.flag:
        given |= {"subject": turn.world.marker(), "relations": [dict.fromkeys(("subject", "relation", "object"), "x")]}
    answer = await turn.tool("memory_store", **given, stream=word)
    (new,) = set(turn.world.held) - before
    assert (new[0], new[1].split(".")[0]) == words[word], new
    assert new[1].endswith(answer["memoryId"])


async def fact_by_id(turn: Turn) -> None:
    """Every knowledge tool that takes an id, a stream beside it or not."""
    call, words = turn.call, list(_words(turn.me))
    where = {"stream": words[call.pick % len(words)]} if call.flip else {}
    choices: list[tuple[str, str, dict[str, Any]]] = [
        ("memory_history", "chunk_id", where),
        ("memory_delete", "chunk_id", where),
        ("memory_feedback", "chunk_id", {**RATED, "justification": f"why {turn.world.marker()}"}),
        ("memory_feedback", "chunk_id", {"withdraw": True}),
        ("memory_store", "supersedes", {**turn.memory(), **where}),
    ]
    tool, field, more = choices[call.other % len(choices)]
    await _named(turn, tool, field, more)


async def search(turn: Turn) -> None:
    """Search with words of what may be hidden, everywhere or in one place."""
    call, world = turn.call, turn.world
    query = "content"
    if world.held:
        query = list(world.held.values())[call.pick % len(world.held)]["content"] or query
    words = list(_words(turn.me))
    choices: list[dict[str, Any]] = [
        {},
        {"stream": words[call.pick % len(words)]},
        {"scopes": [call.scope], "max_context_tokens": 50},
        {"valid_at": int(world.clock.now().timestamp()), "time_filter": "3 days ago"},
        {"at_least": f"{BUCKETS[call.pick % len(BUCKETS)]}@1"},
    ]
    more = choices[call.other % len(choices)]
    answer = await turn.tool(
        "memory_search",
        query=query if call.flip else "content",
        include_superseded=call.flag,
        evidence_fields=call.flag,
        explain=call.flip,
        top_k=1 + call.pick % 30,
        **more,
    )
    visible = {record["id"] for record in world.visible(turn.me)}
    rows = answer.get("rows", [])
    assert {ident for row in rows for ident in (row["id"], *row.get("same", []))} <= visible


async def foreign_stream(turn: Turn) -> None:
    """The stream of another user is answered as one that never was."""
    others = {player.who.stream for player in turn.world.players.values()} - {turn.me.who.stream}
    if turn.me.who.subagent is not None:
        others.add(turn.me.who.stream)
    stream = sorted(others)[turn.call.pick % len(others)]
    needed: dict[str, dict[str, Any]] = {
        "memory_search": {"query": "content"},
        "memory_store": turn.memory(),
        "memory_history": {"chunk_id": turn.ident},
        "memory_delete": {"chunk_id": turn.ident},
        "memory_status": {},
        "memory_stats": {},
    }
    tool = list(needed)[turn.call.other % len(needed)]
    never = "stream-of-nobody"
    answer = await turn.tool(tool, **needed[tool], stream=stream)
    other = await turn.tool(tool, **needed[tool], stream=never)
    if json.dumps(answer).replace(stream, never) != json.dumps(other) or answer.get("code") != "ACCESS_DENIED":
        raise Leak(f"{tool} tells another's stream from none: {answer}, {other}")


async def numbers(turn: Turn) -> None:
    """Names and counts are those of what is visible."""
    world, me = turn.world, turn.me
    await turn.tool("memory_namespaces")
    words = list(_words(me))
    where = {"stream": words[turn.call.pick % len(words)]} if turn.call.flip else {}
    status, stats = await turn.tool("memory_status", **where), await turn.tool("memory_stats", **where)
    visible = [
        record
        for address, record in world.held.items()
        if me.may_read(address) and not gone(record) and world.live(record) and _lies_in(me, address, where)
    ]
    told = stats["health"]["live"] + stats["health"]["superseded"]
    assert status["memories"] == stats["health"]["live"]
    assert told <= len(visible)
    assert told == len(visible) or world.twins(me)


def _lies_in(me: Player, address: tuple[str, str], where: dict[str, str]) -> bool:
    if not where.get("stream"):
        return True
    bucket, root = _words(me)[where["stream"]]
    parts = address[1].split(".")
    if (bucket, root) == (me.who.project_bucket, "agents"):
        return address[0] == bucket and parts[0] in ("agents", "core") and parts[1] == me.id
    return (address[0], parts[0]) == (bucket, root)


async def forget_bulk(turn: Turn) -> None:
    await turn.tool("forget-bulk", memoryIds=[turn.ident, turn.another], force=turn.call.flag)


async def recall(turn: Turn) -> None:
    """Recall with filters that name what may be hidden."""
    call, world = turn.call, turn.world
    record: dict[str, Any] = {"content": "x"}
    if world.held:
        record = list(world.held.values())[call.pick % len(world.held)]
    labels: dict[str, Any] = record.get("metadata", {})
    filters: list[dict[str, Any]] = [
        {"search": (record["content"].split() or ["x"])[-1]},
        {"query": record["content"] or "x", "includeSuperseded": call.flip},
        {"query": "content", "limit": 2, "scopes": [call.scope]},
        {"tags": labels.get("tags", [])},
        {"tagsAny": labels.get("tags", ["none"])},
        {"relatedTo": turn.ident, "depth": 3},
        {"scopes": [call.scope], "categories": [turn.category]},
        {"limit": 1 + call.other % 3},
        {"limit": 2, "cursor": world.cursors[call.pick % len(world.cursors)]} if world.cursors else {},
        {"atLeast": f"{BUCKETS[call.pick % len(BUCKETS)]}@1"},
        {"createdAfter": NOW, "updatedBefore": NOW, "minPriority": 2},
    ]
    answer = await turn.tool("recall-context", includeExpired=call.flag, **filters[call.other % len(filters)])
    if "cursor" in answer:
        world.cursors.append(answer["cursor"])
    if "total" in answer:
        _check_subset(turn, answer)
    if "relatedTo" in filters[call.other % len(filters)]:
        assert _ids(answer) <= related(world.visible(turn.me), turn.ident, 3)


def _ids(answer: dict[str, Any]) -> set[str]:
    return {memory["id"] for scope in SCOPES for memory in answer[scope]}


def _check_subset(turn: Turn, answer: dict[str, Any]) -> None:
    visible = turn.world.visible(turn.me)
    assert _ids(answer) <= {record["id"] for record in visible}
    assert answer["total"] <= len(visible)
    assert answer["counts"]["expired"] <= len([record for record in visible if not turn.world.live(record)])


def related(visible: list[dict[str, Any]], start: str, depth: int) -> set[str]:
    """Return what is at most so many links away, over visible memories alone."""
    links = [(record["id"], other) for record in visible for other in record.get("metadata", {}).get("relatedTo", [])]
    found, reached = {start}, {start}
    for _ in range(depth):
        reached = {b for pair in links for a, b in (pair, pair[::-1]) if a in reached}
        found |= reached
    return found - {start}


async def export(turn: Turn) -> None:
    answer = await turn.tool("export-memories", outputPath="all.json", includeExpired=turn.call.flag)
    text = await asyncio.to_thread(Path(answer["filepath"]).read_text, encoding="utf-8")
    turn.world.judge_file(turn.me, text)
    written = counted(json.loads(text)["memories"])
    assert written <= counted(turn.world.recallable(turn.me))
    # What only a deleted memory took the place of would come back where the file is read.
    replaced = {
        ident
        for record in turn.world.held.values()
        if gone(record)
        for ident in record.get("knowledge", {}).get("supersedes", [])
    }
    own = [
        r
        for a, r in turn.world.held.items()
        if turn.me.may_write(a) and not in_stream(a) and not gone(r) and turn.world.live(r) and r["id"] not in replaced
    ]
    assert written >= counted(own) or turn.world.twins(turn.me)


async def import_(turn: Turn) -> None:
    """Import a forged file, one's own export, or a way to another's."""
    call, world = turn.call, turn.world
    authors = list(world.players.values())
    forged = [
        {
            "id": ident,
            "agentId": authors[(call.pick + index) % len(authors)].id,
            "projectId": authors[(call.other + index) % len(authors)].who.project,
            "scope": scope,
            "category": BY_SCOPE[scope][index % 3],
            **turn.memory(),
            "createdAt": NOW,
            "updatedAt": NOW,
            "version": 1,
        }
        for index, (ident, scope) in enumerate([(turn.ident, call.scope), (turn.another, "private"), (ODD, "team")])
    ]
    envelope = {"version": "1.0", "exportedAt": NOW, "projectId": "x", "agentId": authors[call.pick % 5].id}
    text = json.dumps({**envelope, "memories": forged})
    await asyncio.to_thread((turn.me.files / "forged.json").write_text, text, encoding="utf-8")
    path = ("forged.json", "forged.json", "all.json", "../files-of-bob/all.json")[call.pick % 4]
    # The way to another's file leads bob to his own.
    file = (turn.me.files / path).resolve()
    own = file.is_relative_to(turn.me.files.resolve()) and file.exists()
    said = await asyncio.to_thread(file.read_text, encoding="utf-8") if own else ""
    await turn.tool("import-memories", said, inputPath=path, overwriteExisting=call.flag, takeOwnership=call.flip)


async def cleanup(turn: Turn) -> None:
    turn.world.clock.advance(turn.call.pick % 90)
    await turn.tool("cleanup", expireOnly=turn.call.flag)


async def health(turn: Turn) -> None:
    """Counts are those of what is visible, and of what is one's own."""
    world, me = turn.world, turn.me
    answer = await turn.tool("pattern_health")
    assert answer["view"]["records"] == len(world.visible(me)) - world.twins(me)
    for scope in SCOPES:
        visible = [record for record in world.recallable(me) if record["scope"] == scope]
        mine = {a: r for a, r in world.held.items() if me.may_write(a) and not in_stream(a) and not gone(r)}
        own = [record for record in mine.values() if record["scope"] == scope and world.live(record)]
        live = [record for record in visible if world.live(record)]
        told = answer["scopes"][scope]
        if not world.twins(me):
            assert (told["visible"], told["own"], told["expired"]) == (len(live), len(own), len(visible) - len(live))


VERBS: dict[str, Callable[[Turn], Awaitable[None]]] = {
    verb.__name__: verb
    for verb in (
        *(remember, shortcut, remember_bulk, by_id, forget_bulk, recall, export, import_, cleanup, health),
        *(store, fact_by_id, search, foreign_stream, numbers),
    )
}
WEIGHTED = [*VERBS, "remember", "by_id", "by_id", "recall", "recall", "import_", "store", "fact_by_id", "fact_by_id"]


async def _everything(world: World, me: Player) -> None:
    """What a player recalls is exactly what the table gives it; asked again once anything has changed."""
    if me.version == world.version:
        return
    position = ",".join(f"{bucket}@{world.last[bucket]}" for bucket in me.buckets)
    everything = {"limit": 200, "includeExpired": True, "includeSuperseded": True, "atLeast": position}
    answer = await world.call(me, "recall-context", everything)
    visible, twins = world.recallable(me), world.twins(me)
    found = counted([memory for scope in SCOPES for memory in answer[scope]])
    assert len(visible) - twins <= answer["total"] <= len(visible)
    assert found <= counted(visible)
    assert found.total() == min(answer["total"], 200)
    if not twins:
        expired = [record for record in visible if not world.live(record)]
        assert answer["counts"]["expired"] == len(expired)
    me.version = world.version


async def play(account: NatsAccount, directory: Path, calls: list[Call]) -> int:
    """Make the calls in a new world; returns how many tools were called."""
    async with world(account, directory) as there:
        # Raised when the world is closed: its task group would wrap it.
        (failure,) = await asyncio.gather(_turns(there, calls), return_exceptions=True)
    if failure is not None:
        raise failure
    return there.calls


async def _planted(there: World) -> None:
    """Begin with a memory of everybody in every kind of place."""
    for name, player in there.players.items():
        turn = Turn(there, Call(who=name, verb="", scope="private", pick=0, other=0, flag=False, flip=False))
        places = [(scope, category) for scope in SCOPES for category in BY_SCOPE[scope]]
        memories = [{**turn.memory(), "scope": scope, "category": category} for scope, category in places]
        assert (await turn.tool("remember-bulk", memories=memories))["stored"] == len(places)
        for word in _words(player):
            await turn.tool("memory_store", **turn.memory(), stream=word)
        await _everything(there, player)
    await there.plant_vectors()


async def _turns(there: World, calls: list[Call]) -> None:
    await _planted(there)
    for number, call in enumerate(calls):
        note(f"at call {number}: {call}")
        async with asyncio.timeout(30):
            await _everything(there, there.players[call.who])  # it has heard of all it may hear of
            await VERBS[call.verb](Turn(there, call))
            await _everything(there, there.players[call.who])
    for player in there.players.values():
        await _everything(there, player)


CALLS = st.builds(
    Call,
    who=st.sampled_from(list(CAST)),
    verb=st.sampled_from(WEIGHTED),
    scope=st.sampled_from(SCOPES),
    pick=st.integers(0, 10_000),
    other=st.integers(0, 10_000),
    flag=st.booleans(),
    flip=st.booleans(),
)


def varied(calls: list[Call]) -> bool:
    """Say whether it is worth playing: hypothesis begins with the same call over and over."""
    return len({call.verb for call in calls}) > 10 and {call.who for call in calls} == set(CAST)


@pytest.mark.requirement("lesson-3.7")
@pytest.mark.timeout(1800)
def test_nobody_is_told_what_it_may_not_see(
    nats_accounts: AccountPool, tmp_path_factory: pytest.TempPathFactory, *, long_form: bool
) -> None:
    games = 20 if long_form else 2
    played: list[int] = []

    @settings(
        max_examples=games,
        deadline=None,
        database=None,
        phases=(Phase.generate,),
        suppress_health_check=(HealthCheck.filter_too_much, HealthCheck.too_slow, HealthCheck.data_too_large),
    )
    @given(st.lists(CALLS, min_size=LENGTH, max_size=LENGTH).filter(varied))
    def game(calls: list[Call]) -> None:
        played.append(asyncio.run(play(nats_accounts.take(), tmp_path_factory.mktemp("world"), calls)))

    game()
    assert len(played) == games
    assert sum(played) >= games * LENGTH
