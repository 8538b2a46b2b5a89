"""A document as the terms that an index holds. Pure; an `Analyser` keeps what it worked out for the next text."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from loomem.core.analyse.characters import clean, fold
from loomem.core.analyse.languages import Language, Stems, Votes, guess, is_stop, votes
from loomem.core.analyse.pieces import TOKEN_LIMIT, Kind, chunks, is_plain, pieces
from loomem.core.analyse.queries import TextQuery, parse

_REMEMBERED = 40_000
"""Chunks whose pieces are kept, about 250 bytes each: natural text says the same words again."""
_REMEMBERED_LENGTH = 32
_PUNCTUATION = '.,;:!?"()[]{}*`'
"""Around a chunk it says nothing, and the same word without it is known already."""
_GUESSED = 100
"""Chunks of a text that its language is guessed from."""


class Terms(msgspec.Struct, frozen=True, gc=False):
    """What an index holds of a text: terms with a space between, as none has a space inside."""

    words: str
    """Whole words and single characters, folded, in the order of the text."""
    stems: str
    """Stems of words and of whole identifiers, pairs of characters; none of a word without content."""
    languages: tuple[Language, ...]


class _Chunk(msgspec.Struct):
    words: str
    stemmed: tuple[str, ...] | None
    """To be stemmed; None: the words, which are one."""
    as_is: tuple[str, ...]
    votes: Votes
    languages: tuple[Language, ...] = ()
    """Whose stems were asked for last."""
    stems: str = ""


class Analyser:
    """Takes texts apart. One for each thread."""

    def __init__(self) -> None:
        self._stemmers = Stems()
        self._chunks: dict[str, _Chunk] = {}

    def document(self, text: str) -> Terms:
        """Return the terms of any text."""
        parts = [chunk.strip(_PUNCTUATION) for chunk in chunks(clean(text))]
        known = self._chunks.get
        found = [known(part) or self._chunk(part) for part in parts]
        languages = _guess(found)
        stems = [chunk.stems if chunk.languages == languages else self._stems_of(chunk, languages) for chunk in found]
        return Terms(" ".join([chunk.words for chunk in found]), " ".join(stems), languages)

    def query(self, text: str, languages: Iterable[Language] = ()) -> TextQuery:
        """Return the question that any text asks of documents that are likely in some languages."""
        return parse(text, self._stemmers, languages)

    def _stems_of(self, chunk: _Chunk, languages: tuple[Language, ...]) -> str:
        stems = list(chunk.as_is)
        for word in (chunk.words,) if chunk.stemmed is None else chunk.stemmed:
            if not is_stop(word, languages):
                stems += self._stemmers.of(word, languages)
        chunk.languages = languages
        chunk.stems = stems[0] if len(stems) == 1 else " ".join(stems)
        return chunk.stems

    def _chunk(self, text: str) -> _Chunk:
        found = _take_apart(text)
        if len(text) <= _REMEMBERED_LENGTH:
            if len(self._chunks) >= _REMEMBERED:
                self._chunks.clear()
            self._chunks[text] = found
        return found


def _guess(found: list[_Chunk]) -> tuple[Language, ...]:
    counts: dict[Language, int] = {}
    for votes_of_one in [chunk.votes for chunk in found[:_GUESSED] if chunk.votes]:
        for language, count in votes_of_one:
            counts[language] = counts.get(language, 0) + count
    return guess(counts)


def _take_apart(text: str) -> _Chunk:
    if is_plain(text):
        word = text.lower()[:TOKEN_LIMIT]
        return _Chunk(word, None, (), votes(word))
    words: list[str] = []
    stemmed: list[str] = []
    as_is: list[str] = []
    counts: list[tuple[Language, int]] = []
    for kind, piece in pieces(text):
        if kind <= Kind.SIGN:
            words.append(fold(piece))
        if kind in (Kind.PAIR, Kind.SYLLABLE):
            as_is.append(fold(piece))
        elif kind not in (Kind.CHARACTER, Kind.SIGN):
            stemmed.append(piece)
        if kind <= Kind.PART:
            counts += votes(piece)
    return _Chunk(" ".join(words), tuple(stemmed), tuple(as_is), tuple(counts))
