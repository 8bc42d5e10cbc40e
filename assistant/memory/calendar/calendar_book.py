"""The events of a calendar as it was read: what takes place when, and which one an id names."""

from __future__ import annotations

import itertools
import re
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta, tzinfo

from assistant.errors import NoSuchEntry
from assistant.memory.calendar.calendar_index import CalendarIndex, Entry
from assistant.memory.calendar.ical_event import EventRecord, in_zone_of, short_id
from assistant.memory.calendar.ical_zones import Zones
from assistant.memory.calendar.occurrences import MOST_STEPS, occurrences
from assistant.messages import Event

DAY = timedelta(days=1)

#: Clocks of two zones never differ by more.
_APART = timedelta(hours=27)
_EARLIEST, _LATEST = datetime(2, 1, 3), datetime(9998, 12, 29)
_OCCURRENCE_ID = re.compile(r"(\d{4}-\d\d-\d\d)(?:t(\d\d)(\d\d)(\d\d)?)?")


@dataclass
class Series:
    """An event and its changed occurrences: all components with its UID, as they stand."""

    entries: list[Entry] = field(default_factory=list)
    master: EventRecord | None = None
    changed: list[EventRecord] = field(default_factory=list)

    def entry_of(self, record: EventRecord) -> Entry:
        return next(entry for entry in self.entries if entry.event is record)


@dataclass(frozen=True)
class Found:
    """What an id names."""

    series: Series
    record: EventRecord
    """The component that says how it is: of the series, or of the changed occurrence."""
    occurrence: datetime | None
    """Of an occurrence: its start by the rule, by the clocks of the series."""
    event: Event


