"""Long conversations with questions about them, and where in them the answers stand.

Two forms of file are read, both JSON lists: conversations of two people in English, with `turns`
and one list of turn ids as a question's evidence (LoCoMo); and those of a user with an assistant in
Chinese, with `exchanges` and a list of sets of them, any member of which will do (MemoryBank).
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import groupby
from pathlib import Path
from typing import Any, NamedTuple

#: Between two exchanges of a session, where the file tells no more than when it began.
PAUSE = timedelta(minutes=1)


class Place(NamedTuple):
    """A message, or with `side` None either message, of the exchange of that number."""

    exchange: int
    side: int | None = None


@dataclass(frozen=True)
class Said:
    """One exchange: what was said first, and the answer to it."""

    session: int
    ts: datetime
    user: str
    assistant: str

    def texts(self, side: int | None) -> Sequence[str]:
        both = (self.user, self.assistant)
        return both if side is None else (both[side],)


@dataclass(frozen=True)
class Asked:
    """A question. Each set of its evidence is one thing to be found, at any of its places."""

    text: str
    kind: str
    evidence: Sequence[frozenset[Place]]


@dataclass(frozen=True)
class Conversation:
    name: str
    participants: Sequence[str]
    exchanges: Sequence[Said]
    questions: Sequence[Asked]

    @property
    def now(self) -> datetime:
        """When it is asked about: a day after its end."""
        return self.exchanges[-1].ts + timedelta(days=1)

    def without_names(self, text: str) -> str:
        """`text` without the names of those who talk, which an assistant's user wouldn't say."""
        for name in self.participants:
            text = re.sub(rf"\b{re.escape(name)}(?:['\u2019]s)?(?!\w)", " ", text)
        return re.sub(r"\s+([?.,])", r"\1", " ".join(text.split()))


def read_conversations(path: Path) -> list[Conversation]:
    items = json.loads(path.read_text(encoding="utf-8"))
    return [_of_turns(item) if "turns" in item else _of_exchanges(item) for item in items]


def _of_turns(item: dict[str, Any]) -> Conversation:
    """Turns pair up in order within a session; whoever begins it is its user."""
    exchanges: list[Said] = []
    places: dict[str, Place] = {}
    for number, group in groupby(item["turns"], key=lambda turn: int(turn["session"])):
        turns = list(group)
        begun = datetime.fromisoformat(turns[0]["time"]).replace(tzinfo=UTC)
        for first in range(0, len(turns), 2):
            pair = turns[first : first + 2]
            for side, turn in enumerate(pair):
                places[turn["id"]] = Place(len(exchanges), side)
            texts = [turn["text"] for turn in pair] + [""]
            exchanges.append(Said(number, begun + first // 2 * PAUSE, texts[0], texts[1]))
    questions = [
        Asked(
            asked["question"],
            asked["category"],
            [frozenset({places[turn]}) for turn in asked["evidence"]],
        )
        for asked in item["questions"]
    ]
    return Conversation(item["id"], item["speakers"], exchanges, questions)


def _of_exchanges(item: dict[str, Any]) -> Conversation:
    """A session a day."""
    exchanges: list[Said] = []
    for number, (day, group) in enumerate(
        groupby(item["exchanges"], key=lambda exchange: str(exchange["date"]))
    ):
        begun = datetime.fromisoformat(day).replace(hour=12, tzinfo=UTC)
        for index, exchange in enumerate(group):
            at = begun + index * PAUSE
            exchanges.append(Said(number, at, exchange["user"], exchange["assistant"]))
    questions = [
        Asked(
            asked["question"],
            "all",
            [frozenset(Place(index) for index in any_of) for any_of in asked["evidence"]],
        )
        for asked in item["qa"]
    ]
    return Conversation(item["user"], [item["user"]], exchanges, questions)
