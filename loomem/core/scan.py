"""Secrets and personal data in what is about to be stored: found, told, redacted or refused, before anything is published.

The first ten kinds and their order are those of the specification; the others are what it found missing. Where a rule
differs from it, it is to stay silent: a `token` that is a UUID, a card number that fails Luhn, a value that only refers
to a secret (`${PASSWORD}`, `process.env.X`). A finding never carries the whole secret. Every pattern is linear in the
length of the text: it cannot restart inside a run that it has already walked.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from enum import StrEnum
from typing import Any, cast

import msgspec

from identity.errors import InvalidInput


class ScanPolicy(StrEnum):
    """What is done about a finding."""

    OFF = "off"
    WARN = "warn"
    """Stored as it is; the result tells."""
    REDACT = "redact"
    """The secret is replaced by `[REDACTED:<type>]`; the result tells."""
    BLOCK = "block"
    """Nothing is stored; the error names kinds and fields, never values."""


class Finding(msgspec.Struct, frozen=True, kw_only=True):
    """One thing that looks like a secret. Its JSON is the warning of a tool's result."""

    type: str
    description: str
    field: str
    """Where: `content`, `metadata.source`, `metadata.tags[0]`, ..."""
    position: int
    """Index of its first character in the text of that field; for a key in its name."""
    sample: str
    """Masked."""


class Screened(msgspec.Struct, frozen=True, kw_only=True):
    """What may be stored, and what was found in it."""

    content: str | None
    metadata: dict[str, Any] | None
    warnings: tuple[Finding, ...] = ()


class _Kind(msgspec.Struct, frozen=True, kw_only=True):
    """A row of the table."""

    type: str
    description: str
    pattern: re.Pattern[str]
    """Its group `secret`, where it has one, is what redaction replaces; else all of the match."""
    hints: tuple[str, ...] = ()
    """Lower-case words one of which every match holds; a text without them is not searched."""
    lowered: bool = False
    """Searched in the lower-case text: it ignores case, at the price of an exact search."""
    accept: Callable[[str], bool] = lambda _: True
    """Takes the secret; a match it refuses is none."""
    head: re.Pattern[str] | None = None
    """What must stand before the match and belongs to it; asked backwards, so that the search begins at a rare character."""
    named: bool = True
    """Says whose secret it is; a kind that knows only the label beside it gives way in redactions."""


class _Match(msgspec.Struct, frozen=True):
    kind: _Kind
    start: int
    end: int
    secret_start: int
    secret_end: int


_SEPARATOR = r"""\\?["']?\s*[:=]\s*\\?["']?"""
"""Between a label and its value: plain (`a=b`), quoted as in JSON, and JSON within JSON."""

_HEAD_LIMIT = 64
"""Characters of a head: the longest local part of an address."""

_PASSES = 4
"""Redactions of one text: what runs into a secret (a number glued to a key) shows only when that one is gone."""

_REFERENCE = re.compile(
    r"""[$%]\{|\$\(|\{\{|[<>=*]|process\.env|os\.(?:environ|getenv)|import\.meta|\[redacted:[a-z-]+\]""", re.IGNORECASE
)
_UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\Z", re.IGNORECASE)
_NOT_DIGIT = re.compile(r"\D")


def _is_literal(secret: str) -> bool:
    """Refuse what refers to a secret, stands for one, or is code after `==` and `=>`."""
    return not _REFERENCE.match(secret)


def _is_no_uuid(secret: str) -> bool:
    return not _UUID.match(secret)


def _is_card(number: str) -> bool:
    """Say whether the digits pass Luhn."""
    digits = _NOT_DIGIT.sub("", number)
    odd = sum(int(d) for d in digits[-1::-2])
    even = sum(sum(divmod(2 * int(d), 10)) for d in digits[-2::-2])
    return (odd + even) % 10 == 0


def _label(words: str, value: str) -> re.Pattern[str]:
    return re.compile(f"(?:{words}){_SEPARATOR}(?P<secret>{value})")


