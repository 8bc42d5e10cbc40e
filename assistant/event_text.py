"""An event in words, on one line, and which events clash."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta

from assistant.messages import Event


def event_line(event: Event) -> str:
    """`Review · Tue 2026-12-01 15:00–16:00 · Room 2`."""
    parts = [event.title, when_text(event), event.location]
    return " · ".join(part for part in parts if part)


def when_text(event: Event) -> str:
    """`Tue 2026-12-01 15:00–16:00`."""
    start = f"{event.start:%a %Y-%m-%d}"
    if event.whole_day:
        last = event.end - timedelta(days=1)
        return start if last.date() <= event.start.date() else f"{start} – {last:%a %Y-%m-%d}"
    if event.end == event.start:
        return f"{start} {event.start:%H:%M}"
    same_day = event.end.date() == event.start.date()
    end = f"{event.end:%H:%M}" if same_day else f"{event.end:%a %Y-%m-%d %H:%M}"
    return f"{start} {event.start:%H:%M}–{end}"


def clashes(event: Event, others: Sequence[Event]) -> Sequence[Event]:
    """Those of `others` that take place at the same time, whole days aside."""
    if event.whole_day:
        return []
    own = event.id.partition("@")[0]
    return [
        one
        for one in others
        if one.id.partition("@")[0] != own
        and not one.whole_day
        and one.start < event.end
        and event.start < one.end
    ]
