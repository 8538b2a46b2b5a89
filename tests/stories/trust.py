"""A NATS server that trusts an operator's signature: keys and tokens as `nsc` makes them, to test a credentials file."""

from __future__ import annotations

import base64
import hashlib
import json
import os
from typing import Any

import msgspec
import nkeys


class Trust(msgspec.Struct, frozen=True, kw_only=True):
    """What the server is told, and what its user holds."""

    config: str
    """Goes at the top level of the server's configuration."""
    credentials: str
    """Text of a `.creds` file."""


def trust() -> Trust:
    """Return a new operator, its account with JetStream, and a user there who may do everything."""
    operator, system, account, user = (
        _key(prefix)
        for prefix in (
            nkeys.PREFIX_BYTE_OPERATOR,
            nkeys.PREFIX_BYTE_ACCOUNT,
            nkeys.PREFIX_BYTE_ACCOUNT,
            nkeys.PREFIX_BYTE_USER,
        )
    )
    unlimited = {"subs": -1, "data": -1, "payload": -1}
    limits = {**unlimited, "imports": -1, "exports": -1, "wildcards": True, "conn": -1, "leaf": -1}
    store = {"mem_storage": -1, "disk_storage": -1, "streams": -1, "consumer": -1}
    operator_token = _token(operator, operator, {"type": "operator", "system_account": _name(system)})
    accounts = {
        _name(system): _token(operator, system, {"type": "account", "limits": limits}),
        _name(account): _token(operator, account, {"type": "account", "limits": {**limits, **store}}),
    }
    user_token = _token(account, user, {"type": "user", "pub": {}, "sub": {}, **unlimited})
    preload = "\n".join(f"  {name}: {token}" for name, token in accounts.items())
    return Trust(
        config=f"operator: {operator_token}\nresolver: MEMORY\nresolver_preload: {{\n{preload}\n}}\n",
        credentials=(
            f"-----BEGIN NATS USER JWT-----\n{user_token}\n------END NATS USER JWT------\n\n"
            f"-----BEGIN USER NKEY SEED-----\n{user.seed.decode()}\n------END USER NKEY SEED------\n"
        ),
    )


def nkey_user() -> tuple[str, str]:
    """Return the public key of a new user and the text of its seed file."""
    key = _key(nkeys.PREFIX_BYTE_USER)
    return _name(key), f"{key.seed.decode()}\n"


def _key(prefix: int) -> Any:
    return nkeys.from_seed(nkeys.encode_seed(os.urandom(32), prefix))  # pyright: ignore[reportUnknownMemberType] - untyped


def _name(key: Any) -> str:
    return key.public_key.decode()


def _token(issuer: Any, subject: Any, claims: dict[str, Any]) -> str:
    """Return claims about a subject, signed by an issuer."""
    body: dict[str, Any] = {
        "iat": 1_767_225_600,
        "iss": _name(issuer),
        "name": "test",
        "sub": _name(subject),
        "nats": {**claims, "version": 2},
    }
    body["jti"] = base64.b32encode(hashlib.sha256(json.dumps(body).encode()).digest()).decode().rstrip("=")
    signed = f"{_coded({'typ': 'JWT', 'alg': 'ed25519-nkey'})}.{_coded(body)}"
    return f"{signed}.{base64.urlsafe_b64encode(issuer.sign(signed.encode())).decode().rstrip('=')}"


def _coded(value: dict[str, Any]) -> str:
    return base64.urlsafe_b64encode(json.dumps(value, separators=(",", ":")).encode()).decode().rstrip("=")
