"""What each caller may see and change: one pure table, and the only functions that read it.

| scope    | bucket  | root             | owner                       | read by                              | written by |
|----------|---------|------------------|-----------------------------|--------------------------------------|------------|
| private  | project | agents           | the agent                   | the agent, its sub-agents            | the agent  |
| private  | project | core             | the agent                   | the agent                            | the agent  |
| team     | project | shared           | the creator                 | every agent of the project           | the creator|
| personal | user    | personal         | `user`, or the sub-agent type | root agents of the user; that type | the same   |
| personal | user    | streams          | the stream                  | root agents of the user              | the same   |
| public   | global  | shared           | the creator                 | every agent of this broker           | the creator|

Every path (get, list, search, export, import, notification, count, error text) asks here. Missing = denied.
"""

from __future__ import annotations

from enum import StrEnum

import msgspec

from identity.agent import Caller
from identity.keys import GLOBAL_BUCKET, Kind, Root, Space, escape_token, kind_filter, project_bucket, user_bucket

PERSONAL_OWNER = "user"
"""Owner token of the personal space that all root agents of a user share."""


class Scope(StrEnum):
    PRIVATE = "private"
    PERSONAL = "personal"
    TEAM = "team"
    PUBLIC = "public"


class Sight(msgspec.Struct, frozen=True):
    """One stretch of keys that a caller may read."""

    scope: Scope
    bucket: str
    root: Root
    owner: str | None
    """The one owner, or None for every owner under `root`."""
    mine: bool
    """Whether the caller may also change what lies there (with owner None: its own part only, save in streams)."""

    @property
    def filter(self) -> str:
        """Key pattern of everything in it."""
        if self.owner is None:
            return f"{self.root}.>"
        return Space(self.bucket, self.root, self.owner).filter

    def filter_of(self, kind: Kind) -> str:
        """Return the key pattern of the values of one kind in it."""
        return kind_filter(self.root, None if self.owner is None else escape_token(self.owner), kind)


def personal_owner(caller: Caller) -> str:
    """Return the owner of the caller's personal space; each sub-agent type has its own, in every project of the user."""
    return PERSONAL_OWNER if caller.subagent_type is None else f"type:{caller.subagent_type}"


def space_for(caller: Caller, scope: Scope, *, core: bool = False) -> Space:
    """Return the one space in which the caller writes a memory of this scope."""
    project = project_bucket(caller.project_id)
    match scope:
        case Scope.PRIVATE:
            return Space(project, Root.CORE if core else Root.AGENTS, caller.agent_id)
        case Scope.PERSONAL:
            return Space(user_bucket(caller.user_id), Root.PERSONAL, personal_owner(caller))
        case Scope.TEAM:
            return Space(project, Root.SHARED, caller.agent_id)
        case Scope.PUBLIC:
            return Space(GLOBAL_BUCKET, Root.SHARED, caller.agent_id)


def sights(caller: Caller) -> tuple[Sight, ...]:
    """Return everything the caller may read; what no row names is denied."""
    project = project_bucket(caller.project_id)
    rows = [
        Sight(Scope.PRIVATE, project, Root.AGENTS, caller.agent_id, mine=True),
        Sight(Scope.PRIVATE, project, Root.CORE, caller.agent_id, mine=True),
    ]
    if caller.parent_id is not None:
        rows.append(Sight(Scope.PRIVATE, project, Root.AGENTS, caller.parent_id, mine=False))
    rows += [
        Sight(Scope.PERSONAL, user_bucket(caller.user_id), Root.PERSONAL, personal_owner(caller), mine=True),
        Sight(Scope.TEAM, project, Root.SHARED, None, mine=True),
        Sight(Scope.PUBLIC, GLOBAL_BUCKET, Root.SHARED, None, mine=True),
    ]
    if caller.subagent_type is None:
        rows.append(Sight(Scope.PERSONAL, user_bucket(caller.user_id), Root.STREAMS, None, mine=True))
    return tuple(rows)


def stream_space(caller: Caller, stream: str) -> Space:
    """Return the space of one of the user's streams; only root agents have any (`sight_of` says so)."""
    return Space(user_bucket(caller.user_id), Root.STREAMS, stream)


def sight_of(caller: Caller, space: Space) -> Sight | None:
    """Return the row under which the caller may read this space, or None when it may not."""
    for row in sights(caller):
        if row.bucket == space.bucket and row.root == space.root and row.owner in (None, space.owner):
            return row
    return None


def may_change(caller: Caller, space: Space) -> bool:
    """Say whether the caller may change and delete what lives in this space."""
    row = sight_of(caller, space)
    if row is None or not row.mine:
        return False
    return row.owner is not None or row.root is Root.STREAMS or space.owner == caller.agent_id
