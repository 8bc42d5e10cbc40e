"""How English names days in a plan: patterns, and what each of them means."""

from __future__ import annotations

import re
from datetime import date
from typing import cast

from assistant.memory.times.date_ranges import (
    DateRange,
    Unit,
    latest_weekday,
    moved,
    one_day,
    period,
    weekday_of_week,
    weekend,
    whole_month,
    whole_year,
)
from assistant.memory.times.english_dates import MONTH_NAMES, NUMBERS, WEEKDAYS, month_number
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

_TEENS = "thirteen fourteen fifteen sixteen seventeen eighteen nineteen".split()
_TENS = "twenty thirty forty fifty sixty seventy eighty ninety".split()
#: What a number in words means where one is needed; "a few" is three.
_WORDS = {
    **{word: min(most, 3) if least < most else least for word, (least, most) in NUMBERS.items()},
    **{word: 2 for word in NUMBERS if "couple" in word},
    **{word: number for number, word in enumerate(_TEENS, 13)},
    **{word: number for number, word in zip(range(20, 100, 10), _TENS, strict=True)},
}
NUMBER_WORDS = "|".join(sorted(_WORDS, key=len, reverse=True))

_NUMBER = rf"(?P<number>[0-9]{{1,4}}|(?:{NUMBER_WORDS})\b)"
_UNIT = r"(?P<unit>day|week|month|year)s?\b"
_WEEKDAY = rf"(?P<weekday>{'|'.join(WEEKDAYS)})\b"
#: Short names are other words, too: sun, sat, wed.
_SHORT = (
    r"(?P<weekday>mon|tues?|wed|thu(?:rs?)?|fri|sat|sun)\b\.?"
    r"(?= ?(?:$|[-–,;:()/0-9]|at\b|to\b|noon|morning|afternoon|evening|night|next week))"
)
_MONTH = rf"(?P<month>{MONTH_NAMES})\.?"
_TH = r"(?:st|nd|rd|th)"
_DAY = r"(?P<day>[0-3]?[0-9])"
_YEAR = r"(?P<year>[0-9]{4})(?![0-9:]|[-./][0-9])"
_TO = r" ?(?:-|–|to|until|till|through) ?(?:the )?"


def number_in(text: str) -> int:
    """A number in digits or words: 3, three, "a couple of"."""
    return int(text) if text.isdecimal() else _WORDS[text.lower()]


def weekday_number(name: str) -> int:
    """Monday is 0; of a name three letters are enough."""
    return [weekday[:3] for weekday in WEEKDAYS].index(name[:3].lower())


def _weekday(match: re.Match[str], reckoning: Reckoning) -> Named:
    which, weekday = (match["which"] or "").lower(), weekday_number(match["weekday"])
    this_weeks = weekday_of_week(0, weekday, reckoning.today).start
    coming = coming_weekday(weekday, reckoning.earliest)
    if which == "next":
        return _next_weekday(match, weekday, reckoning)
    if "coming" in which:
        return Named(one_day(coming_weekday(weekday, moved(reckoning.earliest, days=1))))
    if which == "this" and this_weeks < reckoning.today:
        return Named(one_day(coming), f"“{match[0]}” read as {shown(coming)}, the next to come")
    return Named(one_day(coming))


def _next_weekday(match: re.Match[str], weekday: int, reckoning: Reckoning) -> Named:
    """That of the next calendar week; while this week's is to come that one may be meant."""
    day = weekday_of_week(1, weekday, reckoning.today).start
    this_weeks = weekday_of_week(0, weekday, reckoning.today).start
    if this_weeks <= reckoning.today:
        return Named(one_day(day))
    note = f"“{match[0]}” read as {shown(day)}; this week's is {this_weeks.isoformat()}"
    return Named(one_day(day), note)


def _weekday_of_week(match: re.Match[str], reckoning: Reckoning) -> Named:
    weeks = {"this": 0, "next": 1, "last": -1}[match["which"].lower()]
    return Named(weekday_of_week(weeks, weekday_number(match["weekday"]), reckoning.today))


def _weekend(match: re.Match[str], reckoning: Reckoning) -> Named:
    if (match["which"] or "").lower() == "next":
        return Named(weekend(1, reckoning.today))
    return Named(coming_weekend(reckoning.earliest))


