"""What stories of conversations share: a crew that takes facts from them, and a look at what there is."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

from loomem.core.limits import Limits
from loomem.core.extract import ExtractSettings
from loomem.workers.services import Services, open_services
from pattern.testing.agents import Agent
from tests.contracts.workers_kit import SystemClock, linked

TALK = "User: I prefer Rust over Go.\nAssistant: Noted.\nUser: My sister Zoë lives in Kraków."
DAY = "2026-04-02"


@asynccontextmanager
async def reading(url: str, rules: ExtractSettings | None = None, **options: Any) -> AsyncGenerator[Services]:
    """Run the workers, as a node does."""
    async with (
        linked(url) as link,
        open_services(link, limits=Limits(), clock=SystemClock(), rules=rules or ExtractSettings(), **options) as services,
    ):
        yield services


async def found(agent: Agent, query: str, **arguments: Any) -> dict[str, dict[str, Any]]:
    """Return what a search finds, by id."""
    answer = await agent.call("memory_search", query=query, top_k=20, **arguments)
    return {row["id"]: row for row in answer["rows"]}
