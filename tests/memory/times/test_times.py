"""Times on the words people and models use for what is to come, and on any text."""

from __future__ import annotations

import time
from datetime import UTC, datetime, timedelta, timezone
from zoneinfo import ZoneInfo

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from assistant.errors import WrongEntry
from assistant.memory.times.times import Times
from assistant.messages import Moment

BERLIN, SHANGHAI, NEW_YORK = map(ZoneInfo, ("Europe/Berlin", "Asia/Shanghai", "America/New_York"))
#: A Monday.
NOW = datetime(2026, 11, 30, 14, 20, tzinfo=BERLIN)


def times(now: datetime = NOW) -> Times:
    return Times(lambda: now)


def shown(moment: Moment) -> str:
    """`2026-12-01`, `2026-12-01..2026-12-03` with both days, `2026-12-01 15:00`, or with its end:
    `2026-12-01 15:00..16:00`.
    """
    start, end = moment.start, moment.end
    if moment.whole_day:
        assert end is not None
        last = (end - timedelta(hours=12)).date()
        return f"{start:%F}" if last == start.date() else f"{start:%F}..{last}"
    if end is None:
        return f"{start:%F %H:%M}"
    day = "" if end.date() == start.date() else f"{end:%F} "
    return f"{start:%F %H:%M}..{day}{end:%H:%M}"


ISO = [
    ("2026-12-01T15:00", "2026-12-01 15:00"),
    ("2026-12-01T03:00", "2026-12-01 03:00"),
    ("2026-11-30T11:00", "2026-11-30 11:00"),
    ("2026-12-01T15:00:00", "2026-12-01 15:00"),
    ("2026-12-01T15:00:00.123", "2026-12-01 15:00"),
    ("2026-12-01 15:00", "2026-12-01 15:00"),
    (" 2026-12-01 15:00:30 ", "2026-12-01 15:00"),
    ("2026-12-01T15:00Z", "2026-12-01 16:00"),
    ("2026-12-01T15:00+08:00", "2026-12-01 08:00"),
    ("2026-12-01T15:00:00-05:00", "2026-12-01 21:00"),
    ("2026-12-01 15:00:00-05:00", "2026-12-01 21:00"),
    ("2026-12-01T24:00", "2026-12-02 00:00"),
    ("20261201T150000Z", "2026-12-01 16:00"),
    ("2026-12-01", "2026-12-01"),
    ("2026/12/5", "2026-12-05"),
    ("2026/12/5 9:00", "2026-12-05 09:00"),
    ("2026-12", "2026-12-01..2026-12-31"),
    ("2026", "2026-01-01..2026-12-31"),
    ("2026-12-01T15:00/2026-12-01T16:00", "2026-12-01 15:00..16:00"),
    ("2026-12-01T15:00/16:00", "2026-12-01 15:00..16:00"),
    ("2026-12-01 15:00-16:30", "2026-12-01 15:00..16:30"),
    ("2026-12-01T15:00 to 2026-12-02T10:00", "2026-12-01 15:00..2026-12-02 10:00"),
    ("2026-12-01/2026-12-03", "2026-12-01..2026-12-03"),
    ("1900-01-01", "1900-01-01"),
    ("9999-12-31T15:00", "9999-12-31 15:00"),
]

