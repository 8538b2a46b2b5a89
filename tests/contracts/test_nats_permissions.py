"""With the permissions of one agent, a client reads and writes what the table of visibility gives it, and nothing else."""

from __future__ import annotations

import json
import uuid
from collections.abc import AsyncGenerator, Awaitable
from contextlib import asynccontextmanager, suppress

import pytest

from identity.agent import Caller, UserId, subagent_id
from identity.errors import AccessDenied
from identity.keys import GLOBAL_BUCKET, Kind, Root, Space, project_bucket, user_bucket
from identity.ports import CaughtUp, Entry, Event, Put
from identity.registry import IdentitySpec, load
from identity.visibility import Scope, may_change, sight_of, sights, space_for
from loomem.core.embedding import Embedded, EmbeddingState, Readiness
from loomem.nats.endpoint import Endpoint
from loomem.nats.follow import KvFeed
from loomem.nats.link import Link
from loomem.nats.topology import KvBuckets
from loomem.node.embedding import NodeAsker, answering
from pattern.testing.guarded import Credentials, GuardedBroker
from pattern.testing.server import NatsServer

SPEC_A = IdentitySpec(hostname="a", os_user="ann", project_path="/acme", project_id="acme")
SPEC_B = IdentitySpec(hostname="b", os_user="ben", project_path="/acme", project_id="acme")
A = Caller(agent_id=SPEC_A.derived_root, project_id=SPEC_A.project, user_id=SPEC_A.user)
B = Caller(agent_id=SPEC_B.derived_root, project_id=SPEC_B.project, user_id=SPEC_B.user)
SUB = Caller(
    agent_id=subagent_id(A.agent_id, "code review"),
    project_id=A.project_id,
    user_id=A.user_id,
    parent_id=A.agent_id,
    subagent_type="code review",
)
CALLERS = {"A": A, "B": B, "SUB": SUB}

SPACES = [
    space_for(caller, scope, core=core)
    for caller in CALLERS.values()
    for scope, core in ((Scope.PRIVATE, False), (Scope.PRIVATE, True), *((s, False) for s in Scope if s != "private"))
]


@pytest.fixture
async def broker(nats_private: NatsServer) -> AsyncGenerator[GuardedBroker]:
    async with GuardedBroker(nats_private) as broker:
        yield broker


@asynccontextmanager
async def linked(credentials: Credentials) -> AsyncGenerator[Link]:
    async def source() -> Endpoint:
        return credentials.endpoint

    async with Link(source, name="agent") as link:
        await link.ready(5)
        yield link


@pytest.fixture
async def links(broker: GuardedBroker) -> AsyncGenerator[dict[str, Link]]:
    """A connection for each of the callers."""
    credentials = {name: await broker.admit(caller) for name, caller in CALLERS.items()}
    async with (
        linked(credentials["A"]) as a,
        linked(credentials["B"]) as b,
        linked(credentials["SUB"]) as sub,
    ):
        yield {"A": a, "B": b, "SUB": sub}


async def allowed(attempt: Awaitable[object]) -> bool:
    try:
        await attempt
    except AccessDenied:
        return False
    return True


@pytest.mark.requirement("deliver-3.permissions")
@pytest.mark.parametrize("name", CALLERS)
async def test_the_broker_allows_what_the_table_says(broker: GuardedBroker, links: dict[str, Link], name: str) -> None:
    caller, buckets, operator = CALLERS[name], KvBuckets(links[name]), KvBuckets(broker.operator)
    for space in SPACES:
        key = space.key(Kind.MEMORY, str(uuid.uuid4()))
        there = await operator.open(space.bucket)
        revision = await there.write(Put(key=key, value=b"1", expected=0, op=uuid.uuid4().hex))
        bucket = await buckets.open(space.bucket)
        change = Put(key=key, value=b"2", expected=revision, op=uuid.uuid4().hex)

        assert await allowed(bucket.get(key)) is (sight_of(caller, space) is not None), space
        assert await allowed(bucket.write(change)) is may_change(caller, space), space

        held = await there.get(key)
        assert isinstance(held, Entry)
        assert held.value == (b"2" if may_change(caller, space) else b"1"), space


