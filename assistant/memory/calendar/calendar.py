"""The user's calendar: an iCalendar file that other programs open, too."""

from __future__ import annotations

import contextlib
import itertools
import os
import re
import threading
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime, timedelta, tzinfo
from pathlib import Path
from typing import TypeAlias

import msgspec

from assistant.errors import EntriesUnreadable, EntryChanged, WrongEntry
from assistant.memory.calendar.calendar_book import DAY, CalendarBook, Found, Series
from assistant.memory.calendar.calendar_index import (
    CalendarIndex,
    Entry,
    digest_of,
    home_name,
    keep_index,
    last_erasure,
    make_index,
    read_index,
)
from assistant.memory.calendar.ical_event import (
    EventRecord,
    in_zone_of,
    local_rule,
    new_event,
    put_reminder,
    put_stamps,
    put_stands_for,
    put_text,
    put_times,
    shift_dates,
    short_id,
    time_line,
    written_rule,
)
from assistant.memory.calendar.ical_text import Block, content_line, newline_of
from assistant.memory.calendar.ical_zones import FLOATING, UTC_NAME, vtimezone, wall_time, zone_name
from assistant.memory.calendar.moved_rules import moved_rule
from assistant.memory.calendar.occurrences import rule_fault
from assistant.memory.files import write_atomically
from assistant.memory.shared_file import not_saved, unreadable, write_lock
from assistant.messages import Event, clean_text
from assistant.protocols import EventChanges, Scope, Written

#: Characters of a title or a place, and bytes of notes, that are taken.
LONGEST_TITLE = 1_000
MOST_NOTES = 100_000
#: Years that other programs, and every zone, can hold.
YEARS = range(1900, 9999)
#: Minutes before the start that a reminder may come: five years.
EARLIEST_REMINDER = 5 * 366 * 24 * 60

HOUR = timedelta(hours=1)

_EMPTY = ("BEGIN:VCALENDAR", "VERSION:2.0", "PRODID:-//assistant//calendar//EN", "END:VCALENDAR")
_ID_LETTERS = 4
_UID_BYTES = 8
#: Bytes that take the place of those from one offset to another.
_Edit: TypeAlias = tuple[int, int, bytes]
#: A component as it was: in which VCALENDAR of the file, and its bytes.
_Kept: TypeAlias = tuple[int, bytes]
#: Fields that are text, and the properties they are written to.
_TEXTS = (("title", "SUMMARY"), ("location", "LOCATION"), ("notes", "DESCRIPTION"))


def uid_letters() -> str:
    """Random letters: other programs take two events with one UID for the same event."""
    import secrets  # here, because the prompt need not wait for them

    return secrets.token_hex(_UID_BYTES)


