"""A recurrence rule when its event is moved: it names the same occurrences, each as far away."""

from __future__ import annotations

from datetime import date, datetime, timedelta

from assistant.errors import WrongEntry
from assistant.memory.calendar.occurrences import rule_parts, rule_text

_WEEKDAYS = ("MO", "TU", "WE", "TH", "FR", "SA", "SU")
_NAMING_DAYS = ("BYDAY", "BYMONTHDAY", "BYYEARDAY", "BYWEEKNO", "BYMONTH")


def moved_rule(rule: str, old: datetime, new: datetime) -> str:
    """A rule for the new start, by the same clocks: weekdays, the day and the end move along.

    Raises WrongEntry where that can't be told.
    """
    parts = rule_parts(rule)
    days = (new.date() - old.date()).days
    if "UNTIL" in parts:
        parts["UNTIL"] = _moved_end(parts["UNTIL"], timedelta(days), new - old)
    if days:
        parts |= _moved_days(parts, old, new, days)
    return rule_text(parts)


def _moved_end(until: str, days: timedelta, by: timedelta) -> str:
    """The end of a day stays one; the time of the last occurrence moves as that does."""
    if "T" not in until:
        return f"{datetime.strptime(until, '%Y%m%d') + days:%Y%m%d}"
    last = datetime.strptime(until, "%Y%m%dT%H%M%S")
    last += days if until.endswith("T235959") else by
    return f"{last:%Y%m%dT%H%M%S}"


def _moved_days(parts: dict[str, str], old: date, new: date, days: int) -> dict[str, str]:
    """What is different in a rule whose event begins on another day."""
    named = {name: parts[name] for name in _NAMING_DAYS if name in parts}
    weekdays = named.get("BYDAY", "").split(",")
    if named.keys() == {"BYDAY"} and set(weekdays) <= set(_WEEKDAYS) and "BYSETPOS" not in parts:
        moved = {"BYDAY": ",".join(_later(day, days) for day in weekdays)}
        if parts.get("INTERVAL", "1") != "1":
            # Of a rule for every other week all its days stay in one week.
            moved["WKST"] = _later(parts.get("WKST", "MO"), days)
        return moved
    if parts["FREQ"] == "MONTHLY" and named == {"BYMONTHDAY": str(old.day)}:
        return {"BYMONTHDAY": str(new.day)}
    if parts["FREQ"] == "YEARLY" and named == {
        "BYMONTH": str(old.month),
        "BYMONTHDAY": str(old.day),
    }:
        return {"BYMONTH": str(new.month), "BYMONTHDAY": str(new.day)}
    if named:
        raise WrongEntry(
            "It is moved to another day, and how it repeats names days. Nothing was changed. Say "
            "along with the new time how it repeats from now on.",
            "repeat",
        )
    return {}


def _later(weekday: str, days: int) -> str:
    return _WEEKDAYS[(_WEEKDAYS.index(weekday) + days) % 7]
