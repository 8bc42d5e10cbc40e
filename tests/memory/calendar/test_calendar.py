"""The calendar file: what other programs wrote is read and kept, what we write they can open."""

from __future__ import annotations

import os
import re
import stat
import subprocess
import sys
import threading
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import icalendar
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assistant.errors import (
    EntriesUnreadable,
    EntryChanged,
    NoSuchEntry,
    NotSaved,
    WrongEntry,
)
from assistant.memory.calendar.calendar import LONGEST_TITLE, MOST_NOTES, CalendarFile
from assistant.messages import Event
from assistant.protocols import Calendar, EventChanges
from tests.fakes import FakeClock

BERLIN = ZoneInfo("Europe/Berlin")
NOW = datetime(2026, 12, 1, 9, tzinfo=BERLIN)


class Letters:
    """Ids as the program makes them, each another one."""

    def __init__(self) -> None:
        self._drawn = 0

    def __call__(self) -> str:
        self._drawn += 1
        return f"20261201-090000-k{self._drawn:03}"


def at(day: int, hour: int = 0, minute: int = 0, month: int = 12) -> datetime:
    return datetime(2026, month, day, hour, minute, tzinfo=BERLIN)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "data" / "calendar.ics"


def opened(path: Path, clock: Any = None) -> CalendarFile:
    return CalendarFile(path, clock or FakeClock(NOW), Letters())


def written(path: Path, text: str, newline: str = "\r\n") -> CalendarFile:
    """A file as another program left it."""
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(text.strip().replace("\n", newline).encode() + newline.encode())
    return opened(path)


def of(*events: str, before: str = "") -> str:
    """A calendar with VEVENTs, each given by its lines."""
    blocks = [f"BEGIN:VEVENT\n{event.strip()}\nEND:VEVENT" for event in events]
    head = f"BEGIN:VCALENDAR\nVERSION:2.0\nPRODID:-//Other//EN\n{before}"
    return "\n".join([head.strip(), *blocks, "END:VCALENDAR"])


def whens(events: Sequence[Event]) -> list[str]:
    return [f"{one.start:%m-%d %H:%M}" for one in events]


def december(calendar: Calendar) -> Sequence[Event]:
    return calendar.between(at(1), datetime(2027, 1, 1, tzinfo=BERLIN))


# --- a calendar of our own ----------------------------------------------------------------------


def test_without_a_file_the_calendar_is_empty_and_none_is_made(path: Path) -> None:
    assert december(opened(path)) == []
    assert not path.exists()


def test_an_event_comes_back_with_all_it_was_given(path: Path) -> None:
    event = (
        opened(path)
        .create(
            "Review",
            at(1, 15),
            at(1, 16, 30),
            location="Room 2",
            notes="bring the plan",
            remind_before=10,
            source="20261201-abc.3",
        )
        .after
    )
    assert event is not None
    assert opened(path).get(event.id) == event
    assert event == Event(
        "ek001",
        "Review",
        at(1, 15),
        at(1, 16, 30),
        location="Room 2",
        notes="bring the plan",
        remind_before=10,
        source="20261201-abc.3",
    )


def test_file_index_and_folder_are_for_their_owner_alone(path: Path) -> None:
    calendar = opened(path)
    calendar.create("Review", at(1, 15))
    modes = [stat.S_IMODE(one.stat().st_mode) for one in (path, path.with_suffix(".json"))]
    assert modes == [0o600, 0o600]
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700


def test_another_program_reads_what_we_wrote(path: Path) -> None:
    calendar = opened(path)
    calendar.create("Review, of; all\nthings", at(1, 15), location="Room 2", remind_before=15)
    calendar.create("Holidays", at(24), at(27), whole_day=True)
    calendar.create("Standup", at(2, 9), repeat="FREQ=WEEKLY;BYDAY=WE;UNTIL=20261230")
    other = icalendar.Calendar.from_ical(path.read_bytes())
    assert isinstance(other, icalendar.Calendar)
    review, holidays, standup = other.events
    assert not any(one.errors for one in other.walk())
    assert (str(other["VERSION"]), review["SUMMARY"]) == ("2.0", "Review, of; all\nthings")
    assert review.start == at(1, 15)
    assert review.alarms.times[0].trigger == at(1, 14, 45)
    assert (str(holidays.start), str(holidays.end)) == ("2026-12-24", "2026-12-27")
    assert standup["RRULE"]["UNTIL"] == [datetime(2026, 12, 30, 22, 59, 59, tzinfo=UTC)]
    assert [one.tz_name for one in other.timezones] == ["Europe/Berlin"]
    assert other.get_missing_tzids() == set()


@settings(max_examples=30, deadline=None)
@given(text=st.text(st.characters(exclude_categories=["Cs", "Cc"]), max_size=90))
def test_any_text_comes_back(text: str, tmp_path_factory: pytest.TempPathFactory) -> None:
    path = tmp_path_factory.mktemp("calendar") / "calendar.ics"
    calendar = opened(path)
    title, notes = f"t{text}t", f"n{text}\n;,\\n\t{text}😀"
    calendar.create(title, at(1, 15), notes=notes, location=f"l{text}l")
    (event,) = december(opened(path))
    assert (event.title, event.notes, event.location) == (title, notes, f"l{text}l")
    assert december(calendar) == [event]


