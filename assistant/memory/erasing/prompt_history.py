"""The lines that were typed, as the line editor keeps them, and erasing from them.

Each entry of the file is lines that begin with `+`, below a line with `#` and the date. Whoever
writes to it holds its lock.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import msgspec

from assistant.memory.erasing.erasures import digest
from assistant.memory.shared_file import remove_file, replace_file, unreadable, write_lock
from assistant.protocols import Erasure, Match

#: What is in the file, in words.
WHAT = "what was typed"


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
    # Lone surrogates, too: each text has a digest of its own.
    return digest(text.encode("utf-8", "surrogatepass"))


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
        return (f"data/{self._path.name}", f"data/.{self._path.name}.lock")

    def matches(self, erasure: Erasure) -> Sequence[Match]:
        return [
            Match("typed line", named, text)
            for text in entries(self._path)
            if (named := entry_digest(text)) in erasure.typed or erasure.everything
        ]

    def erase(self, erasure: Erasure, say: Callable[[str], None]) -> None:
        if not self._path.exists():
            return
        with write_lock(self._path, WHAT):
            data = _read(self._path)
            if erasure.everything:
                remove_file(self._path)
            elif (new := _without(data, frozenset(erasure.typed))) != data:
                replace_file(self._path, new)

    def count(self, erasure: Erasure) -> int:
        if erasure.everything:
            return int(self._path.exists())
        return len(self.matches(erasure))

    def left(self, erasure: Erasure) -> str:
        return ""


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return b""
    except OSError as error:
        raise unreadable(path, error) from error


def _without(data: bytes, typed: frozenset[str]) -> bytes:
    pieces, done = [], 0
    for entry in _entries(data):
        if entry_digest(entry.text) in typed:
            pieces.append(data[done : entry.start])
            done = entry.end
    return b"".join([*pieces, data[done:]])
