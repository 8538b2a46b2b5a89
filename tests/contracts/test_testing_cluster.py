"""Agents on a cluster go on when the node that leads their bucket is killed, and what was acknowledged is there."""

from __future__ import annotations

import asyncio

from identity.keys import project_bucket
from pattern.testing.agents import Agents
from pattern.testing.server import NatsCluster

REPLICATED = {"PATTERN_REPLICAS": "3"}
BOUND_S = 90.0


async def test_agents_outlive_the_leader_of_their_bucket(agents: Agents, nats_cluster: NatsCluster) -> None:
    async with asyncio.timeout(BOUND_S):
        alice = await agents("alice", env={**REPLICATED, "NATS_URL": nats_cluster.url})
        stored = {(await alice.call("remember", content=f"before {i}"))["memoryId"] for i in range(5)}
        leader = nats_cluster.leader_of(f"KV_{project_bucket(alice.caller.project_id)}")
        assert leader is not None

        leader.kill()

        stored |= {(await alice.call("remember", content=f"after {i}"))["memoryId"] for i in range(5)}
        recalled = await alice.call("recall-context")
        assert {memory["id"] for memory in recalled["private"]} == stored
