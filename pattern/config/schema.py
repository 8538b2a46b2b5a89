"""What `pattern.toml` may say. The Structs are the schema: their fields the keys, their types the bounds, their defaults the defaults."""

from __future__ import annotations

from enum import StrEnum
from functools import lru_cache
from typing import Annotated, Any, TypeGuard

import msgspec
from msgspec import Meta

from loomem.core.audit.settings import AuditSettings
from loomem.core.contradict.settings import ContradictSettings
from loomem.core.extract import Topic
from loomem.core.extract.values import CONFIDENCE_FLOOR, FACTS_LIMIT
from loomem.core.graph.settings import GraphSettings
from loomem.core.limits import Limits
from loomem.core.llm import KEY_VARIABLE, URL_VARIABLE, LlmSettings
from loomem.core.pii_settings import PiiSettings
from loomem.core.scan import ScanPolicy
from loomem.core.search.settings import SearchSettings
from loomem.embed.settings import EmbedSettings
from pattern.profiles import Profile

Path = tuple[str, ...]
"""A key with the tables it stands in."""


class Start(StrEnum):
    AUTO = "auto"
    OFF = "off"


class Level(StrEnum):
    DEBUG = "DEBUG"
    INFO = "INFO"
    WARN = "WARN"
    WARNING = "WARNING"
    ERROR = "ERROR"


class NatsKeys(msgspec.Struct, frozen=True, kw_only=True):
    """Where the broker is; without `url` the embedded one is used. Passwords and tokens stand in the environment alone."""

    url: str | None = None
    """A server or cluster of yours: `nats://`, `tls://`, `ws://`, `wss://`."""
    credentials_file: str | None = None
    """A file with JWT and nkey."""
    nkey_file: str | None = None
    """A file with an nkey seed."""
    ca_file: str | None = None
    """TLS: the authority."""
    cert_file: str | None = None
    """TLS: the client's certificate."""
    key_file: str | None = None
    """TLS: the key of that certificate."""
    inbox_prefix: str | None = None
    """Where answers arrive, when the broker gives each agent its own."""
    replicas: Annotated[int, Meta(ge=1, le=5)] = 1
    """Copies of each bucket; 3 in a cluster."""


class NodeKeys(msgspec.Struct, frozen=True, kw_only=True):
    """The background node."""

    start: Start = Start.AUTO
    """`off`: never start one."""
    idle_s: Annotated[float, Meta(ge=0, le=999_999_999)] = 300.0
    """Seconds after the last client at which it leaves."""


class ScanKeys(msgspec.Struct, frozen=True, kw_only=True):
    """Secrets in what is stored."""

    policy: ScanPolicy = ScanPolicy.WARN
    """What follows when one is found."""


class ServerKeys(msgspec.Struct, frozen=True, kw_only=True):
    """How far callers are believed."""

    honor_caller_trust_source: bool = False
    """Whether a `source` of trust a1 that a caller names is believed; else nothing a caller stores is trusted beyond a2."""


class FragmentKeys(msgspec.Struct, frozen=True, kw_only=True):
    """The utterances of conversations that are taken in."""

    enabled: bool = False
    """Whether each is stored as a memory of its own, too."""


class ExtractionKeys(msgspec.Struct, frozen=True, kw_only=True):
    """Facts from conversations that are taken in. Who reads them, `[llm]` says."""

    enabled: bool = True
    """Whether any are taken."""
    wait_s: Annotated[float, Meta(ge=0, le=600)] = 20.0
    """Seconds that `memory_ingest` waits for them; they come whether or not it does."""
    facts_limit: Annotated[int, Meta(ge=1, le=1_000)] = FACTS_LIMIT
    """Facts of one conversation, the most certain ones."""
    confidence_floor: Annotated[float, Meta(ge=0.0, le=1.0)] = CONFIDENCE_FLOOR
    """What is less certain is no fact."""
    topics: tuple[Topic, ...] = ()
    """Kinds of facts in the stead of the built-in ones: `[[extraction.topics]]` with `name`, `description`, `fact_type`."""


class RetentionKeys(msgspec.Struct, frozen=True, kw_only=True):
    """How long what was deleted can be restored."""

    soft_delete_days: Annotated[int, Meta(ge=1, le=3_650)] = 30
    """Days after `memory_delete` at which the content is purged."""


