"""The one analyser of text, for documents and queries alike. Pure.

    characters   what a character is (letter, digit, Han, Hangul, ...), cleaning, folding
    pieces       a chunk between two spaces, taken apart: words, identifiers, numbers, addresses, bigrams, emoji
    languages    stop words, letters and stems; which language a text is likely in
    documents    text to the terms an index holds
    queries      whatever a user types to terms, phrases, prefixes and exclusions

Deliberately absent: an index (`loomem.views.text`), scores, a parser that can fail. Accented and simplified forms are
folded to one; Traditional and Simplified Chinese are not, nor are German compounds taken apart.
"""

from loomem.core.analyse.documents import Analyser, Terms
from loomem.core.analyse.languages import Language
from loomem.core.analyse.queries import Term, TextQuery

VERSION = 1
"""Of the terms: whoever keeps terms throws away those of another version."""

__all__ = ["Analyser", "Language", "Term", "Terms", "TextQuery"]
