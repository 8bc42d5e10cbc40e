"""What a long session and many sessions cost: appending, opening, a turn, listing, finding.

    python -m benchmarks.session [--rounds N] [--sessions N] [--folder FOLDER]

Real files with fsync in a temporary folder. The sizes take turns, and each is compared with the
shortest session of the same round.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from assistant.app import App, build_app
from assistant.memory.session import Session
from assistant.memory.session_log import load
from assistant.memory.session_store import SessionStore
from assistant.messages import Message
from assistant.settings import load_settings
from assistant.turn import Event, run_turn
from benchmarks.instant_model import InstantModel
from benchmarks.session_files import texts, write_session
from benchmarks.table import Aim, table_text

SIZES = (100, 1_000, 10_000, 100_000)
MESSAGES_OF_MANY = 12
"""How long each session is where there are many."""
SLOW_ROUNDS = 5
"""Rounds of what takes seconds."""
# Nothing listens here, and nothing is asked: the model is replaced.
NOWHERE = {"OPENAI_BASE_URL": "http://127.0.0.1:9/v1"}


@dataclass
class LongTimings:
    """Seconds spent on a session of one size, by what was done."""

    messages: int
    path: Path
    megabytes: float
    opened: list[float] = field(default_factory=list)
    parsed: list[float] = field(default_factory=list)
    """`json.loads` line by line: what reading the file costs anyone."""
    appended: list[float] = field(default_factory=list)
    rewritten: list[float] = field(default_factory=list)
    """The whole file written anew: what saving a message costs without a log to append to."""
    turns: list[float] = field(default_factory=list)
    turns_cpu: list[float] = field(default_factory=list)
    """The same turns by the thread's own clock, which does not see the disk."""


@dataclass
class ManyTimings:
    """Seconds spent on a folder of many sessions, by what was done."""

    sessions: int
    parsed: list[float] = field(default_factory=list)
    """Every line of every file through `json.loads`: a list without a catalog."""
    without_catalog: list[float] = field(default_factory=list)
    one_changed: list[float] = field(default_factory=list)
    with_catalog: list[float] = field(default_factory=list)
    found: list[float] = field(default_factory=list)


def main() -> None:
    options = _options()
    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        sizes = measure_sizes(Path(folder) / "long", options.rounds)
        many = measure_many(Path(folder) / "many", options.sessions)
    _report(sizes, many, options.rounds)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.session", description=__doc__)
    parser.add_argument("--rounds", type=int, default=40, help="turns and appends of each size")
    parser.add_argument("--sessions", type=int, default=10_000, help="how many are listed")
    parser.add_argument("--folder", type=Path, help="a folder on the disk to measure")
    return parser.parse_args()


def timed(action: Callable[[], object]) -> float:
    """Seconds an action takes."""
    begun = time.perf_counter()
    action()
    return time.perf_counter() - begun


def _app(home: Path) -> App:
    """The program as it is wired, with a model that takes no time."""
    settings = load_settings(home, NOWHERE, {"memory.index": False})
    app = build_app(settings, titles="words", environment={})
    app.pipeline.model = InstantModel()
    app.pipeline.counter.count("")  # load the tokenizer
    return app


# --- one session, short to long -----------------------------------------------------------------


def measure_sizes(home: Path, rounds: int) -> Sequence[LongTimings]:
    """All there is to do with one session, for sessions of each size."""
    app = _app(home)
    sizes = [_written(home / "sessions" / f"size-{messages}.jsonl", messages) for messages in SIZES]
    for _ in range(SLOW_ROUNDS):
        for size in sizes:
            _measure_file(app.store, size)
    sessions = [app.store.open(size.path.stem) for size in sizes]
    for number in range(rounds):
        for size, session in zip(sizes, sessions, strict=True):
            _measure_append(session, size)
            _measure_turn(app, session, texts()[number % len(texts())], size)
    for session in sessions:
        session.close()
    app.close()
    return sizes


def _written(path: Path, messages: int) -> LongTimings:
    write_session(path, messages)
    loaded = load(path)
    assert not loaded.skipped, f"{loaded.skipped} lines of {path.name} are no records"
    return LongTimings(messages, path, path.stat().st_size / 1e6)


def _measure_file(store: SessionStore, size: LongTimings) -> None:
    """Opening and its baseline; the baseline of appending."""
    begun = time.perf_counter()
    session = store.open(size.path.stem)
    size.opened.append(time.perf_counter() - begun)
    session.close()
    size.parsed.append(timed(lambda: read_records(size.path)))
    records = read_records(size.path)
    size.rewritten.append(timed(lambda: write_records(size.path.with_suffix(".copy"), records)))


def _measure_append(session: Session, size: LongTimings) -> None:
    question, answer = Message("user", texts()[0]), Message("assistant", texts()[1])
    size.appended.append(timed(lambda: session.add(question)))
    size.appended.append(timed(lambda: session.add(answer)))


