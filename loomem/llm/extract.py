"""Facts of a conversation, as the model reads it: in overlapping pieces, each a question of its own.

A piece that fails is told and takes nothing from the others; only when all fail, there is no answer. A piece that was answered
is not asked again by whoever goes on with the same conversation. What the model proposes
goes through the same rules as what our own do (`loomem.core.extract.accept`), after one more: a fact must have its words
from the conversation, or it was made up.
"""

from __future__ import annotations

import logging
import re
import unicodedata
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator, Sequence
from datetime import date
from hashlib import sha256
from typing import Any

import msgspec

from loomem.core.extract import Candidate, Extracted, ExtractSettings, SoFar, accept
from loomem.core.extract.values import UNREAD
from loomem.core.knowledge import FactType
from loomem.core.llm import Fault, LlmSettings, ModelFailed, Models, Question, Use
from loomem.core.transcript import Transcript, Utterance
from loomem.core.transcript.recalled import without_recalled
from loomem.llm.prompts import Piece, framed, rules

log = logging.getLogger(__name__)

CHARS_PER_TOKEN = 4
OVERLAP = 10
"""A tenth of a piece is in the one before too."""
PIECES_LIMIT = 200
NAME_CHARS = 24
MADE_UP = "made up"
SUPPORT = 0.3
"""Of the words of a fact, those that must stand in the conversation."""
_NEAR = 200
"""Characters before the end of a piece in which a line is looked for to end it with."""

_TYPES = {
    FactType.PREFERENCE: "a choice, an opinion, a decision",
    FactType.PROJECT_STATE: "the current status, deadline or blocker of ongoing work",
    FactType.FACT: "something biographical or timeless",
    FactType.EVENT: "a dated personal experience: somebody did, attended or found something at a time. Preferred to `fact` "
    "whenever a personal action has a time; needs event_date",
    FactType.EXPERIENCE: "a lesson, procedure or anti-pattern that holds elsewhere too",
}
_RULES = """\
You read a conversation and write down the facts in it that are worth remembering for months.

- Each fact is one sentence that is understood without the conversation: names instead of pronouns.
- Take: preferences, decisions, facts about people, states of projects, deadlines, contacts, technical decisions, lessons, dated \
experiences; and what the assistant committed to: a recommendation it made, a plan or schedule it created, an action it took, a \
question it researched.
- Leave out: greetings, small talk, questions without an answer, what somebody is not sure of, action items, states of \
debugging, summaries, menus of options, general tips, background, and what only echoes somebody else. Leave out what the \
conversation quotes from an earlier memory.
- Where something changed, say what it was before and what it is now.
- Do not put general knowledge in the place of a personal action with a date.
- Keep the language in which it was said, its spelling of names, and its diacritics. Never translate.
- Invent nothing: every name and number of a fact stands in the conversation.
- event_date: the day on which it happened, YYYY-MM-DD, worked out from the date of the conversation when the words are relative; \
null when the conversation gives no date or the words are vague. event_date_context: those words as they stand there.
- subject: whom or what the fact is about; null when nobody is named.
- confidence: 0.9 or more when it was said outright, 0.6 to 0.8 when it follows, below 0.5 when you are not sure.
- attributed_to: "user" or "assistant", whose words it is taken from; null unless the lines say who speaks.
- At most {most} facts, the most important ones. None at all is a good answer too.

fact_type is exactly one of:
{types}

The conversation took place {when}.
Answer with JSON alone: {{"facts": [...]}}
"""


class Extraction(msgspec.Struct, frozen=True, kw_only=True):
    """What the model found in a conversation."""

    facts: tuple[Extracted, ...]
    dropped: dict[str, int]
    """How many proposals are no facts, by reason."""
    pieces: int
    failures: tuple[ModelFailed, ...]
    """Of the pieces that gave nothing; fewer than there are pieces."""
    model: str


Keep = Callable[[SoFar], Awaitable[None]]
"""Is told after each piece, answered or not, what there is so far."""


class _Said(msgspec.Struct, kw_only=True):
    """A fact as the model writes it."""

    content: str
    fact_type: str = FactType.FACT
    subject: str | None = None
    event_date: str | None = None
    event_date_context: str | None = None
    attributed_to: str | None = None
    confidence: float = 0.0