ENGLISH = [
    ("today", "2026-11-30"),
    ("tomorrow", "2026-12-01"),
    ("the day after tomorrow", "2026-12-02"),
    ("yesterday", "2026-11-29"),
    ("tomorrow 3pm", "2026-12-01 15:00"),
    ("Tomorrow at 3 PM.", "2026-12-01 15:00"),
    ("tomorrow at 3:30 p.m.", "2026-12-01 15:30"),
    ("3pm tomorrow", "2026-12-01 15:00"),
    ("tomorrow 12am", "2026-12-01 00:00"),
    ("tomorrow 12pm", "2026-12-01 12:00"),
    ("tomorrow 10", "2026-12-01 10:00"),
    ("tomorrow at ten", "2026-12-01 10:00"),
    ("tomorrow morning at 9", "2026-12-01 09:00"),
    ("9 tomorrow morning", "2026-12-01 09:00"),
    ("tomorrow at 9 in the evening", "2026-12-01 21:00"),
    ("tomorrow evening at 10:30", "2026-12-01 22:30"),
    ("tomorrow 22:00-23:30", "2026-12-01 22:00..23:30"),
    ("tomorrow 3pm for 2 hours", "2026-12-01 15:00..17:00"),
    ("tonight at 8", "2026-11-30 20:00"),
    ("8 tonight", "2026-11-30 20:00"),
    ("this evening at 7", "2026-11-30 19:00"),
    ("noon", "2026-12-01 12:00"),
    ("midnight", "2026-12-01 00:00"),
    ("3pm", "2026-11-30 15:00"),
    ("2pm", "2026-12-01 14:00"),
    ("14:20", "2026-12-01 14:20"),
    ("14:21", "2026-11-30 14:21"),
    ("3-5pm", "2026-11-30 15:00..17:00"),
    ("from 3 to 5pm tomorrow", "2026-12-01 15:00..17:00"),
    ("from 9 to 11 tomorrow", "2026-12-01 09:00..11:00"),
    ("between 3 and 5pm Friday", "2026-12-04 15:00..17:00"),
    ("11 to 1pm", "2026-12-01 11:00..13:00"),
    ("10pm to 2am", "2026-11-30 22:00..2026-12-01 02:00"),
    ("Friday 11pm-1", "2026-12-04 23:00..2026-12-05 01:00"),
    ("this Friday 9:30-11:00", "2026-12-04 09:30..11:00"),
    ("Friday 9-11", "2026-12-04 09:00..11:00"),
    ("Friday 9-17", "2026-12-04 09:00..17:00"),
    ("Friday", "2026-12-04"),
    ("Fri 3pm", "2026-12-04 15:00"),
    ("Monday", "2026-11-30"),
    ("Monday 9am", "2026-12-07 09:00"),
    ("Monday 5pm", "2026-11-30 17:00"),
    ("next Monday", "2026-12-07"),
    ("next Friday at 10", "2026-12-11 10:00"),
    ("Friday next week", "2026-12-11"),
    ("next week on Friday", "2026-12-11"),
    ("last Friday 3pm", "2026-11-27 15:00"),
    ("Friday, December 4 at 3pm", "2026-12-04 15:00"),
    ("December 4, Friday", "2026-12-04"),
    ("Monday to Wednesday", "2026-11-30..2026-12-02"),
    ("Friday 3pm to Sunday 11am", "2026-12-04 15:00..2026-12-06 11:00"),
    ("weekend", "2026-12-05..2026-12-06"),
    ("this weekend", "2026-12-05..2026-12-06"),
    ("next weekend", "2026-12-12..2026-12-13"),
    ("next week", "2026-12-07..2026-12-13"),
    ("the week after next", "2026-12-14..2026-12-20"),
    ("Dec 5", "2026-12-05"),
    ("December 5th, 2027 at 3:30 p.m.", "2027-12-05 15:30"),
    ("5 December", "2026-12-05"),
    ("the 5th of November", "2027-11-05"),
    ("Dec 5-7", "2026-12-05..2026-12-07"),
    ("29 February", "2028-02-29"),
    ("the 15th", "2026-12-15"),
    ("the 30th", "2026-11-30"),
    ("the 5th of next month", "2026-12-05"),
    ("December", "2026-12-01..2026-12-31"),
    ("in March", "2027-03-01..2027-03-31"),
    ("in two days", "2026-12-02"),
    ("in three weeks at 4pm", "2026-12-21 16:00"),
    ("in a month", "2026-12-30"),
    ("a week from now", "2026-12-07"),
    ("in two hours", "2026-11-30 16:20"),
    ("in half an hour", "2026-11-30 14:50"),
    ("in an hour and a half", "2026-11-30 15:50"),
    ("in 90 minutes", "2026-11-30 15:50"),
    ("20 minutes from now", "2026-11-30 14:40"),
    ("now", "2026-11-30 14:20"),
    ("end of month", "2026-11-30"),
    ("end of next month", "2026-12-31"),
    ("the end of December", "2026-12-31"),
]

