"""Words in one session's log: every record that holds them, and how an erasure names it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

import msgspec

from assistant.memory.erasing.log_lines import LogLine, log_lines
from assistant.memory.session_log import UNREADABLE, FailureRecord, TitleRecord
from assistant.messages import (
    ImagePart,
    KeptItem,
    Message,
    Summary,
    TextPart,
    ToolCall,
    folded,
)
from assistant.protocols import Match


class Finding(msgspec.Struct, frozen=True, omit_defaults=True):
    """A record that holds the words, and what an erasure takes to be rid of it: one of these."""

    match: Match
    session: str
    turn: int = 0
    """The turn that must go: half of an exchange makes no sense to anybody."""
    title: bool = False
    """Whether the session's titles must go."""
    line: str = ""
    """The digest of the line that must go."""


# What stands in a file as it stands in the words: JSON escapes other signs, folding changes other
# letters.
_SURE = re.compile(r"[a-z0-9@._-]+|[\u3400-\u9fff]+")
# Signs that are folded to such all the same: ligatures and the like, and compatibility ideographs.
_LIKE = re.compile(
    rb"\xc3\x9f|\xc4\xb0|\xc5[\x89\xbf]|\xc7\xb0|\xe1\xba[\x96-\x9a\x9e]|\xe2\x84\xaa"
    rb"|\xef(?:\xac[\x80-\x86]|[\xa4-\xab])|\xf0\xaf"
)
_BREAKS = re.compile(r'[\s"\\/\x00-\x1f\x7f]+')
_ESCAPE = re.compile(r'\\+(?:u([0-9a-fA-F]{4})|([nrtbf])|(["/]))')


# As many digits as `folded` may leave of one whose groups and leading zeros don't count.
_LONG_NUMBER = re.compile(r"\d+")
_NO_DIGITS = bytes(sorted(set(range(256)) - set(b"0123456789")))


class Phrase:
    """Words that are looked for, one right after the other."""

    def __init__(self, words: str) -> None:
        self._folded = folded(words)
        # The digits of a long number may stand in groups.
        self._numbers = [one.encode() for one in _LONG_NUMBER.findall(self._folded)]
        tokens: list[str] = _SURE.findall(self._folded)
        self._sure = [one.encode() for one in tokens if not _LONG_NUMBER.search(one)]
        self._parts = _BREAKS.split(self._folded)

    def __bool__(self) -> bool:
        return bool(self._folded)

    def is_in(self, text: str) -> bool:
        return self._folded in folded(text)

    def may_be_in(self, data: bytes) -> bool:
        """Whether a log is worth reading line by line."""
        if not self.may_be_in_line(data):
            return False
        if data.isascii() or b"\\u" in data:
            return True
        text = folded(data.decode("utf-8", "replace"))
        return all(part in text for part in self._parts)

    def may_be_in_line(self, raw: bytes) -> bool:
        """Whether a line is worth decoding: a quicker look, which passes over less."""
        lowered = raw.lower()
        if b"\\u" in lowered:
            return True
        if all(one in lowered for one in self._sure):
            digits = raw.translate(None, _NO_DIGITS) if self._numbers else b""
            return all(one in digits for one in self._numbers)
        return not raw.isascii() and _LIKE.search(raw) is not None


def found_in(session_id: str, data: bytes, phrase: Phrase) -> Iterator[Finding]:
    """The records of a log that hold the words, in order.

    All are looked at: undone turns, results of tools with what was cut off, arguments of calls,
    summaries that were taken back, and lines that can't be read.
    """
    for line in log_lines(data):
        if phrase.may_be_in_line(line.raw) and (finding := _found(session_id, line, phrase)):
            yield finding


def _found(session_id: str, line: LogLine, phrase: Phrase) -> Finding | None:
    if isinstance(line.record, Message):
        return _in_message(session_id, line.record, phrase)
    held = next((text for text in _texts(line) if phrase.is_in(text)), None)
    match = None if held is None else line_match(session_id, line, held)
    if match is None:
        return None
    if isinstance(line.record, TitleRecord):
        return Finding(match, session_id, title=True)
    return Finding(match, session_id, line=line.digest)


def _in_message(session_id: str, message: Message, phrase: Phrase) -> Finding | None:
    said = [text for text in _of_message(message) if phrase.is_in(text)]
    called = [one for call in message.tool_calls for one in _of_call(call) if phrase.is_in(one)]
    if not said and not called:
        return None
    match = message_match(session_id, message, (said or called)[0])
    return Finding(match, session_id, turn=message.turn)


def line_match(session_id: str, line: LogLine, text: str = "") -> Match | None:
    """How a line is called, with its words, or `text` of them; None when it has none."""
    record = line.record
    if isinstance(record, Message):
        return message_match(session_id, record, text)
    if isinstance(record, TitleRecord):
        return Match("title", session_id, text or record.title)
    texts = [text, *_texts(line)]
    if not any(texts):
        return None
    kind = _KINDS.get(type(record), "unreadable line")
    return Match(kind, f"{session_id}.{line.digest}", next(filter(None, texts)))


_KINDS: Mapping[type, str] = {FailureRecord: "failure", Summary: "summary"}


def message_match(session_id: str, message: Message, text: str = "") -> Match:
    """How a message is called, by session, turn and id, with its words, or `text` of them."""
    kind = "tool result" if message.role == "tool" else "message"
    calls = (f"{call.name} {call.arguments}" for call in message.tool_calls)
    words = text or "\n".join(filter(None, (message.text, *calls)))
    return Match(kind, f"{session_id}.{message.turn}.{message.id}", words)


def _texts(line: LogLine) -> Iterator[str]:
    """The words of a line that is no message."""
    if line.unreadable:
        text = line.raw.decode("utf-8", "replace").strip()
        yield text
        yield unescaped(text)
    elif isinstance(line.record, TitleRecord):
        yield line.record.title
    elif isinstance(line.record, FailureRecord):
        yield line.record.reason
    elif isinstance(line.record, Summary):
        yield from _of_summary(line.record)


def _of_message(message: Message) -> Iterator[str]:
    if isinstance(message.content, str):
        yield message.content
    else:
        for part in message.content:
            if isinstance(part, TextPart):
                yield part.text
            elif isinstance(part, ImagePart) and not part.image_url.url.startswith("data:"):
                yield part.image_url.url
    yield message.whole or ""
    yield message.changed


def _of_call(call: ToolCall) -> Iterator[str]:
    """A call's texts, and what its arguments say once they are read as JSON."""
    yield call.name
    for text in (call.arguments, call.extra_content):
        yield text
        if "\\" in text:
            try:
                yield from _strings(msgspec.json.decode(text))
            except UNREADABLE:
                yield unescaped(text)


def _strings(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        yield from _strings([*value, *value.values()])
    elif isinstance(value, list):
        for one in value:
            yield from _strings(one)


def _of_summary(summary: Summary) -> Iterator[str]:
    yield summary.text
    yield summary.instructions
    for item in (*summary.kept, *summary.watched):
        yield from _of_kept(item)


def _of_kept(item: KeptItem) -> Iterator[str]:
    yield item.text
    yield item.value
    yield item.replaces


def unescaped(text: str) -> str:
    """Text with JSON's escapes read, also where it is no whole JSON, or JSON within JSON."""
    plain = _ESCAPE.sub(_plain, text)
    # A pair of surrogates is one character.
    return plain.encode("utf-16", "surrogatepass").decode("utf-16", "replace").replace("\\\\", "\\")


def _plain(found: re.Match[str]) -> str:
    code, space, sign = found.groups()
    if code:
        return chr(int(code, 16))
    return " " if space else sign
