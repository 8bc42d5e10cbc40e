"""One session's file: an append-only log of JSON records, and the only source of truth.

Each line is one record with `v`, `type` and `ts` (ISO 8601 with offset). A record is one write to
a file opened for append, flushed to the disk before the caller goes on. Nothing here rewrites a
line. Beside the log stands, only while a reply streams in, `<id>.part` with what has come so far:
it is what a killed process leaves of a reply that was on the screen already.
"""

from __future__ import annotations

import contextlib
import errno
import os
import threading
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Literal, TypeAlias

import msgspec

from assistant.errors import SessionChanged, SessionError, SessionReadOnly, SessionUnreadable
from assistant.messages import Message, Summary

FORMAT_VERSION = 1


class SessionRecord(
    msgspec.Struct, frozen=True, omit_defaults=True, tag_field="type", tag="session"
):
    """The first line: whose log this is."""

    id: str
    ts: datetime
    program: str = ""
    forked_from: str | None = None
    forked_at: int | None = None
    """The last turn that was copied, where one was named."""
    v: int = FORMAT_VERSION


class TitleRecord(msgspec.Struct, frozen=True, omit_defaults=True, tag_field="type", tag="title"):
    """A title; one given by the user is never replaced by an automatic one."""

    title: str
    ts: datetime
    by: Literal["user", "auto"] = "auto"
    v: int = FORMAT_VERSION


class FailureRecord(
    msgspec.Struct, frozen=True, omit_defaults=True, tag_field="type", tag="failure"
):
    """A turn whose reply failed. A rejected one is not sent again with later turns."""

    turn: int
    reason: str
    ts: datetime
    rejected: bool = False
    v: int = FORMAT_VERSION


class SummaryUndoneRecord(
    msgspec.Struct, frozen=True, omit_defaults=True, tag_field="type", tag="summary_undone"
):
    """The newest summary was taken back: the one before it, or none, is in force again."""

    covers: tuple[int, int]
    """Of the summary that was taken back."""
    ts: datetime
    v: int = FORMAT_VERSION


class RewindRecord(msgspec.Struct, frozen=True, omit_defaults=True, tag_field="type", tag="rewind"):
    """The conversation goes on from another turn: back to an earlier one, or forth again.

    What was said since then stays in the log. The turns of a log are a tree: each is the child of
    the one that was the newest in the conversation when it began.
    """

    turn: int
    """The turn that is the newest one now; 0 for none."""
    ts: datetime
    v: int = FORMAT_VERSION


class EraseRecord(msgspec.Struct, frozen=True, omit_defaults=True, tag_field="type", tag="erase"):
    """What was erased from this log, by number alone. No number is given a second time."""

    messages: tuple[int, ...]
    """Ids of the messages that are gone, or of which a part is."""
    turns: tuple[int, ...]
    """Turns of which nothing is left."""
    ts: datetime
    v: int = FORMAT_VERSION


Record: TypeAlias = (
    SessionRecord
    | TitleRecord
    | FailureRecord
    | Summary
    | SummaryUndoneRecord
    | RewindRecord
    | EraseRecord
    | Message
)

_decoder: msgspec.json.Decoder[Record] = msgspec.json.Decoder(Record)


class _Version(msgspec.Struct):
    v: int = 0


_version_decoder = msgspec.json.Decoder(_Version)


#: What decoding a line can raise: wrong JSON or types, broken UTF-8, nesting without end.
UNREADABLE = (msgspec.MsgspecError, UnicodeDecodeError, RecursionError)


def encode(record: Record) -> bytes:
    """The record as one line, `v` in front. Text must be free of lone surrogates."""
    # Ours are all of this version, whose number is the default and so left out by msgspec.
    return b'{"v":%d,' % FORMAT_VERSION + msgspec.json.encode(record)[1:] + b"\n"


