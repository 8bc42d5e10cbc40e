"""How English names days: patterns, and what each of them means."""

from __future__ import annotations

import re
from datetime import date
from typing import cast

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

MONTH_NAMES = (
    r"(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?"
    r"|sept?(?:ember)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)\b"
)
WEEKDAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_WEEKDAY_NAMES = "|".join(WEEKDAYS)
_SEASONS = {
    "spring": "spring",
    "summer": "summer",
    "autumn": "autumn",
    "fall": "autumn",
    "winter": "winter",
}
#: The least and the most that a number in words may mean.
NUMBERS = {
    **{word: (1, 1) for word in ("a", "an", "one")},
    **{word: (2, 3) for word in ("a couple of", "couple of", "a couple", "couple")},
    **{word: (2, 6) for word in ("a few", "few", "several")},
    "two": (2, 2),
    "three": (3, 3),
    "four": (4, 4),
    "five": (5, 5),
    "six": (6, 6),
    "seven": (7, 7),
    "eight": (8, 8),
    "nine": (9, 9),
    "ten": (10, 10),
    "eleven": (11, 11),
    "twelve": (12, 12),
}

_NUMBER = rf"(?P<number>[0-9]{{1,3}}|{'|'.join(sorted(NUMBERS, key=len, reverse=True))})"
_UNIT = r"(?P<unit>day|week|month|year)s?"
_MONTH = rf"(?P<month>{MONTH_NAMES})\.?"
_DAY = r"(?P<day>[0-3]?[0-9])"
_TH = "(?:st|nd|rd|th)"
_YEAR = r"(?P<year>(?:19|20)[0-9]{2}(?![0-9A-Za-z]))"
_OF_YEAR = rf"(?:(?:, ?| )(?:of )?(?:{_YEAR}|(?P<which_year>last|this|next) year\b))"
_PART = "start|beginning|middle|end|rest|all|most"

#: Not before a number that goes on to the left: a price, a version, a path, an identifier.
_ALONE = r"(?<![A-Za-z0-9.,:/$€£¥#_-])"

_COUNTED = "words|characters|letters|lines|pages|tokens|steps|people|pieces|dollars|euros|miles"


def _named_year(match: re.Match[str], today: date) -> int | None:
    """The year the expression gives, in digits or as last, this or next year."""
    if match["year"]:
        return int(match["year"])
    if match["which_year"]:
        return today.year + {"last": -1, "this": 0, "next": 1}[match["which_year"].lower()]
    return None


def month_number(name: str) -> int:
    return "janfebmaraprmayjunjulaugsepoctnovdec".index(name[:3].lower()) // 3 + 1


def _small_verb(match: re.Match[str]) -> bool:
    """Whether it is may or march in small letters."""
    return match["month"].lower() in ("may", "mar", "march") and not match["month"].istitle()


def _may_be_a_verb(match: re.Match[str]) -> bool:
    """Whether may or march is written as the verb would be: small, or as the first word."""
    before = match.string[: match.start("month")].rstrip(" ")
    first = not before or before[-1] in ".!?\n"
    return _small_verb(match) or (first and match["month"].lower() in ("may", "mar", "march"))


def _date(match: re.Match[str], today: date) -> DateRange | None:
    month, day, year = month_number(match["month"]), int(match["day"]), _named_year(match, today)
    if year is not None:
        return one_day(date(year, month, day))
    if not match["sure"] and not match["sure_too"] and _may_be_a_verb(match):
        return None
    return latest(lambda year: one_day(date(year, month, day)), today)


def _date_in_digits(match: re.Match[str], today: date) -> DateRange:
    return one_day(date(int(match["year"]), int(match["month"]), int(match["day"])))


def _day_and_month_in_digits(match: re.Match[str], today: date) -> DateRange | None:
    """Only where it can be read in one way: 25/8/2023, 8/25/2023, but not 5/4/2023."""
    year, one, other = int(match["year"]), int(match["one"]), int(match["other"])
    if one > 12:
        return one_day(date(year, other, one))
    return one_day(date(year, one, other)) if other > 12 or one == other else None


