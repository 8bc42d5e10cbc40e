"""Dates, times, amounts, numbers, codes and links in a text, English and Chinese.

Each has a key, which is the same for every common spelling of it: 12,800 and 1.28万, March 4 and
3月4日, PX-4471 and px 4471. Every pattern is bounded, so that any text is read in linear time.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from decimal import Decimal, InvalidOperation
from typing import Literal, TypeAlias, TypeGuard, get_args

import msgspec

ValueKind: TypeAlias = Literal["link", "code", "date", "time", "amount", "number"]


class Key(msgspec.Struct, frozen=True):
    """What a value is, however it is written."""

    word: str
    detail: str = ""
    """What not everyone writes: the year, the half of the day, the currency."""

    def is_same(self, other: Key) -> bool:
        """Equal as far as both say."""
        if self.word != other.word:
            return False
        return not self.detail or not other.detail or self.detail == other.detail


class Value(msgspec.Struct, frozen=True):
    """One value and where it stands: `text[start:end]`."""

    kind: ValueKind
    start: int
    end: int
    key: Key
    relative: bool = False
    """A date that is only known with the day it was said: tomorrow, Friday, 下周三."""
    bare: bool = False
    """A number that has neither a unit nor a word that says what it is."""


#: Wide letters, digits and signs as the narrow ones, one for one: offsets stay what they are.
_NARROW = str.maketrans(
    {
        chr(code): chr(code - 0xFEE0)
        for code in range(0xFF01, 0xFF5F)
        if chr(code) not in "，；！？（）"
    }
    | {"￥": "¥", "‐": "-", "‑": "-", "–": "-", "’": "'", "\u00a0": " "}
)


def narrow(text: str) -> str:
    """The text with wide letters and digits as ordinary ones; each character keeps its place."""
    return text.translate(_NARROW)


def find_values(text: str) -> list[Value]:
    """What stands in the text, in order; where two overlap, the more certain kind has it."""
    plain = narrow(text)
    taken = bytearray(len(plain))
    found: list[Value] = []
    for find in _FINDERS:
        for value in find(plain):
            if not any(taken[value.start : value.end]):
                taken[value.start : value.end] = b"\x01" * (value.end - value.start)
                found.append(value)
    found.sort(key=lambda value: value.start)
    return found


def is_valued(kind: str) -> TypeGuard[ValueKind]:
    """Whether items of this kind are values."""
    return kind in get_args(ValueKind)


def key_of(kind: ValueKind, text: str) -> Key:
    """The key of a value that was found before and stands alone now."""
    plain = narrow(text)
    if kind == "link":
        return _link_key(plain)
    if kind == "code":
        return _code_key(plain)
    if kind in ("amount", "number"):
        return _number_key(plain)
    finders = (_dates, _relative_dates) if kind == "date" else (_times,)
    found = next((value for find in finders for value in find(plain)), None)
    return found.key if found else Key(plain.casefold())


def code_pattern(value: str) -> re.Pattern[str]:
    """Finds a code however it is spaced, hyphenated or cased, and not inside a longer one."""
    signs = re.findall(r"[^\W_]", narrow(value)) or list(value)
    body = r"[\W_]{0,2}".join(map(re.escape, signs))
    return re.compile(rf"(?<![A-Za-z0-9]){body}(?![A-Za-z0-9])", re.IGNORECASE)


# --- numbers ------------------------------------------------------------------------------------

_DIGITS = "零〇一二三四五六七八九"
_CN = "[零〇一二两三四五六七八九十]{1,3}"
_CN_LONG = "[零〇一二两三四五六七八九十百千万亿]{1,14}"
_NUM = (
    r"(?:\d{1,3}(?:\.\d{3}){1,4},\d{2}(?!\d)|\d{1,3}(?:[,，' ]\d{3}){1,5}(?:\.\d{1,6})?"
    r"|\d{1,15}(?:\.\d{1,6})?)"
)
_CN_ROUND = "[一二两三四五六七八九十]{1,3}[百千万亿][零一二两三四五六七八九十百千万]{0,10}"
_SMALL = (
    "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven",
    "twelve", "thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen",
)  # fmt: skip
_TENS = ("twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety")
_ENGLISH = {
    **{word: number for number, word in enumerate(_SMALL, 1)},
    **{word: 10 * number for number, word in enumerate(_TENS, 2)},
    "a": 1, "hundred": 100, "thousand": 1_000, "million": 1_000_000,
}  # fmt: skip
_ENGLISH_WORD = rf"(?:{'|'.join(word for word in _ENGLISH if word != 'a')})"
_SPELLED = (
    rf"(?:\b(?:a (?=hundred|thousand|million))?{_ENGLISH_WORD}"
    rf"(?:(?: and |[ -]){_ENGLISH_WORD}){{0,8}}\b)"
)
_TIMES = r"(?:\s?(?:thousand|million|billion|bn)\b|[kKmM](?![A-Za-z])|\s?[千万亿萬億])"
_MULTIPLIERS = {
    "k": 1_000, "thousand": 1_000, "千": 1_000, "万": 10_000, "萬": 10_000, "m": 1_000_000,
    "million": 1_000_000, "亿": 100_000_000, "億": 100_000_000, "bn": 10**9, "billion": 10**9,
}  # fmt: skip
_FIGURE = re.compile(rf"(?<![\d.,]){_NUM}(?![\d])({_TIMES})?|{_CN_LONG}|(?i:{_SPELLED})")
_CURRENCIES = (
    ("USD", r"(?:US)?\$|dollars?|bucks?|usd|美元|美金|刀"),
    ("EUR", r"€|euros?|eur|欧元"),
    ("GBP", r"£|pounds?|quid|gbp|英镑"),
    ("JPY", r"yen|jpy|日元"),
    ("HKD", r"HK\$|hkd|港币|港元"),
    ("CNY", r"¥|yuan|rmb|cny|人民币|元|块钱?|圆"),
)
_CURRENCY_SIGNS = tuple((name, re.compile(signs, re.IGNORECASE)) for name, signs in _CURRENCIES)


#: From a hundred on: smaller ones are counting words.
_SPELLED_ROUND = (
    rf"\b(?:a|{_ENGLISH_WORD})(?:[ -]{_ENGLISH_WORD})?[ -](?:hundred|thousand|million)\b"
    rf"(?:(?: and |[ -]){_ENGLISH_WORD}){{0,6}}"
)


def english_number(text: str) -> int:
    """Two hundred and fifty as 250."""
    total = section = 0
    for word in re.findall(r"[a-z]+", text.lower()):
        number = _ENGLISH.get(word, 0)
        if number >= 1_000:
            total, section = total + (section or 1) * number, 0
        elif number == 100:
            section = (section or 1) * 100
        else:
            section += number
    return total + section


def chinese_number(text: str) -> int | None:
    """三千五百 as 3500, 一万五 as 15000; None for what is no number."""
    total = section = digit = 0
    if (short := re.search(r"([百千万亿])[一二三四五六七八九]$", text)) and len(text) > 2:
        text += {"百": "十", "千": "百", "万": "千", "亿": "千万"}[short[1]]
    for sign in text:
        if sign in "十百千":
            unit = {"十": 10, "百": 100, "千": 1_000}[sign]
            section, digit = section + (digit or 1) * unit, 0
        elif sign in "万亿":
            unit = {"万": 10_000, "亿": 100_000_000}[sign]
            total, section, digit = (total + section + digit) * unit, 0, 0
        elif sign in "两二":
            digit = 2
        elif sign in _DIGITS:
            digit = max(0, _DIGITS.index(sign) - 1)
        else:
            return None
    return total + section + digit


def numbers_in(text: str) -> Iterator[tuple[int, Key]]:
    """Every number in a text, with a unit or without: where it stands and its key."""
    plain = narrow(text)
    for match in _FIGURE.finditer(plain):
        near = plain[max(0, match.start() - 4) : match.end() + 5]
        if number := _figure(match):
            yield match.start(), Key(number, _currency(near))


def _number_key(plain: str) -> Key:
    match = _FIGURE.search(plain)
    return Key(_figure(match) if match else plain.casefold(), _currency(plain))


def _figure(match: re.Match[str]) -> str:
    text = match.group()
    if not text[0].isascii():
        number = chinese_number(text)
        return "" if number is None else str(number)
    if text[0].isalpha():
        return str(english_number(text))
    times = (match.group(1) or "").strip().lower()
    digits = text[: len(text) - len(match.group(1) or "")]
    if re.fullmatch(r"[\d.]+,\d\d", digits) and "." in digits:
        digits = digits.replace(".", "").replace(",", ".")
    digits = re.sub(r"[,，' ]", "", digits)
    try:
        value = Decimal(digits) * _MULTIPLIERS.get(times, 1)
    except InvalidOperation:
        return digits
    return f"{value.normalize():f}"


def _currency(text: str) -> str:
    return next((name for name, signs in _CURRENCY_SIGNS if signs.search(text)), "")


_SIGN = r"(?:US\$|HK\$|[$€£¥₹])"
_MONEY_WORD = (
    r"(?:(?:dollars?|bucks|quid|grand|euros?|pounds|yuan|rmb|usd|eur|gbp|cny|jpy|yen|hkd)\b"
    r"|美元|美金|欧元|英镑|日元|港币|人民币|元|块钱|(?<=\d\d)块(?![石蛋饼布地肉木玻])|块(?![\u4e00-\u9fff])|[€£])"
)
_PRICED = (
    r"(?:\b(?:budget|rent|price|costs?|salary|deposit|fee|quote|loan|bonus|fare|bill|invoice"
    r"|total|spend|mortgage|tuition|wages?|premium|pension|worth|quoted|offered|charged?"
    r"|earns?|owes?|lent|borrowed|saved)\b(?:[ :=]+\w{1,14}){0,6}?[ :=]+"
    r"|(?:预算|房租|租金|价格|工资|月薪|押金|定金|费用|报价|总价|尾款|学费|贷款|会费|首付|借|欠|年薪|收入"
    r"|奖金|存款|彩礼|涨到|降到|红包)"
    r"[^\d，。,；;\n]{0,8})"
)
_AMOUNT = re.compile(
    rf"{_SIGN}\s?{_NUM}{_TIMES}?"
    rf"|(?<![\d.,A-Za-z-]){_NUM}{_TIMES}?\s?{_MONEY_WORD}"
    rf"|{_CN_LONG}\s?{_MONEY_WORD}|{_SPELLED}\s{_MONEY_WORD}",
    re.IGNORECASE,
)
_PRICE = re.compile(
    rf"{_PRICED}(?P<amount>{_NUM}{_TIMES}?|{_CN_ROUND})"
    r"(?![\d:%/-]|\s?(?:am|pm|days?|weeks?|months?|[年月日天个]))",
    re.IGNORECASE,
)


def _amounts(plain: str) -> Iterator[Value]:
    for match in _AMOUNT.finditer(plain):
        yield Value("amount", *match.span(), _number_key(match.group()))
    for match in _PRICE.finditer(plain):
        amount = match.group("amount")
        if len(amount) > 1 and not re.fullmatch(r"(?:19|20)\d\d", amount):
            yield Value("amount", *match.span("amount"), _number_key(amount))


_UNIT = (
    r"(?:(?:kg|g|mg|mcg|ml|cl|l|km|cm|mm|m|mi|miles?|lbs?|pounds|oz|GB|TB|MB|kW|kWh|W|V|mph|sqm|m2"
    r"|km/h|kcal|calories|people|guests|persons|litres?|liters?|percent|years old|bedrooms?"
    r"|steps|units|copies|pieces|points|degrees)\b"
    r"|%|°C?|℃|㎡|公斤|千克|克|斤|厘米|毫米|毫克|毫升|升|公里|千米|米|平米|平方米|平方|大卡|卡"
    r"|岁|位客人|个人|人|度|步|页|份|箱)"
)
_MEASURED = re.compile(
    rf"(?<![\w.,]){_NUM}{_TIMES}?\s?-?{_UNIT}"
    rf"|(?<![\d.A-Za-z-]){_NUM}\s?{_UNIT}"
)
_BARE = re.compile(
    r"(?<![A-Za-z0-9_.,:/-])"
    r"(?:(?:\d{1,3}(?:,\d{3}){1,5}(?:\.\d{1,6})?|\d{3,6}(?:\.\d{1,6})?|\d{1,2}\.\d{1,6})"
    rf"{_TIMES}?|\d{{1,3}}{_TIMES})(?![\w.]*[\d:/])|{_CN_ROUND}|{_SPELLED_ROUND}",
    re.IGNORECASE,
)


def _numbers(plain: str) -> Iterator[Value]:
    for match in _MEASURED.finditer(plain):
        yield Value("number", *match.span(), _number_key(match.group()))
    for match in _BARE.finditer(plain):
        if not re.fullmatch(r"(?:19|20)\d\d", match.group()):
            yield Value("number", *match.span(), _number_key(match.group()), bare=True)


# --- dates and times ----------------------------------------------------------------------------

_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_MONTH = (
    r"(?P<month>jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?"
    r"|sept?(?:ember)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)\b(?:\.(?=,?\s?\d))?"
)
_ISO_DATE = re.compile(r"(?<![\d.-])(?P<y>\d{4})[-/.](?P<m>\d{1,2})[-/.](?P<d>\d{1,2})(?![\d-])")
_DOTTED_DATE = re.compile(
    r"(?<![\d./])(?P<a>\d{1,2})(?P<sign>[./])(?P<b>\d{1,2})(?P=sign)(?P<y>\d{4})(?!\d)"
)
_ENGLISH_DATE = re.compile(
    rf"\b{_MONTH}\s+(?P<d>\d{{1,2}})(?:st|nd|rd|th)?(?![\d:%])(?:,?\s+(?P<y>(?:19|20)\d\d)\b)?",
    re.IGNORECASE,
)
_BRITISH_DATE = re.compile(
    rf"(?<![\w.])(?P<d>\d{{1,2}})(?:st|nd|rd|th)?\s+(?:of\s+)?{_MONTH}"
    rf"(?:,?\s+(?P<y>(?:19|20)\d\d)\b)?",
    re.IGNORECASE,
)
_MONTH_YEAR = re.compile(
    rf"\b{_MONTH},?\s+(?P<y>(?:19|20)\d\d)\b"
    rf"|\b(?:early|mid|late|end of|beginning of)[ -]{_MONTH.replace('month', 'part')}",
    re.IGNORECASE,
)
_CHINESE_DATE = re.compile(
    rf"(?:(?P<y>\d{{4}}|[{_DIGITS}]{{4}})\s?年\s?)?(?P<m>\d{{1,2}}|{_CN})\s?月"
    rf"(?:\s?(?P<d>\d{{1,2}}|{_CN})\s?[日号號])"
)
_CHINESE_MONTH = re.compile(
    rf"(?:(?P<y>\d{{4}})\s?年\s?)(?P<m>\d{{1,2}})\s?月(?!\s?\d)"
    rf"|(?P<m2>\d{{1,2}}|{_CN})月(?:底|初|中旬|上旬|下旬)"
)
_DAY_OF_MONTH = re.compile(
    r"\b(?:on|by|until|till|before|after|due) (?P<d>the \d{1,2}(?:st|nd|rd|th))\b"
    r"|(?<=每月)(?P<e>\d{1,2}[日号])|(?<![\d月])(?P<f>\d{1,2}号)(?=之?前|以前|截止|出发|交|到期)",
    re.IGNORECASE,
)


def _dates(plain: str) -> Iterator[Value]:
    yield from _calendar(_ISO_DATE, plain, lambda m: (m["y"], m["m"], m["d"]))
    yield from _calendar(_DOTTED_DATE, plain, _dotted)
    yield from _calendar(_CHINESE_DATE, plain, lambda m: (m["y"], m["m"], m["d"]))
    yield from _calendar(_ENGLISH_DATE, plain, lambda m: (m["y"], m["month"], m["d"]))
    yield from _calendar(_BRITISH_DATE, plain, lambda m: (m["y"], m["month"], m["d"]))
    yield from _calendar(_CHINESE_MONTH, plain, lambda m: (m["y"], m["m"] or m["m2"], None))
    yield from _calendar(_MONTH_YEAR, plain, lambda m: (m["y"], m["month"] or m["part"], None))
    for match in _DAY_OF_MONTH.finditer(plain):
        group = match.lastgroup or "d"
        day = re.sub(r"\D", "", match[group])
        yield Value("date", *match.span(group), Key(f"day {int(day)}"))


_Parts: TypeAlias = tuple[str | None, str, str | None]


def _calendar(
    pattern: re.Pattern[str], plain: str, parts: Callable[[re.Match[str]], _Parts]
) -> Iterator[Value]:
    for match in pattern.finditer(plain):
        year, month, day = (_calendar_number(part) for part in parts(match))
        # "you may 5" and "march 20 miles" are verbs.
        if match.group().startswith(("may", "mar")) and match.group()[:1].islower():
            continue
        if 1 <= month <= 12 and 0 <= day <= 31:
            word = f"{month:02}-{day:02}" if day else f"{month:02}"
            yield Value("date", *match.span(), Key(word, str(year) if year else ""))


def _dotted(match: re.Match[str]) -> _Parts:
    first, second = match["a"], match["b"]
    day_first = match["sign"] == "." or int(first) > 12
    return (match["y"], second, first) if day_first else (match["y"], first, second)


def _calendar_number(part: str | None) -> int:
    if not part:
        return 0
    if part.isdecimal():
        return int(part)
    if part[0].isascii():
        return _MONTHS.index(part[:3].lower()) + 1
    if len(part) == 4:
        return int("".join(str(max(0, _DIGITS.index(sign) - 1)) for sign in part))
    return chinese_number(part) or 0


_WEEKDAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_WEEKDAY = re.compile(
    r"(?<!last )\b(?P<every>(?:every|each) (?:other |second |third |first |last )?)?"
    r"(?P<which>next |this |coming )?"
    r"(?P<day>mon|tues|wednes|thurs|fri|satur|sun)day(?P<plural>s)?\b"
    r"|(?<![一二两三四五六七八九十\d半几上])(?P<cn_every>每)?(?P<cn_which>下下|下|这|本)?个?"
    r"(?:周|星期|礼拜)(?P<cn_day>[一二三四五六日天])(?!次)",
    re.IGNORECASE,
)
_LATER_DAY = re.compile(
    r"\b(?:the day after tomorrow|tomorrow|next (?:week|month|year|weekend)"
    r"|in (?:a|two|three|four|five|six|\d{1,2}) (?:days|weeks?|months?))\b"
    r"|大后天|后天|明[天晚早]|下下?个?[周月](?![一二三四五六日天])|明年|月底|年底",
    re.IGNORECASE,
)


def _relative_dates(plain: str) -> Iterator[Value]:
    for match in _WEEKDAY.finditer(plain):
        english = match["day"]
        if english:
            number = [name[:3] for name in _WEEKDAYS].index(english[:3].lower())
        else:
            number = "一二三四五六日".find(match["cn_day"].replace("天", "日"))
        repeated = bool(match["every"] or match["plural"] or match["cn_every"])
        which = (match["which"] or "").strip().lower() or match["cn_which"] or ""
        detail = "next" if which in ("next", "下") else ""
        yield Value("date", *match.span(), Key(f"weekday {number}", detail), relative=not repeated)
    for match in _LATER_DAY.finditer(plain):
        yield Value("date", *match.span(), Key(match.group().lower()), relative=True)


_CLOCK = re.compile(
    r"(?<![\w:.$-])(?P<h>\d{1,2})(?:[:.](?P<m>[0-5]\d))?\s?(?P<half>[ap])(?:\.m\.?|m\b)"
    r"|(?<![\d:.-])(?P<h24>[01]?\d|2[0-3]):(?P<m24>[0-5]\d)(?::[0-5]\d)?(?![\d:])"
    r"|\b(?P<past>half|quarter) (?P<to>past|to) (?P<at>[a-z]{3,6}|\d{1,2})\b"
    r"|\b(?P<word>noon|midnight)\b|\b(?P<oclock>\d{1,2}) o'clock\b",
    re.IGNORECASE,
)
_PART_OF_DAY = "凌晨|清晨|早上|早晨|上午|中午|下午|傍晚|晚上|今晚|明晚|夜里|晚"
_CHINESE_CLOCK = re.compile(
    rf"(?:(?P<part>{_PART_OF_DAY})\s?)?(?<!\d)(?P<h>\d{{1,2}}|{_CN})\s?"
    rf"(?:[点點](?P<m>半|一刻|三刻|整|钟|(?:\d{{1,2}}|{_CN})分|[0-5]\d)?"
    rf"|(?(part):(?P<colon>[0-5]\d)|(?!)))"
)
_AFTER_CLOCK = re.compile(r"$|[见开到出起的去来吃在之前后接上下结，。,!！?？；;、)）\s]")
_MINUTES = {"半": 30, "一刻": 15, "三刻": 45, "整": 0, "钟": 0}


def _times(plain: str) -> Iterator[Value]:
    for match in _CHINESE_CLOCK.finditer(plain):
        # Alone, 三点 may be three points and 一点 a little.
        alone = not match["part"] and not match["m"] and not match["colon"]
        if alone and (match["h"] in "一两" or not _AFTER_CLOCK.match(plain, match.end())):
            continue
        hour = _calendar_number(match["h"])
        minute = _minute(match["m"] or match["colon"] or "")
        half = _half(match["part"] or "", hour)
        if hour <= 24 and minute < 60:
            yield Value("time", *match.span(), _time_key(hour, minute, half))
    for match in _CLOCK.finditer(plain):
        if match["word"]:
            half = "pm" if match["word"].lower() == "noon" else "am"
            yield Value("time", *match.span(), _time_key(12, 0, half))
            continue
        if match["past"]:
            yield from _spoken_time(match)
            continue
        hour = int(match["h"] or match["h24"] or match["oclock"])
        half = f"{match['half'].lower()}m" if match["half"] else ("pm" if hour > 12 else "")
        minute = int(match["m"] or match["m24"] or 0)
        if hour <= 24:
            yield Value("time", *match.span(), _time_key(hour, minute, half))


def _spoken_time(match: re.Match[str]) -> Iterator[Value]:
    """Half past three, quarter to 9."""
    hour = int(match["at"]) if match["at"].isdecimal() else english_number(match["at"])
    minute = 30 if match["past"].lower() == "half" else 15
    if match["to"].lower() == "to":
        hour, minute = hour + 11, 60 - minute
    if 1 <= hour <= 23:
        yield Value("time", *match.span(), _time_key(hour, minute, ""))


def _minute(text: str) -> int:
    if text in _MINUTES:
        return _MINUTES[text]
    return _calendar_number(text.rstrip("分")) if text else 0


def _half(part: str, hour: int) -> str:
    if part in ("下午", "傍晚", "晚上", "今晚", "明晚", "晚", "中午"):
        return "pm"
    return "am" if part else ("pm" if hour > 12 else "")


def _time_key(hour: int, minute: int, half: str) -> Key:
    return Key(f"{hour % 12:02}:{minute:02}", half)


# --- codes and links ----------------------------------------------------------------------------

_LINK = re.compile(
    r"(?:https?://|(?<![\w.])www\.)[^\s<>\"'`，。；、！？）】》)\]]{1,500}"
    r"|(?<![\w.+-])[A-Za-z0-9][\w.+-]{0,63}@[A-Za-z0-9-]{1,63}(?:\.[A-Za-z0-9-]{1,63}){1,4}"
    r"|(?<![\w/.~])(?:~|\.{1,2}|[A-Za-z]:)?[/\\](?:[\w.-]{1,80}[/\\]){1,12}[\w.-]{1,80}"
    r"|(?<![\w/\\.-])[\w-]{2,60}\.(?:pdf|docx?|xlsx?|csv|pptx?|txt|md|zip|png|jpe?g|json)\b",
    re.ASCII,
)


def _links(plain: str) -> Iterator[Value]:
    for match in _LINK.finditer(plain):
        text = match.group().rstrip(".,;:!?)")
        yield Value("link", match.start(), match.start() + len(text), _link_key(text))


def _link_key(text: str) -> Key:
    return Key(text.casefold().rstrip("/"))


_TOKEN = re.compile(r"(?<![A-Za-z0-9_@/\\.$€£¥-])#?[A-Za-z0-9][A-Za-z0-9_-]{1,63}(?![A-Za-z0-9@%])")
_SPECIAL_CODE = re.compile(
    r"(?<![\d.])\d{1,3}(?:\.\d{1,3}){3}(?![\d.])"
    r"|(?<![\w.])v\d{1,4}(?:\.\d{1,4}){1,3}\b"
    r"|[京津沪渝冀豫云辽黑湘皖鲁新苏浙赣鄂桂甘晋蒙陕吉闽贵粤青藏川宁琼][A-Z][·\s]?[A-Z0-9]{5,6}"
    r"|(?<![A-Za-z0-9])[A-Z]{2}\s\d{3,4}(?![\d:])"
    r"|(?<!\d)\d{1,4}\s?(?:室|号房|号楼|栋|单元|号柜|号门)"
    r"|[A-Z]座\s?\d{2,4}"
)
_PHONE = re.compile(
    r"(?<![\w+.-])(?:\+\d{1,3}[ -]?)?(?:\(\d{2,4}\)[ -]?)?\d{2,4}(?:[ -]\d{2,8}){1,4}(?![\w-])"
)
_CODED = re.compile(
    r"(?:\b(?:code|pin|combination|coupon|voucher|passcode|ref(?:erence)?|booking|confirmation|order|invoice|ticket|case"
    r"|serial|tracking|account|policy|plate|locker|room|gate|seat|flight|train|platform|extension"
    r"|apartment|apt|box|bay|shelf|id|number)\b\.?(?: (?:number|no\.|code|id))?"
    r"(?: (?:for|of|to|on|at|in)(?: [\w'-]{1,20}){1,4}?)?(?: (?:is|was|has|will|to|now|be))*"
    r"|(?:密码|口令|验证码|代码|编号|单号|订单号?|车牌号?|房间号?|房号|座位号?|登机口|航班号?|账号"
    r"|帐号|卡号|电话|手机号?|会员号|取件码|邀请码|暗号|门禁码?|后四位|尾号|证号|储物柜|货号|型号|号码)"
    r"(?:[^\d\s，。,；;A-Za-z]{0,6}))"
    r"\s?[:=]?\s?['\"“]?(?P<code>#?[A-Za-z]{0,6}[-]?\d[A-Za-z0-9_-]{0,40}"
    r"|(?-i:[A-Z]{2,12}(?:-[A-Z]{2,12}){1,4}))(?![\d.]*[%:])",
    re.IGNORECASE,
)
_NO_SECRET = re.compile(
    r"wrong|correct|right|strong|weak|required|needed|invalid|expired|missing|forgotten|still|also"
    r"|there|here|what|case|only|very|always|never|something|really|about|just|that|this",
    re.IGNORECASE,
)
_PLACE = re.compile(
    r"room|gate|seat|platform|locker|apartment|apt|box|bay|shelf|房|座位|登机口|储物柜",
    re.IGNORECASE,
)
_SECRET = re.compile(
    r"(?:\b(?:password|passcode|passphrase|pwd)\b"
    r"(?: (?:for|of|to|on|at|in)(?: [\w'-]{1,20}){1,4}?)?"
    r"(?: is now| is| was|\s?[:=])|(?:密码|口令|暗号)\s?(?:改成|改为|是|为|[:=]))"
    r"\s{0,2}['\"“]?(?P<code>(?![,;'\"])[!-~]{4,64}?)(?=[\s,;'\"]|[^!-~]|$)",
    re.IGNORECASE,
)
_MEASURE_OR_WORD = re.compile(
    r"\d+(?:km|kg|g|mg|ml|l|cm|mm|m|h|hr|hrs|min|mins|s|ms|gb|mb|kb|tb|mhz|ghz|hz|w|kw|kwh|v|px|p"
    r"|am|pm|st|nd|rd|th|k|x|d|fps|bit|rpm|c|f|in|ft|lbs?|oz|usd|eur|rmb|cny|bn|mph|sqm|kcal|s)"
    r"|\d+(?:-[a-z]{2,})+|\d+-\d+|[a-z]+(?:-[a-z]+)*-?\d{1,2}|\d{4}s",
    re.IGNORECASE,
)


def _codes(plain: str) -> Iterator[Value]:
    for match in _SECRET.finditer(plain):
        secret = match["code"].rstrip(".!?")
        if not _NO_SECRET.fullmatch(secret):
            start = match.start("code")
            yield Value("code", start, start + len(secret), _code_key(secret))
    for match in _CODED.finditer(plain):
        if _is_named_code(match.group(), match["code"]):
            yield Value("code", *match.span("code"), _code_key(match["code"]))
    for match in _SPECIAL_CODE.finditer(plain):
        yield Value("code", *match.span(), _code_key(match.group()))
    for match in _TOKEN.finditer(plain):
        if _is_code(match.group().rstrip("-_")):
            yield Value("code", *match.span(), _code_key(match.group()))
    for match in _PHONE.finditer(plain):
        text = match.group()
        if 7 <= sum(map(str.isdigit, text)) <= 16 and (text[0] in "+(" or "-" in text):
            yield Value("code", *match.span(), _code_key(text))


def _is_named_code(phrase: str, code: str) -> bool:
    """Whether what follows a word like "order" or "room" names one, and isn't "order 12 pizzas"."""
    if not code.isdecimal():
        return "-" not in code or not _MEASURE_OR_WORD.fullmatch(code)
    if re.fullmatch(r"(?:19|20)\d\d", code):
        return not re.search(r" (?:in|of|for) ", phrase) or " is" in phrase
    return len(code) >= 3 or bool(_PLACE.match(phrase))


def _is_code(token: str) -> bool:
    digits = sum(map(str.isdigit, token))
    letters = sum(map(str.isalpha, token))
    if not letters:
        return (digits >= 7 and "-" not in token) or (token[0] == "#" and digits >= 2)
    if re.fullmatch(r"[A-Z]{4,}\d{2,}", token):
        return True
    if not digits or _MEASURE_OR_WORD.fullmatch(token):
        return False
    if digits >= 3:
        return True
    return digits + letters >= 5 and token.upper() == token and digits >= 2


def _code_key(text: str) -> Key:
    return Key("".join(filter(str.isalnum, text)).casefold())


_FINDERS: tuple[Callable[[str], Iterator[Value]], ...] = (
    _links, _dates, _times, _amounts, _codes, _numbers, _relative_dates,
)  # fmt: skip
