"""One caller's engine for the length of a command."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Awaitable, Callable
from typing import TypeVar

import click

from identity.errors import LoomError
from identity.ports import Progress
from loomem.engine import Engine
from pattern.app import settings, start_logging
from pattern.service import Service, running
from pattern.settings import Settings

T = TypeVar("T")

READY_S = 30.0
COMMAND_S = 1800.0
"""Longest command: an import of the largest file."""


def configured() -> Settings:
    """Return the settings, and start logging: errors alone, unless more was asked for. Raises: InvalidInput.

    What goes wrong is the command's to tell; nobody should read it twice.
    """
    known = settings()
    start_logging(known, default="ERROR")
    return known


def with_engine(work: Callable[[Engine], Awaitable[T]], known: Settings | None = None) -> T:
    """Return what `work` makes of the engine of who calls this command. Raises: LoomError."""

    async def run(service: Service) -> T:
        async with asyncio.timeout(READY_S):
            engine = await service.engine()
        return await work(engine)

    return with_service(run, known)


def with_service(work: Callable[[Service], Awaitable[T]], known: Settings | None = None) -> T:
    """Return what `work` makes of the service, ready or not. Raises: LoomError."""
    known = known or configured()

    async def run() -> T:
        failure: LoomError | TimeoutError
        async with running(known) as service:
            # Kept until the service is closed: out of its task group an error comes wrapped in a group.
            try:
                async with asyncio.timeout(COMMAND_S):
                    return await work(service)
            except (LoomError, TimeoutError) as error:
                failure = error
        raise failure

    return asyncio.run(run())


class Bar:
    """A progress bar on stderr, drawn only on a terminal."""

    def __init__(self, label: str) -> None:
        self._label = label
        self._done = 0.0

    def __enter__(self) -> Progress:
        self._bar = click.progressbar(length=1000, label=self._label, file=sys.stderr, hidden=not sys.stderr.isatty())
        self._bar.__enter__()
        return self._advance

    def __exit__(self, *exc: object) -> None:
        self._bar.__exit__(None, None, None)

    async def _advance(self, done: float, total: float | None, _message: str) -> None:
        share = 1000 * done / total if total else self._done
        self._bar.update(int(share) - int(self._done))
        self._done = share
