"""One VEVENT: what it says, and how it is written and changed line by line."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterator, Sequence
from datetime import date, datetime, timedelta
from functools import lru_cache
from typing import Any

import msgspec

from assistant.memory.calendar.ical_text import Block, Line, content_line, escaped, unescaped
from assistant.memory.calendar.ical_zones import FLOATING, UTC_NAME, Zones, wall_time
from assistant.memory.calendar.occurrences import last_start, rule_fault, rule_parts, rule_text

#: A UID of ours: the short id, then what makes it one of a kind.
_OWN_UID = re.compile(r"(e[a-z0-9]+)\.[^@]*@assistant")
_DIGEST_LETTERS = "abcdefghjkmnpqrstuvwxyz23456789"
_DIGEST_LENGTH = 7
# A year from either end of what a datetime holds, so that zones and lengths can be reckoned with.
_YEARS = range(2, 9999)
_LONGEST_REPEATED = timedelta(days=366)


class EventRecord(msgspec.Struct, frozen=True, array_like=True, omit_defaults=True):
    """What is read of a VEVENT. Times are those the clocks of its zone show, without the zone."""

    uid: str
    start: datetime
    end: datetime
    zone: str = FLOATING
    whole_day: bool = False
    title: str = ""
    location: str = ""
    notes: str = ""
    remind_before: int | None = None
    rules: tuple[str, ...] = ()
    added: tuple[datetime, ...] = ()
    """Starts beside those of the rules: RDATE."""
    left_out: tuple[datetime, ...] = ()
    """Starts that are none: EXDATE."""
    left_out_days: tuple[date, ...] = ()
    stands_for: datetime | None = None
    """Of a changed occurrence of a repeated event: its start by the rule, in `stands_for_zone`."""
    stands_for_zone: str = FLOATING
    source: str = ""
    sequence: int = 0
    cancelled: bool = False
    last: datetime | None = None
    """No occurrence starts later; None when that is not known."""

    @property
    def repeats(self) -> bool:
        return bool(self.rules or self.added)

    @property
    def length(self) -> timedelta:
        return self.end - self.start


@lru_cache(maxsize=100_000)
def short_id(uid: str) -> str:
    """What the user types for an event: in our own UIDs it is written, of others it is reckoned."""
    own = _OWN_UID.fullmatch(uid)
    if own:
        return own[1]
    number = int.from_bytes(hashlib.blake2b(uid.encode(), digest_size=8).digest(), "big")
    letters = []
    for _ in range(_DIGEST_LENGTH):
        number, place = divmod(number, len(_DIGEST_LETTERS))
        letters.append(_DIGEST_LETTERS[place])
    return "".join(letters)


def read_event(block: Block, zones: Zones) -> tuple[EventRecord, str]:
    """What a VEVENT says, and what of it can't be followed, in words (empty when all can).

    Raises ValueError, in words, for one that can't be used at all.
    """
    start_line = block.first("DTSTART")
    if start_line is None:
        raise ValueError("has no DTSTART")
    uid = _text(block, "UID")
    if not uid:
        raise ValueError("has no UID")
    start, zone, whole_day = _read_time(start_line)
    end = _read_end(block, start, zone, whole_day, zones)
    if end < start:
        raise ValueError("ends before it starts")
    if end.year not in _YEARS:
        raise ValueError("ends in a year no clock can show")
    faults = [] if zones.knows(zone) else [f"is in a zone that is not known ({zone})"]
    rules = []
    for line in block.all("RRULE"):
        rule, fault = _read_rule(line.value, start, zone, zones)
        if fault:
            faults.append(f"has a rule that {fault}, so only its first time is shown")
        else:
            rules.append(rule)
    left_out, left_out_days = _read_left_out(block, zone, whole_day, zones)
    stands_for, stands_for_zone = None, FLOATING
    if (changed := block.first("RECURRENCE-ID")) is not None:
        stands_for, stands_for_zone, _ = _read_time(changed)
        if changed.params.get("RANGE"):
            faults.append("was changed from a day on, of which only that day is shown so")
    if rules and end - start > _LONGEST_REPEATED:
        rules = []
        faults.append("is repeated and longer than a year, so only its first time is shown")
    sequence = _text(block, "SEQUENCE")
    added = tuple(_read_added(block, zone, zones))
    record = EventRecord(
        uid,
        start,
        end,
        zone,
        whole_day,
        title=_text(block, "SUMMARY"),
        location=_text(block, "LOCATION"),
        notes=_text(block, "DESCRIPTION"),
        remind_before=_reminder(block),
        rules=tuple(rules),
        added=added,
        left_out=left_out,
        left_out_days=left_out_days,
        stands_for=stands_for,
        stands_for_zone=stands_for_zone,
        source=_text(block, "X-ASSISTANT-SOURCE"),
        sequence=int(sequence) if sequence.isdecimal() else 0,
        cancelled=_text(block, "STATUS").upper() == "CANCELLED",
        last=_last(start, rules, added),
    )
    return record, "; ".join(faults)


def read_to_do(block: Block, zones: Zones) -> tuple[str, datetime | None] | None:
    """What is to be done, and by when where that is said; None when it is done or called off."""
    status = _text(block, "STATUS").upper()
    if status in ("COMPLETED", "CANCELLED") or block.first("COMPLETED"):
        return None
    line = block.first("DUE")
    if line is None:
        return _text(block, "SUMMARY"), None
    due, zone, _ = _read_time(line)
    return _text(block, "SUMMARY"), due.replace(tzinfo=zones.get(zone)).astimezone(zones.home)


def new_event(record: EventRecord, zones: Zones, stamp: str, newline: bytes) -> bytes:
    """A VEVENT of ours; `stamp` is the time of writing, as iCalendar has it in UTC."""
    lines = ["BEGIN:VEVENT", f"UID:{escaped(record.uid)}", f"DTSTAMP:{stamp}", f"CREATED:{stamp}"]
    lines.append(time_line("DTSTART", record.start, record.zone, record.whole_day))
    lines.append(time_line("DTEND", record.end, record.zone, record.whole_day))
    lines.append(f"SUMMARY:{escaped(record.title)}")
    lines += [f"LOCATION:{escaped(record.location)}"] if record.location else []
    lines += [f"DESCRIPTION:{escaped(record.notes)}"] if record.notes else []
    lines += [f"RRULE:{written_rule(rule, record, zones)}" for rule in record.rules]
    lines += [f"X-ASSISTANT-SOURCE:{escaped(record.source)}"] if record.source else []
    if record.remind_before is not None:
        lines += _alarm(record.remind_before, record.title)
    lines.append("END:VEVENT")
    return b"".join(content_line(line, newline) for line in lines)


def time_line(name: str, wall: datetime, zone: str, whole_day: bool) -> str:
    """`DTSTART;TZID=Europe/Berlin:20261201T150000`."""
    if whole_day:
        return f"{name};VALUE=DATE:{wall:%Y%m%d}"
    if zone == UTC_NAME:
        return f"{name}:{wall:%Y%m%dT%H%M%S}Z"
    quoted = f'"{zone}"' if re.search("[:;,]", zone) else zone
    return f"{name}{f';TZID={quoted}' if zone else ''}:{wall:%Y%m%dT%H%M%S}"


def local_rule(rule: str, zone: str, zones: Zones) -> str:
    """A rule whose UNTIL is by the clocks of a zone. Raises ValueError for what is no rule."""
    parts = rule_parts(rule)
    until = parts.get("UNTIL", "")
    if until.endswith("Z"):
        last = datetime.strptime(until, "%Y%m%dT%H%M%SZ")
        parts["UNTIL"] = f"{_in_zone(last, UTC_NAME, zone, zones):%Y%m%dT%H%M%S}"
    return rule_text(parts)


def written_rule(rule: str, record: EventRecord, zones: Zones) -> str:
    """A rule as RFC 5545 wants it written: UNTIL a date of whole days, else in UTC."""
    parts = rule_parts(rule)
    until = parts.get("UNTIL", "")
    if not until:
        return rule
    if record.whole_day:
        parts["UNTIL"] = until[:8]
    elif record.zone != FLOATING:
        local = until if "T" in until else f"{until}T235959"
        last = datetime.strptime(local, "%Y%m%dT%H%M%S")
        parts["UNTIL"] = f"{_in_zone(last, record.zone, UTC_NAME, zones):%Y%m%dT%H%M%SZ}"
    return rule_text(parts)


def put_text(block: Block, name: str, text: str) -> None:
    """Write a text, or take it out where it is empty."""
    block.put(name, *([f"{name}:{escaped(text)}"] if text else []))


def put_times(block: Block, old: EventRecord, new: EventRecord) -> None:
    """Write start and end, those that are different; a DURATION that still holds stays."""
    form = (old.zone, old.whole_day) != (new.zone, new.whole_day)
    if form or new.start != old.start:
        block.put("DTSTART", time_line("DTSTART", new.start, new.zone, new.whole_day))
    if form or new.length != old.length or (block.first("DTEND") and new.end != old.end):
        block.put("DURATION")
        block.put("DTEND", time_line("DTEND", new.end, new.zone, new.whole_day))


def put_reminder(block: Block, minutes: int, title: str) -> None:
    """Change the reminder, or make one; -1 takes it out. Other alarms stay."""
    at = next((place for place in block.inner("VALARM") if _minutes(block.lines, place)), None)
    if minutes < 0:
        if at is not None:
            del block.lines[at.start : at.stop]
    elif at is None:
        block.lines[-1:-1] = [block.line(text) for text in _alarm(minutes, title)]
    else:
        for index in at:
            if block.lines[index].name == "TRIGGER":
                block.lines[index] = block.line(f"TRIGGER:-PT{minutes}M")


def put_stamps(block: Block, stamp: str, sequence: int) -> None:
    """Say that it was changed, and when, as RFC 5545 and RFC 5546 want it said."""
    block.put("DTSTAMP", f"DTSTAMP:{stamp}")
    block.put("LAST-MODIFIED", f"LAST-MODIFIED:{stamp}")
    block.put("SEQUENCE", f"SEQUENCE:{sequence}")


def put_stands_for(block: Block, start: datetime, series: EventRecord) -> None:
    """Say which occurrence a changed one is: that of a series which starts at `start`."""
    line = block.first("RECURRENCE-ID")
    name = "RECURRENCE-ID"
    if line is not None and "RANGE" in line.params:
        name = f"{name};RANGE={line.params['RANGE']}"
    block.put("RECURRENCE-ID", time_line(name, start, series.zone, series.whole_day))


def shift_dates(block: Block, name: str, old: EventRecord, new: EventRecord, zones: Zones) -> None:
    """Move the dates of EXDATE or RDATE lines as the event was moved, by the clocks of its zone."""
    by, days = new.start - old.start, new.start.date() - old.start.date()

    def moved(written: str, zone: str) -> str:
        if written.startswith("P"):
            return written
        if "T" not in written:
            return f"{datetime.strptime(written, '%Y%m%d') + days:%Y%m%d}"
        utc = "Z" if written.endswith("Z") else ""
        zone = UTC_NAME if utc else zone
        wall = datetime.strptime(written.removesuffix("Z"), "%Y%m%dT%H%M%S")
        there = _in_zone(_in_zone(wall, zone, old.zone, zones) + by, old.zone, zone, zones)
        return f"{there:%Y%m%dT%H%M%S}{utc}"

    for index, line in enumerate(block.lines):
        if line.name == name:
            zone = line.params.get("TZID", FLOATING)
            values = (
                "/".join(moved(part, zone) for part in value.strip().split("/"))
                for value in line.value.split(",")
            )
            block.lines[index] = block.line(f"{line.head}:{','.join(values)}")


def _alarm(minutes: int, title: str) -> Sequence[str]:
    return (
        "BEGIN:VALARM",
        "ACTION:DISPLAY",
        f"DESCRIPTION:{escaped(title)}",
        f"TRIGGER:-PT{minutes}M",
        "END:VALARM",
    )


def _text(block: Block, name: str) -> str:
    line = block.first(name)
    return unescaped(line.value).strip() if line else ""


def _read_value(value: str) -> Any:
    """A date, a datetime, a duration or a period, as icalendar reads it."""
    from icalendar.prop import vDDDTypes

    read: Callable[[str], Any] = vDDDTypes.from_ical
    try:
        return read(value.strip())
    except (ValueError, TypeError, KeyError, AttributeError, OverflowError) as error:
        raise ValueError(f"has a time that is none: {value[:40]}") from error


def _read_time(line: Line) -> tuple[datetime, str, bool]:
    """What the clocks show, in which zone, and whether it is a whole day."""
    moment = _read_value(line.value)
    if isinstance(moment, date) and moment.year not in _YEARS:
        raise ValueError(f"has a year no clock can show: {line.value[:40]}")
    if isinstance(moment, datetime):
        if moment.tzinfo is not None:
            return moment.replace(tzinfo=None), UTC_NAME, False
        return moment, line.params.get("TZID", FLOATING), False
    if isinstance(moment, date):
        return datetime(moment.year, moment.month, moment.day), FLOATING, True
    raise ValueError(f"has a time that is none: {line.value[:40]}")


def _read_end(block: Block, start: datetime, zone: str, whole_day: bool, zones: Zones) -> datetime:
    """The end by the clocks of the zone it starts in."""
    if (line := block.first("DTEND")) is not None:
        end, end_zone, _ = _read_time(line)
        if whole_day and end <= start:
            return start + timedelta(days=1)
        return _in_zone(end, end_zone, zone, zones)
    if (line := block.first("DURATION")) is not None:
        duration = _read_value(line.value)
        if not isinstance(duration, timedelta):
            raise ValueError(f"has a duration that is none: {line.value[:40]}")
        return start + duration
    return start + timedelta(days=1) if whole_day else start


def _in_zone(wall: datetime, zone: str, other: str, zones: Zones) -> datetime:
    if zone == other:
        return wall
    return wall_time(wall.replace(tzinfo=zones.get(zone)), zones.get(other))


def in_zone_of(record: EventRecord, stands_for: EventRecord, zones: Zones) -> datetime:
    """The start that a changed occurrence stands for, by the clocks of its series."""
    moment = stands_for.stands_for
    assert moment is not None
    if record.whole_day:
        return moment.replace(hour=0, minute=0, second=0)
    return _in_zone(moment, stands_for.stands_for_zone, record.zone, zones)


def _read_rule(value: str, start: datetime, zone: str, zones: Zones) -> tuple[str, str]:
    try:
        rule = local_rule(value, zone, zones)
    except (ValueError, OverflowError):
        return "", "is none that RFC 5545 knows"
    return rule, rule_fault(rule, start)


def _read_left_out(
    block: Block, zone: str, whole_day: bool, zones: Zones
) -> tuple[tuple[datetime, ...], tuple[date, ...]]:
    moments: list[datetime] = []
    days: list[date] = []
    for wall, own_zone, is_day in _read_times(block, "EXDATE"):
        if is_day and not whole_day:
            days.append(wall.date())
        else:
            moments.append(wall if is_day else _in_zone(wall, own_zone, zone, zones))
    return tuple(moments), tuple(days)


def _read_added(block: Block, zone: str, zones: Zones) -> Iterator[datetime]:
    for wall, own_zone, is_day in _read_times(block, "RDATE"):
        yield wall if is_day else _in_zone(wall, own_zone, zone, zones)


def _read_times(block: Block, name: str) -> Iterator[tuple[datetime, str, bool]]:
    for line in block.all(name):
        for value in filter(None, line.value.split(",")):
            one = Line(f"{name}:{value.partition('/')[0]}".encode())
            one.params = line.params
            yield _read_time(one)


def _reminder(block: Block) -> int | None:
    for place in block.inner("VALARM"):
        minutes = _minutes(block.lines, place)
        if minutes:
            return minutes[0]
    return None


def _minutes(lines: Sequence[Line], place: range) -> tuple[int] | None:
    """How long before the start an alarm rings; None for one that is set another way."""
    for index in place:
        line = lines[index]
        if line.name != "TRIGGER" or line.params.get("RELATED", "START").upper() != "START":
            continue
        try:
            before = _read_value(line.value)
        except ValueError:
            return None
        if isinstance(before, timedelta) and before <= timedelta(0):
            return (round(-before.total_seconds() / 60),)
    return None


def _last(start: datetime, rules: Sequence[str], added: Sequence[datetime]) -> datetime | None:
    lasts = [last_start(rule, start) for rule in rules]
    known = [last for last in lasts if last is not None]
    return max([start, *added, *known]) if len(known) == len(lasts) else None
