"""All views of one caller, opened together: the projection, what it folds, and what is made of its rows."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager

import msgspec

from identity.agent import Caller
from identity.keys import Kind
from identity.ports import Buckets, Feed
from identity.visibility import Sight
from loomem.core.graph.dictionary import EMPTY, Dictionary
from loomem.views.dates import Dates
from loomem.views.feedback import Feedback
from loomem.views.graph import Graph
from loomem.views.jobs import Jobs
from loomem.views.kinds import View
from loomem.views.projection import PATIENCE_S, Projection
from loomem.views.records import Records
from loomem.views.threads import Threads
from loomem.views.vectors import Vectors
from loomem.views.warm import WarmStart
from loomem.views.words import Words


class Views(msgspec.Struct, frozen=True, kw_only=True):
    """The views of one caller."""

    projection: Projection
    words: Words
    vectors: Vectors
    threads: Threads
    dates: Dates
    feedback: Feedback
    graph: Graph
    jobs: Jobs

    async def filled(self) -> None:
        """Return when all views hold what the buckets held at the start, as far as it can be had. However long that takes."""
        await self.projection.filled()
        await self.words.settled()


@asynccontextmanager
async def views_of(
    feed: Feed,
    buckets: Buckets,
    caller: Caller,
    *,
    warm: WarmStart | None = None,
    patience_s: float = PATIENCE_S,
    dictionary: Dictionary = EMPTY,
    within: Sequence[Sight] | None = None,
) -> AsyncGenerator[Views]:
    """Keep the views of a caller up to date behind the body; `dictionary` has names of entities, `within` as of a projection."""
    made: list[tuple[Vectors, Graph]] = []
    feedback = Feedback()
    jobs = Jobs()

    def others(records: Records) -> Mapping[Kind, View]:
        made.append((Vectors(records), Graph(records, dictionary)))
        [(vectors, graph)] = made
        return {Kind.VECTOR: vectors, Kind.FEEDBACK: feedback, Kind.JOB: jobs, Kind.GRAPH: graph}

    projection = Projection(feed, buckets, caller, views=others, patience_s=patience_s, warm=warm, within=within)
    [(vectors, graph)] = made
    threads, dates = Threads(), Dates()
    async with vectors, projection, Words(projection, warm, before=(threads, dates)) as words:
        yield Views(
            projection=projection,
            words=words,
            vectors=vectors,
            threads=threads,
            dates=dates,
            feedback=feedback,
            graph=graph,
            jobs=jobs,
        )
