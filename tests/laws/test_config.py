"""The file of settings: every key once, all that is wrong told, and a project never weaker than its user."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from identity.errors import InvalidInput
from loomem.core.pii_settings import PiiSettings
from loomem.core.scan import ScanPolicy
from pattern.config.check import Layer, Weight, checked
from pattern.config.choose import DEFAULT, choose
from pattern.config.schema import RENAMED, SECRETS, VOID, PatternFile, Word, keys
from pattern.config.words import read
from pattern.settings import Settings, from_environment

CWD, HOME = Path("/work/here"), {"HOME": "/home/ann"}

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=10), inner, max_size=3),
    max_leaves=8,
)
NAMES = st.sampled_from(sorted({part for path in (*keys(), *RENAMED, *SECRETS, *VOID) for part in path})) | st.text(
    max_size=10
)
CONTENT = st.recursive(
    st.dictionaries(NAMES, VALUES, max_size=4),
    lambda inner: st.dictionaries(NAMES, inner | VALUES, max_size=4),
    max_leaves=6,
)


def own(content: dict[str, Any]) -> Layer:
    return checked(content, "/home/ann/pattern.toml", is_project=False)


def projects(content: dict[str, Any]) -> Layer:
    return checked(content, "/repo/pattern.toml", is_project=True)


def settings(*layers: Layer, **env: str) -> Settings:
    return from_environment({**HOME, **env}, CWD, layers)


@pytest.mark.requirement("config-check")
@given(CONTENT, st.booleans())
def test_whatever_a_file_says_it_is_told_not_thrown(content: dict[str, Any], is_project: bool) -> None:
    layer = checked(content, "f.toml", is_project=is_project)
    assert set(layer.values) <= set(keys())
    assert all(problem.file == "f.toml" and problem.reason for problem in layer.problems)
    if not layer.errors:
        choose([layer], {}).file()


@given(st.text(max_size=20), st.sampled_from(sorted(keys())))
def test_whatever_a_variable_says_it_is_taken_or_refused_by_name(text: str, path: tuple[str, ...]) -> None:
    key = keys()[path]
    refused: InvalidInput | None = None
    try:
        choose([], {key.variable: text})
    except InvalidInput as error:
        refused = error
    if refused is not None:
        assert refused.field == key.variable
        assert refused.message.startswith(f"{key.variable} must be ")


@pytest.mark.requirement("config-optional")
def test_an_empty_file_is_all_defaults() -> None:
    assert choose([own({})], {}).file() == PatternFile()
    assert {chosen.origin for chosen in choose([own({})], {}).chosen.values()} == {DEFAULT}
    assert settings(own({})).limits == settings().limits


@pytest.mark.requirement("config-layers")
def test_the_environment_beats_the_project_which_beats_the_user() -> None:
    user = own({"search": {"deadline_ms": 100, "top_k": {"default": 3}}, "profile": "loomem"})
    project = projects({"search": {"deadline_ms": 200}, "profile": "core"})
    both = settings(user, project)
    assert (both.search.deadline_ms, both.search.top_k.default, both.profile) == (200, 3, "core")
    assert settings(user, project, PATTERN_SEARCH_DEADLINE_MS="300").search.deadline_ms == 300
    chosen = choose([user, project], {"PATTERN_SEARCH_DEADLINE_MS": "300"}).chosen
    assert chosen["search", "deadline_ms"].origin == "PATTERN_SEARCH_DEADLINE_MS"
    assert chosen["search", "top_k", "default"].origin == user.file
    assert chosen["profile",].origin == project.file


@pytest.mark.requirement("config-unknown")
def test_unknown_keys_are_warned_of_with_what_was_meant() -> None:
    layer = own({"profil": "core", "search": {"top_k": {"mosst": 3}}, "deadline_ms": 4, "zzz": {"a": 1}})
    assert [(p.weight, p.key, p.reason) for p in layer.problems] == [
        (Weight.WARNING, "profil", "is not a setting; did you mean profile?"),
        (Weight.WARNING, "search.top_k.mosst", "is not a setting; did you mean search.top_k.most?"),
        (Weight.WARNING, "deadline_ms", "is not a setting; did you mean search.deadline_ms?"),
        (Weight.WARNING, "zzz", "is not a setting"),
    ]
    assert settings(layer).warnings[0] == ("/home/ann/pattern.toml: profil: is not a setting; did you mean profile?")


@pytest.mark.requirement("config-refused", "config-check")
def test_all_that_is_wrong_is_refused_with_file_key_and_what_is_allowed() -> None:
    layer = own(
        {
            "profile": "huge",
            "timezone": "Mars/Olympus",
            "limits": {"core": 0},
            "search": {"evidence_fields": "yes", "arms": {"words": 1.5}, "decay": 3},
            "pii": {"blocklist": "Falcon"},
            "namespaces": {"work": "a b"},
            "nats": {"url": "nats://u:p@h", "replicas": 9},
        }
    )
    assert [f"{problem.key} {problem.reason}" for problem in layer.errors] == [
        "profile must be full or core or pattern or loomem, not 'huge'",
        "timezone must be a time zone such as Europe/Warsaw, not 'Mars/Olympus'",
        "limits.core must be a whole number from 1 to 1000000000000, not 0",
        "search.evidence_fields must be true or false, not 'yes'",
        "search.arms.words must be a number from 0.0 to 1.0, not 1.5",
        "search.decay must be a table ([search.decay]), not 3",
        "pii.blocklist must be a list of texts, not 'Falcon'",
        "namespaces must be of letters, digits, _ and - (at most 64), not 'a b'",
        "nats.url must be without credentials; set NATS_USER and NATS_PASS, or name a credentials_file",
        "nats.replicas must be a whole number from 1 to 5, not 9",
    ]
    with pytest.raises(InvalidInput) as refused:
        settings(layer)
    assert refused.value.message.count("/home/ann/pattern.toml: ") == 10


@pytest.mark.requirement("config-void")
def test_keys_that_name_what_is_not_here_are_void_and_say_why() -> None:
    layer = own(
        {
            "storage": {"rocksdb": {"compression": "lz4"}, "intent_log": {"enabled": True}},
            "llm": {"provider": "openai"},
            "mcp": {"search_default_top_k": 7, "search_max_top_k": 40},
        }
    )
    assert not layer.errors
    told = {problem.key: problem.reason for problem in layer.problems}
    assert "there is no RocksDB" in told["storage.rocksdb"]
    assert "no write-ahead log" in told["storage.intent_log"]
    assert "llm.url" in told["llm.provider"]
    assert told["mcp.search_max_top_k"] == "is called search.top_k.most here"
    assert (settings(layer).search.top_k.default, settings(layer).search.top_k.most) == (7, 40)


@pytest.mark.requirement("config-secrets")
@pytest.mark.parametrize("path", SECRETS)
@pytest.mark.parametrize("reader", [own, projects])
def test_secrets_are_read_from_no_file(path: tuple[str, str], reader: Any) -> None:
    (problem,) = reader({path[0]: {path[1]: "hunter2"}}).errors
    assert SECRETS[path] in problem.reason
    assert "hunter2" not in str(problem)


@pytest.mark.requirement("config-project")
@pytest.mark.parametrize(
    "path", [path for path, key in keys().items() if key.project is Word.NONE and path not in SECRETS]
)
def test_what_a_project_may_not_say_is_left_out_of_account(path: tuple[str, ...]) -> None:
    content: dict[str, Any] = {path[-1]: "x"}
    for table in reversed(path[:-1]):
        content = {table: content}
    layer = projects(content)
    assert layer.values == {}
    assert "is not for a project to say" in layer.problems[0].reason


@pytest.mark.requirement("config-project")
def test_what_says_where_memory_is_and_who_one_is_is_not_for_a_project() -> None:
    layer = projects(
        {
            "user": "mallory",
            "nats": {"url": "nats://evil"},
            "embedding": {"url": "http://evil"},
            "node": {"start": "off"},
        }
    )
    hostile, plain = settings(layer), settings()
    assert hostile.nats.url is None
    assert (hostile.user_id, hostile.embed, hostile.node) == (plain.user_id, plain.embed, plain.node)
    assert len(hostile.warnings) == 4


POLICIES = st.sampled_from([str(policy) for policy in ScanPolicy])
PII = st.fixed_dictionaries(
    {},
    optional={
        "enabled": st.booleans(),
        "redact_phones": st.booleans(),
        "blocklist": st.lists(st.sampled_from(["Falcon", "Eagle", "Owl"]), unique=True),
    },
)


@pytest.mark.requirement("config-project")
@given(POLICIES, POLICIES, PII, PII)
def test_a_project_makes_scanning_and_redaction_only_stricter(
    mine: str, theirs: str, my_pii: dict[str, Any], their_pii: dict[str, Any]
) -> None:
    alone = settings(own({"scan": {"policy": mine}, "pii": my_pii}))
    both = settings(
        own({"scan": {"policy": mine}, "pii": my_pii}), projects({"scan": {"policy": theirs}, "pii": their_pii})
    )
    order = list(ScanPolicy)
    assert order == [ScanPolicy.OFF, ScanPolicy.WARN, ScanPolicy.REDACT, ScanPolicy.BLOCK]
    assert order.index(both.scan_policy) == max(order.index(ScanPolicy(mine)), order.index(ScanPolicy(theirs)))
    assert weaker(both.facts.pii, alone.facts.pii) == set()
    assert bool(both.warnings) == (
        order.index(ScanPolicy(theirs)) < order.index(ScanPolicy(mine))
        or any(their_pii.get(name) is False and my_pii.get(name, True) for name in ("enabled", "redact_phones"))
    )


def weaker(one: PiiSettings, other: PiiSettings) -> set[str]:
    """Return the fields in which one takes out less than the other."""
    switches = {n for n in PiiSettings.__struct_fields__ if getattr(other, n) is True and getattr(one, n) is False}
    return switches | (set(other.blocklist) - set(one.blocklist))


@pytest.mark.requirement("config-project")
def test_a_project_adds_aliases_and_changes_none() -> None:
    both = settings(own({"namespaces": {"mine": "m1"}}), projects({"namespaces": {"mine": "evil", "theirs": "t1"}}))
    assert both.facts.namespaces == {"mine": "m1", "theirs": "t1"}
    assert "namespaces: keeps your own mine" in both.warnings[0]


@pytest.mark.parametrize(
    ("text", "kind", "value"),
    [
        ("Yes", bool, True),
        ("0", bool, False),
        ("-7", int, -7),
        ("0.5", float, 0.5),
        ("a, b,", tuple[str, ...], ("a", "b")),
        ("work=w1, home = h1", dict[str, str], {"work": "w1", "home": "h1"}),
        ("CORE", type(PatternFile().profile), "core"),
    ],
)
def test_a_variable_is_read_by_the_type_of_its_key(text: str, kind: Any, value: Any) -> None:
    assert read(text, kind) == value


@pytest.mark.parametrize("text", ["maybe", "1e3", "nan", "٣", "1_000", ""])
def test_what_is_no_number_is_none(text: str) -> None:
    for kind in (int, float):
        with pytest.raises(ValueError, match="Expected"):
            read(text, kind)
