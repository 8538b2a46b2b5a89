"""Export and import: memories leave for a file and come back, without ever landing in somebody else's space.

An item of a file is checked like any other write, and then asked whose it is: a private or team memory of another agent,
or of another project, is refused, or becomes the caller's own when it says so. What exists already, or was forgotten,
stays as it is unless the caller says otherwise. Items of one bucket are written in atomic batches; where a batch is
refused they go one by one, so that an error names its item.
Deliberately absent: the format (`core.envelope`), where files may lie (`store.files`), how a write is made (`store.write`).
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from datetime import tzinfo

import msgspec

from identity.agent import Caller
from identity.errors import AccessDenied, Conflict, InvalidInput, LoomError, Unavailable
from identity.keys import Kind
from identity.ports import Change, Progress, Put, Reason
from identity.visibility import Scope
from loomem.core import envelope as form
from loomem.core import limits as check
from loomem.core.audit.notes import Action
from loomem.core.plan import is_expired
from loomem.core.position import format_position
from loomem.core.recall import Shelf
from loomem.core.record import Category, Memory, encode
from loomem.core.row import Row
from loomem.core.times import date_argument, iso
from loomem.results import Exported, Imported, Notice
from loomem.store.files import Files
from loomem.store.move import move
from loomem.store.write import Door, Written, held_of

CHUNK = 200
"""Items of one atomic batch, and of one step of progress."""
_PAUSE_EVERY = 16
_BATCH_BYTES = 2 * 1024 * 1024
_NOTICES_LIMIT = 1_000
_ERRORS_LIMIT = 10_000

# --- export -----------------------------------------------------------------------------------------------------------


class Selection(msgspec.Struct, frozen=True, kw_only=True):
    """What of all that the caller sees goes into a file."""

    scopes: tuple[Scope, ...] = tuple(Scope)
    category: Category | None = None
    since: int | None = None
    """Updated strictly after, in milliseconds since 1970."""
    include_expired: bool = False


def clean_selection(
    scope: object, category: object, since: object, include_expired: object, *, zone: tzinfo
) -> Selection:
    """Return what raw arguments ask for; naive dates are read in `zone`.

    Raises: InvalidInput, InvalidCategory.
    """
    return Selection(
        scopes=tuple(Scope) if scope is None else (check.clean_scope(scope),),
        category=None if category is None else check.clean_category(category),
        since=None if since is None else date_argument("since", since, zone),
        include_expired=check.clean_flag("includeExpired", include_expired, default=False),
    )


def selected(shelves: Iterable[Shelf], selection: Selection, now_ms: int) -> list[Row]:
    """Return what goes into a file: private, personal, team, public; inside, in the order of the last changes.

    What a sub-agent may only read of its parent's private space stays out: it is not its to carry away.
    """
    order = {scope: number for number, scope in enumerate(Scope)}
    rows = [
        row
        for shelf in shelves
        if shelf.scope in selection.scopes and selection.category in (None, shelf.category)
        for row in shelf.rows
        if (row.place.mine or shelf.scope in (Scope.TEAM, Scope.PUBLIC))
        and (selection.since is None or row.updated > selection.since)
        and (selection.include_expired or not row.expired(now_ms))
    ]
    rows.sort(key=lambda row: (order[row.place.scope], row.revision))
    return rows


async def export(
    door: Door, files: Files, output_path: object, selection: Selection, progress: Progress | None
) -> Exported:
    """Write what the caller sees into a file, and tell how much and where.

    It is put on record first; credentials that may not do that are told so in the result.

    Raises: InvalidInput (the path), Unavailable.
    """
    now = door.now
    records = door.projection.records
    rows = selected(records.shelves(), selection, door.now_ms)
    memories = [row.memory for row in rows if not records.chains.would_come_back(row)]
    path = output_path
    if path is None:
        path = f"memories-backup-{iso(now).replace(':', '-').replace('.', '-')}.json"
    pieces = form.render(
        memories,
        exported_at=iso(now),
        project_id=door.caller.project_id,
        agent_id=door.caller.agent_id,
        chunk=CHUNK,
    )
    async with files.writing(path, field="outputPath") as file:
        notices = await _recorded(door, len(memories), file.path.name)
        for data, done in pieces:
            await file.write(data)
            await _tell(progress, done, len(memories), "exported")
    if corrupt := len(records.corrupt(selection.scopes)):
        notices.append(Notice(type="corrupt", description=f"{corrupt} unreadable records are not in the file"))
    return Exported(exported=len(memories), filepath=str(file.path), bytes=file.size, warnings=notices or None)


# --- import -----------------------------------------------------------------------------------------------------------


class Options(msgspec.Struct, frozen=True, kw_only=True):
    """How an import treats what is not simply new and the caller's own."""

    overwrite: bool = False
    skip_invalid: bool = True
    take_ownership: bool = False


