"""Acceptance check 46: secrets in what is about to be stored are told, redacted or refused, on every way in."""

from __future__ import annotations

import json
import logging
from pathlib import Path
from typing import Any

import pytest

from pattern.testing.agents import Agent, Agents
from tests.stories.conftest import RawStore
from tests.stories.files import item, write

KEY = "Zx9Kq2Lm7Rt4Vb8Nc1Wd"
"""Twenty characters that make any label a secret."""

TEN = {
    "api-key": f"api_key={KEY}",
    "aws-key": "AKIAIOSFODNN7EXAMPLE",
    "github-token": "ghp_abcdefghijklmnopqrstuvwxyz0123456789",
    "jwt": "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.dBjftJeZ4CVPmB92K27uhbUJU1p1r",
    "generic-secret": f"client secret: {KEY}",
    "password": "password=hunter2hunter2",
    "private-key": "-----BEGIN RSA PRIVATE KEY-----",
    "email": "jane.doe@example.com",
    "credit-card": "4111 1111 1111 1111",
    "ssn": "078-05-1120",
}
"""The ten kinds of the specification, each with a text in which it is found."""

MISSED: dict[str, list[str]] = {
    "password": ['{"password": "hunter2hunter2"}', "{'pwd': 'hunter2hunter2'}"],
    "auth-header": ["Authorization: Bearer abcdef0123456789abcdef", "authorization: Basic dXNlcjpwYXNzd29yZA=="],
    "url-password": ["postgres://app:s3cretpw@db.example.org/prod", "redis://:s3cretpw@cache:6379/0"],
    "stripe-key": ["sk_live_4eC39HqLyjWDarjtT1zdp7dc", "rk_test_4eC39HqLyjWDarjtT1zdp7dc"],
    "slack-token": ["xoxb-123456789012-abcdefABCDEF", "https://hooks.slack.com/services/T000/B000/abcdefghijklmnop"],
    "openai-key": ["sk-proj-abcdefghijklmnopqrstuvwx"],
    "anthropic-key": ["sk-ant-api03-abcdefghijklmnopqrst"],
    "google-key": ["AIzaSyA-1234567890abcdefghijklmnopqrstu"],
    "github-token": ["github_pat_11ABCDEFG0abcdefghijkl_mnopqrstuv"],
    "aws-secret": ["aws_secret_access_key=wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"],
    "private-key": ["-----BEGIN PGP PRIVATE KEY BLOCK-----", "-----BEGIN ENCRYPTED PRIVATE KEY-----"],
}
"""What Pattern 0.4 did not find."""

CLEAN = [
    "The API key goes into the vault, and passwords are never stored.",
    "const t = getToken(user); return refresh_token(t)",
    "api_key=short",
    "password: seven77",
    "token: 3f0c2a9e-6a52-4c1d-9d57-0e2b7c6a1f10",
    "order number 1234 5678 9012 3456",
    "password=${DB_PASSWORD} and password = os.environ['PW']",
]

CREATING = ("remember", "remember-task", "remember-learning", "core-memory", "remember-bulk", "import-memories")


async def create(agent: Agent, tool: str, folder: Path, *contents: str, **more: Any) -> list[dict[str, Any]]:
    """Store each text by a tool; returns the answers."""
    match tool:
        case "remember-bulk":
            return [await agent.call(tool, memories=[{"content": content, **more} for content in contents])]
        case "import-memories":
            name = write(folder / "in.json", *(item(content=content, **more) for content in contents))
            return [await agent.call(tool, inputPath=name)]
        case _:
            return [await agent.call(tool, content=content, **more) for content in contents]


def warned(answers: list[dict[str, Any]]) -> list[tuple[int, str]]:
    """Return which of the texts had which kinds of warnings."""
    return [
        (warning.get("index", number), warning["type"])
        for number, answer in enumerate(answers)
        for warning in answer.get("warnings", [])
        if warning["type"] != "no-personal"
    ]


@pytest.mark.requirement("scanner-46.types")
@pytest.mark.parametrize("tool", CREATING)
async def test_each_of_the_ten_kinds_is_told_and_stored(
    agents: Agents, raw: RawStore, tmp_path: Path, tool: str
) -> None:
    me = await agents()
    texts = [f"note {number}: {sample} ." for number, sample in enumerate(TEN.values())]
    answers = await create(me, tool, tmp_path, *texts)
    found = warned(answers)
    for number, kind in enumerate(TEN):
        assert (number, kind) in found, kind
    for warning in (warning for answer in answers for warning in answer["warnings"] if "sample" in warning):
        assert warning["description"]
        assert warning["field"] == "content"
        assert warning["position"] > 0
        assert not any(warning["sample"] in sample for sample in TEN.values()), "a sample is masked"
    assert sorted(record["content"] for record in (await raw.everywhere()).values()) == sorted(texts)


