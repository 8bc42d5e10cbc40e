"""Assembling a prompt: what is fixed, what of the history fits, and the current message."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from datetime import datetime
from itertools import groupby

import msgspec

from assistant.errors import MessageTooBig
from assistant.memory.session import Session
from assistant.memory.token_budget import (
    REPLY_PRIMER,
    Fitted,
    History,
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
        if current_tokens > room:
            # Images can't be cut, and a tiny room holds not even the mark.
            raise _too_big(current_tokens, room)
    history_room = budget.history_room(system_tokens + schema_tokens, current_tokens)
    recent = recent_turns(session, history_room, budget.recent_messages, counter)
    messages = (system, *_joined([*recent.messages, current]))
    return Prompt(
        messages=messages,
        sections=(
            Section("system", system_tokens),
            Section("tools", schema_tokens),
            Section("history", recent.tokens),
            Section("input", current_tokens),
        ),
        limit=budget.limit,
        window=budget.window,
        reserve=budget.reserve,
        tools=fixed.tools,
        left_out=len(session.history) - 1 - len(recent.messages),
        exact=counter.exact,
    )


def recent_turns(session: Session, room: int, most_messages: int, counter: TokenCounter) -> Fitted:
    """The newest earlier turns that fit, by tokens and by number, the last message excluded.

    The newest of them is never dropped: when it does not fit whole, its longest text is shortened
    around a visible mark.
    """
    rejected = {turn for turn, failure in session.failures.items() if failure.rejected}
    session.history.count_newest(
        counter.encoding,
        lambda one: message_tokens(one, counter.count),
        room,
        passed_over=rejected,
    )
    history = _sendable(session.history, rejected, most_messages)
    last = len(history) - 1
    starts = history.turn_starts
    if len(starts) < 2 or room <= 0 or most_messages <= 0:
        return Fitted((), 0)
    newest = starts[-2]
    by_number = min(last_messages(history, most_messages + 1).start, newest)
    by_tokens = newest_turns(history, room + history.tokens(range(last, last + 1))).start
    start = max(by_number, by_tokens)
    if start < last:
        return Fitted(history.slice(range(start, last)), history.tokens(range(start, last)))
    return _shortened(history, range(newest, last), room, counter)


def _sendable(history: History, rejected: Collection[int], most_messages: int) -> History:
    """The history without turns that were rejected: sent again, they would fail every later turn.

    Only as far back as messages are sent, and to the start of the newest turn that is.
    """
    if not rejected:
        return history
    last = len(history) - 1
    starts = (at for at in reversed(history.turn_starts[:-1]) if history[at].turn not in rejected)
    # A rejected turn is one message, which has no reply.
    first = min(max(0, last - most_messages - len(rejected)), next(starts, last))
    kept = [at for at in range(first, last) if history[at].turn not in rejected]
    return History.of(
        [history[at] for at in (*kept, last)],
        [history.tokens(range(at, at + 1)) for at in (*kept, last)],
    )


def _shortened(history: History, turn: range, room: int, counter: TokenCounter) -> Fitted:
    """One turn that does not fit whole, with its longest text cut to what is left."""

    def shorten(message: Message, tokens: int) -> tuple[Message, int]:
        short = shorten_message(message, tokens, counter.count)
        return short, message_tokens(short, counter.count)

    alone = History.of(history.slice(turn), [history.tokens(range(at, at + 1)) for at in turn])
    return fit_tokens(alone, room, shorten=shorten)


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


def _joined(messages: Iterable[Message]) -> list[Message]:
    """Roles in turn, as many chat templates want them.

    Unanswered questions are joined with the next one, and replies whose question can't be read
    with the one before; tool calls stay apart from everything.
    """
    joined: list[Message] = []
    for role, group in groupby(messages, key=lambda one: one.role):
        together = list(group)
        if role == "tool" or any(one.tool_calls for one in together):
            joined += together
            continue
        content = together[0].content
        for one in together[1:]:
            content = _joined_content(content, one.content)
        joined.append(msgspec.structs.replace(together[-1], content=content))
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