def test_line_ends_become_newlines_and_control_characters_are_left_out(path: Path) -> None:
    opened(path).create("a\x00b\x1b[31m", at(1, 15), notes="one\r\ntwo\rthree")
    (event,) = december(opened(path))
    assert (event.title, event.notes) == ("ab[31m", "one\ntwo\nthree")


def test_lines_are_folded_within_75_bytes(path: Path) -> None:
    opened(path).create("汉字" * 100, at(1, 15))
    assert max(len(line) for line in path.read_bytes().split(b"\r\n")) <= 75


@pytest.mark.parametrize(
    ("fields", "field"),
    [
        ({"title": " "}, "title"),
        ({"title": "x" * (LONGEST_TITLE + 1)}, "title"),
        ({"location": "x" * (LONGEST_TITLE + 1)}, "location"),
        ({"notes": "汉" * MOST_NOTES}, "notes"),
        ({"end": at(1, 14)}, "end"),
        ({"whole_day": True, "end": at(1) - timedelta(days=1)}, "end"),
        ({"start": datetime(1899, 12, 31, tzinfo=UTC)}, "start"),
        ({"start": datetime.max.replace(tzinfo=UTC)}, "start"),
        ({"start": datetime.min.replace(tzinfo=timezone(timedelta(hours=9)))}, "start"),
        ({"start": datetime.max.replace(tzinfo=UTC), "whole_day": True}, "start"),
        ({"remind_before": -5}, "remind_before"),
        ({"repeat": "every now and then"}, "repeat"),
        ({"repeat": "FREQ=SECONDLY"}, "repeat"),
        ({"repeat": "FREQ=DAILY;INTERVAL=0"}, "repeat"),
        ({"repeat": "FREQ=DAILY;BYMONTH=2;BYMONTHDAY=30"}, "repeat"),
        ({"repeat": "FREQ=DAILY\r\nATTACH:x"}, "repeat"),
    ],
)
def test_what_no_calendar_can_hold_is_refused(
    path: Path, fields: dict[str, Any], field: str
) -> None:
    with pytest.raises(WrongEntry) as caught:
        opened(path).create(**{"title": "Review", "start": at(1, 15), **fields})
    assert caught.value.field == field
    assert not path.exists()


def test_an_event_takes_an_hour_or_a_day_unless_it_is_said(path: Path) -> None:
    calendar = opened(path)
    calendar.create("Review", at(1, 15))
    calendar.create("Move", at(2), whole_day=True)
    calendar.create("Bell", at(3, 8), at(3, 8))
    assert [one.end - one.start for one in december(calendar)] == [
        timedelta(hours=1),
        timedelta(days=1),
        timedelta(0),
    ]


def test_a_time_without_a_named_zone_is_kept_in_utc(path: Path) -> None:
    calendar = opened(path)
    calendar.create("Call", datetime(2026, 12, 1, 15, tzinfo=timezone(timedelta(hours=3))))
    assert b"DTSTART:20261201T120000Z" in path.read_bytes()
    assert whens(december(calendar)) == ["12-01 13:00"]


def test_an_hour_the_clocks_show_twice_is_the_one_that_was_said(path: Path) -> None:
    calendar = opened(path)
    first = datetime(2026, 10, 25, 2, 30, tzinfo=BERLIN)
    for moment in (first, first.replace(fold=1)):
        calendar.create("Night", moment)
    starts = [one.start.astimezone(UTC) for one in calendar.search("night")]
    assert starts == [
        datetime(2026, 10, 25, 0, 30, tzinfo=UTC),
        datetime(2026, 10, 25, 1, 30, tzinfo=UTC),
    ]


# --- what takes place when ----------------------------------------------------------------------


def test_what_only_touches_the_bounds_does_not_count(path: Path) -> None:
    calendar = opened(path)
    for hour in (9, 10, 11):
        calendar.create(f"At {hour}", at(1, hour))
    assert [one.title for one in calendar.between(at(1, 10), at(1, 11))] == ["At 10"]
    assert [one.title for one in calendar.between(at(1), at(2), most=2)] == ["At 9", "At 10"]


def test_a_repeated_event_stays_at_its_hour_when_the_clocks_change(path: Path) -> None:
    calendar = opened(path)
    calendar.create("Standup", at(20, 9, month=10), repeat="FREQ=WEEKLY")
    found = calendar.between(at(20, month=10), at(10, month=11))
    assert whens(found) == ["10-20 09:00", "10-27 09:00", "11-03 09:00"]
    assert [one.id for one in found] == ["ek001@2026-10-20", "ek001@2026-10-27", "ek001@2026-11-03"]


def test_occurrences_at_several_times_of_a_day_have_the_time_in_their_id(path: Path) -> None:
    calendar = opened(path)
    calendar.create("Pill", at(1, 8), repeat="FREQ=HOURLY;INTERVAL=6;COUNT=4")
    ids = [one.id for one in december(calendar)]
    assert ids == [
        "ek001@2026-12-01",
        *(f"ek001@2026-12-0{x}" for x in ("1T1400", "1T2000", "2T0200")),
    ]
    assert whens([calendar.get(one) for one in ids])[1:] == [
        "12-01 14:00",
        "12-01 20:00",
        "12-02 02:00",
    ]


def test_a_time_the_clocks_leave_out_is_the_one_they_show_instead(path: Path) -> None:
    calendar = opened(path)
    calendar.create("Night", at(28, 2, 30, month=3), repeat="FREQ=DAILY;COUNT=3")
    found = calendar.between(at(28, month=3), at(31, month=3))
    assert whens(found) == ["03-28 02:30", "03-29 03:30", "03-30 02:30"]


