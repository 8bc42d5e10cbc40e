"""The first screen: what is due today, what one is to be reminded of, what was promised."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import cast

from assistant.commands.digest import digest
from assistant.errors import EntriesUnreadable
from assistant.memory.calendar.calendar import CalendarFile
from assistant.memory.promises import Promise
from assistant.messages import Event
from assistant.protocols import Calendar
from tests.fakes import FakeClock, FakeIds

NOW = datetime(2026, 12, 1, 9, 30, tzinfo=UTC)


def event(title: str, *, hours: float, remind_before: int | None = None) -> Event:
    start = NOW + timedelta(hours=hours)
    return Event("e1", title, start, start + timedelta(hours=1), remind_before=remind_before)


@dataclass
class Listed:
    """Events and tasks of a calendar."""

    events: list[Event] = field(default_factory=list)
    tasks: list[tuple[str, datetime | None]] = field(default_factory=list)
    error: EntriesUnreadable | None = None

    def between(self, start: datetime, end: datetime, most: int = 1_000) -> Sequence[Event]:
        if self.error is not None:
            raise self.error
        return [one for one in self.events if one.start < end and one.end > start]

    def to_dos(self) -> Sequence[tuple[str, datetime | None]]:
        return self.tasks


def shown(calendar: Listed, *promises: Promise) -> Sequence[str]:
    return digest(cast(Calendar, calendar), promises, NOW)


def test_nothing_due_and_nothing_promised_shows_nothing() -> None:
    over = event("breakfast", hours=-2)
    next_week = event("dentist", hours=24 * 7, remind_before=60)
    assert list(shown(Listed([over, next_week], [("some day", None)]))) == []


def test_what_is_on_today_and_what_is_overdue() -> None:
    tasks: list[tuple[str, datetime | None]] = [
        ("Tax return", NOW - timedelta(days=3)),
        ("Water the plants", NOW + timedelta(hours=5)),
        ("Book flights", NOW + timedelta(days=5)),
    ]
    calendar = Listed([event("review", hours=-0.5), event("lunch", hours=3)], tasks)
    assert shown(calendar) == [
        "Today:",
        "  review · Tue 2026-12-01 09:00–10:00",
        "  lunch · Tue 2026-12-01 12:30–13:30",
        "To do:",
        "  Tax return (overdue since Sat 2026-11-28)",
        "  Water the plants",
    ]


def test_reminders_that_fall_due_today_are_shown_before_their_day() -> None:
    calendar = Listed(
        [
            event("flight", hours=30, remind_before=24 * 60),
            event("concert", hours=30, remind_before=10),
            event("dinner", hours=30),
        ]
    )
    assert shown(calendar) == [
        "Reminders:",
        "  flight · Wed 2026-12-02 15:30–16:30 · reminder 1 day before",
    ]


def test_promises_say_whose_they_are_and_when_they_were_made() -> None:
    said = datetime(2026, 11, 30, 12, tzinfo=UTC)
    mine = Promise("s1", 2, "user", "I'll send Anna the  contract " + "x" * 200, said)
    its = Promise("s1", 3, "assistant", "I'll remind you.", said)
    lines = shown(Listed(), mine, its)
    assert lines[0] == "Promised:"
    assert lines[1].startswith("  you on Mon 2026-11-30: I'll send Anna the contract xxx")
    assert lines[1].endswith("more characters)")
    assert lines[2] == "  the assistant on Mon 2026-11-30: I'll remind you."


def test_what_another_terminal_writes_is_due_here_too(tmp_path: Path) -> None:
    path = tmp_path / "calendar.ics"
    here, there = (CalendarFile(path, FakeClock(NOW), FakeIds()) for _ in range(2))
    assert digest(here, (), NOW) == []
    for title in ("call Anna", "call Bert"):
        made = there.create(title, NOW + timedelta(hours=3))
        assert any(title in line for line in digest(here, (), NOW))
    made.undo()
    assert not any("Bert" in line for line in digest(here, (), NOW))


def test_it_never_fills_more_than_a_screen() -> None:
    calendar = Listed(
        [event(f"call {at}", hours=at / 10) for at in range(100)],
        [(f"task {at}", NOW) for at in range(100)],
    )
    calendar.events += [event("trip", hours=30, remind_before=9_999) for _ in range(100)]
    promises = [Promise("s1", at, "user", "I'll call", NOW) for at in range(100)]
    lines = shown(calendar, *promises)
    assert len(lines) <= 24
    assert "  … and 95 more: /schedule today" in lines


def test_a_calendar_that_can_not_be_read_is_said_and_the_promises_are_shown() -> None:
    calendar = Listed(error=EntriesUnreadable("calendar.ics is broken. Nothing was changed."))
    lines = shown(calendar, Promise("s1", 1, "user", "I'll call", NOW))
    assert lines[0] == "calendar.ics is broken. Nothing was changed."
    assert lines[-1].endswith("I'll call")
