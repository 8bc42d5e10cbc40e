"""The user's calendar: create_event, list_events, update_event, cancel_event."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from typing import Annotated

from msgspec import Meta

from assistant.errors import NoSuchEntry, WrongEntry
from assistant.event_text import clash_text, clashes, event_line, past_text, when_text
from assistant.messages import Event, Moment
from assistant.protocols import Change, EventChanges, Scope, Times
from assistant.tools.arguments import named, stretch_of
from assistant.tools.fitting import best_fits
from assistant.tools.registry import Proposal, ToolContext, ToolGroup, ToolResult

group = ToolGroup("Schedule")

EventId = Annotated[str, Meta(description="id as list_events gives it, or words of its title")]
When = Annotated[
    str, Meta(description="local time like 2026-12-01T15:00, or the user's own words for it")
]
Until = Annotated[str, Meta(description="end, in the same form; without it one hour")]
Place = Annotated[str, Meta(description="where")]
Notes = Annotated[str, Meta(description="anything else about it")]
Reminder = Annotated[int | None, Meta(description="minutes before the start")]
Repeat = Annotated[str, Meta(description="RRULE like FREQ=WEEKLY;BYDAY=MO")]
From = Annotated[str, Meta(description="first day: a date, or words like today, next week")]
To = Annotated[str, Meta(description="last day, in the same form")]
Which = Annotated[Scope | None, Meta(description="of a repeated event: this occurrence, or all")]

#: Days that are listed when none are named.
DAYS_AHEAD = 7

#: Days in which an event is looked for by words alone.
DAYS_LOOKED_AT = 366

#: Events that are listed when words fit more than one.
MOST_NAMED = 5


@group.tool(changes=True)
def create_event(
    context: ToolContext,
    title: Annotated[str, Meta(description="what it is, short")],
    start: When,
    end: Until = "",
    location: Place = "",
    notes: Notes = "",
    remind_before: Reminder = None,
    repeat: Repeat = "",
    source: str = "",
) -> Proposal:
    """Add an appointment or a reminder to the user's calendar."""
    moment = named("start", lambda: context.stores.times.moment(start))
    until = _end(context.stores.times, end, moment)
    if until is not None and until < moment.start:
        raise WrongEntry(f"it would end before it starts, on {until:%Y-%m-%d %H:%M}.", "end")
    rule = named("repeat", lambda: context.stores.times.repeat(repeat))

    def carry_out() -> ToolResult:
        written = context.stores.calendar.create(
            title,
            moment.start,
            until,
            whole_day=moment.whole_day,
            location=location,
            notes=notes,
            remind_before=remind_before,
            repeat=rule,
            source=source,
        )
        assert written.after is not None
        event = written.after
        lines = [
            f"Created, with the id {event.id}: {event_line(event)}",
            *_warnings(context, event, moment),
        ]
        return ToolResult(
            "\n".join(lines), Change(f"event created: {event_line(event)}", written.undo)
        )

    planned = Event(
        "",
        title,
        moment.start,
        until or moment.start,
        moment.whole_day,
        location,
        notes,
        remind_before,
        rule,
    )
    return Proposal(f"Add to the calendar: {event_line(planned)}{_noted(notes)}?", carry_out)


@group.tool()
def list_events(
    context: ToolContext,
    from_: From = "",
    to: To = "",
    query: Annotated[str, Meta(description="words in title, place or notes")] = "",
) -> ToolResult:
    """List or find the user's appointments: the next seven days, or those asked for."""
    start, end = stretch_of(context.stores.times, from_, to)
    if query:
        events = context.stores.calendar.search(query, start, end)
        events = events or _fitting(context, query, start, end)
        where = f" with “{query}”"
    else:
        start = start or _today(context.stores.times)
        end = end or start + timedelta(days=DAYS_AHEAD)
        events = context.stores.calendar.between(start, end)
        where = ""
    when = _bounds(start, end)
    if not events:
        return ToolResult(f"No events{where}{when}.")
    count = "1 event" if len(events) == 1 else f"{len(events)} events"
    lines = [f"{count}{where}{when}:"]
    return ToolResult("\n".join([*lines, *(f"{one.id} · {event_line(one)}" for one in events)]))