class CalendarFile:
    """Events in one file, which is the only place of them. Safe to share between threads.

    Components that are not changed stay byte for byte as they are, whoever wrote them. Beside the
    file a derived index (`.json`) spares reading all of it anew at each start.
    """

    def __init__(
        self,
        path: Path,
        clock: Callable[[], datetime],
        new_id: Callable[[], str],
        new_uid: Callable[[], str] = uid_letters,
    ) -> None:
        """`clock` tells the time in the user's zone; `new_id` gives ids that end in random letters,
        each another one. `new_uid` gives letters that no other calendar has.
        """
        self._path = path
        self._clock = clock
        self._new_id = new_id
        self._new_uid = new_uid
        self._lock = threading.RLock()
        self._book: CalendarBook | None = None
        self._data = b""

    # --- reading --------------------------------------------------------------------------------

    @property
    def problems(self) -> Sequence[str]:
        """What could not be read or followed, a sentence each; empty for a file that is sound."""
        with self._lock:
            return [entry.problem for entry in self._read().index.entries if entry.problem]

    def between(self, start: datetime, end: datetime, most: int = 1_000) -> Sequence[Event]:
        """All that takes place then, occurrences of repeated events one by one, in order of start.

        What ends exactly at `start` or begins exactly at `end` does not count.
        """
        with self._lock:
            return self._read().between(start, end, most)

    def search(
        self, query: str, start: datetime | None = None, end: datetime | None = None
    ) -> Sequence[Event]:
        """Events with all the words of `query` in title, place or notes, in order of start."""
        with self._lock:
            return self._read().search(query, start, end, self._clock())

    def all(self) -> Sequence[Event]:
        """Every event, and every occurrence that was changed, as they stand in the file."""
        with self._lock:
            return self._read().all()

    def get(self, event_id: str) -> Event:
        """An event, or one occurrence of it, by its id. Raises NoSuchEntry."""
        with self._lock:
            return self._read().find(event_id).event

    def to_dos(self) -> Sequence[tuple[str, datetime | None]]:
        """What is still to be done by the tasks in the file, and by when; those with a date first.

        Whole days are given by their beginning.
        """
        with self._lock:
            to_dos = [entry.to_do for entry in self._read().index.entries if entry.to_do]
        late = datetime.max.replace(tzinfo=UTC)
        return sorted(to_dos, key=lambda one: (one[1] or late, one[0]))

    # --- writing --------------------------------------------------------------------------------

    def create(
        self,
        title: str,
        start: datetime,
        end: datetime | None = None,
        *,
        whole_day: bool = False,
        location: str = "",
        notes: str = "",
        remind_before: int | None = None,
        repeat: str = "",
        source: str = "",
    ) -> Written[Event]:
        """Add an event. Without `end` it takes an hour, or one day.

        It is kept in the zone `start` has, and in UTC where that is none of the IANA database.
        """
        with self._writing() as book:
            record = _placed(start, end, whole_day, bool(repeat))
            record = msgspec.structs.replace(
                record,
                uid=self._unused_uid(book),
                title=_checked_title(title),
                location=_checked_line(location, "location"),
                notes=_checked_notes(notes),
                remind_before=_checked_reminder(remind_before),
                rules=_checked_rule(repeat, record, book),
                source=clean_text(source).strip(),
            )
            there = bool(self._data.strip())
            empty = b"".join(content_line(line, b"\r\n") for line in _EMPTY)
            data = self._data if there else empty
            newline = newline_of(data)
            block = new_event(record, book.zones, self._stamp(), newline)
            index = book.index if there else make_index(data, book.home, None)
            edits = self._zone_edits(data, index, 0, record.zone, newline)
            at = index.ends[0]
            self._replace(data, [*edits, (at, at, block)])
            return self._written(record.uid, None, (), short_id(record.uid))

    def update(
        self, event_id: str, changes: EventChanges, scope: Scope | None = None
    ) -> Written[Event]:
        """Change an event. Of a repeated one `scope` says which: without it the id must name an
        occurrence (then it is that one), else WrongEntry asks for it.

        Where all occurrences are moved, the series begins at its new start; what names single days
        moves along, and a changed occurrence stays at the time it was given, but follows a text
        that it shared.
        """
        with self._writing() as book:
            found = book.find(event_id)
            alone = _is_one_occurrence(found, scope)
            if alone and changes.repeat is not None:
                raise WrongEntry(
                    "One occurrence alone can't repeat. Nothing was changed. Say that all of them "
                    "are meant.",
                    "repeat",
                )
            edit = self._changed_occurrence if alone else self._changed_series
            edits, zone, after_id = edit(book, found, changes)
            if not edits:
                return Written(found.event, found.event, lambda: None)
            entry = found.series.entries[0]
            newline = newline_of(self._data)
            zone_edits = self._zone_edits(self._data, book.index, entry.calendar, zone, newline)
            before = self._blocks(found.series)
            self._replace(self._data, [*edits, *zone_edits])
            return self._written(found.record.uid, found.event, before, after_id)

    def cancel(self, event_id: str, scope: Scope | None = None) -> Written[Event]:
        """Take an event, or one occurrence of it, out of the calendar."""
        with self._writing() as book:
            found = book.find(event_id)
            series, before = found.series, self._blocks(found.series)
            if _is_one_occurrence(found, scope):
                edits = self._without_occurrence(found)
            else:
                edits = [(entry.start, entry.end, b"") for entry in series.entries]
            self._replace(self._data, edits)
            return self._written(found.record.uid, found.event, before, None)

    def _changed_occurrence(
        self, book: CalendarBook, found: Found, changes: EventChanges
    ) -> tuple[list[_Edit], str, str]:
        """One occurrence becomes a component of its own, or the one it has is changed."""
        old, series, occurrence = found.record, found.series, found.occurrence
        assert occurrence is not None
        entry = series.entry_of(old)
        block = Block(self._data[entry.start : entry.end])
        if old.stands_for is None:
            for name in ("RRULE", "RDATE", "EXDATE", "EXRULE"):
                block.put(name)
            line = time_line("RECURRENCE-ID", occurrence, old.zone, old.whole_day)
            block.put("RECURRENCE-ID", line)
            moved = msgspec.structs.replace(old, start=occurrence, end=occurrence + old.length)
            put_times(block, old, moved)
            old = moved
        new = self._change(book, block, old, changes, found.event)
        if new == old:
            return [], FLOATING, found.event.id
        put_stamps(block, self._stamp(), old.sequence + 1)
        at = (entry.start, entry.end) if old.stands_for else (entry.end, entry.end)
        return [(*at, bytes(block))], new.zone, found.event.id

    def _changed_series(
        self, book: CalendarBook, found: Found, changes: EventChanges
    ) -> tuple[list[_Edit], str, str]:
        """The event itself is changed, and what hangs on its times."""
        series = found.series
        old = series.master or found.record
        entry = series.entry_of(old)
        block = Block(self._data[entry.start : entry.end])
        told = found.event
        if found.occurrence is not None and series.master is not None:
            # Times are said of the occurrence that was named: the series moves as far as it does.
            told = book.event(old)
            by_rule = book.moment(found.occurrence, old)
            changes = _moved_to_series(changes, by_rule, told.start)
        new = self._change(book, block, old, changes, told)
        by = new.start - old.start
        rules = new.rules
        if changes.repeat is not None:
            rules = _checked_rule(changes.repeat, new, book)
        elif by and rules:
            rules = tuple(moved_rule(rule, old.start, new.start) for rule in rules)
        if (rules, new.whole_day) != (old.rules, old.whole_day):
            block.put("RRULE", *(f"RRULE:{written_rule(rule, new, book.zones)}" for rule in rules))
        stops = changes.repeat == "" and old.repeats
        for name in ("EXDATE", "RDATE"):
            if stops:
                block.put(name)
            elif by:
                shift_dates(block, name, old, new, book.zones)
        edits: list[_Edit] = []
        for other in series.entries:
            if other.event is None or other.event.stands_for is None:
                continue
            if stops:
                edits.append((other.start, other.end, b""))
                continue
            # The one that was named is what was told of it, and no exception any more.
            named = other.event is found.record
            retimed = named and changes.start is not None
            edits += self._followed(book, other, old, new, named=named, retimed=retimed)
        if (new, rules) == (old, old.rules) and not edits:
            return [], FLOATING, found.event.id
        put_stamps(block, self._stamp(), old.sequence + 1)
        edits.append((entry.start, entry.end, bytes(block)))
        return edits, new.zone, short_id(old.uid)

    def _followed(
        self,
        book: CalendarBook,
        entry: Entry,
        old: EventRecord,
        new: EventRecord,
        *,
        named: bool,
        retimed: bool,
    ) -> Iterator[_Edit]:
        """What a changed occurrence takes over when its series changes."""
        own = entry.event
        assert own is not None
        block = Block(self._data[entry.start : entry.end])
        before = bytes(block)
        start = in_zone_of(old, own, book.zones) + (new.start - old.start)
        if (old.start, old.whole_day) != (new.start, new.whole_day):
            put_stands_for(block, start, new)
        if retimed:
            end = start + new.length
            put_times(
                block,
                own,
                msgspec.structs.replace(
                    own, start=start, end=end, zone=new.zone, whole_day=new.whole_day
                ),
            )
        for name, written in _TEXTS:
            shared = named or getattr(own, name) == getattr(old, name)
            if shared and getattr(old, name) != getattr(new, name):
                put_text(block, written, getattr(new, name))
        if bytes(block) != before:
            put_stamps(block, self._stamp(), own.sequence + 1)
            yield entry.start, entry.end, bytes(block)

    def _change(
        self,
        book: CalendarBook,
        block: Block,
        old: EventRecord,
        changes: EventChanges,
        told: Event,
    ) -> EventRecord:
        """Write the fields that are to be different into a component; how it is then."""
        new = old
        if changes.title is not None:
            new = msgspec.structs.replace(new, title=_checked_title(changes.title))
        if changes.location is not None:
            location = _checked_line(changes.location, "location")
            new = msgspec.structs.replace(new, location=location)
        if changes.notes is not None:
            new = msgspec.structs.replace(new, notes=_checked_notes(changes.notes))
        for name, written in _TEXTS:
            if getattr(new, name) != getattr(old, name):
                put_text(block, written, getattr(new, name))
        if changes.remind_before is not None:
            minutes = _checked_reminder(changes.remind_before, least=-1)
            assert minutes is not None
            put_reminder(block, minutes, new.title)
            new = msgspec.structs.replace(new, remind_before=minutes if minutes >= 0 else None)
        if (changes.start, changes.end, changes.whole_day) != (None, None, None):
            new = _moved(book, new, changes, told)
            put_times(block, old, new)
        return new

    def _without_occurrence(self, found: Found) -> list[_Edit]:
        series, occurrence = found.series, found.occurrence
        assert occurrence is not None
        edits = []
        if found.record.stands_for is not None:
            entry = series.entry_of(found.record)
            edits.append((entry.start, entry.end, b""))
        master = series.master
        if master is not None:
            entry = series.entry_of(master)
            block = Block(self._data[entry.start : entry.end])
            block.add(time_line("EXDATE", occurrence, master.zone, master.whole_day))
            put_stamps(block, self._stamp(), master.sequence + 1)
            edits.append((entry.start, entry.end, bytes(block)))
        return edits

    # --- taking back ----------------------------------------------------------------------------

    def _written(
        self, uid: str, before: Event | None, blocks: Sequence[_Kept], after_id: str | None
    ) -> Written[Event]:
        """What was written, read back from the file, and how to take it back."""
        book = self._read()
        after = book.find(after_id).event if after_id else None
        series = book.series.get(uid, Series())
        now = self._blocks(series)
        erased = last_erasure(self._path)

        def undo() -> None:
            with self._writing() as book:
                series = book.series.get(uid, Series())
                # Of one that is not there, only this tells whether it was to be erased since.
                gone = not now and last_erasure(self._path) != erased
                if self._blocks(series) != now or gone or not book.index.ends:
                    raise EntryChanged(
                        "The event was changed since, so this was not taken back. Nothing was "
                        "changed."
                    )
                self._replace(self._data, self._restored(book, series, blocks))

        return Written(before, after, undo)

    def _restored(self, book: CalendarBook, series: Series, blocks: Sequence[_Kept]) -> list[_Edit]:
        """The components of one event as they were, each in its place if all have one."""
        entries, ends = series.entries, book.index.ends
        if len(entries) == len(blocks):
            return [
                (entry.start, entry.end, block)
                for entry, (_, block) in zip(entries, blocks, strict=True)
            ]
        places = {entry.calendar: entry.start for entry in reversed(entries)}
        edits: list[_Edit] = [(entry.start, entry.end, b"") for entry in entries]
        for calendar, block in blocks:
            at = places.get(calendar, ends[min(calendar, len(ends) - 1)])
            edits.append((at, at, block))
        return edits

    def _blocks(self, series: Series) -> Sequence[_Kept]:
        return [(entry.calendar, self._data[entry.start : entry.end]) for entry in series.entries]

    # --- the file -------------------------------------------------------------------------------

    def _read(self) -> CalendarBook:
        """The calendar as it is on the disk now. Raises EntriesUnreadable."""
        try:
            data = self._path.read_bytes()
        except FileNotFoundError:
            data = b""
        except OSError as error:
            raise unreadable(self._path, error) from error
        home = self._clock().tzinfo or UTC
        known = self._book.index if self._book else read_index(self._index_path)
        fits = known is not None and (known.digest, known.home) == (
            digest_of(data),
            home_name(home),
        )
        if self._book is not None and fits:
            return self._book
        if known is None or not fits:
            known = self._made_index(data, home, known)
        self._data, self._book = data, CalendarBook(known, home)
        return self._book

    def _made_index(self, data: bytes, home: tzinfo, known: CalendarIndex | None) -> CalendarIndex:
        try:
            index = make_index(data, home, known)
        except ValueError as error:
            raise EntriesUnreadable(
                f"{self._path} is no calendar that can be read: {error}. Nothing was changed. Mend "
                "the file in an editor, or move it away to begin a new calendar."
            ) from error
        if data:
            keep_index(self._index_path, index)
            # What was erased meanwhile must not stand there for longer than this.
            with contextlib.suppress(OSError):
                if self._path.read_bytes() != data:
                    self._index_path.unlink(missing_ok=True)
        return index

    @property
    def _index_path(self) -> Path:
        return self._path.with_suffix(".json")

    @contextlib.contextmanager
    def _writing(self) -> Iterator[CalendarBook]:
        """Nobody else writes, and all that others wrote is known. Ctrl-C waits for the end.

        Raises NotSaved when the file can't be had in time.
        """
        with self._lock, write_lock(self._path, "the calendar"):
            yield self._read()

    def _replace(self, data: bytes, edits: Sequence[_Edit]) -> None:
        """Write the file with some of its bytes replaced. Raises NotSaved."""
        pieces, done = [], 0
        for start, end, new in sorted(edits, key=lambda edit: edit[:2]):
            pieces += [data[done:start], new]
            done = end
        pieces.append(data[done:])
        # Where it is a link into a folder of another program, the link stays.
        place = Path(os.path.realpath(self._path))
        try:
            write_atomically(place, b"".join(pieces))
        except OSError as error:
            raise not_saved(self._path, error) from error

    def _zone_edits(
        self, data: bytes, index: CalendarIndex, calendar: int, zone: str, newline: bytes
    ) -> Sequence[_Edit]:
        """The definition of a zone, before all else, unless that VCALENDAR has it."""
        entries = [entry for entry in index.entries if entry.calendar == calendar]
        if zone in (FLOATING, UTC_NAME) or any(entry.zone == zone for entry in entries):
            return ()
        try:
            text = vtimezone(zone).encode().replace(b"\r\n", newline)
        except ValueError:
            return ()
        at = entries[0].start if entries else index.ends[calendar]
        return [(at, at, text)]

    def _stamp(self) -> str:
        return f"{self._clock().astimezone(UTC):%Y%m%dT%H%M%SZ}"

    def _unused_uid(self, book: CalendarBook) -> str:
        """A UID that begins with a short id no other event here has."""
        used = {short_id(uid) for uid in book.series}
        letters = ""
        for draws in itertools.count():
            drawn = re.sub(r"[^a-z0-9]", "", self._new_id().lower())[-_ID_LETTERS:]
            letters = letters + drawn if draws > _ID_LETTERS else drawn
            if f"e{letters}" not in used:
                break
        return f"e{letters}.{self._new_uid()}@assistant"


