"""The scanner: what it must find, what it must leave alone, and that neither its results nor its errors tell a secret.

Samples are put together from parts, so that no scanner of repositories takes this file for a leak.
"""

from __future__ import annotations

import json
import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from identity.errors import InvalidInput
from loomem.core.scan import TYPES, Finding, ScanPolicy, apply_policy, scan

HEX = "0123456789abcdef" * 4
MIXED = "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8s9T0"
DASHES = "-" * 5
BODY = "MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQC7"


def pem(kind: str, body: str = BODY) -> str:
    return f"{DASHES}BEGIN {kind}{DASHES}\n{body}\n{DASHES}END {kind}{DASHES}"


POSITIVE: dict[str, list[str]] = {
    "api-key": [
        "api_key=" + MIXED,
        "API-KEY: '" + MIXED + "'",
        "apitoken = " + MIXED[:20],
        '{"apiKey": "' + MIXED + '"}',
    ],
    "aws-key": ["AKIA" + "IOSFODNN7EXAMPLE", "id=ASIA" + "Y34FZKBOKMUTVV7A;", "A3T" + "X" * 16],
    "github-token": [
        "ghp_" + MIXED,
        "remote uses ghs_" + MIXED + ".",
        "github_pat_" + "11ABCDEFG0" + MIXED,
        "gho_" + MIXED[:36],
    ],
    "jwt": [
        "eyJhbGciOiJIUzI1NiJ9" + ".eyJzdWIiOiIxMjM0In0" + ".SflKxwRJSMeKKF2QT4",
        "cookie=eyJ0" + ".eyJ1" + ".x",
        "<eyJhbGciOiJub25lIn0" + ".eyJhIjoxfQ" + ".e-_30>",
    ],
    "generic-secret": [
        "secret=" + MIXED,
        "Token: " + MIXED[:20],
        'bearer = "' + MIXED,
        "SECRET_KEY = '" + MIXED,
        '{"client_secret":"' + MIXED + '"}',
    ],
    "password": [
        "password=" + "hunter2hunter2",
        "PASSWD : '" + "correct-horse'",
        "pwd:" + "12345678",
        '{"password": "' + 's3cr3t-w0rd"}',
        '"{\\"pass' + 'word\\": \\"s3cr3t-w0rd\\"}"',
    ],
    "private-key": [
        pem("PRIVATE KEY"),
        pem("RSA PRIVATE KEY"),
        pem("EC PRIVATE KEY"),
        pem("OPENSSH PRIVATE KEY"),
        pem("DSA PRIVATE KEY"),
        pem("ENCRYPTED PRIVATE KEY"),
        pem("PGP PRIVATE KEY BLOCK"),
    ],
    "email": ["write to ada@example.org", "x.y+z@mail.example.co.uk!", "<A_B%c-d@EXAMPLE.COM>"],
    "credit-card": [
        "4111 1111 " + "1111 1111",
        "5555-5555" + "-5555-4444",
        "pay 401288888" + "8881881 now",
        "3782 822463" + " 10005",
        "3714496353" + "98431",
    ],
    "ssn": ["123-45" + "-6789", "SSN 078-05" + "-1120.", "(219-09" + "-9999)"],
    "auth-header": [
        "Authorization: Bearer " + MIXED,
        "curl -H 'authorization: basic " + "dXNlcjpwYXNzd29yZA=='",
        '{"Authorization": "Bearer ' + MIXED + '"}',
        "it sent Bearer " + MIXED + " along",
    ],
    "aws-secret": [
        "aws_secret_access_key = " + "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
        '"SecretAccessKey": "' + "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY" + '"',
        "AWS_SECRET_KEY='" + MIXED + "'",
    ],
    "stripe-key": ["sk_live_" + MIXED[:24], "rk_test_" + MIXED[:24], "hook whsec_" + MIXED[:32]],
    "slack-token": [
        "xoxb-" + "1234567890-abcdefghij",
        "xapp-1-" + "A012BCDEF-345",
        "https://hooks.slack.com/services/" + "T00000000/B00000000/" + MIXED[:24],
    ],
    "openai-key": ["sk-" + MIXED + "12345678", "sk-proj-" + MIXED + "_-x", "key is sk-svcacct-" + MIXED],
    "anthropic-key": ["sk-ant-api03-" + MIXED, "sk-ant-admin01-" + MIXED, "ANTHROPIC=sk-ant-" + MIXED],
    "google-key": ["AIza" + "SyD-" + MIXED[:31], "GOCSPX-" + MIXED[:28], "ya29." + MIXED],
    "url-password": [
        "postgres://app:" + "s3cret@db:5432/main",
        "mongodb+srv://root:" + "p%40ss@cluster0.example.net",
        "redis://:" + "foobared@localhost",
        "nats://agent:" + "pa@ss@broker:4222",
        "https://bot:" + "x1y2@git.example.org/r.git",
    ],
}
"""What each kind must be found in."""

