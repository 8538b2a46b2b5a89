"""Laws of conversations taken apart: every way people write them, what is no conversation, and exact places."""

from __future__ import annotations

import json
import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loomem.core.transcript import Form, SpeakerRole, Transcript, render, segment

U, A, O = SpeakerRole.USER, SpeakerRole.ASSISTANT, SpeakerRole.OTHER  # noqa: E741


def spoken(text: str) -> list[tuple[str | None, str]]:
    return [(said.speaker, said.text) for said in segment(text).utterances]


def roles(text: str) -> list[SpeakerRole | None]:
    return [said.role for said in segment(text).utterances]


def assert_exact(text: str, found: Transcript) -> None:
    source = text.encode()
    at = 0
    for said in found.utterances:
        assert at <= said.byte_label <= said.byte_start < said.byte_end <= len(source)
        assert source[said.byte_start : said.byte_end].decode() == said.text
        assert said.text == said.text.strip() != ""
        at = said.byte_end


# --- roles ------------------------------------------------------------------------------------------------------------

ROLE_PAIRS = [
    ("User", "Assistant"), ("USER", "ASSISTANT"), ("user", "assistant"), ("Human", "AI"), ("Human", "Claude"), ("You", "ChatGPT"),
    ("Me", "Bot"), ("User", "GPT-4o"), ("User", "Claude 3.5 Sonnet"), ("Customer", "Agent"), ("User", "Gemini"), ("Human", "Model"),
    ("Użytkownik", "Asystent"), ("Ja", "Asystentka"), ("Uzytkownik", "AI"),
    ("Benutzer", "Assistent"), ("Nutzerin", "Assistentin"), ("Ich", "KI"),
    ("Utilisateur", "Assistant"), ("Moi", "IA"), ("Usuario", "Asistente"), ("Utente", "Assistente"), ("Usuário", "Assistente"),
    ("Gebruiker", "Assistent"), ("Uživatel", "Asistent"), ("Användare", "Assistent"), ("Пользователь", "Ассистент"),
    ("Користувач", "Асистент"), ("Χρήστης", "Βοηθός"), ("المستخدم", "المساعد"), ("用户", "助手"), ("我", "AI助手"), ("使用者", "助理"),
    ("ユーザー", "アシスタント"), ("사용자", "어시스턴트"), ("ผู้ใช้", "ผู้ช่วย"), ("Kullanıcı", "Asistan"),
]  # fmt: skip


@pytest.mark.requirement("segment-roles")
@pytest.mark.parametrize(
    "form",
    [
        "{}: {}", "{} : {}", "{}：{}", "{}:\n{}\n", "**{}:** {}", "**{}**: {}", "__{}__: {}", "**{}**\n\n{}\n", "## {}\n\n{}\n",
        "### {}:\n{}\n", "- **{}:** {}", "[10:32] {}: {}", "[2026-01-02 10:32:11] {}: {}", "2026-01-02T10:32:11Z {}: {}",
        "{} (10:32): {}", "{} [2026-01-02 10:32]: {}", "  {}: {}", "{}\u00a0: {}", "**{}** (10:32):\n{}\n",
    ],
)  # fmt: skip
def test_roles_are_known_in_every_spelling(form: str) -> None:
    for user, assistant in ROLE_PAIRS:
        said = [(user, "first thing"), (assistant, "second"), (user, "third\nline")]
        text = "\n".join(form.format(*one) for one in said)
        assert roles(text) == [U, A, U], user
        assert [words for _, words in spoken(text)] == [words for _, words in said]
        assert_exact(text, segment(text))


@pytest.mark.requirement("segment-roles")
@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("You said:\nhi\nChatGPT said:\nhello", [U, A]),
        ("You\nhi there\nChatGPT\nhello", [U, A]),
        ("<|im_start|>user\nhi<|im_end|>\n<|im_start|>assistant\nhello<|im_end|>", [U, A]),
        ("User: I moved yesterday", [U]),
        ("User: hi\nAssistant: hello\nSystem: be nice\nTool: 42", [U, A, O, O]),
        ("User: hi\n\n---\n\nAssistant: hello\n\n---\n", [U, A]),
        ("User 1: hi\nAssistant 1: hello", [U, A]),
        ("User: this is what it printed\n  Assistant: no\nAssistant: yes", [U, A]),
        ("User: see\n```\nAssistant: in code\n```\nAssistant: yes", [U, A]),
        ("Assistant: settings\nmodel: small\nUser: ok", [A, U]),
    ],
)
def test_roles_in_other_shapes(text: str, expected: list[SpeakerRole]) -> None:
    assert roles(text) == expected
    assert_exact(text, segment(text))


