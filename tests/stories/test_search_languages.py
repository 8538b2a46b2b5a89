"""Search in many languages by the words, where the word is there (by the meaning: test_paraphrases); and every text is a question."""

from __future__ import annotations

import random
import re
import unicodedata
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec
import pytest

from pattern.testing.agents import Agents

DATA = Path(__file__).parents[1] / "data"
LANGUAGES = ("pl", "de", "zh", "ja", "ko", "th", "ar", "ru", "en", "code", "numbers")
HITS = 0.9


@pytest.mark.requirement("search-languages", "lesson-3.14")
@pytest.mark.parametrize("language", LANGUAGES)
async def test_a_question_with_the_word_finds_the_memory(
    agents: Agents, language: str, tell: Callable[[str], None]
) -> None:
    pairs = msgspec.json.decode((DATA / f"words_{language}.json").read_bytes(), type=list[tuple[str, str]])
    assert len(pairs) == 20
    me = await agents()
    others = ("en", "pl", "zh")  # what else is there, as in a real store
    for other in {language, *others}:
        memories = msgspec.json.decode((DATA / f"words_{other}.json").read_bytes(), type=list[tuple[str, str]])
        items = [{"content": memory, "category": "longterm"} for memory, _ in memories]
        await me.call("remember-bulk", memories=items)
    found = 0
    for memory, question in pairs:
        rows = (await me.call("memory_search", query=question, top_k=3))["rows"]
        found += memory in [row["content"] for row in rows]
    tell(f"words, {language}: hit@3 {found / len(pairs):.2f}")
    assert found >= HITS * len(pairs)


# --- every text is a question -----------------------------------------------------------------------------------------

SIGNS = "+-&|!(){}[]^\"~*?:\\/<>=@#$%;,.'`_“”„«»「」『』\t\n\u200b\u200d\ufeff\u202e\0"
STORED = ("quetzal", "Straße", "żółć", "日本語", "한국어", "ไทย", "عربي", "C++17", "foo_bar", "user@example.org", "🦜")
ROUNDS, LONG_ROUNDS = 500, 10_000


def texts(rounds: int) -> Iterator[tuple[str, str | None]]:
    """Questions of any characters, and the stored word that stands in each by itself, if any."""
    chooser = random.Random(7)

    def sign() -> str:
        if chooser.random() < 0.5:
            return chooser.choice(SIGNS)
        while True:
            char = chr(chooser.choice((0, 0, 0, 1, 2, 3, 14, 15, 16)) * 0x10000 + chooser.randrange(0x10000))
            if unicodedata.category(char) != "Cs":
                return char

    for _ in range(rounds):
        left, right = ("".join(sign() for _ in range(chooser.randrange(12))) for _ in range(2))
        if chooser.random() < 0.4:
            yield left + right, None
            continue
        word = chooser.choice(STORED)
        # A dash before quotes excludes what stands in them: that is asked for, and no accident.
        yield re.sub(r"-+(?=[\"“„«「『])", "", f"{left} {word} {right}"), word


@pytest.mark.requirement("search-any-text")
@pytest.mark.timeout(600)
async def test_every_text_is_a_question(agents: Agents, long_form: bool) -> None:
    me = await agents()
    for word in STORED:
        await me.call("remember", content=f"Here stands {word} by itself", category="longterm")
    for number in range(30):
        await me.call("remember", content=f"Something else, number {number}", category="longterm")
    for question, word in texts(LONG_ROUNDS if long_form else ROUNDS):
        found = (await me.call("memory_search", query=question, top_k=20))["rows"]
        if word is not None:
            assert any(word in row["content"] for row in found), (question, word)
    for empty in ("", " ", "\n", "\0", "\u200b"):
        assert (await me.call("memory_search", query=empty))["rows"] == []
        assert not (await me.client.call_tool("recall-context", {"query": empty})).is_error
