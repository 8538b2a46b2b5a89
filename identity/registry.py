"""Loads who calls from the identity bucket of a project, and enrols who is not there yet.

Records, JSON, times in ISO 8601:

| key                         | written by | value                                                        |
|-----------------------------|------------|--------------------------------------------------------------|
| `root`                      | Warp       | agentId, hostname, projectPath, createdAt                    |
| `subagent/{type}`           | Warp       | agentId, parentId, subagentType, createdAt                   |
| `roots.{derived root id}`   | us         | agentId, hostname, projectPath, createdAt, override          |
| `subagents.{root id}.{type}`| us         | agentId, parentId, subagentType, createdAt                   |

Warp keeps one `root` for all hosts of a project, and the last one to start wins it. So ours stand one per host and
folder, and Warp's counts only when it speaks of this host or was meant for every host. What Warp wrote is never changed.

An id is the first of: the override of this process; Warp's record, where it counts; our own record, unless an override
made it (overrides end with the process that has them); the derivation of `identity.agent`.
"""

from __future__ import annotations

import asyncio
import logging
import re
import uuid
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from typing import Generic, TypeVar

import msgspec

from identity.agent import AgentId, Caller, ProjectId, UserId, project_id_of, root_agent_id, subagent_id, user_id_of
from identity.errors import AccessDenied, Conflict, InvalidInput, LimitExceeded, Unavailable
from identity.keys import escape_token, identity_bucket
from identity.ports import Bucket, Buckets, Entry, Put

log = logging.getLogger(__name__)

PAUSES_S = tuple(n / 10 for n in range(1, 11))
"""Between attempts while the store cannot be reached: 5.5 s in all, then one last attempt."""
ATTEMPT_S = 2.0
"""One attempt, so that a store that never answers counts as failed too."""
ID_CHARS = 256
"""Longest id or type that may be configured."""

WARP_ROOT = "root"

_FULL_ID = re.compile(r"[0-9a-f]{32}\Z")

T = TypeVar("T")


class IdentitySpec(msgspec.Struct, frozen=True, kw_only=True):
    """What is known about the caller before anything is read."""

    hostname: str
    os_user: str
    project_path: str
    """Absolute and resolved."""
    project_id: str | None = None
    """As configured; None = derived from the path."""
    agent_id: str | None = None
    """Override of the root agent's id: the same memory from several machines."""
    user_id: str | None = None
    """Override of the user's id."""
    subagent_type: str | None = None
    warp: bool = False
    """Whether only an identity that Warp wrote counts."""

    def __post_init__(self) -> None:
        for field, variable in (
            ("project_id", "LOOMINAL_PROJECT_ID"),
            ("agent_id", "LOOMINAL_AGENT_ID"),
            ("user_id", "LOOMINAL_USER_ID"),
            ("subagent_type", "LOOMINAL_SUBAGENT_TYPE"),
        ):
            text: str | None = getattr(self, field)
            if text is not None and not (text.strip() and text.isprintable() and len(text) <= ID_CHARS):
                raise InvalidInput(f"{variable} must be 1 to {ID_CHARS} printable characters", field=variable)

    @property
    def project(self) -> ProjectId:
        return ProjectId(self.project_id) if self.project_id is not None else project_id_of(self.project_path)

    @property
    def user(self) -> UserId:
        return UserId(self.user_id) if self.user_id is not None else user_id_of(self.os_user, self.hostname)

    @property
    def derived_root(self) -> AgentId:
        """The root agent's id as host and folder derive it, whatever the records say."""
        return root_agent_id(self.hostname, self.project_path)


