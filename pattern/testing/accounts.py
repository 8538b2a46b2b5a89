"""Isolated NATS accounts: to whoever uses one, it is a broker of its own, with every bucket absent at first."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import msgspec

from pattern.testing.server import NatsServer, ServerOptions

PER_SERVER = 128
"""Accounts declared on one server; a server with so many starts in 0.1 s, with 1 000 in over a second."""


class NatsAccount(msgspec.Struct, frozen=True, kw_only=True):
    """One account of a server, with JetStream and one user who may do everything in it."""

    server_url: str
    """Without credentials."""
    user: str
    password: str

    @property
    def url(self) -> str:
        """With credentials."""
        scheme, _, rest = self.server_url.partition("://")
        return f"{scheme}://{self.user}:{self.password}@{rest}"


class AccountPool:
    """Hands out accounts that nobody has used, and starts another server whenever those of one are used up."""

    def __init__(self, directory: Path, *, per_server: int = PER_SERVER) -> None:
        self._directory = directory
        self._per_server = per_server
        self._servers: list[NatsServer] = []
        self._unused: Iterator[NatsAccount] = iter(())

    @property
    def server(self) -> NatsServer:
        """The server on which the next account lies; started when there is none yet."""
        if not self._servers:
            self._unused = self._start()
        return self._servers[-1]

    def take(self) -> NatsAccount:
        """Return a fresh account."""
        account = next(self._unused, None)
        if account is None:
            self._unused = self._start()
            account = next(self._unused)
        return account

    def close(self) -> None:
        """Stop the servers."""
        for server in self._servers:
            server.stop()

    def _start(self) -> Iterator[NatsAccount]:
        users = [f"t{i}" for i in range(self._per_server)]
        accounts = "\n".join(
            f"  {user.upper()}: {{ jetstream: enabled, users: [ {{ user: {user}, password: {user} }} ] }}"
            for user in users
        )
        name = f"test-{len(self._servers)}"
        server = NatsServer(self._directory / name, ServerOptions(name=name, auth=f"accounts {{\n{accounts}\n}}"))
        server.start()
        self._servers.append(server)
        return iter([NatsAccount(server_url=server.url, user=user, password=user) for user in users])
