"""Reckoning with days that are yet to come, as a plan names them."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import date, timedelta
from typing import TypeAlias

import msgspec

from assistant.memory.times.date_ranges import DateRange, Unit, ago, moved, one_day, period

#: Between two 29 Februaries there may be eight years.
_YEARS_AHEAD = 9

WEEKDAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")


class Reckoning(msgspec.Struct, frozen=True):
    """What an expression is reckoned from."""

    today: date
    earliest: date
    """The first day that may be meant by what comes again: Friday, the 15th, 5 December."""
    nearest: bool = False
    """Whether what names no year may lie back, when that is nearer."""
    small_hours: bool = False
    """Whether the day has only begun, so that some still say "tomorrow" for today."""


class Named(msgspec.Struct, frozen=True):
    """The days that an expression names, and what is to be said of how it was read."""

    days: DateRange
    note: str = ""


#: What a match means. Raises ValueError when there is no such day, OverflowError when it is out of
#: all bounds.
ResolveDays: TypeAlias = Callable[[re.Match[str], Reckoning], Named]


def shown(day: date) -> str:
    """A day as notes name it: `Fri 2026-12-11`."""
    return f"{WEEKDAYS[day.weekday()]} {day.isoformat()}"


def days_away(days: int) -> ResolveDays:
    """Today (0), tomorrow (1), yesterday (-1); tomorrow is in doubt in the small hours."""

    def resolve(match: re.Match[str], reckoning: Reckoning) -> Named:
        day = reckoning.today + timedelta(days=days)
        note = ""
        if days == 1 and reckoning.small_hours:
            note = f"“{match[0]}” read as {shown(day)}, as today is {shown(reckoning.today)}"
        return Named(one_day(day), note)

    return resolve


def ahead(unit: Unit, number: int, today: date) -> DateRange:
    """The period that is `number` of them ahead; 0 is the one we are in."""
    return ago(unit, -number, today)


def from_today(unit: Unit, number: int, today: date) -> DateRange:
    """Today and the next `number` of them."""
    return DateRange(today, moved(today, **{f"{unit}s": number}))


def coming_weekday(weekday: int, earliest: date) -> date:
    """The first one on or after `earliest`; Monday is 0."""
    return earliest + timedelta(days=(weekday - earliest.weekday()) % 7)


def coming_weekend(earliest: date) -> DateRange:
    """The first one that is not over on `earliest`."""
    saturday = period("week", earliest).start + timedelta(days=5)
    return DateRange(saturday, saturday + timedelta(days=1))


def coming_in_month(day: int, earliest: date) -> date:
    """The first day of that number on or after `earliest`. Raises ValueError for day 32."""
    for months in range(12):
        month = moved(earliest, months=months, day=1)
        if day <= moved(month, day=31).day and month.replace(day=day) >= earliest:
            return month.replace(day=day)
    raise ValueError("no such day")


def coming_in_year(match: re.Match[str], reckoning: Reckoning, month: int, day: int) -> Named:
    """A day of the calendar without a year: the first one, or the nearest.

    Raises ValueError when no year has it. A year passed over for want of the day is noted.
    """
    found = _of_years(lambda year: one_day(date(year, month, day)), reckoning)
    expected = reckoning.earliest.year + ((month, day) < _month_and_day(reckoning.earliest))
    if reckoning.nearest or found.start.year == expected:
        return Named(found)
    return Named(found, f"“{match[0]}” read as {shown(found.start)}, the next year that has it")


def coming_month(month: int, reckoning: Reckoning) -> DateRange:
    """A month without a year: the first that is not over, or the nearest."""
    return _of_years(lambda year: period("month", date(year, month, 1)), reckoning)


def _of_years(made: Callable[[int], DateRange], reckoning: Reckoning) -> DateRange:
    first = reckoning.earliest.year - (_YEARS_AHEAD if reckoning.nearest else 0)
    candidates = []
    for year in range(max(first, 1), min(reckoning.earliest.year + _YEARS_AHEAD, 9999) + 1):
        try:
            found = made(year)
        except ValueError:
            # 29 February, and not a leap year.
            continue
        if reckoning.nearest or found.end >= reckoning.earliest:
            candidates.append(found)
    if not candidates:
        raise ValueError("no such day")
    if not reckoning.nearest:
        return candidates[0]
    return min(candidates, key=lambda each: (_days_between(each, reckoning.today), each.start))


def _days_between(days: DateRange, today: date) -> int:
    return max((days.start - today).days, (today - days.end).days, 0)


def _month_and_day(day: date) -> tuple[int, int]:
    return day.month, day.day