def _is_one_occurrence(found: Found, scope: Scope | None) -> bool:
    """Whether a change is about one occurrence. Raises WrongEntry where that was not said."""
    repeats = found.series.master is None or found.series.master.repeats
    if not repeats:
        return False
    if found.occurrence is None and scope != "all":
        raise WrongEntry(
            f"“{found.event.title}” is repeated. Nothing was changed. Say whether all of it is "
            "meant, or give the id of one occurrence, which ends in @ and its date.",
            "scope",
        )
    return scope != "all"


def _placed(start: datetime, end: datetime | None, whole_day: bool, repeats: bool) -> EventRecord:
    """An event's times as they are written. Raises WrongEntry."""
    if whole_day:
        first = start.replace(tzinfo=None, hour=0, minute=0, second=0, microsecond=0, fold=0)
        after = _added(first, DAY)
        if end is not None:
            after = end.replace(tzinfo=None, microsecond=0, fold=0)
            if after.time() != datetime.min.time():
                after = _added(after.replace(hour=0, minute=0, second=0), DAY)
            if after.date() < first.date():
                raise _ends_too_early()
            after = max(after, _added(first, DAY))
        _check_years(first, after)
        return EventRecord("", first, after, FLOATING, True)
    try:
        instant = start.astimezone(UTC).replace(microsecond=0)
        zone = start.tzinfo
        # By the clocks of its zone: a time that they leave out is the one they show instead.
        local = instant.astimezone(zone)
        until = _added(instant, HOUR) if end is None else end.astimezone(UTC)
        name = zone_name(zone)
        # A time that the clocks show twice is the first one in a file: the second goes as UTC.
        if name == UTC_NAME or (local.fold and not repeats):
            name, zone = UTC_NAME, UTC
        first, after = wall_time(instant, zone or UTC), wall_time(until, zone or UTC)
    except OverflowError as error:
        raise _no_such_year() from error
    if until < instant:
        raise _ends_too_early()
    _check_years(first, after)
    return EventRecord("", first, after.replace(microsecond=0), name)


