"""Times of day and lengths of time, in English and Chinese: patterns, and what they mean."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import timedelta
from enum import Enum
from typing import TypeAlias

import msgspec

from assistant.memory.times.chinese_dates import NUMERALS, number
from assistant.memory.times.english_future import NUMBER_WORDS, number_in

DAY = timedelta(days=1)
HALF_DAY = timedelta(hours=12)
#: Hours on the face of a clock that mean the afternoon where nothing is said: 1 to 7.
_AFTERNOON_HOURS = range(1, 8)


class Part(Enum):
    """A part of the day: the hours it takes when no time is given."""

    SMALL_HOURS = (0, 6)
    MORNING = (8, 12)
    NOON = (12, 13)
    AFTERNOON = (12, 18)
    EVENING = (18, 24)

    @property
    def start(self) -> timedelta:
        return timedelta(hours=self.value[0])

    @property
    def end(self) -> timedelta:
        return timedelta(hours=self.value[1])


class ClockTime(msgspec.Struct, frozen=True):
    """A time of day as it was said."""

    at: timedelta
    """Since midnight; 24 hours and more are the next day's."""
    twelve: bool = False
    """Whether it may be read off a face of twelve hours: an evening makes 22:30 of 10:30."""
    doubtful: bool = False
    """Whether nothing about it says which half of the day is meant, as 10:30 does and 9:30 not."""


Resolve: TypeAlias = Callable[[re.Match[str]], ClockTime]
ResolveLength: TypeAlias = Callable[[re.Match[str]], timedelta]


def in_part(clock: ClockTime, part: Part) -> ClockTime:
    """The time that is meant in a part of the day: "8 in the evening", 凌晨12点.

    Before five in the evening or at night is after midnight, and so the next day.
    """
    if not clock.twelve:
        return clock
    at, hour = clock.at, clock.at // timedelta(hours=1)
    if part is Part.SMALL_HOURS and hour == 12:
        at -= HALF_DAY
    elif (part is Part.NOON and hour < 10) or (part is Part.AFTERNOON and hour < 12):
        at += HALF_DAY
    elif part is Part.EVENING:
        at += DAY if hour < 5 else HALF_DAY
    return ClockTime(at)


def usual(clock: ClockTime) -> ClockTime:
    """The half of the day that is meant where nothing says so: 1 to 7 is in the afternoon."""
    if clock.doubtful and clock.at // timedelta(hours=1) in _AFTERNOON_HOURS:
        return ClockTime(clock.at + HALF_DAY)
    return ClockTime(clock.at)


def settled_range(start: ClockTime, end: ClockTime) -> tuple[ClockTime, ClockTime]:
    """Both ends of a range, where one tells which half of the day the other is in: 3 to 5pm.

    An end before the start is the next day's.
    """
    if start.twelve and not end.twelve:
        at = end.at - (end.at - start.at) % HALF_DAY
        start = ClockTime(start.at if at == end.at or at < timedelta() else at)
    start = usual(start)
    length = (end.at - start.at) % (HALF_DAY if end.twelve else DAY)
    return start, ClockTime(start.at + length)


def shown(at: timedelta) -> str:
    """A time of day as notes name it: `15:00`."""
    minutes = at // timedelta(minutes=1) % (24 * 60) or (24 * 60 if at else 0)
    return f"{minutes // 60:02}:{minutes % 60:02}"


_MINUTE = r"(?P<minute>[0-5][0-9])"
_HOUR = r"(?P<hour>[0-2]?[0-9])"
_HOUR_WORD = "one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve"
_HALF = r" ?(?P<half>[ap])\.?m\b\.?"
#: What may follow an hour that has no other sign of being one.
_BARE_END = r"(?![0-9]|[:.,/][0-9]|%| ?[ap]\.?m\b)"
_TO = r" ?(?:-|–|~|to|until|till|and) ?"

_CHINESE_NUMBER = rf"[0-9]{{1,2}}|[{NUMERALS}]{{1,2}}"
_CHINESE_HOUR = rf"(?P<hour>[0-9]{{1,2}}|[零〇{NUMERALS}]{{1,3}})[点时]"
_CHINESE_MINUTE = rf"[0-5]?[0-9]|[零〇]?[{NUMERALS}]{{1,3}}"
#: What is counted and no minute: 3点10个人.
_COUNTED = "(?![0-9]|[个人名位件次块元页款种份])"
#: A little, and no hour: 明天一点小事.
_A_LITTLE = "(?!一点[小儿都也])"


def _with_half(match: re.Match[str]) -> ClockTime:
    hour = int(match["hour"])
    if not 1 <= hour <= 12:
        raise ValueError("no such hour")
    return _time(hour % 12 + (12 if match["half"].lower() == "p" else 0), match["minute"])


