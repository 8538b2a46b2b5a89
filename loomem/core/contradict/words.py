"""The words that the rules of contradiction know, folded: no case, no accents."""

from __future__ import annotations

from loomem.core.analyse.characters import fold


def _set(text: str) -> frozenset[str]:
    return frozenset(fold(word) for word in text.split())


ENGLISH = _set(
    "the is are to of and user users we i from at has have uses lives works with for on my our not no his her last"
)
POLISH = _set(
    "jest są się nie na do już to użytkownik użytkownika ma mam w z ze po i oraz mój moja moje dla przez od przy jako mieszka pracuje używa"
)
GERMAN = _set(
    "der die das den dem des ein eine einen ist sind wohnt arbeitet läuft nach nicht kein keine keinen und mit für von im am um beim bei wir ich nutzer hat haben mehr"
)

FILLERS = _set(
    """
a an the this that these those of to in on at by for with from as and or is are am be been being was were has have had do does did
will s it its there now currently today presently so also then just already still as since always very really
i me my mine we us our ours you your user users
użytkownik użytkownika użytkowniczka ja mój moja moje moim moją my nasz nasza nasze naszego
w we na do od z ze za o u i oraz a to jest są być był była było byli jestem jesteśmy jako dla przez przy po że teraz obecnie aktualnie dziś już
się go jej jego ich ta ten te tego tej jeszcze
der die das den dem des ein eine einer eines einem einen im in am an auf zu zum zur bei beim von vom mit für und oder als ist sind war
waren bin sein hat habe haben wird wurde worden werden jetzt nun heute derzeit aktuell es er sie ich mein meine meiner meinen wir unser
unsere unserem nutzer nutzers nutzerin benutzer uhr gegen um mehr
"""
)
"""Words that say nothing of their own. The user, as `I` or in the third person, is whom a fact is about when nobody else is."""

USER = _set(
    "i i'm i've i'd me my mine we we're we've our user users ja mój moja moje moim moją nasz nasza my użytkownik użytkownika użytkowniczka "
    "ich mein meine meiner meinen wir unser unsere nutzer nutzers nutzerin"
)
"""Whom a fact is about when nobody else is named."""

CHANGES = _set(
    """
moved changed switched updated postponed rescheduled shifted extended raised lowered increased decreased reduced new planned scheduled set
due takes place happens starts begins falls previously instead longer anymore
przesunięty przesunięta przesunięto przesunięte przełożony przełożona przełożono zmieniony zmieniona zmieniono zmienił podniesiony nowy nowa nowe
zaplanowany zaplanowana zaplanowane zaplanowano planowana planowany wynosi odbywa ustalono
verschoben geändert geplant neu neue neuer neues erhöht gesenkt beträgt findet statt liegt umgestellt verlegt angesetzt
"""
)
"""Words that tell that a value is set or changed, not of what."""

NEGATIONS = _set(
    """
not no never cannot cant doesnt dont didnt isnt arent wasnt wont without nor neither
nie nigdy żaden żadna żadne bez
nicht kein keine keinen keiner keinem niemals ohne
"""
)
CONTRACTED = ("n't", "n’t")
OVER = _set(
    """
stopped quit quits gave
przestał przestała przestaliśmy rzucił rzuciła zrezygnował zrezygnowała
aufgehört aufgegeben
"""
)
"""Whoever did that does it no more."""
DISLIKES = _set("dislikes dislike hates hate disliked nienawidzi hasst hasse")
LIKES = _set("likes like loves love enjoys enjoy lubi lubię kocha uwielbia mag mögen liebt liebe")

HEDGES = _set(
    """
might may maybe perhaps possibly probably considering considers thinking would could should if unless hopes hopefully unsure plans
intends wonders try tries trying tried wishes
może chyba prawdopodobnie rozważa rozważam zamierza zamierzam planuje planuję mógłby mogłaby powinien powinna jeśli gdyby próbuje
spróbuje spróbował chciałby chciałaby podobno
vielleicht eventuell möglicherweise vermutlich wahrscheinlich überlegt erwägt plant könnte würde sollte falls wenn probiert versucht
möchte angeblich
"""
)
PAST = _set(
    """
used-to formerly once ago earlier had
kiedyś dawniej wcześniej niegdyś poprzednio dawny dawna były
früher damals ehemals einst vormals ehemaliger ehemalige
"""
)

