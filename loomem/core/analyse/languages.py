"""Languages: what marks a text as written in one, which words say nothing in it, and its stems. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable
from enum import StrEnum

import Stemmer

from loomem.core.analyse.characters import fold


class Language(StrEnum):
    """A language with a stemmer, by its code (ISO 639-1). Those in Latin letters come first."""

    ENGLISH = "en"
    GERMAN = "de"
    POLISH = "pl"
    FRENCH = "fr"
    SPANISH = "es"
    ITALIAN = "it"
    PORTUGUESE = "pt"
    DUTCH = "nl"
    SWEDISH = "sv"
    DANISH = "da"
    NORWEGIAN = "no"
    FINNISH = "fi"
    CZECH = "cs"
    HUNGARIAN = "hu"
    ROMANIAN = "ro"
    TURKISH = "tr"
    INDONESIAN = "id"
    RUSSIAN = "ru"
    GREEK = "el"
    ARABIC = "ar"
    PERSIAN = "fa"
    HINDI = "hi"
    TAMIL = "ta"
    ARMENIAN = "hy"


_WORDS = {
    Language.ENGLISH: "a about after all also am an and any are as at be because been before being but by can could did do does doing down each few for from further had has have having he her here hers him his how i if in into is it its just me more most my no nor not now of off on once only or other our out over own same she should so some such than that the their them then there these they this those through to too under until up us very was we were what when where which while who whom why will with would you your yours don t dont didn didnt doesn doesnt isn isnt wasn wasnt aren won couldn wouldn shouldn hasn haven",
    Language.GERMAN: "aber alle als also am an auch auf aus bei beim bin bis bist da dadurch daher damit dann das dass dein dem den der des dessen die dies diese dieser dieses doch dort du durch ein eine einem einen einer eines er es euer für hat hatte hatten hier ich ihr ihre im in ins ist ja jede jeder jedes kann kein keine können man mein mich mir mit nach nicht noch nur ob oder ohne sehr sein seine sich sie sind so soll über um und uns unser unter vom von vor wann war waren warum was weil welche welcher welches wenn wer werden wie wieder wir wird wo wurde wurden zu zum zur",
    Language.POLISH: "a aby ale ani bardzo bez bo być był była było byli byłam byłem by co czy czyli dla do dlaczego gdy gdzie go i ich ile im ja jak jaka jaki jakie je jednak jego jej jest jestem już każdy kiedy kto która które którego której który którzy ma mam mamy mi mnie moja moje może mój mu my na nad nam nas nasz nasze nie nich nim niż o od on ona one oni oraz po pod podczas przed przez przy są się swoje ta tak także tam te tego tej ten też to tu tutaj tych tylko tym u w we więc wszystko z za ze że żeby",
    Language.FRENCH: "à au aux avec c ce ces cet cette comme d dans de des donc du elle elles en est et été être eu il ils j je l la le les leur leurs lui m ma mais me même mes moi mon n ne nos notre nous on ont ou où par pas pour pourquoi qu quand que quel quelle quelles quels qui s sa sans se sera ses si son sont sur t ta te tes toi ton tu un une vos votre vous y",
    Language.SPANISH: "a al algo como con cual cuál cuando cuándo de del desde donde dónde e el él ella ellas ellos en entre era es esa ese eso esta está están este esto fue ha han hasta hay la las le les lo los más me mi mis mucho muy nada ni no nos nuestra nuestro o os otra otro para pero por porque qué que quien quién se ser si sí sin sobre son su sus también te tiene tu tus un una uno y ya yo",
    Language.ITALIAN: "a ad al alla alle anche c che chi ci come con cosa da dal dalla dei del della delle dello di dove e è ed era fra gli ha hanno i il in io l la le lei li lo loro lui ma mi mia mio ne nei nel nella noi non nostra nostro o per perché più quale quando quanto quella quello questa questo se si sia sono su sua sul sulla suo tra tu un una uno vi voi",
    Language.PORTUGUESE: "a ao aos as às até com como da das de dela dele do dos e é ela ele eles em entre era essa esse esta está este eu foi foram há isso isto já lhe mais mas me mesmo meu minha muito na não nas nem no nos nós o onde os ou para pela pelo por porque quais qual quando que quem se sem ser seu seus só sua suas também te tem um uma você",
    Language.DUTCH: "aan al als bij dan dat de der deze die dit door een en er ge geen had heb hebben heeft hem het hier hij hoe hun ik in is je kan maar me meer met mij mijn na naar niet nog nu of om omdat ons onze ook op over te tegen toch toen tot u uit van veel voor waar waarom wanneer was wat we wel werd wie wij wordt zal ze zich zij zijn zo zonder",
    Language.SWEDISH: "alla att av blev bli de dem den denna det detta dig din du där efter ej eller en ett från för ha hade han har hon honom hur här i icke inte jag kan man med men mig min mot mycket när och om oss på sedan sin själv ska skulle som så till under upp ut vad var varför vara vem vi vid vilken är över",
    Language.DANISH: "af alle at blev både da de dem den denne der deres det dette dig din dog du efter eller en er et for fra ham han har havde hende her hos hun hvad hvem hver hvis hvor hvorfor hvornår i ikke ind jeg kan kun man med meget men mig min mod når og også om op os over på sig sin skal skulle som til ud under var ved vi vil være",
    Language.NORWEGIAN: "alle at av begge ble da de deg dem den denne der deres det dette din du eller en er et etter for fordi fra før ha hadde han har henne her hun hva hvem hver hvis hvor hvorfor i ikke inn jeg kan med meg men mer min mot mye når nå og også om opp oss over på seg sin skal skulle som så til under ut var ved vi vil være",
    Language.FINNISH: "ei eivät ettei että hän he ja jo joka jos jotka kanssa kuin kuinka kun me meidän mikä miksi minun minä missä mitä mukaan mutta myös ne niin nyt oli olen olet olivat on ovat se sekä sen siitä sinä sitten tai te tämä tässä vain voi",
    Language.CZECH: "a aby ale ani asi až bez bude by byl byla byli bylo být co což další do ho i já jak jako je jeho jejich jen ještě ji již jsem jsme jsou k kde kdo kdy když která které který má mám mezi mi mne mu na nad nebo není než o od on pak po pod podle pokud pro proč protože při s se si tak také tato tedy ten této to tom tu už v ve však z za že",
    Language.HUNGARIAN: "a az be csak de egy el én és ez ezt fel ha hogy hol is itt jó kell ki le lehet lesz meg mert mi miért mikor mint már még mit most nagyon nem nincs ő ott össze pedig s sem szerint te tehát több úgy új vagy van volt",
    Language.ROMANIAN: "a acest această ai al ale am ar are au ca că când care ce cea cei cel cele chiar cine cu cum da dacă de deci decât din după e ea ei el este eu fi fie fost iar îi îl în însă la lor lui mai ne nici nu o ori pe pentru prin sa să sale sau se și sunt un unde unei unui va",
    Language.TURKISH: "ama bana ben beni bir biz bu bunu çok da daha de değil diye gibi hangi hem her için ile ise kadar ki kim mı mi mu mü nasıl ne neden nerede niçin o olan olarak oldu olduğu onlar onu sen siz sonra şey şu ve veya ya yani zaman",
    Language.INDONESIAN: "ada adalah agar akan aku anda apa atau bagaimana bahwa bisa dalam dan dapat dari dengan di dia ini itu jika juga kami kamu kapan karena ke kepada kita lebih mana mengapa mereka oleh pada para saat saja sangat saya sebagai sebuah serta siapa sudah telah tidak untuk yang",
    Language.RUSSIAN: "а без более бы был была были было быть в вам вас ваш во вот все всё вы где да для до его ее её если есть еще ещё же за здесь и из или им их к как какая какие какой когда которая которые который кто ли меня мне мой моя мы на над нам нас наш не него нее нет ни них но о об он она они оно от очень по под после при про с сам свой себя со так также там тебя то тоже только том ты у уже чего чем что чтобы эта эти это этот я",
    Language.GREEK: "αλλά αν από αυτή αυτό αυτός για δεν εγώ είναι εκεί εμείς ένα ένας εσύ έχει η ή θα και κατά με μετά μέχρι μη μια μου να ο οι όμως όπως όταν ότι που ποιος ποιο πολύ πού πότε πώς σας σε σου στα στη στην στις στο στον στους τα τη την της τι τις το τον του τους των ως",
    Language.ARABIC: "إلى أن أنا أنت أو أي أين إذا إن الذي التي الى ان او اي بعد بين تم ثم حتى حول ذلك عام عن عند على عليه علي غير فإن في فيه فيها قبل قد كان كانت كل كم كما كيف لا لكن لم لماذا له لها ليس ما مع من منذ منه منها متى نحن هذا هذه هل هم هنا هناك هو هي و وقد ولا يا",
    Language.PERSIAN: "آن آنها از است این اگر اما او با باید بر برای بود به بی تا چرا چه خود در را شد شده شما کجا کرد که کی ما من می نیست هر هم همه های هایی و یا یک",
    Language.HINDI: "अपने इस उस एक ऐसे और कब कर करने का कि किया किस की कुछ के को कौन क्या क्यों जब जो तक तो था थी थे नहीं ने पर भी मुझे में मैं यह या ये रहा रहे लिए वह वे से हम है हैं हो",
}  # fmt: skip
"""Words without content: evidence of a language, and of little weight in a question."""

_LETTERS = {
    Language.GERMAN: "äöüß",
    Language.POLISH: "ąćęłńóśźż",
    Language.FRENCH: "àâçèéêëîïôùûœ",
    Language.SPANISH: "áéíñóú",
    Language.ITALIAN: "àèéìòù",
    Language.PORTUGUESE: "áâãçéêíóõú",
    Language.DUTCH: "ëï",
    Language.SWEDISH: "åäö",
    Language.DANISH: "åæø",
    Language.NORWEGIAN: "åæø",
    Language.FINNISH: "äö",
    Language.CZECH: "áčďéěíňóřšťúůýž",
    Language.HUNGARIAN: "áéíóöőúüű",
    Language.ROMANIAN: "ăâîșşțţ",
    Language.TURKISH: "çğıöşü",
}
_ALGORITHMS = {
    Language.ENGLISH: "english",
    Language.GERMAN: "german",
    Language.POLISH: "polish",
    Language.FRENCH: "french",
    Language.SPANISH: "spanish",
    Language.ITALIAN: "italian",
    Language.PORTUGUESE: "portuguese",
    Language.DUTCH: "dutch",
    Language.SWEDISH: "swedish",
    Language.DANISH: "danish",
    Language.NORWEGIAN: "norwegian",
    Language.FINNISH: "finnish",
    Language.CZECH: "czech",
    Language.HUNGARIAN: "hungarian",
    Language.ROMANIAN: "romanian",
    Language.TURKISH: "turkish",
    Language.INDONESIAN: "indonesian",
    Language.RUSSIAN: "russian",
    Language.GREEK: "greek",
    Language.ARABIC: "arabic",
    Language.PERSIAN: "persian",
    Language.HINDI: "hindi",
    Language.TAMIL: "tamil",
    Language.ARMENIAN: "armenian",
}
LATIN = tuple(Language)[: tuple(Language).index(Language.RUSSIAN)]
"""Languages between which only the words of a text decide; in the order that settles ties."""
_SCRIPTS = (
    (0x0370, 0x0400, Language.GREEK),
    (0x0400, 0x0530, Language.RUSSIAN),
    (0x0530, 0x0590, Language.ARMENIAN),
    (0x0600, 0x0780, Language.ARABIC),
    (0x0900, 0x0980, Language.HINDI),
    (0x0B80, 0x0C00, Language.TAMIL),
    (0x1F00, 0x2000, Language.GREEK),
)
_PERSIAN_LETTERS = frozenset("پچژگکی")
_NO_WORD = re.compile(r"[0-9._\-/:@'#+&=?\\~%,]")
"""In what has one of these, an ending is no inflection."""
_NEAR = 0.75
"""A second language with this share of the first one's evidence is as likely."""
_LATIN_END = 0x0250

