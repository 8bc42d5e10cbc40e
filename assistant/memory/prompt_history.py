"""The lines that were typed, as the line editor keeps them, and erasing from them.

Each entry of the file is lines that begin with `+`, below a line with `#` and the date. Terminals
append to it without a lock.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import BinaryIO

import msgspec

from assistant.memory.erasures import remove_file, sync_folder, text_digest
from assistant.memory.shared_file import not_saved, unreadable
from assistant.protocols import Erasure, Match


class _Entry(msgspec.Struct, frozen=True):
    """A line that was typed, or several at once: its text, and its bytes `data[start:end]`."""

    text: str
    start: int
    """Where its date begins."""
    end: int


def entries(path: Path) -> Sequence[str]:
    """All that was typed, the oldest first, exactly as prompt_toolkit reads it.

    Raises EntriesUnreadable.
    """
    return [entry.text for entry in _entries(_read(path))]


def entry_digest(text: str) -> str:
    """What stands for an entry in `Erasure.typed`."""
    return text_digest(text)


def _entries(data: bytes) -> Iterator[_Entry]:
    start = at = 0
    lines: list[str] = []
    for raw in _lines(data):
        if raw.startswith(b"+"):
            lines.append(raw.decode("utf-8", "replace")[1:])
        elif lines:
            yield _Entry("".join(lines)[:-1], start, at)
            lines, start = [], at
        at += len(raw)
    if lines:
        yield _Entry("".join(lines)[:-1], start, at)


def _lines(data: bytes) -> Iterator[bytes]:
    *whole, rest = data.split(b"\n")
    yield from (line + b"\n" for line in whole)
    if rest:
        yield rest


class PromptHistoryEraser:
    """An `Erasable` over `data/prompt_history`. `Erasure.typed` are digests of entries."""

    name = "prompt history"

    def __init__(self, path: Path) -> None:
        self._path = path

    @property
    def files(self) -> Sequence[str]:
        return (f"data/{self._path.name}",)

    def matches(self, erasure: Erasure) -> Sequence[Match]:
        return [
            Match("typed line", digest, text)
            for text in entries(self._path)
            if (digest := entry_digest(text)) in erasure.typed or erasure.everything
        ]

    def erase(self, erasure: Erasure, say: Callable[[str], None]) -> None:
        if erasure.everything:
            remove_file(self._path)
            return
        typed = frozenset(erasure.typed)
        # What another terminal appends meanwhile is looked through, too.
        while typed and self._erased_some(typed):
            pass

    def count(self, erasure: Erasure) -> int:
        if erasure.everything:
            return int(self._path.exists())
        return len(self.matches(erasure))

    def left(self, erasure: Erasure) -> str:
        return ""

    def _erased_some(self, typed: frozenset[str]) -> bool:
        """Whether it has to be looked through once more."""
        place = Path(os.path.realpath(self._path))
        try:
            with open(place, "rb") as file:
                data = file.read()
                new = _without(data, typed)
                if new == data:
                    return False
                if _replaced(place, file, new, len(data)):
                    # Whoever had opened the old file before has written to it.
                    _append(place, file.read())
                return True
        except FileNotFoundError:
            return False
        except OSError as error:
            raise not_saved(self._path, error) from error


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return b""
    except OSError as error:
        raise unreadable(path, error) from error


def _replaced(path: Path, old: BinaryIO, new: bytes, size: int) -> bool:
    """Put a file in the place of an old one, unless that has grown over `size` meanwhile."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        with open(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file:
            file.write(new)
            file.flush()
            os.fsync(file.fileno())
        now = path.stat()
        if now.st_size != size or not os.path.samestat(now, os.fstat(old.fileno())):
            return False
        temporary.replace(path)
        sync_folder(path.parent)
        return True
    finally:
        temporary.unlink(missing_ok=True)


def _append(path: Path, data: bytes) -> None:
    if data:
        with open(path, "ab") as file:
            file.write(data)


def _without(data: bytes, typed: frozenset[str]) -> bytes:
    pieces, done = [], 0
    for entry in _entries(data):
        if entry_digest(entry.text) in typed:
            pieces.append(data[done : entry.start])
            done = entry.end
    return b"".join([*pieces, data[done:]])
