"""Where a broker is and how to greet it: pure parsing, no connection.

A URL names the way (`nats`, `tls`, `ws`, `wss`) and may carry credentials; they are taken out of it here, so that a
server address can be shown anywhere. `tls` and `wss` promise an encrypted connection or none.
"""

from __future__ import annotations

import re
from urllib.parse import SplitResult, unquote, urlsplit

import msgspec

from identity.errors import InvalidInput

SCHEMES = ("nats", "tls", "ws", "wss")
DEFAULT_PORTS = {"nats": 4222, "tls": 4222, "ws": 80, "wss": 443}
DEFAULT_INBOX = "_INBOX"

_INBOX = re.compile(r"[A-Za-z0-9_-]{1,80}")


class Endpoint(msgspec.Struct, frozen=True, kw_only=True):
    """Everything a connection needs to know about the other side. Its `repr` holds no secret."""

    servers: tuple[str, ...]
    """URLs without credentials; of one family (`nats`/`tls` or `ws`/`wss`)."""
    user: str | None = None
    password: str | None = None
    token: str | None = None
    credentials_file: str | None = None
    nkey_file: str | None = None
    ca_file: str | None = None
    cert_file: str | None = None
    key_file: str | None = None
    tls_required: bool = False
    """Encrypted or not at all: asked for by the scheme, or implied by a CA or certificate of one's own."""
    inbox_prefix: str = DEFAULT_INBOX
    """Where answers arrive; with permissions per agent each agent has its own."""
    name: str | None = None
    """Shown in the broker's monitoring; None = the name of the link."""

    @property
    def shown(self) -> str:
        """The addresses, fit for logs and health: without any secret."""
        return ",".join(self.servers)

    @property
    def websocket(self) -> bool:
        return self.servers[0].startswith("ws")

    def __repr__(self) -> str:
        return f"Endpoint({self.shown})"

    __str__ = __repr__


class _Address(msgspec.Struct, frozen=True):
    server: str
    scheme: str
    user: str | None
    password: str | None


def endpoint_from(
    url: str,
    *,
    user: str | None = None,
    password: str | None = None,
    token: str | None = None,
    credentials_file: str | None = None,
    nkey_file: str | None = None,
    ca_file: str | None = None,
    cert_file: str | None = None,
    key_file: str | None = None,
    inbox_prefix: str | None = None,
) -> Endpoint:
    """Return the endpoint that a URL (or a comma-separated list of them) and separate credentials describe.

    Credentials inside the URL win. A user name alone in the URL is completed by `password`; without one it is a token,
    as NATS reads it. Empty strings count as absent.

    Raises: InvalidInput.
    """
    addresses = [_address(part.strip()) for part in url.split(",") if part.strip()]
    if not addresses:
        raise InvalidInput("The NATS URL is empty; expected for example nats://127.0.0.1:4222.", field="url")
    _same_family(addresses)
    if (cert_file or None) is None and key_file:
        raise InvalidInput("A TLS key needs its certificate as well (NATS_CERT and NATS_KEY).", field="cert_file")
    if (ca_file or cert_file) and any(address.scheme == "ws" for address in addresses):
        raise InvalidInput("Certificates ask for an encrypted connection, and ws:// is none; use wss://.", field="url")
    user, password, token = _credentials(addresses, user or None, password or None, token or None)
    return Endpoint(
        servers=tuple(dict.fromkeys(address.server for address in addresses)),
        user=user,
        password=password,
        token=token,
        credentials_file=credentials_file or None,
        nkey_file=nkey_file or None,
        ca_file=ca_file or None,
        cert_file=cert_file or None,
        key_file=key_file or None,
        tls_required=any(a.scheme in ("tls", "wss") for a in addresses) or bool(ca_file or cert_file),
        inbox_prefix=_inbox(inbox_prefix or DEFAULT_INBOX),
    )


def _inbox(prefix: str) -> str:
    if _INBOX.fullmatch(prefix) is None:
        raise InvalidInput("An inbox prefix is made of letters, digits, `_` and `-`, such as _INBOX_me.", field="inbox")
    return prefix


def _same_family(addresses: list[_Address]) -> None:
    if len({address.scheme.startswith("ws") for address in addresses}) > 1:
        raise InvalidInput("NATS URLs of one list must all be WebSocket (ws, wss) or none of them.", field="url")
    given = {(a.user, a.password) for a in addresses if a.user is not None}
    if len(given) > 1:
        raise InvalidInput(
            "NATS URLs of one list must carry the same credentials, or only one of them any.", field="url"
        )


def _credentials(
    addresses: list[_Address], user: str | None, password: str | None, token: str | None
) -> tuple[str | None, str | None, str | None]:
    """Return user, password and token: what the URL says before what stands beside it."""
    first = next((a for a in addresses if a.user is not None), None)
    if first is None:
        if (user is None) != (password is None):
            missing = "password" if password is None else "user name"
            raise InvalidInput(
                f"NATS credentials lack the {missing} (NATS_USER and NATS_PASS go together).", field="user"
            )
        return user, password, token
    if first.password is not None:
        return first.user, first.password, None
    if password is not None:
        return first.user, password, None
    return None, None, first.user


def _address(text: str) -> _Address:
    """Take one URL apart. Its text never goes into an error: it may hold a password."""
    if "://" not in text:
        text = f"nats://{text}"
    try:
        parts = urlsplit(text)
        port = parts.port
    except ValueError:
        raise InvalidInput("The NATS URL cannot be read: its host or port is malformed.", field="url") from None
    scheme = parts.scheme.lower()
    if scheme not in SCHEMES:
        raise InvalidInput(
            f"NATS URLs begin with {', '.join(f'{s}://' for s in SCHEMES)} (got {scheme or 'nothing'}://).", field="url"
        )
    host = parts.hostname
    if not host or any(c.isspace() or ord(c) < 32 for c in host):
        raise InvalidInput("The NATS URL names no host; expected for example nats://127.0.0.1:4222.", field="url")
    return _Address(_server(scheme, host, port, parts), scheme, _decoded(parts.username), _decoded(parts.password))


def _decoded(text: str | None) -> str | None:
    return unquote(text) if text else None


def _server(scheme: str, host: str, port: int | None, parts: SplitResult) -> str:
    """Spell the address without credentials; only WebSocket addresses have a path."""
    shown = f"[{host}]" if ":" in host else host
    server = f"{scheme}://{shown}:{DEFAULT_PORTS[scheme] if port is None else port}"
    if scheme not in ("ws", "wss"):
        if parts.path.strip("/") or parts.query or parts.fragment:
            raise InvalidInput(f"A {scheme}:// URL has no path or query.", field="url")
        return server
    return server + parts.path + (f"?{parts.query}" if parts.query else "")
