"""A purge in a process of its own, to be killed: `python -m tests.contracts.purge_process URL ID...`."""

from __future__ import annotations

import asyncio
import sys

from tests.contracts.purge_kit import purge_of
from tests.contracts.workers_kit import linked


async def main(url: str, idents: list[str]) -> None:
    async with linked(url) as link:
        purge = purge_of(link)
        found, absent = await purge.by_ids(idents)

        def tell() -> None:
            sys.stdout.write(".\n")
            sys.stdout.flush()

        await purge.run(found, absent, on_each=tell)


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], sys.argv[2:]))
