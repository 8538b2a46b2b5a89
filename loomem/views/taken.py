"""The view of what was taken from sources: fragments, facts and further parts, by the source they name. Fed by the view of records.

Deliberately absent: whether a row is shown; another place than the source's, since the same id there is another's.
"""

from __future__ import annotations

from loomem.core.row import Place, Row


class Taken:
    """What a place holds that names a source, visible or deleted."""

    def __init__(self) -> None:
        self._rows: dict[tuple[Place, str], dict[str, Row]] = {}
        self._source: dict[tuple[Place, str], str] = {}

    def put(self, row: Row) -> None:
        """Take what a key holds now."""
        self.drop(row.place, row.id)
        known = row.memory.knowledge
        if known is not None and known.source_id is not None and not row.memory.erased:
            self._rows.setdefault((row.place, known.source_id), {})[row.id] = row
            self._source[row.place, row.id] = known.source_id

    def drop(self, place: Place, ident: str) -> None:
        """Hear that a key holds nothing any more."""
        source = self._source.pop((place, ident), None)
        if source is None:
            return
        rows = self._rows[place, source]
        del rows[ident]
        if not rows:
            del self._rows[place, source]

    def of(self, source: Row) -> list[Row]:
        """Return what was taken from a source and lies in the same place, deleted ones too."""
        return self.named(source.place, source.id)

    def named(self, place: Place, source: str) -> list[Row]:
        """Return the same by the id of the source."""
        return list(self._rows.get((place, source), {}).values())
