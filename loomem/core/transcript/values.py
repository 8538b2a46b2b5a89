"""What a conversation is, once it is taken apart: who said what, when, and where it stands in the text."""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum

import msgspec


class SpeakerRole(StrEnum):
    """Whose words they are, where the text says so."""

    USER = "user"
    ASSISTANT = "assistant"
    OTHER = "other"
    """Somebody with a name; also systems and tools."""


class Form(StrEnum):
    """How a conversation is written."""

    ROLES = "roles"
    """Lines that begin with a role, such as `User:`."""
    NAMES = "names"
    """Lines that begin with a name."""
    STAMPED = "stamped"
    """Lines that begin with a time, as exports of chats have them."""
    HEADINGS = "headings"
    """A line of its own says who speaks: a heading, a name in bold, a name and a time."""
    UNLABELLED = "unlabelled"


class Utterance(msgspec.Struct, frozen=True, kw_only=True):
    """What one speaker said at once. Offsets are bytes of UTF-8: `source[byte_start:byte_end] == text`."""

    speaker: str | None
    """As the text names it; None for what stands before the first speaker."""
    role: SpeakerRole | None
    byte_start: int
    byte_end: int
    text: str
    """Without the label, without blanks at its edges."""
    at: datetime | None = None
    """When it was said, as far as the text tells day and time; naive where no zone is told."""
    byte_label: int
    """Where its line begins, with time and label: `byte_start` when there is none."""


class Transcript(msgspec.Struct, frozen=True, kw_only=True):
    """A text taken apart. Utterances stand in order and do not overlap."""

    form: Form
    utterances: tuple[Utterance, ...] = ()
    whole: tuple[Utterance, ...] = ()
    """Of a text that is not taken apart, all of it, said by nobody; empty for a blank one."""
    reason: str = ""
    """Why it could not be taken apart; empty where it could."""

    @property
    def unlabelled(self) -> bool:
        """Whether nobody says who speaks; then there are no utterances."""
        return self.form is Form.UNLABELLED

    @property
    def has_roles(self) -> bool:
        """Whether some utterance is said to be the user's or the assistant's: only then may a fact be attributed."""
        return any(said.role in (SpeakerRole.USER, SpeakerRole.ASSISTANT) for said in self.utterances)


class Rendered(msgspec.Struct, frozen=True, kw_only=True):
    """The text that becomes the source: of a plain text that text, of JSON its messages, one after another, each with a label."""

    text: str
    messages: int = 0
    """How many were read from JSON; 0 for a plain text."""
    left_out: int = 0
    """Characters of long results of tools that are not in the text."""
