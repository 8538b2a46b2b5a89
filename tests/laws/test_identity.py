"""Who calls follows from host, folder and type alone, and from what was written about them, in a fixed order."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from identity.agent import project_id_of, root_agent_id, subagent_id
from identity.errors import InvalidInput
from identity.keys import parse_key
from identity.registry import (
    PAUSES_S,
    IdentitySpec,
    RootRecord,
    SubagentRecord,
    choose_root,
    choose_subagent,
    root_key,
    subagent_key,
    warp_counts,
)

HOST, PATH = "devbox", "/home/dev/acme"
ROOT = "d558f704fa47da6371a22109317f4f6b"


def spec(hostname: str = HOST, path: str = PATH, agent_id: str | None = None) -> IdentitySpec:
    return IdentitySpec(hostname=hostname, os_user="dev", project_path=path, agent_id=agent_id)


def record(agent_id: str = ROOT, hostname: str = HOST, path: str = PATH, *, override: bool = False) -> RootRecord:
    return RootRecord(agent_id=agent_id, hostname=hostname, project_path=path, override=override)


@pytest.mark.requirement("isolation-42.vectors")
def test_ids_are_derived_as_the_published_vectors_say() -> None:
    root = root_agent_id(HOST, PATH)
    assert root == ROOT
    assert subagent_id(root, "explore") == "91836d52358ac7d147e8b3df1ad5e8ed"
    assert project_id_of(PATH) == "decceffad0360217"


@given(st.text(), st.text(), st.text(min_size=1))
def test_ids_are_hex_of_a_fixed_length(host: str, path: str, kind: str) -> None:
    root = root_agent_id(host, path)
    for ident, size in ((root, 32), (subagent_id(root, kind), 32), (project_id_of(path), 16)):
        assert len(ident) == size
        assert set(ident) <= set("0123456789abcdef")


def test_a_user_is_the_same_in_every_project() -> None:
    assert spec(path="/a").user == spec(path="/b").user
    assert spec(hostname="other").user != spec().user


def test_warps_record_counts_for_its_own_host() -> None:
    other_folder = root_agent_id(HOST, "/elsewhere")
    assert warp_counts(record(other_folder, path="/elsewhere"), HOST)
    assert not warp_counts(record(root_agent_id("other", PATH), hostname="other"), HOST)


def test_warps_record_counts_everywhere_when_it_is_an_override() -> None:
    assert warp_counts(record("my-agent", hostname="other"), HOST)


def test_an_override_comes_before_any_record() -> None:
    chosen = choose_root(spec(agent_id="mine"), record("warp"), record("own"))
    assert (chosen.agent_id, chosen.override) == ("mine", True)


def test_warps_record_comes_before_our_own() -> None:
    chosen = choose_root(spec(), record("warp"), record("own"))
    assert (chosen.agent_id, chosen.override) == ("warp", True)


def test_our_own_record_comes_before_the_derivation() -> None:
    assert choose_root(spec(), None, record("own")).agent_id == "own"


@pytest.mark.parametrize("warp", [None, record(root_agent_id("other", PATH), hostname="other")])
@pytest.mark.parametrize("own", [None, record("left", override=True), record("  ")])
def test_what_does_not_count_leaves_the_derivation(warp: RootRecord | None, own: RootRecord | None) -> None:
    chosen = choose_root(spec(), warp, own)
    assert (chosen.agent_id, chosen.override) == (ROOT, False)


def test_a_makeshift_sub_agent_id_is_not_used() -> None:
    root = root_agent_id(HOST, PATH)
    makeshift = SubagentRecord(agent_id=f"{ROOT[:16]}-explore", parent_id=ROOT, subagent_type="explore")
    stranger = SubagentRecord(agent_id="0" * 32, parent_id="1" * 32, subagent_type="explore")
    for known in (None, makeshift, stranger):
        assert choose_subagent(root, "explore", known) == subagent_id(root, "explore")


def test_the_store_is_waited_for_as_documented() -> None:
    assert PAUSES_S == (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)


@given(st.text(min_size=1), st.text(min_size=1))
def test_own_keys_are_tokens_that_a_bucket_holds(root: str, kind: str) -> None:
    keys = (root_key(spec(hostname=root, path=kind)), subagent_key(root_agent_id(root, ""), kind))
    for key, tokens in zip(keys, (2, 3), strict=True):
        assert len(key.split(".")) == tokens
        assert len(key) < 512
        assert parse_key(key) is None, "never taken for a memory's"


@pytest.mark.parametrize("text", ["", "   ", "a\nb", "a\x00", "x" * 257])
@pytest.mark.parametrize(
    ("field", "variable"),
    [("project_id", "LOOMINAL_PROJECT_ID"), ("agent_id", "LOOMINAL_AGENT_ID"), ("user_id", "LOOMINAL_USER_ID")],
)
def test_a_configured_id_is_printable(field: str, variable: str, text: str) -> None:
    values: dict[str, Any] = {field: text}
    with pytest.raises(InvalidInput, match=variable):
        IdentitySpec(hostname=HOST, os_user="dev", project_path=PATH, **values)
