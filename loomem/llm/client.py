"""Asks the model over the `anthropic` SDK: structured answers, bounded waits, bounded repetition, one budget.

The SDK is imported at the first question, and nowhere else; it never repeats a call itself, since each repetition is a
call of its own that the budget must be asked for. It reads nothing of the environment here: key and address are settings.
What a call that failed took is given back when the server says that it failed; when nobody can tell, it stays taken.

Source: structured output (`output_config.format`) is what the SDK has since 1.0 in place of `temperature`.
"""

from __future__ import annotations

import asyncio
import importlib
import logging
import re
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from ipaddress import ip_address
from typing import TYPE_CHECKING, Any, cast
from urllib.parse import urlsplit

import msgspec

from loomem.core.llm import Answer, Fault, LlmSettings, ModelFailed, Question, Usage, Use
from loomem.llm.budget import Budget

if TYPE_CHECKING:
    import anthropic
    from anthropic.types import Message

log = logging.getLogger(__name__)

PAUSES_S = (0.5, 2.0, 8.0, 15.0, 30.0)
"""Before each repetition, at least; a server that asks for more (`Retry-After`) gets up to the longest wait."""
LONGEST_WAIT_S = 30.0
AT_ONCE = 4
"""Calls under way together."""
PASSING = frozenset({408, 409, 429})
BYTES_PER_TOKEN = 2
"""Of a text, at least, in any language that people write: what is taken from the budget before anybody has counted."""
OVERHEAD_TOKENS = 600
"""What the API adds for the schema of an answer."""
_FENCE = re.compile(r"\A```(?:json)?\s*\n(.*?)\n?```\Z", re.DOTALL)


@asynccontextmanager
async def opened(settings: LlmSettings, budget: Budget, *, shared: bool) -> AsyncGenerator[Client]:
    """Give what asks the model, while the context lasts; `shared`: the broker may hold memories of other users."""
    client = Client(settings, budget, shared=shared)
    try:
        yield client
    finally:
        await client.close()


