"""From a conversation to facts. Pure.

    values     candidates, facts, topics, settings
    accept     which candidates are facts, whoever proposed them
    offline    facts by rules alone, without a model
    signs      the words those rules go by, in some languages
    dated      the day a sentence speaks of

Deliberately absent: any language model (`loomem.llm`), storing (`loomem.store`), the text of anybody rewritten: a fact is
in the language and spelling of whoever said it.
"""

from loomem.core.extract.accept import accept, too_many, typed
from loomem.core.extract.offline import offline, read
from loomem.core.extract.values import Accepted, Candidate, Extracted, ExtractSettings, SoFar, Topic

__all__ = [
    "Accepted",
    "Candidate",
    "ExtractSettings",
    "Extracted",
    "SoFar",
    "Topic",
    "accept",
    "offline",
    "read",
    "too_many",
    "typed",
]
