"""The model is asked by the real SDK, of a server on loopback: what it answers, what it does not, and how long that takes."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from identity.errors import Unavailable
from identity.keys import SYSTEM_BUCKET, budget_key
from identity.ports import Entry
from loomem.core.llm import REASON_CHARS, Answer, Fault, LlmSettings, ModelFailed, Question, Usage, Use, When
from loomem.llm import client
from loomem.llm.budget import Budget, spent
from loomem.llm.client import Client, opened
from tests.doubles import CountingIds, ManualClock, MemoryBroker, MemoryBucket
from tests.llm_server import NONSENSE, REFUSES, LlmServer, Reply, fails, llm_server, says

SCHEMA = {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"], "additionalProperties": False}


class World:
    def __init__(self, server: LlmServer, models: Client, broker: MemoryBroker, clock: ManualClock) -> None:
        self.server = server
        self.models = models
        self.broker = broker
        self.clock = clock

    async def ask(self, **options: Any) -> Answer:
        given: dict[str, Any] = {"use": Use.JUDGE, "answer_tokens": 50, "schema": SCHEMA, **options}
        return await self.models.ask(Question(rules="Judge.", given="data", **given))

    async def fails(self, *replies: Reply, **options: Any) -> ModelFailed:
        self.server.script = list(replies)
        with pytest.raises(ModelFailed) as failed:
            await self.ask(**options)
        return failed.value

    async def taken(self) -> tuple[int, int]:
        today = await spent(self.broker, self.clock)
        return today.calls, today.tokens


@asynccontextmanager
async def world(*, shared: bool = False, settings: LlmSettings | None = None, **options: Any) -> AsyncGenerator[World]:
    clock = ManualClock()
    broker = MemoryBroker(clock)
    async with llm_server() as server, asyncio.timeout(60):
        chosen = settings or server.settings(**options)
        budget = Budget(broker, clock, CountingIds(), chosen)
        async with opened(chosen, budget, shared=shared) as models:
            yield World(server, models, broker, clock)


@pytest.mark.requirement("llm-structured")
async def test_an_answer_is_an_object_of_the_schema_that_was_sent() -> None:
    async with world(model="claude-of-choice") as here:
        here.server.script = [says({"a": 1}, tokens=(30, 5)), says('```json\n{"a": 2}\n```')]
        assert await here.ask() == Answer(value={"a": 1}, model="claude-of-choice", usage=Usage(30, 5))
        assert (await here.ask()).value == {"a": 2}
        [first, _] = here.server.asked
        assert first.body["output_config"] == {"format": {"type": "json_schema", "schema": SCHEMA}}
        assert (first.body["model"], first.body["max_tokens"], first.system) == ("claude-of-choice", 50, "Judge.")
        assert "temperature" not in first.body
        assert await here.taken() == (2, 35 + 120)


@pytest.mark.requirement("llm-failures")
@pytest.mark.parametrize(
    ("reply", "fault", "kind"),
    [
        (REFUSES, Fault.REFUSED, "refusal"),
        (NONSENSE, Fault.MALFORMED, "malformed"),
        (says([1, 2]), Fault.MALFORMED, "malformed"),
        (says({"a": 1}, stop_reason="max_tokens"), Fault.MALFORMED, "malformed"),
        (Reply(raw=b"<html>a gateway"), Fault.MALFORMED, "malformed"),
        (Reply(raw=b'{"content": null}'), Fault.MALFORMED, "malformed"),
        (fails(400, "invalid_request_error", "no " * 500), Fault.STATUS, "400"),
        (fails(401, "authentication_error"), Fault.STATUS, "401"),
        (fails(429, "rate_limit_error"), Fault.STATUS, "429"),
        (fails(500), Fault.STATUS, "500"),
        (fails(529, "overloaded_error"), Fault.STATUS, "529"),
        (Reply(hangs_up=True), Fault.NETWORK, "network"),
    ],
)
async def test_what_is_no_answer_is_a_failure_that_says_why(reply: Reply, fault: Fault, kind: str) -> None:
    async with world() as here:
        failed = await here.fails(reply)
        assert (failed.fault, failed.kind) == (fault, kind)
        assert 0 < len(failed.message) <= REASON_CHARS
        assert here.server.calls == 1


@pytest.mark.requirement("llm-bounded")
@pytest.mark.parametrize("reply", [says({"a": 1}, waits_s=30.0), says({"a": 1}, drips_s=0.05)])
async def test_an_answer_that_takes_too_long_is_none(reply: Reply) -> None:
    async with world(timeout_s=0.3) as here:
        before = asyncio.get_running_loop().time()
        failed = await here.fails(reply)
        assert asyncio.get_running_loop().time() - before < 10
        assert (failed.fault, failed.passing) == (Fault.NETWORK, True)
        # Nobody knows what it took, so that stays taken.
        calls, tokens = await here.taken()
        assert calls == 1
        assert tokens > 50


@pytest.mark.requirement("llm-bounded")
async def test_the_whole_is_bounded_too() -> None:
    async with world(retries=5) as here:
        here.server.rule = lambda _: fails(500)
        failed = await here.fails(timeout_s=1.5)
        assert "1.5 seconds" in failed.message
        assert 1 <= here.server.calls <= 3


@pytest.mark.requirement("llm-retries")
async def test_what_passes_is_tried_again_a_few_times_and_waits_as_the_server_asks(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    pauses: list[float] = []
    sleep = asyncio.sleep

    async def counted(delay: float, *_: object) -> None:
        pauses.append(delay)
        await sleep(0)

    async with world(retries=2) as here:
        await here.ask()  # what starting takes is not to be counted
        monkeypatch.setattr(client.asyncio, "sleep", counted)
        here.server.script = [fails(429, "rate_limit_error", retry_after="7"), fails(503), says({"a": 3})]
        assert (await here.ask()).value == {"a": 3}
        assert [pause for pause in pauses if pause >= 0.5] == [7.0, 2.0]
        assert (await here.taken())[0] == here.server.calls == 4  # each of them is a call
        assert (await here.fails(*[fails(500)] * 3)).kind == "500"
        assert here.server.calls == 7
        assert (await here.fails(fails(400))).kind == "400"
        assert here.server.calls == 8  # this does not pass


@pytest.mark.requirement("llm-off")
@pytest.mark.parametrize(
    ("settings", "use", "why"),
    [
        (LlmSettings(judge=True, entities=True), Use.JUDGE, "ANTHROPIC_API_KEY"),
        (LlmSettings(key="", judge=True), Use.JUDGE, "ANTHROPIC_API_KEY"),
        (LlmSettings(key="  "), Use.EXTRACT, "ANTHROPIC_API_KEY"),
        (LlmSettings(key="k"), Use.JUDGE, "llm.judge is off"),
        (LlmSettings(key="k"), Use.ENTITIES, "llm.entities is off"),
        (LlmSettings(key="k", extract=When.OFF), Use.EXTRACT, "llm.extract is off"),
    ],
)
async def test_without_a_key_and_a_switch_nobody_is_asked(settings: LlmSettings, use: Use, why: str) -> None:
    async with world(settings=settings) as here:
        failed = await here.fails(use=use)
        assert failed.fault is Fault.OFF
        assert why in failed.message
        assert (await here.taken(), here.server.calls) == ((0, 0), 0)


@pytest.mark.requirement("llm-off")
async def test_what_others_stored_is_sent_nowhere_unless_all_agree() -> None:
    far = LlmSettings(key="k", judge=True, entities=True, url="https://llm.example")
    async with world(settings=far, shared=True) as here:
        assert here.models.off(Use.EXTRACT) is not None
        assert here.models.off(Use.ENTITIES) is not None
        assert here.models.off(Use.JUDGE) is None  # one's own process asks
    async with world(settings=far, shared=False) as here:
        assert here.models.off(Use.EXTRACT) is None
    async with world(shared=True) as here:
        assert here.models.off(Use.EXTRACT) is None  # it stays on this machine


@pytest.mark.requirement("llm-budget-closed")
async def test_without_a_broker_there_is_no_call() -> None:
    class Away(MemoryBroker):
        async def open(self, name: str) -> MemoryBucket:
            raise Unavailable

    clock = ManualClock()
    async with llm_server() as server:
        settings = server.settings()
        async with opened(settings, Budget(Away(clock), clock, CountingIds(), settings), shared=False) as models:
            with pytest.raises(ModelFailed) as failed:
                await models.ask(Question(use=Use.JUDGE, rules="r", given="g", schema=SCHEMA, answer_tokens=9))
        assert (failed.value.fault, server.calls) == (Fault.BUDGET, 0)


@pytest.mark.requirement("llm-budget-closed")
async def test_what_cannot_be_read_is_no_budget() -> None:
    async with world() as here:
        await here.ask()
        bucket = await here.broker.open(SYSTEM_BUCKET)
        entry = await bucket.get(budget_key("2026-01-01"))
        assert isinstance(entry, Entry)
        from tests.contracts.nats_kit import put

        await bucket.write(put(entry.key, "rubbish", expected=entry.revision))
        assert (await here.fails()).fault is Fault.BUDGET
        assert here.server.calls == 1


@pytest.mark.requirement("llm-budget")
@pytest.mark.parametrize(
    ("limits", "word"),
    [({"calls_per_day": 2}, "calls"), ({"tokens_per_day": 1000}, "tokens"), ({"cost_per_day": 0.0015}, "dollars")],
)
async def test_what_is_used_up_comes_back_with_the_next_day(limits: dict[str, Any], word: str) -> None:
    async with world(**limits) as here:
        here.server.rule = lambda _: says({"a": 1}, tokens=(200, 40))
        for _ in range(2):
            await here.ask()
        failed = await here.fails()
        assert (failed.fault, failed.passing) == (Fault.BUDGET, True)
        assert word in failed.message
        assert (await here.taken())[0] == here.server.calls == 2
        here.clock.move(days=1)
        await here.ask()
        assert (await here.taken())[0] == 1


@pytest.mark.requirement("llm-quiet")
async def test_neither_a_key_nor_a_text_is_logged_or_shown(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    async with world() as here:
        await here.ask()
        await here.fails(fails(400, message="a secret text"))
        await here.fails(fails(500, message="a secret text"))
        assert "sk-test" not in caplog.text
        assert "secret text" not in caplog.text
        assert "Judge." not in caplog.text
        assert "sk-test" not in repr(here.server.settings())