class Client:
    """A model elsewhere. The port is `loomem.core.llm.Models`."""

    def __init__(self, settings: LlmSettings, budget: Budget, *, shared: bool) -> None:
        self._settings = settings
        self._budget = budget
        self._others = None if not shared or settings.remote_for_all or not leaves_this_machine(settings) else _OTHERS
        self._gate = asyncio.Semaphore(AT_ONCE)
        self._opening = asyncio.Lock()
        self._sdk: anthropic.AsyncAnthropic | None = None

    def off(self, use: Use) -> str | None:
        """Return why a use is not even tried."""
        return self._settings.off(use) or (self._others if use is not Use.JUDGE else None)

    def name(self, use: Use) -> str:
        """Return which model a use asks."""
        return self._settings.model_for(use)

    async def ask(self, question: Question) -> Answer:
        """Return the answer. Raises: ModelFailed."""
        if (off := self.off(question.use)) is not None:
            raise ModelFailed(Fault.OFF, off)
        whole_s = question.timeout_s
        try:
            async with asyncio.timeout(whole_s), self._gate:
                return await self._repeated(question)
        except TimeoutError:
            raise ModelFailed(Fault.NETWORK, f"no answer within {whole_s:g} seconds", passing=True) from None

    async def warm(self) -> None:
        """Import the SDK."""
        await self._opened()

    async def close(self) -> None:
        """Give back connections."""
        if self._sdk is not None:
            await self._sdk.close()
            self._sdk = None

    # --- within ---

    async def _repeated(self, question: Question) -> Answer:
        for pause_s in (*PAUSES_S[: self._settings.retries], None):
            try:
                return await self._once(question)
            except _Passing as failed:
                log.warning("event=llm_call_failed use=%s kind=%s again=%s", question.use, failed.cause.kind, pause_s)
                if pause_s is None:
                    raise failed.cause from failed
                await asyncio.sleep(min(max(pause_s, failed.wait_s), LONGEST_WAIT_S))
        raise AssertionError  # the loop ends by a return or a raise

    async def _once(self, question: Question) -> Answer:
        """Make one call, which is taken from the budget. Raises: ModelFailed, _Passing."""
        sdk = await self._opened()
        asked = len((question.rules + question.given).encode()) + len(msgspec.json.encode(question.schema))
        most = Usage(asked // BYTES_PER_TOKEN + OVERHEAD_TOKENS, question.answer_tokens)
        taken = await self._budget.take(most)
        used: Usage | None = most
        try:
            message = await self._call(sdk, question)
            used = _usage(message, most)
            return Answer(value=_value(message), model=self.name(question.use), usage=used)
        except ModelFailed as failed:
            used = Usage() if failed.status is not None else used
            raise
        except _Passing as failed:
            used = Usage() if failed.cause.status is not None else used
            raise
        finally:
            if used != most:
                await asyncio.shield(self._budget.settle(taken, used))

    async def _call(self, sdk: anthropic.AsyncAnthropic, question: Question) -> Message:
        import anthropic

        try:
            async with asyncio.timeout(self._settings.timeout_s):  # the SDK's own is between two bytes
                return await sdk.messages.create(
                    model=self.name(question.use),
                    max_tokens=question.answer_tokens,
                    system=question.rules,
                    messages=[{"role": "user", "content": question.given}],
                    output_config={"format": {"type": "json_schema", "schema": dict(question.schema)}},
                    timeout=self._settings.timeout_s,
                )
        except TimeoutError as error:
            cause = ModelFailed(Fault.NETWORK, f"no answer within {self._settings.timeout_s:g} seconds", passing=True)
            raise _Passing(cause) from error
        except anthropic.APIStatusError as error:
            raise _refused(error) from error
        except anthropic.APIConnectionError as error:
            raise _Passing(ModelFailed(Fault.NETWORK, _network(error), passing=True)) from error
        except (anthropic.AnthropicError, ValueError, TypeError) as error:
            raise ModelFailed(Fault.MALFORMED, f"the answer cannot be read ({type(error).__name__})") from error

    async def _opened(self) -> anthropic.AsyncAnthropic:
        async with self._opening:
            if self._sdk is None:
                # In a thread: importing it takes longer than anything else may wait.
                sdk = await asyncio.to_thread(importlib.import_module, "anthropic")
                logging.getLogger("anthropic").setLevel(logging.WARNING)  # below that it logs what is asked
                made = sdk.AsyncAnthropic(api_key=self._settings.key, base_url=self._settings.url, max_retries=0)
                self._sdk = cast("anthropic.AsyncAnthropic", made)
            return self._sdk


_OTHERS = (
    "the broker may hold memories of other users, which would be sent to the model; if all of them agree, set "
    "PATTERN_LLM_REMOTE_FOR_ALL=true"
)


def leaves_this_machine(settings: LlmSettings) -> bool:
    """Say whether texts are sent to another machine, or to one that cannot be told to be this one."""
    try:
        host = urlsplit(settings.url).hostname or ""
        return host != "localhost" and not ip_address(host).is_loopback
    except ValueError:  # a name, or no address at all
        return True


class _Passing(Exception):
    """A failure that passes by itself."""

    def __init__(self, cause: ModelFailed, wait_s: float = 0.0) -> None:
        super().__init__(cause.message)
        self.cause = cause
        self.wait_s = wait_s


def _refused(error: anthropic.APIStatusError) -> ModelFailed | _Passing:
    """Return what a status of HTTP means."""
    status = error.status_code
    passes = status in PASSING or status >= 500
    kind = f" {error.type}" if error.type else ""
    told = f": {error.api_message}" if error.api_message and not passes else ""
    cause = ModelFailed(Fault.STATUS, f"HTTP {status}{kind}{told}", status=status, passing=passes)
    return _Passing(cause, _seconds(error.response.headers.get("retry-after"))) if passes else cause


def _network(error: anthropic.APIConnectionError) -> str:
    cause = error.__cause__
    return f"the model cannot be reached ({type(cause or error).__name__})"


def _seconds(text: str | None) -> float:
    try:
        return max(0.0, float(text or 0))
    except ValueError:
        return 0.0


def _usage(message: Message, most: Usage) -> Usage:
    """Return what a call took; the most it may have taken, when the server does not say."""
    usage = cast("Any", getattr(message, "usage", None))
    read, written = getattr(usage, "input_tokens", None), getattr(usage, "output_tokens", None)
    if not isinstance(read, int) or not isinstance(written, int) or read < 0 or written < 0:
        return most
    cached = sum(getattr(usage, f"cache_{part}_input_tokens", None) or 0 for part in ("creation", "read"))
    return Usage(read + cached, written)


def _value(message: Message) -> dict[str, Any]:
    """Return the object that an answer is. Raises: ModelFailed."""
    if getattr(message, "stop_reason", None) == "refusal":
        raise ModelFailed(Fault.REFUSED, "the model refuses to answer")
    if getattr(message, "stop_reason", None) == "max_tokens":
        raise ModelFailed(Fault.MALFORMED, "the answer was cut off: it is longer than what it may be")
    blocks = cast("list[Any]", getattr(message, "content", None) or [])
    texts = [block.text for block in blocks if getattr(block, "type", None) == "text" and isinstance(block.text, str)]
    text = "".join(texts).strip()
    if (fenced := _FENCE.match(text)) is not None:
        text = fenced[1]
    try:
        value = msgspec.json.decode(text.encode("utf-8", "surrogatepass"))
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise ModelFailed(Fault.MALFORMED, "the answer is no JSON") from error
    if not isinstance(value, dict):
        raise ModelFailed(Fault.MALFORMED, "the answer is no object")
    return cast("dict[str, Any]", value)
