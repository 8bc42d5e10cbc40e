"""Assembling a prompt: what is fixed, the summary, the recent turns that fit, and the message."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from datetime import datetime
from itertools import groupby

import msgspec

from assistant.errors import MessageTooBig
from assistant.memory.background import recalled_block, summary_block, time_note
from assistant.memory.session import Session
from assistant.memory.token_budget import (
    REPLY_PRIMER,
    CountText,
    Fitted,
    History,
    TokenBudget,
    fit_tokens,
    last_messages,
    message_tokens,
    newest_turns,
    shorten_message,
)
from assistant.messages import (
    Content,
    Fact,
    Message,
    Part,
    Summary,
    TextPart,
    ToolCall,
    clean_text,
)
from assistant.prompt import Prompt, Recollection, Section, ToolSchema
from assistant.protocols import TokenCounter

#: Stands for a result that was lost.
NO_RESULT = "There is no result: it is not known whether this was done."
#: Characters of a call's arguments that are sent again with later requests.
LONGEST_ARGUMENTS = 2_000
#: Tokens that are left of a tool's result at least.
LEAST_RESULT = 40


class Known(msgspec.Struct, frozen=True):
    """What is known about the user, as it stands in the system message."""

    text: str = ""
    facts: tuple[Fact, ...] = ()
    left_out: tuple[Fact, ...] = ()
    """In force as well; there was no room for them."""


class Fixed(msgspec.Struct, frozen=True):
    """What stands in every prompt: the instructions, the tools, and the facts in force."""

    instructions: str
    tools: Sequence[ToolSchema] = ()
    tools_tokens: int = 0
    """What the tools add to the prompt of the model that is asked."""
    facts: Known = Known()


class Shares(msgspec.Struct, frozen=True):
    """How one prompt's tokens are shared out, before anything is recalled for it."""

    system: Message
    current: Message
    """The message with the date and time; its middle cut out where that was agreed to."""
    rounds: tuple[Message, ...]
    """The calls of tools since then, and their results."""
    recent: Fitted
    sections: tuple[Section, ...]
    """All but what is recalled."""
    history_room: int
    """What the recent turns and the summary may take together."""
    recalled_room: int
    left_out: int
    """Messages that neither the recent turns nor the summary stand for."""

    @property
    def recent_turns(self) -> frozenset[int]:
        """Turns that are sent word for word, the current one included."""
        return frozenset(one.turn for one in (*self.recent.messages, self.current))

    @property
    def tells_of_others(self) -> bool:
        """Whether text is sent that the user did not type: found by tools, or summed up.

        So is a reply that was written with such text before it: it may hold it.
        """
        summed_up = any(one.name == "summary" and one.tokens for one in self.sections)
        sent = (*self.recent.messages, *self.rounds)
        return summed_up or any(one.role == "tool" or one.secondhand for one in sent)


def share_out(
    session: Session,
    fixed: Fixed,
    budget: TokenBudget,
    counter: TokenCounter,
    now: datetime,
    *,
    recalled: str = "",
    cut_message: bool = False,
) -> Shares:
    """What is fixed, what the session's last turn takes so far, and which turns fit beside it.

    `recalled` is what was recalled for it already. Raises MessageTooBig when the message alone
    leaves no room, unless `cut_message`.
    """
    count = counter.count
    bare = Message(role="system", content=fixed.instructions)
    bare_tokens = message_tokens(bare, count) + REPLY_PRIMER
    instructions = Message(role="system", content=with_facts(fixed))
    system_tokens = message_tokens(instructions, count) + REPLY_PRIMER
    fixed_tokens = system_tokens + fixed.tools_tokens
    current = _current(session, budget.input_room(fixed_tokens), counter, now, cut_message)
    typed_tokens = message_tokens(current, count)
    known_tokens = count(recalled_block(recalled)) + 4 if recalled else 0
    left = budget.input_room(fixed_tokens) - typed_tokens - known_tokens
    rounds = _rounds(session, left, counter)
    rounds_tokens = sum(message_tokens(one, count) for one in rounds)
    current_tokens = typed_tokens + rounds_tokens
    summary_room = budget.history_room(fixed_tokens, current_tokens + known_tokens)
    # Looked at once: the worker may put another in force at any moment.
    summary = session.summary
    system, summary_tokens = _with_summary(instructions, summary, summary_room, count)
    recalled_room = max(
        known_tokens, budget.recalled_room(fixed_tokens + summary_tokens, current_tokens)
    )
    history_room = budget.history_room(fixed_tokens, current_tokens + recalled_room, summary_tokens)
    summarized = session.summarized_by(summary)
    recent = recent_turns(session, summarized, history_room, budget.recent_messages, counter)
    return Shares(
        system,
        current,
        rounds,
        recent,
        (
            Section("system", bare_tokens),
            Section("facts", system_tokens - bare_tokens),
            Section("summary", summary_tokens),
            Section("tools", fixed_tokens - system_tokens),
            Section("history", recent.tokens),
            Section("input", typed_tokens),
            Section("results", rounds_tokens),
        ),
        history_room + summary_tokens,
        recalled_room,
        left_out=_left_out(session, summarized, recent),
    )


