"""The view of supersession is the fold of the records, in whatever order they come, and nothing that was replaced comes back."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from identity.keys import Kind, Root, Space, project_bucket
from identity.ports import Entry, Marker, Reason
from identity.visibility import Scope, Sight, sights
from loomem.core.knowledge import Knowledge
from loomem.core.plan import stub_of, text_of
from loomem.core.record import Category, Memory, encode
from loomem.core.row import Place
from loomem.views.records import Records
from tests.laws.worlds import agent

ME = agent("a")
NOW = datetime(2026, 1, 1, tzinfo=UTC)
IDS = ("1", "2", "3", "4")
SPACES = {
    "mine": (Space(project_bucket(ME.project_id), Root.AGENTS, "a" * 32), Scope.PRIVATE, Category.LONGTERM),
    "team": (Space(project_bucket(ME.project_id), Root.SHARED, "a" * 32), Scope.TEAM, Category.LEARNINGS),
    "team of another": (Space(project_bucket(ME.project_id), Root.SHARED, "b" * 32), Scope.TEAM, Category.LEARNINGS),
}


def memory(where: str, ident: str, **changes: Any) -> Memory:
    space, scope, category = SPACES[where]
    fields: dict[str, Any] = {
        "id": ident,
        "agent_id": space.owner,
        "project_id": "p",
        "scope": scope,
        "category": category,
        "content": f"{where} {ident}",
        "created_at": text_of(0),
        "updated_at": text_of(0),
        "version": 1,
    }
    return Memory(**{**fields, **changes})


def replacing(where: str, ident: str, *old: str, trust: str | None = None, version: int = 2, **changes: Any) -> Memory:
    return memory(where, ident, knowledge=Knowledge(supersedes=old, trust=trust, chain_version=version), **changes)


def sight(where: str) -> Sight:
    space = SPACES[where][0]
    return next(
        s for s in sights(ME) if s.bucket == space.bucket and s.root is space.root and s.owner in (None, space.owner)
    )


Held = tuple[str, Memory | None]


def told(records: Records, where: str, ident: str, held: Memory | None, revision: int) -> None:
    key = SPACES[where][0].key(Kind.MEMORY, ident)
    if held is None:
        records.apply(sight(where), Marker(key=key, revision=revision, at=NOW, reason=Reason.FORGET))
    else:
        records.apply(sight(where), Entry(key=key, value=encode(held), revision=revision, at=NOW))


def fold(memories: Iterable[tuple[str, Memory]]) -> Records:
    records = Records(ME)
    for revision, (where, held) in enumerate(memories, 1):
        told(records, where, held.id, held, revision)
    return records


Seen = dict[tuple[str, str], tuple[str | None, int | None, tuple[str, ...]]]


def seen(records: Records) -> Seen:
    """What is told of each visible memory: its successor, until when it held, its chain."""
    chains = records.chains
    return {
        (row.place.owner, row.id): (
            chains.superseded_by(row),
            chains.valid_until(row),
            tuple(member.memory.id for member in chains.chain(row.place, row.id)),
        )
        for row in records.rows()
    }


def standing(records: Records) -> set[tuple[Place, str]]:
    """The visible memories that nothing took the place of. A memory is known by its place, too: another one of its owner
    may have its id, and shows when it goes."""
    return {(row.place, row.id) for row in records.rows() if records.chains.superseded_by(row) is None}


@st.composite
def stores(draw: st.DrawFn) -> list[tuple[str, Memory]]:
    """What buckets may hold: some of it replaces others, is deleted, or is a stub; no key twice."""
    found: list[tuple[str, Memory]] = []
    for where in SPACES:
        for ident in draw(st.lists(st.sampled_from(IDS), unique=True)):
            old = tuple(draw(st.lists(st.sampled_from(IDS), unique=True, max_size=2)))
            known = Knowledge(
                supersedes=old,
                trust=draw(st.sampled_from([None, "a1", "a2", "b"])),
                chain_version=draw(st.integers(1, 4)),
                valid_from=draw(st.none() | st.integers(0, 9).map(text_of)),
            )
            held = memory(where, ident, knowledge=known, deleted_at=draw(st.none() | st.just(text_of(5))))
            found.append((where, stub_of(held) if draw(st.booleans()) and old else held))
    return found


@pytest.mark.requirement("know-9.fold")
@given(stores(), st.data())
def test_the_order_and_repetition_of_what_is_told_do_not_matter(
    store: list[tuple[str, Memory]], data: st.DataObject
) -> None:
    shuffled = data.draw(st.permutations(store))
    again = data.draw(st.lists(st.sampled_from(shuffled)) if shuffled else st.just([]))
    assert seen(fold([*shuffled, *again])) == seen(fold(store))


@given(stores(), st.data())
def test_what_was_told_and_is_gone_leaves_no_trace(store: list[tuple[str, Memory]], data: st.DataObject) -> None:
    records = fold(store)
    kept = [held for held in store if data.draw(st.booleans())]
    for where, held in store:
        if (where, held) not in kept:
            told(records, where, held.id, None, 100)
    assert seen(records) == seen(fold(kept))


@pytest.mark.requirement("know-9.gone")
@given(stores(), st.data())
def test_nothing_replaced_comes_back_when_its_successor_goes(
    store: list[tuple[str, Memory]], data: st.DataObject
) -> None:
    before = fold(store)
    replaced = {(row.place, row.id) for row in before.rows()} - standing(before)
    index = data.draw(st.integers(0, len(store) - 1)) if store else None
    if index is None:
        return
    where, gone = store[index]
    deleted = msgspec.structs.replace(gone, deleted_at=text_of(7))
    known = gone.knowledge
    left = stub_of(gone) if known is not None and known.supersedes else None
    for after in (deleted, left):
        records = fold([held for held in store if held != store[index]])
        if after is not None:
            told(records, where, gone.id, after, 100)
        assert not replaced & standing(records)


@given(stores())
def test_whatever_the_records_say_no_circle_hides_all_its_members(store: list[tuple[str, Memory]]) -> None:
    records = fold(store)
    for row in records.rows():
        chain = records.chains.chain(row.place, row.id)
        assert any(records.chains.successor(member) is None for member in chain)
        versions = [member.version for member in chain]
        assert versions == sorted(versions)


def test_any_member_gives_the_whole_chain_oldest_first() -> None:
    records = fold(
        [
            ("mine", replacing("mine", "3", "2", version=3)),
            ("mine", memory("mine", "1")),
            ("mine", replacing("mine", "2", "1")),
            ("mine", memory("mine", "4")),
        ]
    )
    chains = {ident: chain for (_, ident), (_, _, chain) in seen(records).items()}
    assert chains == {"1": ("1", "2", "3"), "2": ("1", "2", "3"), "3": ("1", "2", "3"), "4": ("4",)}


def test_the_old_one_held_until_the_new_one_holds() -> None:
    new = memory("mine", "2", knowledge=Knowledge(supersedes=("1",), chain_version=2, valid_from=text_of(42)))
    records = fold([("mine", memory("mine", "1")), ("mine", new)])
    assert seen(records)[f"{'a' * 32}", "1"][:2] == ("2", 42)


def test_in_the_team_anybody_may_replace_and_elsewhere_only_the_owner() -> None:
    records = fold([("team", memory("team", "1")), ("team of another", replacing("team of another", "2", "1"))])
    assert seen(records)["a" * 32, "1"][0] == "2"
    records = fold([("mine", memory("mine", "1")), ("team", replacing("team", "2", "1"))])
    assert seen(records)["a" * 32, "1"][0] is None


@pytest.mark.requirement("know-11.view")
def test_who_is_trusted_less_replaces_nothing_whatever_its_record_says() -> None:
    records = fold(
        [("team", memory("team", "1")), ("team of another", replacing("team of another", "2", "1", trust="a2"))]
    )
    assert {address[1]: by for address, (by, _, _) in seen(records).items()} == {"1": None, "2": None}
