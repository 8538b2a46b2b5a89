"""The export format: what is written is exactly "1.0", what is read back is the same, and what is wrong is said plainly."""

from __future__ import annotations

import json
import unicodedata
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from identity.errors import InvalidInput
from identity.visibility import Scope
from loomem.core.envelope import clean_item, parse, read_item, render
from loomem.core.limits import Limits
from loomem.core.record import CATEGORIES, Memory, to_fields

LIMITS = Limits()
NOW = "2026-01-02T03:04:05.678Z"

words = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1, max_size=20).map(
    lambda text: unicodedata.normalize("NFC", text)
)
contents = words.filter(lambda text: bool(text.strip()))
idents = st.text("abcXYZ019-_é", min_size=1, max_size=20).map(lambda text: unicodedata.normalize("NFC", text))
values = st.none() | st.booleans() | st.integers(-1000, 1000) | words


@st.composite
def memories(draw: st.DrawFn) -> Memory:
    scope = draw(st.sampled_from(list(Scope)))
    extra = draw(st.dictionaries(st.sampled_from(["x-note", "trust", "plan"]), values, max_size=2))
    metadata = draw(
        st.none()
        | st.fixed_dictionaries(
            {},
            optional={
                "tags": st.lists(words, max_size=3),
                "priority": st.sampled_from([1, 2, 3]),
                "relatedTo": st.lists(idents, max_size=2),
                "source": words,
                "free": st.dictionaries(words, values | st.lists(values, max_size=2), max_size=2),
            },
        )
    )
    return Memory(
        id=draw(idents),
        agent_id=draw(idents),
        project_id=draw(idents),
        scope=scope,
        category=draw(st.sampled_from(CATEGORIES[scope])),
        content=draw(contents),
        metadata=metadata,
        created_at=NOW,
        updated_at=draw(st.sampled_from([NOW, "2026-02-03T00:00:00.000Z"])),
        expires_at=draw(st.none() | st.just("2026-03-01T00:00:00.000Z")),
        version=1,
        extra=extra or None,
    )


def written(those: list[Memory], chunk: int = 2) -> bytes:
    pieces = render(those, exported_at=NOW, project_id="p", agent_id="a", chunk=chunk)
    return b"".join(data for data, _ in pieces)


def item(**changes: Any) -> dict[str, Any]:
    """A good item, changed; a value of `...` removes its field."""
    fields: dict[str, Any] = {
        "id": "3f0c2a9e-6a52-4c1d-9d57-0e2b7c6a1f10",
        "agentId": "a",
        "projectId": "p",
        "scope": "team",
        "category": "decisions",
        "content": "Example only",
        "metadata": {"tags": ["a"], "priority": 1},
        "createdAt": NOW,
        "updatedAt": NOW,
        "version": 1,
    } | changes
    return {name: value for name, value in fields.items() if value is not ...}


def envelope(*items: object, **changes: Any) -> bytes:
    fields = {"version": "1.0", "exportedAt": NOW, "projectId": "p", "agentId": "a", "memories": list(items)} | changes
    return json.dumps({name: value for name, value in fields.items() if value is not ...}).encode()


@given(st.lists(memories(), max_size=5), st.integers(1, 3))
def test_a_file_is_written_as_the_format_says(those: list[Memory], chunk: int) -> None:
    data = written(those, chunk)
    expected = {
        "version": "1.0",
        "exportedAt": NOW,
        "projectId": "p",
        "agentId": "a",
        "memories": [to_fields(memory) for memory in those],
    }
    assert data.decode() == json.dumps(expected, indent=2, ensure_ascii=False)
    for each in json.loads(data)["memories"]:
        assert all(isinstance(each[name], str) and each[name] for name in ("id", "agentId", "projectId", "content"))
        assert "expiresAt" not in each or isinstance(each["expiresAt"], str)


@given(st.lists(memories(), max_size=5))
def test_what_is_written_is_read_back_the_same(those: list[Memory]) -> None:
    file = parse(written(those))
    assert (file.version, file.agent_id, file.project_id) == ("1.0", "a", "p")
    assert [clean_item(read_item(each), LIMITS) for each in file.items] == those


def test_progress_counts_what_is_written() -> None:
    memory = clean_item(item(), LIMITS)
    pieces = render([memory] * 5, exported_at=NOW, project_id="p", agent_id="a", chunk=2)
    assert [done for _, done in pieces] == [0, 2, 4, 5, 5]


