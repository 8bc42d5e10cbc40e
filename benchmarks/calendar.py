"""What a large calendar of another program costs: reading it, asking for today, adding to it.

    python -m benchmarks.calendar [--rounds N] [--events N] [--folder FOLDER]

Real files in a temporary folder. What icalendar takes to parse the same file whole stands beside
it, from the same round. Figures are seconds of CPU, which the disk and other programs don't touch.
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path
from zoneinfo import ZoneInfo

from assistant.memory.calendar.calendar import CalendarFile
from benchmarks.table import Aim, table_text

SMALL = 100
EVENTS = 10_000
#: One event in so many is repeated, half of those without end.
REPEATED = 20
HOME = ZoneInfo("Europe/Berlin")
NOW = datetime(2026, 12, 1, 9, tzinfo=HOME)
TODAY = """
import sys, time
from datetime import datetime, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo
begun = time.process_time()
from assistant.memory.calendar.calendar import CalendarFile
now = datetime(2026, 12, 1, tzinfo=ZoneInfo("Europe/Berlin"))
calendar = CalendarFile(Path(sys.argv[1]), lambda: now, lambda: "a")
assert calendar.between(now, now + timedelta(days=1))
print(time.process_time() - begun)
"""


@dataclass
class Timings:
    """Seconds of CPU, by what was done."""

    whole: list[float] = field(default_factory=list)
    """icalendar parses all of it."""
    first: list[float] = field(default_factory=list)
    """Today, without an index beside the file."""
    fresh: list[float] = field(default_factory=list)
    """Today in a fresh process, imports included, with the index."""
    again: list[float] = field(default_factory=list)
    small_create: list[float] = field(default_factory=list)
    create: list[float] = field(default_factory=list)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.calendar", description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--events", type=int, default=EVENTS)
    parser.add_argument("--folder", type=Path, help="a folder on the disk to measure")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        timings = measure(Path(folder), options.rounds, options.events)
    _report(timings, options.events, options.rounds)


def measure(folder: Path, rounds: int, events: int) -> Timings:
    from icalendar import Calendar

    timings = Timings()
    for number in range(rounds):
        small = folder / str(number) / "small.ics"
        large = folder / str(number) / "large.ics"
        small.parent.mkdir()
        small.write_bytes(foreign_calendar(SMALL))
        large.write_bytes(foreign_calendar(events))
        data = large.read_bytes()
        timings.whole.append(_seconds(partial(Calendar.from_ical, data)))
        calendar = _calendar(large)
        timings.first.append(_seconds(partial(_today, calendar)))
        timings.fresh.append(
            float(subprocess.check_output([sys.executable, "-c", TODAY, str(large)]))
        )
        timings.again.append(_seconds(partial(_today, calendar)))
        other = _calendar(small)
        _today(other)
        timings.small_create.append(_seconds(partial(other.create, "Review", NOW)))
        timings.create.append(_seconds(partial(calendar.create, "Review", NOW)))
    return timings


def foreign_calendar(events: int) -> bytes:
    """A calendar as another program writes it: four years of meetings, some of them repeated."""
    lines = ["BEGIN:VCALENDAR", "VERSION:2.0", "PRODID:-//Example//Example//EN"]
    for number in range(events):
        start = datetime(2023, 1, 2, 8) + timedelta(hours=number * 4 * 365 * 24 // events)
        lines += [
            "BEGIN:VEVENT",
            f"UID:{number:08}-4a1c-11ee-be56-0242ac120002@example.org",
            "DTSTAMP:20230101T000000Z",
            f"DTSTART;TZID=Europe/Berlin:{start:%Y%m%dT%H%M%S}",
            f"DTEND;TZID=Europe/Berlin:{start + timedelta(hours=1):%Y%m%dT%H%M%S}",
            f"SUMMARY:Meeting {number} about the plan",
            "LOCATION:Room 2",
            "DESCRIPTION:What was agreed the last time\\, and what is still to be done by",
            "  everybody who was there.",
            "STATUS:CONFIRMED",
            "X-EXAMPLE-COLOUR:blue",
        ]
        if number % REPEATED == 0:
            until = "" if number % (2 * REPEATED) else ";UNTIL=20251231T225959Z"
            lines.append(f"RRULE:FREQ=WEEKLY{until}")
        lines.append("END:VEVENT")
    return "\r\n".join([*lines, "END:VCALENDAR", ""]).encode()


def _calendar(path: Path) -> CalendarFile:
    ids = iter(range(1_000))
    return CalendarFile(path, lambda: NOW, lambda: f"20261201-a{next(ids):03}")


def _today(calendar: CalendarFile) -> object:
    return calendar.between(NOW, NOW + timedelta(days=1))


def _seconds(action: Callable[[], object]) -> float:
    begun = time.process_time()
    action()
    return time.process_time() - begun


def _report(timings: Timings, events: int, rounds: int) -> None:
    print(f"{events:,} foreign events, medians of {rounds} rounds\n")
    rows = []
    for name, seconds in (
        ("icalendar parses it whole", timings.whole),
        ("today, read for the first time", timings.first),
        ("today in a fresh process, with the index", timings.fresh),
        ("today again in the same process", timings.again),
        (f"create among {SMALL}", timings.small_create),
        (f"create among {events:,}", timings.create),
    ):
        ratio = _ratio(seconds, timings.whole)
        rows.append((name, f"{statistics.median(seconds) * 1e3:,.1f}", f"{ratio:.3f}"))
    print(table_text(("", "CPU ms", "x parsing"), rows))
    print()
    fresh = statistics.median(timings.fresh) * 1e3
    print(Aim("today in a fresh process, at most 100 ms of CPU", fresh, at_most=100))
    print(Aim("first reading, at most as long as parsing", _ratio(timings.first, timings.whole), 1))


def _ratio(seconds: Sequence[float], baseline: Sequence[float]) -> float:
    """How many times the baseline: the median over rounds."""
    return statistics.median(mine / base for mine, base in zip(seconds, baseline, strict=True))


if __name__ == "__main__":
    main()
