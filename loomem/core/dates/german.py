"""How German says dates. "Nächsten Freitag" is the first Friday after today; numbers before "Tagen" are counted, not idioms."""

from loomem.core.dates import meanings as m
from loomem.core.dates.language import Language, Rule, inflected

_ENDINGS = "e en er es em"
_TENS = {20: "zwanzig", 30: "dreißig", 40: "vierzig", 50: "fünfzig"}
_ONES = ("ein", "zwei", "drei", "vier", "fünf", "sechs", "sieben", "acht", "neun")
_PAST = (
    r"hab|habe|haben|hat|hatte|hatten|hast|war|waren|wurde|wurden|schaffte|lernte|brauchte|baute|schrieb|las|lief|gewann|mal"
    r"|konnte|konnten|einmal|zweimal|dreimal|\w+mals?|gelernt|geschafft"
)
"""Before "in drei Tagen" these say that it took so long, not that it is to come."""
_ABOUT = (
    r"etwa|ungefahr|rund|fast|beinahe|knapp|gut|uber|circa|ca\.?|zirka|mehr als|weniger als|mindestens|hochstens|vielleicht"
    r"|so|schatzungsweise|wohl"
)
_PART = r"(?: (?:P|D1|am (?:P|D1)|in der N))?"
_TODAY = r"(?: (?:P|D1|am (?:P|D1)))?"
_DAYS = ("montag", "dienstag", "mittwoch", "donnerstag", "freitag", "samstag", "sonntag")
_PARTS_OF_DAY = ("", "abend", "morgen", "nachmittag", "vormittag", "mittag", "nacht")


def _weekdays(weekday: int) -> str:
    return " ".join(_DAYS[weekday] + part for part in _PARTS_OF_DAY)


def _compounds(ending: str) -> dict[str, str]:
    """Return the numbers between the tens: einundzwanzig, zweiundzwanzig..."""
    return {
        str(tens + one): f"{small}und{word}{ending}"
        for tens, word in _TENS.items()
        for one, small in enumerate(_ONES, 1)
    }


