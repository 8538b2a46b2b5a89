"""The view of the graph: what live memories say and nothing else, in whatever order it is told, and never two people as one."""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterable, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from identity.keys import Kind, parse_key
from identity.ports import Entry, Marker, Reason
from identity.visibility import Scope
from loomem.core.graph.contribution import Contribution, Named, Tie, contribution_of, declared, encode, names_in
from loomem.core.graph.dictionary import dictionary_of
from loomem.core.graph.names import is_part, key_of
from loomem.core.graph.ruling import Ruling, Verdict, ruling_id
from loomem.core.graph.ruling import encode as encode_ruling
from loomem.core.knowledge import Knowledge, Relation
from loomem.core.record import decode
from loomem.core.row import Place, Row
from loomem.core.vector import content_hash, text_of
from loomem.views.graph import Graph
from loomem.views.kinds import Kinds
from loomem.views.lens import Lens
from loomem.views.records import Records
from tests.laws.test_views import IDS, ME, NOW, SPACES, Change, entry, marker, sight

TEXTS = ("first", "second")
PERSONS = ("Anna", "Anna Nowak", "Anna Kowalska", "Nowak", "Jan Nowak", "Maria")
OTHERS = ("Team", "Team Memory", "Kubernetes", "Rust")
PLACES = ("private", "personal", "team of another")


def everywhere(place: Place) -> bool:
    return True


def always(row: Row) -> bool:
    return True


def graph_key(where: str, ident: str) -> str:
    return SPACES[where][0].key(Kind.GRAPH, ident)


def said(
    where: str, ident: str, revision: int, text: str | None, entities: Iterable[Named], ties: Iterable[Tie] = ()
) -> Entry:
    """A contribution beside a memory, made of a text; None = nobody knows of which."""
    generation = b""
    if text is not None:
        generation = content_hash(text_of(decode(entry(where, ident, 1, content=text).value)))
    value = encode(contribution_of(entities, ties, generation=generation, made="test"))
    return Entry(key=graph_key(where, ident), value=value, revision=revision, at=NOW)


class Folded:
    """Records and graph, folded together."""

    def __init__(self) -> None:
        self.records = Records(ME)
        self.graph = Graph(self.records)
        self.kinds = Kinds(self.records, {Kind.GRAPH: self.graph})

    def apply(self, changes: Iterable[Change]) -> Folded:
        for where, change in changes:
            self.kinds.apply(sight(where), change)
        return self

    def lens(self) -> Lens:
        return self.graph.asked(everywhere, always)


@st.composite
def entities(draw: st.DrawFn) -> tuple[list[Named], list[Tie]]:
    people = [Named(name, "Person") for name in draw(st.lists(st.sampled_from(PERSONS), max_size=2))]
    others = [
        Named(name, "Organization", draw(st.sampled_from([(), ("k8s",), ("the crew",)])))
        for name in draw(st.lists(st.sampled_from(OTHERS), max_size=2))
    ]
    every = people + others
    ties = [Tie(one.name, "uses", other.name) for one, other in itertools.pairwise(every)]
    return every, ties


@st.composite
def logs(draw: st.DrawFn) -> list[Change]:
    """What several buckets tell of memories and contributions, each in order."""
    changes: list[Change] = []
    for revision in range(1, draw(st.integers(0, 30)) + 1):
        where, ident = draw(st.sampled_from(PLACES)), draw(st.sampled_from(IDS))
        text = draw(st.sampled_from(TEXTS))
        match draw(st.sampled_from(["row", "row", "said", "said", "said", "no row", "deleted", "nothing", "no sense"])):
            case "row":
                known = Knowledge(
                    relations=draw(st.sampled_from([(), (Relation(subject="Maria", relation="zzz", object="Rust"),)]))
                )
                changes.append((where, entry(where, ident, revision, content=text, knowledge=known)))
            case "deleted":
                changes.append(
                    (where, entry(where, ident, revision, content=text, deleted_at="2026-01-01T00:00:00.000Z"))
                )
            case "said":
                of = draw(st.sampled_from([*TEXTS, None]))
                changes.append((where, said(where, ident, revision, of, *draw(entities()))))
            case "no row":
                changes.append((where, marker(where, ident, revision)))
            case "nothing":
                changes.append(
                    (where, Marker(key=graph_key(where, ident), revision=revision, at=NOW, reason=Reason.OTHER))
                )
            case _:
                changes.append((where, Entry(key=graph_key(where, ident), value=b"none", revision=revision, at=NOW)))
    return changes


