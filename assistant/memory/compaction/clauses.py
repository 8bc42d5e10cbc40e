"""Sentences, their clauses and the words that carry meaning, in English and Chinese text."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from datetime import date
from math import ceil
from typing import TypeAlias

from assistant.memory.compaction.values import narrow

Span: TypeAlias = tuple[int, int]

LONGEST_WORDS = 25
LONGEST_HANZI = 40
HANZI_A_WORD = 4
"""A run of so many counts as one word where words are chosen: 海川公司."""

_SENTENCE_END = re.compile(
    r"[。！？!?；;\n]+['\"”’)]?"
    r"|(?<!\bMr)(?<!\bMs)(?<!\bDr)(?<!\bMrs)(?<!\bSt)(?<!\bNo)(?<!\be\.g)(?<!\bi\.e)"
    r"(?<![ .][A-Za-z])"
    r"\.{1,3}['\"”’)]?(?=\s|$|[\u4e00-\u9fff])"
)
_CLAUSE_END = re.compile(r"，|：|——|[,:](?=\s)|\s[–—-]\s")
_LATIN = r"[A-Za-zÀ-ɏ][A-Za-zÀ-ɏ'-]*"
_HANZI = r"[\u3400-\u9fff]"
_WORD = re.compile(rf"{_LATIN}|{_HANZI}+")
_PIECE = re.compile(rf"{_HANZI}+|[^\s\u3400-\u9fff，。、；：！？（）“”\"()]+")
_SAID = re.compile(r" \(said \d{4}-\d\d-\d\d\)$")
_LEAD_IN = re.compile(
    r"^(?:(?:by the way|btw|oh|and|but|so|also|ok|okay|well|hey|hi|hello|thanks|thank you|yes|no"
    r"|yeah|anyway|one more thing|for the record|just so you know|please note(?: that)?"
    r"|note(?: that)?)\b"
    r"[\s,:!-]*|(?:对了|另外|还有|顺便(?:说一下|提一下)?|好的|那么|嗯|哦|谢谢|是的)[，,：:\s]*){1,3}",
    re.IGNORECASE,
)
_NEGATIVE = re.compile(r"(?:not|no|never|without|none|nor|cannot|\w+n't)$|[不没别无非勿莫]", re.I)

_STOP = frozenset(
    re.findall(
        r"\S+",
        """
        a about actually after again all already also am an and any anyway are around as at back be
        because been before being both but by can could did do does doing done down each else even
        ever every few for from get go going got had has have having he hello her here hers hi him
        his how i if in instead into is it its just kind let like little lot made make many may me
        mean meant might mine more most much must my need new no not now of off ok okay on once one
        only onto or other our ours out over own please pretty quite rather really right s same say
        says set shall she should since so some sorry still such sure t than thanks that the their
        theirs them then there these they thing things this those though to today too up us use very
        want was way we well were what when where which while who why will with would yes yet you
        your yours note said noted correction moved changed move change mistake wrong update updated
        i'm i'll i've i'd it's that's let's don't you're we're we'll
        """,
    )
)
_HANZI_STOP = re.compile(
    r"我们|你们|他们|她们|那边|这边|那里|这里|以后|然后|已经|还是|其实|应该|不是|而是|改到|改成|改为|改了|现在|一下|这个"
    r"|那个|可以|需要|什么|时候|知道|记得|一个|没有|不要|不好意思|说错|不对|抱歉|更正|变成|换成|推迟到"
    r"|提前到|因为|所以|但是|如果|[的了是在就也把被我你您他她吗呢吧啊呀哦嗯请]"
)
#: What a statement loses first. Of a rule every other word may matter.
_FILLER = frozenset(
    ("a", "an", "the", "please", "just", "really", "also", "so", "well", "very", "quite")
)
_HANZI_FILLER = re.compile(r"我们|一下|其实|[的了呢吧啊呀哦嗯请]")
#: Words that say what sort of thing, but not which.
GENERIC = frozenset(
    re.findall(
        r"\S+",
        """
        code number date time day meeting appointment call price cost amount total event thing
        deadline 会议 时间 日期 价格 金额 数字 号码 日子 编号 密码 代码
        """,
    )
)


# --- where sentences and clauses stand ----------------------------------------------------------


def sentences(text: str, unbroken: Sequence[Span] = ()) -> Iterator[Span]:
    """Where each sentence stands, without the white space around it.

    What stands in `unbroken`, in order, is not parted: "Dec. 2027".
    """
    start = at = 0
    for end in _SENTENCE_END.finditer(text):
        while at < len(unbroken) and unbroken[at][1] <= end.start():
            at += 1
        if at < len(unbroken) and unbroken[at][0] <= end.start() and end.end() < unbroken[at][1]:
            continue
        if span := _stripped(text, start, end.end()):
            yield span
        start = end.end()
    if span := _stripped(text, start, len(text)):
        yield span


def clauses(text: str, sentence: Span, unbroken: Sequence[Span]) -> list[Span]:
    """The sentence's parts between commas; what stands in `unbroken` is not parted."""
    spans, start = [], sentence[0]
    for end in _CLAUSE_END.finditer(text, *sentence):
        inside = any(low <= end.start() < high for low, high in unbroken)
        if not inside and (span := _stripped(text, start, end.start())):
            spans.append(span)
            start = end.end()
    if span := _stripped(text, start, sentence[1]):
        spans.append(span)
    return spans


