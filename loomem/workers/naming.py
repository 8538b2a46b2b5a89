"""How a language model reads what memories name, beside the rules, which have read them already.

What the model says is added to what the rules found. A text that the model refuses, or of which it says nothing that can be read,
is given up with the reason; where it cannot be asked now (no budget, no answer), the memory waits, and the rules' reading stands.
"""

from __future__ import annotations

from loomem.core.graph.contribution import Contribution, Named, Tie, contribution_of
from loomem.core.graph.dictionary import EMPTY, Dictionary
from loomem.core.graph.relating import read_by, said_in
from loomem.core.llm import Fault, ModelFailed, Models, Use
from loomem.core.record import Memory
from loomem.core.vector import content_hash, text_of
from loomem.llm.entities import recognise
from loomem.workers.duty import Hopeless
from loomem.workers.graph import DEAR


class ModelNames:
    """Asks a model, one memory at a time."""

    is_dear = True

    def __init__(self, models: Models, dictionary: Dictionary = EMPTY) -> None:
        self._models = models
        self._dictionary = dictionary
        self.name = f"{DEAR}{models.name(Use.ENTITIES)}:{read_by(dictionary)}"

    async def read(self, memory: Memory) -> Contribution:
        """Return what a memory contributes by its text. Raises: Hopeless, Unavailable."""
        text = text_of(memory)
        entities, ties = said_in(memory, self._dictionary)
        try:
            [found] = await recognise(self._models, [text])
        except ModelFailed as failed:
            if failed.fault in (Fault.REFUSED, Fault.MALFORMED):
                raise Hopeless(f"{failed.kind}: {failed.message}") from failed
            raise
        known = self._dictionary.canonical
        entities += [Named(known(one.name), str(one.kind)) for one in found.entities]
        ties += [Tie(known(one.subject), one.relation, known(one.object)) for one in found.relations]
        return contribution_of(entities, ties, generation=content_hash(text), made=self.name)
