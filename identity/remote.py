"""Which git remote a folder belongs to, read from the files of git without running it.

Deliberately absent: what a user's global configuration rewrites (`insteadOf`), since another user's would differ.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from urllib.parse import unquote, urlsplit

_SECTION = re.compile(r'\[\s*([A-Za-z0-9.-]+)(?:\s+"((?:[^"\\]|\\.)*)")?\s*\]')
_SCP = re.compile(r"(?:[^@/:\s]+@)?(\[[^\]]+\]|[^/:\s]{2,}):(?!//)(.+)\Z")
_PORTS = {"https": 443, "http": 80, "git": 9418}


def project_remote(folder: Path) -> str | None:
    """Return the normalised remote of the work tree a folder lies in: `origin`, else the first one; None without any."""
    for place in (folder, *folder.parents):
        if os.path.exists(place / ".git"):  # unlike Path.exists, False where we may not look
            remotes = _remotes(_common_directory(place / ".git") / "config")
            url = remotes.get("origin") or next(iter(remotes.values()), None)
            return normalise_remote(url, place) if url else None
    return None


def normalise_remote(url: str, folder: Path) -> str:
    """Return one name for all spellings of a remote: `host/path`, or a path on this machine.

    User, scheme, default ports, `.git` and surplus slashes do not count, nor does any port of ssh, which rarely is that
    of the same host's https.
    """
    scheme, separator, rest = url.partition("://")
    if separator and scheme.lower() == "file":
        return _local("/" + unquote(rest.partition("/")[2]), folder)
    if separator:
        return _joined(*_host_and_path(url))
    if (scp := _SCP.match(url)) is not None:
        return _joined(scp[1].strip("[]").lower(), scp[2])
    return _local(url, folder)


def _host_and_path(url: str) -> tuple[str, str]:
    try:
        parts = urlsplit(url)
        scheme = parts.scheme.removeprefix("git+")
        port = parts.port if scheme in _PORTS and parts.port != _PORTS[scheme] else None
    except ValueError:  # no URL at all, but still the same text in every clone
        return "", url
    return f"{(parts.hostname or '').lower()}{f':{port}' if port else ''}", unquote(parts.path)


def _joined(host: str, path: str) -> str:
    return f"{host}/{_bare('/'.join(part for part in path.split('/') if part))}"


def _local(path: str, folder: Path) -> str:
    return _bare(str((folder / path).resolve()))


def _bare(path: str) -> str:
    return path.removesuffix(".git").rstrip("/")


def _common_directory(entry: Path) -> Path:
    """Return the directory with the configuration, following what a linked work tree or a submodule has instead."""
    directory = entry
    if entry.is_file():
        text = _text(entry)
        if not text.startswith("gitdir:"):
            return entry
        directory = (entry.parent / text.removeprefix("gitdir:").strip()).resolve()
    if common := _text(directory / "commondir").strip():
        return (directory / common).resolve()
    return directory


def _remotes(config: Path) -> dict[str, str]:
    """Return the first URL of each remote in a git configuration, in its order."""
    found: dict[str, str] = {}
    remote: str | None = None
    for line in re.sub(r"\\\r?\n", "", _text(config)).splitlines():
        rest = line.strip()
        if (section := _SECTION.match(rest)) is not None:
            remote = section[2] if section[1].lower() == "remote" else None
            rest = rest[section.end() :].strip()
        name, equals, value = rest.partition("=")
        if remote is not None and equals and name.strip().lower() == "url":
            found.setdefault(re.sub(r"\\(.)", r"\1", remote), _value(value))
    return found


def _value(text: str) -> str:
    """Return a value of a git configuration: quotes taken off, escapes resolved, a comment cut."""
    out: list[str] = []
    quoted = escaped = False
    for char in text.strip():
        if escaped:
            out.append(char)
            escaped = False
        elif char == "\\":
            escaped = True
        elif char == '"':
            quoted = not quoted
        elif char in "#;" and not quoted:
            break
        else:
            out.append(char)
    return "".join(out).strip()


def _text(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8", errors="surrogateescape")
    except OSError:
        return ""
