"""What somebody types, as terms, phrases, prefixes and exclusions. Any text is a question; nothing here can fail. Pure.

In a short question `"two words"` asks for a phrase, `-word` and `-"two words"` exclude, `word*` asks for a beginning. A
longer text is pasted, not typed: there quotes and dashes are punctuation. `-5` and `-rf` are a number and a flag, `--x`
is a flag, and a question that excludes everything it names asks for it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

import msgspec

from loomem.core.analyse.characters import IDEOGRAPH, classes, clean, fold
from loomem.core.analyse.languages import Language, Stems, guess, is_stop, votes
from loomem.core.analyse.pieces import Kind, Piece, chunks, pieces

TYPED_LIMIT = 24
"""Chunks of a question in which quotes and dashes are commands."""
TERMS_LIMIT = 200
"""Different terms of a question that count; the first ones."""
LENGTH_LIMIT = 20_000
"""Characters of a question that are looked at."""
WEIGHTS = {
    Kind.WORD: 1.0,
    Kind.PART: 1.0,
    Kind.CHARACTER: 0.1,
    Kind.SIGN: 1.0,
    Kind.WHOLE: 1.0,
    Kind.CAMEL: 0.5,
    Kind.PAIR: 1.0,
    Kind.SYLLABLE: 0.0,
}
QUIET_WEIGHT = 0.15
"""Of a word without content, beside words with content."""
REPEATED_LIMIT = 3
"""How often a repeated word counts."""

_QUOTED = re.compile(
    r"""(-?)(?:(?<![0-9A-Za-z])"([^"]+)"(?![0-9A-Za-z])|[“„]([^“”„]+)[”“]|«([^«»]+)»|「([^「」]+)」|『([^『』]+)』)"""
)
_EXCLUDED = re.compile(r"-(?=[^\W\d_])(?P<word>[a-zA-Z]{3}.*|[^a-zA-Z].*)", re.DOTALL)
_PREFIX = re.compile(r"(?P<word>[^*]*\w)\*+", re.DOTALL)
_PREFIX_MIN = 2


class Term(msgspec.Struct, frozen=True):
    """One word of a question, with what stands for it in an index. Any of them will do."""

    word: str | None
    """Among the words of a document."""
    stems: tuple[str, ...]
    """Among the stems of a document."""
    weight: float


class TextQuery(msgspec.Struct, frozen=True):
    """A question to an index of words. Without terms and prefixes it asks for nothing."""

    terms: tuple[Term, ...] = ()
    """The words, those of phrases too, each once."""
    quiet: tuple[Term, ...] = ()
    """Words without content, beside others that have some: they order what those find, and find nothing."""
    prefixes: tuple[str, ...] = ()
    phrases: tuple[tuple[str, ...], ...] = ()
    """Words that stand side by side, wanted all."""
    excluded: tuple[tuple[str, ...], ...] = ()
    """Words, or words side by side, that must not occur."""
    languages: tuple[Language, ...] = ()
    """What the question is likely written in."""


class _Read(msgspec.Struct):
    """A question as it is read: what is asked for in words, and the commands in it."""

    plain: list[str]
    phrases: list[str]
    excluded: list[str]
    prefixes: list[str]


def parse(text: str, stems: Stems, languages: Iterable[Language] = ()) -> TextQuery:
    """Return the question that a text asks. Words are also stemmed as some languages do: those the documents are in."""
    text = clean(text[:LENGTH_LIMIT])
    read = _read(text) if len(text.split()) <= TYPED_LIMIT else _Read([text], [], [], [])
    found = _pieces_of(read.plain)
    prefixes = tuple(dict.fromkeys(form for word in read.prefixes for form in _prefix_forms(word)))
    if not found and not prefixes:
        found = _pieces_of([text])  # nothing is asked for but what is excluded
        read = _Read([], [], [], [])
    guessed = _guess(found)
    terms, quiet = _terms(found, stems, guessed, tuple(dict.fromkeys((*guessed, *languages))))
    return TextQuery(
        terms=terms,
        quiet=quiet,
        prefixes=prefixes,
        phrases=tuple(words for phrase in read.phrases if len(words := _in_order(phrase)) > 1),
        excluded=tuple(words for part in read.excluded if (words := _in_order(part))),
        languages=guessed,
    )


