"""When a repeated event takes place: bounded by what was asked for, whatever its rule says.

All times here are what the clocks of the event's own zone show (`datetime` without a zone), so
that a meeting at nine stays at nine when the clocks change.
"""

from __future__ import annotations

import heapq
import itertools
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime, timedelta

#: Occurrences of one rule that are looked through, from its beginning or from near the window.
MOST_STEPS = 100_000
#: Characters a rule may have.
LONGEST_RULE = 500

_STEPS = {"HOURLY": timedelta(hours=1), "DAILY": timedelta(days=1), "WEEKLY": timedelta(weeks=1)}
_DAY_PARTS = ("BYDAY", "BYMONTHDAY", "BYYEARDAY", "BYWEEKNO")
# The calendar repeats itself after so many years, weekdays included.
_CYCLE = 400


def occurrences(
    first: datetime,
    rules: Sequence[str],
    added: Iterable[datetime],
    left_out: Iterable[datetime],
    start: datetime,
    end: datetime,
) -> Iterator[datetime]:
    """The starts from `start` on and before `end`, in order, each once.

    `first` is one of them, as are those that `rules` and `added` name; `left_out` are none.
    """
    named = sorted(one for one in {first, *added} if start <= one < end)
    starts = heapq.merge(named, *(_of_rule(rule, first, start, end) for rule in rules))
    gone = set(left_out)
    for one, _ in itertools.groupby(starts):
        if one not in gone:
            yield one


def rule_fault(rule: str, first: datetime) -> str:
    """Why a rule can't be followed, as the end of a sentence; empty when it can.

    Its UNTIL is one of the event's own zone here.
    """
    try:
        parts = rule_parts(rule)
        frequency = parts["FREQ"]
        if len(rule) > LONGEST_RULE:
            return f"has more than {LONGEST_RULE} characters"
        if frequency in ("SECONDLY", "MINUTELY"):
            return "repeats more often than every hour"
        if frequency == "HOURLY" and any(part in parts for part in (*_DAY_PARTS, "BYMONTH")):
            return "repeats every hour, but on certain days only"
        if frequency not in (*_STEPS, "MONTHLY", "YEARLY"):
            return f"has a frequency that is none: {frequency}"
        if not 1 <= int(parts.get("INTERVAL", "1")) <= MOST_STEPS:
            return f"has an INTERVAL that is not between 1 and {MOST_STEPS:,}"
        if int(parts.get("COUNT", "1")) < 1:
            return "has a COUNT below one"
        if "UNTIL" in parts:
            _until(parts["UNTIL"])
        # In the last years a calendar can hold, a rule that never comes true ends soon.
        late = first.replace(year=first.year % _CYCLE + 9599 // _CYCLE * _CYCLE)
        if next(iter(_parsed(parts, late)), None) is None:
            return "names days that never come"
    except KeyError:
        return "has no FREQ"
    except (ValueError, TypeError, IndexError, AttributeError, OverflowError):
        return "is none that RFC 5545 knows"
    return ""


def rule_parts(rule: str) -> dict[str, str]:
    """`{"FREQ": "WEEKLY", "BYDAY": "MO"}`. Raises ValueError for what is no list of parts."""
    parts = {}
    for part in rule.strip().removeprefix("RRULE:").rstrip(";").split(";"):
        name, equals, value = part.partition("=")
        if not equals or not value.strip():
            raise ValueError(part)
        parts[name.strip().upper()] = value.strip().upper()
    return parts


def rule_text(parts: dict[str, str]) -> str:
    return ";".join(f"{name}={value}" for name, value in parts.items())


def last_start(rule: str, first: datetime) -> datetime | None:
    """The latest that a rule can start an occurrence; None when it goes on, or nobody counted."""
    parts = rule_parts(rule)
    if "UNTIL" in parts:
        return max(first, _until(parts["UNTIL"]))
    if int(parts.get("COUNT", MOST_STEPS)) < MOST_STEPS // 100:
        return max([first, *_parsed(parts, first)])
    return None


def _of_rule(rule: str, first: datetime, start: datetime, end: datetime) -> Iterator[datetime]:
    parts = rule_parts(rule)
    if "UNTIL" in parts:
        end = min(end, _until(parts["UNTIL"]) + timedelta(seconds=1))
    if end <= start or end <= first:
        return
    begin = first if "COUNT" in parts else _shortly_before(parts, first, start)
    for one in itertools.islice(_parsed(_explicit(parts, first), begin), MOST_STEPS):
        if one >= end:
            return
        if one >= start:
            yield one


def _shortly_before(parts: dict[str, str], first: datetime, moment: datetime) -> datetime:
    """Where a rule can be taken up so that it goes on as from its start, before a moment."""
    interval = int(parts.get("INTERVAL", "1"))
    frequency = parts["FREQ"]
    if frequency in _STEPS:
        step = _STEPS[frequency] * interval
        return first + max(0, (moment - first) // step - 1) * step
    if frequency == "MONTHLY":
        months = (moment.year - first.year) * 12 + moment.month - first.month
        passed = (months // interval - 1) * interval
        if passed <= 0:
            return first
        year, month = divmod(first.year * 12 + first.month - 1 + passed, 12)
        return first.replace(year=year, month=month + 1, day=1)
    passed = ((moment.year - first.year) // interval - 1) * interval
    return first.replace(year=first.year + passed, month=1, day=1) if passed > 0 else first


def _explicit(parts: dict[str, str], first: datetime) -> dict[str, str]:
    """A rule that says which day it means, so that it can be taken up on another one."""
    if parts["FREQ"] not in ("MONTHLY", "YEARLY") or any(part in parts for part in _DAY_PARTS):
        return parts
    parts = {**parts, "BYMONTHDAY": str(first.day)}
    return {"BYMONTH": str(first.month), **parts} if parts["FREQ"] == "YEARLY" else parts


def _parsed(parts: dict[str, str], first: datetime) -> Iterable[datetime]:
    from dateutil.rrule import rrulestr

    text = ";".join(f"{name}={value}" for name, value in parts.items() if name != "UNTIL")
    starts: Iterable[datetime] = rrulestr(f"RRULE:{text}", dtstart=first)
    return starts


def _until(value: str) -> datetime:
    """The last moment an UNTIL allows."""
    if "T" not in value:
        return datetime.strptime(value, "%Y%m%d").replace(hour=23, minute=59, second=59)
    return datetime.strptime(value.removesuffix("Z"), "%Y%m%dT%H%M%S")
