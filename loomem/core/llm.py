"""The port of the language model: what may be asked of it, within which limits, and what comes of it.

Nobody is asked unless there is a key and the use is switched on; every call is taken from one daily budget first. An
answer is JSON of a schema, or there is none: what does not parse is a failure, and a failure changes nothing.

Deliberately absent: any vendor's library, the words of the questions (`loomem.llm`), the network.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Annotated, Any, Protocol

import msgspec
from msgspec import Meta

from identity.errors import Unavailable

REASON_CHARS = 200
"""Of why something failed, what is told."""
KEY_VARIABLE = "ANTHROPIC_API_KEY"
URL_VARIABLE = "ANTHROPIC_BASE_URL"


class Use(StrEnum):
    """What a model is asked for."""

    EXTRACT = "extract"
    """Facts of a conversation."""
    JUDGE = "judge"
    """Whether a fact contradicts another."""
    ENTITIES = "entities"
    """Who and what is named in a memory."""


class When(StrEnum):
    """Whether a use may ask a model that has a key."""

    AUTO = "auto"
    OFF = "off"


class LlmSettings(msgspec.Struct, frozen=True, kw_only=True):
    """What is asked of a language model, of which, and how much of it in a day. Without a key nothing is."""

    extract: When = When.AUTO
    """Facts of a conversation that `memory_ingest` is given: `auto` asks the model when there is a key, `off` never."""
    judge: bool = False
    """Whether the model judges what contradicts a fact that is stored; else rules do."""
    entities: bool = False
    """Whether the model looks for names and relations in what is stored; else rules do."""
    model: Annotated[str, Meta(min_length=1)] = "claude-haiku-4-5"
    """The model that is asked."""
    judge_model: str | None = None
    """Another one for `judge`; its calls count at the same prices."""
    entities_model: str | None = None
    """Another one for `entities`; as above."""
    input_price: Annotated[float, Meta(ge=0, le=10_000)] = 1.0
    """US dollars for a million tokens that the model reads."""
    output_price: Annotated[float, Meta(ge=0, le=10_000)] = 5.0
    """US dollars for a million tokens that it writes."""
    calls_per_day: Annotated[int, Meta(ge=0, le=1_000_000)] = 500
    """Calls of all agents together from midnight to midnight, UTC; repeated ones count too."""
    tokens_per_day: Annotated[int, Meta(ge=0, le=10_000_000_000)] = 2_000_000
    """The same in tokens, read and written."""
    cost_per_day: Annotated[float, Meta(ge=0, le=1_000_000)] = 5.0
    """The same in US dollars, by the prices above."""
    timeout_s: Annotated[float, Meta(ge=0.1, le=600)] = 30.0
    """For one call."""
    retries: Annotated[int, Meta(ge=0, le=5)] = 2
    """How often a call is repeated that failed for a reason that passes."""
    transcript_tokens: Annotated[int, Meta(ge=100, le=500_000)] = 20_000
    """Of a conversation, what is given to the model at once; a longer one is cut into overlapping pieces."""
    answer_tokens: Annotated[int, Meta(ge=100, le=64_000)] = 4_000
    """What the model may write about one piece."""
    remote_for_all: bool = False
    """On a broker of yours (`nats.url`), whose memories are not all your own: whether the worker may send everybody's to `url`, when that is not on this
    machine. Without it, only what you store yourself is judged by the model."""
    url: str = "https://api.anthropic.com"
    """Where the model is asked."""
    key: str | None = None
    """What it is asked with; None = nobody is asked."""

    def __repr__(self) -> str:
        """All but the key."""
        return f"LlmSettings(model={self.model!r}, url={self.url!r})"

    def model_for(self, use: Use) -> str:
        """Return the name of the model that is asked."""
        own = {Use.JUDGE: self.judge_model, Use.ENTITIES: self.entities_model}.get(use)
        return own or self.model

    def off(self, use: Use) -> str | None:
        """Return why a use may not ask the model, and what to do; None when it may."""
        switched = {Use.EXTRACT: self.extract is When.AUTO, Use.JUDGE: self.judge, Use.ENTITIES: self.entities}[use]
        if not switched:
            return f"llm.{use} is off"
        if not (self.key or "").strip():
            return f"there is no key: {KEY_VARIABLE} is not set"
        return None


class Usage(msgspec.Struct, frozen=True):
    """Tokens that a call took."""

    read: int = 0
    written: int = 0


class Question(msgspec.Struct, frozen=True, kw_only=True):
    """What a model is asked."""

    use: Use
    rules: str
    """What it is to do. Nothing of what was stored."""
    given: str
    """What it is to do it with, framed (`loomem.llm.prompts`)."""
    schema: Mapping[str, Any]
    """JSON schema of the answer."""
    answer_tokens: int
    timeout_s: float | None = None
    """For the whole, repetitions included; None = what the settings give one call."""


class Answer(msgspec.Struct, frozen=True, kw_only=True):
    """What it answered."""

    value: Any
    """JSON, as builtins; an object."""
    model: str
    usage: Usage


class Fault(StrEnum):
    """What kind of thing went wrong."""

    OFF = "config"
    """No key, or switched off."""
    BUDGET = "budget"
    """Today's is used up, or nobody can tell."""
    NETWORK = "network"
    """No answer, or none in time."""
    STATUS = "status"
    """The server refused the call."""
    REFUSED = "refusal"
    """The model refused to answer."""
    MALFORMED = "malformed"
    """The answer is none."""


class ModelFailed(Unavailable):
    """The language model gave no answer."""

    def __init__(self, fault: Fault, reason: str, *, status: int | None = None, passing: bool = False) -> None:
        """Tell why; `passing`: it may do better later, without anybody doing anything."""
        super().__init__(cut_reason(reason))
        self.fault = fault
        self.status = status
        self.passing = passing

    @property
    def kind(self) -> str:
        """The kind in a word: `status`, by its number, else what it is."""
        return str(self.status) if self.status is not None else str(self.fault)


class Spent(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """What of the day's budget is taken: by calls that are over, and by those under way for the most they may take."""

    day: str
    calls: int = 0
    tokens: int = 0
    cost_micros: int = 0
    """Millionths of a US dollar."""
    refused: int = 0
    """Calls that were not made because it was used up, as far as somebody could write that down."""


class Models(Protocol):
    """Asks a language model. Lives in the node or a worker."""

    def off(self, use: Use) -> str | None:
        """Return why a use would not even be tried, and what to do; None when it would."""
        ...

    def name(self, use: Use) -> str:
        """Return which model a use asks."""
        ...

    async def warm(self) -> None:
        """Make ready what the first question would wait for, which is seconds."""
        ...

    async def ask(self, question: Question) -> Answer:
        """Return the model's answer, an object of the schema as far as the model keeps to it.

        Raises: ModelFailed.
        """
        ...


def cut_reason(text: str) -> str:
    """Return a reason in one line, no longer than what is told."""
    line = " ".join(text.split())
    return line if len(line) <= REASON_CHARS else line[: REASON_CHARS - 1] + "…"
