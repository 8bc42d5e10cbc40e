"""Reads expressions of time, in English, Chinese or ISO 8601, against now.

How it reads what could be read in more than one way:

- Weeks begin on Monday. "Friday" and 周五 are the next one to come, today included while the time
  of day is still to come. "Next Friday" is that of the next calendar week, noted while this week's
  is to come; 下周五 is the same and never in doubt. "This Monday" is the next one when this week's
  is over; 这周一 is this week's even then.
- A time of day alone is the next such time. Between midnight and four "tomorrow" is counted from
  the date, and noted.
- An hour without a half of the day is as it stands, but 1 to 7 is in the afternoon, and of 8 to 11
  today the one that is to come is meant; both are noted. Two digits before the minutes are a clock
  of 24 hours: 03:00, 10:30. A range that ends before it begins ends on the next day. One to four at
  night, and midnight, belong to the night of the day they are named with.
- A part of the day is its usual hours: morning 8–12, afternoon 12–18, evening 18–24, noted.
- What names no year is in the future; where one looks (`stretch`) it is the nearest.
- "In two hours" is absolute time, "in two days" a date. A month from 31 January is 28 February.
- "The next 7 days" are today and the 7 after it. The end of a week is its Friday, noted.
- A local time that clocks skip is as much later (RFC 5545, 3.3.5), one that comes twice is the
  first; both are noted.
- A month or a year is a stretch, never the beginning of a title ("May I …", 2026 planning).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, date, datetime, time, timedelta

import msgspec

from assistant.errors import WrongEntry
from assistant.memory.times import recurrences
from assistant.memory.times.clock_times import (
    DAY,
    HALF_DAY,
    ClockTime,
    Part,
    in_part,
    settled_range,
    usual,
)
from assistant.memory.times.clock_times import shown as shown_clock
from assistant.memory.times.date_ranges import DateRange
from assistant.memory.times.future_days import Named, Reckoning, shown
from assistant.memory.times.plain_text import PlainText, plain_text
from assistant.memory.times.time_points import Expression, Point, read_expression
from assistant.messages import Moment

#: Characters of an expression of time, and how many from its end a text is searched for one.
LONGEST_READ = 120
#: Characters from the end of a text in which expressions of time are looked for.
LONGEST_SEARCHED = 1_000

#: Until this hour some still say "tomorrow" for the day that has begun.
_SMALL_HOURS = 4
_DIGITS = "零〇一二两三四五六七八九十"
#: Days that a title may begin with; longer ones are what it is about.
_LONGEST_BEFORE_TITLE = 14

_EXPECTED = "Give a local date and time like 2026-12-01T15:00."
_OUT_OF_BOUNDS = "Only the years from 1 to 9999 can be reckoned with."

_AFTER = re.compile(r"^[\s.,;:!?。，；：！？、—–-]*的?[\s.,;:，：、]*")
_BEFORE = re.compile(r"[\s,;:(，；：、（—–-]*$")
_CLOSING = re.compile(r"[ .,;!?。)]*")


class Times:
    def __init__(self, clock: Callable[[], datetime]) -> None:
        """`clock` gives the time in the user's zone."""
        self._clock = clock

    def now(self) -> datetime:
        return self._clock()

    def moment(self, text: str, now: datetime | None = None) -> Moment:
        present = self.now()
        against = present if now is None else now.astimezone(present.tzinfo)
        plain = plain_text(text)
        return _Reading(text, plain.text, against).moment(_whole(text, plain))

    def stretch(self, text: str) -> Moment:
        plain = plain_text(text)
        expression = _whole(text, plain)
        found = _Reading(text, plain.text, self.now(), nearest=True).moment(expression)
        if found.end is not None:
            return found
        try:
            next_day = found.start.date() + timedelta(days=1)
        except OverflowError:
            raise _wrong(text, "names no time that can be reckoned with", _OUT_OF_BOUNDS) from None
        end = datetime.combine(next_day, time(), found.start.tzinfo)
        return msgspec.structs.replace(found, end=_real(end))

    def leading(self, text: str) -> tuple[Moment, str]:
        plain = plain_text(text)
        first = read_expression(plain.text[:LONGEST_READ], 0)
        if first is not None and _ends_word(plain.text, first.end):
            found = self._before_title(text, plain, first)
            if found is not None:
                return self._with_time_at_end(text, plain, first) or (
                    found,
                    _AFTER.sub("", text[plain.places[first.end] :], count=1).strip(),
                )
        for at, last in _at_end(plain.text):
            found = self._before_title(text, plain, last)
            if found is not None:
                return found, _BEFORE.sub("", text[: plain.places[at]]).strip()
        raise _wrong(text, "begins and ends with no time", _EXPECTED)

    def expressions(self, text: str) -> Sequence[str]:
        """The expressions of time in a text, as they stand in it; not the same one twice."""
        plain = plain_text(text[-LONGEST_SEARCHED:])
        text, found, at = text[-LONGEST_SEARCHED:], dict[str, None](), 0
        while at < len(plain.text):
            read = read_expression(plain.text, at) if _begins_word(plain.text, at) else None
            if read is None or not _ends_word(plain.text, read.end):
                at += 1
                continue
            found[text[plain.places[at] : plain.places[read.end]].strip()] = None
            at = max(read.end, at + 1)
        return [one for one in found if one]

    def repeat(self, text: str) -> str:
        return recurrences.rule(text, self.moment)

    def _with_time_at_end(
        self, text: str, plain: PlainText, first: Expression
    ) -> tuple[Moment, str] | None:
        """Of "tomorrow review at 3pm", with a day in front and its time at the end, both."""
        if first.last is not None or not first.first.only_days:
            return None
        for at, last in _at_end(plain.text):
            if at <= first.end or not last.first.only_clock or last.first.clock is None:
                continue
            point = msgspec.structs.replace(last.first, days=first.first.days)
            both = msgspec.structs.replace(last, first=point)
            title = text[plain.places[first.end] : plain.places[at]]
            title = _BEFORE.sub("", _AFTER.sub("", title, count=1)).strip()
            return _Reading(text, plain.text, self.now()).moment(both), title
        return None

    def _before_title(self, text: str, plain: PlainText, found: Expression) -> Moment | None:
        """What a title's time is; None for what is more likely a part of the title."""
        part_alone = found.first.part and not (found.first.days or found.first.clock)
        if part_alone and found.last is None:
            return None
        moment = _Reading(text, plain.text, self.now()).moment(found)
        days = (moment.end - moment.start).days if moment.end else 0
        if found.last is None and moment.whole_day and days > _LONGEST_BEFORE_TITLE:
            return None
        return moment


