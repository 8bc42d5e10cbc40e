"""Prompts over random conversations: always inside the window, always a valid order of roles."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Literal

from hypothesis import given
from hypothesis import strategies as st

from assistant.errors import MessageTooBig
from assistant.memory.assembly import LEAST_RESULT, Fixed, assemble, share_out
from assistant.memory.background import recalled_block
from assistant.memory.session import Session
from assistant.memory.token_budget import (
    REPLY_PRIMER,
    History,
    TokenBudget,
    counted,
    message_tokens,
)
from assistant.messages import Message, Summary, ToolCall
from assistant.prompt import Prompt, Recollection
from tests.fakes import FakeClock, FakeCounter

NOW = datetime(2026, 3, 4, 5, 6, tzinfo=UTC)
COUNTER = FakeCounter()
#: Characters of a recalled block around its text, and of the line it is set off with.
BLOCK = len(recalled_block("")) + 2

#: Characters that the two calls of a round take, overhead included.
CALLS = 80

Ending = Literal["answered", "failed", "rejected", "tools", "damaged"]
Turns = list[tuple[int, int, Ending, str]]

# What a turn is made of: length of question and reply, how it ended, and how it was counted.
turns = st.lists(
    st.tuples(
        st.integers(0, 900),
        st.integers(1, 900),
        st.sampled_from(
            ["answered", "answered", "answered", "tools", "damaged", "failed", "rejected"]
        ),
        st.sampled_from(["right", "right", "none", "other"]),
    ),
    max_size=14,
)


def saved(message: Message, how: str) -> Message:
    if how == "none":
        return message
    if how == "other":
        return counted(message, "another encoding", 3 * len(message.text) + 1)
    return counted(message, COUNTER.encoding, message_tokens(message, COUNTER.count))


def talked(history: Turns, question: int) -> Session:
    session = Session("s1", clock=FakeClock(), log=None, part=None)
    for number, (asked, replied, ending, how) in enumerate(history, 1):
        session.add(saved(Message(role="user", content="q" * asked, turn=number), how))
        if ending in ("tools", "damaged"):
            for message in tool_round(number, replied, lost=ending == "damaged"):
                session.add(saved(message, how))
        if ending in ("answered", "tools", "damaged"):
            session.add(saved(Message(role="assistant", content="a" * replied, turn=number), how))
        else:
            session.fail(number, "no", rejected=ending == "rejected")
    session.ask("x" * question)
    return session


def tool_round(turn: int, length: int, *, lost: bool) -> list[Message]:
    """Two calls and their results; where one is `lost`, another call's stands in its place."""
    calls = (ToolCall(f"{turn}a", "look", "{}"), ToolCall(f"{turn}b", "look", "{}"))
    results = [f"{turn}a", "unknown" if lost else f"{turn}b"]
    return [
        Message(role="assistant", content="", turn=turn, tool_calls=calls),
        *(
            Message(role="tool", content="t" * length, turn=turn, tool_call_id=one)
            for one in results
        ),
    ]


def unpaired(messages: Sequence[Message]) -> list[str]:
    """Calls without a result right behind them, and results without a call."""
    wrong: list[str] = []
    open_calls: list[str] = []
    for one in messages:
        if one.role == "tool":
            if one.tool_call_id in open_calls:
                open_calls.remove(one.tool_call_id)
            else:
                wrong.append(str(one.tool_call_id))
            continue
        wrong += open_calls
        open_calls = [call.id for call in one.tool_calls]
    return wrong + open_calls


def sent_tokens(prompt: Prompt) -> int:
    return REPLY_PRIMER + sum(message_tokens(one, COUNTER.count) for one in prompt.messages)


@given(
    turns,
    st.integers(0, 2_000),
    st.integers(1, 4_000),
    st.integers(0, 1_500),
    st.integers(0, 12),
    st.integers(0, 20),
    st.integers(0, 900),
    st.booleans(),
    st.lists(st.integers(1, 900), max_size=3),
)
def test_every_prompt_fits_and_alternates(
    history: Turns,
    question: int,
    window: int,
    most: int,
    messages: int,
    summarized: int,
    recalled_most: int,
    cut: bool,
    rounds: list[int],
) -> None:
    session = talked(history, question)
    running = session.history[len(session.history) - 1].turn
    for length in rounds:
        for message in tool_round(running, length, lost=length % 2 == 0):
            session.add(message)
    if summarized and len(session.history) > 1:
        start = session.history.turn_starts[-1]
        last = session.history[max(0, min(summarized, start) - 1)].id
        session.summarize(Summary("s" * 80, (1, last), NOW, language="en"), after=None)
    fixed = Fixed("Be kind.")
    budget = TokenBudget.for_window(
        window, reserve=300, history=most, recent_messages=messages, recalled=recalled_most
    )
    before = [one for one in session.history.slice(range(len(session.history)))]
    try:
        shares = share_out(session, fixed, budget, COUNTER, NOW, cut_message=cut)
        recalled = Recollection(text="r" * max(0, shares.recalled_room - BLOCK))
        prompt = assemble(session, shares, recalled, fixed, budget, COUNTER)
    except MessageTooBig:
        return
    finally:
        assert [one for one in session.history.slice(range(len(session.history)))] == before
    sizes = {section.name: section.tokens for section in prompt.sections}
    assert sizes["recalled"] <= recalled_most
    sent = {one.id for one in shares.recent.messages}
    assert not sent & {one.id for one in session.history.slice(range(session.summarized))}
    unsent = [
        one
        for one in session.history.slice(range(session.summarized, session.history.turn_starts[-1]))
        if one.id not in sent and one.turn not in session.rejected
    ]
    assert shares.left_out == len(unsent)
    # Calls are never cut, and a word of each result stays: only then a window can be too small.
    if prompt.tokens + prompt.reserve > window:
        assert rounds
        assert sizes["history"] == 0
        assert sizes["results"] <= len(rounds) * (2 * LEAST_RESULT + CALLS)
    assert sizes["history"] <= most
    assert unpaired(prompt.messages) == []
    roles = [one.role for one in prompt.messages if one.role != "tool" and not one.tool_calls]
    assert roles[0] == "system"
    assert roles[1::2] == ["user"] * len(roles[1::2])
    assert roles[2::2] == ["assistant"] * len(roles[2::2])
    assert roles[-1] == "user"


@given(
    st.lists(
        st.tuples(st.integers(0, 200), st.sampled_from(["right", "none", "other"])), max_size=30
    ),
    st.integers(0, 800),
)
def test_recounting_leaves_the_sums_a_count_from_scratch_gives(
    lengths: list[tuple[int, str]], room: int
) -> None:
    read = [saved(Message(role="user", content="x" * size), how) for size, how in lengths]
    history = History()
    history.extend_counted(read)
    for message in read[:3]:
        history.append(message)
    known = [*read, *read[:3]]
    history.count_newest(COUNTER.encoding, lambda one: message_tokens(one, COUNTER.count), room)
    single = [history.tokens(range(index, index + 1)) for index in range(len(known))]
    assert history.tokens() == sum(single)
    filled = 0
    for message, tokens in zip(reversed(known[:-1]), reversed(single[:-1]), strict=True):
        if filled > room:
            break
        assert tokens == message_tokens(message, COUNTER.count)
        filled += tokens
