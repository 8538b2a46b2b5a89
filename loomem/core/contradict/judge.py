"""What a new fact means for an older one. Pure; see the package for what the rules would rather not say."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from loomem.core.analyse.languages import Language
from loomem.core.contradict import words
from loomem.core.contradict.read import Reading, Token, Value, lacking, read, same_words, sentences, tongue
from loomem.core.contradict.regular import tells_its_time
from loomem.core.contradict.slots import Slot, is_functional, replaced, slots
from loomem.core.contradict.values import NOTHING, Kind, Verdict
from loomem.core.facts import SUBJECT

SENTENCES = 12
"""Of a new fact, what is compared."""
SHOWN_WORDS = 6

Latin = tuple[Language, ...]
Rule = Callable[[Reading, Reading, Latin], str | None]


def judge(new: str, old: str, *, subject: str | None = None, old_subject: str | None = None) -> Verdict:
    """Return what a new fact means for an older one. The subjects are those that the facts were stored with."""
    if _is_other(subject, old_subject):
        return NOTHING
    latin = tongue(new, old)
    told = sentences(old)
    if len(told) != 1:
        return NOTHING  # of what says several things, one alone is never out of date
    before = read(told[0], latin)
    if before.is_long or before.hedged or not before.tokens:
        return NOTHING
    spoken = [read(each, latin) for each in sentences(new)[:SENTENCES]]
    after = [one for at, one in enumerate(spoken) if _is_said(one) and (at == 0 or _is_about(one, before))]
    for one in after:
        if not one.past and not before.past and (why := _updated(one, before, latin)) is not None:
            return Verdict(Kind.UPDATES, why)
    if any(_extends(one, before, latin) for one in after) or (len(after) > 1 and _is_begun(after[0], before)):
        return Verdict(Kind.EXTENDS, "says the same and more")
    return NOTHING


def _updated(after: Reading, before: Reading, latin: Latin) -> str | None:
    return next((why for rule in _RULES if (why := rule(after, before, latin)) is not None), None)


def _is_said(reading: Reading) -> bool:
    return not reading.is_long and not reading.hedged and bool(reading.tokens)


def _is_about(later: Reading, before: Reading) -> bool:
    """Say whether a sentence that is not the first names whom it is about: else that is whom the ones before it named."""
    return later.has(words.USER) or any(
        token.is_name and any(token.like(other) for other in before.content) for token in later.content
    )


def _is_other(one: str | None, other: str | None) -> bool:
    """Say whether two subjects are different ones; the user may be meant where nobody was named."""
    names = {(name or SUBJECT).casefold().strip() for name in (one, other)} - {SUBJECT}
    return len(names) > 1


# --- the rules: each gives why, or None ---


def _another_number(after: Reading, before: Reading, _: Latin) -> str | None:
    """The same attribute with another number, date, time or weekday."""
    if after.negated != before.negated or not before.values or not same_words(after.content, before.content):
        return None
    then, now = _by_kind(before), _by_kind(after)
    if then is None or now is None or set(then) - set(now) - {"clock"}:
        return None
    changed = [kind for kind in then if kind in now and then[kind].differs(now[kind])]
    if "number" in changed and len(then) > 1:
        return None  # it may say which: release 2, release 3
    if not changed or not _has_one_value(after, before, changed):
        return None
    return f"another {_KINDS.get(changed[0], 'value')} for {_shown(after.content)}"


def _another_of_its_kind(after: Reading, before: Reading, _: Latin) -> str | None:
    """The same sentence with another tool, state or language, of which there is one at a time."""
    if after.negated != before.negated or after.values != before.values:
        return None
    for classes, said in ((words.TOOLS, _is_used), (words.STATES, _is_so), (_LANGUAGES, _is_written)):
        now, then = _of_class(after, classes), _of_class(before, classes)
        if now is None or then is None or now[0] != then[0] or now[1].like(then[1]):
            continue
        rest = [token for token in after.content if token is not now[1]]
        other = [token for token in before.content if token is not then[1]]
        if said(after, now[1]) and said(before, then[1]) and same_words(rest, other):
            return f"another {_shown(rest) or 'state'}: now {now[1].shown}"
    return None


def _another_value(after: Reading, before: Reading, latin: Latin) -> str | None:
    """Another value of an attribute that has one at a time: where somebody lives, whose team it is."""
    if after.negated or before.negated:
        return None
    for then in slots(before, latin):
        for now in slots(after, latin):
            if (
                now.name == then.name
                and same_words(now.of, then.of)
                and now.numbers == then.numbers
                and not then.rest
                and _is_new(now, then)
            ):
                return f"another value for {_shown(now.of) or now.name or 'this'}: now {_shown(now.value)}"
    return None


def _given_up(after: Reading, before: Reading, latin: Latin) -> str | None:
    """It says itself what was given up for something else, and the older one says just that."""
    said = replaced(after, latin)
    if said is None or before.negated or before.has(words.DISLIKES) or not said.former:
        return None
    if lacking(said.former, before.content):
        return None
    left = lacking(before.content, (*said.former, *said.of))
    if len(left) > 1 or any(token.is_name and token is not before.tokens[0] for token in left):
        return None
    if lacking([token for token in said.of if token.is_name], before.content):
        return None
    return "says itself what it takes the place of"


def _the_other_way_round(after: Reading, before: Reading, _: Latin) -> str | None:
    """One thing preferred over another, and now the other way round."""
    if after.negated != before.negated or not (after.has(words.PREFERS) and before.has(words.PREFERS)):
        return None
    if not same_words(after.content, before.content) or len(after.content) != len(before.content):
        return None
    places = [next(i for i, one in enumerate(before.content) if token.like(one)) for token in after.content]
    moved = [place for at, place in enumerate(places) if at != place]
    return "prefers it the other way round" if len(moved) == 2 and len(set(places)) == len(places) else None


def _no_more(after: Reading, before: Reading, _: Latin) -> str | None:
    """The same, denied; or what was denied, affirmed."""
    if after.negated == before.negated or _differ(after.values, before.values):
        return None
    if same_words(after.content, before.content) and after.content:
        return "says that it is not so" if after.negated else "says that it is so after all"
    if after.over and len(after.content) > 1 and not lacking(after.content, before.content):
        return "says that it is over"
    return None


_RULES: tuple[Rule, ...] = (
    _another_number,
    _another_of_its_kind,
    _another_value,
    _given_up,
    _the_other_way_round,
    _no_more,
)


def _extends(after: Reading, before: Reading, latin: Latin) -> bool:
    """Say whether a sentence says all that an older one does, in its order, and more."""
    at = _follows(after.tokens, before.tokens)
    if at is None or len(after.tokens) + len(after.values) <= len(before.tokens) + len(before.values):
        return False
    if any(all(value.kind != own.kind or value.differs(own) for own in after.values) for value in before.values):
        return False
    # What it denies besides does not count.
    shared = read(" ".join(token.shown for token in after.tokens[:at]), latin)
    return shared.negated == before.negated and bool(
        lacking(after.content, before.content) or _more_values(after, before)
    )


def _is_begun(first: Reading, before: Reading) -> bool:
    """Say whether the first of several sentences says what the older one does."""
    return (
        same_words(first.content, before.content) and first.negated == before.negated and first.values == before.values
    )


def _follows(tokens: Sequence[Token], before: Sequence[Token]) -> int | None:
    """Return where the words of an older sentence end in a newer one that has all of them in order, from the first on."""
    if not tokens or not before or not tokens[0].like(before[0]):
        return None
    at = 0
    for token in before:
        while at < len(tokens) and not tokens[at].like(token):
            at += 1
        if at == len(tokens):
            return None
        at += 1
    return at


def _more_values(after: Reading, before: Reading) -> bool:
    return len(after.values) > len(before.values)


# --- what the rules ask ---

_KINDS = {"date": "date", "clock": "time", "weekday": "day", "time": "duration", "number": "number"}
_LANGUAGES = dict.fromkeys(words.LANGUAGES, 0)
_HAS = frozenset({"has", "have", "ma", "mam", "maja", "hat", "habe", "haben"})
_OLD = frozenset({"old", "alt", "ma", "mam"})


def _by_kind(reading: Reading) -> dict[str, Value] | None:
    """Return values by kind; None when there are two of one kind, of which nobody can say which is which."""
    found = {value.kind: value for value in reading.values}
    return found if len(found) == len(reading.values) else None


def _differ(some: Sequence[Value], others: Sequence[Value]) -> bool:
    return any(one.kind == other.kind and one.differs(other) for one in some for other in others)


def _has_one_value(after: Reading, before: Reading, kinds: Sequence[str]) -> bool:
    """Say whether the attribute has one value at a time: by its name, or as an age and a count of what one has do."""
    dated = {"date", "clock", "weekday"} & set(kinds)
    if after.has(_HAS) or before.has(_HAS):
        counted = kinds == ["number"] and bool(after.content)
        aged = kinds == ["time"] and after.has(_OLD) and before.has(_OLD)
        return not dated and (counted or aged)
    if kinds == ["time"] and after.has(_OLD) and before.has(_OLD):
        return True
    if not dated and after.has(words.MEASURES) and before.has(words.MEASURES):
        return True
    if any(map(is_functional, after.tokens)) and not _is_indefinite(after):
        return True
    timed = bool(kinds) and {"date", "clock", "weekday"}.issuperset(kinds)
    return timed and tells_its_time(after.text) and tells_its_time(before.text)


def _is_indefinite(reading: Reading) -> bool:
    tokens = reading.tokens
    return any(
        tokens[at].folded in words.ONES and is_functional(tokens[at + 1])
        for at in range(len(tokens) - 1)
        if tokens[at].folded not in ("ein", "eine")
    )


def _of_class(reading: Reading, classes: dict[str, int]) -> tuple[int, Token] | None:
    """Return the one word of a sentence that belongs to a class; None when there is none, or several."""
    found = [(number, token) for token in reading.content if (number := _class_of(token, classes)) is not None]
    return found[0] if len(found) == 1 else None


def _class_of(token: Token, classes: dict[str, int]) -> int | None:
    if token.folded in classes:
        return classes[token.folded]
    return next((classes[stem] for stem in token.stems if stem in classes), None)


def _is_used(reading: Reading, tool: Token) -> bool:
    settled = tool.folded in words.SETTLED or not tool.stems.isdisjoint(words.SETTLED)
    if reading.has(words.PREFERS):
        return True
    if settled:
        return reading.has(words.USES) and any(
            token is not tool and token.folded not in words.USES for token in reading.content
        )
    return reading.has(words.USES)


def _is_so(reading: Reading, _: Token) -> bool:
    return reading.has(words.STATIVE)


def _is_written(reading: Reading, _: Token) -> bool:
    return reading.has(words.WRITTEN)


def _is_new(now: Slot, then: Slot) -> bool:
    """Say whether two values have nothing in common."""
    return len(lacking(now.value, then.value)) == len(now.value) and len(lacking(then.value, now.value)) == len(
        then.value
    )


def _shown(tokens: Sequence[Token]) -> str:
    return " ".join(token.shown for token in tokens[:SHOWN_WORDS])
