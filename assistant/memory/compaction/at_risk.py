"""What a summary of old messages may lose, found in them without a model.

Codes, dates, amounts and other values; standing rules, promises, preferences, what the user says
of themselves, names. English, Chinese and both mixed.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence

import msgspec

from assistant.memory.compaction.clauses import (
    GENERIC,
    Span,
    clauses,
    content_words,
    length,
    sentences,
    window,
    with_date,
    without_lead_in,
)
from assistant.memory.compaction.values import Value, find_values, narrow
from assistant.memory.facts.statements import statement_in
from assistant.messages import KeptItem, Kind, Message, Role

STATEMENTS: frozenset[Kind] = frozenset({"rule", "promise", "preference", "about", "negation"})
"""Kinds whose value is what was said, and not a thing in it."""

WEIGHTS: Mapping[Kind, float] = {
    "rule": 10, "code": 9, "date": 8, "amount": 8, "promise": 7, "preference": 7, "time": 7,
    "about": 5, "link": 5, "name": 4, "number": 3, "negation": 3,
}  # fmt: skip
"""What stays when not everything can."""

# One message must not fill the section: a long one is mostly pasted.
LONG = 2_000
MOST_ITEMS = 16
MOST_ITEMS_OF_LONG = 8
MOST_ITEMS_OF_TOOL = 4
# So many are looked at closely in a sentence, and found in a message before pasted text is passed
# over: the figures of a table are all alike.
MOST_VALUES = 20
ENOUGH_FOUND = 50
MOST_FENCES = 20
# Around a long paste the user's own words stand within so many characters of its ends.
OWN_WORDS = 600
# Of a longer text its beginning and end are read.
LONGEST_READ = 60_000


def at_risk(messages: Sequence[Message]) -> list[KeptItem]:
    """What the messages hold that a summary may lose, in their order. Linear in their length."""
    items: list[KeptItem] = []
    question = ""
    for message in messages:
        items += _in_message(message, question)
        question = _last_question(message)
    return items


def count_by_kind(items: Sequence[KeptItem]) -> dict[Kind, int]:
    """How many of each kind, the weightiest kind first."""
    counts = Counter(item.kind for item in items)
    return {kind: counts[kind] for kind in WEIGHTS if counts[kind]}


# --- one message --------------------------------------------------------------------------------


def _in_message(message: Message, question: str) -> list[KeptItem]:
    if message.role == "system":
        return []
    text = _readable(message.text)
    values = find_values(text)
    scan = _Scan(message, message.role, text, question, _fences(text))
    found: list[KeptItem] = []
    position = 0
    for sentence in sentences(text, [(value.start, value.end) for value in values]):
        first = position
        while position < len(values) and values[position].start < sentence[1]:
            position += 1
        inside = values[first : min(position, first + MOST_VALUES)]
        own = scan.is_own(sentence)
        if own or (inside and len(found) < ENOUGH_FOUND):
            found += _in_sentence(scan, sentence, inside)
    return _most_important(found, scan.most_items)


def _readable(text: str) -> str:
    """The text without control characters; of a very long one its beginning and end."""
    if len(text) > LONGEST_READ:
        text = f"{text[: LONGEST_READ // 2]}\n{text[-LONGEST_READ // 2 :]}"
    return re.sub(r"[\x00-\x09\x0b-\x1f\x7f]", " ", text)


def _fences(text: str) -> list[Span]:
    marks = [match.start() for match in re.finditer(r"```", text)]
    return list(zip(marks[::2], [*marks[1::2], len(text)], strict=False))[:MOST_FENCES]


def _last_question(message: Message) -> str:
    """What the assistant asked at the end of a message: it says what a bare answer means."""
    text = message.text[-400:].strip()
    if message.role != "assistant" or not text.endswith(("?", "？")):
        return ""
    start, end = list(sentences(text))[-1]
    return " ".join(text[start:end].split()) if length(text[start:end]) <= 0.7 else ""


class _Scan(msgspec.Struct, frozen=True):
    """A message while it is read."""

    message: Message
    role: Role
    text: str
    question: str
    fences: list[Span]

    @property
    def is_long(self) -> bool:
        return len(self.text) > LONG

    @property
    def most_items(self) -> int:
        if self.role == "tool":
            return MOST_ITEMS_OF_TOOL
        return MOST_ITEMS_OF_LONG if self.is_long else MOST_ITEMS

    def is_own(self, span: Span) -> bool:
        """Whether the speaker's own words stand there, and nothing pasted."""
        if self.role == "tool" or any(low <= span[0] < high for low, high in self.fences):
            return False
        near_end = span[1] <= OWN_WORDS or span[0] >= len(self.text) - OWN_WORDS
        return near_end or not self.is_long


