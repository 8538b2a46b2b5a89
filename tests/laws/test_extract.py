"""Laws of facts: what is accepted, what the offline extractor finds and leaves, and how well, on the labelled sets."""

from __future__ import annotations

import json
import re
import time
from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.knowledge import facts as labelled
from loomem.core.extract import Candidate, Extracted, ExtractSettings, Topic, accept, offline
from loomem.core.knowledge import FactType
from loomem.core.transcript import render, segment
from loomem.core.transcript.sentences import sentences

DAY = date(2026, 4, 2)
SETTINGS = ExtractSettings()


def read(text: str, day: date | None = DAY, settings: ExtractSettings = SETTINGS) -> list[Extracted]:
    return offline(segment(render(text).text), conversation_date=day, settings=settings)


def contents(text: str) -> list[str]:
    return [fact.content for fact in read(text)]


# --- what is accepted, from whomever ----------------------------------------------------------------------------------


@pytest.mark.requirement("ingest-20")
def test_a_topic_of_the_settings_is_a_fact_with_that_topic() -> None:
    settings = ExtractSettings(
        topics=(Topic(name="Risk", description="what may go wrong", fact_type="risk_item"), Topic(name="goal"))
    )
    keys = ["risk_item", "Risk_Item", "goal", "project_state", "whatever"]
    facts = accept([Candidate(content=key, key=key, confidence=0.9) for key in keys], settings, attributable=True).facts
    assert [(fact.fact_type, fact.topic) for fact in facts if fact.content != "Risk_Item"] == [
        (FactType.FACT, "risk_item"), (FactType.FACT, "goal"), (FactType.PROJECT_STATE, None), (FactType.FACT, "whatever"),
    ]  # fmt: skip


@pytest.mark.requirement("ingest-20.key")
def test_an_unknown_key_is_kept_as_the_topic_of_a_fact() -> None:
    found = accept([Candidate(content="x", key="risk_item", confidence=0.9)], SETTINGS, attributable=True).facts
    assert [(fact.fact_type, fact.topic) for fact in found] == [(FactType.FACT, "risk_item")]


@pytest.mark.requirement("ingest-20.confidence")
def test_what_is_not_half_sure_is_dropped_and_no_more_than_twenty_are_kept() -> None:
    found = accept(
        [Candidate(content="a", confidence=0.49), Candidate(content="b", confidence=0.5)], SETTINGS, attributable=True
    )
    assert ([fact.content for fact in found.facts], found.dropped) == (["b"], {"uncertain": 1})
    many = [Candidate(content=str(number), confidence=0.9 if number % 2 else 0.6) for number in range(25)]
    found = accept(many, SETTINGS, attributable=True)
    assert (len(found.facts), found.dropped) == (20, {"too many": 5})
    assert {str(number) for number in range(25) if number % 2} <= {fact.content for fact in found.facts}
    numbers = [int(fact.content) for fact in found.facts]
    assert numbers == sorted(numbers)


@pytest.mark.requirement("extract-weights")
def test_importance_and_whether_it_stays_true_follow_from_the_kind() -> None:
    made = {
        kind: accept([Candidate(content="x", key=kind, confidence=0.8)], SETTINGS, attributable=True).facts[0]
        for kind in FactType
    }
    assert {kind: fact.importance for kind, fact in made.items()} == {
        kind: 2.0 if kind is FactType.PREFERENCE else 0.8 for kind in FactType
    }
    assert {kind for kind, fact in made.items() if fact.static} == {
        FactType.FACT,
        FactType.PREFERENCE,
        FactType.EXPERIENCE,
    }


@pytest.mark.requirement("extract-attribution")
def test_facts_are_attributed_only_where_roles_are_marked() -> None:
    mine = Candidate(content="x", attributed_to="User", confidence=1.0)
    assert accept([mine], SETTINGS, attributable=True).facts[0].attributed_to == "user"
    assert accept([mine], SETTINGS, attributable=False).facts[0].attributed_to is None
    assert [fact.attributed_to for fact in read("User: I prefer tea.\nAssistant: I booked the table for you.")] == [
        "user",
        "assistant",
    ]
    assert [fact.attributed_to for fact in read("Anna: I prefer tea.\nBen: Do you?\nAnna: I live in Rome.")] == [
        None,
        None,
    ]
    assert [fact.attributed_to for fact in read("I prefer tea to coffee.")] == [None]


@given(st.lists(st.builds(Candidate, content=st.text(), key=st.text(), event_date=st.none() | st.text() | st.dates().map(str), attributed_to=st.none() | st.text(), confidence=st.floats())))  # fmt: skip
def test_any_answer_can_be_judged(candidates: list[Candidate]) -> None:
    found = accept(candidates, SETTINGS, attributable=True)
    assert len(found.facts) + sum(found.dropped.values()) == len(candidates)
    assert all(0.5 <= fact.confidence <= 1.0 and fact.content.strip() for fact in found.facts)