def _month(match: re.Match[str], today: date) -> DateRange | None:
    month, year = month_number(match["month"]), _named_year(match, today)
    if year is not None:
        return whole_month(year, month)
    return latest(lambda year: whole_month(year, month), today)


def _which_month(match: re.Match[str], today: date) -> DateRange | None:
    """That of last May is over, that of this May is this year's."""
    which, month = match["which"].lower(), month_number(match["month"])
    if which not in ("last", "this") or _may_be_a_verb(match):
        return None
    if which == "this":
        return whole_month(today.year, month)
    return latest(lambda year: whole_month(year, month), ago("month", 1, today).end)


def _month_of_year(match: re.Match[str], today: date) -> DateRange | None:
    return None if _small_verb(match) else _month(match, today)


def _day_of_month(match: re.Match[str], today: date) -> DateRange:
    months = {"last": -1, "this": 0}[match["which"].lower()]
    return one_day(moved(today, months=months, day=1).replace(day=int(match["day"])))


def _weekday(match: re.Match[str], today: date) -> DateRange | None:
    which, weekday = match["which"].lower(), WEEKDAYS.index(match["weekday"].lower())
    if which == "this":
        return weekday_of_week(0, weekday, today)
    if which in ("on", "last", "past", "this past"):
        return latest_weekday(weekday, today)
    return None


def _weekday_of_last_week(match: re.Match[str], today: date) -> DateRange:
    weekday = match["weekday"] or match["weekday_after"]
    return weekday_of_week(-1, WEEKDAYS.index(weekday.lower()), today)


def _weekend(match: re.Match[str], today: date) -> DateRange | None:
    which = match["which"].lower()
    if which == "this":
        return weekend(0, today)
    return weekend(-1, today) if which == "last" else latest_weekend(today)


def _which_season(match: re.Match[str], today: date) -> DateRange | None:
    """That of last summer is over, that of this summer began this year or lasts still."""
    name = _SEASONS[match["season"].lower()]
    if match["which"].lower() == "last":
        return latest(lambda year: season(year, name), moved(today, months=-3))
    found = latest(lambda year: season(year, name), today)
    return found if found.start.year == today.year or found.end >= today else None


def _season_of_year(match: re.Match[str], today: date) -> DateRange | None:
    year = _named_year(match, today)
    return None if year is None else season(year, _SEASONS[match["season"].lower()])


def _this_or_last(match: re.Match[str], today: date) -> DateRange:
    return ago(_unit(match), 0 if match["which"].lower() == "this" else 1, today)


def _before_last(match: re.Match[str], today: date) -> DateRange:
    return weekend(-2, today) if match["weekend"] else ago(_unit(match), 2, today)


def _ago(match: re.Match[str], today: date) -> DateRange:
    return between(_unit(match), *_span(match["number"]), today)


def _the_last(match: re.Match[str], today: date) -> DateRange:
    return until_today(_unit(match), _span(match["number"])[1], today)


def _unit(match: re.Match[str]) -> Unit:
    return cast(Unit, match["unit"].lower())


def _span(number: str) -> tuple[int, int]:
    if number.isdecimal():
        return int(number), int(number)
    return NUMBERS[number.lower()]


def _on(days_back: int) -> Resolve:
    return lambda match, today: ago("day", days_back, today)


