"""Whether a fact contradicts an older one, judged by rules. Pure. English, Polish and German.

    values   verdicts
    words    the words that the rules know
    read     a sentence, taken apart: content, numbers with units, dates, polarity, doubt
    slots    the attributes that have one value at a time, and which value a sentence gives
    regular  sentences that tell when the one thing they are about takes place
    judge    what a new fact means for an older one

The rules would rather say nothing than something wrong: `updates` takes the older fact out of every search, so it is said only
when subject and attribute are the same, the attribute has one value at a time, and nothing else that the older one says is
lost. A question, a doubt, something past and something planned update nothing.

Deliberately absent: which facts are compared (`loomem.judging`), trust (`core.facts`), a model (`loomem.llm.judge`).
"""

from loomem.core.contradict.judge import judge
from loomem.core.contradict.values import NOTHING, Kind, Verdict

__all__ = ["NOTHING", "Kind", "Verdict", "judge"]