def test_a_person_in_a_role_is_both() -> None:
    found = segment("User (Anna): hi\nAssistant: hello").utterances
    assert [(said.speaker, said.role) for said in found] == [("Anna", U), ("Assistant", A)]
    found = segment("Anna (user): hi\nRex (bot): hello").utterances
    assert [(said.speaker, said.role) for said in found] == [("Anna", U), ("Rex", A)]


# --- names and times --------------------------------------------------------------------------------------------------


@pytest.mark.requirement("segment-names")
@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("Anna Nowak", "Ben"), ("Łukasz Żółć", "Zoë O'Hara"), ("Dr. Müller", "Frau von der Leyen"), ("王小明", "李雷"), ("Олег", "Аня"),
        ("Speaker 1", "Speaker 2"), ("SPEAKER_00", "SPEAKER_01"), ("Q", "A"), ("anna", "ben42"), ("Jean-Luc", "Charles D'Artagnan"),
    ],
)  # fmt: skip
def test_names_that_come_again_are_speakers(first: str, second: str) -> None:
    text = (
        f"{first}: I moved to Berlin.\n{second}: When did you?\n{first}: Last week.\nStill unpacking.\n{second}: Nice."
    )
    assert spoken(text) == [
        (first, "I moved to Berlin."), (second, "When did you?"), (first, "Last week.\nStill unpacking."), (second, "Nice."),
    ]  # fmt: skip
    assert_exact(text, segment(text))


@pytest.mark.requirement("segment-names")
def test_somebody_may_have_a_name_and_the_other_a_role() -> None:
    assert roles("Anna: I like it\nAssistant: good\nAnna: yes") == [O, A, O]
    assert roles("Me: I like it\nAnna: cool\nMe: yes") == [U, O, U]
    assert spoken("Minutes of 4 March\n\nAnna: I agree.\nBen: You do?\nAnna: yes")[0] == (None, "Minutes of 4 March")


EXPORTS: list[tuple[str, list[tuple[str | None, str, str | None]]]] = [
    (
        "12/31/25, 10:32 PM - Anna Nowak: Happy new year\n12/31/25, 10:33 PM - Ben: you too\nline: two\n12/31/25, 10:34 PM - Anna added Cara",
        [("Anna Nowak", "Happy new year", "2025-12-31T22:32:00"), ("Ben", "you too\nline: two", "2025-12-31T22:33:00"), (None, "Anna added Cara", "2025-12-31T22:34:00")],
    ),
    ("31/12/2025, 22:32 - Anna: hej\n01/01/2026, 00:01 - +48 600 700 800: hej\n01/01/2026, 00:02 - [PHONE]: ja", [("Anna", "hej", "2025-12-31T22:32:00"), ("+48 600 700 800", "hej", "2026-01-01T00:01:00"), ("[PHONE]", "ja", "2026-01-01T00:02:00")]),
    ("[31.12.2025, 22:32:10] Anna: Frohes Neues\n[01.01.26, 00:03:10] Ben: Dir auch", [("Anna", "Frohes Neues", "2025-12-31T22:32:10"), ("Ben", "Dir auch", "2026-01-01T00:03:10")]),
    ("\u200e[1/2/26, 9:05:10\u202fAM] Anna: hi", [("Anna", "hi", "2026-01-02T09:05:10")]),
    ("1/2/26, 09:05 - Anna: hi\n1/2/26, 09:06 - Ben: hi", [("Anna", "hi", None), ("Ben", "hi", None)]),
    ("2026年1月2日 下午3:05 - 小明：你好", [("小明", "你好", "2026-01-02T15:05:00")]),
    ("10:32 <anna> hi\n10:33 <@ben> hello\n10:34 -!- cara has joined\n10:35 <anna> ok", [("anna", "hi", None), ("ben", "hello", None), (None, "-!- cara has joined", None), ("anna", "ok", None)]),
    ("2026-01-02 10:32:11\tanna\thi\n2026-01-02 10:32:12\tben\thello", [("anna", "hi", "2026-01-02T10:32:11"), ("ben", "hello", "2026-01-02T10:32:12")]),
    ("Anna Nowak  10:32 AM\nhi all\nsecond\n\nBen Smith  10:35 AM\nhello", [("Anna Nowak", "hi all\nsecond", None), ("Ben Smith", "hello", None)]),
    ("anna — Today at 10:32 AM\nhi you\nben — Today at 10:35\nhello", [("anna", "hi you", None), ("ben", "hello", None)]),
    ("Anna, [02.01.26 10:32]\nhi\nBen, [02.01.26 10:33]\nhello", [("Anna", "hi", "2026-01-02T10:32:00"), ("Ben", "hello", "2026-01-02T10:33:00")]),
    ("10:32:11 From Anna Nowak to Everyone: hi you\n10:33:11 From Ben to Everyone: yes", [("Anna Nowak", "hi you", None), ("Ben", "yes", None)]),
    ("2026-01-02T10:32:11Z Anna: hi\n2026-01-02T10:33:11+01:00 Ben: yes", [("Anna", "hi", "2026-01-02T10:32:11+00:00"), ("Ben", "yes", "2026-01-02T10:33:11+01:00")]),
    ("8 May 2023 at 1:56 pm - Caroline: hi\n8 May 2023 at 1:57 pm - Mel: hi", [("Caroline", "hi", "2023-05-08T13:56:00"), ("Mel", "hi", "2023-05-08T13:57:00")]),
]  # fmt: skip


