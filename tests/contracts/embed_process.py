"""A crew with a model in a process of its own, to be killed: `python -m tests.contracts.embed_process URL API_URL`.

It leaves when its stdin closes, so that none is left behind by a test that died.
"""

from __future__ import annotations

import asyncio
import sys

from loomem.workers import embed
from tests.contracts.embed_kit import embedding, remote
from tests.contracts.workers_kit import linked


async def main(url: str, api: str) -> None:
    embed.ACK_WAIT_S = 1.0  # so that what a killed process had in hand is soon another's
    async with linked(url) as link, embedding(link, remote(api)):
        sys.stdout.write("running\n")
        sys.stdout.flush()
        await asyncio.to_thread(sys.stdin.read)


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], sys.argv[2]))
