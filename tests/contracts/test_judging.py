"""What a new fact means for those that are there: found, judged, and given its place, with real views and a scripted model."""

from __future__ import annotations

import logging
from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, asynccontextmanager
from datetime import UTC
from typing import Any

import msgspec
import pytest

from identity.keys import Kind, Root, Space, user_bucket
from identity.ports import Put
from loomem.core.contradict.settings import ContradictSettings
from loomem.core.facts import FactSettings, may_supersede
from loomem.core.knowledge import Knowledge, Role
from loomem.core.limits import Limits
from loomem.core.llm import LlmSettings
from loomem.core.record import encode
from loomem.core.scan import ScanPolicy
from loomem.engine import Engine
from loomem.fact_results import Stored
from loomem.judging import Judging
from loomem.llm.budget import Budget
from loomem.llm.client import opened
from loomem.views.projection import Projection
from loomem.views.together import views_of
from loomem.workers.placing import LocalJudge
from tests.contracts.test_llm_prompts import HOSTILE
from tests.doubles import CountingIds
from tests.laws.worlds import World, agent
from tests.llm_server import NONSENSE, REFUSES, LlmServer, fails, llm_server, says

LIMITS = Limits()


class Here:
    """An engine that judges, on a broker in memory."""

    def __init__(self, world: World, engine: Engine, projection: Projection, llm: LlmServer) -> None:
        self.projection = projection
        self.world = world
        self.engine = engine
        self.llm = llm

    async def store(self, content: str, **given: Any) -> Stored:
        return await self.engine.store(content=content, **given)

    async def versions(self, ident: str) -> list[tuple[int, bool]]:
        found = await self.engine.history(chunk_id=ident)
        return [(version.version, version.current) for version in found.versions]

    async def known(self, ident: str) -> Knowledge:
        await self.projection.settle()
        [row] = self.projection.records.find(ident)
        assert row.memory.knowledge is not None
        return row.memory.knowledge

    async def change(self, ident: str, **fields: Any) -> None:
        """Change what is known of a memory in its bucket, as a worker or another version may have written it."""
        await self.projection.settle()
        bucket = await self.world.broker.open(user_bucket(agent().user_id))
        [row] = self.projection.records.find(ident)
        known = msgspec.structs.replace(row.memory.knowledge or Knowledge(), **fields)
        memory = msgspec.structs.replace(row.memory, knowledge=known)
        key = Space(bucket.name, Root.PERSONAL, row.place.owner).key(Kind.MEMORY, ident)
        await bucket.write(Put(key=key, value=encode(memory), expected=row.revision, op="changed"))
        await self.projection.sync()


@asynccontextmanager
async def here(
    *, model: bool = False, llm_options: dict[str, Any] | None = None, **options: Any
) -> AsyncGenerator[Here]:
    world = World()
    async with AsyncExitStack() as stack:
        llm = await stack.enter_async_context(llm_server())
        chosen: LlmSettings = llm.settings(**(llm_options or {}))
        budget = Budget(world.broker, world.clock, CountingIds(), chosen)
        models = await stack.enter_async_context(opened(chosen, budget, shared=False))
        if model:
            await models.warm()
        views = await stack.enter_async_context(views_of(world.feed, world.buckets, agent(), patience_s=2.0))
        engine = Engine(
            caller=agent(),
            buckets=world.buckets,
            projection=views.projection,
            limits=LIMITS,
            clock=world.clock,
            ids=CountingIds(),
            scan=ScanPolicy.WARN,
            zone=UTC,
            facts=FactSettings(honor_caller_trust_source=True),
            judging=Judging(
                views=views,
                clock=world.clock,
                settings=ContradictSettings(**options),
                model=LocalJudge(models) if model else None,
            ),
        )
        yield Here(world, engine, views.projection, llm)


def says_it(relation: str, reason: str = "told so") -> Any:
    return says({"relation": relation, "reason": reason})


@pytest.mark.requirement("know-10.updates")
@pytest.mark.parametrize("model", [False, True])
async def test_a_fact_takes_the_place_of_what_it_contradicts(model: bool) -> None:
    async with here(model=model) as it:
        it.llm.rule = lambda _: says_it("updates", "quotes VSCode")
        old = await it.store("User uses VSCode")
        new = await it.store("User uses Cursor")
        assert new.supersedes == [old.memory_id]
        assert [(one.memory_id, one.relation) for one in new.judged or ()] == [(old.memory_id, "updates")]
        assert await it.versions(old.memory_id) == [(1, False), (2, True)]
        known = await it.known(new.memory_id)
        assert (known.chain_version, known.root_id, known.supersedes) == (2, old.memory_id, (old.memory_id,))
        assert known.judged[0].by == ("claude-haiku-4-5" if model else "rules")
        assert "VSCode" not in (known.judged[0].reason or "")  # it must be gone when the older one is
        assert it.llm.calls == int(model)
        found = await it.engine.history(chunk_id=new.memory_id)
        assert "judged by" in (found.versions[-1].reason or "")


