"""No password, token or key of a broker stands in anything that is told, logged or left on disk."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from pathlib import Path

import pytest

from pattern.testing import NatsServer
from pattern.testing.agents import Agents
from tests.stories.shell import Shell

Servers = Callable[..., NatsServer]

SECRET = "s3cret-p4ssw0rd"
AUTH = f"authorization {{ users: [ {{ user: ann, password: {SECRET} }} ] }}"


def ways(server: NatsServer) -> list[dict[str, str]]:
    """Return the settings in which a password may stand."""
    address = f"127.0.0.1:{server.port}"
    return [
        {"NATS_URL": f"nats://ann:{SECRET}@{address}"},
        {"NATS_URL": server.url, "NATS_USER": "ann", "NATS_PASS": SECRET},
    ]


@pytest.mark.requirement("deliver-8.secrets")
@pytest.mark.parametrize("way", [0, 1])
async def test_a_session_tells_and_logs_no_password(agents: Agents, nats_servers: Servers, way: int) -> None:
    server = nats_servers(auth=AUTH)
    me = await agents.spawn(env={**ways(server)[way], "LOG_LEVEL": "DEBUG"})
    await me.call("remember", content="x")
    told = [json.dumps(await me.call("pattern_health"))]
    await asyncio.to_thread(server.reload, AUTH.replace(SECRET, "another"))
    await asyncio.to_thread(server.restart)
    told.append(str(await me.refused("remember", content="x")))
    told.append(json.dumps(await me.call("pattern_health")))
    assert "refuses these credentials" in told[-1]
    await me.close()
    assert "event=connect_failed" in me.log()
    assert SECRET not in "\n".join([*told, me.log()])


@pytest.mark.requirement("deliver-8.secrets")
def test_command_line_and_node_tell_and_keep_no_password(shell: Shell, nats_servers: Servers, tmp_path: Path) -> None:
    settings = {**ways(nats_servers(auth=AUTH))[0], "PATTERN_NODE": "auto", "LOG_LEVEL": "DEBUG"}
    settings["PATTERN_NODE_IDLE_S"] = "60"

    def said(command: str) -> str:
        done = shell.run(*command.split(), **settings)
        return f"{done.stdout}\n{done.stderr}"

    try:
        told = {"doctor --json": shell.run("doctor", "--json", **settings).stdout}
        assert json.loads(told["doctor --json"])["node"]["running"]
        told |= {command: said(command) for command in ("doctor", "node status", "node status --json", "node logs")}
        files = [file for file in (tmp_path / "memory").rglob("*") if file.is_file()]
        kept = {str(file): file.read_bytes().decode(errors="replace") for file in files}
    finally:
        shell.run("node", "stop", **settings)
    assert "event=" in told["node logs"]
    assert len(kept) > 1, "the node keeps a state and a log"
    assert [where for where, text in (told | kept).items() if SECRET in text] == []