def _moved(book: CalendarBook, old: EventRecord, changes: EventChanges, told: Event) -> EventRecord:
    """An event at other times, in the zone it was in. Raises WrongEntry."""
    whole_day = old.whole_day if changes.whole_day is None else changes.whole_day
    if old.whole_day and not whole_day and changes.start is None:
        raise WrongEntry(
            "It takes a whole day so far. Nothing was changed. Say at what time it begins.", "start"
        )
    if whole_day != old.whole_day and (old.added or old.left_out or old.left_out_days):
        raise WrongEntry(
            "Some of its occurrences were cancelled or added, each by its time. Nothing was "
            "changed. Cancel the event and make a new one.",
            "whole_day",
        )
    start = changes.start or told.start
    end = changes.end
    if end is None and whole_day == old.whole_day:
        # By the clocks: a meeting from nine to ten is that long on any day.
        wall = start.astimezone(book.zones.get(old.zone)) if not whole_day else start
        try:
            end = wall + old.length
        except OverflowError as error:
            raise _no_such_year() from error
    placed = _placed(start, end, whole_day, repeats=True)
    if whole_day or old.whole_day:
        zone, first, after = placed.zone, placed.start, placed.end
    else:
        zone, home = old.zone, book.zones.get(old.zone)
        try:
            first = wall_time(start, home).replace(microsecond=0)
            after = wall_time(end or start + HOUR, home).replace(microsecond=0)
        except OverflowError as error:
            raise _no_such_year() from error
    return msgspec.structs.replace(old, start=first, end=after, zone=zone, whole_day=whole_day)


