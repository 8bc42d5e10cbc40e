"""The slash commands: the table of contents."""

from __future__ import annotations

from assistant.commands import (
    compaction,
    context_window,
    facts,
    forget,
    general,
    going_back,
    history,
    memos,
    recall,
    schedule,
    session,
    tools,
)
from assistant.commands.registry import CommandRegistry

GROUPS = (
    session.group,
    history.group,
    going_back.group,
    forget.group,
    schedule.group,
    memos.group,
    facts.group,
    tools.group,
    recall.group,
    compaction.group,
    context_window.group,
    general.group,
)


def all_commands() -> CommandRegistry:
    return CommandRegistry(GROUPS)
