"""What in a sentence speaks for a fact, and what against: words of English, Polish and German, a few of other languages. Pure.

The patterns are read against the sentence in small letters (NFC). They name kinds of speech (a choice, a rule, a state, a
property of somebody), not subjects; which of them count for a sentence depends on the language it is in.
"""

from __future__ import annotations

import re

import msgspec

from loomem.core.analyse.languages import Language
from loomem.core.knowledge import FactType


class Signs(msgspec.Struct, frozen=True, kw_only=True):
    """The patterns of one language."""

    kinds: tuple[tuple[FactType, re.Pattern[str]], ...]
    """Which words speak for which kind, the most telling first."""
    first: re.Pattern[str]
    """Somebody speaks of themselves or of their own."""
    past: re.Pattern[str]
    """Somebody did something."""
    doubt: re.Pattern[str]
    """Nobody is sure, or it is only wished for."""
    task: re.Pattern[str]
    """Something is to be done, or somebody is asked to do it."""
    standing: re.Pattern[str]
    """What is asked for holds from now on: a preference, though it sounds like a task."""
    talk: re.Pattern[str]
    """Greetings, thanks, exclamations; at the beginning of a sentence."""
    trouble: re.Pattern[str]
    """Something is being debugged."""
    feeling: re.Pattern[str]
    """Praise, encouragement, thanks, and what is true of everybody: nobody learns anything of anybody."""
    leaning: re.Pattern[str]
    """A sentence that begins so says little without the one before."""
    commitment: re.Pattern[str]
    """An assistant recommends, has done or has found out something."""


def _any(*words: str) -> re.Pattern[str]:
    return re.compile(rf"\b(?:{'|'.join(words)})")


def _begins(*words: str) -> re.Pattern[str]:
    return re.compile(rf"(?:{'|'.join(words)})(?!\w)")


_P, _S, _F, _X = FactType.PREFERENCE, FactType.PROJECT_STATE, FactType.FACT, FactType.EXPERIENCE

