"""The engine: what one caller may do with memories. Every door (tools, command line, HTTP) calls this and nothing below.

Arguments come as they came to the door, of any type, and are checked here by `core.limits` and `core.recall`, so all
doors refuse the same things in the same words. Results are `loomem.results`.
Deliberately absent: who the caller is (given once, never an argument), how a broker is reached, texts for a model.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from datetime import tzinfo

import msgspec

from identity.agent import Caller
from identity.errors import InvalidInput, Unavailable
from identity.ports import Buckets, Clock, Feed, Ids, Progress
from identity.visibility import Scope
from loomem.core import limits as check
from loomem.core import plan
from loomem.core.audit.lines import Record
from loomem.core.audit.notes import Action
from loomem.core.facts import FactSettings
from loomem.core.legacy import Source
from loomem.core.limits import Limits
from loomem.core.position import Position, parse_position
from loomem.core.recall import RawQuery, clean_page, clean_query
from loomem.core.scan import ScanPolicy
from loomem.core.search.question import RawQuestion, clean_question
from loomem.facts import FactEngine
from loomem.judging import Judging
from loomem.results import (
    BulkForgotten,
    BulkRemembered,
    Cleaned,
    Committed,
    Exported,
    Fetched,
    Forgotten,
    Found,
    Health,
    Imported,
    ItemError,
    Migrated,
    Recalled,
    Remembered,
    Shared,
    Updated,
)
from loomem.search import Search
from loomem.store import bulk, intake, lifecycle, read, transfer
from loomem.store.files import Files
from loomem.store.migrate import migrate
from loomem.store.pages import Pages
from loomem.store.write import Door, doing
from loomem.views.jobs import Jobs
from loomem.views.projection import Projection


class Engine(FactEngine):
    """The memory of one caller."""

    def __init__(
        self,
        *,
        caller: Caller,
        buckets: Buckets,
        projection: Projection,
        limits: Limits,
        clock: Clock,
        ids: Ids,
        scan: ScanPolicy,
        zone: tzinfo,
        files: Files | None = None,
        facts: FactSettings | None = None,
        search: Search | None = None,
        jobs: Jobs | None = None,
        judging: Judging | None = None,
        llm: Callable[[], Awaitable[str]] | None = None,
        record: Record | None = None,
    ) -> None:
        """Bind an engine to a caller. Naive dates in arguments are read in `zone`; exports and imports need `files`.

        What leaves by an export is told to `record` first; `jobs` tells how extractions are.
        """
        self.caller = caller
        self.limits = limits
        self._projection = projection
        self._zone = zone
        self._files = files
        self._pages = Pages()
        door = Door(caller, buckets, projection, limits, clock, ids, scan, record)
        super().__init__(door, facts or FactSettings(), search, zone, jobs, judging, llm)

    # --- remembering ---

    async def remember(
        self,
        *,
        content: object,
        scope: object = None,
        category: object = None,
        metadata: object = None,
        ttl_seconds: object = None,
    ) -> Remembered:
        """Store a new memory.

        Raises: InvalidInput, InvalidCategory, LimitExceeded, Unavailable.
        """
        memory, notices = intake.new_memory(
            self._door, content=content, scope=scope, category=category, metadata=metadata, ttl_seconds=ttl_seconds
        )
        written = await self._door.create(memory)
        return Remembered(
            memory_id=memory.id,
            expires_at=memory.expires_at,
            scope=str(memory.scope),
            category=str(memory.category),
            revision=written.revision,
            position=written.position,
            warnings=notices or None,
        )

    async def remember_bulk(
        self,
        *,
        memories: object,
        validate: object = None,
        stop_on_error: object = None,
        atomic: object = None,
        progress: Progress | None = None,
    ) -> BulkRemembered:
        """Store many memories; with `atomic` all or none.

        Raises: InvalidInput (with `validate`, the default, naming every bad item by its index), LimitExceeded, Unavailable.
        """
        validate_first = check.clean_flag("validate", validate, default=True)
        stop = check.clean_flag("stopOnError", stop_on_error, default=False)
        at_once = check.clean_flag("atomic", atomic, default=False)
        items = await intake.new_items(self._door, memories, refuse_bad=validate_first or at_once)
        if at_once:
            result = await bulk.remember_atomically(self._door, items)
            if progress is not None:
                await progress(len(items), len(items), f"{len(items)} of {len(items)}")
            return result
        return await bulk.remember_all(self._door, items, stop_on_error=stop, progress=progress)

    # --- changing ---

    async def update(
        self,
        *,
        memory_id: object,
        expected_revision: object,
        content: object = None,
        metadata: object = None,
        category: object = None,
        ttl_seconds: object = None,
    ) -> Updated:
        """Change a memory of the caller's own that is still at `expected_revision`.

        Raises: InvalidInput, InvalidCategory, NotFound, AccessDenied, CoreProtected, Conflict, LimitExceeded, Unavailable.
        """
        ident = check.clean_id(memory_id, self.limits)
        expected = check.clean_integer("expectedRevision", expected_revision, low=1, high=check.SAFE_INTEGER)
        text = None if content is None else check.clean_content(content, self.limits)
        text, labels, notices = self._door.screen(text, check.clean_metadata(metadata, self.limits))
        edit = plan.Edit(
            content=text,
            metadata=labels,
            category=None if category is None else check.clean_category(category),
            ttl_s=check.clean_ttl(ttl_seconds, self.limits),
        )
        if edit.is_empty():
            raise InvalidInput("Nothing to change: give content, metadata, category or ttlSeconds", field="content")
        return await lifecycle.edit(self._door, ident, edit, expected, notices)

    async def commit(self, *, memory_id: object, new_content: object = None, target_scope: object = None) -> Committed:
        """Make one of the caller's recent memories or tasks last.

        Raises: InvalidInput, NotFound, CoreProtected, LimitExceeded, Conflict, Unavailable.
        """
        ident = check.clean_id(memory_id, self.limits)
        target = None if target_scope is None else check.clean_scope(target_scope, field="targetScope")
        if target in (Scope.TEAM, Scope.PUBLIC):
            raise InvalidInput(
                f"targetScope must be private or personal, not {target}; share the memory to give it to others",
                field="targetScope",
                allowed=["private", "personal"],
            )
        text = None if new_content is None else check.clean_content(new_content, self.limits, field="newContent")
        text, _, notices = self._door.screen(text, None)
        return await lifecycle.commit(self._door, ident, text, target, notices)

    async def share(
        self, *, memory_id: object, category: object = None, keep_original: object = None, force: object = None
    ) -> Shared:
        """Make a team memory of one of the caller's lasting ones; the original goes unless it is kept.

        Raises: InvalidInput, InvalidCategory, NotFound, CoreProtected, LimitExceeded, Conflict, Unavailable.
        """
        ident = check.clean_id(memory_id, self.limits)
        kind = plan.share_category(category)
        keep = check.clean_flag("keepOriginal", keep_original, default=False)
        forced = check.clean_flag("force", force, default=False)
        return await lifecycle.share(self._door, ident, kind, keep_original=keep, force=forced)

    async def forget(self, *, memory_id: object, force: object = None) -> Forgotten:
        """Erase a memory of the caller's own.

        Raises: InvalidInput, NotFound, AccessDenied, CoreProtected, Conflict, Unavailable.
        """
        ident = check.clean_id(memory_id, self.limits)
        forced = check.clean_flag("force", force, default=False)
        return await lifecycle.forget(self._door, ident, force=forced)

    async def forget_bulk(
        self,
        *,
        memory_ids: object,
        stop_on_error: object = None,
        force: object = None,
        progress: Progress | None = None,
    ) -> BulkForgotten:
        """Erase many memories of the caller's own; each that cannot be is told with its reason.

        Raises: InvalidInput, Unavailable.
        """
        stop = check.clean_flag("stopOnError", stop_on_error, default=False)
        forced = check.clean_flag("force", force, default=False)
        idents: list[str | ItemError] = []
        for raw in intake.array("memoryIds", memory_ids, self.limits):
            try:
                idents.append(check.clean_id(raw, self.limits))
            except InvalidInput as error:
                shown = check.shown_id(raw, self.limits)
                idents.append(ItemError(memory_id=shown, error=error.message))
        return await bulk.forget_all(self._door, idents, stop_on_error=stop, force=forced, progress=progress)

    async def cleanup(self, *, expire_only: object = None) -> Cleaned:
        """Erase what has expired of the caller's own, and the oldest recent memories and tasks beyond their limits.

        Raises: InvalidInput, Unavailable.
        """
        return await bulk.clean(self._door, expire_only=check.clean_flag("expireOnly", expire_only, default=False))

    # --- files ---

    async def export(
        self,
        *,
        output_path: object = None,
        scope: object = None,
        category: object = None,
        since: object = None,
        include_expired: object = None,
        progress: Progress | None = None,
    ) -> Exported:
        """Write what the caller sees into a file; what its parent agent alone may change stays out.

        Raises: InvalidInput, InvalidCategory, Unavailable.
        """
        selection = transfer.clean_selection(scope, category, since, include_expired, zone=self._zone)
        files = self._allowed()
        await self._all_of_now()
        return await transfer.export(self._door, files, output_path, selection, progress)

    async def import_(
        self,
        *,
        input_path: object,
        overwrite_existing: object = None,
        skip_invalid: object = None,
        take_ownership: object = None,
        progress: Progress | None = None,
    ) -> Imported:
        """Store the memories of an export file that are the caller's, or that it takes over.

        Raises: InvalidInput (the file; with `skipInvalid` false also the first item, as whatever error it is), Unavailable.
        """
        options = transfer.Options(
            overwrite=check.clean_flag("overwriteExisting", overwrite_existing, default=False),
            skip_invalid=check.clean_flag("skipInvalid", skip_invalid, default=True),
            take_ownership=check.clean_flag("takeOwnership", take_ownership, default=False),
        )
        files = self._allowed()
        data = await files.read(input_path, field="inputPath", limit_bytes=self.limits.file_bytes)
        await self._all_of_now()
        with doing(Action.IMPORTED):
            return await transfer.Import(self._door, options, progress).run(data)

    async def migrate(
        self,
        *,
        feed: Feed,
        projects: Sequence[str] = (),
        agents: Sequence[str] = (),
        operator: bool = False,
        dry_run: bool = False,
        progress: Progress | None = None,
    ) -> Migrated:
        """Copy the memories of an older store, which `feed` reads, into this one.

        `projects` and `agents` are the ids that the caller had there, beside its own. As `operator`, who may write under
        every prefix, the memories of others in team and public stay theirs.

        Raises: Unavailable, AccessDenied.
        """
        source = Source(
            projects=tuple(dict.fromkeys((str(self.caller.project_id), *projects))),
            agents=tuple(dict.fromkeys((str(self.caller.agent_id), *agents))),
            operator=operator,
        )
        with doing(Action.MIGRATED):
            return await migrate(self._door, feed, source, dry_run=dry_run, progress=progress)

    # --- reading ---

    async def get(self, *, memory_id: object, at_least: object = None) -> Fetched:
        """Return one visible memory by its id.

        Raises: InvalidInput, NotFound (unknown, not visible, or expired), Unavailable.
        """
        ident = check.clean_id(memory_id, self.limits)
        found = await read.fetch(self._door, ident, _position(at_least))
        return msgspec.structs.replace(found, extraction=await self._extraction(ident))

    async def recall(
        self,
        *,
        scopes: object = None,
        categories: object = None,
        limit: object = None,
        cursor: object = None,
        since: object = None,
        created_after: object = None,
        created_before: object = None,
        updated_after: object = None,
        updated_before: object = None,
        tags: object = None,
        tags_any: object = None,
        min_priority: object = None,
        max_priority: object = None,
        search: object = None,
        query: object = None,
        related_to: object = None,
        depth: object = None,
        at_least: object = None,
        include_expired: object = None,
        include_superseded: object = None,
        include_extracted: object = None,
    ) -> Recalled:
        """Return the visible memories that pass every filter, best first, a page at a time; with `query` those it finds.

        What was extracted, merged, or is a conversation as it was taken in, comes only with `include_extracted`.

        Raises: InvalidInput, InvalidCategory, Unavailable.
        """
        raw = RawQuery(
            scopes=scopes,
            categories=categories,
            since=since,
            created_after=created_after,
            created_before=created_before,
            updated_after=updated_after,
            updated_before=updated_before,
            tags=tags,
            tags_any=tags_any,
            min_priority=min_priority,
            max_priority=max_priority,
            search=search,
            query=query,
            related_to=related_to,
            depth=depth,
            include_expired=include_expired,
            include_superseded=include_superseded,
            include_extracted=include_extracted,
        )
        asked = clean_query(raw, self.limits, self._zone)
        page = clean_page(limit, cursor, asked, self.limits)
        if asked.query:
            return await read.recall_ranked(
                self._door, self._searching(), self._pages, asked, page, _position(at_least)
            )
        return await read.recall(self._door, asked, page, _position(at_least))

    async def search(
        self,
        *,
        query: object,
        top_k: object = None,
        time_filter: object = None,
        valid_at: object = None,
        include_superseded: object = None,
        max_context_tokens: object = None,
        stream: object = None,
        scopes: object = None,
        evidence_fields: object = None,
        explain: object = None,
        at_least: object = None,
    ) -> Found:
        """Return the visible memories that a text finds by its words and its meaning, the best first.

        Raises: InvalidInput, AccessDenied (no such stream), Unavailable.
        """
        search = self._searching()
        raw = RawQuestion(
            query=query,
            top_k=top_k,
            time_filter=time_filter,
            valid_at=valid_at,
            include_superseded=include_superseded,
            max_context_tokens=max_context_tokens,
            scopes=scopes,
            evidence_fields=evidence_fields,
            explain=explain,
        )
        where = await self._stream(stream)
        question = clean_question(raw, where, search.settings, now=self._door.now, zone=self._zone)
        position = None if at_least is None else parse_position("at_least", at_least)
        await read.until(self._projection, position, question.scopes, field="at_least")
        return await search.answer(question)

    def counts(self) -> Health:
        """Return what the views hold and how they are, without waiting for anything."""
        return read.health(self._door)

    # --- within ---

    async def _all_of_now(self) -> None:
        """Wait until the views hold what the buckets hold: a file is for keeps, and its ids are compared with everything."""
        await self._projection.settle()
        await self._projection.sync()

    def _searching(self) -> Search:
        if self._search is None:
            raise Unavailable("This service was opened without an index to search in")
        return self._search

    def _allowed(self) -> Files:
        if self._files is None:
            raise InvalidInput("This service may use no directory for exports and imports", field="path")
        return self._files


def _position(at_least: object) -> Position | None:
    return None if at_least is None else parse_position("atLeast", at_least)
