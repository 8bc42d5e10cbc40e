"""Erasing from one session's log: the bytes before, what is to go, and the bytes after.

What stays is a conversation that any endpoint takes, and it folds to what it was without the rest.
A line that nothing is taken from stays byte for byte.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import TypeAlias, TypeVar

import msgspec

from assistant.errors import SessionReadOnly
from assistant.memory.erasing.log_lines import LogLine, is_newer, log_lines
from assistant.memory.session_log import (
    EraseRecord,
    FailureRecord,
    Record,
    RewindRecord,
    SummaryUndoneRecord,
    TitleRecord,
    encode,
)
from assistant.memory.turn_tree import TurnTree
from assistant.messages import Message, Summary
from assistant.protocols import Erasure

_R = TypeVar("_R", Message, FailureRecord)

#: Stands for a question whose reply stays, and for the reason of a rejected turn that stays.
FORGOTTEN = "[forgotten]"

#: What becomes of lines, by their place: another record, or None for one that goes.
Changes: TypeAlias = Mapping[int, Record | None]


class LogErasure(msgspec.Struct, frozen=True):
    """What is to go from one log."""

    ts: datetime
    """When the user agreed to it."""
    turns: frozenset[int] = frozenset()
    """They go whole."""
    messages: frozenset[int] = frozenset()
    """Ids. A tool's result goes with its call, an assistant's message with its calls' results."""
    title: bool = False
    """Whether every title goes, also those given by the user."""
    lines: frozenset[str] = frozenset()
    """Digests of lines that go: such as can't be read, summaries, and failures."""

    @classmethod
    def of(cls, erasure: Erasure, session_id: str) -> LogErasure:
        return cls(
            erasure.ts,
            frozenset(erasure.turns.get(session_id, ())),
            frozenset(erasure.messages.get(session_id, ())),
            session_id in erasure.titles,
            frozenset(erasure.lines.get(session_id, ())),
        )


def without(data: bytes, what: LogErasure) -> bytes:
    """The log without what is to go, and a tombstone of what is gone at its end.

    The same bytes where nothing is to go. Raises SessionReadOnly for a log of a newer version.
    """
    lines = log_lines(data)
    require_known(lines)
    changes = changes_for(lines, what)
    if not changes:
        return data
    kept = b"".join(_kept(lines, changes))
    tombstone = _tombstone(lines, changes, what.ts)
    if not tombstone:
        return kept
    return kept + (b"" if not kept or kept.endswith(b"\n") else b"\n") + tombstone


def require_known(lines: Iterable[LogLine], name: str = "A session") -> None:
    """Raises SessionReadOnly for a log of a newer version; `name` begins the sentence."""
    if is_newer(lines):
        raise SessionReadOnly(
            f"{name} was written by a newer version of the program: what this one can't read "
            "would stay. Nothing in it was erased. Update the program and erase again."
        )


def _kept(lines: Sequence[LogLine], changes: Changes) -> Iterator[bytes]:
    for at, line in enumerate(lines):
        if at not in changes:
            yield line.raw
        elif (record := changes[at]) is not None:
            yield encode(record)


def _tombstone(lines: Sequence[LogLine], changes: Changes, ts: datetime) -> bytes:
    """Empty when no number is concerned."""
    messages = {one.id for one in _changed(lines, changes, Message)}
    turns = {one.turn for one in _changed(lines, changes, Message)}
    turns |= {one.turn for one in _changed(lines, changes, FailureRecord)}
    turns -= {one.turn for _, one in _messages(lines, changes)}
    turns -= {
        one.turn
        for at, line in enumerate(lines)
        if isinstance(one := changes.get(at, line.record), FailureRecord)
    }
    if not messages and not turns:
        return b""
    return encode(EraseRecord(tuple(sorted(messages)), tuple(sorted(turns)), ts))


# --- what becomes of each line ------------------------------------------------------------------


def changes_for(lines: Sequence[LogLine], what: LogErasure) -> Changes:
    """What becomes of the lines of a log; those that are not named stay as they are."""
    changes: dict[int, Record | None] = dict(_message_changes(lines, what))
    named = {at for at, line in enumerate(lines) if what.lines and line.digest in what.lines}
    changes |= {at: None for at in named if lines[at].unreadable}
    changes |= _failure_changes(lines, what, changes, named)
    changes |= {at: None for at in _titles(lines, what, changes)}
    changes |= _rewind_changes(lines, changes)
    changes |= {at: None for at in _summaries(lines, changes, named)}
    return changes


