"""Settings: what the environment and the configuration files say, as one frozen value.

Pure: a mapping, a working directory and what files say in, a value and the warnings about it out. An empty variable counts
as unset, since MCP clients pass `"NATS_PASS": ""` for what their user left blank. Deliberately absent: `os.environ` (the
composition root reads it), the reading of files (`pattern.config.files`, `identity.config`), keys and their bounds
(`pattern.config.schema`).
"""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from pathlib import Path
from zoneinfo import ZoneInfo

import msgspec

from identity.errors import InvalidInput
from loomem.core.audit.settings import AuditSettings
from loomem.core.contradict.settings import ContradictSettings
from loomem.core.extract import ExtractSettings
from loomem.core.facts import FactSettings
from loomem.core.graph.settings import GraphSettings
from loomem.core.limits import Limits
from loomem.core.llm import LlmSettings
from loomem.core.scan import ScanPolicy
from loomem.core.search.settings import SearchSettings
from loomem.embed.settings import EmbedSettings
from pattern.config.check import Layer
from pattern.config.choose import Choice, choose
from pattern.config.schema import FILES, PatternFile, Start, keys
from pattern.profiles import Profile

LEVELS = {"DEBUG": "DEBUG", "INFO": "INFO", "WARN": "WARNING", "WARNING": "WARNING", "ERROR": "ERROR"}

_OTHERS = frozenset({"PATTERN_HOME", "PATTERN_CONFIG", "PATTERN_CONTENT_SCANNING", "PATTERN_DISABLE_CONTENT_SCAN"})
"""Variables that stand for no key of the file."""


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
    """Everything that the environment and the configuration files decide."""

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
    audit: AuditSettings
    """How long the record of changes is kept."""
    embed: EmbedSettings
    """The model that the node embeds with."""
    contradict: ContradictSettings
    """What a fact that is stored is compared with."""
    llm: LlmSettings
    """What is asked of a language model, and how much of it."""
    graph: GraphSettings
    """What is read of whom and what memories name."""
    search: SearchSettings
    profile: Profile
    """Which tools a session offers."""
    facts: FactSettings
    """How facts are stored: whose word is trusted, which streams there are, what is redacted."""
    extraction: ExtractSettings
    """What the node takes for a fact in a conversation."""
    files: tuple[str, ...]
    """The configuration files that were read."""
    log_level: str | None
    """As asked for; None = nobody did."""
    node_environment: dict[str, str]
    """The environment of a node that this process starts."""
    warnings: tuple[str, ...]
    """What was not understood, for the log."""

    def __repr__(self) -> str:
        """Nothing of the environment, which holds secrets."""
        return f"Settings(project_path={str(self.project_path)!r}, home={str(self.home)!r})"


def from_environment(environment: Mapping[str, str], cwd: Path, layers: Sequence[Layer] = ()) -> Settings:
    """Return the settings that these variables make, over what files say, of which the later beat the earlier.

    Raises: InvalidInput naming the variable, or file and key, and what it may be.
    """
    env = {name: value for name, value in environment.items() if value.strip()}
    choice = chosen(env, layers)
    file = choice.file()
    home = _path(env.get("PATTERN_HOME"), cwd, default=_data_home(env, cwd) / "pattern-memory")
    return Settings(
        nats=_nats(file, env, cwd),
        project_path=_path(env.get("MCP_PROJECT_PATH"), cwd, default=cwd),
        project_id=env.get("LOOMINAL_PROJECT_ID"),
        agent_id=env.get("LOOMINAL_AGENT_ID"),
        user_id=file.user,
        subagent_type=env.get("LOOMINAL_SUBAGENT_TYPE"),
        warp=_choice(env, "LOOMINAL_IDENTITY", ("auto", "warp")) == "warp",
        home=home,
        node=file.node.start is Start.AUTO,
        node_idle_s=file.node.idle_s,
        warm_start=file.warm_start is Start.AUTO,
        files_dir=_path(file.files_dir, cwd, default=cwd),
        scan_policy=_scan_policy(file, env),
        timezone=ZoneInfo(file.timezone),
        replicas=file.nats.replicas,
        limits=msgspec.structs.replace(file.limits, retention_s=file.retention.soft_delete_days * 86_400),
        audit=file.audit,
        embed=_embed(file, cwd),
        contradict=file.contradiction,
        llm=file.llm,
        graph=_graph(file, cwd),
        search=file.search,
        profile=file.profile,
        facts=FactSettings(
            honor_caller_trust_source=file.server.honor_caller_trust_source,
            namespaces=file.namespaces,
            pii=file.pii,
            fragments=file.fragments.enabled,
            extract=file.extraction.enabled,
            wait_s=file.extraction.wait_s,
        ),
        extraction=ExtractSettings(
            facts_limit=file.extraction.facts_limit,
            confidence_floor=file.extraction.confidence_floor,
            topics=file.extraction.topics,
        ),
        files=tuple(layer.file for layer in layers),
        log_level=None if file.log_level is None else LEVELS[file.log_level],
        node_environment=_node_environment(environment, cwd, home),
        warnings=(*(str(problem) for problem in choice.problems), *_unknown(env)),
    )


