"""What an agent's credentials must allow at the broker, and no more: derived from the same table the code obeys.

With these, whoever holds the credentials of one agent reads and writes what `identity.visibility` gives that agent,
whatever client it uses. Deliberately not among them: making buckets, asking about streams (their subjects are everybody's
keys), purging, consumers with a filter of one's own choice, and leases, which belong to workers; all that takes an
operator's credentials. Every agent needs an inbox prefix of its own, or it could listen to the answers others get.
"""

from __future__ import annotations

import json

import msgspec

from identity.agent import Caller
from identity.keys import (
    GLOBAL_BUCKET,
    SYSTEM_BUCKET,
    Root,
    Space,
    budget_key,
    identity_bucket,
    project_bucket,
    user_bucket,
)
from identity.registry import WARP_ROOT, subagent_key
from identity.visibility import Sight, sights
from loomem.nats.audit import subject_by
from loomem.nats.bucket import stream_of


class Permissions(msgspec.Struct, frozen=True):
    """Subjects that a user of the broker may publish and subscribe to; answering what it is asked is allowed too."""

    publish: tuple[str, ...]
    subscribe: tuple[str, ...]

    def config(self, indent: str = "") -> str:
        """Return the `permissions` block of a server's configuration file."""
        lines = ["permissions: {", "  publish: { allow: ["]
        lines += [f"    {json.dumps(subject)}" for subject in self.publish]
        lines += ["  ] }", "  subscribe: { allow: ["]
        lines += [f"    {json.dumps(subject)}" for subject in self.subscribe]
        lines += ["  ] }", "  allow_responses: true", "}"]
        return "\n".join(indent + line for line in lines)


def buckets_of(caller: Caller) -> tuple[str, ...]:
    """Return the buckets an operator has to make before a caller with such credentials can work."""
    return (
        project_bucket(caller.project_id),
        user_bucket(caller.user_id),
        GLOBAL_BUCKET,
        identity_bucket(caller.project_id),
        SYSTEM_BUCKET,
    )


def agent_permissions(caller: Caller, *, inbox_prefix: str, node_id: str = "*") -> Permissions:
    """Return what this caller's server process needs.

    `node_id` is that of the background node on its machine; by default it may ask any node how it is.
    """
    rows = sights(caller)
    publish = ["$JS.API.INFO", f"{inbox_prefix}.>", f"pattern.node.{node_id}.*", subject_by(caller.agent_id)]
    for row in rows:
        publish += _reading(row.bucket, row.filter)
        if row.mine:
            publish.append(f"$KV.{row.bucket}.{_own(caller, row)}")
    for bucket in dict.fromkeys(row.bucket for row in rows):
        stream = stream_of(bucket)
        publish += [f"$JS.API.CONSUMER.INFO.{stream}.*", f"$JS.API.CONSUMER.DELETE.{stream}.*", f"$JS.FC.{stream}.>"]
    publish += _identity(caller)
    publish.append(f"$JS.API.DIRECT.GET.{stream_of(SYSTEM_BUCKET)}.$KV.{SYSTEM_BUCKET}.{budget_key('*')}")
    return Permissions(tuple(publish), (f"{inbox_prefix}.>", f"pattern.node.{node_id}.ping"))


def _reading(bucket: str, keys: str) -> list[str]:
    stream, subject = stream_of(bucket), f"$KV.{bucket}.{keys}"
    return [f"$JS.API.DIRECT.GET.{stream}.{subject}", f"$JS.API.CONSUMER.CREATE.{stream}.*.{subject}"]


def _own(caller: Caller, row: Sight) -> str:
    """Return the keys of a row that the caller may write: where everybody has a part, only its own."""
    everybodys = row.owner is None and row.root is not Root.STREAMS
    return Space(row.bucket, row.root, caller.agent_id).filter if everybodys else row.filter


def _identity(caller: Caller) -> list[str]:
    """Return the subjects of the records by which a caller is known."""
    bucket = identity_bucket(caller.project_id)
    root = caller.parent_id or caller.agent_id
    reads, writes = [WARP_ROOT, "roots.*"], [f"roots.{root}"]
    if caller.subagent_type is not None:
        own = subagent_key(root, caller.subagent_type)
        reads += [own, *([f"subagent/{caller.subagent_type}"] if caller.subagent_type.isalnum() else [])]
        writes.append(own)
    get = f"$JS.API.DIRECT.GET.{stream_of(bucket)}.$KV.{bucket}"
    return [*(f"{get}.{key}" for key in reads), *(f"$KV.{bucket}.{key}" for key in writes)]
