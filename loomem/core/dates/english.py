"""How English says dates. "Next Friday" is the first Friday after today, and a Friday without more is unknown."""

from loomem.core.dates import meanings as m
from loomem.core.dates.language import Language, Rule

_PAST = (
    r"was|were|had|did|been|done|ran|got|went|came|took|made|built|wrote|read|won|lost|sold|bought|found|met|left|saw|fell"
    r"|\w{2,}ed|once|twice|times|finish|learn"
)
"""Before "in three days" these say that it took so long, not that it is to come."""
_ABOUT = (
    r"about|almost|nearly|over|under|roughly|approximately|approx\.?|around|some|maybe|perhaps|probably|circa|ca\.?"
    r"|(?:more|less) than|at (?:least|most)|like|up to|just (?:over|under)|within"
)
_PART = r"(?:'s)?(?: (?:P|at (?:P|midnight)|early|late))?"

ENGLISH = Language(
    words={
        "M": {
            "1": "january jan",
            "2": "february feb",
            "3": "march mar",
            "4": "april apr",
            "5": "may",
            "6": "june jun",
            "7": "july jul",
            "8": "august aug",
            "9": "september sep sept",
            "10": "october oct",
            "11": "november nov",
            "12": "december dec",
        },
        "W": {
            "0": "monday mon",
            "1": "tuesday tue tues",
            "2": "wednesday wed weds",
            "3": "thursday thu thur thurs",
            "4": "friday fri",
            "5": "saturday sat",
            "6": "sunday sun",
        },
        "U0": {"s": "day", "p": "days"},
        "U1": {"s": "week", "p": "weeks"},
        "U2": {"s": "month", "p": "months"},
        "U3": {"s": "quarter", "p": "quarters"},
        "U4": {"s": "year", "p": "years"},
        "U5": {"s": "weekend", "p": "weekends"},
        "U6": {"s": "fortnight", "p": "fortnights"},
        "L": {"-1": "last previous", "0": "this current", "1": "next coming upcoming"},
        "D": {"-1": "yesterday yday", "0": "today tonight", "1": "tomorrow tmrw"},
        "C": {
            "1": "one a an",
            "2": "two",
            "3": "three",
            "4": "four",
            "5": "five",
            "6": "six",
            "7": "seven",
            "8": "eight",
            "9": "nine",
            "10": "ten",
            "11": "eleven",
            "12": "twelve",
            "13": "thirteen",
            "14": "fourteen",
            "15": "fifteen",
            "16": "sixteen",
            "17": "seventeen",
            "18": "eighteen",
            "19": "nineteen",
            "20": "twenty",
            "30": "thirty",
            "40": "forty",
            "50": "fifty",
        },
        "O": {
            "1": "first",
            "2": "second",
            "3": "third",
            "4": "fourth",
            "5": "fifth",
            "6": "sixth",
            "7": "seventh",
            "8": "eighth",
            "9": "ninth",
            "10": "tenth",
            "11": "eleventh",
            "12": "twelfth",
            "13": "thirteenth",
            "14": "fourteenth",
            "15": "fifteenth",
            "16": "sixteenth",
            "17": "seventeenth",
            "18": "eighteenth",
            "19": "nineteenth",
            "20": "twentieth",
            "30": "thirtieth",
        },
        "P": {"": "morning noon afternoon evening night"},
        "T": {"": "ago"},
        "F": {"": "few couple several some many various"},
        "Z": {"": "recently lately"},
        "S": {"": "spring summer autumn fall winter"},
    },
    year="{yyyy}|(?:of |in )?{in_year}",
    lead=r"(?:\d{1,2}:\d\d ?(?:[ap]m)?,? )?(?:on|in|at|during|from|since|for|of) (?:the )?|the ",
    counted=_ABOUT,
    near=r"around|circa|ca\.?|approximately|roughly|sometime (?:in|around|during)|maybe|perhaps|probably|possibly",
    within=r"(?:early|mid|late)(?: in)?|(?:the )?(?:beginning|start|end|middle|first half|O2 half|P|rest) of(?: the)?",
    ahead=r"will|shall|won't|going to|gonna|by|until|till|due|deadline|plan\w*|schedul\w*|postponed to|moved to|let's|must",
    doubtful="may march mar april apr june august jan feb jun jul aug sep sept oct nov dec mon tue tues wed weds thu thur thurs fri"
    " sat sun",
    rules=(
        # 15 March 2026, Friday, 15 March
        Rule(
            "M",
            m.on_day,
            r"(?:{weekday}\.?(?:,? | \())?(?:the )?{day}(?P<sure>st|nd|rd|th)?[ -]{month}(?:(?:,? |-){year})?",
        ),
        Rule(
            "M",
            m.on_day,
            r"(?:{weekday}\.?(?:,? | \())?(?:the )?{day}(?:st|nd|rd|th)? (?P<sure>of) {month}(?:,? {year})?",
        ),
        Rule(
            "M",
            m.on_day,
            r"(?:{weekday}\.?(?:,? | \())?{month}[ -](?:the )?{day}(?P<sure>st|nd|rd|th)?(?:(?:,? |-){year})?",
        ),
        Rule(
            "M",
            m.from_day_to_day,
            r"(?:from )?(?:the )?{day}(?:st|nd|rd|th)? ?(?:-|to|until|till|through) ?(?:the )?{day2}(?:st|nd|rd|th)? (?:of )?{month}(?:,? {year})?",
        ),
        Rule(
            "M",
            m.from_day_to_day,
            r"(?:from )?{month} {day}(?:st|nd|rd|th)? ?(?:-|to|until|till|through) ?{day2}(?:st|nd|rd|th)?(?:,? {year})?",
        ),
        # March 2026, in March, last March
        Rule("M", m.in_month, r"{month},? {year}"),
        Rule("M", m.in_month, r"(?P<sure>in|during|since|until|till|throughout) {month}(?! (?:the )?\d)"),
        Rule("M", m.in_month, r"{in_year},? in {month}"),
        Rule("M", m.in_month, r"(?!M5|mar\b){month}{alone}"),
        Rule("M", m.month_beside, r"(?P<sure>{which}) {month}(?! (?:the )?\d)"),
        # last Friday, Friday last week
        Rule("W", m.weekday_beside, r"(?P<sure>{which}) {weekday}(?: P)?"),
        Rule("W", m.weekday_in_week, r"{weekday}(?: P)?,? (?:of |in )?(?:the )?(?P<sure>{which}) U1s"),
        Rule("W", m.weekday_in_week, r"(?P<sure>{which}) U1s,?(?: on)? {weekday}(?: P)?"),
        Rule("W", m.unknown, r"{weekday}{alone}(?: P)?"),
        # yesterday
        Rule("D", m.named_day, r"{named}" + _PART),
        Rule("L", m.named_day, r"(?:late )?L(?P<named>-1) P"),
        Rule("L", m.named_day, r"L(?P<named>0) (?:P)"),
        Rule("D", m.day_before_yesterday, r"(?:the )?U0s before D-1"),
        Rule("D", m.day_after_tomorrow, r"(?:the )?U0s after D1"),
        # two weeks ago, in three days
        Rule("U", m.ago, r"{count} {unit} (?:T|back)(?: D0)?"),
        Rule("U", m.ago, r"{one} T"),
        Rule("U", m.ahead, r"{count} {unit} (?:from (?:now|D0)|hence)"),
        Rule("U", m.ahead, r"in {count} {unit}(?:'s?)? time"),
        Rule("U", m.ahead, r"in {count} {unit}(?! (?:from|of|after|before))", unless=_PAST),
        Rule("U5", m.weekends_ago, r"{count} U5[sp] T"),
        Rule("U", m.halves_ago, r"half C1 U4s T"),
        Rule("U", m.halves_ago, r"{count} (?:U4s and C1 half|and C1 half U4p) T"),
        Rule("U", m.halves_ahead, r"in half C1 U4s"),
        Rule("U", m.last_units, r"(?:(?:in|over|during|for|within) )?(?:the )?(?:L-1|past) {count} {unit}"),
        Rule("U", m.next_units, r"(?:(?:in|over|during|for|within) )?(?:the )?L1 {count} {unit}"),
        # last week, the week before last
        Rule("U", m.beside, r"{which} {period}"),
        Rule("U", m.before_last, r"(?:the )?{period} before L-1"),
        Rule("U", m.after_next, r"(?:the )?{period} after L1"),
        Rule("U", m.day_in_month, r"(?:the )?{day}(?:st|nd|rd|th)?,? (?:of )?{which} U2s"),
        # the first quarter of 2026, in 2025
        Rule("U", m.in_quarter, r"(?:the )?{quarter}(?:st|nd|rd|th)? U3s(?:,? (?:of |in )?{year})?"),
        Rule("q", m.in_quarter, r"q{quarter}(?: of)? {year}"),
        Rule("2", m.in_year, r"(?:in|during|since|until) (?:the U4s )?(?P<year>20\d\d)"),
        Rule("1", m.in_year, r"(?:in|during|since|until) (?:the U4s )?(?P<year>19\d\d)"),
        # words for times that say no day
        Rule("U", m.unknown, r"(?:C1 )?(?:good )?F(?: of)? (?:more )?U\d[sp] (?:T|back)"),
        Rule("U", m.unknown, r"(?:in|within) (?:C1 )?F(?: of)? U\d[sp]"),
        Rule("U", m.unknown, rf"in (?:{_ABOUT}) {{count}} U\d[sp]"),
        Rule("U", m.unknown, r"(?:many |(?:C\d+|\d+)\.\d+ )?U\dp T|the other U0s|{which} U0s"),
        Rule("Z", m.unknown, r"(?:quite |very |just |only )?Z"),
        Rule(
            "T",
            m.unknown,
            r"(?:F ?time|C1 while|(?:so |very )?long(?: time)?|{count} (?:minutes?|hours?|moments?|decades?)) T",
        ),
        Rule("S", m.unknown, r"(?:(?:in|during) (?:the )?|{which} )S(?: (?:of )?{year})?"),
    ),
)