CHINESE = [
    ("今天", "2026-11-30"),
    ("明天", "2026-12-01"),
    ("后天", "2026-12-02"),
    ("後天", "2026-12-02"),
    ("大后天", "2026-12-03"),
    ("昨天", "2026-11-29"),
    ("明天下午3点", "2026-12-01 15:00"),
    ("明天下午３點", "2026-12-01 15:00"),
    ("明天 15:00", "2026-12-01 15:00"),
    ("明天下午三点一刻", "2026-12-01 15:15"),
    ("明天下午三点十分", "2026-12-01 15:10"),
    ("明天上午十点零五", "2026-12-01 10:05"),
    ("明天15时30分", "2026-12-01 15:30"),
    ("明天中午12点", "2026-12-01 12:00"),
    ("明天中午一点", "2026-12-01 13:00"),
    ("明天凌晨两点", "2026-12-01 02:00"),
    ("明天凌晨12点", "2026-12-01 00:00"),
    ("明天零点", "2026-12-01 00:00"),
    ("明早9点", "2026-12-01 09:00"),
    ("明晚10:30", "2026-12-01 22:30"),
    ("后天上午十点半", "2026-12-02 10:30"),
    ("大后天晚上8点半", "2026-12-03 20:30"),
    ("今晚八点", "2026-11-30 20:00"),
    ("下午两点到四点", "2026-12-01 14:00..16:00"),
    ("下午2-4点", "2026-12-01 14:00..16:00"),
    ("2点到下午4点半", "2026-12-01 14:00..16:30"),
    ("晚上10点到2点", "2026-11-30 22:00..2026-12-01 02:00"),
    ("上午10点到12点", "2026-12-01 10:00..12:00"),
    ("周五", "2026-12-04"),
    ("週五", "2026-12-04"),
    ("星期天", "2026-12-06"),
    ("礼拜五", "2026-12-04"),
    ("周一上午9点", "2026-12-07 09:00"),
    ("周一下午5点", "2026-11-30 17:00"),
    ("下周五", "2026-12-11"),
    ("下週五", "2026-12-11"),
    ("下下周一", "2026-12-14"),
    ("下周三下午两点到四点", "2026-12-09 14:00..16:00"),
    ("上周五下午3点", "2026-11-27 15:00"),
    ("周三到周五", "2026-12-02..2026-12-04"),
    ("周末", "2026-12-05..2026-12-06"),
    ("下周末", "2026-12-12..2026-12-13"),
    ("12月5日", "2026-12-05"),
    ("十二月五号上午九点", "2026-12-05 09:00"),
    ("１２月５号", "2026-12-05"),
    ("11月5日", "2027-11-05"),
    ("明年3月1日", "2027-03-01"),
    ("2026年12月5日上午9点", "2026-12-05 09:00"),
    ("12月4日（周五）下午3点", "2026-12-04 15:00"),
    ("12月5日到7日", "2026-12-05..2026-12-07"),
    ("2月29日", "2028-02-29"),
    ("15号", "2026-12-15"),
    ("下个月5号", "2026-12-05"),
    ("月底", "2026-11-30"),
    ("年底", "2026-12-31"),
    ("三天后", "2026-12-03"),
    ("三天后下午3点", "2026-12-03 15:00"),
    ("两周后", "2026-12-14"),
    ("一个月之后", "2026-12-30"),
    ("半小时后", "2026-11-30 14:50"),
    ("一个半小时后", "2026-11-30 15:50"),
    ("两小时30分钟后", "2026-11-30 16:50"),
    ("过两个小时", "2026-11-30 16:20"),
    ("十二分钟后", "2026-11-30 14:32"),
    ("現在", "2026-11-30 14:20"),
]


@pytest.mark.parametrize(("text", "expected"), [*ISO, *ENGLISH, *CHINESE])
def test_a_moment(text: str, expected: str) -> None:
    assert shown(times().moment(text)) == expected


@pytest.mark.parametrize("zone", [SHANGHAI, NEW_YORK, UTC, timezone(timedelta(hours=5.5))])
@pytest.mark.parametrize(("text", "expected"), [*ENGLISH, *CHINESE])
def test_words_mean_the_same_on_any_wall_clock(text: str, expected: str, zone: ZoneInfo) -> None:
    moment = times(NOW.replace(tzinfo=zone)).moment(text)
    assert shown(moment) == expected
    assert moment.start.tzinfo is zone


@pytest.mark.parametrize(
    ("zone", "expected"), [(SHANGHAI, "2026-12-01 23:00"), (NEW_YORK, "2026-12-01 10:00")]
)
def test_an_offset_is_converted_to_the_users_zone(zone: ZoneInfo, expected: str) -> None:
    assert shown(times(NOW.replace(tzinfo=zone)).moment("2026-12-01T15:00Z")) == expected


