"""The configuration of a shared server at the root of the repository is valid, safe and enough to work with."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from identity.agent import Caller
from identity.errors import AccessDenied, Unavailable
from identity.keys import Kind
from identity.ports import Put
from identity.registry import IdentitySpec, load
from identity.visibility import Scope, sights, space_for
from loomem.nats.endpoint import Endpoint, endpoint_from
from loomem.nats.follow import KvFeed
from loomem.nats.link import Link
from loomem.nats.permissions import agent_permissions, buckets_of
from loomem.nats.topology import KvBuckets
from pattern.testing.agents import Agents
from pattern.testing.certificates import Certificates
from pattern.testing.server import NatsServer, server_binary

FILE = Path(__file__).parents[2] / "nats-server.conf"
PASSWORDS = {"NATS_OPERATOR_PASSWORD": "op-secret", "NATS_DEVBOX_PASSWORD": "dev-secret", "NATS_SYS_PASSWORD": "sys"}
SPEC = IdentitySpec(hostname="devbox", os_user="dev", project_path="/home/dev/acme")
CALLER = Caller(agent_id=SPEC.derived_root, project_id=SPEC.project, user_id=SPEC.user)


def check(file: Path) -> subprocess.CompletedProcess[str]:
    command = [str(server_binary()), "-t", "-c", str(file)]
    environment = os.environ | PASSWORDS
    return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=10, check=False)


def switched_on(text: str, block: str) -> str:
    """Take the comment off a block of the file."""
    commented = re.search(rf"^# {block} {{\n(?:#.*\n)*?# }}\n", text, re.MULTILINE)
    assert commented is not None, block
    return text.replace(commented[0], re.sub(r"^# ?", "", commented[0], flags=re.MULTILINE))


def link_as(server: NatsServer, user: str, password: str, inbox_prefix: str | None = None) -> Link:
    async def source() -> Endpoint:
        return endpoint_from(server.url, user=user, password=password, inbox_prefix=inbox_prefix)

    return Link(source, name=user)


@pytest.fixture
def shared(nats_servers: Callable[..., NatsServer]) -> NatsServer:
    return nats_servers(config=FILE.read_text(encoding="utf-8"), environment=PASSWORDS)


@pytest.mark.requirement("deliver-2.shared")
def test_the_file_is_valid() -> None:
    report = check(FILE)
    assert report.returncode == 0, report.stderr


@pytest.mark.requirement("deliver-2.shared")
def test_what_it_tells_to_switch_on_is_valid_too(tmp_path: Path, certificates: Certificates) -> None:
    text = FILE.read_text(encoding="utf-8")
    for block in ("tls", "websocket", "cluster"):
        text = switched_on(text, block)
    for name, path in (
        ("server.pem", certificates.server_cert),
        ("server.key", certificates.server_key),
        ("ca.pem", certificates.ca),
    ):
        text = text.replace(f"/etc/nats/{name}", str(path))
    (tmp_path / "all.conf").write_text(text, encoding="utf-8")
    report = check(tmp_path / "all.conf")
    assert report.returncode == 0, report.stderr


def test_no_password_stands_in_it() -> None:
    passwords = re.findall(r"password: *([^ ,}\n]+)", FILE.read_text(encoding="utf-8"))
    assert len(passwords) >= 3
    assert [word for word in passwords if not word.startswith("$NATS_")] == []


@pytest.mark.requirement("deliver-2.shared", "deliver-3.permissions")
def test_its_permissions_are_those_the_code_derives() -> None:
    derived = agent_permissions(CALLER, inbox_prefix="_INBOX_devbox").config("        ")
    assert derived in FILE.read_text(encoding="utf-8")


@pytest.mark.requirement("deliver-2.shared")
async def test_an_operator_makes_the_buckets_and_an_agent_works(shared: NatsServer) -> None:
    async with link_as(shared, "operator", "op-secret") as operator:
        buckets = KvBuckets(operator)
        await operator.ready(5)
        for name in buckets_of(CALLER):
            await buckets.ensure(name)

        async with link_as(shared, "devbox", "dev-secret", "_INBOX_devbox") as agent:
            own = KvBuckets(agent)
            assert await load(own, SPEC) == CALLER
            for scope in Scope:
                space = space_for(CALLER, scope)
                bucket = await own.open(space.bucket)
                await bucket.write(Put(key=space.key(Kind.MEMORY, "1"), value=b"{}", expected=0, op="o"))
            for sight in sights(CALLER):
                async with KvFeed(agent).follow(sight.bucket, sight.filter, lambda _event: None) as following:
                    await following.sync()
            with pytest.raises(AccessDenied):
                await agent.request(f"$KV.{space_for(CALLER, Scope.TEAM).bucket}.shared.another.m.1", b"{}")


@pytest.mark.requirement("deliver-2.shared", "deliver-3.permissions")
async def test_it_serves_the_tools(shared: NatsServer, agents: Agents) -> None:
    def signed_in(user: str, password: str) -> dict[str, str]:
        return {"NATS_URL": shared.url, "NATS_USER": user, "NATS_PASS": password}

    operator = await agents("op", project=SPEC.project, user=SPEC.user, env=signed_in("operator", "op-secret"))
    assert (await operator.call("recall-context"))["total"] == 0

    inbox = {"PATTERN_INBOX_PREFIX": "_INBOX_devbox"}
    devbox = {**signed_in("devbox", "dev-secret"), **inbox}
    agent = await agents(CALLER.agent_id, project=SPEC.project, user=SPEC.user, env=devbox)
    for scope, category in (
        ("private", "core"),
        ("personal", "longterm"),
        ("team", "decisions"),
        ("public", "learnings"),
    ):
        await agent.call("remember", content=scope, scope=scope, category=category)
    assert (await agent.call("recall-context"))["total"] == 4

    other = await agents("another", project=SPEC.project, user=SPEC.user, env=devbox)
    assert "refuses this to these credentials" in (await other.refused("remember", content="x")).message


async def test_an_absent_bucket_is_an_operators_work(shared: NatsServer) -> None:
    async with link_as(shared, "devbox", "dev-secret", "_INBOX_devbox") as agent:
        with pytest.raises(AccessDenied, match="An operator creates it"):
            await KvBuckets(agent).open(space_for(CALLER, Scope.TEAM).bucket)
        assert await load(KvBuckets(agent), SPEC) == CALLER, "who it is does not depend on it"


@pytest.mark.parametrize(("user", "password"), [("devbox", "op-secret"), ("somebody", "dev-secret")])
async def test_others_are_not_let_in(shared: NatsServer, user: str, password: str) -> None:
    async with link_as(shared, user, password) as link:
        with pytest.raises(Unavailable):
            await link.ready(0.5)
