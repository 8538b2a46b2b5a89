"""Requests and their answers on one connection.

nats-py's own requests know only the timeout. Here whoever waits hears at once that the broker refuses the subject, or
that the connection is gone.
"""

from __future__ import annotations

import asyncio
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from itertools import count
from typing import TYPE_CHECKING

import msgspec

from identity.errors import AccessDenied, InvalidInput, LoomError
from loomem.nats import faults

if TYPE_CHECKING:
    from nats.aio.msg import Msg

REFUSED_MAX = 1024


class Message(msgspec.Struct, frozen=True):
    """A message, in words of no library."""

    subject: str
    data: bytes
    reply: str = ""
    headers: Mapping[str, str] = msgspec.field(default_factory=dict[str, str])


def message_of(msg: Msg) -> Message:
    return Message(msg.subject, msg.data, msg.reply, msg.headers or {})


def check_size(data: bytes, headers: Mapping[str, str] | None, limit: int) -> None:
    """Refuse what the server would answer by closing the connection: nats-py forgets to count the headers.

    Raises: InvalidInput.
    """
    size = len(data) + sum(len(name) + len(value) + 4 for name, value in (headers or {}).items()) + 12
    if size > limit:
        text = f"The value is larger than the broker accepts ({size} of {limit} bytes, max_payload)."
        raise InvalidInput(text, field="content", maximumBytes=limit)


class _Asked(msgspec.Struct, frozen=True):
    subject: str
    """In lower case, as nats-py passes on what the server refuses."""
    answer: asyncio.Future[Message]


class Answers:
    """Who waits for an answer, under an inbox of this connection's own."""

    def __init__(self, inbox: str) -> None:
        self._inbox = f"{inbox}."
        self._tokens = count(1)
        self._asked: dict[str, _Asked] = {}
        self._refused: dict[str, None] = {}
        self._over: LoomError | None = None

    @property
    def subject(self) -> str:
        """What to subscribe to, so that answers arrive."""
        return f"{self._inbox}*"

    @contextmanager
    def expect(self, subject: str) -> Generator[tuple[str, asyncio.Future[Message]]]:
        """Give the reply subject for a request to `subject`, and the future of its answer. Raises: AccessDenied, NoAnswer."""
        if self._over is not None:
            raise self._over
        token = str(next(self._tokens))
        asked = _Asked(subject.lower(), asyncio.get_running_loop().create_future())
        self._asked[token] = asked
        try:
            yield self._inbox + token, asked.answer
        finally:
            del self._asked[token]
            if asked.answer.done() and not asked.answer.cancelled():
                # Nobody may be left to hear an error that came after a timeout.
                asked.answer.exception()

    async def arrived(self, msg: Msg) -> None:
        """Take an answer from nats-py."""
        asked = self._asked.get(msg.subject[len(self._inbox) :])
        if asked is not None and not asked.answer.done():
            asked.answer.set_result(message_of(msg))

    def refuse_publish(self, subject: str) -> None:
        """The broker refuses messages to this subject: whoever sent one there hears it now."""
        if len(self._refused) < REFUSED_MAX:
            self._refused[subject] = None
        self._fail(AccessDenied("The broker (NATS) refuses this to these credentials.", subject=subject), subject)

    def refuse_subscription(self, subject: str) -> None:
        """The broker refuses a subscription; without that of the inbox no answer can ever arrive."""
        if subject == self.subject.lower():
            text = (
                f"These credentials may not receive answers at {self._inbox}>. They need an inbox prefix that the "
                "broker's permissions allow."
            )
            self.end(AccessDenied(text))

    def was_refused(self, subject: str) -> bool:
        """Return whether the broker has refused a message to this subject on this connection."""
        return subject.lower() in self._refused

    def end(self, error: LoomError | None = None) -> None:
        """No answer will come any more."""
        self._over = error or faults.NoAnswer(retry_after_s=1.0)
        self._fail(self._over)

    def _fail(self, error: LoomError, subject: str | None = None) -> None:
        for asked in self._asked.values():
            if subject in (None, asked.subject) and not asked.answer.done():
                asked.answer.set_exception(error)
