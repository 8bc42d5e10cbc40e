"""Assembling a prompt: what is fixed, what of the history fits, and the current message."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from itertools import groupby

import msgspec

from assistant.errors import MessageTooBig
from assistant.memory.session import Session
from assistant.memory.token_budget import (
    REPLY_PRIMER,
    TokenBudget,
    fit_tokens,
    last_messages,
    message_tokens,
    newest_turns,
    shorten_message,
    tools_tokens,
)
from assistant.messages import Content, Message, Part, TextPart
from assistant.prompt import Prompt, Section, ToolSchema
from assistant.protocols import TokenCounter


class Fixed(msgspec.Struct, frozen=True):
    """What stands in every prompt: the instructions and the tools."""

    instructions: str
    tools: Sequence[ToolSchema] = ()


def assemble(
    session: Session,
    fixed: Fixed,
    budget: TokenBudget,
    counter: TokenCounter,
    now: datetime,
    *,
    cut_message: bool = False,
) -> Prompt:
    """The prompt for the session's last message, which is the user's.

    Order: one system message, the recent turns word for word, then one user message with the
    date and what was typed: what changes rarely stands first, so that prefix caches hold.
    Raises MessageTooBig when the message alone leaves no room, unless `cut_message`.
    """
    question = session.history[len(session.history) - 1]
    system = Message(role="system", content=fixed.instructions)
    system_tokens = message_tokens(system, counter.count) + REPLY_PRIMER
    schema_tokens = tools_tokens(fixed.tools, counter.count)
    current = with_background(question, now)
    current_tokens = message_tokens(current, counter.count)
    room = budget.input_room(system_tokens + schema_tokens)
    if current_tokens > room:
        if not cut_message:
            raise _too_big(current_tokens, room)
        current = shorten_message(current, room, counter.count)
        current_tokens = message_tokens(current, counter.count)
    history_room = budget.history_room(system_tokens + schema_tokens, current_tokens)
    recent = recent_turns(session, history_room, budget.recent_messages, counter)
    history = _sendable(recent, session)
    messages = (system, *_joined([*history, current]))
    return Prompt(
        messages=messages,
        sections=(
            Section("system", system_tokens),
            Section("tools", schema_tokens),
            Section("history", sum(_tokens(one, counter) for one in history)),
            Section("input", current_tokens),
        ),
        window=budget.window,
        reserve=budget.reserve,
        tools=fixed.tools,
        left_out=len(session.history) - 1 - len(recent),
        exact=counter.exact,
    )


def recent_turns(
    session: Session, room: int, most_messages: int, counter: TokenCounter
) -> tuple[Message, ...]:
    """The newest earlier turns that fit, by tokens and by number, the last message excluded.

    The newest of them is never dropped: when it does not fit whole, its longest text is shortened
    around a visible mark.
    """
    history = session.history
    history.count_newest(counter.encoding, lambda one: message_tokens(one, counter.count), room)
    last = len(history) - 1
    question_tokens = history.tokens(range(last, last + 1))
    by_tokens = newest_turns(history, room + question_tokens)
    by_number = last_messages(history, most_messages + 1)
    start = max(by_tokens.start, by_number.start)
    if start < last or not last:
        return history.slice(range(start, last))
    fitted = fit_tokens(
        history,
        room + question_tokens,
        shorten=lambda one, tokens: shorten_message(one, tokens, counter.count),
    )
    return fitted.messages[:-1]


def with_background(question: Message, now: datetime) -> Message:
    """The message as it is sent: the date and time after it, marked as background.

    After it, because there it measured better with a small model, and because what was typed then
    stays a prefix of the next prompt, which has it without the note.
    """
    note = (
        f"[Background, not part of the message: it is {now:%A}, {now:%Y-%m-%d %H:%M} "
        f"({now.tzname()}).]"
    )
    return msgspec.structs.replace(question, content=_joined_content(question.content, note))


def _tokens(message: Message, counter: TokenCounter) -> int:
    """The count a message was saved with, where it is in this encoding."""
    if message.count is not None and message.count.encoding == counter.encoding:
        return message.count.tokens
    return message_tokens(message, counter.count)


def _sendable(messages: Iterable[Message], session: Session) -> list[Message]:
    """Without turns the endpoint rejected: sent again, they would fail every later turn."""
    rejected = {turn for turn, failure in session.failures.items() if failure.rejected}
    return [one for one in messages if one.turn not in rejected]


def _joined(messages: Iterable[Message]) -> list[Message]:
    """Unanswered questions joined with the next one: many chat templates want roles in turn."""
    joined: list[Message] = []
    for role, group in groupby(messages, key=lambda one: one.role):
        together = list(group)
        if role == "user":
            content: Content = together[0].content
            for one in together[1:]:
                content = _joined_content(content, one.content)
            joined.append(msgspec.structs.replace(together[-1], content=content))
        else:
            joined += together
    return joined


def _joined_content(first: Content, second: Content) -> Content:
    if isinstance(first, str) and isinstance(second, str):
        return f"{first}\n\n{second}"
    return (*_as_parts(first), *_as_parts(second))


def _as_parts(content: Content) -> tuple[Part, ...]:
    return (TextPart(content),) if isinstance(content, str) else content


def _too_big(tokens: int, room: int) -> MessageTooBig:
    return MessageTooBig(
        f"This message takes about {tokens:,} tokens; the model has room for {room:,}. It is saved "
        "and was not sent. Send it in parts, or set a model with a larger window.",
        tokens=tokens,
        room=room,
    )