def _which(match: re.Match[str], reckoning: Reckoning) -> Named:
    periods = 0 if match["which"].lower() == "this" else 1
    return Named(ahead(_unit(match), periods, reckoning.today))


def _after_next(match: re.Match[str], reckoning: Reckoning) -> Named:
    return Named(ahead(_unit(match), 2, reckoning.today))


def _date(match: re.Match[str], reckoning: Reckoning) -> Named:
    """A day of a month, or the days from it up to another one."""
    month, day = month_number(match["month"]), int(match["day"])
    if match["year"]:
        found = Named(one_day(date(int(match["year"]), month, day)))
    else:
        found = coming_in_year(match, reckoning, month, day)
    if not match["last"]:
        return found
    first = found.days.start
    last = first.replace(day=int(match["last"]))
    if last < first:
        raise ValueError("the days end before they begin")
    return Named(DateRange(first, last), found.note)


def _date_in_digits(match: re.Match[str], reckoning: Reckoning) -> Named:
    return Named(one_day(date(int(match["year"]), int(match["month"]), int(match["day"]))))


def _month_in_digits(match: re.Match[str], reckoning: Reckoning) -> Named:
    return Named(whole_month(int(match["year"]), int(match["month"])))


def _month(match: re.Match[str], reckoning: Reckoning) -> Named:
    month = month_number(match["month"])
    if match["year"]:
        return Named(whole_month(int(match["year"]), month))
    return Named(coming_month(month, reckoning))


def _day_of_month(match: re.Match[str], reckoning: Reckoning) -> Named:
    day = int(match["day"])
    if not match["which"]:
        return Named(one_day(coming_in_month(day, reckoning.earliest)))
    months = 0 if match["which"].lower() == "this" else 1
    return Named(one_day(ahead("month", months, reckoning.today).start.replace(day=day)))


def _later(match: re.Match[str], reckoning: Reckoning) -> Named:
    by = {f"{_unit(match)}s": number_in(match["number"])}
    day = moved(reckoning.today, **by)
    few = "few" in match["number"].lower() or match["number"].lower() == "several"
    return Named(one_day(day), f"“{match[0]}” read as {shown(day)}" if few else "")


def _next_ones(match: re.Match[str], reckoning: Reckoning) -> Named:
    return Named(from_today(_unit(match), number_in(match["number"]), reckoning.today))


def _edge(match: re.Match[str], reckoning: Reckoning) -> Named:
    """The first or last day of a week, month or year; of a week at work the last is Friday."""
    unit = _unit(match)
    days = ahead(unit, (match["which"] or "").lower() == "next", reckoning.today)
    return _first_or_last(match, days, unit)


def _edge_of_month(match: re.Match[str], reckoning: Reckoning) -> Named:
    return _first_or_last(match, _month(match, reckoning).days, "month")


def _first_or_last(match: re.Match[str], days: DateRange, unit: Unit) -> Named:
    if match["edge"].lower() != "end":
        return Named(one_day(days.start))
    if unit != "week":
        return Named(one_day(days.end))
    friday = moved(days.start, days=4)
    return Named(one_day(friday), f"“{match[0]}” read as {shown(friday)}")


def _unit(match: re.Match[str]) -> Unit:
    return cast(Unit, match["unit"].lower())