@pytest.mark.parametrize(
    ("text", "expected", "note"),
    [
        ("at 3", "2026-11-30 15:00", "“3” read as 15:00"),
        ("tomorrow at 7", "2026-12-01 19:00", "“tomorrow at 7” read as 19:00"),
        ("明天3点", "2026-12-01 15:00", "“明天3点” read as 15:00"),
        ("from 3 to 5", "2026-11-30 15:00..17:00", "“3” read as 15:00"),
        ("at 8", "2026-11-30 20:00", "“8” read as 20:00"),
        ("今天8点", "2026-11-30 20:00", "“今天8点” read as 20:00"),
        ("today 9am", "2026-11-30 09:00", "“today 9am” is over"),
        ("今晚1点", "2026-12-01 01:00", "“今晚1点” read as Tue 2026-12-01 01:00"),
        (
            "tomorrow midnight",
            "2026-12-02 00:00",
            "“tomorrow midnight” read as Wed 2026-12-02 00:00",
        ),
        (
            "tomorrow morning",
            "2026-12-01 08:00..12:00",
            "“tomorrow morning” read as 08:00–12:00",
        ),
        (
            "next Friday",
            "2026-12-11",
            "“next Friday” read as Fri 2026-12-11; this week's is 2026-12-04",
        ),
        (
            "29 February",
            "2028-02-29",
            "“29 February” read as Tue 2028-02-29, the next year that has it",
        ),
        ("in a few days", "2026-12-03", "“in a few days” read as Thu 2026-12-03"),
        ("end of the week", "2026-12-04", "“end of the week” read as Fri 2026-12-04"),
    ],
)
def test_a_doubt_is_noted(text: str, expected: str, note: str) -> None:
    moment = times().moment(text)
    assert (shown(moment), moment.note) == (expected, note)


@pytest.mark.parametrize(
    "text",
    [
        "tomorrow 3pm",
        "2026-12-01T03:00",
        "下周五",
        "Friday 9:30",
        "next Monday",
        "from 9 to 11 tomorrow",
    ],
)
def test_no_doubt_has_no_note(text: str) -> None:
    assert times().moment(text).note == ""


@pytest.mark.parametrize(
    ("now", "text", "expected"),
    [
        # Saturday: this week's Friday is over
        (datetime(2026, 12, 5, 10, tzinfo=BERLIN), "next Friday", "2026-12-11"),
        (datetime(2026, 12, 5, 10, tzinfo=BERLIN), "周五", "2026-12-11"),
        (datetime(2026, 12, 5, 10, tzinfo=BERLIN), "周末", "2026-12-05..2026-12-06"),
        (datetime(2026, 12, 5, 10, tzinfo=BERLIN), "这周五", "2026-12-04"),
        (datetime(2026, 12, 4, 10, tzinfo=BERLIN), "next Friday", "2026-12-11"),
        (datetime(2026, 1, 31, 10, tzinfo=BERLIN), "in a month", "2026-02-28"),
        (datetime(2028, 1, 31, 10, tzinfo=BERLIN), "一个月后", "2028-02-29"),
        (datetime(2026, 1, 30, 10, tzinfo=BERLIN), "the 30th 9am", "2026-03-30 09:00"),
        (datetime(2026, 12, 31, 23, tzinfo=BERLIN), "明天", "2027-01-01"),
        (datetime(2097, 3, 1, tzinfo=BERLIN), "2月29日", "2104-02-29"),
    ],
)
def test_a_moment_seen_from_another_day(now: datetime, text: str, expected: str) -> None:
    moment = times(now).moment(text)
    assert (shown(moment), moment.note) == (expected, moment.note if "2月" in text else "")


def test_this_monday_is_the_next_one_when_this_weeks_is_over() -> None:
    thursday = datetime(2026, 12, 3, 10, tzinfo=BERLIN)
    moment = times(thursday).moment("this Monday")
    assert shown(moment) == "2026-12-07"
    assert moment.note == "“this Monday” read as Mon 2026-12-07, the next to come"


@pytest.mark.parametrize("text", ["tomorrow", "明天", "tomorrow 3pm"])
def test_tomorrow_is_in_doubt_when_the_day_has_only_begun(text: str) -> None:
    moment = times(datetime(2026, 12, 1, 1, 30, tzinfo=SHANGHAI)).moment(text)
    assert f"{moment.start:%F}" == "2026-12-02"
    assert "read as Wed 2026-12-02, as today is Tue 2026-12-01" in moment.note
    assert times(datetime(2026, 12, 1, 4, tzinfo=SHANGHAI)).moment(text).note == ""


