"""The report of `pattern_health`: asked of every part, bounded, and honest about the ones that do not answer."""

from __future__ import annotations

import time
from contextlib import suppress

import msgspec

from identity.errors import AccessDenied, InvalidInput, LoomError, Unavailable
from loomem.core.embedding import Readiness
from loomem.engine import Engine
from loomem.node.presence import ask_status
from loomem.results import Health
from pattern.parts import Parts
from pattern.tools.pattern.health import HealthReport, Node, Session, Storage

ASK_S = 0.5
"""How long each part may take to answer."""


async def report(parts: Parts, engine: Engine | None, fault: LoomError | None, session: Session) -> HealthReport:
    """Return how everything is."""
    storage = await _storage(parts)
    node = await _node(parts)
    held = engine.counts() if engine is not None else None
    reasons = _reasons(storage, held, node, fault)
    unusable = isinstance(fault, InvalidInput | AccessDenied)
    return HealthReport(
        status="unavailable" if unusable else "degraded" if reasons else "healthy",
        reasons=reasons,
        storage=storage,
        session=_session(parts, session),
        scopes=held.scopes if held is not None else None,
        core=held.core if held is not None else None,
        view=held.view if held is not None else None,
        node=node,
    )


async def _storage(parts: Parts) -> Storage:
    state = parts.link.state
    latency_ms: float | None = None
    if state.connected:
        began = time.perf_counter()
        with suppress(LoomError):
            await parts.link.request("$JS.API.INFO", timeout_s=ASK_S)
            latency_ms = round((time.perf_counter() - began) * 1e3, 2)
    return Storage(
        connected=state.connected,
        backend="nats-kv",
        embedded=parts.broker.embedded,
        url=state.shown_url,
        server_version=state.server_version,
        latency_ms=latency_ms,
        error=state.last_error,
    )


def _session(parts: Parts, session: Session) -> Session:
    caller = parts.caller
    if caller is None:
        return session
    return msgspec.structs.replace(
        session,
        agent_id=caller.agent_id,
        project_id=caller.project_id,
        user_id=caller.user_id,
        is_subagent=caller.is_subagent,
        parent_id=caller.parent_id,
        subagent_type=caller.subagent_type,
    )


async def _node(parts: Parts) -> Node | None:
    """Return how the background node is; None when there is to be none."""
    if not parts.settings.node:
        return None
    state = parts.broker.node
    if state is None:
        return Node(running=False, error=parts.broker.node_error)
    try:
        answer = await ask_status(parts.link, state.node_id, timeout_s=ASK_S)
    except Unavailable as error:
        return Node(running=False, version=state.version, error=parts.broker.node_error or error.message)
    return Node(running=True, version=answer.version, workers=answer.workers, embedding=answer.embedding)


def _reasons(storage: Storage, held: Health | None, node: Node | None, fault: LoomError | None) -> list[str]:
    reasons: list[str] = []
    if not storage.connected:
        reasons.append(f"not connected to the broker: {storage.error or 'it has not answered yet'}")
    elif storage.latency_ms is None:
        reasons.append("the broker is connected, but JetStream does not answer: is it enabled for this account?")
    if fault is not None and (storage.connected or not isinstance(fault, Unavailable)):
        reasons.append(fault.message)
    elif held is None and storage.connected:
        reasons.append("still loading")
    if held is not None and held.view.state != "ready":
        reasons.append(f"the views are {held.view.state}{f': {held.view.error}' if held.view.error else ''}")
    if held is not None and held.view.corrupt:
        reasons.append(f"{held.view.corrupt} records cannot be read; see view.corruptSamples")
    if node is not None and not node.running and storage.connected:
        reasons.append(f"the background node does not answer{f': {node.error}' if node.error else ''}")
    embedding = node.embedding if node is not None else None
    if embedding is not None and embedding.get("state") == Readiness.FAILED:
        reasons.append(f"search uses words alone: {embedding.get('reason')}")
    return reasons
