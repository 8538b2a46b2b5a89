"""Personal data in what is about to be stored: e-mail addresses, phone numbers, national ids, cards, terms of a blocklist. Pure.

Each is replaced by a word that says what stood there. Counted by kind, never told. Precision comes first: digits count as a
phone number only in a form in which people write one, and not where something beside them says that they are another
thing: money, an order, a version, part of an identifier, a hash, a date. A form that is also that of other numbers counts
only after a word such as "call".

How numbers are written differs from country to country: `PHONE_FORMS` and those of `core.national` are tables by locale, to
which others come. Every pattern looks at a bounded stretch from where digits begin, so all is linear in the length of the text.

Deliberately absent: secrets (`core.scan`), names of people, postal addresses.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping
from functools import lru_cache, partial

import msgspec

from loomem.core import national
from loomem.core.national import spans as numbers_in
from loomem.core.pii_settings import PiiSettings

PHONE, EMAIL, TERM = "[PHONE]", "[EMAIL]", "[REDACTED]"

_PASSES = 8
"""Rounds over one text: a redaction may free what was glued to it."""


class Redacted(msgspec.Struct, frozen=True, kw_only=True):
    text: str
    counts: Mapping[str, int]
    """How many of each kind (`phone`, `email`, `id`, `card`, `iban`, `term`); no kind without any."""


def redact(text: str, settings: PiiSettings, *, label: str = "") -> Redacted:
    """Return a text without personal data; redacting it again changes nothing. `label` is what the text stands under."""
    counts: Counter[str] = Counter()
    if settings.enabled:
        for _ in range(_PASSES):
            before = text
            for kind, find, word in _finders(settings, label):
                text, found = _replaced(text, find(text), word)
                counts[kind] += found
            if text == before:
                break
    return Redacted(text=text, counts=+counts)


Span = tuple[int, int]
Find = Callable[[str], list[Span]]


def _finders(settings: PiiSettings, label: str) -> list[tuple[str, Find, str]]:
    finders: list[tuple[str, Find, str]] = []
    if settings.blocklist:
        finders.append(("term", lambda text: _terms(text, settings.blocklist), TERM))
    if settings.redact_emails:
        finders.append(("email", _emails, EMAIL))
    finders += [(kind, partial(numbers_in, number=number), number.word) for kind, number in national.kinds(settings)]
    if settings.redact_phones:
        finders.append(("phone", lambda text: _phones(text, label), PHONE))
    return finders


def _replaced(text: str, spans: list[Span], word: str) -> tuple[str, int]:
    parts: list[str] = []
    done = 0
    for start, end in spans:
        parts += (text[done:start], word)
        done = end
    return ("".join((*parts, text[done:])), len(spans)) if spans else (text, 0)


# Terms of the blocklist


def _terms(text: str, terms: tuple[str, ...]) -> list[Span]:
    pattern = _term_pattern(terms)
    return [m.span() for m in pattern.finditer(text)] if pattern is not None else []


@lru_cache(maxsize=8)
def _term_pattern(terms: tuple[str, ...]) -> re.Pattern[str] | None:
    """Return what finds any of the terms, the longest first; None if there is none."""
    words = sorted({term.strip() for term in terms if term.strip()}, key=lambda word: (-len(word), word))
    if not words:
        return None
    # What a redaction has put there is no term, whatever the list says.
    return re.compile(rf"(?<!\w)(?<!\[)(?:{'|'.join(map(re.escape, words))})(?!\w)(?!\])", re.IGNORECASE)


# E-mail addresses

_LOCAL = r"\w.!#$%&'*+/=?^{|}~-"
_ADDRESS = re.compile(
    rf"(?<![{_LOCAL}])[{_LOCAL}]{{1,100}}+@(?P<domain>(?:[^\W_](?:[\w-]{{0,61}}[^\W_])?\.){{1,8}}(?P<tld>[^\W\d_]{{2,24}}))"
    r"(?![^\W_])"
)
_BEFORE_NAME = re.compile(r".*[=&?/'{|}]", re.DOTALL)
"""In a local part it is allowed, and in practice never there: `?to=ann@example.com`."""
_FILES = "png jpg jpeg gif svg webp ico pdf js ts css json yaml yml toml py md txt zip gz"
_NO_TLD = frozenset(_FILES.split())
_HOST_PATH = re.compile(r":[\w/~]")
_URL_WINDOW = 160


def _emails(text: str) -> list[Span]:
    if "@" not in text:
        return []
    return [span for m in _ADDRESS.finditer(text) if (span := _address(text, m)) is not None]


def _address(text: str, match: re.Match[str]) -> Span | None:
    """Return where an address stands; None when it is the user of a host, a repository, a file."""
    at = match.start("domain") - 1
    head = _BEFORE_NAME.match(text, match.start(), at)
    start = head.end() if head else match.start()
    while start < at and text[start] in ".-+#$%*!^~":
        start += 1
    name = text[start:at]
    if not name or name.endswith(".") or len(name) > 64 or match["tld"].lower() in _NO_TLD:
        return None
    if name == "git" or _HOST_PATH.match(text, match.end()):
        return None
    scheme = text.rfind("://", max(0, start - _URL_WINDOW), start)
    if scheme >= 0 and not re.search(r"[/?#\s]", text[scheme + 3 : at]):
        return None
    return start, match.end()


# Phone numbers


class PhoneForm(msgspec.Struct, frozen=True, kw_only=True):
    """A way to write a phone number."""

    pattern: re.Pattern[str]
    """Matches from the first digit, bracket or plus on."""
    needs_word: bool = False
    """Counts only after a word such as "call": other numbers look like that too."""
    accept: Callable[[str], bool] = lambda _: True
    """Takes the digits, with the plus if there is one."""
    begins: str = "+(0123456789"
    """What it can begin with."""


_S = r"[ \u00a0\u202f.\u2011\u2013-]"
"""What stands between groups of digits."""
_MOBILE_PL = r"(?:45|50|51|53|57|60|66|69|72|73|78|79|88)[0-9]"
_AREA_PL = "(?:1[2-8]|2[2-59]|3[2-4]|4[1-468]|5[24589]|6[1-358]|7[14-7]|8[1-79]|9[14-5])"  # of land lines

_NATIONAL_DIGITS = {
    1: (10, 10), 7: (10, 10), 20: (8, 10), 27: (9, 9), 30: (10, 10), 31: (9, 9), 32: (8, 9), 33: (9, 9), 34: (9, 9),
    36: (8, 9), 39: (6, 11), 40: (9, 9), 41: (9, 9), 43: (7, 13), 44: (9, 10), 45: (8, 8), 46: (7, 9), 47: (8, 8),
    48: (9, 9), 49: (7, 12), 52: (10, 10), 54: (10, 11), 55: (10, 11), 61: (9, 9), 62: (8, 12), 63: (10, 10), 65: (8, 8),
    66: (8, 9), 81: (9, 10), 82: (8, 10), 84: (9, 10), 86: (10, 11), 90: (10, 10), 91: (10, 10), 92: (9, 10),
    98: (10, 10), 212: (9, 9), 234: (8, 10), 254: (9, 9), 351: (9, 9), 352: (6, 9), 353: (7, 9), 354: (7, 7), 355: (8, 9),
    358: (6, 11), 359: (8, 9), 370: (8, 8), 371: (8, 8), 372: (7, 8), 373: (8, 8), 375: (9, 9), 380: (9, 9), 381: (8, 9),
    385: (8, 9), 386: (8, 8), 387: (8, 8), 420: (9, 9), 421: (9, 9), 852: (8, 8), 886: (8, 9), 961: (7, 8), 966: (9, 9),
    971: (8, 9), 972: (8, 9), 995: (9, 9), 998: (9, 9),
}  # fmt: skip
"""How many digits follow a country's code, at least and at most."""


