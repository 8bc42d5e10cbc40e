"""The user's own words, taken apart: what is named in a request, and what is to be kept."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence

from assistant.providers.local_requests import pattern


def names_in(said: str, times: Sequence[str]) -> Sequence[str]:
    """What is left of a message without times and the words of the request: titles, places, texts.

    In order, each once; empty where only "it" is left.
    """
    pieces = [_stripped(part) for part in _clauses(_without(said, times))]
    return [one for one in dict.fromkeys(pieces) if one and not _IT_ALONE.fullmatch(one)]


def times_in(said: str, find: Callable[[str], Sequence[str]]) -> Sequence[str]:
    """The expressions of time in a message, as `find` gives those of a text.

    Without "now"; a part of the day alone is one only where there is no other; and with 三天后,
    which is not found at the beginning of a sentence. 看一下周末 names no next weekend (下周末).
    """
    times = [one for one in find(_NO_TIME.sub("  ", said)) if not _NOW.fullmatch(one)]
    for found in _IN_SO_LONG.finditer(said):
        if not any(found[0] in one for one in times):
            behind = next((one for one in times if said.startswith(one, found.end())), "")
            times = [found[0] + behind, *(one for one in times if one != behind)]
    return [one for one in times if not _PART_OF_DAY.fullmatch(one)] or times


def wording(said: str) -> str:
    """What is to be kept word for word: the message without "note that", "please remember"."""
    text = said.strip()
    for _ in range(_MOST_STRIPPED):
        shorter = _KEEP_OPENING.sub("", text, count=1).strip(" \t\n,，:：")
        if shorter == text or not shorter:
            break
        text = shorter
    return _KEEP_CLOSING.sub("", text).strip() or said.strip()


def is_place(said: str, name: str) -> bool:
    """Whether a name stands behind "at", "in" or 在."""
    before = said[: said.find(name)].rstrip()
    return bool(_AT.match(name) or _AT_END.search(before))


def place(name: str) -> str:
    """The name without such a word."""
    return _AT.sub("", name)


def place_within(title: str) -> str:
    """The place that a title ends with, as in "Dinner at Casa Luna"; empty where there is none."""
    found = _AT_A_PLACE.search(title)
    return found[1] if found else ""


def repetition(said: str) -> str:
    """The words for a repetition, such as "every Monday" or 每周一; empty where there are none."""
    found = _REPEATED.search(said)
    return found[0] if found else ""


def is_about_all(said: str) -> bool:
    """Whether all occurrences of a repeated event are meant."""
    return bool(_ALL.search(said))


def minutes_before(said: str) -> int | None:
    """How long before the start a reminder is wanted, where that is said."""
    found = _BEFORE.search(said)
    if not found:
        return None
    number = (found["en"] or found["zh"]).lower()
    unit = found["en_unit"] or found["zh_unit"]
    length = 60 if unit[0] in "hH小" else 1
    return round(length * (_NUMBERS.get(number) or float(number)))


def _without(said: str, times: Sequence[str]) -> str:
    """The text with a break in place of each time, reminder and repetition."""
    spans = [found.span() for one in (_BEFORE, _REPEATED) for found in one.finditer(said)]
    for time in times:
        spans += [found.span() for found in re.finditer(re.escape(time), said)]
    hidden = {place for start, end in spans for place in range(start, end)}
    return "".join("\n" if place in hidden else mark for place, mark in enumerate(said))


def _clauses(text: str) -> Iterator[str]:
    for part in _BREAK.split(text):
        yield part.strip()


def _stripped(part: str) -> str:
    """Without the words of the request before and behind it."""
    for _ in range(_MOST_STRIPPED):
        shorter = _CLOSING.sub("", _OPENING.sub("", part, count=1), count=1).strip(_EDGES)
        if shorter == part:
            break
        part = shorter
    return part


# --- The words ----------------------------------------------------------------------------------

_NUMBERS = {"a": 1.0, "an": 1.0, "half an": 0.5, "一": 1.0, "两": 2.0, "半": 0.5}

_NO_TIME = pattern("一下|(?<=[a-z])['’]s\\b")
_NOW = pattern(r"(?:right )?now|at the moment", "现在|目前|此刻")
_PART_OF_DAY = pattern(r"morning|afternoon|evening|night")
_IN_SO_LONG = pattern(
    "(?:[0-9]+|[一二两三四五六七八九十]+|半)个?(?:分钟|小时|天|周|星期|礼拜|月|年)(?:以|之)?后"
)
_IT_ALONE = pattern(
    "(?:it|that|this|them|that one|this one|one|the|a|an|my|so|me|i|but|event|appointment"
    "|reminder|calendar|schedule|beginning|starting)",
    r"[\d:.\s]+",
    "它|这个|那个|这条|那条|时间|这|那|他|她|的|个|一个|我|你|上|进去|标|标上|开始|占住",
    "[到进]?日[历程]|别让我忘",
)
_AT = pattern(r"^(?:at|in) ", "^(?:地点)?在|^地点")
_AT_A_PLACE = re.compile(r"\bat (?:the )?([A-Z][^,;]*|school|home|work|office)$")
_AT_END = pattern(r"\b(?:at|in)(?: the)?$", "在$")
_REPEATED = pattern(
    r"\b(?:every|each) (?:other |second |single |first |last |2nd |third |\d+ )?"
    r"(?:\w+day|day|week|weekday|workday|month|year|morning|evening|weeks|months|days)s?"
    r"(?: and \w+day)?\b",
    r"\b(?:daily|weekly|monthly|yearly|annually)\b",
    "每(?:隔)?[一二两三四0-9]*(?:个)?(?:周|星期|礼拜|天|日|月|年|工作日|早|晚)[一二三四五六日天]?"
    "(?:[、和]周?[一二三四五六日天])*",
)
_ALL = pattern(
    r"\b(?:all|every|each|whole series|entire|weekly|daily|monthly)\b", "所有|全部|每|整个|都"
)
_BEFORE = pattern(
    r"(?:\b(?:and |with )?(?:a )?remind(?:er)?(?: me)? )?\b(?P<en>\d{1,3}|half an|an?)[ -]?"
    r"(?P<en_unit>min(?:ute)?s?|hours?|h)\b"
    r"(?: reminder)?(?: before(?:hand)?| in advance| early| ahead| prior)(?: it| that)?\b",
    "提前(?P<zh>[0-9]{1,3}|一|两|半)个?(?P<zh_unit>分钟|小时)(?:提醒|叫|通知)?我?(?:一下)?",
)

#: How often an opening and a closing are taken away at most.
_MOST_STRIPPED = 12
_EDGES = " \t.,;:!?，。；：！？、~'\"“”‘’()（）"
_BREAK = re.compile(
    r"[\n，。；！？：、“”《》]+|改成|改为|换成"
    r"|(?<!\bDr)(?<!\bMr)(?<!\bMrs)(?<!\bMs)(?<!\bSt)(?<!\bProf)[.,;!?:](?=\s|$)"
)
_OPENING = pattern(
    r"^s\b(?= )",
    "^(?:please|hey|hi|hello|ok(?:ay)?|so|well|and|then|also|now|oh|no|actually|just|kindly"
    r"|sorry|only)\b(?!-)",
    r"^(?:can|could|would|will) (?:you|we|i)\b|^(?:i|we)(?:['’]d| would) like(?: to| you to)?\b"
    r"|^let['’]s\b|^i (?:need|want|have|got|have got)(?: you)?(?: to)?\b|^i\b(?=.*\bto\b)"
    r"|^i['’](?:m|ve)(?: got)?(?: to)?\b|^(?:be|am|go to|there['’]s|there is|have)\b(?=\s)",
    r"^(?:add|schedule|reschedule|book|plan|set up|set|create|put|pencil in|arrange|block out|block"
    r"|reserve|enter|log|organi[sz]e|make|move|postpone|push|delay|shift|bring|change|switch|swap"
    r"|cancel|scrap|delete|remove|drop|call off|take(?=.*\b(?:off|out)\b)|clear|get rid of|strike"
    r"|update|rename|extend|shorten|stick|note|do)\b(?!-)(?=\s|$)",
    r"^(?:remind|wake|alert)(?: me)?(?: to| about| of| that| up)?\b"
    r"|^do ?n['’]?o?t let me forget(?: to)?\b|^me a slot\b"
    r"|^(?:find|search|look(?: up| for)?|show|check|list|see|tell)(?: me)?\b(?!-)(?=\s)"
    r"|^(?:when|where|what time|what|which)(?:['’]s| is| are| do| does| am)?(?: i| we)?\b(?=\s)",
    "^(?:an?|the|my|our|that|this|another|new|for|to|in|on|about|of|from|with me|as an?"
    "|all(?: of)?)"
    r"\b(?=\s)|^(?:event|appointment|reminder|entry) (?=for |to |about |called )"
    r"|^(?:called|titled|named)\b|^(?:today|tomorrow|tonight|\w+day)['’]s\b"
    r"|^(?:location|place|room|title|name|time|notes?) (?:of|for)\b",
    "^(?:请|麻烦|帮忙|帮我|帮|给我|你|能不能|能|可以|可不可以|我们|我要|我想|我得|我需要|我有|我|再"
    "|另外|还有|还|然后|那么|就|都|先|把|将|要|有|在|不对|应该是|不用|只)",
    "^(?:安排|添加|加上|加入|加到|加一个|加个|加|预约|预订|预定|约了?(?:一下|一个|个)?|新建|新增"
    "|创建"
    "|设置|设一个|设个|定一个|定个|定|提醒我|提醒|叫我|喊我|记得|别忘了|取消|删除|删掉|删|去掉",
    "推迟|提前|改|挪|移|查一下|查查|查|看一下|看看|找一下|找|什么时候|几点|关于)",
    "^(?:那个|这个|那场|这场|那次|这次|一下|一个|个|一场|一次|日程|日历|事件|了|的|是(?=[^否]))",
)
_CLOSING = pattern(
    r"(?<![-\w])(?:please|thanks|thank you|for me|instead|back|forward|earlier|later|again|too"
    r"|as well|now|down|up)$",
    r"\b(?:to|on|in|into|off|from|out of|at)(?: my| the| our)? (?:calendar|schedule|agenda|diary)$"
    r"|(?<![-\w])(?:to|at|on|for|by|until|till|from|in|and|is|of|with|it|a|the)$"
    r"|\b(?:to|at|until|till) \d{1,2}(?::\d\d)?$"
    r"|\b(?:add|book|note|put|cancel|change|move|remind me|schedule) (?:it|that|this|me)?$"
    r"|(?<![-\w])(?:got |has been |was |is being |gets )?(?:moved|changed|cancelled|postponed)"
    r"(?: to)?$"
    r"|(?<![-\w])(?:reschedule|cancel|move)$|(?<![-\w])(?:isn['’]t|is not) happening$",
    "(?:吧|呢|吗|嘛|了|啊|哦|呀|掉|一下|谢谢|好吗|好不好|行吗)$",
    "(?:取消|删掉|删除|删|去掉|推迟到|推迟|延后到|延后|延期到|延期|推后到|推后|提前到|提前|提早到"
    "|改到|改在"
    "|改期到|改期|改约|改|换到|换|挪到|挪|移到|移|调到|调整到|不去|不开|不参加|变)$",
    "(?:(?:帮我|都|给我|请)?(?:加|记|放|写|添加|安排|存|add)(?:一下)?(?:到|进|入|在|上)?(?:我的)?"
    "(?:日程|日历)?"
    "(?:里面|里|中|上)?)$",
    "(?:提醒我|叫我|帮我|给我|从?(?:日历|日程)(?:上|里|中)|的(?:地点|标题|名字|名称|时间)|时间"
    "|这个|那个"
    "|到|在|是|的|要|从|和|另外|什么时候|几点|哪天|几号|开始|不是|(?<=.)不)$",
)
_KEEP_OPENING = pattern(
    r"^(?:please|hey|ok(?:ay)?|and|also|can you|could you|would you)\b",
    r"^(?:remember|keep in mind|do ?n['’]?o?t forget|for future reference|for the record)"
    r"(?: that| this)?(?:一下)?\b[,，]?",
    r"^(?:jot|note|write|put|take)(?: (?:this|that|it))?(?: down)?(?: that| this)?\b"
    r"|^(?:make|take|add|save|create|write)(?: a| an| this| the following)?(?: quick| new)?"
    r"(?: note| memo)?(?: that| of| about| to| for| as)?(?=[\s:,])"
    r"|^(?:a |new )?(?:note|memo)(?: to self)?(?: that| of| about)?(?=[\s:,])|^to self(?=[\s:,])",
    "^(?:请|麻烦|帮我|帮忙|给我|你|再|另外|还有|能不能|可以|一下)",
    "^(?:要?记住|牢记|记得|要记得|别忘了|别忘记|记一下|记下来|记下|记录一下|记录|记着|记一笔|记一条"
    "|记个|记|写个"
    "|写一条|加一条|加个|存一下|存一条|存个|新建|添加|保存)",
    "^(?:一条|一个|个|一下|条)?(?:笔记|备忘录|备忘|便签|note)(?=[:：，,\\s])",
)
_KEEP_CLOSING = pattern(
    r"[,.;]?\s*(?:please|thanks|(?:please )?(?:note|jot|write|put) (?:it|that|this) down"
    r"|remember that|(?:in|to) my notes)[.!]*$",
    "[，,。]?(?:请|帮我)?(?:记(?:一)?下(?:来)?|记住|记一笔|记到(?:笔记|备忘录?)里?)[。！!]*$",
)
