"""Dates beside the words of a fact that are only known with the day it was said."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import date, datetime, timedelta

from assistant.errors import WrongEntry
from assistant.memory.facts.fact_rules import OUR_DATE
from assistant.protocols import Times

_PAST = re.compile(
    r"\bthe day before yesterday\b|\byesterday\b|\blast (?:night|week|month|year|weekend"
    r"|(?:mon|tues|wednes|thurs|fri|satur|sun)day)\b"
    r"|\b(?:a|one|two|three|four|five|six|\d{1,2}) (?:day|week|month|year)s? ago\b"
    r"|大前天|前天|昨[天晚日]|上上?个?(?:周|星期|礼拜)[一二三四五六日天末]?|上上?个?月|去年|前年"
    r"|[一二两三四五六七八九十\d]{1,3}个?(?:天|周|星期|礼拜|月|年)前",
    re.IGNORECASE,
)
_TODAY = re.compile(r"\b(?:today|tonight|this (?:morning|afternoon|evening))\b|今[天晚日早]", re.I)
_WENT_BY = re.compile(r"\b(?:was|were|had|went|did|\w+ed)\b|[了过]", re.IGNORECASE)
_BARE_WEEKDAY = re.compile(r"(?:mon|tues|wednes|thurs|fri|satur|sun)day|(?:周|星期|礼拜).", re.I)


def dated(text: str, said: datetime, times: Times) -> str:
    """The text with the date behind every word that is only known with the day it was said.

    `tomorrow` becomes `tomorrow (2026-12-01)`. What can't be reckoned with stays as it is, and so
    do dates that were put there before.
    """
    found: list[tuple[int, int, str]] = []
    for start, end, words in _relative(text):
        shown = "" if OUR_DATE.match(text, end) else _reckoned(words, text, said, times)
        if shown and not any(start < other_end and end > other for other, other_end, _ in found):
            found.append((start, end, shown))
    for _, end, shown in sorted(found, reverse=True):
        text = f"{text[:end]} ({shown}){text[end:]}"
    return text


def _relative(text: str) -> Iterator[tuple[int, int, str]]:
    # Here, as its patterns take long to compile.
    from assistant.memory.compaction.values import find_values

    for pattern in (_TODAY, _PAST):
        for match in pattern.finditer(text):
            yield *match.span(), match[0]
    for value in find_values(text):
        if value.kind == "date" and value.relative:
            yield value.start, value.end, text[value.start : value.end]


def _reckoned(words: str, text: str, said: datetime, times: Times) -> str:
    if _TODAY.fullmatch(words):
        return f"{said:%Y-%m-%d}"
    if _PAST.fullmatch(words):
        from assistant.memory.times.named_dates import named_dates

        ranges = named_dates(words, said)
        return _shown(ranges[0].start, ranges[0].end) if ranges else ""
    if _BARE_WEEKDAY.fullmatch(words) and _WENT_BY.search(text):
        # It may be the last one as well as the next.
        return ""
    try:
        moment = times.moment(words, now=said)
    except WrongEntry:
        return ""
    end = moment.end or moment.start
    last = end - timedelta(microseconds=1) if end > moment.start else end
    return _shown(moment.start.date(), last.date())


def _shown(start: date, end: date) -> str:
    if start == end:
        return f"{start}"
    following = end + timedelta(days=1)
    if start.day == following.day == 1 and (following - start).days <= 31:
        return f"{start:%Y-%m}"
    if (start.month, start.day, following.month, following.day) == (1, 1, 1, 1):
        return f"{start.year}"
    return f"{start} to {end}"
