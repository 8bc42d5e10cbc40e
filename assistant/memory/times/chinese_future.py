"""How Chinese names days in a plan, in simplified characters: patterns, and what they mean."""

from __future__ import annotations

import re
from datetime import date

from assistant.memory.times.chinese_dates import NUMERALS, number
from assistant.memory.times.date_ranges import (
    DateRange,
    Unit,
    moved,
    one_day,
    weekday_of_week,
    weekend,
    whole_month,
    whole_year,
)
from assistant.memory.times.future_days import (
    Named,
    Reckoning,
    ResolveDays,
    ahead,
    coming_in_month,
    coming_in_year,
    coming_month,
    coming_weekday,
    coming_weekend,
    days_away,
    from_today,
    shown,
)

_WHICH = {"上上": -2, "上": -1, "这": 0, "本": 0, "下": 1, "下下": 2}
_YEARS = {"去年": -1, "今年": 0, "本年": 0, "明年": 1, "后年": 2, "大后年": 3}
_UNITS: dict[str, Unit] = {
    "天": "day",
    "日": "day",
    "周": "week",
    "星期": "week",
    "礼拜": "week",
    "月": "month",
    "年": "year",
}

_NUMBER = rf"(?:[0-9]{{1,4}}|[{NUMERALS}]{{1,3}})"
_MONTH = rf"(?P<month>[0-9]{{1,2}}|[{NUMERALS}]{{1,2}})月"
_DAY = rf"(?P<day>[0-9]{{1,2}}|[{NUMERALS}]{{1,3}})"
_YEAR = (
    r"(?:(?P<year>[0-9]{4}|二[零〇○一二三四五六七八九]{3})年"
    r"|(?P<which_year>今年|本年|明年|大?后年|去年))的?"
)
_UNIT = "(?P<unit>天|周|个?星期|个?礼拜|个?月|年)"
_WEEK = "(?:周|星期|礼拜)"
_WEEKDAY = "(?P<weekday>[一二三四五六日天])"
#: What makes another word of what ends in 号: a line, a house, a size.
_HOUSE = "(?!线|楼|门|房|院|店|车|码|机|馆|厅|桌|位|会议室)"
#: What makes another word of 周 and a weekday: 周一直, 周日常.
_OTHER_WORD = "(?!直|向|[天日]常|常)"


def weekday_number(name: str) -> int:
    """Of 一 to 六, 日 or 天; Monday is 0."""
    return "一二三四五六日".index(name.replace("天", "日"))


def _date(match: re.Match[str], reckoning: Reckoning) -> Named:
    month, day, year = number(match["month"]), number(match["day"]), _year(match, reckoning)
    if year is not None:
        return Named(one_day(date(year, month, day)))
    return coming_in_year(match, reckoning, month, day)


def _month(match: re.Match[str], reckoning: Reckoning) -> Named:
    days = _days_of_month(match, reckoning)
    if match["edge"]:
        return Named(_first_or_last(match, days))
    return Named(days)


def _days_of_month(match: re.Match[str], reckoning: Reckoning) -> DateRange:
    year = _year(match, reckoning)
    if year is not None:
        return whole_month(year, number(match["month"]))
    return coming_month(number(match["month"]), reckoning)


def _whole_year(match: re.Match[str], reckoning: Reckoning) -> Named:
    year = _year(match, reckoning)
    days = whole_year(reckoning.today.year if year is None else year)
    return Named(_first_or_last(match, days) if match["edge"] else days)


def _year(match: re.Match[str], reckoning: Reckoning) -> int | None:
    if match["which_year"]:
        return reckoning.today.year + _YEARS[match["which_year"]]
    if not match["year"]:
        return None
    digits = re.sub("[零〇○]", "0", match["year"])
    return int("".join(each if each.isascii() else str(number(each)) for each in digits))


def _week(match: re.Match[str], reckoning: Reckoning) -> Named:
    weeks = _WHICH[match["which"]]
    if match["end"]:
        return Named(weekend(weeks, reckoning.today))
    if match["weekday"]:
        weekday = weekday_number(match["weekday"])
        return Named(weekday_of_week(weeks, weekday, reckoning.today))
    return Named(ahead("week", weeks, reckoning.today))


def _which_month(match: re.Match[str], reckoning: Reckoning) -> Named:
    days = ahead("month", _WHICH[match["which"]], reckoning.today)
    if match["day"]:
        return Named(one_day(days.start.replace(day=number(match["day"]))))
    return Named(_first_or_last(match, days) if match["edge"] else days)


