"""Pytest fixtures on a real broker; registered by the installed distribution (`installed.py`).

`nats_account` is what most tests want: a broker of their own at no cost. `nats_private` may be killed and restarted.
Event loops are made per test, so nothing here holds one.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import pytest_asyncio

from pattern.testing.accounts import AccountPool, NatsAccount
from pattern.testing.certificates import Certificates, make_certificates
from pattern.testing.determinism import ManualClock, SequentialIds
from pattern.testing.server import NatsCluster, NatsServer, ServerOptions

if TYPE_CHECKING:
    from pattern.testing.agents import Agents


@pytest.fixture(scope="session")
def nats_accounts(tmp_path_factory: pytest.TempPathFactory) -> Iterator[AccountPool]:
    """Fresh accounts in any number, for a test that needs more than one broker."""
    pool = AccountPool(tmp_path_factory.mktemp("nats"))
    yield pool
    pool.close()


@pytest.fixture(scope="session")
def nats_server(nats_accounts: AccountPool) -> NatsServer:
    """The server all tests of a session share; leave it running."""
    return nats_accounts.server


@pytest.fixture
def nats_account(nats_accounts: AccountPool) -> NatsAccount:
    """A fresh, empty account with JetStream; `.url` has its credentials."""
    return nats_accounts.take()


@pytest_asyncio.fixture
async def agents(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Agents]:
    """Agents on this test's account: `me = await agents()`, `await me.call("remember", content="...")`.

    `@pytest.mark.parametrize("agents", ["open", "guarded"], indirect=True)` runs a test twice: on a broker that trusts
    everybody, and on one where each agent has a user of its own, with the permissions that agent needs and no more.
    """
    from pattern.testing.agents import agents_on, at, guarded_by  # the whole service: not for every run of pytest
    from pattern.testing.guarded import GuardedBroker

    if getattr(request, "param", "open") == "open":
        account: NatsAccount = request.getfixturevalue("nats_account")
        async with agents_on(at(account.url), tmp_path) as opened:
            yield opened
    else:
        server: NatsServer = request.getfixturevalue("nats_private")
        async with GuardedBroker(server) as broker, agents_on(guarded_by(broker), tmp_path) as opened:
            yield opened


@pytest.fixture
def nats_servers(tmp_path: Path) -> Iterator[Callable[..., NatsServer]]:
    """A factory of servers of this test's own: `nats_servers(websocket=True)`; the keywords are `ServerOptions`."""
    started: list[NatsServer] = []

    def start(**options: object) -> NatsServer:
        server = NatsServer(tmp_path / f"nats-{len(started)}", ServerOptions(**options))  # type: ignore[arg-type]
        started.append(server)
        server.start()
        return server

    yield start
    for server in started:
        server.stop()


@pytest.fixture
def nats_private(nats_servers: Callable[..., NatsServer]) -> NatsServer:
    """A server of this test's own, which it may kill, stop, freeze and restart; no credentials."""
    return nats_servers()


@pytest.fixture
def nats_cluster(tmp_path: Path) -> Iterator[NatsCluster]:
    """Three nodes of this test's own on loopback, with a leader elected; takes some seconds."""
    with NatsCluster(tmp_path / "cluster") as cluster:
        yield cluster


@pytest.fixture(scope="session")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Certificates:
    """A test authority with a server and a client certificate: `nats_servers(tls=certificates)`."""
    return make_certificates(tmp_path_factory.mktemp("certificates"))


@pytest.fixture
def manual_clock() -> ManualClock:
    """A clock that stands still until the test moves it."""
    return ManualClock()


@pytest.fixture
def sequential_ids() -> SequentialIds:
    """Ids that sort as they were made and that no other test gets."""
    return SequentialIds()
