"""Facts of a conversation by rules alone: no model, the same answer everywhere. Pure.

A sentence is a fact when something in it speaks for one (a choice, a rule, a state, a property of somebody, something done at
a time) and nothing against it (a question, a doubt, a task, small talk, trouble of the moment). Of an assistant only what it
recommended, did or found out counts. A sentence stands as it was said, after the name of whoever said it where there is one; one
that leans on the sentence before it takes that one along. What is not sure stays out: the source is searched, too.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator
from datetime import date
from itertools import islice

import msgspec

from loomem.core.analyse.languages import LATIN, Language, guess, votes
from loomem.core.extract import signs
from loomem.core.extract.accept import accept
from loomem.core.extract.dated import Dated, dated
from loomem.core.extract.values import Accepted, Candidate, Extracted, ExtractSettings, Topic
from loomem.core.knowledge import FactType
from loomem.core.transcript import SpeakerRole, Transcript, Utterance
from loomem.core.transcript.names import role_of
from loomem.core.transcript.recalled import blanked, blanks
from loomem.core.transcript.sentences import Sentence, sentences

EXPLICIT, STATED, INFERRED = 0.9, 0.8, 0.65
"""How sure a rule is: of a choice or a date in so many words, of a statement, of what looks like one."""
SENTENCE_CHARS = 600
"""A longer one is no sentence, but a list, a log or code."""
SENTENCES_LIMIT = 20_000
"""Of a conversation; what is said after them is left to the source."""
_WORDS = 3
_WIDE_CHARS = 6
_BLOCKS = re.compile(r"(?:^|\n)[ \t]*(```|~~~).*?(?:\n[ \t]*\1|\Z)|(?:^|\n)[ \t]*>[^\n]*", re.DOTALL)
"""Code and quotations: nobody said it here, no more than what was recalled."""
_QUESTION = re.compile(r"[?？؟]\W*$")
_WORD = re.compile(r"[^\W\d_][\w'’-]*")
_ASIDE = re.compile(r"^[\W_]*[\[<(‹][^\]>)]*[\]>)›]\W*$")
"""What a program says of a picture, or of itself."""
_WIDE = re.compile(r"[\u2e80-\u9fff\uac00-\ud7af]")
_CODE = re.compile(
    r"[{};=]{2}|[;{]$|^\s*(?:def|class|import|from|return|const|let|var|if|for|SELECT|INSERT|\$|>>>)\b.*[(;:={]|^[\w./-]+\(.*\)$|https?://\S+$"
)


class _Heard(msgspec.Struct, frozen=True):
    """A sentence and who says it."""

    said: Utterance
    sentence: Sentence
    before: Sentence | None
    low: str
    signs: tuple[signs.Signs, ...]


def offline(transcript: Transcript, *, conversation_date: date | None, settings: ExtractSettings) -> list[Extracted]:
    """Return the facts of a conversation, in order (`read`)."""
    return list(read(transcript, conversation_date=conversation_date, settings=settings).facts)


def read(transcript: Transcript, *, conversation_date: date | None, settings: ExtractSettings) -> Accepted:
    """Return the facts of a conversation, in order, and what was left out; a text in which nobody is said to speak is read as what one person said.

    `conversation_date` is the day, where the speakers are, that "yesterday" is counted from; without it, and without times
    in the conversation, such words stay unresolved.
    """
    left = SENTENCES_LIMIT
    found: list[Candidate] = []
    for said in transcript.utterances or transcript.whole:
        heard = list(islice(_heard(said), left))
        found += _of_utterance(said, heard, conversation_date, settings)
        left -= len(heard)
    return accept(found, settings, attributable=transcript.has_roles)


def _heard(said: Utterance) -> Iterator[_Heard]:
    """Tell the sentences of an utterance; none of a system or a tool."""
    if said.role is SpeakerRole.OTHER and role_of(said.speaker or "") is SpeakerRole.OTHER:
        return
    text = _BLOCKS.sub(lambda match: blanks(match[0]), blanked(said.text))
    tables = _tables(text)
    before: Sentence | None = None
    for sentence in sentences(text):
        if len(sentence.text) <= SENTENCE_CHARS:
            yield _Heard(said, sentence, before, _folded(sentence.text), tables)
        before = sentence if len(sentence.text) <= SENTENCE_CHARS else None


def _of_utterance(
    said: Utterance, sentences: list[_Heard], day: date | None, settings: ExtractSettings
) -> Iterator[Candidate]:
    anchor = day if said.at is None else said.at.date()
    place = _Place(said)
    for heard in sentences:
        over = any(table.past.search(heard.low) for table in heard.signs)
        dates = dated(heard.sentence.text, anchor, over=over)
        kind, confidence = _kind(heard, dates)
        if kind is not None:
            yield _candidate(heard, kind, confidence, dates, place, settings)


def _candidate(
    heard: _Heard, kind: FactType, confidence: float, dates: Dated | None, place: _Place, settings: ExtractSettings
) -> Candidate:
    said, sentence = heard.said, heard.sentence
    start = heard.before.start if heard.before is not None and _leans(heard) else sentence.start
    words = " ".join(said.text[start : sentence.end].split())
    named = said.speaker is not None and said.role is not SpeakerRole.USER
    return Candidate(
        content=f"{said.speaker}: {words}" if named else words,
        key=_topic(heard.low, settings.topics) or kind,
        subject=_subject(said),
        event_date=None if dates is None or dates.day is None else dates.day.isoformat(),
        event_context=None if dates is None else dates.words,
        attributed_to=None if said.role is None else said.role.value,
        confidence=confidence,
        byte_start=place.at(start),
        byte_end=place.at(sentence.end),
    )


# --- what it is -------------------------------------------------------------------------------------------------------


def _kind(heard: _Heard, dates: Dated | None) -> tuple[FactType | None, float]:
    """Return what kind of fact a sentence is and how sure that is; None for no fact."""
    text = heard.sentence.text
    nothing = None, 0.0
    if not _says_enough(text) or _QUESTION.search(text) or _CODE.search(text) or _ASIDE.search(text):
        return nothing
    if not heard.signs:
        return nothing if heard.said.role is SpeakerRole.ASSISTANT else _elsewhere(heard.low, dates)
    for table in heard.signs:
        kind, confidence = _by_signs(heard, table, dates)
        if kind is not None:
            return kind, confidence
    return nothing


def _by_signs(heard: _Heard, table: signs.Signs, dates: Dated | None) -> tuple[FactType | None, float]:
    low, nothing = heard.low, (None, 0.0)
    if heard.said.role is SpeakerRole.ASSISTANT:
        if table.doubt.search(low) or not table.commitment.search(low):
            return nothing
        return _typed(heard, table, dates) or FactType.PROJECT_STATE, STATED
    standing = table.standing.search(low) is not None
    if table.doubt.search(low) or table.trouble.search(low) or (table.task.search(low) and not standing):
        return nothing
    if dates is None and not standing and table.feeling.search(low):
        return nothing
    if _is_talk(low, table) or (heard.before is None and _leans_on_nothing(low, table)):
        return nothing
    kind = _typed(heard, table, dates)
    if kind is None and standing:
        kind = FactType.PREFERENCE
    if kind is None:
        return nothing
    if dates is not None or kind in (FactType.PREFERENCE, FactType.EXPERIENCE):
        return kind, EXPLICIT
    named = any(pattern.search(low) for _, pattern in table.kinds)
    return kind, STATED if named and table.first.search(low) else INFERRED


def _typed(heard: _Heard, table: signs.Signs, dates: Dated | None) -> FactType | None:
    low = heard.low
    found = next((kind for kind, pattern in table.kinds if pattern.search(low)), None)
    did = table.past.search(low) is not None
    personal = table.first.search(low) is not None or heard.said.role is SpeakerRole.OTHER
    if dates is not None and did and dates.before and found in (None, FactType.FACT, FactType.PROJECT_STATE):
        return FactType.EVENT if personal or found is None else found
    if found is None and did and table.first.search(low) and len(_WORD.findall(low)) > _WORDS + 2:
        return FactType.FACT
    return found


def _elsewhere(low: str, dates: Dated | None) -> tuple[FactType | None, float]:
    """Return what a sentence is in a language without rules of its own."""
    if signs.ELSEWHERE_DOUBT.search(low) or signs.ELSEWHERE_TASK.search(low):
        return None, 0.0
    did = signs.ELSEWHERE_PAST.search(low) is not None
    for kind, pattern in signs.ELSEWHERE.items():
        if pattern.search(low):
            return kind, STATED if kind is FactType.PREFERENCE else INFERRED
    return (
        (FactType.EVENT, INFERRED) if did and dates is not None else (FactType.FACT, INFERRED) if did else (None, 0.0)
    )


def _is_talk(low: str, table: signs.Signs) -> bool:
    """Say whether a sentence is small talk: it begins so, and little follows that is of anybody's own."""
    match = table.talk.match(low.lstrip("¡¿ "))
    return match is not None and (
        len(_WORD.findall(low[match.end() :])) <= _WORDS or not table.first.search(low[match.end() :])
    )


