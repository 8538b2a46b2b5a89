"""Bad input of every kind, over all tools: a code, the field, what is allowed; and nothing has changed.

Once over the SDK in this process, where values arrive that JSON cannot carry, and once as bytes on the pipes of a real
one.
"""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import msgspec
import pytest

from pattern.testing import NatsAccount
from pattern.testing.agents import Agent, Agents
from pattern.tools.pattern import TOOLS
from tests.stories.conftest import RawStore
from tests.stories.files import envelope, item
from tests.stories.served import Served, served

UUID = "3f0c2a9e-6a52-4c1d-9d57-0e2b7c6a1f10"
SURROGATE = "half a \ud83d face"
NUL = "nothing\0here"
SCOPES = "private, personal, team, public"
SEVEN = "recent, tasks, longterm, core, decisions, architecture, learnings"
OWN = "recent, tasks, longterm, core"
COMMON = "decisions, architecture, learnings"
DATES = "2026-01-31T12:00:00Z"
TOO_LONG = "ż" * 16_384 + "x"


def deep(levels: int) -> Any:
    value: Any = "bottom"
    for _ in range(levels):
        value = {"in": value}
    return value


class Bad(msgspec.Struct, frozen=True, kw_only=True):
    """One call that is refused."""

    tool: str
    arguments: dict[str, Any]
    field: str
    says: tuple[str, ...]
    code: str = "VALIDATION_ERROR"

    @property
    def name(self) -> str:
        return f"{self.tool} {self.field} {ascii(self.arguments)[:80]}"


def bad(tool: str, field: str, *says: str, code: str = "VALIDATION_ERROR", **arguments: Any) -> Bad:
    return Bad(tool=tool, arguments=arguments, field=field, says=says, code=code)


def of_content(tool: str) -> list[Bad]:
    """Return what every tool with content refuses."""
    return [
        bad(tool, "content", "required"),
        bad(tool, "content", "string", content=5),
        bad(tool, "content", "string", content=["x"]),
        bad(tool, "content", "string", content=True),
        bad(tool, "content", "blank", content=" \n\t\u3000"),
        bad(tool, "content", "32769", "32768", content=TOO_LONG),
        bad(tool, "content", "lone surrogate", content=SURROGATE),
        bad(tool, "content", "NUL", content=NUL),
        bad(tool, "metadata", "object", content="x", metadata=[]),
        bad(tool, "metadata", "object", content="x", metadata="words"),
        bad(tool, "metadata.tags", "array of strings", content="x", metadata={"tags": "one"}),
        bad(tool, "metadata.tags", "array of strings", content="x", metadata={"tags": [1]}),
        bad(tool, "metadata.tags", "11", "10", content="x", metadata={"tags": ["t"] * 11}),
        bad(tool, "metadata.tags", "51", "50", content="x", metadata={"tags": ["t" * 51]}),
        bad(tool, "metadata.tags", "lone surrogate", content="x", metadata={"tags": [SURROGATE]}),
        bad(tool, "metadata.priority", "1 (high), 2 or 3", content="x", metadata={"priority": 9}),
        bad(tool, "metadata.priority", "1 (high), 2 or 3", content="x", metadata={"priority": "high"}),
        bad(tool, "metadata.priority", "JSON", content="x", metadata={"priority": math.nan}),
        bad(tool, "metadata.relatedTo", "array of memory ids", content="x", metadata={"relatedTo": UUID}),
        bad(tool, "metadata.source", "string", content="x", metadata={"source": 7}),
        bad(tool, "metadata.note", "NUL", content="x", metadata={"note": NUL}),
        bad(tool, "metadata.number", "2^53 - 1", content="x", metadata={"number": 2**64}),
        bad(tool, "metadata.number", "JSON", content="x", metadata={"number": math.inf}),
        bad(tool, "metadata", "10240", content="x", metadata={"note": "x" * 10_300}),
        bad(tool, "metadata", "16 levels", content="x", metadata=deep(40)),
    ]


