"""Erasing from the index: no row, and no byte of one, outlasts the turn it was made of."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator, Mapping, Sequence

from assistant.errors import IndexLocked, IndexUnavailable
from assistant.memory.erasing.erasures import goes
from assistant.memory.recall.indexer import Indexer, digest
from assistant.memory.session_store import SessionStore
from assistant.protocols import Erasure, IndexHome, IndexRow, Match, StoredRows

#: Seconds between two looks at how far the index is.
LOOK_EVERY = 0.2

ELSEWHERE = (
    "Another terminal has the memory index open. What is erased is found there no more, and its "
    "bytes go when that terminal looks for it after its next turn, or at the next start."
)
NOT_REMOVED = "What is left of an older memory index can't be removed: {places}. Delete it by hand."
NOT_READ = "Files of the memory index can't be read, so they may hold it still: {places}."


class IndexEraser:
    """The index as an `Erasable`: its files are written anew without the rows.

    That is done when `erase` returns, and nothing can come back: the logs were erased from before.
    The index is opened again in the background, or made anew where its files were in no state to be
    rewritten; until then words are looked for in the session files. On a server the rows are
    deleted.
    """

    name = "memory index"
    files = ("data/index.db/*", "data/index.db.*", "data/index.json")

    def __init__(self, indexer: Indexer, home: IndexHome, store: SessionStore) -> None:
        self._indexer = indexer
        self._home = home
        self._store = store

    def matches(self, erasure: Erasure) -> Sequence[Match]:
        """One for each exchange that is stored, even where its row was deleted."""
        rows = {
            row.id: row
            for row in self._stored(erasure).rows
            if erasure.everything
            or goes(erasure, row.id)
            or row.turn in erasure.changed.get(row.session, ())
        }
        return [
            Match("index row", row.id, f"{row.user}\n{row.assistant}".strip())
            for row in rows.values()
        ]

    def erase(self, erasure: Erasure, say: Callable[[str], None]) -> None:
        """Nothing is said: it takes a moment. `follow` tells how far the index is after it."""
        if not _concerned(erasure):
            return
        # Whoever has it open does it, or the next start; `left` tells.
        with contextlib.suppress(IndexLocked, IndexUnavailable):
            self._indexer.finish_step()
            stored = self._stored(erasure)
            going = self._going(erasure, stored)
            if going or _unsure(stored):
                self._indexer.erase(None if erasure.everything else sorted(going))

    def count(self, erasure: Erasure) -> int:
        """Exchanges that are stored, and files and folders that may hold some.

        1 where nobody can tell, because a server can't be reached.
        """
        try:
            stored = self._stored(erasure)
        except IndexUnavailable:
            return 1
        return len(self._going(erasure, stored)) + len(_unsure(stored))

    def left(self, erasure: Erasure) -> str:
        try:
            stored = self._stored(erasure)
        except IndexUnavailable as error:
            return f"{error} Its rows are deleted when it can be reached."
        return " ".join(self._reasons(erasure, stored))

    def follow(self, say: Callable[[str], None]) -> None:
        """Tell how far the index is until it can be searched again; Ctrl-C ends only that."""
        total = sum(info.turns for info in self._store.list())
        with contextlib.suppress(KeyboardInterrupt):
            while (status := self._indexer.status()).state == "catching up":
                say(f"index: {status.indexed:,} of {total:,} exchanges")
                time.sleep(LOOK_EVERY)

    # --- what goes ------------------------------------------------------------------------------

    def _stored(self, erasure: Erasure) -> StoredRows:
        """What is stored of the sessions that lose something."""
        if not _concerned(erasure):
            return StoredRows()
        sessions = {*erasure.turns, *erasure.changed, *erasure.sessions}
        return self._home.stored(None if erasure.everything else sessions)

    def _going(self, erasure: Erasure, stored: StoredRows) -> set[str]:
        """The ids of rows that must not be there any more, now that the logs are erased from."""
        changed = self._store.files() if erasure.everything else erasure.changed
        there = {
            one.id: digest(one)
            for session in changed
            for one in self._store.exchanges(session, every=True)
        }
        return {row.id for row in stored.rows if _goes(erasure, row, there)}

    def _reasons(self, erasure: Erasure, stored: StoredRows) -> Iterator[str]:
        if stored.aside:
            yield NOT_REMOVED.format(places=", ".join(stored.aside))
        if self._going(erasure, stored) or stored.unreadable:
            if self._home.in_use and not self._indexer.is_open:
                yield ELSEWHERE
            elif stored.unreadable:
                yield NOT_READ.format(places=", ".join(stored.unreadable))
        if self._home.lag and _concerned(erasure):
            yield self._home.lag


def _goes(erasure: Erasure, row: IndexRow, there: Mapping[str, str]) -> bool:
    """`there` has the digests of what is left: of turns that have become others, or, after all was
    erased, of what was said since."""
    if erasure.everything or row.turn in erasure.changed.get(row.session, ()):
        return goes(erasure, row.id) or there.get(row.id) != row.digest
    return goes(erasure, row.id)


def _concerned(erasure: Erasure) -> bool:
    """Whether it takes out anything that an index holds."""
    return bool(erasure.everything or erasure.turns or erasure.changed or erasure.sessions)


def _unsure(stored: StoredRows) -> Sequence[str]:
    """Files and folders that may hold anything."""
    return [*stored.unreadable, *stored.aside]