def _leans(heard: _Heard) -> bool:
    return any(table.leaning.match(heard.low) for table in heard.signs) and not (
        heard.before is None
        or _QUESTION.search(heard.before.text)
        or any(_is_talk(_folded(heard.before.text), table) for table in heard.signs)
    )


def _leans_on_nothing(low: str, table: signs.Signs) -> bool:
    return table.leaning.match(low) is not None


def _says_enough(text: str) -> bool:
    return len(_WORD.findall(text)) >= _WORDS or len(_WIDE.findall(text)) >= _WIDE_CHARS


# --- words ------------------------------------------------------------------------------------------------------------


def _tables(text: str) -> tuple[signs.Signs, ...]:
    """Return the rules of the languages a text is likely in; none for one without rules."""
    words = _WORD.findall(text)
    # The letters of a name say where it is from: of "I moved to Kraków" the other words tell the language.
    counts = _votes(word for at, word in enumerate(words) if not (at and word[0].isupper())) or _votes(words)
    if not counts:
        return tuple(signs.OF_LANGUAGE.values()) if words and not _WIDE.search(text) and text.isascii() else ()
    return tuple(signs.OF_LANGUAGE[language] for language in guess(counts) if language in signs.OF_LANGUAGE)


def _votes(words: Iterable[str]) -> dict[Language, int]:
    counts: dict[Language, int] = {}
    for word in words:
        for language, count in votes(word.lower()):
            if language in LATIN:
                counts[language] = counts.get(language, 0) + count
    return counts


def _topic(low: str, topics: tuple[Topic, ...]) -> str | None:
    """Return the topic of the settings whose name a sentence holds."""
    for topic in topics:
        names = {topic.name, topic.key.replace("_", " ")}
        if any(re.search(rf"\b{re.escape(name.casefold())}", low) for name in names if name.strip()):
            return topic.key
    return None


def _subject(said: Utterance) -> str | None:
    match said.role:
        case SpeakerRole.USER:
            return said.speaker if role_of(said.speaker or "") is None else "user"
        case SpeakerRole.OTHER:
            return said.speaker
        case _:
            return None


def _folded(text: str) -> str:
    return unicodedata.normalize("NFC", text).lower().replace("’", "'")


class _Place:
    """Where characters of an utterance stand in the bytes of its source; cheap when asked for one near the last."""

    def __init__(self, said: Utterance) -> None:
        self._text = said.text
        self._char, self._byte = 0, said.byte_start

    def at(self, char: int) -> int:
        near, far = sorted((self._char, char))
        between = len(self._text[near:far].encode("utf-8", "surrogatepass"))
        self._byte += between if char > self._char else -between
        self._char = char
        return self._byte