def of_id(tool: str, **more: Any) -> list[Bad]:
    """Return what every tool with the id of a memory refuses."""
    return [
        bad(tool, "memoryId", "required", **more),
        bad(tool, "memoryId", "string", memoryId=5, **more),
        bad(tool, "memoryId", "string", memoryId=[UUID], **more),
        bad(tool, "memoryId", "required", memoryId="  ", **more),
        bad(tool, "memoryId", "UUID", memoryId="not-one", **more),
        bad(tool, "memoryId", "UUID", memoryId="$KV.*.>", **more),
        bad(tool, "memoryId", "UUID", memoryId="../../etc/passwd", **more),
        bad(tool, "memoryId", "UUID", "128", memoryId="x" * 5_000, **more),
        bad(tool, "memoryId", "lone surrogate", memoryId=SURROGATE, **more),
        bad(tool, "memoryId", "NUL", memoryId=NUL, **more),
        bad(tool, "memoryId", "visible", code="MEMORY_NOT_FOUND", memoryId=UUID, **more),
    ]


REMEMBER = [
    *of_content("remember"),
    bad("remember", "scope", SCOPES, content="x", scope="banana"),
    bad("remember", "scope", SCOPES, content="x", scope="Team"),
    bad("remember", "scope", "string", content="x", scope=3),
    bad("remember", "category", SEVEN, code="INVALID_CATEGORY", content="x", category="misc"),
    bad("remember", "category", COMMON, code="INVALID_CATEGORY", content="x", scope="team", category="tasks"),
    bad("remember", "category", OWN, code="INVALID_CATEGORY", content="x", scope="private", category="decisions"),
    bad("remember", "category", COMMON, code="INVALID_CATEGORY", content="x", scope="public"),
    bad("remember", "ttlSeconds", "1", content="x", ttlSeconds=0),
    bad("remember", "ttlSeconds", "1", content="x", ttlSeconds=-5),
    bad("remember", "ttlSeconds", "integer", content="x", ttlSeconds=1.5),
    bad("remember", "ttlSeconds", "integer", content="x", ttlSeconds="soon"),
    bad("remember", "ttlSeconds", "whole number", content="x", ttlSeconds=10**30),
    bad("remember", "ttlSeconds", "integer", content="x", ttlSeconds=math.nan),
    bad("remember", "ttlSeconds", "core", content="x", category="core", ttlSeconds=60),
]

BULK = [
    bad("remember-bulk", "memories", "array", memories="one"),
    bad("remember-bulk", "memories", "array", memories={"content": "x"}),
    bad("remember-bulk", "memories", "1001", "1000", memories=[{"content": "x"}] * 1_001),
    bad("remember-bulk", "memories", "memories[1]", "object", memories=[{"content": "x"}, None]),
    bad("remember-bulk", "memories", "memories[0]", "lone surrogate", memories=[{"content": SURROGATE}]),
    bad(
        "remember-bulk", "memories", "memories[1]", SCOPES, memories=[{"content": "x"}, {"content": "x", "scope": "x"}]
    ),
    bad("remember-bulk", "memories", "memories[0]", "32768", memories=[{"content": TOO_LONG}]),
    bad("remember-bulk", "memories", "memories[0]", "16 levels", memories=[{"content": "x", "metadata": deep(40)}]),
    bad("remember-bulk", "validate", "boolean", memories=[], validate="yes"),
    bad("remember-bulk", "stopOnError", "boolean", memories=[], stopOnError=1),
    bad(
        "remember-bulk",
        "atomic",
        "one store",
        memories=[{"content": "x"}, {"content": "x", "scope": "personal"}],
        atomic=True,
    ),
    bad("forget-bulk", "memoryIds", "array", memoryIds=5),
    bad("forget-bulk", "memoryIds", "array", memoryIds=UUID),
    bad("forget-bulk", "memoryIds", "1001", "1000", memoryIds=[UUID] * 1_001),
    bad("forget-bulk", "force", "boolean", memoryIds=[], force="yes"),
    bad("forget-bulk", "stopOnError", "boolean", memoryIds=[], stopOnError="yes"),
]