FUNCTIONAL = _set(
    """
deadline due-date date birthday anniversary budget price cost salary wage rent rate limit timeout port version address email
e-mail phone number name surname nickname age height weight color colour size url host hostname branch region owner lead leader manager
boss head director ceo cto cfo maintainer role title status priority husband wife spouse partner girlfriend boyfriend hometown
nationality timezone zone schedule capital license licence format threshold retention period temperature capacity count goal target
quota interval frequency duration length width standup meeting sync retro planning demo release database default launch milestone appointment flight
exam password username handle account currency favourite favorite pin
termin terminu data deadline budżet budżetu cena koszt pensja wynagrodzenie czynsz stawka limit port porcie wersja adres mail numer
telefon telefonu imię nazwisko urodziny wiek wzrost waga kolor rozmiar gałąź właściciel lider kierownik kierowniczka szef szefowa
dyrektor dyrektorka opiekun rola stanowisko status priorytet mąż żona partner partnerka strefa stolica licencja format próg okres
temperatura pojemność liczba cel godzina spotkanie standup retro planowanie premiera wydanie wdrożenie egzamin lot hasło waluta domyślny domyślna
 ulubiony ulubiona ulubione
frist termin datum budget preis kosten gehalt lohn miete limit port version adresse mail nummer telefon name geburtstag alter größe
gewicht farbe zweig besitzer eigentümer leiter leiterin chef chefin direktor direktorin rolle status priorität mann frau partner
partnerin zeitzone zone hauptstadt lizenz format schwelle zeitraum temperatur kapazität anzahl ziel uhrzeit besprechung treffen
standup retro planung veröffentlichung release prüfung flug passwort währung standard lieblings

"""
)
"""Attributes that have one value at a time."""
MEASURES = _set(
    """
earns earn weighs weigh takes take costs cost lasts last listens sleeps sleep
wynosi kosztuje trwa waży zarabia zajmuje
kostet dauert wiegt verdient beträgt
"""
)
"""Verbs whose number is one at a time; a date beside them is another thing."""
COMPOUNDS = (
    "frist",
    "nummer",
    "limit",
    "termin",
    "preis",
    "leiter",
    "leiterin",
    "adresse",
    "version",
    "datum",
    "zone",
    "budget",
)
"""German nouns that end with one of these are such too."""
FAVOURITE = ("favourite", "favorite", "ulubion", "lieblings")

_CLASSES = """
vscode cursor vim neovim emacs pycharm intellij webstorm sublime zed helix nano
npm pnpm yarn bun
pip poetry uv pipenv conda
chrome firefox safari edge brave vivaldi
windows macos linux ubuntu debian fedora arch
bash zsh fish powershell
jenkins gitlab-ci circleci travis buildkite teamcity
github gitlab bitbucket gitea
jira linear asana trello
slack teams discord mattermost
postgresql postgres mysql mariadb sqlite mongodb
webpack vite rollup parcel esbuild
jest vitest mocha
eslint biome
black ruff yapf
react vue svelte angular
django flask fastapi
tabs spaces
mit apache gpl bsd
"""
TOOLS: dict[str, int] = {
    fold(word): number for number, line in enumerate(_CLASSES.strip().splitlines()) for word in line.split()
}
"""Tools of which one is used for one thing: the number tells the class."""
SAME = {
    "postgres": "postgresql",
    "code": "vscode",
    "colour": "color",
    "favourite": "favorite",
    "licence": "license",
    "golang": "go",
}
SETTLED = _set(
    "postgresql postgres mysql mariadb sqlite mongodb mit apache gpl bsd github gitlab bitbucket gitea slack teams discord mattermost windows macos linux ubuntu debian fedora arch bash zsh fish powershell chrome firefox safari edge brave vivaldi"
)
"""Of these, one person uses several side by side; a project, or whoever prefers, has one."""
LANGUAGES = _set(
    "javascript typescript python java kotlin swift rust go golang ruby php perl scala elixir haskell cobol fortran c# c++"
)
"""Programming languages: what a thing is written in."""
WRITTEN = _set(
    "written rewritten implemented coded napisany napisana napisane przepisany przepisana geschrieben umgeschrieben implementiert"
)

_STATES = """
open closed reopened | otwarty otwarta otwarte zamknięty zamknięta zamknięte | offen geschlossen
up down
online offline
enabled disabled | włączony włączona włączone wyłączony wyłączona wyłączone | aktiviert deaktiviert
active inactive | aktywny aktywna nieaktywny nieaktywna | aktiv inaktiv
public private | publiczny publiczna prywatny prywatna | öffentlich privat
single married divorced engaged widowed | żonaty mężatka rozwiedziony rozwiedziona zaręczony zaręczona | ledig verheiratet geschieden verlobt
vegetarian vegan omnivore | wegetarianin wegetarianka wegetarianinem wegetarianką weganin weganka weganinem weganką | vegetarier veganer vegetarierin veganerin
allowed forbidden prohibited permitted | dozwolony dozwolone zabroniony zabronione | erlaubt verboten
available unavailable | dostępny dostępna niedostępny niedostępna | verfügbar
remote hybrid onsite on-site | zdalnie hybrydowo stacjonarnie
full-time part-time
employed unemployed retired
required optional | wymagany wymagane opcjonalny opcjonalne | erforderlich optional
manual automatic
free paid
dark light | ciemny ciemna ciemne jasny jasna jasne | dunkel dunklen dunkle hell hellen helle
blocked unblocked done finished completed in-progress cancelled canceled started | zablokowany zablokowana zablokowane zakończony zakończona zakończone gotowy gotowa gotowe anulowany anulowana rozpoczęty rozpoczęta | blockiert abgeschlossen fertig beendet abgesagt begonnen
red green blue yellow black white
daily weekly biweekly monthly quarterly yearly | codziennie tygodniowo miesięcznie | täglich wöchentlich monatlich jährlich
healthy sick
pregnant
pass fail passing failing
stable unstable
"""
STATES: dict[str, int] = {
    fold(word): 1_000 + number
    for number, line in enumerate(_STATES.strip().splitlines())
    for word in line.replace("|", " ").split()
}
"""States of which a thing has one at a time: the number tells the class. Forms of one word count as one by their stem."""

