"""/schedule, as it is typed."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest

from assistant.commands.context import CommandContext
from assistant.commands.outputs import Confirm, Output, Table, Text
from assistant.commands.schedule import MOST_SHOWN, agenda, group
from assistant.errors import NoSuchEntry, UsageError
from assistant.memory.calendar.calendar import CalendarFile
from assistant.memory.session_store import SessionStore
from assistant.memory.times.times import Times
from tests.commands.contexts import context_of
from tests.fakes import FakeClock, FakeIds

# A Tuesday.
NOW = datetime(2026, 12, 1, 9, tzinfo=ZoneInfo("Europe/Berlin"))


@pytest.fixture
def calendar(home: Path) -> CalendarFile:
    return CalendarFile(home / "data" / "calendar.ics", FakeClock(NOW), FakeIds())


@pytest.fixture
def context(store: SessionStore, calendar: CalendarFile) -> Iterator[CommandContext]:
    """With what /schedule works on, and nothing else."""
    session = store.create()
    times = Times(FakeClock(NOW))
    yield context_of(session, store, group, calendar=calendar, times=times)
    session.close()


def typed(context: CommandContext, line: str) -> Output:
    return context.registry.run(line, context)


def said(context: CommandContext, line: str) -> str:
    output = typed(context, line)
    assert isinstance(output, Text)
    return output.text


def shown(context: CommandContext, line: str) -> list[str]:
    """The titles of the events a line shows."""
    output = typed(context, line)
    assert isinstance(output, Table)
    return [row[2] for row in output.rows]


def test_an_event_is_added_and_shown_and_taken_back(context: CommandContext) -> None:
    text = said(context, "/schedule add tomorrow 15:00 product review @ Room 2")
    assert text.startswith(
        "✓ event created: product review · Wed 2026-12-02 15:00–16:00 · Room 2 · "
    )
    output = typed(context, "/schedule")
    assert isinstance(output, Table)
    assert output.rows == [("es1", "Wed 2026-12-02 15:00–16:00", "product review", "Room 2", "")]
    assert output.title == "Tue 2026-12-01 – Mon 2026-12-07: 1 event"
    context.changes[-1].undo()
    assert shown(context, "/schedule") == []


def test_a_chinese_line_adds_an_event(context: CommandContext) -> None:
    text = said(context, "/schedule add 明天下午3点产品评审")
    assert "产品评审 · Wed 2026-12-02 15:00–16:00 · /undo-last" in text


def test_a_day_or_words_choose_what_is_shown(context: CommandContext) -> None:
    typed(context, "/schedule add 2026-12-01 10:00 dentist")
    typed(context, "/schedule add 2026-12-02 10:00 standup")
    assert shown(context, "/schedule today") == ["dentist"]
    assert shown(context, "/schedule tomorrow") == ["standup"]
    assert shown(context, "/schedule week") == ["dentist", "standup"]
    assert shown(context, "/schedule dentist") == ["dentist"]
    assert "No event" in said(context, "/schedule plumber")


def test_a_clash_and_the_past_are_told(context: CommandContext) -> None:
    typed(context, "/schedule add 2026-12-02 10:00 standup")
    text = said(context, "/schedule add 2026-12-02 10:30 dentist")
    assert "It clashes with: standup · Wed 2026-12-02 10:00–11:00 (id es1)" in text
    assert "in the past" in said(context, "/schedule add 2026-11-30 10:00 dentist")
    assert "in the past" in said(context, "/schedule move es1 2026-11-20 10:00")


def test_an_event_is_moved(context: CommandContext) -> None:
    typed(context, "/schedule add 2026-12-02 10:00 standup")
    assert "(was: Wed 2026-12-02 10:00–11:00)" in said(
        context, "/schedule move es1 2026-12-04 9:30"
    )
    # A time alone is one of the day it is on.
    assert "Fri 2026-12-04 16:00–17:00" in said(context, "/schedule move es1 16:00")
    # A day alone leaves it its time.
    assert "Sat 2026-12-05 16:00–17:00" in said(context, "/schedule move es1 2026-12-05")
    context.changes[-1].undo()
    assert context.stores.calendar.get("es1").start.day == 4


def test_a_repeated_event_as_a_whole_is_asked_about(
    context: CommandContext, calendar: CalendarFile
) -> None:
    calendar.create("standup", NOW, repeat="FREQ=DAILY")
    said(context, "/schedule cancel es1@2026-12-02")
    assert len(shown(context, "/schedule")) == 6
    for line in ("/schedule cancel es1", "/schedule cancel es1@2026-12-03 all"):
        output = typed(context, line)
        assert isinstance(output, Confirm)
        assert len(shown(context, "/schedule")) == 6
    output.then()
    assert shown(context, "/schedule") == []
    context.changes[-1].undo()
    moved = typed(context, "/schedule move es1 10:00")
    assert isinstance(moved, Confirm)
    moved.then()
    assert {one.start.hour for one in calendar.search("standup")} == {10}


def test_more_than_are_shown_is_said(context: CommandContext, calendar: CalendarFile) -> None:
    calendar.create("pill", NOW, repeat="FREQ=HOURLY")
    output = agenda(calendar, NOW, 30)
    assert len(output.rows) == MOST_SHOWN
    assert "Only the first" in output.note


@pytest.mark.parametrize(
    "line",
    ["/schedule add", "/schedule move es1", "/schedule cancel es1 some", "/schedule add tomorrow"],
)
def test_half_a_command_says_what_is_missing(context: CommandContext, line: str) -> None:
    with pytest.raises(UsageError, match="Usage: /schedule"):
        typed(context, line)
    assert context.changes == []


def test_an_unknown_id_is_said_to(context: CommandContext) -> None:
    with pytest.raises(NoSuchEntry):
        typed(context, "/schedule cancel nothing")