@pytest.mark.parametrize(
    ("scope", "became"), [("user", "personal"), ("project", "team"), ("shared", "team"), ("user-only", "personal")]
)
def test_scopes_of_older_writers_are_read(scope: str, became: str) -> None:
    category = "longterm" if became == "personal" else "learnings"
    assert clean_item(item(scope=scope, category=category), LIMITS).scope == became


def test_what_other_writers_do_is_read() -> None:
    assert parse(b"\xef\xbb\xbf" + envelope(item(), version="9.9", more=1)).version == "9.9"
    read = clean_item(item(id="not-a-uuid", metadata=None, version=1.0, mine={"x": [1]}), LIMITS)
    assert (read.id, read.metadata, read.version, read.extra) == ("not-a-uuid", None, 1, {"mine": {"x": [1]}})


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"id": ...}, "unknown"),
        ({"id": ""}, "unknown"),
        ({"id": 7}, "unknown"),
        ({"agentId": None}, "agentId"),
        ({"projectId": ...}, "projectId"),
        ({"content": ""}, "content"),
        ({"content": 5}, "content"),
        ({"createdAt": ...}, "createdAt"),
        ({"updatedAt": 1}, "updatedAt"),
        ({"scope": ...}, "scope"),
        ({"category": None}, "category"),
        ({"version": "1"}, "version"),
        ({"version": True}, "version"),
        ({"expiresAt": None}, "expiresAt"),
    ],
)
def test_a_wrong_structure_is_named(changes: dict[str, Any], said: str) -> None:
    with pytest.raises(InvalidInput, match=rf"Invalid memory structure: .*{said}"):
        clean_item(item(**changes), LIMITS)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"scope": "galaxy"}, "galaxy"),
        ({"category": "recent"}, "not allowed in scope 'team'"),
        ({"category": "nonsense"}, "does not exist"),
        ({"content": "x" * 32_769}, "32769"),
        ({"content": "a\0b"}, "NUL"),
        ({"content": "\ud800"}, "surrogate"),
        ({"createdAt": "yesterday"}, "createdAt"),
        ({"updatedAt": "2026-13-01"}, "updatedAt"),
        ({"expiresAt": "soon"}, "expiresAt"),
        ({"metadata": []}, "metadata"),
        ({"metadata": {"tags": "x"}}, "metadata.tags"),
        ({"metadata": {"tags": ["x"] * 11}}, "11 tags"),
        ({"metadata": {"priority": 9}}, "metadata.priority"),
        ({"id": "a b"}, "id must be"),
        ({"version": 2}, "version 2"),
        ({"extra": "y" * 20_000}, "unknown fields"),
        ({"extra": "\ud800"}, "surrogate"),
    ],
)
def test_what_no_write_would_take_is_refused_with_its_id(changes: dict[str, Any], said: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        clean_item(item(**changes), LIMITS)
    assert said in caught.value.message
    assert caught.value.message == str(caught.value)
    assert caught.value.message.startswith(changes.get("id", item()["id"]))


@pytest.mark.parametrize("value", [None, 5, "x", [], True])
def test_an_item_that_is_no_object_is_one_error(value: object) -> None:
    with pytest.raises(InvalidInput, match="Invalid memory structure: unknown"):
        clean_item(value, LIMITS)


@pytest.mark.parametrize("field", ["version", "exportedAt", "projectId", "agentId", "memories"])
@pytest.mark.parametrize("value", [..., None, 5, {}])
def test_an_envelope_without_a_field_is_no_export_file(field: str, value: object) -> None:
    with pytest.raises(InvalidInput, match=field) as caught:
        parse(envelope(item(), **{field: value}))
    assert caught.value.field == "inputPath"


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"SECRET",
        b'{"version": SECRET',
        b"[1, 2]",
        b'"SECRET"',
        b'{"a": "\xff SECRET"}',
        b'{"a": NaN, "b": SECRET}',
        b"{" * 100_000,
        b'{"a":' + b"[" * 100_000 + b"]" * 100_000 + b"}",
        "{}".encode("utf-16"),
    ],
)
def test_what_is_no_json_object_is_refused_without_echo(data: bytes) -> None:
    with pytest.raises(InvalidInput) as caught:
        parse(data)
    assert "SECRET" not in caught.value.message


def test_a_lone_surrogate_is_the_fault_of_its_item_alone() -> None:
    file = parse(envelope(item(content="a \ud83d b"), item()))
    with pytest.raises(InvalidInput, match="surrogate"):
        clean_item(read_item(file.items[0]), LIMITS)
    assert clean_item(read_item(file.items[1]), LIMITS).content == "Example only"