class _Write(msgspec.Struct, frozen=True, kw_only=True):
    """What is to be done for one item."""

    index: int
    memory: Memory
    replaces: tuple[Row, ...] = ()
    """The caller's own rows of the same id, the visible one first."""


def owned(memory: Memory, caller: Caller, *, exporter: str, take: bool) -> Memory:
    """Return a memory as the caller may write it: as it is when it is the caller's, else re-owned when asked for.

    The personal space is the user's, whose agents are many: a file that this agent exported says who wrote what in it.

    Raises: AccessDenied.
    """
    mine = memory.agent_id == caller.agent_id
    here = memory.project_id == caller.project_id
    match memory.scope:
        case Scope.PERSONAL:
            fits = mine or exporter == caller.agent_id
        case Scope.PUBLIC:
            fits = mine
        case Scope.PRIVATE | Scope.TEAM:
            fits = mine and here
    if fits:
        return memory
    if take:
        return msgspec.structs.replace(memory, agent_id=caller.agent_id, project_id=caller.project_id)
    whose = "another project" if mine else "another agent"
    raise AccessDenied(
        f"{memory.id}: this {memory.scope} memory belongs to {whose}; pass takeOwnership: true to import it as your own",
        memoryId=memory.id,
    )


class Import:
    """One import. `run` does it; what it counts is right at any moment, also when it stops in the middle."""

    def __init__(self, door: Door, options: Options, progress: Progress | None) -> None:
        self._door = door
        self._options = options
        self._progress = progress
        self._records = door.projection.records
        self._seen: set[str] = set()
        self._imported = 0
        self._skipped = 0
        self._errors: list[str] = []
        self._notices: list[Notice] = []
        self._position: dict[str, int] = {}

    async def run(self, data: bytes) -> Imported:
        """Import a file.

        Raises: InvalidInput (the file as a whole; with `skip_invalid` off also the first item that cannot be imported,
        as whatever error it is), Unavailable. Details then say how much was imported before.
        """
        file = await asyncio.to_thread(form.parse, data)
        if file.version != form.FORMAT_VERSION:
            shown = file.version[:20]
            self._notices.append(
                Notice(type="version", description=f"The file says version {shown!r}; read as {form.FORMAT_VERSION}")
            )
        scopes: set[Scope] = set()
        for start in range(0, len(file.items), CHUNK):
            chunk = file.items[start : start + CHUNK]
            writes: list[_Write] = []
            for index, item in enumerate(chunk, start):
                if index % _PAUSE_EVERY == 0:
                    await asyncio.sleep(0)  # a long file must not hold up the other calls of this process
                try:
                    write = self._planned(index, form.read_item(item), file.agent_id)
                except LoomError as error:
                    if not self._options.skip_invalid:
                        await self._write(writes)
                    self._refuse(index, error)
                    continue
                scopes.add(write.memory.scope)
                writes.append(write)
            await self._write(writes)
            await _tell(self._progress, start + len(chunk), len(file.items), "read")
        if Scope.PRIVATE in scopes and Scope.PERSONAL not in scopes:
            self._notices.append(
                Notice(
                    type="no-personal",
                    description="The file holds no personal memories. Pattern 0.4 leaves them, core memories included, "
                    "out of its exports; `pattern-memory migrate` reads them from its live store",
                )
            )
        return Imported(
            imported=self._imported,
            skipped=self._skipped,
            errors=self._errors,
            position=format_position(self._position) if self._position else None,
            warnings=self._notices or None,
        )

    # --- deciding ---

    def _planned(self, index: int, value: object, exporter: str) -> _Write:
        """Return what is to be done for an item. Raises: LoomError (it cannot be imported, and why)."""
        door = self._door
        memory = form.clean_item(value, door.limits)
        if memory.id in self._seen:
            raise InvalidInput(f"{memory.id}: appears twice in the file; the first one counts", memoryId=memory.id)
        self._seen.add(memory.id)
        visible = self._records.find(memory.id)
        own = tuple(self._records.copies(memory.id) or self._hidden(memory.id))
        if not self._options.overwrite:
            self._check_absent(memory.id, visible)
        if visible and visible[0].memory == memory:
            return _Write(index=index, memory=memory, replaces=tuple(visible))
        if visible and not own:
            raise AccessDenied(
                f"{memory.id}: already exists as the memory of another agent, which overwriteExisting cannot change",
                memoryId=memory.id,
            )
        memory = owned(memory, door.caller, exporter=exporter, take=self._options.take_ownership)
        if is_expired(memory, door.now_ms):
            raise InvalidInput(f"{memory.id}: expired at {memory.expires_at}; not imported", memoryId=memory.id)
        return _Write(index=index, memory=self._screened(index, memory), replaces=own)

    def _check_absent(self, ident: str, visible: list[Row]) -> None:
        if visible:
            where = f"{visible[0].place.scope}/{visible[0].memory.category}"
            raise InvalidInput(
                f"{ident}: already exists ({where}); pass overwriteExisting: true to replace it", memoryId=ident
            )
        if not self._records.forgotten(ident) and self._hidden(ident):
            raise InvalidInput(
                f"{ident}: was deleted, and an import does not bring it back; restore it, or pass overwriteExisting: true",
                memoryId=ident,
            )
        if self._records.forgotten(ident):
            raise InvalidInput(
                f"{ident}: was forgotten, and an import does not bring it back; pass overwriteExisting: true if it shall",
                memoryId=ident,
            )

    def _hidden(self, ident: str) -> list[Row]:
        """Return what still lies under the caller's keys of an id that is not visible any more."""
        return [row for row in self._records.deleted(ident) if row.place.mine] + self._records.stubs(ident)

    def _screened(self, index: int, memory: Memory) -> Memory:
        """Return a memory as the scan policy lets it in; unknown fields are looked at like metadata."""
        door = self._door
        try:
            content, metadata, found = door.screen(memory.content, memory.metadata, fact=memory.knowledge is not None)
            _, extra, more = door.screen(None, memory.extra)
            extra = check.clean_object("unknown fields", extra or {}, door.limits.metadata_bytes) or None
        except InvalidInput as error:
            raise InvalidInput(f"{memory.id}: {error.message}", **(error.details | {"memoryId": memory.id})) from None
        for notice in (*found, *(_unprefixed(n) for n in more)):
            if len(self._notices) < _NOTICES_LIMIT:
                self._notices.append(msgspec.structs.replace(notice, index=index))
        return msgspec.structs.replace(memory, content=content or memory.content, metadata=metadata, extra=extra)

    # --- writing ---

    async def _write(self, writes: list[_Write]) -> None:
        """Write what was planned, bucket by bucket, a batch at a time."""
        batches: dict[str, list[_Write]] = {}
        for write in writes:
            if write.replaces and write.replaces[0].memory == write.memory:
                self._imported += 1  # there already, exactly so
            elif self._is_plain(write):
                batches.setdefault(self._door.space_of(write.memory).bucket, []).append(write)
            else:
                await self._write_one(write)
        for bucket, batch in batches.items():
            for part in _parts(batch):
                await self._write_batch(bucket, part)

    def _is_plain(self, write: _Write) -> bool:
        """Say whether a batch can hold it: one bucket, and no more core memories of a space than before."""
        bucket = self._door.space_of(write.memory).bucket
        there = all(row.place.bucket == bucket and row.memory.deleted_at is None for row in write.replaces)
        return there and not self._is_promotion(write)

    def _is_promotion(self, write: _Write) -> bool:
        """Say whether a memory becomes core under the key it has, which takes up room although nothing is created."""
        old = self._under_same_key(write)
        return old is not None and write.memory.category is Category.CORE is not old.memory.category

    async def _write_batch(self, bucket: str, batch: list[_Write]) -> None:
        new: list[Memory] = []
        changes: list[Change] = []
        for write in batch:
            put, removals = self._replacement(write)
            changes += removals
            if put is None:
                new.append(write.memory)
            else:
                changes.append(put)
        try:
            written = await self._door.create_all(bucket, new, also=changes)
        except LoomError:
            # Which item it was, or that this server has no batches, shows when they go one by one.
            for write in batch:
                await self._write_one(write)
            return
        self._imported += len(batch)
        self._note(bucket, written)

    async def _write_one(self, write: _Write) -> None:
        try:
            await self._sent(write)
        except Unavailable as error:
            error.details |= self._so_far(write.index)
            raise
        except Conflict as conflict:
            # A batch of which no answer was heard may have been applied all the same.
            if conflict.value != encode(write.memory):
                lost = f"{write.memory.id}: was changed by somebody else meanwhile; import it again"
                self._refuse(write.index, InvalidInput(lost, memoryId=write.memory.id))
                return
        except LoomError as error:
            self._refuse(write.index, form.named(error, write.memory.id))
            return
        self._imported += 1

    async def _sent(self, write: _Write) -> None:
        """Write one item. Raises: LoomError."""
        door, memory = self._door, write.memory
        bucket = door.space_of(memory).bucket
        if write.replaces and write.replaces[0].place.bucket != bucket:
            written, notice = await move(door, held_of(write.replaces[0]), memory)
            self._notices += [notice] if notice else []
            self._note(bucket, [written])
            return
        put, removals = self._replacement(write)
        if put is None:
            self._note(bucket, await door.create_all(bucket, [memory], also=removals))
        elif (same := self._under_same_key(write)) is not None and not removals:
            self._note(bucket, [await door.replace(held_of(same), memory)])
        else:
            self._note(bucket, await door.send_all(bucket, [put, *removals]))

    def _replacement(self, write: _Write) -> tuple[Put | None, list[Change]]:
        """Return the change of the key that holds the memory already (None: it has to be created), and what else goes."""
        same = self._under_same_key(write)
        removals: list[Change] = [
            self._door.remove(held_of(row), Reason.MOVE) for row in write.replaces if row is not same
        ]
        if same is None:
            return None, removals
        return self._door.put(write.memory, expected=same.revision)[1], removals

    def _under_same_key(self, write: _Write) -> Row | None:
        space = self._door.space_of(write.memory)
        key = space.key(Kind.MEMORY, write.memory.id)
        return next((r for r in write.replaces if r.key == key and r.place.bucket == space.bucket), None)

    # --- telling ---

    def _note(self, bucket: str, written: Iterable[Written]) -> None:
        for one in written:
            self._position[bucket] = max(one.revision, self._position.get(bucket, 0))

    def _so_far(self, index: int) -> dict[str, int]:
        return {"index": index, "imported": self._imported, "skipped": self._skipped}

    def _refuse(self, index: int, error: LoomError) -> None:
        """Count an item as skipped, or stop at it. Raises: the error, where `skip_invalid` is off."""
        if not self._options.skip_invalid:
            error.details |= self._so_far(index)
            raise error
        self._skipped += 1
        if len(self._errors) < _ERRORS_LIMIT:
            self._errors.append(error.message)


async def _recorded(door: Door, count: int, file: str) -> list[Notice]:
    """Put an export on record, and return what there is to say of that. Raises: Unavailable."""
    try:
        await door.tell(Action.EXPORTED, memories=count, file=file)
    except AccessDenied as error:
        return [Notice(type="not-recorded", description=f"This export is not on record: {error.message}")]
    return []


def _parts(batch: list[_Write]) -> Iterable[list[_Write]]:
    """Cut what goes into one bucket into batches that the broker takes at once."""
    part: list[_Write] = []
    size = 0
    for write in batch:
        length = len(encode(write.memory))
        if part and size + length > _BATCH_BYTES:
            yield part
            part, size = [], 0
        part.append(write)
        size += length
    if part:
        yield part


def _unprefixed(notice: Notice) -> Notice:
    return msgspec.structs.replace(notice, field=(notice.field or "").removeprefix("metadata."))


async def _tell(progress: Progress | None, done: int, total: int, what: str) -> None:
    if progress is not None:
        await progress(float(done), float(total), f"{done} of {total} memories {what}")