def _edge(match: re.Match[str], reckoning: Reckoning) -> Named:
    """The first or last day of this month or year; a first one that is over is the next one's."""
    unit = _UNITS[match["unit"]]
    days = _first_or_last(match, ahead(unit, 0, reckoning.today))
    if days.end < reckoning.earliest:
        days = _first_or_last(match, ahead(unit, 1, reckoning.today))
    return Named(days)


def _first_or_last(match: re.Match[str], days: DateRange) -> DateRange:
    return one_day(days.end if match["edge"] in ("底", "末") else days.start)


def _later(match: re.Match[str], reckoning: Reckoning) -> Named:
    few = match["number"] == "几"
    by = 3 if few else number(match["number"])
    day = moved(reckoning.today, **{f"{_unit(match)}s": by})
    return Named(one_day(day), f"“{match[0]}” read as {shown(day)}" if few else "")


def _next_ones(match: re.Match[str], reckoning: Reckoning) -> Named:
    by = 3 if match["number"] == "几" else number(match["number"])
    return Named(from_today(_unit(match), by, reckoning.today))


def _unit(match: re.Match[str]) -> Unit:
    return _UNITS[match["unit"].removeprefix("个")]


CHINESE_FUTURE: tuple[tuple[str, ResolveDays], ...] = (
    # 今天, 今晚: the part of the day is read by itself
    ("今[天日儿]|今(?=[早晚晨夜])", days_away(0)),
    ("明[天日儿]|明(?=[早晚晨])", days_away(1)),
    ("后[天日]|后(?=[早晚])", days_away(2)),
    ("大后天", days_away(3)),
    ("昨[天日儿]|昨(?=[早晚夜])", days_away(-1)),
    ("前天", days_away(-2)),
    # 12月5日, 2026年12月5号, 明年三月一号
    (rf"(?:{_YEAR})?{_MONTH}{_DAY}(?:日|号{_HOUSE})", _date),
    # 12月, 明年三月份, 十二月底
    (rf"(?:{_YEAR})?{_MONTH}份?(?P<edge>[底初末])?(?![0-9{NUMERALS}]|之?后|以后)", _month),
    # 2026年, 明年, 明年底
    (rf"{_YEAR}(?P<edge>[底初末])?", _whole_year),
    # 下周, 下周五, 这周末
    (
        rf"(?P<which>下下|上上|[下上这本])个?{_WEEK}(?:(?P<end>末)|{_WEEKDAY}{_OTHER_WORD})?内?",
        _week,
    ),
    # 周五, 星期天
    (
        rf"{_WEEK}{_WEEKDAY}{_OTHER_WORD}",
        lambda match, reckoning: Named(
            one_day(coming_weekday(weekday_number(match["weekday"]), reckoning.earliest))
        ),
    ),
    ("周末", lambda match, reckoning: Named(coming_weekend(reckoning.earliest))),
    # 下个月, 这个月5号, 下月底
    (
        rf"(?P<which>下下|上上|[下上这本])个?月(?:的?(?:{_DAY}(?:日|号{_HOUSE})|(?P<edge>[底初末])))?内?",
        _which_month,
    ),
    # 月底, 年底
    ("(?P<unit>[月年])(?P<edge>[底初末])", _edge),
    # 15号
    (
        rf"{_DAY}(?:日|号{_HOUSE})",
        lambda match, reckoning: Named(
            one_day(coming_in_month(number(match["day"]), reckoning.earliest))
        ),
    ),
    # 三天后, 两个月之后, 过三天
    (rf"(?:再?过)?(?P<number>{_NUMBER}|几){_UNIT}(?:以后|之后|后)(?!天)", _later),
    (rf"再?过(?P<number>{_NUMBER}|几){_UNIT}", _later),
    (
        "(?:再?过)?半个月(?:以后|之后|后)",
        lambda match, reckoning: Named(one_day(moved(reckoning.today, days=15))),
    ),
    (
        "(?:再?过)?半年(?:以后|之后|后)",
        lambda match, reckoning: Named(one_day(moved(reckoning.today, months=6))),
    ),
    # 未来三天, 接下来一周, 三天内
    (rf"(?:未来|接下来|今后|往后)的?(?P<number>{_NUMBER}|几){_UNIT}之?内?", _next_ones),
    (rf"(?P<number>{_NUMBER}|几){_UNIT}(?:以内|之内|内)", _next_ones),
)
