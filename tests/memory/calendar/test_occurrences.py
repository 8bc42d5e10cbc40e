"""When repeated events take place, compared with a rule that is followed from its beginning."""

from __future__ import annotations

import itertools
from datetime import datetime, timedelta

import pytest
from dateutil.rrule import rrulestr
from hypothesis import given, settings
from hypothesis import strategies as st

from assistant.memory.calendar.occurrences import last_start, occurrences, rule_fault

FIRST = datetime(2020, 1, 31, 9)

rules = st.builds(
    lambda frequency, interval, more: f"FREQ={frequency};INTERVAL={interval}{more}",
    st.sampled_from(["DAILY", "WEEKLY", "MONTHLY", "YEARLY"]),
    st.integers(1, 5),
    st.sampled_from(
        [
            "",
            ";BYDAY=MO,FR",
            ";BYMONTHDAY=15,-1",
            ";BYMONTH=2,11",
            ";BYDAY=MO,TU,WE,TH,FR;BYSETPOS=-1",
            ";COUNT=40",
            ";UNTIL=20240601T090000",
            ";UNTIL=20240601",
            ";WKST=SU;BYDAY=SU,TU",
        ]
    ),
)


@settings(max_examples=150, deadline=None)
@given(rules, st.integers(0, 3_000), st.integers(1, 400), st.integers(1, 31))
def test_a_rule_taken_up_near_the_window_goes_on_as_from_its_start(
    rule: str, ahead: int, days: int, day: int
) -> None:
    first = FIRST.replace(day=day)
    start = first + timedelta(days=ahead)
    end = start + timedelta(days=days)
    until = datetime(2024, 6, 1, 23, 59, 59) if rule.endswith("UNTIL=20240601") else end
    followed = rrulestr(f"RRULE:{rule.removesuffix(';UNTIL=20240601')}", dtstart=first)
    expected = {one for one in itertools.takewhile(lambda one: one < end, followed)}
    expected = {one for one in {first, *expected} if start <= one <= until and one < end}
    if rule_fault(rule, first):
        return
    assert list(occurrences(first, (rule,), (), (), start, end)) == sorted(expected)


def test_added_ones_count_and_left_out_ones_do_not() -> None:
    extra, gone = FIRST + timedelta(hours=5), FIRST + timedelta(days=1)
    found = occurrences(
        FIRST, ("FREQ=DAILY;COUNT=3",), (extra, extra), (gone,), FIRST, FIRST + timedelta(days=9)
    )
    assert list(found) == [FIRST, extra, FIRST + timedelta(days=2)]


def test_a_rule_without_end_is_asked_about_any_day() -> None:
    late = datetime(9990, 1, 1)
    found = occurrences(FIRST, ("FREQ=HOURLY;INTERVAL=5",), (), (), late, late + timedelta(days=1))
    assert len(list(found)) in (4, 5)


def test_where_a_rule_ends_is_known_when_it_says() -> None:
    assert last_start("FREQ=DAILY;COUNT=3", FIRST) == FIRST + timedelta(days=2)
    assert last_start("FREQ=DAILY;UNTIL=20200301", FIRST) == datetime(2020, 3, 1, 23, 59, 59)
    assert last_start("FREQ=DAILY", FIRST) is None


@pytest.mark.parametrize(
    ("rule", "fault"),
    [
        ("FREQ=WEEKLY;BYDAY=MO", ""),
        ("RRULE:FREQ=MONTHLY;BYDAY=-1FR", ""),
        ("FREQ=MINUTELY", "more often"),
        ("FREQ=HOURLY;BYDAY=MO", "certain days"),
        ("FREQ=YEARLY;BYMONTH=2;BYMONTHDAY=30", "never come"),
        ("FREQ=DAILY;BYDAY=XX", "none that"),
        ("FREQ=DAILY;COUNT=0", "below one"),
        ("FREQ=DAILY;INTERVAL=999999999999", "INTERVAL"),
        ("INTERVAL=2", "no FREQ"),
        ("FREQ=DAILY;BYMINUTE=" + ",".join(["1"] * 500), "characters"),
        ("", "none that"),
    ],
)
def test_what_is_wrong_with_a_rule(rule: str, fault: str) -> None:
    said = rule_fault(rule, FIRST)
    assert fault in said
    assert bool(said) == bool(fault)
