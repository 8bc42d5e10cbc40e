"""Erasing from the calendar: whole events, and the names of erased turns in others."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import msgspec

from assistant.memory.calendar.calendar_index import digest_of, erasure_mark, read_index
from assistant.memory.calendar.ical_event import short_id
from assistant.memory.calendar.ical_text import Block, Part, layout, unescaped
from assistant.memory.erasing.erasures import goes
from assistant.memory.shared_file import remove_file, replace_file, unreadable, write_lock
from assistant.protocols import Erasure, Match

SOURCE = "X-ASSISTANT-SOURCE"


class _Change(msgspec.Struct, frozen=True):
    """A component that goes, or becomes another one."""

    part: Part
    new: bytes
    """Empty where it goes."""
    id: str
    title: str


class CalendarEraser:
    """An `Erasable` over `data/calendar.ics` and what is derived from it.

    What is not touched stays byte for byte, whoever wrote it.
    """

    name = "calendar"

    def __init__(self, path: Path) -> None:
        self._path = path
        self._index = path.with_suffix(".json")

    @property
    def files(self) -> Sequence[str]:
        names = (
            self._path.name,
            self._index.name,
            erasure_mark(self._path).name,
            f".{self._path.name}.lock",
        )
        return [f"data/{name}" for name in names]

    def matches(self, erasure: Erasure) -> Sequence[Match]:
        titles: dict[str, dict[str, None]] = {}
        for one in self._changes(self._read(), erasure):
            if not one.new:
                titles.setdefault(one.id, {})[one.title] = None
        return [Match("event", one, " / ".join(told)) for one, told in titles.items()]

    def erase(self, erasure: Erasure, say: Callable[[str], None]) -> None:
        if not self._path.exists():
            remove_file(self._index)
            return
        with write_lock(self._path, "the calendar"):
            # Before all else: an event that was cancelled can't be put back from now on.
            replace_file(erasure_mark(self._path), erasure.id.encode())
            if erasure.everything:
                remove_file(self._path)
                remove_file(self._index)
                return
            data = self._read()
            if changes := list(self._changes(data, erasure)):
                replace_file(self._path, _with(data, changes))
            # Later than the calendar: who reads that anew meanwhile makes it of the new one.
            if self._stale():
                remove_file(self._index)

    def count(self, erasure: Erasure) -> int:
        if erasure.everything:
            return self._path.exists() + self._index.exists()
        return len(list(self._changes(self._read(), erasure))) + self._stale()

    def left(self, erasure: Erasure) -> str:
        problem = _problem(self._read())
        if not problem:
            return ""
        return (
            f"{self._path} is no calendar that can be read ({problem}): what it says of the erased "
            "turns, if anything, is still in it. Mend it in an editor and erase again."
        )

    def _read(self) -> bytes:
        try:
            return self._path.read_bytes()
        except FileNotFoundError:
            return b""
        except OSError as error:
            raise unreadable(self._path, error) from error

    def _stale(self) -> bool:
        """Whether the index is of other bytes than the calendar's: it may hold what is gone."""
        if not self._index.exists():
            return False
        index = read_index(self._index)
        return index is None or index.digest != digest_of(self._read())

    def _changes(self, data: bytes, erasure: Erasure) -> Iterator[_Change]:
        try:
            parts = layout(data).parts
        except ValueError:
            return  # what `left` tells of
        named = {one.partition("@")[0].casefold() for one in erasure.events}
        for part in parts:
            old = data[part.start : part.end]
            # By far the most are not looked into.
            if part.kind == "VTIMEZONE" or not (
                named or erasure.everything or SOURCE.encode() in old.upper()
            ):
                continue
            block = Block(old)
            uid, title = _text(block, "UID"), _text(block, "SUMMARY")
            event_id = short_id(uid)
            if erasure.everything or (uid and event_id in named):
                yield _Change(part, b"", event_id, title)
            elif goes(erasure, _text(block, SOURCE)):
                block.put(SOURCE)
                yield _Change(part, bytes(block), event_id, title)


def _with(data: bytes, changes: Sequence[_Change]) -> bytes:
    pieces, done = [], 0
    for change in changes:
        pieces += [data[done : change.part.start], change.new]
        done = change.part.end
    return b"".join([*pieces, data[done:]])


def _text(block: Block, name: str) -> str:
    line = block.first(name)
    return unescaped(line.value).strip() if line else ""


def _problem(data: bytes) -> str:
    """Why nothing can be cut out of these bytes, in words; empty when it can."""
    if not data.strip():
        return ""
    try:
        layout(data)
    except ValueError as error:
        return str(error)
    return ""
