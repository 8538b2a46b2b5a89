"""What the expiry worker removes: a pure plan over the heads of one bucket.

A head is what the plan needs of a memory and no more: key, revision, category and two times; never content. Three things
are due, each at its own rule:

- a memory whose `expiresAt` and grace are over is erased, and so is one that was deleted when it cannot be restored any
  more (the server does it by itself where it knows per-message TTL); of one that took another's place a stub stays;
- the oldest `recent` and `tasks` of one owner beyond their soft limits are evicted, expired ones not counted; nothing
  else ever is, whatever its number;
- a marker that outlived its purpose is swept (the server does that too, where it can).

Deliberately absent: any I/O, any clock. Operation ids follow from what is removed, so two crews that plan the same
removal make the same change, and the second one finds it done.
"""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from identity.errors import Corrupt
from identity.keys import Kind, Root, parse_key
from identity.ports import Change, Entry, Marker, Put, Reason, Remove
from loomem.core.limits import Limits
from loomem.core.plan import stub_of, stub_op
from loomem.core.record import TEMPORARY, Category, decode, encode
from loomem.core.times import millis, stored_millis

ROUND = 1_000
"""Removals in one plan; what is left is the next plan's."""

_NEVER = float("inf")
_EVICTED_ROOTS = frozenset({Root.AGENTS, Root.PERSONAL, Root.STREAMS})


class Head(msgspec.Struct, frozen=True):
    """What upkeep knows of a memory that may once be removed."""

    key: str
    revision: int
    quota: tuple[str, Category] | None
    """Owner prefix and category whose soft limit it counts for; None when no such limit holds it."""
    created_ms: int
    expires_ms: int | None
    deleted_ms: int | None = None
    stub: bytes | None = None
    """What stays of it when it is erased, if anything must."""


class Grave(msgspec.Struct, frozen=True):
    """A marker, and when it has served its purpose."""

    key: str
    revision: int
    until_ms: int


class Rules(msgspec.Struct, frozen=True, kw_only=True):
    """The limits upkeep works by."""

    recent: int
    tasks: int
    grace_ms: int
    """From `expiresAt` to erasure."""
    retention_ms: int
    """From `deletedAt` to erasure."""
    marker_ms: int
    tombstone_ms: int


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    """What to remove now, and when to look again."""

    changes: tuple[Change, ...] = ()
    sweeps: tuple[Grave, ...] = ()
    next_ms: int | None = None
    """When the next thing is due if nothing changes; None = nothing ever is."""


class _Fields(msgspec.Struct, rename="camel"):
    """The fields of a record that upkeep reads; content is skipped, not decoded."""

    category: str | None = None
    created_at: str | None = None
    expires_at: str | None = None
    deleted_at: str | None = None
    erased: bool = False
    knowledge: _Known | None = None


class _Known(msgspec.Struct):
    supersedes: tuple[str, ...] = ()


def rules_of(limits: Limits, *, marker_s: int, server_erases: bool) -> Rules:
    """Return the rules for a bucket.

    Where the server erases by itself the worker follows an hour behind, for what was written before the server could
    (an older server, later upgraded): it then never races the server, and leaves nothing for ever.
    """
    behind_ms = 3_600_000 if server_erases else 0
    return Rules(
        recent=limits.recent,
        tasks=limits.tasks,
        grace_ms=limits.ttl_grace_s * 1000 + behind_ms,
        retention_ms=limits.retention_s * 1000 + behind_ms,
        marker_ms=marker_s * 1000 + behind_ms,
        tombstone_ms=limits.tombstone_s * 1000 + behind_ms,
    )


