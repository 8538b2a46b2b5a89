"""The tools under broker credentials of each agent's own: the same stories, on a broker that keeps agents apart."""

from __future__ import annotations

import asyncio
import json
import re
import subprocess
import sys
from pathlib import Path

import nats
import pytest

from pattern.testing import NatsServer
from pattern.testing.agents import agents_on, guarded_by
from pattern.testing.guarded import GuardedBroker
from tests.house.sources import ROOT
from tests.stories.shell import Shell
from tests.waiting import eventually

MEMORIES = ("create", "recall", "lifecycle", "bulk", "transfer", "beyond", "isolation")
KNOWLEDGE = ("search", "knowledge", "feedback", "deletion", "ingest", "ingest_deletion", "graph", "dates")


@pytest.mark.timeout(400)
@pytest.mark.requirement("shown-credentials")
@pytest.mark.parametrize(("stories", "at_least"), [(MEMORIES, 95), (KNOWLEDGE, 80)], ids=["memories", "knowledge"])
def test_the_stories_hold_with_credentials_for_each_agent(stories: tuple[str, ...], at_least: int) -> None:
    """Fewer than `at_least` would mean that the choice of stories has gone wrong."""
    files = [f"tests/stories/test_{story}.py" for story in stories]
    run = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--guarded", *files],
        cwd=ROOT,
        capture_output=True,
        encoding="utf-8",
        timeout=380,
        check=False,
    )
    assert run.returncode == 0, run.stdout[-4000:] + run.stderr[-2000:]
    passed = re.search(r"(\d+) passed", run.stdout)
    assert passed is not None
    assert int(passed[1]) >= at_least


@pytest.mark.requirement("shown-credentials")
async def test_an_agents_credentials_suffice_to_say_which_names_are_one(
    nats_private: NatsServer, tmp_path: Path
) -> None:
    async with GuardedBroker(nats_private) as broker, agents_on(guarded_by(broker), tmp_path) as agents:
        me = await agents("alice", user="ann")
        for name in ("Ania", "Anna Nowak"):
            relation = {"subject": name, "relation": "uses", "object": f"tool of {name}"}
            await me.call("memory_store", content=f"{name} has a tool", relations=[relation])
        credentials = await broker.admit(me.caller)
        shell = Shell(
            tmp_path,
            {
                "NATS_URL": credentials.url,
                "PATTERN_INBOX_PREFIX": credentials.inbox_prefix,
                "PATTERN_NODE": "off",
                "LOOMINAL_AGENT_ID": "alice",
                "LOOMINAL_PROJECT_ID": me.caller.project_id,
                "LOOMINAL_USER_ID": "ann",
            },
        )
        done = await asyncio.to_thread(shell.run, "graph", "merge", "Ania", "Anna Nowak")
        assert done.returncode == 0, done.stderr
        assert done.stdout == "Ania is Anna Nowak from now on, in __user_default__\n"

        async def one() -> bool:
            return (await me.call("memory_graph", entity="Ania"))["memories"] == 2

        await eventually(one)


PROJECT = "loom-memory-project-project-p"
STREAM = f"KV_{PROJECT}"


def ways_to(key: str) -> dict[str, tuple[str, bytes]]:
    """Return what a client may try on another agent's key: the subject and the body of each request."""
    subject, own = f"$KV.{PROJECT}.{key}", f"$KV.{PROJECT}.agents.ben.>"

    def body(**fields: object) -> bytes:
        return json.dumps(fields).encode()

    def consumer(**config: object) -> bytes:
        config |= {"name": "n", "deliver_subject": "_INBOX_agent1.x", "deliver_policy": "all", "ack_policy": "none"}
        return body(stream_name=STREAM, config=config)

    return {
        "get by subject": (f"$JS.API.DIRECT.GET.{STREAM}.{subject}", b""),
        "get by payload": (f"$JS.API.DIRECT.GET.{STREAM}", body(last_by_subj=subject)),
        "get of several": (f"$JS.API.DIRECT.GET.{STREAM}", body(multi_last=[subject])),
        "get from the leader": (f"$JS.API.STREAM.MSG.GET.{STREAM}", body(last_by_subj=subject)),
        "consumer": (f"$JS.API.CONSUMER.CREATE.{STREAM}.n.{subject}", consumer(filter_subject=subject)),
        "consumer with another filter in its body": (
            f"$JS.API.CONSUMER.CREATE.{STREAM}.n.{own}",
            consumer(filter_subject=subject),
        ),
        "consumer with several filters": (
            f"$JS.API.CONSUMER.CREATE.{STREAM}.n.{own}",
            consumer(filter_subjects=[own, subject]),
        ),
        "consumer of everything": (f"$JS.API.CONSUMER.CREATE.{STREAM}.n", consumer()),
        "write": (subject, b"forged"),
        "purge": (f"$JS.API.STREAM.PURGE.{STREAM}", body(filter=subject)),
        "delete of a message": (f"$JS.API.STREAM.MSG.DELETE.{STREAM}", body(seq=1)),
    }


@pytest.mark.requirement("shown-credentials")
async def test_a_client_with_another_agents_credentials_fails_on_the_keys(
    nats_private: NatsServer, tmp_path: Path
) -> None:
    async with GuardedBroker(nats_private) as broker, agents_on(guarded_by(broker), tmp_path) as agents:
        alice, ben = await agents("alice"), await agents("ben")
        hers = await alice.call("remember", content="a secret of hers", scope="private", category="longterm")
        his = await ben.call("remember", content="his own", scope="private", category="longterm")
        credentials = await broker.admit(ben.caller)
        said: list[str] = []

        async def hear(error: Exception) -> None:
            said.append(str(error).lower())

        client = await nats.connect(  # pyright: ignore[reportUnknownMemberType] - its keywords are untyped
            credentials.url, inbox_prefix=credentials.inbox_prefix.encode(), error_cb=hear
        )

        async def attempt(way: str, subject: str, body: bytes) -> tuple[str, bytes]:
            try:
                return way, (await client.request(subject, body, timeout=1)).data
            except TimeoutError:
                denied = f'permissions violation for publish to "{subject.lower()}"'
                assert any(denied in line for line in said), (way, said)
                return way, b""

        own = f"$JS.API.DIRECT.GET.{STREAM}.$KV.{PROJECT}.agents.ben.m.{his['memoryId']}"
        assert b"his own" in (await client.request(own, b"", timeout=2)).data, "it is let in to what is its own"
        tries = ways_to(f"agents.alice.m.{hers['memoryId']}")
        for way, answer in await asyncio.gather(*(attempt(way, *what) for way, what in tries.items())):
            assert b"secret" not in answer, way
            assert not answer or "error" in json.loads(answer), way
        await client.close()
        memory = (await alice.call("get-memory", memoryId=hers["memoryId"]))["memory"]
        assert (memory["content"], memory["revision"]) == ("a secret of hers", hers["revision"])
