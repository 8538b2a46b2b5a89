"""What else to look for when facts are sought that a new one may contradict: other words for its attributes. Pure."""

from __future__ import annotations

from loomem.core.contradict import words
from loomem.core.contradict.read import Token, read, sentences, tongue
from loomem.core.contradict.slots import slots

SENTENCES = 5
_ATTRIBUTES = {
    "where": "live lives living based moved mieszka mieszkam przeprowadził wohnt lebt umgezogen",
    "employer": "work works working employed joined company pracuje pracuję firmie arbeitet arbeite",
    "role": "work works job role title pracuje jako arbeitet als",
}


def hints(text: str) -> str:
    """Return words that older facts about the same attributes may have."""
    latin = tongue(text)
    found: dict[str, None] = {}
    for sentence in sentences(text)[:SENTENCES]:
        reading = read(sentence, latin)
        for slot in slots(reading, latin):
            found |= dict.fromkeys(_ATTRIBUTES.get(slot.name, "").split())
        for token in reading.tokens:
            found |= dict.fromkeys(_beside(token))
    return " ".join(found)


def _beside(token: Token) -> list[str]:
    """Return the other members of a word's class."""
    for classes in (words.TOOLS, words.STATES):
        number = next((classes[word] for word in (token.folded, *token.stems) if word in classes), None)
        if number is not None:
            return [word for word, of in classes.items() if of == number]
    return []
