"""/history, /retry."""

from __future__ import annotations

import re

from assistant.commands.context import CommandContext
from assistant.commands.outputs import Ask, Output, Text, Transcript, count_text
from assistant.commands.registry import CommandGroup
from assistant.errors import UsageError
from assistant.memory.token_budget import last_turns
from assistant.messages import Message

group = CommandGroup("Conversation")
TURNS_SHOWN = 10


@group.command("history", "[n | all]", complete=lambda context, typed: [("all", "every turn")])
def show_history(context: CommandContext, argument: str) -> Output:
    """Show the last turns of this session: 10, n, or all of them."""
    history = context.session.history
    turns = _number(argument, len(history.turn_starts))
    if not len(history):
        return Text("Nothing has been said in this session yet.")
    kept = last_turns(history, turns)
    left_out = sum(start < kept.start for start in history.turn_starts)
    return Transcript(
        history.slice(kept),
        failures=context.session.failure_reasons,
        note=f"{count_text(left_out, 'turn')} before these: /history all." if left_out else "",
    )


def _number(argument: str, turns: int) -> int:
    if argument == "all":
        return turns
    if not argument:
        return TURNS_SHOWN
    if not re.fullmatch(r"[1-9]\d{0,8}", argument, re.ASCII):
        raise UsageError(f"“{argument}” is no number of turns.")
    return int(argument)


@group.command("retry")
def retry(context: CommandContext, argument: str) -> Output:
    """Ask again what got no reply."""
    message: Message | None = context.session.unanswered
    if message is None:
        return Text("There is no question without a reply. What was cut short can be asked anew.")
    return Ask(message)