class _Facts(msgspec.Struct):
    facts: list[_Said]


async def extract(
    models: Models,
    text: str,
    transcript: Transcript,
    *,
    conversation_date: date | None,
    settings: ExtractSettings,
    llm: LlmSettings,
    so_far: SoFar = UNREAD,
    keep: Keep | None = None,
) -> Extraction:
    """Return the facts of a conversation; `text` is the source, `transcript` the same taken apart.

    `so_far`: what was kept of an earlier reading, whose pieces are not asked again if nothing changed since. `keep` is told
    after each piece.

    Raises: ModelFailed, when no piece of it was answered; what `keep` raises.
    """
    asking = _Asking(models, text, transcript, conversation_date, settings, llm)
    pieces = asking.pieces
    if not {piece.name for piece in pieces}.issuperset(so_far.answered):
        so_far = UNREAD  # of other pieces, or by another model
    failures: list[ModelFailed] = []
    for at, piece in enumerate(pieces):
        if piece.name in so_far.answered:
            continue
        try:
            so_far = await asking.ask(piece, so_far)
        except ModelFailed as failed:
            log.warning("event=extraction_piece_failed piece=%d of=%d kind=%s", at + 1, len(pieces), failed.kind)
            failures.append(failed)
            if failed.fault in (Fault.OFF, Fault.BUDGET):  # the others would hear the same
                failures += [failed for other in pieces[at + 1 :] if other.name not in so_far.answered]
                break
        if keep is not None:
            await keep(so_far)
    if failures and not so_far.answered:
        raise failures[0]
    return Extraction(
        facts=so_far.facts,
        dropped=dict(so_far.dropped),
        pieces=len(pieces),
        failures=tuple(failures),
        model=models.name(Use.EXTRACT),
    )


class _Part(msgspec.Struct, frozen=True):
    """A piece of a conversation."""

    number: int
    text: str
    name: str
    """Of the whole question about it: the same name, the same question to the same model."""


class _Asking:
    """Asks about the pieces of one conversation."""

    def __init__(
        self,
        models: Models,
        text: str,
        transcript: Transcript,
        conversation_date: date | None,
        settings: ExtractSettings,
        llm: LlmSettings,
    ) -> None:
        self._models = models
        self._settings = settings
        self._llm = llm
        self._attributable = transcript.has_roles
        self._sources = Sources(text, transcript.utterances)
        self._rules = rules(_rules(settings, conversation_date))
        texts = cut(heard(text, transcript), llm.transcript_tokens * CHARS_PER_TOKEN)
        self.pieces = [_Part(number, piece, self._named(piece)) for number, piece in enumerate(texts, 1)]

    def _named(self, piece: str) -> str:
        asked = "\0".join((self._models.name(Use.EXTRACT), self._rules, piece))
        return sha256(asked.encode("utf-8", "surrogatepass")).hexdigest()[:NAME_CHARS]

    async def ask(self, piece: _Part, so_far: SoFar) -> SoFar:
        """Return what there is with what the model finds in one piece. Raises: ModelFailed."""
        answer = await self._models.ask(
            Question(
                use=Use.EXTRACT,
                rules=self._rules,
                given=framed([Piece(f"conversation-{piece.number}", piece.text)]),
                schema=schema(self._settings),
                answer_tokens=self._llm.answer_tokens,
            )
        )
        try:
            said = msgspec.convert(answer.value, _Facts).facts
        except msgspec.ValidationError as error:
            raise ModelFailed(Fault.MALFORMED, "the answer is no list of facts") from error
        found = [(one, self._sources.of(one.content)) for one in said]
        candidates = [_candidate(one, place) for one, place in found if place is not None]
        accepted = accept(candidates, self._settings, attributable=self._attributable, before=so_far.facts)
        dropped = Counter(so_far.dropped) + Counter(accepted.dropped) + Counter({MADE_UP: len(said) - len(candidates)})
        return SoFar(answered=(*so_far.answered, piece.name), facts=accepted.facts, dropped=dict(dropped))


def heard(text: str, transcript: Transcript) -> str:
    """Return a conversation without what was recalled in it."""
    data = text.encode("utf-8", "surrogatepass")
    parts: list[str] = []
    at = 0
    for said in transcript.utterances or transcript.whole:
        parts += [data[at : said.byte_start].decode("utf-8", "surrogatepass"), without_recalled(said.text)]
        at = said.byte_end
    return "".join([*parts, data[at:].decode("utf-8", "surrogatepass")])