ENGLISH = Signs(
    kinds=(
        (_X, _any(r"every time (?:we|i|you)\b",
            r"lessons?\b", r"(?:learned|learnt|realised|realized|found out|discovered) (?:that|the hard way|never|always|to)\b",
            r"turn(?:s|ed) out\b", r"rules? of thumb", r"best practice", r"anti-?pattern", r"the trick (?:is|was)", r"root cause (?:is|was)",
            r"(?:bit|burned|burnt|cost|saved) (?:us|me)\b", r"the (?:fix|cause|culprit|timeout|problem|bug|error) (?:was|came|comes)\b",
            r"never [a-z]+ (?!had|been|heard|seen|thought|liked)\w+", r"works best\b", r"make sure to\b", r"pays off\b", r"^avoid\b", r"beware\b",
            r"^(?:when|if|whenever) you .+,", r"^always [a-z]+ ", r"watch out for\b",
        )),
        (_P, _any(r"ended up (?:with|going|choosing|picking|buying|using|taking)\b", r"(?:hard rule|deal-?breaker|non-negotiable)\b", r"my (?:only )?rule\b",
            r"prefers?\b", r"preferred\b", r"favou?rites?\b", r"(?:i|we|he|she|they|i'd|we'd) (?:(?:really|much|also|absolutely|just|still|all|both|do|would) )*"
            r"(?:love|loves|hate|hates|like|likes|enjoy|enjoys|dislike|dislikes|adore|adores)\b(?! (?:to (?:know|see|hear|ask)|it|that|this|these|those|them|you|your|how|the idea|the sound)\b)",
            r"(?:don't|doesn't|do not|does not|never) (?:really )?(?:like|eat|drink|enjoy|want|use)\b", r"rather\b (?!than)", r"(?:can't|cannot|can not) (?:stand|bear|work with)\b",
            r"(?:i|we|team|they|he|she|company|board|i've|we've|i'm|we're)(?: \w+)? (?:decided|chose|chosen|opted|agreed|settled|picked|went with|switched|switching|moved away|sticking|stick|keeping|standardi[sz]ed)\b",
            r"(?:bought|picked|took|chose|got|use|using|went) .+ (?:instead of|over|rather than)\b", r"a (?:big |huge )?fan of\b", r"from now on\b", r"going forward\b",
            r"always (?:want|wants|use|uses|order|orders|drink|drinks|prefer|buy|buys)\b", r"i (?:want|need) (?:all|every|my|the)\b.+\b(?:in|as|to be)\b", r"go with\b .+ (?:instead|over|rather)",
        )),
        (_S, _any(r"(?:is|are|was|were) (?:scheduled|planned|set|due|booked) (?:for|on|to)\b", r"(?:starts?|begins?|opens?|closes?|ends?) (?:on|at|in)\b", r"phase (?:\w+) ", r"takes place\b", r"(?:is|are) (?:done|finished|complete|completed|merged|live)\b.+\b(?:next|then|now|starts?|remains?|left)\b",
            r"(?:working|work) on (?!it\b|that\b)", r"deadlines?\b", r"due (?:on|by|date)\b", r"blocked\b", r"sprint\b", r"milestone", r"in progress\b",
            r"(?:release|launch|rollout|migration|deployment|cutover)\b.+\b(?:is|has|was|are|in|on|slipped|planned|scheduled|moved)\b",
            r"currently\b", r"right now (?:i'm|we're)\b", r"halfway\b", r"(?:re)?writing (?:our|my|the|a)\b", r"migrating\b", r"porting\b", r"building (?:a|an|our|my)\b",
            r"(?:is|are) left\b.+\bbefore\b", r"remaining\b", r"slipped\b", r"(?:is|are|been) (?:red|broken|down|flaky|failing|green) since\b", r"been \w+ since\b",
            r"(?:runs|run|running|deployed|hosted) (?:on|in|at)\b", r"(?:we|i)(?:'re| are| am|'m)? us(?:e|ing) ", r"our stack\b", r"waiting (?:for|on) (?:the|our|legal|a)\b", r"on track\b", r"behind schedule",
        )),
        (_F, _any(r"(?:coordinates|leads|manages|heads|oversees|is responsible for|is in charge of|takes care of|handles)\b", r"(?:my|our) [\w'-]+ \w+ed\b",
            r"(?:my|our) (?:[\w'-]+ ){1,4}(?:is|are|was|were|has|have|had|lives?|works?|goes|starts?|plays?|studies|wants?|loves?|likes?|hates?|called|speaks?|runs|owns|moved|got|needs|can't|can|used|sits|turns)\b",
            r"my (?:name|birthday|phone|email|address)\b", r"i(?:'m| am) (?:also )?(?:an?|the|from|in|at|on|\d+|allergic|vegan|vegetarian|lactose|gluten|diabetic|pregnant|married|single|divorced|left-handed|colou?r-?blind|deaf|blind|based|originally|fluent|responsible)\b",
            r"(?:i|we|he|she|they)(?:'ve got| have got| have| has|'ve) (?:an?|two|three|four|five|six|\d+|no|both|twins|kids|children|been \w+ing)\b(?! (?:question|problem|feeling|idea|look|minute|clue|hunch|bug|error|few))",
            r"(?:i|we|he|she|they) (?:\w+ )?(?:lives?|lived|works?|worked|stud(?:y|ies|ied)|speaks?|plays?|teach(?:es)?|owns?|grew up|was born|were born|runs?|suffers?|comes? from|come from|drives?|volunteers?|collects?|graduated) ",
            r"(?:i|we) (?:\w+ )?(?:use|uses|need|needs) (?:an?|my|our)\b", r"(?:is|are|was) (?:called|named|born|allergic|intolerant|married|engaged)\b", r"(?:her|his|their) name is\b", r"(?:he|she)(?:'s| is) (?:\w+ years old|\w+[.!]?$|an?\b|the\b)",
            r"(?:contact|reach)\b.+(?:\[(?:email|phone)\]|@|\d{3})", r"reach (?:me|him|her|us|our|my)\b", r"used to (?:be|work|live|play|have)\b", r"(?:is|are|located|lives?|sits) (?:at|on|in|next to|near) ",
        )),
    ),
    first=_any(r"i\b", r"i'(?:m|ve|d|ll)\b", r"my\b", r"we\b", r"we'(?:re|ve|d)\b", r"our\b", r"me\b", r"us\b"),
    past=_any(
        r"(?:i|we|he|she|they|who|and|team|kids|wife|husband|son|daughter|mom|mum|dad|i've|we've|just|have|has|had|also|finally|recently|already|actually) (?:\w+ly )?(?:just )?"
        r"(?:\w{2,}ed|was|were|went|got|had|ran|made|took|bought|came|saw|met|began|started|left|found|gave|won|lost|wrote|built|sold|told|spent|taught|quit|flew|drove|ate|read|sang|held|became|put|set|sent|broke|fell|felt|did|been|done|gone|seen|taken|given|written|broken|joined|painted)\b",
        r"(?:took place|happened|passed away|was born|arrived|opened|closed|launched|shipped|won|signed)\b",
    ),
    doubt=_any(r"i bet\b", r"(?:wondering|wondered)\b", r"\bif (?:we|i|they|he|she|you|only)\b.+(?:'d|would|could)\b", r"(?:people|they|some)(?: \w+)? say\b", r"supposed to\b", r"apparently\b", r"allegedly\b", r"rumou?r", r"wish (?:i|we)\b", r"i suppose\b", r"must have\b",
        r"maybe\b", r"perhaps\b", r"probably\b", r"possibly\b", r"might\b", r"not sure\b", r"unsure\b", r"no idea\b", r"don't know\b", r"dunno\b", r"i guess\b", r"i wonder\b", r"could be\b",
        r"who knows\b", r"i think (?:it|we|i|that|the|this|so)\b", r"seems? (?:like|to be)\b", r"hopefully\b", r"would be (?:nice|great|cool)\b", r"considering\b", r"i'd (?:love|like) to\b", r"if only\b", r"not certain\b", r"i hope\b", r"hmm\b", r"let me know\b",
    ),
    task=_any(
        r"(?:we|i|you) (?:should|need to|must|have to|ought to|could)\b", r"todo\b", r"to-do\b", r"let's\b", r"let us\b", r"remind me\b", r"can you\b", r"could you\b", r"would you\b", r"please\b", r"i'll\b", r"we'll\b",
        r"i will\b", r"gonna\b", r"going to\b", r"don't forget\b", r"i want to\b", r"we want to\b", r"i'd like\b", r"i need (?:to|help|you)\b", r"(?:tell|show|give|help) me\b",
    ),
    standing=_any(
        r"(?:don't|do not|never|always) (?:use|write|add|put|give|start|include|call|send|answer|reply|commit|say)\b", r"from now on\b", r"in (?:the )?future\b", r"i (?:prefer|hate|can't stand|don't like|always want)\b", r"keep (?:your|answers|lines|replies|responses)\b", r"going forward\b",
    ),
    talk=_begins(
        r"hi", r"hey", r"hello", r"good (?:morning|evening|afternoon|night|luck)", r"thanks?(?: you)?", r"cheers", r"ok(?:ay)?", r"sure", r"wow", r"great", r"perfect", r"awesome", r"amazing", r"nice", r"cool", r"congrat\w*",
        r"bye", r"see you", r"take care", r"sorry", r"lol", r"haha\w*", r"ugh", r"argh", r"yes", r"no", r"yeah", r"yep", r"nope", r"oh", r"that's (?:great|awesome|amazing|wonderful|so|nice|cool|really|awful|too)", r"so (?:glad|happy|proud|close|cool)", r"you rock", r"well done", r"sounds (?:good|great|like)", r"absolutely", r"definitely", r"exactly", r"glad", r"hope", r"looking forward",
    ),
    trouble=_any(r"(?:restarted|rebooted|reinstalled|cleared) ", r"it (?:just )?hangs\b", r"in the logs?\b", r"(?:doesn't|does not|didn't|not|isn't) (?:work|scroll|load|build|compile|start|respond)", r"nothing happen", r"crashe[ds] again", r"it says\b", r"stack ?trace", r"error message", r"again$", r"i (?:clicked|tried|restarted|ran it|re-?ran)\b", r"still (?:fails|failing|broken|not)\b"),
    feeling=_any(
        r"(?:so|truly|really|super|very|incredibly) (?:grateful|thankful|proud|happy|glad|excited|important|inspiring|special|rewarding|amazing|cool|awesome|good)\b", r"means (?:a lot|a ton|so much|the world)", r"keep (?:it up|going|pushing|at it|up the|on)\b", r"never (?:give up|say never|stop|saw this)\b",
        r"you(?:'re| are) (?:doing|making|such|an?\b|right|so|really|awesome|amazing|the best|welcome)", r"it(?:'s| is) (?:amazing|awesome|incredible|great|wonderful|crazy) (?:how|what|that|to)\b", r"(?:is|are) (?:so |really |super |very )?(?:important|key|everything|priceless|worth it|what matters)\b",
        r"(?:fingers crossed|crossing my fingers)", r"stoked\b", r"(?:inspir|motivat)(?:e|es|ed|ing) (?:me|you|us|others|people)\b", r"your (?:words|support|kind|encouragement)\b", r"believe in (?:you|your|my|our)", r"proud of (?:you|us|me|myself)\b", r"(?:made|makes|make) (?:me|us) (?:so |really )?(?:feel|happy|smile|proud)\b", r"grateful for\b", r"thankful for\b", r"make a difference", r"stay(?:ing)? (?:positive|strong|focused|motivated)", r"can't wait\b", r"got this\b",
    ),
    leaning=_begins(r"it", r"it's", r"its", r"that", r"that's", r"this", r"they", r"they're", r"these", r"those", r"he", r"he's", r"she", r"she's", r"his", r"her", r"their", r"there", r"both", r"which", r"because", r"so", r"but", r"and", r"then", r"fewer", r"still"),
    commitment=_any(
        r"i(?:'d| would)? (?:strongly )?(?:recommend|suggest|advise)\b", r"my recommendation\b", r"i(?:'ve| have)? (?:just )?(?:booked|created|scheduled|reserved|ordered|sent|set up|added|updated|fixed|deployed|cancelled|canceled|moved|rescheduled|prepared|planned|looked into|checked|found|researched|compared|measured|tested|written|wrote|built|made|arranged|drafted)\b",
        r"we agreed\b", r"the plan is\b",
    ),
)  # fmt: skip