CLEAN = [
    "",
    "Rotate the API key every quarter.",
    "The API key and the passwords are kept in the vault.",
    "api_key=short",
    "password: 1234567",
    "pwd=abc",
    "token = get_token(user)",
    "const token = await fetchToken();",
    "def issue_token(claims): ...",
    "items.map(token => token.value)",
    "if password == other: raise Mismatch",
    "password===confirmation",
    "token: 3f0c2a9e-6a52-4c1d-9d57-0e2b7c6a1f10",
    'session token="3F0C2A9E-6A52-4C1D-9D57-0E2B7C6A1F10"',
    "secret: 00000000-0000-4000-8000-000000000001",
    "order 1234 5678 9012 3456",
    "4111 1111 1111 1112",
    "number 1111222233334444",
    "0000 0000 0000 0000",
    "took 0.4111111111111111 s",
    "timestamp 1767225600000000",
    "commit 41111111111111111",
    "x4111111111111111",
    "371449635398432",
    "id 123-456-7890",
    "123-45-67890",
    "2026-01-02",
    "a1234-56-7890b",
    "1-800-555-0199",
    "mail ada at example dot org",
    "@decorator",
    "user@localhost",
    "pkg@1.2.3",
    "git@host:path",
    "a @ b",
    "matrix = a@b",
    "AKIA is a prefix of AWS",
    "AKIASHORT",
    "akiaiosfodnn7example",
    "ghp_short",
    "github_pat_x",
    "eyJhbGciOiJIUzI1NiJ9",
    "eyJhbGciOiJIUzI1NiJ9.payload.sig",
    "a.b.c",
    "xeyJ0.eyJ1.x",
    pem("PUBLIC KEY"),
    pem("CERTIFICATE"),
    "BEGIN PRIVATE KEY",
    "Authorization: Bearer <token>",
    "Authorization: Bearer $TOKEN",
    "send the header Authorization: Bearer and the token",
    "the bearer of good news",
    "bearer authentication-considerations",
    "aws_secret_access_key = from the vault",
    "sk-learn",
    "sk-ant-",
    "task-" + "a" * 40,
    "pk_live_" + MIXED[:24],
    "sk_live_x",
    "xoxo, the team",
    "AIza is how they begin",
    "postgres://localhost/main",
    "postgres://app@db:5432/main",
    "postgres://app:${DB_PASSWORD}@db/main",
    "http://localhost:8080/a@b",
    "docker://nginx:1.25@sha256:" + HEX,
    "https://example.org/docs?q=1#x",
    "password: ${DB_PASSWORD}",
    "password = process.env.DB_PASSWORD",
    "password=os.environ['DB_PASSWORD']",
    "password: <your-password>",
    "password: {{ vault.db }}",
    "sha256 " + HEX,
    "3f0c2a9e-6a52-4c1d-9d57-0e2b7c6a1f10",
    "密码在保险库里。",
    "hasło jest w sejfie 🔐",
    "The secret of good tests is that they can fail.",
]
"""What must stay silent."""

SAMPLES = [(kind, text) for kind, texts in POSITIVE.items() for text in texts]


def kinds(text: str) -> set[str]:
    return {f.type for f in scan(text)}


