"""Conversations in JSON: arrays of messages as APIs take them, exports of chats, and logs with a message on each line. Pure.

They are rendered to plain text with labels, `User: ...`, which is stored and read like any other. What is known: messages of
OpenAI (parts, tool calls, tool messages), Anthropic (blocks), Gemini, ShareGPT; exports of ChatGPT, Claude, Slack and Telegram;
logs of Claude Code and Codex. Anything else in JSON is a text.

What tools answered is cut: a session's files are no conversation; and what our own did is left out. Reasoning, pictures and messages a program put in for itself
are left out.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, cast

import msgspec

from loomem.core.transcript.fences import fences
from loomem.core.transcript.labels import label_of
from loomem.core.transcript.names import is_name, role_of
from loomem.core.transcript.recalled import is_own_tool
from loomem.core.transcript.values import Rendered, SpeakerRole

TOOL_CHARS = 1_000
"""Of what a tool was asked or answered."""
RECALLED = "[what the memory answered is left out]"
_NESTED = 6
"""How deep messages are looked for."""
_TREE_LIMIT = 100_000
_LISTS = (
    "messages",
    "chat_messages",
    "conversation",
    "conversations",
    "turns",
    "history",
    "dialogue",
    "dialog",
    "contents",
    "items",
    "log",
)
_SPEAKERS = ("role", "sender", "from", "speaker", "author", "user", "name", "username", "type")
_TEXTS = ("content", "text", "message", "value", "parts", "body", "utterance")
_TIMES = ("timestamp", "created_at", "create_time", "createdAt", "date", "time", "ts")
_ROLE_WORDS = {SpeakerRole.USER: "User", SpeakerRole.ASSISTANT: "Assistant"}
_DECODER = msgspec.json.Decoder()


class _Message(msgspec.Struct, frozen=True):
    label: str
    text: str
    at: str = ""


def render(text: str) -> Rendered:
    """Return the text that becomes the source. A plain text is that text; JSON that holds messages is these, in order."""
    head = text.lstrip("\ufeff \t\r\n")[:1]
    if head not in ("{", "["):
        return Rendered(text=text)
    walk = _Walk()
    messages = list(walk.whole(text)) or list(walk.by_line(text))
    if not messages:
        return Rendered(text=text)
    if not all(message.at for message in messages):
        messages = [msgspec.structs.replace(message, at="") for message in messages]  # lines with times speak for all
    return Rendered(text="\n\n".join(map(_written, messages)), messages=len(messages), left_out=walk.left_out)


def _written(message: _Message) -> str:
    """Return a message with its label; no line of it can be taken for the label of another."""
    lines = message.text.strip().split("\n")
    safe = [lines[0], *(f"  {line}" if _misleads(line) else line for line in lines[1:])]
    begins = safe[0].lstrip().startswith(("```", "~~~"))
    text = f"{message.at}{message.label}:{chr(10) if begins else ' '}" + "\n".join(safe)
    _, left_open = fences(text)
    return f"{text}\n{left_open}" if left_open else text


def _misleads(line: str) -> bool:
    return line[:1] not in ("", " ", "\t") and label_of(line) is not None


class _Walk:
    """Reads messages out of values of JSON."""

    def __init__(self) -> None:
        self.left_out = 0
        self._own: set[str] = set()
        """Calls of our own tools, by their ids."""

    def whole(self, text: str) -> Iterator[_Message]:
        value = _decoded(text)
        if value is not None:
            yield from self._messages(value, 0)

    def by_line(self, text: str) -> Iterator[_Message]:
        """Tell the messages of a log. A line that is no JSON ends it only if it is the first."""
        lines = [line for line in text.split("\n") if line.strip()]
        if len(lines) < 1 or not isinstance(_decoded(lines[0]), dict):
            return
        for line in lines:
            value = _decoded(line)
            if isinstance(value, dict):
                yield from self._message(cast("dict[str, Any]", value), 0)

    def _messages(self, value: object, depth: int) -> Iterator[_Message]:
        if depth > _NESTED:
            return
        if isinstance(value, list):
            for item in cast("list[object]", value):
                if isinstance(item, dict):
                    found = cast("dict[str, Any]", item)
                    inner = list(self._message(found, depth))
                    yield from inner or self._inside(found, depth + 1)
        elif isinstance(value, dict):
            found = cast("dict[str, Any]", value)
            inner = list(self._inside(found, depth + 1))
            yield from inner or self._message(found, depth)

    def _inside(self, value: Mapping[str, Any], depth: int) -> Iterator[_Message]:
        """Tell the messages of an object that holds a list of them, or a tree as ChatGPT exports it."""
        tree = value.get("mapping")
        if isinstance(tree, dict):
            yield from self._messages(_path(cast("dict[str, Any]", tree), value.get("current_node")), depth)
            return
        for key in _LISTS:
            inner = value.get(key)
            if isinstance(inner, list | dict) and inner:
                yield from self._messages(cast("object", inner), depth)
                return

    def _message(self, value: Mapping[str, Any], depth: int) -> Iterator[_Message]:
        if depth > _NESTED or value.get("isMeta") is True or value.get("isSidechain") is True:
            return
        for key in ("message", "payload"):
            inner = value.get(key)
            if isinstance(inner, dict):
                yield from self._message({**_timed(value), **cast("dict[str, Any]", inner)}, depth + 1)
                return
        label, role = _speaker(value)
        if not label:
            return
        at = _at(value)
        for text, by_tool in self._texts(value, role):
            if text.strip():
                yield _Message("Tool" if by_tool else label, text, at)

    def _texts(self, value: Mapping[str, Any], role: SpeakerRole | None) -> Iterator[tuple[str, bool]]:
        """Tell the texts of a message, and whether each is a tool's."""
        tool = role is SpeakerRole.OTHER and str(value.get("role", "")).casefold() in ("tool", "function")
        said: list[str] = []
        for part in _parts(next((value[key] for key in _TEXTS if value.get(key)), "")):
            if isinstance(part, str):
                said.append(part)
                continue
            text, by_tool = self._part(part)
            if by_tool:
                yield "\n\n".join(said), tool
                said = []
                yield text, True
            elif text:
                said.append(text)
        whole = "\n\n".join(piece for piece in said if piece.strip())
        yield (self._answered(whole, value) if tool else whole), tool
        for call in self._calls(value):
            yield self._cut(call), True

    def _calls(self, value: Mapping[str, Any]) -> Iterator[str]:
        calls = value.get("tool_calls")
        for call in cast("list[object]", calls) if isinstance(calls, list) else []:
            function = cast("dict[str, Any]", call).get("function") if isinstance(call, dict) else None
            if isinstance(function, dict):
                found = cast("dict[str, Any]", function)
                yield self._called(found, cast("dict[str, Any]", call), found.get("arguments"))

    def _called(self, named: Mapping[str, Any], call: Mapping[str, Any], given: object) -> str:
        name = str(named.get("name", "tool"))
        ident = call.get("id") or call.get("call_id")
        if is_own_tool(name) and isinstance(ident, str):
            self._own.add(ident)
        return f"{name} {_plain(given)}"

    def _answered(self, text: str, value: Mapping[str, Any]) -> str:
        """Return what a tool answered, cut; nothing of it when the tool is our own."""
        idents = (value.get(key) for key in ("tool_use_id", "tool_call_id", "call_id"))
        own = any(isinstance(ident, str) and ident in self._own for ident in idents)
        if own or is_own_tool(str(value.get("name", ""))):
            self.left_out += len(text)
            return RECALLED
        return self._cut(text)

    def _part(self, part: Mapping[str, Any]) -> tuple[str, bool]:
        kind = str(part.get("type", "text"))
        if kind in ("tool_use", "server_tool_use", "function_call"):
            return self._cut(self._called(part, part, part.get("input", part.get("arguments")))), True
        if kind in ("tool_result", "function_call_output") or "tool_use_id" in part:
            return self._answered(_plain(part.get("content", part.get("output"))), part), True
        if "thinking" in kind or "reasoning" in kind:
            return "", False
        for key in ("text", "content", "value"):
            if isinstance(part.get(key), str):
                return cast("str", part[key]), False
        return "", False

    def _cut(self, text: str) -> str:
        if len(text) <= TOOL_CHARS:
            return text
        self.left_out += len(text) - TOOL_CHARS
        return f"{text[:TOOL_CHARS]} [... {len(text) - TOOL_CHARS} characters left out]"


