"""Claims in a reply that something was saved, booked, changed or remembered.

A reply is only words: whether anything was written is known from the store alone. What is offered,
asked, denied or put in the future is no claim, nor is what was said to be kept already.
"""

from __future__ import annotations

import re

from assistant.memory.clauses import sentences

_DONE_EN = (
    r"(?:added|saved|stored|noted|recorded|booked|scheduled|rescheduled|moved|updated|changed"
    r"|cancell?ed|deleted|removed|created|remembered|memori[sz]ed"
    r"|written (?:it|that|this) down|put (?:it|that|this|the \w+|your \w+) (?:in|on|into)"
    r"|set (?:up )?(?:a|the|your) (?:reminder|meeting|event|appointment|alarm))"
)
_KEPT_EN = (
    r"(?:your|the) "
    r"(?:calendar|schedule|memos?|notes?|list|reminders?|event|appointment|meeting|memory)"
)
_ENGLISH = re.compile(
    # "I have added …", "I've just saved …", "I scheduled …"
    r"\bI(?:'ve|’ve| have)?(?: just| now| also| already| successfully| gone ahead and)* "
    rf"{_DONE_EN}\b"
    # "… has been added to …", "your meeting is now scheduled"
    rf"|\b(?:has|have) (?:now |just |successfully )?been (?:successfully )?{_DONE_EN}\b"
    rf"|\b{_KEPT_EN} (?:is|are) (?:now )?(?:all )?(?:{_DONE_EN}|set)\b"
    # "I'll remember that", "I will keep that in mind"
    r"|\bI(?:'ll|’ll| will)(?: be sure to| make sure to)? (?:remember"
    r"|keep (?:that|this|it) in mind|make a note|note (?:that|it|this)(?: down)?\b)"
    # "Saved.", "Noted: …"
    r"|^\W*(?:saved|noted|booked|scheduled|added|remembered)\b"
    r"(?= ?[.!:,]| (?:it|that|to|for)\b)",
    re.IGNORECASE,
)
_DONE_ZH = (
    r"(?:添加|保存|记录|记下|记住|预约|预定|预订|安排|创建|更新|修改|改成|改为|改到|取消|删除|设置"
    r"|加入|存好|登记)"
)
_CHINESE = re.compile(
    # 已为您安排, 我已经把会议改到, 已将该日程添加到
    r"(?:已经|已|刚刚|刚)(?:(?:为|帮|给|替)[你您])?(?:[把将][^，。！？\n]{1,20}?)?"
    rf"(?:成功)?{_DONE_ZH}"
    rf"|{_DONE_ZH}(?:好了|完成|成功|完毕|下来了)"
    r"|我(?:会|都|已经)?(?:一直)?记(?:住|下|着)(?:了|的|这|它|你|您)"
    r"|(?:记住|记下)了(?=[。！，,.!~～]|$)"
)
_NOT_A_CLAIM = re.compile(
    r"\b(?:not|never|unable|cannot|would|could|should|may|might|if|once|when|unless|nothing"
    r"|do you|shall i|want me)\b|n['’]t\b"
    r"|没有|没能|无法|不能|未能|尚未|还没|如果|要不要|是否|需要我|可以帮|等你|吗",
    re.IGNORECASE,
)
#: Characters of a reply that are looked at: what was done is said at its start or its end.
_LOOKED_AT = 1_500


def claims_a_change(reply: str) -> bool:
    """Whether a reply says that something was saved, booked, changed or remembered just now."""
    if len(reply) > 2 * _LOOKED_AT:
        reply = f"{reply[:_LOOKED_AT]}\n{reply[-_LOOKED_AT:]}"
    return any(
        (_ENGLISH.search(one) or _CHINESE.search(one))
        and not _NOT_A_CLAIM.search(one)
        and not one.rstrip().endswith(("?", "？"))
        for one in (reply[slice(*span)] for span in sentences(reply))
    )