def _stripped(text: str, start: int, end: int) -> Span | None:
    while start < end and text[start].isspace():
        start += 1
    while end > start and text[end - 1].isspace():
        end -= 1
    return (start, end) if start < end else None


def length(text: str) -> float:
    """How long a clause is; 1.0 is the most that is kept of one."""
    hanzi = len(re.findall(_HANZI, text))
    words = len(re.findall(r"[^\s\u3400-\u9fff]+", text))
    return words / LONGEST_WORDS + hanzi / LONGEST_HANZI


def window(text: str, around: Span, within: Span) -> Span:
    """The longest part of `within` around a span that may be kept, cut between words."""
    reach = 200
    start, end = max(within[0], around[0] - reach), min(within[1], around[1] + reach)
    pieces = [(match.start(), match.end()) for match in _UNIT.finditer(text, start, end)]
    before = [piece for piece in pieces if piece[1] <= around[0]]
    after = [piece for piece in pieces if piece[0] >= around[1]]
    low, high = around
    room = 1.0 - min(0.5, length(text[low:high]))
    # Two of three words come from before: what a value is usually stands there.
    for sides in range(len(pieces)):
        side = after if sides % 3 == 2 else before
        if not (side or (side := before or after)):
            break
        piece = side.pop() if side is before else side.pop(0)
        room -= length(text[piece[0] : piece[1]])
        if room < 0:
            break
        low, high = min(low, piece[0]), max(high, piece[1])
    return low, high


_UNIT = re.compile(rf"{_HANZI}|[^\s\u3400-\u9fff]{{1,60}}")


def without_lead_in(text: str) -> str:
    """The clause without "by the way" and its like before it, and the full stop behind it."""
    rest = _LEAD_IN.sub("", text).strip(" \t,.;:，。；：、!！")
    return rest or text


def with_date(text: str, day: date) -> str:
    """The clause with the day it was said, which tells what "tomorrow" means in it."""
    return f"{text} (said {day:%Y-%m-%d})"


def without_date(text: str) -> str:
    return _SAID.sub("", text)


# --- words --------------------------------------------------------------------------------------


def content_words(text: str) -> frozenset[str]:
    """The words that carry meaning, lower-case, plurals as singulars; of Chinese the bigrams."""
    found: set[str] = set()
    for word in _WORD.findall(narrow(text)):
        if word[0] >= "\u3400":
            for run in _HANZI_STOP.split(word):
                found.update(_bigrams(run))
        elif (lower := word.lower().strip("-'")) not in _STOP and len(lower) > 1:
            found.add(_singular(lower))
    return frozenset(found)


def _bigrams(run: str) -> Iterator[str]:
    if len(run) == 1:
        yield run
    for start in range(len(run) - 1):
        yield run[start : start + 2]


def _singular(word: str) -> str:
    word = word.removesuffix("'s")
    return word[:-1] if len(word) > 3 and word.endswith("s") and not word.endswith("ss") else word