@dataclass
class Loaded:
    """What a log holds: its records, and what stood in the way of reading all of it."""

    records: list[Record]
    size: int
    skipped: int = 0
    """Lines that are no record of ours. They stay in the file."""
    newer: bool = False
    """Whether a later version of the program wrote to it: then nothing is appended."""
    ends_cleanly: bool = True
    """Whether the last line is whole; the next record starts a new line if not."""


def load(path: Path) -> Loaded:
    """Read a log once, whatever is in it. Raises SessionUnreadable when the file can't be read."""
    try:
        data = path.read_bytes()
    except OSError as error:
        raise SessionUnreadable(
            f"The session file {path.name} can't be read: {error.strerror}. Nothing was changed. "
            "Check its permissions, or start a new session with /session new."
        ) from error
    ends_cleanly = not data or data.endswith(b"\n")
    try:
        records: list[Record] = _decoder.decode_lines(data)
        newer = any(record.v > FORMAT_VERSION for record in records)
        return Loaded(records, len(data), newer=newer, ends_cleanly=ends_cleanly)
    except UNREADABLE:
        return _load_line_by_line(data, ends_cleanly)


def _load_line_by_line(data: bytes, ends_cleanly: bool) -> Loaded:
    loaded = Loaded([], len(data), ends_cleanly=ends_cleanly)
    for line in data.split(b"\n"):
        if not line.strip():
            continue
        try:
            record = _decoder.decode(line)
        except UNREADABLE:
            loaded.skipped += 1
            loaded.newer |= _version_of(line) > FORMAT_VERSION
            continue
        loaded.newer |= record.v > FORMAT_VERSION
        loaded.records.append(record)
    return loaded


def _version_of(line: bytes) -> int:
    try:
        return _version_decoder.decode(line).v
    except UNREADABLE:
        return 0


Release: TypeAlias = Callable[[], None]
Acquire: TypeAlias = Callable[[], Release]


def _nothing_held() -> None:
    """What a log releases that holds no lock."""