CHANGE = [
    *of_id("forget"),
    *of_id("commit-insight"),
    *of_id("share-learning"),
    *of_id("update-memory", expectedRevision=1, content="y"),
    bad("forget", "force", "boolean", memoryId=UUID, force="yes"),
    bad("commit-insight", "targetScope", "private", "personal", memoryId=UUID, targetScope="team"),
    bad("commit-insight", "targetScope", SCOPES, memoryId=UUID, targetScope="banana"),
    bad("commit-insight", "newContent", "blank", memoryId=UUID, newContent=" "),
    bad("commit-insight", "newContent", "32768", memoryId=UUID, newContent=TOO_LONG),
    bad("commit-insight", "newContent", "NUL", memoryId=UUID, newContent=NUL),
    bad("share-learning", "category", COMMON, code="INVALID_CATEGORY", memoryId=UUID, category="recent"),
    bad("share-learning", "keepOriginal", "boolean", memoryId=UUID, keepOriginal="yes"),
    bad("update-memory", "expectedRevision", "required", memoryId=UUID, content="y"),
    bad("update-memory", "expectedRevision", "whole number", memoryId=UUID, expectedRevision=0, content="y"),
    bad("update-memory", "expectedRevision", "whole number", memoryId=UUID, expectedRevision=2**70, content="y"),
    bad("update-memory", "expectedRevision", "integer", memoryId=UUID, expectedRevision="1", content="y"),
    bad("update-memory", "content", "content, metadata, category or ttlSeconds", memoryId=UUID, expectedRevision=1),
    bad("update-memory", "category", SEVEN, code="INVALID_CATEGORY", memoryId=UUID, expectedRevision=1, category="x"),
    bad("update-memory", "metadata.tags", "10", memoryId=UUID, expectedRevision=1, metadata={"tags": ["t"] * 11}),
    bad("update-memory", "ttlSeconds", "whole number", memoryId=UUID, expectedRevision=1, ttlSeconds=-1),
    bad("cleanup", "expireOnly", "boolean", expireOnly="yes"),
]

READ = [
    *of_id("get-memory"),
    bad("get-memory", "atLeast", "position", memoryId=UUID, atLeast="yesterday"),
    bad("get-memory", "atLeast", "do not see", memoryId=UUID, atLeast="loom-memory-user-another@3"),
    bad("recall-context", "scopes", SCOPES, scopes=["banana"]),
    bad("recall-context", "scopes", SCOPES, scopes=[None]),
    bad("recall-context", "scopes", "array", scopes=7),
    bad("recall-context", "scopes", SCOPES, scope="banana"),
    bad("recall-context", "categories", SEVEN, code="INVALID_CATEGORY", categories=["misc"]),
    bad("recall-context", "limit", "integer", limit="ten"),
    bad("recall-context", "limit", "integer", limit=math.nan),
    bad("recall-context", "cursor", "page before", cursor="next"),
    bad("recall-context", "search", "lone surrogate", search=SURROGATE),
    bad("recall-context", "search", "string", search=5),
    bad("recall-context", "tags", "array", tags="one"),
    bad("recall-context", "tags", "string", tags=[1]),
    bad("recall-context", "tagsAny", "NUL", tagsAny=[NUL]),
    bad("recall-context", "minPriority", "1 (high), 2 or 3", minPriority=0),
    bad("recall-context", "maxPriority", "1 (high), 2 or 3", maxPriority=10**20),
    bad("recall-context", "since", DATES, since="yesterday"),
    bad("recall-context", "since", "string", since=1_700_000_000),
    bad("recall-context", "createdAfter", DATES, createdAfter="2026-02-30"),
    bad("recall-context", "createdBefore", DATES, createdBefore="31.01.2026"),
    bad("recall-context", "updatedAfter", DATES, updatedAfter=""),
    bad("recall-context", "updatedBefore", DATES, updatedBefore=SURROGATE),
    bad("recall-context", "relatedTo", "UUID", relatedTo="a b"),
    bad("recall-context", "depth", "from 1 to 5", relatedTo=UUID, depth=99),
    bad("recall-context", "includeExpired", "boolean", includeExpired="yes"),
    bad("recall-context", "includeExtracted", "boolean", includeExtracted="yes"),
    bad("recall-context", "includeSuperseded", "boolean", includeSuperseded="yes"),
    bad("recall-context", "query", "string", query=7),
    bad("recall-context", "atLeast", "position", atLeast="5"),
]

