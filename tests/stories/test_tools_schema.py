"""What clients are told about the tools, and that it is what calls are held to."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import jsonschema
import pytest

from identity.errors import InvalidInput
from pattern.server.arguments import checked
from pattern.server.schema import listed as tool_as_listed
from pattern.server.tool import Json, Tool
from pattern.testing.agents import Agents, Mode
from pattern.tools.memory import TOOLS as MEMORY
from pattern.tools.pattern import TOOLS as PATTERN

ORDER = [
    "pattern_health",
    "remember",
    "remember-task",
    "remember-learning",
    "commit-insight",
    "core-memory",
    "forget",
    "recall-context",
    "share-learning",
    "cleanup",
    "export-memories",
    "import-memories",
    "remember-bulk",
    "forget-bulk",
    "get-memory",
    "update-memory",
]
WORDS_NOBODY_NEEDS = {"anyOf", "oneOf", "allOf", "not", "$ref", "$defs", "nullable"}
BYTES = 48_000
WRONG: dict[Json, Any] = {"string": 5, "integer": "x", "number": "x", "boolean": "yes", "array": 5, "object": [1]}

TOOLS = (*PATTERN, *MEMORY)
by_name = {tool.name: tool for tool in TOOLS}
arguments = [(tool, name) for tool in TOOLS for name in (*tool.params, *tool.older)]
spelled = pytest.mark.parametrize(("tool", "name"), arguments, ids=lambda value: getattr(value, "name", value))


async def listed(agents: Agents, mode: Mode = "legacy") -> list[dict[str, Any]]:
    tools = (await (await agents(mode=mode)).client.list_tools()).tools
    return [tool.model_dump(by_alias=True, exclude_none=True, mode="json") for tool in tools]


def nodes(schema: Any) -> list[dict[str, Any]]:
    """Return a schema and all that are in it."""
    found: list[dict[str, Any]] = [schema]
    for inner in (*schema.get("properties", {}).values(), *filter(None, [schema.get("items")])):
        found += nodes(inner)
    return found


@pytest.mark.requirement("deliver-5.tools", "shown-clients")
@pytest.mark.parametrize("mode", ["legacy", "2026-07-28"])
async def test_tools_are_listed_in_order_and_small(agents: Agents, mode: Mode) -> None:
    tools = await listed(agents, mode)
    assert [tool["name"] for tool in tools] == [*ORDER, *(tool.name for tool in MEMORY)]
    assert len(json.dumps(tools).encode()) <= BYTES
    for tool in tools:
        assert tool["title"]
        assert 40 <= len(tool["description"]) <= 400
        assert {"readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint"} <= set(tool["annotations"])
        assert not (tool["annotations"]["readOnlyHint"] and tool["annotations"]["destructiveHint"])


@pytest.mark.requirement("lesson-3.13.flat", "shown-schemas")
async def test_every_schema_is_flat_typed_and_valid(agents: Agents) -> None:
    for tool in await listed(agents):
        for schema in (tool["inputSchema"], tool["outputSchema"]):
            jsonschema.Draft202012Validator.check_schema(schema)
            assert schema["type"] == "object"
            for node in nodes(schema):
                assert not WORDS_NOBODY_NEEDS & set(node)
                assert isinstance(node["type"], str)
                assert node["type"] != "array" or "type" in node["items"]
        assert set(tool["inputSchema"].get("required", ())) <= set(tool["inputSchema"]["properties"])
        assert "required" not in tool["outputSchema"]  # strict clients hold errors to it as well


@spelled
def test_an_argument_of_another_type_is_refused_by_name(tool: Tool, name: str) -> None:
    shape = {**tool.params, **tool.older}[name]
    with pytest.raises(InvalidInput, match=f"^{name} must be an? {shape.type}"):
        checked(tool, {**valid(tool), name: WRONG[shape.type]})


@spelled
def test_null_is_absent(tool: Tool, name: str) -> None:
    if name in tool.required and name not in tool.missing:
        with pytest.raises(InvalidInput, match=f"^{name} is required"):
            checked(tool, {**valid(tool), name: None})
    else:
        assert checked(tool, {**valid(tool), name: None}).get(name) == tool.missing.get(name)


@pytest.mark.requirement("lesson-3.13.string")
@spelled
def test_arrays_and_objects_may_come_as_json_text(tool: Tool, name: str) -> None:
    shape = {**tool.params, **tool.older}[name]
    text = {"array": '["a"]', "object": '{"a": 1}'}.get(shape.type, "[]")
    if shape.type in ("array", "object"):
        assert checked(tool, {**valid(tool), name: text})[name] == json.loads(text)
    elif shape.type == "string":
        assert checked(tool, {**valid(tool), name: text})[name] == text


@pytest.mark.parametrize("tool", TOOLS, ids=lambda tool: tool.name)
def test_what_is_seldom_told_is_accepted_and_can_be_done_without(tool: Tool) -> None:
    assert tool.seldom <= set(tool.params) - set(tool.required)
    brief = tool_as_listed(tool, brief=True).input_schema["properties"]
    assert set(brief) == set(tool.params) - tool.seldom


@pytest.mark.parametrize("tool", TOOLS, ids=lambda tool: tool.name)
def test_unknown_arguments_are_ignored(tool: Tool) -> None:
    assert checked(tool, {**valid(tool), "_why": "because", "scopez": []}) == {**tool.missing, **valid(tool)}


def test_missing_arguments_are_none_at_all() -> None:
    assert checked(by_name["recall-context"], None) == {}
    with pytest.raises(InvalidInput, match=r"^content is required"):
        checked(by_name["remember"], None)


def test_a_whole_number_may_come_with_a_point() -> None:
    assert checked(by_name["recall-context"], {"limit": 10.0}) == {"limit": 10}
    with pytest.raises(InvalidInput, match=r"^limit must be an integer"):
        checked(by_name["recall-context"], {"limit": 10.5})
    with pytest.raises(InvalidInput, match=r"^limit must be an integer, not a boolean"):
        checked(by_name["recall-context"], {"limit": True})


@pytest.mark.requirement("create-3.type", "deliver-5.structured", "shown-clients")
@pytest.mark.parametrize("mode", ["legacy", "2026-07-28"])
@pytest.mark.parametrize("door", ["in memory", "stdio"])
async def test_results_and_errors_are_what_the_schemas_say(agents: Agents, mode: Mode, door: str) -> None:
    schemas = {tool["name"]: tool["outputSchema"] for tool in await listed(agents, mode)}
    client = (await (agents.spawn if door == "stdio" else agents)(mode=mode)).client
    called: set[str] = set()

    async def call(name: str, *, fails: str | None = None, **given: object) -> Any:
        answer = await client.call_tool(name, given)
        called.add(name)
        body = answer.structured_content
        jsonschema.validate(body, {**schemas[name], "additionalProperties": False})
        assert answer.is_error == (fails is not None), body
        text = getattr(answer.content[0], "text", "")
        if fails is None:
            assert json.loads(text) == body
            assert text == json.dumps(body, indent=2, ensure_ascii=False)
        else:
            assert body["code"] == fails
            assert text == f"Error: {body['message']}"
            assert set(body) == {"code", "message", "details"}
        return body

    await call("remember", fails="VALIDATION_ERROR", content=5)
    stored = await call("remember", content="a", metadata={"tags": ["t"]})
    ident = stored["memoryId"]
    assert (await call("get-memory", memoryId=ident))["memory"]["content"] == "a"
    updated = await call("update-memory", memoryId=ident, expectedRevision=stored["revision"], content="b")
    lost = await call(
        "update-memory", fails="CONFLICT", memoryId=ident, expectedRevision=stored["revision"], content="c"
    )
    assert lost["details"]["currentRevision"] == updated["revision"]
    await call("remember-task", content="t")
    await call("remember-learning", content="l")
    await call("commit-insight", memoryId=ident)
    shared = await call("share-learning", memoryId=ident, keepPrivate=True)
    assert not shared["originalDeleted"]
    await call("core-memory", content="c")
    await call("remember-bulk", memories=[{"content": "m"}, {"content": ""}], validate=False)
    await call("remember-bulk")
    assert (await call("recall-context", scope="shared"))["counts"]["private"] == 0
    assert (await call("recall-context", scope="both"))["counts"]["team"] == 1
    await call("recall-context", fails="VALIDATION_ERROR", since="yesterday")
    await call("export-memories", outputPath="out.json")
    await call("import-memories", inputPath="out.json")
    await call("forget", memoryId=ident)
    await call("forget", fails="MEMORY_NOT_FOUND", memoryId=ident)
    await call("forget-bulk", memoryIds=[shared["teamMemoryId"], "nope"])
    await call("cleanup")
    assert (await call("pattern_health"))["status"] == "healthy"
    assert called == set(ORDER)


@pytest.mark.requirement("know-schema")
async def test_results_of_the_knowledge_tools_are_what_their_schemas_say(agents: Agents) -> None:
    me = await agents()
    schemas = {tool["name"]: tool["outputSchema"] for tool in await listed(agents)}

    async def call(name: str, **given: object) -> Any:
        answer = await me.client.call_tool(name, given)
        assert not answer.is_error, answer
        jsonschema.validate(answer.structured_content, {**schemas[name], "additionalProperties": False})
        called.add(name)
        return answer.structured_content

    called: set[str] = set()
    old = await call("memory_store", content="Likes tea", metadata={"tags": ["t"]})
    plain = (await me.call("remember", content="Likes milk", scope="personal", category="longterm"))["memoryId"]
    relation = {"subject": "a", "relation": "b", "object": "c"}
    new = await call("memory_store", content="Likes coffee", supersedes=old["memoryId"], relations=[relation] * 70)
    assert new["supersedes"] == [old["memoryId"]]
    blocked = await call("memory_store", content="Likes water", supersedes=plain)
    assert "supersedes" not in blocked
    for more in ({}, {"explain": True, "evidence_fields": True, "include_superseded": True}):
        assert (await call("memory_search", query="likes", **more))["rows"]
    await call("memory_search", query="nothing of the kind")
    assert (await call("memory_history", chunk_id=new["memoryId"]))["total"] == 2
    assert (await call("memory_graph", entity="a", depth=2))["relations"]
    assert not (await call("memory_graph", entity="nobody"))["found"]
    await call("memory_ingest", content="User: I moved to Berlin.", wait=False)
    rating = {"usefulness": 4, "harmful": False, "justification": "why", "model_version": "m"}
    for ident in (new["memoryId"], "unknown"):
        await call("memory_feedback", chunk_id=ident, **rating)
    taken = await call("memory_ingest", content="User: I like tea.\nBot: Fine.", wait=False)
    await call("memory_status", source_id=taken["sourceId"])
    assert (await call("memory_history", chunk_id=taken["sourceId"]))["extraction"]["state"] == "pending"
    for tool in ("memory_namespaces", "memory_status", "memory_stats"):
        await call(tool)
    await call("memory_delete", chunk_id=new["memoryId"])
    assert called == {tool.name for tool in MEMORY}


async def test_an_unknown_tool_is_an_error_that_names_it(agents: Agents) -> None:
    client = (await agents()).client
    answer = await client.call_tool("memorise", {})
    assert answer.is_error
    assert "memorise" in getattr(answer.content[0], "text", "")
    answer = await client.call_tool("memorise" * 1000, {})
    assert len(getattr(answer.content[0], "text", "")) < 200


@pytest.mark.requirement("deliver-5.progress")
@pytest.mark.parametrize("mode", ["legacy", "2026-07-28"])
async def test_bulk_export_and_import_report_progress(agents: Agents, mode: Mode) -> None:
    agent = await agents(mode=mode)
    stored: dict[str, Any] = {}
    calls: tuple[tuple[str, Callable[[], dict[str, Any]]], ...] = (
        ("remember-bulk", lambda: {"memories": [{"content": str(n)} for n in range(30)]}),
        ("export-memories", lambda: {"outputPath": "p.json"}),
        ("import-memories", lambda: {"inputPath": "p.json"}),
        ("forget-bulk", lambda: {"memoryIds": stored["memoryIds"]}),
    )
    for name, given in calls:
        heard: list[tuple[float, float | None]] = []

        async def hear(done: float, total: float | None, _message: str, heard: list[Any] = heard) -> None:
            heard.append((done, total))

        stored |= await agent.call_with(name, given(), progress=hear)
        assert heard == sorted(heard), name
        assert heard[-1] == (30.0, 30.0), name


def valid(tool: Tool) -> dict[str, Any]:
    """Return arguments of the right types for what a tool requires."""
    examples: dict[str, Any] = {"string": "x", "integer": 1, "boolean": False, "array": ["x"]}
    return {name: examples[tool.params[name].type] for name in tool.required}
