"""Messages as a summarizer reads them: lines with role labels, in pieces of bounded length."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import date

from assistant.messages import Language, Message, Role

LABELS: dict[Language, dict[Role, str]] = {
    "en": {"system": "System", "user": "User", "assistant": "Assistant", "tool": "Tool"},
    "zh": {"system": "系统", "user": "用户", "assistant": "助手", "tool": "工具"},
}
_COLON: dict[Language, str] = {"en": ": ", "zh": "："}


def transcript_pieces(
    messages: Sequence[Message], language: Language, tokens: int, count: Callable[[str], int]
) -> list[str]:
    """The whole of the messages, in pieces of `tokens` tokens at most.

    A message that is larger than a piece goes on in the next one: nothing is left out.
    """
    pieces: list[str] = []
    lines: list[str] = []
    room = tokens
    for line in _lines(messages, language, tokens, count):
        size = count(line) + 1
        if lines and size > room:
            pieces.append("\n".join(lines))
            lines, room = [], tokens
        lines.append(line)
        room -= size
    return [*pieces, "\n".join(lines)] if lines else pieces


def _lines(
    messages: Iterable[Message], language: Language, tokens: int, count: Callable[[str], int]
) -> Iterator[str]:
    day: date | None = None
    for message in messages:
        if message.ts is not None and message.ts.date() != day:
            day = message.ts.date()
            yield f"[{day}]"
        label = LABELS[language][message.role] + _COLON[language]
        for part in _parts(_said(message), max(1, tokens - count(label) - 1), count):
            yield label + part


def _said(message: Message) -> str:
    """The text, and the tools that were asked for, which have no text of their own."""
    calls = [f"[{call.name} {call.arguments}]" for call in message.tool_calls]
    return "\n".join(part for part in (message.text, *calls) if part)


def _parts(text: str, tokens: int, count: Callable[[str], int]) -> Iterator[str]:
    """A text in parts of `tokens` tokens at most; one character at least."""
    while text:
        length = min(len(text), max(1, 8 * tokens))
        while length > 1 and count(text[:length]) > tokens:
            length //= 2
        yield text[:length]
        text = text[length:]
