"""The analyser: any text has terms, the same words have the same terms however they are spelt, any text is a question."""

from __future__ import annotations

import unicodedata
from typing import Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loomem.core.analyse import Analyser, Language, TextQuery

FORMS: tuple[Literal["NFC", "NFD", "NFKC", "NFKD"], ...] = ("NFC", "NFD", "NFKC", "NFKD")
ANY_TEXT = st.text(st.characters(codec=None), max_size=60) | st.text(
    st.sampled_from("\"'-*+:()[]{}^~\\/?!.,&|<>=@#%_ \n\t\0ab1é東かक่한🙂\u200d\ufe0f\ud800“”«»「」"), max_size=30
)
WORDS = st.lists(
    st.sampled_from(
        (
            "running",
            "książki",
            "Häuser",
            "машины",
            "getUserName",
            "foo_bar",
            "1,234.5",
            "東京に行く",
            "서울에서",
            "ฉันกินข้าว",
            "C++",
            "a@b.org",
            "v1.2.3",
        )
    ),
    max_size=8,
).map(" ".join)


def words(text: str) -> list[str]:
    return Analyser().document(text).words.split()


def stems(text: str) -> list[str]:
    return Analyser().document(text).stems.split()


def exact(query: TextQuery) -> list[str | None]:
    return [term.word for term in (*query.terms, *query.quiet)]


@given(ANY_TEXT)
def test_any_text_is_a_document_and_a_question(text: str) -> None:
    analyser = Analyser()
    terms = analyser.document(text)
    analyser.query(text, (Language.POLISH, Language.GERMAN))
    for term in (*terms.words.split(" "), *terms.stems.split(" ")):
        assert term == "" or term.split() == [term]
        term.encode()  # no half of a surrogate pair gets through


@given(ANY_TEXT | WORDS)
def test_words_analysed_again_are_the_same_words(text: str) -> None:
    once = words(text)
    assert words(" ".join(once)) == once


@given(ANY_TEXT | WORDS)
def test_what_was_analysed_before_changes_nothing(text: str) -> None:
    used = Analyser()
    for other in ("Die Häuser sind alt", "książki", text.upper(), text):
        used.document(other)
    assert used.document(text) == Analyser().document(text)


@given(WORDS, st.sampled_from(FORMS))
def test_the_form_of_unicode_does_not_matter(text: str, form: Literal["NFC", "NFD", "NFKC", "NFKD"]) -> None:
    assert words(unicodedata.normalize(form, text)) == words(text)


@given(ANY_TEXT | WORDS)
def test_a_text_asked_for_has_terms_when_it_has_words(text: str) -> None:
    query = Analyser().query(text)
    if words(text):
        assert query.terms or query.prefixes


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Zażółć GĘŚLĄ jaźń", ["zazolc", "gesla", "jazn"]),
        ("Straße MÜLLER", ["strasse", "muller"]),
        ("ŁÓDŹ Ærø œuvre İstanbul ılık", ["lodz", "aero", "oeuvre", "istanbul", "ilik"]),
        ("ёлка Ёж ὈΔΥΣΣΕΎΣ", ["елка", "еж", "οδυσσευσ"]),
        ("السَّلامُ مكتبة إلى", ["السلام", "مكتبه", "الي"]),
        ("ＡＢＣ１２３ ﬁne ①", ["abc123", "fine", "1"]),
        ("١٢٣ ४५", ["123", "45"]),
        ("हिन्दी किताबें", ["हिन्दी", "किताबें"]),
        ("soft\u00adhyphen zero\u200dwidth", ["softhyphen", "zerowidth"]),
        ("iPhone15手机很好", ["iphone15", "手", "机", "很", "好"]),
        ("API를 GPT-4와", ["api", "를", "gpt", "4", "와"]),
        ("ガギ ｶﾞｷﾞ", ["ガ", "ギ", "ガ", "ギ"]),
        ("ข้าวผัด", ["ข้", "า", "ว", "ผั", "ด"]),
        ("👩‍👩‍👧 ❤️ 👍🏽 🇵🇱 €", ["👩", "👩", "👧", "❤", "👍", "🇵🇱", "€"]),
        ("C++ c# F#,", ["c++", "c#", "f#"]),
        ("Anna's dog, I'll see", ["anna", "dog", "i", "see"]),
        ("l’eau d'été", ["l", "eau", "d", "ete"]),
        ("", []),
        ("?!… -- ()", []),
    ],
)
def test_words_are_folded(text: str, expected: list[str]) -> None:
    assert words(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("getUserName", ["getusernam", "get", "user", "name"]),
        ("HTTPServer", ["httpserver", "http", "server"]),
        ("foo_bar", ["foobar", "foo", "bar"]),
        ("api-gateway", ["apigateway", "api", "gateway"]),
        ("tokio_util.codec", ["tokio_util.codec", "tokioutil", "tokio", "util", "codec"]),
        ("src/app/main.py", ["src/app/main.py", "src", "app", "main.py", "main", "py"]),
        ("https://example.org/a?b=1", ["https://example.org/a?b=1", "example.org", "org", "1"]),
        ("jane.doe@mail.example.org", ["jane.doe@mail.example.org", "jane.doe", "mail.example.org", "mail"]),
        ("1,234,567.89", ["1234567.89"]),
        ("1.234.567,89", ["1234567.89"]),
        ("10 000", ["10000"]),
        ("12,500", ["12.500", "12500"]),
        ("3,5", ["3.5"]),
        ("v1.2.3", ["v1.2.3", "1.2.3"]),
        ("3.11.4", ["3.11.4", "3.11"]),
        ("2024-03-15", ["20240315", "2024"]),
        ("GPT4", ["gpt4", "gpt", "4"]),
        ("GPT-4", ["gpt4", "gpt", "4"]),
        ("東京都", ["東京", "京都"]),
        ("회의는", ["회의", "의는", "회", "회의는"]),
        ("ผัดไทย", ["ผัด", "ดไ", "ไท", "ทย"]),
    ],
)
def test_wholes_parts_and_pairs_are_indexed(text: str, expected: list[str]) -> None:
    assert set(expected) <= set(stems(text))


