"""The corpus of things said to the assistant, and what a user keeps when each is said."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import msgspec

from assistant.memory.calendar.calendar import CalendarFile
from assistant.memory.facts.facts import Facts
from assistant.memory.memos import Memos
from assistant.memory.times.times import Times
from assistant.messages import ToolCall
from assistant.tools import all_groups
from assistant.tools.registry import Proposal, ToolContext, ToolRegistry, ToolResult

DATA = Path(__file__).parents[1] / "tests" / "data" / "utterances.jsonl"

#: Where none is given, ids are drawn from these.
_LETTERS = "abcdefghijkmnpqrstuvwxyz"


class ExpectedCall(msgspec.Struct, frozen=True):
    name: str
    arguments: Mapping[str, Any]


class Before(msgspec.Struct, frozen=True):
    """What exists already: events, memos and facts as the stores take them, each with its id."""

    events: tuple[Mapping[str, Any], ...] = ()
    memos: tuple[Mapping[str, Any], ...] = ()
    facts: tuple[Mapping[str, Any], ...] = ()


class Utterance(msgspec.Struct, frozen=True):
    """Something a user says, and what is to come of it."""

    id: str
    language: str
    kind: str
    now: str
    """`2026-11-30T10:15[Europe/Berlin]`: local time and zone."""
    before: Before
    said: str
    calls: tuple[ExpectedCall, ...]
    """With times as they come out: `2026-12-01T15:00`, `2026-12-01`; the last day included."""
    passed: tuple[ExpectedCall, ...]
    """The same with the arguments as a model may pass them."""

    @property
    def moment(self) -> datetime:
        local, _, zone = self.now.rstrip("]").partition("[")
        return datetime.fromisoformat(local).replace(tzinfo=ZoneInfo(zone))


def utterances() -> Sequence[Utterance]:
    """All of them, in the order of the file."""
    lines = DATA.read_text(encoding="utf-8").splitlines()
    return [msgspec.json.decode(line, type=Utterance) for line in lines]


class Kept:
    """Stores in a folder, at a moment, with what exists before something is said."""

    def __init__(self, folder: Path, utterance: Utterance) -> None:
        self.now = utterance.moment
        before = utterance.before
        letters = (one["id"][1:] for one in (*before.events, *before.memos, *before.facts))
        ids = _ids(letters)
        self.times = Times(lambda: self.now)
        self.calendar = CalendarFile(folder / "calendar.ics", lambda: self.now, lambda: next(ids))
        self.memos = Memos(
            folder / "memos.jsonl", lambda: self.now, lambda: next(ids), lambda: None
        )
        self.facts = Facts(folder / "facts.jsonl", times=self.times, new_letters=lambda: next(ids))
        self.questions: list[str] = []
        """What was looked up in earlier conversations."""
        for event in before.events:
            self._add_event(event)
        for memo in before.memos:
            self.memos.save(memo["text"])
        for fact in before.facts:
            self.facts.remember(fact["text"], said=self.now - timedelta(days=1))

    @property
    def tools(self) -> ToolRegistry:
        return ToolRegistry(all_groups, ToolContext(self, self))

    def run(self, call: ExpectedCall) -> str:
        """Carry a call out without asking; its result. Raises BadCall or EntryError."""
        arguments = msgspec.json.encode(call.arguments).decode()
        begun = self.tools.begin(ToolCall("call", call.name, arguments), "s.1")
        result = begun.carry_out() if isinstance(begun, Proposal) else begun
        assert isinstance(result, ToolResult)
        return result.text

    def found(
        self, question: str, start: datetime | None, end: datetime | None, *, not_in: str
    ) -> Sequence[str]:
        """Stands in for the search of earlier conversations: finds nothing."""
        self.questions.append(question)
        return ()

    def _add_event(self, event: Mapping[str, Any]) -> None:
        fields = {name: value for name, value in event.items() if name != "id"}
        start, end = (self.times.moment(fields.pop(name)).start for name in ("start", "end"))
        self.calendar.create(fields.pop("title"), start, end, **fields)


def _ids(first: Iterator[str]) -> Iterator[str]:
    yield from first
    for one in _LETTERS:
        for other in _LETTERS:
            yield f"zz{one}{other}"
