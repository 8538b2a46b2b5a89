"""Tools that write new memories."""

from __future__ import annotations

from identity.ports import Progress
from identity.visibility import Scope
from loomem.core.record import Category
from loomem.results import BulkRemembered, Remembered
from pattern.server.tool import Arguments, Backend, Run, Shape, Tool
from pattern.tools.pattern.words import CATEGORY, METADATA, SCOPE, TTL, content, flag


async def _remember(backend: Backend, given: Arguments, _progress: Progress) -> Remembered:
    engine = await backend.engine()
    return await engine.remember(
        content=given.get("content"),
        scope=given.get("scope"),
        category=given.get("category"),
        metadata=given.get("metadata"),
        ttl_seconds=given.get("ttlSeconds"),
    )


def _into(scope: Scope, category: Category) -> Run:
    """Return a run that writes into one place, whatever scope and category the call names."""

    async def run(backend: Backend, given: Arguments, _progress: Progress) -> Remembered:
        engine = await backend.engine()
        return await engine.remember(
            content=given.get("content"), scope=scope, category=category, metadata=given.get("metadata")
        )

    return run


async def _remember_bulk(backend: Backend, given: Arguments, progress: Progress) -> BulkRemembered:
    engine = await backend.engine()
    return await engine.remember_bulk(
        memories=given["memories"],
        validate=given.get("validate", True),
        stop_on_error=given.get("stopOnError", False),
        atomic=given.get("atomic", False),
        progress=progress,
    )


REMEMBER = Tool(
    name="remember",
    title="Remember",
    about="Store one memory. Use it when you learn something that you or your team will need later: a fact, a decision, "
    "a preference, how something works.",
    params={
        "content": content("What to remember, understandable without its context."),
        "scope": SCOPE,
        "category": CATEGORY,
        "metadata": METADATA,
        "ttlSeconds": TTL,
    },
    required=("content",),
    seldom=frozenset({"ttlSeconds"}),
    result=Remembered,
    run=_remember,
)
TASK = Tool(
    name="remember-task",
    title="Remember a task",
    about="Store what you are working on or must do next; private, expires after 24 h.",
    params={"content": content("The task and its state."), "metadata": METADATA},
    required=("content",),
    seldom=frozenset({"metadata"}),
    result=Remembered,
    run=_into(Scope.PRIVATE, Category.TASKS),
)
LEARNING = Tool(
    name="remember-learning",
    title="Remember a learning",
    about="Store something you just found out; private, expires after 24 h unless commit-insight keeps it.",
    params={"content": content("What you learned."), "metadata": METADATA},
    required=("content",),
    result=Remembered,
    run=_into(Scope.PRIVATE, Category.RECENT),
)
CORE = Tool(
    name="core-memory",
    title="Remember for ever",
    about="Store what defines you or your user in every project (identity, lasting preferences). Personal, never "
    "expires, protected from deletion; at most 100, so use it sparingly.",
    params={"content": content("The lasting fact."), "metadata": METADATA},
    required=("content",),
    result=Remembered,
    run=_into(Scope.PERSONAL, Category.CORE),
)
REMEMBER_BULK = Tool(
    name="remember-bulk",
    title="Remember many",
    about="Store many memories in one call, much faster than one by one.",
    params={
        "memories": Shape(
            type="array",
            about="At most 1 000 memories.",
            items=Shape(
                type="object",
                fields={
                    "content": content("What to remember."),
                    "scope": Shape(type="string", enum=SCOPE.enum, about="As in remember."),
                    "category": Shape(type="string", enum=CATEGORY.enum, default="recent", about="As in remember."),
                    "metadata": METADATA,
                    "ttlSeconds": TTL,
                },
                required=("content",),
            ),
        ),
        "validate": flag("Check all first and store nothing when one is invalid.", default=True),
        "stopOnError": flag("Stop at the first that cannot be stored."),
        "atomic": flag("All or nothing; all must go to the same bucket (project, user or public)."),
    },
    required=("memories",),
    missing={"memories": []},
    result=BulkRemembered,
    run=_remember_bulk,
    deadline_s=120.0,
)