_ELISIONS = frozenset("cdjlmnst")
"""French before an apostrophe, but also `don't`, drive `C:` and the names of variables."""

Votes = tuple[tuple[Language, int], ...]


def _stop_words() -> dict[str, set[Language]]:
    found: dict[str, set[Language]] = {}
    for language, words in _WORDS.items():
        for word in words.split():
            for form in (word, fold(word)):
                found.setdefault(form, set()).add(language)
    return found


_STOPS = _stop_words()
_BY_LETTER = {
    letter: tuple(language for language, letters in _LETTERS.items() if letter in letters)
    for letter in frozenset("".join(_LETTERS.values()))
}


def is_stop(word: str, languages: Iterable[Language]) -> bool:
    """Say whether a word, folded or not, has no content in one of some languages."""
    found = _STOPS.get(word)
    return found is not None and not found.isdisjoint(languages)


def votes(word: str) -> Votes:
    """Return for which of the languages in Latin letters a word speaks, and how much."""
    if word in _ELISIONS:
        return ()
    found: dict[Language, int] = {}
    for language in _STOPS.get(word, ()):
        found[language] = 2
    if not word.isascii():
        for letter in set(word):
            for language in _BY_LETTER.get(letter, ()):
                found[language] = found.get(language, 0) + 1
    return tuple(found.items())


