"""One budget a day for all agents: a value in the system bucket that every call is taken from before it is made.

A call first adds the most that it may take, by compare-and-set, and is made only when that was acknowledged; afterwards
the difference to what it did take is given back. So whatever dies in between, nothing is ever spent that was not taken:
a call that nobody could settle counts for the most it may have taken. No broker, no call.
"""

from __future__ import annotations

import asyncio
import logging
from datetime import UTC, datetime
from math import ceil

import msgspec

from identity.errors import Conflict, LoomError
from identity.keys import SYSTEM_BUCKET, budget_key
from identity.ports import Bucket, Buckets, Clock, Entry, Ids, Put
from loomem.core.llm import KEY_VARIABLE, Fault, LlmSettings, ModelFailed, Spent, Usage, Use

log = logging.getLogger(__name__)

TRIES = 40
"""How often a compare-and-set is repeated when others were quicker: of so many at once, the last one gets through."""
PAUSE_S = 0.01
"""Between those; more, the more others there are."""
KEPT_S = 8 * 86_400
"""How long a day's budget can be looked up."""
WRITE_S = 5.0
LOOK_S = 1.0


class Taken(msgspec.Struct, frozen=True, kw_only=True):
    """What was taken for a call that is to be made now."""

    day: str
    tokens: int
    cost_micros: int


class Budget:
    """Takes from the budget of the day, and gives back."""

    def __init__(self, buckets: Buckets, clock: Clock, ids: Ids, settings: LlmSettings) -> None:
        self._buckets = buckets
        self._clock = clock
        self._ids = ids
        self._settings = settings

    async def take(self, most: Usage) -> Taken:
        """Take the most that a call may use. Raises: ModelFailed (it is used up, or nobody can tell)."""
        day = day_of(self._clock.now())
        taken = Taken(day=day, tokens=most.read + most.written, cost_micros=self._cost(most))
        try:
            async with asyncio.timeout(WRITE_S):
                lacking = await self._change(day, taken)
        except (LoomError, TimeoutError) as error:
            raise ModelFailed(
                Fault.BUDGET, "today's budget cannot be read, so the model is not asked", passing=True
            ) from error
        if lacking is not None:
            raise ModelFailed(Fault.BUDGET, lacking, passing=True)
        return taken

    async def settle(self, taken: Taken, used: Usage) -> None:
        """Give back what a call did not use; what cannot be given back stays taken."""
        back = Taken(
            day=taken.day,
            tokens=used.read + used.written - taken.tokens,
            cost_micros=self._cost(used) - taken.cost_micros,
        )
        try:
            async with asyncio.timeout(WRITE_S):
                await self._change(taken.day, back, calls=0)
        except (LoomError, TimeoutError) as error:
            log.warning("event=budget_not_settled tokens=%d reason=%r", back.tokens, str(error))

    async def _change(self, day: str, by: Taken, calls: int = 1) -> str | None:
        """Add to the day's sums, and return None; or what is lacking for that. Raises: LoomError."""
        bucket = await self._buckets.open(SYSTEM_BUCKET)
        for attempt in range(TRIES):
            entry = await _entry(bucket, day)
            before = _spent(day, entry)
            after = Spent(
                day=day,
                calls=before.calls + calls,
                tokens=max(0, before.tokens + by.tokens),
                cost_micros=max(0, before.cost_micros + by.cost_micros),
                refused=before.refused,
            )
            lacking = self._lacking(after) if calls else None
            change = Put(
                key=budget_key(day),
                value=msgspec.json.encode(
                    after if lacking is None else msgspec.structs.replace(before, refused=before.refused + 1)
                ),
                expected=0 if entry is None else entry.revision,
                op=self._ids.op_id(),
                ttl_s=KEPT_S,
            )
            try:
                await bucket.write(change)
            except Conflict:
                if lacking is not None:
                    return lacking  # that it was refused is told as far as it can be
                await asyncio.sleep(PAUSE_S * (1 + attempt % 7))
                continue
            return lacking
        raise Conflict(key=budget_key(day), expected=0, actual=0)

    def _lacking(self, after: Spent) -> str | None:
        limits = self._settings
        if after.calls > limits.calls_per_day:
            return f"today's {limits.calls_per_day} calls are used up (llm.calls_per_day)"
        if after.tokens > limits.tokens_per_day:
            return f"today's {limits.tokens_per_day} tokens do not suffice (llm.tokens_per_day)"
        if after.cost_micros > limits.cost_per_day * 1e6:
            return f"today's {limits.cost_per_day:.2f} US dollars do not suffice (llm.cost_per_day)"
        return None

    def _cost(self, usage: Usage) -> int:
        prices = self._settings
        return ceil(usage.read * prices.input_price + usage.written * prices.output_price)


def day_of(now: datetime) -> str:
    """Return the day whose budget a call at a moment is taken from."""
    return now.astimezone(UTC).date().isoformat()


async def spent(buckets: Buckets, clock: Clock) -> Spent:
    """Return what of today's budget is taken. Raises: Unavailable, AccessDenied."""
    day = day_of(clock.now())
    return _spent(day, await _entry(await buckets.open(SYSTEM_BUCKET), day))


async def told(buckets: Buckets, clock: Clock, settings: LlmSettings) -> str:
    """Return in words what a model is asked for, and what of today's budget is taken; or why none is asked."""
    off = [settings.off(use) for use in Use]
    on = ", ".join(use for use, why in zip(Use, off, strict=True) if why is None)
    if not on:
        return f"off ({next(iter(why for why in off if why is not None and KEY_VARIABLE in why), off[0])})"
    try:
        async with asyncio.timeout(LOOK_S):
            today = await spent(buckets, clock)
    except (LoomError, TimeoutError):
        return f"{on}; today's budget cannot be read, and without it no model is asked"
    return (
        f"{on}; today, of all agents: {today.calls}/{settings.calls_per_day} calls, "
        f"{today.tokens}/{settings.tokens_per_day} tokens, "
        f"${today.cost_micros / 1e6:.2f}/${settings.cost_per_day:.2f}"
        + (f", {today.refused} refused" if today.refused else "")
    )


async def _entry(bucket: Bucket, day: str) -> Entry | None:
    entry = await bucket.get(budget_key(day))
    return entry if isinstance(entry, Entry) else None


def _spent(day: str, entry: Entry | None) -> Spent:
    """Return what a value says. Raises: ModelFailed (nobody can tell)."""
    if entry is None:
        return Spent(day=day)
    try:
        return msgspec.json.decode(entry.value, type=Spent)
    except msgspec.MsgspecError as error:
        raise ModelFailed(Fault.BUDGET, "today's budget cannot be read, so the model is not asked") from error