class _Reading:
    """One expression, read at one time."""

    def __init__(self, text: str, plain: str, now: datetime, *, nearest: bool = False) -> None:
        self._text = text
        self._plain = plain
        self._now = now
        self._nearest = nearest
        self._notes: list[str] = []

    def moment(self, found: Expression) -> Moment:
        try:
            moment = self._moment(found)
        except (OverflowError, ValueError) as error:
            reason = _OUT_OF_BOUNDS if isinstance(error, OverflowError) else _EXPECTED
            raise _wrong(self._text, "names a time that does not exist", reason) from None
        return msgspec.structs.replace(moment, note=". ".join(dict.fromkeys(self._notes)))

    def _moment(self, found: Expression) -> Moment:
        first, last = found.first, found.last
        if last is not None and first.only_clock and last.days:
            # from 3 to 5pm tomorrow: the day is that of both
            first = msgspec.structs.replace(first, days=last.days)
            last = msgspec.structs.replace(last, days=())
        if first.instant is not None:
            wall = first.instant(self._now).replace(microsecond=0)
            start, end = self._aware(wall), None
            if wall.tzinfo is not None:
                wall = start.replace(tzinfo=None)
            if last is not None:
                end = self._end_after(last, wall, start)
        elif first.only_days:
            days = self._days(first, self._now.date())
            if last is None or last.only_days:
                until = self._days(last, days.start).end if last else days.end
                return self._whole_days(DateRange(days.start, until))
            wall = datetime.combine(days.start, time())
            start = self._aware(wall)
            end = self._end_after(last, wall, start)
        else:
            start, end = self._timed(first, last)
        if found.length is not None:
            end = (start.astimezone(UTC) + found.length).astimezone(start.tzinfo)
        if end is not None and end.timestamp() <= start.timestamp():
            raise _wrong(self._text, "ends before it begins", _EXPECTED)
        return Moment(start, end, dated=not first.only_clock)

    def _whole_days(self, days: DateRange) -> Moment:
        if days.end < days.start:
            raise _wrong(self._text, "ends before it begins", _EXPECTED)
        zone = self._now.tzinfo
        start = _real(datetime.combine(days.start, time(), zone))
        end = _real(datetime.combine(days.end + timedelta(days=1), time(), zone))
        return Moment(start, end, whole_day=True)

    def _timed(self, first: Point, last: Point | None) -> tuple[datetime, datetime | None]:
        """A time of day, of the days that are named or else of the next that has it to come."""
        today = self._now.date()
        day = self._one_day(first, today)
        start, end = self._clocks(first, last, day)
        if self._over(day, start, end if first.clock is None else None):
            notes = list(self._notes)
            later = self._one_day(first, day + DAY) if first.days else day + DAY
            if later > day:
                day = later
                start, end = self._clocks(first, last, day)
            else:
                self._notes = [*notes, f"“{self._said(first)}” is over"]
        begin = datetime.combine(day, time()) + start
        aware = self._aware(begin)
        if last is not None and (last.days or last.instant):
            return aware, self._end_after(last, begin, aware)
        if end is None:
            return aware, None
        return aware, self._ended(datetime.combine(day, time()) + end, begin, aware)

    def _over(self, day: date, start: timedelta, end: timedelta | None) -> bool:
        """Whether a time of `day` is not to come any more; of a part of the day, all of it."""
        if day > self._now.date():
            return False
        wall = datetime.combine(day, time()) + (start if end is None else end)
        return self._local(wall) <= self._now

    def _clocks(
        self, first: Point, last: Point | None, day: date
    ) -> tuple[timedelta, timedelta | None]:
        """Where it begins and ends on a day, since its midnight."""
        start, end = _of_part(first), None
        if last is not None and not last.days and not last.instant:
            end = _of_part(last, at_end=True)
        elif first.clock is None and first.part is not None:
            part = first.part
            self._note_part(first, part)
            return part.start, part.end
        if end is not None:
            settled, until = settled_range(start, end)
            if start.doubtful and end.doubtful and settled.at != start.at:
                self._note_clock(first, settled)
            return settled.at, until.at
        settled = usual(start)
        if settled == ClockTime(start.at) and start.doubtful and day == self._now.date():
            evening = start.at + HALF_DAY
            if self._over(day, start.at, None) and not self._over(day, evening, None):
                settled = ClockTime(evening)
        if settled.at != start.at:
            self._note_clock(first, settled)
        elif settled.at >= DAY and (first.days or first.part):
            self._note_clock(first, settled, day)
        return settled.at, None

    def _note_clock(self, point: Point, clock: ClockTime, day: date | None = None) -> None:
        when = shown_clock(clock.at) if day is None else _shown_moment(day, clock.at)
        self._notes.append(f"“{self._said(point)}” read as {when}")

    def _note_part(self, point: Point, part: Part) -> None:
        hours = f"{shown_clock(part.start)}–{shown_clock(part.end)}"
        self._notes.append(f"“{self._said(point)}” read as {hours}")

    def _said(self, point: Point) -> str:
        return self._plain[point.start : point.end]

    def _ended(self, end: datetime, wall: datetime, start: datetime) -> datetime:
        """A local end of what begins at `start`, which was said to be `wall`.

        Where the clocks skip a part of it its length is what was meant.
        """
        aware = self._aware(end)
        if end > wall and aware.timestamp() <= start.timestamp():
            return (start.astimezone(UTC) + (end - wall)).astimezone(start.tzinfo)
        return aware

    def _end_after(self, last: Point, wall: datetime, start: datetime) -> datetime:
        """The other end of what begins at `start`, which was said to be `wall`."""
        if last.instant is not None:
            return self._aware(last.instant(self._now))
        if last.only_days:
            return self._aware(datetime.combine(self._days(last, wall.date()).end + DAY, time()))
        clock = _of_part(last, at_end=True)
        if last.days:
            day = self._one_day(last, wall.date())
            return self._ended(datetime.combine(day, time()) + usual(clock).at, wall, start)
        midnight = datetime.combine(wall.date(), time())
        _, end = settled_range(ClockTime(wall - midnight), clock)
        return self._ended(midnight + end.at, wall, start)

    def _one_day(self, point: Point, earliest: date) -> date:
        """The day of a time of day, the earliest possible where it names none."""
        if not point.days:
            return earliest
        days = self._days(point, earliest)
        if days.start != days.end:
            raise _wrong(self._text, "names several days and one time", "Give one day.")
        return days.start

    def _days(self, point: Point, earliest: date) -> DateRange:
        """The days of a point that names some. What they are called twice must agree."""
        named = point.days[0].named(self._reckoning(earliest))
        if len(point.days) == 2:
            named = self._agreed(point, named, earliest)
        if named.note:
            self._notes.append(named.note)
        return named.days

    def _agreed(self, point: Point, named: Named, earliest: date) -> Named:
        """Friday, 4 December: the weekday is reckoned from the date, whichever comes first."""
        one, other = point.days
        second = other.named(self._reckoning(earliest))
        for days, twin in ((named.days, other), (second.days, one)):
            if days.start >= earliest and twin.named(self._reckoning(days.start)).days == days:
                return Named(days)
        if named.days == second.days:
            return Named(named.days)
        contradiction = f"names two days, {shown(named.days.start)} and {shown(second.days.start)}"
        raise _wrong(self._text, contradiction, "Give one of them.")

    def _reckoning(self, earliest: date) -> Reckoning:
        return Reckoning(
            today=self._now.date(),
            earliest=earliest,
            nearest=self._nearest,
            small_hours=self._now.hour < _SMALL_HOURS,
        )

    def _aware(self, moment: datetime) -> datetime:
        """A point of time in the user's zone, and a note when its local time is no plain one."""
        moment = moment.replace(microsecond=0)
        if moment.tzinfo is not None:
            return moment.astimezone(self._now.tzinfo)
        aware = self._local(moment)
        if aware.replace(tzinfo=None) != moment:
            self._notes.append(
                f"{moment:%H:%M} is skipped on {shown(moment.date())}, when the clocks go forward; "
                f"read as {aware:%H:%M}"
            )
        elif aware.replace(fold=1).utcoffset() != aware.utcoffset():
            self._notes.append(
                f"{moment:%H:%M} comes twice on {shown(moment.date())}, when the clocks go back; "
                "read as the first"
            )
        return aware

    def _local(self, wall: datetime) -> datetime:
        return _real(wall.replace(tzinfo=self._now.tzinfo))