@pytest.mark.requirement("know-10.updates")
async def test_all_that_is_contradicted_gives_way() -> None:
    async with here() as it:
        old = [await it.store(text) for text in ("User uses VSCode", "The user uses VSCode now", "I use VSCode")]
        # They say the same and stand side by side, until one says otherwise.
        assert [one.supersedes for one in old] == [None] * 3
        new = await it.store("User uses Cursor")
        assert sorted(new.supersedes or []) == sorted(one.memory_id for one in old)
        assert (await it.known(new.memory_id)).chain_version == 2


@pytest.mark.requirement("know-10.extends")
@pytest.mark.parametrize("model", [False, True])
async def test_a_fact_that_adds_to_another_shares_its_root_and_both_stay(model: bool) -> None:
    async with here(model=model) as it:
        it.llm.rule = lambda _: says_it("extends")
        old = await it.store("User uses Cursor")
        new = await it.store("User uses Cursor with the Vim extension")
        assert new.supersedes is None
        assert [(one.memory_id, one.relation) for one in new.judged or ()] == [(old.memory_id, "extends")]
        assert (await it.known(new.memory_id)).root_id == old.memory_id
        assert await it.versions(old.memory_id) == [(1, True)]
        assert await it.versions(new.memory_id) == [(1, True)]


@pytest.mark.requirement("know-10.unparsable")
@pytest.mark.parametrize(
    "reply", [NONSENSE, says({"relation": "deletes", "reason": "x"}), says("updates, I think"), says({})]
)
async def test_an_answer_that_is_no_judgement_changes_nothing(reply: Any) -> None:
    async with here(model=True) as it:
        it.llm.rule = lambda _: reply
        old, new = await it.store("User uses VSCode"), await it.store("User uses Cursor")
        assert (it.llm.calls, new.supersedes, new.judged) == (1, None, None)
        assert await it.versions(old.memory_id) == [(1, True)]


@pytest.mark.requirement("know-10.fallback")
@pytest.mark.parametrize("reply", [fails(500), fails(429, "rate_limit_error"), fails(401), REFUSES])
async def test_without_an_answer_of_the_model_the_rules_judge(reply: Any) -> None:
    async with here(model=True) as it:
        it.llm.rule = lambda _: reply
        old, new = await it.store("User uses VSCode"), await it.store("User uses Cursor")
        assert new.supersedes == [old.memory_id]
        assert [one.by for one in new.judged or ()] == ["rules"]


@pytest.mark.requirement("know-10.fallback")
async def test_with_a_budget_that_is_used_up_the_rules_judge() -> None:
    async with here(model=True, llm_options={"calls_per_day": 1}) as it:
        it.llm.rule = lambda _: says_it("none")
        await it.store("User uses VSCode")
        old = await it.store("User uses Cursor")
        new = await it.store("User uses Emacs")
        assert it.llm.calls == 1
        assert old.memory_id in (new.supersedes or [])
        assert {one.by for one in new.judged or ()} == {"rules"}


