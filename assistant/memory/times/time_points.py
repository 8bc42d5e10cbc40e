"""What a text says about a point of time: its days, its time of day, or an instant; not yet when.

Nothing here knows what time it is.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Iterable
from datetime import UTC, datetime, timedelta
from typing import TypeAlias, TypeVar

import msgspec

from assistant.memory.times.chinese_dates import CHINESE
from assistant.memory.times.chinese_future import CHINESE_FUTURE
from assistant.memory.times.clock_times import (
    BARE_HOURS,
    CLOCKS,
    LENGTHS,
    PARTS,
    ClockTime,
    Part,
)
from assistant.memory.times.date_ranges import Resolve
from assistant.memory.times.english_dates import ENGLISH
from assistant.memory.times.english_future import ENGLISH_FUTURE
from assistant.memory.times.future_days import Named, Reckoning, ResolveDays

R = TypeVar("R")

#: What a match means, as a point of time from now. Raises ValueError when there is none.
ResolveInstant: TypeAlias = Callable[[re.Match[str], datetime], datetime]

#: A word begins and ends beside a Chinese character too.
FLAGS = re.IGNORECASE | re.ASCII


class Days(msgspec.Struct, frozen=True):
    """An expression of days."""

    match: re.Match[str]
    resolve: ResolveDays

    def named(self, reckoning: Reckoning) -> Named:
        """What it means. Raises ValueError or OverflowError when there are no such days."""
        return self.resolve(self.match, reckoning)


class Point(msgspec.Struct, frozen=True):
    """What was read from `start` to `end` of a text."""

    start: int
    end: int
    days: tuple[Days, ...] = ()
    """One, or two that name the same day: Friday, 4 December."""
    clock: ClockTime | None = None
    part: Part | None = None
    instant: Callable[[datetime], datetime] | None = None
    """The point of time from now; without a zone it is the user's."""

    @property
    def only_days(self) -> bool:
        return self.instant is None and self.clock is None and self.part is None

    @property
    def only_clock(self) -> bool:
        return self.instant is None and not self.days


class Expression(msgspec.Struct, frozen=True):
    """A point of time, and the other end where there is one."""

    first: Point
    last: Point | None = None
    length: timedelta | None = None
    end: int = 0
    """Where in the text it ends."""


def read_expression(text: str, at: int) -> Expression | None:
    """What stands in a plain text from `at` on, as much of it as can be read; None if nothing."""
    before = _matched(_PREFIX, text, at)
    first = read_point(text, before.end(), bare=bool(before["hour"]))
    if first is None:
        return None
    to = _compiled(_TO).match(text, first.end)
    if to and (to[0].strip() != "and" or before[0].lower().startswith("between")):
        last = read_point(text, to.end(), bare=True)
        if last is not None and not (first.only_days and last.only_clock):
            return Expression(first, last, end=last.end)
    for_length = _compiled(r",? for ").match(text, first.end)
    if for_length and not first.only_days:
        found = _longest(LENGTHS, text, for_length.end())
        if found is not None:
            match, resolve = found
            return Expression(first, length=resolve(match), end=match.end())
    return Expression(first, end=first.end)


def read_point(text: str, at: int, *, bare: bool = False) -> Point | None:
    """The point of time that stands at `at`; `bare` says that a number alone is an hour."""
    instant = _instant(text, at) or _from_now(text, at)
    if instant is not None:
        return instant
    point: Point | None = None
    more = _with_next(Point(at, at), text, at, bare=bare)
    while more is not None:
        point = more
        joined = _matched(_JOIN, text, point.end)
        more = _with_next(point, text, joined.end(), bare=bool(joined["hour"]))
    return point


def _instant(text: str, at: int) -> Point | None:
    found = _longest(_INSTANTS, text, at)
    if found is None:
        return None
    match, resolve = found
    return Point(at, match.end(), instant=functools.partial(resolve, match))


def _from_now(text: str, at: int) -> Point | None:
    """In two hours, two hours from now, 两小时后: in absolute time, whatever the clocks do."""
    before = _matched(r"(?:in |再?过)?", text, at)
    found = _longest(LENGTHS, text, before.end())
    if found is None:
        return None
    match, resolve = found
    after = _matched(r"(?:(?: from now| later)\b|[之以]?后)?", text, match.end())
    if not before[0] and not after[0]:
        return None
    length = resolve(match)
    return Point(
        at,
        after.end(),
        instant=lambda now: now.astimezone(UTC) + length,
    )


