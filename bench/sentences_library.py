"""Would a library split sentences as `loomem.core.transcript.sentences` does? Texts split as people would, and time.

The libraries are no dependencies; measure them in an environment of its own:

    python -m venv /tmp/se && /tmp/se/bin/pip install sentencex yasbd-lib msgspec
    PYTHONPATH=. /tmp/se/bin/python bench/sentences_library.py

The texts are ours, written with the tables in view, in English, Polish and German, a few in French and Chinese; `|` stands
where a sentence ends.
"""

from __future__ import annotations

import importlib
import time
from collections.abc import Callable
from typing import Any

from loomem.core.transcript.sentences import sentences

MARK = "|"
TEXTS = {
    "en": (
        "I moved to St. Louis on Jan. 5.|Dr. Smith came along.|It cost $3.50!",
        "We use v1.2.3 of foo.py.|See https://a.b/c?d=e for more.|Great :)",
        "no idea... maybe later.|ok?|yes",
        "He works at Acme Inc. in Boston.|She doesn't.",
        "Use a queue, e.g. NATS.|I like it, i.e. I use it.",
        'She said "I quit."|Then she left.',
        "first line\n|second line without a stop\n|third",
        "J. R. Smith is our CTO.|Mr. Okafor runs the venue.",
        "It took 2.5 hours vs. 4 before.|Not bad.",
    ),
    "pl": (
        "Mam dwoje dzieci, m.in. Olę.|Pracuję od 2019 r. w banku.|Mieszkam przy ul. Długiej 5.",
        "Używamy np. Redisa.|Tzn. czasami.",
        "Spotkanie o godz. 10 u dr. Nowaka.|Potem obiad.",
        "Kupiłem to za ok. 50 zł.|Tanio!",
        "W 2020 roku przeszliśmy na Go.|Nikt nie żałuje.",
        "prof. Kowalska i inż. Nowak są z nami.|Fajnie",
        "Mieszkam w Łodzi, al. Piłsudskiego 3.|Zapraszam!",
    ),
    "de": (
        "Am 3. März fahre ich nach Berlin.|Das kostet z. B. 5 Euro.|Herr Dr. Müller kommt um 10 Uhr.",
        "Der Sprint endet am 10. Juli.|Es fehlen noch drei Tickets.",
        "Wir nutzen z.B. Terraform bzw. Ansible.|Mehr nicht.",
        "Ich wohne in der Hauptstr. 5 in Köln.|Und du?",
        "Das dauert ca. 2 Std. pro Woche.|Geht so.",
        "Die Nr. 7 ist frei.|Tel. 030 folgt.",
    ),
    "fr": ("J'habite à Lyon.|M. Dupont vient demain.|Mme Petit aussi.",),
    "zh": ("我住在北京。|我喜欢咖啡！|你呢？",),
}
BIG = "I moved to a place near St. Louis, and it cost $3.50. " * 2_000


def ours(_lang: str, text: str) -> list[str]:
    return [one.text for one in sentences(text)]


def of_sentencex(lang: str, text: str) -> list[str]:
    library: Any = importlib.import_module("sentencex")
    return [part.strip() for part in library.segment(lang, text) if part.strip()]


def of_yasbd(lang: str, text: str) -> list[str]:
    library: Any = importlib.import_module("yasbd")
    return [str(part).strip() for part in library.BoundaryDetector(lang=lang).segment(text) if str(part).strip()]


def main() -> None:
    for name, split in (("ours", ours), ("sentencex", of_sentencex), ("yasbd-lib", of_yasbd)):
        print(name, measured(split))


def measured(split: Callable[[str, str], list[str]]) -> str:
    """Return how many texts are split right in each language, and how long a megabyte takes."""
    try:
        right = {
            lang: sum(
                split(lang, text.replace(MARK, " ")) == [part.strip() for part in text.split(MARK)] for text in texts
            )
            for lang, texts in TEXTS.items()
        }
    except ImportError as error:
        return f"is not installed: {error}"
    began = time.perf_counter()
    split("en", BIG)
    lap = (time.perf_counter() - began) * 1e6 / len(BIG)
    shown = ", ".join(f"{lang} {count} of {len(TEXTS[lang])}" for lang, count in right.items())
    return f"{shown}; {lap:.2f} s/MB"


if __name__ == "__main__":
    main()
