"""Entries a user keeps, as an append-only log of JSON records, shared by several processes."""

from __future__ import annotations

import contextlib
import errno
import os
import threading
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import BinaryIO, Generic, TypeAlias, TypeVar

import msgspec

from assistant.errors import NotSaved
from assistant.memory.session_log import UNREADABLE
from assistant.memory.shared_file import (
    LOCK_TIMEOUT,
    not_saved,
    remove_file,
    replace_file,
    unreadable,
    write_lock,
)

FORMAT_VERSION = 1
#: Bytes before the place where reading goes on that must be what they were.
COMPARED = 64

R = TypeVar("R")

#: What is made of a record: None takes it out, itself leaves its line byte for byte as it is.
Change: TypeAlias = Callable[[R], R | None]
#: Whether a line that is no record goes.
Goes: TypeAlias = Callable[[bytes], bool]


class _Version(msgspec.Struct):
    v: int = 0


_version_decoder = msgspec.json.Decoder(_Version)


class EntryLog(Generic[R]):
    """The records of one file, in order. Nothing is taken out of it but by `rewrite`.

    Each line is one record with `v` and what the record's type encodes. A line that can't be read
    stays where it is and is passed over (`skipped`); a file of a newer version is only read. A
    reader looks at what was appended since, whoever did it; a file that was put in this one's
    place is read anew.
    """

    def __init__(
        self,
        path: Path,
        decoder: msgspec.json.Decoder[R],
        what: str,
        lock_timeout: float = LOCK_TIMEOUT,
    ) -> None:
        """`decoder` reads a record, whatever kinds there are; `what` names the entries."""
        self._path = path
        self._what = what
        self._lock_timeout = lock_timeout
        self._decoder = decoder
        self._records: list[R] = []
        self._read = 0
        self._read_last = b""
        self._mark: tuple[int, int, int] | None = None
        self._held = False
        # The worker writes facts while the main thread reads them.
        self._lock = threading.RLock()
        self.skipped = 0
        """Lines that are no record of ours."""
        self.newer = False
        """Whether a later version of the program wrote to it."""
        self.generation = 0
        """Counts up whenever the file was read anew, so that what was derived is made again."""

    def records(self, start: int = 0) -> Sequence[R]:
        """All records so far from number `start` on, those of other processes included.

        Raises EntriesUnreadable.
        """
        with self._lock:
            self._catch_up()
            return tuple(self._records[start:])

    @contextlib.contextmanager
    def exclusively(self) -> Iterator[None]:
        """No other process writes while the block lasts: for reading, deciding and appending.

        Ctrl-C waits for its end. Raises NotSaved when the file can't be had in time.
        """
        with self._lock:
            if self._held:
                yield
                return
            with write_lock(self._path, self._what, self._lock_timeout):
                self._held = True
                try:
                    yield
                finally:
                    self._held = False

    def append(self, *records: R) -> None:
        """Write records to the disk before it returns: all, or none where it raises NotSaved.

        Of several, a process that is killed meanwhile may leave the first ones. Raises
        EntriesUnreadable where the file can't be read.
        """
        with self.exclusively():
            self._catch_up()
            self._require_ours()
            try:
                self._write(b"".join(map(_encoded, records)))
            except OSError as error:
                raise not_saved(self._path, error) from error
            self._catch_up()

    def rewrite(self, change: Change[R], goes: Goes) -> None:
        """Put a file of what `change` makes of each record in this one's place, in one step.

        Lines that are no record stay as they are unless `goes` says otherwise. Other processes
        read the new file anew when they look next. Raises what `append` does.
        """
        with self.exclusively():
            self._catch_up()
            self._require_ours()
            lines = list(self._changes(change, goes))
            if any(new is not line for line, new in lines):
                replace_file(self._path, b"".join(new for _, new in lines))
            self._catch_up()

    def touched(self, change: Change[R], goes: Goes) -> int:
        """How many lines of the file, as it is now, `rewrite` would change or take out."""
        return sum(new is not line for line, new in self._changes(change, goes))

    def remove(self) -> None:
        """Delete the file. Raises NotSaved."""
        with self.exclusively():
            remove_file(self._path)
            self._catch_up()

    def _changes(self, change: Change[R], goes: Goes) -> Iterator[tuple[bytes, bytes]]:
        """Each line with its newline, and what takes its place: itself, or nothing."""
        try:
            *lines, rest = self._path.read_bytes().split(b"\n")
        except FileNotFoundError:
            return
        except OSError as error:
            raise unreadable(self._path, error) from error
        for line in [*(line + b"\n" for line in lines), rest]:
            try:
                record = self._decoder.decode(line)
            except UNREADABLE:
                yield line, (b"" if line and goes(line) else line)
                continue
            new = change(record)
            yield line, (line if new is record else b"" if new is None else _encoded(new))

    def _require_ours(self) -> None:
        if self.newer:
            raise NotSaved(
                f"Nothing was saved: {self._path.name} was written by a newer version of the "
                "program and is only read. Update the program."
            )

    def _write(self, lines: bytes) -> None:
        flags = os.O_RDWR | os.O_CREAT | os.O_APPEND | getattr(os, "O_BINARY", 0)
        fd = os.open(self._path, flags, 0o600)
        try:
            size = os.fstat(fd).st_size
            try:
                data = lines if _ends_a_line(fd, size) else b"\n" + lines
                if os.write(fd, data) < len(data):
                    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
                os.fsync(fd)
            except OSError:
                # Take back a torn line, so that the file is as it was.
                with contextlib.suppress(OSError):
                    os.ftruncate(fd, size)
                raise
        finally:
            os.close(fd)

    def _catch_up(self) -> None:
        try:
            if _mark_of(self._path.stat()) == self._mark:
                return
            with open(self._path, "rb") as file:
                state = os.fstat(file.fileno())
                if not self._goes_on(file, state):
                    self._forget()
                file.seek(self._read)
                # No more than there was: a device put in its place may have no end.
                data = file.read(max(0, state.st_size - self._read))
        except FileNotFoundError:
            self._forget()
            return
        except OSError as error:
            raise unreadable(self._path, error) from error
        self._mark = _mark_of(state)
        self._take(data)

    def _goes_on(self, file: BinaryIO, state: os.stat_result) -> bool:
        """Whether a file begins with what was read so far.

        Its number does not tell: a file that is deleted leaves its number to the next one.
        """
        if self._mark is None or state.st_ino != self._mark[0] or state.st_size < self._read:
            return False
        file.seek(self._read - len(self._read_last))
        return file.read(len(self._read_last)) == self._read_last

    def _take(self, data: bytes) -> None:
        *lines, rest = data.split(b"\n")
        for line in lines:
            if line.strip() and not self._take_line(line):
                self.skipped += 1
        taken = len(data) - len(rest)
        # What follows the last newline is still being written, or was torn, unless it is whole:
        # an editor may have left out the newline.
        if rest and self._take_line(rest):
            taken = len(data)
        self._read += taken
        self._read_last = (self._read_last + data[:taken])[-COMPARED:]

    def _take_line(self, line: bytes) -> bool:
        self.newer |= _version_of(line) > FORMAT_VERSION
        try:
            self._records.append(self._decoder.decode(line))
        except UNREADABLE:
            return False
        return True

    def _forget(self) -> None:
        if self._mark is not None:
            self.generation += 1
        self._records, self._read, self._read_last, self._mark = [], 0, b"", None
        self.skipped, self.newer = 0, False


def _encoded(record: object) -> bytes:
    return b'{"v":%d,' % FORMAT_VERSION + msgspec.json.encode(record)[1:] + b"\n"


def _version_of(line: bytes) -> int:
    try:
        return _version_decoder.decode(line).v
    except UNREADABLE:
        return 0


def _mark_of(state: os.stat_result) -> tuple[int, int, int]:
    """What tells that a file is as it was: its number, size and time of change."""
    return state.st_ino, state.st_size, state.st_mtime_ns


def _ends_a_line(fd: int, size: int) -> bool:
    """Whether nothing torn, of a process that was killed, would swallow what is appended."""
    if size == 0:
        return True
    os.lseek(fd, size - 1, os.SEEK_SET)
    return os.read(fd, 1) == b"\n"