def test_every_kind_has_samples() -> None:
    assert tuple(POSITIVE) == TYPES
    assert TYPES[:10] == (
        "api-key",
        "aws-key",
        "github-token",
        "jwt",
        "generic-secret",
        "password",
        "private-key",
        "email",
        "credit-card",
        "ssn",
    )
    assert min(len(texts) for texts in POSITIVE.values()) >= 3
    assert len(CLEAN) >= 60


@pytest.mark.parametrize(("kind", "text"), SAMPLES)
def test_finds(kind: str, text: str) -> None:
    assert kind in kinds(text)
    assert kind in kinds(f"İ kept in prose: {text} and so on")


@pytest.mark.parametrize("text", CLEAN)
def test_stays_silent(text: str) -> None:
    assert scan(text) == []


def test_reports_every_match_and_overlaps_in_the_order_of_the_table() -> None:
    found = scan(f"ssn 123-45{'-6789'}, api_token={MIXED}, then a@b.cz and c@d.cz")
    assert [f.type for f in found] == ["api-key", "generic-secret", "email", "email", "ssn"]
    assert found[2].position < found[3].position


def test_position_is_a_character_index() -> None:
    text = "İstanbul 🔐 ada@example.org"
    assert scan(text) == [
        Finding(type="email", description="E-mail address", field="content", position=11, sample="ada...org")
    ]
    assert scan("see nats://u:" + "p@h")[0].position == 4


@pytest.mark.parametrize(("kind", "text"), SAMPLES)
def test_samples_are_masked(kind: str, text: str) -> None:
    for finding in scan(text):
        assert len(finding.sample.replace("*", "")) <= 9
    assert scan("a@bcde.com")[0].sample == "*" * 10


@pytest.mark.parametrize(("kind", "text"), SAMPLES)
def test_redacts_so_that_nothing_is_left_to_find(kind: str, text: str) -> None:
    screened = apply_policy(ScanPolicy.REDACT, f"before {text} after", None)
    assert screened.content is not None
    assert screened.content.startswith("before ")
    assert screened.content.endswith(" after")
    assert "[REDACTED:" in screened.content
    assert scan(screened.content) == []
    assert kind in {w.type for w in screened.warnings}


def test_redacts_the_secret_and_keeps_its_label() -> None:
    def redacted(text: str) -> str | None:
        return apply_policy(ScanPolicy.REDACT, text, None).content

    assert redacted('{"password": "' + 'hunter2hunter2"}') == '{"password": "[REDACTED:password]"}'
    assert redacted("api_key=sk-ant-" + MIXED) == "api_key=[REDACTED:anthropic-key]"
    assert redacted("postgres://app:" + "p@ss@db/x") == "postgres://app:[REDACTED:url-password]@db/x"


def test_redacts_the_whole_private_key() -> None:
    def redacted(text: str) -> str | None:
        return apply_policy(ScanPolicy.REDACT, text, None).content

    key = pem("RSA PRIVATE KEY", f"Proc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC,AB\n\n{BODY}\n{BODY}")
    assert redacted(f"a {key} b") == "a [REDACTED:private-key] b"
    assert redacted(f"a {key} b {key} c") == "a [REDACTED:private-key] b [REDACTED:private-key] c"
    cut = key.split(DASHES + "END")[0]
    assert redacted(f"{cut}and prose") == "[REDACTED:private-key]\nand prose"
    assert redacted(f"{cut}then {key}") == "[REDACTED:private-key]\nthen [REDACTED:private-key]"