def test_search_finds_all_words_and_a_repeated_event_once(path: Path) -> None:
    calendar = opened(path)
    calendar.create("Dentist", at(3, 8), location="Main Street")
    calendar.create("Standup", at(20, 9, month=10), repeat="FREQ=WEEKLY", notes="with Dana")
    calendar.create("Course", at(1, 9, month=10), repeat="FREQ=WEEKLY;COUNT=3", notes="with Dana")
    assert [one.title for one in calendar.search("main DENTIST")] == ["Dentist"]
    assert calendar.search("dentist nowhere") == []
    assert calendar.search("dentist", at(4)) == []
    assert [one.id for one in calendar.search("dana")] == ["ek003@2026-10-15", "ek002@2026-12-01"]
    found = calendar.search("dana", at(10), at(20))
    assert [one.id for one in found] == ["ek002@2026-12-15"]


def test_an_id_that_names_nothing_is_said_to(path: Path) -> None:
    calendar = opened(path)
    calendar.create("Standup", at(1, 9), repeat="FREQ=WEEKLY")
    for name in ("nothing", "ek001@2026-12-02", "ek001@2026-99-99", "ek001@x", ""):
        with pytest.raises(NoSuchEntry):
            calendar.get(name)


# --- changing and taking back -------------------------------------------------------------------


def test_a_changed_event_keeps_its_length_and_tells_what_it_was(path: Path) -> None:
    calendar = opened(path)
    calendar.create("Review", at(1, 15), at(1, 15, 30), remind_before=10)
    change = calendar.update("ek001", EventChanges(start=at(2, 16), location="Room 3"))
    assert change.before is not None
    assert change.after is not None
    assert (change.before.start, change.before.location) == (at(1, 15), "")
    assert (change.after.start, change.after.end) == (at(2, 16), at(2, 16, 30))
    assert change.after.location == "Room 3"
    assert b"SEQUENCE:1" in path.read_bytes()
    calendar.update("ek001", EventChanges(location="", remind_before=-1))
    event = calendar.get("ek001")
    assert (event.location, event.remind_before) == ("", None)
    assert b"VALARM" not in path.read_bytes()


def test_a_change_that_changes_nothing_writes_nothing(path: Path) -> None:
    calendar = opened(path)
    calendar.create("Review", at(1, 15))
    before = path.read_bytes()
    change = calendar.update("ek001", EventChanges(title="Review"))
    change.undo()
    assert change.before == change.after
    assert path.read_bytes() == before


def test_an_event_becomes_a_whole_day_and_back(path: Path) -> None:
    calendar = opened(path)
    calendar.create("Move", at(1, 15))
    calendar.update("ek001", EventChanges(start=at(3), whole_day=True))
    event = calendar.get("ek001")
    assert (event.start, event.end, event.whole_day) == (at(3), at(4), True)
    with pytest.raises(WrongEntry) as caught:
        calendar.update("ek001", EventChanges(whole_day=False))
    assert caught.value.field == "start"
    calendar.update("ek001", EventChanges(start=at(3, 10), whole_day=False))
    assert (calendar.get("ek001").start, calendar.get("ek001").end) == (at(3, 10), at(3, 11))


def test_of_a_repeated_event_it_must_be_said_which(path: Path) -> None:
    calendar = opened(path)
    calendar.create("Standup", at(1, 9), repeat="FREQ=DAILY;COUNT=3")
    for ask in (
        lambda: calendar.cancel("ek001"),
        lambda: calendar.update("ek001", EventChanges(title="x")),
    ):
        with pytest.raises(WrongEntry) as caught:
            ask()
        assert caught.value.field == "scope"
    with pytest.raises(WrongEntry) as caught:
        calendar.update("ek001@2026-12-02", EventChanges(repeat="FREQ=DAILY"))
    assert caught.value.field == "repeat"


def test_one_occurrence_is_moved_cancelled_and_put_back(path: Path) -> None:
    calendar = opened(path)
    calendar.create("Standup", at(1, 9), repeat="FREQ=DAILY;COUNT=4")
    whole = path.read_bytes()
    moved = calendar.update("ek001@2026-12-02", EventChanges(start=at(5, 11)))
    assert moved.after is not None
    assert (moved.after.id, moved.after.start) == ("ek001@2026-12-02", at(5, 11))
    cancelled = calendar.cancel("ek001@2026-12-03")
    assert whens(december(calendar)) == ["12-01 09:00", "12-04 09:00", "12-05 11:00"]
    again = calendar.update("ek001@2026-12-02", EventChanges(title="Late standup"))
    assert december(calendar)[-1].title == "Late standup"
    assert december(opened(path)) == december(calendar)
    for change in (again, cancelled, moved):
        change.undo()
    assert path.read_bytes() == whole


def test_a_moved_occurrence_can_be_cancelled(path: Path) -> None:
    calendar = opened(path)
    calendar.create("Standup", at(1, 9), repeat="FREQ=DAILY;COUNT=3")
    calendar.update("ek001@2026-12-02", EventChanges(start=at(5, 11)))
    calendar.cancel("ek001@2026-12-02")
    assert whens(december(calendar)) == ["12-01 09:00", "12-03 09:00"]