class PatternFile(msgspec.Struct, frozen=True, kw_only=True):
    """The whole file."""

    profile: Profile = Profile.FULL
    """Which tools a session offers; `--profile` wins."""
    user: Annotated[str, Meta(min_length=1)] | None = None
    """The user: the same personal memory from several machines. Derived from OS user and host when absent."""
    timezone: str = "UTC"
    """The zone in which dates without one are read."""
    log_level: Level | None = None
    """What is logged, on stderr; INFO when absent."""
    files_dir: str | None = None
    """Exports and imports stay below it; the working directory when absent."""
    warm_start: Start = Start.AUTO
    """`off`: large views are not copied to disk for the next start."""
    nats: NatsKeys = NatsKeys()
    node: NodeKeys = NodeKeys()
    limits: Limits = Limits()
    search: SearchSettings = SearchSettings()
    embedding: EmbedSettings = EmbedSettings()
    llm: LlmSettings = LlmSettings()
    graph: GraphSettings = GraphSettings()
    contradiction: ContradictSettings = ContradictSettings()
    namespaces: dict[str, str] = {}
    """Ids of streams of yours by the aliases they are called by."""
    pii: PiiSettings = PiiSettings()
    scan: ScanKeys = ScanKeys()
    server: ServerKeys = ServerKeys()
    retention: RetentionKeys = RetentionKeys()
    audit: AuditSettings = AuditSettings()
    fragments: FragmentKeys = FragmentKeys()
    extraction: ExtractionKeys = ExtractionKeys()


class Word(StrEnum):
    """What the file of a project may say about a key. The user's own file and the environment may say anything."""

    FREE = "yes"
    STRICTER = "stricter"
    MORE = "adds"
    NONE = "no"


class Key(msgspec.Struct, frozen=True):
    """A key that holds a value."""

    path: Path
    type: Any
    default: Any
    variable: str
    """The variable of the environment that beats the file."""
    project: Word

    @property
    def name(self) -> str:
        return ".".join(self.path)


_PROJECT: dict[Path, Word] = {
    ("user",): Word.NONE,
    ("files_dir",): Word.NONE,
    ("warm_start",): Word.NONE,
    ("nats",): Word.NONE,
    ("node",): Word.NONE,
    ("limits",): Word.NONE,
    ("search", "weights", "trust"): Word.NONE,
    ("search", "weights", "harmful"): Word.NONE,
    ("search", "weights", "feedback"): Word.NONE,
    ("namespaces",): Word.MORE,
    ("pii",): Word.STRICTER,
    ("scan",): Word.STRICTER,
    ("server",): Word.NONE,
    ("retention",): Word.NONE,
    ("audit",): Word.NONE,
    ("embedding",): Word.NONE,
    ("extraction", "enabled"): Word.FREE,
    ("extraction", "wait_s"): Word.FREE,
    ("extraction",): Word.NONE,
    ("llm",): Word.NONE,
    ("graph",): Word.NONE,
    ("contradiction",): Word.NONE,
}

_VARIABLES: dict[Path, str] = {
    ("user",): "LOOMINAL_USER_ID",
    ("log_level",): "LOG_LEVEL",
    ("nats", "url"): "NATS_URL",
    ("nats", "credentials_file"): "NATS_CREDS",
    ("nats", "nkey_file"): "NATS_NKEY",
    ("nats", "ca_file"): "NATS_CA",
    ("nats", "cert_file"): "NATS_CERT",
    ("nats", "key_file"): "NATS_KEY",
    ("nats", "inbox_prefix"): "PATTERN_INBOX_PREFIX",
    ("nats", "replicas"): "PATTERN_REPLICAS",
    ("node", "start"): "PATTERN_NODE",
    ("embedding", "adapter"): "PATTERN_EMBEDDER",
    ("llm", "key"): KEY_VARIABLE,
    ("llm", "url"): URL_VARIABLE,
}
_SAID_ELSEWHERE = frozenset({("limits", "retention_s")})
"""Fields that another key decides: `retention.soft_delete_days`."""
_PREFIXES = {"limits": "LIMIT", "embedding": "EMBEDDER"}

FILES = frozenset(
    {
        ("files_dir",),
        ("nats", "credentials_file"),
        ("nats", "nkey_file"),
        ("nats", "ca_file"),
        ("nats", "cert_file"),
        ("nats", "key_file"),
        ("embedding", "folder"),
        ("graph", "dictionary"),
    }
)
"""Keys that name a file or folder; a relative one starts at the folder of whoever names it."""

SECRETS: dict[Path, str] = {
    ("nats", "user"): "NATS_USER",
    ("nats", "password"): "NATS_PASS",
    ("nats", "pass"): "NATS_PASS",
    ("nats", "token"): "NATS_TOKEN",
    ("embedding", "key"): "PATTERN_EMBEDDER_KEY",
    ("embedding", "api_key"): "PATTERN_EMBEDDER_KEY",
    ("llm", "key"): KEY_VARIABLE,
    ("llm", "api_key"): KEY_VARIABLE,
}
"""Never read from a file, and where they belong."""

