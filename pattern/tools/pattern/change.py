"""Tools that move, edit and delete memories."""

from __future__ import annotations

from identity.ports import Progress
from loomem.results import BulkForgotten, Cleaned, Committed, Forgotten, Shared, Updated
from pattern.server.tool import Arguments, Backend, Shape, Tool
from pattern.tools.pattern.words import (
    CATEGORIES,
    METADATA,
    SHARED_CATEGORIES,
    TTL,
    content,
    flag,
    many,
    memory_id,
)


async def _commit(backend: Backend, given: Arguments, _progress: Progress) -> Committed:
    engine = await backend.engine()
    return await engine.commit(
        memory_id=given.get("memoryId"), new_content=given.get("newContent"), target_scope=given.get("targetScope")
    )


async def _share(backend: Backend, given: Arguments, _progress: Progress) -> Shared:
    engine = await backend.engine()
    return await engine.share(
        memory_id=given.get("memoryId"),
        category=given.get("category"),
        keep_original=given.get("keepOriginal", False) or given.get("keepPrivate", False),
        force=given.get("force", False),
    )


async def _forget(backend: Backend, given: Arguments, _progress: Progress) -> Forgotten:
    engine = await backend.engine()
    return await engine.forget(memory_id=given.get("memoryId"), force=given.get("force", False))


async def _forget_bulk(backend: Backend, given: Arguments, progress: Progress) -> BulkForgotten:
    engine = await backend.engine()
    return await engine.forget_bulk(
        memory_ids=given["memoryIds"],
        stop_on_error=given.get("stopOnError", False),
        force=given.get("force", False),
        progress=progress,
    )


async def _update(backend: Backend, given: Arguments, _progress: Progress) -> Updated:
    engine = await backend.engine()
    return await engine.update(
        memory_id=given.get("memoryId"),
        expected_revision=given.get("expectedRevision"),
        content=given.get("content"),
        metadata=given.get("metadata"),
        category=given.get("category"),
        ttl_seconds=given.get("ttlSeconds"),
    )


async def _cleanup(backend: Backend, given: Arguments, _progress: Progress) -> Cleaned:
    engine = await backend.engine()
    return await engine.cleanup(expire_only=given.get("expireOnly", False))


COMMIT = Tool(
    name="commit-insight",
    title="Keep an insight",
    about="Keep a recent or task memory for good (it becomes longterm), once it has proved true and useful.",
    params={
        "memoryId": memory_id(),
        "newContent": content("Better wording; left out, the text stays."),
        "targetScope": Shape(
            type="string", enum=("private", "personal"), about="Where it goes; left out, it stays where it is."
        ),
    },
    required=("memoryId",),
    result=Committed,
    run=_commit,
)
SHARE = Tool(
    name="share-learning",
    title="Share with the team",
    about="Give a longterm or core memory of yours to every agent of this project.",
    params={
        "memoryId": memory_id(),
        "category": Shape(
            type="string", enum=SHARED_CATEGORIES, default="learnings", about="What kind of team memory it becomes."
        ),
        "keepOriginal": flag("Keep your own copy too."),
        "force": flag("Needed to move a core memory without keeping it."),
    },
    older={"keepPrivate": Shape(type="boolean")},
    required=("memoryId",),
    seldom=frozenset({"force"}),
    result=Shared,
    run=_share,
    destructive=True,
)
FORGET = Tool(
    name="forget",
    title="Forget",
    about="Delete one memory of yours, for good. Use it for what is wrong, outdated, or should not have been stored.",
    params={"memoryId": memory_id(), "force": flag("Needed to delete a core memory.")},
    required=("memoryId",),
    result=Forgotten,
    run=_forget,
    destructive=True,
    idempotent=True,
)
FORGET_BULK = Tool(
    name="forget-bulk",
    title="Forget many",
    about="Delete many memories of yours, for good.",
    params={
        "memoryIds": many("Ids of the memories."),
        "stopOnError": flag("Stop at the first that cannot be deleted."),
        "force": flag("Delete core memories too."),
    },
    required=("memoryIds",),
    missing={"memoryIds": []},
    result=BulkForgotten,
    run=_forget_bulk,
    destructive=True,
    idempotent=True,
    deadline_s=120.0,
)
UPDATE = Tool(
    name="update-memory",
    title="Update a memory",
    about="Change a memory of yours in place, instead of storing a second one. If somebody changed it since you read it, "
    "nothing happens and you get what it is now.",
    params={
        "memoryId": memory_id(),
        "expectedRevision": Shape(type="integer", minimum=1, about="`revision` that you read."),
        "content": content("New text; left out, it stays."),
        "metadata": METADATA,
        "category": Shape(
            type="string", enum=CATEGORIES, about="New kind, one that its scope holds; left out, it stays."
        ),
        "ttlSeconds": TTL,
    },
    required=("memoryId", "expectedRevision"),
    seldom=frozenset({"category", "ttlSeconds"}),
    result=Updated,
    run=_update,
    destructive=True,
    idempotent=True,
)
CLEANUP = Tool(
    name="cleanup",
    title="Clean up",
    about="Erase your expired memories now, and the oldest recent and task memories beyond their limits.",
    params={"expireOnly": flag("Erase expired ones only.")},
    result=Cleaned,
    run=_cleanup,
    destructive=True,
    idempotent=True,
    deadline_s=120.0,
)
