"""How Chinese names days: patterns, and what each of them means. Simplified characters."""

from __future__ import annotations

import re
from datetime import date

from assistant.memory.times.date_ranges import (
    DateRange,
    Resolve,
    Unit,
    ago,
    between,
    latest,
    latest_in_month,
    latest_weekday,
    latest_weekend,
    moved,
    one_day,
    past_year,
    season,
    until_today,
    weekday_of_week,
    weekend,
    whole_month,
)

DIGITS = "零一二三四五六七八九"
_SEASONS = {"春": "spring", "夏": "summer", "秋": "autumn", "冬": "winter"}
_YEARS = {"大前年": -3, "前年": -2, "去年": -1, "今年": 0, "本年": 0, "明年": 1, "后年": 2}
_WEEKS = {"上上": -2, "上": -1, "这": 0, "本": 0, "下": 1, "下下": 2}
_DAYS_BACK = {"大前天": 3, "前": 2, "昨": 1, "今": 0}
_UNITS: dict[str, Unit] = {
    "天": "day",
    "周": "week",
    "星期": "week",
    "礼拜": "week",
    "月": "month",
    "年": "year",
}

NUMERALS = "一二两三四五六七八九十"
_NUMBER = rf"(?:[0-9]{{1,3}}|[{NUMERALS}]{{1,3}})"
_MONTH = rf"(?P<month>{_NUMBER})月"
_DAY = rf"(?P<day>{_NUMBER})[日号]"
_UNIT = "(?P<unit>天|周|个?星期|个?礼拜|个月|年)"

#: Not before a number that goes on to the left, or that counts something each year or month.
_ALONE = rf"(?<![0-9零〇{NUMERALS}百千万第几数每年月点.:/-])"

#: 过去年轻 and 如今年轻 are no years, nor is 三年前年底.
_WHICH_YEAR = (
    r"(?P<which_year>(?<![过失])去年|(?<![如至而当])今年|(?<!日)本年|大前年"
    r"|(?<![大以之从目年])前年|明年|(?<![以之])后年)"
)
_YEAR = r"(?<![0-9])(?P<year>(?:19|20)[0-9]{2}|[一二][零〇○一二三四五六七八九]{3})年"
_SHORT_YEAR = rf"(?<![0-9])(?P<short_year>[0-9]{{2}})年(?={_NUMBER}月)"
_OF_YEAR = rf"(?:(?:{_YEAR}|{_SHORT_YEAR}|{_WHICH_YEAR})的?)"

#: 上 ends many words: 晚上, 早上, 马上, 网上.
_WHICH = r"(?P<which>上上|(?<![晚早马网身桌路线街])上|这|(?<!日)本|下下|下)个?"
_WEEK = "(?:周|星期|礼拜)"
_WEEKDAY = "(?P<weekday>[一二三四五六日]|(?<=[期拜])天)"

#: What makes another word of 周 or of the weekday before it: 周边, 周一直, 周三个, 周日常.
_OTHER_WORD = "[边围期到密转旋游岁刊报年长常记程志历气直起共样次些个点块元名位]"


def number(text: str) -> int:
    """Up to 99. Raises ValueError for what is no number, such as 一二."""
    if text.isdecimal() and text.isascii():
        return int(text)
    tens, ten, ones = text.replace("两", "二").partition("十")
    if not ten:
        return DIGITS.index(tens)
    return 10 * (DIGITS.index(tens) if tens else 1) + (DIGITS.index(ones) if ones else 0)


def _span(text: str) -> tuple[int, int]:
    """The least and the most that a number may mean: 几 is two to six."""
    return (2, 6) if text in ("几", "数", "些") else (number(text), number(text))


def _named_year(match: re.Match[str], today: date) -> int | None:
    if match["which_year"]:
        return today.year + _YEARS[match["which_year"]]
    if match["short_year"]:
        return 2000 + int(match["short_year"])
    return _year(match["year"]) if match["year"] else None


def _year(text: str) -> int:
    if text.isascii():
        return int(text)
    return int("".join(str(DIGITS.index(digit)) for digit in re.sub("[〇○]", "零", text)))


def _date(match: re.Match[str], today: date) -> DateRange:
    month, day, year = number(match["month"]), number(match["day"]), _named_year(match, today)
    if year is not None:
        return one_day(date(year, month, day))
    return latest(lambda year: one_day(date(year, month, day)), today)


def _day_of_month(match: re.Match[str], today: date) -> DateRange:
    months = _WEEKS[match["which"]]
    return one_day(moved(today, months=months, day=1).replace(day=number(match["day"])))


def _month(match: re.Match[str], today: date) -> DateRange:
    month, year = number(match["month"]), _named_year(match, today)
    if year is not None:
        return whole_month(year, month)
    return latest(lambda year: whole_month(year, month), today)


