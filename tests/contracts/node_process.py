"""A node with the smallest real services: `python node_process.py HOME URL VERSION IDLE_S GUARD WORKER`.

Started by the launcher from another folder, so the packages are looked up beside this file.
"""

from __future__ import annotations

import asyncio
import logging
import sys
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

from loomem.nats.endpoint import Endpoint, endpoint_from
from loomem.nats.link import Link
from loomem.node.broker import Guard
from loomem.node.state import NodeSpec
from loomem.node.supervise import StatusSource, run_node


class OneIdleWorker:
    def __init__(self, *, pending: bool) -> None:
        self._pending = pending

    def workers(self) -> Sequence[object]:
        return [{"name": "idle", "done": 0}]

    async def status(self) -> Sequence[object]:
        return self.workers()

    def embedding(self) -> object | None:
        return None

    async def pending(self) -> bool:
        return self._pending


def main(home: str, url: str, version: str, idle_s: str, guard: str, worker: str) -> int:
    spec = NodeSpec(home=Path(home), url=url or None, version=version, command=(), idle_s=float(idle_s))

    opened = 0

    @asynccontextmanager
    async def services(link: Link) -> AsyncGenerator[StatusSource]:
        await link.ready(5)
        nonlocal opened
        opened += 1
        if worker == "broken" or (worker == "broken once" and opened == 1):
            raise RuntimeError("no worker today")
        yield OneIdleWorker(pending=worker == "pending")

    async def own() -> Endpoint:
        return endpoint_from(url)

    logging.basicConfig(level=logging.INFO, stream=sys.stderr)
    return asyncio.run(run_node(spec, services, source=own, guard=Guard(guard)))


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