ENGLISH_FUTURE: tuple[tuple[str, ResolveDays], ...] = (
    (r"(?:later )?today\b", days_away(0)),
    # this evening, tonight: the part of the day is read by itself
    (r"this (?=(?:morning|afternoon|evening)\b)|to(?=night\b)", days_away(0)),
    (r"(?:tomorrow|tmrw?|tomorow)\b", days_away(1)),
    (r"(?:the )?day after tomorrow\b", days_away(2)),
    (r"yesterday\b", days_away(-1)),
    # Friday, this Friday, next Friday
    (rf"(?:(?:the )?(?P<which>this coming|coming|this|next) )?{_WEEKDAY}", _weekday),
    (rf"(?:(?P<which>this|next) )?{_SHORT}", _weekday),
    (
        rf"last {_WEEKDAY}",
        lambda match, reckoning: Named(
            latest_weekday(weekday_number(match["weekday"]), reckoning.today)
        ),
    ),
    # Friday next week, next week on Friday
    (rf"{_WEEKDAY}(?: of|,)? (?P<which>this|next|last) week\b", _weekday_of_week),
    (rf"(?P<which>this|next|last) week,?(?: on)? {_WEEKDAY}", _weekday_of_week),
    # the weekend, next weekend
    (r"(?:(?:(?:over|at|on) )?(?P<which>this|next|the) )?weekend\b", _weekend),
    # next week, this month, the coming year
    (r"(?:the )?(?P<which>this|next|coming) (?P<unit>week|month|year)\b(?! of\b)", _which),
    (r"(?:the )?(?P<unit>week|month|year) after next\b", _after_next),
    # December 5, Dec. 5th, 2026, December 5-7
    (
        rf"{_MONTH} ?(?:the )?{_DAY}{_TH}?\b(?![:.][0-9]|%| ?[ap]\.?m\b)"
        rf"(?:{_TO}(?P<last>[0-3]?[0-9]){_TH}?\b(?![:.][0-9]| ?[ap]\.?m\b))?(?:,? ?{_YEAR})?",
        _date,
    ),
    # 5 December, the 5th of December 2026, 5-7 December
    (
        rf"(?:the )?{_DAY}{_TH}?\.?(?:{_TO}(?P<last>[0-3]?[0-9]){_TH}?)?(?: of)? ?{_MONTH}"
        rf"(?:,? {_YEAR})?",
        _date,
    ),
    # 2026-12-05, 2026/12/5, 2026.12.5
    (
        r"(?P<year>[0-9]{4})(?P<between>[-/.])(?P<month>[01]?[0-9])(?P=between)"
        r"(?P<day>[0-3]?[0-9])(?![0-9]|[-/.][0-9]{1,2}(?![0-9]))",
        _date_in_digits,
    ),
    # 2026-12
    (r"(?P<year>[0-9]{4})-(?P<month>[01][0-9])(?![0-9]|[-/.:][0-9])", _month_in_digits),
    # 2026, in 2026
    (
        r"(?:^|in )(?P<year>[0-9]{4})$",
        lambda match, reckoning: Named(whole_year(int(match["year"]))),
    ),
    # in December, December 2026, this December; December alone only where nothing else is said
    (rf"in (?:early |mid[ -]|late )?{_MONTH}(?:,? (?:of )?{_YEAR})?", _month),
    (rf"{_MONTH} (?:of )?{_YEAR}", _month),
    (rf"(?:^|(?:this|next|coming) ){_MONTH}(?P<year>)(?! ?[0-9])", _month),
    # the 15th, 15th of next month
    (
        rf"(?:the )?{_DAY}{_TH}(?: of (?:the )?(?P<which>this|next) month)?\b"
        r"(?! (?:of|floor|street|avenue|birthday|anniversary|century|edition|chapter)\b)",
        _day_of_month,
    ),
    # in three days, two weeks from now, a week later
    (rf"in {_NUMBER} {_UNIT}(?:'? time)?", _later),
    (rf"{_NUMBER} {_UNIT} (?:from (?:now|today)|later|hence)\b", _later),
    (r"in a fortnight\b", lambda match, reckoning: Named(one_day(moved(reckoning.today, weeks=2)))),
    # the next 7 days, within three weeks
    (rf"(?:(?:in|over|during) )?(?:the )?(?:next|coming) {_NUMBER} {_UNIT}", _next_ones),
    (rf"within (?:the next )?{_NUMBER} {_UNIT}", _next_ones),
    # end of month, the end of next week, beginning of December
    (
        r"(?:(?:at )?the )?(?P<edge>end|start|beginning) of (?:the )?"
        r"(?:(?P<which>this|next) )?(?P<unit>week|month|year)\b",
        _edge,
    ),
    (
        rf"(?:(?:at )?the )?(?P<edge>end|start|beginning) of {_MONTH}(?: {_YEAR})?",
        _edge_of_month,
    ),
    (
        r"(?:the )?rest of (?:the|this) (?P<unit>week|month|year)\b",
        lambda match, reckoning: Named(
            DateRange(reckoning.today, period(_unit(match), reckoning.today).end)
        ),
    ),
)