_DATE = re.compile(r"(?:19|20)[0-9]{2}(?:0[1-9]|1[0-2])[0-3][0-9](?:[0-2][0-9][0-5][0-9])?")


def _is_international(digits: str) -> bool:
    """Say whether digits after a plus or two zeros are a country's code and as many more as that country has."""
    bare = digits.removeprefix("+") if digits.startswith("+") else digits.removeprefix("00")
    for length in (1, 2, 3):
        bounds = _NATIONAL_DIGITS.get(int(bare[:length]))
        if bounds is not None:
            national = bare[length:].removeprefix("0") if bare.startswith(("44", "49", "43")) else bare[length:]
            return bounds[0] <= len(national) <= bounds[1]
    return False


def _form(pattern: str, begins: str, *, accept: Callable[[str], bool] = lambda _: True) -> PhoneForm:
    return PhoneForm(pattern=re.compile(pattern), begins=begins, accept=accept)


PHONE_FORMS: dict[str, tuple[PhoneForm, ...]] = {
    "international": (
        _form(
            rf"\(?(?:\+|00)[ ]?[1-9][0-9]{{0,2}}\)?(?:(?:{_S}|/|{_S}?\(|\){_S}?)?[0-9]){{6,14}}",
            "+(0",
            accept=_is_international,
        ),
    ),
    "pl": (
        _form(rf"(?:\(?48\)?{_S})?{_MOBILE_PL}(?P<s>{_S}?)[0-9]{{3}}(?P=s)[0-9]{{3}}", "(45678"),
        _form(
            rf"(?:\(?0?{_AREA_PL}\){_S}?|0?{_AREA_PL}{_S})[0-9]{{3}}(?P<s>{_S})[0-9]{{2}}(?P=s)[0-9]{{2}}",
            "(0123456789",
        ),
        _form(rf"\(0?{_AREA_PL}\){_S}?[0-9]{{7}}", "("),
    ),
    "us": (
        _form(
            r"(?:1[ .-])?(?:\([2-9][0-9]{2}\)[ ]?|[2-9][0-9]{2}(?P<s>[.-]))[2-9][0-9]{2}(?(s)(?P=s)|[ .-])[0-9]{4}",
            "(123456789",
        ),
    ),
    "de": (
        _form(r"01[567][0-9]{1,2}[ /-]{0,3}[0-9]{3}[ ]?[0-9]{2,3}[ ]?[0-9]{2,3}", "0"),
        _form(r"\(?0[2-9][0-9]{1,3}(?:\)[ ]?|[ ]?/[ ]?)[0-9]{2,4}(?:[ -]?[0-9]{1,4}){1,3}", "(0"),
    ),
    "any": (
        PhoneForm(
            pattern=re.compile(rf"\(?[0-9](?:(?:{_S}|/|{_S}?\(|\){_S}?)?[0-9]){{6,13}}+(?!{_S}?[0-9])"),
            needs_word=True,
            accept=lambda digits: not _DATE.fullmatch(digits),
        ),
    ),
}
"""By locale, in the order in which they are tried."""