STATIVE = _set(
    """
is are am be uses use using prefers prefer runs works has have wants mode theme
jest są używa używam używamy korzysta korzystam woli wolę preferuje ma działa
ist sind bin verwendet verwende verwenden nutzt nutze nutzen benutzt bevorzugt hat läuft mag
"""
)
"""Predicates that tell how things are, not what happened."""
USES = _set(
    """
uses use using works codes writes deploys deploy builds build runs tests manages
używa używam używamy korzysta korzystam korzystamy pracuje programuje wdrażamy wdraża budujemy testujemy
verwendet verwende verwenden nutzt nutze nutzen benutzt benutze arbeitet arbeite deployen deployt bauen testen
"""
)
PREFERS = _set(
    "prefers prefer preferred rather over woli wolę preferuje preferuję zamiast bevorzugt bevorzuge zieht ziehe vor lieber gegenüber"
)

MONTHS = {
    fold(word): number
    for number, line in enumerate(
        """
january jan styczeń stycznia januar
february feb luty lutego februar
march mar marzec marca märz
april apr kwiecień kwietnia
may maj maja mai
june jun czerwiec czerwca juni
july jul lipiec lipca juli
august aug sierpień sierpnia
september sep sept wrzesień września
october oct październik października oktober
november nov listopad listopada
december dec grudzień grudnia dezember
""".strip().splitlines(),
        1,
    )
    for word in line.split()
}
WEEKDAYS = {
    fold(word): number
    for number, line in enumerate(
        """
monday mondays poniedziałek poniedziałki poniedziałku montag montags
tuesday tuesdays wtorek wtorki wtorku dienstag dienstags
wednesday wednesdays środa środy środę mittwoch mittwochs
thursday thursdays czwartek czwartki czwartku donnerstag donnerstags
friday fridays piątek piątki piątku freitag freitags
saturday saturdays sobota soboty sobotę samstag samstags sonnabend
sunday sundays niedziela niedziele niedzielę sonntag sonntags
""".strip().splitlines()
    )
    for word in line.split()
}
NUMBERS = {
    fold(word): number
    for number, line in enumerate(
        """
zero null
one jeden jedna jedno jedną eins einen
two dwa dwie dwoje dwóch zwei
three trzy troje trzech drei
four cztery czworo vier
five pięć pięcioro fünf
six sześć sechs
seven siedem sieben
eight osiem acht
nine dziewięć neun
ten dziesięć zehn
eleven jedenaście elf
twelve dwanaście zwölf
""".strip().splitlines()
    )
    for word in line.split()
}
ONES = _set("a an eine einen ein einer")
"""Articles that count as one before a unit."""
UNITS: dict[str, tuple[str, float]] = {
    fold(word): (dimension, factor)
    for dimension, factor, words in (
        ("time", 0.001, "ms millisecond milliseconds milisekund milisekundy millisekunden"),
        ("time", 1.0, "s sec secs second seconds sekunda sekundy sekund sekunde sekunden"),
        ("time", 60.0, "min mins minute minutes minuta minuty minut minuten minutę"),
        ("time", 3_600.0, "h hour hours godzina godziny godzin godzinę stunde stunden"),
        ("time", 86_400.0, "day days dzień dni doba tag tage tagen"),
        ("time", 604_800.0, "week weeks tydzień tygodnie tygodni woche wochen"),
        ("time", 2_629_800.0, "month months miesiąc miesiące miesięcy monat monate monaten"),
        ("time", 31_557_600.0, "year years rok lata lat jahr jahre jahren"),
        ("USD", 1.0, "$ usd dollar dollars dolar dolary dolarów"),
        ("EUR", 1.0, "€ eur euro euros"),
        ("PLN", 1.0, "zł pln złoty złote złotych"),
        ("GBP", 1.0, "£ gbp pound pounds"),
        ("share", 1.0, "% percent percents procent prozent"),
        ("bytes", 1e3, "kb kilobyte kilobytes"),
        ("bytes", 1e6, "mb megabyte megabytes"),
        ("bytes", 1e9, "gb gigabyte gigabytes"),
        ("bytes", 1e12, "tb terabyte terabytes"),
        ("length", 0.01, "cm"),
        ("length", 1.0, "m meter meters metre metres metr metry metrów"),
        ("length", 1_000.0, "km kilometer kilometers kilometre kilometres kilometr kilometry kilometrów"),
        ("weight", 1.0, "kg kilo kilos kilogram kilogramów kilogramm"),
    )
    for word in words.split()
}