def cut(text: str, size: int) -> Iterator[str]:
    """Yield the pieces of a text, none longer than `size` characters, each beginning in the end of the one before."""
    start = 0
    for _ in range(PIECES_LIMIT):
        end = min(len(text), start + size)
        if end < len(text):
            line = text.rfind("\n", max(start + 1, end - _NEAR), end)
            end = line + 1 if line > 0 else end
        yield text[start:end]
        if end >= len(text):
            return
        start = max(start + 1, end - size // OVERLAP)


def schema(settings: ExtractSettings) -> dict[str, Any]:
    """Return the JSON schema of an answer."""
    nothing_or_text = {"type": ["string", "null"]}
    fact: dict[str, Any] = {
        "content": {"type": "string"},
        "fact_type": {"type": "string", "enum": list(_kinds(settings))},
        "subject": nothing_or_text,
        "event_date": nothing_or_text,
        "event_date_context": nothing_or_text,
        "attributed_to": {"anyOf": [{"type": "string", "enum": ["user", "assistant"]}, {"type": "null"}]},
        "confidence": {"type": "number"},
    }
    return _object({"facts": {"type": "array", "items": _object(fact)}})


def _object(properties: dict[str, Any]) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def _kinds(settings: ExtractSettings) -> dict[str, str]:
    """Return what facts may be, with what that is: the topics of the settings take the place of the built-in types."""
    if settings.topics:
        return {topic.key: topic.description or topic.name for topic in settings.topics}
    return {str(kind): about for kind, about in _TYPES.items()}


def _rules(settings: ExtractSettings, conversation_date: date | None) -> str:
    kinds = "\n".join(f"- {key}: {about}" for key, about in _kinds(settings).items())
    when = "on a day that nobody knows" if conversation_date is None else f"on {conversation_date.isoformat()}"
    return _RULES.format(most=settings.facts_limit, types=kinds, when=when)


def _candidate(one: _Said, place: tuple[int, int] | None) -> Candidate:
    start, end = place or (None, None)
    return Candidate(
        content=one.content,
        key=one.fact_type,
        subject=one.subject,
        event_date=one.event_date,
        event_context=one.event_date_context,
        attributed_to=one.attributed_to,
        confidence=one.confidence,
        byte_start=start,
        byte_end=end,
    )


class Sources:
    """Finds where in a conversation the words of a fact come from."""

    def __init__(self, text: str, utterances: Sequence[Utterance]) -> None:
        spans = [(said.byte_start, said.byte_end, said.text) for said in utterances] or list(_paragraphs(text))
        self._spans = [(start, end, _words(said)) for start, end, said in spans]
        self._every = set[str]().union(*(words for _, _, words in self._spans), _words(text))

    def of(self, fact: str) -> tuple[int, int] | None:
        """Return the bytes of the utterance that a fact has most of its words from; None when it has them from nowhere."""
        words = _words(fact)
        if not words or len(words & self._every) < SUPPORT * len(words):
            return None
        if not self._spans:
            return None
        start, end, _ = max(self._spans, key=lambda span: len(words & span[2]) / (10 + len(span[2])) ** 0.2)
        return start, end


_STEM = 5
"""Letters by which two forms of a word are taken for one."""
_WORD = re.compile(r"[^\W_]+")
_UNSPACED = re.compile(r"[\u0e00-\u0eff\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")


def _words(text: str) -> set[str]:
    """Return the beginnings of the words of a text; the characters of a script that does not part words."""
    found = [word for word in _WORD.findall(unicodedata.normalize("NFKC", text).casefold()) if len(word) > 1]
    plain = {word[:_STEM] for word in found if not _UNSPACED.search(word)}
    return plain | {character for word in found for character in word if _UNSPACED.match(character)}


def _paragraphs(text: str) -> Iterator[tuple[int, int, str]]:
    at = 0
    for line in text.splitlines(keepends=True):
        if said := line.strip():
            start = at + len(line[: len(line) - len(line.lstrip())].encode())
            yield start, start + len(said.encode()), said
        at += len(line.encode())