class SessionLog:
    """Appends records to one file; keeps what could not be written until it can be.

    A full disk does not end the conversation: `append` then leaves the record waiting, `failure`
    says why, and the next `append` or `flush` writes all that waits, in order. The expected size
    is a fence: when the file has grown or shrunk under us, `SessionChanged` is raised and nothing
    is written. The file is made by the first append, together with the `first` record; a session
    without content has none. `acquire` takes the lock that keeps other writers out, before the
    file is opened, unless it is held already; `close` gives it back with `release`.
    """

    def __init__(
        self,
        path: Path,
        *,
        size: int = 0,
        needs_newline: bool = False,
        first: Callable[[], Record] | None = None,
        acquire: Acquire | None = None,
        release: Release = _nothing_held,
    ) -> None:
        self.path = path
        self.size = size
        self.failure: str | None = None
        self._needs_newline = needs_newline
        self._waiting: list[bytes] = []
        self._first = first
        self._acquire = acquire
        self._release = release
        self._fd: int | None = None
        self._closed = False
        self._lock = threading.Lock()

    def append(self, *records: Record, at_once: bool = False) -> None:
        """Write records to the disk, all in one write. Raises SessionReadOnly after `close`.

        With `at_once` they never wait: raises SessionError when the disk refuses them.
        """
        with self._lock:
            if self._closed:
                raise SessionReadOnly("This session is closed already: nothing was added to it.")
            if self._first is not None:
                self._waiting.append(encode(self._first()))
                self._first = None
            before = len(self._waiting)
            self._waiting += map(encode, records)
            try:
                self._write_waiting()
            except SessionChanged:
                # The caller hears that these were not added; what waited before them goes on to.
                del self._waiting[before:]
                raise
            if at_once and self.failure is not None:
                del self._waiting[before:]
                raise SessionError(
                    f"This can't be saved: {self.failure}. Nothing was changed. Make room on the "
                    "disk, and try again."
                )

    def check_fence(self) -> None:
        """Raises SessionChanged when the file is not as we left it."""
        with self._lock:
            if self._fd is not None:
                self._check_fence(self._fd)

    def flush(self) -> None:
        """Try again to write what waits."""
        with self._lock:
            if self.waiting:
                self._write_waiting()

    @property
    def closed(self) -> bool:
        return self._closed

    @property
    def waiting(self) -> int:
        """Records that are not on the disk, because writing them failed."""
        return len(self._waiting) if self.failure else 0

    def close(self) -> None:
        """Close the file and give the lock back; what still waits is lost with the process."""
        with self._lock:
            self._closed = True
            if self._fd is not None:
                os.close(self._fd)
                self._fd = None
            self._release()
            self._release = _nothing_held

    def _write_waiting(self) -> None:
        try:
            fd = self._open()
            self._check_fence(fd)
            self._write(fd, b"".join(self._waiting))
            self._waiting.clear()
            self.failure = None
        except OSError as error:
            self.failure = error.strerror or str(error)

    def _open(self) -> int:
        if self._acquire is not None:
            self._release, self._acquire = self._acquire(), None
        if self._fd is None:
            flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | getattr(os, "O_BINARY", 0)
            # A pipe put in the file's place is an error then, and not waited for.
            flags |= getattr(os, "O_NONBLOCK", 0)
            self._fd = os.open(self.path, flags, 0o600)
        return self._fd

    def _check_fence(self, fd: int) -> None:
        state = os.fstat(fd)
        if state.st_size != self.size or state.st_nlink == 0:
            raise SessionChanged(
                f"The session file {self.path.name} was changed by another program while it was "
                "open here. Nothing in it was overwritten, and nothing was added. "
                f"/session switch {self.path.stem} reads it anew."
            )

    def _write(self, fd: int, lines: bytes) -> None:
        data = b"\n" + lines if self._needs_newline else lines
        try:
            written = os.write(fd, data)
            if written < len(data):
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            os.fsync(fd)
        except OSError:
            # Take back a torn line, so that the next try starts where this one did.
            with contextlib.suppress(OSError):
                os.ftruncate(fd, self.size)
            raise
        self.size += len(data)
        self._needs_newline = False


# --- the part of a reply that has come so far ---------------------------------------------------


class PartHeader(msgspec.Struct, frozen=True):
    """First line of a `.part` file: which turn the text after it answers."""

    turn: int
    model: str
    ts: datetime


_part_decoder = msgspec.json.Decoder(PartHeader)


class PartFile:
    """What has come of a reply, on the disk before it is on the screen.

    Plain writes without fsync: they outlive the process, which is what can die here at any
    moment. A write that fails is left out; the whole reply is saved at its end all the same.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._fd: int | None = None
        self._header: PartHeader | None = None

    def start(self, header: PartHeader) -> None:
        """A reply begins. The file is made with its first piece: the request need not wait."""
        self._header = header

    def add(self, text: str) -> None:
        with contextlib.suppress(OSError):
            data = text.encode("utf-8", "replace")
            if self._header is not None:
                flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | getattr(os, "O_BINARY", 0)
                head, self._header = msgspec.json.encode(self._header) + b"\n", None
                self._fd = os.open(self._path, flags, 0o600)
                data = head + data
            if self._fd is not None:
                os.write(self._fd, data)

    def remove(self) -> None:
        if self._fd is not None:
            os.close(self._fd)
            self._fd = None
        self._path.unlink(missing_ok=True)

    def read(self) -> tuple[PartHeader, str] | None:
        """What a killed process left here; None when there is nothing to save of it."""
        try:
            head, _, body = self._path.read_bytes().partition(b"\n")
            header = _part_decoder.decode(head)
        except (OSError, *UNREADABLE):
            return None
        # The last character may have been cut in the middle of its bytes.
        return header, body.decode("utf-8", "ignore")
