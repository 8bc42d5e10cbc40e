"""`assistant agenda`, as a table and as JSON."""

from __future__ import annotations

import json
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from assistant.app import local_now
from assistant.memory.calendar.calendar import CalendarFile
from assistant.terminal.agenda_commands import show_agenda
from tests.fakes import FakeIds


@pytest.fixture
def today(home: Path) -> datetime:
    """Midnight, of a home whose calendar holds an event today and one in five days."""
    midnight = local_now().replace(hour=0, minute=0, second=0, microsecond=0)
    calendar = CalendarFile(home / "data" / "calendar.ics", local_now, FakeIds())
    calendar.create("Review", midnight + timedelta(hours=15), location="Room 2")
    calendar.create("Later", midnight + timedelta(days=5, hours=15))
    return midnight


def test_the_days_asked_for_are_shown(today: datetime, capsys: pytest.CaptureFixture[str]) -> None:
    assert show_agenda(1, as_json=False) == 0
    output = capsys.readouterr().out
    assert f"{today:%Y-%m-%d} 15:00–16:00" in output
    assert "Later" not in output


def test_programs_get_json(today: datetime, capsys: pytest.CaptureFixture[str]) -> None:
    assert show_agenda(7, as_json=True) == 0
    first, second = json.loads(capsys.readouterr().out)
    assert (first["title"], first["location"], second["title"]) == ("Review", "Room 2", "Later")
    assert datetime.fromisoformat(first["start"]) == today + timedelta(hours=15)