def test_moving_all_moves_weekdays_exceptions_and_what_they_stand_for(path: Path) -> None:
    calendar = opened(path)
    calendar.create("Standup", at(7, 9), repeat="FREQ=WEEKLY;BYDAY=MO,WE")
    calendar.cancel("ek001@2026-12-14")
    calendar.update("ek001@2026-12-16", EventChanges(start=at(16, 12)))
    before = path.read_bytes()
    change = calendar.update(
        "ek001@2026-12-09", EventChanges(start=at(10, 10), title="Daily"), scope="all"
    )
    assert whens(calendar.between(at(1), at(20))) == [
        "12-08 10:00",
        "12-10 10:00",
        "12-16 12:00",
    ]
    assert {one.title for one in december(calendar)} == {"Daily"}
    change.undo()
    assert path.read_bytes() == before


def test_moving_all_to_another_day_needs_a_rule_where_days_are_named(path: Path) -> None:
    calendar = opened(path)
    calendar.create("Payday", at(1, 9), repeat="FREQ=MONTHLY;BYDAY=1TU")
    with pytest.raises(WrongEntry) as caught:
        calendar.update("ek001", EventChanges(start=at(2, 9)), "all")
    assert caught.value.field == "repeat"
    calendar.update("ek001", EventChanges(start=at(2, 9), repeat="FREQ=MONTHLY"), "all")
    assert whens(calendar.between(at(1), datetime(2027, 2, 5, tzinfo=BERLIN))) == [
        "12-02 09:00",
        "01-02 09:00",
        "02-02 09:00",
    ]


def test_an_event_stops_repeating(path: Path) -> None:
    calendar = opened(path)
    calendar.create("Standup", at(1, 9), repeat="FREQ=DAILY")
    calendar.update("ek001@2026-12-02", EventChanges(title="Other"))
    calendar.cancel("ek001@2026-12-03")
    calendar.update("ek001", EventChanges(repeat=""), "all")
    assert [one.id for one in december(calendar)] == ["ek001"]


def test_cancelling_takes_all_of_it_out_and_undo_brings_it_back(path: Path) -> None:
    calendar = opened(path)
    calendar.create("Other", at(1, 8))
    calendar.create("Standup", at(1, 9), repeat="FREQ=DAILY;COUNT=3")
    calendar.update("ek002@2026-12-02", EventChanges(title="Late"))
    before, text = december(calendar), path.read_bytes()
    change = calendar.cancel("ek002", scope="all")
    assert [one.title for one in december(calendar)] == ["Other"]
    assert change.after is None
    change.undo()
    assert december(calendar) == before
    assert path.read_bytes() == text


def test_undo_of_what_was_changed_since_is_refused(path: Path) -> None:
    calendar = opened(path)
    made = calendar.create("Review", at(1, 15))
    opened(path).update("ek001", EventChanges(title="Other"))
    text = path.read_bytes()
    with pytest.raises(EntryChanged):
        made.undo()
    assert path.read_bytes() == text


def test_events_of_two_calendars_share_no_uid_though_their_ids_are_the_same(
    tmp_path: Path,
) -> None:
    uids = []
    for name in ("mine", "yours"):
        calendar = CalendarFile(tmp_path / name / "calendar.ics", FakeClock(NOW), lambda: "k3f9q")
        made = calendar.create("Review", at(1, 15)).after
        assert made is not None
        assert made.id == "e3f9q"
        (line,) = re.findall(rb"\r\nUID:(.+)\r\n", (tmp_path / name / "calendar.ics").read_bytes())
        uids.append(line.decode())
    assert len(set(uids)) == 2
    assert all(re.fullmatch(r"e3f9q\.[0-9a-z]{16,}@assistant", uid) for uid in uids)


@pytest.mark.parametrize(
    ("uid", "event_id"),
    [
        ("e3f9q.k3f9q@assistant", "e3f9q"),
        ("ek001.20261201-090000-k001@assistant", "ek001"),
        ("e3f9q.9b1deb4d3b7d4bad@assistant", "e3f9q"),
        ("e3f9q.9b1deb4d@elsewhere", "6vkxnvd"),
    ],
)
def test_an_event_that_was_written_before_keeps_its_id(path: Path, uid: str, event_id: str) -> None:
    calendar = written(path, of(f"UID:{uid}\nDTSTART:20261201T100000Z\nSUMMARY:Old"))
    assert calendar.get(event_id).title == "Old"
    new = calendar.create("New", at(2)).after
    assert new is not None
    assert new.id != event_id
    assert calendar.cancel(event_id).after is None
    assert [one.title for one in december(calendar)] == ["New"]


def test_undo_of_a_creation_takes_the_event_out_once(path: Path) -> None:
    calendar = opened(path)
    made = calendar.create("Review", at(1, 15))
    made.undo()
    assert december(calendar) == []
    with pytest.raises(EntryChanged):
        made.undo()


def test_undo_without_the_file_is_refused(path: Path) -> None:
    calendar = opened(path)
    calendar.create("Review", at(1, 15))
    cancelled = calendar.cancel("ek001")
    path.unlink()
    with pytest.raises(EntryChanged):
        cancelled.undo()


def test_undo_brings_an_event_back_into_its_own_one_of_several_calendars(path: Path) -> None:
    two = "\n".join(of(f"UID:{name}@x\nDTSTART:20261201T100000Z\nSUMMARY:{name}") for name in "ab")
    calendar = written(path, two)
    before = path.read_bytes()
    second = next(one for one in december(calendar) if one.title == "b")
    calendar.cancel(second.id).undo()
    assert path.read_bytes() == before