class CalendarBook:
    """Reads events from an index. Times that are given and returned have a zone, those returned
    the user's.
    """

    def __init__(self, index: CalendarIndex, home: tzinfo) -> None:
        self.index = index
        self.home = home
        self.zones = Zones(home, index.definitions)
        self.series: dict[str, Series] = {}
        for entry in index.entries:
            event = entry.event
            if event is None:
                continue
            series = self.series.get(event.uid)
            if series is None:
                series = self.series[event.uid] = Series()
            series.entries.append(entry)
            if event.stands_for is not None:
                series.changed.append(event)
            # Several calendars in one file may hold the same event: the latest version counts.
            elif series.master is None or series.master.sequence <= event.sequence:
                series.master = event

    def between(self, start: datetime, end: datetime, most: int) -> Sequence[Event]:
        """What takes place then, in order of start."""
        first, last = self._window(start, end)
        found: list[Event] = []
        for series in self.series.values():
            master = series.master
            if master is not None and not master.repeats and not series.changed:
                # By far the most: no more than two comparisons where it is another day.
                if master.end < first or master.start > last or master.cancelled:
                    continue
                candidates: Iterator[Event] = iter((self.event(master),))
            else:
                candidates = self._events(series, first, last)
            taking_place = (one for one in candidates if _overlaps(one, start, end))
            # Only of the first ones of each can any be among the first of all.
            found += itertools.islice(taking_place, max(0, most))
        return sorted(found, key=lambda one: (one.start, one.end, one.title))[: max(0, most)]

    def search(
        self, query: str, start: datetime | None, end: datetime | None, now: datetime
    ) -> Sequence[Event]:
        """Events with all the words, a repeated one once: its next time, or its last."""
        words = query.casefold().split()
        found = []
        for series in self.series.values():
            records = [series.master, *series.changed] if series.master else series.changed
            fitting = [one for one in records if _has(one, words)]
            if not words or not fitting:
                continue
            event = self._next(series, fitting, start, end, now)
            if event is not None:
                found.append(event)
        return sorted(found, key=lambda one: (one.start, one.end, one.title))

    def all(self) -> Sequence[Event]:
        """Every event, and every occurrence that was changed, as they stand in the file."""
        return [
            self.event(one)
            for series in self.series.values()
            for one in (*([series.master] if series.master else []), *series.changed)
        ]

    def find(self, event_id: str) -> Found:
        """What an id names. Raises NoSuchEntry."""
        name, _, day = event_id.strip().lower().partition("@")
        for uid, series in self.series.items():
            if short_id(uid) == name:
                found = self._find_in(series, day)
                if found is not None:
                    return found
        raise NoSuchEntry(
            f"There is no event “{event_id}”. Nothing was changed. Look for the id of the one that "
            "is meant among the events."
        )

    def event(self, record: EventRecord, occurrence: datetime | None = None) -> Event:
        """An event as it is told; `occurrence` is the start by the rule of one of a series."""
        start, end = record.start, record.end
        event_id = short_id(record.uid)
        if occurrence is not None:
            master = self.series[record.uid].master
            event_id += f"@{_occurrence_name(occurrence, master)}"
            if record.stands_for is None:
                start, end = occurrence, occurrence + record.length
        return Event(
            event_id,
            record.title,
            self.moment(start, record),
            self.moment(end, record),
            whole_day=record.whole_day,
            location=record.location,
            notes=record.notes,
            remind_before=record.remind_before,
            repeat=self._repeat(record),
            source=record.source,
        )

    def moment(self, wall: datetime, record: EventRecord) -> datetime:
        """What the clocks of an event's zone show, in the user's zone."""
        if record.whole_day:
            return wall.replace(tzinfo=self.home)
        # By way of UTC, so that a time which clocks leave out is the one they show instead.
        utc = wall.replace(tzinfo=self.zones.get(record.zone)).astimezone(UTC)
        return utc.astimezone(self.home)

    def _repeat(self, record: EventRecord) -> str:
        master = self.series[record.uid].master
        rules = (master or record).rules
        return rules[0] if rules else ""

    def _window(self, start: datetime, end: datetime) -> tuple[datetime, datetime]:
        """Bounds that hold by the clocks of any zone."""
        plain = (_plain(start), _plain(end))
        return max(plain[0], _EARLIEST) - _APART, min(plain[1], _LATEST) + _APART

    def _events(self, series: Series, first: datetime, last: datetime) -> Iterator[Event]:
        """Occurrences, those that were changed before those that were not, each lot in order."""
        for record in sorted(series.changed, key=lambda one: one.start):
            if not record.cancelled and record.start <= last and record.end >= first:
                yield self.event(record, self._stands_for(series, record))
        master = series.master
        if master is None or master.cancelled:
            return
        if not master.repeats:
            if not series.changed and master.start <= last and master.end >= first:
                yield self.event(master)
            return
        if master.last is not None and master.last + master.length < first:
            return
        for start in self._starts(series, master, first - master.length, last):
            yield self.event(master, start)

    def _starts(
        self, series: Series, master: EventRecord, first: datetime, last: datetime
    ) -> Iterator[datetime]:
        """Starts of occurrences that are as the rule has them."""
        changed = {self._stands_for(series, one) for one in series.changed}
        days = set(master.left_out_days)
        for start in occurrences(
            master.start, master.rules, master.added, {*master.left_out, *changed}, first, last
        ):
            if start.date() not in days:
                yield start

    def _stands_for(self, series: Series, record: EventRecord) -> datetime:
        return in_zone_of(series.master or record, record, self.zones)

    def _next(
        self,
        series: Series,
        fitting: Sequence[EventRecord],
        start: datetime | None,
        end: datetime | None,
        now: datetime,
    ) -> Event | None:
        master = series.master
        if master is not None and not master.repeats and not series.changed:
            event = self.event(master)
            inside = _overlaps(event, start or event.start, end or event.end + DAY)
            return event if inside and not master.cancelled else None
        lower = start or _EARLIEST.replace(tzinfo=UTC)
        upper = end or _LATEST.replace(tzinfo=UTC)
        since = max(lower, min(now, upper))
        whole = master is not None and any(one is master for one in fitting)

        def fits(event: Event, first: datetime, last: datetime) -> bool:
            said = whole or any(
                event.id == self.event(one, self._stands_for(series, one)).id for one in fitting
            )
            return said and _overlaps(event, first, last)

        def told(first: datetime, last: datetime) -> Iterator[Event]:
            events = self._events(series, *self._window(first, last))
            # The changed ones come first; where only they have the words, the others needn't be.
            looked_at = events if whole else itertools.islice(events, len(series.changed))
            return (one for one in looked_at if fits(one, first, last))

        # Beside the changed ones, whenever they are, the first of the others.
        coming = list(itertools.islice(told(since, upper), len(series.changed) + 1))
        if coming:
            return min(coming, key=lambda one: one.start)
        passed = deque(itertools.islice(told(lower, since), MOST_STEPS), len(series.changed) + 1)
        return max(passed, key=lambda one: one.start, default=None)

    def _find_in(self, series: Series, day: str) -> Found | None:
        if not day:
            record = series.master or series.changed[0]
            return None if record.cancelled else Found(series, record, None, self.event(record))
        match = _OCCURRENCE_ID.fullmatch(day)
        if match is None:
            return None
        for record in series.changed:
            occurrence = self._stands_for(series, record)
            if _occurrence_name(occurrence, series.master).lower() == day and not record.cancelled:
                return Found(series, record, occurrence, self.event(record, occurrence))
        master = series.master
        if master is None or not master.repeats:
            return None
        try:
            wall = datetime.fromisoformat(match[1])
            after = wall + DAY
        except (ValueError, OverflowError):
            return None
        for start in self._starts(series, master, wall, after):
            if _occurrence_name(start, master).lower() == day:
                return Found(series, master, start, self.event(master, start))
        return None


def _occurrence_name(start: datetime, master: EventRecord | None) -> str:
    """`2026-12-01`; where an event takes place at several times of a day, with that time."""
    if master is None or start.time() == master.start.time():
        return f"{start:%Y-%m-%d}"
    return f"{start:%Y-%m-%dT%H%M}" if not start.second else f"{start:%Y-%m-%dT%H%M%S}"


def _overlaps(event: Event, start: datetime, end: datetime) -> bool:
    if event.start == event.end:
        return start <= event.start < end
    return event.start < end and event.end > start


def _has(record: EventRecord, words: Sequence[str]) -> bool:
    text = f"{record.title}\n{record.location}\n{record.notes}".casefold()
    return all(word in text for word in words)


def _plain(moment: datetime) -> datetime:
    """A moment by the clocks of UTC; one at the edge of time as near to it as there is."""
    try:
        return moment.astimezone(UTC).replace(tzinfo=None)
    except OverflowError:
        return moment.replace(tzinfo=None)
