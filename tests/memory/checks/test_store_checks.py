"""What the user keeps, sound and broken."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import UTC
from pathlib import Path

import numpy as np
import pytest

from assistant.memory.calendar.calendar import CalendarFile
from assistant.memory.checks.findings import Check, Copies, Finding, Result, looked, mended
from assistant.memory.checks.store_checks import (
    check_calendar,
    check_facts,
    check_memos,
    check_promises,
    check_prompt_history,
    check_vectors,
)
from assistant.memory.memos import Memos
from assistant.memory.promises import Promises
from assistant.memory.recall.vector_cache import VectorCache
from assistant.messages import Message
from tests.fakes import FakeClock, FakeIds
from tests.memory.test_erasables import always

Look = Callable[[Path], Iterable[Finding]]


def check_calendar_in_utc(data: Path) -> Iterable[Finding]:
    return check_calendar(data, UTC)


@pytest.fixture
def data(home: Path, clock: FakeClock) -> Path:
    """The data of somebody who used everything once."""
    data = home / "data"
    data.mkdir(parents=True)
    calendar = CalendarFile(data / "calendar.ics", clock, FakeIds())
    calendar.create("Review", clock())
    assert calendar.problems == []
    Memos(data / "memos.jsonl", clock, FakeIds("m"), lambda: None).save("the boiler was serviced")
    said = Message("user", "I promise to call Anna tomorrow.", 1, 1, clock())
    Promises(data / "promises.json", always, always).note("s1", [said])
    (data / "prompt_history").write_text("\n# 2026-03-04 05:06:07\n+hello\n+two lines\n")
    cache = VectorCache(data / "vectors.sqlite3")
    cache.put("letters", ["hello"], [np.array([1.0, 0.0], dtype=np.float32)])
    cache.close()
    return data


def look(check: Look, data: Path) -> Result:
    return looked(Check("store", lambda: check(data)))


@pytest.mark.parametrize(
    "check",
    [
        check_calendar_in_utc,
        check_memos,
        check_facts,
        check_promises,
        check_prompt_history,
        check_vectors,
    ],
)
def test_what_was_used_and_what_never_was_is_in_order(check: Look, data: Path, home: Path) -> None:
    assert look(check, data).state == "ok"
    assert look(check, home / "nothing").state == "ok"


@pytest.mark.parametrize(
    ("check", "name", "added", "said"),
    [
        (check_memos, "memos.jsonl", b'{"v":1,"type":"me\nrubbish\n', "line 2, 3 can't be read"),
        (check_facts, "facts.jsonl", b"\xff\n", "line 1 can't be read"),
        (check_memos, "memos.jsonl", b'{"v":2,"type":"dream"}\n', "newer version"),
        (
            check_prompt_history,
            "prompt_history",
            b"rubbish\n",
            "prompt_history that can't be read: 1.",
        ),
        (
            check_calendar_in_utc,
            "calendar.ics",
            b"BEGIN:VCALENDAR\nBEGIN:VEVENT\n",
            "calendar.ics can't be read",
        ),
    ],
)
def test_what_can_not_be_read_is_told_and_stays(
    check: Look, name: str, added: bytes, said: str, data: Path
) -> None:
    path = data / name
    content = (path.read_bytes() if path.exists() else b"") + added
    path.write_bytes(content)
    found = look(check, data)
    assert found.state in ("warning", "problem")
    assert said in " ".join(one.text for one in found.findings)
    assert found.remedies == []
    assert path.read_bytes() == content


def test_events_that_can_not_be_read_are_named(data: Path) -> None:
    path = data / "calendar.ics"
    event = b"BEGIN:VEVENT\r\nUID:x%d\r\nSUMMARY:Tea\r\nDTSTART:tomorrow\r\nEND:VEVENT\r\n"
    broken = b"".join(event % number for number in range(7))
    path.write_bytes(path.read_bytes().replace(b"END:VCALENDAR", broken + b"END:VCALENDAR"))
    found = look(check_calendar_in_utc, data)
    assert found.state == "warning"
    assert sum("passed over" in one.text for one in found.findings) == 5
    assert any("beside them: 2" in one.text for one in found.findings)


@pytest.mark.parametrize(
    ("check", "name"),
    [(check_calendar_in_utc, "calendar.json"), (check_promises, "promises.json"),
     (check_vectors, "vectors.sqlite3")],
)  # fmt: skip
def test_what_is_derived_is_removed_when_it_is_broken(check: Look, name: str, data: Path) -> None:
    path = data / name
    path.write_bytes(b"rubbish " * 1_000)
    found = look(check, data)
    assert found.state == "warning"
    assert path.exists()
    copies = Copies(data.parent, "now")
    assert mended(found, copies).state == "fixed"
    assert not path.exists()
    assert copies.made == []


def test_a_cache_that_lost_its_table_is_made_anew(data: Path) -> None:
    path = data / "vectors.sqlite3"
    whole = path.read_bytes()
    path.write_bytes(whole[:4096] + bytes(len(whole) - 4096))
    found = look(check_vectors, data)
    assert found.state == "warning"
    assert found.remedies