def is_negative(text: str) -> bool:
    """Whether it says that something is not so, or must not be."""
    return any(_NEGATIVE.search(word) for word in re.findall(rf"[A-Za-z']+|{_HANZI}+", text))


def shortened(text: str, values: Sequence[str], words: int, *, statement: bool = False) -> str:
    """The values in the clause with the `words` nearest words that carry meaning, in order.

    Figures and negations stay too: what is left must not say the opposite. A statement only
    loses its fillers, and what stands farthest from its beginning.
    """
    if said := _SAID.search(text):
        rest = shortened(text[: said.start()], values, words, statement=statement)
        return f"{rest}{said.group()}"
    places = _places(text, values)
    pieces = _pieces(text, places, statement)
    fixed = [_is_fixed(text, piece, places) for piece in pieces]
    anchors = [number for number, is_fixed in enumerate(fixed) if is_fixed]
    free = [number for number, is_fixed in enumerate(fixed) if not is_fixed]
    if not statement:
        generic = {number for number in free if text[slice(*pieces[number])].lower() in GENERIC}
        free.sort(key=lambda number: _distance(number, anchors) + 3 * (number in generic))
    chosen, room = set(anchors), words
    for number in free:
        part = text[slice(*pieces[number])]
        room -= ceil(len(part) / HANZI_A_WORD) if part[0] >= "\u3400" else 1
        if room < 0 and number != free[0]:
            break
        chosen.add(number)
    return _joined([text[slice(*pieces[number])] for number in sorted(chosen)])


def _places(text: str, values: Sequence[str]) -> list[Span]:
    """Where the values stand; of two that overlap the longer one."""
    places: list[Span] = []
    for value in sorted(values, key=len, reverse=True):
        at = text.find(value)
        if at >= 0 and not any(low < at + len(value) and at < high for low, high in places):
            places.append((at, at + len(value)))
    return sorted(places)


def _pieces(text: str, places: Sequence[Span], statement: bool) -> list[Span]:
    stop = _FILLER if statement else _STOP
    hanzi_stop = _HANZI_FILLER if statement else _HANZI_STOP
    pieces = list(places)
    for match in _PIECE.finditer(text):
        for span in _cut_out(match.span(), places):
            part = text[slice(*span)]
            word = part.lower().strip(".,:!?'’")
            if part[0] >= "\u3400":
                pieces += _hanzi_pieces(part, span[0], hanzi_stop)
            elif word and (word not in stop or _NEGATIVE.fullmatch(word)):
                pieces.append(span)
    return sorted(pieces)


def _cut_out(span: Span, places: Sequence[Span]) -> Iterator[Span]:
    """What is left of a span outside the places."""
    start, end = span
    for low, high in places:
        if low >= end or high <= start:
            continue
        if start < low:
            yield start, low
        start = max(start, high)
    if start < end:
        yield start, end


def _hanzi_pieces(run: str, offset: int, stop: re.Pattern[str]) -> Iterator[Span]:
    start = 0
    for match in stop.finditer(run):
        if start < match.start():
            yield offset + start, offset + match.start()
        if _NEGATIVE.search(match.group()):
            yield offset + match.start(), offset + match.end()
        start = match.end()
    if start < len(run):
        yield offset + start, offset + len(run)


def _is_fixed(text: str, piece: Span, places: Sequence[Span]) -> bool:
    part = text[slice(*piece)]
    figure = any(sign.isdigit() for sign in part)
    return piece in places or figure or bool(_NEGATIVE.fullmatch(part.lower()))


def _distance(number: int, anchors: Sequence[int]) -> float:
    # A word before the value tells more of it than one behind.
    return min(
        (abs(number - anchor) + (1.5 if number > anchor else 0.0) for anchor in anchors),
        default=float(number),
    )


def _joined(parts: Sequence[str]) -> str:
    line = ""
    for part in parts:
        both_hanzi = line and line[-1] >= "\u3400" and part[0] >= "\u3400"
        line += part if not line or both_hanzi else f" {part}"
    return line.strip(" ,.:;，。：；")