def _message_changes(lines: Sequence[LogLine], what: LogErasure) -> Changes:
    tombstones = [line.record for line in lines if isinstance(line.record, EraseRecord)]
    before = {number for one in tombstones for number in one.messages}
    turns: dict[int, list[tuple[int, Message]]] = {}
    for at, message in _messages(lines):
        turns.setdefault(message.turn, []).append((at, message))
    changes: dict[int, Record | None] = {}
    for number, messages in turns.items():
        if number in what.turns:
            changes |= {at: None for at, _ in messages}
        else:
            named = {at for at, one in messages if one.id in what.messages}
            changes |= _turn_changes(messages, named, before)
    return changes


def _turn_changes(
    messages: Sequence[tuple[int, Message]], named: set[int], before: set[int]
) -> Changes:
    """One turn without the messages named. `before` are ids that erasures before this one named."""
    if not named and not any(_is_stub(one, before) for _, one in messages):
        return {}
    changes: dict[int, Record | None] = {}
    lost = _lost_calls(messages, named)
    for at, one in messages:
        if at in named and one.role != "user":
            changes[at] = None
        elif one.role == "assistant" and one.tool_calls:
            calls = tuple(
                call for place, call in enumerate(one.tool_calls) if (at, place) not in lost
            )
            if not calls and not one.text.strip():
                changes[at] = None
            elif calls != one.tool_calls:
                changes[at] = msgspec.structs.replace(one, tool_calls=calls, count=None)
    changes |= {at: None for results in lost.values() for at in results}
    changes |= _question_changes(messages, named, before, changes)
    return changes


def _question_changes(
    messages: Sequence[tuple[int, Message]], named: set[int], before: set[int], others: Changes
) -> Changes:
    """A question goes; where something of its turn stays, a stub stays in its place."""
    going = [
        at for at, one in messages if one.role == "user" and (at in named or _is_stub(one, before))
    ]
    rest = [at for at, _ in messages if at not in going and others.get(at, True) is not None]
    changes: dict[int, Record | None] = {at: None for at in going}
    first, one = messages[0]
    if rest and first in changes:
        changes[first] = Message("user", FORGOTTEN, one.id, one.turn, one.ts)
        if one == changes[first]:
            del changes[first]
    return changes


def _is_stub(message: Message, before: set[int]) -> bool:
    """Whether it is what an erasure left of a question."""
    return message.role == "user" and message.content == FORGOTTEN and message.id in before


#: A call, by the place of its message in the log and its own place in that message.
_Call: TypeAlias = tuple[int, int]


def _lost_calls(
    messages: Sequence[tuple[int, Message]], named: set[int]
) -> Mapping[_Call, Sequence[int]]:
    """Calls that go, each with the places of its results."""
    made: dict[str, _Call] = {}
    results: dict[_Call, list[int]] = {}
    for at, one in messages:
        for place, call in enumerate(one.tool_calls):
            # Of two calls with one id the later has the results that come after it.
            made[call.id] = (at, place)
            results[at, place] = []
        if one.role == "tool" and one.tool_call_id in made:
            results[made[one.tool_call_id]].append(at)
    return {
        call: its_results
        for call, its_results in results.items()
        if call[0] in named or named.intersection(its_results)
    }


def _failure_changes(
    lines: Sequence[LogLine], what: LogErasure, changes: Changes, named: set[int]
) -> Changes:
    """A reason may quote what was said. That a turn is sent no more outlives its reason."""
    touched = {one.turn for one in _changed(lines, changes, Message)}
    unsent = {one.turn for _, one in _messages(lines, changes)}
    # A reply ends that: without it, it must not begin again.
    unsent -= {one.turn for _, one in _messages(lines) if _is_reply(one)}
    failures: dict[int, Record | None] = {}
    for at, line in enumerate(lines):
        one = line.record
        if not isinstance(one, FailureRecord):
            continue
        if one.turn in what.turns or one.turn in touched or at in named:
            stays = one.rejected and one.turn in unsent
            new = msgspec.structs.replace(one, reason=FORGOTTEN) if stays else None
            if new != one:
                failures[at] = new
    return failures


def _is_reply(message: Message) -> bool:
    return message.role == "assistant" and not message.tool_calls


def _titles(lines: Sequence[LogLine], what: LogErasure, changes: Changes) -> Iterator[int]:
    """An automatic title may have been made of anything that was said before it."""
    first = min((at for at in changes if isinstance(lines[at].record, Message)), default=len(lines))
    for at, line in enumerate(lines):
        if isinstance(line.record, TitleRecord) and (
            what.title or (line.record.by == "auto" and at > first)
        ):
            yield at


