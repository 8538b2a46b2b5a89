"""A crew that reads conversations, in a process of its own, to be killed: `python -m tests.contracts.extract_process URL LLM_URL [TOKENS]`;
TOKENS: of a conversation, what is given to the model at once.

It leaves when its stdin closes, so that none is left behind by a test that died.
"""

from __future__ import annotations

import asyncio
import sys

from loomem.core.llm import LlmSettings
from loomem.workers import duty, extract
from tests.contracts.extract_kit import extracting
from tests.contracts.workers_kit import linked
from tests.llm_server import KEY


async def main(url: str, llm: str, tokens: int = 20_000) -> None:
    extract.ACK_WAIT_S = 1.0  # so that what a killed process had in hand is soon another's
    duty.CRASHES = 1_000  # no job is to blame for the kills of a test
    settings = LlmSettings(
        url=llm,
        key=KEY,
        retries=0,
        calls_per_day=1_000_000,
        cost_per_day=1e6,
        tokens_per_day=10**10,
        transcript_tokens=tokens,
    )
    async with linked(url) as link, extracting(link, llm=settings):
        sys.stdout.write("running\n")
        sys.stdout.flush()
        await asyncio.to_thread(sys.stdin.read)


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], sys.argv[2], *map(int, sys.argv[3:])))
