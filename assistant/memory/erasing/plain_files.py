"""Erasing files that hold no words, and files that were left lying about and may hold any."""

from __future__ import annotations

import contextlib
import os
import re
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from assistant.memory.erasing.erasures import sessions_of
from assistant.memory.files import is_running
from assistant.memory.last_sessions import LastSessions
from assistant.memory.shared_file import not_saved, remove_file, sync_folder, temporary_of
from assistant.protocols import Erasure, Match

#: Files of `data/` that name models, sessions or moments, and nothing that was said.
WORDLESS = ("models.json", "terminals.json", "last_said", "user", "logs/*")
LOCKS = ("locks/*.lock", ".*.lock")
#: Copies of what could not be read, or was made anew. Those of the index are its own.
SET_ASIDE = ("*.corrupt-*", "*.discarded-*")
INDEX = "index.db"
#: Seconds after which nobody is writing a temporary file any more, whoever has its number now.
STALE = 600.0

_TEMPORARY = re.compile(r"\..+\.(\d{1,9})\.tmp")


class WordlessFiles:
    """An `Erasable` over files without words: they go with everything else.

    Which session each terminal had last is forgotten for every session that is erased. Locks that
    are held stay: they are empty, and whoever holds them relies on them.
    """

    name = "files without words"

    def __init__(self, data: Path) -> None:
        self._data = data
        self._terminals = LastSessions(data / "terminals.json")

    @property
    def files(self) -> Sequence[str]:
        return [f"data/{pattern}" for pattern in (*WORDLESS, *LOCKS)]

    def matches(self, erasure: Erasure) -> Sequence[Match]:
        if erasure.everything:
            return [Match("file", str(path.relative_to(self._data.parent))) for path in self._all()]
        remembered = self._terminals.of(erasure.sessions)
        return [Match("terminal's last session", one) for one in sorted(remembered)]

    def erase(self, erasure: Erasure, say: Callable[[str], None]) -> None:
        if not erasure.everything:
            self._terminals.forget(erasure.sessions)
            return
        for path in self._all():
            remove_file(path)
        for pattern in LOCKS:
            for path in self._data.glob(pattern):
                _remove_unheld(path)

    def count(self, erasure: Erasure) -> int:
        return len(self.matches(erasure))

    def left(self, erasure: Erasure) -> str:
        return ""

    def _all(self) -> Sequence[Path]:
        return sorted(
            path for pattern in WORDLESS for path in self._data.glob(pattern) if path.is_file()
        )


def _remove_unheld(path: Path) -> None:
    """Remove a lock that nobody holds; who waits for it meanwhile makes it again."""
    from filelock import FileLock, Timeout  # here, because the prompt need not wait for it

    with contextlib.suppress(OSError, Timeout), FileLock(path, mode=0o600).acquire(blocking=False):
        path.unlink(missing_ok=True)


class LeftOvers:
    """An `Erasable` over what killed processes and broken files left: it goes in every erase.

    A temporary file that a living process may be writing stays, and one that its user may have in
    an editor.
    """

    name = "left-over files"

    def __init__(
        self,
        data: Path,
        config: Path,
        linked: Sequence[Path] = (),
        now: Callable[[], float] = time.time,
    ) -> None:
        """`linked` are files that may be links to other folders, where their copies are then."""
        self._data = data
        self._folders = (data, config)
        self._linked = linked
        self._now = now

    @property
    def files(self) -> Sequence[str]:
        temporary = [f"{folder.name}/.*.tmp" for folder in self._folders]
        return [*temporary, *(f"data/{pattern}" for pattern in SET_ASIDE)]

    def matches(self, erasure: Erasure) -> Sequence[Match]:
        return [Match("left-over file", str(path)) for path in self._going()]

    def erase(self, erasure: Erasure, say: Callable[[str], None]) -> None:
        for path in self._going():
            try:
                _remove(path)
            except OSError as error:
                raise not_saved(path, error) from error

    def count(self, erasure: Erasure) -> int:
        return len(self._going())

    def left(self, erasure: Erasure) -> str:
        written = [path for path in self._temporary() if self._may_be_written(path)]
        if not written:
            return ""
        names = ", ".join(str(path) for path in written)
        return f"Another running program is writing {names}; it is removed by the next erase."

    def _going(self) -> Sequence[Path]:
        aside = [
            path
            for pattern in SET_ASIDE
            for path in self._data.glob(pattern)
            if not path.name.startswith(INDEX)
        ]
        temporary = [path for path in self._temporary() if not self._may_be_written(path)]
        return sorted({*aside, *temporary})

    def _temporary(self) -> Iterator[Path]:
        for folder in self._folders:
            yield from (one for one in folder.glob(".*.tmp") if _TEMPORARY.fullmatch(one.name))
        for link in self._linked:
            if link.is_symlink():
                yield from temporary_of(Path(os.path.realpath(link)))

    def _may_be_written(self, path: Path) -> bool:
        """Whether a living process, other than this one, may be busy with it."""
        number = _TEMPORARY.fullmatch(path.name)
        assert number is not None
        pid = int(number[1])
        if pid == os.getpid() or not is_running(pid):
            return False
        try:
            return path.is_dir() or self._now() - path.stat().st_mtime < STALE
        except OSError:
            return False


class MendedCopies:
    """An `Erasable` over the copies of session files that were made before one was mended.

    All those of a session that loses something go: they are as they were before.
    """

    name = "copies of mended files"
    files = ("data/before-doctor/*",)

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def matches(self, erasure: Erasure) -> Sequence[Match]:
        return [Match("copy", path.name) for path in self._going(erasure)]

    def erase(self, erasure: Erasure, say: Callable[[str], None]) -> None:
        for path in self._going(erasure):
            remove_file(path)
        sync_folder(self._folder)

    def count(self, erasure: Erasure) -> int:
        return len(self._going(erasure))

    def left(self, erasure: Erasure) -> str:
        return ""

    def _going(self, erasure: Erasure) -> Sequence[Path]:
        sessions = sessions_of(erasure)
        return sorted(
            path
            for path in self._folder.glob("*")
            # One whose copying was killed has a dot before its name.
            if erasure.everything or path.name.lstrip(".").partition(".")[0] in sessions
        )


def _remove(path: Path) -> None:
    """Remove a file, or a folder with all that is in it; what a link leads to stays."""
    if not path.is_dir() or path.is_symlink():
        path.unlink(missing_ok=True)
        return
    for inner in path.iterdir():
        _remove(inner)
    path.rmdir()
