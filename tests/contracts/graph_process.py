"""A crew that reads what memories name, in a process of its own, to be killed: `python -m tests.contracts.graph_process URL`.

It leaves when its stdin closes, so that none is left behind by a test that died.
"""

from __future__ import annotations

import asyncio
import sys

from loomem.core.graph.dictionary import EMPTY
from loomem.workers import graph
from tests.contracts.graph_kit import reading
from tests.contracts.workers_kit import linked


async def main(url: str) -> None:
    graph.ACK_WAIT_S = 1.0  # so that what a killed process had in hand is soon another's
    async with linked(url) as link, reading(link, EMPTY):
        sys.stdout.write("running\n")
        sys.stdout.flush()
        await asyncio.to_thread(sys.stdin.read)


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1]))