def _in_sentence(scan: _Scan, sentence: Span, values: Sequence[Value]) -> list[KeptItem]:
    own = scan.is_own(sentence)
    marked = bool(own and _CORRECTS.search(scan.text, *sentence))
    denied = _denied(scan.text, sentence, values, marked) if own else {}
    corrects = marked or bool(denied)
    statement = _statement(scan, sentence, values) if own else None
    told = [value for value in values if value not in denied]
    spans = [statement.span] if statement else []
    spans += [_clause_of(scan, sentence, value, values, bool(denied)) for value in told]
    # A clause within another one that is kept anyway is told there.
    widest = {span: _widest(span, spans) for span in spans}
    items = []
    if statement:
        text = _clause_text(scan, widest[statement.span], values)
        turn = scan.message.turn
        items.append(KeptItem(statement.kind, text, text, turn, scan.role, corrects=corrects))
    for value, span in zip(told, spans[len(items) :], strict=True):
        old = next((old for old, new in denied.items() if new == value), None)
        clause = _Clause(widest[span], values, own, corrects)
        items += [item] if (item := _valued(scan, value, clause, old)) else []
    return items + (_names(scan, sentence, list(widest.values())) if own else [])


def _widest(span: Span, spans: Sequence[Span]) -> Span:
    around = [other for other in spans if other[0] <= span[0] and span[1] <= other[1]]
    return max(around, key=lambda other: other[1] - other[0])


def _most_important(items: Sequence[KeptItem], most: int) -> list[KeptItem]:
    """The weightiest in their order, no kind before the first of another; nothing twice."""
    unique = {(item.kind, item.value, item.text): item for item in reversed(items)}
    found = list(reversed(unique.values()))
    seen: Counter[Kind] = Counter()
    ranks: dict[int, tuple[bool, int, float]] = {}
    for item in found:
        seen[item.kind] += 1
        ranks[id(item)] = (item.passing, seen[item.kind], -WEIGHTS[item.kind])
    chosen = {id(item) for item in sorted(found, key=lambda item: ranks[id(item)])[:most]}
    return [item for item in found if id(item) in chosen]


# --- statements ---------------------------------------------------------------------------------


class _Statement(msgspec.Struct, frozen=True):
    kind: Kind
    span: Span


def _statement(scan: _Scan, sentence: Span, values: Sequence[Value]) -> _Statement | None:
    start, end = sentence
    # Longer than three kept clauses, it is no sentence of a conversation.
    if end - start > 600:
        return None
    found = statement_in(narrow(scan.text[start:end]), scan.role)
    if found is None:
        return None
    kind, at = found
    return _Statement(kind, _statement_span(scan.text, sentence, start + at, values))


def _statement_span(text: str, sentence: Span, at: int, values: Sequence[Value]) -> Span:
    if length(text[slice(*sentence)]) <= 1:
        return sentence
    parts = clauses(text, sentence, [(value.start, value.end) for value in values])
    # The match may begin with the comma before its clause.
    first = next(number for number, part in enumerate(parts) if part[1] > at + 1)
    low, high = parts[first]
    for part in parts[first + 1 :]:
        if length(text[low : part[1]]) > 1:
            break
        high = part[1]
    return (low, high) if length(text[low:high]) <= 1 else window(text, (low, low + 1), (low, high))


# --- values -------------------------------------------------------------------------------------

_CORRECTS = re.compile(
    r"\b(?:actually|correction|i meant|sorry|my mistake|scratch that|no longer|instead|moved?"
    r"|changed?|rescheduled?|pushed?|postponed?|brought forward|wrong|updated?|is now"
    r"|(?:is|are) [^,.]{1,40} now|raised to|cut to)\b"
    r"|改[到成为了]|更正|纠正|说错|记错|搞错|应该是|其实|不对|换[到成]|推迟|提前到|调整|变成|现在是"
    r"|调到|延到|涨到|降到",
    re.IGNORECASE,
)
_DENIED_BEFORE = re.compile(
    r"(?:\bnot|\binstead of|\brather than|\bno longer|\bisn't|\bwasn't|不是|而不是|不再是|并非)\s?"
    r"(?:at |on |in |the |for |by |到|在)*$",
    re.IGNORECASE,
)
_MOVED_FROM = re.compile(r"(?:\bfrom|从|由|原来是?|原定)\s?(?:the |at )?$", re.IGNORECASE)
_MOVED_TO = re.compile(r"\s?(?:to|->|→|改|换|推|提|调|延|变|涨|降)", re.IGNORECASE)