GERMAN = Language(
    words={
        "M": {
            "1": "januar januars jänner jan",
            "2": "februar februars feber feb",
            "3": "märz mär mrz",
            "4": "april aprils apr",
            "5": "mai mais",
            "6": "juni junis jun",
            "7": "juli julis jul",
            "8": "august augusts aug",
            "9": "september septembers sep sept",
            "10": "oktober oktobers okt",
            "11": "november novembers nov",
            "12": "dezember dezembers dez",
        },
        "W": {str(day): _weekdays(day) + (" sonnabend" if day == 5 else "") for day in range(7)},
        "U0": {"s": "tag tags", "p": "tage tagen tages"},
        "U1": {"s": "woche", "p": "wochen"},
        "U2": {"s": "monat monats", "p": "monate monaten"},
        "U3": {"s": "quartal quartals", "p": "quartale quartalen"},
        "U4": {"s": "jahr jahres", "p": "jahre jahren"},
        "U5": {"s": "wochenende wochenendes", "p": "wochenenden"},
        "L": {
            "-2": inflected("vorletzt", _ENDINGS),
            "-1": inflected("letzt vergangen vorig", _ENDINGS),
            "0": inflected("dies aktuell laufend", _ENDINGS),
            "1": inflected("nächst kommend", _ENDINGS),
            "2": inflected("übernächst", _ENDINGS),
        },
        "D": {
            "-3": "vorvorgestern",
            "-2": "vorgestern",
            "-1": "gestern",
            "0": "heute",
            "1": "morgen",
            "2": "übermorgen",
        },
        "C": {
            "1": "ein eine einem einen einer eines eins",
            "2": "zwei zwo",
            "3": "drei",
            "4": "vier",
            "5": "fünf",
            "6": "sechs",
            "7": "sieben",
            "8": "acht",
            "9": "neun",
            "10": "zehn",
            "11": "elf",
            "12": "zwölf",
            "13": "dreizehn",
            "14": "vierzehn",
            "15": "fünfzehn",
            "16": "sechzehn",
            "17": "siebzehn",
            "18": "achtzehn",
            "19": "neunzehn",
            **{str(tens): word for tens, word in _TENS.items()},
            **_compounds(""),
        },
        "O": {
            "1": inflected("erst", _ENDINGS),
            "2": inflected("zweit", _ENDINGS),
            "3": inflected("dritt", _ENDINGS),
            "4": inflected("viert", _ENDINGS),
            "5": inflected("fünft", _ENDINGS),
            "6": inflected("sechst", _ENDINGS),
            "7": inflected("siebt siebent", _ENDINGS),
            "8": inflected("acht", _ENDINGS),
            "9": inflected("neunt", _ENDINGS),
            "10": inflected("zehnt", _ENDINGS),
            "11": inflected("elft", _ENDINGS),
            "12": inflected("zwölft", _ENDINGS),
            "13": inflected("dreizehnt", _ENDINGS),
            "14": inflected("vierzehnt", _ENDINGS),
            "15": inflected("fünfzehnt", _ENDINGS),
            "16": inflected("sechzehnt", _ENDINGS),
            "17": inflected("siebzehnt", _ENDINGS),
            "18": inflected("achtzehnt", _ENDINGS),
            "19": inflected("neunzehnt", _ENDINGS),
            "20": inflected("zwanzigst", _ENDINGS),
            "30": inflected("dreißigst", _ENDINGS),
            **{value: inflected(word, _ENDINGS) for value, word in _compounds("st").items()},
        },
        "H": {"1": "anderthalb eineinhalb", "2": "zweieinhalb", "3": "dreieinhalb"},
        "P": {"": "früh abend vormittag mittag nachmittag"},
        "T": {"": "vor"},
        "N": {"": "nacht"},
        "F": {"": "paar einige einigen mehrere mehreren wenige wenigen viele vielen etlichen"},
        "Z": {"": "neulich kürzlich unlängst bald demnächst jüngst"},
        "S": {"": "frühling frühlings frühjahr frühjahrs sommer sommers herbst herbstes winter winters"},
    },
    year="{yyyy}|{in_year}",
    parts={"on": r"(?:(?:L-?\d )?{weekday}(?:,? | \()(?:(?:den|dem) )?)?"},
    lead=r"(?:am|an|im|in|vom|zum|seit|ab|bis|von)(?: (?:der|den|dem))? |den |der |dem |das ",
    counted=_ABOUT,
    near=r"etwa|ungefahr|circa|ca\.?|zirka|um den|vielleicht|wohl|irgendwann(?: (?:im|am|in))?",
    within=r"(?:(?:seit|bis|ab) )?(?:anfang|mitte|ende)(?: (?:des|der))?|(?:am|zu) (?:anfang|ende|beginn)(?: (?:des|der))?",
    ahead=r"L1|bis|wird|werden|werde|soll|sollen|muss|mussen|fallig|frist|deadline|abgabe|termin|plan\w*|geplant|verschoben auf|auf den",
    names="april august juni juli mai mais",
    doubtful="jan feb mär mrz apr jun jul aug sep sept okt nov dez",
    rules=(
        # 15. März 2026, Freitag, den 15. März
        Rule("M", m.on_day, r"{on}{day}\.? {month}(?:,? {year})?"),
        Rule(".", m.on_day, r"(?:am|vom|zum|den|dem|bis|ab|seit) (?P<day>\d{1,2})\. ?(?P<month>\d{1,2})\.(?! ?\d)"),
        Rule("M", m.from_day_to_day, r"(?:vom )?{day}\.? ?(?:-|bis(?: zum)?|und) ?{day2}\.? {month}(?:,? {year})?"),
        Rule(
            "M", m.from_date_to_date, r"(?:vom )?{day}\.? {month} ?(?:-|bis(?: zum)?) ?{day2}\.? {month2}(?:,? {year})?"
        ),
        # März 2026, im März, letzten März
        Rule("M", m.in_month, r"(?:im )?{month},? (?:des U4s )?{year}"),
        Rule("M", m.in_month, r"(?P<sure>im|seit) {month}(?! \d)"),
        Rule("M", m.in_month, r"{in_year},? im {month}"),
        Rule("T", m.month_years_ago, r"T {count} U4[sp],? im {month}"),
        Rule("T", m.month_years_ago, r"im {month},? T {count} U4[sp]"),
        Rule("M", m.in_month, r"{month}{alone}"),
        Rule("M", m.month_beside, r"(?P<sure>{which}) {month}(?! \d)"),
        # letzten Freitag, Freitag letzter Woche
        Rule("W", m.weekday_beside, r"(?P<sure>{which}) {weekday}" + _PART),
        Rule("W", m.weekday_in_week, r"{weekday}" + _PART + r",? (?:in (?:der )?)?(?P<sure>{which}) U1s"),
        Rule("W", m.weekday_in_week, r"(?P<sure>{which}) U1s,? (?:am )?{weekday}" + _PART),
        Rule("W", m.unknown, r"{weekday}{alone}" + _PART),
        # gestern; ein Morgen ist kein "morgen"
        Rule("D", m.named_day, r"D(?P<named>0)(?! (?:N|T|in C|in \d))" + _TODAY),
        Rule("D", m.named_day, r"D(?P<named>-[123]|2)(?: N)?" + _PART),
        Rule("D1", m.named_day, r"(?P<lower>)D(?P<named>1)(?: N)?" + _TODAY),
        Rule("D", m.unknown, r"D0 N"),
        Rule("L", m.unknown, r"(?:in (?:der )?)?{which} N"),
        # vor zwei Wochen, in drei Tagen
        Rule("U", m.ago, r"(?:D0 )?T {count} {unit}"),
        Rule("U", m.ahead, r"D0 in {count} {unit}"),
        Rule("U", m.ahead, r"in {count} {unit}", unless=_PAST),
        Rule("U5", m.weekends_ago, r"T {count} U5[sp]"),
        Rule("U", m.unknown, r"(?:D1|{weekday}) in {count} U1[sp]"),
        Rule("U", m.halves_ago, r"T C1 halben U4s"),
        Rule("H", m.halves_ago, r"T H(?P<count>\d) U4[sp]"),
        Rule("U", m.halves_ahead, r"in C1 halben U4s"),
        Rule("H", m.halves_ahead, r"in H(?P<count>\d) U4[sp]", unless=_PAST),
        Rule("U", m.last_units, r"(?:in (?:den )?|wahrend der |die |der )?L-1 {count} {unit}"),
        Rule("U", m.next_units, r"(?:in (?:den )?|die |der )?L1 {count} {unit}"),
        # letzte Woche
        Rule("U", m.beside, r"{which} {period}"),
        Rule("U", m.day_in_month, r"{day}\.? {which} U2s"),
        # im ersten Quartal 2026, KW 14, im Jahr 2025
        Rule("U", m.in_quarter, r"{quarter}\.? U3s(?:,? (?:des U4s )?{year})?"),
        Rule("q", m.in_quarter, r"q{quarter} {year}"),
        Rule("kw", m.iso_week, r"kw ?(?P<week>\d{1,2})(?:[ /]{year})?"),
        Rule("U", m.iso_week, r"U1s (?P<week>\d{1,2})[ /]{year}"),
        Rule("U", m.in_year, r"(?:im |des |seit (?:dem )?)?U4[sp] {yyyy}"),
        # Wörter, die nicht sagen, wann
        Rule("F", m.unknown, r"(?:T|in) (?:C1 )?F U\d[sp]"),
        Rule("U", m.unknown, rf"(?:T|in) (?:{_ABOUT}) {{count}} U\d[sp]"),
        Rule("U", m.unknown, r"T (?:langen )?U\dp|in U\dp"),
        Rule("T ", m.unknown, r"T (?:kurzem|langem|langer zeit|einiger zeit|C1 weile|{count} (?:stunden?|minuten?))"),
        Rule("Z", m.unknown, r"(?:erst )?Z"),
        Rule("S", m.unknown, r"(?:im |{which} )S(?: {year})?"),
    ),
)
