"""Settings: what the environment says, read once, as one frozen value.

Pure: a mapping and a working directory in, a value and the warnings about it out. An empty variable counts as unset,
since MCP clients pass `"NATS_PASS": ""` for what their user left blank. Deliberately absent: `os.environ` (the
composition root reads it) and project files such as `.loominal-config.json` (`identity.config` reads them).
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import msgspec

from identity.errors import InvalidInput
from loomem.core.limits import Limits
from loomem.core.scan import ScanPolicy
from loomem.core.search.settings import SearchSettings
from loomem.embed.settings import Adapter, EmbedSettings
from pattern.profiles import Profile, profile_of

LEVELS = {"DEBUG": "DEBUG", "INFO": "INFO", "WARN": "WARNING", "WARNING": "WARNING", "ERROR": "ERROR"}

_LIMIT = "PATTERN_LIMIT_"
_LIMIT_NAMES = {f"{_LIMIT}{name.upper()}": name for name in Limits.__struct_fields__}
_KNOWN = frozenset(
    {
        "PATTERN_HOME",
        "PATTERN_NODE",
        "PATTERN_NODE_IDLE_S",
        "PATTERN_WARM_START",
        "PATTERN_FILES_DIR",
        "PATTERN_SCAN_POLICY",
        "PATTERN_CONTENT_SCANNING",
        "PATTERN_DISABLE_CONTENT_SCAN",
        "PATTERN_TIMEZONE",
        "PATTERN_REPLICAS",
        "PATTERN_INBOX_PREFIX",
        "PATTERN_EMBEDDER",
        "PATTERN_EMBEDDER_MODEL",
        "PATTERN_EMBEDDER_FOLDER",
        "PATTERN_EMBEDDER_URL",
        "PATTERN_EMBEDDER_KEY",
        "PATTERN_EMBEDDER_THREADS",
        "PATTERN_EMBEDDER_TEXT_CHARS",
        "PATTERN_EMBEDDER_QUERY_CHARS",
        "PATTERN_PROFILE",
        *_LIMIT_NAMES,
    }
)


_FILES = ("NATS_CREDS", "NATS_NKEY", "NATS_CA", "NATS_CERT", "NATS_KEY", "PATTERN_EMBEDDER_FOLDER")


class Nats(msgspec.Struct, frozen=True, kw_only=True):
    """Where the broker is and how to sign in; without `url` the embedded one is used."""

    url: str | None = None
    user: str | None = None
    password: str | None = None
    token: str | None = None
    credentials_file: str | None = None
    nkey_file: str | None = None
    ca_file: str | None = None
    cert_file: str | None = None
    key_file: str | None = None
    inbox_prefix: str | None = None

    def __repr__(self) -> str:
        """Nothing: most of it is secret."""
        return "Nats(...)"


class Settings(msgspec.Struct, frozen=True, kw_only=True):
    """Everything the environment decides."""

    nats: Nats
    project_path: Path
    """Absolute; who we are is derived from it."""
    project_id: str | None
    agent_id: str | None
    user_id: str | None
    subagent_type: str | None
    warp: bool
    """Whether only identities that Warp wrote count (`LOOMINAL_IDENTITY=warp`)."""
    home: Path
    """State of this service: the embedded broker's store, the node's files."""
    node: bool
    """Whether this process may start the background node."""
    node_idle_s: float
    warm_start: bool
    """Whether large views are copied to disk for the next start (`loomem.views.warm`)."""
    files_dir: Path
    """Exports and imports stay below it."""
    scan_policy: ScanPolicy
    timezone: ZoneInfo
    replicas: int
    limits: Limits
    embed: EmbedSettings
    """The model that the node embeds with."""
    search: SearchSettings
    profile: Profile
    """Which tools a session offers."""
    log_level: str | None
    """As asked for; None = nobody did."""
    node_environment: dict[str, str]
    """The environment of a node that this process starts."""
    warnings: tuple[str, ...]
    """What was not understood, for the log."""

    def __repr__(self) -> str:
        """Nothing of the environment, which holds secrets."""
        return f"Settings(project_path={str(self.project_path)!r}, home={str(self.home)!r})"


def from_environment(environment: Mapping[str, str], cwd: Path) -> Settings:
    """Return the settings that these variables make.

    Raises: InvalidInput naming the variable and what it may be.
    """
    env = {name: value for name, value in environment.items() if value.strip()}
    home = _path(env.get("PATTERN_HOME"), cwd, default=_data_home(env, cwd) / "pattern-memory")
    return Settings(
        nats=_nats(env, cwd),
        project_path=_path(env.get("MCP_PROJECT_PATH"), cwd, default=cwd),
        project_id=env.get("LOOMINAL_PROJECT_ID"),
        agent_id=env.get("LOOMINAL_AGENT_ID"),
        user_id=env.get("LOOMINAL_USER_ID"),
        subagent_type=env.get("LOOMINAL_SUBAGENT_TYPE"),
        warp=_choice(env, "LOOMINAL_IDENTITY", ("auto", "warp")) == "warp",
        home=home,
        node=_choice(env, "PATTERN_NODE", ("auto", "off")) == "auto",
        node_idle_s=_number(env, "PATTERN_NODE_IDLE_S", 300.0),
        warm_start=_choice(env, "PATTERN_WARM_START", ("auto", "off")) == "auto",
        files_dir=_path(env.get("PATTERN_FILES_DIR"), cwd, default=cwd),
        scan_policy=_scan_policy(env),
        timezone=_timezone(env),
        replicas=_whole(env, "PATTERN_REPLICAS", 1, most=5),
        limits=_limits(env),
        embed=_embed(env, cwd),
        search=SearchSettings(),
        profile=profile_of(env.get("PATTERN_PROFILE", Profile.FULL), said_by="PATTERN_PROFILE"),
        log_level=_log_level(env),
        node_environment={**environment, **_absolute(env, cwd), "PATTERN_HOME": str(home)},
        warnings=tuple(_unknown(env)),
    )


def _nats(env: Mapping[str, str], cwd: Path) -> Nats:
    file = _absolute(env, cwd).get
    return Nats(
        url=env.get("NATS_URL"),
        user=env.get("NATS_USER"),
        password=env.get("NATS_PASS"),
        token=env.get("NATS_TOKEN"),
        credentials_file=file("NATS_CREDS"),
        nkey_file=file("NATS_NKEY"),
        ca_file=file("NATS_CA"),
        cert_file=file("NATS_CERT"),
        key_file=file("NATS_KEY"),
        inbox_prefix=env.get("PATTERN_INBOX_PREFIX"),
    )


def _absolute(env: Mapping[str, str], cwd: Path) -> dict[str, str]:
    """Return the files that are named, absolute, since the background node reads them from a folder of its own."""
    return {name: str(_path(env[name], cwd, default=cwd)) for name in _FILES if name in env}


def _data_home(env: Mapping[str, str], cwd: Path) -> Path:
    """Return the XDG data directory; by its specification a relative `XDG_DATA_HOME` is to be ignored."""
    named = env.get("XDG_DATA_HOME", "")
    if named.startswith("/"):
        return Path(named)
    return _path(env.get("HOME"), cwd, default=cwd) / ".local" / "share"


def _path(text: str | None, cwd: Path, *, default: Path) -> Path:
    if text is None:
        return default
    return (cwd / Path(text)).resolve()


def _choice(env: Mapping[str, str], name: str, allowed: tuple[str, ...]) -> str:
    """Return one of the allowed words; the first is the default."""
    word = env.get(name, allowed[0]).lower()
    if word not in allowed:
        raise InvalidInput(f"{name} must be {' or '.join(allowed)}, not {env[name][:40]!r}", field=name)
    return word


def _number(env: Mapping[str, str], name: str, default: float) -> float:
    text = env.get(name)
    if text is None:
        return default
    if not re.fullmatch(r"\d{1,9}(\.\d{1,6})?", text, re.ASCII):
        raise InvalidInput(f"{name} must be a number of seconds such as 300, not {text[:40]!r}", field=name)
    return float(text)


def _whole(env: Mapping[str, str], name: str, default: int, *, most: int = 10**12) -> int:
    text = env.get(name)
    if text is None:
        return default
    if not re.fullmatch(r"\d{1,13}", text, re.ASCII) or not 1 <= int(text) <= most:
        raise InvalidInput(f"{name} must be a whole number from 1 to {most}, not {text[:40]!r}", field=name)
    return int(text)


def _limits(env: Mapping[str, str]) -> Limits:
    standard = Limits()
    changed: dict[str, Any] = {
        field: _whole(env, variable, getattr(standard, field))
        for variable, field in _LIMIT_NAMES.items()
        if variable in env
    }
    return msgspec.structs.replace(standard, **changed)


def _embed(env: Mapping[str, str], cwd: Path) -> EmbedSettings:
    standard = EmbedSettings()
    return EmbedSettings(
        adapter=Adapter(_choice(env, "PATTERN_EMBEDDER", tuple(str(adapter) for adapter in Adapter))),
        model=env.get("PATTERN_EMBEDDER_MODEL"),
        folder=_absolute(env, cwd).get("PATTERN_EMBEDDER_FOLDER"),
        url=env.get("PATTERN_EMBEDDER_URL", standard.url),
        key=env.get("PATTERN_EMBEDDER_KEY"),
        threads=_whole(env, "PATTERN_EMBEDDER_THREADS", standard.threads, most=64),
        text_chars=_whole(env, "PATTERN_EMBEDDER_TEXT_CHARS", standard.text_chars, most=100_000),
        query_chars=_whole(env, "PATTERN_EMBEDDER_QUERY_CHARS", standard.query_chars, most=10_000),
    )


def _scan_policy(env: Mapping[str, str]) -> ScanPolicy:
    """Return what happens to secrets; the two older switches turn scanning off, an explicit policy wins over them."""
    if "PATTERN_SCAN_POLICY" in env:
        return ScanPolicy(_choice(env, "PATTERN_SCAN_POLICY", tuple(str(policy) for policy in ScanPolicy)))
    silenced = env.get("PATTERN_CONTENT_SCANNING") == "false" or env.get("PATTERN_DISABLE_CONTENT_SCAN") == "true"
    return ScanPolicy.OFF if silenced else ScanPolicy.WARN


def _timezone(env: Mapping[str, str]) -> ZoneInfo:
    name = env.get("PATTERN_TIMEZONE", "UTC")
    try:
        return ZoneInfo(name)
    except (ValueError, OSError, LookupError):  # not a key, a directory, not installed
        raise InvalidInput(
            f"PATTERN_TIMEZONE must be a time zone such as Europe/Warsaw, not {name[:40]!r}", field="PATTERN_TIMEZONE"
        ) from None


def _log_level(env: Mapping[str, str]) -> str | None:
    if env.get("DEBUG", "").lower() in ("true", "1"):
        return "DEBUG"
    if "LOG_LEVEL" not in env:
        return None
    level = LEVELS.get(env["LOG_LEVEL"].upper())
    if level is None:
        raise InvalidInput(
            f"LOG_LEVEL must be DEBUG, INFO, WARN or ERROR, not {env['LOG_LEVEL'][:40]!r}", field="LOG_LEVEL"
        )
    return level


def _unknown(env: Mapping[str, str]) -> list[str]:
    """Return a warning for each PATTERN_ variable that means nothing, with what was probably meant."""
    warnings: list[str] = []
    for name in sorted(env):
        if name.startswith("PATTERN_") and name not in _KNOWN:
            near = difflib.get_close_matches(name, _KNOWN, n=1)
            warnings.append(f"{name} is not a setting" + (f"; did you mean {near[0]}?" if near else ""))
    return warnings