POLISH = Signs(
    kinds=(
        (_X, _any(r"za każdym razem",
            r"lekcj\w+", r"nauczy(?:łem|łam|liśmy|łyśmy|ło) (?:się|nas|mnie)", r"okaza(?:ło|ł|ła) się", r"sprawdzon\w+", r"sprawdza się", r"unikaj\w*", r"nigdy nie \w+(?:cie|jcie|aj|uj|my)\b", r"nigdy więcej", r"(?:mamy|taka|nasza|moja) zasad\w+",
            r"zasada(?: \w+)?:", r"wniosek", r"wnioski", r"najlepiej (?!lubi)", r"pamiętaj\w*", r"kosztowa(?:ło|ł|ła|ły) (?:nas|mnie)", r"przyczyn\w+ (?:był|okazał)", r"dobra praktyka", r"strategi\w+", r"problemem (?:był|była|było)", r"(?:^|, )(?:więc )?trzeba (?:je|go|ją|to|zawsze)\b",
        )),
        (_P, _any(r"(?:w końcu|ostatecznie) (?:\w+ )?(?:stanęło|padło|wzięliśmy|wybraliśmy) ?", r"to u mnie\b", r"moja zasada\b",
            r"wol(?:ę|i|imy|ą|ał|ała)\b", r"prefer\w+", r"(?:nie )?lubi(?:ę|my|ą)?\b(?! (?:to|ten|tę|te|cię|was)\b)", r"uwielbia(?:m|my|ją)?\b(?! (?:to|ten|ta|tę|te|cię|was|jak)\b)", r"nie (?:znoszę|cierpię|trawię|używa\w+|jem|jemy|piję)\b", r"nienawidz\w+", r"kocham\b", r"ulubion\w+", r"zdecydowa\w+", r"postanowi\w+", r"wybra(?:łem|łam|liśmy|łyśmy|ł|ła|li|no)\b", r"zamiast\b",
            r"od (?:teraz|dziś|dzisiaj|jutra)\b", r"umówi(?:liśmy|łyśmy) się", r"ustali(?:liśmy|łyśmy)\b", r"przesi(?:adł|adłam|adłem|edliśmy)\w*", r"przeszliśmy na\b", r"zosta(?:jemy|ję|ło|liśmy) przy\b", r"zawsze (?:chcę|używam|piszę|biorę|wybieram|zamawiam|piję)\b", r"jestem (?:fan\w+|zwolenni\w+)", r"polecam\b", r"sugeruję\b",
        )),
        (_S, _any(r"zaplanowan\w+", r"(?:rusza|startuje|zaczyna się|rozpoczyna się|odbędzie się|wypada)\b", r"etap\w*", r"faz(?:a|ę|y)\b",
            r"termin\w*", r"deadline\w*", r"wdroż\w+", r"wydani\w+ (?:wersji|\d)", r"sprint\w*", r"zablokowan\w+", r"pracuj(?:ę|emy|e|ą) nad\b", r"obecnie\b", r"aktualnie\b", r"(?:zosta|pozosta)(?:ło|ły|ł|ła|je|ją) (?:nam|jeszcze|tylko|do)\b", r"brakuje (?:nam|jeszcze|tylko)", r"przesun\w+", r"migr(?:acj|uj)\w+", r"przepisuj\w+",
            r"kończy(?:my)? się\b", r"(?:backend|frontend|front|serwer|produkcja|klaster)\w* (?:jest|działa|stoi|chodzi)\b", r"od (?:aktualizacji|wczoraj|migracji|tygodnia)\b", r"czeka(?:my|m) na\b", r"w trakcie\b", r"(?:jest|są) (?:czerwon|w budowie|gotow)\w+", r"na produkcji\b", r"budujemy\b", r"buduję\b", r"piszę (?:teraz|właśnie)\b", r"używamy\b",
        )),
        (_F, _any(r"(?:koordynuje|prowadzi|zarządza|odpowiada za|kieruje|zajmuje się)\b",
            r"(?:mój|moja|moje|moi|moim|moją|mojego|mojej|nasz|nasza|nasze|nasi|naszą|naszym|naszego|naszej) (?:[\w-]+ ){1,4}(?:jest|są|był|była|było|ma|mają|mieszka|pracuje|chodzi|stoi|nazywa|uwielbia|lubi|uczy|studiuje|urodzi\w+|też|przeni\w+|siedzi|gra|chce|leży|mieści)\b",
            r"(?:nasz|nasze|naszą|mój|moja|moje) \w+ (?:przenieśli|przeniesiono|stoi|leży)", r"(?<!nie )mam (?!nadziej|pytani|problem|wrażeni|dość|pomysł|ochot|zamiar|na myśli|racj|wątpliw|dla|to\b|go\b)\w+", r"mamy (?:dwoje|dwóch|dwie|troje|trzy|psa|kota|syna|córk|dom|mieszkani)\w*", r"(?<!nie )jestem (?!pewn|pewien|za\b|w stanie|ciekaw|zadowol|gotow|zmęczon|przekonan|szczęśliw)\w+",
            r"mieszka(?:m|my|ł|ła)?\b", r"pracuj(?:ę|e|emy) (?:jako|w|dla|na|u)\b", r"ma na imię", r"nazywa(?:m|ł)? się\b", r"wabi się\b", r"urodzi(?:ł|ła|łem|łam)\w*", r"pochodz(?:ę|i|imy)\b", r"wychowa(?:łem|łam|ł|ła)\b", r"uczuleni\w+", r"alergi\w+", r"nie toleruj(?:ę|e|emy)\b", r"kontakt\b.*:?", r"tel\.", r"\[(?:email|phone)\]",
            r"numer (?:telefonu|do)\b", r"adres\b", r"m(?:a|am) \w+ (?:lat|lata|rok)\b", r"(?:poruszam|uczę|opiekuję) się\b", r"mówię po\b", r"studiuj(?:ę|e)\b", r"(?:jest|stoi|leży|mieści się|znajduje się) (?:na|w|we|przy|pod|obok)\b", r"(?:jest|był|była) (?:[a-ząćęłńóśźż]+(?:em|ą|iem))\b",
        )),
    ),
    first=_any(r"ja\b", r"mój\b", r"moj\w{1,3}\b", r"mnie\b", r"mi\b", r"nasz\w{0,4}\b", r"nam\b", r"nas\b", r"mam\b", r"mamy\b", r"jestem\b", r"\w{3,}(?:łem|łam|liśmy|łyśmy)\b", r"\w{2,}(?:ę|emy|imy|amy)\b", r"mieszkam\b", r"\w{3,}am\b"),
    past=_any(r"\w{2,}(?:łem|łam|liśmy|łyśmy)\b", r"\w{3,}(?:ął|ęła|ęli|ał|ała|ali|ił|iła|ili|ył|yła|yli|ało|iło)\b", r"byliśmy\b"),
    doubt=_any(r"zastanawia(?:łam|łem|liśmy)", r"gdyby\w*", r"\w+(?:libyśmy|łybyśmy|łbym|łabym)\b", r"mówi(?:ą|się|, że| się)\b", r"podobno\b", r"ponoć\b", r"rzekomo\b", r"szkoda, że", r"na pewno (?:był|była|było|były)", r"(?<!w )może\b", r"chyba\b", r"pewnie\b", r"prawdopodobnie\b", r"nie wiem\b", r"nie jestem (?:pew\w+)", r"wydaje (?:mi )?się\b", r"zdaje się\b", r"nie mam pojęcia", r"być może\b", r"możliwe\b", r"zobaczymy\b", r"mam nadziej\w+", r"ciekawe,? czy\b", r"zastanawiam się\b", r"chciał(?:bym|abym|byśmy)\b", r"przydał\w+ się\b", r"ewentualnie\b"),
    task=_any(r"(?:trzeba|należy) (?:by\b|będzie\b|sprawdzić|zrobić|napisać|poprawić)", r"powinniśmy\b", r"powinienem\b", r"powinnam\b", r"muszę\b", r"musimy\b", r"przypomnij\b", r"(?:mógłbyś|mogłabyś|możesz)\b", r"proszę\b", r"zrób\w*", r"napisz\b", r"sprawdź\b", r"popraw\b", r"przetłumacz\b", r"todo\b", r"do zrobienia\b", r"nie zapomnij\b", r"zaraz\b", r"chcę (?:\w+ć)\b", r"chodźmy\b", r"wymyśl\b", r"pokaż\b", r"daj\b"),
    standing=_any(r"od (?:teraz|dziś|dzisiaj)\b", r"odpowiadaj\b", r"nie używaj\b", r"zawsze \w+", r"nigdy nie (?:używaj|pisz|dodawaj)", r"nie lubię\b", r"wolę\b", r"na przyszłość\b", r"pisz (?:do mnie|zawsze|krótko|po)\b", r"używaj\b"),
    talk=_begins(r"cześć", r"hej", r"siema", r"dzień dobry", r"dobry wieczór", r"dzięki\w*", r"dziękuję", r"super", r"ok", r"jasne", r"no", r"tak", r"nie", r"ojej", r"ale", r"gratul\w+", r"idealnie", r"świetnie", r"brawo", r"pa", r"do (?:jutra|zobaczenia)", r"trzymaj\w*", r"kurde", r"eh", r"ech", r"haha\w*", r"na razie", r"współczuję", r"powodzenia", r"fajnie", r"miło", r"ojej"),
    trouble=_any(r"(?:zrestart|przeinstal|wyczyści)\w+", r"zawiesza się\b", r"w logu\b", r"w logach\b", r"nie (?:działa|chodzi|wczytuje|kompiluje|buduje|odpala)", r"znowu nie\b", r"wywali(?:ło|ł|ła) się\b", r"wywala\b", r"klikn\w+", r"próbowa\w+", r"wyskakuje\b"),
    feeling=_any(r"tak się cieszę", r"jestem (?:bardzo |taka? )?(?:dumn\w+|wdzięczn\w+|szczęśliw\w+)", r"nie poddawaj", r"trzymam kciuki", r"jesteś (?:super|świetn\w+|niesamowit\w+|najleps\w+)", r"to (?:bardzo |takie |tak )?(?:ważne|piękne|wspaniałe)\b", r"dasz radę", r"tak trzymaj", r"nie mogę się doczekać", r"dziękuję za\b"),
    leaning=_begins(r"to", r"on", r"ona", r"ono", r"oni", r"one", r"jego", r"jej", r"ich", r"ten", r"ta", r"tam", r"więc", r"ale", r"bo", r"i", r"a", r"ma", r"był", r"była", r"było", r"jest", r"są", r"wszystkie", r"każdy"),
    commitment=_any(r"polecam\b", r"rekomenduję\b", r"sugeruję\b", r"radzę\b", r"proponuję\b", r"(?:zarezerwowa|przygotowa|utworzy|stworzy|doda|zaktualizowa|wysła|zapisa|umówi|przełoży|ustawi|zaplanowa|sprawdzi|znalaz|porówna|napisa|poprawi|zamówi)(?:łem|łam|ł|ła)\b", r"znalazłe[mś]\b"),
)  # fmt: skip

