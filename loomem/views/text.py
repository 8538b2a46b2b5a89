"""The view of words: which texts a question's words stand in, and how well, by BM25. A tantivy index in memory.

Puts and removals are taken at once and become searchable together, a few milliseconds later, in a thread: one writer, so
a burst costs one commit. What is removed is out of every answer at once. Queries are built of terms, never parsed, and the
places that may be seen are a filter inside the query, so nothing else is ever scored.
Deliberately absent: what a text is (the caller has a number for each), other arms of a search, any file.
"""

from __future__ import annotations

import asyncio
import logging
import re
import time
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping, Sequence
from typing import Protocol, Self

import msgspec
import tantivy
from tantivy import Occur, Query

from loomem.companion import Companion
from loomem.core.analyse import Analyser, Language, Term, Terms, TextQuery

log = logging.getLogger(__name__)

TIDIED_S = 0.001
"""After a commit tantivy tidies its files under the lock that reading them anew needs; who finds it taken waits for 100 ms."""
PAUSE_S = 0.004
"""How long the first change of a burst waits for the others."""
BATCH_LIMIT = 5_000
"""Changes in one commit."""
ASK_FROM = 200
"""Texts of one commit from which on it is asked whether they are known."""
HEAP_BYTES = 15_000_000
"""Of the writer, the least tantivy takes. More gives fewer segments, not speed."""
WORD_WEIGHT = 0.4
STEM_WEIGHT = 0.6
"""A word found as it was asked for counts both; only its stem, the second."""
PREFIX_WEIGHT = 3.0
"""What a beginning counts where it is found: about as much as a word in one of a hundred texts."""
LANGUAGES_LIMIT = 6
"""Languages of the texts whose stems a question is asked in."""
LANGUAGE_SHARE = 0.05
"""Of the texts, that a language must have for that: a language guessed by mistake brings stems that mean other words."""

_WORD = re.compile(r"\w+")
_WORDS, _STEMS, _PLACE, _IDENT = "words", "stems", "place", "ident"


class Hit(msgspec.Struct, frozen=True):
    """A text that a question found."""

    ident: int
    score: float
    """BM25; comparable within one answer only."""


class Status(msgspec.Struct, frozen=True, kw_only=True):
    """How the index is, for health."""

    texts: int
    segments: int
    pending: int
    """Changes that are not searchable yet."""
    commit_ms: float
    """The last commit."""
    stumbled: int
    """Texts that could not be taken apart, and are found by their plain words alone."""


Source = tuple[str, int]
"""By which a text is known beyond this process, and its revision."""


class Analysed(Protocol):
    """Texts that were taken apart before, by this process or another. Asked and told in the thread that commits."""

    def known(self, sources: Sequence[Source]) -> Mapping[Source, Terms]:
        """Return the terms of those that are known."""
        ...

    def learn(self, terms: Mapping[Source, Terms]) -> None:
        """Remember the terms of some."""
        ...


class Reader(Protocol):
    """Takes documents apart."""

    def document(self, text: str) -> Terms:
        """Return the terms of a text."""
        ...


class _Text(msgspec.Struct, frozen=True):
    place: str
    text: str
    source: Source | None