_BUCKET = "memories live in NATS buckets, and indexes in memory"
VOID: dict[Path, str] = {
    ("storage",): _BUCKET,
    ("storage", "rocksdb"): f"there is no RocksDB: {_BUCKET}",
    ("storage", "intent_log"): f"there is no write-ahead log: {_BUCKET}",
    ("storage", "tantivy"): f"the index of words needs no settings: {_BUCKET}",
    ("llm", "provider"): "the API of Anthropic is spoken; llm.url names another server of it",
    ("llm", "api_key_env"): f"the key is read from {KEY_VARIABLE}",
    ("llm", "fallback_to_regex"): "there are always rules for when no model is asked",
    ("llm", "embedding_provider"): "[embedding] says which model embeds",
    ("llm", "embedding_model"): "[embedding] says which model embeds",
    ("llm", "embedding_model_path"): "[embedding] says which model embeds",
    ("llm", "embedding_dim"): "the model decides",
    ("cost",): "[llm] has one budget a day for all agents",
    ("worker",): "the node's workers need no settings",
    ("resource_guards",): "the node bounds its own work",
    ("scheduler",): "the node decides when work is due",
    ("search", "cache"): "there is no cache of answers to keep in step",
    ("search", "rerank_model_dir"): "there is no reranker",
    ("search", "hybrid_weights", "vector"): "what words do not weigh (search.arms.words), meaning does",
    ("search", "importance"): "importance is a factor of its own, not three steps",
    ("pii", "blocklist_file"): "write the terms into pii.blocklist",
    ("pii", "audit_log"): "counts of redactions are always logged, values never",
    ("streams",): "a stream is made by the first memory stored in it; [namespaces] gives it an alias",
}
"""Keys of the reference's file that mean nothing here, and why."""

RENAMED: dict[Path, Path] = {
    ("mcp", "search_default_top_k"): ("search", "top_k", "default"),
    ("mcp", "search_max_top_k"): ("search", "top_k", "most"),
    ("mcp", "aggregation_default_top_k"): ("search", "top_k", "counting_default"),
    ("mcp", "aggregation_max_top_k"): ("search", "top_k", "counting_most"),
    ("search", "decay", "l0_lambda"): ("search", "decay", "stated_per_day"),
    ("search", "decay", "l1_lambda"): ("search", "decay", "derived_per_day"),
    ("search", "decay_match_relief"): ("search", "decay", "relief"),
    ("search", "vector_similarity_floor"): ("search", "arms", "meaning_floor"),
    ("search", "entities_file"): ("graph", "dictionary"),
    ("search", "user_state_boost"): ("search", "weights", "user_state"),
    ("search", "agent_fact_damp"): ("search", "weights", "assistant_state"),
    ("search", "hybrid_weights", "bm25"): ("search", "arms", "words"),
    ("llm", "compression_model"): ("llm", "model"),
    ("llm", "timeout_secs"): ("llm", "timeout_s"),
    ("cost", "daily_cap_usd"): ("llm", "cost_per_day"),
    ("contradiction", "model"): ("llm", "judge_model"),
    ("contradiction", "similarity_threshold"): ("contradiction", "similarity"),
    ("contradiction", "max_candidates"): ("contradiction", "candidates"),
    ("entity_extraction", "enabled"): ("llm", "entities"),
    ("entity_extraction", "model"): ("llm", "entities_model"),
    ("knowledge_extraction", "model"): ("llm", "model"),
    ("knowledge_extraction", "max_transcript_tokens"): ("llm", "transcript_tokens"),
    ("knowledge_extraction", "max_tokens"): ("llm", "answer_tokens"),
}
"""Keys of the reference's file by what they are called here; understood, with a warning."""


def is_table(kind: Any) -> TypeGuard[type[msgspec.Struct]]:
    """Say whether a key of this type is a table with keys of its own."""
    return isinstance(kind, type) and issubclass(kind, msgspec.Struct)


@lru_cache
def table(kind: type[msgspec.Struct]) -> dict[str, Any]:
    """Return the types of a table's keys."""
    return {field.name: field.type for field in msgspec.structs.fields(kind)}


@lru_cache(maxsize=1)
def keys() -> dict[Path, Key]:
    """Return every key that holds a value, in the order of the file."""
    return {key.path: key for key in _keys(PatternFile(), ())}


def _keys(section: msgspec.Struct, path: Path) -> list[Key]:
    found: list[Key] = []
    for name, kind in table(type(section)).items():
        here = (*path, name)
        value = getattr(section, name)
        if is_table(kind):
            found += _keys(value, here)
        elif here not in _SAID_ELSEWHERE:
            found.append(Key(here, kind, value, _variable(here), _word(here)))
    return found


def _variable(path: Path) -> str:
    if path in _VARIABLES:
        return _VARIABLES[path]
    return "_".join(("PATTERN", _PREFIXES.get(path[0], path[0]), *path[1:])).upper()


def _word(path: Path) -> Word:
    """Return what a project may say: as the longest part of the path says that says anything."""
    return next((_PROJECT[path[:n]] for n in range(len(path), 0, -1) if path[:n] in _PROJECT), Word.FREE)