def chosen(environment: Mapping[str, str], layers: Sequence[Layer]) -> Choice:
    """Return what counts for each key of the file, and where it comes from.

    Raises: InvalidInput, with all that is wrong in the files.
    """
    errors = [str(problem) for layer in layers for problem in layer.errors]
    if errors:
        raise InvalidInput("\n".join(errors), field=layers[0].file)
    debug = environment.get("DEBUG", "").lower() in ("true", "1")
    return choose(layers, {**environment, "LOG_LEVEL": "DEBUG"} if debug else environment)


def _nats(file: PatternFile, env: Mapping[str, str], cwd: Path) -> Nats:
    def absolute(name: str | None) -> str | None:
        return None if name is None else str(_path(name, cwd, default=cwd))

    nats = file.nats
    return Nats(
        url=nats.url,
        user=env.get("NATS_USER"),
        password=env.get("NATS_PASS"),
        token=env.get("NATS_TOKEN"),
        credentials_file=absolute(nats.credentials_file),
        nkey_file=absolute(nats.nkey_file),
        ca_file=absolute(nats.ca_file),
        cert_file=absolute(nats.cert_file),
        key_file=absolute(nats.key_file),
        inbox_prefix=nats.inbox_prefix,
    )


def _embed(file: PatternFile, cwd: Path) -> EmbedSettings:
    embed = file.embedding
    return embed if embed.folder is None else msgspec.structs.replace(embed, folder=str((cwd / embed.folder).resolve()))


def _graph(file: PatternFile, cwd: Path) -> GraphSettings:
    graph = file.graph
    if graph.dictionary is None:
        return graph
    return msgspec.structs.replace(graph, dictionary=str((cwd / graph.dictionary).resolve()))


def _node_environment(environment: Mapping[str, str], cwd: Path, home: Path) -> dict[str, str]:
    """Return the environment of a node: files absolute, since it reads them from a folder of its own.

    It reads the user's configuration file itself; a project's does not concern it.
    """
    named = {key.variable for path, key in keys().items() if path in FILES and path != ("files_dir",)} | {
        "PATTERN_CONFIG"
    }
    files = {
        name: str(_path(environment[name], cwd, default=cwd)) for name in named if environment.get(name, "").strip()
    }
    return {**environment, **files, "PATTERN_HOME": str(home)}


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


def _scan_policy(file: PatternFile, env: Mapping[str, str]) -> ScanPolicy:
    """Return what happens to secrets; the two older switches turn scanning off, an explicit policy wins over them."""
    silenced = env.get("PATTERN_CONTENT_SCANNING") == "false" or env.get("PATTERN_DISABLE_CONTENT_SCAN") == "true"
    return ScanPolicy.OFF if silenced and "PATTERN_SCAN_POLICY" not in env else file.scan.policy


def _unknown(env: Mapping[str, str]) -> list[str]:
    """Return a warning for each PATTERN_ variable that means nothing, with what was probably meant."""
    known = _OTHERS | {key.variable for key in keys().values()}
    warnings: list[str] = []
    for name in sorted(env):
        if name.startswith("PATTERN_") and name not in known:
            near = difflib.get_close_matches(name, known, n=1)
            warnings.append(f"{name} is not a setting" + (f"; did you mean {near[0]}?" if near else ""))
    return warnings