@pytest.mark.requirement("scanner-46.missed")
async def test_what_older_scanners_missed_is_found(agents: Agents, tmp_path: Path) -> None:
    me = await agents()
    samples = [(kind, text) for kind, texts in MISSED.items() for text in texts]
    found = warned(await create(me, "remember-bulk", tmp_path, *(text for _, text in samples)))
    for number, (kind, text) in enumerate(samples):
        assert (number, kind) in found, text


@pytest.mark.requirement("scanner-46.clean")
async def test_clean_texts_raise_no_warning(agents: Agents, tmp_path: Path) -> None:
    me = await agents()
    for tool in ("remember", "remember-bulk", "import-memories"):
        assert warned(await create(me, tool, tmp_path, *CLEAN)) == [], tool


@pytest.mark.requirement("scanner-46.off")
@pytest.mark.parametrize(
    ("setting", "silent"),
    [
        ({"PATTERN_CONTENT_SCANNING": "false"}, True),
        ({"PATTERN_DISABLE_CONTENT_SCAN": "true"}, True),
        ({"PATTERN_SCAN_POLICY": "off"}, True),
        ({"PATTERN_CONTENT_SCANNING": "true"}, False),
        ({"PATTERN_DISABLE_CONTENT_SCAN": "false"}, False),
    ],
)
async def test_the_scanner_can_be_switched_off(
    agents: Agents, tmp_path: Path, setting: dict[str, str], *, silent: bool
) -> None:
    me = await agents(env=setting)
    for tool in ("remember", "import-memories"):
        assert (warned(await create(me, tool, tmp_path, *TEN.values())) == []) is silent, tool


# --- every way in -----------------------------------------------------------------------------------------------------

HIDDEN = "password=hunter2hunter2"
LABELS = {"tags": [HIDDEN], "source": f"see {HIDDEN}", "deep": {"er": [{"note": HIDDEN}]}}


async def by_every_path(agent: Agent, folder: Path) -> dict[str, dict[str, Any]]:
    """Bring the same secret in by every way there is; returns what each way answered or, refused, why."""
    clean = await agent.call("remember-bulk", memories=[{"content": f"clean {number}"} for number in range(4)])
    first, second, third, fourth = clean["memoryIds"]
    revision = dict(zip(clean["memoryIds"], clean["revisions"], strict=True))
    ways: dict[str, tuple[str, dict[str, Any]]] = {
        "tags": ("remember", {"content": "x", "metadata": {"tags": [HIDDEN]}}),
        "metadata": ("remember", {"content": "x", "metadata": LABELS}),
        "task": ("remember-task", {"content": "x", "metadata": LABELS}),
        "learning": ("remember-learning", {"content": "x", "metadata": LABELS}),
        "core": ("core-memory", {"content": HIDDEN, "metadata": LABELS}),
        "bulk": ("remember-bulk", {"memories": [{"content": HIDDEN}, {"content": "x", "metadata": LABELS}]}),
        "update": ("update-memory", {"memoryId": first, "expectedRevision": revision[first], "content": HIDDEN}),
        "labels": ("update-memory", {"memoryId": second, "expectedRevision": revision[second], "metadata": LABELS}),
        "commit": ("commit-insight", {"memoryId": third, "newContent": HIDDEN}),
        "import": ("import-memories", {"inputPath": write(folder / "a.json", item(content=HIDDEN, metadata=LABELS))}),
        "unknown fields": ("import-memories", {"inputPath": write(folder / "b.json", item(note=HIDDEN))}),
        "overwriting": (
            "import-memories",
            {"inputPath": write(folder / "c.json", item(fourth, content=HIDDEN)), "overwriteExisting": True},
        ),
    }
    answers: dict[str, dict[str, Any]] = {}
    for way, (tool, arguments) in ways.items():
        result = await agent.client.call_tool(tool, arguments)
        answers[way] = {**(result.structured_content or {}), "failed": result.is_error}
    return answers


