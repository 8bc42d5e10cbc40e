"""Checks of session logs, line by line, and how one is mended.

A log is the only copy of what was said, so little is ever done to it: what can't be read and what
can't stand there is left out, and kept in a copy; every other line stays byte for byte.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import TypeAlias

import msgspec

from assistant.memory.assembly import NO_RESULT
from assistant.memory.checks.findings import Copies, Finding, Remedy, some
from assistant.memory.erasing.log_lines import LogLine, is_newer, log_lines
from assistant.memory.session_log import EraseRecord, RewindRecord, encode
from assistant.memory.session_store import SESSION_ID
from assistant.messages import Message, ToolCall

#: Changes a session's file under its lock: given its bytes, the function gives others.
Rewrite: TypeAlias = Callable[[str, Callable[[bytes], bytes | None]], None]

#: How far ahead of now a time may be: clocks are put right by that much.
AHEAD = timedelta(minutes=5)
#: Lines that are named of many.
SHOWN = 8


@dataclass(frozen=True)
class Fault:
    """What is wrong in a log."""

    text: str
    """In words, the lines named."""
    remedy: str = ""
    """What `mended` does about it, as a sentence; empty for what is only told."""
    passing: bool = False
    """Whether a session in use may be so, or one whose process was killed: it ends by itself."""


@dataclass(frozen=True)
class _Placed:
    """A line, and its number in the file."""

    number: int
    line: LogLine

    @property
    def message(self) -> Message | None:
        record = self.line.record
        return record if isinstance(record, Message) else None


_Said: TypeAlias = tuple[_Placed, Message]


# --- all logs of a home -------------------------------------------------------------------------


def check_logs(
    folder: Path, is_open: Callable[[str], bool], rewrite: Rewrite, now: datetime
) -> Iterator[Finding]:
    """Every line of every session. `is_open` says whether another process has a session open."""
    sessions = lines = 0
    for path in sorted(folder.glob("*.jsonl")):
        if SESSION_ID.fullmatch(path.stem) is None:
            yield Finding("warning", f"{path.name} is no name of a session: it is not looked at.")
            continue
        sessions += 1
        try:
            data = path.read_bytes()
        except OSError as error:
            yield Finding("problem", f"{path.name} can't be read: {error.strerror}.")
            continue
        lines += data.count(b"\n")
        yield from _log_findings(path, data, is_open(path.stem), rewrite, now)
    yield Finding("ok", f"Sessions: {sessions:,}; lines: {lines:,}.")


def _log_findings(
    path: Path, data: bytes, in_use: bool, rewrite: Rewrite, now: datetime
) -> Iterator[Finding]:
    if is_newer(log_lines(data)):
        yield Finding(
            "warning",
            f"{path.name} was written by a newer version of the program: it is only read, and not "
            "touched here. Update the program to go on with it.",
        )
        return
    found = [one for one in faults(data, now) if not (in_use and one.passing)]
    told = [one.text for one in found if not one.remedy]
    if told:
        yield Finding("warning", f"{path.name}: {' '.join(told)}")
    curable = [one for one in found if one.remedy]
    if not curable:
        return
    text = f"{path.name}: {' '.join(one.text for one in curable)}"
    if in_use:
        open_there = "It is open in another terminal: close it there to have it mended."
        yield Finding("problem", f"{text} {open_there}")
        return
    will = f"{path.name}: {' '.join(one.remedy for one in curable)} A copy keeps it as it is."

    def mend(copies: Copies) -> None:
        def change(before: bytes) -> bytes:
            copies.keep(path)
            return mended(before, now)

        rewrite(path.stem, change)

    passing = all(one.passing for one in curable)
    yield Finding("warning" if passing else "problem", text, Remedy(will, mend))


def check_parts(folder: Path, is_open: Callable[[str], bool]) -> Iterator[Finding]:
    """Parts of replies that a killed process left."""
    for path in sorted(folder.glob("*.part")):
        if is_open(path.stem):
            continue
        if path.with_suffix(".jsonl").exists():
            text = "holds the part of a reply; it is kept when its session is opened again."
        else:
            text = "holds the part of a reply whose session is gone."
        yield Finding("warning", f"{path.name} {text}")


def is_locked(lock: Path) -> bool:
    """Whether another process, or a session of this one, holds a lock. Nothing is written."""
    try:
        import fcntl
    except ImportError:  # not on this system: whoever wants to write finds out
        return False
    try:
        fd = os.open(lock, os.O_RDONLY)
    except OSError:
        return False
    try:
        fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(fd)
    return False


# --- one log ------------------------------------------------------------------------------------


def faults(data: bytes, now: datetime) -> list[Fault]:
    """What is wrong in a log, all but what a newer version of the program wrote."""
    lines = _placed(data)
    found: list[Fault] = []
    if unreadable := [one for one in lines if one.line.unreadable]:
        found.append(
            Fault(
                f"{_numbered(unreadable)} can't be read; everything around is used.",
                f"{_numbered(unreadable)} goes out.",
            )
        )
    if repeated := _repeated(lines):
        found.append(
            Fault(
                f"{_numbered(repeated)} stands there a second time.",
                f"{_numbered(repeated)} goes out.",
            )
        )
    lines = _without(lines, repeated)
    found += _order_faults(lines)
    if orphans := _orphans(lines):
        found.append(
            Fault(
                f"{_numbered(orphans)} is a result that no call of a tool asked for.",
                f"{_numbered(orphans)} goes out.",
            )
        )
    found += _call_faults(_in_order(lines))
    if turns := _unasked(lines):
        found.append(
            Fault(
                f"The question of turn {some(turns, SHOWN)} is missing; what is left of it is used."
            )
        )
    found += _time_faults(lines, now)
    if data and not data.endswith(b"\n"):
        found.append(Fault("The last line has no end.", "It is given one.", passing=True))
    return found


def mended(data: bytes, now: datetime) -> bytes:
    """The log with what `faults` has a remedy for put right; a sound one as it is."""
    if is_newer(log_lines(data)) or not any(one.remedy for one in faults(data, now)):
        return data
    lines = [one for one in _placed(data) if not one.line.unreadable]
    lines = _in_order(_without(lines, _repeated(lines)))
    lines = _without(lines, _orphans(lines))
    supplied = {
        one.last.number: results for one, results in _supplied(lines, _erased(_placed(data)))
    }
    made: list[bytes] = []
    for placed in lines:
        raw = placed.line.raw
        made.append(raw if raw.endswith(b"\n") else raw + b"\n")
        results = supplied.get(placed.number, ())
        made += [encode(msgspec.structs.replace(one, ts=now)) for one in results]
    return b"".join(made)


def _placed(data: bytes) -> list[_Placed]:
    return [_Placed(number, line) for number, line in enumerate(log_lines(data), 1)]


def _without(lines: Sequence[_Placed], others: Sequence[_Placed]) -> list[_Placed]:
    numbers = {one.number for one in others}
    return [one for one in lines if one.number not in numbers]


def _said(lines: Sequence[_Placed]) -> list[_Said]:
    return [(one, message) for one in lines if (message := one.message) is not None]


def _repeated(lines: Sequence[_Placed]) -> list[_Placed]:
    """Messages that stand in the log already, word for word and with the same number."""
    seen: set[bytes] = set()
    found = []
    for placed, _ in _said(lines):
        raw = placed.line.raw.strip()
        if raw in seen:
            found.append(placed)
        seen.add(raw)
    return found


# --- the order of messages ----------------------------------------------------------------------


def _order_faults(lines: Sequence[_Placed]) -> Iterator[Fault]:
    ids = [message.id for _, message in _said(lines)]
    shared = sorted(number for number, times in Counter(ids).items() if times > 1)
    if shared:
        yield Fault(
            f"Different messages have the number {some(shared, SHOWN)}; all of them are used."
        )
    elif ids != sorted(ids):
        remedy = "They are put in that order." if _may_move(lines) else ""
        yield Fault("Messages don't stand in the order of their numbers.", remedy)


def _may_move(lines: Sequence[_Placed]) -> bool:
    # Where a conversation goes back within its log, order says which turn follows which.
    return not any(isinstance(one.line.record, RewindRecord) for one in lines)


def _in_order(lines: list[_Placed]) -> list[_Placed]:
    """The messages by number, in the places that messages have; other records where they are."""
    said = _said(lines)
    ids = [message.id for _, message in said]
    if len(set(ids)) < len(ids) or ids == sorted(ids) or not _may_move(lines):
        return lines
    ordered = iter([placed for placed, _ in sorted(said, key=lambda one: one[1].id)])
    return [next(ordered) if one.message is not None else one for one in lines]


# --- calls and their results --------------------------------------------------------------------


@dataclass(frozen=True)
class _OpenCalls:
    """Calls of one message that have no result."""

    calling: _Placed
    last: _Placed
    """The last line of what belongs to the message: itself, or a result that is there."""
    calls: Sequence[ToolCall]
    numbers: range
    """Ids that a message right behind `last` can have."""


def _orphans(lines: Sequence[_Placed]) -> list[_Placed]:
    """Results whose call stands nowhere in their turn."""
    called = {(one.turn, call.id) for _, one in _said(lines) for call in one.tool_calls}
    return [
        placed
        for placed, one in _said(lines)
        if one.role == "tool" and (one.turn, one.tool_call_id) not in called
    ]


def _open_calls(lines: Sequence[_Placed], erased: Collection[int]) -> Iterator[_OpenCalls]:
    said = _said(lines)
    answered = {(one.turn, one.tool_call_id) for _, one in said if one.role == "tool"}
    for at, (placed, message) in enumerate(said):
        calls = [one for one in message.tool_calls if (message.turn, one.id) not in answered]
        if not calls:
            continue
        end = at + 1
        while end < len(said) and said[end][1].role == "tool":
            end += 1
        last, newest = said[end - 1]
        # Behind the last message any number is free; before it, only those of lines that were lost.
        beyond = max([newest.id, *erased]) + len(calls) + 1
        following = said[end][1].id if end < len(said) else beyond
        yield _OpenCalls(placed, last, calls, range(newest.id + 1, following))


def _supplied(
    lines: Sequence[_Placed], erased: Collection[int]
) -> Iterator[tuple[_OpenCalls, Sequence[Message]]]:
    """Open calls, and a result for each that a number is free for: none is given twice."""
    taken = {message.id for _, message in _said(lines)} | set(erased)
    for one in _open_calls(lines, erased):
        free = [number for number in one.numbers if number not in taken]
        turn = one.calling.message.turn if one.calling.message else 0
        yield (
            one,
            [
                Message("tool", NO_RESULT, number, turn, tool_call_id=call.id)
                for number, call in zip(free, one.calls, strict=False)
            ],
        )


def _call_faults(lines: Sequence[_Placed]) -> Iterator[Fault]:
    for one, results in _supplied(lines, _erased(lines)):
        text = f"Line {one.calling.number} calls a tool and has no result."
        if results:
            yield Fault(text, f"It is given one: “{NO_RESULT}”", passing=True)
        if len(results) < len(one.calls):
            yield Fault(f"{text} The model is told so; nothing is to be done.", passing=True)


# --- what else may be wrong ---------------------------------------------------------------------


def _erased(lines: Sequence[_Placed]) -> set[int]:
    records = (one.line.record for one in lines)
    return {number for one in records if isinstance(one, EraseRecord) for number in one.messages}


def _unasked(lines: Sequence[_Placed]) -> list[int]:
    """Turns whose question is missing, and was not erased."""
    erased = _erased(lines)
    asked = {message.turn for _, message in _said(lines) if message.role == "user"}
    found, before = [], 0
    for _, message in _said(lines):
        unasked = message.turn not in asked and message.turn not in found
        if unasked and not erased.intersection(range(before + 1, message.id)):
            found.append(message.turn)
        before = message.id
    return found


def _time_faults(lines: Sequence[_Placed], now: datetime) -> Iterator[Fault]:
    latest = now + AHEAD
    ahead = [
        one
        for one in lines
        if one.line.record is not None
        and (ts := one.line.record.ts) is not None
        and ts.tzinfo is not None
        and ts > latest
    ]
    if ahead:
        yield Fault(
            f"{_numbered(ahead)} has a time that is still to come: the clock was wrong then, or is "
            "wrong now."
        )


def _numbered(lines: Sequence[_Placed]) -> str:
    return f"Line {some([one.number for one in lines], SHOWN)}"
