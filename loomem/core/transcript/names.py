"""What speakers are called, and what only looks like a speaker: words before a colon. Pure.

Roles are known in the languages people chat in; names of people are told by their form, and by what they are not: `Note:`,
`TODO:`, `Subject:` and their like begin lines in every kind of text.
"""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache

from loomem.core.transcript.values import SpeakerRole

NAME_CHARS = 60
"""A longer name is a sentence."""
_NAME_WORDS = 5
_CACHED = 4_096

_USER = """
user, human, me, you, customer, person, usr, the user, you said, user message, user input, user prompt
użytkownik, uzytkownik, użytkowniczka, ja, człowiek, ty
benutzer, benutzerin, nutzer, nutzerin, nutzer:in, anwender, anwenderin, ich, mensch, du
utilisateur, utilisatrice, moi, humain, humaine, vous, usager | usuario, usuaria, yo, humano, humana, tú
utente, io, umano | usuário, usuária, utilizador, utilizadora, eu | gebruiker, ik, mens, jij
uživatel, já | používateľ | användare, jag | bruger | bruker | käyttäjä | felhasználó | utilizator | kullanıcı | pengguna, saya
người dùng, tôi | пользователь, человек, я, вы | користувач | χρήστης, εγώ | المستخدم, مستخدم, أنا | کاربر | משתמש, אני
उपयोगकर्ता | 用户, 用戶, 使用者, 我, 你, 人类, 人類, 您 | ユーザー, ユーザ, 人間, 利用者, 私 | 사용자, 나, 유저 | ผู้ใช้
"""
_ASSISTANT = """
assistant, ai, bot, chatbot, model, the assistant, ai assistant, virtual assistant, agent, ai agent, assistant message, llm
claude, chatgpt, gpt, gemini, copilot, bard, llama, mistral, deepseek, grok, perplexity, codex, qwen, le chat, claude code, cursor
asystent, asystentka, asystent ai | assistent, assistentin, ki, ki-assistent, assistenz | assistante, ia, assistant ia
asistente, asistente de ia | assistente | asistent | asszisztens | avustaja | asistan, yardımcı | asisten | trợ lý
ассистент, помощник, бот, ии | асистент, помічник | βοηθός | المساعد, مساعد | دستیار | עוזר | सहायक
助手, 助理, 人工智能, 机器人, 機器人, ai助手, ai助理, 智能助手 | アシスタント, ボット | 어시스턴트, 비서, 도우미, 인공지능 | ผู้ช่วย
"""
_OTHER = """
system, tool, function, developer, tool result, tool call, tool use, function call, system prompt, system message, environment
narzędzie | werkzeug | outil, système | herramienta, sistema | strumento | systém | система, инструмент | 系统, 系統, 工具
システム, ツール | 시스템, 도구
"""
_NUMBERED = """
speaker, person, participant, guest, host, interviewer, interviewee, caller, user, human, agent, customer, client, student
mówca, rozmówca, uczestnik, sprecher, sprecherin, teilnehmer, locuteur, intervenant, hablante, persona, relatore, orador
спикер, говорящий, 说话人, 發言人, 发言人, 話者
"""
"""Who is told from others by a number or a letter, as transcribers do."""