# --- files of other programs --------------------------------------------------------------------

FOREIGN = of(
    "UID:a@x\nDTSTAMP:20260101T000000Z\nDTSTART:20261201T100000Z\nDURATION:PT30M\n"
    'SUMMARY;LANGUAGE=en:In\n  UTC\nX-UNKNOWN;X-P="a:b;c":kept\\, as it is\n'
    "BEGIN:VALARM\nACTION:AUDIO\nTRIGGER;RELATED=END:-PT5M\nEND:VALARM",
    "UID:b@x\nDTSTART;VALUE=DATE:20261202\nSUMMARY:Day",
    "UID:c@x\nDTSTART:20261203T100000\nDTEND:20261203T110000\nSUMMARY:Floating",
    'UID:d@x\nDTSTART;TZID="/example.org/America/New_York":20261204T100000\nSUMMARY:Prefixed',
    "UID:e@x\nDTSTART;TZID=China Standard Time:20261205T100000\nSUMMARY:Windows",
    "UID:f@x\nDTSTART;TZID=Mars/Own:20261206T100000\nSUMMARY:Own zone",
    "UID:g@x\nDTSTART;TZID=Nowhere:20261207T100000\nSUMMARY:Lost zone",
    before="BEGIN:VTIMEZONE\nTZID:Mars/Own\nBEGIN:STANDARD\nDTSTART:19700101T000000\n"
    "TZOFFSETFROM:+0500\nTZOFFSETTO:+0500\nEND:STANDARD\nEND:VTIMEZONE\n"
    "BEGIN:VTODO\nUID:t@x\nSUMMARY:Taxes\nDUE:20261210T120000Z\nEND:VTODO\n"
    "BEGIN:VTODO\nUID:u@x\nSUMMARY:Done\nSTATUS:COMPLETED\nEND:VTODO\n"
    "BEGIN:VTODO\nUID:v@x\nSUMMARY:Some day\nEND:VTODO",
)


def test_times_in_any_form_are_read_in_the_users_zone(path: Path) -> None:
    calendar = written(path, FOREIGN)
    found = [(one.title, whens([one])[0]) for one in december(calendar)]
    assert found == [
        ("In UTC", "12-01 11:00"),
        ("Day", "12-02 00:00"),
        ("Floating", "12-03 10:00"),
        ("Prefixed", "12-04 16:00"),
        ("Windows", "12-05 03:00"),
        ("Own zone", "12-06 06:00"),
        ("Lost zone", "12-07 10:00"),
    ]
    assert december(calendar)[0].end == at(1, 11, 30)
    assert december(calendar)[1].end == at(3)
    assert calendar.problems == ["The event “Lost zone” is in a zone that is not known (Nowhere)."]


def test_tasks_still_to_be_done_are_told(path: Path) -> None:
    assert written(path, FOREIGN).to_dos() == [("Taxes", at(10, 13)), ("Some day", None)]


@pytest.mark.parametrize("data", [b"", b"\n", b"BEGIN:VCALENDAR\nVERSION:2.0\nEND:VCALENDAR"])
def test_a_file_without_events_takes_the_first_one(path: Path, data: bytes) -> None:
    path.parent.mkdir()
    path.write_bytes(data)
    calendar = opened(path)
    assert december(calendar) == []
    calendar.create("First", at(1, 9))
    (event,) = icalendar.Calendar.from_ical(path.read_bytes()).walk("VEVENT")
    assert event["SUMMARY"] == "First"
    assert path.read_bytes().index(b"BEGIN:VTIMEZONE") < path.read_bytes().index(b"BEGIN:VEVENT")


@pytest.mark.parametrize("newline", ["\r\n", "\n"])
@pytest.mark.parametrize("bom", [b"", b"\xef\xbb\xbf"])
def test_what_is_not_touched_stays_byte_for_byte(path: Path, newline: str, bom: bytes) -> None:
    calendar = written(path, FOREIGN, newline)
    path.write_bytes(bom + path.read_bytes())
    before = path.read_bytes()
    calendar.create("Ours", datetime(2026, 12, 9, 10, tzinfo=UTC)).undo()
    assert path.read_bytes() == before
    event = december(calendar)[0]
    change = calendar.update(event.id, EventChanges(title="Renamed"))
    lines = path.read_bytes().split(newline.encode())
    gone = set(before.split(newline.encode())) - set(lines)
    assert gone == {b"SUMMARY;LANGUAGE=en:In", b"  UTC", b"DTSTAMP:20260101T000000Z"}
    assert (b"\r" in path.read_bytes()) == (newline == "\r\n")
    assert [line for line in lines if line.startswith(b"SUMMARY:R")] == [b"SUMMARY:Renamed"]
    change.undo()
    assert path.read_bytes() == before


def test_a_foreign_duration_and_zone_stay_when_the_event_is_moved(path: Path) -> None:
    calendar = written(path, FOREIGN)
    events = {one.title: one.id for one in december(calendar)}
    calendar.update(events["In UTC"], EventChanges(start=at(1, 12)))
    calendar.update(events["Windows"], EventChanges(start=at(5, 4)))
    text = path.read_text()
    assert "DTSTART:20261201T110000Z\nDURATION:PT30M" in text
    assert "DTSTART;TZID=China Standard Time:20261205T110000" in text


