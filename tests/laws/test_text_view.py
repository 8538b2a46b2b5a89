"""The view of words: what is put is found by its words, what is removed is gone, and no place leaks into another's answers."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Sequence
from pathlib import Path

import msgspec
import pytest
import pytest_asyncio
from hypothesis import given, settings
from hypothesis import strategies as st

from loomem.core.analyse import Analyser, Terms
from loomem.views.text import Text
from tests.laws.test_analyse import ANY_TEXT, WORDS

DATA = Path(__file__).parents[1] / "data"
LANGUAGES = ("ar", "code", "de", "en", "ja", "ko", "numbers", "pl", "ru", "th", "zh")
PAIRS = {name: msgspec.json.decode((DATA / f"words_{name}.json").read_bytes(), type=list[tuple[str, str]]) for name in LANGUAGES}  # fmt: skip

Change = tuple[int, str, str] | int
"""A put (number, place, text) or the number to remove."""
CHANGES = st.lists(
    st.tuples(st.integers(0, 6), st.sampled_from("ab"), WORDS | ANY_TEXT) | st.integers(0, 6), max_size=14
)


@pytest_asyncio.fixture
async def text() -> AsyncGenerator[Text]:
    async with asyncio.timeout(30), Text() as view:
        yield view


def found(view: Text, asked: str, places: Sequence[str] | None = None, limit: int = 50) -> list[int]:
    return [hit.ident for hit in view.search(asked, places, limit)]


async def fold(view: Text, changes: Sequence[Change], *, wait: bool) -> dict[int, tuple[str, str]]:
    held: dict[int, tuple[str, str]] = {}
    for change in changes:
        if isinstance(change, int):
            view.remove(change)
            held.pop(change, None)
        else:
            view.put(*change)
            held[change[0]] = change[1:]
        if wait:
            await view.wait()
    await view.wait()
    return held


async def test_a_question_is_answered_while_a_commit_lands() -> None:
    async with asyncio.timeout(30), Text(pause_s=0) as view:
        for number in range(400):
            view.put(number % 100, "a", f"drum {number}")
            await asyncio.sleep(0)
            for _ in range(5):
                assert all(0 <= ident < 100 for ident in found(view, "drum"))
        await view.wait()
        assert sorted(found(view, "drum", limit=200)) == list(range(100))


@settings(max_examples=40, deadline=None)
@given(CHANGES, st.booleans())
def test_the_view_is_the_fold_of_what_it_was_told(changes: list[Change], wait: bool) -> None:
    async def scenario() -> None:
        async with asyncio.timeout(30), Text(pause_s=0) as view:
            held = await fold(view, changes, wait=wait)
            for ident, (place, text) in held.items():
                for word in {*Analyser().document(text).words.split(), *text.split()}:
                    hits = found(view, word)
                    assert ident in hits or not Analyser().query(word).terms, word
                    assert set(hits) <= held.keys()
                    assert {held[hit][0] for hit in found(view, word, [place])} <= {place}

    asyncio.run(scenario())


def test_any_text_is_a_question_and_finds_what_it_names(long_form: bool) -> None:
    examples = 10_000 if long_form else 500

    async def scenario() -> None:
        async with Text(pause_s=0) as view:
            view.put(1, "a", "the needle in 東京 and książki")
            view.put(2, "b", "another needle")
            await view.wait()

            @settings(max_examples=examples, deadline=None, database=None)
            @given(ANY_TEXT, ANY_TEXT)
            def ask(before: str, after: str) -> None:
                view.search(before + after, ["a"], 5)
                assert found(view, f"{before} needle {after}".replace("-needle", "needle"), ["a"]) in ([1], [])
                assert found(view, f"needle {before.replace('-', '')}".replace('"', ""), ["a"]) == [1]

            ask()

    asyncio.run(scenario())


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("alone", [True, False], ids=["alone", "among all the others"])
async def test_words_find_their_memory_in_every_language(text: Text, language: str, alone: bool) -> None:
    for place, pairs in PAIRS.items():
        if place == language or not alone:
            for number, (memory, _) in enumerate(pairs):
                text.put(LANGUAGES.index(place) * 100 + number, "everywhere", memory)
    await text.wait()
    first = LANGUAGES.index(language) * 100
    missed = [
        question
        for number, (_, question) in enumerate(PAIRS[language])
        if first + number not in found(text, question, ["everywhere"], limit=3)
    ]
    assert len(missed) <= 2, missed


@pytest.mark.parametrize(
    ("memory", "asked"),
    [
        ("我家的猫很可爱", "猫"),
        ("我们去北京旅行", "北京"),
        ("茶很好喝", "喝茶"),
        ("東京に住んでいます", "東京"),
        ("図書館で勉強する", "図書館"),
        ("회의에서 결정했다", "회의"),
        ("집에서 일한다", "집"),
        ("학교는 멀다", "학교에서"),
        ("iPhone手机坏了", "手机"),
        ("iPhone手机坏了", "iphone"),
        ("新しいMacBookを買った", "macbook"),
        ("API를 배포한다", "api"),
        ("ชอบกินข้าวผัด", "ข้าวผัด"),
        ("great 🎉 party", "🎉"),
        ("well done 👍🏽", "👍"),
        ("I ❤️ tea", "❤"),
        ("costs 50€", "€"),
        ("ＦＵＬＬ width", "full"),
        ("Crème brûlée", "creme brulee"),
        ("creme brulee", "Crème Brûlée"),
        ("the e-mail address", "email"),
        ("send an email", "e-mail"),
        ("userName is empty", "user_name"),
        ("the user-name field", "username"),
        ("see getUserProfile", "profile"),
        ("version 3.11.4 is out", "3.11"),
        ("it costs 1,250.50", "1250.50"),
        ("Rechnungsnummer vergessen", "rechnungs*"),
        ("price is 5\" or so", '5"'),
        ("rm -rf /tmp/cache", "rm -rf"),
        ("a\ud800b\0c", "b c"),
    ],
)  # fmt: skip
async def test_is_found_by(text: Text, memory: str, asked: str) -> None:
    text.put(1, "a", "something else altogether")
    text.put(2, "a", memory)
    await text.wait()
    assert found(text, asked) == [2]


async def test_a_phrase_stands_as_it_was_asked(text: Text) -> None:
    text.put(1, "a", "the red house by the river")
    text.put(2, "a", "a house that is red")
    text.put(3, "a", "东京大学很大")
    text.put(4, "a", "京东的大学生")
    await text.wait()
    assert found(text, '"red house"') == [1]
    assert found(text, '"the RED House"') == [1]
    assert found(text, '"东京大"') == [3]
    assert set(found(text, '"house red"')) == {1, 2}, "a phrase that stands nowhere is asked for as its words"


async def test_what_is_excluded_is_not_found(text: Text) -> None:
    text.put(1, "a", "rust the language")
    text.put(2, "a", "rust the video game")
    await text.wait()
    assert set(found(text, "rust")) == {1, 2}
    assert found(text, "rust -game") == [1]
    assert found(text, 'rust -"video game"') == [1]
    assert found(text, "-game") == [2]


async def test_a_beginning_finds_the_words_that_begin_so(text: Text) -> None:
    text.put(1, "a", "deployments are frozen")
    text.put(2, "a", "getUserProfile fails")
    await text.wait()
    assert found(text, "deplo*") == [1]
    assert found(text, "getuser*") == [2]
    assert found(text, "get_user*") == [2]
    assert found(text, "zzz*") == []


async def test_the_rarer_and_the_exact_word_count_more(text: Text) -> None:
    for ident in range(10):
        text.put(ident, "a", "we talked about the garden again")
    text.put(20, "a", "we talked about the greenhouse again")
    text.put(30, "a", "she was painting it")
    text.put(31, "a", "she will paint it")
    await text.wait()
    assert found(text, "garden greenhouse", limit=1) == [20]
    assert found(text, "paint") == [31, 30]
    scores = [hit.score for hit in text.search("paint", None, 5)]
    assert scores == sorted(scores, reverse=True)


async def test_only_allowed_places_are_searched(text: Text) -> None:
    for number, place in enumerate(("p.1", "p 2", "ä")):
        text.put(number, place, "needle")
    await text.wait()
    assert found(text, "needle", ["p.1"]) == [0]
    assert set(found(text, "needle", ["p 2", "ä"])) == {1, 2}
    assert found(text, "needle", ["p"]) == []
    assert found(text, "needle", []) == []
    assert set(found(text, "needle", None)) == {0, 1, 2}


async def test_a_text_that_moves_is_found_in_its_new_place_only(text: Text) -> None:
    await text.wait(text.put(1, "a", "needle"))
    await text.wait(text.put(1, "b", "needle"))
    assert found(text, "needle", ["a"]) == []
    assert found(text, "needle", ["b"]) == [1]


async def test_what_is_removed_is_gone_at_once_and_leaves_room_for_others(text: Text) -> None:
    for ident in range(5):
        text.put(ident, "a", "needle")
    await text.wait()
    (best, *_) = found(text, "needle")
    mark = text.remove(best)
    assert len(hits := found(text, "needle", limit=4)) == 4
    assert best not in hits
    await text.wait(mark)
    assert best not in found(text, "needle")
    assert text.status.texts == 4


async def test_put_again_after_a_removal_is_found(text: Text) -> None:
    await text.wait(text.put(1, "a", "old needle"))
    text.remove(1)
    await text.wait(text.put(1, "a", "new needle"))
    assert found(text, "old") == []
    assert found(text, "new") == [1]


async def test_waiting_for_a_mark_that_is_searchable_returns(text: Text) -> None:
    await text.wait()
    mark = text.put(1, "a", "needle")
    await asyncio.gather(text.wait(mark), text.wait(mark), text.wait())
    await text.wait(mark)
    assert found(text, "needle") == [1]
    assert text.status.pending == 0


async def test_a_burst_beyond_one_batch_is_searchable_at_its_mark(text: Text, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("loomem.views.text.BATCH_LIMIT", 10)
    for ident in range(95):
        text.put(ident, "a", f"needle number{ident}")
    await text.wait()
    assert len(found(text, "needle", limit=200)) == 95


async def test_who_waits_when_the_view_closes_is_not_left_waiting() -> None:
    async with Text(pause_s=60) as view:
        view.put(1, "a", "needle")
        waiting = asyncio.gather(view.wait(), return_exceptions=True)
        await asyncio.sleep(0)
    async with asyncio.timeout(5):
        (outcome,) = await waiting
    assert isinstance(outcome, asyncio.CancelledError)


async def test_stems_are_asked_in_the_languages_of_the_texts(text: Text) -> None:
    for number, (memory, _) in enumerate(PAIRS["pl"]):
        text.put(number, "a", memory)
    await text.wait()
    assert text.languages[0] == "pl"
    assert found(text, "fakturami", limit=1) == [7], "one word without a sign of its language"


class Stumbling(Analyser):
    """An analyser with a fault: a text with one word ends it."""

    def document(self, text: str) -> Terms:
        if "banana" in text:
            raise ValueError(text)
        return super().document(text)


@pytest.mark.requirement("search-stumble")
async def test_a_text_that_cannot_be_taken_apart_ends_nothing(caplog: pytest.LogCaptureFixture) -> None:
    async with asyncio.timeout(30), Text(reading=Stumbling()) as view:
        view.put(1, "a", "the first cherry")
        view.put(2, "a", "a BANANA\ud800-cherry, banana pie")
        view.put(3, "a", "another cherry")
        await view.wait()
        assert set(found(view, "cherry")) == {1, 2, 3}
        assert found(view, "pie") == [2]
        assert view.status.stumbled == 1
        assert "number=2" in caplog.text
        assert "banana" not in caplog.text
        view.put(2, "a", "an apple pie")
        await view.wait()
        assert (found(view, "apples"), view.status.stumbled) == ([2], 0)