_NO_SPEAKER = """
note, notes, nb, n.b, todo, to do, fixme, hack, xxx, warning, warn, error, info, debug, trace, fatal, critical, notice, hint, tip, tips
example, examples, eg, ie, summary, conclusion, result, results, output, input, answer, question, step, steps, option, options, update
edit, ps, p.s, re, fw, fwd, subject, from, to, cc, bcc, date, sent, title, author, authors, name, address, phone, email, e-mail, url
link, links, source, sources, see, see also, pros, cons, usage, returns, return, args, arguments, params, parameters, raises, yields
default, type, status, version, description, requirements, ingredients, instructions, method, agenda, attendees, participants
action items, decision, decisions, topic, topics, location, time, duration, when, where, who, what, why, how, key, value, http, https
ftp, file, files, mailto, important, caution, remember, goal, goals, problem, problems, solution, reason, cause, root cause, fix
expected, actual, background, context, overview, introduction, features, benefits, cost, price, total, size, color, id, tags
category, priority, deadline, next steps, next, first, second, third, finally, day, week, monday, tuesday, wednesday, thursday, friday
saturday, sunday, january, february, march, april, may, june, july, august, september, october, november, december, case, public
private, protected, try, else, finally, except, class, def, select, feat, chore, docs, refactor, test, tests, build, ci, perf, style
breaking change, signed-off-by, co-authored-by, reviewed-by, server, host, port, user-agent, content-type, accept, location, spoiler
disclaimer, correction, clarification, reminder, fun fact, bottom line, tl;dr, tldr, plan, task, tasks, bug, feature, issue, ticket
hinweis, hinweise, achtung, wichtig, beispiel, beispiele, fazit, zusammenfassung, ergebnis, frage, antwort, schritt, betreff, von, an
datum, titel, adresse, telefon, vorteile, nachteile, lösung, ziel, quelle, thema, ort, zeit, uhrzeit, anmerkung, tipp, fehler, warnung
zutaten, zubereitung, nachtrag, termin, aufgabe, aufgaben, preis, kosten, grund, merke, kurzum, vorteil, nachteil, stand, montag
dienstag, mittwoch, donnerstag, freitag, samstag, sonntag, z.b, bzw
uwaga, przykład, przykłady, podsumowanie, wynik, krok, temat, od, do, data, tytuł, adres, telefon, zalety, wady, rozwiązanie, cel
źródło, miejsce, czas, wskazówka, błąd, ostrzeżenie, notatka, pytanie, odpowiedź, składniki, przygotowanie, termin, zadanie, zadania
koszt, cena, powód, wniosek, wnioski, np, poniedziałek, wtorek, środa, czwartek, piątek, sobota, niedziela, status, ważne, problem
remarque, remarques, exemple, exemples, résumé, étape, objet, de, à, titre, adresse, avantages, inconvénients, solution, objectif
lieu, heure, conseil, erreur, réponse, ingrédients, nota, ejemplo, resumen, paso, asunto, fecha, título, importante, error, respuesta
esempio, riassunto, attenzione, oggetto, exemplo, passo, assunto, aviso, voorbeeld, let op, samenvatting, opmerking
примечание, внимание, пример, итог, вопрос, ответ, тема, дата, важно, ошибка
注意, 注, 备注, 例如, 例, 总结, 總結, 问题, 問題, 答案, 回答, 步骤, 步驟, 标题, 標題, 日期, 时间, 時間, 地点, 地點, 结论, 提示, 主题, 来源
メモ, 例, 注意点, まとめ, 質問, 回答, 日時, 場所, 手順, 참고, 예시, 요약, 질문, 답변, 주의
"""

_NO_SPEAKER_FIRST = """
note step option day week example tip warning error question answer action next part chapter section krok schritt étape paso
"""
_DETERMINER_WORDS = """
the a an this that these those my our your his her their its some any no all each every another if when while for as in on at by with
    so and but or because then now here there it he she they we i
    der die das den dem ein eine einen dieser diese dieses mein meine unser unsere kein keine jeder alle mit für auf im am wenn weil
    aber und oder le la les un une des mon ma mes ton notre votre ce cet cette el los las una mi su nuestro lo il gli uno
    ten ta to te ci moja mój moje nasz nasza nasze twój jego jej każdy wszystkie na w z po dla przy jeśli gdy ale oraz
"""
"""No name of more than one word begins with these."""
_PARTICLE_WORDS = "von van de der den del della di da du dos das la le el al bin ibn ben van't ter ten zu of y e i o"
_BOT = re.compile(
    r"(?:chat)?gpt[- ]?\d[\w.-]*|claude[- ](?:\d|opus|sonnet|haiku|instant)[\w. -]*|gemini[- ]\d[\w. -]*|o[134](?:-\w+)?",
    re.IGNORECASE,
)
_SAID = re.compile(r"\s+(?:said|says|wrote|asked|replied|sagte|schrieb|napisał|napisała|a dit|dijo|disse|说|說)$")
_NUMBER = re.compile(r"[\s_#-]*(?:\d{1,3}|[A-Za-z])$")
_WORD = re.compile(r"[^\W\d_][\w'’.-]*")
_ASIDE = re.compile(r"\s*[(\[（]([^()\[\]（）]{1,40})[)\]）]$")


