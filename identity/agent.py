"""Who calls: ids, how they are derived, and the caller that is injected into every call.

Derivation is compatible with Warp's records (SHA-256 of UTF-8, lower-case hex, parts concatenated without separator).
Deliberately absent: reading the environment or the network; `registry` loads and enrols, the composition root reads settings.
"""

from __future__ import annotations

import hashlib
from typing import NewType

import msgspec

AgentId = NewType("AgentId", str)
ProjectId = NewType("ProjectId", str)
UserId = NewType("UserId", str)


def _hex(*parts: str) -> str:
    return hashlib.sha256("".join(parts).encode("utf-8", "surrogatepass")).hexdigest()


def root_agent_id(hostname: str, project_path: str) -> AgentId:
    """Return the id of the root agent of a project folder on a host (32 hex)."""
    return AgentId(_hex(hostname, project_path)[:32])


def subagent_id(root: AgentId, subagent_type: str) -> AgentId:
    """Return the id that all sub-agents of one type under one root share (32 hex)."""
    return AgentId(_hex(root, subagent_type)[:32])


def project_id_of(path_or_remote: str) -> ProjectId:
    """Return the id of a project by its absolute path, or by its git remote where that is configured (16 hex)."""
    return ProjectId(_hex(path_or_remote)[:16])


def user_id_of(os_user: str, hostname: str) -> UserId:
    """Return the id of the person, the same in every project of this host (32 hex)."""
    return UserId(_hex(os_user, hostname)[:32])


class Caller(msgspec.Struct, frozen=True, kw_only=True):
    """Who makes the calls of this session. Never a tool argument."""

    agent_id: AgentId
    project_id: ProjectId
    user_id: UserId
    parent_id: AgentId | None = None
    """The root agent, for a sub-agent; None for a root agent."""
    subagent_type: str | None = None

    @property
    def is_subagent(self) -> bool:
        return self.parent_id is not None

    def __post_init__(self) -> None:
        for name in ("agent_id", "project_id", "user_id"):
            if not str(getattr(self, name)).strip():
                raise ValueError(f"{name} is blank")
        if (self.parent_id is None) != (self.subagent_type is None):
            raise ValueError("a sub-agent has both a parent and a type, a root agent neither")
