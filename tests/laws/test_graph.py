"""The rules of the graph: names, kinds, contributions, the dictionary, and what is recognised in a text."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.knowledge.entities import HALVES, scores, sentences
from identity.errors import Corrupt, InvalidInput
from loomem.core.graph.contribution import (
    ALIASES_LIMIT,
    ENTITIES_LIMIT,
    RELATIONS_LIMIT,
    Contribution,
    Named,
    Tie,
    contribution_of,
    decode,
    encode,
    names_in,
)
from loomem.core.graph.dictionary import EMPTY, dictionary_of
from loomem.core.graph.kinds import RelationType, relation_of, type_of
from loomem.core.graph.names import is_part, key_of, parts
from loomem.core.graph.recognise import entities_in, recognise
from loomem.core.graph.relating import contributed, ties_in
from loomem.core.graph.settings import GraphSettings
from loomem.core.graph.tokens import tokens_of
from loomem.core.knowledge import Knowledge
from loomem.core.search.relate import named
from loomem.views.postings import Postings
from pattern.dictionary import dictionary
from tests.contracts.embed_kit import memory


def names(text: str) -> list[str]:
    return [one.name for one in entities_in(recognise(text))]


# --- names and kinds --------------------------------------------------------------------------------------------------


@pytest.mark.requirement("graph-tool")
@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Anna  Nowak", "anna nowak"),
        ("Łukasz", "lukasz"),
        ("“Rust”", "rust"),
        ("Anna's", "Anna"),
        ("C++", "c++"),
        ("Müller", "MULLER"),
    ],
)
def test_spellings_of_one_name_are_one(one: str, other: str) -> None:
    assert key_of(one) == key_of(other)


@given(st.text())
@pytest.mark.requirement("graph-tool")
def test_the_key_of_a_key_is_itself_for_names(text: str) -> None:
    key = key_of(text)
    assert key_of(key) == key_of(key_of(key))
    assert key == " ".join(key.split())


@pytest.mark.requirement("graph-38.person")
def test_a_part_is_a_run_of_whole_words() -> None:
    assert is_part("anna", "anna nowak")
    assert is_part("maria nowak", "anna maria nowak")
    assert not is_part("anna nowak", "anna maria nowak")
    assert not is_part("ann", "anna nowak")
    assert not is_part("anna nowak", "anna nowak")
    assert sorted(parts("a b c")) == ["a", "a b", "b", "b c", "c"]


@pytest.mark.requirement("graph-8.declared")
def test_thirteen_relations_are_known_and_every_other_word_is_related_to() -> None:
    assert len(RelationType) == 13
    assert {relation_of(str(relation).replace("_", " ").upper()) for relation in RelationType} == set(RelationType)
    assert relation_of("works_at_tantivy") is RelationType.RELATED_TO
    assert (type_of("ORG"), type_of(" person "), type_of("Ship of\nthe line"), type_of(" ")) == (
        "Organization",
        "Person",
        "Ship of the line",
        "Concept",
    )


# --- contributions ----------------------------------------------------------------------------------------------------


@pytest.mark.requirement("graph-39.support")
def test_a_contribution_survives_a_round_trip_within_its_limits() -> None:
    made = contribution_of(
        [Named(f"name {n}", "Person", tuple(f"alias {n} {m}" for m in range(40))) for n in range(100)],
        [Tie(f"name {n}", "uses", "x") for n in range(100)],
        generation=b"1",
        made="test",
    )
    assert decode(encode(made)) == made
    assert (len(made.entities), len(made.ties)) == (ENTITIES_LIMIT, RELATIONS_LIMIT)
    assert {len(one.aliases) for one in made.entities} == {ALIASES_LIMIT}
    wild = Contribution(
        1, b"", "x", tuple(Named("x" * 300) for _ in range(3)), (Tie("a", "eats", "b"), Tie("a", "uses", "A"))
    )
    kept = decode(encode(wild))
    assert kept.entities == ()
    assert kept.ties == (Tie("a", "related_to", "b"),)
    assert set(names_in(kept)) == {"a", "b"}


@given(st.binary(max_size=60))
@pytest.mark.requirement("graph-39.support")
def test_what_is_no_contribution_is_corrupt(value: bytes) -> None:
    try:
        decode(value)
    except Corrupt:
        return


@given(st.lists(st.tuples(st.booleans(), st.sampled_from("abc"), st.integers(0, 12)), max_size=80))
@pytest.mark.requirement("graph-fold")
def test_postings_are_sets_by_words(steps: list[tuple[bool, str, int]]) -> None:
    postings: Postings[int] = Postings()
    plain: dict[str, set[int]] = {}
    for adds, word, thing in steps:
        held = plain.setdefault(word, set())
        if adds:
            assert postings.add(word, thing) == (not held)
            held.add(thing)
        else:
            assert postings.remove(word, thing) == (held == {thing})
            held.discard(thing)
        assert {each: set(postings.of(each)) for each in "abc"} == {each: plain.get(each, set()) for each in "abc"}
    assert set(postings) == {word for word, held in plain.items() if held}


# --- the dictionary ---------------------------------------------------------------------------------------------------

TOML = """
persons = ["Anna Nowak"]
technology = ["Zed"]
relations = ["Anna Nowak|works at|Acme", "a|b|c"]
[[entity]]
canonical = "Acme"
type = "org"
aliases = ["Acme Rocket Works", "ACM-E"]
role = "customer"
"""


@pytest.mark.requirement("graph-dictionary")
def test_names_of_the_dictionary_are_found_at_word_boundaries_the_longest_first() -> None:
    known = dictionary_of(TOML)

    def found(text: str) -> list[str]:
        tokens = tokens_of(text)
        return [text[tokens[start].start : tokens[end - 1].end] for start, end, _ in known.find(tokens)]

    assert found("acme rocket  works and acme, ACM-E; zed_x zeds Zed") == ["acme rocket  works", "acme", "ACM-E", "Zed"]
    assert found("annanowak anna\nnowak") == ["anna\nnowak"]
    assert known.canonical("acm-e") == "Acme"
    assert (known.type_of("Acme Rocket Works"), known.canonical("else"), known.type_of("else")) == (
        "Organization",
        "else",
        None,
    )
    assert known.fingerprint
    assert known.fingerprint != EMPTY.fingerprint == ""


@pytest.mark.requirement("graph-dictionary")
def test_a_relation_counts_where_both_ends_are_named() -> None:
    known = dictionary_of(TOML)
    assert contributed(memory("Anna Nowak is here"), known).ties == ()
    assert contributed(memory("ACM-E is here"), known).ties == ()
    assert contributed(memory("anna nowak left acm-e"), known).ties == (Tie("Anna Nowak", "works_at", "Acme"),)


@pytest.mark.requirement("graph-dictionary.file")
@pytest.mark.parametrize(
    "text",
    [
        "persons = 3",
        "persons = [1]",
        "relations = ['a|b']",
        "cats = ['x']",
        "[[entity]]\ntype = 'x'",
        "[[entity]]\ncanonical = 'a'\nx = 1",
        "=",
        "entity = 3",
    ],
)
def test_what_is_wrong_in_a_dictionary_is_said_by_its_file(text: str) -> None:
    with pytest.raises(InvalidInput, match=r"entities\.toml"):
        dictionary_of(text)


@pytest.mark.requirement("graph-dictionary.file")
def test_a_file_that_cannot_be_used_is_a_word_in_the_log(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    file = tmp_path / "entities.toml"
    settings = GraphSettings(dictionary=str(file))
    with caplog.at_level(logging.WARNING):
        assert dictionary(settings) is EMPTY
        file.write_text("persons = 3")
        assert dictionary(settings) is EMPTY
    assert [record.message.split()[0] for record in caplog.records] == ["event=dictionary_unusable"] * 2
    file.write_text("persons = ['Anna']")
    assert not dictionary(settings).is_empty
    assert dictionary(GraphSettings()) is EMPTY


# --- recognising ------------------------------------------------------------------------------------------------------


@pytest.mark.requirement("graph-entities")
@pytest.mark.parametrize("half", HALVES)
def test_entities_are_recognised_as_well_as_is_promised(half: str) -> None:
    assert len(sentences(half)) >= 60
    by, faults = scores(half)
    for language, score in by.items():
        assert score.precision >= 0.9, (language, faults)
        assert score.recall >= 0.6, (language, faults)


@pytest.mark.requirement("graph-entities")
def test_a_short_name_is_whose_it_can_only_be_in_its_text() -> None:
    [one] = entities_in(recognise("Anna Nowak called. I like Anna."))
    assert (one.name, one.aliases) == ("Anna Nowak", ("Anna",))
    assert sorted(names("Anna Nowak and Anna Kowalska met Anna.")) == ["Anna", "Anna Kowalska", "Anna Nowak"]


@pytest.mark.requirement("graph-entities")
def test_relations_are_read_where_they_are_said() -> None:
    def ties(text: str) -> list[tuple[str, str, str]]:
        return [(tie.subject, tie.relation, tie.object) for tie in ties_in(text, recognise(text))]

    assert ties("Anna Nowak works at Acme Corp and lives in Berlin.") == [("Anna Nowak", "works_at", "Acme Corp")]
    assert ties("Anna Schmidt wohnt in München.") == [("Anna Schmidt", "located_in", "Munich")]
    assert ties("Marek pracuje w Allegro.") == [("Marek", "works_at", "Allegro")]
    assert ties("Anna Nowak no longer works at Acme Corp.") == []
    assert ties("Anna Nowak met Ben Carter.") == []
    assert ties("Berlin uses Docker.") == [], "a place uses nothing"


@pytest.mark.requirement("graph-worker.reads")
def test_whom_a_fact_is_about_is_named_by_it() -> None:
    about = contributed(memory("Prefers Cursor.", knowledge={"subject": "Alice"}))
    assert ("Alice", "Person") in {(one.name, one.type) for one in about.entities}
    assert contributed(memory("prefers tea", knowledge={"subject": "user"})).is_empty
    assert Knowledge(subject="Alice").subject == "Alice"


@given(st.text(max_size=300))
@pytest.mark.requirement("graph-entities")
def test_any_text_can_be_read(text: str) -> None:
    mentions = recognise(text)
    ends = [0, *(mention.end for mention in mentions)]
    assert all(end <= mention.start < mention.end <= len(text) for end, mention in zip(ends, mentions, strict=False))
    contribution_of(entities_in(mentions), ties_in(text, mentions))


@pytest.mark.requirement("graph-entities")
@pytest.mark.parametrize(
    "piece", ["A ", "a_", "Anna ", "x.", "a/", "`", "Aa", "Project X", "van ", "1", "\u0130", "GmbH "]
)
def test_reading_takes_time_linear_in_the_text(piece: str) -> None:
    import time

    def took(times: int) -> float:
        began = time.process_time()
        recognise(piece * times)
        return time.process_time() - began

    took(10)
    assert took(8_000 // len(piece) * 2) < 2.0


@pytest.mark.requirement("graph-search")
def test_a_question_names_the_longest_known_names() -> None:
    known = {"anna", "anna nowak", "go", "c++", "it", "mark"}

    def asked(text: str) -> list[str]:
        return named(text, known.__contains__)

    assert asked("What does Anna Nowak think of anna?") == ["anna nowak", "anna"]
    assert asked("when will it go?") == []
    assert asked("Go or IT?") == ["go", "it"]
    assert asked("go") == ["go"]
    assert asked("mark the date, Mark") == ["mark"]