def _rewind_changes(lines: Sequence[LogLine], changes: Changes) -> Changes:
    """Going to a turn that goes becomes going to the nearest one before it that stays."""
    gone = {one.turn for one in _changed(lines, changes, Message)}
    gone -= {0, *(one.turn for _, one in _messages(lines, changes))}
    if not gone:
        return {}
    tree = _fold(lines).tree
    rewinds: dict[int, Record | None] = {}
    for at, line in enumerate(lines):
        one = line.record
        if isinstance(one, RewindRecord) and one.turn in gone:
            turn = one.turn
            while turn in gone:
                turn = tree.before(turn)
            rewinds[at] = msgspec.structs.replace(one, turn=turn)
    return rewinds


def _summaries(lines: Sequence[LogLine], changes: Changes, named: set[int]) -> set[int]:
    """Summaries of what goes, and the records that took them back."""
    before = _fold(lines)
    gone = {at for at in named if isinstance(lines[at].record, Summary)}
    gone.update(_made_of_changed(lines, changes, before))
    while True:
        undone = {at for at, summary in before.taken_back.items() if summary in gone}
        after = _fold(lines, {**changes, **dict.fromkeys(gone | undone)})
        # One that was written at a turn that goes belongs to the turn before it now. It could be
        # in force where it was not, or be taken back in another one's place.
        strays = after.in_force - before.in_force
        strays |= {
            summary
            for at, summary in after.taken_back.items()
            if before.taken_back.get(at) != summary
        }
        if not strays:
            return gone | undone
        gone |= strays


def _made_of_changed(lines: Sequence[LogLine], changes: Changes, fold: _Fold) -> Iterator[int]:
    """Summaries that stand for a message that is changed or goes."""
    changed = list(_changed(lines, changes, Message))
    for at, line in enumerate(lines):
        if isinstance(summary := line.record, Summary):
            first, last = summary.covers
            turns = fold.turns_of(at)
            if any(first <= one.id <= last and one.turn in turns for one in changed):
                yield at


# --- the records as the session folds them ------------------------------------------------------


class _Fold:
    """Which summaries are in force, as `Session.fold` has them."""

    def __init__(self) -> None:
        self.tree = TurnTree()
        self.written: dict[int, int | None] = {}
        """Summaries by their place in the log, and the newest turn when each was written."""
        self.taken_back: dict[int, int] = {}
        """Places of records that took a summary back, and that summary's."""
        self._last_ids: dict[int, int] = {}

    @property
    def in_force(self) -> set[int]:
        """Places of the conversation's summaries that are not taken back."""
        taken = set(self.taken_back.values())
        there = {at for at, newest in self.written.items() if self.tree.has(newest)}
        return there - taken

    def add(self, at: int, record: Record | None) -> None:
        if isinstance(record, Message):
            self.tree.say(record.turn)
            self._last_ids[record.turn] = record.id
        elif isinstance(record, RewindRecord):
            self.tree.go_to(record.turn)
        elif isinstance(record, Summary):
            first, last = record.covers
            if (record.text or record.kept) and 0 < first <= min(last, self._last_id()):
                self.written[at] = self.tree.newest
        elif isinstance(record, SummaryUndoneRecord) and (in_force := self.in_force):
            self.taken_back[at] = max(in_force)

    def _last_id(self) -> int:
        """Of the conversation's newest message."""
        return max((self._last_ids[turn] for turn in self.tree.path()), default=0)

    def turns_of(self, at: int) -> Container[int]:
        """Turns that a summary may hold something of: those before it in its conversation."""
        newest = self.written.get(at)
        return frozenset(self.tree.path(newest)) if newest is not None else self.tree


def _fold(lines: Sequence[LogLine], changes: Changes | None = None) -> _Fold:
    fold = _Fold()
    for at, line in enumerate(lines):
        fold.add(at, (changes or {}).get(at, line.record))
    return fold


def _messages(
    lines: Sequence[LogLine], changes: Changes | None = None
) -> Iterator[tuple[int, Message]]:
    """The messages and their places, as they are after the changes."""
    for at, line in enumerate(lines):
        record = (changes or {}).get(at, line.record)
        if isinstance(record, Message):
            yield at, record


def _changed(lines: Sequence[LogLine], changes: Iterable[int], kind: type[_R]) -> Iterator[_R]:
    """The records of a kind that are changed or go, as they were."""
    for at in changes:
        record = lines[at].record
        if isinstance(record, kind):
            yield record
