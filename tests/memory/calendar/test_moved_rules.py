"""A rule moved with its event names the same occurrences, each as far away."""

from __future__ import annotations

from datetime import datetime, timedelta

import pytest

from assistant.errors import WrongEntry
from assistant.memory.calendar.moved_rules import moved_rule
from assistant.memory.calendar.occurrences import occurrences

MONDAY = datetime(2026, 10, 5, 9)


def starts(rule: str, first: datetime) -> list[datetime]:
    return list(occurrences(first, [rule], [], [], first, datetime(2028, 1, 1)))


@pytest.mark.parametrize(
    "rule",
    [
        "FREQ=DAILY;UNTIL=20261009T090000",
        "FREQ=DAILY;UNTIL=20261009T235959",
        "FREQ=DAILY;UNTIL=20261009",
        "FREQ=WEEKLY;BYDAY=MO,WE;COUNT=6",
        "FREQ=WEEKLY;INTERVAL=2;BYDAY=MO,WE;COUNT=6",
        "FREQ=WEEKLY;INTERVAL=2;BYDAY=MO,SU;COUNT=6;WKST=SU",
        "FREQ=WEEKLY;INTERVAL=3;BYDAY=MO,FR;UNTIL=20270131T090000",
    ],
)
@pytest.mark.parametrize("hours", [1, -2, 20, -30, 72])
def test_all_of_them_move_and_none_is_lost(rule: str, hours: int) -> None:
    by = timedelta(hours=hours)
    moved = moved_rule(rule, MONDAY, MONDAY + by)
    assert starts(moved, MONDAY + by) == [one + by for one in starts(rule, MONDAY)]


@pytest.mark.parametrize(
    ("rule", "moved"),
    [
        ("FREQ=WEEKLY;BYDAY=MO", "FREQ=WEEKLY;BYDAY=WE"),
        ("FREQ=MONTHLY;BYMONTHDAY=5", "FREQ=MONTHLY;BYMONTHDAY=7"),
        ("FREQ=YEARLY;BYMONTH=10;BYMONTHDAY=5", "FREQ=YEARLY;BYMONTH=10;BYMONTHDAY=7"),
        ("FREQ=YEARLY;UNTIL=20301005T235959", "FREQ=YEARLY;UNTIL=20301007T235959"),
    ],
)
def test_the_day_that_is_named_moves_along(rule: str, moved: str) -> None:
    assert moved_rule(rule, MONDAY, MONDAY + timedelta(days=2)) == moved


@pytest.mark.parametrize(
    "rule",
    ["FREQ=MONTHLY;BYDAY=1MO", "FREQ=MONTHLY;BYDAY=MO;BYMONTHDAY=5", "FREQ=YEARLY;BYWEEKNO=41"],
)
def test_what_cant_be_told_is_asked_for(rule: str) -> None:
    assert moved_rule(rule, MONDAY, MONDAY + timedelta(hours=1)) == rule
    with pytest.raises(WrongEntry):
        moved_rule(rule, MONDAY, MONDAY + timedelta(days=1))