def test_a_foreign_id_is_the_same_each_time_and_short(path: Path) -> None:
    ids = [one.id for one in december(written(path, FOREIGN))]
    path.with_suffix(".json").unlink()
    assert ids == [one.id for one in december(opened(path))]
    assert len(set(ids)) == 7
    assert {len(one) for one in ids} == {7}


def test_repeated_events_of_other_programs(path: Path) -> None:
    calendar = written(
        path,
        of(
            "UID:r@x\nDTSTART;TZID=Europe/Berlin:20261201T090000\nDTEND;TZID=Europe/Berlin:"
            "20261201T100000\nRRULE:FREQ=DAILY;UNTIL=20261205T080000Z\nEXDATE:20261202T080000Z\n"
            "EXDATE;VALUE=DATE:20261205\nRDATE;VALUE=PERIOD:20261220T080000Z/PT1H\nSUMMARY:All",
            "UID:r@x\nRECURRENCE-ID:20261203T080000Z\nDTSTART:20261203T170000Z\nSUMMARY:Moved",
            "UID:r@x\nRECURRENCE-ID:20261204T080000Z\nDTSTART:20261204T080000Z\n"
            "STATUS:CANCELLED\nSUMMARY:Off",
            "UID:lone@x\nRECURRENCE-ID:20261208T080000Z\nDTSTART:20261208T080000Z\nSUMMARY:Lone",
        ),
    )
    found = [(one.title, *whens([one])) for one in december(calendar)]
    assert found == [
        ("All", "12-01 09:00"),
        ("Moved", "12-03 18:00"),
        ("Lone", "12-08 09:00"),
        ("All", "12-20 09:00"),
    ]
    for event in december(calendar):
        assert calendar.get(event.id) == event


SERIES = (
    "UID:s@x\nDTSTART;TZID=Europe/Berlin:{day}T090000\nDTEND;TZID=Europe/Berlin:{day}T100000\n"
    "SUMMARY:Series\n"
)


@pytest.mark.parametrize(
    "left_out",
    ["EXDATE:20261024T070000Z", "EXDATE;TZID=Asia/Shanghai:20261024T150000"],
)
def test_what_is_left_out_stays_so_when_all_move_over_a_change_of_the_clocks(
    path: Path, left_out: str
) -> None:
    rule = f"RRULE:FREQ=DAILY;COUNT=4\n{left_out}"
    calendar = written(path, of(SERIES.format(day="20261022") + rule))
    start, end = at(1, month=10), at(1)
    series = calendar.between(start, end)[0].id.partition("@")[0]
    assert whens(calendar.between(start, end)) == ["10-22 09:00", "10-23 09:00", "10-25 09:00"]
    calendar.update(series, EventChanges(start=at(23, 9, month=10)), "all")
    assert whens(calendar.between(start, end)) == ["10-23 09:00", "10-24 09:00", "10-26 09:00"]


def test_a_day_that_is_left_out_stays_so_when_all_move_to_an_earlier_hour(path: Path) -> None:
    rule = "RRULE:FREQ=DAILY;COUNT=3\nEXDATE;VALUE=DATE:20261202"
    calendar = written(path, of(SERIES.format(day="20261201") + rule))
    calendar.update(december(calendar)[0].id, EventChanges(start=at(1, 8)), "all")
    assert whens(december(calendar)) == ["12-01 08:00", "12-03 08:00"]


def test_the_last_one_is_not_lost_when_all_move_to_a_later_hour(path: Path) -> None:
    rule = "RRULE:FREQ=DAILY;UNTIL=20261203T080000Z"
    calendar = written(path, of(SERIES.format(day="20261201") + rule))
    calendar.update(december(calendar)[0].id, EventChanges(start=at(1, 10)), "all")
    assert whens(december(calendar)) == ["12-01 10:00", "12-02 10:00", "12-03 10:00"]
    assert b"UNTIL=20261203T090000Z" in path.read_bytes()


def test_all_that_move_at_the_word_of_a_moved_one_take_the_time_that_was_said(path: Path) -> None:
    calendar = opened(path)
    calendar.create("Standup", at(1, 15), repeat="FREQ=WEEKLY;COUNT=3")
    calendar.update("ek001@2026-12-08", EventChanges(start=at(8, 16), title="Special"))
    calendar.update("ek001@2026-12-15", EventChanges(start=at(15, 11)))
    calendar.update("ek001@2026-12-08", EventChanges(start=at(8, 17)), "all")
    assert [(one.title, *whens([one])) for one in december(calendar)] == [
        ("Standup", "12-01 17:00"),
        ("Special", "12-08 17:00"),
        ("Standup", "12-15 11:00"),
    ]


def test_a_series_that_takes_whole_days_from_now_on_says_so_everywhere(path: Path) -> None:
    calendar = opened(path)
    calendar.create("Standup", at(1), repeat="FREQ=DAILY;UNTIL=20261203T225959Z")
    calendar.update("ek001@2026-12-02", EventChanges(title="Other"))
    calendar.update("ek001", EventChanges(start=at(1), whole_day=True), "all")
    assert whens(december(calendar)) == ["12-01 00:00", "12-02 00:00", "12-03 00:00"]
    text = path.read_text()
    assert "RECURRENCE-ID;VALUE=DATE:20261202" in text
    assert "UNTIL=20261203\n" in text