FILES = [
    bad("export-memories", "outputPath", "under", outputPath="../outside.json"),
    bad("export-memories", "outputPath", "under", outputPath="/etc/memories.json"),
    bad("export-memories", "outputPath", "directory", outputPath="missing/x.json"),
    bad("export-memories", "outputPath", "string", outputPath=5),
    bad("export-memories", "outputPath", "NUL", outputPath="x\0.json"),
    bad("export-memories", "outputPath", "no file name", outputPath=SURROGATE),
    bad("export-memories", "scope", SCOPES, scope="banana"),
    bad("export-memories", "category", SEVEN, code="INVALID_CATEGORY", category="misc"),
    bad("export-memories", "since", DATES, since="yesterday"),
    bad("export-memories", "includeExpired", "boolean", includeExpired="yes"),
    bad("import-memories", "inputPath", "required"),
    bad("import-memories", "inputPath", "string", inputPath={}),
    bad("import-memories", "inputPath", "does not exist", inputPath="missing.json"),
    bad("import-memories", "inputPath", "under", inputPath="/etc/passwd"),
    bad("import-memories", "inputPath", "path", inputPath=""),
    bad("import-memories", "inputPath", "JSON", inputPath="broken.json"),
    bad("import-memories", "inputPath", "memories", inputPath="list.json"),
    bad("import-memories", "overwriteExisting", "boolean", inputPath="null.json", overwriteExisting="yes"),
]

ALL = [
    *REMEMBER,
    *(case for tool in ("remember-task", "remember-learning", "core-memory") for case in of_content(tool)),
    *BULK,
    *CHANGE,
    *READ,
    *FILES,
]


KNOWLEDGE = [
    bad("memory_store", "content", "required"),
    bad("memory_store", "content", "string", content=5),
    bad("memory_store", "content", "blank", content=" \n"),
    bad("memory_store", "content", "102401", "102400", content="x" * 102_401),
    bad("memory_store", "content", "lone surrogate", content=SURROGATE),
    bad("memory_store", "content", "NUL", content=NUL),
    bad("memory_store", "subject", "string", content="x", subject=5),
    bad("memory_store", "subject", "201", "200", content="x", subject="x" * 201),
    bad("memory_store", "source", "NUL", content="x", source=NUL),
    bad("memory_store", "metadata", "object", content="x", metadata="words"),
    bad("memory_store", "metadata", "10240", content="x", metadata={"note": "x" * 10_300}),
    bad("memory_store", "relations", "array", content="x", relations="none"),
    bad("memory_store", "relations[0]", "object", content="x", relations=["none"]),
    bad("memory_store", "relations[0].object", content="x", relations=[{"subject": "a", "relation": "b"}]),
    bad("memory_store", "supersedes", "string", content="x", supersedes=5),
    bad("memory_store", "supersedes", "not known", content="x", supersedes=UUID),
    bad("memory_store", "supersedes", "NUL", content="x", supersedes=NUL),
    bad("memory_search", "query", "required"),
    bad("memory_search", "query", "string", query=5),
    bad("memory_search", "top_k", "integer", query="x", top_k="ten"),
    bad("memory_search", "time_filter", query="x", time_filter="the day after never"),
    bad("memory_search", "time_filter", "string", query="x", time_filter=5),
    bad("memory_search", "valid_at", "integer", query="x", valid_at="2026"),
    bad("memory_search", "include_superseded", "boolean", query="x", include_superseded="yes"),
    bad("memory_search", "max_context_tokens", "integer", query="x", max_context_tokens="many"),
    bad("memory_search", "scopes", SCOPES, query="x", scopes=["banana"]),
    bad("memory_search", "at_least", "position", query="x", at_least="yesterday"),
    bad("memory_history", "chunk_id", "required"),
    bad("memory_history", "chunk_id", "string", chunk_id=5),
    bad("memory_history", "chunk_id", "NUL", chunk_id=NUL),
    bad("memory_history", "limit", "integer", chunk_id=UUID, limit="all"),
    bad("memory_delete", "chunk_id", "required"),
    bad("memory_delete", "chunk_id", "lone surrogate", chunk_id=SURROGATE),
    bad("memory_delete", "chunk_id", code="MEMORY_NOT_FOUND", chunk_id=UUID),
    bad("memory_feedback", "chunk_id", "required"),
    bad(
        "memory_feedback",
        "usefulness",
        "0",
        "4",
        chunk_id=UUID,
        harmful=False,
        justification="x",
        model_version="m",
        usefulness=9,
    ),
    *(
        bad(tool, "stream", *says, stream=stream)
        for tool in ("memory_status", "memory_stats")
        for stream, *says in (
            (5, "string"),
            ("a/b", "Invalid stream id"),
            (NUL, "Invalid stream id"),
            (SURROGATE, "Invalid stream id"),
        )
    ),
    bad("memory_ingest", "content", "required"),
    *(bad("memory_ingest", "content", "string", content=content) for content in (5, ["x"], {"role": "user"}, False)),
    *(bad("memory_ingest", "content", "blank", content=content) for content in ("", " \n\t\u3000")),
    bad("memory_ingest", "content", "lone surrogate", content=f"User: {SURROGATE}"),
    bad("memory_ingest", "content", "NUL", content=f"User: {NUL}"),
    bad("memory_ingest", "content", str(3 << 20), str(2 << 20), content="User: " + "x" * ((3 << 20) - 6)),
    bad("memory_ingest", "content", str(2 << 20), content="User: " + "ż" * (1 << 20)),
    bad("memory_ingest", "content", "escaped", content="User: &" + "amp;" * 8 + "lt;b>"),
    bad("memory_ingest", "conversation_date", "string", content="User: x", conversation_date=20260131),
    bad("memory_ingest", "conversation_date", DATES[:10], content="User: x", conversation_date="yesterday"),
    bad("memory_ingest", "conversation_date", DATES[:10], content="User: x", conversation_date="2026-02-30"),
    bad("memory_ingest", "conversation_date", DATES[:10], content="User: x", conversation_date=NUL),
    bad("memory_ingest", "wait", "boolean", content="User: x", wait="yes"),
    bad("memory_graph", "entity", "required"),
    *(bad("memory_graph", "entity", "string", entity=entity) for entity in (5, ["Anna"], {"name": "Anna"}, True)),
    *(bad("memory_graph", "entity", "200", entity=entity) for entity in ("", " \u3000", "x" * 201, "…")),
    bad("memory_graph", "entity", "200", entity="x" * (3 << 20)),
    bad("memory_graph", "entity", "lone surrogate", entity=SURROGATE),
    bad("memory_graph", "entity", "NUL", entity=NUL),
    bad("memory_graph", "depth", "integer", entity="Anna", depth="far"),
    bad("memory_graph", "direction", "both or out or in", entity="Anna", direction="up"),
    bad("memory_graph", "direction", "string", entity="Anna", direction=1),
    bad("memory_graph", "scopes", SCOPES, entity="Anna", scopes=["banana"]),
    bad("memory_graph", "scopes", "array", entity="Anna", scopes=7),
    *(
        bad(tool, "stream", *says, stream=stream, **needed)
        for tool, needed in (("memory_ingest", {"content": "User: x"}), ("memory_graph", {"entity": "Anna"}))
        for stream, *says in ((5, "string"), ("a/b", "Invalid stream id"), (NUL, ""), (SURROGATE, ""))
    ),
]


