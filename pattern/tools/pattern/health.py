"""How the service is: what `pattern_health` and `pattern-memory doctor` tell. Nothing in it is secret."""

from __future__ import annotations

import msgspec

from identity.ports import Progress
from loomem.results import CoreCounts, Result, ScopeCounts, ViewHealth
from pattern.server.tool import Arguments, Backend, Tool


class Storage(Result, frozen=True, kw_only=True):
    connected: bool
    backend: str
    embedded: bool
    """Whether this service brings its own broker (`NATS_URL` is not set)."""
    url: str | None = None
    server_version: str | None = None
    latency_ms: float | None = None
    """Of one request to JetStream; absent when it did not answer."""
    error: str | None = None


class Session(Result, frozen=True, kw_only=True):
    agent_id: str | None = None
    project_id: str | None = None
    user_id: str | None = None
    is_subagent: bool | None = None
    parent_id: str | None = None
    subagent_type: str | None = None
    identity_source: str | None = None
    profile: str | None = None
    config_files: list[str] | None = None
    """The files of settings that were read; `pattern-memory config show` tells what counts."""
    session_start: str
    session_duration: str
    version: str


class Node(Result, frozen=True, kw_only=True):
    running: bool
    version: str | None = None
    workers: list[dict[str, object]] | None = None
    """What each background worker says of itself."""
    embedding: dict[str, object] | None = None
    """How the model is that embeds, and how much waits for it; without one, search uses words alone."""
    error: str | None = None


class HealthReport(Result, frozen=True, kw_only=True):
    status: str
    """`healthy`, `degraded` (something is missing, or not yet there) or `unavailable` (somebody must do something)."""
    reasons: list[str]
    """Why it is not healthy, and what to do."""
    storage: Storage
    session: Session
    scopes: dict[str, ScopeCounts] | None = None
    core: CoreCounts | None = None
    view: ViewHealth | None = None
    node: Node | None = None


async def _health(backend: Backend, _given: Arguments, _progress: Progress) -> msgspec.Struct:
    return await backend.health()


HEALTH = Tool(
    name="pattern_health",
    title="Memory health",
    about="How the memory service is: connection, who you are here, counts and limits, background workers. Use it when "
    "another memory tool fails.",
    result=HealthReport,
    run=_health,
    read_only=True,
    deadline_s=5.0,
)
