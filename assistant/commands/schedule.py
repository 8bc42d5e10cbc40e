"""/schedule: the user's calendar, by hand."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from datetime import datetime, timedelta

from assistant.commands.context import CommandContext
from assistant.commands.outputs import Confirm, Output, Table, Text, count_text
from assistant.commands.registry import CommandGroup
from assistant.errors import UsageError, WrongEntry
from assistant.event_text import (
    clash_text,
    clashes,
    event_line,
    past_text,
    reminder_text,
    repeat_text,
    when_text,
)
from assistant.messages import Event, Moment
from assistant.protocols import Calendar, Change, EventChanges, Scope, Written

group = CommandGroup("Schedule")

#: Days that are shown when none are named.
DAYS_AHEAD = 7
MOST_SHOWN = 100
WORDS = (
    ("today", "what today holds"),
    ("week", "the next seven days"),
    ("add", "<when> <what> [@ <place>]"),
    ("move", "<id> <when>"),
    ("cancel", "<id> [all]"),
)


@group.command(
    "schedule",
    "[<day or words> | add | move | cancel]",
    complete=lambda context, typed: WORDS,
)
def schedule(context: CommandContext, argument: str) -> Output:
    """Show the calendar by days or words (the next 7 days), or change it.

    /schedule tomorrow, /schedule dentist
    /schedule add tomorrow 3pm product review @ Room 2
    /schedule move ek3f9 Friday 10:00
    /schedule cancel ek3f9
    Of a repeated event an id that ends in @ and a date means that time alone.
    """
    word, _, rest = argument.partition(" ")
    action = _ACTIONS.get(word.lower())
    if action is None:
        return _shown(context, argument)
    context.require_kept("event")
    if not rest.strip():
        raise UsageError(f"What should {word.lower()} be about? Nothing was changed.")
    return action(context, rest.strip())


def agenda(calendar: Calendar, now: datetime, days: int) -> Table:
    """What the next days hold, today's included."""
    today = _midnight(now)
    return _between(calendar, today, today + timedelta(days=days))


def event_table(events: Sequence[Event], title: str, note: str = "") -> Table:
    """Events, one a row, with the id that names each."""
    rows = [
        (one.id, when_text(one), _one_line(one.title), _one_line(one.location), _more(one))
        for one in events
    ]
    return Table(("id", "when", "what", "where", ""), rows, title=title, note=note)


def _shown(context: CommandContext, argument: str) -> Output:
    if argument.lower() in ("", "week"):
        return agenda(context.stores.calendar, context.stores.times.now(), DAYS_AHEAD)
    try:
        stretch = context.stores.times.stretch(argument)
    except WrongEntry:
        return _found(context, argument)
    assert stretch.end is not None
    return _between(context.stores.calendar, stretch.start, stretch.end, stretch.note)


def _between(calendar: Calendar, start: datetime, end: datetime, note: str = "") -> Table:
    events = calendar.between(start, end, MOST_SHOWN + 1)
    return _told(events, _days(start, end), note)


def _found(context: CommandContext, words: str) -> Output:
    events = context.stores.calendar.search(words)
    if not events:
        return Text(f"No event has these words, and no day is called so: {words}")
    return _told(events, f"events with “{words}”", "")


def _told(events: Sequence[Event], title: str, note: str) -> Table:
    shown = events[:MOST_SHOWN]
    count = count_text(len(shown), "event") if shown else "nothing"
    more = f"Only the first {MOST_SHOWN} are shown." if len(events) > len(shown) else ""
    notes = " ".join(part for part in (note, more) if part)
    return event_table(shown, f"{title}: {count}", notes)


def _add(context: CommandContext, text: str) -> Output:
    head, at, tail = text.rpartition(" @ ")
    what, place = (head, tail) if at else (text, "")
    moment, title = context.stores.times.leading(what)
    title = title.strip()
    if not title:
        raise UsageError("When is said, but not what. Nothing was changed.")
    written = context.stores.calendar.create(
        title, moment.start, moment.end, whole_day=moment.whole_day, location=place.strip()
    )
    return _changed(context, written, "event created", moment)


