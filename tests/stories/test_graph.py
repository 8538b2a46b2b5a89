"""The graph, as a client of the tools has it: whom memories speak of, how that is related, and only as long as they say so."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from loomem.core.graph.dictionary import EMPTY, Dictionary, dictionary_of
from loomem.core.limits import Limits
from loomem.workers.services import open_services
from pattern.testing.agents import Agent, Agents
from tests.contracts.workers_kit import SystemClock, linked
from tests.doubles import ManualClock
from tests.stories.shell import Shell
from tests.stories.told import told
from tests.waiting import eventually


async def stored(agent: Agent, content: str, **arguments: Any) -> str:
    """Store a fact; return its id."""
    return (await agent.call("memory_store", content=content, **arguments))["memoryId"]


@asynccontextmanager
async def reading(url: str, dictionary: Dictionary = EMPTY) -> AsyncGenerator[None]:
    """Run the workers of a node that read what memories name."""
    async with (
        linked(url) as link,
        open_services(link, limits=Limits(), clock=SystemClock(), names=dictionary),
    ):
        yield


async def known(agent: Agent, entity: str, **wanted: int) -> dict[str, Any]:
    """Return what is known of an entity, as soon as so many memories and relations are."""
    found: dict[str, Any] = {}

    async def holds() -> bool:
        found.update(await agent.call("memory_graph", entity=entity))
        counts = {"memories": found["memories"], "relations": len(found["relations"])}
        return found["found"] and all(counts[name] == number for name, number in wanted.items())

    await eventually(holds, within_s=20)
    return found


def relation(subject: str, word: str, end: str, **types: str) -> dict[str, str]:
    return {"subject": subject, "relation": word, "object": end, **types}


# --- declared relations -----------------------------------------------------------------------------------------------


@pytest.mark.requirement("graph-8.declared")
async def test_a_declared_relation_is_there_at_once_and_once(agents: Agents) -> None:
    me = await agents()
    first = await stored(me, "Anna likes Rust", relations=[relation("Anna", "zzz", "Rust")])
    assert await told(me, "memory_graph", entity="anna") == (
        f"Entity: Anna (type: Concept)\nLinked chunks: 1\n\nConnections:\n  → Rust (related_to) [Concept] (ids: {first})"
    )
    second = await stored(
        me, "Anna still likes Rust", relations=[relation("Anna", "zzz", "Rust"), relation("ANNA", "zzz", "rust")]
    )
    found = await me.call("memory_graph", entity="Anna")
    [link] = found["relations"]
    assert (link["subject"], link["relation"], link["object"], link["direction"]) == (
        "Anna",
        "related_to",
        "Rust",
        "out",
    )
    assert sorted(link["memoryIds"]) == sorted([first, second])
    assert found["memories"] == 2
    assert "← Anna (related_to)" in await told(me, "memory_graph", entity="Rust")


@pytest.mark.requirement("graph-8.many")
async def test_of_seventy_relations_sixty_four_are_taken(agents: Agents) -> None:
    me = await agents()
    await stored(me, "Anna knows many", relations=[relation("Anna", "uses", f"tool {n}") for n in range(70)])
    found = await me.call("memory_graph", entity="Anna")
    assert len(found["relations"]) == len(found["nodes"]) == 64


@pytest.mark.requirement("graph-tool")
async def test_direction_and_depth_say_how_far_is_looked(agents: Agents) -> None:
    me = await agents()
    person, org = {"subject_type": "Person"}, {"object_type": "org"}
    await stored(me, "Anna works at Acme", relations=[relation("Anna Nowak", "works at", "Acme", **person, **org)])
    await stored(me, "Acme pays for AWS", relations=[relation("Acme", "pays-for", "AWS")])
    await stored(me, "Ben manages Anna", relations=[relation("Ben", "manages", "Anna Nowak", **person)])
    found = await me.call("memory_graph", entity="Anna Nowak")
    assert found["type"] == "Person"
    assert [(link["subject"], link["relation"], link["object"]) for link in found["relations"]] == [
        ("Ben", "manages", "Anna Nowak"),
        ("Anna Nowak", "works_at", "Acme"),
    ]
    assert {node["name"]: node["type"] for node in found["nodes"]} == {"Ben": "Person", "Acme": "Organization"}
    out = await me.call("memory_graph", entity="Anna Nowak", direction="out", depth=2)
    assert [(link["object"], link["depth"]) for link in out["relations"]] == [("Acme", 1), ("AWS", 2)]
    incoming = await me.call("memory_graph", entity="Anna Nowak", direction="in", depth=9)
    assert [link["subject"] for link in incoming["relations"]] == ["Ben"]
    text = await told(me, "memory_graph", entity="Anna Nowak", depth=2)
    assert "  → Acme (works_at) [Organization]" in text
    assert "  Acme → AWS (pays_for)" in text


@pytest.mark.requirement("graph-tool")
async def test_what_is_not_known_is_said_and_what_is_no_name_is_refused(agents: Agents) -> None:
    me = await agents()
    assert await told(me, "memory_graph", entity="Nobody") == "Entity 'Nobody' not found in knowledge graph."
    await stored(me, "Anna likes Rust", relations=[relation("Anna", "uses", "Rust")])
    assert "No connections found." in await told(me, "memory_graph", entity="Anna", direction="in")
    for bad in ({"entity": "  "}, {"entity": "x" * 201}, {"entity": "Anna", "direction": "up"}):
        assert (await me.refused("memory_graph", **bad)).code == "VALIDATION_ERROR"
    assert (await me.refused("memory_graph", entity="Anna", stream="a/b")).code == "VALIDATION_ERROR"


@pytest.mark.requirement("graph-tool")
async def test_no_name_makes_a_line_of_the_answer(agents: Agents) -> None:
    me = await agents()
    await stored(me, "x", relations=[relation("Anna", "uses", "Rust\n  → Evil (owns) [Person]")])
    assert len((await told(me, "memory_graph", entity="Anna")).splitlines()) == 5


# --- support ----------------------------------------------------------------------------------------------------------


@pytest.mark.requirement("graph-39.gone")
async def test_what_no_live_memory_says_is_gone_at_once(agents: Agents) -> None:
    clock = ManualClock()
    me = await agents(clock=clock)
    deleted = await stored(me, "Anna uses Rust", relations=[relation("Anna", "uses", "Rust")])
    kept = await stored(me, "Anna uses Go", relations=[relation("Anna", "uses", "Go")])
    assert len((await me.call("memory_graph", entity="Anna"))["relations"]) == 2
    await me.call("memory_delete", chunk_id=deleted)
    found = await me.call("memory_graph", entity="Anna")
    assert [link["object"] for link in found["relations"]] == ["Go"]
    assert not (await me.call("memory_graph", entity="Rust"))["found"]
    await stored(me, "Anna uses Zig", supersedes=kept, relations=[relation("Anna", "uses", "Zig")])
    found = await me.call("memory_graph", entity="Anna")
    assert [link["object"] for link in found["relations"]] == ["Zig"], "what was superseded supports nothing"
    await me.call("forget", memoryId=found["memoryIds"][0], force=True)
    assert not (await me.call("memory_graph", entity="Anna"))["found"]


# --- spaces -----------------------------------------------------------------------------------------------------------


@pytest.mark.requirement("know-29.graph")
async def test_streams_and_strangers_keep_their_entities_apart(agents: Agents) -> None:
    me = await agents(env={"PATTERN_NAMESPACES": "work=110"})
    await stored(me, "Anna uses Rust", relations=[relation("Anna", "uses", "Rust")])
    await stored(me, "Anna uses Go", stream="work", relations=[relation("Anna", "uses", "Go")])
    await stored(me, "Anna uses Zig", stream="__private__", relations=[relation("Anna", "uses", "Zig")])

    async def used(agent: Agent, **where: Any) -> list[str]:
        found = await agent.call("memory_graph", entity="Anna", **where)
        return sorted(link["object"] for link in found["relations"])

    assert await used(me, stream="work") == ["Go"]
    assert await used(me, stream="personal") == ["Rust"]
    assert await used(me) == ["Go", "Rust", "Zig"]
    assert await used(me, scopes=["private"]) == ["Zig"]
    assert not (await me.call("memory_graph", entity="Go", stream="personal"))["found"]
    stranger = await agents("stranger", user="other", project="elsewhere")
    assert not (await stranger.call("memory_graph", entity="Anna"))["found"]
    refused = await stranger.refused("memory_graph", entity="Anna", stream="110")
    assert refused.message == "Access denied: no membership on stream '110'."
    mate = await agents("mate", user="other")
    assert not (await mate.call("memory_graph", entity="Anna"))["found"], "the project's agents see the team's alone"
    await stored(me, "Anna uses Elm", stream="project", relations=[relation("Anna", "uses", "Elm")])
    assert (await known(mate, "Anna"))["relations"][0]["object"] == "Elm"
    assert await used(mate) == ["Elm"]


# --- what memories name -----------------------------------------------------------------------------------------------


@pytest.mark.requirement("graph-worker.reads")
async def test_the_node_reads_what_memories_name(agents: Agents, node_url: str) -> None:
    me = await agents()
    async with reading(node_url):
        first = await stored(me, "Anna Nowak works at Acme Corp and lives in Berlin.")
        found = await known(me, "anna nowak")
        assert (found["type"], found["memoryIds"]) == ("Person", [first])
        assert [(link["relation"], link["object"], link["memoryIds"]) for link in found["relations"]] == [
            ("works_at", "Acme Corp", [first])
        ]
        await known(me, "Berlin")
        await me.call("remember", content="Anna prefers tea.", scope="private", category="longterm")
        await known(me, "Anna", memories=2)
        assert (await me.call("memory_graph", entity="Anna"))["name"] == "Anna Nowak"


@pytest.mark.requirement("graph-39.edited")
async def test_editing_voids_what_the_former_text_said(agents: Agents, node_url: str) -> None:
    me = await agents()
    async with reading(node_url):
        kept = await me.call("remember", content="Ask Priya Raman about it.", scope="personal", category="longterm")
        await known(me, "Priya Raman")
        await me.call(
            "update-memory",
            memoryId=kept["memoryId"],
            content="Ask Elena Petrova about it.",
            expectedRevision=kept["revision"],
        )
        assert not (await me.call("memory_graph", entity="Priya Raman"))["found"], "at once, whatever the worker does"
        await known(me, "Elena Petrova")
        await me.call("memory_delete", chunk_id=kept["memoryId"])
        assert not (await me.call("memory_graph", entity="Elena Petrova"))["found"]


@pytest.mark.requirement("graph-dictionary")
async def test_a_relation_of_the_dictionary_needs_a_memory_that_names_both_ends(
    agents: Agents, node_url: str, tmp_path: Path
) -> None:
    said = 'persons = ["Bluebeard"]\nrelations = ["Bluebeard|uses|k8s"]\n[[entity]]\ncanonical = "Kubernetes"\ntype = "Technology"\naliases = ["k8s"]\n'
    file = tmp_path / "entities.toml"
    file.write_text(said)
    me = await agents(env={"PATTERN_GRAPH_DICTIONARY": str(file)})
    async with reading(node_url, dictionary_of(said)):
        await stored(me, "bluebeard was here")
        await stored(me, "The cluster runs k8s")
        await known(me, "Kubernetes")
        found = await known(me, "Bluebeard")
        assert (found["type"], found["relations"]) == ("Person", [])
        both = await stored(me, "Bluebeard moved it to k8s")
        found = await known(me, "Bluebeard", relations=1)
        assert [(link["object"], link["memoryIds"]) for link in found["relations"]] == [("Kubernetes", [both])]


# --- rulings ----------------------------------------------------------------------------------------------------------


@pytest.mark.requirement("graph-rulings.cli")
async def test_the_command_line_says_which_names_are_one(agents: Agents, shell: Shell) -> None:
    me = await agents()
    person = {"subject_type": "Person"}
    await stored(me, "a", relations=[relation("Ania", "uses", "Rust", **person)])
    await stored(me, "b", relations=[relation("Anna Nowak", "uses", "Go", **person)])
    await stored(me, "c", relations=[relation("Anna", "uses", "Zig", **person)])

    async def run(*arguments: str) -> str:
        done = await asyncio.to_thread(shell.run, "graph", *arguments, LOOMINAL_USER_ID="user-u")
        return done.stdout + done.stderr

    async def aliases(name: str, *wanted: str) -> None:
        async def holds() -> bool:
            return sorted((await me.call("memory_graph", entity=name))["aliases"]) == sorted(wanted)

        await eventually(holds, within_s=20)

    await aliases("Anna Nowak", "Anna")
    assert "No memory that you can see there speaks of 'Nobody'" in await run("merge", "Nobody", "Anna Nowak")
    assert await run("merge", "Ania", "Anna Nowak") == "Ania is Anna Nowak from now on, in __user_default__\n"
    await aliases("Anna Nowak", "Anna", "Ania")
    await run("split", "Anna", "Anna Nowak")
    await aliases("Anna Nowak", "Ania")
    await aliases("Anna")
    shown = await run("show", "Ania")
    assert shown.startswith("Entity: Anna Nowak (type: Person)\nAliases: Ania\n")
    await run("undo", "Anna Nowak", "Ania")
    await aliases("Anna Nowak")
    assert "Nothing was said" in await run("undo", "Anna Nowak", "Ania")


# --- search -----------------------------------------------------------------------------------------------------------


@pytest.mark.requirement("graph-search")
async def test_search_finds_what_only_a_relation_leads_to(agents: Agents) -> None:
    me = await agents()
    for n in range(30):
        await stored(me, f"Something else, number {n}")
    direct = await stored(
        me, "She moved the desk", relations=[relation("Anna Nowak", "works_at", "Acme", subject_type="Person")]
    )
    near = await stored(me, "The invoice is late", relations=[relation("Acme", "pays_for", "Hosting")])
    found = await me.call("memory_search", query="anna nowak", explain=True)
    rows = {row["id"]: row for row in found["rows"]}
    assert [row["id"] for row in found["rows"]] == [direct, near]
    assert rows[direct]["explained"]["arms"] == [{"arm": "graph", "rank": 1, "raw": 1.0, "normal": 1.0, "weight": 0.3}]
    assert rows[near]["explained"]["arms"][0]["raw"] == 0.5
    both = await me.call("memory_search", query="desk of Anna Nowak", explain=True)
    row = next(row for row in both["rows"] if row["id"] == direct)
    assert row["explained"]["factors"]["graph"] == 1.3
