"""The expiry worker: it erases what is over, evicts what is beyond the soft limits, and ends moves that were cut short.

Two ways of hearing of changes, each for what it is good at:

- **The durable consumer** (`handle`) for moves that were cut short, and for the ratings of what is gone. That is work
  handed on from a process that may be dead: each write has to be looked at once, by one of the crews, and again if that
  crew dies: at-least-once jobs. It delivers headers only, since a move and a stub are told by their operation ids.
- **A feed** (`attend`) for expiry and eviction. These follow from *all* memories of a bucket, and from the clock, so the
  worker needs to know them all, also after a restart; a durable consumer does not tell again what was acknowledged.
  The worker folds heads (no content) and a pure plan says what is due. Crews plan the same from the same heads, and
  compare-and-set with a derived operation id makes a removal happen once, however many of them plan it.

It wakes when something changed (gathered for a moment) and when the next thing is due; it does not poll.

Deliberately absent: a decision of its own (`upkeep.plan_upkeep`, `core.moves.may_finish`); any removal without
compare-and-set; eviction of anything but the oldest `recent` and `tasks`.
"""

from __future__ import annotations

import asyncio
import logging
from contextlib import suppress

from identity.errors import Conflict, Corrupt
from identity.keys import SYSTEM_BUCKET, Kind, Root, parse_key
from identity.ports import Bucket, Buckets, CaughtUp, Change, Clock, Entry, Event, Feed, Marker, Reason, Remove, Reset
from loomem.core.limits import Limits
from loomem.core.moves import Move, may_finish, parse_move
from loomem.core.plan import is_stub
from loomem.core.rating import decode as ratings_of
from loomem.core.record import decode
from loomem.core.times import millis
from loomem.nats.bucket import MARKER_LIFE_S
from loomem.nats.pull import Job, JobQueue
from loomem.nats.streams import BucketFacts, Streams
from loomem.workers.status import Tally
from loomem.workers.upkeep import Grave, Head, Plan, Rules, grave_of, head_of, plan_upkeep, rules_of

log = logging.getLogger(__name__)

FILTER = f"*.*.{Kind.MEMORY}.*"
SETTLE_S = 1.0
"""How long changes are gathered before a plan is made."""
LOOK_S = 300.0
"""Longest sleep: a computer that slept, or whose clock was set, is noticed then."""
SYNC_S = 600.0
"""How long the feed may take to tell everything there is; it gives up much sooner when nothing arrives at all."""