def test_what_was_changed_from_a_day_on_is_told_and_kept(path: Path) -> None:
    later = (
        "UID:s@x\nRECURRENCE-ID;RANGE=THISANDFUTURE;TZID=Europe/Berlin:20261202T090000\n"
        "DTSTART;TZID=Europe/Berlin:20261202T110000\nSUMMARY:Later"
    )
    rule = "RRULE:FREQ=DAILY;COUNT=3"
    calendar = written(path, of(SERIES.format(day="20261201") + rule, later))
    assert len(calendar.problems) == 1
    calendar.update(december(calendar)[0].id, EventChanges(start=at(1, 10)), "all")
    assert b"RANGE=THISANDFUTURE;TZID=Europe/Berlin:20261202T100000" in path.read_bytes()


def test_several_calendars_in_one_file_are_all_read_and_the_first_is_added_to(path: Path) -> None:
    one, two = of("UID:1@x\nDTSTART:20261201T100000Z"), of("UID:2@x\nDTSTART:20261202T100000Z")
    calendar = written(path, f"{one}\n{two}")
    calendar.create("Ours", at(3, 9))
    assert len(december(calendar)) == 3
    assert path.read_bytes().index(b"SUMMARY:Ours") < path.read_bytes().index(b"END:VCALENDAR")


def test_a_broken_event_is_passed_over_and_stays(path: Path) -> None:
    bad = "UID:bad@x\nDTSTART:20269901T100000Z\nSUMMARY:Bad"
    calendar = written(path, of(bad, "UID:ok@x\nDTSTART:20261201T100000Z", "SUMMARY:No start"))
    assert len(december(calendar)) == 1
    assert len(calendar.problems) == 2
    calendar.create("Ours", at(3, 9))
    assert b"DTSTART:20269901T100000Z" in path.read_bytes()


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"hello", "no BEGIN:VCALENDAR"),
        (b"BEGIN:VCALENDAR\nBEGIN:VEVENT\nEND:VCALENDAR\n", "line 3"),
        (b"BEGIN:VCALENDAR\nBEGIN:VEVENT\nEND:VEVENT\n", "line 1 has no END"),
        (b"BEGIN:VCALENDAR\nX-A:\xff\xfe\nEND:VCALENDAR\n", "line 2 is not UTF-8"),
        (b"END:VEVENT\n", "nothing is open"),
    ],
)
def test_a_broken_file_is_never_written_to(path: Path, data: bytes, said: str) -> None:
    path.parent.mkdir()
    path.write_bytes(data)
    calendar = opened(path)
    for act in (lambda: december(calendar), lambda: calendar.create("Ours", at(1, 9))):
        with pytest.raises(EntriesUnreadable, match=said):
            act()
    assert path.read_bytes() == data


def test_lines_folded_within_a_character_and_huge_lines_are_read(path: Path) -> None:
    path.parent.mkdir()
    title = "汉" * 30
    folded = f"SUMMARY:{title}".encode()
    text = of("UID:1@x\nDTSTART:20261201T100000Z\nSUMMARY:?\nATTACH:" + "QUJD" * 200_000)
    path.write_bytes(text.encode().replace(b"SUMMARY:?", folded[:60] + b"\n " + folded[60:]))
    assert [one.title for one in december(opened(path))] == [title]


@pytest.mark.parametrize(
    "rule",
    [
        "FREQ=SECONDLY",
        "FREQ=SECONDLY;BYMONTH=2;BYMONTHDAY=30",
        "FREQ=HOURLY;BYMONTH=2",
        "FREQ=DAILY;BYMONTH=2;BYMONTHDAY=30",
        "FREQ=DAILY;INTERVAL=0",
        "FREQ=DAILY;COUNT=x",
        "FREQ=NEVER",
        "BYDAY=MO",
        "FREQ=DAILY;BYHOUR=99",
        "FREQ=DAILY;UNTIL=soon",
        ";;;",
    ],
)
def test_a_hostile_rule_leaves_the_first_time_and_is_told(path: Path, rule: str) -> None:
    calendar = written(path, of(f"UID:1@x\nDTSTART:20261201T100000Z\nRRULE:{rule}\nSUMMARY:Bad"))
    assert whens(december(calendar)) == ["12-01 11:00"]
    assert len(calendar.problems) == 1


@pytest.mark.parametrize(
    "event",
    [
        "DTSTART:00010101T000000Z",
        "DTSTART:99991231T235959Z\nRRULE:FREQ=DAILY",
        "DTSTART;VALUE=DATE:99991231",
        "DTSTART:20261201T100000Z\nDURATION:P9999999W",
        "DTSTART:20261201T100000Z\nDTEND:20261101T100000Z",
        "DTSTART:20261201T100000Z\nRECURRENCE-ID:00010101T000000Z",
        "DTSTART:20261201T100000Z\nRDATE:99991231T235959Z",
        "DTSTART:19261201T100000Z\nDTEND:20261201T100000Z\nRRULE:FREQ=HOURLY",
    ],
)
def test_times_at_the_edge_of_what_can_be_reckoned_are_told(path: Path, event: str) -> None:
    calendar = written(path, of(f"UID:1@x\nSUMMARY:Edge\n{event}"))
    ever = [datetime.min.replace(tzinfo=UTC), datetime.max.replace(tzinfo=UTC)]
    assert len(calendar.between(*ever)) <= 1
    assert len(calendar.search("edge", *ever)) <= 1
    assert len(calendar.problems) == 1