def live(folded: Folded, log: Sequence[Change]) -> list[tuple[Row, Contribution]]:
    """What the visible rows say, from the last change of every key alone."""
    from loomem.core.graph.contribution import decode as decode_said
    from loomem.core.graph.contribution import unproven

    last = {(SPACES[where][0].bucket, change.key): change for where, change in log}
    found: list[tuple[Row, Contribution]] = []
    for row in folded.records.rows():
        key = parse_key(row.key)
        assert key is not None
        if row.memory.knowledge is not None and row.memory.knowledge.relations:
            found.append((row, declared(row.memory.knowledge.relations)))
        held = last.get((row.place.bucket, key.beside(Kind.GRAPH)))
        if isinstance(held, Entry) and held.value != b"none":
            one = decode_said(held.value)
            if not one.generation:
                found.append((row, unproven(one)))
            elif one.generation == content_hash(text_of(row.memory)):
                found.append((row, one))
    return found


def told(lens: Lens) -> dict[str, object]:
    """Everything a lens shows, by name."""
    shown: dict[str, object] = {}
    for name in (*PERSONS, *OTHERS, "k8s", "the crew"):
        at = lens.find(name)
        if at is not None:
            entity = lens.entity(at.key)
            edges = [
                (edge.other, edge.relation, edge.outgoing, sorted(r.key for r in edge.rows))
                for edge in lens.edges(entity)
            ]
            shown[name] = (at, entity.name, entity.type, entity.aliases, sorted(row.key for row in entity.rows), edges)
    return shown


@given(logs(), st.randoms())
@pytest.mark.requirement("graph-fold")
def test_the_graph_is_the_fold_of_what_live_memories_say(log: list[Change], chance: random.Random) -> None:
    folded = Folded().apply(log)
    proofs = live(folded, log)
    names = {key for _, one in proofs for key in names_in(one)}
    lens = folded.lens()
    for name in (*PERSONS, *OTHERS, "k8s", "the crew"):
        assert (lens.find(name) is not None) == (key_of(name) in names)
    stated = {
        (lens.standing(key_of(tie.subject)).key, tie.relation, lens.standing(key_of(tie.object)).key)
        for _, one in proofs
        for tie in one.ties
    }
    shown = {
        (entity.key, edge.relation, edge.other)
        for key in names
        for entity in [lens.entity(lens.standing(key).key)]
        for edge in lens.edges(entity)
        if edge.outgoing
    }
    assert shown == {(subject, relation, other) for subject, relation, other in stated if subject != other}
    # Told again, in any order that keeps each key's own, it comes to the same.
    last = {(where, change.key): change for where, change in log}
    again = [(where, change) for (where, _), change in last.items()]
    chance.shuffle(again)
    assert told(Folded().apply(again).lens()) == told(lens)
    assert told(folded.apply(log).lens()) == told(lens), "repeated changes do no harm"


@given(logs())
@pytest.mark.requirement("graph-people")
def test_names_of_one_entity_are_never_of_two_people(log: list[Change]) -> None:
    lens = Folded().apply(log).lens()
    for name in PERSONS:
        at = lens.find(name)
        if at is None:
            continue
        members = lens.entity(at.key).members
        people = {key for key in members if lens.type_of(key) == "Person"}
        assert all(is_part(one, at.key) or one == at.key for one in people)
        assert len(people & {"anna nowak", "anna kowalska", "jan nowak"}) <= 1
        for member in members:
            assert lens.standing(member).key == at.key, "whichever name is asked for, it is the same entity"


# --- persons ----------------------------------------------------------------------------------------------------------


def person(name: str, ident: str, revision: int, where: str = "private", kind: str = "Person") -> list[Change]:
    return [
        (where, entry(where, ident, revision, content="first")),
        (where, said(where, ident, revision, "first", [Named(name, kind)])),
    ]