@pytest.mark.requirement("deliver-3.permissions")
@pytest.mark.parametrize("name", CALLERS)
async def test_a_caller_follows_all_it_may_see(links: dict[str, Link], name: str) -> None:
    feed = KvFeed(links[name])
    for sight in sights(CALLERS[name]):
        for keys in (sight.filter, *map(sight.filter_of, Kind)):
            events: list[Event] = []
            async with feed.follow(sight.bucket, keys, events.append) as following:
                await following.sync()
            assert CaughtUp(sight.bucket, keys) in events


@pytest.mark.requirement("deliver-3.permissions")
@pytest.mark.parametrize("foreign", ["agents", "core", "personal"])
async def test_nobody_follows_what_it_may_not_see(links: dict[str, Link], foreign: str) -> None:
    sight = next(row for row in sights(A) if row.root == foreign)
    for keys in (sight.filter, *map(sight.filter_of, Kind)):
        with pytest.raises(AccessDenied):
            async with KvFeed(links["B"]).follow(sight.bucket, keys, lambda _event: None):
                pass


async def test_an_agent_is_enrolled_with_its_own_credentials(links: dict[str, Link]) -> None:
    assert await load(KvBuckets(links["A"]), SPEC_A) == A
    assert await load(KvBuckets(links["A"]), SPEC_A) == A
    sub = IdentitySpec(
        hostname="a", os_user="ann", project_path="/acme", project_id="acme", subagent_type="code review"
    )
    assert await load(KvBuckets(links["SUB"]), sub) == SUB


def ways_round() -> dict[str, tuple[str, object]]:
    """What a raw client of B might try on what is A's: the subject and the body of each request."""
    project, user = project_bucket(A.project_id), user_bucket(A.user_id)
    stream, secret = f"KV_{project}", f"$KV.{project}.agents.{A.agent_id}.m.x"
    own = f"$KV.{project}.agents.{B.agent_id}.>"

    def consumer(subject: str, **config: object) -> tuple[str, object]:
        config = {"name": "n", "deliver_policy": "all", "ack_policy": "none", "mem_storage": True, **config}
        return f"$JS.API.CONSUMER.{subject}", {"stream_name": stream, "config": config}

    return {
        "writing": (secret, b"forged"),
        "writing another's team memory": (f"$KV.{project}.shared.{A.agent_id}.m.x", b"forged"),
        "writing another's public memory": (f"$KV.{GLOBAL_BUCKET}.shared.{A.agent_id}.m.x", b"forged"),
        "reading": (f"$JS.API.DIRECT.GET.{stream}.{secret}", b""),
        "reading by payload": (f"$JS.API.DIRECT.GET.{stream}", {"last_by_subj": secret}),
        "reading several": (f"$JS.API.DIRECT.GET.{stream}", {"multi_last": [secret]}),
        "reading through the leader": (f"$JS.API.STREAM.MSG.GET.{stream}", {"last_by_subj": secret}),
        "reading a user's": (f"$JS.API.DIRECT.GET.KV_{user}.$KV.{user}.personal.user.m.x", b""),
        "the stream's subjects": (f"$JS.API.STREAM.INFO.{stream}", {"subjects_filter": ">"}),
        "the list of streams": ("$JS.API.STREAM.NAMES", b""),
        "the list of consumers": (f"$JS.API.CONSUMER.NAMES.{stream}", b""),
        "purging": (f"$JS.API.STREAM.PURGE.{stream}", {"filter": secret}),
        "deleting a message": (f"$JS.API.STREAM.MSG.DELETE.{stream}", {"seq": 1}),
        "deleting the stream": (f"$JS.API.STREAM.DELETE.{stream}", b""),
        "changing the stream": (f"$JS.API.STREAM.UPDATE.{stream}", {"name": stream}),
        "a mirror": ("$JS.API.STREAM.CREATE.spy", {"name": "spy", "mirror": {"name": stream}}),
        "a consumer of the old way": consumer(f"CREATE.{stream}", deliver_subject="_INBOX_agent1.x"),
        "a durable consumer": consumer(
            f"DURABLE.CREATE.{stream}.n", durable_name="n", deliver_subject="_INBOX_agent1.x"
        ),
        "a consumer of everything": consumer(f"CREATE.{stream}.n", deliver_subject="_INBOX_agent1.x"),
        "another filter in the body": consumer(
            f"CREATE.{stream}.n.{own}", deliver_subject="_INBOX_agent1.x", filter_subject=secret
        ),
        "several filters in the body": consumer(
            f"CREATE.{stream}.n.{own}", deliver_subject="_INBOX_agent1.x", filter_subjects=[own, secret]
        ),
        "delivery into another's key": consumer(f"CREATE.{stream}.n.{own}", deliver_subject=secret, filter_subject=own),
    }


