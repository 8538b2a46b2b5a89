"""Arguments that several tools share, each said once."""

from __future__ import annotations

from identity.visibility import Scope
from loomem.core.record import COMMON, Category
from pattern.server.tool import Shape

SCOPES = tuple(str(scope) for scope in Scope)
CATEGORIES = tuple(str(category) for category in Category)
SHARED_CATEGORIES = tuple(str(category) for category in COMMON)

SCOPE = Shape(
    type="string",
    enum=SCOPES,
    about="Who can read it: private = you in this project; personal = you in every project; team = every agent of this "
    "project; public = every agent on this broker. Default: by category.",
)
CATEGORY = Shape(
    type="string",
    enum=CATEGORIES,
    default="recent",
    about="recent and tasks expire after 24 h; longterm and core stay (private, personal); decisions, architecture and "
    "learnings are shared (team, public).",
)
METADATA = Shape(
    type="object",
    about="Optional: tags, priority (1-3), relatedTo, source; other keys are kept as they are.",
    fields={
        "tags": Shape(type="array", items=Shape(type="string"), about="At most 10, each at most 50 characters."),
        "priority": Shape(type="integer", enum=(1, 2, 3), about="1 high, 2 normal, 3 low."),
        "relatedTo": Shape(type="array", items=Shape(type="string"), about="Ids of related memories."),
        "source": Shape(type="string", about="Where it comes from."),
    },
)
TTL = Shape(type="integer", minimum=1, about="Forget it after so many seconds.")


def content(about: str) -> Shape:
    """Return the shape of the text of a memory."""
    return Shape(type="string", about=f"{about} At most 32 768 bytes. Never a secret.")


def memory_id(about: str = "Id of the memory.") -> Shape:
    """Return the shape of the id of a memory."""
    return Shape(type="string", about=about)


def moment(about: str) -> Shape:
    """Return the shape of a date or time."""
    return Shape(type="string", about=f"{about} ISO-8601 date or time.")


def flag(about: str, *, default: bool = False) -> Shape:
    """Return the shape of a switch."""
    return Shape(type="boolean", about=about, default=default)


def many(about: str, enum: tuple[str, ...] = ()) -> Shape:
    """Return the shape of a list of words."""
    return Shape(type="array", items=Shape(type="string", enum=enum), about=about)
