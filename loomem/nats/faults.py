"""The one translator: what nats-py and the server's error codes mean in words of `identity.errors`.

Two kinds of silence are told apart, because a writer must: `NoAnswer` (the request may have been carried out) and
`NobodyThere` (it was not). Both are `Unavailable` to everybody outside this room.
"""

from __future__ import annotations

import asyncio
import ssl
import sys
from collections.abc import Generator
from contextlib import contextmanager

from identity.errors import AccessDenied, Conflict, InvalidInput, LimitExceeded, LoomError, NotFound, Unavailable

DOCTOR = "`pattern-memory doctor` tells what is wrong."

WRONG_SEQUENCE = frozenset({10071, 10164})
"""Both occur for one cause, pinned by test_nats_bucket::test_a_stale_revision_is_a_conflict and test_nats_batch."""
STREAM_NAME_IN_USE = 10058
MESSAGE_NOT_FOUND = 10037
CONSUMER_NOT_FOUND = 10014
STREAM_NOT_FOUND = 10059
TTL_DISABLED = 10166
ATOMIC_DISABLED = 10174

_NOT_FOUND = frozenset({MESSAGE_NOT_FOUND, CONSUMER_NOT_FOUND, STREAM_NOT_FOUND})
_BUSY = frozenset({10176, 10210})
"""A batch that lost its leader half-way, and too many batches at once (pinned by test_nats_batch)."""
_FULL = frozenset({10002, 10023, 10028, 10047})
_TOO_LARGE = frozenset({10054, 10097})
_FORBIDDEN = frozenset({10081, 10131, 10137})
"""A consumer whose body asks for another key space than its subject."""
_STORE_FAILED = 10077
"""The server's word for every refusal of the store itself; a bucket at `max_bytes` is one (pinned by test_nats_bucket)."""


class Silence(Unavailable):
    """The broker (NATS) is silent; trying again may cure it."""


class NoAnswer(Silence):
    """The broker (NATS) did not answer in time; whether the request was carried out is not known."""


class NobodyThere(Silence):
    """Nobody at the broker (NATS) takes this request right now: JetStream is off, has no leader, or the bucket is absent."""


class Busy(Silence):
    """The broker (NATS) refused this for the moment; it was not carried out."""


class NotConnected(Silence):
    """There is no connection to the broker (NATS) right now."""


class NameInUse(Unavailable):
    """A stream of this name exists, with another configuration."""


class Untrusted(Unavailable):
    """No encrypted connection that can be trusted to the broker (NATS)."""


def server_fault(*, code: int, err_code: int, description: str) -> LoomError:
    """Return the error that an error reply of JetStream means. The request was not carried out."""
    text = description.rstrip(".") or f"code {code}"
    if err_code in WRONG_SEQUENCE:
        return Conflict(key="", expected=-1, actual=-1)
    if err_code in _FULL or (err_code == _STORE_FAILED and "exceeded" in description):
        return LimitExceeded(f"The broker's storage is full ({text}). Delete memories, or raise its limits.")
    if err_code in _TOO_LARGE:
        return InvalidInput(f"The value is larger than the broker accepts ({text}).", field="content")
    if err_code in _FORBIDDEN or code == 403:
        return AccessDenied(f"The broker refuses this to these credentials ({text}).")
    if err_code in _NOT_FOUND or code == 404:
        return NotFound(f"The broker knows no such thing ({text}).")
    if err_code == STREAM_NAME_IN_USE:
        return NameInUse()
    if code == 503 or err_code in _BUSY:
        return Busy(f"The broker (NATS JetStream) cannot serve this right now ({text}).", retry_after_s=1.0)
    return Unavailable(f"The broker (NATS JetStream) refused: {text} (error {err_code or code}). {DOCTOR}")


@contextmanager
def cancellable() -> Generator[None]:
    """Let a cancellation through that the code inside swallows.

    nats-py does while it waits for room in its buffer, and so does `asyncio.wait_for` of Python 3.11 when the awaited is
    done in the same moment (pinned by test_nats_link); a timeout around it, or the end of a task group, is lost then.
    """
    task = asyncio.current_task()
    before = task.cancelling() if task is not None else 0
    try:
        yield
    finally:
        if task is not None and task.cancelling() > before and not isinstance(sys.exception(), asyncio.CancelledError):
            raise asyncio.CancelledError