@pytest.mark.requirement("segment-times")
@pytest.mark.parametrize(("text", "expected"), EXPORTS)
def test_exports_of_chats(text: str, expected: list[tuple[str | None, str, str | None]]) -> None:
    found = segment(text)
    assert [(said.speaker, said.text, said.at and said.at.isoformat()) for said in found.utterances] == expected
    assert found.form is Form.STAMPED
    assert_exact(text, found)


# --- what is no conversation ------------------------------------------------------------------------------------------


@pytest.mark.requirement("segment-none")
@pytest.mark.parametrize(
    "text",
    [
        "", " \n ",
        "Just a paragraph about things. I moved to Berlin yesterday, and you know it.",
        "Note: this is prose.\nIt goes on.\nNote: and again, you see?\nWarning: hot.\nWarning: very hot.",
        "See https://example.com\nhttps://foo.bar: is what I use\nhttp://you.me: too",
        "TODO: fix\nFIXME: this\nTODO: that, you know",
        "user: root\nhost: localhost\nport: 22\npassword: x",
        "model: gpt-4\ntemperature: 0\nsystem: x",
        "name: ci\non: push\njobs:\n  build:\n    runs-on: ubuntu\n    steps:\n      - uses: checkout\n      - uses: you",
        "Pros: cheap, I like it\nCons: slow\nPros: nice\nCons: none",
        "def f(x):\n    return x\nclass A:\n    pass\ntry:\n    you()\nexcept:\n    pass\ntry:\n    me()",
        "switch (x) {\n  case A: return 1;\n  case B: return 2;\n  default: break;\n}",
        "Subject: hi\nFrom: a\nTo: c\nDate: x\n\nDear you,\nthe thing is done.",
        "2026-01-02 10:32:11 INFO: started\n2026-01-02 10:32:12 ERROR: failed\n2026-01-02 10:32:13 INFO: ok",
        "Jan 2 10:32:11 host sshd[123]: Accepted\nJan 2 10:32:12 host sshd[123]: Closed",
        "09:00 Coffee: room 1\n10:00 Review: room 2",
        "Title: X\nAuthor: Y\nYear: 2020",
        "The plan: we go.\nMy view: you stay.\nThe plan: again.",
        "Das Problem: wir warten.\nDie Lösung: du kommst.\nDas Problem: wieder.",
        "- **Cost:** low\n- **Speed:** high\n\n- **Cost:** high\n- **Speed:** low, you see?",
        "Berlin: 3 days\nParis: 2 days\nRome: 1 day",
        "Zutaten: Eier\nZubereitung: mischen",
        '{"a": 1, "b": [1, 2, 3]}', "[1, 2]", '["User", "Assistant"]',
    ],
)  # fmt: skip
def test_other_texts_have_no_speakers_and_a_reason(text: str) -> None:
    found = segment(render(text).text)
    assert (found.form, found.utterances, found.unlabelled) == (Form.UNLABELLED, (), True)
    assert found.reason
    assert render(text).text == text