@pytest.mark.requirement("deliver-3.permissions", "shown-credentials")
@pytest.mark.parametrize("way", ways_round())
async def test_a_raw_client_finds_no_way_round(broker: GuardedBroker, links: dict[str, Link], way: str) -> None:
    project = await KvBuckets(broker.operator).open(project_bucket(A.project_id))
    key = space_for(A, Scope.PRIVATE).key(Kind.MEMORY, "x")
    await project.write(Put(key=key, value=b"secret", expected=0, op="o"))
    subject, body = ways_round()[way]
    data = body if isinstance(body, bytes) else json.dumps(body).encode()

    with suppress(AccessDenied):
        answer = await links["B"].request(subject, data)
        assert "error" in json.loads(answer.data), way

    held = await project.get(key)
    assert isinstance(held, Entry)
    assert (held.value, held.revision) == (b"secret", 1)


@pytest.mark.requirement("deliver-3.permissions")
async def test_a_consumer_cannot_write_into_another_bucket(broker: GuardedBroker, links: dict[str, Link]) -> None:
    """The server lets a consumer name any subject to deliver to; into a stream it delivers nothing."""
    public = space_for(B, Scope.PUBLIC)
    await (await KvBuckets(links["B"]).open(public.bucket)).write(
        Put(key=public.key(Kind.MEMORY, "x"), value=b"forged", expected=0, op="o")
    )
    target = space_for(A, Scope.PRIVATE)
    stream, filter_subject = f"KV_{GLOBAL_BUCKET}", f"$KV.{GLOBAL_BUCKET}.shared.>"
    config = {
        "name": "n",
        "deliver_subject": f"$KV.{target.bucket}.{target.key(Kind.MEMORY, 'x')}",
        "deliver_policy": "all",
        "ack_policy": "none",
        "filter_subject": filter_subject,
        "mem_storage": True,
    }
    body = json.dumps({"stream_name": stream, "config": config}).encode()

    await links["B"].request(f"$JS.API.CONSUMER.CREATE.{stream}.n.{filter_subject}", body)

    info = json.loads((await broker.operator.request(f"$JS.API.CONSUMER.INFO.{stream}.n")).data)
    assert info["delivered"]["stream_seq"] == 0
    bucket = await KvBuckets(broker.operator).open(target.bucket)
    assert await bucket.get(target.key(Kind.MEMORY, "x")) is None


async def test_nobody_hears_the_answers_that_others_get(links: dict[str, Link]) -> None:
    async def hear(_message: object) -> None:
        raise AssertionError("heard what is another's")

    async with links["B"].subscribe("_INBOX_agent0.>", hear):
        bucket = await KvBuckets(links["A"]).open(project_bucket(A.project_id))
        await bucket.get(space_for(A, Scope.PRIVATE).key(Kind.MEMORY, "x"))
        await links["B"].request("$JS.API.INFO")


async def test_another_users_personal_space_is_in_another_bucket() -> None:
    assert user_bucket(UserId("u")) != user_bucket(A.user_id)
    assert Space(user_bucket(A.user_id), Root.PERSONAL, "user") == space_for(A, Scope.PERSONAL)


@pytest.mark.requirement("embed-query")
async def test_an_agent_asks_for_vectors_and_hears_no_query_of_others(
    broker: GuardedBroker, links: dict[str, Link]
) -> None:
    class Model:
        async def query(self, text: str) -> Embedded:
            return Embedded("model", text.encode())

        async def look(self) -> EmbeddingState:
            return self.state()

        def state(self) -> EmbeddingState:
            return EmbeddingState(state=Readiness.READY, model="model")

    async def overhear(_message: object) -> None:
        raise AssertionError("heard what another asks")

    asker = NodeAsker(links["A"], lambda: "node1", query_chars=100)
    async with (
        answering(broker.operator, "node1", Model()),
        links["B"].subscribe("pattern.node.*.embed", overhear),
        links["B"].subscribe("pattern.node.>", overhear),
    ):
        assert await asker.query("where I live") == Embedded("model", b"where I live")
        await links["B"].request("$JS.API.INFO")  # what it was sent before has come by now