_KINDS: tuple[_Kind, ...] = (
    _Kind(
        type="api-key",
        description="API key or token",
        pattern=_label("api[-_]?(?:key|token)", "[a-z0-9_-]{20,}"),
        hints=("api",),
        lowered=True,
        named=False,
    ),
    _Kind(
        type="aws-key",
        description="AWS access key id",
        pattern=re.compile(r"A(?:KIA|3T|GPA|IDA|ROA|IPA|NPA|NVA|SIA)[A-Z0-9]{16}"),
    ),
    _Kind(
        type="github-token",
        description="GitHub token",
        pattern=re.compile(r"gh[pousr]_[A-Za-z0-9_]{36,}|github_pat_[A-Za-z0-9_]{22,}"),
        hints=("ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_"),
    ),
    _Kind(
        type="jwt",
        description="JSON Web Token",
        pattern=re.compile(r"eyJ(?<![A-Za-z0-9_-]eyJ)[A-Za-z0-9_-]*\.eyJ[A-Za-z0-9_-]*\.[A-Za-z0-9_-]+"),
        hints=(".eyj",),
    ),
    _Kind(
        type="generic-secret",
        description="Secret or token",
        pattern=_label("secret(?:[-_]?key)?|token|bearer", "[a-z0-9_-]{20,}"),
        hints=("secret", "token", "bearer"),
        lowered=True,
        accept=_is_no_uuid,
        named=False,
    ),
    _Kind(
        type="password",
        description="Password",
        pattern=_label("password|passwd|pwd", r"""[^\s"']{8,}"""),
        hints=("password", "passwd", "pwd"),
        lowered=True,
        accept=_is_literal,
        named=False,
    ),
    _Kind(
        type="private-key",
        description="Private key (PEM or PGP)",
        pattern=re.compile(
            r"-----BEGIN (?:(?:RSA |EC |DSA |OPENSSH |ENCRYPTED )?PRIVATE KEY|PGP PRIVATE KEY BLOCK)-----"
        ),
        hints=("private key",),
    ),
    _Kind(
        type="email",
        description="E-mail address",
        pattern=re.compile(r"@(?<=[A-Za-z0-9._%+-]@)[A-Za-z0-9.-]{1,253}\.[A-Za-z]{2,}\b"),
        hints=("@",),
        head=re.compile(r"\b[A-Za-z0-9._%+-]+\Z"),
    ),
    _Kind(
        type="credit-card",
        description="Credit card number",
        # Begins with a class of digits, which the engine looks for fast; what stands before it is asked afterwards.
        pattern=re.compile(
            r"[2-6](?<!\w.)(?<!\d\..)\d{3}(?:[ -]?\d{4}[ -]?\d{4}[ -]?\d{4}|(?<=3[47]..)[ -]?\d{6}[ -]?\d{5})\b"
        ),
        accept=_is_card,
    ),
    _Kind(type="ssn", description="US social security number", pattern=re.compile(r"\d(?<!\w.)\d{2}-\d{2}-\d{4}\b")),
    _Kind(
        type="auth-header",
        description="Authorization header or bearer token",
        pattern=re.compile(
            rf"authorization{_SEPARATOR}(?:bearer|basic|token)\s+(?P<secret>[a-z0-9._~+/=-]{{12,}})"
            r"|bearer\s+(?P<bare>(?=[a-z._~+/=-]*\d)[a-z0-9._~+/=-]{20,})"
        ),
        hints=("authorization", "bearer"),
        lowered=True,
    ),
    _Kind(
        type="aws-secret",
        description="AWS secret access key",
        pattern=_label("secret[-_ ]?access[-_ ]?key|aws[-_ ]?secret(?:[-_ ]?key)?", r"[a-z0-9/+=]{40}(?![a-z0-9/+=])"),
        hints=("secret",),
        lowered=True,
    ),
    _Kind(
        type="stripe-key",
        description="Stripe key",
        pattern=re.compile(r"[sr]k_(?<![A-Za-z0-9].k_)(?:live|test)_[A-Za-z0-9]{16,}|whsec_[A-Za-z0-9+/=]{24,}"),
        hints=("k_live_", "k_test_", "whsec_"),
    ),
    _Kind(
        type="slack-token",
        description="Slack token or webhook",
        pattern=re.compile(
            r"xox[abeoprs]-[A-Za-z0-9-]{10,}|xapp-\d-[A-Za-z0-9-]{10,}"
            r"|hooks\.slack\.com/(?:services|workflows)/[A-Za-z0-9/]{20,}"
        ),
        hints=("xox", "xapp-", "hooks.slack.com"),
    ),
    _Kind(
        type="openai-key",
        description="OpenAI API key",
        pattern=re.compile(
            r"sk-(?<![A-Za-z0-9]sk-)(?:(?:proj|svcacct|admin|None)-[A-Za-z0-9_-]{20,}|[A-Za-z0-9]{32,})"
        ),
        hints=("sk-",),
    ),
    _Kind(
        type="anthropic-key",
        description="Anthropic API key",
        pattern=re.compile(r"sk-ant-(?<![A-Za-z0-9]sk-ant-)[A-Za-z0-9_-]{20,}"),
        hints=("sk-ant-",),
    ),
    _Kind(
        type="google-key",
        description="Google API key or OAuth secret",
        pattern=re.compile(r"AIza[A-Za-z0-9_-]{35}|GOCSPX-[A-Za-z0-9_-]{24,}|ya29\.[A-Za-z0-9_-]{20,}"),
        hints=("aiza", "gocspx-", "ya29."),
    ),
    _Kind(
        type="url-password",
        description="URL with a password (database, broker, HTTP)",
        # An unescaped `@` in the password is taken with it; `name:tag@sha256:` is a container image.
        pattern=re.compile(r"""://[^\s:/?#@"'<>]{0,128}:(?P<secret>[^\s/"'<>]{1,256})@(?!sha256:)"""),
        hints=("://",),
        head=re.compile(r"[A-Za-z][A-Za-z0-9+.-]*\Z"),
        accept=_is_literal,
    ),
)