# --- what is found ----------------------------------------------------------------------------------------------------


@pytest.mark.requirement("extract-offline")
@pytest.mark.parametrize("half", labelled.HALVES)
def test_the_labelled_sets_are_read_well(half: str) -> None:
    judged = [labelled.judge(sample) for sample in labelled.read(half)]
    assert len(judged) >= 150
    for lang in ("en", "pl", "de"):
        counts = labelled.total(one for one in judged if one.sample.lang == lang)
        assert (counts.precision >= 0.9, counts.recall >= 0.6, counts.dated) == (True, True, counts.dates), lang


@pytest.mark.requirement("extract-language")
@pytest.mark.parametrize(
    "said",
    [
        "J'habite à Besançon depuis trois ans.", "Je préfère le thé, même l'été.", "我住在北京，在一家医院工作。", "我更喜欢喝绿茶。",
        "Wolę żółte ściany, a żona woli zielone.", "Mein Lieblingscafé heißt „Größenwahn“.", "Vivo en Logroño con mi hermana Begoña.",
        "I prefer żurek over Gulaschsuppe.", "Mam na imię Zażółć i mieszkam w Łodzi.", "Наша команда... я предпочитаю работать утром.",
    ],
)  # fmt: skip
def test_facts_keep_language_and_spelling(said: str) -> None:
    facts = read(f"User: {said}\nAssistant: OK")
    assert [fact.content for fact in facts] == [said]
    whole = read(said)
    assert [fact.content for fact in whole] == [said]


@pytest.mark.requirement("extract-leaves")
@pytest.mark.parametrize(
    "said",
    [
        "Hi there, how are you?", "Thanks a lot, that works!", "What is my favourite colour?", "Maybe we should use Redis.", "Please fix the tests.",
        "I think it might be the proxy.", "Remind me to call Anna tomorrow.", "TODO: rename the column.", "It crashed again.", "You rock!",
        "Może pojadę do Gdańska.", "Przypomnij mi o spotkaniu.", "Dzięki, super!", "Vielleicht nehme ich Redis.", "Erinnere mich an den Termin.",
        "Hallo, wie geht's?", "[image omitted]", "Keep it up, you're doing great!", "我不知道，也许吧。", "Peut-être demain, je ne sais pas.", "x = foo(); bar();",
    ],
)  # fmt: skip
def test_small_talk_questions_doubts_and_tasks_are_no_facts(said: str) -> None:
    assert contents(f"User: {said}\nAssistant: Sure, here are some options: a, b or c.") == []


@pytest.mark.requirement("extract-leaves")
def test_what_nobody_said_here_is_no_fact() -> None:
    assert contents("User: see\n```\nI prefer tabs over spaces.\n```\n> I live in Rome.\nAssistant: ok") == []
    assert (
        contents("User: hi\n<system-reminder>The user prefers tabs.\nMy name is Ada.</system-reminder>\nAssistant: ok")
        == []
    )
    assert contents("System: My name is Ada and I prefer tea.\nUser: hi\nAssistant: hello\nTool: I live in Rome.") == []
    assert contents("User: hi\nAssistant: I prefer tea. Postgres runs on port 5432. You could use Redis.") == []


@pytest.mark.requirement("extract-self-contained")
def test_a_fact_names_who_said_it_and_takes_what_it_leans_on_along() -> None:
    facts = read(
        "Anna Nowak: I moved to Rome yesterday.\nBen: Did you?\nAnna Nowak: My sister is called Eva. She works at Fiat."
    )
    assert [(fact.content, fact.subject) for fact in facts] == [
        ("Anna Nowak: I moved to Rome yesterday.", "Anna Nowak"),
        ("Anna Nowak: My sister is called Eva.", "Anna Nowak"),
        ("Anna Nowak: My sister is called Eva. She works at Fiat.", "Anna Nowak"),
    ]
    assert [(fact.content, fact.subject) for fact in read("User: I prefer tea.\nAssistant: ok")] == [
        ("I prefer tea.", "user")
    ]


@pytest.mark.requirement("extract-dates")
def test_the_day_is_read_from_the_conversation_and_from_nothing_else() -> None:
    (fact,) = read("User: I moved yesterday", date(2026, 4, 2))
    assert (fact.fact_type, fact.event_date, fact.event_context) == (FactType.EVENT, date(2026, 4, 1), "yesterday")
    (fact,) = read("User: I moved yesterday", None)
    assert (fact.fact_type, fact.event_date, fact.event_context) == (FactType.EVENT, None, "yesterday")
    (fact,) = read("User: I moved to Rome on 15 March 2026.", None)
    assert fact.event_date == date(2026, 3, 15)
    fact, *_ = read(
        "2026-03-05 10:00 - Anna: I moved to Rome yesterday.\n2026-03-05 10:01 - Ben: Nice!", date(2026, 4, 2)
    )
    assert fact.event_date == date(2026, 3, 4)
    (fact,) = read("User: I recently moved to Rome with my dog.")
    assert fact.event_date is None


