"""The environment as settings: pure, complete, and quiet about secrets."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from identity.errors import InvalidInput
from loomem.core.limits import Limits
from loomem.core.scan import ScanPolicy
from loomem.embed.settings import Adapter, EmbedSettings
from pattern.settings import from_environment

CWD = Path("/home/ann/shop")
HOME = {"HOME": "/home/dev"}


def test_nothing_set_is_the_embedded_default() -> None:
    settings = from_environment(HOME, CWD)
    assert settings.nats.url is None
    assert settings.node
    assert settings.project_path == CWD
    assert settings.home == Path("/home/dev/.local/share/pattern-memory")
    assert settings.files_dir == CWD
    assert settings.scan_policy is ScanPolicy.WARN
    assert str(settings.timezone) == "UTC"
    assert settings.limits == Limits()
    assert (settings.node_idle_s, settings.replicas, settings.log_level) == (300.0, 1, None)
    assert settings.warnings == ()


@given(
    st.dictionaries(st.sampled_from(["NATS_URL", "NATS_PASS", "PATTERN_NODE", "LOG_LEVEL"]), st.text(" \t", max_size=3))
)
def test_a_blank_variable_is_an_unset_one(blanks: dict[str, str]) -> None:
    blank = from_environment({**HOME, **blanks}, CWD)
    unset = from_environment(HOME, CWD)
    assert (blank.nats, blank.node, blank.log_level) == (unset.nats, unset.node, unset.log_level)


def test_credentials_may_stand_singly_or_together() -> None:
    alone = from_environment({**HOME, "NATS_PASS": " p w "}, CWD).nats
    assert (alone.user, alone.password) == (None, " p w ")
    both = from_environment({**HOME, "NATS_USER": "u", "NATS_PASS": "p"}, CWD).nats
    assert (both.user, both.password) == ("u", "p")


def test_files_are_absolute_so_that_the_node_finds_them_too() -> None:
    settings = from_environment({**HOME, "NATS_CREDS": "a.creds", "PATTERN_HOME": "mem", "MCP_PROJECT_PATH": ".."}, CWD)
    assert settings.nats.credentials_file == "/home/ann/shop/a.creds"
    assert settings.home == Path("/home/ann/shop/mem")
    assert settings.project_path == Path("/home/ann")


def test_what_the_node_is_told_does_not_hang_on_its_folder() -> None:
    relative = {"PATTERN_HOME": "memory", "NATS_CREDS": "me.creds", "NATS_CA": "ca.pem"}
    for told in (HOME | relative, {"HOME": "dev"}):
        here = from_environment(told, CWD)
        there = from_environment(here.node_environment, Path("/elsewhere"))
        assert (there.home, there.nats) == (here.home, here.nats)


@pytest.mark.parametrize("wrong", ["relative/data", ""])
def test_a_relative_xdg_directory_is_ignored(wrong: str) -> None:
    assert from_environment({**HOME, "XDG_DATA_HOME": wrong}, CWD).home == from_environment(HOME, CWD).home
    assert from_environment({**HOME, "XDG_DATA_HOME": "/data"}, CWD).home == Path("/data/pattern-memory")


@pytest.mark.parametrize(
    ("env", "policy"),
    [
        ({"PATTERN_CONTENT_SCANNING": "false"}, ScanPolicy.OFF),
        ({"PATTERN_CONTENT_SCANNING": "no"}, ScanPolicy.WARN),
        ({"PATTERN_DISABLE_CONTENT_SCAN": "true"}, ScanPolicy.OFF),
        ({"PATTERN_DISABLE_CONTENT_SCAN": "false"}, ScanPolicy.WARN),
        ({"PATTERN_SCAN_POLICY": "block", "PATTERN_CONTENT_SCANNING": "false"}, ScanPolicy.BLOCK),
    ],
)
def test_both_older_switches_silence_the_scanner_and_a_policy_beats_them(
    env: dict[str, str], policy: ScanPolicy
) -> None:
    assert from_environment({**HOME, **env}, CWD).scan_policy is policy


@given(st.sampled_from([field for field in Limits.__struct_fields__ if field != "retention_s"]), st.integers(1, 10**9))
def test_every_limit_has_its_variable(field: str, value: int) -> None:
    settings = from_environment({**HOME, f"PATTERN_LIMIT_{field.upper()}": str(value)}, CWD)
    assert getattr(settings.limits, field) == value
    assert settings.warnings == ()


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("PATTERN_NODE", "maybe"),
        ("PATTERN_NODE_IDLE_S", "-1"),
        ("PATTERN_NODE_IDLE_S", "nan"),
        ("PATTERN_REPLICAS", "0"),
        ("PATTERN_REPLICAS", "6"),
        ("PATTERN_LIMIT_TAGS", "ten"),
        ("PATTERN_LIMIT_TAGS", "٣"),
        ("PATTERN_SCAN_POLICY", "shout"),
        ("PATTERN_TIMEZONE", "Mars/Olympus"),
        ("PATTERN_TIMEZONE", "../../etc/passwd"),
        ("LOOMINAL_IDENTITY", "weft"),
        ("LOG_LEVEL", "LOUD"),
    ],
)
def test_what_makes_no_sense_is_refused_by_name(name: str, value: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        from_environment({**HOME, name: value}, CWD)
    assert name in refused.value.message
    assert refused.value.field == name


def test_a_misspelt_setting_is_told_with_what_was_meant() -> None:
    (warning,) = from_environment({**HOME, "PATTERN_NOED": "off"}, CWD).warnings
    assert warning == "PATTERN_NOED is not a setting; did you mean PATTERN_NODE?"


@pytest.mark.parametrize(
    ("env", "level"),
    [({"DEBUG": "true"}, "DEBUG"), ({"DEBUG": "no"}, None), ({"LOG_LEVEL": "warn"}, "WARNING")],
)
def test_levels_of_the_log(env: dict[str, str], level: str | None) -> None:
    assert from_environment({**HOME, **env}, CWD).log_level == level


def test_no_secret_is_printed_with_the_settings() -> None:
    settings = from_environment({**HOME, "NATS_URL": "nats://u:hunter2@h", "NATS_TOKEN": "hunter2"}, CWD)
    assert "hunter2" not in f"{settings!r} {settings.nats!r} {settings}"


def test_the_model_works_offline_unless_another_is_named() -> None:
    assert from_environment(HOME, CWD).embed == EmbedSettings()
    told = {
        "PATTERN_EMBEDDER": "openai",
        "PATTERN_EMBEDDER_MODEL": "m",
        "PATTERN_EMBEDDER_URL": "http://localhost:11434/v1",
        "PATTERN_EMBEDDER_KEY": "sk-hidden",
        "PATTERN_EMBEDDER_THREADS": "2",
        "PATTERN_EMBEDDER_TEXT_CHARS": "4000",
        "PATTERN_EMBEDDER_FOLDER": "models",
    }
    settings = from_environment({**HOME, **told}, CWD)
    assert (settings.embed.adapter, settings.embed.model, settings.embed.key) == (Adapter.OPENAI, "m", "sk-hidden")
    assert (settings.embed.threads, settings.embed.text_chars) == (2, 4_000)
    assert settings.embed.folder == settings.node_environment["PATTERN_EMBEDDER_FOLDER"] == "/home/ann/shop/models"
    assert settings.warnings == ()
    assert "hidden" not in repr(settings)


@pytest.mark.parametrize(
    ("variable", "value"),
    [("PATTERN_EMBEDDER", "minilm"), ("PATTERN_EMBEDDER_THREADS", "0"), ("PATTERN_EMBEDDER_TEXT_CHARS", "all")],
)
def test_a_model_setting_that_means_nothing_says_what_it_may_be(variable: str, value: str) -> None:
    with pytest.raises(InvalidInput, match=variable):
        from_environment({**HOME, variable: value}, CWD)
