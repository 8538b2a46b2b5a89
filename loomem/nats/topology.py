"""Every bucket at the broker, as data: what kinds there are and how their streams are configured.

A bucket is made as a stream by hand, because what we need of it (atomic batches, TTLs per message, markers that the
server places) no client library offers together. Making is idempotent, and safe when many do it at once.

An agent whose credentials reach its own keys only may not ask about streams. So a bucket is looked for by reading a key
(`probe`), and made only when nobody answers; see test_nats_reach.
"""

from __future__ import annotations

import asyncio
import logging
from typing import Any

import msgspec

from identity.errors import AccessDenied, Unavailable
from identity.keys import GLOBAL_BUCKET, IDENTITY_PREFIX, SYSTEM_BUCKET
from loomem.nats import faults
from loomem.nats.bucket import MARKER_LIFE_S, KvBucket, persist, read, stream_of
from loomem.nats.link import Link

log = logging.getLogger(__name__)

API_S = 5.0
"""For calls that change the topology: a cluster elects leaders first."""


class Features(msgspec.Struct, frozen=True):
    """What a server can do."""

    message_ttl: bool
    """Values and markers that expire by themselves: 2.11."""
    atomic: bool
    """Several keys changed together: 2.12."""


def features_of(version: tuple[int, int]) -> Features:
    return Features(message_ttl=version >= (2, 11), atomic=version >= (2, 12))


class BucketKind(msgspec.Struct, frozen=True, kw_only=True):
    """Buckets of one purpose; `prefix` is the beginning of their names."""

    prefix: str
    description: str
    probe: str
    """A key that everybody who may use such a bucket may read; whether it holds anything does not matter."""
    plain: bool = False
    """Configured as any client library would, because other programs make and open these buckets too."""


KINDS = (
    BucketKind(prefix=SYSTEM_BUCKET, description="Leases, presence, budgets", probe="probe"),
    BucketKind(prefix=GLOBAL_BUCKET, description="Public memories", probe="shared.probe"),
    BucketKind(prefix="loom-memory-project-", description="Private and team memories", probe="shared.probe"),
    BucketKind(prefix="loom-memory-user-", description="Personal memories and streams", probe="personal.user.probe"),
    BucketKind(prefix=IDENTITY_PREFIX, description="Identities of a project", probe="root", plain=True),
    BucketKind(prefix="", description="Memories", probe="probe"),
)


def kind_of(bucket: str) -> BucketKind:
    """Return the kind of a bucket; a name of no known kind is a bucket of memories."""
    return next(kind for kind in KINDS if bucket.startswith(kind.prefix))


def stream_config(bucket: str, features: Features, *, replicas: int = 1) -> dict[str, Any]:
    """Return the configuration of a bucket's stream, as the server's API wants it. Units: nanoseconds."""
    kind = kind_of(bucket)
    config: dict[str, Any] = {
        "name": stream_of(bucket),
        "description": kind.description,
        "subjects": [f"$KV.{bucket}.>"],
        "retention": "limits",
        "storage": "file",
        "num_replicas": replicas,
        "max_msgs_per_subject": 1,
        "max_msgs": -1,
        "max_bytes": -1,
        "max_consumers": -1,
        "max_msg_size": -1,
        "discard": "new",
        "duplicate_window": 120 * 10**9,
        # An operator's purge overwrites a message in the server's files, which is a deletion to the server; agents may not.
        "deny_delete": kind.plain,
        "allow_rollup_hdrs": True,
        "allow_direct": True,
    }
    return config if kind.plain else config | _extras(features)


def _extras(features: Features) -> dict[str, Any]:
    """Return what makes a stream more than a plain bucket; also what an older stream can be given later."""
    extras: dict[str, Any] = {"compression": "s2"}
    if features.message_ttl:
        extras |= {"allow_msg_ttl": True, "subject_delete_marker_ttl": MARKER_LIFE_S * 10**9}
    if features.atomic:
        extras |= {"allow_atomic": True}
    return extras


