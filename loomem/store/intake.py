"""From raw arguments to new memories that are not stored yet: checked, given an id, looked through for secrets."""

from __future__ import annotations

import asyncio

from identity.errors import InvalidInput, LoomError
from loomem.core import limits as check
from loomem.core import plan
from loomem.core.limits import Limits
from loomem.core.record import Memory
from loomem.results import Notice
from loomem.store.bulk import Item
from loomem.store.write import Door

_PAUSE_EVERY = 16
_SHOWN = 5
"""Bad items whose reasons stand in the text of an error; its details have all."""


def new_memory(
    door: Door, *, content: object, scope: object, category: object, metadata: object, ttl_seconds: object
) -> tuple[Memory, list[Notice]]:
    """Return a new memory as the scan policy lets it in, and what was found in it.

    Raises: InvalidInput, InvalidCategory.
    """
    limits = door.limits
    text = check.clean_content(content, limits)
    place, kind = check.clean_place(scope, category)
    draft = plan.Draft(
        scope=place,
        category=kind,
        content=text,
        metadata=check.clean_metadata(metadata, limits),
        ttl_s=check.clean_ttl(ttl_seconds, limits),
    )
    return door.screen_memory(plan.created(draft, door.caller, door.ids.memory_id(), door.now_ms, limits))


async def new_items(door: Door, raw: object, *, refuse_bad: bool) -> list[Item]:
    """Return the memories of a bulk call, and in the place of each bad one what is wrong with it.

    Raises: InvalidInput (no array, too many, or with `refuse_bad` every bad item by its index).
    """
    items: list[Item] = []
    for index, each in enumerate(array("memories", raw, door.limits)):
        if index % _PAUSE_EVERY == 0:
            await asyncio.sleep(0)  # a thousand long texts must not hold up the other calls of this process
        items.append(_item(door, each))
    if refuse_bad:
        _refuse_bad(items)
    return items


def array(field: str, value: object, limits: Limits) -> list[object]:
    """Return the items of a bulk call; none when it is absent. Raises: InvalidInput."""
    if value is None:
        return []
    if not check.is_array(value):
        raise InvalidInput(f"{field} must be an array, not {check.kind_of(value)}", field=field)
    if len(value) > limits.bulk:
        raise InvalidInput(
            f"{field} holds {len(value)} items, more than the allowed {limits.bulk}; send several calls", field=field
        )
    return list(value)


def _item(door: Door, raw: object) -> Item:
    try:
        if not check.is_object(raw):
            raise InvalidInput(f"a memory must be an object with content, not {check.kind_of(raw)}")
        memory, notices = new_memory(
            door,
            content=raw.get("content"),
            scope=raw.get("scope"),
            category=raw.get("category"),
            metadata=raw.get("metadata"),
            ttl_seconds=raw.get("ttlSeconds"),
        )
    except InvalidInput as error:
        return Item(error)
    return Item(memory, notices)


def _refuse_bad(items: list[Item]) -> None:
    errors = [
        {"index": index, "error": item.memory.message, "code": item.memory.code}
        for index, item in enumerate(items)
        if isinstance(item.memory, LoomError)
    ]
    if errors:
        shown = "; ".join(f"memories[{error['index']}]: {error['error']}" for error in errors[:_SHOWN])
        more = f"; and {len(errors) - _SHOWN} more" if len(errors) > _SHOWN else ""
        raise InvalidInput(
            f"{len(errors)} of {len(items)} memories are not valid, so none was stored: {shown}{more}",
            field="memories",
            validationErrors=errors,
            totalMemories=len(items),
        )