@pytest.mark.parametrize(
    ("zone", "text", "start", "note"),
    [
        (BERLIN, "2026-03-29T02:30", "2026-03-29T03:30:00+02:00", "02:30 is skipped on Sun"),
        (BERLIN, "2026-10-25 02:30", "2026-10-25T02:30:00+02:00", "02:30 comes twice on Sun"),
        (NEW_YORK, "March 8 2026 02:30", "2026-03-08T03:30:00-04:00", "02:30 is skipped on Sun"),
        (NEW_YORK, "2026年11月1日 01:30", "2026-11-01T01:30:00-04:00", "01:30 comes twice on Sun"),
        (SHANGHAI, "2026-03-29T02:30", "2026-03-29T02:30:00+08:00", ""),
    ],
)
def test_a_local_time_when_clocks_change(zone: ZoneInfo, text: str, start: str, note: str) -> None:
    moment = times(datetime(2026, 1, 1, tzinfo=zone)).moment(text)
    assert moment.start.isoformat() == start
    assert moment.note.startswith(note)
    assert bool(moment.note) == bool(note)


@pytest.mark.parametrize("text", ["2026-03-29 02:30-03:00", "March 29 02:30-03:00"])
def test_a_stretch_in_a_gap_keeps_its_length(text: str) -> None:
    moment = times(datetime(2026, 1, 1, tzinfo=BERLIN)).moment(text)
    assert moment.end is not None
    assert moment.end.timestamp() - moment.start.timestamp() == 30 * 60


@pytest.mark.parametrize(
    ("text", "expected"),
    [("tomorrow", "2026-06-18"), ("4pm", "2026-06-17 16:00"), ("in an hour", "2026-06-17 16:30")],
)
def test_a_moment_read_against_another_one(text: str, expected: str) -> None:
    said = datetime(2026, 6, 17, 13, 30, tzinfo=UTC)
    moment = times().moment(text, said)
    assert shown(moment) == expected
    assert moment.start.tzinfo is BERLIN


def test_hours_from_now_are_absolute_and_days_are_dates() -> None:
    before = times(datetime(2026, 3, 28, 23, tzinfo=BERLIN))
    assert shown(before.moment("in 4 hours")) == "2026-03-29 04:00"
    assert shown(before.moment("in one day at 11pm")) == "2026-03-29 23:00"


@pytest.mark.parametrize(
    ("text", "dated"),
    [
        ("3pm", False),
        ("下午两点到四点", False),
        ("at 8", False),
        ("noon", False),
        ("tomorrow 3pm", True),
        ("from 3 to 5pm tomorrow", True),
        ("今晚八点", True),
        ("in two hours", True),
        ("2026-12-01T15:00", True),
        ("Friday", True),
    ],
)
def test_a_time_of_day_alone_names_no_day(text: str, dated: bool) -> None:
    assert times().moment(text).dated is dated


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("today", "2026-11-30"),
        ("tomorrow", "2026-12-01"),
        ("this week", "2026-11-30..2026-12-06"),
        ("next week", "2026-12-07..2026-12-13"),
        ("this weekend", "2026-12-05..2026-12-06"),
        ("这周末", "2026-12-05..2026-12-06"),
        ("December", "2026-12-01..2026-12-31"),
        ("next month", "2026-12-01..2026-12-31"),
        ("the next 7 days", "2026-11-30..2026-12-07"),
        ("未来三天", "2026-11-30..2026-12-03"),
        ("接下来一周", "2026-11-30..2026-12-07"),
        ("三天内", "2026-11-30..2026-12-03"),
        ("rest of the week", "2026-11-30..2026-12-06"),
        ("本周", "2026-11-30..2026-12-06"),
        ("下周", "2026-12-07..2026-12-13"),
        ("这个月", "2026-11-01..2026-11-30"),
        ("這個月", "2026-11-01..2026-11-30"),
        ("下个月", "2026-12-01..2026-12-31"),
        ("今年", "2026-01-01..2026-12-31"),
        ("2026-12-01", "2026-12-01"),
        ("2026-12", "2026-12-01..2026-12-31"),
        ("2026", "2026-01-01..2026-12-31"),
        ("yesterday", "2026-11-29"),
        ("last week", "2026-11-23..2026-11-29"),
        ("上周", "2026-11-23..2026-11-29"),
        ("上个月", "2026-10-01..2026-10-31"),
        ("three days ago", "2026-11-27"),
        ("三天前", "2026-11-27"),
        ("in the last 7 days", "2026-11-23..2026-11-30"),
        ("in March", "2027-03-01..2027-03-31"),
        ("in September", "2026-09-01..2026-09-30"),
        ("九月", "2026-09-01..2026-09-30"),
        ("November 5", "2026-11-05"),
        ("Monday to Friday", "2026-11-30..2026-12-04"),
        ("2026-12-01 to 2026-12-05", "2026-12-01..2026-12-05"),
        ("tomorrow 3pm", "2026-12-01 15:00..2026-12-02 00:00"),
        ("明天下午3点到5点", "2026-12-01 15:00..17:00"),
        ("tonight", "2026-11-30 18:00..2026-12-01 00:00"),
    ],
)
def test_a_stretch(text: str, expected: str) -> None:
    assert shown(times().stretch(text)) == expected


