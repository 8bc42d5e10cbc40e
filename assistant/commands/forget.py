"""/forget: erasing for real. What it does is in erasing.py, which the prompt need not wait for."""

from __future__ import annotations

from assistant.commands.context import CommandContext
from assistant.commands.outputs import Output
from assistant.commands.registry import CommandGroup

group = CommandGroup("Forgetting")

FORMS = {
    "last": "the last turn, or the last n",
    "about": "what holds these words, or bears on them",
    "since": "all turns from a day on",
    "before": "all turns before a day",
    "tool": "calls of tools and their results, in this session",
    "user": "what you said, in this session",
    "assistant": "the replies, in this session",
    "session": "a whole session: id, start of an id, or title",
    "everything": "all that is kept of you",
    "verify": "look for words in every byte that is kept",
    "resume": "go on with an erase that was broken off",
}


@group.command(
    "forget",
    "[last [n] | <turns> | about <words> | since | before | tool | session | everything | verify]",
    complete=lambda context, typed: list(FORMS.items()),
)
def forget(context: CommandContext, argument: str) -> Output:
    """Erase for good: turns, words, days, sessions, or everything.

    /forget last 2, /forget 12-15, /forget 20261130-101500-k3f.4
    /forget about 555 0199: shows what holds the words, to tick off
    /forget since 2026-11-01, /forget before March
    /forget tool (or user, assistant): only messages of that role, in this session
    /forget session <id>, /forget everything
    /forget verify <words>: looks for them in every byte that is kept
    """
    from assistant.commands.erasing import erasing

    return erasing(context, argument)
