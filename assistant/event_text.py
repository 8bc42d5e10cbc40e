"""An event in words, on one line, and what a person should hear of its time."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta

from assistant.messages import Event

_UNITS = {"HOURLY": "hour", "DAILY": "day", "WEEKLY": "week", "MONTHLY": "month", "YEARLY": "year"}
_WEEKDAYS = dict(
    zip(
        ("MO", "TU", "WE", "TH", "FR", "SA", "SU"),
        ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"),
        strict=True,
    )
)


def event_line(event: Event) -> str:
    """`Review · Tue 2026-12-01 15:00–16:00 · Room 2 · every week on Tue · reminder 10 min before`.

    Always one line, whatever line ends its texts hold.
    """
    parts = [
        " ".join(event.title.split()),
        when_text(event),
        " ".join(event.location.split()),
        repeat_text(event.repeat),
        "" if event.remind_before is None else f"reminder {reminder_text(event.remind_before)}",
    ]
    return " · ".join(part for part in parts if part)


def when_text(event: Event) -> str:
    """`Tue 2026-12-01 15:00–16:00`; of whole days the dates, the last one included."""
    start = _day(event.start)
    if event.whole_day:
        last = event.end - timedelta(days=1)
        return start if last.date() <= event.start.date() else f"{start} – {_day(last)}"
    if event.end == event.start:
        return f"{start} {event.start:%H:%M}"
    same_day = event.end.date() == event.start.date()
    end = f"{event.end:%H:%M}" if same_day else f"{_day(event.end)} {event.end:%H:%M}"
    return f"{start} {event.start:%H:%M}–{end}"


def repeat_text(rule: str) -> str:
    """`every 2 weeks on Mon, Wed (until 2027-03-01)`; a rule that says more stands as it is."""
    parts = dict(part.split("=", 1) for part in rule.split(";") if "=" in part)
    unit = _UNITS.get(parts.pop("FREQ", ""), "")
    interval, until, count = (parts.pop(name, "") for name in ("INTERVAL", "UNTIL", "COUNT"))
    days = [_WEEKDAYS.get(day, "") for day in parts.pop("BYDAY", "").split(",") if day]
    parts.pop("WKST", None)
    if not unit or parts or not all(days):
        return rule
    text = f"every {unit}" if interval in ("", "1") else f"every {interval} {unit}s"
    text += f" on {', '.join(days)}" if days else ""
    if until:
        text += f" (until {until[:4]}-{until[4:6]}-{until[6:8]})"
    return f"{text} ({count} times)" if count else text


def reminder_text(minutes: int) -> str:
    """`10 min before`, `2 h before`, `1 day before`."""
    if not minutes:
        return "at the start"
    if minutes % (24 * 60) == 0:
        days = minutes // (24 * 60)
        return "1 day before" if days == 1 else f"{days} days before"
    return f"{minutes} min before" if minutes % 60 else f"{minutes // 60} h before"


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


def clash_text(other: Event) -> str:
    return f"It clashes with: {event_line(other)} (id {other.id})"


def past_text(event: Event, now: datetime) -> str:
    """That an event is over or has begun, with the time it is now; empty when it is to come."""
    ahead = event.end.date() > now.date() if event.whole_day else event.start >= now
    if ahead or event.repeat:
        return ""
    return f"This is in the past: it is {now:%Y-%m-%d %H:%M} now."


def _day(moment: datetime) -> str:
    return f"{tuple(_WEEKDAYS.values())[moment.weekday()]} {moment:%Y-%m-%d}"
