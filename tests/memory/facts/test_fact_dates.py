"""Dates beside words that are only known with the day on which they were said."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from assistant.errors import WrongEntry
from assistant.memory.facts.fact_dates import dated
from assistant.messages import Moment

NOW = datetime(2026, 11, 30, 9, 0, tzinfo=UTC)  # a Monday


class NextDays:
    """Reads a few words, and nothing else."""

    def __init__(self) -> None:
        self.asked_at: list[datetime | None] = []

    def now(self) -> datetime:
        return NOW

    def moment(self, text: str, now: datetime | None = None) -> Moment:
        self.asked_at.append(now)
        today = (now or NOW).replace(hour=0, minute=0)
        ahead = {
            "tomorrow": 1,
            "明天": 1,
            "next friday": (4 - today.weekday()) % 7 or 7,
            "friday": (4 - today.weekday()) % 7 or 7,
        }
        if text.lower() == "next week":
            monday = today + timedelta(days=7 - today.weekday())
            return Moment(monday, monday + timedelta(days=7), whole_day=True)
        if text.lower() not in ahead:
            raise WrongEntry("?", "")
        day = today + timedelta(days=ahead[text.lower()])
        return Moment(day, day + timedelta(days=1), whole_day=True)

    def stretch(self, text: str) -> Moment:
        raise WrongEntry("?", "")

    def leading(self, text: str) -> tuple[Moment, str]:
        raise WrongEntry("?", "")

    def repeat(self, text: str) -> str:
        raise WrongEntry("?", "")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("I fly tomorrow at nine", "I fly tomorrow (2026-12-01) at nine"),
        ("The exam is next Friday", "The exam is next Friday (2026-12-04)"),
        ("The exam is on Friday", "The exam is on Friday (2026-12-04)"),
        ("I am away next week", "I am away next week (2026-12-07 to 2026-12-13)"),
        ("明天我去上海", "明天 (2026-12-01)我去上海"),
        ("I moved yesterday", "I moved yesterday (2026-11-29)"),
        ("I moved last month", "I moved last month (2026-10)"),
        ("I stopped smoking last year", "I stopped smoking last year (2025)"),
        ("我昨天搬家了", "我昨天 (2026-11-29)搬家了"),
        ("I start today", "I start today (2026-11-30)"),
        ("I had a test on Friday", "I had a test on Friday"),
        ("I swim every Friday", "I swim every Friday"),
        ("I swim on Fridays", "I swim on Fridays"),
        ("My birthday is 4 May", "My birthday is 4 May"),
        ("I fly tomorrow (2026-12-01)", "I fly tomorrow (2026-12-01)"),
        ("I like tea", "I like tea"),
    ],
)
def test_words_for_days_get_their_date(text: str, expected: str) -> None:
    assert dated(text, NOW, NextDays()) == expected


def test_days_are_counted_from_when_it_was_said() -> None:
    times = NextDays()
    said = NOW - timedelta(days=10)
    assert dated("I fly tomorrow", said, times) == "I fly tomorrow (2026-11-21)"
    assert dated("I flew yesterday", said, times) == "I flew yesterday (2026-11-19)"
    assert times.asked_at == [said]
