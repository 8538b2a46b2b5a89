"""Conversations taken in: the source, its fragments, the facts that are read in it, and how that job is."""

from __future__ import annotations

from pattern.testing import NatsAccount
from pattern.testing.agents import Agents
from tests.stories.conversations import DAY, TALK, found, reading
from tests.stories.told import told


async def test_a_conversation_becomes_a_source_and_facts(agents: Agents, nats_account: NatsAccount) -> None:
    me = await agents()
    async with reading(nats_account.url):
        print(await told(me, "memory_ingest", content=TALK, conversation_date=DAY))
        rows = await found(me, "which language do I prefer")
        for r in rows.values():
            print(r)
        print(await me.call("recall-context"))
        assert 0
