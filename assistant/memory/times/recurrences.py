"""Recurrence rules as in RFC 5545, section 3.3.10, from themselves or from English or Chinese."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import TypeAlias

from assistant.errors import WrongEntry
from assistant.memory.times.chinese_dates import NUMERALS, number
from assistant.memory.times.chinese_future import weekday_number as chinese_weekday
from assistant.memory.times.english_dates import MONTH_NAMES, WEEKDAYS, month_number
from assistant.memory.times.english_future import NUMBER_WORDS, number_in, weekday_number
from assistant.memory.times.plain_text import plain_text
from assistant.messages import Moment

_DAYS = ("MO", "TU", "WE", "TH", "FR", "SA", "SU")
_WORK_DAYS = "FREQ=WEEKLY;BYDAY=MO,TU,WE,TH,FR"
_FREQUENCIES = {
    "hour": "HOURLY",
    "day": "DAILY",
    "week": "WEEKLY",
    "month": "MONTHLY",
    "year": "YEARLY",
    "小时": "HOURLY",
    "天": "DAILY",
    "日": "DAILY",
    "周": "WEEKLY",
    "星期": "WEEKLY",
    "礼拜": "WEEKLY",
    "月": "MONTHLY",
    "年": "YEARLY",
}
_ORDINALS = {"first": 1, "second": 2, "third": 3, "fourth": 4, "fifth": 5, "last": -1}
_KEYS = {
    "FREQ",
    "INTERVAL",
    "COUNT",
    "UNTIL",
    "WKST",
    *(
        f"BY{part}"
        for part in "SETPOS MONTH MONTHDAY YEARDAY WEEKNO DAY HOUR MINUTE SECOND".split()
    ),
}
#: No calendar entry comes more often than every hour.
_TOO_OFTEN = ("SECONDLY", "MINUTELY")
_TRIED_FROM = datetime(2024, 1, 1)
#: A rule comes true by then, or never: the calendar repeats itself after 28 years.
_TRIED_UNTIL = datetime(2052, 12, 31)

_EXPECTED = (
    "Give a recurrence rule like FREQ=WEEKLY;BYDAY=MO, or words like “every Monday”, 每月15号; "
    "the time of day belongs to the start."
)

ReadMoment: TypeAlias = Callable[[str], Moment]


def rule(text: str, read_moment: ReadMoment) -> str:
    """The rule that `text` is or means, in capitals and without `RRULE:`; empty for an empty text.

    `read_moment` reads the date after "until". An end in words includes that day, in UTC. Raises
    WrongEntry for what is no rule or never comes true.
    """
    words = plain_text(text).text.strip(" .。,;；")
    if not text.strip():
        return ""
    given = re.sub(r"^RRULE:", "", words, flags=re.IGNORECASE)
    if re.match(r"[A-Za-z-]+ ?=", given):
        return _checked(re.sub(r" ", "", given).upper(), text)
    words, bound = _bounds(words, read_moment)
    for pattern, made in _RULES:
        match = re.fullmatch(pattern, words.strip(" ,，"), re.IGNORECASE | re.ASCII)
        if match:
            return _checked(made(match) + bound, text)
    raise _wrong(text, "names no repetition")


def _bounds(words: str, read_moment: ReadMoment) -> tuple[str, str]:
    """The words without how often or until when, and that as a part of a rule."""
    for pattern in _COUNTS:
        match = re.search(pattern, words, re.IGNORECASE | re.ASCII)
        if match:
            count = match["count"]
            times = number_in(count) if count.isascii() else number(count)
            return words[: match.start()], f";COUNT={times}"
    for pattern in _UNTILS:
        match = re.search(pattern, words, re.IGNORECASE | re.ASCII)
        if match:
            moment = read_moment(match["end"])
            last = moment.start if moment.end is None else moment.end - timedelta(seconds=1)
            return words[: match.start()], f";UNTIL={last.astimezone(UTC):%Y%m%dT%H%M%SZ}"
    return words, ""


def _checked(value: str, text: str) -> str:
    """The rule, once it is sure that it is one and comes true. Raises WrongEntry."""
    from dateutil.rrule import rrulestr

    value = value.rstrip(";")
    parts = dict(part.partition("=")[::2] for part in value.split(";"))
    if not parts.keys() <= _KEYS or len(parts) != value.count(";") + 1:
        raise _wrong(text, "is no recurrence rule")
    if parts.get("FREQ", _TOO_OFTEN[0]) in _TOO_OFTEN:
        raise _wrong(text, "names no frequency from HOURLY to YEARLY")
    if "COUNT" in parts and "UNTIL" in parts:
        raise _wrong(text, "has both COUNT and UNTIL, of which a rule may have one")
    for key in ("INTERVAL", "COUNT"):
        if not re.fullmatch("[1-9][0-9]{0,4}", parts.get(key, "1")):
            raise _wrong(text, f"has an {key} that is no number from 1")
    try:
        until = parts.pop("UNTIL", "")
        if until:
            zone = UTC if until.endswith("Z") else None
            rrulestr(f"FREQ=DAILY;UNTIL={until}", dtstart=_TRIED_FROM.replace(tzinfo=zone))
        rrulestr(_joined(parts), dtstart=_TRIED_FROM)
        if parts["FREQ"] in ("DAILY", "HOURLY"):
            # Its days are those of the same rule by the year, which has fewer to look at.
            parts |= {"FREQ": "YEARLY", "INTERVAL": "1"}
        endless = rrulestr(_joined(parts), dtstart=_TRIED_FROM)
        first = next(iter(endless.replace(until=_TRIED_UNTIL, count=None)), None)
    except (ValueError, TypeError, AttributeError, IndexError, KeyError, OverflowError):
        raise _wrong(text, "is no recurrence rule") from None
    if first is None:
        raise _wrong(text, "never comes true")
    return value


def _joined(parts: dict[str, str]) -> str:
    return ";".join(f"{key}={part}" for key, part in parts.items())


def _wrong(text: str, what: str) -> WrongEntry:
    return WrongEntry(f"“{text.strip()[:120]}” {what}. {_EXPECTED}", field="")


def _every(match: re.Match[str]) -> str:
    """Every two weeks, 每隔一天; of a week with its weekdays."""
    groups = match.groupdict()
    frequency = _FREQUENCIES[groups["unit"].lower()]
    interval = _interval(groups)
    step = f";INTERVAL={interval}" if interval > 1 else ""
    days = f";BYDAY={_weekdays(groups['days'])}" if groups.get("days") else ""
    return f"FREQ={frequency}{step}{days}"


def _interval(groups: dict[str, str | None]) -> int:
    """每隔一天 is every two days, and 隔天 is the same."""
    count = (groups.get("count") or "1").lower()
    if count in ("other", "second", "隔"):
        return 2
    interval = number_in(count) if count.isascii() else number(count)
    return interval + 1 if groups.get("gap") else interval


def _on_weekdays(match: re.Match[str]) -> str:
    interval = ";INTERVAL=2" if match.groupdict().get("other") else ""
    return f"FREQ=WEEKLY{interval};BYDAY={_weekdays(match['days'])}"


def _weekdays(text: str) -> str:
    """Weekdays named one by one, or from one to another: Monday and Friday, Mon-Fri, 周一到周五."""
    found = [
        weekday_number(each) if each.isascii() else chinese_weekday(each)
        for each in re.findall(_WEEKDAY_SHORT, text, re.IGNORECASE)
    ]
    if len(found) == 2 and re.search(r"-|–|to|through|[至到]", text, re.IGNORECASE):
        first, last = found
        found = [(first + day) % 7 for day in range((last - first) % 7 + 1)]
    return ",".join(_DAYS[day] for day in sorted(set(found)))


def _days_of_month(match: re.Match[str]) -> str:
    days = re.findall(rf"[0-9]+|[{NUMERALS}]+", match["days"])
    numbers = sorted({int(day) if day.isascii() else number(day) for day in days})
    return f"FREQ=MONTHLY;BYMONTHDAY={','.join(map(str, numbers))}"


def _nth_weekday(match: re.Match[str]) -> str:
    which, day = match["which"].lower(), match["day"]
    if which.isascii():
        return f"FREQ=MONTHLY;BYDAY={_ORDINALS[which]}{_DAYS[weekday_number(day)]}"
    nth = -1 if which == "最后一" else number(which.removeprefix("第"))
    return f"FREQ=MONTHLY;BYDAY={nth}{_DAYS[chinese_weekday(day)]}"


def _day_of_year(match: re.Match[str]) -> str:
    month, day = match["month"], match["day"]
    months = month_number(month) if month[:3].isalpha() and month.isascii() else number(month)
    days = int(day) if day.isascii() else number(day)
    return f"FREQ=YEARLY;BYMONTH={months};BYMONTHDAY={days}"


def _always(value: str) -> Callable[[re.Match[str]], str]:
    return lambda match: value


_WEEKDAY = rf"(?:{'|'.join(WEEKDAYS)}|mon|tues?|wed|thu(?:rs?)?|fri|sat|sun)s?"
_WEEKDAY_SHORT = r"mon|tue|wed|thu|fri|sat|sun|(?<![期礼])[一二三四五六日天]"
_LIST = r"(?:, ?and |, ?| and | ?& ?| ?(?:-|–|to|through) ?)"
_DAY_LIST = rf"(?P<days>{_WEEKDAY}(?:{_LIST}{_WEEKDAY}){{0,6}})"
_CHINESE_WEEK = "(?:周|星期|礼拜)"
_CHINESE_DAYS = (
    rf"(?P<days>[一二三四五六日天](?:[、,，和及与至到-]?{_CHINESE_WEEK}?[一二三四五六日天]){{0,6}})"
)
_NUMBER = rf"[0-9]{{1,3}}|{NUMBER_WORDS}|other|second"
_UNIT = "(?P<unit>hour|day|week|month|year)s?"
_NUMERAL = rf"[0-9]{{1,3}}|[{NUMERALS}]{{1,3}}"
_CHINESE_UNIT = "个?(?P<unit>小时|天|日|周|星期|礼拜|月|年)"
_EACH = "(?:every|each)"
_OF_MONTH = rf"of (?:the|{_EACH}) month"
_DATE = r"[0-3]?[0-9](?:st|nd|rd|th)?"
_DATES = rf"(?P<days>{_DATE}(?:(?:, ?and |, ?| and ){_DATE}){{0,9}})"
_CHINESE_DATE = rf"(?:{_NUMERAL})[日号]?"

_COUNTS = (
    rf",? (?:for )?(?P<count>[0-9]{{1,4}}|{NUMBER_WORDS}) (?:times|occurrences)$",
    rf"[,， ]*(?:一?共|总共)?(?P<count>[0-9]{{1,4}}|[{NUMERALS}]{{1,3}})次$",
)
_UNTILS = (
    r",? (?:until|till|through) (?P<end>.+)$",
    r"[,， ]*(?:直到|截至|截止到|到)(?P<end>.*(?:[0-9年月日号底末]|年底))(?:为止|止)?$",
)

_RULES: tuple[tuple[str, Callable[[re.Match[str]], str]], ...] = (
    (r"hourly|每小时", _always("FREQ=HOURLY")),
    (r"daily|每天|每日|天天", _always("FREQ=DAILY")),
    (r"weekly", _always("FREQ=WEEKLY")),
    (r"monthly", _always("FREQ=MONTHLY")),
    (r"yearly|annually", _always("FREQ=YEARLY")),
    (r"quarterly|every quarter|每个?季度?", _always("FREQ=MONTHLY;INTERVAL=3")),
    (r"biweekly|fortnightly|every fortnight", _always("FREQ=WEEKLY;INTERVAL=2")),
    (rf"{_EACH} (?:week|work|working|business) ?day|(?:on )?weekdays", _always(_WORK_DAYS)),
    (r"(?:每个?)?工作日(?:每天)?|(?:每个?)?周一[到至]周五", _always(_WORK_DAYS)),
    (rf"{_EACH} weekend|(?:on )?weekends|每个?周末", _always("FREQ=WEEKLY;BYDAY=SA,SU")),
    # every day, every two weeks on Friday
    (rf"{_EACH} (?:(?P<count>{_NUMBER}) )?{_UNIT}(?: on {_DAY_LIST})?", _every),
    # every Monday, every other Friday, Tuesdays and Thursdays, weekly on Monday
    (rf"{_EACH} (?P<other>(?:other|second) )?{_DAY_LIST}", _on_weekdays),
    (rf"(?:weekly )?(?:on )?{_DAY_LIST}", _on_weekdays),
    # every month on the 15th, the 1st and 15th of every month, monthly on the 15th
    (rf"(?:monthly|{_EACH} month) on (?:the |day )?{_DATES}", _days_of_month),
    (rf"(?:on )?(?:the )?{_DATES} {_OF_MONTH}", _days_of_month),
    (rf"(?:on )?(?:the )?last day {_OF_MONTH}", _always("FREQ=MONTHLY;BYMONTHDAY=-1")),
    # first Monday of the month
    (
        rf"(?:(?:monthly )?on )?(?:the |{_EACH} )?(?P<which>{'|'.join(_ORDINALS)})"
        rf" (?P<day>{_WEEKDAY})(?: {_OF_MONTH})",
        _nth_weekday,
    ),
    # every year on December 5, every 5 December
    (
        rf"(?:yearly|annually|{_EACH}(?: year)?)(?: on)? (?:the )?(?:(?P<month>{MONTH_NAMES})"
        r" (?:the )?(?P<day>[0-3]?[0-9])(?:st|nd|rd|th)?)",
        _day_of_year,
    ),
    (
        rf"(?:yearly|annually|{_EACH}(?: year)?)(?: on)? (?:the )?(?P<day>[0-3]?[0-9])"
        rf"(?:st|nd|rd|th)?(?: of)? (?P<month>{MONTH_NAMES})",
        _day_of_year,
    ),
    # 每两周, 每隔一天, 隔周
    (rf"每(?P<gap>间?隔)?(?P<count>{_NUMERAL})?{_CHINESE_UNIT}", _every),
    (r"每?(?P<count>隔)(?P<unit>天|日|周|月|年)", _every),
    # 每周一, 每周二和周四, 每个星期一三五, 每两周的周五
    (rf"每个?{_CHINESE_WEEK}的?{_CHINESE_WEEK}?{_CHINESE_DAYS}", _on_weekdays),
    (
        rf"每(?P<gap>间?隔)?(?P<count>{_NUMERAL})个?(?P<unit>周|星期|礼拜)的?{_CHINESE_WEEK}"
        rf"{_CHINESE_DAYS}",
        _every,
    ),
    (rf"(?P<other>隔)周的?{_CHINESE_WEEK}?{_CHINESE_DAYS}", _on_weekdays),
    # 每月15号, 每个月1号和15号, 每月最后一天
    (
        rf"每个?月的?(?P<days>{_CHINESE_DATE}(?:[、,，和及与]{_CHINESE_DATE}){{0,9}})",
        _days_of_month,
    ),
    (r"每个?月的?(?:最后一天|底|末)", _always("FREQ=MONTHLY;BYMONTHDAY=-1")),
    # 每月第一个周一
    (
        rf"每个?月的?(?P<which>第[一二三四五1-5]|最后一)个?{_CHINESE_WEEK}(?P<day>[一二三四五六日天])",
        _nth_weekday,
    ),
    # 每年12月5日
    (
        rf"每年的?(?P<month>[0-9]{{1,2}}|[{NUMERALS}]{{1,2}})月(?P<day>{_NUMERAL})[日号]",
        _day_of_year,
    ),
)