def _move(context: CommandContext, text: str) -> Output:
    event_id, _, when = text.partition(" ")
    if not when.strip():
        raise UsageError("To when should it be moved? Nothing was changed.")
    event = context.stores.calendar.get(event_id)
    moment = context.stores.times.moment(when.strip())
    if not moment.dated:
        # A time of day alone is one of the day it is on.
        moment = context.stores.times.moment(when.strip(), _midnight(event.start))
    changes = _new_times(event, moment)
    scope: Scope | None = None if "@" in event_id else "all"
    if not event.repeat or scope is None:
        return _moved(context, event_id, changes, scope, moment)
    return Confirm(
        f"{event_line(event)}\nMove all of it, to {when.strip()}?",
        lambda: _moved(context, event_id, changes, scope, moment),
    )


def _new_times(event: Event, moment: Moment) -> EventChanges:
    """A day alone leaves an event the time of day it has."""
    if moment.whole_day and not event.whole_day:
        start = datetime.combine(moment.start, event.start.timetz())
        return EventChanges(start=start)
    return EventChanges(start=moment.start, end=moment.end, whole_day=moment.whole_day)


def _moved(
    context: CommandContext,
    event_id: str,
    changes: EventChanges,
    scope: Scope | None,
    moment: Moment,
) -> Text:
    written = context.stores.calendar.update(event_id, changes, scope)
    was = f" (was: {when_text(written.before)})" if written.before else ""
    return _changed(context, written, "event moved", moment, was)


def _cancel(context: CommandContext, text: str) -> Output:
    event_id, _, rest = text.partition(" ")
    if rest.strip().lower() not in ("", "all"):
        raise UsageError(f"“{rest.strip()}” is nothing cancel knows. Nothing was changed.")
    event = context.stores.calendar.get(event_id)
    scope: Scope | None = None if "@" in event_id and not rest else "all"
    if not event.repeat or scope is None:
        return _cancelled(context, event_id, scope)
    return Confirm(
        f"{event_line(event)}\nCancel all of it, past and to come?",
        lambda: _cancelled(context, event_id, scope),
    )


def _cancelled(context: CommandContext, event_id: str, scope: Scope | None) -> Text:
    written = context.stores.calendar.cancel(event_id, scope)
    assert written.before is not None
    change = Change(f"event cancelled: {event_line(written.before)}", written.undo)
    return context.changed(change)


def _changed(
    context: CommandContext, written: Written[Event], said: str, moment: Moment, was: str = ""
) -> Text:
    assert written.after is not None
    event = written.after
    text = context.changed(Change(f"{said}: {event_line(event)}{was}", written.undo)).text
    return Text("\n".join([text, *_warnings(context, event, moment)]))


def _warnings(context: CommandContext, event: Event, moment: Moment) -> Iterator[str]:
    """What the user should hear of the event's time."""
    if moment.note:
        yield moment.note
    past = past_text(event, context.stores.times.now())
    if past:
        yield past
    for other in clashes(event, context.stores.calendar.between(event.start, event.end)):
        yield clash_text(other)


def _more(event: Event) -> str:
    reminder = "" if event.remind_before is None else reminder_text(event.remind_before)
    parts = (repeat_text(event.repeat), f"reminder {reminder}" if reminder else "")
    return " · ".join(part for part in parts if part)


def _days(start: datetime, end: datetime) -> str:
    """The days that are shown, both included."""
    last = (end - timedelta(microseconds=1)).replace(hour=0, minute=0, second=0, microsecond=0)
    return when_text(Event("", "", start, last + timedelta(days=1), whole_day=True))


def _midnight(moment: datetime) -> datetime:
    return moment.replace(hour=0, minute=0, second=0, microsecond=0)


def _one_line(text: str) -> str:
    return " ".join(text.split())


_ACTIONS: dict[str, Callable[[CommandContext, str], Output]] = {
    "add": _add,
    "move": _move,
    "cancel": _cancel,
}