def _on_the_clock(match: re.Match[str]) -> ClockTime:
    second = int(match["second"] or 0)
    twelve = not match["hour"].startswith("0") and 1 <= int(match["hour"]) <= 12
    found = _time(int(match["hour"]), match["minute"])
    return ClockTime(
        found.at + timedelta(seconds=second), twelve, doubtful=twelve and len(match["hour"]) == 1
    )


def _hour(match: re.Match[str]) -> ClockTime:
    hour = number_in(match["hour"])
    return _time(hour, None, twelve=not match["hour"].startswith("0") and 1 <= hour <= 12)


def _around_the_hour(match: re.Match[str]) -> ClockTime:
    """Half past three, a quarter to four, ten past 3."""
    words = {"half": 30, "quarter": 15, "a quarter": 15}
    said, way = match["minutes"] or match["digits"], match["way"] or match["minutes_way"] or "past"
    minutes = words.get(said.lower()) or number_in(said)
    sign = -1 if way.lower() in ("to", "before") else 1
    hour = number_in(match["hour"])
    if not 1 <= hour <= 12 or minutes >= 60:
        raise ValueError("no such time")
    at = timedelta(hours=hour, minutes=sign * minutes)
    return ClockTime(at if at >= timedelta(hours=1) else at + HALF_DAY, twelve=True, doubtful=True)


def _in_chinese(match: re.Match[str]) -> ClockTime:
    hour = _number(match["hour"])
    minute = match["minute"] or match["bare_minute"]
    minutes = _number(minute) if minute else 0
    if match["quarter"]:
        minutes = {"半": 30, "一刻": 15, "三刻": 45}[match["quarter"]]
    return _time(hour, str(minutes), twelve=1 <= hour <= 12 and match["hour"][0] not in "0零〇")


def _number(text: str) -> int:
    """A number in which 零 may stand first: 零, 零五, 十五."""
    digits = text.lstrip("零〇")
    return number(digits) if digits else 0


def _time(hour: int, minute: str | None, *, twelve: bool = False) -> ClockTime:
    at = timedelta(hours=hour, minutes=int(minute or 0))
    if at > DAY or (minute and int(minute) > 59):
        raise ValueError("no such time")
    return ClockTime(at, twelve, doubtful=twelve)


#: Times that are known as such by themselves.
CLOCKS: tuple[tuple[str, Resolve], ...] = (
    # 3pm, 3:30 p.m., 3.30pm
    (rf"(?P<hour>[01]?[0-9])(?:[:.]{_MINUTE})?{_HALF}", _with_half),
    # 15:00, 9:30, 15:00:30
    (
        rf"{_HOUR}:{_MINUTE}(?::(?P<second>[0-5][0-9]))?(?![0-9]|:[0-9])(?: ?(?:h|hrs|o'clock)\b)?",
        _on_the_clock,
    ),
    # 3 o'clock, three o'clock
    (rf"(?P<hour>[0-2]?[0-9]|{_HOUR_WORD}) ?o'clock\b", _hour),
    # 3 in the afternoon, 8 tonight, nine tomorrow
    (
        rf"(?P<hour>1[0-2]|[1-9]|{_HOUR_WORD})(?= (?:in the (?:morning|afternoon|evening)"
        r"|at night|tonight|tomorrow|this (?:morning|afternoon|evening))\b)",
        _hour,
    ),
    # the first of "3 to 5pm"
    (
        rf"(?P<hour>1[0-2]|[1-9])(?={_TO}[0-9]{{1,2}}(?:[:.][0-5][0-9])? ?[ap]\.?m\b)",
        _hour,
    ),
    # the first of 3到5点, 3-5点
    (
        rf"(?P<hour>{_CHINESE_NUMBER})(?= ?[-–~到至] ?(?:{_CHINESE_NUMBER})点)",
        lambda match: _time(number(match["hour"]), None, twelve=number(match["hour"]) <= 12),
    ),
    # half past three, quarter to four, ten past 3; "9 to 11" is a stretch
    (
        rf"(?<!from )(?:(?P<minutes>half|a quarter|quarter|{NUMBER_WORDS})(?: minutes)?"
        rf" (?P<way>past|after|to|before)|(?P<digits>[0-5]?[0-9])"
        rf" (?:minutes (?P<minutes_way>past|after|to|before)|past))"
        rf" (?P<hour>1[0-2]|[1-9]|{_HOUR_WORD})\b{_BARE_END}",
        _around_the_hour,
    ),
    (r"(?:12 ?)?(?:noon|midday)\b|正午", lambda match: ClockTime(HALF_DAY)),
    # the end of the day that is named with it
    (r"(?:12 ?)?midnight\b|午夜", lambda match: ClockTime(DAY)),
    # 3点, 三点半, 3点一刻, 15点30分, 十点零五
    (
        rf"{_A_LITTLE}{_CHINESE_HOUR}(?!间)(?:钟|整|(?P<quarter>半|[一三]刻)钟?"
        rf"|(?P<minute>{_CHINESE_MINUTE})分(?!钟)"
        rf"|(?P<bare_minute>[0-5][0-9]|[零〇][{NUMERALS}]|[{NUMERALS}]?十[{NUMERALS}]?){_COUNTED})?",
        _in_chinese,
    ),
)