@pytest.mark.parametrize(
    ("text", "expected", "rest"),
    [
        ("tomorrow 3pm product review", "2026-12-01 15:00", "product review"),
        ("tomorrow 3pm: review", "2026-12-01 15:00", "review"),
        ("product review tomorrow 3pm", "2026-12-01 15:00", "product review"),
        ("product review, on Friday at 10", "2026-12-04 10:00", "product review"),
        ("明天下午3点产品评审", "2026-12-01 15:00", "产品评审"),
        ("明天下午3点的产品评审", "2026-12-01 15:00", "产品评审"),
        ("产品评审明天下午3点到5点", "2026-12-01 15:00..17:00", "产品评审"),
        ("2026-12-01 15:00-16:30 Review of 2026", "2026-12-01 15:00..16:30", "Review of 2026"),
        ("call mom in two hours", "2026-11-30 16:20", "call mom"),
        ("半小时后给妈妈打电话", "2026-11-30 14:50", "给妈妈打电话"),
        ("May I ask for leave tomorrow", "2026-12-01", "May I ask for leave"),
        ("12月报表整理 明天", "2026-12-01", "12月报表整理"),
        ("morning run tomorrow 7am", "2026-12-01 07:00", "morning run"),
        ("15号线巡检 周五", "2026-12-04", "15号线巡检"),
        ("明天3点5个人开会", "2026-12-01 15:00", "5个人开会"),
        ("早一点起床 明天", "2026-12-01", "早一点起床"),
        ("明天一点小事", "2026-12-01", "一点小事"),
        ("晚饭和小王 今晚七点", "2026-11-30 19:00", "晚饭和小王"),
        ("周六一起吃饭", "2026-12-05", "一起吃饭"),
        ("tomorrow 3 boxes to collect", "2026-12-01", "3 boxes to collect"),
        ("Ｄｅｃ　５　３ｐｍ　全角", "2026-12-05 15:00", "全角"),
        ("dentist Friday 9-11", "2026-12-04 09:00..11:00", "dentist"),
        ("tomorrow review at 3pm", "2026-12-01 15:00", "review"),
        ("明天产品评审 下午3点到5点", "2026-12-01 15:00..17:00", "产品评审"),
        ("on Friday buy 10", "2026-12-04", "buy 10"),
        ("tomorrow 3pm", "2026-12-01 15:00", ""),
    ],
)
def test_the_moment_at_either_end_of_a_text(text: str, expected: str, rest: str) -> None:
    moment, left = times().leading(text)
    assert (shown(moment), left) == (expected, rest)