@group.tool(changes=True)
def update_event(
    context: ToolContext,
    id: EventId,
    title: Annotated[str, Meta(description="the new title")] = "",
    start: When = "",
    end: Until = "",
    location: Place = "",
    notes: Notes = "",
    remind_before: Reminder = None,
    repeat: Repeat = "",
    scope: Which = None,
) -> Proposal:
    """Move or change an appointment; only what is to be different is given."""
    old = _named_event(context, id)
    _require_scope(old, scope)
    changes, moment = _changes(context.stores.times, old, start, end)
    changes = EventChanges(
        title=title or None,
        start=changes.start,
        end=changes.end,
        whole_day=changes.whole_day,
        location=location or None,
        notes=notes or None,
        remind_before=remind_before,
        repeat=named("repeat", lambda: context.stores.times.repeat(repeat)) or None,
    )
    planned = _planned_changes(changes)
    if not planned:
        raise WrongEntry("nothing was given that is to be different.", "")

    def carry_out() -> ToolResult:
        written = context.stores.calendar.update(old.id, changes, scope)
        assert written.before is not None
        assert written.after is not None
        before, after = written.before, written.after
        if before == after:
            as_asked = f"as asked already: {event_line(after)}"
            return ToolResult(f"Nothing was changed: it is {as_asked}", stands=as_asked)
        lines = [
            f"Changed at {context.stores.times.now():%Y-%m-%d %H:%M}. It was: {event_line(before)}",
            f"It is now, with the id {after.id}: {event_line(after)}",
            *_warnings(context, after, moment),
        ]
        said = f"event changed{_which(old, scope)}: {event_line(after)} (was: {event_line(before)})"
        return ToolResult("\n".join(lines), Change(said, written.undo))

    question = f"Change{_which(old, scope)} {event_line(old)}: {', '.join(planned)}?"
    return Proposal(question, carry_out, about=old, always_asks=_is_guess(old, id))


@group.tool(changes=True)
def cancel_event(
    context: ToolContext,
    id: EventId,
    scope: Which = None,
) -> Proposal:
    """Take an appointment out of the calendar."""
    old = _named_event(context, id)
    _require_scope(old, scope)

    def carry_out() -> ToolResult:
        written = context.stores.calendar.cancel(old.id, scope)
        gone = event_line(written.before or old)
        return ToolResult(
            f"Cancelled at {context.stores.times.now():%Y-%m-%d %H:%M}: {gone}",
            Change(f"event cancelled{_which(old, scope)}: {gone}", written.undo),
        )

    question = f"Cancel{_which(old, scope)} {event_line(old)}?"
    return Proposal(question, carry_out, about=old, always_asks=_is_guess(old, id))


def _named_event(context: ToolContext, words: str) -> Event:
    """The event with this id; else the one to come that the words fit, of a series its next time.

    Raises NoSuchEntry, and WrongEntry with those that fit where it is more than one.
    """
    try:
        return context.stores.calendar.get(words)
    except NoSuchEntry:
        found = _fitting(context, words) or context.stores.calendar.search(words)
        if not found:
            raise
    if len(found) > 1:
        lines = [f"{one.id} · {event_line(one)}" for one in found[:MOST_NAMED]]
        raise WrongEntry("\n".join([f"“{words}” fits {len(found)} events:", *lines]), "id")
    return found[0]


def _is_guess(event: Event, name: str) -> bool:
    """Whether the event was not called by its id."""
    return event.id != name.strip().lower()


def _fitting(
    context: ToolContext, words: str, start: datetime | None = None, end: datetime | None = None
) -> Sequence[Event]:
    """Events that fit the words best, each series once; from today on where no time is given."""
    start = start or _today(context.stores.times)
    end = end or start + timedelta(days=DAYS_LOOKED_AT)
    first: dict[str, Event] = {}
    for event in context.stores.calendar.between(start, end):
        first.setdefault(event.id.partition("@")[0], event)
    return best_fits(words, list(first.values()), lambda one: f"{one.title} {one.location}")


