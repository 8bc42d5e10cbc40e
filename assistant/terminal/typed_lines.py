"""The lines that were typed, for arrow up and for the search: in a file, or in memory alone."""

from __future__ import annotations

import os
from collections.abc import AsyncGenerator, Callable
from contextlib import suppress
from pathlib import Path

from prompt_toolkit.history import FileHistory, History, InMemoryHistory

from assistant.errors import NotSaved
from assistant.memory.erasing.prompt_history import WHAT
from assistant.memory.files import make_folder
from assistant.memory.shared_file import write_lock


def typed_lines(path: Path | None) -> TypedLines:
    """Those in this file; in memory where it can't be written, or without one."""
    if path is not None:
        with suppress(OSError):
            make_folder(path.parent)
            # Made here first, so that what was typed is never readable by others.
            os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600))
            return KeptLines(path)
    return UnkeptLines()


def may_be_kept(line: str) -> bool:
    """False for what names the thing that is to be forgotten, be it by a title, and for a secret
    that a fact would be refused for.
    """
    words = line.split(maxsplit=2)
    command, verb = (*(word.lower() for word in words[:2]), "", "")[:2]
    if command == "/forget" or (command == "/session" and verb == "delete"):
        return False
    if command == "/remember" or (command == "/memory" and verb in ("add", "edit")):
        from assistant.memory.facts.secret_text import secret_in  # here: it takes long to compile

        return not secret_in(line.split(maxsplit=1)[-1])
    return True


class TypedLines(History):
    """Leaves out what may not be kept, and forgets what it is told to."""

    def append_string(self, string: str) -> None:
        if may_be_kept(string):
            super().append_string(string)

    def forget(self, goes: Callable[[str], bool]) -> None:
        """Take lines out of memory; out of the file somebody else takes them."""
        self._loaded_strings = [one for one in self._loaded_strings if not goes(one)]


class UnkeptLines(TypedLines, InMemoryHistory):
    def forget(self, goes: Callable[[str], bool]) -> None:
        super().forget(goes)
        self._storage = [one for one in self._storage if not goes(one)]


class KeptLines(TypedLines, FileHistory):
    """Lines in a file; when the disk refuses one, only the search misses it.

    What another terminal erased from the file is gone here at the next prompt.
    """

    def __init__(self, path: Path) -> None:
        super().__init__(str(path))
        self._path = path
        self._mark = self._mark_now()

    def append_string(self, string: str) -> None:
        self._catch_up()
        super().append_string(string)

    async def load(self) -> AsyncGenerator[str, None]:
        self._catch_up()
        async for line in super().load():
            yield line

    def store_string(self, string: str) -> None:
        # Whoever erases from the file must not overlook a line.
        with suppress(OSError, NotSaved), write_lock(self._path, WHAT):
            super().store_string(string)
        now = self._mark_now()
        # One that took the file's place meanwhile is looked at by the next prompt.
        if now[0] == self._mark[0]:
            self._mark = now

    def _catch_up(self) -> None:
        """Forget what is no longer in the file. What others typed is left to them."""
        now = self._mark_now()
        if now == self._mark:
            return
        self._mark = now
        with suppress(OSError):
            there = set(self.load_history_strings())
            self.forget(lambda line: line not in there)

    def _mark_now(self) -> tuple[int, int, int]:
        """What tells that nobody else changed the file: its number, size and time of change."""
        with suppress(OSError):
            state = self._path.stat()
            return state.st_ino, state.st_size, state.st_mtime_ns
        return 0, 0, 0
