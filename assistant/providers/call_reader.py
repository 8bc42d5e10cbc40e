"""Calls of tools that a model writes as text, as many small ones do, told from ordinary text."""

from __future__ import annotations

import json
import re
from collections.abc import Collection

from assistant.messages import ToolCall
from assistant.providers.openai_messages import new_call_id


class CallReader:
    """Takes a reply's text as it comes, and holds back what may still turn out to be a call.

    A reply is taken for calls only if it is nothing else: one JSON object, several, or a list of
    them, bare, fenced or in `<tool_call>` tags. Words before it ("Sure: {…}") or after it make it
    ordinary text.
    """

    def __init__(self, names: Collection[str]) -> None:
        """`names` are those of the tools that were offered; without any, nothing is held back."""
        self._names = names
        self._holding = bool(names)
        self._held = ""

    def add(self, text: str) -> str:
        """Take the next piece and give what can be shown now, earlier pieces included."""
        if not self._holding:
            return text
        self._held += text
        if _may_begin_call(self._held):
            return ""
        self._holding = False
        return self.rest()

    def calls(self) -> tuple[ToolCall, ...]:
        """At the end of the reply: the calls it is. Empty when it is text, which `rest` gives."""
        found = calls_in(self._held, self._names)
        if found:
            self._held = ""
        return found

    def rest(self) -> str:
        """What is held back, once."""
        held, self._held = self._held, ""
        return held


def calls_in(text: str, names: Collection[str]) -> tuple[ToolCall, ...]:
    """The calls that make up all of `text`; empty if anything in it is something else."""
    objects = _objects(text)
    calls = [_call(one, names) for one in objects]
    whole = tuple(call for call in calls if call is not None)
    return whole if len(whole) == len(calls) else ()


#: What may stand before a call, a longer one before one that begins it.
_WRAPPERS = ("<tool_call>", "```json", "```tool_call", "```")

_BETWEEN = re.compile(r"(?:\s|</?tool_call>|```(?:json|tool_call)?)*")

#: What models call the arguments, and what may stand beside them.
_ARGUMENTS = ("arguments", "parameters", "args")
_BESIDE = {"name", "id", "type"}


def _may_begin_call(text: str) -> bool:
    """Whether a reply that begins so could be a call when it is whole."""
    rest = text.lstrip()
    for wrapper in _WRAPPERS:
        if wrapper.startswith(rest):
            return True
        if rest.startswith(wrapper):
            rest = rest.removeprefix(wrapper).lstrip()
            break
    rest = rest.removeprefix("[").lstrip()
    if not rest.startswith("{"):
        return not rest
    rest = rest.removeprefix("{").lstrip()
    return not rest or rest.startswith('"')


def _objects(text: str) -> list[object]:
    """The JSON values that stand in `text` one after the other, lists opened.

    None at all if it holds anything else.
    """
    decoder = json.JSONDecoder()
    found: list[object] = []
    place = _after_wrapping(text, 0)
    while place < len(text):
        try:
            value, place = decoder.raw_decode(text, place)
        except (ValueError, RecursionError):
            return []
        found += value if isinstance(value, list) else [value]
        place = _after_wrapping(text, place)
    return found


def _after_wrapping(text: str, place: int) -> int:
    found = _BETWEEN.match(text, place)
    return found.end() if found else place


def _call(value: object, names: Collection[str]) -> ToolCall | None:
    if not isinstance(value, dict):
        return None
    name = value.get("name")
    if not isinstance(name, str) or name not in names:
        return None
    given = [name for name in _ARGUMENTS if name in value]
    if len(given) != 1 or value.keys() - _BESIDE - {given[0]}:
        return None
    arguments = value[given[0]]
    if isinstance(arguments, str):
        try:
            arguments = json.loads(arguments)
        except (ValueError, RecursionError):
            return None
    if not isinstance(arguments, dict):
        return None
    return ToolCall(new_call_id(), name, json.dumps(arguments, ensure_ascii=False))