async def call(link: Link, subject: str, body: object | None = None) -> dict[str, Any]:
    """Return the reply of JetStream's API to one question.

    Raises: NotFound, AccessDenied, LimitExceeded, NoAnswer, NobodyThere, Unavailable.
    """
    data = b"" if body is None else msgspec.json.encode(body)
    answer = await link.request(f"$JS.API.{subject}", data, timeout_s=API_S)
    reply: dict[str, Any] = msgspec.json.decode(answer.data)
    if error := reply.get("error"):
        raise faults.server_fault(
            code=error.get("code", 0), err_code=error.get("err_code", 0), description=error.get("description", "")
        )
    return reply


class KvBuckets:
    """Opens buckets, and makes those that are absent when these credentials may. The port is `identity.ports.Buckets`."""

    def __init__(self, link: Link, *, replicas: int = 1) -> None:
        self._link = link
        self._replicas = replicas
        self._open: dict[str, KvBucket] = {}
        self._opening: dict[str, asyncio.Lock] = {}

    async def open(self, name: str) -> KvBucket:
        """Return the bucket, made when it was absent.

        Raises: Unavailable, AccessDenied (it is absent, and an operator has to make it).
        """
        if (bucket := self._open.get(name)) is not None:
            return bucket
        async with self._opening.setdefault(name, asyncio.Lock()):
            if name not in self._open:
                direct = await persist(self._link, lambda: self._find_or_make(name))
                self._open[name] = KvBucket(
                    self._link, name, direct=direct, plain=kind_of(name).plain, remake=lambda: self._make(name)
                )
        return self._open[name]

    async def ensure(self, name: str) -> KvBucket:
        """Return the bucket, made or brought up to what this server can do: for an operator's credentials.

        Raises: as `open`.
        """
        await persist(self._link, lambda: self._make(name))
        await persist(self._link, lambda: self._upgrade(name))
        return await self.open(name)

    async def _find_or_make(self, name: str) -> bool:
        """Return whether the bucket may be read directly, after making sure there is one."""
        try:
            await read(self._link, name, kind_of(name).probe, direct=True)
        except AccessDenied:
            # Not even the probe may be read: whatever these credentials can do here, looking for the bucket is not it.
            return True
        except faults.NobodyThere:
            return await self._make(name)
        return True

    async def _make(self, name: str) -> bool:
        """Make the bucket unless it is there, and return whether it may be read directly."""
        config = stream_config(name, features_of(self._link.server_version), replicas=self._replicas)
        try:
            await call(self._link, f"STREAM.CREATE.{stream_of(name)}", config)
        except faults.NameInUse:
            # Made by another program, an older version or with other settings: used as it is.
            return await self._is_direct(name)
        except faults.NobodyThere as error:
            if not self._link.offers_jetstream:
                text = "This NATS server runs without JetStream, which memories need: start it with -js."
                raise Unavailable(text) from error
            raise
        except AccessDenied as error:
            raise AccessDenied(
                f"The bucket {name} does not exist, and these credentials may not create it. "
                "An operator creates it (`pattern-memory auth`).",
                bucket=name,
            ) from error
        log.info("event=bucket_ready bucket=%s", name)
        return True

    async def _is_direct(self, name: str) -> bool:
        try:
            info = await call(self._link, f"STREAM.INFO.{stream_of(name)}")
        except AccessDenied:
            return True
        return bool(info["config"].get("allow_direct"))

    async def _upgrade(self, name: str) -> None:
        """Give an existing stream what it lacks; everything else of its configuration stays."""
        if kind_of(name).plain:
            return
        config = (await call(self._link, f"STREAM.INFO.{stream_of(name)}"))["config"]
        wanted = {"allow_direct": True, "allow_rollup_hdrs": True, **_extras(features_of(self._link.server_version))}
        if any(config.get(field) != value for field, value in wanted.items()):
            # Sent in full: what an update does not name goes back to its default (facts pinned by test_nats_topology).
            await call(self._link, f"STREAM.UPDATE.{stream_of(name)}", config | wanted)
            log.info("event=bucket_upgraded bucket=%s", name)
