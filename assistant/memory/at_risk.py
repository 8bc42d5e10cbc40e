"""What a summary of old messages may lose, found in them without a model.

Codes, dates, amounts and other values; standing rules, promises, preferences, what the user says
of themselves, names. English, Chinese and both mixed.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence

import msgspec

from assistant.memory.clauses import (
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
from assistant.memory.values import Value, find_values, narrow
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
        inside = values[first:position]
        if inside or scan.is_own(sentence):
            found += _in_sentence(scan, sentence, inside)
    return _most_important(found, scan.most_items)


def _readable(text: str) -> str:
    """The text without control characters; of a very long one its beginning and end."""
    if len(text) > LONGEST_READ:
        text = f"{text[: LONGEST_READ // 2]}\n{text[-LONGEST_READ // 2 :]}"
    return re.sub(r"[\x00-\x09\x0b-\x1f\x7f]", " ", text)


def _fences(text: str) -> list[Span]:
    marks = [match.start() for match in re.finditer(r"```", text)]
    return list(zip(marks[::2], [*marks[1::2], len(text)], strict=False))


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


def _most_important(items: list[KeptItem], most: int) -> list[KeptItem]:
    """The weightiest, in their order; the first of several alike."""
    seen: set[tuple[Kind, str, str]] = set()
    unique = []
    for item in items:
        if (item.kind, item.value, item.text) not in seen:
            seen.add((item.kind, item.value, item.text))
            unique.append(item)
    ranked = sorted(unique, key=lambda item: (item.passing, -WEIGHTS[item.kind]))
    chosen = {id(item) for item in ranked[:most]}
    return [item for item in unique if id(item) in chosen]


# --- statements ---------------------------------------------------------------------------------

_RULE = re.compile(
    r"(?:^|[,:;]\s|\bplease |\byou (?:should|must) )(?:please )?"
    r"(?:always(?! been)|never(?! (?:mind|saw|thought|had|been|knew|felt|heard|give up|\w+ed\b))"
    r"|don't ever|(?:do not|don't)(?! (?:worry|you|they|we|i|know|think|mind|have|see|feel|forget"
    r"|let|give up|get me|be (?:afraid|sorry|shy)|stop|even|really|want|like|need)\b)"
    r"|stop \w+ing|make sure|remember(?: that|:| i )|keep (?:your|the|all|answers|replies)"
    r"|only (?:use|answer|reply|give|write|speak|show|send)|call me(?! (?:at|on|back|when|if))"
    r"|address me|(?:answer|reply|respond|write|speak)(?: to)?(?: me)? (?:only )?in )"
    r"|\bfrom now on\b|\bgoing forward\b|\bfrom here on\b|\bin (?:the )?future,"
    r"|\bi(?:'d)? (?:want|need|like|expect) you to (?:always|never|stop|use|answer|reply|call"
    r"|keep)\b|\bplease (?:avoid|use|stop|no)\b|\b(?:must|should) (?:always|never)\b"
    r"|\b(?:every|any|each) ?time i\b|^in (?:code|e?mails?|letters|answers|replies|reports)\b[^.?!]{0,30} "
    r"(?:use|prefer|avoid|write|put|add|start|end)\b|凡是|只(?:考虑|推荐|接受)|下次[^，。]{0,6}请|先[跟问和]我|\bwhenever i (?:ask|say|mention|write|send)\b"
    r"|\b(?:answers|replies|reports|emails) (?:must|should) (?:be|not|have)\b"
    r"|\byou(?:'re| are) (?:not )?(?:supposed|allowed) to\b|\byou (?:won't|mustn't|shouldn't)\b"
    r"|\bno more than [^,.]{1,30} (?:at a time|per|in (?:a|an|one|each))\b"
    r"|^(?:please )?(?:write|give|use|show|put|express|sign|format|translate|list|spell|quote|start"
    r"|end|mark) (?:all|every|each|any|my \w+s)\b"
    r"|^(?:when|if) i (?!was|am|were|had|have|could|would|can)\w+[^,.?!]{0,60}, (?:please |you |then )?"
    r"(?!i\b|i'|we\b|he\b|she\b|they\b|it\b|my\b|the\b|will\b|would\b)[a-z]+ "
    # An order that holds for every case: "double-check each sum before you answer".
    r"|^(?:please )?(?!(?:is|are|was|do|does|did|can|could|will|would|have|has|i|we|you|he|she|it"
    r"|they|the|my|what|how|why|who|when|where)\b)[a-z-]+ [^,.?!]{0,60}\b"
    r"(?:everything (?:you|i)|every time|each time|before you|whenever|any time|unless i)\b"
    r"|(?:^|[，,。；：\s])请?你?(?:以后|今后|从现在起|从今往后|从今天起|往后)"
    r"(?!我(?:也|们|会|想|要|就)|[，,]?(?:再说|有空|的事))"
    r"|每次(?=[^。！？]{0,20}(?:请|都要|都用|先|要用|别|不要))|一律|永远(?:不要|别|用)|千万(?:别|不要)"
    r"|请[你您]?(?:不要|别|勿|用|始终|务必|一定|记住|叫我|总是|只|都)|务必|切记|记住[，：:]?(?!了)"
    r"|(?:^|[，,。；\s])(?:不要再?|别再?|必须|不许|禁止|只能用|只用|不准)(?!客气|担心|着急|说是)"
    r"|(?<!我)(?<!们)(?<!也)(?:不要|别(?!忘)|必须|一定要|一定得)(?=[^，。]{0,6}"
    r"(?:我|用|写|说|提|叫|给|推荐|告诉|问|含|发|加|带|先))|(?<!我)(?<!们)都(?:要|得|请)?用"
    r"|(?<!我)(?<!们)都(?:不要|别)|你?(?:回答|回复|写|翻译|总结)[^，。我]{0,8}(?:时候?|的时候)[，,]?"
    r"[^，。我]{0,8}(?:用|先|要|别|得)"
    r"|(?:回答|回复|邮件|报告|称呼)[^，。]{0,6}(?:必须|不要|别|要用|都用|一律|请用)"
    r"|(?:^|[，,])(?:叫|称呼)我",
    re.IGNORECASE,
)
_PROMISE = re.compile(
    r"(?:^|[,;] |\bplease |\b(?:can|could|will|would) you |\band )(?:remind|ping|nudge|wake|alert) me\b(?! (?:of|why|how|what)\b)"
    r"|\bdon't (?:let me )?forget\b|\bi promised?\b|\bremember to\b"
    r"|\bi(?:'ll| will| have to| need to| must|'ve got to| should|'m going to|'m supposed to)\s"
    r"(?:\w+ ){0,2}?(?:send|call|pay|bring|give|return|email|book|finish|submit|deliver|meet|pick"
    r"|write|renew|cancel|hand in|file|sign|buy|order|prepare|transfer|reply|fix|check)\b(?! up\b)"
    r"|\bi(?:'ve got| still have| have| need) to (?!admit|say|be\b|agree|confess|laugh|wonder|know"
    r"|go\b|see\b|ask\b|try\b|think\b)\w+|\bi(?: have)? (?:told [\w ]{1,20}|said|promised [\w ]{0,20}) i(?:'d|'ll| will"
    r"| would)\b|\bi owe\b|\bdeadline\b|\b(?:is|are) due\b|\bdue (?:on|by)\b"
    r"|提醒我|别忘了?|不要忘|我答应|我保证|记得(?=[^，。]{0,12}[给去买交还带打发付订取])|截止"
    r"|(?:之前|以前|前)[^，。]{0,3}(?:要|得|必须)|(?:要|得)把[^，。]{1,12}(?:给|寄|交|还)|答应(?:了|过)"
    r"|我们?(?:会|要|得|必须|需要|打算|还要|应该)[^，。]{0,10}"
    r"(?:给(?!我)|寄|还给|还钱|打电话|交|付|订|续|提交|完成|回复|准备好|联系|签)",
    re.IGNORECASE,
)
_PREFERENCE = re.compile(
    r"\bi(?: really| also| still| absolutely| always| usually| much| strongly| do)*"
    r" (?:don't |do not |never )?(?:like|love|prefer|hate|dislike|enjoy|can't stand|adore"
    r"|can't eat)\b(?! (?:that|this|it|the idea|how|your|to know|what|you\b))"
    r"|\ballergic to\b|\bmy favou?rite\b|\bi'd rather\b"
    r"|\bi (?:don't|never|can't|do not) (?:eat|drink|take)\b"
    r"|\b(?:i'm|i am|is|are) (?:an? )?(?:strict )?(?:vegetarian|vegan|lactose|gluten|left-handed"
    r"|colou?r ?blind|diabetic)\b|\bi'm not (?:a fan|into)\b"
    r"|\bi only (?:eat|drink|wear|buy|use|listen|watch)\b|\bdo(?:es)?n't agree with me\b"
    r"|\bcan't (?:have|eat|drink|tolerate)\b"
    r"|我(?:们)?[^，。；我你您他她]{0,8}?(?:喜欢|讨厌|爱吃|爱喝|偏好|偏爱|(?<!的)习惯|爱看|爱听|爱玩|不吃"
    r"|不喝|不爱|热爱|钟爱)(?!你|这个主意|的(?![^，。]{0,12}是)|[。！!]?$)"
    r"|吃素|吃斋|对[^，。]{1,12}过敏|忌口|不能吃|不能喝|我的最爱|更愿意|宁愿|宁可|受不了|口味|不想(?=[坐吃喝去住])",
    re.IGNORECASE,
)
_ABOUT = re.compile(
    r"\bi(?:'m| am) (?:an? (?!bit|little|lot|few|fan|part|huge|big|great|good)|from |based in )"
    r"|\bi work (?:as|at|for|in)\b|\b(?:i|we) live (?:in|at|on|with|near|by|outside)\b|\bi(?:'ve)? moved to\b"
    r"|\bi (?:was born|grew up)\b|\bi study\b|\bmy (?:blood type|address|birthday|job title)\b"
    r"|\b(?:i|we) have (?:(?:an?|two|three|four|\d) )?(?:\w+ )?(?:twins|kids?|child|children|sons?|daughters?|dogs?"
    r"|cats?|brothers?|sisters?|siblings)\b"
    r"|我是(?:一名|一位|一个|个|做|学|搞|教)|我(?:现在)?住在?|我在[^，。想思考]{1,12}(?:工作|上班|读书|上学|当|教)"
    r"|我擅长|我来自|我的职业|我从事|我家有|我的(?:血型|地址|生日|尺码)",
    re.IGNORECASE,
)
_NEGATION = re.compile(
    r"\bi (?:don't|do not|can't|cannot|am not|won't|no longer) (?:have|own|drive|work|live|use"
    r"|speak|smoke|travel|fly|swim)\b|\bi'm not (?:married|working|vegetarian|allergic|available)\b"
    r"|\bwe decided not\b|我们?(?:没有(?=[车房狗猫孩钱护驾签])|不会(?=[开游说做])|不再|不打算|没结婚)",
    re.IGNORECASE,
)
_USER_STATEMENTS: tuple[tuple[Kind, re.Pattern[str]], ...] = (
    ("rule", _RULE),
    ("promise", _PROMISE),
    ("preference", _PREFERENCE),
    ("about", _ABOUT),
    ("negation", _NEGATION),
)
_ASSISTANT_PROMISE = re.compile(
    r"\bi(?:'ll| will) (?:remind|send|email|check back|follow up|book|keep an eye|let you know)\b"
    r"|\bi promise\b|我会(?:提醒|发|给你发|通知|帮你(?:订|查|留意))|我答应",
    re.IGNORECASE,
)
# A subject before "always" or "never" tells a habit, not a rule.
_HABIT = re.compile(
    r"\b(?:i|he|she|it|we|they|who|that)(?:'s|'ve)? (?:\w+ )?(?:always|never)\b", re.I
)
_QUESTION = re.compile(r"[?？]['\"”’)]?$")


class _Statement(msgspec.Struct, frozen=True):
    kind: Kind
    span: Span


def _statement(scan: _Scan, sentence: Span, values: Sequence[Value]) -> _Statement | None:
    start, end = sentence
    # Longer than three kept clauses, it is no sentence of a conversation.
    if end - start > 600:
        return None
    text = narrow(scan.text[start:end])
    asked = bool(_QUESTION.search(text))
    kinds = _USER_STATEMENTS if scan.role == "user" else (("promise", _ASSISTANT_PROMISE),)
    for kind, pattern in kinds:
        match = pattern.search(text)
        if match is None or (kind == "rule" and _HABIT.search(text)):
            continue
        # "Do you know what I like?" tells nothing; "can you always use euros?" asks for a rule.
        if asked and not (kind == "rule" or "remind" in match.group() or "提醒" in match.group()):
            continue
        return _Statement(kind, _statement_span(scan.text, sentence, start + match.start(), values))
    return None


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
    r"\bactually\b|\bcorrection\b|\bi meant\b|\bsorry\b|\bmy mistake\b|\bscratch that\b"
    r"|\bno longer\b|\binstead\b|\bmoved\b|\bchanged\b|\brescheduled\b|\bpushed\b|\bpostponed\b"
    r"|\bbrought forward\b|\bwrong\b|\bupdated?\b|\bis now\b|\b(?:is|are) [^,.]{1,40} now\b"
    r"|\braised to\b|\bcut to\b|改[到成为了]|更正|纠正|说错|记错|搞错|应该是|其实|不对|换[到成]|推迟"
    r"|提前到|调整|变成|现在是|调到|延到|涨到|降到",
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
    r"\b(?:about|around|roughly|took|ran|spent|already|ago|yesterday|today|tonight|last|watched|read"
    r"|walked|saw|was|were|paid|cost)\b|大约|左右|花了|跑了|走了|看了|昨天|今天|刚|上周|已经|差不多|用了|只剩",
    re.IGNORECASE,
)
_PLAN = re.compile(
    r"\b(?:appointment|meeting|dentist|doctor|flight|train|exam|interview|deadline|due|trip|visit"
    r"|birthday|party|call|pick|pay|send|submit|check-?in|delivery|arriv\w+|leav\w+|return|class|lesson"
    r"|concert|dinner|lunch|reservation|booked|surgery|review|presentation|conference|remind|moved?"
    r"|have|has|going to|will|need)\b|'ll\b|去|要|有|约|会|出差|考试|面试|交|还|截止|生日|飞|火车|高铁|医生|牙医|见|提醒|课|聚餐|体检|手术|答辩|改",
    re.IGNORECASE,
)

_FAREWELL = re.compile(
    r"\b(?:see|talk to) you\b|(?:明天|后天|周.|下周|回头)见[。！!~]?$", re.IGNORECASE
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