_HINTS = tuple({hint: None for kind in _KINDS for hint in kind.hints})

TYPES: tuple[str, ...] = tuple(kind.type for kind in _KINDS)
"""Every kind the scanner knows, in the order in which findings are reported."""

_PEM_EDGE = re.compile(r"-----(?:BEGIN |END [A-Z ]{1,40}-----)")
_PEM_REST = re.compile(
    r"(?:(?:\s|\\[nr])*(?:[A-Za-z0-9+/=]{16,}|(?:Proc-Type|DEK-Info|Version|Comment): [^\n]{0,200}))*"
)
"""What follows the first line of a key whose last line is missing."""


def scan(text: str, *, field: str = "content") -> list[Finding]:
    """Return everything in a text that looks like a secret, kind by kind; overlaps of several kinds included."""
    return [_finding(text, match, field) for match in _matches(text)]


def apply_policy(policy: ScanPolicy, content: str | None, metadata: dict[str, Any] | None) -> Screened:
    """Return what may be stored of a memory. Every string of its metadata is looked at, keys included.

    Redacted text may be longer than it was, so check sizes afterwards.

    Raises: InvalidInput under `block`, naming kinds and fields.
    """
    if policy is ScanPolicy.OFF:
        return Screened(content=content, metadata=metadata)
    screen = _Screen(redact=policy is ScanPolicy.REDACT)
    clean_content = None if content is None else screen.text(content, "content")
    clean_metadata = None if metadata is None else screen.object(metadata, "metadata")
    if policy is ScanPolicy.BLOCK and screen.found:
        raise _refusal(screen.found)
    return Screened(content=clean_content, metadata=clean_metadata, warnings=tuple(screen.found))


def _refusal(found: list[Finding]) -> InvalidInput:
    types = list(dict.fromkeys(f.type for f in found))
    fields = list(dict.fromkeys(f.field for f in found))
    return InvalidInput(
        f"{', '.join(fields[:5])} looks like it holds a secret ({', '.join(types)}), and the scan policy is 'block'; "
        "remove it, or keep it in a vault and store where it is",
        field=fields[0],
        types=types,
        findings=[{"type": f.type, "field": f.field, "position": f.position} for f in found[:20]],
    )


