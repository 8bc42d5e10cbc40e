"""The tool recall: what it asks for, and what it says was found."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from types import SimpleNamespace
from typing import cast
from zoneinfo import ZoneInfo

import pytest

from assistant.memory.times.times import Times
from assistant.messages import ToolCall
from assistant.protocols import Stores
from assistant.tools import recall
from assistant.tools.registry import ToolContext, ToolRegistry, ToolResult
from tests.fakes import FakeClock

BERLIN = ZoneInfo("Europe/Berlin")
NOW = datetime(2026, 12, 1, 9, tzinfo=BERLIN)


@dataclass
class FakeRecaller:
    """Finds what it was given, and keeps what it was asked."""

    told: Sequence[str] = ()
    asked: list[tuple[str, datetime | None, datetime | None, str]] = field(default_factory=list)

    def found(
        self, question: str, start: datetime | None, end: datetime | None, *, not_in: str
    ) -> Sequence[str]:
        self.asked.append((question, start, end, not_in))
        return self.told


def answer(recaller: FakeRecaller, **arguments: str) -> str:
    """What a call in the turn s1.4 comes to."""
    stores = cast(Stores, SimpleNamespace(times=Times(FakeClock(NOW))))
    tools = ToolRegistry(lambda: [recall.group], ToolContext(stores, recaller))
    call = ToolCall("c1", "recall", json.dumps({"question": "What of Anna?", **arguments}))
    result = tools.begin(call, "s1.4")
    assert isinstance(result, ToolResult)
    return result.text


def at(day: int, month: int = 11) -> datetime:
    return datetime(2026, month, day, tzinfo=BERLIN)


@pytest.mark.parametrize(
    ("bounds", "start", "end"),
    [
        ({}, None, None),
        ({"from": "2026-11-03", "to": "2026-11-05"}, at(3), at(6)),
        ({"to": "2026-11-05"}, None, at(6)),
        ({"from": "last week"}, at(23), at(30)),
        ({"from": "上周一", "to": "yesterday"}, at(23), at(1, month=12)),
    ],
)
def test_the_days_a_model_passes_bound_what_is_looked_for(
    bounds: dict[str, str], start: datetime | None, end: datetime | None
) -> None:
    recaller = FakeRecaller()
    answer(recaller, **bounds)
    assert recaller.asked == [("What of Anna?", start, end, "s1.4")]


def test_what_was_found_is_told_and_so_is_nothing() -> None:
    told = ("Tue 2026-03-03 (s1.1)\nuser: Anna can't eat nuts.", "Wed 2026-03-04 (s2.1)\nuser: Hm.")
    assert answer(FakeRecaller(told)) == "\n".join(told)
    assert answer(FakeRecaller()) == "Nothing was found."
