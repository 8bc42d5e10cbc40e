"""named_dates on the words people use, on words that only look like them, and on any day."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assistant.memory.times.named_dates import DateRange, named_dates

#: A Wednesday.
NOW = datetime(2026, 6, 17, 9, 30)
TODAY = NOW.date()


def named(text: str, now: datetime = NOW) -> list[str]:
    """The ranges as `2026-06-16`, or `2026-06-08..2026-06-14`."""
    return [
        f"{found.start}" if found.start == found.end else f"{found.start}..{found.end}"
        for found in named_dates(text, now)
    ]


ENGLISH = [
    ("What did I say last Tuesday?", "2026-06-16"),
    ("on Tuesday", "2026-06-16"),
    ("on Wednesday", "2026-06-10"),
    ("last Friday", "2026-06-12"),
    ("this Monday", "2026-06-15"),
    ("on Tuesday last week", "2026-06-09"),
    ("last week on Tuesday", "2026-06-09"),
    ("What was it in March?", "2026-03-01..2026-03-31"),
    ("in may", "2026-05-01..2026-05-31"),
    ("in June", "2026-06-01..2026-06-30"),
    ("in July", "2025-07-01..2025-07-31"),
    ("at the end of March", "2026-03-01..2026-03-31"),
    ("in early Sept", "2025-09-01..2025-09-30"),
    ("last March", "2026-03-01..2026-03-31"),
    ("last June", "2025-06-01..2025-06-30"),
    ("And this May?", "2026-05-01..2026-05-31"),
    ("March 2023", "2023-03-01..2023-03-31"),
    ("in March of last year", "2025-03-01..2025-03-31"),
    ("March last year", "2025-03-01..2025-03-31"),
    ("on May 4th", "2026-05-04"),
    ("on may 4", "2026-05-04"),
    ("the flight of Dec. 5", "2025-12-05"),
    ("June 17", "2026-06-17"),
    ("June 18", "2025-06-18"),
    ("on Friday, May 1st", "2026-05-01"),
    ("the 4th of May", "2026-05-04"),
    ("was it 4 May or later", "2026-05-04"),
    ("4 May 2023", "2023-05-04"),
    ("May 4,2023", "2023-05-04"),
    ("May 4 last year", "2025-05-04"),
    ("2023-05-08T13:56", "2023-05-08"),
    ("25/8/2023", "2023-08-25"),
    ("8/25/2023", "2023-08-25"),
    ("February 29", "2024-02-29"),
    ("What did I buy on the 5th?", "2026-06-05"),
    ("on the 20th", "2026-05-20"),
    ("on the 31st", "2026-05-31"),
    ("the 5th of last month", "2026-05-05"),
    ("yesterday", "2026-06-16"),
    ("last night", "2026-06-16"),
    ("the day before yesterday", "2026-06-15"),
    ("this morning", "2026-06-17"),
    ("3 days ago", "2026-06-14"),
    ("a couple of days ago", "2026-06-14..2026-06-15"),
    ("two weeks ago", "2026-06-01..2026-06-07"),
    ("a fortnight ago", "2026-06-01..2026-06-07"),
    ("a few weeks ago", "2026-05-04..2026-06-07"),
    ("a month ago", "2026-05-01..2026-05-31"),
    ("three years ago", "2023-01-01..2023-12-31"),
    ("last week", "2026-06-08..2026-06-14"),
    ("this week", "2026-06-15..2026-06-21"),
    ("the week before last", "2026-06-01..2026-06-07"),
    ("last weekend", "2026-06-13..2026-06-14"),
    ("over the weekend", "2026-06-13..2026-06-14"),
    ("the weekend before last", "2026-06-06..2026-06-07"),
    ("last month", "2026-05-01..2026-05-31"),
    ("last year", "2025-01-01..2025-12-31"),
    ("in 2023", "2023-01-01..2023-12-31"),
    ("last summer", "2025-06-01..2025-08-31"),
    ("this summer", "2026-06-01..2026-08-31"),
    ("last winter", "2025-12-01..2026-02-28"),
    ("in the summer of 2022", "2022-06-01..2022-08-31"),
    ("fall last year", "2025-09-01..2025-11-30"),
    ("over the last three days", "2026-06-14..2026-06-17"),
    ("the past week", "2026-06-10..2026-06-17"),
]

CHINESE = [
    ("5月4号我说了什么？", "2026-05-04"),
    ("4月27号这天", "2026-04-27"),
    ("2023年5月8日", "2023-05-08"),
    ("二〇二三年五月八日", "2023-05-08"),
    ("23年12月31号", "2023-12-31"),
    ("去年5月4号", "2025-05-04"),
    ("前年的五月四号", "2024-05-04"),
    ("１２月５号", "2025-12-05"),
    ("2月29日", "2024-02-29"),
    ("在2023-05-08那天", "2023-05-08"),
    ("我在March 2023说的", "2023-03-01..2023-03-31"),
    ("5月的时候", "2026-05-01..2026-05-31"),
    ("三月份", "2026-03-01..2026-03-31"),
    ("十二月", "2025-12-01..2025-12-31"),
    ("去年三月", "2025-03-01..2025-03-31"),
    ("2023年5月", "2023-05-01..2023-05-31"),
    ("去年夏天", "2025-06-01..2025-08-31"),
    ("2023年冬天", "2023-12-01..2024-02-29"),
    ("去年", "2025-01-01..2025-12-31"),
    ("前年", "2024-01-01..2024-12-31"),
    ("大前年", "2023-01-01..2023-12-31"),
    ("2023年", "2023-01-01..2023-12-31"),
    ("上个月", "2026-05-01..2026-05-31"),
    ("上上个月", "2026-04-01..2026-04-30"),
    ("这个月", "2026-06-01..2026-06-30"),
    ("上个月5号", "2026-05-05"),
    ("本月5日", "2026-06-05"),
    ("5号那天", "2026-06-05"),
    ("20号下午", "2026-05-20"),
    ("上周", "2026-06-08..2026-06-14"),
    ("上周三", "2026-06-10"),
    ("上個禮拜五", "2026-06-12"),
    ("上星期天", "2026-06-14"),
    ("上上周一", "2026-06-01"),
    ("这周一", "2026-06-15"),
    ("周一", "2026-06-15"),
    ("星期三", "2026-06-10"),
    ("上周末", "2026-06-13..2026-06-14"),
    ("上上周末", "2026-06-06..2026-06-07"),
    ("周末", "2026-06-13..2026-06-14"),
    ("上周一直在下雨", "2026-06-08..2026-06-14"),
    ("上星期天气很好", "2026-06-08..2026-06-14"),
    ("昨天", "2026-06-16"),
    ("昨晚", "2026-06-16"),
    ("前天", "2026-06-15"),
    ("大前天", "2026-06-14"),
    ("今天早上", "2026-06-17"),
    ("三天前", "2026-06-14"),
    ("十二天以前", "2026-06-05"),
    ("几天前", "2026-06-11..2026-06-15"),
    ("前几天", "2026-06-10..2026-06-16"),
    ("兩週前", "2026-06-01..2026-06-07"),
    ("三个星期前", "2026-05-25..2026-05-31"),
    ("两个月之前", "2026-04-01..2026-04-30"),
    ("一年前", "2025-01-01..2025-12-31"),
    ("最近一周", "2026-06-10..2026-06-17"),
    ("过去三天", "2026-06-14..2026-06-17"),
    ("这几天", "2026-06-11..2026-06-17"),
]


@pytest.mark.parametrize(("text", "expected"), ENGLISH, ids=[text for text, _ in ENGLISH])
def test_english(text: str, expected: str) -> None:
    assert named(text) == [expected]


@pytest.mark.parametrize(("text", "expected"), CHINESE, ids=[text for text, _ in CHINESE])
def test_chinese(text: str, expected: str) -> None:
    assert named(text) == [expected]


NOTHING = [
    "",
    "May I ask you something?",
    "you may 4 times",
    "May 5 people come?",
    "the march on Rome, 10 miles",
    "March on!",
    "this may be it",
    "last may",
    "in may be",
    "wait a second",
    "the second of three",
    "he sat in the sun, mon ami, and wed her",
    "Black Friday sales, Sunday school",
    "on Mondays",
    "every Monday, each March",
    "next Friday, next week, next March, next year, tomorrow",
    "this coming Friday",
    "this Friday, this December",
    "on Friday next week",
    "100 miles, 12 days, a day, 3 weeks, two months",
    "in 2 days, in three weeks",
    "version 2.5.4, v2023-05-08, 2026.10.11549",
    "$20 May, €5/6/2023",
    "it costs 2023 euros, 1999 dollars",
    "in 2000 words",
    "in the 2000s",
    "in 1066, in 2099",
    "/2023/05/08/index.html",
    "5/4/2023",
    "30 February, Feb 30, 2023-02-30, May 45",
    "2027-05-04, May 4 2027",
    "on the 5th floor",
    "half a year ago",
    "2.5 years ago",
    "the last week of school",
    "decide, marble, august company, Augustin 5",
    "十分高兴",
    "一天",
    "天",
    "号",
    "5号线，3号楼，一号选手",
    "三个月，两周，五年",
    "一月一次，一周一次，每周三，每年5月4号，每个周末",
    "周一到周五",
    "周边，周围，周期，一周年",
    "晚上月亮很圆",
    "网上周边商品",
    "以前天天跑步，饭前天空很蓝",
    "过去年轻的时候，如今天气冷，如今年轻人",
    "明天，后天，下周三，下个月5号，明年3月",
    "三天后，三月后",
    "五月天，十月怀胎",
    "13月5号，2月30日，5月45号",
    "90年代，2000年前",
    "八月十五",
]


@pytest.mark.parametrize("text", NOTHING)
def test_what_names_no_day_that_was(text: str) -> None:
    assert named(text) == []


def test_several_come_in_their_order_and_each_once() -> None:
    text = "Was it on May 4th, 上周三, or in 2023? 5月4号, I think."
    assert named(text) == ["2026-05-04", "2026-06-10", "2023-01-01..2023-12-31"]


# Borders


@pytest.mark.parametrize(
    ("now", "text", "expected"),
    [
        ("2026-01-01", "yesterday", "2025-12-31"),
        ("2026-01-01", "last month", "2025-12-01..2025-12-31"),
        ("2026-01-01", "last week", "2025-12-22..2025-12-28"),
        ("2026-01-01", "this week", "2025-12-29..2026-01-04"),
        ("2026-01-01", "去年", "2025-01-01..2025-12-31"),
        ("2026-03-31", "a month ago", "2026-02-01..2026-02-28"),
        ("2024-03-31", "上个月", "2024-02-01..2024-02-29"),
        ("2026-03-30", "on the 31st.", "2026-01-31"),
        ("2024-02-29", "a year ago", "2023-01-01..2023-12-31"),
        ("2024-02-29", "Feb 29", "2024-02-29"),
        ("2103-06-01", "2月29号", "2096-02-29"),
        ("2026-06-13", "last weekend", "2026-06-06..2026-06-07"),
        ("2026-06-13", "周末", "2026-06-13..2026-06-14"),
        ("2026-06-14", "over the weekend", "2026-06-13..2026-06-14"),
        ("2026-06-15", "上周日", "2026-06-14"),
        ("2026-06-14", "上周日", "2026-06-07"),
        ("2026-01-20", "this winter", "2025-12-01..2026-02-28"),
        ("2026-02-28", "last winter", "2024-12-01..2025-02-28"),
        ("2026-03-01", "last winter", "2025-12-01..2026-02-28"),
        ("2026-09-01", "last summer", "2026-06-01..2026-08-31"),
        ("2026-08-31", "last summer", "2025-06-01..2025-08-31"),
    ],
)
def test_borders(now: str, text: str, expected: str) -> None:
    assert named(text, datetime.fromisoformat(now)) == [expected]


def test_days_are_those_of_the_zone_of_now() -> None:
    just_after_midnight = datetime(2026, 6, 17, 0, 5, tzinfo=ZoneInfo("Asia/Shanghai"))
    assert named("昨天", just_after_midnight) == ["2026-06-16"]
    assert named("昨天", just_after_midnight.astimezone(UTC)) == ["2026-06-15"]


@pytest.mark.parametrize("changed", ["2026-03-29", "2026-10-25"])
def test_days_of_23_and_25_hours_count_as_one(changed: str) -> None:
    lisbon = ZoneInfo("Europe/Lisbon")
    the_day_after = datetime.fromisoformat(changed).replace(tzinfo=lisbon) + timedelta(days=1)
    assert named("yesterday", the_day_after) == [changed]
    assert named("yesterday", the_day_after.replace(hour=23, minute=59)) == [changed]


# Any day


DAYS = st.dates(date(1996, 1, 1), date(2099, 12, 31))
MONTHS = [date(2000, month, 1).strftime("%B") for month in range(1, 13)]
DIGITS = "〇一二三四五六七八九"


def chinese_number(number: int) -> str:
    tens, ones = divmod(number, 10)
    return ("" if tens < 2 else DIGITS[tens]) + ("十" if tens else "") + (DIGITS[ones] * (ones > 0))


def written(day: date) -> list[str]:
    """With its year, in each of the ways it is written."""
    month = MONTHS[day.month - 1]
    year = "".join(DIGITS[int(digit)] for digit in str(day.year))
    return [
        f"{month} {day.day}, {day.year}",
        f"{month[:3]} {day.day}th {day.year}",
        f"the {day.day}th of {month} {day.year}",
        f"{day.day} {month}, {day.year}",
        f"{day.year}-{day.month:02}-{day.day:02}",
        f"{day.year}年{day.month}月{day.day}日",
        f"{day.year}年{day.month:02}月{day.day:02}号",
        f"{year}年{chinese_number(day.month)}月{chinese_number(day.day)}号",
        f"{day.year}/{day.month}/{day.day}",
    ]


@given(DAYS, st.integers(0, 3 * 366))
@settings(deadline=None, database=None)
def test_a_day_with_its_year_is_that_day(today: date, back: int) -> None:
    now = datetime.combine(today, datetime.min.time())
    day = today - timedelta(days=back)
    for text in written(day):
        assert list(named_dates(text, now)) == [DateRange(day, day)], text


@given(DAYS, st.integers(0, 364))
@settings(deadline=None, database=None)
def test_a_day_without_a_year_is_the_last_one(today: date, back: int) -> None:
    now = datetime.combine(today, datetime.min.time())
    day = today - timedelta(days=back)
    month = MONTHS[day.month - 1]
    for text in (
        f"on {month} {day.day}",
        f"the {day.day}th of {month}",
        f"{day.month}月{day.day}号",
    ):
        assert list(named_dates(text, now)) == [DateRange(day, day)], text


@given(DAYS, st.integers(1, 99))
@settings(deadline=None, database=None)
def test_days_ago_are_counted(today: date, back: int) -> None:
    now = datetime.combine(today, datetime.min.time())
    day = today - timedelta(days=back)
    for text in (f"{back} days ago", f"{back}天前", f"{chinese_number(back)}天前"):
        assert list(named_dates(text, now)) == [DateRange(day, day)], text


@given(DAYS)
@settings(deadline=None, database=None)
def test_periods_end_where_the_next_begins(today: date) -> None:
    now = datetime.combine(today, datetime.min.time())
    for this, last in (
        ("this week", "last week"),
        ("this month", "last month"),
        ("this year", "last year"),
        ("这周", "上周"),
        ("这个月", "上个月"),
        ("今年", "去年"),
    ):
        (current,), (before,) = named_dates(this, now), named_dates(last, now)
        assert current.start <= today <= current.end
        assert before.end + timedelta(days=1) == current.start


FRAGMENTS = (
    "last this next on in may March 4th 5 31 2023 00 Tuesday week month year years ago a few "
    "上 下 个 周 三 月 号 日 年 前 天 去年 几 十 二 , . / - 999 the of"
)
WORDS = st.sampled_from(FRAGMENTS.split())


@given(st.lists(WORDS | st.text(max_size=3), max_size=12), st.sampled_from(["", " "]), DAYS)
@settings(deadline=None, database=None)
def test_any_text_names_ranges_that_have_begun(parts: list[str], space: str, today: date) -> None:
    now = datetime.combine(today, datetime.min.time())
    for found in named_dates(space.join(parts), now):
        assert found.start <= found.end
        assert found.start <= today


@pytest.mark.parametrize(
    "unit", ["last ", "5月", "上周", "in 20", "the 4 may ", "\ud83d", "\ufdfa"]
)
def test_what_is_pasted_is_read_at_its_beginning(unit: str) -> None:
    start = f"on May 4th 2023. {unit * 200_000}"
    assert named(f"{start} 2020-01-01")[0] == "2023-05-04"
    assert "2020-01-01" not in named(f"{start} 2020-01-01")


def test_far_back_is_nothing() -> None:
    assert named("999 years ago, 99年前", datetime(100, 1, 1)) == ["0001-01-01..0001-12-31"]
    assert named("999 years ago", datetime(100, 1, 1)) == []