@pytest.mark.parametrize(
    "text",
    ["the tomorrow project", "buy 10", "buy milk", "march to the sea", "tomorrow's menu", ""],
)
def test_a_text_without_a_moment_at_its_ends(text: str) -> None:
    with pytest.raises(WrongEntry, match="begins and ends with no time"):
        times().leading(text)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("blah", "“blah” names no time. Give a local date and time like 2026-12-01T15:00."),
        ("", "names no time"),
        ("10", "names no time"),
        ("25:00", "names no time"),
        ("2026-13-01", "does not exist"),
        ("31 February", "does not exist"),
        ("2月30日", "does not exist"),
        ("2026-02-30T10:00", "does not exist"),
        ("in 9999 years", "does not exist"),
        ("10000-01-01", "names no time"),
        ("9999-12-31", "Only the years from 1 to 9999"),
        ("next week 3pm", "several days"),
        ("Friday, December 5", "two days, Fri 2026-12-04 and Sat 2026-12-05"),
        ("2026-12-05 to 2026-12-01", "ends before it begins"),
        ("2026-12-01T15:00/2026-12-01T14:00", "ends before it begins"),
    ],
)
def test_what_names_no_time_says_what_is_expected(text: str, message: str) -> None:
    with pytest.raises(WrongEntry) as caught:
        times().moment(text)
    assert message in str(caught.value)
    assert caught.value.field == ""


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ("", ""),
        ("daily", "FREQ=DAILY"),
        ("every day", "FREQ=DAILY"),
        ("每天", "FREQ=DAILY"),
        ("weekly", "FREQ=WEEKLY"),
        ("每周", "FREQ=WEEKLY"),
        ("every Monday", "FREQ=WEEKLY;BYDAY=MO"),
        ("weekly on Monday", "FREQ=WEEKLY;BYDAY=MO"),
        ("每周一", "FREQ=WEEKLY;BYDAY=MO"),
        ("每週三", "FREQ=WEEKLY;BYDAY=WE"),
        ("每个星期天", "FREQ=WEEKLY;BYDAY=SU"),
        ("every weekday", "FREQ=WEEKLY;BYDAY=MO,TU,WE,TH,FR"),
        ("工作日每天", "FREQ=WEEKLY;BYDAY=MO,TU,WE,TH,FR"),
        ("Mon-Fri", "FREQ=WEEKLY;BYDAY=MO,TU,WE,TH,FR"),
        ("每周一到周五", "FREQ=WEEKLY;BYDAY=MO,TU,WE,TH,FR"),
        ("every Tuesday and Thursday", "FREQ=WEEKLY;BYDAY=TU,TH"),
        ("每周二和周四", "FREQ=WEEKLY;BYDAY=TU,TH"),
        ("每周一三五", "FREQ=WEEKLY;BYDAY=MO,WE,FR"),
        ("every two weeks", "FREQ=WEEKLY;INTERVAL=2"),
        ("every other Friday", "FREQ=WEEKLY;INTERVAL=2;BYDAY=FR"),
        ("每两周", "FREQ=WEEKLY;INTERVAL=2"),
        ("每两周的周五", "FREQ=WEEKLY;INTERVAL=2;BYDAY=FR"),
        ("每隔一天", "FREQ=DAILY;INTERVAL=2"),
        ("monthly", "FREQ=MONTHLY"),
        ("每月", "FREQ=MONTHLY"),
        ("every month on the 15th", "FREQ=MONTHLY;BYMONTHDAY=15"),
        ("the 1st and 15th of every month", "FREQ=MONTHLY;BYMONTHDAY=1,15"),
        ("每月15号", "FREQ=MONTHLY;BYMONTHDAY=15"),
        ("每月最后一天", "FREQ=MONTHLY;BYMONTHDAY=-1"),
        ("first Monday of the month", "FREQ=MONTHLY;BYDAY=1MO"),
        ("last Friday of every month", "FREQ=MONTHLY;BYDAY=-1FR"),
        ("每月第一个周一", "FREQ=MONTHLY;BYDAY=1MO"),
        ("quarterly", "FREQ=MONTHLY;INTERVAL=3"),
        ("yearly", "FREQ=YEARLY"),
        ("每年12月5日", "FREQ=YEARLY;BYMONTH=12;BYMONTHDAY=5"),
        ("every year on December 5", "FREQ=YEARLY;BYMONTH=12;BYMONTHDAY=5"),
        ("every day for 10 times", "FREQ=DAILY;COUNT=10"),
        ("每天共10次", "FREQ=DAILY;COUNT=10"),
        ("every Monday until 2026-12-31", "FREQ=WEEKLY;BYDAY=MO;UNTIL=20261231T225959Z"),
        ("每周一直到12月31日", "FREQ=WEEKLY;BYDAY=MO;UNTIL=20261231T225959Z"),
        ("RRULE:freq=weekly;byday=mo", "FREQ=WEEKLY;BYDAY=MO"),
        ("FREQ=WEEKLY;UNTIL=20261231", "FREQ=WEEKLY;UNTIL=20261231"),
        ("FREQ=WEEKLY;UNTIL=20201231T000000Z", "FREQ=WEEKLY;UNTIL=20201231T000000Z"),
        ("FREQ=YEARLY;BYMONTH=2;BYMONTHDAY=29", "FREQ=YEARLY;BYMONTH=2;BYMONTHDAY=29"),
        ("FREQ=HOURLY;INTERVAL=6", "FREQ=HOURLY;INTERVAL=6"),
        ("FREQ=DAILY;BYDAY=FR;BYMONTHDAY=13", "FREQ=DAILY;BYDAY=FR;BYMONTHDAY=13"),
    ],
)
def test_a_repetition(text: str, rule: str) -> None:
    assert times().repeat(text) == rule


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("sometimes", "names no repetition"),
        ("every Monday at 9", "the time of day belongs to the start"),
        ("FREQ=FOO", "no recurrence rule"),
        ("FREQ=WEEKLY;BYDAY=XX", "no recurrence rule"),
        ("FREQ=DAILY;BYHOUR=99", "no recurrence rule"),
        ("FREQ=WEEKLY;FREQ=DAILY", "no recurrence rule"),
        ("FREQ=WEEKLY;UNTIL=soon", "no recurrence rule"),
        ("FREQ=YEARLY;BYEASTER=1", "no recurrence rule"),
        ("FREQ=SECONDLY", "no frequency from HOURLY"),
        ("INTERVAL=2", "no frequency from HOURLY"),
        ("FREQ=DAILY;INTERVAL=0", "INTERVAL that is no number from 1"),
        ("FREQ=DAILY;COUNT=3;UNTIL=20261231", "both COUNT and UNTIL"),
        ("FREQ=YEARLY;BYMONTH=2;BYMONTHDAY=30", "never comes true"),
        ("FREQ=HOURLY;BYMONTH=2;BYMONTHDAY=30", "never comes true"),
        ("every day until whenever", "names no time"),
    ],
)
def test_what_is_no_repetition(text: str, message: str) -> None:
    with pytest.raises(WrongEntry) as caught:
        times().repeat(text)
    assert message in str(caught.value)