# --- JSON -------------------------------------------------------------------------------------------------------------

STAMP = "2026-01-02T10:00:00.000Z"
CHATS: list[tuple[Any, list[tuple[SpeakerRole, str]]]] = [
    ([{"role": "user", "content": "hi"}, {"role": "assistant", "content": "yo"}], [(U, "hi"), (A, "yo")]),
    ({"messages": [{"role": "user", "content": [{"type": "text", "text": "hi"}, {"type": "image_url", "image_url": {"url": "x"}}, {"type": "input_text", "text": "there"}]}]}, [(U, "hi\n\nthere")]),
    ([{"role": "user", "content": "hi"}, {"role": "assistant", "content": None, "tool_calls": [{"function": {"name": "f", "arguments": "{}"}}]}, {"role": "tool", "content": "42"}], [(U, "hi"), (O, "f {}"), (O, "42")]),
    ([{"role": "assistant", "content": [{"type": "thinking", "thinking": "secret"}, {"type": "text", "text": "yes"}, {"type": "tool_use", "name": "Bash", "input": {"command": "ls"}}]}, {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "1", "content": [{"type": "text", "text": "a b"}]}]}], [(A, "yes"), (O, 'Bash {"command": "ls"}'), (O, "a b")]),
    ({"contents": [{"role": "user", "parts": [{"text": "hi"}]}, {"role": "model", "parts": [{"text": "yo"}]}]}, [(U, "hi"), (A, "yo")]),
    ([{"conversations": [{"from": "human", "value": "hi"}, {"from": "gpt", "value": "yo"}]}], [(U, "hi"), (A, "yo")]),
    ({"chat_messages": [{"sender": "human", "text": "hi", "created_at": STAMP}, {"sender": "assistant", "text": "yo", "created_at": STAMP}]}, [(U, "hi"), (A, "yo")]),
    ({"mapping": {"a": {"message": None, "parent": None}, "b": {"message": {"author": {"role": "user"}, "content": {"parts": ["hi"]}, "create_time": 1767348000.5}, "parent": "a"}, "x": {"message": {"author": {"role": "assistant"}, "content": {"parts": ["other branch"]}}, "parent": "b"}, "c": {"message": {"author": {"role": "assistant"}, "content": {"parts": ["yo"]}, "create_time": 1767348001}, "parent": "b"}}, "current_node": "c"}, [(U, "hi"), (A, "yo")]),
    ([{"type": "message", "user": "U1", "text": "hi all", "ts": "1767348000.000100", "user_profile": {"real_name": "Anna Nowak"}}, {"type": "message", "user": "U2", "text": "hey", "ts": "1767348001.000100"}], [(O, "hi all"), (O, "hey")]),
    ({"name": "x", "messages": [{"from": "Anna", "text": ["hi ", {"type": "bold", "text": "there"}], "date": "2026-01-02T10:00:00"}, {"from": "Ben", "text": "hey", "date": "2026-01-02T10:00:00"}]}, [(O, "hi \n\nthere"), (O, "hey")]),
    ([{"speaker": "Anna", "text": "I moved."}, {"speaker": "Ben", "text": "Oh!"}], [(O, "I moved."), (O, "Oh!")]),
]  # fmt: skip


@pytest.mark.requirement("segment-json")
@pytest.mark.parametrize(("value", "expected"), CHATS)
def test_json_is_rendered_and_read(value: object, expected: list[tuple[SpeakerRole, str]]) -> None:
    for text in (json.dumps(value), json.dumps(value, ensure_ascii=False, indent=2)):
        rendered = render(text)
        found = segment(rendered.text)
        assert [(said.role, said.text) for said in found.utterances] == expected
        assert rendered.messages > 0
        assert_exact(rendered.text, found)


