"""The days a question names, in English and Chinese: "last Tuesday", "in March", 上周三, 三天前.

A question about what was said looks backwards: what names no year is the last one that began
before now, and what is yet to come is nothing one could have said something on. What could as well
be something else ("may", "second", 5号线) names nothing either.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from datetime import date, datetime

from assistant.memory.times.chinese_dates import CHINESE
from assistant.memory.times.date_ranges import DateRange, Resolve
from assistant.memory.times.english_dates import ENGLISH

#: Characters of a text that are looked at; what is longer is no question but something pasted.
LONGEST_READ = 4_000

#: A word begins and ends beside a Chinese character too.
_FLAGS = re.IGNORECASE | re.ASCII

#: The traditional characters that dates are written with, and their simplified ones.
_SIMPLIFIED = str.maketrans("週號個這禮兩後幾過", "周号个这礼两后几过")


def named_dates(text: str, now: datetime) -> Sequence[DateRange]:
    """The ranges that `text` names, in the order they stand in it, each once.

    Days are those of the zone of `now`; weeks begin on Monday, and summer is June to August. Of
    expressions that overlap the one that begins first counts, of those the longest.
    """
    plain = unicodedata.normalize("NFKC", text[:LONGEST_READ])[:LONGEST_READ].translate(_SIMPLIFIED)
    expressions = [
        (match, resolve)
        for pattern, resolve in (*ENGLISH, *CHINESE)
        for match in re.finditer(pattern, plain, _FLAGS)
    ]
    expressions.sort(key=lambda each: (each[0].start(), -each[0].end()))
    found: dict[DateRange, None] = {}
    end = 0
    for match, resolve in expressions:
        if match.start() < end:
            continue
        end = match.end()
        named = _resolved(match, resolve, now.date())
        if named is not None and named.start <= now.date():
            found[named] = None
    return tuple(found)


def _resolved(match: re.Match[str], resolve: Resolve, today: date) -> DateRange | None:
    try:
        return resolve(match, today)
    except (ValueError, OverflowError):
        # There is no such day, or it is before the first that can be reckoned with.
        return None