def _decoded(text: str) -> object:
    try:
        return _DECODER.decode(text.strip("\ufeff \t\r\n").encode("utf-8", "surrogatepass"))
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError):
        return None


def _speaker(value: Mapping[str, Any]) -> tuple[str, SpeakerRole | None]:
    """Return the label of a message and the role; an empty label where nobody says who speaks."""
    for key in _SPEAKERS:
        said = value.get(key)
        if isinstance(said, dict):
            inner = cast("dict[str, Any]", said)
            said = inner.get("role") or inner.get("name") or inner.get("real_name")
        if not isinstance(said, str) or not said.strip() or len(said) > 60:
            continue
        name = " ".join(said.replace(":", " ").split())
        role = role_of(name)
        if role is not None:
            return _labelled(name, role, value), role
        if key in ("type", "name"):
            continue
        profile = value.get("user_profile")
        real = cast("dict[str, Any]", profile).get("real_name") if isinstance(profile, dict) else None
        return (real if isinstance(real, str) and real else name), SpeakerRole.OTHER
    return "", None


def _labelled(name: str, role: SpeakerRole, value: Mapping[str, Any]) -> str:
    word = _ROLE_WORDS.get(role, name[:1].upper() + name[1:])
    person = value.get("name")
    if role is not SpeakerRole.OTHER and isinstance(person, str) and role_of(person) is None and is_name(person):
        return f"{word} ({person.strip()})"
    return word


