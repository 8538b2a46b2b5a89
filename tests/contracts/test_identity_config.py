"""Configuration files are found and read as documented, and a file that cannot be understood says so."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from identity.agent import project_id_of
from identity.config import FileConfig, read_config
from identity.errors import InvalidInput


@pytest.fixture
def home(tmp_path: Path) -> Path:
    (tmp_path / "home" / ".nats-mcp").mkdir(parents=True)
    return tmp_path / "home"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "a" / "b" / "c" / "d" / "e"
    folder.mkdir(parents=True)
    return folder


def write(path: Path, **content: object) -> Path:
    path.write_text(json.dumps(content), encoding="utf-8")
    return path


def test_without_files_nothing_is_configured(project: Path, home: Path) -> None:
    assert read_config(project, home) == FileConfig()


@pytest.mark.requirement("config-47.project-file")
@pytest.mark.parametrize("name", [".loominal-config.json", ".mcp-config.json"])
@pytest.mark.parametrize("up", range(5))
def test_a_file_in_the_folder_or_up_to_four_parents_is_read(project: Path, home: Path, name: str, up: int) -> None:
    file = write(
        (project, *project.parents)[up] / name, projectId="acme", natsUrl="nats://h", logging={"level": "WARN"}
    )
    config = read_config(project, home)
    assert config == FileConfig(project_id="acme", nats_url="nats://h", log_level="WARN", files=(file,))


def test_a_fifth_parent_is_too_far(project: Path, home: Path) -> None:
    write(project.parents[4] / ".loominal-config.json", projectId="acme")
    assert read_config(project, home).project_id is None


def test_the_nearest_file_counts_and_ours_before_warps(project: Path, home: Path) -> None:
    write(project.parent / ".loominal-config.json", projectId="far")
    write(project / ".mcp-config.json", projectId="warps")
    assert read_config(project, home).project_id == "warps"
    write(project / ".loominal-config.json", projectId="near")
    assert read_config(project, home).project_id == "near"


def test_the_project_comes_before_the_user_key_by_key(project: Path, home: Path) -> None:
    write(project / ".loominal-config.json", natsUrl="nats://project")
    write(home / ".nats-mcp" / "config.json", natsUrl="nats://user", logging={"level": "DEBUG"})
    config = read_config(project, home)
    assert (config.nats_url, config.log_level) == ("nats://project", "DEBUG")
    assert len(config.files) == 2


@pytest.mark.requirement("deliver-4.git")
def test_clones_of_one_remote_are_one_project(tmp_path: Path, home: Path) -> None:
    ids: set[str | None] = set()
    for name, url in (("one", "https://h.example/a/b.git"), ("two", "git@h.example:a/b")):
        (tmp_path / name / ".git").mkdir(parents=True)
        (tmp_path / name / ".git" / "config").write_text(f'[remote "origin"]\nurl = {url}\n')
        write(tmp_path / name / ".loominal-config.json", projectIdFrom="git")
        ids.add(read_config(tmp_path / name, home).project_id)
    assert ids == {project_id_of("h.example/a/b")}


def test_a_project_that_derives_its_id_is_not_given_the_users(project: Path, home: Path) -> None:
    write(project / ".loominal-config.json", projectIdFrom="path")
    write(home / ".nats-mcp" / "config.json", projectId="users")
    assert read_config(project, home).project_id is None


def test_deriving_from_git_without_a_remote_is_warned_about(project: Path, home: Path) -> None:
    write(project / ".loominal-config.json", projectIdFrom="git")
    config = read_config(project, home)
    assert config.project_id is None
    assert "no git work tree" in config.warnings[0]


def test_unknown_keys_are_warned_about_and_warps_are_not(project: Path, home: Path) -> None:
    file = write(project / ".mcp-config.json", namespace="n", channels=[], workQueue={}, natsURL="x", boundaries={})
    warnings = read_config(project, home).warnings
    assert warnings == (
        f"{file}: 'boundaries' is not a setting",
        f"{file}: 'natsURL' is not a setting; did you mean natsUrl?",
    )


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"{", "is not valid"),
        (b"[]", "Expected `object`, got `array`"),
        (b"null", "Expected `object`, got `null`"),
        (b"\xff\xfe", "is not valid"),
        (b'{"natsUrl": 4222}', r"Expected `str \| null`, got `int` - at `\$.natsUrl`"),
        (b'{"projectIdFrom": "svn"}', "Invalid enum value 'svn'"),
        (b'{"logging": "DEBUG"}', r"\$.logging"),
        (b" " * 1_048_577, "larger than"),
    ],
)
def test_a_file_that_cannot_be_understood_is_an_error(project: Path, home: Path, content: bytes, reason: str) -> None:
    file = project / ".loominal-config.json"
    file.write_bytes(content)
    with pytest.raises(InvalidInput, match=reason) as caught:
        read_config(project, home)
    assert caught.value.message.startswith(str(file))


def test_a_byte_order_mark_is_no_fault(project: Path, home: Path) -> None:
    (project / ".loominal-config.json").write_bytes(b'\xef\xbb\xbf{"projectId": "acme"}')
    assert read_config(project, home).project_id == "acme"
