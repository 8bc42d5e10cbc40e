"""The tools a model may call: the table of contents."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from assistant.tools.registry import ToolGroup


def all_groups() -> tuple[ToolGroup, ...]:
    """Every tool, by what it is about. Imported when the first question is asked, not before."""
    from assistant.tools import facts, memos, recall, schedule

    return (schedule.group, memos.group, facts.group, recall.group)
