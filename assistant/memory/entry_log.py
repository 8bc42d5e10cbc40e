"""Entries a user keeps, as an append-only log of JSON records, shared by several processes."""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Generic, TypeVar

import msgspec

from assistant.errors import EntriesUnreadable, NotSaved
from assistant.memory.files import make_folder
from assistant.memory.interrupts import interrupts_held
from assistant.memory.session_log import UNREADABLE

FORMAT_VERSION = 1
#: Seconds that a write waits for another process's.
LOCK_TIMEOUT = 5.0

R = TypeVar("R")


class _Version(msgspec.Struct):
    v: int = 0


_version_decoder = msgspec.json.Decoder(_Version)


class EntryLog(Generic[R]):
    """The records of one file, in order. Nothing is ever taken out of it here.

    Each line is one record with `v` and what the record's type encodes. A line that can't be read
    stays where it is and is passed over (`skipped`); a file of a newer version is only read. A
    reader looks at what was appended since, whoever did it; a file that was put in this one's
    place is read anew.
    """

    def __init__(self, path: Path, kind: type[R], what: str) -> None:
        """`kind` is the type of a record, or the union of them; `what` names the entries."""
        self._path = path
        self._what = what
        self._decoder: msgspec.json.Decoder[R] = msgspec.json.Decoder(kind)
        self._records: list[R] = []
        self._read = 0
        self._inode: int | None = None
        self._held = 0
        # The worker writes facts while the main thread reads them.
        self._lock = threading.RLock()
        self.skipped = 0
        """Lines that are no record of ours."""
        self.newer = False
        """Whether a later version of the program wrote to it."""
        self.generation = 0
        """Counts up whenever the file was read anew, so that what was derived is made again."""

    def records(self) -> Sequence[R]:
        """All records so far, those of other processes included. Raises EntriesUnreadable."""
        with self._lock:
            self._catch_up()
            return tuple(self._records)

    @contextlib.contextmanager
    def exclusively(self) -> Iterator[None]:
        """No other process writes while the block lasts: for reading, deciding and appending.

        Ctrl-C waits for its end. Raises NotSaved when the file can't be had in time.
        """
        with self._lock:
            if self._held:
                yield
            else:
                with self._locked():
                    yield

    def append(self, *records: R) -> None:
        """Write records, all or none, to the disk before it returns. Raises NotSaved."""
        with self.exclusively():
            self._catch_up()
            if self.newer:
                raise NotSaved(
                    f"Nothing was saved: {self._path.name} was written by a newer version of the "
                    "program and is only read. Update the program."
                )
            lines = b"".join(
                b'{"v":%d,' % FORMAT_VERSION + msgspec.json.encode(record)[1:] + b"\n"
                for record in records
            )
            try:
                self._write(lines)
            except OSError as error:
                raise self._not_saved(error) from error
            self._catch_up()

    @contextlib.contextmanager
    def _locked(self) -> Iterator[None]:
        from filelock import FileLock, Timeout  # here, so that reading does not pay for it

        with interrupts_held(), contextlib.ExitStack() as stack:
            try:
                make_folder(self._path.parent)
                lock = FileLock(self._path.with_name(f".{self._path.name}.lock"), mode=0o600)
                stack.enter_context(lock.acquire(timeout=LOCK_TIMEOUT))
            except Timeout as error:
                raise NotSaved(
                    f"Nothing was saved: another program has been writing {self._what} for "
                    f"{LOCK_TIMEOUT:.0f} seconds. Try again."
                ) from error
            except OSError as error:
                raise self._not_saved(error) from error
            self._held += 1
            try:
                yield
            finally:
                self._held -= 1

    def _write(self, lines: bytes) -> None:
        flags = os.O_RDWR | os.O_CREAT | os.O_APPEND | getattr(os, "O_BINARY", 0)
        fd = os.open(self._path, flags, 0o600)
        try:
            size = os.fstat(fd).st_size
            # A torn last line, of a process that was killed, must not swallow ours.
            torn = size > 0 and os.pread(fd, 1, size - 1) != b"\n"
            try:
                data = b"\n" + lines if torn else lines
                if os.write(fd, data) < len(data):
                    raise OSError(28, os.strerror(28))
                os.fsync(fd)
            except OSError:
                with contextlib.suppress(OSError):
                    os.ftruncate(fd, size)
                raise
        finally:
            os.close(fd)

    def _catch_up(self) -> None:
        try:
            state = self._path.stat()
        except FileNotFoundError:
            self._forget(None)
            return
        except OSError as error:
            raise self._unreadable(error) from error
        if state.st_ino != self._inode or state.st_size < self._read:
            self._forget(state.st_ino)
        if state.st_size > self._read:
            self._read_on()

    def _read_on(self) -> None:
        try:
            with open(self._path, "rb") as file:
                file.seek(self._read)
                data = file.read()
        except OSError as error:
            raise self._unreadable(error) from error
        # A line without its end is still being written, or was torn: the next one ends it.
        whole = data.rpartition(b"\n")[0]
        self._read += len(whole) + (1 if whole or data.startswith(b"\n") else 0)
        for line in whole.split(b"\n"):
            if not line.strip():
                continue
            try:
                record = self._decoder.decode(line)
            except UNREADABLE:
                self.skipped += 1
                self.newer |= _version_of(line) > FORMAT_VERSION
                continue
            self.newer |= _version_of(line) > FORMAT_VERSION
            self._records.append(record)

    def _forget(self, inode: int | None) -> None:
        if self._inode is not None or self._records:
            self.generation += 1
        self._records, self._read, self._inode = [], 0, inode
        self.skipped, self.newer = 0, False

    def _not_saved(self, error: OSError) -> NotSaved:
        return NotSaved(
            f"Nothing was saved: {self._path.name} can't be written "
            f"({error.strerror or error}). What was there before is unchanged."
        )

    def _unreadable(self, error: OSError) -> EntriesUnreadable:
        return EntriesUnreadable(
            f"{self._path.name} can't be read ({error.strerror or error}). Nothing was changed. "
            "Check its permissions."
        )


def _version_of(line: bytes) -> int:
    try:
        return _version_decoder.decode(line).v
    except UNREADABLE:
        return 0