def _moved_to_series(changes: EventChanges, told: datetime, series: datetime) -> EventChanges:
    """Times that were said of an occurrence, which starts at `told`, as those of the series."""
    by = told.replace(tzinfo=None) - series.replace(tzinfo=None)
    try:
        return msgspec.structs.replace(
            changes,
            start=changes.start and changes.start - by,
            end=changes.end and changes.end - by,
        )
    except OverflowError as error:
        raise _no_such_year() from error


def _checked_title(title: str) -> str:
    if not title.strip():
        raise WrongEntry("An event needs a title. Nothing was changed.", "title")
    return _checked_line(title, "title")


def _checked_line(text: str, field: str) -> str:
    text = clean_text(text).strip()
    if len(text) > LONGEST_TITLE:
        raise WrongEntry(
            f"At most {LONGEST_TITLE:,} characters are taken here; these are {len(text):,}. "
            "Nothing was changed. Put what is longer into the notes.",
            field,
        )
    return text


def _checked_notes(notes: str) -> str:
    notes = clean_text(notes).strip()
    size = len(notes.encode())
    if size > MOST_NOTES:
        raise WrongEntry(
            f"Notes hold {MOST_NOTES:,} bytes; these have {size:,}. Nothing was changed. Keep them "
            "as a memo, and name it here.",
            "notes",
        )
    return notes