_FORMS = {
    first: tuple(form for forms in PHONE_FORMS.values() for form in forms if first in form.begins)
    for first in "+(0123456789"
}
_START = re.compile(r"(?<![\w+])[+(]{0,2}[0-9](?=(?:[^\w\n]{0,3}[0-9]){6})")
"""Where digits begin and at least seven stand close together."""
_LETTER = re.compile(r"[^\W\d_]")
_NOT_DIGIT = re.compile(r"[^0-9+]")
_CONTEXT = 60
"""Characters before a number in which a word may say what it is."""

_CALLS = (
    "tel", "telefon*", "telephone*", "phone*", "mobile*", "mobil*", "cell*", "call*", "dial*", "ring", "fax*", "whatsapp*",
    "signal", "sms*", "text", "texted", "hotline*", "infolini*", "zadzwo*", "dzwon*", "dzwoń*", "oddzwo*", "komórk*",
    "komork*", "kom", "handy*", "rufnummer*", "anruf*", "ruf", "rufe", "rufen", "erreichbar", "durchwahl*", "rückruf*",
    "kontakt*", "contact*", "reach", "słuchawk*", "numerem", "handynummer*", "festnetz*",
)  # fmt: skip
_OTHER_THINGS = (
    "id", "ids", "uid", "uuid", "guid", "pid", "key", "klucz*", "schlüssel*", "order*", "zamówien*", "zamowien*",
    "bestell*", "auftrag*", "invoice*", "faktur*", "rechnung*", "ticket*", "zgłoszen*", "issue*", "pr", "pull", "bug*",
    "commit*", "build*", "version*", "wersj*", "release", "port*", "offset*", "byte*", "bajt*", "size", "rozmiar*", "größe",
    "line", "lines", "lini*", "zeile*", "row*", "wiersz*", "account*", "konto*", "kont", "iban", "isbn", "issn", "ean", "nip",
    "regon", "krs", "pesel", "tracking", "paczk*", "przesyłk*", "sendung*", "serial*", "seryjn*", "seria", "serii", "serien*", "sku", "hash*",
    "sha", "md5", "timestamp*", "epoch", "unix", "amount*", "kwot*", "betrag*", "price*", "cen*", "preis*", "cost*",
    "koszt*", "kosten", "population", "ludno*", "einwohner*", "revision*", "rewizj*", "seq*", "sequence", "customer",
    "klient*", "kunden*", "aktenzeichen", "vertrag*", "umow*", "policy", "polis*", "reference", "ref", "sygnatur*",
    "artikel*", "product*", "produkt*", "isin", "usd", "eur", "pln", "gbp", "chf", "node", "record*", "rekord*", "block*",
    "seed", "count*", "liczb*", "anzahl", "total", "suma", "summe", "timeout", "memory", "vat", "tax", "steuer*", "ust",
    "article", "section", "case", "device", "imei", "mac", "meter", "licznik*", "zähler*",
)  # fmt: skip


def _words(words: tuple[str, ...]) -> re.Pattern[str]:
    return re.compile("|".join(re.escape(w.rstrip("*")) + (r"\w*" if w.endswith("*") else "") for w in words))


