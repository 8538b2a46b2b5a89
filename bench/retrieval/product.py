"""The product as a client of it has it: a served process, its node, and its tools, each haystack the memory of a user of its own."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncGenerator, Generator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from types import MappingProxyType
from typing import Any

from mcp.client import Client
from mcp.client.stdio import StdioServerParameters, stdio_client

from bench.report import ROOT
from bench.retrieval.data import Haystack, Session, Turn, spoken

TOP_K = 100
CONTENT_BYTES_LIMIT = 102_400
"""What `memory_store` takes."""
WRITERS = 8
"""Calls of one session under way together."""
CALL_S = 60.0
EMBEDDED_S = 3_600.0
"""For the vectors of one haystack; the model takes tens of milliseconds a text, and seconds a long one on a busy machine."""
MODEL_S = 120.0
"""For the first vector; after it, there is no model, and words have to do."""
POLL_S = 1.0
LOGGED_CHARS = 4_000
"""Of what a server said before it failed."""
INHERITED = ("PATH", "HOME", "LANG", "TMPDIR", "OMP_NUM_THREADS", "PATTERN_SEARCH_DEADLINE_MS")
"""The deadline too: on a busy machine the default would measure the machine."""
ALONE = {
    "words": {"PATTERN_EMBEDDER": "none"},
    "meaning": {"PATTERN_SEARCH_ARMS_WORDS": "0", "PATTERN_SEARCH_ARMS_WORDS_LONG": "0"},
}
"""Settings of a server that searches with one arm alone; conversations, weights and all else stay."""
NO_SETTINGS: Mapping[str, str] = MappingProxyType({})


class Asked:
    """A haystack in the product: which turn each memory is, and the answers."""

    def __init__(self, client: Client, turns: dict[str, str]) -> None:
        self._client = client
        self.turns = turns
        """Of each id of a memory, the turn stored in it."""
        self.cut = 0
        """Turns too long to be stored whole."""
        self.degraded: dict[str, int] = {}
        """How many answers said that an arm was missing, by reason."""
        self._superseded: set[str] = set()
        """Memories whose place a later one took, as the product judged; it counts them no more."""

    async def store(self, haystack: Haystack) -> None:
        """Store every turn, several at a time but begun in order. Raises: RuntimeError when one is refused."""
        free = asyncio.Semaphore(WRITERS)

        async def one(session: Session, turn: Turn) -> None:
            try:
                await self._store(haystack, session, turn)
            finally:
                free.release()

        async with asyncio.TaskGroup() as group:
            for session, turn in haystack.turns:
                await free.acquire()
                group.create_task(one(session, turn))

    async def ingest(self, text: str, day: str | None, *, facts: int) -> str:
        """Take a conversation in, of which so many facts are to be read, and return its source.

        Raises: RuntimeError, when it is refused, or another number of facts or no fragments come of it.
        """
        given = {"content": text} if day is None else {"content": text, "conversation_date": day}
        taken = await self._call("memory_ingest", given)
        stored = len(taken.get("facts") or ())
        said: dict[str, Any] = taken.get("fragments") or {}
        if stored != facts or not said.get("stored") or said.get("skipped") or said.get("failed"):
            raise RuntimeError(f"memory_ingest: {stored} of {facts} facts, {said}, {taken['extraction']}")
        return taken["sourceId"]

    async def rows(self, question: str, limit: int) -> list[str]:
        """Return the ids of the rows of an answer, in order."""
        found = await self._call("memory_search", {"query": question, "top_k": limit})
        for reason in found.get("degraded") or ():
            self.degraded[reason] = self.degraded.get(reason, 0) + 1
        return [row["id"] for row in found["rows"]]

    async def embedded(self) -> None:
        """Return when every memory has its vector, or when there is no model to wait for. Raises: TimeoutError."""
        began = time.monotonic()
        async with asyncio.timeout(EMBEDDED_S):
            while True:
                status = await self._call("memory_status", {})
                if status["memories"] == status["embedded"] >= len(self.turns) - len(self._superseded):
                    return
                if status["embedded"] == 0 and time.monotonic() - began > MODEL_S:
                    return
                await asyncio.sleep(POLL_S)

    async def settled(self) -> None:
        """Return when an answer lacks nothing: what others stored is read and indexed. Raises: TimeoutError."""
        async with asyncio.timeout(MODEL_S):
            while (await self._call("memory_search", {"query": "settled"})).get("degraded"):  # noqa: ASYNC110
                await asyncio.sleep(POLL_S)

    async def ask(self, question: str) -> list[str]:
        """Return the turns found, the best first."""
        found = await self._call("memory_search", {"query": question, "top_k": TOP_K})
        for reason in found.get("degraded") or ():
            self.degraded[reason] = self.degraded.get(reason, 0) + 1
        return [self.turns[row["id"]] for row in found["rows"] if row["id"] in self.turns]

    async def _store(self, haystack: Haystack, session: Session, turn: Turn) -> None:
        content = spoken(turn)
        if len(content.encode()) > CONTENT_BYTES_LIMIT:
            content = content.encode()[:CONTENT_BYTES_LIMIT].decode(errors="ignore")
            self.cut += 1
        metadata = {
            "conversation": f"{haystack.id}/{session.id}",
            "turn": turn.id,
            "speaker": turn.speaker,
            "date": turn.time or session.date,
        }
        await self._keep(turn.id, {"content": content, "metadata": metadata})

    async def _keep(self, turn: str, given: dict[str, Any]) -> None:
        stored = await self._call("memory_store", given)
        self.turns[stored["memoryId"]] = turn
        self._superseded.update(stored.get("supersedes") or ())

    async def _call(self, tool: str, arguments: dict[str, Any]) -> dict[str, Any]:
        async with asyncio.timeout(CALL_S):
            result = await self._client.call_tool(tool, arguments)
        if result.is_error or result.structured_content is None:
            raise RuntimeError(f"{tool}: {result.content}")
        return result.structured_content


@contextmanager
def home() -> Generator[Path]:
    """A home of the service; its node ends with the block."""
    with tempfile.TemporaryDirectory(prefix="bench-retrieval-") as folder:
        place = Path(folder)
        try:
            yield place
        finally:
            stop = (sys.executable, "-m", "pattern", "node", "stop")
            subprocess.run(
                stop, env=_environment(place, "bench"), cwd=ROOT, check=False, capture_output=True, timeout=60
            )


@asynccontextmanager
async def asked(
    place: Path, user: str, turns: dict[str, str] | None = None, settings: Mapping[str, str] = NO_SETTINGS
) -> AsyncGenerator[Asked]:
    """The product for one user, served over stdio by the command a client starts; `turns`: what is stored already."""
    environment = {**_environment(place, user), **settings}
    parameters = StdioServerParameters(command=sys.executable, args=["-m", "pattern"], env=environment, cwd=place)
    file = place / "stderr.log"
    with file.open("a", encoding="utf-8") as log:
        try:
            async with Client(stdio_client(parameters, errlog=log)) as client:
                yield Asked(client, {} if turns is None else turns)
        except Exception as error:
            error.add_note(file.read_text(encoding="utf-8", errors="replace")[-LOGGED_CHARS:])
            raise


def _environment(place: Path, user: str) -> dict[str, str]:
    return {
        **{name: value for name, value in os.environ.items() if name in INHERITED},
        "PYTHONPATH": str(ROOT),
        "PATTERN_HOME": str(place),
        "LOOMINAL_PROJECT_ID": "bench",
        "LOOMINAL_USER_ID": user,
        "PATTERN_SEARCH_TOP_K_MOST": str(TOP_K),
        "PATTERN_SEARCH_TOP_K_COUNTING_MOST": str(TOP_K),
        "LOG_LEVEL": "WARNING",
    }


async def timed_answers(product: Asked, questions: Sequence[str]) -> tuple[list[list[str]], list[float]]:
    """Return the turns found for each question, and how long each took. Units: seconds."""
    answers: list[list[str]] = []
    laps: list[float] = []
    for question in questions:
        began = time.perf_counter()
        answers.append(await product.ask(question))
        laps.append(time.perf_counter() - began)
    return answers, laps