@pytest.mark.requirement("know-input")
async def test_bad_input_of_the_knowledge_tools_is_refused_by_name(agents: Agents, raw: RawStore) -> None:
    me = await agents()
    await planted(me)
    before = await raw.everywhere()
    wrong: dict[str, list[str]] = {}
    for case in KNOWLEDGE:
        result = await me.client.call_tool(case.tool, case.arguments)
        if (found := wrong_with(result.structured_content or {}, case)) or not result.is_error:
            wrong[case.name] = found
    assert wrong == {}
    assert await raw.everywhere() == before


def write_files(folder: Path) -> None:
    (folder / "broken.json").write_text("{")
    (folder / "list.json").write_text(json.dumps(envelope(memories={})))
    (folder / "null.json").write_text(json.dumps(envelope(None)))


def wrong_with(answer: dict[str, Any], case: Bad) -> list[str]:
    """Return what an answer lacks that the case asks for."""
    wrong: list[str] = []
    if answer.get("code") != case.code:
        wrong.append(f"code {answer.get('code')}")
    details = answer.get("details", {})
    if case.code != "MEMORY_NOT_FOUND" and not str(details.get("field")).startswith(case.field):
        wrong.append(f"field {details.get('field')}")
    message = answer.get("message", "")
    wrong += [f"no {word!r} in {message!r}" for word in case.says if word not in message]
    if len(json.dumps(answer)) > 2_000:
        wrong.append("says back too much")
    return wrong


async def planted(agent: Agent) -> None:
    """Store something that a careless tool could spoil."""
    for scope, category in (
        ("private", "recent"),
        ("personal", "core"),
        ("team", "decisions"),
        ("public", "learnings"),
    ):
        await agent.call("remember", content="as it was", scope=scope, category=category)


