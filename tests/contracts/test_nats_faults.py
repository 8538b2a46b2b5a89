"""The translator leaves nothing of nats-py untranslated."""

from __future__ import annotations

import inspect
import ssl
from types import ModuleType

import nats.errors
import nats.js.errors
import pytest

from identity.errors import (
    AccessDenied,
    Conflict,
    InvalidInput,
    LimitExceeded,
    LoomError,
    NotFound,
    Unavailable,
)
from loomem.nats import faults
from loomem.nats.faults import server_fault, translate, translated

MEANT: dict[str, type[LoomError]] = {
    # who we are, and whether that is private
    "AuthorizationError": AccessDenied,
    "InvalidUserCredentialsError": AccessDenied,
    "SecureConnRequiredError": faults.Untrusted,
    "SecureConnWantedError": faults.Untrusted,
    "SecureConnFailedError": faults.Untrusted,
    # silence
    "TimeoutError": faults.NoAnswer,
    "FlushTimeoutError": faults.NoAnswer,
    "DrainTimeoutError": faults.NoAnswer,
    "FetchTimeoutError": faults.NoAnswer,
    "StaleConnectionError": faults.NoAnswer,
    "UnexpectedEOF": faults.NoAnswer,
    "ConnectionClosedError": faults.NoAnswer,
    "NoRespondersError": faults.NobodyThere,
    "NoStreamResponseError": faults.NobodyThere,
    "ServiceUnavailableError": faults.Busy,
    # what we asked for
    "MaxPayloadError": InvalidInput,
    "BadSubjectError": InvalidInput,
    "BadHeaderError": InvalidInput,
    "InvalidKeyError": InvalidInput,
    "InvalidBucketNameError": InvalidInput,
    "InvalidObjectNameError": InvalidInput,
    "BadObjectMetaError": InvalidInput,
    "LinkIsABucketError": InvalidInput,
    # what is there
    "NotFoundError": NotFound,
    "BucketNotFoundError": NotFound,
    "KeyDeletedError": NotFound,
    "KeyNotFoundError": NotFound,
    "NoKeysError": NotFound,
    "ObjectNotFoundError": NotFound,
    "ObjectDeletedError": NotFound,
    "KeyWrongLastSequenceError": Conflict,
    # the library and the connection, for which there is nothing better to say
    **dict.fromkeys(
        (
            "APIError",
            "BadBucketError",
            "BadRequestError",
            "BadSubscriptionError",
            "BadTimeoutError",
            "ConnectionDrainingError",
            "ConnectionReconnectingError",
            "ConsumerInvalidResetError",
            "ConsumerSequenceMismatchError",
            "DigestMismatchError",
            "Error",
            "InvalidCallbackTypeError",
            "JsonParseError",
            "KeyHistoryTooLargeError",
            "KeyValueError",
            "KeyValueLimitMarkerTTLNotSupportedError",
            "MsgAlreadyAckdError",
            "NoServersError",
            "NotJSMessageError",
            "ObjectAlreadyExists",
            "OutboundBufferLimitError",
            "ProtocolError",
            "ServerError",
            "ServerNotInPoolError",
            "SlowConsumerError",
            "TooManyStalledMsgsError",
        ),
        Unavailable,
    ),
}


def classes(module: ModuleType) -> list[type[Exception]]:
    return [
        member
        for member in vars(module).values()
        if inspect.isclass(member) and issubclass(member, Exception) and member.__module__ == module.__name__
    ]


ALL = [*classes(nats.errors), *classes(nats.js.errors)]


@pytest.mark.parametrize("error_class", ALL, ids=lambda c: f"{c.__module__}.{c.__name__}")
async def test_every_error_of_the_library_has_a_meaning(error_class: type[Exception]) -> None:
    codes = {"NotFoundError": 404, "ServiceUnavailableError": 503}
    error = error_class.__new__(error_class)
    for field, value in {
        "code": codes.get(error_class.__name__),
        "err_code": None,
        "description": "said so",
        "message": "said so",
        **dict.fromkeys(("stream", "seq", "key", "subject", "reply", "sid", "sub", "_msg", "entry", "op")),
        **dict.fromkeys(("stream_resume_sequence", "consumer_sequence", "last_consumer_sequence"), 0),
    }.items():
        setattr(error, field, value)
    with pytest.raises(LoomError) as raised, translated("testing"):
        raise error
    assert type(raised.value) is MEANT[error_class.__name__]
    assert raised.value.__cause__ is error


def test_the_table_names_no_class_that_is_gone() -> None:
    assert set(MEANT) == {error_class.__name__ for error_class in ALL}


@pytest.mark.parametrize(
    ("code", "err_code", "description", "meant"),
    [
        (400, 10071, "wrong last sequence: 3", Conflict),
        (400, 10164, "wrong last sequence: 3", Conflict),
        (503, 10023, "insufficient resources", LimitExceeded),
        (500, 10047, "insufficient storage resources available", LimitExceeded),
        (400, 10002, "resource limits exceeded for account", LimitExceeded),
        (503, 10077, "maximum bytes exceeded", LimitExceeded),
        (503, 10077, "raft: not leader", faults.Busy),
        (400, 10054, "message size exceeds maximum allowed", InvalidInput),
        (404, 10037, "no message found", NotFound),
        (404, 10059, "stream not found", NotFound),
        (404, 0, "Message Not Found", NotFound),
        (400, 10081, "consumer deliver subject forms a cycle", AccessDenied),
        (400, 10131, "consumer create request did not match filtered subject from create subject", AccessDenied),
        (400, 10058, "stream name already in use with a different configuration", faults.NameInUse),
        (503, 10008, "JetStream system temporarily unavailable", faults.Busy),
        (429, 10210, "atomic publish too many inflight", faults.Busy),
        (400, 10074, "replicas > 1 not supported in non-clustered mode", Unavailable),
    ],
)
def test_what_the_server_answers_has_a_meaning(
    code: int, err_code: int, description: str, meant: type[LoomError]
) -> None:
    error = server_fault(code=code, err_code=err_code, description=description)
    assert type(error) is meant


@pytest.mark.parametrize(
    ("error", "meant"),
    [
        (ConnectionRefusedError(111, "Connect call failed"), Unavailable),
        (TimeoutError(), faults.NoAnswer),
        (ssl.SSLCertVerificationError("self-signed"), faults.Untrusted),
        (nats.errors.Error("nats: 'Authorization Violation'"), AccessDenied),
    ],
)
def test_what_goes_wrong_below_has_a_meaning(error: Exception, meant: type[LoomError]) -> None:
    assert type(translate(error, "connecting")) is meant


async def test_our_own_errors_and_strangers_pass() -> None:
    mine = Conflict(key="k", expected=1, actual=2)
    with pytest.raises(Conflict) as raised, translated():
        raise mine
    assert raised.value is mine
    with pytest.raises(ZeroDivisionError), translated():
        raise ZeroDivisionError


def test_silence_is_unavailable_to_others() -> None:
    for silence in (faults.NoAnswer, faults.NobodyThere, faults.Busy, faults.NotConnected):
        assert issubclass(silence, Unavailable)
        assert silence.code == "NATS_ERROR"
        assert "NATS" in silence().message