_CALL, _OTHER = _words(_CALLS), _words(_OTHER_THINGS)
_WORD = re.compile(r"[^\W\d_]+")
_CAMEL = re.compile(r"(?<=[a-z])(?=[A-Z])")
_REDACTED = re.compile(r"\[?(?:PHONE|EMAIL|ID|CARD|IBAN|REDACTED)\]")
_NEAR = 4
"""So many words before a number may say what it is; the nearest that says anything decides."""

_AFTER = re.compile(
    r"\w|[-/:@#_\u2011]\w|[.,]\d|[\u00a0\u202f ]?(?:[€$£%°]|(?:z[łl]|pln|eur|usd|gbp|chf|euro\w*|dollar\w*|złot\w*|dolar\w*"
    r"|bytes?|bajt\w*|[kmg]i?b|ms|ns|µs|sek\w*|sec\w*|rows?|users?|użytkownik\w*|nutzer\w*|km|kg|people|osób|ludzi|leute|mensch\w*"
    r"|einwohner\w*|mieszka\w*|records?|rekord\w*|items?|lines?|tokens?|mln|mld|tys|mio|mrd|stück|zeilen|wierszy|sztuk|szt"
    r"|million\w*|times|razy|mal|requests?|events?|files?|points?|steps?)\b)",
    re.IGNORECASE,
)
_THOUSANDS_AFTER = re.compile(r"(?:[ \u00a0\u202f][0-9]{3}(?![0-9]))++")
_THOUSANDS_BEFORE = re.compile(r"(?:^|[^\w.:/-])[0-9]{1,3}[ \u00a0\u202f]\Z")


def _phones(text: str, label: str) -> list[Span]:
    spans: list[Span] = []
    before, done, end = "", 0, 0
    for m in _START.finditer(text):
        if m.start() < end:
            continue
        start, stop, form = _formed(text, m)
        if form is None:
            continue
        # What stood before is seen as it will stand there: else redacting again would see other words.
        context = (before + text[max(done, start - _CONTEXT) : start])[-_CONTEXT:]
        if label and start < _CONTEXT:
            context = f"{label}: {context}"
        more = _THOUSANDS_AFTER.match(text, stop)
        if _is_phone(form, context, plus=text[start] == "+", more=more is not None):
            spans.append((start, stop))
            before, done, end = (context + PHONE)[-_CONTEXT:], stop, stop
        elif more is not None:
            end = more.end()
    return spans


def _formed(text: str, begins: re.Match[str]) -> tuple[int, int, PhoneForm | None]:
    """Return where the first form of a phone number that fits there begins and ends; a bracket may be its or around it."""
    for start in range(begins.start(), begins.end()):
        for form in _FORMS[text[start]]:
            match = form.pattern.match(text, start)
            if match is None or (text[start] == "(" and ")" not in match[0]) or _AFTER.match(text, match.end()):
                continue
            if form.accept(_NOT_DIGIT.sub("", match[0])):
                return start, match.end(), form
    return begins.start(), begins.start(), None


def _is_phone(form: PhoneForm, context: str, *, plus: bool, more: bool) -> bool:
    """Say whether what has the form of a phone number is one, by what stands before it and whether digits go on after it."""
    named = _is_named(context)
    if named or named is None:
        return bool(named)
    if form.needs_word:
        return False
    # Groups of three that go on, before or after, are a large number or a table.
    return plus or not (more or _THOUSANDS_BEFORE.search(context[-8:]))


def _is_named(context: str) -> bool | None:
    """Say whether a word before says that a phone number comes; None when something says that none does."""
    line = context.rpartition("\n")[2]
    if line[-2:-1].isdigit() and line[-1] in _JOINTS:
        return None
    near = _telling(line) if _LETTER.search(line) else None
    if near is not None:
        return True if _CALL.fullmatch(near) else None
    return None if _is_glued(line) else False


def _telling(context: str) -> str | None:
    """Return the nearest of the last words that says what a number is."""
    words = _WORD.findall(_CAMEL.sub(" ", _REDACTED.sub(" ", context)).lower())[-_NEAR:]
    return next((word for word in reversed(words) if _CALL.fullmatch(word) or _OTHER.fullmatch(word)), None)


def _is_glued(context: str) -> bool:
    """Say whether what stands right before makes a number part of something else: a path, an address, code, money."""
    before = context[-1:]
    if before in _SIGNS or (before in _JOINTS and context[-2:-1].isalnum()):
        return True
    return "://" in context.rpartition(" ")[2] or context.rstrip(" ").endswith(_CODE)


_JOINTS = ("-", ".", "/", ":", ",", "\u2011")
_SIGNS = ("#", "$", "€", "£", "№", "@", "^", "~", "_", "%", "&")
_CODE = ("=", "<", ">", "*", '":', "€", "$", "£", "#", "№")