def _checked_reminder(minutes: int | None, least: int = 0) -> int | None:
    if minutes is not None and not least <= minutes <= EARLIEST_REMINDER:
        raise WrongEntry(
            f"A reminder comes 0 to {EARLIEST_REMINDER:,} minutes before the start. Nothing was "
            "changed.",
            "remind_before",
        )
    return minutes


def _checked_rule(rule: str, record: EventRecord, book: CalendarBook) -> tuple[str, ...]:
    if not rule.strip():
        return ()
    try:
        text = local_rule(rule, record.zone, book.zones)
    except (ValueError, OverflowError):
        text = rule
    fault = rule_fault(text, record.start)
    if fault or re.search(r"[^A-Z0-9=;,+-]", text):
        raise WrongEntry(
            f"The rule {rule[:80]} {fault or 'is none that RFC 5545 knows'}. Nothing was changed. "
            "A rule is like FREQ=WEEKLY;BYDAY=MO.",
            "repeat",
        )
    return (text,)


def _added(moment: datetime, length: timedelta) -> datetime:
    try:
        return moment + length
    except OverflowError as error:
        raise _no_such_year() from error


def _check_years(first: datetime, after: datetime) -> None:
    if first.year not in YEARS or after.year not in YEARS:
        raise _no_such_year()


def _no_such_year() -> WrongEntry:
    return WrongEntry(
        f"A calendar holds the years {YEARS[0]} to {YEARS[-1]}. Nothing was changed.", "start"
    )


def _ends_too_early() -> WrongEntry:
    return WrongEntry("It would end before it starts. Nothing was changed.", "end")
