"""Every spelling of a git remote is one name, and different remotes stay different."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from identity.remote import normalise_remote, project_remote

HERE = Path("/srv/work")

PART = st.from_regex(r"[A-Za-z0-9][A-Za-z0-9_-]{0,10}", fullmatch=True)


@pytest.mark.requirement("deliver-4.git")
@given(host=st.from_regex(r"[a-z]{2,8}\.example", fullmatch=True), owner=PART, name=PART)
def test_all_spellings_of_one_remote_agree(host: str, owner: str, name: str) -> None:
    spellings = [
        f"https://{host}/{owner}/{name}.git",
        f"https://{host}/{owner}/{name}/",
        f"https://user:secret@{host.upper()}:443/{owner}/{name}.git",
        f"http://{host}:80//{owner}/{name}",
        f"git://{host}/{owner}/{name}.git",
        f"ssh://git@{host}/{owner}/{name}.git",
        f"ssh://git@{host}:2222/{owner}/{name}.git",
        f"git+ssh://git@{host}/{owner}/{name}",
        f"git@{host}:{owner}/{name}.git",
        f"{host}:{owner}/{name}",
    ]
    assert {normalise_remote(url, HERE) for url in spellings} == {f"{host}/{owner}/{name}"}


@pytest.mark.parametrize(
    ("url", "name"),
    [
        ("https://git.example:8443/a/b.git", "git.example:8443/a/b"),
        ("https://git.example/a%20b/c", "git.example/a b/c"),
        ("https://git.example/A/b", "git.example/A/b"),
        ("file:///srv/repos/x.git", "/srv/repos/x"),
        ("/srv/repos/x.git/", "/srv/repos/x"),
        ("../repos/x", "/srv/repos/x"),
        ("ssh://git@[::1]/a/b", "::1/a/b"),
        ("https://git.example:port/a", "/https:/git.example:port/a"),
    ],
)
def test_names_of_remotes(url: str, name: str) -> None:
    assert normalise_remote(url, HERE) == name


@given(st.text())
def test_any_text_has_a_name(url: str) -> None:
    assert isinstance(normalise_remote(url.replace("\x00", ""), HERE), str)


def repository(folder: Path, config: str) -> Path:
    (folder / ".git").mkdir(parents=True)
    (folder / ".git" / "config").write_text(config, encoding="utf-8")
    return folder


def test_origin_comes_before_other_remotes(tmp_path: Path) -> None:
    place = repository(
        tmp_path / "clone",
        '[core]\n\turl = no\n[remote "fork"]\n\turl = https://h.example/fork\n'
        '[Remote "origin"] # ours\n\tURL = "https://h.example/or\\\nigin.git" ; comment\n\turl = https://second.example/x\n',
    )
    (place / "deep" / "er").mkdir(parents=True)
    assert project_remote(place / "deep" / "er") == "h.example/origin"


def test_without_origin_the_first_remote_counts(tmp_path: Path) -> None:
    place = repository(tmp_path, '[remote "b"]\nurl = https://h.example/b\n[remote "a"]\nurl = https://h.example/a\n')
    assert project_remote(place) == "h.example/b"


def test_a_linked_work_tree_has_the_remote_of_its_repository(tmp_path: Path) -> None:
    main = repository(tmp_path / "main", '[remote "origin"]\nurl = git@h.example:a/b.git\n')
    linked = main / ".git" / "worktrees" / "w"
    linked.mkdir(parents=True)
    (linked / "commondir").write_text("../..\n")
    (tmp_path / "w").mkdir()
    (tmp_path / "w" / ".git").write_text(f"gitdir: {linked}\n")
    assert project_remote(tmp_path / "w") == "h.example/a/b"


def test_a_submodule_has_its_own_remote(tmp_path: Path) -> None:
    outer = repository(tmp_path, '[remote "origin"]\nurl = git@h.example:a/outer.git\n')
    inner = outer / ".git" / "modules" / "inner"
    inner.mkdir(parents=True)
    (inner / "config").write_text('[remote "origin"]\nurl = git@h.example:a/inner.git\n')
    (outer / "inner").mkdir()
    (outer / "inner" / ".git").write_text("gitdir: ../.git/modules/inner\n")
    assert project_remote(outer / "inner") == "h.example/a/inner"


@pytest.mark.parametrize("config", ["", "[remote]\nurl = x\n", '[remote "origin"]\nurl\n'])
def test_without_a_remote_there_is_none(tmp_path: Path, config: str) -> None:
    assert project_remote(repository(tmp_path, config)) is None


def test_a_broken_git_file_is_no_repository(tmp_path: Path) -> None:
    (tmp_path / ".git").write_text("nonsense")
    assert project_remote(tmp_path) is None