ENGLISH: tuple[tuple[str, Resolve], ...] = (
    # May 4th, on May 4, May 4, 2023, May 4 last year
    (
        rf"\b(?P<sure>(?:on|since|until|till|by|before|after|from|around) )?{_MONTH} (?:the )?"
        rf"{_DAY}(?P<sure_too>{_TH})?\b(?![.:/]?[0-9]|%){_OF_YEAR}?",
        _date,
    ),
    # 4 May, the 4th of May, 4 May 2023
    (
        rf"{_ALONE}{_DAY}{_TH}?(?P<sure> of)?(?P<sure_too>) {_MONTH}{_OF_YEAR}?",
        _date,
    ),
    # 2023-05-08, 2023/5/8
    (
        rf"{_ALONE}{_YEAR}(?P<between>[-/])(?P<month>[01]?[0-9])(?P=between){_DAY}"
        r"(?![0-9]|[-/.][0-9])",
        _date_in_digits,
    ),
    # 25/8/2023
    (
        rf"{_ALONE}(?P<one>[0-3]?[0-9])/(?P<other>[0-3]?[0-9])/{_YEAR}(?![/.-])",
        _day_and_month_in_digits,
    ),
    # in March, at the end of March, in March last year
    (
        rf"\b(?:in|during|throughout|(?:{_PART}|month) of) (?:early |mid[ -]|late )?{_MONTH}"
        rf"(?! (?:the )?[0-9]{{1,2}}\b)(?! (?:be|have|not|also|need)\b){_OF_YEAR}?",
        _month,
    ),
    # last March, this March
    (
        rf"\b(?P<which>last|this|next|coming|every|each) {_MONTH}(?! (?:the )?[0-9]{{1,2}}\b)",
        _which_month,
    ),
    # March 2023, March of last year
    (rf"\b{_MONTH}{_OF_YEAR}", _month_of_year),
    # on the 5th
    (
        rf"\bon the {_DAY}{_TH}\b(?=$|[.,;:?!)\n]| (?:about|did|do|i|we|you|he|she|they|was|were"
        r"|and|or)\b)",
        lambda match, today: latest_in_month(int(match["day"]), today),
    ),
    # the 5th of last month
    (rf"\b{_DAY}{_TH} of (?P<which>last|this) month\b", _day_of_month),
    # on Tuesday, last Tuesday
    (
        rf"\b(?P<which>on|last|past|this past|this coming|this|next|coming|every|each) "
        rf"(?P<weekday>{_WEEKDAY_NAMES})\b"
        rf"(?!,? (?:the )?(?:[0-9]|next\b|after\b|{MONTH_NAMES}))",
        _weekday,
    ),
    # on Tuesday last week, last week on Tuesday
    (
        rf"\b(?:(?:on )?(?P<weekday>{_WEEKDAY_NAMES})(?: of|,)? last week"
        rf"|last week,?(?: on)? (?P<weekday_after>{_WEEKDAY_NAMES}))\b",
        _weekday_of_last_week,
    ),
    # last weekend, over the weekend
    (r"\b(?P<which>last|this past|this|over the|on the|at the|during the) weekend\b", _weekend),
    # last summer
    (rf"\b(?P<which>last|this) (?P<season>{'|'.join(_SEASONS)})\b", _which_season),
    # summer 2022, the summer of last year
    (rf"\b(?P<season>{'|'.join(_SEASONS)}){_OF_YEAR}", _season_of_year),
    # last week, this month; not the last week of something
    (r"\b(?P<which>last|this|previous) (?P<unit>week|month|year)\b(?! of\b)", _this_or_last),
    # the week before last
    (r"\b(?:(?P<weekend>weekend)|(?P<unit>week|month|year)) before last\b", _before_last),
    # three days ago; not half a year ago
    (rf"{_ALONE}(?<!half )(?<!and )\b{_NUMBER} {_UNIT} (?:ago|back)\b", _ago),
    (r"\ba fortnight ago\b", lambda match, today: ago("week", 2, today)),
    # the last three days
    (rf"\b(?:last|past) {_NUMBER} {_UNIT}\b", _the_last),
    (
        r"\b(?:the|this|over|in) past (?P<unit>week|month|year)\b",
        lambda match, today: until_today(_unit(match), 1, today),
    ),
    # in 2023
    (
        rf"\b(?:in|during|throughout|(?:{_PART}) of)(?: the year)? {_YEAR}(?![-/.:,][0-9]|%)"
        rf"(?! (?:{_COUNTED})\b)",
        lambda match, today: past_year(int(match["year"]), today),
    ),
    (r"\bday before yesterday\b", _on(2)),
    (r"\b(?:yesterday|last night|last evening)\b", _on(1)),
    (r"\b(?:today|tonight|this morning|this afternoon|this evening)\b", _on(0)),
)
