"""Numbers by which people and their accounts are known, and whether one is real: national ids, cards, bank accounts. Pure.

A number counts where its checksum holds, or where its form is one that nothing else has. Tables by locale, to which others
come; `any` is for all of them. Every pattern looks at a bounded stretch.

| locale | what                        | how it is told                                                             |
|--------|-----------------------------|----------------------------------------------------------------------------|
| pl     | PESEL                       | eleven digits, a date in them, checksum                                    |
| pl     | identity card               | after "dowód" and its like: three letters, six digits, checksum            |
| de     | Steuer-Identifikationsnummer | eleven digits of which one comes two or three times, checksum (ISO 7064)   |
| de     | Rentenversicherungsnummer   | area, date of birth, initial, serial, checksum                             |
| us     | SSN                         | 123-45-6789, in the ranges that were given out                             |
| any    | card                        | 13 to 19 digits of a known brand, Luhn                                     |
| any    | IBAN                        | country, check digits, modulo 97                                           |

Deliberately absent: tax numbers of companies, which are published; passports, whose forms other numbers share.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator

import msgspec

from loomem.core.pii_settings import Locale, PiiSettings

ID, CARD, IBAN = "[ID]", "[CARD]", "[IBAN]"

Span = tuple[int, int]

_BEFORE, _AFTER = r"(?<![\w.,+/-])", r"(?![\w/]|[.,-]\w)"


class Number(msgspec.Struct, frozen=True, kw_only=True):
    """A kind of number."""

    word: str
    """What takes its place."""
    pattern: re.Pattern[str]
    """Where one may stand; its group `n`, where it has one, is the number itself."""
    holds: Callable[[str], bool]
    """Takes it without spaces and hyphens, in capitals; says whether it is one."""


def is_pesel(digits: str) -> bool:
    """Say whether eleven digits are a Polish national id: a date that can be, and a checksum that holds."""
    month, day = int(digits[2:4]) % 20, int(digits[4:6])
    weights = (1, 3, 7, 9, 1, 3, 7, 9, 1, 3, 1)
    checked = sum(int(d) * w for d, w in zip(digits, weights, strict=True)) % 10 == 0
    return 1 <= month <= 12 and 1 <= day <= 31 and checked


def is_polish_card(text: str) -> bool:
    """Say whether three letters and six digits are the number of a Polish identity card."""
    values = [ord(c) - 55 if c.isalpha() else int(c) for c in text]
    return sum(v * w for v, w in zip(values, (7, 3, 1, 9, 7, 3, 1, 7, 3), strict=True)) % 10 == 0


def is_steuer_id(digits: str) -> bool:
    """Say whether eleven digits are a German tax id of a person."""
    if len(digits) != 11 or digits[0] == "0":
        return False
    often = sorted(Counter(digits[:10]).values(), reverse=True)
    if often[0] not in (2, 3) or (len(often) > 1 and often[1] > 1):
        return False
    product = 10
    for digit in digits[:10]:
        total = (int(digit) + product) % 10 or 10
        product = 2 * total % 11
    return (11 - product) % 10 == int(digits[10])


def is_rentenversicherung(text: str) -> bool:
    """Say whether twelve characters are the number of a German pension insurance."""
    day, month = int(text[2:4]), int(text[4:6])
    if not (1 <= day <= 31 or 51 <= day <= 81) or not 1 <= month <= 12:
        return False
    digits = f"{text[:8]}{ord(text[8]) - 64:02}{text[9:11]}"
    weights = (2, 1, 2, 5, 7, 1, 2, 1, 2, 1, 2, 1)
    total = sum(sum(divmod(int(d) * w, 10)) for d, w in zip(digits, weights, strict=True))
    return total % 10 == int(text[11])


def is_ssn(digits: str) -> bool:
    """Say whether nine digits are a US social security number that may have been given out."""
    area, group, serial = digits[:3], digits[3:5], digits[5:]
    return area not in ("000", "666") and area < "900" and group != "00" and serial != "0000"


def is_card(digits: str) -> bool:
    """Say whether digits are the number of a payment card, by brand, length and Luhn."""
    if not any(low <= digits[: len(low)] <= high and len(digits) in lengths for low, high, lengths in _BRANDS):
        return False
    odd = sum(int(d) for d in digits[-1::-2])
    even = sum(sum(divmod(2 * int(d), 10)) for d in digits[-2::-2])
    return (odd + even) % 10 == 0


_BRANDS: tuple[tuple[str, str, frozenset[int]], ...] = (
    ("4", "4", frozenset({13, 16, 19})),
    ("51", "55", frozenset({16})),
    ("2221", "2720", frozenset({16})),
    ("34", "34", frozenset({15})),
    ("37", "37", frozenset({15})),
    ("6011", "6011", frozenset({16, 19})),
    ("644", "659", frozenset({16, 19})),
    ("3528", "3589", frozenset({16})),
    ("300", "305", frozenset({14})),
    ("36", "36", frozenset({14})),
    ("38", "39", frozenset({14})),
    ("62", "62", frozenset({16, 17, 18, 19})),
)


def is_iban(text: str) -> bool:
    """Say whether letters and digits are an IBAN."""
    if not 15 <= len(text) <= 34 or _IBAN_LENGTHS.get(text[:2], len(text)) != len(text):
        return False
    return int("".join(str(int(c, 36)) for c in text[4:] + text[:4])) % 97 == 1


_IBAN_LENGTHS = {
    "AT": 20, "BE": 16, "CH": 21, "CZ": 24, "DE": 22, "DK": 18, "ES": 24, "FI": 18, "FR": 27, "GB": 22, "IE": 22, "IT": 27,
    "LI": 21, "LT": 20, "LU": 20, "NL": 18, "NO": 15, "PL": 28, "PT": 25, "SE": 24, "SK": 24, "UA": 29,
}  # fmt: skip

_POLISH_CARD = r"(?:dow(?:ód|od|odu|odzie|odem)|id card|identity card)\b[^\n]{0,30}?"

NUMBERS: dict[Locale, tuple[Number, ...]] = {
    Locale.PL: (
        Number(word=ID, pattern=re.compile(rf"{_BEFORE}[0-9]{{11}}{_AFTER}"), holds=is_pesel),
        Number(
            word=ID,
            pattern=re.compile(rf"\b{_POLISH_CARD}(?<![\w-])(?P<n>[a-z]{{3}}[ -]?[0-9]{{6}})(?![\w-])", re.IGNORECASE),
            holds=is_polish_card,
        ),
    ),
    Locale.DE: (
        Number(
            word=ID,
            pattern=re.compile(rf"{_BEFORE}[1-9][0-9](?P<s>[ ]?)[0-9]{{3}}(?P=s)[0-9]{{3}}(?P=s)[0-9]{{3}}{_AFTER}"),
            holds=is_steuer_id,
        ),
        Number(
            word=ID,
            pattern=re.compile(rf"{_BEFORE}[0-9]{{2}}[ ]?[0-9]{{6}}[ ]?[A-Z][ ]?[0-9]{{3}}{_AFTER}"),
            holds=is_rentenversicherung,
        ),
    ),
    Locale.US: (
        Number(
            word=ID,
            pattern=re.compile(rf"{_BEFORE}[0-9]{{3}}-[0-9]{{2}}-[0-9]{{4}}{_AFTER}"),
            holds=is_ssn,
        ),
    ),
}
"""National ids by locale."""

CARDS = Number(word=CARD, pattern=re.compile(rf"{_BEFORE}[2-6](?:[ -]?[0-9]){{12,18}}{_AFTER}"), holds=is_card)
IBANS = Number(
    word=IBAN, pattern=re.compile(r"(?<![\w-])[A-Z]{2}[0-9]{2}(?:[ ]?[A-Z0-9]{2,4}){3,8}(?![\w-])"), holds=is_iban
)

_JOINTS = re.compile(r"[ -]")


def kinds(settings: PiiSettings) -> Iterator[tuple[str, Number]]:
    """Yield what is looked for, each with the kind that it is counted as."""
    if settings.redact_cards:
        yield "card", CARDS
        yield "iban", IBANS
    if settings.redact_ids:
        for locale in settings.locales:
            yield from (("id", number) for number in NUMBERS[locale])


def spans(text: str, number: Number) -> list[Span]:
    """Return where real numbers of a kind stand in a text."""
    found: list[Span] = []
    for match in number.pattern.finditer(text):
        span = match.span("n") if "n" in number.pattern.groupindex else match.span()
        if number.holds(_JOINTS.sub("", text[slice(*span)]).upper()):
            found.append(span)
    return found
