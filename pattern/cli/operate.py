"""A connection past the views, for the length of a command: what an operator looks at and erases."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

import msgspec

from identity.agent import Caller
from identity.errors import LoomError
from identity.registry import load
from loomem.nats.link import Link
from loomem.nats.topology import KvBuckets
from pattern.cli.session import COMMAND_S, READY_S, configured
from pattern.clock import SystemClock
from pattern.parts import identity_spec, opened
from pattern.settings import Settings

T = TypeVar("T")


class Operator(msgspec.Struct, frozen=True):
    """Who calls this command, and how to reach the broker. What it may do there the broker decides."""

    link: Link
    buckets: KvBuckets
    caller: Caller
    settings: Settings


def with_operator(work: Callable[[Operator], Awaitable[T]]) -> T:
    """Return what `work` makes of the connection. Raises: LoomError, TimeoutError."""
    known = configured()

    async def run() -> T:
        failure: LoomError | TimeoutError
        async with opened(known, SystemClock()) as parts:
            # Kept until all is closed: out of a task group an error comes wrapped in a group.
            try:
                async with asyncio.timeout(READY_S):
                    await parts.link.ready(READY_S)
                    buckets = KvBuckets(parts.link, replicas=known.replicas)
                    caller = await load(buckets, identity_spec(known))
                async with asyncio.timeout(COMMAND_S):
                    return await work(Operator(parts.link, buckets, caller, known))
            except (LoomError, TimeoutError) as error:
                failure = error
        raise failure

    return asyncio.run(run())
