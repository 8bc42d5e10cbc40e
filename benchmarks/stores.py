"""What a turn and the first screen cost with a calendar, memos and facts that are few, and many.

    python -m benchmarks.stores [--rounds N] [--folder FOLDER]

Two homes, one with 1 % of the entries of the other, take turns; each figure is compared with that
of the small one in the same round. Real files, all parts as `app.py` wires them, a model that
answers at once: by itself, after it looked into the calendar, or after it made an event.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import get_args

from assistant.app import App, build_app, local_now
from assistant.commands.digest import digest
from assistant.commands.schedule import agenda
from assistant.memory.entry_log import EntryLog
from assistant.memory.facts.facts import FactRecord, fact_decoder
from assistant.memory.memos import MemoSaved, memo_decoder
from assistant.memory.session import Session
from assistant.messages import Fact, FactKind, Message, ToolCall
from assistant.prompt import ToolSchema
from assistant.protocols import ReplyPart
from assistant.settings import load_settings
from assistant.turn import run_turn
from benchmarks.calendar import foreign_calendar
from benchmarks.instant_model import InstantModel
from benchmarks.session_files import texts
from benchmarks.table import Aim, table_text

#: Events, memos, facts.
FEW, MANY = (100, 100, 20), (10_000, 10_000, 2_000)
# Nothing listens here, and nothing is asked: the model is replaced.
NOWHERE = {"OPENAI_BASE_URL": "http://127.0.0.1:9/v1"}

LOOK = ToolCall("1", "list_events", '{"from": "today"}')
MAKE = ToolCall("1", "create_event", '{"title": "Review", "start": "tomorrow 3pm"}')

#: Rows of the table, in order.
TURN, LOOKED, MADE, TODAY, FIRST = (
    "a turn without a tool",
    "a turn that looks into the calendar",
    "a turn that makes an event",
    "/schedule today",
    "the first screen",
)
ROWS = (TURN, LOOKED, MADE, TODAY, FIRST)


class CallingModel(InstantModel):
    """Asks for one tool first, where it is told to, and answers then."""

    call: ToolCall | None = None

    def stream(
        self,
        messages: Sequence[Message],
        *,
        tools: Sequence[ToolSchema] = (),
        may_call: bool = True,
        max_tokens: int,
    ) -> Iterator[ReplyPart]:
        if self.call is not None and messages[-1].role != "tool":
            yield ReplyPart(tool_calls=(self.call,), finish_reason="tool_calls")
            return
        yield from super().stream(messages, tools=tools, may_call=may_call, max_tokens=max_tokens)


@dataclass
class Home:
    """One home, its app and its session."""

    app: App
    session: Session
    model: CallingModel
    spent: dict[str, list[float]] = field(default_factory=dict)

    def measure(self, row: str) -> float:
        """CPU milliseconds of the whole process, for one of the rows once."""
        now, calendar = self.app.clock(), self.app.stores.calendar
        actions: dict[str, Callable[[], object]] = {
            TURN: self._turn,
            LOOKED: lambda: self._turn(LOOK),
            MADE: lambda: self._turn(MAKE),
            TODAY: lambda: agenda(calendar, now, days=1),
            FIRST: lambda: digest(calendar, (), now),
        }
        begun = time.process_time()
        actions[row]()
        return 1_000 * (time.process_time() - begun)

    def _turn(self, call: ToolCall | None = None) -> None:
        self.model.call = call
        run_turn(
            "And what about tomorrow?",
            self.session,
            self.app.pipeline,
            lambda event: None,
            confirm=lambda question: True,
        )


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.stores", description=__doc__)
    parser.add_argument("--rounds", type=int, default=20, help="rounds that count")
    parser.add_argument("--folder", type=Path, help="a folder on the disk to measure")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        few = opened(Path(folder) / "few", *FEW)
        many = opened(Path(folder) / "many", *MANY)
        with closing(few.app), closing(many.app):
            # The first of each reads what later ones know.
            first = {row: home.measure(row) for home in (few, many) for row in ROWS}
            for row in ROWS:
                for _ in range(options.rounds):
                    few.spent.setdefault(row, []).append(few.measure(row))
                    many.spent.setdefault(row, []).append(many.measure(row))
    _report(few, many, first, options.rounds)


def opened(folder: Path, events: int, memos: int, facts: int) -> Home:
    """A home with so many entries, and a session in it."""
    data = folder / "data"
    data.mkdir(parents=True)
    (data / "calendar.ics").write_bytes(foreign_calendar(events))
    _write_memos(data / "memos.jsonl", memos)
    _write_facts(data / "facts.jsonl", facts)
    # Recall and learning have benchmarks of their own.
    flags = {"memory.index": False, "memory.learn": False, "budget.recalled": 0}
    settings = load_settings(folder, NOWHERE, flags)
    app = build_app(settings, titles="off", environment={})
    model = CallingModel()
    app.pipeline.model = model
    return Home(app, app.store.create(), model)


def _write_memos(path: Path, number: int) -> None:
    begun = local_now() - timedelta(days=400)
    words = texts()
    EntryLog(path, memo_decoder, "memos").append(
        *(
            MemoSaved(f"m{at:05}", words[at % len(words)][:200], begun + timedelta(minutes=at))
            for at in range(number)
        )
    )


def _write_facts(path: Path, number: int) -> None:
    begun = local_now() - timedelta(days=400)
    kinds = get_args(FactKind)
    EntryLog(path, fact_decoder, "facts").append(
        *(
            FactRecord(
                Fact(
                    f"f{at:05}",
                    f"My {at}th neighbour likes the colour {at % 77}",
                    kinds[at % 4],
                    begun + timedelta(minutes=at),
                ),
                begun + timedelta(minutes=at),
            )
            for at in range(number)
        )
    )


def _report(few: Home, many: Home, first: dict[str, float], rounds: int) -> None:
    rows = []
    for row in ROWS:
        small, large = statistics.median(few.spent[row]), statistics.median(many.spent[row])
        rows.append(
            [row, f"{small:,.1f}", f"{large:,.1f}", f"{_ratio(few, many, row):.2f}",
             f"{first[row]:,.0f}"]
        )  # fmt: skip
    counts = " and ".join(f"{e:,} events, {m:,} memos, {f:,} facts" for e, m, f in (FEW, MANY))
    print(f"CPU ms with {counts}; medians of {rounds} rounds\n")
    print(table_text(("", "few", "many", "x few", "many, first"), rows))
    print()
    print(Aim("a turn without a tool, at most 1.3 x few", _ratio(few, many, TURN), at_most=1.3))
    print(Aim("a turn that looks, at most 1.3 x few", _ratio(few, many, LOOKED), at_most=1.3))
    print(Aim("a turn that makes an event, at most 1.3 x few", _ratio(few, many, MADE), 1.3))
    today = statistics.median(many.spent[TODAY])
    print(Aim("/schedule today with many, at most 100 ms", today, at_most=100.0))
    print(Aim("/schedule today for the first time, at most 100 ms", first[TODAY], at_most=100.0))


def _ratio(few: Home, many: Home, row: str) -> float:
    return statistics.median(
        large / small for small, large in zip(few.spent[row], many.spent[row], strict=True)
    )


if __name__ == "__main__":
    main()