@pytest.mark.requirement("extract-topics")
def test_a_topic_is_found_by_its_name() -> None:
    settings = ExtractSettings(topics=(Topic(name="migration", fact_type="risk_item"),))
    facts = read("User: The migration is blocked on the bank. I prefer tea.\nAssistant: ok", settings=settings)
    assert [(fact.fact_type, fact.topic) for fact in facts] == [
        (FactType.FACT, "risk_item"),
        (FactType.PREFERENCE, None),
    ]


SAYINGS = st.sampled_from([
    "I prefer tea. ", "Wolę żurek! ", "我住在北京。", "She works at Fiat.\n", "```\ncode\n```\n", "Yesterday we shipped 👍 it. ", "> quoted\n", "\u2028", "ok? ", "J'habite à Lyon. ",
])  # fmt: skip


@pytest.mark.requirement("extract-places")
@given(
    st.lists(
        st.tuples(
            st.sampled_from(["User: ", "Assistant: ", "Anna: ", ""]),
            st.lists(SAYINGS | st.text(max_size=8), max_size=5).map("".join),
        ),
        max_size=6,
    )
)
def test_a_fact_stands_where_it_says(said: list[tuple[str, str]]) -> None:
    text = "\n".join(label + words for label, words in said)
    source = text.encode()
    for fact in read(text):
        assert fact.byte_start is not None
        assert fact.byte_end is not None
        words = source[fact.byte_start : fact.byte_end].decode()
        assert fact.content.endswith(" ".join(words.split()))
    assert read(text) == read(text)


@pytest.mark.requirement("extract-bounded")
@pytest.mark.parametrize(
    "text",
    [
        "User: " + "I prefer tea. " * 40_000, "User: " + "a" * 1_500_000, "User: I " + "prefer " * 200_000, "User: a\n" * 60_000, "User: " + "```\n" * 300_000,
        "User: " + "<memory>" * 150_000, "User: x\n" + "> \n" * 400_000, "User: " + "." * 1_500_000, json.dumps([{"role": "user", "content": "I have habe " * 50_000}]),
    ],
    ids=["sentences", "letters", "words", "turns", "fences", "blocks", "quotes", "stops", "json"],
)  # fmt: skip
def test_reading_is_bounded(text: str) -> None:
    began = time.process_time()
    assert len(read(text)) <= 20
    assert time.process_time() - began < 20  # a few seconds on a machine with nothing else to do


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("I moved to St. Louis on Jan. 5. Dr. Smith came. It costs $3.50!", ["I moved to St. Louis on Jan. 5.", "Dr. Smith came.", "It costs $3.50!"]),
        ("Am 3. März fahre ich. Das kostet z. B. 5 Euro. Herr Dr. Müller kommt um 10 Uhr.", ["Am 3. März fahre ich.", "Das kostet z. B. 5 Euro.", "Herr Dr. Müller kommt um 10 Uhr."]),
        ("Mam dwoje dzieci, m.in. Olę. Pracuję od 2019 r. w banku. Mieszkam przy ul. Długiej.", ["Mam dwoje dzieci, m.in. Olę.", "Pracuję od 2019 r. w banku.", "Mieszkam przy ul. Długiej."]),
        ("我住在北京。我喜欢咖啡！你呢？", ["我住在北京。", "我喜欢咖啡！", "你呢？"]),
        ("see foo.py and v1.2.3\nnext line... and on. Yes", ["see foo.py and v1.2.3", "next line... and on.", "Yes"]),
    ],
)  # fmt: skip
def test_sentences_end_where_they_end(text: str, expected: list[str]) -> None:
    assert [sentence.text for sentence in sentences(text)] == expected


@given(st.text() | st.lists(SAYINGS).map("".join))
def test_sentences_lose_nothing_but_blanks(text: str) -> None:
    found = list(sentences(text))
    assert all(text[one.start : one.end] == one.text for one in found)
    assert re.sub(r"\s", "", "".join(one.text for one in found)) == re.sub(r"\s", "", text)


@pytest.mark.parametrize("place", ["Berlin", "Kraków", "Łódź", "Zürich", "São Paulo", "Győr"])
def test_the_letters_of_a_name_do_not_make_a_sentence_foreign(place: str) -> None:
    transcript = segment(f"User: I moved to {place} yesterday.")
    found = offline(transcript, conversation_date=date(2026, 4, 2), settings=ExtractSettings())
    assert [(fact.content, fact.event_date) for fact in found] == [(f"I moved to {place} yesterday.", date(2026, 4, 1))]