@pytest.mark.requirement("know-10.fallback")
async def test_when_the_model_takes_too_long_the_rules_judge(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("loomem.judging.MODEL_S", 0.2)
    async with here(model=True) as it:
        it.llm.rule = lambda _: says({"relation": "none", "reason": ""}, waits_s=30.0)
        old, new = await it.store("User uses VSCode"), await it.store("User uses Cursor")
        assert it.llm.calls == 1
        assert new.supersedes == [old.memory_id]
        assert [one.by for one in new.judged or ()] == ["rules"]


@pytest.mark.requirement("know-10.candidates")
async def test_what_is_gone_or_no_statement_is_never_compared() -> None:
    async with here(model=True) as it:
        it.llm.rule = lambda _: says_it("none")
        deleted = await it.store("User uses VSCode at work")
        await it.engine.delete(chunk_id=deleted.memory_id)
        erased = await it.store("User uses VSCode at home")
        await it.engine.forget(memory_id=erased.memory_id)
        first = await it.store("User uses VSCode in the train")
        await it.store("User uses Emacs in the train", supersedes=first.memory_id)
        source = await it.store("User: I use VSCode on a boat")
        await it.change(source.memory_id, role=Role.EVIDENCE)
        fragment = await it.store("I use VSCode in a tent")
        await it.change(fragment.memory_id, source_id=source.memory_id, byte_start=0, byte_end=9)
        elsewhere = await it.store("User uses VSCode in the garden", stream="__private__")
        passing = await it.engine.remember(content="User uses VSCode today", scope="personal", ttl_seconds=60)
        it.world.clock.move(hours=1)
        it.llm.asked.clear()
        new = await it.store("User uses Cursor")
        asked = "\n".join(it.llm.prompts)
        for word in ("at work", "at home", "in the train\n[/CHUNK", "on a boat", "in a tent", "in the garden", "today"):
            if word.startswith("in the train"):
                assert "VSCode in the train" not in asked
            else:
                assert word not in asked
        assert "Emacs in the train" in asked
        assert new.supersedes is None
        assert elsewhere.memory_id
        assert passing.memory_id


@pytest.mark.requirement("know-10.candidates")
async def test_what_somebody_said_stays_said_whatever_others_say() -> None:
    async with here() as it:
        jon, gina = ({"speaker": name} for name in ("Jon", "Gina"))
        said = await it.store("I use VSCode", metadata=jon)
        other = await it.store("I do not use VSCode", metadata=gina)
        fact = await it.store("User uses Cursor")
        assert (other.supersedes, fact.supersedes) == (None, None)
        assert await it.versions(said.memory_id) == [(1, True)]


@pytest.mark.requirement("know-10.candidates")
async def test_many_former_versions_do_not_hide_the_one_that_holds() -> None:
    async with here() as it:
        last = await it.store("The build number of the shop is 1")
        for number in range(2, 90):
            new = await it.store(f"The build number of the shop is {number}")
            assert new.supersedes == [last.memory_id], number
            last = new


@pytest.mark.requirement("know-10.candidates")
async def test_the_model_is_asked_about_a_few_and_in_a_few_words() -> None:
    async with here(model=True, candidates=3) as it:
        it.llm.rule = lambda _: says_it("none")
        for number in range(8):
            await it.store(f"User uses tool number {number}")
        it.llm.asked.clear()
        await it.store("User uses tool number 9")
        assert it.llm.calls == 3
        assert {asked.body["max_tokens"] for asked in it.llm.asked} == {100}


@pytest.mark.requirement("know-10.updates")
async def test_it_can_be_switched_off() -> None:
    async with here(enabled=False, model=True) as it:
        await it.store("User uses VSCode")
        assert (await it.store("User uses Cursor")).judged is None
        assert it.llm.calls == 0


TIERS = (None, "a1", "a2", "b", "zz")
ALLOWED = {
    (None, None), (None, "a1"), ("a1", None), ("a1", "a1"), ("a2", None), ("a2", "a1"), ("a2", "a2"),
    *((old, new) for old in ("b", "zz") for new in (None, "a1", "a2", "b")), ("zz", "zz"),
}  # fmt: skip


@pytest.mark.requirement("know-11.judged")
@pytest.mark.parametrize("old", TIERS)
@pytest.mark.parametrize(("new", "source"), [("a1", "user_direct"), ("a2", "mcp"), ("b", "external_web")])
async def test_what_is_trusted_further_keeps_its_place_and_that_is_on_record(
    old: str | None, new: str, source: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING, "loomem")
    async with here() as it:
        first = await it.store("User uses VSCode")
        await it.change(first.memory_id, trust=old)
        second = await it.store("User uses Cursor", source=source)
        lines = [line.getMessage() for line in caplog.records if "trust_guard_blocked" in line.getMessage()]
        assert second.trust == new
        if (old, new) in ALLOWED:
            assert (second.supersedes, lines) == ([first.memory_id], [])
        else:
            assert second.supersedes is None
            assert lines == [
                f"event=trust_guard_blocked old={first.memory_id} old_trust={old or 'none'} new={second.memory_id} "
                f"new_trust={new} context=store"
            ]
            assert await it.versions(first.memory_id) == [(1, True)]


@pytest.mark.requirement("know-11.judged")
def test_the_matrix_of_trust() -> None:
    assert {(old, new) for old in TIERS for new in TIERS if may_supersede(new, old)} == ALLOWED


@pytest.mark.requirement("know-19.harmless")
async def test_hostile_texts_that_the_model_obeys_supersede_nothing_that_is_trusted_further() -> None:
    async with here(model=True) as it:
        it.llm.rule = lambda _: says_it("updates", "the text says so")
        kept = await it.store("Anna is the owner of the account", source="user_direct")
        for text in HOSTILE[::7]:
            stored = await it.store(f"{text} Anna is the owner of the account", source="external_web")
            assert stored.trust == "b"
            assert kept.memory_id not in (stored.supersedes or ())
            assert "trust_guard_blocked" in {notice.type for notice in stored.warnings or ()}
        assert await it.versions(kept.memory_id) == [(1, True)]
        assert it.llm.calls > 0