@contextmanager
def translated(doing: str = "") -> Generator[None]:
    """Turn what nats-py raises inside into the project's errors, and let through the cancellations it swallows.

    Raises: whatever `translate` makes of it; other exceptions pass.
    """
    # nats-py is loaded by whoever can raise its errors; asking for it here keeps this module free to import.
    from nats.errors import Error

    try:
        with cancellable():
            yield
    except (Error, OSError) as error:
        raise translate(error, doing) from error


def translate(error: BaseException, doing: str = "") -> LoomError:
    """Return the project's error for one of nats-py, of TLS or of the socket. Its text names no credentials."""
    from nats import errors
    from nats.js import errors as js

    match error:
        case LoomError():
            return error
        case js.KeyWrongLastSequenceError():
            return Conflict(key="", expected=-1, actual=-1)
        case js.KeyNotFoundError() | js.KeyDeletedError() | js.NoKeysError() | js.BucketNotFoundError():
            return NotFound("The bucket or key does not exist.")
        case js.ObjectNotFoundError() | js.ObjectDeletedError():
            return NotFound("The object does not exist.")
        case js.APIError():
            return server_fault(
                code=getattr(error, "code", None) or 503 * isinstance(error, js.ServiceUnavailableError),
                err_code=getattr(error, "err_code", None) or 0,
                description=getattr(error, "description", None) or str(error),
            )
        case js.NoStreamResponseError() | errors.NoRespondersError():
            return NobodyThere(retry_after_s=1.0)
        case _:
            return _connection_fault(error, doing)


def _connection_fault(error: BaseException, doing: str) -> LoomError:
    """Return the error for what goes wrong below JetStream."""
    from nats import errors
    from nats.js import errors as js

    what = f" while {doing}" if doing else ""
    match error:
        case errors.AuthorizationError() | errors.InvalidUserCredentialsError():
            return AccessDenied(
                f"The broker (NATS) refuses these credentials{what}. Check user, password, token or file."
            )
        case errors.SecureConnRequiredError() | errors.SecureConnWantedError() | errors.SecureConnFailedError():
            return Untrusted(f"No encrypted connection to the broker (NATS){what}: {error}. Nothing is sent in clear.")
        case ssl.SSLError():
            return Untrusted(
                f"TLS with the broker (NATS) failed{what}: {_tls_reason(error)}. Check NATS_CA and the host name."
            )
        case errors.MaxPayloadError():
            return InvalidInput("The value is larger than the broker accepts (max_payload).", field="content")
        case errors.BadSubjectError() | errors.BadHeaderError() | js.InvalidKeyError() | js.InvalidBucketNameError():
            return InvalidInput(f"Not a name NATS can hold{what}: {error}.")
        case js.InvalidObjectNameError() | js.BadObjectMetaError() | js.LinkIsABucketError():
            return InvalidInput(f"Not valid for NATS{what}: {error}.")
        case errors.TimeoutError() | TimeoutError() | errors.StaleConnectionError() | errors.ConnectionClosedError():
            text = (
                f"The broker (NATS) does not answer{what}. Is it a NATS server that listens there?" if doing else None
            )
            return NoAnswer(text, retry_after_s=1.0)
        case _ if type(error) is errors.Error and "auth" in str(error).lower():
            # While connecting nats-py has no class for a refusal, only the server's words (pinned by test_nats_link).
            return AccessDenied(
                f"The broker (NATS) refuses these credentials{what}. Check user, password, token or file."
            )
        case _:
            return Unavailable(f"The broker (NATS) cannot be used{what}: {_plain(error)}. {DOCTOR}", retry_after_s=1.0)


def _tls_reason(error: ssl.SSLError) -> str:
    # aiohttp wraps what TLS raised in classes of its own, which say less.
    inner: object = getattr(error, "certificate_error", None) or getattr(error, "os_error", None) or error
    if isinstance(error, ssl.SSLCertVerificationError):
        return getattr(inner, "verify_message", "") or "the certificate is not trusted"
    return (getattr(inner, "reason", None) or "handshake refused").lower().replace("_", " ")


def _plain(error: BaseException) -> str:
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    return str(error).removeprefix("nats: ").rstrip(".") or type(error).__name__
