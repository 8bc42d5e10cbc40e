"""Whether anything that was erased stands anywhere again: a copy that was put back, for instance.

A log says by numbers what was erased from it. Nothing here knows what the words were.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from datetime import tzinfo
from pathlib import Path

from assistant.errors import MemoryIndexError
from assistant.memory.calendar.calendar_index import make_index
from assistant.memory.checks.findings import Copies, Finding, Remedy, some
from assistant.memory.checks.index_checks import removal
from assistant.memory.checks.log_checks import Rewrite
from assistant.memory.erasing.eraser import can_be_read
from assistant.memory.erasing.log_eraser import FORGOTTEN
from assistant.memory.erasing.log_lines import LogLine, log_lines
from assistant.memory.facts.facts import (
    FactLogRecord,
    FactRecord,
    ProposalRecord,
    UndoneRecord,
    fact_decoder,
)
from assistant.memory.memos import MemoSaved, memo_decoder
from assistant.memory.promises import Promise, promise_decoder, take_out
from assistant.memory.session_log import (
    UNREADABLE,
    EraseRecord,
    FailureRecord,
    load,
)
from assistant.messages import Message, Summary
from assistant.protocols import StoredRows

#: Ids that are named of many.
SHOWN = 5


def check_unfinished(data: Path) -> Iterator[Finding]:
    """An erase that was begun."""
    journal = data / "erasing.json"
    if journal.exists() and not can_be_read(journal):
        yield Finding(
            "problem",
            "What an erase still had to do can't be read (data/erasing.json), and it keeps others "
            "from beginning. Remove that file, and erase again what was to go.",
        )
    elif journal.exists():
        yield Finding(
            "problem",
            "An erase was begun and is not finished: some of what was to go may still be there. "
            "The next start finishes it, or `assistant forget --resume`.",
        )


@dataclass(frozen=True)
class Erased:
    """What was erased from one log."""

    messages: frozenset[int]
    turns: frozenset[int]

    def holds(self, line: LogLine) -> bool:
        """Whether a line of that log should be gone."""
        match line.record:
            case Message() as message:
                return message.turn in self.turns or (
                    message.id in self.messages and not _may_stay(message)
                )
            case FailureRecord() as failure:
                return failure.turn in self.turns
            case Summary() as summary:
                return any(item.turn in self.turns for item in (*summary.kept, *summary.watched))
            case _:
                return False


def _may_stay(message: Message) -> bool:
    """Whether it can be what is left of one of which a part was erased."""
    return message.role == "assistant" or message.content == FORGOTTEN


def erased_in(lines: Collection[LogLine]) -> Erased:
    records = [line.record for line in lines if isinstance(line.record, EraseRecord)]
    return Erased(
        frozenset(number for one in records for number in one.messages),
        frozenset(turn for one in records for turn in one.turns),
    )


def check_erased_logs(folder: Path, rewrite: Rewrite) -> Iterator[Finding]:
    """Each log against what was erased from it."""
    for path in sorted(folder.glob("*.jsonl")):
        lines = log_lines(path.read_bytes())
        erased = erased_in(lines)
        back = sum(erased.holds(line) for line in lines)
        if back:
            yield Finding(
                "problem",
                f"{path.name}: lines that were erased and are there again: {back:,}.",
                Remedy(
                    f"{path.name}: they are erased again. No copy is kept of it.",
                    _erasing_again(path, rewrite),
                ),
            )


def _erasing_again(path: Path, rewrite: Rewrite) -> Callable[[Copies], None]:
    def change(data: bytes) -> bytes:
        lines = log_lines(data)
        erased = erased_in(lines)
        return b"".join(line.raw for line in lines if not erased.holds(line))

    return lambda _: rewrite(path.stem, change)


def check_erased_stores(
    data: Path,
    sessions: Path,
    zone: tzinfo,
    stored: Callable[[], StoredRows],
    discard: Callable[[], None],
) -> Iterator[Finding]:
    """Everything that was made from turns, against the turns that were erased."""
    erased = frozenset(_erased_turns(sessions))
    if not erased:
        return
    for name, found in (
        ("facts", _fact_sources(data / "facts.jsonl")),
        ("memos", _memo_sources(data / "memos.jsonl")),
        ("events", _event_sources(data / "calendar.ics", zone)),
    ):
        if again := sorted(id for id, sources in found.items() if erased.intersection(sources)):
            yield Finding(
                "problem",
                f"{name.capitalize()} come from turns that were erased: {some(again, SHOWN)}. "
                "`assistant forget about` and words of theirs erase them.",
            )
    yield from _promise_findings(data / "promises.json", erased)
    yield from _index_findings(stored, discard, erased)


def _erased_turns(sessions: Path) -> Iterator[str]:
    for path in sessions.glob("*.jsonl"):
        for record in load(path).records:
            if isinstance(record, EraseRecord):
                yield from (f"{path.stem}.{turn}" for turn in record.turns)


def _fact_sources(path: Path) -> Mapping[str, Collection[str]]:
    found: dict[str, set[str]] = {}
    for line in _lines(path):
        try:
            record: FactLogRecord = fact_decoder.decode(line)
        except UNREADABLE:
            continue
        match record:
            case FactRecord(fact=fact):
                found.setdefault(fact.id, set()).update(fact.sources)
            case UndoneRecord(restored=restored):
                for fact in restored:
                    found.setdefault(fact.id, set()).update(fact.sources)
            case ProposalRecord(proposal=proposal):
                found[proposal.id] = {proposal.source}
            case _:
                pass
    return found


def _memo_sources(path: Path) -> Mapping[str, Collection[str]]:
    found: dict[str, set[str]] = {}
    for line in _lines(path):
        try:
            record = memo_decoder.decode(line)
        except UNREADABLE:
            continue
        if isinstance(record, MemoSaved):
            found.setdefault(record.id, set()).add(record.source)
    return found


def _event_sources(path: Path, zone: tzinfo) -> Mapping[str, Collection[str]]:
    try:
        index = make_index(path.read_bytes(), zone, None)
    except (FileNotFoundError, ValueError):
        return {}
    events = [entry.event for entry in index.entries if entry.event is not None]
    return {event.uid: {event.source} for event in events}


def _lines(path: Path) -> list[bytes]:
    return path.read_bytes().split(b"\n") if path.exists() else []


def _promise_findings(path: Path, erased: Collection[str]) -> Iterator[Finding]:
    try:
        promises = promise_decoder.decode(path.read_bytes())
    except (FileNotFoundError, *UNREADABLE):
        return

    def again(promise: Promise) -> bool:
        return f"{promise.session}.{promise.turn}" in erased

    if number := sum(map(again, promises)):
        yield Finding(
            "problem",
            f"Promises of turns that were erased: {number:,}.",
            Remedy(
                "They are taken out of promises.json. No copy is kept of it.",
                lambda _: take_out(path, again),
            ),
        )


def _index_findings(
    stored: Callable[[], StoredRows], discard: Callable[[], None], erased: frozenset[str]
) -> Iterator[Finding]:
    try:
        rows = stored()
    except MemoryIndexError:
        return  # the check of the index says so
    if again := sorted(erased.intersection(row.id for row in rows.rows)):
        yield Finding(
            "problem",
            f"The files of the memory index hold turns that were erased: {some(again, SHOWN)}.",
            removal(discard),
        )
