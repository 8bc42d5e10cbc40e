"""Events in words, and what is said of their times."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from assistant.event_text import (
    clashes,
    event_line,
    past_text,
    reminder_text,
    repeat_text,
    when_text,
)
from assistant.messages import Event

START = datetime(2026, 12, 1, 15, tzinfo=UTC)


def event(hours: float = 1, start: datetime = START, **fields: object) -> Event:
    return Event("e1", "Review", start, start + timedelta(hours=hours), **fields)  # type: ignore[arg-type]


def test_a_line_holds_what_there_is_to_know() -> None:
    full = event(location="Room\n2", repeat="FREQ=WEEKLY;BYDAY=TU", remind_before=10)
    assert event_line(event()) == "Review · Tue 2026-12-01 15:00–16:00"
    assert event_line(full) == (
        "Review · Tue 2026-12-01 15:00–16:00 · Room 2 · every week on Tue · reminder 10 min before"
    )


@pytest.mark.parametrize(
    ("one", "text"),
    [
        (event(0), "Tue 2026-12-01 15:00"),
        (event(10), "Tue 2026-12-01 15:00–Wed 2026-12-02 01:00"),
        (event(24, START.replace(hour=0), whole_day=True), "Tue 2026-12-01"),
        (event(72, START.replace(hour=0), whole_day=True), "Tue 2026-12-01 – Thu 2026-12-03"),
    ],
)
def test_when(one: Event, text: str) -> None:
    assert when_text(one) == text


@pytest.mark.parametrize(
    ("rule", "text"),
    [
        ("", ""),
        ("FREQ=DAILY", "every day"),
        ("FREQ=WEEKLY;INTERVAL=2;BYDAY=MO,WE", "every 2 weeks on Mon, Wed"),
        ("FREQ=WEEKLY;UNTIL=20270301T225959Z", "every week (until 2027-03-01)"),
        ("FREQ=YEARLY;COUNT=3;WKST=MO", "every year (3 times)"),
        ("FREQ=MONTHLY;BYDAY=1MO", "FREQ=MONTHLY;BYDAY=1MO"),
        ("FREQ=MONTHLY;BYMONTHDAY=3", "FREQ=MONTHLY;BYMONTHDAY=3"),
    ],
)
def test_how_it_repeats(rule: str, text: str) -> None:
    assert repeat_text(rule) == text


@pytest.mark.parametrize(
    ("minutes", "text"),
    [
        (0, "at the start"),
        (10, "10 min before"),
        (90, "90 min before"),
        (120, "2 h before"),
        (1_440, "1 day before"),
        (2_880, "2 days before"),
    ],
)
def test_how_long_before_it_is_reminded_of(minutes: int, text: str) -> None:
    assert reminder_text(minutes) == text


def test_events_clash_when_they_overlap_and_are_not_the_same() -> None:
    other = Event("e2", "Call", START + timedelta(minutes=30), START + timedelta(hours=2))
    after = Event("e3", "Later", START + timedelta(hours=1), START + timedelta(hours=2))
    own = Event("e1@2026-12-01", "Review", START, START + timedelta(hours=1))
    day = Event("e4", "Trip", START.replace(hour=0), START + timedelta(days=1), whole_day=True)
    assert clashes(event(), [other, after, own, day]) == [other]
    assert clashes(day, [other]) == []


def test_only_what_has_begun_is_in_the_past() -> None:
    later = START + timedelta(hours=2)
    assert "2026-12-01 17:00" in past_text(event(), later)
    assert past_text(event(), START) == ""
    assert past_text(event(repeat="FREQ=DAILY"), later) == ""
    assert past_text(event(24, START.replace(hour=0), whole_day=True), later) == ""
