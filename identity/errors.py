"""The one error tree of the project.

    LoomError
    ├── InvalidInput          VALIDATION_ERROR   an argument is wrong: which one, and what is allowed
    │   └── InvalidCategory   INVALID_CATEGORY   a category that its scope does not hold
    ├── AccessDenied          ACCESS_DENIED      the caller may not do this to this memory
    │   └── CoreProtected     CORE_PROTECTED     a core memory, touched without force
    ├── NotFound              MEMORY_NOT_FOUND   no such memory that the caller may see
    ├── Conflict              CONFLICT           somebody else changed it first: here is what it is now
    ├── LimitExceeded         STORAGE_FULL       a quota is full
    ├── Unavailable           NATS_ERROR         the broker cannot be reached, or does not answer in time
    └── Corrupt               CORRUPT_RECORD     stored bytes that cannot be read; never guessed at

A class raised without a message says its docstring. Fields carry data; nobody parses the text.
"""

from __future__ import annotations

from typing import Any, ClassVar


class LoomError(Exception):
    """Something went wrong in the memory service."""

    code: ClassVar[str] = "INTERNAL_ERROR"

    def __init__(self, message: str | None = None, **details: Any) -> None:
        self.message = message or (type(self).__doc__ or "").strip()
        self.details: dict[str, Any] = details
        super().__init__(self.message)


class InvalidInput(LoomError):
    """An argument is not valid."""

    code = "VALIDATION_ERROR"

    def __init__(self, message: str | None = None, *, field: str | None = None, **details: Any) -> None:
        if field is not None:
            details = {"field": field, **details}
        super().__init__(message, **details)
        self.field = field


class InvalidCategory(InvalidInput):
    """This scope does not hold this category."""

    code = "INVALID_CATEGORY"


class AccessDenied(LoomError):
    """Only the agent that created a memory may change or delete it."""

    code = "ACCESS_DENIED"


class CoreProtected(AccessDenied):
    """A core memory is protected; pass force=true to delete it."""

    code = "CORE_PROTECTED"


class NotFound(LoomError):
    """No memory with this id is visible to you."""

    code = "MEMORY_NOT_FOUND"


class Conflict(LoomError):
    """The memory was changed by somebody else in the meantime."""

    code = "CONFLICT"

    def __init__(
        self,
        message: str | None = None,
        *,
        key: str,
        expected: int,
        actual: int,
        value: bytes | None = None,
        **details: Any,
    ) -> None:
        super().__init__(message, **details)
        self.key = key
        self.expected = expected
        self.actual = actual
        self.value = value
        """What the key holds now; None when it holds nothing or the holder is not readable."""


class LimitExceeded(LoomError):
    """A limit is reached; delete something first, or raise the limit in the settings."""

    code = "STORAGE_FULL"


class Unavailable(LoomError):
    """The memory broker (NATS) cannot be reached right now."""

    code = "NATS_ERROR"

    def __init__(self, message: str | None = None, *, retry_after_s: float | None = None, **details: Any) -> None:
        if retry_after_s is not None:
            details = {"retryAfterSeconds": retry_after_s, **details}
        super().__init__(message, **details)
        self.retry_after_s = retry_after_s

    @property
    def unsupported(self) -> bool:
        """Whether it is not that the broker is away, but that it is too old for what was asked."""
        return "unsupported" in self.details


class Corrupt(LoomError):
    """Stored bytes are not a readable record."""

    code = "CORRUPT_RECORD"
