"""The record: one memory, as its bucket holds it. Field names and order are those of the export format "1.0".

Unknown fields survive a round trip (`extra`). A record of an unknown schema version is `Corrupt`, never guessed at.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Any, cast

import msgspec

from identity.errors import Corrupt
from identity.visibility import Scope
from loomem.core import knowledge as known_of
from loomem.core.knowledge import Knowledge

SCHEMA_VERSION = 1


class Category(StrEnum):
    RECENT = "recent"
    TASKS = "tasks"
    LONGTERM = "longterm"
    CORE = "core"
    DECISIONS = "decisions"
    ARCHITECTURE = "architecture"
    LEARNINGS = "learnings"


OWN = (Category.RECENT, Category.TASKS, Category.LONGTERM, Category.CORE)
COMMON = (Category.DECISIONS, Category.ARCHITECTURE, Category.LEARNINGS)

CATEGORIES: dict[Scope, tuple[Category, ...]] = {
    Scope.PRIVATE: OWN,
    Scope.PERSONAL: OWN,
    Scope.TEAM: COMMON,
    Scope.PUBLIC: COMMON,
}
"""What each scope holds."""

DEFAULT_SCOPE: dict[Category, Scope] = {
    Category.RECENT: Scope.PRIVATE,
    Category.TASKS: Scope.PRIVATE,
    Category.LONGTERM: Scope.PRIVATE,
    Category.CORE: Scope.PERSONAL,
    Category.DECISIONS: Scope.TEAM,
    Category.ARCHITECTURE: Scope.TEAM,
    Category.LEARNINGS: Scope.TEAM,
}

TEMPORARY = (Category.RECENT, Category.TASKS)
"""Categories that expire by themselves and whose oldest are evicted beyond a soft limit."""

LEGACY_SCOPE: dict[str, Scope] = {
    "user": Scope.PERSONAL,
    "project": Scope.TEAM,
    "shared": Scope.TEAM,
    "project-only": Scope.TEAM,
    "user-only": Scope.PERSONAL,
}
"""Scope values of older writers; read and imported, never written."""

SORT_RANK: dict[Category, int] = {
    Category.CORE: 1,
    Category.LONGTERM: 2,
    Category.DECISIONS: 3,
    Category.ARCHITECTURE: 3,
    Category.LEARNINGS: 3,
    Category.RECENT: 4,
    Category.TASKS: 5,
}


class Memory(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True, forbid_unknown_fields=True):
    """One memory. Times are strings as stored (see `core.times`), so a round trip changes nothing."""

    id: str
    agent_id: str
    project_id: str
    scope: Scope
    category: Category
    content: str
    metadata: dict[str, Any] | None = None
    """`tags`, `priority`, `relatedTo`, `source`, and whatever else the writer put there."""
    created_at: str
    updated_at: str
    expires_at: str | None = None
    version: int
    deleted_at: str | None = None
    """When it was deleted; hidden since, erased when its time to be restored is over."""
    erased: bool = False
    """Whether this is the stub of a memory that is gone: without content, it only says whose place the memory took."""
    knowledge: Knowledge | None = None
    extra: dict[str, Any] | None = msgspec.field(default=None, name="(extra)")
    """Fields this version does not know, written back as they came. Not a field of the stored record."""

    @property
    def tags(self) -> tuple[str, ...]:
        return _strings((self.metadata or {}).get("tags"))

    @property
    def related_to(self) -> tuple[str, ...]:
        return _strings((self.metadata or {}).get("relatedTo"))

    @property
    def priority(self) -> int:
        """1 high to 3 low; 2 when absent or unreadable."""
        value = (self.metadata or {}).get("priority")
        return value if isinstance(value, int) and not isinstance(value, bool) else 2


def _strings(value: object) -> tuple[str, ...]:
    if not isinstance(value, list):
        return ()
    return tuple(x for x in cast("list[object]", value) if isinstance(x, str))


_KNOWN = tuple(f.encode_name for f in msgspec.structs.fields(Memory) if f.name != "extra")


def to_fields(memory: Memory) -> dict[str, Any]:
    """Return the stored form as a plain dict, in the order of the format."""
    fields: dict[str, Any] = {
        "id": memory.id,
        "agentId": memory.agent_id,
        "projectId": memory.project_id,
        "scope": str(memory.scope),
        "category": str(memory.category),
        "content": memory.content,
        "metadata": memory.metadata,
        "createdAt": memory.created_at,
        "updatedAt": memory.updated_at,
        "expiresAt": memory.expires_at,
        "version": memory.version,
        "deletedAt": memory.deleted_at,
        "erased": memory.erased or None,
        "knowledge": None if memory.knowledge is None else known_of.fields_of(memory.knowledge),
    }
    for absent in ("metadata", "expiresAt", "deletedAt", "erased", "knowledge"):
        if fields[absent] is None:
            del fields[absent]
    return {**fields, **memory.extra} if memory.extra else fields


def encode(memory: Memory) -> bytes:
    """Return the value to store: compact JSON."""
    return msgspec.json.encode(to_fields(memory))


def decode(value: bytes) -> Memory:
    """Return the record of a stored value.

    Raises: Corrupt, saying what is wrong with it (without its content).
    """
    try:
        memory = _decoder.decode(value)
    except (msgspec.MsgspecError, UnicodeDecodeError):
        # Rare: unknown fields, an older writer's scope, or no record at all.
        return from_fields(_fields(value))
    if memory.version != SCHEMA_VERSION:
        raise _unknown_version(memory.version)
    odd = memory.extra is not None or (memory.knowledge is not None and memory.knowledge.extra is not None)
    return from_fields(_fields(value)) if odd else memory


_decoder = msgspec.json.Decoder(Memory)


def _fields(value: bytes) -> dict[str, Any]:
    try:
        return msgspec.json.decode(value, type=dict[str, Any])
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise Corrupt(f"not a JSON object: {error}") from None


def _unknown_version(version: object) -> Corrupt:
    return Corrupt(f"schema version {version!r} is not one this version reads ({SCHEMA_VERSION})")


def from_fields(fields: dict[str, Any]) -> Memory:
    """Return the record of plain fields; legacy scopes are translated.

    Raises: Corrupt.
    """
    version: object = fields.get("version")
    if isinstance(version, bool) or version != SCHEMA_VERSION:
        raise _unknown_version(version)
    known = {k: fields[k] for k in _KNOWN if k in fields}
    if isinstance(known.get("scope"), str):
        known["scope"] = LEGACY_SCOPE.get(known["scope"], known["scope"])
    knowledge = known.pop("knowledge", None)
    try:
        memory = msgspec.convert(known, Memory)
        if knowledge is not None:
            said = known_of.from_fields(msgspec.convert(knowledge, dict[str, Any]))
            memory = msgspec.structs.replace(memory, knowledge=said)
    except msgspec.ValidationError as error:
        raise Corrupt(str(error)) from None
    unknown = {k: v for k, v in fields.items() if k not in _KNOWN}
    return msgspec.structs.replace(memory, extra=unknown) if unknown else memory