_STANDING = re.compile(
    r"\b(?:by|due|until|deadline|budget|appointment|birthday|meeting|flight|train|rent|fee"
    r"|deposit|password|code|number|reference|account|address|weight?|tall|exam|interview|visa"
    r"|passport|wedding|anniversary|contract|expires?|starts?|ends?|arrives?|leaves?|needs?|must)\b"
    r"|截止|之前|以前|预算|生日|会议|开会|航班|高铁|火车|押金|房租|密码|号|到期|面试|考试|签证|护照"
    r"|婚礼|纪念日|合同|开始|结束|出发|身高|体重",
    re.IGNORECASE,
)
# What makes a bare figure worth a line: "the total is 4,210", 总数是4210.
_TELLING = re.compile(r"\b(?:is|are|my|our)\b|是|为", re.IGNORECASE)
_INCIDENTAL = re.compile(
    r"\b(?:about|around|roughly|took|ran|spent|already|ago|yesterday|today|tonight|last|watched"
    r"|read|walked|saw|was|were|paid|cost)\b"
    r"|大约|左右|花了|跑了|走了|看了|昨天|今天|刚|上周|已经|差不多|用了|只剩",
    re.IGNORECASE,
)
_PLAN = re.compile(
    r"\b(?:appointment|meeting|dentist|doctor|flight|train|exam|interview|deadline|due|trip|visit"
    r"|birthday|party|call|pick|pay|send|submit|check-?in|delivery|arriv\w+|leav\w+|return|class"
    r"|lesson|concert|dinner|lunch|reservation|booked|surgery|review|presentation|conference"
    r"|remind|moved?|have|has|going to|will|need)\b|'ll\b"
    r"|[去要有约会交还飞见课改]|出差|考试|面试|截止|生日|火车|高铁|医生|牙医|提醒|聚餐|体检|手术|答辩",
    re.IGNORECASE,
)
_FAREWELL = re.compile(
    r"\b(?:see|talk to) you\b|(?:明天|后天|周.|下周|回头)(?:再)?见[。！!~]?$", re.IGNORECASE
)


def _denied(text: str, sentence: Span, values: Sequence[Value], marked: bool) -> dict[Value, Value]:
    """Which value is taken back, and for which: "4pm, not 3pm"; "从周四改到周五".

    "From 3pm to 4pm" takes nothing back unless a word marks the sentence as a correction.
    """
    plain = narrow(text)
    denied: dict[Value, Value] = {}
    for value in values:
        before = plain[max(sentence[0], value.start - 20) : value.start]
        moved = marked and _MOVED_FROM.search(before) and _MOVED_TO.match(plain, value.end)
        others = [
            one for one in values if one.kind == value.kind and not one.key.is_same(value.key)
        ]
        if others and (moved or _DENIED_BEFORE.search(before)):
            denied[value] = min(others, key=lambda one: abs(one.start - value.start))
    # Each the correction of the other: then nothing is told.
    return {old: new for old, new in denied.items() if new not in denied}


def _clause_of(
    scan: _Scan,
    sentence: Span,
    value: Value,
    values: Sequence[Value],
    whole: bool,
) -> Span:
    """The part of the sentence that says what the value is."""
    text, place = scan.text, (value.start, value.end)
    if sentence[1] - sentence[0] > 600:
        return window(
            text, place, (max(sentence[0], place[0] - 300), min(sentence[1], place[1] + 300))
        )
    if whole and length(text[slice(*sentence)]) <= 1:
        return sentence
    unbroken = [(one.start, one.end) for one in values]
    parts = clauses(text, sentence, unbroken)
    low = high = next(number for number, part in enumerate(parts) if part[1] >= place[1])
    while not _says_what(text, (parts[low][0], parts[high][1]), values):
        wider = (low - 1, high) if low > 0 else (low, high + 1)
        if wider[1] >= len(parts) or length(text[parts[wider[0]][0] : parts[wider[1]][1]]) > 0.8:
            break
        low, high = wider
    span = parts[low][0], parts[high][1]
    return span if length(text[slice(*span)]) <= 1 else window(text, place, span)


def _says_what(text: str, span: Span, values: Sequence[Value]) -> bool:
    words = content_words(_without_values(text, span, values)) - GENERIC
    return len(words) >= 2


def _without_values(text: str, span: Span, values: Sequence[Value]) -> str:
    rest, start = "", span[0]
    for value in values:
        if start <= value.start and value.end <= span[1]:
            rest += text[start : value.start] + " "
            start = value.end
    return rest + text[start : span[1]]


class _Clause(msgspec.Struct, frozen=True):
    """The clause of a value, with what holds of all values in its sentence."""

    span: Span
    values: Sequence[Value]
    own: bool
    corrects: bool