GERMAN = Signs(
    kinds=(
        (_X, _any(r"jedes mal,? wenn",
            r"merke\b", r"gelernt\b", r"stellt?e? sich heraus", r"herausgestellt\b", r"faustregel", r"bewährt\b", r"vermeide\w*", r"nie wieder\b", r"niemals\b", r"lektion", r"erkenntnis", r"am besten\b", r"das problem (?:war|lag)", r"(?:ursache|grund|lösung) war\b", r"(?:stunden|tage|tag|wochen|nerven|geld) gekostet", r"wichtig ist,? (?:dass|immer)", r"^immer (?:erst|zuerst)\b", r"backups? immer\b", r"tipp:", r"best practice",
        )),
        (_P, _any(r"(?:am ende|letztlich|schließlich)\b.+\bgeworden\b", r"ist bei (?:mir|uns) (?:gesetzt|regel|pflicht|tabu)\b",
            r"bevorzug\w+", r"lieber\b", r"am liebsten\b", r"lieblings\w+", r"(?:ich|wir|er|sie) (?:\w+ )?(?:mag|mögen|liebe|lieben|hasse|hassen)\b(?! (?:es\b(?!,)|das\b|dies\w*|dich|euch|wie))", r"mag (?:keine?\w*|ich|nicht)\b", r"nicht (?:leiden|ausstehen)\b", r"entschieden\b", r"entschlossen\b", r"(?:haben|habe|hat|wurde)\b.+\b(?:gewählt|ausgewählt|geeinigt)\b", r"(?:an)?statt\b", r"ab (?:sofort|jetzt|heute)\b", r"künftig\b", r"von nun an\b", r"in zukunft\b",
            r"(?:nehme|nutze|verwende|schreibe|trinke|esse|bestelle|kaufe) ich (?:immer|nie|nur)\b", r"ich (?:nehme|nutze|verwende|schreibe|trinke|esse|kaufe) (?:immer|nie|nur|kein\w*)\b", r"umgestiegen\b", r"gewechselt\b", r"bleiben (?:bei|wir)\b", r"fan von\b", r"empfehle\b", r"schlage\b.+\bvor\b", r"geschworen\b", r"ich will (?:immer|keine?\w*)\b",
        )),
        (_S, _any(r"(?:angesetzt|geplant|terminiert)\b", r"(?:beginnt|startet|findet) (?:am|im|statt|um)\b", r"phase \w+", r"findet\b.+\bstatt\b",
            r"(?:abgabe)?frist\w*", r"deadline\w*", r"release\b.+", r"sprint\w*", r"blockiert\b", r"arbeite\w* (?:\w+ )?an\b", r"zurzeit\b", r"zur zeit\b", r"derzeit\b", r"momentan\b", r"aktuell\b", r"gerade dabei\b", r"fehl(?:t|en) (?:\w+ )?(?:noch|nur)\b", r"verschieb(?:t|en) sich\b", r"migr(?:ation|ieren|iert)\w*", r"seit (?:dem|der)\b.+\b(?:ist|sind|läuft|geht)\b", r"endet am\b", r"läuft (?:auf|in|noch)\b", r"warte[nt]? (?:noch )?auf\b", r"umstellung\b",
            r"stichtag", r"abgabe\w* (?:ist|am)\b", r"meilenstein", r"in arbeit\b", r"(?:bauen|baue|schreiben|schreibe) (?:gerade|zurzeit|derzeit)\b", r"nutzen wir\b", r"wir (?:nutzen|verwenden|benutzen)\b", r"ausgerollt\b",
        )),
        (_F, _any(r"(?:koordiniert|leitet|verantwortet|kümmert sich um|betreut|ist zuständig)\b",
            r"(?:mein|meine|meiner|meinem|unser|unsere|unserer|unserem|unseren|meinen) (?:[\w-]+ ){1,4}(?:ist|sind|war|hat|haben|heißt|geht|kommt|steht|liegt|sitzt|wohnt|lebt|arbeitet|spielt|will|mag|kann|studiert|auch|läuft|gehört)\b", r"ich bin (?!mir|nicht sicher|gespannt|froh|dabei|gerade|müde|begeistert|unsicher|dankbar|bereit|fertig)\w+",
            r"ich habe (?:ein|eine|einen|zwei|drei|vier|keine?n?) (?!frage|ahnung|idee|problem|gefühl|lust|zeit|plan|bitte)\w+", r"(?:ich|wir|er|sie) (?:wohn|leb)(?:e|en|t)\b", r"wohn(?:e|en|t) ", r"arbeite[nt]? (?:als|bei|in|für)\b", r"heiß(?:t|e|en)\b", r"geboren\b", r"aufgewachsen\b", r"allergi\w+", r"\w+allergie\b", r"vertrage\b", r"vegetarier\w*", r"vegan\w*", r"ansprechpartner\w*", r"erreichbar\b", r"\[(?:email|phone)\]", r"telefonnummer", r"adresse\b",
            r"(?:liegt|steht|sitzt|befindet sich|ist) (?:an|am|in|im|bei|neben|auf|nahe)\b", r"sitze im\b", r"(?:er|sie) ist \w+[.!]?$", r"spreche\b", r"studier(?:e|t)\b", r"war (?:vorher|früher)\b", r"verheiratet\b", r"komme aus\b", r"stamme aus\b", r"(?:ich|wir) (?:brauche|brauchen) (?:einen|eine|ein)\b",
        )),
    ),
    first=_any(r"ich\b", r"wir\b", r"mein\w{0,2}\b", r"unser\w{0,2}\b", r"mir\b", r"mich\b", r"uns\b"),
    past=_any(r"(?:habe|haben|hat|hatte|hatten)\b.{0,120}\b(?:\w*ge\w{2,}(?:t|en)|\w+iert|(?:be|ver|er|ent|zer|ab|an|auf|unter|über)\w{3,}(?:t|en))\b", r"(?:bin|sind|ist)\b.{0,120}\b\w*ge\w{2,}(?:t|en)\b", r"(?:war|waren|wurde|wurden|ging|kam|fuhr|fand)\b"),
    doubt=_any(r"(?:habe )?mich gefragt\b", r"frage mich\b", r"(?:hätte|hätten|wäre|wären|würde|würden)\b", r"man sagt\b", r"soll(?:en)? ja\b", r"angeblich\b", r"bestimmt\b", r"es heißt\b", r"schade, dass", r"vielleicht\b", r"wahrscheinlich\b", r"vermutlich\b", r"möglicherweise\b", r"eventuell\b", r"evtl\b", r"keine ahnung\b", r"nicht sicher\b", r"weiß (?:ich )?nicht\b", r"ich glaube\b", r"glaube ich\b", r"könnte\b", r"scheint\b", r"hoffentlich\b", r"ich hoffe\b", r"mal sehen\b", r"ob\b.+\b(?:weiß|frage)\b", r"würde (?:gern|ich gern)\w*", r"wohl\b", r"angeblich\b"),
    task=_any(r"(?:wir|ich|du|man) (?:sollten?|sollte|müssen|muss|musst|müsste|könnten?)\b", r"sollten wir\b", r"lass(?:t)? uns\b", r"erinner\w* mich\b", r"kannst du\b", r"könntest du\b", r"bitte\b", r"todo\b", r"vergiss nicht\b", r"ich werde\b", r"ich möchte\b", r"wir möchten\b", r"ich will (?!immer|kein)\w+", r"zeig\w* mir\b", r"hilf mir\b", r"mach mal\b", r"du könntest\b"),
    standing=_any(r"ab (?:sofort|jetzt|heute)\b", r"künftig\b", r"in zukunft\b", r"ich mag\b", r"mag ich\b", r"immer\b", r"niemals\b", r"antworte\b", r"verwende\b", r"benutze\b", r"schreib\w* (?:bitte )?(?:kurz|immer|nie)\b", r"lieber\b", r"von nun an\b"),
    talk=_begins(r"hallo", r"hi", r"moin", r"servus", r"guten (?:morgen|tag|abend)", r"danke\w*", r"vielen dank", r"super", r"ok(?:ay)?", r"klar", r"ja", r"nein", r"toll", r"schön", r"perfekt", r"glückwunsch\w*", r"gratul\w+", r"tschüss", r"bis (?:dann|morgen|bald|später)", r"mach'?s gut", r"viel (?:erfolg|spaß|glück)", r"mist", r"oh", r"ach", r"genau", r"gern\w*", r"endlich", r"jederzeit", r"na", r"haha\w*", r"prima", r"wow"),
    trouble=_any(r"neu (?:gestartet|installiert)\b", r"geleert\b", r"hängt (?:er|sie|es|sich)\b", r"im log\b", r"(?:geht|funktioniert|lädt|startet|baut|läuft) (?:schon wieder |immer noch |wieder )?nicht\b", r"abgestürzt\b", r"stürzt\b.+\bab\b", r"schon wieder\b", r"geklickt\b", r"probiert\b", r"fehlermeldung\b", r"nichts passiert\b"),
    feeling=_any(r"so (?:froh|stolz|dankbar|glücklich|schön)\b", r"dankbar für", r"stolz auf", r"gib nicht auf", r"weiter so\b", r"(?:drücke|drück) (?:dir |euch )?die daumen", r"ist (?:so |sehr |echt )?(?:wichtig|toll|wunderbar)\b(?!,)", r"du bist (?:toll|super|großartig|der beste|die beste)", r"freue? mich (?:so|sehr|für dich|schon|riesig)\b", r"du schaffst das", r"kann es kaum erwarten"),
    leaning=_begins(r"es", r"das", r"dies", r"diese", r"dieser", r"er", r"sie", r"sein", r"seine", r"ihr", r"ihre", r"da", r"dort", r"dann", r"aber", r"und", r"denn", r"davon", r"damit", r"deshalb", r"alle", r"beide", r"jede", r"jeder", r"war", r"ist"),
    commitment=_any(r"(?:ich )?empfehle\b", r"ich rate\b", r"schlage (?:ich )?.{0,80}vor\b", r"mein vorschlag\b", r"ich habe\b.+\b(?:erstellt|gebucht|reserviert|verschoben|angelegt|geschickt|gesendet|eingerichtet|aktualisiert|hinzugefügt|behoben|bestellt|geplant|geprüft|gefunden|verglichen|gemessen|getestet|geschrieben|vereinbart|nachgesehen|vorbereitet|eingetragen)\b"),
)  # fmt: skip