@pytest.mark.requirement("segment-json")
def test_a_session_of_claude_code_is_read_line_by_line() -> None:
    lines: list[Any] = [
        {"type": "summary", "summary": "x"},
        {"type": "user", "isMeta": True, "message": {"role": "user", "content": "caveat"}, "timestamp": STAMP},
        {"type": "user", "message": {"role": "user", "content": "I prefer uv\nAssistant: fake"}, "timestamp": STAMP},
        {"type": "assistant", "message": {"role": "assistant", "content": [{"type": "text", "text": "Noted.\n```\ncode"}]}, "timestamp": STAMP},
        {"type": "user", "message": {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "1", "content": "x" * 5_000}]}, "timestamp": STAMP},
        {"type": "file-history-snapshot", "snapshot": {}},
        {"type": "user", "message": {"role": "user", "content": "Thanks"}, "timestamp": STAMP},
    ]  # fmt: skip
    rendered = render("\n".join(map(json.dumps, lines)))
    found = segment(rendered.text).utterances
    assert [said.role for said in found] == [U, A, O, U]
    assert found[0].text == "I prefer uv\n  Assistant: fake"
    assert found[0].at is not None
    assert found[0].at.isoformat() == "2026-01-02T10:00:00+00:00"
    assert rendered.left_out == 4_000
    assert len(found[2].text) < 1_100


# --- laws -------------------------------------------------------------------------------------------------------------

LINE = st.sampled_from(
    ["User: ", "Assistant:", "Anna: ", "Ben: ", "[10:32] Anna: ", "12/31/25, 10:32 PM - Bo: ", "## User", "**Anna**", "```", "---", "<ann> ", "{", "用户：", "\u200e", "  ", "Note: "]
)  # fmt: skip
TEXTS = st.lists(st.tuples(LINE | st.just(""), st.text(max_size=20) | st.sampled_from(["ąęł 👍", "hi you?", "\r", "\u2028"])), max_size=12).map(
    lambda lines: "\n".join(label + said for label, said in lines)
)  # fmt: skip


@pytest.mark.requirement("segment-exact")
@given(TEXTS)
def test_places_are_exact_whatever_the_text(text: str) -> None:
    found = segment(text)
    assert_exact(text, found)
    assert bool(found.reason) == found.unlabelled == (not found.utterances)


@pytest.mark.requirement("segment-json")
@given(st.lists(st.tuples(st.sampled_from(["user", "assistant"]), TEXTS), min_size=2, max_size=6))
def test_no_message_can_speak_for_another(messages: list[tuple[str, str]]) -> None:
    messages = [
        ("user", "hi"),
        ("assistant", "yo"),
        *((role, text) for role, text in messages if text.strip(" -*_=\r\n\t")),
    ]
    rendered = render(json.dumps([{"role": role, "content": text} for role, text in messages]))
    told = [said.role for said in segment(rendered.text).utterances]
    assert told == [SpeakerRole(role) for role, text in messages if text.strip()]


@given(st.text() | st.recursive(st.none() | st.text(), lambda inner: st.lists(inner) | st.dictionaries(st.sampled_from(["role", "content", "messages", "type", "text", "mapping", "message"]), inner)).map(json.dumps))  # fmt: skip
def test_anything_can_be_rendered(text: str) -> None:
    rendered = render(text)
    assert rendered.messages or rendered.text == text


HOSTILE = {
    "one letter": "a" * 2_000_000, "newlines": "\n" * 2_000_000, "labels": "a: b\n" * 400_000, "roles": "User: a\nAssistant: b\n" * 80_000,
    "stars": "*" * 2_000_000, "bold": "**a\n" * 500_000, "brackets": "[" * 2_000_000, "digits": "1" * 2_000_000, "braces": '{"a":' * 400_000,
    "fences": "```\n" * 500_000, "names": "Anna Nowak van der " * 100_000, "rules": "User: x\n" + "\n---" * 400_000, "tabs": "\t" * 2_000_000,
    "times": "12/31/25, 10:32 PM - \n" * 90_000, "spaces": "User: a" + " " * 2_000_000 + "b",
}  # fmt: skip


@pytest.mark.requirement("segment-bounded")
@pytest.mark.parametrize("name", HOSTILE)
def test_time_is_bounded(name: str) -> None:
    began = time.process_time()
    rendered = render(HOSTILE[name])
    assert_exact(rendered.text, segment(rendered.text))
    assert time.process_time() - began < 10  # each is under two seconds on a machine with nothing else to do