def assemble(
    session: Session,
    shares: Shares,
    recollection: Recollection,
    fixed: Fixed,
    budget: TokenBudget,
    counter: TokenCounter,
) -> Prompt:
    """The prompt, in an order that providers' prefix caches hold: what changes rarely stands first.

    One system message with the facts and the summary, the recent turns word for word, then one user
    message: what was recalled, what was typed, and the date and time; behind it the calls of tools
    since then, and their results.
    """
    current = shares.current
    if recollection.text:
        block = recalled_block(recollection.text)
        # Before what was typed: behind it, a small model answered the last line of the block.
        current = msgspec.structs.replace(current, content=_joined_content(block, current.content))
    *before, typed, results = shares.sections
    recalled = Section("recalled", message_tokens(current, counter.count) - typed.tokens)
    recent = paired(shares.recent.messages)
    return Prompt(
        messages=(shares.system, *_joined([*recent, current]), *shares.rounds),
        sections=(*before, recalled, typed, results),
        limit=budget.limit,
        window=budget.window,
        reserve=budget.reserve,
        tools=fixed.tools,
        left_out=session.history.turn_starts[-1] - len(shares.recent.messages),
        history_room=shares.history_room,
        recollection=recollection,
        facts=fixed.facts.facts,
        facts_left_out=fixed.facts.left_out,
        exact=counter.exact,
    )


def _current(
    session: Session, room: int, counter: TokenCounter, now: datetime, cut_message: bool
) -> Message:
    """The user's last message, as it is sent."""
    current = with_time(session.history[session.history.turn_starts[-1]], now)
    tokens = message_tokens(current, counter.count)
    if tokens > room and cut_message:
        current = shorten_message(current, room, counter.count)
        # Images can't be cut, and a tiny room holds not even the mark.
        tokens = message_tokens(current, counter.count)
    if tokens > room:
        raise _too_big(tokens, room)
    return current


def with_facts(fixed: Fixed) -> str:
    """What the system message begins with."""
    known = fixed.facts.text
    return f"{fixed.instructions}\n\n{known}" if known else fixed.instructions


def _rounds(session: Session, room: int, counter: TokenCounter) -> tuple[Message, ...]:
    """The calls of the last turn and their results, in `room` tokens where that can be.

    Where they take more, the results are shortened, the largest first; then whole rounds are left
    out, the oldest first, all but the last.
    """
    count = counter.count
    history = session.history
    rounds = list(paired(history.slice(range(history.turn_starts[-1] + 1, len(history)))))
    sizes = [message_tokens(one, count) for one in rounds]
    results = [at for at, one in enumerate(rounds) if one.role == "tool"]
    for at in sorted(results, key=lambda at: -sizes[at]):
        over = sum(sizes) - room
        if over <= 0:
            break
        rounds[at] = shorten_message(rounds[at], max(LEAST_RESULT, sizes[at] - over), count)
        sizes[at] = message_tokens(rounds[at], count)
    begins = [at for at, one in enumerate(rounds) if one.role == "assistant"]
    first = next((at for at in begins if sum(sizes[at:]) <= room), begins[-1] if begins else 0)
    return tuple(rounds[first:])


