"""Lists and calls every tool through the inspector's command line, and checks what it hands back.

python3 inspect_tools.py INSPECTOR SERVER TOOLS_JSON
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import uuid
from typing import Any

Result = dict[str, Any]


class Inspector:
    """The command line of @modelcontextprotocol/inspector; each call is a session of its own."""

    def __init__(self, inspector: str, server: str) -> None:
        home = f"PATTERN_HOME={os.environ['PATTERN_HOME']}"
        self._command = [inspector, "--cli", "-e", home, server, "--method"]
        self.called: set[str] = set()

    def list(self) -> list[Result]:
        tools: list[Result] = self._run("tools/list")["tools"]
        return tools

    def call(self, tool: str, **arguments: object) -> Result:
        given = [part for name, value in arguments.items() for part in ("--tool-arg", f"{name}={_text(value)}")]
        result = self._run("tools/call", "--tool-name", tool, *given)
        if result.get("isError"):
            raise SystemExit(f"{tool} failed: {result}")
        self.called.add(tool)
        found: Result = result["structuredContent"]
        said = result["content"][0]["text"]
        # The knowledge tools say in words what the others say in JSON.
        if not said if tool.startswith("memory_") else json.loads(said) != found:
            raise SystemExit(f"{tool}: text and structured content differ: {result}")
        return found

    def _run(self, *arguments: str) -> Result:
        ran = subprocess.run(
            [*self._command, *arguments], capture_output=True, text=True, encoding="utf-8", timeout=90, check=False
        )
        if ran.returncode != 0:
            raise SystemExit(f"inspector {arguments}: {ran.stdout}{ran.stderr}")
        answer: Result = json.loads(ran.stdout)
        return answer


def _text(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def main(inspector: str, server: str, path: str) -> None:
    client = Inspector(inspector, server)
    tools = client.list()
    with open(path, "w", encoding="utf-8") as file:
        json.dump(tools, file)

    expect(client.call("pattern_health")["status"], "healthy")
    insight = client.call("remember", content="told by the inspector", metadata={"tags": ["inspected"]})
    task = client.call("remember-task", content="inspect every tool")
    learning = client.call("remember-learning", content="learned while inspecting")
    core = client.call("core-memory", content="inspected for ever")
    expect(client.call("commit-insight", memoryId=insight["memoryId"])["newScope"], "private")
    shared = client.call("share-learning", memoryId=insight["memoryId"])
    expect(shared["originalDeleted"], wanted=True)
    bulk = client.call("remember-bulk", memories=[{"content": "first of two"}, {"content": "second of two"}])
    expect(bulk["stored"], 2)
    seen = client.call("get-memory", memoryId=task["memoryId"])["memory"]
    edited = client.call(
        "update-memory", memoryId=task["memoryId"], expectedRevision=seen["revision"], content="inspected"
    )
    expect(edited["memoryId"], task["memoryId"])
    recalled = client.call("recall-context", tags=["inspected"])
    expect([memory["id"] for memory in recalled["team"]], [shared["teamMemoryId"]])
    expect(client.call("export-memories", outputPath="inspected.json")["exported"], 6)
    expect(client.call("import-memories", inputPath="inspected.json")["skipped"], 6)
    expect(client.call("forget", memoryId=core["memoryId"], force=True)["deleted"], wanted=True)
    expect(client.call("forget-bulk", memoryIds=[*bulk["memoryIds"], str(uuid.uuid4())])["deleted"], 2)
    expect(client.call("cleanup")["deleted"], 0)
    expect(client.call("get-memory", memoryId=learning["memoryId"])["memory"]["content"], "learned while inspecting")

    facts(client)

    missed = {tool["name"] for tool in tools} - client.called
    if missed:
        raise SystemExit(f"never called: {sorted(missed)}")
    print(f"inspector: {len(tools)} tools listed, each called")


def facts(client: Inspector) -> None:
    """Call the knowledge tools."""
    old = client.call("memory_store", content="The inspector prefers short answers", subject="inspector")["memoryId"]
    new = client.call("memory_store", content="The inspector prefers long answers", supersedes=old)["memoryId"]
    found = client.call("memory_search", query="which answers does the inspector prefer")
    expect([row["id"] for row in found["rows"] if row["id"] in (old, new)], [new])
    expect(client.call("memory_history", chunk_id=old)["total"], 2)
    rated = client.call(
        "memory_feedback",
        chunk_id=new,
        usefulness=4,
        harmful=False,
        justification="it answered",
        model_version="inspector",
    )
    expect(rated["accepted"], 1)
    said = "User: I moved to Hamburg yesterday.\nAssistant: Good luck there!"
    taken = client.call("memory_ingest", content=said, conversation_date="2026-04-02")
    expect([fact["event"] for fact in taken["facts"]], ["2026-04-01"])
    client.call(
        "memory_store", content="Anna uses Rust", relations=[{"subject": "Anna", "relation": "uses", "object": "Rust"}]
    )
    expect(client.call("memory_graph", entity="Anna")["found"], wanted=True)
    for overview in ("memory_namespaces", "memory_status", "memory_stats"):
        client.call(overview)
    expect(client.call("memory_delete", chunk_id=new)["memoryId"], new)


def expect(found: object, wanted: object) -> None:
    if found != wanted:
        raise SystemExit(f"{wanted!r} was expected, not {found!r}")


if __name__ == "__main__":
    main(*sys.argv[1:])