def _valued(scan: _Scan, value: Value, clause: _Clause, old: Value | None) -> KeptItem | None:
    said = narrow(scan.text[slice(*clause.span)])
    standing = bool(_STANDING.search(said))
    if value.relative:
        planned = bool(old) or (_PLAN.search(said) and not _FAREWELL.search(said))
        if not (scan.role == "user" and clause.own and planned):
            return None
    untold = value.bare and not (standing or _TELLING.search(said))
    if value.bare and not (clause.own and scan.role == "user"):
        return None
    incidental = bool(_INCIDENTAL.search(said)) and value.kind not in ("code", "link")
    # Figures in an answer are mostly advice, and asked for again they come again.
    advice = value.kind == "number" and scan.role == "assistant"
    return KeptItem(
        value.kind,
        _line(scan.text[value.start : value.end]),
        _clause_text(scan, clause.span, clause.values),
        scan.message.turn,
        scan.role,
        passing=not clause.own or advice or untold or (incidental and not standing),
        corrects=clause.corrects,
        replaces=_line(scan.text[old.start : old.end]) if old else "",
    )


def _clause_text(scan: _Scan, span: Span, values: Sequence[Value]) -> str:
    text = without_lead_in(_line(scan.text[slice(*span)]))
    inside = [value for value in values if span[0] <= value.start and value.end <= span[1]]
    if scan.question and span[1] - span[0] >= len(scan.text.strip()) - 2 and len(text) <= 40:
        text = f"{scan.question} {text}"
    if scan.message.ts and any(value.relative for value in inside):
        return with_date(text, scan.message.ts)
    return text


def _line(text: str) -> str:
    return " ".join(text.split())


# --- names --------------------------------------------------------------------------------------

_CAPITALISED = r"[A-Z][a-zÀ-ɏ]+(?:[ -][A-Z][a-zÀ-ɏ]+){0,2}"
_RELATION = (
    r"(?:sister|brother|mother|mom|mum|father|dad|wife|husband|partner|son|daughter|boss|manager|friend"
    r"|colleague|cousin|aunt|uncle|doctor|dentist|dog|cat|landlord|neighbou?r|teacher|assistant|client)"
)
_NAME = re.compile(
    rf"(?i:\b(?:my|our|his|her) {_RELATION}(?:'s name is| is called| is named|,|:)?)"
    rf" (?P<a>{_CAPITALISED})"
    rf"|(?i:\b(?:my name is|my name's|i'm called|call me|named|called)) (?P<b>{_CAPITALISED})"
    rf"|\b(?P<c>(?:Dr|Mr|Mrs|Ms|Prof)\.? {_CAPITALISED})"
    r"|(?:我叫|名字叫|名字是)(?P<d>[\u4e00-\u9fff]{2,4}|[A-Za-z]{2,20})(?=[，。,.\s!！；;]|$)"
    r"|(?:姐姐|妹妹|哥哥|弟弟|妈妈|爸爸|妻子|老婆|丈夫|老公|儿子|女儿|老板|同事|朋友|医生|老师|房东|邻居)"
    r"(?:名?叫|是|姓)(?P<e>[\u4e00-\u9fff]{1,3}|[A-Z][a-z]+)(?=[，。,.\s!！；;的]|$)"
    r"|(?P<f>[王李张刘陈杨赵黄周吴徐孙胡朱高林何郭马罗梁宋郑谢韩唐冯于董萧程曹袁邓许傅沈曾彭吕苏卢蒋蔡贾丁魏薛叶]"
    r"(?:先生|女士|老师|医生|经理|总监|教授|大夫|律师))"
)
# Two capitalised words within a sentence: a place, a firm, a person.
_PROPER = re.compile(r"(?<=[a-z,] )[A-Z][a-zÀ-ɏ]+(?: [A-Z][a-zÀ-ɏ]+){1,3}")


def _names(scan: _Scan, sentence: Span, told: Sequence[Span]) -> list[KeptItem]:
    if scan.role != "user" or sentence[1] - sentence[0] > 600:
        return []
    clause = sentence if length(scan.text[slice(*sentence)]) <= 1 else None
    items: list[KeptItem] = []
    for pattern, passing in ((_NAME, False), (_PROPER, True)):
        for match in pattern.finditer(scan.text, *sentence):
            group = match.lastgroup or 0
            span = _widest(match.span(group), [*told, match.span(group)])
            if span == match.span(group):
                span = clause or window(scan.text, span, sentence)
            text = without_lead_in(_line(scan.text[slice(*span)]))
            name = _line(match[group])
            if not any(item.value in name or name in item.value for item in items):
                items.append(
                    KeptItem("name", name, text, scan.message.turn, scan.role, passing=passing)
                )
    return items
