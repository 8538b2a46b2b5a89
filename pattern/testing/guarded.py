"""A broker that keeps agents apart itself: one user for each, with the permissions its caller needs and no more."""

from __future__ import annotations

from types import TracebackType
from typing import Self

import msgspec

from identity.agent import Caller
from loomem.nats.audit import AuditStream
from loomem.nats.endpoint import Endpoint, endpoint_from
from loomem.nats.link import Link
from loomem.nats.permissions import agent_permissions, buckets_of
from loomem.nats.topology import KvBuckets
from pattern.testing.server import NatsServer

OPERATOR = "operator"


class Credentials(msgspec.Struct, frozen=True, kw_only=True):
    """How one agent signs in at a guarded broker."""

    server_url: str
    user: str
    password: str
    inbox_prefix: str

    @property
    def url(self) -> str:
        """With user and password."""
        scheme, _, rest = self.server_url.partition("://")
        return f"{scheme}://{self.user}:{self.password}@{rest}"

    @property
    def endpoint(self) -> Endpoint:
        return endpoint_from(self.url, inbox_prefix=self.inbox_prefix)


class GuardedBroker:
    """Admits callers to a server: makes their buckets as an operator, and a user with their permissions.

    `async with GuardedBroker(server) as broker: credentials = await broker.admit(caller)`. It owns the users and
    permissions of the server.
    """

    def __init__(self, server: NatsServer) -> None:
        self._server = server
        self._users: dict[str, Caller] = {}
        self._link = Link(self._operator_endpoint, name="operator")
        server.reload(self._auth())

    async def __aenter__(self) -> Self:
        await self._link.__aenter__()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._link.__aexit__(kind, error, trace)

    @property
    def operator(self) -> Link:
        """A connection that may do everything."""
        return self._link

    async def admit(self, caller: Caller) -> Credentials:
        """Return the credentials of a caller, whose buckets exist and are known to the broker from now on."""
        await self._link.ready(5)
        buckets = KvBuckets(self._link)
        for name in buckets_of(caller):
            await buckets.ensure(name)
        await AuditStream(self._link).ensure()
        user = next((user for user, known in self._users.items() if known == caller), None)
        if user is None:
            user = f"agent{len(self._users)}"
            self._users[user] = caller
            self._server.reload(self._auth())
        return Credentials(
            server_url=self._server.url, user=user, password=f"{user}-secret", inbox_prefix=f"_INBOX_{user}"
        )

    async def _operator_endpoint(self) -> Endpoint:
        return endpoint_from(self._server.url, user=OPERATOR, password=OPERATOR)

    def _auth(self) -> str:
        users = [f"    {{ user: {OPERATOR}, password: {OPERATOR} }}"]
        for user, caller in self._users.items():
            allowed = agent_permissions(caller, inbox_prefix=f"_INBOX_{user}").config("      ").strip()
            users.append(f"    {{ user: {user}, password: {user}-secret, {allowed} }}")
        lines = "\n".join(users)
        return f"accounts {{\n  PM: {{ jetstream: enabled, users: [\n{lines}\n  ] }}\n}}\n"
