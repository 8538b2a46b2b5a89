"""Tools that write and read files."""

from __future__ import annotations

from identity.ports import Progress
from loomem.results import Exported, Imported
from pattern.server.tool import Arguments, Backend, Shape, Tool
from pattern.tools.pattern.words import CATEGORIES, SCOPES, flag, moment


async def _export(backend: Backend, given: Arguments, progress: Progress) -> Exported:
    engine = await backend.engine()
    return await engine.export(
        output_path=given.get("outputPath"),
        scope=given.get("scope"),
        category=given.get("category"),
        since=given.get("since"),
        include_expired=given.get("includeExpired", False),
        progress=progress,
    )


async def _import(backend: Backend, given: Arguments, progress: Progress) -> Imported:
    engine = await backend.engine()
    return await engine.import_(
        input_path=given.get("inputPath"),
        overwrite_existing=given.get("overwriteExisting", False),
        skip_invalid=given.get("skipInvalid", True),
        take_ownership=given.get("takeOwnership", False),
        progress=progress,
    )


EXPORT = Tool(
    name="export-memories",
    title="Export to a file",
    about="Write the memories you may read in the four scopes (named streams not) to a JSON file, as a backup or to take them elsewhere.",
    params={
        "outputPath": Shape(type="string", about="Default: memories-backup-<time>.json in the allowed directory."),
        "scope": Shape(type="string", enum=SCOPES, about="Default: all."),
        "category": Shape(type="string", enum=CATEGORIES, about="Default: all."),
        "since": moment("Updated after this."),
        "includeExpired": flag("Also expired ones that are not erased yet."),
    },
    result=Exported,
    run=_export,
    destructive=True,  # an existing file of that name is replaced
    idempotent=True,
    open_world=True,
    deadline_s=300.0,
)
IMPORT = Tool(
    name="import-memories",
    title="Import from a file",
    about="Read memories from a file that export-memories wrote.",
    params={
        "inputPath": Shape(type="string", about="The file, in the allowed directory."),
        "overwriteExisting": flag("Replace memories that exist, and bring back forgotten ones."),
        "skipInvalid": flag("Skip what cannot be imported; otherwise stop there.", default=True),
        "takeOwnership": flag("Import memories of other agents and projects as your own."),
    },
    required=("inputPath",),
    result=Imported,
    run=_import,
    destructive=True,
    idempotent=True,
    open_world=True,
    deadline_s=300.0,
)
