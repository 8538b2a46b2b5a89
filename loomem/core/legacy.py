"""The layout of older Pattern stores: names of its buckets, its slash keys, and what each record becomes here.

    loom-pattern-{project}   agents/{agent}/{category}/{id}           private
                             shared/{category}/{id}                   team
    loom-user-{agent}        agents/{agent}/{category}/{id}           personal
                             pattern.agents/{agent}/{category}/{id}   personal, by writers that followed a library's advice
    loom-global-pattern      shared/{category}/{id}                   public

The bucket and the key decide whose a record is, not what it says of itself: older versions wrote other words for scopes.
Pure. Deliberately absent: reading the buckets and writing ours (`store.migrate`); nothing else knows this layout.
"""

from __future__ import annotations

import re
from typing import Any

import msgspec

from identity.agent import Caller
from identity.errors import LoomError
from identity.visibility import Scope
from loomem.core.envelope import clean_item
from loomem.core.limits import Limits
from loomem.core.plan import is_expired
from loomem.core.record import Memory

GLOBAL_BUCKET = "loom-global-pattern"
MIGRATED_FROM = "migratedFrom"
"""Extra field of a record whose owner or project is another one here: what they were."""


class Source(msgspec.Struct, frozen=True, kw_only=True):
    """What of an old store is asked for."""

    projects: tuple[str, ...]
    """Old ids of the caller's project; they become the caller's."""
    agents: tuple[str, ...]
    """Old ids of the caller's agent: their private and personal memories become the caller's."""
    operator: bool = False
    """Team and public memories stay their creators'; needs the right to write under every prefix."""


class OldBucket(msgspec.Struct, frozen=True):
    """A bucket of the old layout, and what its two kinds of keys hold."""

    name: str
    agents: Scope | None
    shared: Scope | None


class OldKey(msgspec.Struct, frozen=True):
    """A key of an old bucket, taken apart."""

    scope: Scope
    owner: str | None
    """The agent; None in team and public, where the record alone names its creator."""
    category: str
    id: str


class Moved(msgspec.Struct, frozen=True):
    """What a record becomes: a memory, and under whose prefix it lies."""

    memory: Memory
    creator: str


class Left(msgspec.Struct, frozen=True):
    """A record that stays where it is, and why (a short phrase to count by, and what is wrong in particular)."""

    reason: str
    detail: str | None = None


def bucket_part(text: str) -> str:
    """Return an id as the names of old buckets hold it; two ids may become one."""
    return re.sub(r"[^a-z0-9-]", "-", text.lower())


def buckets(source: Source) -> tuple[OldBucket, ...]:
    """Return the buckets to read, in the order private and team, personal, public."""
    found = [
        *(OldBucket(f"loom-pattern-{bucket_part(p)}", Scope.PRIVATE, Scope.TEAM) for p in source.projects),
        *(OldBucket(f"loom-user-{bucket_part(a)}", Scope.PERSONAL, None) for a in source.agents),
        OldBucket(GLOBAL_BUCKET, None, Scope.PUBLIC),
    ]
    return tuple(dict.fromkeys(found))


def parse_old_key(bucket: OldBucket, key: str) -> OldKey | None:
    """Return the parts of a key, or None when it is none of the old layout."""
    head, _, rest = key.removeprefix("pattern.").partition("/")
    parts = rest.split("/")
    if head == "agents" and bucket.agents is not None and len(parts) == 3 and all(parts):
        return OldKey(bucket.agents, parts[0], parts[1], parts[2])
    if head == "shared" and bucket.shared is not None and len(parts) == 2 and all(parts):
        return OldKey(bucket.shared, None, parts[0], parts[1])
    return None


def translated(
    bucket: OldBucket, key: str, value: bytes, *, caller: Caller, source: Source, limits: Limits, now_ms: int
) -> Moved | Left:
    """Return what becomes of one key of an old bucket."""
    old = parse_old_key(bucket, key)
    if old is None:
        return Left("a key of no known layout")
    if not value.strip():
        return Left("empty")
    if old.scope is Scope.PRIVATE and old.owner not in source.agents:
        return Left("private memory of another agent")
    try:
        fields = msgspec.json.decode(value, type=dict[str, Any])
        memory = clean_item({**fields, "scope": str(old.scope)}, limits)
    except (msgspec.MsgspecError, RecursionError):
        return Left("not a record", "no JSON object")
    except LoomError as error:
        return Left("not a record that can be stored here", error.message)
    if memory.id != old.id:
        return Left("not a record", "it names another id than its key")
    if is_expired(memory, now_ms):
        return Left("expired")
    return _rehomed(memory, old, caller, source)


def _rehomed(memory: Memory, old: OldKey, caller: Caller, source: Source) -> Moved:
    """Give a memory the ids it has here, and note the ones it had."""
    theirs = old.owner is None and memory.agent_id not in source.agents and memory.agent_id != caller.agent_id
    creator = memory.agent_id if source.operator and theirs else caller.agent_id
    # Personal and public memories belong to no project; theirs only says where they were written.
    project = caller.project_id if old.scope in (Scope.PRIVATE, Scope.TEAM) else memory.project_id
    if (creator, project) == (memory.agent_id, memory.project_id):
        return Moved(memory, creator)
    was = {"agentId": memory.agent_id, "projectId": memory.project_id}
    extra = {**(memory.extra or {}), MIGRATED_FROM: was}
    return Moved(msgspec.structs.replace(memory, agent_id=creator, project_id=project, extra=extra), creator)


def newest(found: list[Moved]) -> tuple[list[Moved], int]:
    """Return one memory per id, the one changed last, in the order they came; and how many others there were.

    An old move that was interrupted left two; the two personal prefixes may hold the same memory twice.
    """
    best: dict[str, Moved] = {}
    for moved in found:
        other = best.get(moved.memory.id)
        if other is None or moved.memory.updated_at > other.memory.updated_at:
            best[moved.memory.id] = moved
    return list(best.values()), len(found) - len(best)