OF_LANGUAGE: dict[Language, Signs] = {Language.ENGLISH: ENGLISH, Language.POLISH: POLISH, Language.GERMAN: GERMAN}

ELSEWHERE: dict[FactType, re.Pattern[str]] = {
    _P: re.compile(
        r"\b(?:je préfère|nous préférons|j'aime|je n'aime pas|je déteste|j'adore|préféré\w*|nous avons (?:choisi|décidé)|j'ai (?:choisi|décidé)|prefiero|preferimos|me gusta\w*|no me gusta\w*|odio|favorit\w+|decidimos|hemos decidido|elegimos|preferisco|preferiamo|mi piace|non mi piace|odio|abbiamo (?:scelto|deciso)|prefiro|gosto de|não gosto|decidimos|escolhemos)\b"
        r"|я (?:предпочитаю|люблю|не люблю)|мы решили|我(?:更|最)?喜欢|我不喜欢|我讨厌|我们决定|我决定|我更愿意|偏好|喜歡|好きです|嫌いです|좋아"
    ),
    _X: re.compile(
        r"\b(?:leçon|il faut toujours|ne jamais|j'ai appris que|lección|aprendí que|nunca|lezione|ho imparato che|mai più|aprendi que)\b|教训|经验|我学到|千万不要|永远不要"
    ),
    _S: re.compile(
        r"\b(?:échéance|date limite|je travaille sur|nous travaillons sur|en cours de|bloqué\w*|fecha límite|plazo|estoy trabajando en|trabajamos en|bloquead\w+|scadenza|sto lavorando|prazo|estou trabalhando)\b"
        r"|截止|期限|正在(?:开发|做|迁移)|我在开发|дедлайн|работаю над"
    ),
    _F: re.compile(
        r"\b(?:je suis (?:un|une|né|née|allergique|végétari\w+|originaire|marié)\w*|j'habite|nous habitons|je vis|je travaille (?:chez|comme|à|pour)|je m'appelle|s'appelle|(?:mon|ma|mes|notre|nos) \w+(?: \w+)? (?:est|sont|a|ont|habite|travaille|s'appelle|vit)|j'ai (?:un|une|deux|trois)|soy|vivo en|trabajo (?:en|como|para)|me llamo|se llama|mi \w+ (?:es|está|tiene|vive|trabaja)|tengo (?:un|una|dos|tres)|sono (?:un|una|nato|nata|allergic\w+)|abito|vivo a|lavoro (?:in|come|per)|mi chiamo|si chiama|moro em|trabalho)\b"
        r"|我(?:是|叫|住在|在.{1,12}(?:工作|上班|住)|有(?:一|两|三|个|只)|对.{1,8}过敏|来自|的.{1,8}(?:是|叫|住|在))|我们(?:公司|团队|的).{1,12}(?:是|在|用)|меня зовут|я (?:живу|работаю|родил\w+)|私は|저는"
    ),
}
"""Some words of other languages: enough for what people say of themselves, not more."""

ELSEWHERE_PAST = re.compile(
    r"\b(?:j'ai \w+é\w*|je suis (?:allé|arrivé|parti|parvenu|venu)\w*|nous avons \w+|nous sommes \w+és?|he \w+(?:ado|ido)|hemos \w+(?:ado|ido)|fui|fuimos|compré|ho \w+(?:ato|uto|ito)|sono andat\w|abbiamo \w+)\b|我.{0,20}了|昨天|上周|上个月|去年|я \w+(?:л|ла)\b"
)
ELSEWHERE_DOUBT = re.compile(
    r"\b(?:peut-être|je ne sais pas|pas sûre?|probablement|je crois|quizás|tal vez|no sé|probablemente|forse|non so|talvez|não sei)\b|也许|可能|不知道|大概|不确定|应该是|может быть|не знаю|наверное|かもしれ"
)
ELSEWHERE_TASK = re.compile(
    r"\b(?:il faut (?!toujours)|peux-tu|pouvez-vous|s'il (?:te|vous) plaît|rappelle-moi|puedes|por favor|recuérdame|puoi|per favore|você pode|ajude)\b|请|帮我|能不能|提醒我|пожалуйста|ください"
)
