"""Which files were written on request, and where: so that they can be erased, too."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Collection, Sequence
from datetime import datetime
from pathlib import Path

import msgspec

from assistant.memory.erasing.erasures import digest, sessions_of
from assistant.memory.shared_file import (
    remove_file,
    replace_file,
    sync_folder,
    temporary_of,
    unreadable,
    write_lock,
)
from assistant.protocols import Erasure, Match

WHAT = "the list of exported files"


class Export(msgspec.Struct, frozen=True):
    """A file outside of the home that holds what was said in a session."""

    path: str
    session: str
    ts: datetime
    digest: str
    """Of what was written: a file that was changed since is the user's own."""


_decoder = msgspec.json.Decoder(list[Export])


class Exports:
    """The register of exported files, the oldest first; of those at one path the newest."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def note(self, path: Path, session: str, ts: datetime, content: bytes) -> None:
        """Remember a file before it is written. `path` is absolute. Raises NotSaved."""
        export = Export(str(path), session, ts, digest(content))
        with write_lock(self._path, WHAT):
            others = [one for one in read(self._path) if one.path != export.path]
            replace_file(self._path, msgspec.json.encode([*others, export]))

    def of(self, sessions: Collection[str] | None) -> Sequence[str]:
        """Paths of those that hold something of these sessions, or of any.

        Raises EntriesUnreadable.
        """
        known = read(self._path)
        return [one.path for one in known if sessions is None or one.session in sessions]


class ExportFiles:
    """An `Erasable` over exported files. Only those whose paths are named go, and only as they
    were written.
    """

    name = "exported files"

    def __init__(self, register: Path) -> None:
        self._register = register

    @property
    def files(self) -> Sequence[str]:
        return (f"data/{self._register.name}", f"data/.{self._register.name}.lock")

    def matches(self, erasure: Erasure) -> Sequence[Match]:
        exported = [Match("exported file", one.path) for one in self._named(erasure)]
        exported += [Match("left-over file", str(one)) for one in self._left_over(erasure)]
        whole = erasure.everything and self._register.exists()
        return [*exported, Match("file", self._register.name)] if whole else exported

    def erase(self, erasure: Erasure, say: Callable[[str], None]) -> None:
        if not self._register.exists():
            return
        with write_lock(self._register, WHAT):
            for path in self._left_over(erasure):
                remove_file(path)
            named = self._named(erasure)
            for one in named:
                _remove(one)
            if erasure.everything:
                remove_file(self._register)
            elif named:
                kept = [one for one in read(self._register) if one not in named]
                replace_file(self._register, msgspec.json.encode(kept))

    def count(self, erasure: Erasure) -> int:
        return len(self.matches(erasure))

    def left(self, erasure: Erasure) -> str:
        later = {one.path for one in read(self._register)} - {
            one.path for one in self._named(erasure)
        }
        there = [one for one in erasure.exports if one not in later and Path(one).exists()]
        if not there:
            return ""
        return (
            f"Left where it is: {', '.join(there)}. It was changed since it was written, or can't "
            "be removed. Delete it by hand."
        )

    def _named(self, erasure: Erasure) -> Sequence[Export]:
        """Those that go; what was written to the same place after the user agreed does not."""
        return [
            one
            for one in read(self._register)
            if one.path in erasure.exports and one.ts <= erasure.ts
        ]

    def _left_over(self, erasure: Erasure) -> Sequence[Path]:
        """What killed processes left beside exported files, of sessions that lose something."""
        sessions = sessions_of(erasure)
        paths = [
            Path(one.path)
            for one in read(self._register)
            if erasure.everything or one.session in sessions
        ]
        return sorted({one for path in paths for one in temporary_of(path)})


def read(path: Path) -> Sequence[Export]:
    """What the register holds; nothing when it is no register. Raises EntriesUnreadable."""
    try:
        return _decoder.decode(path.read_bytes())
    except FileNotFoundError:
        return []
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return []
    except OSError as error:
        raise unreadable(path, error) from error


def _remove(export: Export) -> None:
    path = Path(export.path)
    # What can't be removed, `left` tells of.
    with contextlib.suppress(OSError):
        if digest(path.read_bytes()) == export.digest:
            path.unlink()
            sync_folder(path.parent)
