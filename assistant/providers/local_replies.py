"""What the embedded model says of a result: the store's own words.

Left to itself it told of a result wrongly, in the other language, or in JSON.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from assistant.messages import Language, Message


def told(results: Sequence[Message], language: Language) -> str:
    """The results as a reply; empty where one of them has to be put into words by the model."""
    # The user sees all of a result, also of one that was cut for the prompt.
    parts = [_told(result.whole or result.text, language) for result in results]
    return "\n".join(parts) if all(parts) else ""


def answer_grammar(language: Language) -> str:
    """GBNF for what the model says of a result: no JSON, and Chinese after a Chinese question."""
    first = "[\u4e00-\u9fff]" if language == "zh" else "[A-Za-z0-9]"
    return rf"root ::= {first} [^{{}}`\x00]*"


def language_of(text: str) -> Language:
    """`zh` when at least a third of the words are Chinese, a character counting as one."""
    han = len(_HAN.findall(text))
    return "zh" if han and 2 * han >= len(_WORD.findall(text)) else "en"


def _told(result: str, language: Language) -> str:
    for opening, english, chinese in _OPENINGS:
        found = opening.match(result)
        if found:
            rest = _ID.sub("- ", result[found.end() :])
            own = (english if language == "en" else chinese).format(*found.groups(""))
            whole = f"{own}{rest}".strip()
            return whole if language == "en" else _WEEKDAY.sub(_in_chinese, whole)
    return ""


_HAN = re.compile(r"[\u3400-\u9fff]")
_WORD = re.compile(r"[A-Za-z]+")

_WEEKDAYS = {
    "Mon": "周一",
    "Tue": "周二",
    "Wed": "周三",
    "Thu": "周四",
    "Fri": "周五",
    "Sat": "周六",
    "Sun": "周日",
}
_WEEKDAY = re.compile(rf"\b(?:{'|'.join(_WEEKDAYS)})\b(?= \d{{4}}-|）)", re.ASCII)


def _in_chinese(weekday: re.Match[str]) -> str:
    return _WEEKDAYS[weekday[0]]


#: The id in front of an entry in a list; a dash takes its place.
_ID = re.compile(r"^[em][a-z0-9@t-]+ · ", re.MULTILINE)

_DAY = r"(\w{3}) (\d{4}-\d\d-\d\d)"
_ONE_DAY = f" on {_DAY}"
_DAYS = f" from {_DAY} to {_DAY}"

#: How results begin, and how that is said.
_OPENINGS = (
    (re.compile(r"Created, with the id \S+: "), "Added to your calendar: ", "已加入日程："),
    (
        re.compile(r"Changed at [\d: -]+\. It was: (.*)\nIt is now, with the id \S+: (.*)"),
        "Changed: {1} (it was: {0})",
        "已修改：{1}（原来：{0}）",
    ),
    (re.compile(r"Cancelled at [\d: -]+: "), "Cancelled: ", "已取消："),
    (
        re.compile(rf"No events(?: with “.*”)?{_ONE_DAY}\.$"),
        "Nothing is planned on {0} {1}.",
        "{1}（{0}）没有安排。",
    ),
    (
        re.compile(rf"No events(?: with “.*”)?{_DAYS}\.$"),
        "Nothing is planned from {0} {1} to {2} {3}.",
        "{1}（{0}）到{3}（{2}）没有安排。",
    ),
    (re.compile(r"No events with “(.*)”\.$"), "Nothing fits “{0}”.", "没有找到“{0}”。"),
    (
        re.compile(rf"\d+ events?(?: with “.*”)?{_ONE_DAY}:$", re.MULTILINE),
        "Planned on {0} {1}:",
        "{1}（{0}）的安排：",
    ),
    (
        re.compile(rf"\d+ events?(?: with “.*”)?{_DAYS}:$", re.MULTILINE),
        "Planned from {0} {1} to {2} {3}:",
        "{1}（{0}）到{3}（{2}）的安排：",
    ),
    (re.compile(r"\d+ events? with “.*”:$", re.MULTILINE), "This fits:", "找到这些安排："),
    (re.compile(r"Saved, with the id \S+: "), "Noted: ", "已记下："),
    (re.compile(r"Changed\. It was: (.*)\nIt is now: "), "Changed: ", "已修改："),
    (re.compile(r"Deleted: "), "Deleted: ", "已删除："),
    (re.compile(r"No memo fits\."), "No memo fits.", "没有找到相关的备忘。"),
    (re.compile(r"(?=m[a-z0-9]+ · )"), "In your memos:\n", "备忘里有：\n"),
    (re.compile(r"Remembered, with the id \S+: "), "I'll remember: ", "记住了："),
    (re.compile(r"It is known already: (.*) \(id \S+\)\."), "I know that: {0}", "我已经知道：{0}"),
    (re.compile(r"Ended: (.*)\. It stays in the history\."), "Forgotten: {0}", "不再记着：{0}"),
    (
        re.compile(r"Nothing was changed: it is as asked already: "),
        "It is so already: ",
        "已经是这样了：",
    ),
    (
        re.compile(r"The user said no\. Nothing was changed\..*"),
        "All right, nothing was changed.",
        "好的，什么都没有改。",
    ),
    (
        re.compile(r"\w+ was not run: id: “(.*)” fits \d+ (?:event|memo)s:"),
        "More than one fits “{0}”. Which one is meant?",
        "有几个都符合“{0}”，是哪一个？",
    ),
    (
        re.compile(r"\w+ was not run: There is no (?:event|memo) “(.*?)”.*", re.DOTALL),
        "Nothing was found that fits “{0}”; nothing was changed.",
        "没有找到“{0}”，什么都没有改。",
    ),
    (re.compile(r"\w+ was not run: "), "That was not done: ", "没有完成："),
    (re.compile(r"\w+ changed nothing: "), "Nothing was changed: ", "什么都没有改："),
)