@pytest.mark.requirement("scanner-46.paths")
async def test_every_way_in_is_looked_at(agents: Agents, tmp_path: Path) -> None:
    me = await agents()
    for way, answer in (await by_every_path(me, tmp_path)).items():
        assert not answer["failed"], way
        assert "password" in {warning["type"] for warning in answer["warnings"]}, way
        assert "hunter2" not in json.dumps(answer), way
    fields = {warning["field"] for warning in (await by_every_path(me, tmp_path))["metadata"]["warnings"]}
    assert fields == {"metadata.tags[0]", "metadata.source", "metadata.deep.er[0].note"}


@pytest.mark.requirement("scanner-46.policy")
async def test_redaction_stores_the_text_without_the_secret(agents: Agents, raw: RawStore, tmp_path: Path) -> None:
    me = await agents(env={"PATTERN_SCAN_POLICY": "redact"})
    for way, answer in (await by_every_path(me, tmp_path)).items():
        assert not answer["failed"], way
        assert "password" in {warning["type"] for warning in answer["warnings"]}, way
    kept = json.dumps(await raw.everywhere())
    assert "hunter2" not in kept
    assert "password=[REDACTED:password]" in kept
    stored = await me.call("remember", content=f"The key is {TEN['aws-key']} since May", category="longterm")
    memory = (await me.call("get-memory", memoryId=stored["memoryId"]))["memory"]
    assert memory["content"] == "The key is [REDACTED:aws-key] since May"


@pytest.mark.requirement("scanner-46.policy")
async def test_blocking_stores_nothing_and_names_kinds_not_values(
    agents: Agents, raw: RawStore, tmp_path: Path
) -> None:
    me = await agents(env={"PATTERN_SCAN_POLICY": "block"})
    for way, answer in (await by_every_path(me, tmp_path)).items():
        said = json.dumps(answer)
        assert "hunter2" not in said, way
        assert "(password)" in said, way
        if answer["failed"]:
            assert answer["code"] == "VALIDATION_ERROR", way
        else:
            assert (answer["imported"], answer["skipped"]) == (0, 1), way
    assert {record["content"] for record in (await raw.everywhere()).values()} == {f"clean {n}" for n in range(4)}


@pytest.mark.requirement("scanner-46.policy")
async def test_what_was_stored_before_the_policy_is_screened_when_it_is_shared(agents: Agents, raw: RawStore) -> None:
    before = await agents()
    stored = await before.call("remember", content=HIDDEN, category="longterm")
    me = await agents(env={"PATTERN_SCAN_POLICY": "block"})
    failure = await me.refused("share-learning", memoryId=stored["memoryId"])
    assert failure.code == "VALIDATION_ERROR"
    assert failure.details["types"] == ["password"]
    assert [record["scope"] for record in (await raw.everywhere()).values()] == ["private"]


# --- logs -------------------------------------------------------------------------------------------------------------

SECRETS = [*TEN.values(), *(text for texts in MISSED.values() for text in texts)]


@pytest.mark.requirement("scanner-46.logs")
@pytest.mark.parametrize("policy", ["warn", "redact", "block"])
async def test_no_secret_and_no_content_is_logged(
    agents: Agents, tmp_path: Path, caplog: pytest.LogCaptureFixture, policy: str
) -> None:
    caplog.set_level(logging.DEBUG)
    me = await agents(env={"PATTERN_SCAN_POLICY": policy})
    for secret in SECRETS:
        for content in (secret, f"wordy {secret}"):
            await me.client.call_tool("remember", {"content": content, "metadata": {"source": secret}})
    await me.client.call_tool("remember-bulk", {"memories": [{"content": secret} for secret in SECRETS]})
    await by_every_path(me, tmp_path)
    logged = "\n".join(
        record.getMessage() + str(record.exc_info or "") for record in caplog.records if record.name != "asyncio"
    )
    assert "tool=remember" in logged
    assert [secret for secret in [*SECRETS, "hunter2", "wordy"] if secret in logged] == []


@pytest.mark.requirement("scanner-46.logs")
async def test_no_secret_is_in_the_log_of_a_real_process(agents: Agents, tmp_path: Path) -> None:
    me = await agents.spawn(env={"LOG_LEVEL": "DEBUG", "DEBUG": "true"})
    await me.call("remember-bulk", memories=[{"content": f"wordy {secret}"} for secret in SECRETS])
    await by_every_path(me, tmp_path)
    await me.refused("remember", content="wordy " * 10_000)
    await me.close()
    log = me.log()
    assert "tool=remember-bulk" in log
    assert [secret for secret in [*SECRETS, "hunter2", "wordy"] if secret in log] == []