@pytest.mark.parametrize(
    ("language", "document", "asked"),
    [
        (Language.POLISH, "Nie lubię książki o podróżach.", "książkami podróż"),
        (Language.GERMAN, "Die Häuser und ihre Gärten sind nicht alt.", "haus garten"),
        (Language.GERMAN, "Die Häuser und ihre Gärten sind nicht alt.", "Haeuser Gaerten"),
        (Language.FRENCH, "Les réunions de la semaine sont longues.", "réunion long"),
        (Language.SPANISH, "Las casas de los vecinos son grandes.", "casa vecino"),
        (Language.ENGLISH, "She was painting the rooms.", "painted room"),
        (Language.RUSSIAN, "Мы говорили о машинах.", "машина"),
        (Language.ARABIC, "قرأت الكتاب في المكتبة", "كتاب مكتبة"),
    ],
)
def test_stems_meet(language: Language, document: str, asked: str) -> None:
    analyser = Analyser()
    held = set(analyser.document(document).stems.split())
    for term in analyser.query(asked, (language,)).terms:
        assert held & set(term.stems), term


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("The meeting was moved to Friday", Language.ENGLISH),
        ("Wir haben das gestern schon besprochen", Language.GERMAN),
        ("Spotkanie przełożono na piątek", Language.POLISH),
        ("nie wiem czy to jest dobre", Language.POLISH),
        ("Nous avons déjà parlé de cela avec elle", Language.FRENCH),
        ("No me gusta el café sin azúcar", Language.SPANISH),
        ("wat is het wachtwoord van de printer", Language.DUTCH),
        ("Jag tycker inte om den här boken", Language.SWEDISH),
        ("deployment pipeline", Language.ENGLISH),
    ],
)
def test_the_language_is_guessed(text: str, language: Language) -> None:
    assert Analyser().document(text).languages[0] is language


def test_an_english_word_in_another_language_has_its_english_stem() -> None:
    analyser = Analyser()
    held = analyser.document("Nie wiem, czy te deployments są już gotowe").stems.split()
    assert set(analyser.query("deployment").terms[0].stems) & set(held)


@pytest.mark.parametrize(
    ("text", "phrases", "excluded", "prefixes"),
    [
        ('"two words" more', (("two", "words"),), (), ()),
        ("„zwei Wörter“ mehr", (("zwei", "worter"),), (), ()),
        ("«два слова»", (("два", "слова"),), (), ()),
        ("「東京都」", (("東", "京", "都"),), (), ()),
        ('"getUserName now"', (("getusername", "now"),), (), ()),
        ('a 5" and a 6" screen', (), (), ()),
        ('"unclosed words', (), (), ()),
        ("rust -game", (), (("game",),), ()),
        ('rust -"video game"', (), (("video", "game"),), ()),
        ("动物 -猫", (), (("猫",),), ()),
        ("rm -rf", (), (), ()),
        ("temperature -5", (), (), ()),
        ("git --force", (), (), ()),
        ("-only -these", (), (), ()),
        ("deploy*", (), (), ("deploy",)),
        ("get_us*", (), (), ("getus", "us")),
        ("książ*", (), (), ("ksiaz",)),
        ("a*", (), (), ()),
        ("*", (), (), ()),
        ("**bold**", (), (), ()),
    ],
)
def test_commands_of_a_typed_question(
    text: str, phrases: tuple[tuple[str, ...]], excluded: tuple[tuple[str, ...]], prefixes: tuple[str, ...]
) -> None:
    query = Analyser().query(text)
    assert (query.phrases, query.excluded, query.prefixes) == (phrases, excluded, prefixes)


def test_the_words_of_a_phrase_are_asked_for_and_what_is_excluded_is_not() -> None:
    query = Analyser().query('"amber basil" cedar -delta')
    assert exact(query) == ["amber", "basil", "cedar"]


def test_a_question_of_nothing_but_exclusions_asks_for_them() -> None:
    assert exact(Analyser().query("-only -these")) == ["only", "these"]


def test_commands_in_a_pasted_text_are_punctuation() -> None:
    pasted = Analyser().query(("word " * 30) + '"two words" -game')
    assert (pasted.phrases, pasted.excluded) == ((), ())
    assert "game" in exact(pasted)


def test_words_without_content_are_quiet_beside_others() -> None:
    query = Analyser().query("what is the password")
    assert [term.word for term in query.terms] == ["password"]
    assert [term.word for term in query.quiet] == ["what", "is", "the"]
    assert [term.word for term in Analyser().query("to be or not to be").terms] == ["to", "be", "or", "not"]


def test_a_question_is_bounded() -> None:
    query = Analyser().query(" ".join(f"word{number}" for number in range(5_000)))
    assert len(query.terms) == 200
