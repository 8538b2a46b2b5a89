"""Broker addresses: what is understood, what wins, and that no secret ever shows."""

from __future__ import annotations

import subprocess
import sys
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from identity.errors import InvalidInput
from loomem.nats.endpoint import endpoint_from

SECRETS = st.text(min_size=1, max_size=30).filter(lambda text: "\x00" not in text and text.isprintable())
HOSTS = st.sampled_from(["127.0.0.1", "localhost", "broker.example.org", "[::1]"])
PORTS = st.integers(1, 65535)
SCHEMES = st.sampled_from(["nats", "tls", "ws", "wss"])


@given(SCHEMES, HOSTS, PORTS, SECRETS, SECRETS)
def test_credentials_are_decoded_and_taken_out_of_the_address(
    scheme: str, host: str, port: int, user: str, password: str
) -> None:
    endpoint = endpoint_from(f"{scheme}://{quote(user, safe='')}:{quote(password, safe='')}@{host}:{port}")
    assert (endpoint.user, endpoint.password, endpoint.token) == (user, password, None)
    assert endpoint.servers == (f"{scheme}://{host}:{port}",)
    assert endpoint.shown == f"{scheme}://{host}:{port}"


@given(SECRETS, SECRETS, SECRETS)
def test_no_text_of_an_endpoint_holds_a_secret(user: str, password: str, token: str) -> None:
    marked = [f"s3cret-{text}-s3cret" for text in (user, password, token)]
    with_user = endpoint_from("127.0.0.1", user=marked[0], password=marked[1])
    with_token = endpoint_from("127.0.0.1", token=marked[2])
    for endpoint in (with_user, with_token):
        assert "s3cret" not in f"{endpoint} {endpoint!r} {endpoint.shown}"


@given(st.text(max_size=60))
def test_any_text_is_an_address_or_invalid_input(text: str) -> None:
    try:
        servers = endpoint_from(text).servers
    except InvalidInput:
        return
    assert servers


@pytest.mark.parametrize(
    ("url", "servers"),
    [
        ("broker", ("nats://broker:4222",)),
        ("broker:5222", ("nats://broker:5222",)),
        ("nats://broker", ("nats://broker:4222",)),
        ("tls://broker", ("tls://broker:4222",)),
        ("NATS://Broker:4222", ("nats://broker:4222",)),
        ("ws://broker:8080/nats?region=eu", ("ws://broker:8080/nats?region=eu",)),
        ("wss://broker/deep/path", ("wss://broker:443/deep/path",)),
        ("ws://broker", ("ws://broker:80",)),
        ("nats://[::1]:4222", ("nats://[::1]:4222",)),
        ("nats://a:1, nats://b:2,c:3 ,", ("nats://a:1", "nats://b:2", "nats://c:3")),
        ("nats://a:1,nats://a:1", ("nats://a:1",)),
        ("nats://u:p@a:1,nats://b:2", ("nats://a:1", "nats://b:2")),
    ],
)
def test_addresses_are_completed(url: str, servers: tuple[str, ...]) -> None:
    assert endpoint_from(url).servers == servers


@pytest.mark.parametrize(
    ("url", "beside", "expected"),
    [
        ("nats://h", {}, (None, None, None)),
        ("nats://h", {"user": "u", "password": "p"}, ("u", "p", None)),
        ("nats://h", {"token": "t"}, (None, None, "t")),
        ("nats://h", {"user": "", "password": "", "token": ""}, (None, None, None)),
        ("nats://u:p@h", {"user": "x", "password": "y", "token": "t"}, ("u", "p", None)),
        ("nats://u@h", {"password": "p"}, ("u", "p", None)),
        ("nats://u@h", {"user": "x", "password": "p"}, ("u", "p", None)),
        ("nats://t@h", {}, (None, None, "t")),
        ("nats://t@h", {"token": "other"}, (None, None, "t")),
    ],
)
def test_credentials_of_the_url_win_and_are_completed(
    url: str, beside: dict[str, str], expected: tuple[str | None, str | None, str | None]
) -> None:
    endpoint = endpoint_from(url, **beside)
    assert (endpoint.user, endpoint.password, endpoint.token) == expected


@pytest.mark.parametrize(
    ("url", "files", "required"),
    [
        ("nats://h", {}, False),
        ("ws://h", {}, False),
        ("tls://h", {}, True),
        ("wss://h", {}, True),
        ("tls://a,nats://b", {}, True),
        ("nats://h", {"ca_file": "/ca.pem"}, True),
        ("nats://h", {"cert_file": "/c.pem", "key_file": "/k.pem"}, True),
        ("nats://h", {"credentials_file": "/me.creds"}, False),
    ],
)
def test_encryption_is_required_by_the_scheme_or_by_certificates(
    url: str, files: dict[str, str], required: bool
) -> None:
    assert endpoint_from(url, **files).tls_required is required


@pytest.mark.parametrize(
    ("url", "beside"),
    [
        ("", {}),
        (" , ", {}),
        ("http://h", {}),
        ("nats://", {}),
        ("nats://h:port", {}),
        ("nats://h:99999", {}),
        ("nats://[::1", {}),
        ("nats://h/path", {}),
        ("nats://h?query=1", {}),
        ("nats://a b:1", {}),
        ("nats://a,ws://b", {}),
        ("nats://u:p@a,nats://v:q@b", {}),
        ("ws://h", {"ca_file": "/ca.pem"}),
        ("nats://h", {"user": "u"}),
        ("nats://h", {"password": "p"}),
        ("nats://h", {"key_file": "/k.pem"}),
    ],
)
def test_what_cannot_work_is_refused_before_connecting(url: str, beside: dict[str, str]) -> None:
    with pytest.raises(InvalidInput):
        endpoint_from(url, **beside)


@pytest.mark.parametrize(
    "url", ["nats://user:s3cret@h:port", "http://user:s3cret@h", "nats://user:s3cret@", "s3cret@:1"]
)
def test_a_refused_url_is_not_repeated_with_its_password(url: str) -> None:
    with pytest.raises(InvalidInput) as raised:
        endpoint_from(url)
    assert "s3cret" not in str(raised.value)


def test_parsing_an_address_loads_no_nats_library() -> None:
    code = "import loomem.nats.endpoint, loomem.nats.topology, loomem.nats.follow, sys; print('nats' in sys.modules)"
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=30)
    assert shown.stdout.strip() == "False"
