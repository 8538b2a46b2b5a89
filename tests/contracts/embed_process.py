"""A crew with a model in a process of its own, to be killed: `python -m tests.contracts.embed_process URL API_URL`.

It leaves when its stdin closes, so that none is left behind by a test that died. A text with the word `deadly` ends it as a
fault in the code of a model would.
"""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Sequence

from loomem.core.embedding import Vector
from loomem.embed import remote as remote_adapter
from loomem.embed.remote import Remote
from loomem.workers import embed
from tests.contracts.embed_kit import embedding, remote
from tests.contracts.workers_kit import linked


class Fragile(Remote):
    """A model that does not survive every text."""

    async def passages(self, texts: Sequence[str]) -> list[Vector]:
        if any("deadly" in text for text in texts):
            os._exit(1)
        return await super().passages(texts)


async def main(url: str, api: str) -> None:
    remote_adapter.Remote = Fragile  # pyright: ignore[reportAttributeAccessIssue]
    embed.ACK_WAIT_S = 1.0  # so that what a killed process had in hand is soon another's
    async with linked(url) as link, embedding(link, remote(api)):
        sys.stdout.write("running\n")
        sys.stdout.flush()
        await asyncio.to_thread(sys.stdin.read)


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], sys.argv[2]))
