"""What stories of conversations share: workers that take facts from them, and a look at what there is."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

from loomem.core.limits import Limits
from loomem.workers.services import Services, open_services
from pattern.testing.agents import Agent
from tests.contracts.workers_kit import SystemClock, linked
from tests.waiting import eventually

TALK = """\
User: I prefer Rust over Go for services.
Assistant: Noted, Rust for services.
User: My sister Zoë lives in Kraków."""
DAY = "2026-04-02"


@asynccontextmanager
async def working(url: str, **options: Any) -> AsyncGenerator[Services]:
    """Run the workers as a node does; `options` are those of the services."""
    async with (
        linked(url) as link,
        open_services(link, limits=Limits(), clock=SystemClock(), **options) as services,
    ):
        yield services


async def found(agent: Agent, query: str, **arguments: Any) -> dict[str, dict[str, Any]]:
    """Return the rows of a search by all the ids they stand for."""
    answer = await agent.call("memory_search", query=query, top_k=20, **arguments)
    return {ident: row for row in answer["rows"] for ident in (row["id"], *row.get("same", []))}


async def job(agent: Agent, source: str) -> dict[str, Any]:
    """Return how the extraction of a source is."""
    answer = await agent.call("memory_status", source_id=source)
    return answer["extraction"]


async def until(agent: Agent, source: str, state: str) -> dict[str, Any]:
    """Wait until the extraction of a source is so, and return it."""

    async def holds() -> bool:
        return (await job(agent, source))["state"] == state

    await eventually(holds, within_s=30)
    return await job(agent, source)


def fact(content: str, kind: str = "fact", **fields: Any) -> dict[str, Any]:
    """Return a fact as a model says it."""
    return {
        "content": content,
        "fact_type": kind,
        "subject": None,
        "event_date": None,
        "event_date_context": None,
        "attributed_to": None,
        "confidence": 0.9,
        **fields,
    }