class Text:
    """The words of the texts that were put, while the context is open."""

    def __init__(
        self,
        *,
        pause_s: float = PAUSE_S,
        after: Callable[[], Awaitable[None]] | None = None,
        analysed: Analysed | None = None,
        reading: Reader | None = None,
    ) -> None:
        """Begin to index when `after` returns; what is put until then waits. `analysed` spares taking known texts apart."""
        self._analysed = analysed
        self._pause_s = pause_s
        self._after = after
        self._schema = _schema()
        self._index = tantivy.Index(self._schema)
        self._index.register_tokenizer("spaces", tantivy.TextAnalyzerBuilder(tantivy.Tokenizer.whitespace()).build())
        self._writer = self._index.writer(heap_size=HEAP_BYTES, num_threads=1)
        self._searcher = self._index.searcher()
        self._reading = reading or Analyser()
        """Of documents, in the thread that commits."""
        self._stumbled: set[int] = set()
        """Texts that it could not take apart."""
        self._asking = Analyser()
        self._pending: dict[int, _Text | None] = {}
        """What is to be done for each number, the last one only; None removes."""
        self._gone: set[int] = set()
        """Removed, and maybe still in the index."""
        self._languages: dict[Language, int] = {}
        self._taken = 0
        self._searchable = 0
        self._changed = asyncio.Event()
        self._waiting: list[tuple[int, asyncio.Future[None]]] = []
        self._companion = Companion()
        self._commit_s = 0.0

    async def __aenter__(self) -> Self:
        await self._companion.start(self._commit_changes(), "index of words")
        return self

    async def __aexit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        await self._companion.stop(error)
        for _, future in self._waiting:
            future.cancel()

    # --- feeding ---

    def put(self, ident: int, place: str, text: str, source: Source | None = None) -> int:
        """Hold a text under a number, in the stead of what the number held; return the mark to `wait` for.

        `source` is by which other processes know this text.
        """
        self._pending[ident] = _Text(place, text, source)
        self._gone.discard(ident)
        return self._take()

    def remove(self, ident: int) -> int:
        """Let go of what a number holds, if anything; return the mark to `wait` for."""
        self._pending[ident] = None
        self._gone.add(ident)
        return self._take()

    async def wait(self, mark: int | None = None) -> None:
        """Return when everything put up to a mark is searchable; without a mark, everything put so far.

        Bounded by whoever calls. Raises: CancelledError, when the view is closed meanwhile.
        """
        mark = self._taken if mark is None else mark
        if self._searchable < mark:
            future = asyncio.get_running_loop().create_future()
            self._waiting.append((mark, future))
            try:
                await future
            finally:
                self._waiting = [(at, other) for at, other in self._waiting if other is not future]

    # --- asking ---

    def query(self, text: str) -> TextQuery:
        """Return the question that a text asks of the texts held, in the languages they are in."""
        return self._asking.query(text, self.languages)

    def search(self, question: TextQuery | str, places: Collection[str] | None, limit: int) -> list[Hit]:
        """Return what a question finds in some places (None: in all), the best first. Texts not yet searchable are not found.

        A phrase that stands nowhere is asked for as its words.
        """
        question = self.query(question) if isinstance(question, str) else question
        if places is not None and not places:
            return []
        hits = self._run(self._built(question, places), limit)
        if not hits and question.phrases:
            hits = self._run(self._built(msgspec.structs.replace(question, phrases=()), places), limit)
        return hits

    def held(self, question: TextQuery, places: Collection[str] | None) -> TextQuery:
        """Return a question as `search` asks it: without its phrases, if they stand nowhere in some places."""
        if not question.phrases or self._run(self._built(question, places), 1):
            return question
        return msgspec.structs.replace(question, phrases=())

    def passing(self, question: TextQuery, idents: Collection[int]) -> set[int]:
        """Return which texts have the phrases of a question and nothing that it excludes, searchable or not yet."""
        found: set[int] = set()
        indexed: list[int] = []
        for ident in idents:
            pending = self._pending.get(ident)
            if pending is None:
                indexed.append(ident)
            elif _passes(question, f" {self._asking.document(pending.text).words} "):
                found.add(ident)
        if indexed:
            parts = [(Occur.Must, Query.term_set_query(self._schema, _IDENT, indexed))]
            parts += [(Occur.Must, self._phrase(words)) for words in question.phrases]
            parts += [(Occur.MustNot, self._phrase(words)) for words in question.excluded]
            found.update(hit.ident for hit in self._run(Query.boolean_query(parts), len(indexed)))
        return found

    @property
    def languages(self) -> tuple[Language, ...]:
        """The languages that many texts are likely in, the most used first."""
        enough = sum(self._languages.values()) * LANGUAGE_SHARE
        often = [language for language, count in self._languages.items() if count >= enough]
        return tuple(sorted(often, key=lambda language: -self._languages[language])[:LANGUAGES_LIMIT])

    @property
    def status(self) -> Status:
        return Status(
            texts=self._searcher.num_docs,
            segments=self._searcher.num_segments,
            pending=len(self._pending),
            commit_ms=round(self._commit_s * 1e3, 1),
            stumbled=len(self._stumbled),
        )

    # --- within: questions ---

    def _run(self, query: Query | None, limit: int) -> list[Hit]:
        if query is None or limit < 1:
            return []
        searcher = self._searcher  # the thread that commits may put another in its place, whose addresses are others
        found = searcher.search(query, limit + len(self._gone), count=False).hits
        idents = searcher.fast_field_values(_IDENT, [address for _, address in found])
        hits = [Hit(int(ident or 0), score) for (score, _), ident in zip(found, idents, strict=True)]
        return [hit for hit in hits if hit.ident not in self._gone][:limit]

    def _built(self, question: TextQuery, places: Collection[str] | None) -> Query | None:
        wanted = [(Occur.Should, part) for term in question.terms for part in self._term(term)]
        wanted += [(Occur.Should, part) for prefix in question.prefixes for part in self._prefix(prefix)]
        if not wanted:
            return None
        parts = [(Occur.Must, Query.boolean_query(wanted))]
        parts += [(Occur.Should, part) for term in question.quiet for part in self._term(term)]
        parts += [(Occur.Must, self._phrase(words)) for words in question.phrases]
        parts += [(Occur.MustNot, self._phrase(words)) for words in question.excluded]
        if places is not None:
            here = [(Occur.Should, Query.term_query(self._schema, _PLACE, place, "basic")) for place in places]
            parts.append((Occur.Must, Query.const_score_query(Query.boolean_query(here), 0.0)))
        return Query.boolean_query(parts)

    def _term(self, term: Term) -> Iterable[Query]:
        if term.word is not None:
            share = WORD_WEIGHT if term.stems else 1.0
            yield Query.boost_query(self._word(term.word), share * term.weight)
        if term.stems:
            share = STEM_WEIGHT if term.word is not None else 1.0
            stems = [Query.term_query(self._schema, _STEMS, stem, "freq") for stem in term.stems]
            best = stems[0] if len(stems) == 1 else Query.disjunction_max_query(stems)
            yield Query.boost_query(best, share * term.weight)

    def _prefix(self, prefix: str) -> Iterable[Query]:
        for field in (_WORDS, _STEMS):
            beginning = Query.fuzzy_term_query(self._schema, field, prefix, distance=0, prefix=True)
            yield Query.const_score_query(beginning, PREFIX_WEIGHT / 2)

    def _phrase(self, words: Sequence[str]) -> Query:
        if len(words) == 1:
            return self._word(words[0])
        return Query.phrase_query(self._schema, _WORDS, list(words))

    def _word(self, word: str) -> Query:
        return Query.term_query(self._schema, _WORDS, word, "freq")

    # --- within: changes ---

    def _take(self) -> int:
        self._taken += 1
        self._changed.set()
        return self._taken

    async def _commit_changes(self) -> None:
        if self._after is not None:
            await self._after()
        while True:
            await self._changed.wait()
            await asyncio.sleep(self._pause_s)
            self._changed.clear()
            while self._pending:
                mark, changes = self._next_batch()
                removed = [ident for ident, text in changes if text is None]
                await asyncio.to_thread(self._commit, changes)
                self._gone.difference_update(ident for ident in removed if ident not in self._pending)
                if mark:
                    self._searchable = mark
                    self._wake()

    def _next_batch(self) -> tuple[int, list[tuple[int, _Text | None]]]:
        """Return some changes to commit, and the mark they reach; 0 while others are left, as their order is mixed."""
        if len(self._pending) <= BATCH_LIMIT:
            changes, self._pending = list(self._pending.items()), {}
            return self._taken, changes
        idents = [ident for ident, _ in zip(self._pending, range(BATCH_LIMIT), strict=False)]
        return 0, [(ident, self._pending.pop(ident)) for ident in idents]

    def _commit(self, changes: Sequence[tuple[int, _Text | None]]) -> None:
        began = time.perf_counter()
        counts: dict[Language, int] = {}
        known = self._known(changes)
        learnt: dict[Source, Terms] = {}
        for ident, text in changes:
            self._writer.delete_documents_by_term(_IDENT, ident)
            self._stumbled.discard(ident)
            if text is not None:
                terms = None if text.source is None else known.get(text.source)
                if (
                    terms is None
                    and (terms := self._taken_apart(ident, text.text)) is not None
                    and text.source is not None
                ):
                    learnt[text.source] = terms
                terms = terms or _plainly(text.text)
                self._writer.add_document(_document(ident, text.place, terms))
                for language in terms.languages:
                    counts[language] = counts.get(language, 0) + 1
        self._writer.commit()
        time.sleep(TIDIED_S)
        self._index.reload()
        self._searcher = self._index.searcher()
        for language, count in counts.items():
            self._languages[language] = self._languages.get(language, 0) + count
        if self._analysed is not None and learnt:
            self._analysed.learn(learnt)
        self._commit_s = time.perf_counter() - began

    def _taken_apart(self, ident: int, text: str) -> Terms | None:
        """Return the terms of a text; None when they cannot be had: one text must not end the words of all others."""
        try:
            return self._reading.document(text)
        except Exception as error:  # noqa: BLE001 - whatever it is
            log.error("event=text_not_analysed number=%d error=%s", ident, type(error).__name__)
            self._stumbled.add(ident)
            return None

    def _known(self, changes: Sequence[tuple[int, _Text | None]]) -> Mapping[Source, Terms]:
        """Return what is known of many texts; a few are taken apart sooner than asked for."""
        if self._analysed is None or len(changes) < ASK_FROM:
            return {}
        return self._analysed.known([text.source for _, text in changes if text is not None and text.source])

    def _wake(self) -> None:
        for mark, future in self._waiting:
            if self._searchable >= mark and not future.done():
                future.set_result(None)


