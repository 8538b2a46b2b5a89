"""What kind of fact a sentence states, how far a source is trusted, and whose place a fact may take."""

from __future__ import annotations

from typing import Any

import pytest

from identity.errors import AccessDenied, InvalidInput
from identity.visibility import Scope
from loomem.core.facts import (
    RELATIONS_LIMIT,
    category_of,
    clean_fact,
    clean_fact_content,
    fact_type_of,
    in_place_of,
    may_supersede,
    trust_of,
)
from loomem.core.knowledge import FactType, Knowledge, Trust
from loomem.core.limits import Limits
from loomem.core.streams import stream_named
from tests.laws.worlds import agent

KINDS = {
    FactType.PREFERENCE: (
        "Prefers Cursor over VSCode for AI features",
        "We decided to use NATS",
        "She switched to tea",
        "Her favourite colour is green",
        "Woli herbatę zamiast kawy",
        "WYBRAŁ rower",
        "Er bevorzugt Tee",
        "Wir haben uns für NATS entschieden",
        "Trinkt lieber Tee",
    ),
    FactType.EXPERIENCE: (
        "Lesson: back up before an upgrade",
        "Always run the linter first",
        "Tip: use a venv",
        "Nauczyłem się, że kopie są ważne",
        "Unikaj pracy w piątki",
        "Immer erst testen",
        "Wir haben gelernt, dass es hilft",
    ),
    FactType.PROJECT_STATE: (
        "Anna is working on the parser",
        "The release is due in May",
        "Blocked by two bugs",
        "Pracuje nad projektem",
        "Arbeitet an der Suche",
    ),
    FactType.FACT: (
        "Lives in Kraków",
        "It is unlikely, a nevertheless rare case",
        "The debugger shows multitasking",
        "A magazine about lieberal arts",
        "Wohnt in Köln",
    ),
}


@pytest.mark.requirement("know-5.kinds")
@pytest.mark.parametrize(("kind", "text"), [(kind, text) for kind, texts in KINDS.items() for text in texts])
def test_the_kind_is_read_from_words_of_three_languages(kind: FactType, text: str) -> None:
    assert fact_type_of(text) is kind


def test_of_several_kinds_the_first_in_their_order_counts() -> None:
    assert fact_type_of("We learned that the release team prefers Mondays") is FactType.PREFERENCE
    assert fact_type_of("Always test the release") is FactType.EXPERIENCE


@pytest.mark.requirement("know-5.trust")
@pytest.mark.parametrize(
    ("source", "honoured", "trust"),
    [
        ("user_direct", False, Trust.A2),
        ("user_direct", True, Trust.A1),
        ("User-Stated", True, Trust.A1),
        ("mcp", True, Trust.A2),
        ("conversation", False, Trust.A2),
        ("something new", True, Trust.A2),
        ("external_web", True, Trust.B),
        ("ocr", False, Trust.B),
    ],
)
def test_a_source_is_trusted_no_further_than_a2_unless_callers_are_believed(
    source: str, honoured: bool, trust: Trust
) -> None:
    assert trust_of(source, honoured=honoured) is trust


ALLOWED = {
    None: {None, "a1"},
    "a1": {None, "a1"},
    "a2": {None, "a1", "a2"},
    "b": {None, "a1", "a2", "b"},
    "odd": {None, "a1", "a2", "b", "odd"},
}


@pytest.mark.requirement("know-11.matrix")
@pytest.mark.parametrize("old", ALLOWED)
@pytest.mark.parametrize("new", [None, "a1", "a2", "b", "odd"])
def test_nothing_takes_the_place_of_what_is_trusted_further(old: str | None, new: str | None) -> None:
    assert may_supersede(new, old) == (new in ALLOWED[old])


def test_of_many_relations_the_first_are_taken() -> None:
    relation = {"subject": "Anna", "relation": "zzz", "object": "Rust"}
    fact = clean_fact(source=None, subject=None, relations=[relation] * 70)
    assert (len(fact.relations), fact.dropped) == (RELATIONS_LIMIT, 6)
    assert fact.relations[0].subject_type == "Concept"
    assert (fact.source, fact.subject) == ("mcp", "user")


@pytest.mark.parametrize(
    ("arguments", "field"),
    [
        ({"relations": "x"}, "relations"),
        ({"relations": ["x"]}, "relations[0]"),
        ({"relations": [{"subject": "a", "relation": "b"}]}, "relations[0].object"),
        (
            {"relations": [{"subject": "a", "relation": "b", "object": "c", "object_type": 5}]},
            "relations[0].object_type",
        ),
        ({"subject": " "}, "subject"),
        ({"source": "x" * 201}, "source"),
    ],
)
def test_what_is_said_of_a_fact_is_refused_by_name(arguments: dict[str, Any], field: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        clean_fact(**{"source": None, "subject": None, "relations": None, **arguments})
    assert refused.value.field is not None
    assert field.startswith(refused.value.field) or refused.value.field.startswith(field)


@pytest.mark.requirement("know-6")
def test_the_limit_of_a_fact_counts_bytes() -> None:
    assert clean_fact_content("x" * 102_400, Limits())
    with pytest.raises(InvalidInput, match=r"Content too large: 102401 bytes \(max 102400\)"):
        clean_fact_content("ż" * 51_200 + "x", Limits())


def test_a_fact_that_takes_several_places_is_later_than_each() -> None:
    known = in_place_of(Knowledge(trust="a2"), [])
    assert (known.supersedes, known.chain_version, known.root_id) == ((), 1, None)


def test_facts_stand_where_their_scope_keeps_lasting_memories() -> None:
    assert {category_of(scope, FactType.FACT) for scope in (Scope.PRIVATE, Scope.PERSONAL)} == {"longterm"}
    assert category_of(Scope.TEAM, FactType.PREFERENCE) == "decisions"
    assert category_of(Scope.PUBLIC, FactType.FACT) == "learnings"


NAMESPACES = {"work": "110", "personal": "100"}


@pytest.mark.requirement("know-4.words")
def test_a_word_names_one_stream() -> None:
    def named(word: object) -> str | None:
        stream = stream_named(agent(), word, NAMESPACES, ["seen"])
        return None if stream is None else stream.word

    assert [named(word) for word in (None, "", "work", "110", "personal", "seen", "project", "__user_default__")] == [
        None, None, "110", "110", "100", "seen", "__project__", "__user_default__",
    ]  # fmt: skip


@pytest.mark.parametrize("word", ["a/b", "x" * 129, "ż", "a b", 5, "a*", "\n"])
def test_what_no_stream_can_be_called_is_invalid(word: object) -> None:
    with pytest.raises(InvalidInput, match=r"^Invalid stream id '.*'\.$"):
        stream_named(agent(), word, NAMESPACES, [])


@pytest.mark.parametrize("word", ["unknown", "110", "work", "seen"])
def test_sub_agents_have_no_streams(word: str) -> None:
    with pytest.raises(AccessDenied, match=rf"^Access denied: no membership on stream '{word}'\.$"):
        stream_named(agent(subagent="explore"), word, NAMESPACES, ["seen"])