def head_of(entry: Entry) -> Head | None:
    """Return the head of a memory, or None when upkeep never has to do with it: it has no end and no soft limit, or is a stub
    or not readable.
    """
    key = parse_key(entry.key)
    if key is None or key.kind is not Kind.MEMORY:
        return None
    try:
        fields = msgspec.json.decode(entry.value, type=_Fields)
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return None  # an unreadable record is shown by the views; nobody removes what nobody understands
    if fields.erased:
        return None
    expires_ms, deleted_ms = stored_millis(fields.expires_at), stored_millis(fields.deleted_at)
    quota = None
    if fields.category in TEMPORARY and key.root in _EVICTED_ROOTS and deleted_ms is None:
        quota = (key.prefix, Category(fields.category))
    if expires_ms is None and deleted_ms is None and quota is None:
        return None
    try:
        stub = encode(stub_of(decode(entry.value))) if fields.knowledge and fields.knowledge.supersedes else None
    except Corrupt:
        return None
    created_ms = stored_millis(fields.created_at)
    return Head(
        entry.key,
        entry.revision,
        quota,
        millis(entry.at) if created_ms is None else created_ms,
        expires_ms,
        deleted_ms,
        stub,
    )


def grave_of(marker: Marker, rules: Rules) -> Grave:
    """Return when a marker may be swept: a tombstone of something forgotten stays longer."""
    life_ms = rules.tombstone_ms if marker.reason is Reason.FORGET else rules.marker_ms
    return Grave(marker.key, marker.revision, millis(marker.at) + life_ms)


def plan_upkeep(heads: Iterable[Head], graves: Iterable[Grave], rules: Rules, now_ms: int) -> Plan:
    """Return what is due at `now_ms`, oldest first, at most `ROUND` removals and `ROUND` sweeps."""
    over: list[Head] = []
    living: list[Head] = []
    for head in heads:
        (over if _erase_ms(head, rules) <= now_ms else living).append(head)
    evicted = _excess(living, rules, now_ms)
    due = [(_erase_ms(head, rules), _remove(head, Reason.EXPIRE)) for head in over]
    due += [(head.created_ms, _remove(head, Reason.EVICT)) for head in evicted.values()]
    due.sort(key=lambda item: (item[0], item[1].key))
    later = [_erase_ms(head, rules) for head in living if head.key not in evicted]

    held = sorted(graves, key=lambda grave: (grave.until_ms, grave.key))
    sweeps = [grave for grave in held if grave.until_ms <= now_ms]
    later += [grave.until_ms for grave in held[len(sweeps) :]]

    soonest = min(later, default=_NEVER)
    if len(due) > ROUND or len(sweeps) > ROUND:
        soonest = now_ms
    return Plan(
        changes=tuple(change for _, change in due[:ROUND]),
        sweeps=tuple(sweeps[:ROUND]),
        next_ms=None if soonest == _NEVER else int(soonest),
    )


def _erase_ms(head: Head, rules: Rules) -> float:
    over = _NEVER if head.expires_ms is None else head.expires_ms + rules.grace_ms
    return over if head.deleted_ms is None else min(over, head.deleted_ms + rules.retention_ms)


def _excess(living: list[Head], rules: Rules, now_ms: int) -> dict[str, Head]:
    """Return, by key, the oldest of each owner and category beyond its limit; what has expired does not count."""
    counted: dict[tuple[str, Category], list[Head]] = {}
    for head in living:
        if head.quota is not None and (head.expires_ms is None or head.expires_ms >= now_ms):
            counted.setdefault(head.quota, []).append(head)
    excess: dict[str, Head] = {}
    for (_, category), held in counted.items():
        limit = rules.recent if category is Category.RECENT else rules.tasks
        if len(held) > limit:
            held.sort(key=lambda head: (head.created_ms, head.key))
            excess.update((head.key, head) for head in held[: len(held) - limit])
    return excess


def _remove(head: Head, reason: Reason) -> Change:
    op = f"{reason} {head.revision}"
    if head.stub is not None:
        return Put(key=head.key, value=head.stub, expected=head.revision, op=stub_op(op))
    return Remove(key=head.key, expected=head.revision, op=op, reason=reason)