def _read(text: str) -> _Read:
    read = _Read([], [], [], [])

    def quoted(match: re.Match[str]) -> str:
        inside = next(group for group in match.groups()[1:] if group is not None)
        if match[1]:
            read.excluded.append(inside)
            return " "
        read.phrases.append(inside)
        return f" {inside} "

    for chunk in chunks(_QUOTED.sub(quoted, text)):
        if match := _EXCLUDED.fullmatch(chunk):
            read.excluded.append(match["word"])
        elif (match := _PREFIX.fullmatch(chunk)) and _prefix_forms(match["word"]):
            read.prefixes.append(match["word"])
        else:
            read.plain.append(chunk)
    return read


def _pieces_of(texts: Iterable[str]) -> list[Piece]:
    return [piece for text in texts for chunk in chunks(text) for piece in pieces(chunk)]


def _in_order(text: str) -> tuple[str, ...]:
    """Return the words of a text as they follow each other in an index."""
    return tuple(fold(piece) for kind, piece in _pieces_of([text]) if kind <= Kind.SIGN)


def _prefix_forms(word: str) -> tuple[str, ...]:
    """Return the beginnings that a word with an asterisk stands for; none when it is too short to say anything."""
    found = [fold(piece) for kind, piece in pieces(word) if kind in (Kind.WORD, Kind.PART, Kind.WHOLE)]
    return tuple(form for form in found[:1] + found[-1:] if len(form) >= _PREFIX_MIN or not form.isascii())


def _guess(found: Iterable[Piece]) -> tuple[Language, ...]:
    counts: dict[Language, int] = {}
    for kind, piece in found:
        if kind <= Kind.PART:
            for language, count in votes(piece):
                counts[language] = counts.get(language, 0) + count
    return guess(counts)


def _terms(
    found: Iterable[Piece], stems: Stems, guessed: tuple[Language, ...], languages: tuple[Language, ...]
) -> tuple[tuple[Term, ...], tuple[Term, ...]]:
    """Return the terms that find, and the quiet ones."""
    counts: dict[Piece, int] = {}
    for piece in found:
        if _weight(piece) and (piece in counts or len(counts) < TERMS_LIMIT):
            counts[piece] = min(counts.get(piece, 0) + 1, REPEATED_LIMIT)
    silent = (*guessed, Language.ENGLISH)
    quiet = {piece for piece in counts if piece.kind <= Kind.PART and is_stop(piece.text, silent)}
    if len(quiet) == len(counts):
        quiet.clear()
    return (
        tuple(_term(piece, stems, languages, count) for piece, count in counts.items() if piece not in quiet),
        tuple(Term(fold(piece.text), (), QUIET_WEIGHT * counts[piece]) for piece in counts if piece in quiet),
    )


def _weight(piece: Piece) -> float:
    if piece.kind is Kind.CHARACTER and not (classes(piece.text[0]) == IDEOGRAPH and ord(piece.text[0]) > 0x3100):
        return 0.0  # a kana or a Thai letter says nothing beside its pairs
    return WEIGHTS[piece.kind]


def _term(piece: Piece, stems: Stems, languages: tuple[Language, ...], times: int) -> Term:
    kind, text = piece
    weight, folded = _weight(piece) * times, fold(text)
    match kind:
        case Kind.CHARACTER | Kind.SIGN:
            return Term(folded, (), weight)
        case Kind.PAIR | Kind.SYLLABLE:
            return Term(None, (folded,), weight)
        case _:
            return Term(folded, stems.of(text, languages), weight)