def _with_summary(
    instructions: Message, summary: Summary | None, room: int, count: CountText
) -> tuple[Message, int]:
    """The instructions and what of the summary fits `room`, and the tokens that takes."""
    if summary is None:
        return instructions, 0
    alone = message_tokens(instructions, count)
    half = summary.text[: len(summary.text) // 2].rpartition("\n")[0]
    for short in (
        summary,
        msgspec.structs.replace(summary, text=half),
        msgspec.structs.replace(summary, text=""),
        msgspec.structs.replace(summary, kept=()),
    ):
        if not short.text and not short.kept:
            continue
        text = f"{instructions.text}\n\n{summary_block(short)}"
        system = msgspec.structs.replace(instructions, content=text)
        tokens = message_tokens(system, count) - alone
        if tokens <= room:
            return system, tokens
    return instructions, 0


def _left_out(session: Session, summarized: int, recent: Fitted) -> int:
    """Messages after the summary that are not sent, rejected ones aside."""
    history, rejected = session.history, session.rejected
    first = recent.messages[0].id if recent.messages else history[history.turn_starts[-1]].id
    unsent = history.slice(range(summarized, history.index_after(first - 1)))
    return sum(one.turn not in rejected for one in unsent)


def recent_turns(
    session: Session, summarized: int, room: int, most_messages: int, counter: TokenCounter
) -> Fitted:
    """The newest earlier turns that fit, by tokens and by number, the last turn excluded.

    Not the first `summarized` messages, which a summary stands for. The newest of them is never
    dropped: when it does not fit whole, its longest text is shortened around a visible mark.
    """
    rejected = session.rejected
    session.history.count_newest(
        counter.encoding,
        lambda one: message_tokens(one, counter.count),
        room,
        passed_over=rejected,
    )
    most_messages = min(most_messages, _not_summarized(session, summarized, rejected))
    history = _sendable(session.history, rejected, most_messages)
    starts = history.turn_starts
    last = starts[-1]
    if len(starts) < 2 or room <= 0 or most_messages <= 0:
        return Fitted((), 0)
    newest = starts[-2]
    current = range(last, len(history))
    by_number = min(last_messages(history, most_messages + len(current)).start, newest)
    by_tokens = newest_turns(history, room + history.tokens(current)).start
    start = max(by_number, by_tokens)
    if start < last:
        return Fitted(history.slice(range(start, last)), history.tokens(range(start, last)))
    return _shortened(history, range(newest, last), room, counter)


def _not_summarized(session: Session, summarized: int, rejected: Collection[int]) -> int:
    """Messages before the last turn that no summary stands for, and that may be sent."""
    recent = range(summarized, session.history.turn_starts[-1])
    if not rejected:
        return len(recent)
    return sum(session.history[at].turn not in rejected for at in recent)


def _sendable(history: History, rejected: Collection[int], most_messages: int) -> History:
    """The history without turns that were rejected: sent again, they would fail every later turn.

    Only as far back as messages are sent, and to the start of the newest turn that is.
    """
    if not rejected:
        return history
    last = history.turn_starts[-1]
    starts = (at for at in reversed(history.turn_starts[:-1]) if history[at].turn not in rejected)
    # Most rejected turns are one message, which has no reply.
    first = min(max(0, last - most_messages - len(rejected)), next(starts, last))
    kept = [at for at in range(first, last) if history[at].turn not in rejected]
    return history.picked((*kept, *range(last, len(history))))


def _shortened(history: History, turn: range, room: int, counter: TokenCounter) -> Fitted:
    """One turn that does not fit whole, with its longest text cut to what is left.

    Its calls are counted as they are sent, with short arguments.
    """
    count = counter.count

    def shorten(message: Message, tokens: int) -> tuple[Message, int]:
        short = shorten_message(message, tokens, count)
        return short, message_tokens(short, count)

    saved = history.slice(turn)
    sent = [_with_short_arguments(one) for one in saved]
    tokens = [
        message_tokens(short, count) if short is not one else history.tokens(range(at, at + 1))
        for at, one, short in zip(turn, saved, sent, strict=True)
    ]
    return fit_tokens(History.of(sent, tokens), room, shorten=shorten)


def with_time(question: Message, now: datetime) -> Message:
    """The message as it is sent: the date and time after it, marked as background.

    After it, because there it measured better with a small model, and because what was typed then
    stays a prefix of the next prompt, which has it without the note.
    """
    return msgspec.structs.replace(
        question, content=_joined_content(question.content, time_note(question.text, now))
    )


def paired(messages: Sequence[Message]) -> Sequence[Message]:
    """Messages in which each call of a tool has one result, right behind it, and no result is
    without its call: what no endpoint takes, and a damaged or older log may hold. Very long
    arguments are shortened, as valid JSON: the model wrote them, and the result says what came
    of them.
    """
    if not any(one.role == "tool" or one.tool_calls for one in messages):
        return messages
    messages = [_with_short_arguments(one) for one in messages]
    results = {one.tool_call_id: one for one in messages if one.role == "tool"}
    whole: list[Message] = []
    for one in messages:
        if one.role == "tool":
            continue
        whole.append(one)
        for call in one.tool_calls:
            missing = Message(role="tool", content=NO_RESULT, turn=one.turn, tool_call_id=call.id)
            whole.append(results.get(call.id, missing))
    return whole


def _with_short_arguments(message: Message) -> Message:
    calls = tuple(map(_short, message.tool_calls))
    return (
        message
        if calls == message.tool_calls
        else msgspec.structs.replace(message, tool_calls=calls)
    )


def _short(call: ToolCall) -> ToolCall:
    """A call with LONGEST_ARGUMENTS characters of arguments at most; shortened ones are JSON."""
    if len(call.arguments) <= LONGEST_ARGUMENTS:
        return call
    start = clean_text(call.arguments[:LONGEST_ARGUMENTS])
    while len(short := msgspec.json.encode({"shortened": start}).decode()) > LONGEST_ARGUMENTS:
        start = start[: len(start) * LONGEST_ARGUMENTS // len(short)]
    return msgspec.structs.replace(call, arguments=short)


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
