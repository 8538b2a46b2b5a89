"""Export files as other programs write and judge them: nothing here comes from the service."""

from __future__ import annotations

import json
import uuid
from pathlib import Path
from typing import Any, cast

NOW = "2026-01-02T03:00:00.000Z"
"""A little before the time of the tests' clock."""
CATEGORIES = {
    "private": ("recent", "tasks", "longterm", "core"),
    "personal": ("recent", "tasks", "longterm", "core"),
    "team": ("decisions", "architecture", "learnings"),
    "public": ("decisions", "architecture", "learnings"),
}


def item(ident: str | None = None, **changes: Any) -> dict[str, Any]:
    """Return one record as it stands in a file; what is None in `changes` is left out."""
    fields: dict[str, Any] = {
        "id": ident or str(uuid.uuid4()),
        "agentId": "agent-a",
        "projectId": "project-p",
        "scope": "private",
        "category": "longterm",
        "content": f"about {ident}",
        "createdAt": NOW,
        "updatedAt": NOW,
        "version": 1,
    }
    return {name: value for name, value in (fields | changes).items() if value is not None}


def envelope(*items: object, **changes: Any) -> dict[str, Any]:
    """Return a file's object around some records."""
    fields: dict[str, Any] = {
        "version": "1.0",
        "exportedAt": NOW,
        "projectId": "project-p",
        "agentId": "agent-a",
        "memories": list(items),
    }
    return {name: value for name, value in (fields | changes).items() if value is not None}


def write(path: Path, *items: object, **changes: Any) -> str:
    """Write a file of some records and return its name."""
    path.write_text(json.dumps(envelope(*items, **changes)), encoding="utf-8")
    return path.name


def read(path: Path | str) -> dict[str, Any]:
    """Return the object in a file."""
    return cast("dict[str, Any]", json.loads(Path(path).read_bytes()))


def refused_by_pattern_0_4(text: str) -> list[str]:
    """Return what the importer of Pattern 0.4.0 would not take of a file; by its rules alone, as specified."""
    file = json.loads(text)
    wrong = [name for name in ("version", "exportedAt", "projectId", "agentId") if not isinstance(file.get(name), str)]
    if not isinstance(file.get("memories"), list):
        return [*wrong, "memories"]
    for index, record in enumerate(file["memories"]):
        wrong += [f"{index}: {why}" for why in _wrong_of(record)]
    idents = [record["id"] for record in file["memories"]]
    return wrong if len(set(idents)) == len(idents) else [*wrong, "ids are not unique"]


def _wrong_of(record: dict[str, Any]) -> list[str]:
    texts = ("id", "agentId", "projectId", "content", "createdAt", "updatedAt")
    wrong = [name for name in texts if not isinstance(record.get(name), str) or not record[name]]
    if record.get("category") not in CATEGORIES.get(record.get("scope", ""), ()):
        wrong.append("scope and category")
    if not isinstance(record.get("version"), int | float):
        wrong.append("version")
    if "expiresAt" in record and not isinstance(record["expiresAt"], str):
        wrong.append("expiresAt")
    if "metadata" in record and not isinstance(record["metadata"], dict | list | None):
        wrong.append("metadata")
    return wrong


PATTERN_0_4 = """{
  "version": "1.0",
  "exportedAt": "2026-01-02T03:00:00.000Z",
  "projectId": "project-p",
  "agentId": "agent-a",
  "memories": [
    {
      "id": "0b7d7c2e-8d1f-4a53-b3e2-4a1f0f1d2c3b",
      "agentId": "agent-a",
      "projectId": "project-p",
      "scope": "private",
      "category": "recent",
      "content": "Several\\nlines, \\"quoted\\", \\u017c\\u00f3\\u0142w \\ud83d\\udd10",
      "metadata": {
        "tags": [
          "build",
          "ci"
        ],
        "priority": 1,
        "relatedTo": [
          "1c8e8d3f-9e20-4b64-84f3-5b201a2e3d4c"
        ],
        "source": "review",
        "ticket": {
          "number": 7
        }
      },
      "createdAt": "2026-01-02T02:00:00.000Z",
      "updatedAt": "2026-01-02T02:00:00.000Z",
      "expiresAt": "2026-01-03T02:00:00.000Z",
      "version": 1
    },
    {
      "id": "5e2f1a90-1111-4c1d-9d57-0e2b7c6a1f10",
      "agentId": "agent-a",
      "projectId": "project-p",
      "scope": "private",
      "category": "core",
      "content": "Old layouts kept core memories in the project too",
      "createdAt": "2025-11-29T10:00:00.000Z",
      "updatedAt": "2025-12-01T10:00:00.123Z",
      "version": 1
    },
    {
      "id": "1c8e8d3f-9e20-4b64-84f3-5b201a2e3d4c",
      "agentId": "agent-a",
      "projectId": "project-p",
      "scope": "team",
      "category": "architecture",
      "content": "Decided",
      "createdAt": "2025-11-29T10:00:00.000Z",
      "updatedAt": "2025-11-29T10:00:00.000Z",
      "version": 1
    },
    {
      "id": "2d9f9e40-af31-4c75-95a4-6c312b3f4e5d",
      "agentId": "agent-a",
      "projectId": "project-p",
      "scope": "public",
      "category": "learnings",
      "content": "For everybody",
      "createdAt": "2025-11-29T10:00:00.000Z",
      "updatedAt": "2025-11-29T10:00:00.000Z",
      "version": 1
    }
  ]
}"""
"""A file in the form in which Pattern 0.4.0 writes it, and with what it may hold."""
