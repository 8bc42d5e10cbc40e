"""The tools a model may call: the table of contents."""

from __future__ import annotations

from assistant.tools import facts, memos, recall, schedule

GROUPS = (schedule.group, memos.group, facts.group, recall.group)