def names(lens: Lens, name: str) -> list[str]:
    at = lens.find(name)
    assert at is not None
    entity = lens.entity(at.key)
    return sorted([entity.name, *entity.aliases])


@pytest.mark.requirement("graph-38.person")
@pytest.mark.parametrize("order", [("Anna", "Anna Nowak"), ("Anna Nowak", "Anna")])
def test_a_person_has_her_short_name(order: tuple[str, str]) -> None:
    folded = Folded().apply([*person(order[0], "one", 1), *person(order[1], "two", 2)])
    for asked in ("Anna", "anna nowak", "ANNA"):
        assert names(folded.lens(), asked) == ["Anna", "Anna Nowak"]


@pytest.mark.requirement("graph-38.others")
def test_only_persons_are_joined_by_their_words() -> None:
    teams = [*person("Team", "one", 1, kind="Organization"), *person("Team Memory", "two", 2, kind="Organization")]
    lens = Folded().apply(teams).lens()
    assert names(lens, "Team") == ["Team"]
    assert names(lens, "Team Memory") == ["Team Memory"]


@pytest.mark.requirement("graph-people")
def test_with_two_annas_the_short_name_is_neither_and_points_at_both() -> None:
    log = [*person("Anna", "one", 1), *person("Anna Nowak", "two", 2), *person("Anna Kowalska", "three", 3)]
    folded = Folded().apply(log)
    at = folded.lens().find("Anna")
    assert at is not None
    assert at.key == "anna"
    assert at.candidates == ("anna kowalska", "anna nowak")
    assert names(folded.lens(), "Anna Nowak") == ["Anna Nowak"]
    folded.apply([("private", marker("private", "three", 4))])
    assert names(folded.lens(), "Anna") == ["Anna", "Anna Nowak"], "the other is gone, and she has her name back"


# --- rulings ----------------------------------------------------------------------------------------------------------


def ruling(verdict: Verdict, name: str, into: str, revision: int, where: str = "private", at: str = "1") -> Change:
    value = encode_ruling(Ruling(verdict=verdict, name=name, into=into, agent_id="a", at=at))
    key = SPACES[where][0].key(Kind.GRAPH, ruling_id(name, into))
    return where, Entry(key=key, value=value, revision=revision, at=NOW)


@pytest.mark.requirement("graph-rulings")
def test_somebodys_word_joins_and_parts_names() -> None:
    folded = Folded().apply([*person("Anna", "one", 1), *person("Anna Nowak", "two", 2), *person("Ania", "three", 3)])
    folded.apply([ruling(Verdict.MERGE, "Ania", "Anna Nowak", 4)])
    assert names(folded.lens(), "Ania") == ["Ania", "Anna", "Anna Nowak"]
    folded.apply([ruling(Verdict.SPLIT, "Anna Nowak", "Anna", 5)])
    assert names(folded.lens(), "Anna") == ["Anna"]
    assert names(folded.lens(), "Anna Nowak") == ["Ania", "Anna Nowak"]
    folded.apply([ruling(Verdict.SPLIT, "Ania", "Anna Nowak", 6)])
    assert names(folded.lens(), "Ania") == ["Ania"], "the later word on a pair replaces the earlier"


@pytest.mark.requirement("graph-rulings")
def test_a_stranger_rules_in_public_for_nobody_else() -> None:
    folded = Folded().apply([*person("Ania", "one", 1), *person("Anna Nowak", "two", 2)])
    folded.apply([ruling(Verdict.MERGE, "Ania", "Anna Nowak", 3, where="public of another")])
    assert names(folded.lens(), "Ania") == ["Ania"]
    folded.apply([ruling(Verdict.MERGE, "Ania", "Anna Nowak", 4, where="team of another")])
    assert names(folded.lens(), "Ania") == ["Ania", "Anna Nowak"]


@pytest.mark.requirement("graph-rulings")
def test_what_is_no_ruling_counts_for_none() -> None:
    folded = Folded().apply([*person("Ania", "one", 1), *person("Anna Nowak", "two", 2)])
    where, forged = ruling(Verdict.MERGE, "Ania", "Anna Nowak", 3)
    assert isinstance(forged, Entry)
    elsewhere = SPACES[where][0].key(Kind.GRAPH, ruling_id("Ania", "Rust"))
    folded.apply([(where, Entry(key=elsewhere, value=forged.value, revision=3, at=NOW))])
    folded.apply([(where, Entry(key=forged.key, value=b"{}", revision=4, at=NOW))])
    assert names(folded.lens(), "Ania") == ["Ania"]


