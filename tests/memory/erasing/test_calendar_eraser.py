"""Erasing from the calendar: whole events go, the rest stays as others wrote it."""

from __future__ import annotations

from pathlib import Path

import pytest

from assistant.errors import EntryChanged
from assistant.memory.calendar.calendar import CalendarFile
from assistant.memory.calendar.calendar_index import read_index
from assistant.memory.erasing.calendar_eraser import CalendarEraser
from assistant.messages import Event
from assistant.protocols import EventChanges, Written
from tests.memory.calendar.test_calendar import NOW, at, opened
from tests.memory.test_erasables import erasure, quiet


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "data" / "calendar.ics"


@pytest.fixture
def calendar(path: Path) -> CalendarFile:
    return opened(path)


def erase(path: Path, **what: object) -> None:
    store, wanted = CalendarEraser(path), erasure(**what)
    store.erase(wanted, quiet)
    assert store.count(wanted) == 0
    assert store.left(wanted) == ""


def bytes_of(path: Path) -> bytes:
    """Of the calendar and of what is derived from it."""
    index = path.with_suffix(".json")
    return path.read_bytes() + (index.read_bytes() if index.exists() else b"")


def created(written: Written[Event]) -> Event:
    assert written.after is not None
    return written.after


def test_a_series_goes_with_its_changed_occurrences(calendar: CalendarFile, path: Path) -> None:
    other = created(calendar.create("Zebra", at(2, 9), source="s1.1"))
    before = path.read_bytes()
    event = created(calendar.create("Quagga", at(2, 15), repeat="FREQ=WEEKLY"))
    named = f"{event.id.partition('@')[0]}@2026-12-09"
    calendar.update(named, EventChanges(title="Quagga, too", notes="her quagga"))
    assert b"quagga" in bytes_of(path)

    store = CalendarEraser(path)
    (match,) = store.matches(erasure(events=[named]))
    assert (match.kind, match.text) == ("event", "Quagga / Quagga, too")
    erase(path, events=[named])

    assert b"uagga" not in bytes_of(path)
    assert [one.id for one in calendar.between(at(1), at(31))] == [other.id]
    assert calendar.get(other.id) == other
    assert other.source == "s1.1"
    assert b"Quagga" not in before
    assert bytes_of(path).count(b"BEGIN:VEVENT") == 1


def test_what_others_wrote_stays_byte_for_byte(path: Path) -> None:
    path.parent.mkdir()
    head = b"BEGIN:VCALENDAR\nX-WR-CALNAME:Mine\n"
    first = b"BEGIN:VEVENT\nUID:1@x\nDTSTART:20261201T090000Z\nsummary:Zebra\nEND:VEVENT\n"
    second = b"BEGIN:VEVENT\nDTSTART:20261201T090000Z\nUID:2@x\nSUMMARY:Qua\n gga\nEND:VEVENT\n"
    task = b"BEGIN:VTODO\nUID:3@x\nSUMMARY:Feed\nEND:VTODO\n"
    path.write_bytes(head + first + second + task + b"END:VCALENDAR\n")
    event = next(one for one in opened(path).between(at(1), at(2)) if one.title == "Quagga")
    erase(path, events=[event.id])
    assert path.read_bytes() == head + first + task + b"END:VCALENDAR\n"


def test_of_other_events_only_the_name_of_the_turn_goes(calendar: CalendarFile, path: Path) -> None:
    one = created(calendar.create("Zebra", at(2), source="s1.1"))
    two = created(calendar.create("Okapi", at(3), source="s1.2"))
    line = b"X-ASSISTANT-SOURCE:s1.1\r\n"
    before = path.read_bytes()
    assert line in before
    assert CalendarEraser(path).matches(erasure(turns={"s1": [1]})) == []
    assert CalendarEraser(path).count(erasure(turns={"s1": [1]})) == 1
    erase(path, turns={"s1": [1]})
    assert path.read_bytes() == before.replace(line, b"")
    assert [calendar.get(event.id).source for event in (one, two)] == ["", "s1.2"]
    assert b"s1.1" not in bytes_of(path)


def test_a_kill_between_the_two_files_leaves_nothing_for_long(
    calendar: CalendarFile, path: Path
) -> None:
    event = created(calendar.create("Quagga", at(2)))
    calendar.create("Zebra", at(3))
    index = path.with_suffix(".json")
    stale = index.read_bytes()
    erase(path, events=[event.id])
    # As a process leaves it that was killed after the calendar was written.
    index.write_bytes(stale)
    again = erasure(events=[event.id])
    assert CalendarEraser(path).count(again) == 1
    erase(path, events=[event.id])
    assert not index.exists()
    assert [one.title for one in calendar.between(at(1), at(9))] == ["Zebra"]
    assert read_index(index) is not None


def test_no_undo_brings_an_erased_event_back(calendar: CalendarFile, path: Path) -> None:
    other = opened(path)  # in another terminal
    made = calendar.create("Quagga", at(2))
    event = created(made)
    changed = other.update(event.id, EventChanges(notes="feed the Quagga"))
    erase(path, events=[event.id])
    for written in (made, changed):
        with pytest.raises(EntryChanged):
            written.undo()
    assert b"Quagga" not in bytes_of(path)


@pytest.mark.parametrize("everything", [False, True])
def test_nor_one_that_was_cancelled_before(
    calendar: CalendarFile, path: Path, everything: bool
) -> None:
    other = opened(path)
    event = created(calendar.create("Quagga", at(2), source="s1.1"))
    cancelled = other.cancel(event.id)
    erase(path, turns={"s1": [1]}, everything=everything)
    calendar.create("Zebra", at(3))
    with pytest.raises(EntryChanged):
        cancelled.undo()
    assert b"Quagga" not in bytes_of(path)


def test_one_that_was_cancelled_since_can_be_put_back(calendar: CalendarFile, path: Path) -> None:
    event = created(calendar.create("Zebra", at(2)))
    erase(path, turns={"s1": [1]})
    calendar.cancel(event.id).undo()
    assert calendar.get(event.id) == event


def test_a_calendar_that_can_not_be_read_stays_and_that_is_said(path: Path) -> None:
    path.parent.mkdir()
    path.write_bytes(b"BEGIN:VEVENT\nSUMMARY:Quagga\n")
    store, wanted = CalendarEraser(path), erasure(turns={"s1": [1]})
    assert store.matches(wanted) == []
    store.erase(wanted, quiet)
    assert store.count(wanted) == 0
    assert "is no calendar that can be read" in store.left(wanted)
    assert path.read_bytes() == b"BEGIN:VEVENT\nSUMMARY:Quagga\n"
    store.erase(erasure(everything=True), quiet)
    assert not path.exists()


def test_an_index_made_while_it_was_erased_is_not_kept(path: Path) -> None:
    calendar = opened(path)
    event = created(calendar.create("Quagga", at(2)))
    index = path.with_suffix(".json")
    index.unlink()

    class Erases:
        """Read by the calendar after its file, so just in time to erase from under it."""

        @property
        def tzinfo(self) -> object:
            erase(path, events=[event.id])
            return NOW.tzinfo

    late = CalendarFile(path, lambda: Erases(), lambda: "x")  # type: ignore[arg-type,return-value]
    late.between(at(1), at(9))
    assert not index.exists()
    assert late.between(at(1), at(9)) == []
    assert b"Quagga" not in bytes_of(path)