def _which_month(match: re.Match[str], today: date) -> DateRange:
    return ago("month", -_WEEKS[match["which"]], today)


def _season(match: re.Match[str], today: date) -> DateRange | None:
    year = _named_year(match, today)
    return None if year is None else season(year, _SEASONS[match["season"]])


def _which_year(match: re.Match[str], today: date) -> DateRange | None:
    year = _named_year(match, today)
    return None if year is None else past_year(year, today)


def _week(match: re.Match[str], today: date) -> DateRange:
    weeks = _WEEKS[match["which"]]
    if match["end"]:
        return weekend(weeks, today)
    if match["weekday"]:
        return weekday_of_week(weeks, _weekday_number(match), today)
    return ago("week", -weeks, today)


def _weekday_number(match: re.Match[str]) -> int:
    return "一二三四五六日".index(match["weekday"].replace("天", "日"))


def _ago(match: re.Match[str], today: date) -> DateRange:
    return between(_unit(match), *_span(match["number"]), today)


def _lately(match: re.Match[str], today: date) -> DateRange:
    return until_today(_unit(match), _span(match["number"])[1], today)


def _unit(match: re.Match[str]) -> Unit:
    return _UNITS[match["unit"].removeprefix("个")]


def _day(match: re.Match[str], today: date) -> DateRange:
    word = match[0]
    return ago("day", _DAYS_BACK.get(word, _DAYS_BACK.get(word[0], 0)), today)


CHINESE: tuple[tuple[str, Resolve], ...] = (
    # 5月4号, 2023年5月8日, 去年的5月4号
    (rf"(?:{_OF_YEAR}|{_ALONE}){_MONTH}(?:份的?)?{_DAY}", _date),
    # 上个月5号
    (rf"{_WHICH}月的?{_DAY}", _day_of_month),
    # 5号那天; a number and 号 alone may be a house, a line, a size
    (
        rf"{_ALONE}{_DAY}(?=那天|这天|那晚|当天|早上|上午|中午|下午|晚上|夜里|凌晨|我|你|咱)",
        lambda match, today: latest_in_month(number(match["day"]), today),
    ),
    # 3月, 去年三月份; not 三月后, 五月天, 一月一次
    (
        rf"(?:{_OF_YEAR}|{_ALONE}){_MONTH}份?(?![0-9零{NUMERALS}龄后内前天怀革])",
        _month,
    ),
    # 上个月, 这个月; not 晚上月亮
    (rf"{_WHICH}月(?![亮球台饼经嫂色光底])", _which_month),
    # 去年夏天
    (rf"{_OF_YEAR}(?P<season>[春夏秋冬])[天季]", _season),
    # 2023年, 去年; not 2000年前, 90年代
    (rf"(?:{_YEAR}|{_WHICH_YEAR})(?P<short_year>)(?![0-9轻龄纪代版款级报薪前后以之])", _which_year),
    # 上周, 上周三, 上周末, 上个星期天
    (rf"{_WHICH}{_WEEK}(?:(?P<end>末)|{_WEEKDAY})?(?!{_OTHER_WORD})", _week),
    # 周三, 星期三; not 每周三, 周三到周五
    (
        rf"(?<![0-9{NUMERALS}几每逢个半整全单双隔至到~-]){_WEEK}{_WEEKDAY}"
        rf"(?!{_OTHER_WORD}|[至到~-])",
        lambda match, today: latest_weekday(_weekday_number(match), today),
    ),
    # 周末; not 每个周末
    (
        rf"(?<![0-9{NUMERALS}几每逢个])周末(?!愉快|快乐)",
        lambda match, today: latest_weekend(today),
    ),
    # 三天前, 两个月以前, 几周之前
    (
        rf"(?<![0-9.第前后{NUMERALS}百千万半])(?P<number>{_NUMBER}|几|数){_UNIT}"
        r"(?:以前|之前|前)(?!后)",
        _ago,
    ),
    # 前几天, 前两年
    (
        rf"(?<![以之从目])前(?P<number>几|些|两){_UNIT}(?!气)",
        lambda match, today: between(_unit(match), 1, _span(match["number"])[1] + 1, today),
    ),
    # 最近一周, 过去三天, 这几天
    (rf"(?:最近|过去|(?<![附将接靠最])近|这)的?(?P<number>{_NUMBER}|几|些){_UNIT}", _lately),
    # 昨天, 前天, 大前天, 今晚; not 以前天天, 如今天气
    (
        r"(?<!大)大前天|(?<![大以之从目天])前天(?![天气空])|昨[天日晚夜儿]"
        r"|(?<!如)今(?:天|早|晚|晨|儿|夜)",
        _day,
    ),
)
