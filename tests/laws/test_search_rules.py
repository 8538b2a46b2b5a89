"""The pure rules of search: what a question asks, which dates words mean, what multiplies a score, and which rows are one."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone
from math import exp, prod
from time import process_time
from typing import Any
from zoneinfo import ZoneInfo

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from identity.errors import InvalidInput
from identity.keys import Root
from identity.visibility import Scope
from loomem.core.dates.spans import months_before
from loomem.core.knowledge import FactType, Knowledge, Role, Trust
from loomem.core.plan import text_of
from loomem.core.record import Category, Memory
from loomem.core.row import Place, Row, row_of
from loomem.core.search.admit import happened_within, since, was_valid
from loomem.core.search.collapse import capped, collapse, said_in
from loomem.core.search.passage import passage
from loomem.core.search.question import Question, RawQuestion, clean_question, is_counting
from loomem.core.search.settings import Decay, SearchSettings, TopK, Weights
from loomem.core.search.weigh import DAY_MS, Span, Weighing, age_factor, dates_of, observed_of
from loomem.core.search.when import When, mentioned, only_dates, resolve
from loomem.core.times import millis
from loomem.found import fitting, shown

NOW = datetime(2026, 4, 5, 12, tzinfo=UTC)  # a Sunday
SETTINGS = SearchSettings()
PLACE = Place(bucket="b", root=Root.PERSONAL, owner="user", scope=Scope.PERSONAL, fetch=3, mine=True)


def say_the_same(one: str, other: str) -> bool:
    return said_in(one) == said_in(other)


def row(content: str = "x", *, age_days: float = 0.0, category: Category = Category.LONGTERM, **changes: Any) -> Row:
    at = text_of(millis(NOW) - round(age_days * DAY_MS))
    fields: dict[str, Any] = {"metadata": None, "knowledge": None, **changes}
    memory = Memory(
        id="00000000-0000-4000-8000-000000000001",
        agent_id="a",
        project_id="p",
        scope=Scope.PERSONAL,
        category=category,
        content=content,
        created_at=at,
        updated_at=at,
        version=1,
        **fields,
    )
    return row_of(memory, PLACE, 1, {}, number=1)


# --- dates in words ---------------------------------------------------------------------------------------------------

DAYS = [
    ("2026-03-15", "2026-03-15"),
    ("2026/3/15", "2026-03-15"),
    ("15.3.2026", "2026-03-15"),
    ("2026-03-15T23:30:00Z", "2026-03-15"),
    ("2026-03-15T23:30:00-04:00", "2026-03-16"),
    ("2023/12/15 (Fri) 14:30", "2023-12-15"),
    ("today", "2026-04-05"),
    ("  Yesterday ", "2026-04-04"),
    ("the day before yesterday", "2026-04-03"),
    ("tomorrow", "2026-04-06"),
    ("dziś", "2026-04-05"),
    ("wczoraj", "2026-04-04"),
    ("przedwczoraj", "2026-04-03"),
    ("gestern", "2026-04-04"),
    ("Vorgestern", "2026-04-03"),
    ("3 days ago", "2026-04-02"),
    ("2 weeks ago", "2026-03-22"),
    ("two weeks ago", "2026-03-22"),
    ("a month ago", "2026-03-05"),
    ("1 year ago", "2025-04-05"),
    ("2 miesiące temu", "2026-02-05"),
    ("tydzień temu", "2026-03-29"),
    ("vor drei Tagen", "2026-04-02"),
    ("vor einem Monat", "2026-03-05"),
    ("15 marca", "2026-03-15"),
    ("15 March", "2026-03-15"),
    ("March 15, 2026", "2026-03-15"),
    ("15. März", "2026-03-15"),
    ("december 24", "2025-12-24"),
    ("24 Dec 2024", "2024-12-24"),
]
SPANS = [
    ("last week", "2026-03-23", "2026-03-29"),
    ("w zeszłym tygodniu", "2026-03-23", "2026-03-29"),
    ("letzte Woche", "2026-03-23", "2026-03-29"),
    ("last month", "2026-03-01", "2026-03-31"),
    ("w zeszłym miesiącu", "2026-03-01", "2026-03-31"),
    ("letzten Monat", "2026-03-01", "2026-03-31"),
    ("last year", "2025-01-01", "2025-12-31"),
    ("w zeszłym roku", "2025-01-01", "2025-12-31"),
    ("letztes Jahr", "2025-01-01", "2025-12-31"),
    ("March 2026", "2026-03-01", "2026-03-31"),
    ("w marcu 2026", "2026-03-01", "2026-03-31"),
    ("February 2024", "2024-02-01", "2024-02-29"),
    ("november", "2025-11-01", "2025-11-30"),
]
NO_DATES = [
    "",
    "recently",
    "2026-02-31",
    "31.2.2026",
    "30 February",
    "may",
    "soon",
    "0001-01-01x",
    "9999 years ago",
    "13/2026",
]


@pytest.mark.requirement("search-time")
@pytest.mark.parametrize(("text", "first", "last"), [(text, day, day) for text, day in DAYS] + SPANS)
def test_words_name_days(text: str, first: str, last: str) -> None:
    when = resolve(text, NOW)
    assert when is not None
    assert (when.start.date().isoformat(), (when.end - timedelta(days=1)).date().isoformat()) == (first, last)


@pytest.mark.parametrize("text", NO_DATES)
def test_what_is_no_date_is_none(text: str) -> None:
    assert resolve(text, NOW) is None


@pytest.mark.requirement("search-zones")
def test_words_are_read_in_the_zone_of_the_reader() -> None:
    moment = datetime(2026, 3, 8, 23, 30, tzinfo=UTC)
    for zone, day in (("Asia/Kolkata", 8), ("America/New_York", 7), ("UTC", 7)):
        when = resolve("yesterday", moment.astimezone(ZoneInfo(zone)))
        assert when is not None
        assert (when.start.day, when.start.hour) == (day, 0)
    # A day on which clocks change lasts 23 hours.
    when = resolve("2026-03-08", moment.astimezone(ZoneInfo("America/New_York")))
    assert when is not None
    assert (millis(when.end) - millis(when.start)) == 23 * 3_600_000


@given(st.text(max_size=40))
def test_any_text_may_be_read_for_dates(text: str) -> None:
    for mention in mentioned(text, NOW):
        assert 0 <= mention.at < mention.end <= len(text)
    assert resolve(text, NOW) is None or isinstance(resolve(text, NOW), When)


def test_the_dates_a_text_speaks_of_are_found_in_order() -> None:
    text = "İ Was it on 15 March 2026, last week or 3 days ago? Not 12.13.2026, and mayday is no May."
    found = [text[one.at : one.end] for one in mentioned(text, NOW)]
    assert found == ["15 March 2026", "last week", "3 days ago"]


def test_the_dates_of_a_long_text_are_those_of_its_beginning_and_end() -> None:
    text = f"On 15 March 2026 {'we spoke of this and that ' * 400} and of 2026-04-01, " + "x" * 2_000 + " last week"
    assert [text[one.at : one.end] for one in mentioned(text, NOW)] == ["15 March 2026", "last week"]
    cut = "a" * 985 + " 15 March 2026 " + "b" * 9_000
    assert [cut[one.at : one.end] for one in mentioned(cut, NOW)] in ([], ["15 March 2026"])
    assert mentioned("12345 " * 10_000 + "2026-03-15" + " y" * 5_000, NOW) == []


def test_a_text_of_nothing_but_dates_is_told() -> None:
    for text in ("2026-03-15", " 15 March 2026? ", "March 2026", "yesterday, last week!"):
        assert only_dates(text, NOW), text
    for text in ("", "?", "the walk of 15 March 2026", "yesterday 5", "x" * 10_000):
        assert not only_dates(text, NOW), text


def test_months_end_where_they_end() -> None:
    assert months_before(NOW.date().replace(month=3, day=31), 1).isoformat() == "2026-02-28"
    with pytest.raises(ValueError, match="year"):
        months_before(NOW.date(), 12 * 3_000)


# --- what is asked ----------------------------------------------------------------------------------------------------


def asked(**raw: Any) -> Question:
    return clean_question(RawQuestion(**{"query": "q", **raw}), None, SETTINGS, now=NOW, zone=UTC)


@pytest.mark.requirement("search-22")
def test_rows_are_clamped_and_what_is_no_number_is_refused() -> None:
    assert [asked(top_k=n).rows for n in (None, 1, 20, 21, 0, -3, 7.9)] == [5, 1, 20, 20, 1, 1, 7]
    assert asked(query="how many", top_k=99).rows == 30
    most_wins = clean_question(
        RawQuestion(query="q"), None, SearchSettings(top_k=TopK(default=9, most=3)), now=NOW, zone=UTC
    )
    assert most_wins.rows == 3
    for bad in ("5", True, float("nan"), ["5"]):
        with pytest.raises(InvalidInput, match="top_k must be a number from 1 to 20"):
            asked(top_k=bad)


LONG_QUESTION = 100_000
LONG_QUESTIONS = [
    "which ",
    "how much ",
    "liste ",
    "nenne ",
    "zähle ",
    "how many",
    "list ",
    "15 march ",
    "1.1.",
    "vor ein ",
    "9",
    "in ",
]


@pytest.mark.requirement("search-linear")
@pytest.mark.parametrize("part", LONG_QUESTIONS)
def test_no_text_takes_much_longer_to_read_than_a_plain_one_of_its_length(part: str) -> None:
    def took(text: str) -> float:
        began = process_time()
        clean_question(RawQuestion(query=text), None, SETTINGS, now=NOW, zone=UTC)
        mentioned(text, NOW)
        return process_time() - began

    plain = min(took(("we spoke of tea and rain. " * LONG_QUESTION)[:LONG_QUESTION]) for _ in range(3))
    assert min(took((part * LONG_QUESTION)[:LONG_QUESTION]) for _ in range(3)) < 20 * plain + 0.05


def test_a_long_text_counts_when_it_begins_or_ends_so() -> None:
    between = " and then we spoke of tea." * 1_000
    assert is_counting(f"How many trips were there?{between}")
    assert is_counting(f"{between} How many trips were there?")
    assert not is_counting(f"{between} how many trips {between}")


def test_wrong_arguments_are_named() -> None:
    for name, bad in {
        "query": 5,
        "time_filter": 5,
        "valid_at": "now",
        "include_superseded": "perhaps",
        "max_context_tokens": 0,
        "scopes": ["everybody"],
        "evidence_fields": 3,
        "explain": [],
    }.items():
        with pytest.raises(InvalidInput) as failure:
            asked(**{name: bad})
        assert failure.value.field == name
    assert asked(query="a\0b\ud800").text == "a b?"


@pytest.mark.requirement("search-22")
@pytest.mark.parametrize(
    "text",
    [
        "How many trips?", "how often do we meet", "the number of trips", "count the trips", "list all books", "ile mam książek",
        "Ilu nas było?", "wypisz spotkania", "lista zakupów", "wszystkie wyjazdy", "wie viele Tage", "Wie oft?", "Anzahl der Tage",
        "which of the books are all read", "list every trip",
    ],
)  # fmt: skip
def test_questions_that_count_or_list(text: str) -> None:
    assert is_counting(text)


@pytest.mark.parametrize(
    "text", ["profile file list", "mobile file", "a listless day", "countdown", "Kapitel eins", "smile often"]
)
def test_questions_that_do_not(text: str) -> None:
    assert not is_counting(text)


@given(st.lists(st.integers(1, 100), min_size=1, max_size=10), st.integers(1, 500))
@pytest.mark.requirement("search-27")
def test_a_budget_keeps_the_longest_beginning(costs: list[int], budget: int) -> None:
    count = fitting(costs, budget)
    assert count >= 1
    assert count == 1 or sum(costs[:count]) <= budget
    assert count == len(costs) or sum(costs[: count + 1]) > budget
    assert [fitting([10] * 5, n) for n in (30, 35, 40)] == [3, 3, 4]


# --- what multiplies a score ------------------------------------------------------------------------------------------


def factors(
    one: Row, *, strength: float = 0.0, settings: SearchSettings = SETTINGS, spans: tuple[Span, ...] = ()
) -> dict[str, float]:
    weighing = Weighing(now_ms=millis(NOW), settings=settings, spans=spans)
    found = weighing.factors(one, strength)
    assert weighing.weight(one, strength) == pytest.approx(prod(factor.value for factor in found))
    return {factor.name: factor.value for factor in found}


@pytest.mark.requirement("search-25")
def test_the_factors_are_those_promised() -> None:
    assert factors(row()) == {}
    assert factors(row(knowledge=Knowledge(level=1))) == {"level": 1.5}
    assert factors(row(knowledge=Knowledge(trust=Trust.A2))) == {"trust": 0.92}
    assert factors(row(knowledge=Knowledge(trust=Trust.A1))) == {}
    assert factors(row(knowledge=Knowledge(trust="gossip"))) == {"trust": 0.8}
    assert factors(row(knowledge=Knowledge(role=Role.EVIDENCE))) == {"role": 0.5}
    assert factors(row(knowledge=Knowledge(role=Role.CUE))) == {"role": 0.8}
    assert factors(row(age_days=10)) == {"age": pytest.approx(exp(-0.5))}
    assert factors(row(age_days=10, knowledge=Knowledge(level=1)))["age"] == pytest.approx(exp(-0.3))
    assert factors(row(age_days=-5)) == {}


def test_what_is_old_and_matches_is_still_found() -> None:
    assert factors(row(age_days=10_000)) == {"age": SETTINGS.decay.floor}
    spared = msgspec.structs.replace(SETTINGS, decay=Decay(relief=1.0))
    assert factors(row(age_days=10_000), strength=1.0, settings=spared) == {}
    assert age_factor(10 * DAY_MS, 0, Decay(floor=0.9)) == 0.9


def test_what_is_taken_in_of_an_old_conversation_is_as_old_as_that() -> None:
    def said(day: str) -> dict[str, float]:
        return factors(row(knowledge=Knowledge(conversation_date=day)))

    assert said("2019-01-01") == {"age": SETTINGS.decay.floor}
    assert said("2026-03-31")["age"] == pytest.approx(exp(-0.05 * 4.5))
    assert said("2026-04-05") == said("2027-01-01") == said("some day") == {}


def test_tiers_and_core_memories() -> None:
    def tier(name: object, **changes: Any) -> dict[str, float]:
        return factors(row(metadata={"tier": name}, age_days=10, **changes))

    assert tier("core") == {"tier": 2.0}
    assert tier("pinned") == {"age": 0.8, "tier": 1.5}
    assert tier("ephemeral") == {"age": pytest.approx(exp(-1)), "tier": 0.5}
    assert tier(7) == {"age": pytest.approx(exp(-0.5))}
    assert factors(row(age_days=10, category=Category.CORE)) == {}


@pytest.mark.requirement("search-25.tier")
@pytest.mark.parametrize("tier", ["core", "pinned", "ephemeral"])
def test_what_others_marked_weighs_nothing(tier: str) -> None:
    theirs = msgspec.structs.replace(row(metadata={"tier": tier}), place=msgspec.structs.replace(PLACE, mine=False))
    assert factors(theirs) == {}


def test_what_is_known_of_a_fact_weighs() -> None:
    weights = Weights(user_state=1.4, assistant_state=0.7, preference=1.2, importance=0.5)
    settings = msgspec.structs.replace(SETTINGS, weights=weights)
    preference = Knowledge(fact_type=FactType.PREFERENCE, importance=2.0, author="user")
    assert factors(row(knowledge=preference), settings=settings) == {
        "preference": weights.preference,
        "importance": pytest.approx(2.0**weights.importance),
        "speaker": 1.4,
    }
    state = Knowledge(fact_type=FactType.PROJECT_STATE, author="assistant")
    assert factors(row(knowledge=state), settings=settings) == {"speaker": 0.7}
    assert factors(row(knowledge=Knowledge(author="user")), settings=settings) == {}
    assert factors(row(knowledge=Knowledge(importance=0.0))) == {}


def test_ratings_and_named_dates_weigh() -> None:
    day = millis(datetime(2026, 3, 15, tzinfo=UTC))
    span = Span(day, day + DAY_MS)
    assert factors(row(metadata={"date": "2026-03-15T09:00:00"}), spans=(span,)) == {"date": SETTINGS.weights.dated}
    assert factors(row(metadata={"date": "2026-03-16"}), spans=(span,)) == {}
    assert factors(row(knowledge=Knowledge(event_date="2026-03-15")), spans=(span,)) == {"date": SETTINGS.weights.dated}
    weighing = Weighing(now_ms=millis(NOW), settings=SETTINGS, ratings=lambda _: 0.5)
    assert weighing.weight(row(), 1.0) == 0.5
    assert [factor.name for factor in weighing.factors(row(), 1.0)] == ["ratings"]
    assert observed_of(row(metadata={"date": "some day"}).memory) is None
    assert dates_of(row(knowledge=Knowledge(conversation_date="2026-03-15")).memory) == [day]


# --- which rows may be shown ------------------------------------------------------------------------------------------


@pytest.mark.requirement("search-28")
def test_a_memory_holds_from_and_until() -> None:
    always, bounded = row().memory, row(knowledge=Knowledge(valid_from="2026-01-01T00:00:00.000Z")).memory
    january = millis(datetime(2026, 1, 1, tzinfo=UTC))
    assert was_valid(always, None, 0)
    assert [was_valid(bounded, january + 10, january + n) for n in (-1, 0, 9, 10)] == [False, True, True, False]


@pytest.mark.requirement("search-time")
def test_what_happened_within_is_by_its_event_or_else_when_it_was_written() -> None:
    five_days = since(NOW.replace(hour=0) - timedelta(days=5), NOW)
    assert happened_within(row(age_days=1), five_days)
    assert not happened_within(row(age_days=9), five_days)
    assert happened_within(row(age_days=9, knowledge=Knowledge(event_date="2026-04-03")), five_days)
    assert not happened_within(row(knowledge=Knowledge(event_date="2026-03-03")), five_days)
    assert not happened_within(row(knowledge=Knowledge(event_date="2026-05-03")), five_days)
    assert happened_within(row(knowledge=Knowledge(event_date="soon")), five_days)
    for unknown in (Knowledge(contract=1), Knowledge(event_unknown=True), Knowledge(contract=1, event_date="soon")):
        assert not happened_within(row(knowledge=unknown), five_days)


@pytest.mark.requirement("dates-days")
@pytest.mark.parametrize("zone", ["Pacific/Kiritimati", "Pacific/Pago_Pago", "Asia/Kolkata", "America/New_York"])
def test_an_event_is_on_its_day_in_every_zone(zone: str) -> None:
    here = ZoneInfo(zone)
    now = datetime(2026, 3, 8, 23, 30, tzinfo=here)  # clocks change on that day in New York

    def within(day: str, words: str) -> bool:
        question = clean_question(RawQuestion(query="q", time_filter=words), None, SETTINGS, now=now, zone=here)
        assert question.since is not None
        return happened_within(row(knowledge=Knowledge(contract=1, event_date=day)), since(question.since, now))

    for words, first in (("today", 8), ("yesterday", 7), ("3 days ago", 5), ("w zeszłą środę", 4), ("2026-03-02", 2)):
        assert [day for day in range(1, 10) if within(f"2026-03-{day:02}", words)] == list(range(first, 9)), words


# --- which rows are one -----------------------------------------------------------------------------------------------

LONG = "After the long meeting on the roof terrace everybody agreed that the blue paint looks best there"


@pytest.mark.requirement("search-26")
@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("The rent is due.", "the RENT is due"),
        ("„Zażółć gęślą jaźń”", "zażółć  gęślą\njaźń!"),
        ("我喜欢茶。", "我喜欢茶"),
        ("The cat sat on the mat", "cat sat on mat"),
        ("please", "Please!"),
        ("Bitte die Tür schließen", "die Tür schließen"),
        ("Proszę zamknąć drzwi.", "zamknąć drzwi"),
        ("caf\u00e9 at nine", "cafe\u0301 at nine"),
    ],
)
def test_texts_that_say_the_same(one: str, other: str) -> None:
    assert say_the_same(one, other)
    assert say_the_same(other, one)


@pytest.mark.requirement("search-26")
@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("The rent is 900.", "The rent is 950."),
        ("I like tea.", "I do not like tea."),
        ("Is it done?", "Is it done."),
        ("Version 1.2", "Version 12"),
        ("+5 degrees", "-5 degrees"),
        ("Anna paid Ben.", "Ben paid Anna."),
        ("on 2026-01-02", "on 2026-02-01"),
        ("ฉันไม่ชอบชา", "ฉันชอบชา"),
        ("我喜欢茶", "我不喜欢茶"),
        ("お茶が好きです", "お茶が好きではありません"),
        ("나는 차를 좋아한다", "나는 차를 안 좋아한다"),
        ("Я люблю чай", "Я не люблю чай"),
        ("أنا أحب الشاي", "أنا لا أحب الشاي"),
        ("Ich mag Tee", "Ich mag keinen Tee"),
        ("Lubię herbatę", "Nie lubię herbaty"),
        (LONG, LONG.replace("looks best", "looks never best")),
        (LONG, LONG.replace("the blue paint", "the Blue paint of Eve")),
        (LONG, f"{LONG} twice"),
        ("He is not really dead.", "He is not dead."),
        ("She does not just drink tea.", "She does not drink tea."),
        ("It is not very good.", "It is not good."),
        ("Blood group A", "Blood group"),
        ("blood group a", "blood group"),
        ("vitamin a is missing", "vitamin is missing"),
        ("Also Ben knows.", "Ben knows."),
        ("Nie bardzo lubię kawę", "Nie lubię kawę"),
        ("Nie tylko właśnie Ewa", "Nie tylko Ewa"),
        ("Też lubię kawę", "Lubię kawę"),
        ("nicht sehr gut", "nicht gut"),
        ("Ich mag auch Tee", "Ich mag Tee"),
        ("Ein Kind fehlt", "Kind fehlt"),
        ("Mach das Licht an", "Mach das Licht"),
        ("in Maßen trinken", "in Massen trinken"),
        ("schon gut", "schön gut"),
        ("On ma sad", "On ma sąd"),
        ("below <5", "below >5"),
        ("a dose of .5 g", "a dose of 5 g"),
        ("10² pixels", "102 pixels"),
        ("the field _id", "the field id"),
        ("a board of 5' here", 'a board of 5" here'),
        ("if !ready", "if ready"),
        (LONG, f"{LONG} tomorrow"),
        (LONG, f"{LONG}, it can't wait"),
        (LONG, f"{LONG} 5"),
        (LONG, f"{LONG} 茶"),
        (LONG, "Before the short walk in the green garden nobody thought that any red door fits well here now"),
        ("", " ."),
        ("Take vitamin A", "Take vitamin"),
        (LONG, LONG.replace("blue", "red")),
    ],
)
def test_texts_that_may_not(one: str, other: str) -> None:
    assert not say_the_same(one, other)
    assert not say_the_same(other, one)


@given(st.lists(st.sampled_from(["a b", "A b.", "a c", "1", "2"]), max_size=12), st.integers(1, 5))
def test_each_thing_is_shown_once_in_order(texts: list[str], limit: int) -> None:
    kept = collapse(texts, lambda text: text, limit)
    assert len(kept) <= limit
    said = [one for one, _ in kept]
    assert not any(say_the_same(one, other) for at, one in enumerate(said) for other in said[:at])
    assert all(say_the_same(one, other) for one, same in kept for other in same)
    assert said == sorted(said, key=texts.index)
    if len(kept) < limit:
        assert sum(1 + len(same) for _, same in kept) == len(texts)


def test_a_source_does_not_crowd_out_the_others() -> None:
    ranked = ["a1", "a2", "b1", "a3", "none", "b2", "none"]

    def source(text: str) -> str | None:
        return None if text == "none" else text[0]

    assert capped(ranked, source, 1) == ["a1", "b1", "none", "none", "a2", "a3", "b2"]
    assert capped(ranked, source, 0) == ranked


def test_a_row_is_shown_with_where_it_comes_from() -> None:
    known = Knowledge(subject="Eve", trust="a2", event_date="2026-03-15", contract=1, author="Ann", source="mail")
    made = shown(
        row(metadata={"speaker": "Zoe", "source": "chat", "tags": ["t"]}, knowledge=known),
        0.5,
        question="who",
        zone=timezone(timedelta(hours=14)),
        weights=SETTINGS.weights,
        supersedes=[],
        superseded_by=None,
        same=[],
        explained=None,
    )
    assert (made.author, made.source, made.subject, made.trust, made.weight) == ("Ann", "mail", "Eve", "a2", 0.92)
    assert (made.event, made.event_unknown, made.recorded, made.tags) == ("2026-03-15", False, "2026-04-06", ["t"])


@pytest.mark.requirement("ingest-passage")
def test_of_a_long_conversation_the_lines_that_were_meant_are_shown() -> None:
    lines = [f"User: line {number} is about nothing much, as most of them are." for number in range(300)]
    lines[200] = "User: my sister Zoë moved to Kraków."
    text = "\n".join(lines)
    shown = passage(text, "where does the sister Zoe live")
    assert "my sister Zoë moved to Kraków." in shown
    assert len(shown) < 1_300
    assert shown.startswith("…User: ")
    assert shown.endswith("…")
    assert shown.strip("…") in text
    assert passage(lines[200], "anything") == lines[200]
    assert passage(text, "!?").startswith(lines[0])
    assert passage(text, "line 299").endswith(lines[299])
