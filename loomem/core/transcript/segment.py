"""Which lines begin an utterance, decided over the whole text. Pure, and linear in its length.

In this order: lines with times, as exports of chats have them; roles (`User:`); names, if they come again and talk; roles
alone on their lines. Code between fences speaks for nobody. What is none of these has no speakers, and says so.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Sequence

from loomem.core.transcript.fences import fences
from loomem.core.transcript.labels import Kind, Label, labels
from loomem.core.transcript.stamps import DayOrder, day_order, moment
from loomem.core.transcript.values import Form, SpeakerRole, Transcript, Utterance

BLANK = "the text is blank"
NO_SPEAKERS = "no speaker markers"
A_LOG = "lines with times, but nobody speaks"

_TALK_CHARS = 20_000
"""Of a text, how much is read to see whether people talk in it."""
_TALKS = re.compile(
    r"[?？¿]|\b(?:i|i'm|you|we|me|my|your|our|ich|du|wir|mir|mich|dein|mein|sie|ja|ty|mi|mnie|mój|twój|masz|mam|jestem|je|j'ai|tu|nous|vous"
    r"|moi|yo|tú|nosotros|io|eu|você|ik|jij|я|ты|мы|вы|hi|hello|hey|thanks|yes|no|ok|okay|cześć|hej|dzięki|tak|nie|hallo|danke|nein)\b|[我你您吗吧呢私]|です|ます|요",
    re.IGNORECASE,
)
_EDGE = re.compile(r"(?:\n[ \t]*(?:-{3,}|\*{3,}|_{3,}|={3,})|<\|im_end\|>)\s*\Z")
_EDGE_CHARS = 200
_EDGES = 3
"""What stands between utterances is taken off their ends so often, in so many characters."""


def segment(text: str) -> Transcript:
    """Return a text taken apart into utterances, or why it cannot be."""
    if not text.strip():
        return Transcript(form=Form.UNLABELLED, reason=BLANK)
    found = _outermost(list(labels(text)))
    code, _ = fences(text)
    for lines in ([line for line in found if not _within(line.start, code)], found) if code else (found,):
        form, chosen = _chosen(text, lines)
        if chosen and (said := _utterances(text, chosen)):
            return Transcript(form=form, utterances=said)
    whole = tuple(_utterance(text, _Bytes(text), None, (0, 0, len(text)), DayOrder()))
    return Transcript(form=Form.UNLABELLED, whole=whole, reason=A_LOG if _is_log(found) else NO_SPEAKERS)


def _chosen(text: str, found: list[Label]) -> tuple[Form, list[Label]]:
    if chosen := _with_times(text, found):
        return Form.STAMPED, chosen
    lines = [line for line in found if line.kind is not Kind.BARE and line.kind is not Kind.EVENT]
    if chosen := _with_roles(text, lines):
        alone = sum(line.kind is Kind.ALONE for line in chosen)
        return (Form.HEADINGS if alone * 2 > len(chosen) else Form.ROLES), chosen
    if chosen := _with_names(text, lines):
        alone = sum(line.kind is Kind.ALONE for line in chosen)
        return (Form.HEADINGS if alone * 2 > len(chosen) else Form.NAMES), chosen
    bare = [line for line in found if line.kind in (Kind.BARE, Kind.ALONE) and line.role is not None]
    return Form.HEADINGS, bare if _both(bare) and min(Counter(line.role for line in bare).values()) >= 1 else []


# --- lines with times -------------------------------------------------------------------------------------------------


def _with_times(text: str, found: list[Label]) -> list[Label]:
    timed = [line for line in found if line.stamp is not None and line.kind is not Kind.EVENT]
    speakers = [line for line in timed if not line.never]
    if not speakers or _is_log(found):
        return []
    sure = [line for line in speakers if line.role is not None or line.framed or _is_dated(line)]
    counts = Counter(line.name for line in speakers)
    likely = [line for line in speakers if line.likely or line.framed or counts[line.name] > 1]
    if not likely or (not sure and not (len(likely) > 1 and _talk(text, likely))):
        return []
    if not any(line.likely or line.framed for line in likely) and not _talk(text, likely):
        return []
    if not _begins(text, [line for line in found if line.stamp is not None]) and len(likely) < 2:
        return []
    first = likely[0]
    events = [
        line
        for line in found
        if line.kind is Kind.EVENT and line.opened == first.opened and _is_dated(line) == _is_dated(first)
    ]
    return sorted([*likely, *events], key=lambda line: line.start)


def _is_dated(line: Label) -> bool:
    return line.stamp is not None and line.stamp.dated


def _is_log(found: list[Label]) -> bool:
    timed = [line for line in found if line.stamp is not None and line.kind is not Kind.EVENT]
    return bool(timed) and sum(line.never for line in timed) * 3 >= len(timed)


# --- roles and names --------------------------------------------------------------------------------------------------


def _with_roles(text: str, lines: list[Label]) -> list[Label]:
    """Return the lines that begin with a role, if somebody talks to somebody, or one alone from the first line on."""
    known = [line for line in lines if line.role is not None]
    if not known:
        return []
    chief = _chief(known)
    if _both(chief):
        return chief
    if any(line.likely and line.role is None and not line.never and not line.bullet for line in lines):
        return []  # one side has a name
    others = [line for line in lines if line.role is None and line.indent <= known[0].indent]
    spoken = [line for line in chief if line.role is not SpeakerRole.OTHER]
    if any(line.name.islower() for line in spoken) and (others or not _talk(text, spoken)):
        return []  # `user: root`
    if not spoken or not _begins(text, chief) or len(others) > len(chief) or (others and _is_form(lines)):
        return []
    return chief


def _chief(known: list[Label]) -> list[Label]:
    """Return the labels of those who speak, without a word that is a role elsewhere and stands here once in a text."""
    counts = Counter(line.name.casefold() for line in known)
    first: dict[SpeakerRole | None, str] = {}
    for line in known:
        first.setdefault(line.role, line.name.casefold())
    firsts = set(first.values())
    return [
        line
        for line in known
        if line.name.casefold() in firsts or counts[line.name.casefold()] > 1 or line.role is SpeakerRole.OTHER
    ]


def _both(lines: Sequence[Label]) -> bool:
    roles = {line.role for line in lines}
    return SpeakerRole.USER in roles and SpeakerRole.ASSISTANT in roles


def _with_names(text: str, lines: list[Label]) -> list[Label]:
    """Return the lines that begin with a name: at least two speak, one of them comes again, and they talk."""
    named = [line for line in lines if not line.never and not (line.bullet and line.role is None)]
    named = [line for line in named if line.likely] or named
    counts = Counter(line.name for line in named)
    if len(counts) < 2 or not _begins(text, named) or _is_form(lines):
        return []
    again = [name for name, count in counts.items() if count > 1]
    sure = all(line.likely for line in named)
    if not again and not (
        sure
        and len(named) == len([line for line in lines if line.indent == named[0].indent])
        and _ends_sentences(text, named)
    ):
        return []
    if len(counts) > max(3, len(named) * 0.7) or not _talk(text, named):
        return []
    if not sure and len(again) < 2:
        return []
    return [line for line in named if counts[line.name] > 1 or (line.likely and not line.marked)]


def _outermost(lines: list[Label]) -> list[Label]:
    """Return the lines that are indented no further than the first: what stands further in is quoted."""
    return [line for line in lines if line.indent <= lines[0].indent] if lines else []


def _begins(text: str, lines: list[Label]) -> bool:
    """Say whether the text begins with one of some lines, after a title at most."""
    if not lines:
        return False
    before = [line for line in text[: lines[0].start].split("\n") if line.strip()]
    return len(before) <= 3 and all(len(line) <= 120 for line in before)


def _is_form(lines: list[Label]) -> bool:
    """Say whether lines look like a form, a mail's head or a configuration: many words before colons that come once."""
    never = sum(line.never for line in lines)
    small = sum(line.name[:1].islower() and line.role is None for line in lines)
    return never * 2 > len(lines) or (small * 2 > len(lines) and len({line.name for line in lines}) * 2 > len(lines))


