"""The file of names that the settings name, read. Imported late."""

from __future__ import annotations

import logging
from pathlib import Path

from identity.errors import InvalidInput
from loomem.core.graph.dictionary import EMPTY, Dictionary, dictionary_of
from loomem.core.graph.settings import GraphSettings

log = logging.getLogger(__name__)

BYTES_LIMIT = 4_000_000


def dictionary(settings: GraphSettings) -> Dictionary:
    """Return the dictionary; the empty one, with a word in the log, when the file cannot be used: memory works without."""
    if settings.dictionary is None:
        return EMPTY
    file = Path(settings.dictionary)
    try:
        if file.stat().st_size > BYTES_LIMIT:
            raise InvalidInput(f"{file} is larger than {BYTES_LIMIT} bytes", field=str(file))
        return dictionary_of(file.read_text(encoding="utf-8"), file=file.name)
    except (OSError, UnicodeDecodeError) as error:
        reason = f"{file.name} cannot be read: {type(error).__name__}"
    except InvalidInput as error:
        reason = error.message
    log.warning("event=dictionary_unusable reason=%r", reason)
    return EMPTY