def _parts(content: object) -> Sequence[str | Mapping[str, Any]]:
    """Return what a content consists of, whichever way it is nested."""
    if isinstance(content, str):
        return [content]
    if isinstance(content, dict):
        inner = cast("dict[str, Any]", content)
        parts = inner.get("parts")
        return _parts(cast("object", parts)) if isinstance(parts, list) else [inner]
    if isinstance(content, list):
        return [
            cast("str | dict[str, Any]", part) for part in cast("list[object]", content) if isinstance(part, str | dict)
        ]
    return []


def _plain(value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, str):
        return value
    parts = _parts(value)
    texts = [part if isinstance(part, str) else part.get("text") for part in parts]
    if parts and all(isinstance(text, str) for text in texts):
        return "\n".join(cast("list[str]", texts))
    return json.dumps(value, ensure_ascii=False)


def _timed(value: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value[key] for key in _TIMES if key in value}


def _at(value: Mapping[str, Any]) -> str:
    """Return the time of a message as a label begins with it."""
    said = next((value[key] for key in _TIMES if value.get(key)), None)
    if isinstance(said, str) and re.fullmatch(r"\d{9,10}\.\d+", said):
        said = float(said)  # Slack
    try:
        if isinstance(said, int | float):
            moment = datetime.fromtimestamp(said / 1_000 if said > 1e11 else said, UTC)
        else:
            moment = datetime.fromisoformat(said or "")
    except (ValueError, OverflowError, OSError):
        return ""
    if moment.tzinfo is None:
        return f"[{moment:%Y-%m-%d %H:%M:%S}] "
    return f"[{moment.astimezone(UTC):%Y-%m-%d %H:%M:%S}Z] "


def _path(tree: Mapping[str, Any], last: object) -> list[object]:
    """Return the messages from the root of a tree to one of its nodes; without one, all in the order they stand in."""
    if not isinstance(last, str) or last not in tree:
        return [cast("dict[str, Any]", node).get("message") for node in tree.values() if isinstance(node, dict)]
    found: list[object] = []
    seen: set[str] = set()
    at: object = last
    while isinstance(at, str) and at not in seen and len(seen) < _TREE_LIMIT:
        seen.add(at)
        node = tree.get(at)
        if not isinstance(node, dict):
            break
        found.append(cast("dict[str, Any]", node).get("message"))
        at = cast("dict[str, Any]", node).get("parent")
    return found[::-1]
