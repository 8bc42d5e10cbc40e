"""The first screen of a session: what is due, and what was promised. No model is asked."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta

from assistant.errors import EntryError
from assistant.event_text import event_line
from assistant.memory.promises import Promise
from assistant.messages import Event, one_line
from assistant.protocols import Calendar

#: Lines of each part.
MOST_EVENTS = 5
MOST_TO_DOS = 3
MOST_PROMISES = 3
EXCERPT = 100


def digest(calendar: Calendar | None, promises: Sequence[Promise], now: datetime) -> Sequence[str]:
    """Lines for the user; none when nothing is due and nothing was promised.

    `calendar` is None while there is none.
    """
    return [*(_due(calendar, now) if calendar else ()), *_promised(promises)]


def _due(calendar: Calendar, now: datetime) -> Sequence[str]:
    try:
        return [*_today(calendar, now), *_reminders(calendar, now), *_to_dos(calendar, now)]
    except EntryError as error:
        return [str(error)]


def _today(calendar: Calendar, now: datetime) -> Iterator[str]:
    """What is on now, or is yet to come today."""
    events = [one for one in calendar.between(now, _midnight(now) + timedelta(days=1))]
    yield from _listed(
        "Today:", [event_line(one) for one in events], MOST_EVENTS, "/schedule today"
    )


def _reminders(calendar: Calendar, now: datetime) -> Iterator[str]:
    """Events of later days whose reminder is due by now, or today."""
    tomorrow = _midnight(now) + timedelta(days=1)
    events = calendar.between(tomorrow, tomorrow + timedelta(days=31))
    due = [one for one in events if _reminded_before(one, tomorrow)]
    yield from _listed("Reminders:", [event_line(one) for one in due], MOST_EVENTS, "/schedule")


def _to_dos(calendar: Calendar, now: datetime) -> Iterator[str]:
    """Tasks that another program put into the calendar file, due today or before."""
    tomorrow = _midnight(now) + timedelta(days=1)
    tasks = [(title, due) for title, due in calendar.to_dos() if due is not None]
    lines = [_to_do_line(title, due, now) for title, due in tasks if due < tomorrow]
    yield from _listed("To do:", lines, MOST_TO_DOS, "")


def _promised(promises: Sequence[Promise]) -> Iterator[str]:
    lines = [
        f"{'you' if one.by == 'user' else 'the assistant'} on {one.said.astimezone():%a %Y-%m-%d}: "
        f"{one.text}"
        for one in promises
    ]
    yield from _listed("Promised:", lines, MOST_PROMISES, "")


def _listed(heading: str, lines: Sequence[str], most: int, where: str) -> Iterator[str]:
    if not lines:
        return
    yield heading
    yield from (f"  {one_line(line, EXCERPT)}" for line in lines[:most])
    if len(lines) > most:
        yield f"  … and {len(lines) - most} more{f': {where}' if where else ''}"


def _midnight(now: datetime) -> datetime:
    return now.replace(hour=0, minute=0, second=0, microsecond=0)


def _reminded_before(event: Event, moment: datetime) -> bool:
    if event.remind_before is None:
        return False
    try:
        return event.start - timedelta(minutes=event.remind_before) < moment
    except OverflowError:  # another program's, and before the first day there is
        return True


def _to_do_line(title: str, due: datetime, now: datetime) -> str:
    overdue = f" (overdue since {due:%a %Y-%m-%d})" if due < _midnight(now) else ""
    return f"{title}{overdue}"