PIECES = [
    *"tomorrow|next|Friday|at|3|pm|to|5|:30|in|two|hours|days|the|15th|Dec|February|29|9999|end of"
    "|month|tonight|midnight|from|for|2026-12-01|T02:30|-|/|Z|,|until|noon|every|week".split("|"),
    *"明天 下 周五 下午 点 三 半 到 号 后 小时 月 底 年 十二 今晚 凌晨 未来 天 每".split(),
]
ANY_TEXT = st.one_of(
    st.text(max_size=60),
    st.lists(st.sampled_from(PIECES), max_size=9).map(" ".join),
    st.lists(st.sampled_from(PIECES), max_size=9).map("".join),
)
ANY_NOW = st.builds(
    lambda moment, zone: moment.replace(tzinfo=zone),
    st.datetimes(datetime(1900, 1, 2), datetime(9999, 12, 30)),
    st.sampled_from([BERLIN, SHANGHAI, NEW_YORK, UTC]),
)


@settings(max_examples=300, deadline=None, database=None)
@given(text=ANY_TEXT, now=ANY_NOW)
@example(text="tomorrow 23:00-01:00", now=datetime(9999, 12, 30, tzinfo=UTC))
def test_any_text_is_a_moment_with_a_zone_or_refused(text: str, now: datetime) -> None:
    reader = times(now)
    for read in (reader.moment, reader.stretch, lambda text: reader.leading(text)[0]):
        try:
            moment = read(text)
        except WrongEntry:
            continue
        assert moment.start.tzinfo is now.tzinfo
        assert moment.end is None or moment.end.timestamp() > moment.start.timestamp()


@settings(max_examples=200, deadline=None, database=None)
@given(text=st.one_of(ANY_TEXT, st.from_regex(r"FREQ=(DAILY|YEARLY);[A-Z]{2,8}=[0-9A-Z,+-]{1,9}")))
def test_any_text_is_a_rule_or_refused(text: str) -> None:
    try:
        rule = times().repeat(text)
    except WrongEntry:
        return
    assert rule == times().repeat(rule)


@pytest.mark.parametrize(
    "piece", ["a ", "1", "9-", "一", "周", "下", ". ", "12月", "to ", "two ", "("]
)
def test_a_long_text_is_read_quickly(piece: str) -> None:
    text = piece * 5_000
    reader = times()
    started = time.process_time()
    for read in (reader.moment, reader.stretch, reader.leading, reader.repeat):
        with pytest.raises(WrongEntry):
            read(text)
    assert time.process_time() - started < 3


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("明天下午3点帮我安排产品评审", ["明天下午3点"]),
        (
            "Put lunch with Marta on Thursday at half past twelve.",
            ["on Thursday at half past twelve"],
        ),
        ("把它改到四点", ["四点"]),
        ("tomorrow 3pm or tomorrow 5pm, not tomorrow 3pm", ["tomorrow 3pm", "tomorrow 5pm"]),
        ("Hello, my name is Robert.", []),
        ("What should I pack for Chengdu?", []),
        ("", []),
    ],
)
def test_the_expressions_in_a_text_are_found_as_they_stand(text: str, found: list[str]) -> None:
    assert Times(lambda: datetime(2026, 11, 30, 10, tzinfo=UTC)).expressions(text) == found


@given(st.text(max_size=200))
def test_every_expression_that_is_found_stands_in_the_text(text: str) -> None:
    times = Times(lambda: datetime(2026, 11, 30, 10, tzinfo=UTC))
    assert all(one in text for one in times.expressions(text))