class ExpireWorker:
    """One for all buckets of a crew."""

    name = "expire"
    queue = JobQueue(name="expire", filters=(FILTER,), headers_only=True)

    def __init__(
        self,
        buckets: Buckets,
        feed: Feed,
        streams: Streams,
        limits: Limits,
        clock: Clock,
        *,
        settle_s: float = SETTLE_S,
    ) -> None:
        self._buckets = buckets
        self._feed = feed
        self._streams = streams
        self._limits = limits
        self._clock = clock
        self._settle_s = settle_s

    @property
    def able(self) -> bool:
        return True

    async def ready(self) -> None:
        return

    def serves(self, bucket: str) -> bool:
        return bucket != SYSTEM_BUCKET

    async def handle(self, bucket: Bucket, job: Job) -> None:
        """End the move that this write was the first half of, or take away what was said and made of what it erased.

        Vectors go here too, since there may be no model, and so no worker of it.

        Raises: Unavailable.
        """
        gone = parse_key(job.change.key) if isinstance(job.change, Marker) or _erases(job.change) else None
        if gone is not None:
            await self._streams.purge(bucket.name, gone.vectors, job.change.revision)
        if _erases(job.change):
            await self._forget_ratings(bucket, job.change.key)
            return
        move = parse_move(job.change.op) if isinstance(job.change, Entry) else None
        if move is None:
            return
        left, target = parse_key(move.key), parse_key(job.change.key)
        if left is None or target is None or not may_finish(left, target):
            log.warning("event=move_refused bucket=%s key=%s source=%s", bucket.name, job.change.key, move.key)
            return
        origin = await self._buckets.open(move.bucket)
        held = await origin.get(move.key)
        if not isinstance(held, Entry) or held.revision != move.revision:
            return  # the mover removed it, or somebody changed it since: then it is a memory of its own again
        if await _change(origin, _end_of(move, held)):
            log.info("event=move_finished bucket=%s key=%s source=%s", bucket.name, job.change.key, move.key)

    async def _forget_ratings(self, bucket: Bucket, key: str) -> None:
        """Remove what anybody said of a memory that is gone; what was said of another's with the same id stays."""
        gone = parse_key(key)
        if gone is None:
            return
        root = Root.AGENTS if gone.root is Root.CORE else gone.root
        ratings, _ = await self._streams.held(bucket.name, f"{root}.*.{Kind.FEEDBACK}.{gone.id}")
        for rating in sorted(ratings):
            held = await bucket.get(rating)
            if isinstance(held, Entry) and _rates(held, gone.owner):
                op = f"{Reason.OTHER} {held.revision}"
                await _change(bucket, Remove(key=rating, expected=held.revision, op=op, reason=Reason.OTHER))

    async def attend(self, bucket: Bucket, tally: Tally) -> None:
        """Keep one bucket within its times and limits, until cancelled.

        Raises: NotFound (the bucket is gone), AccessDenied, Unavailable: then call it again later.
        """
        facts = await self._streams.facts(bucket.name)
        rules = rules_of(self._limits, marker_s=MARKER_LIFE_S, server_erases=facts.erases_values)
        heads = Heads(rules, facts, self._clock)
        async with self._feed.follow(bucket.name, FILTER, heads.apply) as following:
            while True:
                async with asyncio.timeout(SYNC_S):
                    # What another crew has removed meanwhile must not be planned again, so: look first, then plan.
                    await following.sync()
                plan = heads.plan()
                tally.busy += 1
                try:
                    await self._carry_out(bucket, heads, plan, tally)
                finally:
                    tally.busy -= 1
                await self._until_due(heads, plan)

    async def _carry_out(self, bucket: Bucket, heads: Heads, plan: Plan, tally: Tally) -> None:
        done = 0
        for change in plan.changes:
            done += await _change(bucket, change)
            heads.forget(change.key, change.expected)
        for grave in plan.sweeps:
            await self._streams.sweep(bucket.name, grave.key, grave.revision)
            heads.forget(grave.key, grave.revision)
        if plan.changes or plan.sweeps:
            tally.did(self._clock.now(), done + len(plan.sweeps))
            log.info(
                "event=upkeep bucket=%s due=%d removed=%d swept=%d",
                bucket.name,
                len(plan.changes),
                done,
                len(plan.sweeps),
            )

    async def _until_due(self, heads: Heads, plan: Plan) -> None:
        """Return when the next thing is due, or a moment after something changed."""
        sleep_s = LOOK_S
        if plan.next_ms is not None:
            sleep_s = min(LOOK_S, max(0.0, (plan.next_ms - millis(self._clock.now())) / 1000))
        with suppress(TimeoutError):
            async with asyncio.timeout(sleep_s):
                await heads.changed.wait()
                await asyncio.sleep(self._settle_s)


class Heads:
    """The heads and markers of one bucket, folded from its feed."""

    def __init__(self, rules: Rules, facts: BucketFacts, clock: Clock) -> None:
        self._rules = rules
        self._facts = facts
        self._clock = clock
        self._heads: dict[str, Head] = {}
        self._graves: dict[str, Grave] = {}
        self._whole = False
        self.changed = asyncio.Event()

    def apply(self, event: Event) -> None:
        match event:
            case Entry():
                self._graves.pop(event.key, None)
                head = head_of(event)
                if head is None:
                    self._heads.pop(event.key, None)
                    return
                self._heads[event.key] = head
            case Marker():
                self._heads.pop(event.key, None)
                grave = grave_of(event, self._rules)
                if self._facts.erases_markers and grave.until_ms > millis(self._clock.now()):
                    return  # the server's; what is overdue was written before it could
                self._graves[event.key] = grave
            case Reset():
                self._whole = False
                self._heads.clear()
                self._graves.clear()
            case CaughtUp():
                self._whole = True
        self.changed.set()

    def plan(self) -> Plan:
        """Return what is due now; nothing while the feed has not told everything."""
        self.changed.clear()
        if not self._whole:
            return Plan()
        return plan_upkeep(self._heads.values(), self._graves.values(), self._rules, millis(self._clock.now()))

    def forget(self, key: str, revision: int) -> None:
        """Drop what is known of a key as of `revision`; what the feed told since stays."""
        if key in self._heads and self._heads[key].revision == revision:
            del self._heads[key]
        if key in self._graves and self._graves[key].revision == revision:
            del self._graves[key]


def _rates(held: Entry, owner: str) -> bool:
    try:
        return ratings_of(held.value).owner == owner
    except Corrupt:
        return False


def _erases(change: Entry | Marker) -> bool:
    """Say whether a change was the end of a memory: nothing is left of it, or a stub."""
    if isinstance(change, Marker):
        return change.reason is not Reason.MOVE
    return is_stub(change.op)


def _end_of(move: Move, source: Entry) -> Change:
    try:
        return move.ended_by(decode(source.value))
    except Corrupt:
        return move.removal


async def _change(bucket: Bucket, change: Change) -> bool:
    """Change what is still as it was; say whether this change did it. A key that changed since is left alone."""
    try:
        await bucket.write(change)
    except Conflict:
        return False
    return True