def test_metadata_is_screened_in_every_string_keys_included() -> None:
    metadata: dict[str, Any] = {
        "tags": ["fine", "ada@example.org"],
        "source": "ghp_" + MIXED,
        "priority": 1,
        "deep": [{"password": "hunter2hunter2", "n": None}, [True, 1.5, "123-45" + "-6789"]],
        "a@b.cz": "x",
        "c@d.cz": {"inner": "e@f.cz"},
    }
    screened = apply_policy(ScanPolicy.REDACT, "fine", metadata)
    assert screened.content == "fine"
    assert screened.metadata == {
        "tags": ["fine", "[REDACTED:email]"],
        "source": "[REDACTED:github-token]",
        "priority": 1,
        "deep": [{"password": "[REDACTED:password]", "n": None}, [True, 1.5, "[REDACTED:ssn]"]],
        "[REDACTED:email]": "x",
        "[REDACTED:email] (2)": {"inner": "[REDACTED:email]"},
    }
    assert [(w.field, w.type) for w in screened.warnings] == [
        ("metadata.tags[1]", "email"),
        ("metadata.source", "github-token"),
        ("metadata.deep[0].password", "password"),
        ("metadata.deep[1][2]", "ssn"),
        ("metadata.[REDACTED:email]", "email"),
        ("metadata.[REDACTED:email]", "email"),
        ("metadata.[REDACTED:email].inner", "email"),
    ]
    assert screened.warnings[2].position == 0


def test_warn_changes_nothing_and_off_looks_at_nothing() -> None:
    metadata = {"source": "ada@example.org"}
    warned = apply_policy(ScanPolicy.WARN, "pwd=12345678", metadata)
    assert (warned.content, warned.metadata) == ("pwd=12345678", metadata)
    assert [w.type for w in warned.warnings] == ["password", "email"]
    assert apply_policy(ScanPolicy.OFF, "pwd=12345678", metadata).warnings == ()
    assert apply_policy(ScanPolicy.WARN, None, None).content is None


def test_block_names_kinds_and_fields_never_values() -> None:
    secret = "hunter2" + "hunter2"
    with pytest.raises(InvalidInput) as caught:
        apply_policy(ScanPolicy.BLOCK, f"password={secret}", {f"pwd:{secret}": 1})
    told = caught.value.message + json.dumps(caught.value.details)
    assert "password" in told
    assert "content" in told
    assert secret not in told
    assert apply_policy(ScanPolicy.BLOCK, "nothing here", {"tags": ["x"]}).warnings == ()


PIECES = [text for _, text in SAMPLES] + CLEAN + [" ", "\n", ":", "=", '"', "@", ".", "-", "password", "token", "://"]


@given(st.lists(st.sampled_from(PIECES) | st.text(max_size=5), max_size=6))
def test_what_was_redacted_twice_is_as_redacted_once(parts: list[str]) -> None:
    once = apply_policy(ScanPolicy.REDACT, "".join(parts), None).content
    twice = apply_policy(ScanPolicy.REDACT, once, None).content
    assert twice == once


@given(st.text())
def test_any_text_is_scanned(text: str) -> None:
    for finding in scan(text):
        assert 0 <= finding.position < len(text)


def test_only_one_character_grows_in_lower_case() -> None:
    assert [chr(c) for c in range(0x110000) if len(chr(c).lower()) != 1] == ["\u0130"]


PATHOLOGICAL = [
    "a.", "eyJ", ".eyJ", "eyJ.eyJ", "@", "a@", "a@a.", "1", "4111 ", "123-45-", "api_key", "api_key ", "pwd=", "bearer ",
    "bearer\t", "authorization: bearer ", "://", "://a:", "a://a:a", "sk-", "ghp_", "AKIA", " ", "secret", '\\"', ".aa1",
    f"{DASHES}BEGIN PRIVATE KEY{DASHES}", f"{DASHES}END ", "aws_secret_access_key=", "[REDACTED:email]", "xox", "token:",
]  # fmt: skip


@pytest.mark.parametrize("unit", PATHOLOGICAL)
@pytest.mark.parametrize("head", ["", "a@", "bearer ", "://:", "api_key", f"{DASHES}BEGIN PRIVATE KEY{DASHES}"])
def test_no_input_makes_it_slow(unit: str, head: str) -> None:
    """A quadratic pattern needs seconds for what a linear one does in hundredths: the bound is generous, not a timing."""
    text = head + unit * (100_000 // len(unit))
    began = time.process_time()
    apply_policy(ScanPolicy.REDACT, text, None)
    assert time.process_time() - began < 4
