"""/history."""

from __future__ import annotations

import re

from assistant.commands.context import CommandContext
from assistant.commands.outputs import Output, Text, Transcript, count_text
from assistant.commands.registry import CommandGroup
from assistant.errors import UsageError
from assistant.memory.session import Session
from assistant.memory.token_budget import last_turns

group = CommandGroup("Conversation")
TURNS_SHOWN = 10


@group.command(
    "history", "[n | all]", complete=lambda context, typed: [("all", "every turn, undone ones too")]
)
def show_history(context: CommandContext, argument: str) -> Output:
    """Show the last turns of this session: 10, n, or all of them.

    all shows undone turns, too, marked, in order of time.
    """
    if argument == "all":
        return _all(context.session)
    history = context.session.history
    turns = _number(argument)
    if not len(history):
        if context.session.messages:
            return Text("The conversation is empty. /history all shows what was undone.")
        return Text("Nothing has been said in this session yet.")
    kept = last_turns(history, turns)
    left_out = sum(start < kept.start for start in history.turn_starts)
    return Transcript(
        history.slice(kept),
        failures=context.session.failure_reasons,
        note=f"{count_text(left_out, 'turn')} before these: /history all." if left_out else "",
    )


def _all(session: Session) -> Output:
    if not session.messages:
        return Text("Nothing has been said in this session yet.")
    undone = frozenset(session.undone)
    marked = f"{count_text(len(undone), 'turn')} marked as undone: /rewind <turn> goes there."
    return Transcript(
        session.messages,
        failures=session.failure_reasons,
        note=marked if undone else "",
        undone=undone,
    )


def _number(argument: str) -> int:
    if not argument:
        return TURNS_SHOWN
    if not re.fullmatch(r"[1-9]\d{0,8}", argument, re.ASCII):
        raise UsageError(f"“{argument}” is no number of turns.")
    return int(argument)