def _talk(text: str, lines: list[Label]) -> bool:
    return _TALKS.search(text, lines[0].said, lines[0].said + _TALK_CHARS) is not None


def _ends_sentences(text: str, lines: list[Label]) -> bool:
    ends = [text[: line.start].rstrip()[-1:] for line in lines[1:]] if len(lines) <= 8 else []
    ends.append(text.rstrip()[-1:])
    return sum(end in ".!?…。！？)" for end in ends) * 2 > len(ends)


# --- fences, utterances -----------------------------------------------------------------------------------------------


def _within(at: int, spans: list[tuple[int, int]]) -> bool:
    index = bisect_right(spans, (at, len(spans) and spans[-1][1] + 1)) - 1
    return index >= 0 and at < spans[index][1]


def _utterances(text: str, lines: list[Label]) -> tuple[Utterance, ...]:
    order = day_order(line.stamp for line in lines if line.stamp is not None)
    found: list[Utterance] = []
    counted = _Bytes(text)
    if text[: lines[0].start].strip():
        found += _utterance(text, counted, None, (0, 0, lines[0].start), order)
    for line, end in zip(lines, [*(line.start for line in lines[1:]), len(text)], strict=True):
        found += _utterance(text, counted, line, (line.start, min(line.said, end), end), order)
    return tuple(found)


def _utterance(
    text: str, counted: _Bytes, line: Label | None, at: tuple[int, int, int], order: DayOrder
) -> list[Utterance]:
    label, start, end = at
    said = text[start:end]
    for _ in range(_EDGES):
        if (edge := _EDGE.search(said, max(0, len(said) - _EDGE_CHARS))) is None:
            break
        said = said[: edge.start()]
    clean = said.strip()
    if not any(map(str.isalnum, clean[:_EDGE_CHARS])) and (line is None or not clean):
        return []
    first = start + len(said) - len(said.lstrip())
    byte_label = counted.at(label)
    byte_start = counted.at(first)
    role = None if line is None or line.kind is Kind.EVENT else line.role or SpeakerRole.OTHER
    return [
        Utterance(
            speaker=None if line is None else line.name or None,
            role=role,
            byte_start=byte_start,
            byte_end=counted.at(first + len(clean)),
            text=clean,
            at=None if line is None or line.stamp is None else moment(line.stamp, order),
            byte_label=byte_label if line is not None else byte_start,
        )
    ]


class _Bytes:
    """How many bytes of UTF-8 stand before a character, asked in order."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._ascii = text.isascii()
        self._char = self._byte = 0

    def at(self, char: int) -> int:
        if self._ascii:
            return char
        self._byte += len(self._text[self._char : char].encode("utf-8", "surrogatepass"))
        self._char = char
        return self._byte
