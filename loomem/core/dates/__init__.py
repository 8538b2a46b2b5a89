"""Dates in words, for stored text and for questions: one reader, in English, Polish and German. Pure.

    spans     days, weeks, months as spans; where the last and the next of them are; the anchor of a moment in a zone
    meanings  what a form of dates means, whatever the language
    language  text to symbols; tables of words and rules to patterns
    english, polish, german, numeric   the tables
    read      `resolve` a whole text, `find` what a sentence speaks of

The anchor is the day on which it was said, in the zone of who said it; the caller applies the zone (`day_of`). Without an
anchor, and where words do not say which day, the answer is None: nothing is guessed at. So these have no date: a weekday
alone ("on Friday": the last or the next?), "recently", "a few days ago", "about two weeks ago", seasons, parts of a month
("early March"), hours, 3/4/2026, two-digit years, days that no calendar has. Where such words stand in a sentence and name
something that holds the time (March, the last seven days), a mention tells that as `part_of`: enough for a search.

Decided here: "last" is the last of its kind that was over before the anchor, "next" the first that begins after it, for weekdays,
weekends and months alike. A day or month without a year is the last there was, unless a weekday beside it, or "will", "by" or "due" before it, says otherwise. "Two
years ago" is the same day of that year, and its grain tells that it was said of a year.

Deliberately absent: times of day, durations, dates beside another event ("the day after"), holidays, other calendars, a clock,
and any library: what was measured is in docs/dependencies.md.
"""

from loomem.core.dates.read import Mention, find, resolve
from loomem.core.dates.spans import Grain, Resolved, anchor_of, day_of

__all__ = ["Grain", "Mention", "Resolved", "anchor_of", "day_of", "find", "resolve"]