# --- provenance -------------------------------------------------------------------------------------------------------


@pytest.mark.requirement("graph-39.support")
def test_an_alias_and_a_relation_go_with_the_only_memory_that_says_them() -> None:
    folded = Folded()
    folded.apply(
        [
            ("private", entry("private", "one", 1, content="first")),
            ("private", entry("private", "two", 2, content="first")),
        ]
    )
    acme = [Named("Acme", "Organization", ("the Coyote's shop",)), Named("Rust", "Technology")]
    folded.apply([("private", said("private", "one", 3, "first", acme, [Tie("Acme", "uses", "Rust")]))])
    folded.apply([("private", said("private", "two", 4, "first", [Named("Acme", "Organization")]))])
    lens = folded.lens()
    assert names(lens, "the Coyote's shop") == ["Acme", "the Coyote's shop"]
    assert [edge.other for edge in lens.edges(lens.entity("acme"))] == ["rust"]
    folded.apply([("private", entry("private", "one", 5, content="first", deleted_at="2026-01-01T00:00:00.000Z"))])
    lens = folded.lens()
    assert lens.find("the Coyote's shop") is None
    assert lens.find("Rust") is None
    assert names(lens, "Acme") == ["Acme"]
    assert lens.edges(lens.entity("acme")) == []
    folded.apply([("private", marker("private", "two", 6))])
    assert folded.lens().find("Acme") is None


@pytest.mark.requirement("graph-39.edited")
def test_editing_a_memory_voids_what_its_former_text_said() -> None:
    folded = Folded().apply(person("Anna Nowak", "one", 1))
    folded.apply([("private", entry("private", "one", 3, content="second"))])
    assert folded.lens().find("Anna Nowak") is None
    folded.apply([("private", said("private", "one", 4, "second", [Named("Rust", "Technology")]))])
    assert folded.lens().find("Rust") is not None


@pytest.mark.requirement("graph-39.unproven")
def test_what_nobody_can_prove_shows_its_names_and_no_more() -> None:
    log: list[Change] = [
        ("private", entry("private", "one", 1, content="first")),
        (
            "private",
            said(
                "private",
                "one",
                2,
                None,
                [Named("Acme", "Organization", ("shop",)), Named("Rust", "Technology")],
                [Tie("Acme", "uses", "Rust")],
            ),
        ),
    ]
    lens = Folded().apply(log).lens()
    entity = lens.entity("acme")
    assert (entity.type, entity.aliases) == ("Unknown", ())
    assert lens.find("shop") is None
    assert [edge.other for edge in lens.edges(entity)] == ["rust"]


@pytest.mark.requirement("know-29.graph")
def test_a_question_of_one_place_sees_no_other() -> None:
    folded = Folded().apply([*person("Anna", "one", 1), *person("Anna Nowak", "one", 1, where="team of another")])
    private = folded.graph.asked(lambda place: place.scope is Scope.PRIVATE, always)
    assert names(private, "Anna") == ["Anna"]
    assert private.find("Anna Nowak") is None
    nobody = folded.graph.asked(lambda place: False, always)
    assert nobody.find("Anna") is None


@pytest.mark.requirement("graph-dictionary")
def test_a_declared_name_is_resolved_by_the_dictionary() -> None:
    known = Knowledge(relations=(Relation(subject="Anna", relation="uses", object="k8s"),))
    dictionary = dictionary_of('[[entity]]\ncanonical = "Kubernetes"\ntype = "Technology"\naliases = ["k8s"]\n')
    records = Records(ME)
    graph = Graph(records, dictionary)
    records.apply(sight("private"), entry("private", "one", 1, knowledge=known))
    lens = graph.asked(everywhere, always)
    assert names(lens, "K8S") == ["Kubernetes", "k8s"]
    assert lens.entity("kubernetes").type == "Technology"