class RootRecord(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A root agent, as Warp and we write it."""

    agent_id: str
    hostname: str
    project_path: str
    created_at: str = ""
    override: bool = False
    """Whether the id came from an override. Warp does not say; see `is_override`."""

    @property
    def is_override(self) -> bool:
        """Whether the id is not the one that the record's own host and folder derive."""
        return self.override or self.agent_id != root_agent_id(self.hostname, self.project_path)


class SubagentRecord(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A type of sub-agents under one root, as Warp and we write it."""

    agent_id: str
    parent_id: str
    subagent_type: str
    created_at: str = ""


def root_key(spec: IdentitySpec) -> str:
    """Return the key of our own record of this host and folder."""
    return f"roots.{spec.derived_root}"


def subagent_key(root: AgentId, subagent_type: str) -> str:
    """Return the key of our own record of a sub-agent type."""
    return f"subagents.{escape_token(root)}.{escape_token(subagent_type)}"


def warp_counts(record: RootRecord, hostname: str) -> bool:
    """Say whether Warp's root record speaks of this host, or is an override meant for every host of the project."""
    return bool(record.agent_id.strip()) and (record.hostname == hostname or record.is_override)


def choose_root(
    spec: IdentitySpec, warp: RootRecord | None, own: RootRecord | None, *, created_at: str = ""
) -> RootRecord:
    """Return the root agent that this process acts as or under, by what the records say."""
    if spec.agent_id is not None:
        agent_id, override = spec.agent_id, True
    elif warp is not None and warp_counts(warp, spec.hostname):
        agent_id, override = warp.agent_id, warp.is_override
    elif own is not None and not own.override and own.agent_id.strip():
        agent_id, override = own.agent_id, False
    else:
        agent_id, override = spec.derived_root, False
    return RootRecord(
        agent_id=agent_id,
        hostname=spec.hostname,
        project_path=spec.project_path,
        created_at=created_at,
        override=override,
    )


def choose_subagent(root: AgentId, subagent_type: str, warp: SubagentRecord | None) -> AgentId:
    """Return the id of a sub-agent type: Warp's, if it is one of this root and no makeshift id, else the derived one.

    Where Warp derives as documented, the two are the same, so it does not matter who came first.
    """
    if warp is not None and warp.parent_id == root and _FULL_ID.match(warp.agent_id):
        return AgentId(warp.agent_id)
    return subagent_id(root, subagent_type)


async def load(
    buckets: Buckets,
    spec: IdentitySpec,
    *,
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    now: Callable[[], datetime] = lambda: datetime.now(UTC),
) -> Caller:
    """Return who calls, after enrolling it where no record stood yet.

    While the store cannot be reached it is tried again (`PAUSES_S`). That a record is absent is an answer, save when
    only Warp's identities count.

    Raises: Unavailable (not reachable after the last attempt; in Warp's mode also: still nothing there).
    """
    for pause_s in PAUSES_S:
        try:
            return await _attempt(buckets, spec, now)
        except Unavailable as error:
            log.info("event=identity_retry project=%s pause_s=%s reason=%r", spec.project, pause_s, error.message)
        await sleep(pause_s)
    return await _attempt(buckets, spec, now)


async def _attempt(buckets: Buckets, spec: IdentitySpec, now: Callable[[], datetime]) -> Caller:
    try:
        async with asyncio.timeout(ATTEMPT_S):
            return await _load(buckets, spec, now)
    except TimeoutError as error:
        raise Unavailable("The identity store (NATS JetStream) does not answer.") from error


async def _load(buckets: Buckets, spec: IdentitySpec, now: Callable[[], datetime]) -> Caller:
    try:
        bucket = await buckets.open(identity_bucket(spec.project))
    except AccessDenied as error:
        # Absent, and these credentials may not make it: an answer too.
        log.warning("event=identity_bucket_denied project=%s reason=%r", spec.project, error.message)
        bucket = None
    warp = (await _look(bucket, WARP_ROOT, RootRecord)).record
    if spec.warp and spec.agent_id is None and (warp is None or not warp_counts(warp, spec.hostname)):
        raise Unavailable(
            f"Warp has registered no identity for this host in project {spec.project}. Start Warp in this folder, or "
            "unset LOOMINAL_IDENTITY to go on without it."
        )
    own = await _look(bucket, root_key(spec), RootRecord)
    root = choose_root(spec, warp, own.record, created_at=_iso(now()))
    stale = own.record is not None and own.record.override and not root.override
    if own.free or stale:
        await _enrol(None if spec.warp else bucket, root_key(spec), root, expected=own.revision)
    if spec.subagent_type is None:
        return Caller(agent_id=AgentId(root.agent_id), project_id=spec.project, user_id=spec.user)
    return await _load_subagent(bucket, spec, root, spec.subagent_type)


async def _load_subagent(bucket: Bucket | None, spec: IdentitySpec, root: RootRecord, subagent_type: str) -> Caller:
    parent = AgentId(root.agent_id)
    warp = await _look(bucket, f"subagent/{subagent_type}", SubagentRecord)
    agent_id = choose_subagent(parent, subagent_type, warp.record)
    key = subagent_key(parent, subagent_type)
    if (await _look(bucket, key, SubagentRecord)).free:
        record = SubagentRecord(
            agent_id=agent_id, parent_id=parent, subagent_type=subagent_type, created_at=root.created_at
        )
        await _enrol(None if spec.warp else bucket, key, record, expected=0)
    return Caller(
        agent_id=agent_id,
        project_id=spec.project,
        user_id=spec.user,
        parent_id=parent,
        subagent_type=subagent_type,
    )


class _Seen(msgspec.Struct, Generic[T], frozen=True, kw_only=True):
    """What stands under a key."""

    record: T | None = None
    """None when nothing stands there that can be read."""
    free: bool = False
    """Whether a record may be created there."""
    revision: int = 0


async def _look(bucket: Bucket | None, key: str, shape: type[T]) -> _Seen[T]:
    """Return what stands under a key. Raises: Unavailable."""
    if bucket is None:
        return _Seen()
    try:
        held = await bucket.get(key)
    except (InvalidInput, AccessDenied):
        # No key of NATS (then Warp has no such record either), or none that these credentials may read.
        return _Seen()
    if not isinstance(held, Entry):
        return _Seen(free=True)
    try:
        return _Seen(record=msgspec.json.decode(held.value, type=shape), revision=held.revision)
    except (msgspec.DecodeError, UnicodeDecodeError):
        log.warning("event=identity_unreadable bucket=%s key=%s revision=%s", bucket.name, key, held.revision)
        return _Seen(revision=held.revision)


async def _enrol(bucket: Bucket | None, key: str, record: RootRecord | SubagentRecord, *, expected: int) -> None:
    """Write a record, if these credentials may and nobody was quicker. Raises: Unavailable."""
    if bucket is None:
        return
    change = Put(key=key, value=msgspec.json.encode(record), expected=expected, op=uuid.uuid4().hex)
    try:
        await bucket.write(change)
    except Conflict:
        return  # the same host and folder, in another process, at the same time
    except (AccessDenied, LimitExceeded) as error:
        log.warning("event=identity_not_enrolled bucket=%s key=%s reason=%r", bucket.name, key, error.message)
        return
    log.info("event=identity_enrolled bucket=%s key=%s", bucket.name, key)


def _iso(at: datetime) -> str:
    return at.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
