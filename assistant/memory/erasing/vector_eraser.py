"""Erasing from the cache of vectors, by the digests of the texts they were made of."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import TypeVar

from assistant.errors import NotSaved
from assistant.memory.recall.vector_cache import ASKED_AT_ONCE, is_busy, parts
from assistant.memory.shared_file import remove_file
from assistant.protocols import Erasure, Match

#: Seconds to wait for another process that is writing.
PATIENCE = 15.0

T = TypeVar("T")


class VectorEraser:
    """An `Erasable` over `data/vectors.sqlite3`. `Erasure.texts` are its digests, in hexadecimal.

    A file that can't be used goes whole: it can be made again, and may hold what is to go.
    """

    name = "vector cache"

    def __init__(self, path: Path, patience: float = PATIENCE) -> None:
        """`patience` is how many seconds another process that writes is waited for."""
        self._path = path
        self._patience = patience

    @property
    def files(self) -> Sequence[str]:
        return [f"data/{part.name}" for part in parts(self._path)]

    def matches(self, erasure: Erasure) -> Sequence[Match]:
        if erasure.everything:
            return [Match("file", one.name) for one in parts(self._path) if one.exists()]
        return [Match("vector", digest) for digest in self._kept(erasure.texts) or ()]

    def erase(self, erasure: Erasure, say: Callable[[str], None]) -> None:
        if erasure.everything or not self._path.exists() or not self._deleted(erasure.texts):
            self._remove()

    def count(self, erasure: Erasure) -> int:
        if erasure.everything or not self._path.exists():
            return sum(part.exists() for part in parts(self._path))
        kept = self._kept(erasure.texts)
        return 1 if kept is None else len(kept)

    def left(self, erasure: Erasure) -> str:
        return ""

    def _deleted(self, digests: Sequence[str]) -> bool:
        """Delete the vectors of these texts; False when the file can't be used."""
        return not digests or bool(self._with_file(lambda file: _delete(file, digests)))

    def _kept(self, digests: Sequence[str]) -> Sequence[str] | None:
        """Those of the digests that have a vector, each once; None where that can't be told."""
        if not digests or not self._path.exists():
            return []
        return self._with_file(lambda file: sorted(set(_found(file, digests))))

    def _with_file(self, use: Callable[[sqlite3.Connection], T]) -> T | None:
        """What `use` makes of the file; None for a file that can't be used.

        What a killed process left half done is taken back first. Raises NotSaved while another
        process is writing.
        """
        try:
            # It is not made where there is none.
            address = f"{self._path.absolute().as_uri()}?mode=rw"
            with closing(sqlite3.connect(address, timeout=self._patience, uri=True)) as file:
                file.execute("PRAGMA secure_delete = ON")
                return use(file)
        except sqlite3.Error as error:
            if is_busy(error):
                raise NotSaved(
                    f"{self._path.name} can't be changed now: another terminal has been writing to "
                    f"it for {self._patience:g} seconds. Try again."
                ) from error
            return None

    def _remove(self) -> None:
        for part in reversed(parts(self._path)):
            remove_file(part)


def _delete(file: sqlite3.Connection, digests: Sequence[str]) -> bool:
    with file:
        file.executemany(
            "DELETE FROM vectors WHERE digest = ?", [(bytes.fromhex(one),) for one in digests]
        )
    # Also when none was there: a process that was killed here before may have left it undone. Rows
    # that SQLite moved about may stand in the gaps of other pages, which only this makes anew.
    file.execute("VACUUM")
    return True


def _found(file: sqlite3.Connection, digests: Sequence[str]) -> Iterator[str]:
    for start in range(0, len(digests), ASKED_AT_ONCE):
        asked = [bytes.fromhex(one) for one in digests[start : start + ASKED_AT_ONCE]]
        marks = ", ".join("?" * len(asked))
        query = f"SELECT digest FROM vectors WHERE digest IN ({marks})"
        for (digest,) in file.execute(query, asked):
            yield bytes(digest).hex()
