"""The numbers of a memory add up, whatever its rows."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from identity.keys import Root
from identity.visibility import Scope
from loomem.core.embedding import Readiness
from loomem.core.knowledge import FactType, Knowledge
from loomem.core.plan import text_of
from loomem.core.record import Category, Memory
from loomem.core.row import Place, Row, row_of
from loomem.core.stats import DAY_MS, Figures, Meaning, Standing, embeddings, figures

NOW = 1_000 * DAY_MS
PLACE = Place(bucket="b", root=Root.PERSONAL, owner="user", scope=Scope.PERSONAL, fetch=0, mine=True)


def row(created: int = 0, expires: int | None = None, **known: Any) -> Row:
    memory = Memory(
        id="1",
        agent_id="a",
        project_id="p",
        scope=Scope.PERSONAL,
        category=Category.LONGTERM,
        content="x",
        created_at=text_of(created),
        updated_at=text_of(created),
        expires_at=None if expires is None else text_of(expires),
        version=1,
        knowledge=Knowledge(**known) if known else None,
    )
    return row_of(memory, PLACE, 1, {})


standings = st.builds(
    Standing,
    row=st.builds(
        row,
        created=st.integers(0, 2 * NOW),
        expires=st.none() | st.integers(0, 2 * NOW),
        trust=st.sampled_from([None, "a1", "a2", "b", "odd"]),
        fact_type=st.none() | st.sampled_from(FactType),
        author=st.sampled_from([None, "user", "assistant", "Anna"]),
        level=st.integers(0, 1),
    ),
    superseded=st.booleans(),
    embedded=st.booleans(),
)


@pytest.mark.requirement("know-44.sums")
@given(st.lists(standings))
def test_every_division_of_what_lives_adds_up_to_it(rows: list[Standing]) -> None:
    found = figures(rows, NOW)
    expired = sum(standing.row.expired(NOW) for standing in rows)
    assert found.live + found.superseded + expired == found.scanned == len(rows)
    for parts in (found.trust, found.fact_types, found.attribution):
        assert sum(parts.values()) == found.live
    assert found.level0 + found.level1 == found.live
    assert found.embedded + found.pending == found.live
    assert found.stored["24h"] <= found.stored["7d"] <= found.stored["30d"] <= found.live


def test_what_is_dated_in_the_future_is_no_activity() -> None:
    found = figures([Standing(row(NOW + 1), superseded=False, embedded=False)], NOW)
    assert (found.live, found.newest_ms, found.stored["30d"]) == (1, None, 0)


@pytest.mark.requirement("know-44.embeddings")
@pytest.mark.parametrize(
    ("live", "embedded", "words"),
    [
        (0, 0, "ready (no memories yet)"),
        (142, 142, "ready (142/142 indexed)"),
        (142, 118, "warming up (118/142 indexed, 24 pending, 83%)"),
        (1_000, 999, "warming up (999/1000 indexed, 1 pending, 99%)"),
    ],
)
def test_how_far_the_vectors_are(live: int, embedded: int, words: str) -> None:
    found = msgspec.structs.replace(figures([], NOW), live=live, embedded=embedded)
    assert isinstance(found, Figures)
    assert embeddings(found, Meaning(Readiness.READY, lambda _: True, None)) == words
    reason = "the model is loading"
    assert embeddings(found, Meaning(Readiness.LOADING, lambda _: True, reason)) == f"{words}; {reason}"


def test_where_there_is_no_model_nothing_warms_up() -> None:
    found = msgspec.structs.replace(figures([], NOW), live=3, embedded=0)
    assert embeddings(found, None) == "off (found by words alone)"
    failed = Meaning(Readiness.FAILED, lambda _: False, "the model is failed: no wheel")
    assert embeddings(found, failed) == "failed (found by words alone, 0/3 indexed); the model is failed: no wheel"
