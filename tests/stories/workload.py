"""The work of the proofs: many servers write and change, and a ledger of what was acknowledged to whom.

A memory says which call wrote it, so that a lost or a doubled one shows. The memory that all change holds one token per
change, appended; so what stands in the end tells which changes happened, how often, and in which order.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager

from tests.stories.machine import Fault, Json, Server, contents

SILENT = "NATS_ERROR"
"""The code of a call that the broker did not answer: the only failure that a proof expects."""
FAULTS_MAX = 200
"""A writer that fails so often will not succeed any more."""


class Ledger:
    """What was asked and what was acknowledged."""

    def __init__(self) -> None:
        self.acknowledged: dict[str, str] = {}
        """Content by id."""
        self.unknown: set[str] = set()
        """Contents whose write ended without an acknowledgement: they may stand, once."""
        self.faults: Counter[str] = Counter()
        self.unasked = 0
        """Memories that stood at the last check without an acknowledgement."""
        self.done = 0
        """Calls acknowledged, of any kind."""
        self._moved = asyncio.Condition()
        self._writing = True

    async def remember(self, server: Server, content: str) -> bool:
        """Write one memory; return whether that was acknowledged. Raises: Gone."""
        self.unknown.add(content)
        try:
            written = await server.call("remember", content=content, category="longterm")
        except Fault as fault:
            if fault.code != SILENT:
                raise
            self.faults[fault.message[:90]] += 1
            return False
        assert written["memoryId"] not in self.acknowledged, "one id for two memories"
        self.acknowledged[written["memoryId"]] = content
        self.unknown.discard(content)
        await self.count()
        return True

    async def write(self, server: Server, label: str, number: int) -> None:
        """Write so many memories; one that is not acknowledged is written again under another name. Raises: Gone."""
        faults = 0
        for n in range(number):
            while not await self.remember(server, f"{label} writes {n}, attempt {faults}"):
                faults += 1
                assert faults < FAULTS_MAX, self.faults

    async def count(self) -> None:
        async with self._moved:
            self.done += 1
            self._moved.notify_all()

    @asynccontextmanager
    async def open(self) -> AsyncGenerator[None]:
        """Write for the length of the context; whoever waits to `reach` a number waits no longer than that."""
        self._writing = True
        try:
            yield
        finally:
            async with self._moved:
                self._writing = False
                self._moved.notify_all()

    async def reach(self, done: int) -> None:
        """Return when so many calls have been acknowledged, or the one writer has ended."""
        async with self._moved:
            await self._moved.wait_for(lambda: self.done >= done or not self._writing)

    def check(self, memories: Sequence[Json], *, besides: Sequence[str] = ()) -> None:
        """Compare with everything a server shows: nothing acknowledged is lost, nothing stands twice or unasked for.

        `besides` are ids that this ledger does not keep.
        """
        kept = [memory for memory in memories if memory["id"] not in besides]
        by_id = {memory["id"]: memory["content"] for memory in kept}
        lost = {ident: content for ident, content in self.acknowledged.items() if by_id.get(ident) != content}
        assert not lost, f"{len(lost)} acknowledged writes are lost, such as {list(lost.items())[:3]}"
        twice = [content for content, times in Counter(contents(kept)).items() if times > 1]
        assert not twice, f"{len(twice)} stand twice, such as {twice[:3]}"
        assert len(by_id) == len(kept), "an id stands twice"
        strange = set(contents(kept)) - set(self.acknowledged.values()) - self.unknown
        assert not strange, f"{len(strange)} were never asked for, such as {list(strange)[:3]}"
        self.unasked = len(kept) - len(self.acknowledged)

    def __str__(self) -> str:
        """Tell the counts, after a check."""
        return (
            f"{len(self.acknowledged)} writes acknowledged, 0 lost, 0 doubled, {self.unasked} stand without an "
            f"acknowledgement; {self.faults.total()} calls failed"
        )


class Contest:
    """One memory that many servers change at the same time, each as often as it gets to."""

    def __init__(self, memory_id: str, changes: int) -> None:
        self.memory_id = memory_id
        self.changes = changes
        self.acknowledged: dict[int, str] = {}
        """Content by revision, as its writer was told."""
        self.found: set[str] = set()
        """Tokens whose change was not acknowledged but was seen to stand."""
        self.shown: list[tuple[int, str]] = []
        """What losers were told is there now."""
        self.faults: Counter[str] = Counter()
        self._left = changes

    async def take_part(self, server: Server, label: str) -> None:
        """Change the memory again and again until the changes are used up. Raises: Gone."""
        while self._left > 0:
            self._left -= 1
            await self._change(server, f"{label}-{self._left}")

    async def _change(self, server: Server, token: str) -> None:
        """Append one token, however often somebody else is quicker."""
        revision, content = await self._look(server)
        for _ in range(FAULTS_MAX * 10):
            if token in content.split():
                self.found.add(token)
                return
            try:
                written = await server.call(
                    "update-memory", memoryId=self.memory_id, expectedRevision=revision, content=f"{content} {token}"
                )
            except Fault as fault:
                if fault.code == "CONFLICT":
                    revision, content = self._learn(fault, revision, content)
                    continue
                if fault.code != SILENT:
                    raise
                self.faults[fault.message[:90]] += 1
                revision, content = await self._look(server)
                continue
            assert written["revision"] not in self.acknowledged, "one revision for two changes"
            self.acknowledged[written["revision"]] = f"{content} {token}"
            return
        raise AssertionError(f"{token} never wins")

    def _learn(self, fault: Fault, revision: int, content: str) -> tuple[int, str]:
        """Return what a loser is told of the winner."""
        now, says = fault.details["currentRevision"], fault.details["current"]["content"]
        assert now > revision, "the loser is told an older revision than it knows"
        assert says.startswith(content), "the loser is told an older content than it knows"
        self.shown.append((now, says))
        return now, says

    async def _look(self, server: Server) -> tuple[int, str]:
        for _ in range(FAULTS_MAX):
            try:
                memory = (await server.call("get-memory", memoryId=self.memory_id))["memory"]
            except Fault as fault:
                if fault.code != SILENT:
                    raise
                self.faults[fault.message[:90]] += 1
            else:
                return memory["revision"], memory["content"]
        raise AssertionError("the memory cannot be read any more")

    def check(self, content: str) -> None:
        """Compare with what stands in the end: every change once, as many as were acknowledged, and losers told the truth."""
        first, *tokens = content.split()
        assert first == "start"
        assert len(tokens) == len(set(tokens)), "a change stands twice"
        assert len(tokens) == self.changes, "a change is missing, or one too many"
        assert len(tokens) == len(self.acknowledged) + len(self.found), "changes stand that nobody was told of"
        won = {said.split()[-1] for said in self.acknowledged.values()}
        assert won | self.found == set(tokens)
        # Each revision's content is a beginning of the last one, so one that nobody acknowledged can be told as well.
        for revision, said in self.shown:
            assert content.startswith(said), "a loser was told what never stood"
            assert self.acknowledged.get(revision, said) == said, (
                "a loser was told another content than that revision's"
            )

    def __str__(self) -> str:
        """Tell the counts, after a check."""
        return (
            f"{len(self.acknowledged)} changes acknowledged, {self.changes} stand ({len(self.found)} of them without an "
            f"acknowledgement), {len(self.shown)} losers told what stands; {self.faults.total()} calls failed"
        )