def _today(times: Times) -> datetime:
    return times.now().replace(hour=0, minute=0, second=0, microsecond=0)


def _require_scope(event: Event, scope: Scope | None) -> None:
    """Raises WrongEntry for a repeated event when it is not said what of it is meant."""
    if event.repeat and scope != "all" and "@" not in event.id:
        raise WrongEntry(
            "this event is repeated. Pass all for all of it, or the id of one occurrence, as "
            "list_events gives it.",
            "scope",
        )


def _which(event: Event, scope: Scope | None) -> str:
    """What of a repeated event is meant, for a question or a line about it."""
    if not event.repeat:
        return ""
    return ", all of its occurrences" if scope == "all" else ", this occurrence only"


def _noted(notes: str) -> str:
    return f" · notes: {notes}" if notes else ""


def _end(times: Times, text: str, start: Moment) -> datetime | None:
    """When an event ends: as it was said, or as the expression for its start says."""
    if not text:
        return start.end
    end = named("end", lambda: times.moment(text))
    if not end.dated:
        end = named("end", lambda: times.moment(text, start.start - timedelta(seconds=1)))
    moment = end.end if end.whole_day else end.start
    # Small models repeat the start where there is no end.
    return None if moment == start.start else moment


def _changes(times: Times, old: Event, start: str, end: str) -> tuple[EventChanges, Moment | None]:
    """The new times of an event; a time of day alone is one of the day it is on."""
    if not start:
        until = _end(times, end, Moment(old.start)) if end else None
        return EventChanges(end=until), None
    moment = named("start", lambda: times.moment(start))
    if not moment.dated:
        # Just before its day begins: the next such time is then one of that day.
        before = old.start.replace(hour=0, minute=0, second=0) - timedelta(seconds=1)
        moment = named("start", lambda: times.moment(start, before))
    if moment.whole_day and not old.whole_day and not end:
        # A day named alone: the event keeps its time of day, and its length.
        on_day = datetime.combine(moment.start.date(), old.start.timetz())
        return EventChanges(start=on_day), Moment(on_day, note=moment.note)
    return (
        EventChanges(
            start=moment.start,
            end=_end(times, end, moment),
            whole_day=moment.whole_day,
        ),
        moment,
    )


def _warnings(context: ToolContext, event: Event, moment: Moment | None) -> Iterator[str]:
    """What the user should hear of the event's time."""
    if moment is not None and moment.note:
        yield moment.note
    if past := past_text(event, context.stores.times.now()):
        yield past
    others = context.stores.calendar.between(event.start, event.end)
    for other in clashes(event, others):
        yield clash_text(other)


def _planned(moment: Moment, until: datetime | None) -> str:
    return when_text(Event("", "", moment.start, until or moment.start, whole_day=moment.whole_day))


def _planned_changes(changes: EventChanges) -> Sequence[str]:
    planned = []
    if changes.start is not None:
        moment = Moment(changes.start, whole_day=bool(changes.whole_day))
        planned.append(f"to {_planned(moment, changes.end)}")
    elif changes.end is not None:
        planned.append(f"until {changes.end:%Y-%m-%d %H:%M}")
    for name in ("title", "location", "notes", "repeat"):
        value = getattr(changes, name)
        if value is not None:
            planned.append(f"{name} “{value}”")
    if changes.remind_before is not None:
        planned.append(f"reminder {changes.remind_before} minutes before")
    return planned


def _bounds(start: datetime | None, end: datetime | None) -> str:
    """The days that were looked at, both included."""
    if start is None or end is None:
        return ""
    last = (end - timedelta(microseconds=1)).date()
    if start.date() == last:
        return f" on {start:%a %Y-%m-%d}"
    return f" from {start:%a %Y-%m-%d} to {last:%a %Y-%m-%d}"