def test_a_rule_with_many_times_a_day_is_bounded(path: Path) -> None:
    rule = "FREQ=HOURLY;BYMINUTE=0,1,2,3,4,5;BYSECOND=0,1,2,3,4,5,6,7"
    calendar = written(path, of(f"UID:1@x\nDTSTART:20200101T100000Z\nRRULE:{rule}\nSUMMARY:Tick"))
    assert len(calendar.between(at(1), at(1) + timedelta(days=3_000))) == 1_000
    assert [one.start for one in calendar.search("tick")] == [NOW]


def test_a_hostile_zone_is_not_followed(path: Path) -> None:
    zone = (
        "BEGIN:VTIMEZONE\nTZID:Bad\nBEGIN:STANDARD\nDTSTART:20261001T000000\nTZOFFSETFROM:+0500\n"
        "TZOFFSETTO:+0600\nRRULE:FREQ=MINUTELY\nEND:STANDARD\nBEGIN:DAYLIGHT\n"
        "DTSTART:20261001T000000\nTZOFFSETFROM:+0600\nTZOFFSETTO:+0500\nEND:DAYLIGHT\nEND:VTIMEZONE"
    )
    calendar = written(path, of("UID:1@x\nDTSTART;TZID=Bad:20261201T100000", before=zone))
    assert whens(december(calendar)) == ["12-01 10:00"]


# --- the disk, other processes, the index -------------------------------------------------------


def test_two_terminals_lose_nothing(path: Path) -> None:
    calendars = [opened(path, FakeClock(NOW)) for _ in range(3)]

    def add(number: int) -> None:
        for count in range(5):
            calendars[number].create(f"{number}.{count}", at(1, 9))

    threads = [threading.Thread(target=add, args=(number,)) for number in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    found = december(opened(path))
    assert len({one.title for one in found}) == 15
    assert len({one.id for one in found}) == 15


def test_what_another_process_wrote_is_seen(path: Path) -> None:
    calendar = opened(path)
    calendar.create("One", at(1, 9))
    opened(path).update("ek001", EventChanges(title="Two"))
    assert calendar.get("ek001").title == "Two"


def test_a_disk_that_refuses_leaves_the_file_as_it_was(path: Path) -> None:
    calendar = opened(path)
    calendar.create("One", at(1, 9))
    before = path.read_bytes()
    # A folder in the place of the temporary file: nothing can be written there, even by root.
    path.with_name(f".{path.name}.{os.getpid()}.tmp").mkdir()
    with pytest.raises(NotSaved, match="unchanged"):
        calendar.create("Two", at(2, 9))
    assert path.read_bytes() == before


def test_a_link_into_another_folder_stays_one(path: Path, tmp_path: Path) -> None:
    place = tmp_path / "elsewhere.ics"
    place.write_text(of("UID:1@x\nDTSTART:20261202T100000Z"))
    path.parent.mkdir()
    path.symlink_to(place)
    opened(path).create("Ours", at(1, 9))
    assert path.is_symlink()
    assert "SUMMARY:Ours" in place.read_text()


def test_today_is_told_without_reading_the_events_again(path: Path) -> None:
    opened(path).create("Standup", at(1, 10), repeat="FREQ=DAILY")
    code = (
        "import sys; from pathlib import Path; from datetime import datetime, timedelta\n"
        "from zoneinfo import ZoneInfo\n"
        "from assistant.memory.calendar.calendar import CalendarFile\n"
        "now = datetime(2026, 12, 1, tzinfo=ZoneInfo('Europe/Berlin'))\n"
        "calendar = CalendarFile(Path(sys.argv[1]), lambda: now, str)\n"
        "assert len(calendar.between(now, now + timedelta(days=1))) == 1\n"
        "assert not {'icalendar', 'filelock', 'numpy'} & set(sys.modules)\n"
    )
    december(opened(path))
    subprocess.run([sys.executable, "-c", code, str(path)], check=True)


@pytest.mark.parametrize("index", [b"", b"{}", b"\xff", b'{"digest": 3}'])
def test_an_index_that_cant_be_read_is_made_again(path: Path, index: bytes) -> None:
    opened(path).create("One", at(1, 9))
    kept = path.with_suffix(".json")
    good = kept.read_bytes() if kept.exists() else b""
    path.with_suffix(".json").write_bytes(index)
    assert [one.title for one in december(opened(path))] == ["One"]
    assert kept.read_bytes() == good


def test_another_zone_of_the_user_reads_floating_times_anew(path: Path) -> None:
    task = "BEGIN:VTODO\nUID:t@x\nSUMMARY:Task\nDUE:20261204T120000\nEND:VTODO"
    calendar = written(path, of("UID:c@x\nDTSTART:20261203T100000\nSUMMARY:Floating", before=task))
    assert calendar.to_dos() == [("Task", at(4, 12))]
    shanghai = opened(path, FakeClock(datetime(2026, 12, 1, tzinfo=ZoneInfo("Asia/Shanghai"))))
    ((_, due),) = shanghai.to_dos()
    assert due == datetime(2026, 12, 4, 12, tzinfo=ZoneInfo("Asia/Shanghai"))
    (event,) = shanghai.search("floating")
    assert event.start == datetime(2026, 12, 3, 10, tzinfo=ZoneInfo("Asia/Shanghai"))