#: An hour alone, where something else says that it is one: "at 3", "tomorrow 10", "from 9 to 11".
BARE_HOURS: tuple[tuple[str, Resolve], ...] = (
    (rf"(?P<hour>[01]?[0-9]|2[0-4]|{_HOUR_WORD})\b{_BARE_END}", _hour),
)

#: Early or late in one character: 明早, 今晚, 晚8点; not 早一点.
_ONE_CHARACTER = (
    rf"(?:(?<=[今明后昨]){{0}}|(?<=周[{NUMERALS}日天]){{0}}"
    rf"|{{0}}(?!一点)(?=(?:[0-9]{{{{1,2}}}}|[{NUMERALS}]{{{{1,3}}}})[点:]))"
)

PARTS: tuple[tuple[str, Part], ...] = (
    (r"(?:in the )?early (?:in the )?morning\b|凌晨", Part.SMALL_HOURS),
    (
        r"(?:in the )?morning\b|早上|一大?早|早晨|清晨|清早|上午"
        rf"|{_ONE_CHARACTER.format('早')}",
        Part.MORNING,
    ),
    (r"中午|午间", Part.NOON),
    (r"(?:in the )?afternoon\b|下午|午后", Part.AFTERNOON),
    (
        r"(?:in the )?evening\b|(?:at )?night\b|傍晚|晚上|晚间|夜里|夜晚|夜间|深夜|半夜"
        rf"|{_ONE_CHARACTER.format('[晚夜]')}",
        Part.EVENING,
    ),
)

_COUNT = rf"(?P<count>[0-9]{{1,4}}(?:\.[0-9])?|(?:{NUMBER_WORDS})\b)"
_CHINESE_COUNT = rf"(?P<count>[0-9]{{1,4}}(?:\.[0-9])?|[{NUMERALS}]{{1,3}})"


def _length(match: re.Match[str]) -> timedelta:
    hours, minutes = _one_length(match["count"], match["unit"]), timedelta()
    if match["half"]:
        minutes = timedelta(minutes=30)
    elif match["minutes"]:
        minutes = timedelta(minutes=int(match["minutes"]))
    return hours + minutes


def _one_length(count: str, unit: str) -> timedelta:
    amount = float(count) if "." in count else number_in(count)
    seconds = {"h": 3600, "m": 60, "s": 1}[unit[0].lower()]
    return timedelta(seconds=round(amount * seconds))


def _chinese_length(match: re.Match[str]) -> timedelta:
    count, minutes = match["count"], match["minutes"]
    hours = float(count) if "." in count else number(count)
    whole = timedelta(seconds=round(hours * 3600))
    if match["half"]:
        return whole + timedelta(minutes=30)
    return whole + timedelta(minutes=number(minutes) if minutes else 0)


#: Two hours, half an hour, 90 minutes, 一个半小时: lengths of absolute time.
LENGTHS: tuple[tuple[str, ResolveLength], ...] = (
    (r"half an hour\b", lambda match: timedelta(minutes=30)),
    (r"(?:a )?quarter of an hour\b", lambda match: timedelta(minutes=15)),
    (
        rf"{_COUNT} ?(?P<unit>hours?|hrs?|h|minutes?|mins?|m|seconds?|secs?)\b"
        r"(?P<half> and a half\b)?"
        r"(?:,? ?(?:and )?(?P<minutes>[0-9]{1,2}) ?(?:minutes?|mins?|m)\b)?",
        _length,
    ),
    (
        r"(?P<count>an?|one|two|three|four)(?P<half> and a half) (?P<unit>hours?)(?P<minutes>)",
        _length,
    ),
    ("半个?(?:小时|钟头)", lambda match: timedelta(minutes=30)),
    ("(?P<quarters>[一三])刻钟", lambda match: timedelta(minutes=15 * number(match["quarters"]))),
    (
        rf"{_CHINESE_COUNT}个?(?P<half>半)?个?(?:小时|钟头)"
        rf"(?:零?(?P<minutes>[0-9]{{1,2}}|[{NUMERALS}]{{1,3}})分钟?)?",
        _chinese_length,
    ),
    (
        rf"{_CHINESE_COUNT}(?:分钟|分(?=[之以]?后))",
        lambda match: _one_length(str(number(match["count"])), "m"),
    ),
    (rf"{_CHINESE_COUNT}秒钟?", lambda match: _one_length(str(number(match["count"])), "s")),
)
