"""The view of vectors: the fold of what rows and vectors are, in any interleaving; and a search that is exact where it says so."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Iterable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from identity.keys import Kind, parse_key
from identity.ports import CaughtUp, Entry, Event, Marker, Reason, Reset
from loomem.core.embedding import Embedded, Vector, unit_vector
from loomem.core.record import decode
from loomem.core.vector import Stored, content_hash, encode, text_of
from loomem.views import matrix as rooms
from loomem.views.kinds import Kinds
from loomem.views.matrix import Matrix
from loomem.views.records import Records
from loomem.views.stretch import Stretch
from loomem.views.track import Track
from loomem.views.vectors import Vectors
from tests.laws.test_views import IDS, ME, NOW, SPACES, Change, entry, marker, sight

MODELS = {"small": 2, "large model": 5}
TEXTS = ("first", "second")


def vector_of(model: str, text: str) -> Vector:
    chooser = random.Random(f"{model} {text}")
    return unit_vector([chooser.uniform(-1, 1) for _ in range(MODELS[model])])


def vector(where: str, ident: str, model: str, text: str, revision: int) -> Entry:
    memory = decode(entry(where, ident, 1, content=text).value)
    value = encode(Stored.of(model=model, hash=content_hash(text_of(memory)), values=vector_of(model, text)))
    return Entry(key=vector_key(where, ident, model), value=value, revision=revision, at=NOW)


def vector_key(where: str, ident: str, model: str) -> str:
    key = parse_key(SPACES[where][0].key(Kind.MEMORY, ident))
    assert key is not None
    return key.vector(model)


@st.composite
def logs(draw: st.DrawFn) -> list[Change]:
    """What several buckets tell of rows and vectors, each in order."""
    changes: list[Change] = []
    for revision in range(1, draw(st.integers(0, 30)) + 1):
        where = draw(st.sampled_from(["private", "core", "team of another"]))
        ident, model = draw(st.sampled_from(IDS)), draw(st.sampled_from(sorted(MODELS)))
        match draw(st.sampled_from(["row", "row", "vector", "vector", "vector", "no row", "no vector", "no sense"])):
            case "row":
                content = draw(st.sampled_from(TEXTS))
                changes.append((where, entry(where, ident, revision, updated=draw(st.integers(1, 4)), content=content)))
            case "vector":
                changes.append((where, vector(where, ident, model, draw(st.sampled_from(TEXTS)), revision)))
            case "no row":
                changes.append((where, marker(where, ident, revision)))
            case "no vector":
                key = vector_key(where, ident, model)
                changes.append((where, Marker(key=key, revision=revision, at=NOW, reason=Reason.OTHER)))
            case _:
                key = vector_key(where, ident, model)
                changes.append((where, Entry(key=key, value=b"no vector", revision=revision, at=NOW)))
    return changes


class Folded:
    """Records and vectors, folded together."""

    def __init__(self) -> None:
        self.records = Records(ME)
        self.vectors = Vectors(self.records)
        self.kinds = Kinds(self.records, {Kind.VECTOR: self.vectors})

    def apply(self, changes: Iterable[Change]) -> Folded:
        for where, change in changes:
            self.kinds.apply(sight(where), change)
        return self

    def seen(self) -> dict[tuple[str, str, str], Vector | None]:
        """The vector of every visible row, by model."""
        return {
            (row.place.bucket, row.key, model): self.vectors.vector(row, model)
            for row in self.records.rows()
            for model in MODELS
        }


def expected(records: Records, changes: Iterable[Change]) -> dict[tuple[str, str, str], Vector | None]:
    """The same, from the last change of every key alone."""
    last = {(SPACES[where][0].bucket, change.key): change for where, change in changes}
    found: dict[tuple[str, str, str], Vector | None] = {}
    for row in records.rows():
        key = parse_key(row.key)
        assert key is not None
        for model in MODELS:
            held = last.get((row.place.bucket, key.vector(model)))
            text = row.memory.content
            made_of_it = isinstance(held, Entry) and held.value == vector_value(model, text)
            found[row.place.bucket, row.key, model] = vector_of(model, text) if made_of_it else None
    return found


def vector_value(model: str, text: str) -> bytes:
    return vector("private", "one", model, text, 1).value


@given(logs())
@pytest.mark.requirement("vectors-fold")
def test_a_row_has_the_vector_of_its_text_whatever_the_order(log: list[Change]) -> None:
    folded = Folded().apply(log)
    assert folded.seen() == expected(folded.records, log)
    # However vectors and rows are woven together, it comes to the same.
    memories = [change for change in log if ".m." in change[1].key]
    others = [change for change in log if ".v." in change[1].key]
    assert Folded().apply([*memories, *others]).seen() == folded.seen()
    assert Folded().apply([*others, *memories]).seen() == folded.seen()
    assert Folded().apply([change for change in log for _ in range(2)]).seen() == folded.seen()
    counted = {model: sum(key[2] == model for key, held in folded.seen().items() if held) for model in MODELS}
    for status in folded.vectors.status:
        assert status.counted == counted[status.model]


@given(logs(), st.data())
@pytest.mark.requirement("vectors-fold")
def test_a_feed_that_starts_over_leaves_what_the_log_holds(log: list[Change], data: st.DataObject) -> None:
    where = "private"
    told = [change for place, change in log if place == where]
    folded = Folded()
    tracks = [Track(Stretch(sight(where), kind), folded.kinds) for kind in folded.kinds.kinds]
    kept = data.draw(st.lists(st.sampled_from(told), unique_by=lambda change: change.key) if told else st.just([]))
    again = sorted(kept, key=lambda change: change.revision)
    space = SPACES[where][0]
    for track in data.draw(st.permutations(tracks)):
        part = f".{track.stretch.kind}."
        before, after = ([change for change in some if part in change.key] for some in (told, again))
        caught_up = CaughtUp(space.bucket, track.stretch.filter)
        events: list[Event] = [*before, Reset(space.bucket, track.stretch.filter), *after, caught_up]
        for event in events:
            track.on_event(event)
    assert folded.seen() == Folded().apply([(where, change) for change in again]).seen()
    assert set(folded.vectors.keys(sight(where))) <= {change.key for change in again}


def test_only_visible_rows_of_the_places_asked_for_are_found() -> None:
    folded = Folded().apply(
        [
            ("private", entry("private", "one", 1, content="first")),
            ("private", vector("private", "one", "small", "first", 2)),
            ("team", entry("team", "two", 3, content="second")),
            ("team", vector("team", "two", "small", "second", 4)),
            ("team", vector("team", "three", "small", "second", 5)),  # of no row
            ("team", vector("team", "two", "large model", "second", 6)),
        ]
    )
    rows = {row.id: row for row in folded.records.rows()}
    asked = Embedded("small", vector_of("small", "second"))
    found = folded.vectors.search(asked, None, 10)
    assert [hit.number for hit in found] == [rows["two"].number, rows["one"].number]
    assert found[0].score == pytest.approx(1.0, abs=1e-3)
    assert [hit.number for hit in folded.vectors.search(asked, [rows["one"].place], 10)] == [rows["one"].number]
    assert folded.vectors.search(asked, [], 10) == []
    assert folded.vectors.scores(asked, [rows["one"].number, 999]) == [found[1]]
    # Neither another model nor another length of vector compares.
    assert folded.vectors.search(Embedded("unknown", asked.vector), None, 10) == []
    assert folded.vectors.search(Embedded("small", asked.vector * 2), None, 10) == []
    folded.apply([("team", marker("team", "two", 7))])
    assert [hit.number for hit in folded.vectors.search(asked, None, 10)] == [rows["one"].number]


def test_what_is_lacking_is_said_only_when_it_is_much() -> None:
    folded = Folded()
    for number in range(20):
        content = f"text {number}"
        folded.apply([("private", entry("private", f"id-{number}", number + 1, content=content))])
    asked = Embedded("small", vector_of("small", "first"))
    assert folded.vectors.lacking(asked) == "20 of 20 memories have no vector yet"
    for number in range(18):
        made_of = content_hash(f"text {number}")
        value = encode(Stored.of(model="small", hash=made_of, values=vector_of("small", f"text {number}")))
        key = vector_key("private", f"id-{number}", "small")
        folded.apply([("private", Entry(key=key, value=value, revision=100 + number, at=NOW))])
    assert folded.vectors.lacking(asked) is None


# --- the matrix -------------------------------------------------------------------------------------------------------


def clustered(count: int, dimensions: int, seed: int) -> list[Vector]:
    """Vectors that all point much the same way, in groups, as those of a real model do."""
    chooser = random.Random(seed)
    base = [chooser.gauss(0, 1.5) for _ in range(dimensions)]
    centres = [[chooser.gauss(0, 0.7) for _ in range(dimensions)] for _ in range(30)]
    found: list[Vector] = []
    for _ in range(count):
        centre = chooser.choice(centres)
        found.append(unit_vector([b + c + chooser.gauss(0, 0.6) for b, c in zip(base, centre, strict=True)]))
    return found


def test_a_scan_of_signs_finds_what_comparing_each_finds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rooms, "CHOSEN", 400)
    held = Matrix(70, exact_limit=100)
    vectors = clustered(2_050, 70, 1)
    for number, values in enumerate(vectors[:2_000], 1):
        held.count(held.add(number % 3, bytes(16), values), number)
    assert held.wants_preparing()
    while held.prepare():
        pass
    assert not held.wants_preparing()
    found = total = 0
    for asked in vectors[2_000:]:
        for spaces in (None, [0, 2]):
            exact = held.search(asked, spaces, 20, exact=True)
            assert exact == sorted(exact, key=lambda hit: -hit.score)
            found += len({hit.number for hit in exact} & {hit.number for hit in held.search(asked, spaces, 20)})
            total += 20
    assert found / total >= 0.95
    # What is put, changed or removed afterwards is seen at once.
    slot = held.add(0, bytes(16), vectors[2_000])
    held.count(slot, 5_000)
    assert held.search(vectors[2_000], None, 1)[0].number == 5_000
    held.remove(slot)
    assert held.search(vectors[2_000], None, 1)[0].number != 5_000


@given(st.lists(st.tuples(st.sampled_from(["add", "remove", "uncount"]), st.integers(0, 9)), max_size=40))
def test_the_nearest_are_those_with_the_largest_cosine(changes: list[tuple[str, int]]) -> None:
    held, slots = Matrix(6), dict[int, int]()
    vectors = clustered(11, 6, 2)
    for change, number in changes:
        if change == "add" and number not in slots:
            slots[number] = held.add(0, bytes(16), vectors[number])
            held.count(slots[number], number + 1)
        elif change == "remove" and number in slots:
            held.remove(slots.pop(number))
        elif number in slots:
            held.count(slots[number], 0)
    counted = {number for number, slot in slots.items() if held.number(slot)}
    assert (len(held), held.counted) == (len(slots), len(counted))
    found = held.search(vectors[10], None, 20)
    assert {hit.number - 1 for hit in found} == counted
    cosines = {number: cosine(vectors[number], vectors[10]) for number in counted}
    assert {hit.number - 1: hit.score for hit in found} == pytest.approx(cosines, abs=1e-5)
    assert [hit.score for hit in found] == sorted((hit.score for hit in found), reverse=True)


def cosine(one: Vector, other: Vector) -> float:
    from loomem.core.embedding import components_of

    return sum(a * b for a, b in zip(components_of(one), components_of(other), strict=True))


async def test_many_vectors_are_prepared_behind_the_body(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rooms, "EXACT_LIMIT", 10)
    folded = Folded()
    async with asyncio.timeout(10), folded.vectors:
        for number in range(30):
            folded.apply([("private", entry("private", f"id-{number}", number + 1, content=f"text {number}"))])
            value = encode(
                Stored.of(model="small", hash=content_hash(f"text {number}"), values=vector_of("small", "first"))
            )
            key = vector_key("private", f"id-{number}", "small")
            folded.apply([("private", Entry(key=key, value=value, revision=100 + number, at=NOW))])
        [model] = folded.vectors._models.values()  # pyright: ignore[reportPrivateUsage]
        while model.matrix.wants_preparing():  # noqa: ASYNC110 - nothing tells of it: it only makes searches faster
            await asyncio.sleep(0.001)
    assert folded.vectors.search(Embedded("small", vector_of("small", "first")), None, 100)


def test_a_key_that_names_another_model_than_its_value_is_no_vector() -> None:
    forged = vector("private", "one", "small", "first", 2)
    key = vector_key("private", "one", "large model")
    folded = Folded().apply(
        [
            ("private", entry("private", "one", 1, content="first")),
            ("private", Entry(key=key, value=forged.value, revision=2, at=NOW)),
        ]
    )
    assert set(folded.seen().values()) == {None}
