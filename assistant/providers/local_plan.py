"""The calls that a message asks for, made of the user's own words.

Titles, times and ids are taken from the message, or from the conversation: a small model left to
itself translates, reckons and invents them, and calls tools for small talk.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias

import msgspec

from assistant.providers.local_requests import (
    ALONE,
    BARE_HOUR,
    EVENT_ID,
    MEMO_ID,
    Kind,
    names_clock,
    pattern,
    tool_for,
)
from assistant.providers.local_words import (
    is_about_all,
    is_place,
    minutes_before,
    names_in,
    place,
    place_within,
    repetition,
    wording,
)

#: The arguments of a call, in the order of the tool's schema; None and "" for those left out.
Arguments: TypeAlias = Mapping[str, "str | int | None"]


class Said(msgspec.Struct, frozen=True):
    """What the user said, and what of the conversation before it a call may need."""

    text: str
    times: tuple[str, ...] = ()
    """The expressions of time in it, but for "now"."""
    spoken_of: tuple[str, ...] = ()
    """The ids of events and memos that results named, the last one first."""

    @property
    def last(self) -> Kind:
        if not self.spoken_of:
            return ""
        return "event" if self.spoken_of[0].startswith("e") else "memo"

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(names_in(self.text, self.times))


def planned(said: Said, tools: Sequence[str]) -> Sequence[tuple[str, Arguments]]:
    """The calls that a message asks for, of the `tools` there are: names and arguments.

    None where it asks for none of them, or lacks what the call needs: then the model has to ask.
    """
    name = tool_for(said.text, said.times, said.last)
    if name not in tools:
        return ()
    return [
        (name, {argument: value for argument, value in one.items() if value not in ("", None)})
        for one in _ARGUMENTS[name](said)
    ]


def _create(said: Said) -> Sequence[Arguments]:
    names, times = said.names, said.times
    places = [one for one in names[1:] if is_place(said.text, one)]
    titles = [one[:1].upper() + one[1:] for one in names if one not in places]
    if not titles or not times:
        return []
    if len(titles) == len(times) == 2 and all(names_clock([one]) for one in times):
        # Two appointments in one message.
        return [{"title": title, "start": time} for title, time in zip(titles, times, strict=True)]
    # Beside a time with an hour, a day is when a series begins.
    with_hour = [one for one in times if names_clock([one])]
    return [
        {
            "title": titles[0],
            "start": (with_hour or times)[0],
            "location": place(places[0]) if places else place_within(titles[0]),
            "remind_before": minutes_before(said.text),
            "repeat": repetition(said.text),
        }
    ]


def _list(said: Said) -> Sequence[Arguments]:
    if said.times:
        return [{"from": said.times[0], "to": said.times[1] if said.times[1:] else ""}]
    wanted = said.names[:1] if _ASKS_FOR_ONE.search(said.text) else ()
    return [{"query": "".join(wanted)}]


def _update(said: Said) -> Sequence[Arguments]:
    event = _which(said, EVENT_ID, "e")
    changes = _changes(said)
    return [{"id": event, **changes, "scope": _scope(said, event)}] if event and changes else []


def _changes(said: Said) -> Arguments:
    """What is to be different: a detail that is named, else the time."""
    new = _UP_TO.sub("", said.names[-1]) if said.names else ""
    if _TITLE.search(said.text):
        return {"title": new}
    if _PLACE.search(said.text) or _AT_A_NAME.search(said.text):
        return {"location": new}
    before = minutes_before(said.text)
    if before is not None:
        return {"remind_before": before}
    if said.times:
        # What is moved may be called by its old time; "from 3 to 4" is no stretch here.
        return {"start": _FROM_TO.sub("", said.times[-1])}
    hour = BARE_HOUR.search(said.text)
    return {"start": f"at {hour[1]}"} if hour else {}


def _cancel(said: Said) -> Sequence[Arguments]:
    event = _which(said, EVENT_ID, "e")
    return [{"id": event, "scope": _scope(said, event)}] if event else []


def _update_memo(said: Said) -> Sequence[Arguments]:
    memo = _which(said, MEMO_ID, "m")
    return [{"id": memo, "text": said.names[-1]}] if memo and said.names else []


def _delete_memo(said: Said) -> Sequence[Arguments]:
    memo = _which(said, MEMO_ID, "m")
    return [{"id": memo}] if memo else []


def _which(said: Said, ids: re.Pattern[str], letter: str) -> str:
    """The id that was said; else the entry spoken of last where no other is named.

    `letter` is what the ids begin with.
    """
    by_id = ids.search(said.text)
    if by_id:
        return by_id[0]
    last = next((one for one in said.spoken_of if one.startswith(letter)), "")
    if last and (ALONE.search(said.text) or not said.names):
        return last
    return said.names[0] if said.names else ""


def _scope(said: Said, event: str) -> str:
    if "@" in event:
        return "this"
    return "all" if is_about_all(said.text) else ""


def _save_memo(said: Said) -> Sequence[Arguments]:
    return [{"text": wording(said.text)}]


def _search_memos(said: Said) -> Sequence[Arguments]:
    return [{"query": " ".join(said.names) or said.text}]


def _remember(said: Said) -> Sequence[Arguments]:
    until = bool(_UNTIL.search(said.text))
    since = bool(_SINCE.search(said.text)) and not until
    day = said.times[0] if said.times else ""
    return [
        {
            "text": wording(said.text),
            "valid_from": day if since else "",
            "valid_until": day if until else "",
        }
    ]


def _forget(said: Said) -> Sequence[Arguments]:
    by_id = _FACT_ID.search(said.text)
    return [{"id": by_id[0] if by_id else _FORGET.sub("", said.text).strip(" .。")}]


def _recall(said: Said) -> Sequence[Arguments]:
    return [{"question": said.text}]


_ARGUMENTS: Mapping[str, Callable[[Said], Sequence[Arguments]]] = {
    "create_event": _create,
    "list_events": _list,
    "update_event": _update,
    "cancel_event": _cancel,
    "save_memo": _save_memo,
    "search_memos": _search_memos,
    "update_memo": _update_memo,
    "delete_memo": _delete_memo,
    "remember": _remember,
    "forget_fact": _forget,
    "recall": _recall,
}

_ASKS_FOR_ONE = pattern(
    r"\b(?:when|where|what time|what day|find)\b", "什么时候|几点|哪天|几号|在哪|找"
)
_TITLE = pattern(r"\b(?:rename|title|call it)\b", "标题|名字|名称|重命名|改名")
_PLACE = pattern(r"\b(?:location|place|room)\b", "地点|地方|会议室")
_AT_A_NAME = re.compile(r"\bis (?:at|in) (?:\d+\w? )?(?:the )?[A-Z]\w")
_UP_TO = pattern(r"^.*\bto\b ?")
_FROM_TO = pattern(r"^from .* (?:to|until|till) ", "^从.*到")
_UNTIL = pattern(r"\b(?:until|till)\b", "直到|为止|到.*[前止]")
_SINCE = pattern(r"\b(?:from|since|as of|starting)\b", "从|自|起")
_FACT_ID = pattern(r"\bf(?=[a-z0-9]*[0-9])[a-z0-9]{3,6}\b")
_FORGET = pattern(
    r"^(?:please |can you |could you )?forget(?: that| about| the fact that)?\b",
    "^(?:请|帮我|可以|你|把)*(?:忘掉|忘了|忘记)?|(?:这件事|这条)?(?:忘掉|忘了|忘记)?$",
)