def _whole(text: str, plain: PlainText) -> Expression:
    """The expression that the whole text is."""
    found = read_expression(plain.text, 0) if len(plain.text) <= LONGEST_READ else None
    if found is None or not _closes(plain.text, found.end):
        raise _wrong(text, "names no time", _EXPECTED)
    return found


def _at_end(plain: str) -> Iterator[tuple[int, Expression]]:
    """The expressions that a plain text ends with, and where they begin, longest first."""
    for at in range(max(0, len(plain) - LONGEST_READ), len(plain)):
        if _begins_word(plain, at):
            found = read_expression(plain, at)
            if found is not None and _closes(plain, found.end):
                yield at, found


def _closes(plain: str, end: int) -> bool:
    return _CLOSING.fullmatch(plain, end) is not None


def _begins_word(plain: str, at: int) -> bool:
    before, first = plain[at - 1 : at], plain[at]
    if first == " ":
        return False
    return not (_is_word(before) and _is_word(first)) and not (
        before in _DIGITS and first in _DIGITS
    )


def _ends_word(plain: str, end: int) -> bool:
    last, after = plain[end - 1 : end], plain[end : end + 1]
    return after != "'" and not (_is_word(last) and _is_word(after))


def _is_word(character: str) -> bool:
    return character.isascii() and character.isalnum()


def _of_part(point: Point, *, at_end: bool = False) -> ClockTime:
    """The time of day of a point, in the part of the day that it names."""
    if point.clock is None:
        part = point.part or Part.MORNING
        return ClockTime(part.end if at_end else part.start)
    return point.clock if point.part is None else in_part(point.clock, point.part)


def _real(local: datetime) -> datetime:
    """A time that the zone has: one in a gap is moved forward by it."""
    return local.astimezone(UTC).astimezone(local.tzinfo)


def _shown_moment(day: date, at: timedelta) -> str:
    moment = datetime.combine(day, time()) + at
    return f"{shown(moment.date())} {moment:%H:%M}"


def _wrong(text: str, what: str, expected: str) -> WrongEntry:
    said = text.strip()
    if len(said) > LONGEST_READ:
        said = f"{said[:LONGEST_READ]}…"
    return WrongEntry(f"“{said}” {what}. {expected}", field="")
