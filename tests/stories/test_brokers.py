"""A broker of the user's own: how a server signs in there, and over which wire."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from pattern.testing import Certificates, NatsServer
from tests.stories.served import served

Servers = Callable[..., NatsServer]
AUTH = 'authorization { users: [ { user: dev, password: "p:/?#%" } ] }'


def keeps_a_memory(home: Path, content: str, **settings: str) -> str:
    """Store and recall through a real server process; return what it logged."""
    with served(home, {"PATTERN_NODE": "off", "LOG_LEVEL": "DEBUG", **settings}) as server:
        server.handshake()
        stored = server.call("remember", content=content, category="longterm")["structuredContent"]
        recalled = server.call("recall-context")["structuredContent"]
        health = server.call("pattern_health")["structuredContent"]
    assert [memory["id"] for memory in recalled["private"]] == [stored["memoryId"]]
    assert recalled["private"][0]["content"] == content
    assert health["status"] == "healthy"
    assert "p:/?#%" not in str(health)
    return server.stderr()


@pytest.mark.requirement("config-47.environment", "deliver-8.secrets")
def test_credentials_of_the_environment_alone_sign_in(tmp_path: Path, nats_servers: Servers) -> None:
    server = nats_servers(auth=AUTH)
    log = keeps_a_memory(tmp_path, "signed in", NATS_URL=server.url, NATS_USER="dev", NATS_PASS="p:/?#%")
    assert "p:/?#%" not in log


@pytest.mark.requirement("config-47.mixed")
def test_a_user_in_the_url_and_a_password_beside_it_sign_in(tmp_path: Path, nats_servers: Servers) -> None:
    server = nats_servers(auth=AUTH)
    url = server.url.replace("://", "://dev@")
    assert "p:/?#%" not in keeps_a_memory(tmp_path, "signed in", NATS_URL=url, NATS_PASS="p:/?#%")


@pytest.mark.requirement("scenario-26")
def test_tls_with_an_authority_of_ones_own(tmp_path: Path, nats_servers: Servers, certificates: Certificates) -> None:
    server = nats_servers(auth=AUTH, tls=certificates)
    url = server.url.replace("://", "://dev:p%3A%2F%3F%23%25@")
    keeps_a_memory(tmp_path, "nobody listens", NATS_URL=url, NATS_CA=str(certificates.ca))


@pytest.mark.requirement("scenario-27")
def test_a_memory_of_full_size_over_websocket(tmp_path: Path, nats_servers: Servers) -> None:
    server = nats_servers(auth=AUTH, websocket=True)
    url = server.websocket_url.replace("://", "://dev:p%3A%2F%3F%23%25@")
    keeps_a_memory(tmp_path, "ż" * 16_384, NATS_URL=url)
