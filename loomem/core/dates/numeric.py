"""Dates in digits, the same in every language. Day and month by dots are in the order of the languages here: 15.3.2026."""

from loomem.core.dates.language import Language, Rule
from loomem.core.dates.meanings import either_order, in_month, in_quarter, in_year, iso_week, on_day

_REST = r"(?:[ t(,].*)"
"""A weekday, a time."""

NUMERIC = Language(
    words={},
    lead=r"(?:on|from|since|until|am|den|vom|zum|seit|bis|ab|dnia|z|od|do|w) ",
    rules=(
        Rule("-", on_day, r"(?P<year>\d{4})-(?P<month>\d{1,2})-(?P<day>\d{1,2})"),
        Rule("/", on_day, r"(?P<year>\d{4})/(?P<month>\d{1,2})/(?P<day>\d{1,2})"),
        Rule(".", on_day, r"(?P<day>\d{1,2})\. ?(?P<month>\d{1,2})\. ?(?P<year>\d{4})(?: r\b\.?| roku)?"),
        Rule(".", on_day, r"(?P<year>[12]\d{3})\.(?P<month>\d{2})\.(?P<day>\d{2})"),
        Rule("/", either_order, r"(?P<one>\d{1,2})/(?P<two>\d{1,2})/(?P<year>[12]\d{3})"),
        Rule("-", either_order, r"(?P<one>\d{1,2})-(?P<two>\d{1,2})-(?P<year>[12]\d{3})"),
        Rule("-", in_month, r"{yyyy}-(?P<month>\d{2})"),
        Rule("/", in_month, r"(?P<month>\d{1,2})/{yyyy}"),
        Rule("-", iso_week, r"{yyyy}-w(?P<week>\d{2})"),
        Rule("q", in_quarter, r"{yyyy}[ \-/]?q{quarter}"),
        Rule("q", in_quarter, r"q{quarter}(?:(?:[ \-/]| of ){yyyy})?"),
        # A whole text may go on after the date, be no more than a year, or lack one.
        Rule("-", on_day, r"(?P<year>\d{4})-(?P<month>\d{1,2})-(?P<day>\d{1,2})" + _REST, whole=True),
        Rule("/", on_day, r"(?P<year>\d{4})/(?P<month>\d{1,2})/(?P<day>\d{1,2})" + _REST, whole=True),
        Rule(".", on_day, r"(?P<day>\d{1,2})\. ?(?P<month>\d{1,2})\.", whole=True),
        Rule("", on_day, r"(?P<year>(?:19|20)\d\d)(?P<month>\d\d)(?P<day>\d\d)", whole=True),
        Rule("", in_year, "{yyyy}", whole=True),
    ),
)