def _passes(question: TextQuery, words: str) -> bool:
    def stands(part: Sequence[str]) -> bool:
        return f" {' '.join(part)} " in words

    return all(map(stands, question.phrases)) and not any(map(stands, question.excluded))


def _plainly(text: str) -> Terms:
    """Return the words of a text as they stand between signs, for one that the analyser stumbles over."""
    words = " ".join(_WORD.findall(text.encode("utf-8", "replace").decode().casefold()))
    return Terms(words, words, ())


def _schema() -> tantivy.Schema:
    builder = tantivy.SchemaBuilder()
    # Signed: deleting by a term of an unsigned field does nothing (tantivy-py 0.27; `test_what_is_removed_...` pins it).
    builder.add_integer_field(_IDENT, indexed=True, fast=True)
    builder.add_text_field(_PLACE, tokenizer_name="raw", index_option="basic")
    builder.add_text_field(_WORDS, tokenizer_name="spaces", index_option="position")
    builder.add_text_field(_STEMS, tokenizer_name="spaces", index_option="freq")
    return builder.build()


def _document(ident: int, place: str, terms: Terms) -> tantivy.Document:
    # Joined by spaces: eight times as fast as a PreTokenizedString, and no term has a space inside.
    document = tantivy.Document()
    document.add_integer(_IDENT, ident)
    document.add_text(_PLACE, place)
    document.add_text(_WORDS, terms.words)
    document.add_text(_STEMS, terms.stems)
    return document
