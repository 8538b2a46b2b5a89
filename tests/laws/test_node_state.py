"""What a node is called and which of two versions is newer: pure rules."""

from __future__ import annotations

from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loomem.node.state import is_newer, node_key, shown_url

IN_ORDER = ["0.9", "1.0.dev1", "1.0.dev2", "1.0a1", "1.0b1", "1.0rc1", "1.0", "1.0.post1", "1.0.1", "1.2", "1.10", "2"]


@pytest.mark.parametrize(("older", "newer"), list(combinations(IN_ORDER, 2)))
def test_versions_are_ordered_as_packages_are(older: str, newer: str) -> None:
    assert is_newer(newer, older)
    assert not is_newer(older, newer)


@given(st.text(), st.text())
def test_at_most_one_of_two_versions_is_newer(one: str, two: str) -> None:
    assert not (is_newer(one, two) and is_newer(two, one))
    assert not is_newer(one, one)


def test_equal_releases_are_not_newer_than_each_other() -> None:
    assert not is_newer("1.0.0", "1")
    assert not is_newer("1", "1.0.0")


def test_a_broker_has_one_node_whatever_the_credentials_and_the_order_of_its_addresses() -> None:
    key = node_key("nats://a.example:4222,nats://b.example:4222")
    assert key == node_key("nats://me:secret@b.example:4222,nats://a.example:4222")
    assert key != node_key("nats://a.example:4222")
    assert node_key(None) == "embedded"
    assert "secret" not in node_key("nats://me:secret@a.example")


def test_a_shown_address_has_no_secret() -> None:
    assert shown_url("nats://me:hush@a.example:4222", None) == "nats://a.example:4222"
    assert shown_url(None, 4321) == "nats://127.0.0.1:4321"