def _with_next(point: Point, text: str, at: int, *, bare: bool) -> Point | None:
    """The point with the longest of what may be added to it at `at`."""
    found: list[Point] = []
    days = _days(text, at) if len(point.days) < 2 else None
    if days is not None:
        found.append(_extended(point, days.match, days=(*point.days, days)))
    if point.clock is None:
        said = _read(CLOCKS, text, at)
        if said is None and bare:
            said = _read(BARE_HOURS, text, at)
        elif said is None and (point.days or point.part):
            said = _read(BARE_HOURS, text, at, to_the_end=True)
        if said is not None:
            found.append(_extended(point, said[0], clock=said[1]))
    if point.part is None:
        part = _longest(PARTS, text, at)
        if part is not None:
            found.append(_extended(point, part[0], part=part[1]))
    return max(found, key=lambda each: each.end, default=None)


def _extended(point: Point, match: re.Match[str], **parts: object) -> Point:
    end = match.end()
    if match.string[end : end + 1] == ")" and "(" in match.string[point.start : end]:
        end += 1
    return msgspec.structs.replace(point, end=end, **parts)


def _days(text: str, at: int) -> Days | None:
    found = _longest((*ENGLISH_FUTURE, *CHINESE_FUTURE), text, at)
    if found is not None:
        return Days(*found)
    past = _longest((*ENGLISH, *CHINESE), text, at)
    if past is not None and _compiled(_PAST_WORD).search(past[0][0]):
        return Days(past[0], _of_the_past(past[1]))
    return None


def _of_the_past(resolve: Resolve) -> ResolveDays:
    def named(match: re.Match[str], reckoning: Reckoning) -> Named:
        days = resolve(match, reckoning.today)
        if days is None:
            raise ValueError("no such days")
        return Named(days)

    return named


def _read(
    table: Iterable[tuple[str, Callable[[re.Match[str]], R]]],
    text: str,
    at: int,
    *,
    to_the_end: bool = False,
) -> tuple[re.Match[str], R] | None:
    """The longest match and its meaning; None as well where it has none, such as 25:00."""
    found = _longest(table, text, at)
    if found is None or (to_the_end and not _compiled(_END).match(text, found[0].end())):
        return None
    match, resolve = found
    try:
        return match, resolve(match)
    except ValueError:
        return None


def _longest(table: Iterable[tuple[str, R]], text: str, at: int) -> tuple[re.Match[str], R] | None:
    found: tuple[re.Match[str], R] | None = None
    for pattern, resolve in table:
        match = _compiled(pattern).match(text, at)
        if match and match[0] and (found is None or match.end() > found[0].end()):
            found = match, resolve
    return found


def _matched(pattern: str, text: str, at: int) -> re.Match[str]:
    """The match of a pattern that matches the empty text, too."""
    match = _compiled(pattern).match(text, at)
    if match is None:
        raise AssertionError(f"{pattern} must match anything")
    return match


@functools.cache
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, FLAGS)


def _iso(match: re.Match[str], now: datetime) -> datetime:
    """24:00 is the end of the day, as ISO 8601 has it."""
    written = match[0].upper().replace(" ", "T")
    if "T24:00" in written:
        return datetime.fromisoformat(written.replace("T24", "T00")) + timedelta(days=1)
    return datetime.fromisoformat(written)


_OFFSET = r"(?:0[0-9]|1[0-4]):?[0-5][0-9]"
_INSTANTS: tuple[tuple[str, ResolveInstant], ...] = (
    # 2026-12-01T15:00, with seconds, with an offset
    (
        r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}(?::[0-9]{2}(?:\.[0-9]{1,6})?)?"
        rf"(?: ?Z\b|[+-]{_OFFSET})?(?![0-9:])",
        _iso,
    ),
    # with a space: 15:00-05:00 is a stretch then, 15:00:00-05:00 is not
    (
        r"[0-9]{4}-[0-9]{2}-[0-9]{2} [0-9]{2}:[0-9]{2}"
        rf"(?::[0-9]{{2}}(?:\.[0-9]{{1,6}})?(?:-{_OFFSET})?)?(?: ?Z\b|\+{_OFFSET})?(?![0-9:])",
        _iso,
    ),
    # 20261201T150000Z
    (r"[0-9]{8}T[0-9]{4}(?:[0-9]{2})?Z?(?![0-9A-Z])", _iso),
    (r"(?:right )?now\b|现在|此刻", lambda match, now: now),
)

_PREFIX = (
    r"(?:(?:on|by|for|since|starting|(?P<hour>at|around|about|between|from|@)) ?)?(?:在|从|于)?"
    r"(?:(?:in |over |during )?the (?=(?:last|past|previous)\b))?"
)
_JOIN = r"[ ,(]{0,3}(?:的|(?:on|from|starting) |(?P<hour>at |around |about |from |@ ?))?"
_TO = r" ?(?:-|–|—|~|to|until|till|through|and|至|到|/) ?"
#: Where a number alone can be an hour: at the end, or before a second one that ends the text.
_END = r"(?: ?(?:-|–|~|to|until|till) ?[0-9]{1,2}(?::[0-5][0-9])?)? ?[.,;!?。]*$"
_PAST_WORD = r"last|past|previous|ago|back|before|yesterday|[昨前上]|过去|最近|去年"
