"""What a message asks the tools for, by the words people use: for a model too small to tell.

The rules are tried in order and the first that fits decides. A change is confirmed by the user
before it is made, so a wrong guess costs a question.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Literal, TypeAlias

#: What a conversation spoke of last, and what "it" in the next message can stand for.
Kind: TypeAlias = Literal["event", "memo", ""]


def tool_for(said: str, times: Sequence[str], last: Kind = "") -> str:
    """The tool that a message asks for; empty where it asks for none.

    `times` are the expressions of time in it. `last` is what a tool's result was about before, if
    anything: "move it" needs that.
    """
    if _NOT_MEANT.search(said) or len(said) > _LONGEST:
        return ""
    return _tool_for(said, times, last) or ("create_event" if _states(said, times) else "")


def _tool_for(said: str, times: Sequence[str], last: Kind) -> str:
    if EVENT_ID.search(said):
        return "cancel_event" if _CANCEL.search(said) else "update_event"
    return (
        _about_facts(said)
        or _about_past_talk(said)
        or _about_memos(said, times, last)
        or _about_events(said, bool(times), last)
    )


def _about_facts(said: str) -> str:
    if _FORGET.search(said):
        return "forget_fact"
    return "remember" if _REMEMBER.search(said) else ""


def _about_past_talk(said: str) -> str:
    return "recall" if _RECALL.search(said) else ""


def _about_memos(said: str, times: Sequence[str], last: Kind) -> str:
    by_name = bool(_MEMO.search(said) or MEMO_ID.search(said))
    if by_name or (last == "memo" and _IT.search(said)):
        if _CANCEL.search(said):
            return "delete_memo"
        if _CHANGE.search(said) and (by_name or not names_clock(times)):
            return "update_memo"
    if by_name and _OWN.search(said) and (_QUESTION.search(said) or _FIND.search(said)):
        return "search_memos"
    if names_clock(times) and not _TO_MEMOS.search(said):
        return ""
    if _NOTE_DOWN.search(said) and not _CALENDAR.search(said):
        return "search_memos" if _ASKS.match(said) else "save_memo"
    return "save_memo" if _TO_MEMOS.search(said) else ""


def _about_events(said: str, timed: bool, last: Kind) -> str:
    if _PAST.search(said):
        return ""
    if _CANCEL.search(said) and not _QUESTION_WORD.search(said):
        return "cancel_event"
    if _looks(said, timed):
        return "list_events"
    if _MOVE.search(said) and (timed or last == "event" or BARE_HOUR.search(said)):
        return "update_event"
    if _CHANGE.search(said) and (_DETAIL.search(said) or timed):
        return "update_event"
    if last == "event" and timed and _CORRECTION.search(said):
        return "update_event"
    if timed and (_CREATE.search(said) or _REMIND.search(said) or _NOTE_DOWN.search(said)):
        return "create_event"
    return ""


def _looks(said: str, timed: bool) -> bool:
    """Whether it asks what is planned."""
    if _SHOW.search(said) and _CALENDAR.search(said):
        return True
    if not _ASKS.search(said) or _ASKS_TO_DO.search(said):
        return False
    if _CALENDAR.search(said) and (timed or _OWN.search(said)):
        return True
    return bool(_WHEN_OWN.search(said) or ((timed or "my week" in said) and _PLANNED.search(said)))


def _states(said: str, times: Sequence[str]) -> bool:
    """Whether it just names something and its time: "Train to Vienna on Friday at 6:42"."""
    brief = len(_WORD.findall(said)) <= _BRIEF
    other = any(one.search(said) for one in (_QUESTION, _PAST, _HABIT))
    return brief and not other and names_clock(times)


def names_clock(times: Sequence[str]) -> bool:
    """Whether a time of day is among the expressions."""
    return any(CLOCK.search(time) for time in times)


# --- The words ----------------------------------------------------------------------------------


def pattern(*alternatives: str) -> re.Pattern[str]:
    # With ASCII a Chinese character ends a word: people write 我next week有会.
    return re.compile("|".join(alternatives), re.IGNORECASE | re.ASCII)


#: Where a verb is a request: at the beginning of a clause, behind "please" or a Chinese word.
_DO = (
    r"(?:^|[-,.;:!?，。：；！？\u4e00-\u9fff]\s*|\b(?:please|you|we|and|then|also|now|just|ok"
    "|okay|hey"
    r"|hi|(?:need|like|want|have|got) you to|(?:need|like|have) to)\s+)"
)

#: Characters of a request: what is longer was most likely pasted, and is talked about.
_LONGEST = 600

#: Supposed, asked about in general, refused, or a task of another kind.
_NOT_MEANT = pattern(
    r"^\W*(?:if|suppose|imagine|assuming|what if|why)\b|\bif (?:i|you|we)\b(?! have)",
    r"\b(?:do ?n['’]?o?t|never|no need to) (?:add|save|note|book|schedule|cancel|move|delete"
    r"|put)\b",
    r"\bwhat would\b|\bhow (?:do|does|can|should|would|to)\b|\bwhat does\b.*\bmean\b",
    r"\b(?:translate|explain|summari[sz]e|recommend|proofread|define|compose|draft|rhyme)\b",
    r"\bwrite (?:me |us )?(?:an?|the|some|two|three) (?!note|memo|reminder)",
    r"\b(?:tell|write|give|sing|make|read)\b.*\b(?:joke|poem|haiku|story|essay|e-?mail|letter"
    r"|code|script|function)\b",
    r"\bwhat (?:is|are|['’]s) (?:an?|the (?:capital|difference|meaning|best))\b",
    r"\b(?:this|the|following) (?:sentence|text|list|word|paragraph|code)\b|这(?:句|段|个词)",
    "如果|要是|假如|假设|万一|倘若|怎么(?:样|写|做|用|才|会|读|念|说|回事|办)|怎样|如何|为什么",
    "为啥",
    r"翻译|解释|推荐|什么意思|什么是|是什么(?:东西)?[?？。]?$|介绍一下|润色|总结",
    r"(?:写|讲|说|编|来)(?:一|个|首|篇|封|段)(?:个|首|篇|封|段|则)?(?!笔|下|备忘|便|提醒)",
    r"(?:先|都)?(?:别|不要|不用|不必|无需)(?:再)?(?:帮我)?(?:加|添|记|存|改|取消|安排|删|移|订|约)",
)

_REMEMBER = pattern(
    r"\b(?<!you )remember (?:that|this|:|my|our|i\b|i['’]|we\b)|\bremember[:,]|\bkeep in mind\b",
    r"\bdo ?n['’]?o?t forget (?:that|my|i\b|i['’])|\bfor (?:future reference|the record)\b",
    r"\bfrom now on\b",
    r"\bremember一下|记住|牢记|(?:请|要)记得我|别忘(?:了|记)我|今后都?请|以后都?请",
)
_FORGET = pattern(
    r"^(?:(?:please|can you|could you|you can|now|ok(?:ay)?),? )*forget\b(?! it\W*$)",
    r"\bforget (?:fact|the fact)\b",
    r"^(?:请|帮我|可以|你)*(?:忘掉|忘了|忘记|忘)|(?:把|将).*(?:忘掉|忘了|忘记)|别再记",
)
_RECALL = pattern(
    r"\b(?:did|have|had) (?:i|we|you and i)\b.*\b(?:tell|told|say|said|mention\w*|talk\w*"
    r"|discuss\w*|decide\w*)\b",
    r"\bwhat (?:was it )?i (?:told|said|mentioned)\b",
    r"\bdo you (?:still )?remember (?:what|when|which|who|where|how|my|the|our)\b",
    r"\b(?:earlier|past|previous|old|last|other) (?:chats?|conversations?|sessions?|talks?"
    r"|discussions?)\b",
    "(?:之前|以前|上次|上回|曾经|那次|前几天|上周|上个月|昨天|先前|早些时候).*(?:跟你|和你|对你"
    "|我们|咱们|我).*(?:说|聊|提|讲|告诉|谈|问)",
    r"(?:我|我们|咱们).*(?:之前|以前|上次|上回|曾经|先前).*(?:说|聊|提|讲|告诉|谈|问)",
    r"还记得|记不记得|(?:说|聊|提|讲|谈)过(?:的|什么|吗|没|哪)|(?:查|翻|找).*(?:对话|聊天|谈话)",
)

_MEMO = pattern(r"\b(?:notes?|memos?|notebook)\b(?! (?:that|down)\b)", "笔记|备忘|便签|便条|记事本")
_NOTE_DOWN = pattern(
    r"\b(?:jot|note|write|put|take|get)\b.{0,30}\bdown\b|\bjot\b|^(?:please )?note(?: that)?\b",
    r"\b(?:make|take) (?:a |an? \w+ )?(?:note|memo)\b|\bsave (?:this|that|the following)\b",
    r"记(?:一)?(?:下|录|着|笔|条)|记个|备忘[:：]|存(?:一)?下|笔记[:：]",
)
_TO_MEMOS = pattern(
    r"\b(?:to|in|into|among) (?:my|the|our) (?:notes|memos|notebook)\b|^\W*(?:note|memo)\b\W*[:：]",
    r"\b(?:make|take|save|create|write|add|new) (?:me )?(?:an? |this |another )?(?:\w+ )?(?:note"
    r"|memo)\b",
    r"\bjot\b",
    "(?:记|写|加|存|建|添|做|新).{0,6}(?:笔记|备忘|便签|便条|记事本)|(?:笔记|备忘录?)[:：]",
)
_FIND = pattern(
    r"\b(?:find|search|look|show|check|list|see|view|read|open|pull up|tell me|go through|which)\b",
    "找|查|看|列|显示|翻|搜|告诉我|有没有|哪些|哪个",
)

_CALENDAR = pattern(
    r"\b(?:calendar|schedule|agenda|diary|appointments?|events?|meetings?|plans|planned|booked"
    r"|free|busy|available|plan)\b",
    "日程|日历|安排|行程|计划|会议|活动|预约|约[会了]|有空|有事|空闲|没空|忙",
    "[哪个些场有没]会(?!不)",
)
_SHOW = pattern(
    "^(?:(?:please|can|could|would|you|hey|ok),? )*(?:find|search|look up|show|check|list|see"
    r"|view|read|open|pull up|go through|tell me|what about)\b",
    "(?:^|[，,。；]|帮我|请|给我|先|再)(?:看|查|列|显示|找)",
)
#: A question that is none that asks for something to be done.
_ASKS = pattern(
    r"^\W*(?:and |so |ok |hey )?(?:what|when|which|who|where|how|am|do|does|is|are|any|anything"
    r"|have|has)\b",
    r"\b(?:what|which|when|how many)\b.*[?？]$|\b(?:am|do|have) i\b",
    "什么|哪|吗|几点|几个|有没有|是不是|多少|谁|啥|干嘛|忙不忙|呢[?？]?$",
)
_ASKS_TO_DO = pattern(
    r"\b(?:can|could|would|will) you\b",
    "(?:帮|给)我?.*(?:安排|加|订|约|定|记|设|提醒)|(?:能不能|可以|能).*(?:安排|加|订|约|定|提醒)",
)
_OWN = pattern(r"\b(?:i|i['’]m|me|my|we|our|any|anything)\b", "我|咱|有|今|明|后|找|查|看")
_PLANNED = pattern(
    r"\b(?:have|has|had|got|am|are|do|going) (?:i|we)\b.*\b(?:got|have|on|doing|anything"
    r"|something|up to|need|have to|go|going|due|free)\b",
    r"\b(?:what does|how does|how is) my (?:day|week|weekend|month)\b",
    r"\bwhat['’]?s? (?:is |are |have |do |does |am )?(?:i|we|on|up|going on|happening|coming|next"
    "|due"
    r"|the plan|my)\b",
    r"\b(?:anything|something) (?:on|planned|going on|happening|due|for)\b",
    r"\bis there (?:anything|something)\b",
    "有(?:什么|啥|哪些|没有)?(?:事|要做|安排|约|会|空)|(?:做|干|忙)(?:什么|啥|些什么)|干嘛",
    "要(?:做|干|去|见|开)(?:什么|啥|哪|谁)|有(?:什么|啥)$",
)
_WHEN_OWN = pattern(
    r"\b(?:when|what time|what day|where)(?:['’]s| is| are| do| does| am)? (?:i|we|my|our)\b",
    r"\b(?:when|what time|what day|where)(?:['’]s| is| are) the (?:\w+ ){0,3}(?:meeting"
    r"|appointment|call|review|interview|class|lesson|party|dinner|lunch)\b",
    r"\bwhat(?:['’]s| is) (?:my )?next\b.*\b(?:meeting|appointment|event)\b",
    "我.*(?:什么时候|几点|哪天|几号)",
    "(?:会|会议|课|面试|预约|评审|聚会|约).*(?:是|在)?(?:什么时候|几点|哪天|几号)",
)
_QUESTION = pattern(
    r"[?？]\s*$|^\W*(?:what|when|which|who|where|why|how|am|do|does|did|is|are|was|have|has|any)\b",
    "什么|哪|吗|呢$|多少|几点|有没有|是不是|谁|啥",
)
_QUESTION_WORD = pattern(
    r"^\W*(?:what|when|which|who|where|how|did|is|are|was|were|has|have)\b",
    "什么|哪些|是不是|有没有|为何|了吗",
)

_CANCEL = pattern(
    rf"{_DO}(?:cancel|scrap|delete|remove|drop|erase|discard|scratch|clear|unschedule)\b",
    r"\bcall(?:ed|ing)? (?:\w+ ){0,4}off\b",
    r"\b(?:get rid of|throw (?:away|out)|cross out)\b",
    r"\b(?:take|strike|cross|knock) .*\b(?:off|out of)\b",
    r"\bno longer (?:need|go|going|happening|on)\b|\bis off\b",
    r"\b(?:isn['’]t|is not) (?:happening|taking place)\b",
    r"\bwon['’]t (?:be (?:able to |going )?)?(?:go|make|need|to)\b",
    "取消|删掉|删除|删了|删去|去掉|划掉|撤销|撤掉|移除|清除|不去了|不开了|不用去了?|退掉|不约了",
    "不参加了|作废",
)
_MOVE = pattern(
    rf"{_DO}(?:push|bring|put|pull)\b.*\b(?:to|till|until|back|forward|off|by|earlier|later|up"
    r"|instead)\b",
    rf"{_DO}(?:reschedule|postpone|move|delay|shift)\b|\breschedule\b",
    rf"{_DO}make (?:it|that|this|the \w+|\w+ing)\b",
    rf"{_DO}(?:switch|swap|change|extend|shorten)\b.*\b(?:to|till|until|from|it|time|day)\b",
    r"\binstead\b|\brather\b.*\bthan\b|\bis (?:now )?(?:at|on)\b.*\bnow\b",
    r"\b(?:has been|was|got|is)? ?(?:moved|pushed|postponed)(?: back)? to\b",
    "改(?:到|成|为|期|在|约|至|个|一下|下)|推迟|延后|延期|延迟|推后|往后|往前|顺延|挪|移到|换到",
    "换成|换在|调到|调成|调整到?|变更",
    r"提前(?!.{0,8}(?:提醒|叫我|通知))|提早|延长|缩短",
)
_CHANGE = pattern(
    rf"{_DO}(?:change|update|correct|edit|replace|rename|amend)\b",
    "改|更新|更正|修改|换成|重命名|变更|调整",
)
_DETAIL = pattern(
    r"\b(?:location|place|room|title|name|called|notes?|reminder|rename)\b",
    "地点|地方|标题|名字|名称|备注|提醒|会议室",
)
_CORRECTION = pattern(
    r"^\W*(?:no|not|actually|sorry|wait|i meant?|oops|rather)\b|\bi meant\b|\bbetter\b",
    "^不对|不是|应该是|应该在|说错|搞错|弄错|更好|还是",
)
_CREATE = pattern(
    rf"{_DO}(?:add|schedule|book|set(?: up)?|create|put|pencil|arrange|block|reserve|enter|log"
    r"|organi[sz]e|fix|plan|squeeze|slot|mark|save|stick|invite)\b",
    r"\b(?:make|need|want|have|got|get) (?:me )?(?:an? |another )?(?:\w+ )?(?:appointment"
    r"|reservation|booking|event|meeting)\b",
    r"\bput (?:\w+ ){0,4}down\b|\b(?:calendar|diary|agenda)\b",
    "安排|添加|加(?:到|进|个|一|上|入|下|在)|都加|预约|预订|预定|订(?:个|一|了|在|好)?|约|新建",
    "新增|创建|设(?:置|个|一|定)|定(?:个|一|在|好)|记(?:到|在|进|下|一下|入|得|上|着)|日程|日历",
    "排(?:个|一|在|上)|标(?:记|上|一)",
)
_REMIND = pattern(
    r"\b(?:remind|reminder|alert|wake)\b|\bdo ?n['’]?o?t let me forget\b|\bremember to\b",
    "提醒|叫我|喊我|闹钟|别忘|记得|通知我",
)

#: An event or a memo that the message itself does not name.
_IT = pattern(
    r"\b(?:it|that|this|them|that one|this one|the (?:first|second|last|other) one)\b",
    "它|这个|那个|这条|那条",
)
#: What stands for an entry without its name beside it, as 那个 may not.
ALONE = pattern(r"\b(?:it|them|(?:that|this|the first|the last) one)\b", "它")
EVENT_ID = pattern(r"\be(?=[a-z0-9]*[0-9])[a-z0-9]{4}(?:@[0-9t-]+)?\b")
MEMO_ID = pattern(r"\bm(?=[a-z0-9]*[0-9])[a-z0-9]{3,6}\b")

_PAST = pattern(
    r"\b(?:yesterday|last (?:night|week|month|year|monday|tuesday|wednesday|thursday|friday"
    r"|saturday|sunday)|ago|had|went|did|woke|got up|slept)\b",
    r"\b(?:was|were)\b(?! (?:moved|pushed|postponed|cancelled|canceled))",
    "昨|前天|上周|上个?月|上星期|去年|刚才|已经|了一天|过了",
)
#: What is said of every day, or of opening hours.
_HABIT = pattern(
    r"\b(?:usually|always|normally|often|never|opens?|closes?|love|like|hate|think|says?)\b",
    "通常|一般|平时|总是|经常|从不|开门|关门|营业|喜欢|觉得|说",
)
#: Words, a Chinese character counting as one, of a message that is no more than an appointment.
_BRIEF = 24
_WORD = re.compile(r"[A-Za-z']+|[\u3400-\u9fff]")
CLOCK = pattern(
    r"\d\s*(?:[:：.h]\s*\d\d|am|pm|a\.m|p\.m|o['’]clock)|\bat\b|\bnoon\b|\bmidnight\b",
    "[点时]|中午",
)
BARE_HOUR = pattern(r"\b(?:to|at|until|till) ((?:1?[0-9]|2[0-3])(?::[0-5][0-9])?)\b(?! ?%)")