def guess(counts: dict[Language, int]) -> tuple[Language, ...]:
    """Return the language, or the two, that the votes of a text speak for; English when none does."""
    best = max((counts.get(language, 0) for language in LATIN), default=0)
    if not best:
        return (Language.ENGLISH,)
    near = [language for language in LATIN if counts.get(language, 0) >= best * _NEAR]
    near.sort(key=lambda language: -counts.get(language, 0))
    return tuple(near[:2])


class Stems:
    """The stemmers, made when first needed. Not for two threads at a time, as the stemmers are not."""

    def __init__(self) -> None:
        self._stemmers: dict[Language, Stemmer.Stemmer] = {}

    def of(self, word: str, latin: tuple[Language, ...]) -> tuple[str, ...]:
        """Return the folded stems of a word as its script, or each of some languages in Latin letters, has it.

        A word without accents is also stemmed as English, whose words stand in every language's texts; one with accents also
        without them, as somebody may type it. The word itself when there is no stem.
        """
        if _NO_WORD.search(word):
            return (fold(word),)
        if word.isascii():
            stems = [self._stemmer(language).stemWord(word) for language in latin]
            if Language.ENGLISH not in latin:
                stems.append(self._stemmer(Language.ENGLISH).stemWord(word))
            return (stems[0],) if len(stems) == 1 else tuple(dict.fromkeys(stems))
        folded = fold(word)
        languages = latin if ord(word[0]) < _LATIN_END else _languages_of_script(word)
        found: dict[str, None] = {}
        for language in languages:
            stemmer = self._stemmer(language)
            found[fold(stemmer.stemWord(word))] = None
            if folded != word:
                found[fold(stemmer.stemWord(folded))] = None
        found.pop("", None)
        return tuple(found) or (folded,)

    def _stemmer(self, language: Language) -> Stemmer.Stemmer:
        stemmer = self._stemmers.get(language)
        if stemmer is None:
            stemmer = self._stemmers[language] = Stemmer.Stemmer(_ALGORITHMS[language])
        return stemmer


def _languages_of_script(word: str) -> tuple[Language, ...]:
    code = ord(word[0])
    for low, high, language in _SCRIPTS:
        if low <= code < high:
            persian = language is Language.ARABIC and not _PERSIAN_LETTERS.isdisjoint(word)
            return (Language.PERSIAN,) if persian else (language,)
    return ()
