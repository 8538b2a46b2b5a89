"""MCP sessions inside the test's own process: the real server, engine and broker, only the pipes left out."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

from mcp.client import Client

from pattern.app import server_of
from pattern.settings import from_environment


@asynccontextmanager
async def session(
    home: Path, url: str, *, mode: str = "legacy", profile: str = "full", **environment: str
) -> AsyncGenerator[Client, None]:
    """Connect a client to a server for the broker at `url`; `home` is the project's folder, and where files may go."""
    settings = from_environment(
        {
            "HOME": str(home),
            "MCP_PROJECT_PATH": str(home),
            "PATTERN_FILES_DIR": str(home),
            "PATTERN_NODE": "off",
            "NATS_URL": url,
            **environment,
        },
        home,
    )
    async with Client(server_of(settings, profile), mode=mode) as client:
        yield client
