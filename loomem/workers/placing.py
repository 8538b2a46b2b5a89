"""What a fact that was read in a conversation means for those beside it: whose place it takes, as of one that is stored by a tool.

What was said earlier takes the place of nothing that holds since later: an old conversation may be taken in late. Deliberately
absent: the comparison (`loomem.judging`), the write.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import msgspec

from identity.keys import Key
from identity.ports import Clock
from loomem.core.audit.notes import Blocked
from loomem.core.contradict import Verdict
from loomem.core.contradict.settings import ContradictSettings
from loomem.core.embedding import Asker
from loomem.core.facts import adding_to, in_place_of, trust_in
from loomem.core.llm import Models, Use
from loomem.core.record import Memory
from loomem.judging import Judging
from loomem.llm.judge import judge
from loomem.views.chains import since
from loomem.workers.spaces import Spaces, sight_of

CONTEXT = "extract"


class Placed(msgspec.Struct, frozen=True):
    """A fact with what it replaces, and what it may not."""

    memory: Memory
    blocked: tuple[Blocked, ...] = ()


class Placing(Protocol):
    """Finds the place of a fact."""

    async def placed(self, bucket: str, key: Key, fact: Memory) -> Placed:
        """Return a fact in its place. Raises: Unavailable."""
        ...


class LocalJudge:
    """The model of this process as a judge. The port is `loomem.judging.ModelJudge`."""

    def __init__(self, models: Models) -> None:
        self._models = models

    async def judge(self, new: str, old: Sequence[str], *, within_s: float) -> tuple[str, list[Verdict]]:
        """Return which model judged, and its verdicts. Raises: Unavailable."""
        return self._models.name(Use.JUDGE), await judge(self._models, new, old, within_s=within_s)


class Places:
    """Finds the places of facts, in the views of their spaces."""

    def __init__(
        self, spaces: Spaces, clock: Clock, models: Models, settings: ContradictSettings, asker: Asker | None
    ) -> None:
        self._spaces = spaces
        self._clock = clock
        self._settings = settings
        self._models = models
        self._asker = asker

    async def placed(self, bucket: str, key: Key, fact: Memory) -> Placed:
        """Return a fact in its place. Raises: Unavailable."""
        known = fact.knowledge
        if not self._settings.enabled or known is None or sight_of(bucket, key) is None:
            return Placed(fact)
        model = None if self._models.off(Use.JUDGE) is not None else LocalJudge(self._models)
        async with self._spaces.views(bucket, key) as views:
            judging = Judging(views=views, clock=self._clock, settings=self._settings, asker=self._asker, model=model)
            found = await judging.judged(fact.content, known, lambda _place: True, besides={fact.id})
        begins = since(fact)
        replaced = [row for row in found.superseded if since(row.memory) <= begins]
        later = {row.id for row in found.superseded if row not in replaced}
        known = in_place_of(known, [row.memory for row in replaced])
        known = adding_to(known, [row.memory for row in found.extended])
        judged = tuple(one for one in found.judgements if one.memory_id not in later)
        return Placed(
            msgspec.structs.replace(fact, knowledge=msgspec.structs.replace(known, judged=judged)),
            tuple(
                Blocked(row.id, trust_in(row.memory.knowledge) or "none", known.trust or "none", CONTEXT)
                for row in found.blocked
            ),
        )