def _measure_turn(app: App, session: Session, question: str, size: LongTimings) -> None:
    begun, begun_cpu = time.perf_counter(), time.thread_time()
    run_turn(question, session, app.pipeline, _ignore)
    size.turns.append(time.perf_counter() - begun)
    size.turns_cpu.append(time.thread_time() - begun_cpu)
    app.worker.drain(timeout=10.0)


def _ignore(event: Event) -> None:
    """Drawing is no part of this."""


def read_records(path: Path) -> list[Any]:
    """A session's records with the standard library."""
    with path.open(encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def write_records(path: Path, records: Sequence[Any]) -> None:
    """All records of a session, on the disk when it returns."""
    with path.open("w", encoding="utf-8") as file:
        file.writelines(json.dumps(record, ensure_ascii=False) + "\n" for record in records)
        file.flush()
        os.fsync(file.fileno())


# --- many sessions ------------------------------------------------------------------------------


def measure_many(home: Path, sessions: int) -> ManyTimings:
    """Listing and finding in a folder of many sessions."""
    store, timings = _app(home).store, ManyTimings(sessions)
    paths = [home / "sessions" / f"20260101-{number:06}-abc.jsonl" for number in range(sessions)]
    for number, path in enumerate(paths):
        write_session(path, MESSAGES_OF_MANY, title=f"Conversation {number}")
    for _ in range(SLOW_ROUNDS):
        timings.parsed.append(timed(lambda: [read_records(path) for path in paths]))
        (home / "data" / "sessions.json").unlink(missing_ok=True)
        timings.without_catalog.append(timed(store.list))
        os.utime(paths[0])
        timings.one_changed.append(timed(store.list))
        timings.with_catalog.append(timed(store.list))
        timings.found.append(timed(lambda: store.find(f"20260101-{sessions // 2:06}")))
    return timings


# --- reporting ----------------------------------------------------------------------------------


def _report(sizes: Sequence[LongTimings], many: ManyTimings, rounds: int) -> None:
    shortest, longest = sizes[0], sizes[-1]
    print(f"One session, medians of {rounds} turns, {2 * rounds} appends, {SLOW_ROUNDS} openings\n")
    heads = (
        "messages", "MB", "open ms", "json.loads", "append ms", "rewriting", "turn ms",
        f"x {shortest.messages}", "its CPU ms", f"x {shortest.messages}",
    )  # fmt: skip
    print(table_text(heads, [_long_row(size, shortest) for size in sizes]))
    print(f"\n{many.sessions:,} sessions of {MESSAGES_OF_MANY} messages, {SLOW_ROUNDS} rounds\n")
    print(table_text(("", "min ms", "median ms", "x reading all"), list(_many_rows(many))))
    print()
    for aim in _aims(shortest, longest, many):
        print(aim)


def _aims(shortest: LongTimings, longest: LongTimings, many: ManyTimings) -> Sequence[Aim]:
    turn = f"a turn at {longest.messages:,} messages, at most 1.3 x at {shortest.messages}"
    opening = f"opening {longest.messages:,} messages, at most 1 s"
    listing = f"listing {many.sessions:,} sessions, at most 0.5 s"
    return (
        Aim(turn, ratio(longest.turns, shortest.turns), at_most=1.3),
        Aim(f"{turn}, by CPU", ratio(longest.turns_cpu, shortest.turns_cpu), at_most=1.3),
        Aim(opening, statistics.median(longest.opened), at_most=1),
        Aim(listing, statistics.median(many.with_catalog), at_most=0.5),
    )


def _long_row(size: LongTimings, shortest: LongTimings) -> Sequence[str]:
    return (
        f"{size.messages:,}",
        f"{size.megabytes:.2f}",
        milliseconds(size.opened),
        f"{statistics.median(size.parsed) / statistics.median(size.opened):.1f} x",
        milliseconds(size.appended),
        f"{statistics.median(size.rewritten) / statistics.median(size.appended):,.1f} x",
        milliseconds(size.turns),
        f"{ratio(size.turns, shortest.turns):.2f}",
        milliseconds(size.turns_cpu),
        f"{ratio(size.turns_cpu, shortest.turns_cpu):.2f}",
    )


def _many_rows(many: ManyTimings) -> Iterator[Sequence[str]]:
    for name, seconds in (
        ("every line through json.loads", many.parsed),
        ("list without a catalog", many.without_catalog),
        ("list, one session changed since", many.one_changed),
        ("list, nothing changed", many.with_catalog),
        ("find by the start of an id", many.found),
    ):
        low = f"{min(seconds) * 1e3:,.1f}"
        yield name, low, milliseconds(seconds), f"{ratio(seconds, many.parsed):.2f}"


def milliseconds(seconds: Sequence[float]) -> str:
    return f"{statistics.median(seconds) * 1e3:,.2f}"


def ratio(seconds: Sequence[float], baseline: Sequence[float]) -> float:
    """How many times the baseline: the median over rounds."""
    return statistics.median(mine / base for mine, base in zip(seconds, baseline, strict=True))


if __name__ == "__main__":
    main()
