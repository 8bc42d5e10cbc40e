"""Ranges of days, and the reckoning with weeks, months, seasons and years that names them."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import date, timedelta
from typing import Literal, TypeAlias

import msgspec

#: No memory is older than this, so a number further back is no year.
YEARS_BACK = 30

Unit: TypeAlias = Literal["day", "week", "month", "year"]


class DateRange(msgspec.Struct, frozen=True):
    """All days from `start` to `end`, both included."""

    start: date
    end: date


#: What a match means on a day; None if nothing that could be meant. Raises ValueError when there is
#: no such day, OverflowError when it is out of all bounds.
Resolve: TypeAlias = Callable[[re.Match[str], date], DateRange | None]


def one_day(day: date) -> DateRange:
    return DateRange(day, day)


def moved(day: date, /, **by: int) -> date:
    """`day` moved as dateutil's relativedelta does: `months` moves it, `day` sets a part of it.

    A month that is too short ends it: a month before 31 March is 28 February.
    """
    from dateutil.relativedelta import relativedelta

    there: date = day + relativedelta(**by)
    return there


def period(unit: Unit, day: date) -> DateRange:
    """The day, week (from Monday), month or year that `day` is in."""
    if unit == "day":
        return one_day(day)
    if unit == "week":
        monday = day - timedelta(days=day.weekday())
        return DateRange(monday, monday + timedelta(days=6))
    if unit == "month":
        return DateRange(day.replace(day=1), moved(day, day=31))
    return whole_year(day.year)


def ago(unit: Unit, number: int, today: date) -> DateRange:
    """The period that lies `number` of them back; 0 is the one we are in."""
    return period(unit, moved(today, **{f"{unit}s": -number}))


def between(unit: Unit, least: int, most: int, today: date) -> DateRange:
    """From the period that lies `most` of them back to the one that lies `least` back."""
    return DateRange(ago(unit, most, today).start, ago(unit, least, today).end)


def until_today(unit: Unit, number: int, today: date) -> DateRange:
    """The last `number` of them, up to today."""
    return DateRange(moved(today, **{f"{unit}s": -number}), today)


def whole_month(year: int, month: int) -> DateRange:
    return period("month", date(year, month, 1))


def whole_year(year: int) -> DateRange:
    return DateRange(date(year, 1, 1), date(year, 12, 31))


def season(year: int, name: str) -> DateRange:
    """Spring, summer, autumn or winter, March being the first month of spring.

    A winter is that of the year in which it begins.
    """
    start = date(year, {"spring": 3, "summer": 6, "autumn": 9, "winter": 12}[name], 1)
    return DateRange(start, moved(start, months=2, day=31))


def latest(made: Callable[[int], DateRange], until: date) -> DateRange:
    """Of what `made` makes of each year, the last that begins on or before `until`.

    Raises ValueError when there is none, such as a 30 February.
    """
    for year in range(until.year, until.year - YEARS_BACK, -1):
        try:
            found = made(year)
        except ValueError:
            # 29 February, and not a leap year.
            continue
        if found.start <= until:
            return found
    raise ValueError("no such day")


def latest_in_month(day: int, today: date) -> DateRange:
    """The last day of that number, today included. Raises ValueError when no month has it."""
    for back in range(12):
        month = moved(today, months=-back, day=1)
        last = moved(month, day=31).day
        if day <= last and month.replace(day=day) <= today:
            return one_day(month.replace(day=day))
    raise ValueError("no such day")


def latest_weekday(weekday: int, today: date) -> DateRange:
    """The last one before today; Monday is 0."""
    return one_day(today - timedelta(days=(today.weekday() - weekday - 1) % 7 + 1))


def weekend(weeks: int, today: date) -> DateRange:
    """Saturday and Sunday of this week (0), of the last one (-1), …"""
    monday = period("week", today).start + timedelta(weeks=weeks)
    return DateRange(monday + timedelta(days=5), monday + timedelta(days=6))


def latest_weekend(today: date) -> DateRange:
    """The last one that has begun."""
    return weekend(0 if today.weekday() >= 5 else -1, today)


def weekday_of_week(weeks: int, weekday: int, today: date) -> DateRange:
    """A weekday (Monday is 0) of this week (0), of the last one (-1), …"""
    return one_day(period("week", today).start + timedelta(weeks=weeks, days=weekday))


def past_year(year: int, today: date) -> DateRange | None:
    """That year, if it can be one that is remembered."""
    return whole_year(year) if today.year - YEARS_BACK <= year <= today.year else None