def _spellings(table: str) -> frozenset[str]:
    return frozenset(
        " ".join(word.casefold().split())
        for line in table.splitlines()
        for part in line.split("|")
        for word in part.split(",")
    ) - {""}


_ROLES: dict[str, SpeakerRole] = {
    **dict.fromkeys(_spellings(_OTHER), SpeakerRole.OTHER),
    **dict.fromkeys(_spellings(_USER), SpeakerRole.USER),
    **dict.fromkeys(_spellings(_ASSISTANT), SpeakerRole.ASSISTANT),
}
_COUNTED = _spellings(_NUMBERED)
_NEVER = _spellings(_NO_SPEAKER)
_NEVER_FIRST = frozenset(_NO_SPEAKER_FIRST.split())
_DETERMINERS = frozenset(_DETERMINER_WORDS.split())
_PARTICLES = frozenset(_PARTICLE_WORDS.split())


@lru_cache(_CACHED)
def role_of(name: str) -> SpeakerRole | None:
    """Return the role that a label names in any of the languages; None for a name."""
    folded = _folded(name)
    if (role := _ROLES.get(folded)) is not None:
        return role
    if _BOT.fullmatch(folded):
        return SpeakerRole.ASSISTANT
    return _ROLES.get(_NUMBER.sub("", folded)) if _NUMBER.search(folded) and len(folded) > 3 else None


def parted(label: str) -> tuple[str, SpeakerRole | None]:
    """Return the speaker and the role of a label such as `User`, `Anna Nowak`, `User (Anna)` or `Anna (user)`."""
    label = " ".join(label.split())
    role = role_of(label)
    aside = _ASIDE.search(label)
    if role is None and aside is not None and aside.start() > 0:
        before, inside = label[: aside.start()], aside[1].strip()
        if (role := role_of(before)) is not None:
            return (inside if is_name(inside) else before), role
        return before, role_of(inside)
    return _SAID.sub("", label), role


@lru_cache(_CACHED)
def is_name(label: str) -> bool:
    """Say whether a label may be the name of a speaker: its form allows it, and it is no word that begins other lines."""
    label = " ".join(label.split())
    if not label or len(label) > NAME_CHARS:
        return False
    bare = _ASIDE.sub("", label).removeprefix("@")
    folded = _folded(bare)
    if not bare or is_no_speaker(bare):
        return False
    if _NUMBER.sub("", folded) in _COUNTED:
        return True
    words = bare.split()
    if len(words) > _NAME_WORDS or (len(words) > 1 and words[0].lower() in _DETERMINERS):
        return False
    return not words[0].islower() and all(
        _WORD.fullmatch(word) and (not word[0].islower() or word in _PARTICLES) for word in words
    )


def is_nick(label: str) -> bool:
    """Say whether a label may be a nickname: one word in small letters, digits and the signs that nicknames have."""
    return (
        len(label) <= 30
        and re.fullmatch(r"[@+%~&]?[^\W\d][\w\[\]{}^`|.-]*", label) is not None
        and not is_no_speaker(label)
    )


@lru_cache(_CACHED)
def is_no_speaker(label: str) -> bool:
    """Say whether a label is a word that begins lines of notes, logs, mails, recipes or code."""
    folded = _folded(label)
    if folded in _ROLES:
        return False
    bare = _NUMBER.sub("", folded) if any(char.isdigit() for char in folded) else folded
    return folded in _NEVER or bare in _NEVER or (" " in folded and folded.split()[0] in _NEVER_FIRST)


def _folded(name: str) -> str:
    name = unicodedata.normalize("NFC", name).strip(" \t*_`#>").casefold()
    return _SAID.sub("", " ".join(name.split())).strip(".")