class _Screen:
    """Walks the strings of one memory, collects findings, gives back what may be stored."""

    def __init__(self, *, redact: bool) -> None:
        self.redact = redact
        self.found: list[Finding] = []

    def text(self, text: str, field: str, *, label: str = "") -> str:
        """Screen one string; `label` is the key it stands under, which may be what tells that it is a secret."""
        head = f"{label}: " if label else ""
        whole = head + text
        matches = list(_matches(whole, after=len(head)))
        for match in matches:
            finding = _finding(whole, match, field)
            self.found.append(msgspec.structs.replace(finding, position=max(finding.position - len(head), 0)))
        return _redacted(whole, after=len(head))[len(head) :] if self.redact and matches else text

    def value(self, value: Any, field: str, label: str) -> Any:
        if isinstance(value, str):
            return self.text(value, field, label=label)
        if isinstance(value, dict):
            return self.object(cast("dict[str, Any]", value), field)  # JSON: keys are strings
        if isinstance(value, list):
            items = cast("list[Any]", value)
            return [self.value(item, f"{field}[{i}]", label) for i, item in enumerate(items)]
        return value

    def object(self, value: dict[str, Any], field: str) -> dict[str, Any]:
        clean: dict[str, Any] = {}
        for key, item in value.items():
            matches = list(_matches(key))
            safe = _redacted(key)  # a path is shown in warnings and errors under every policy
            self.found += [_finding(key, m, f"{field}.{safe}") for m in matches]
            name = _unused(safe, clean) if self.redact else key
            clean[name] = self.value(item, f"{field}.{safe}", key)
        return clean


def _unused(name: str, taken: dict[str, Any]) -> str:
    """Return a name that no earlier key took: two keys may become one when redacted."""
    number, free = 2, name
    while free in taken:
        free, number = f"{name} ({number})", number + 1
    return free


def _matches(text: str, *, after: int = 0) -> Iterator[_Match]:
    """Tell the matches whose secret does not end before `after`, kind by kind."""
    # U+0130 is the only character whose lower case is longer, which would move positions.
    low = text.replace("\u0130", "I").lower()
    told = {hint for hint in _HINTS if hint in low}
    for kind in _KINDS:
        if kind.hints and told.isdisjoint(kind.hints):
            continue
        for m in kind.pattern.finditer(low if kind.lowered else text):
            start = _start(text, m.start(), kind.head)
            if start is None:
                continue
            secret, end = m.span(m.lastgroup) if m.lastgroup else (start, m.end())
            if end > after and kind.accept(text[secret:end]):
                yield _Match(kind, start, m.end(), secret, end)


def _start(text: str, at: int, head: re.Pattern[str] | None) -> int | None:
    """Return where a match begins with its head, or None when it has none and needs one."""
    if head is None:
        return at
    begin = max(0, at - _HEAD_LIMIT)
    found = head.search(text[begin:at])
    return begin + found.start() if found else None


def _finding(text: str, match: _Match, field: str) -> Finding:
    kind = match.kind
    sample = _masked(text[match.start : match.end])
    return Finding(type=kind.type, description=kind.description, field=field, position=match.start, sample=sample)


def _masked(secret: str) -> str:
    return "*" * len(secret) if len(secret) <= 10 else f"{secret[:3]}...{secret[-3:]}"


def _redacted(text: str, *, after: int = 0) -> str:
    """Return the text without its secrets, also without those that only a redaction beside them laid bare."""
    for _ in range(_PASSES):
        matches = list(_matches(text, after=after))
        if not matches:
            break
        text = _replaced(text, matches)
    return text


def _replaced(text: str, matches: list[_Match]) -> str:
    """Replace the secrets of all matches; where several overlap, one replacement, of the kind that says most."""
    spans = sorted(((m.secret_start, m.secret_end, m.kind) for m in matches), key=lambda s: s[0])
    parts: list[str] = []
    done, i = 0, 0
    while i < len(spans):
        start, end, kind = spans[i]
        end = _whole(text, end, kind)
        i += 1
        while i < len(spans) and spans[i][0] < end:
            end = max(end, _whole(text, spans[i][1], spans[i][2]))
            kind = kind if kind.named or not spans[i][2].named else spans[i][2]
            i += 1
        parts += (text[done:start], f"[REDACTED:{kind.type}]")
        done = end
    return "".join((*parts, text[done:]))


def _whole(text: str, end: int, kind: _Kind) -> int:
    """Return the end of a secret: a private key goes on after the line by which it is known."""
    if kind.type != "private-key":
        return end
    edge = _PEM_EDGE.search(text, end)
    if edge and not edge[0].endswith("BEGIN "):
        return edge.end()
    rest = _PEM_REST.match(text, end)
    return rest.end() if rest else end