@pytest.mark.requirement("scenario-30", "shown-input")
async def test_bad_input_is_refused_with_its_field_and_what_is_allowed(
    agents: Agents, raw: RawStore, tmp_path: Path
) -> None:
    write_files(tmp_path)
    me = await agents()
    await planted(me)
    before = await raw.everywhere()
    wrong: dict[str, list[str]] = {}
    for case in ALL:
        if any(word in json.dumps(case.arguments) for word in ("NaN", "Infinity")):
            continue  # the SDK's client sends null in their place
        result = await me.client.call_tool(case.tool, case.arguments)
        found = wrong_with(result.structured_content or {}, case)
        if not result.is_error or getattr(result.content[0], "text", "")[:7] != "Error: ":
            found.append("no error in text")
        if found:
            wrong[case.name] = found
    assert wrong == {}
    assert await raw.everywhere() == before
    assert sorted(path for path in tmp_path.glob("*.json")) == sorted(  # noqa: ASYNC240 - a few files
        tmp_path / name for name in ("broken.json", "list.json", "null.json")
    )
    assert (await me.call("recall-context"))["total"] == len(before), "and the session goes on"


@pytest.mark.requirement("scenario-30", "shown-input")
def test_the_same_bytes_on_the_pipes_of_a_process(tmp_path: Path, nats_account: NatsAccount) -> None:
    write_files(tmp_path)
    settings = {"NATS_URL": nats_account.url, "PATTERN_NODE": "off", "LOG_LEVEL": "DEBUG"}
    with served(tmp_path, settings) as server:
        server.handshake()
        server.call("remember", content="as it was", scope="team", category="decisions")
        before = server.call("recall-context")["structuredContent"]
        wrong = {case.name: found for case in ALL if (found := _on_pipes(server, case))}
        after = server.call("recall-context")["structuredContent"]
    assert wrong == {}
    assert after == before
    assert "Traceback" not in server.stderr()
    assert "event=tool_failed" not in server.stderr()


def _on_pipes(server: Served, case: Bad) -> list[str]:
    answer = server.call(case.tool, **case.arguments)
    return wrong_with(answer.get("structuredContent") or {}, case) + ([] if answer["isError"] else ["no error"])


@pytest.mark.requirement("scenario-30", "shown-input")
async def test_bad_items_of_a_file_are_each_said_and_change_nothing(
    agents: Agents, raw: RawStore, tmp_path: Path
) -> None:
    me = await agents()
    items: dict[str, Any] = {
        "null": None,
        "deep": item("deep", metadata=deep(40)),
        "large": item("large", content=TOO_LONG),
        "blank": item("blank", content=" "),
        "nul": item("nul", content=NUL),
        "surrogate": item("surrogate", content=SURROGATE),
        "number": item("number", content=5),
        "scope": item("scope", scope="banana"),
        "category": item("category", category="decisions"),
        "date": item("date", createdAt="yesterday"),
        "expiry": item("expiry", expiresAt=5),
        "version": item("version", version=99),
        "huge": item("huge", metadata={"number": 10**40}),
        "tags": item("tags", metadata={"tags": ["t"] * 11}),
        "id": item("i d"),
        "long": item("l" * 300),
    }
    (tmp_path / "in.json").write_text(json.dumps(envelope(*items.values())))
    done = await me.call("import-memories", inputPath="in.json")
    assert (done["imported"], done["skipped"], len(done["errors"])) == (0, len(items), len(items))
    for (name, value), error in zip(items.items(), done["errors"], strict=True):
        assert ("unknown" if value is None else value["id"][:80]) in error, name
        assert len(error) < 400, name
    assert await raw.everywhere() == {}


@pytest.mark.requirement("scenario-30")
def test_every_tool_and_every_argument_has_a_bad_input() -> None:
    assert len(ALL) >= 50
    others = {"skipInvalid", "takeOwnership"}  # booleans of import-memories and share-learning, checked as the rest
    tried = {tool.name: {case.field.split(".")[0] for case in ALL if case.tool == tool.name} for tool in TOOLS}
    assert {tool.name: set(tool.params) - tried[tool.name] - others for tool in TOOLS} == {
        **{tool.name: set[str]() for tool in TOOLS},
        "share-learning": {"force"},
    }
