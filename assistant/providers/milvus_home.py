"""MilvusHome: where the index is kept, as `IndexHome`. Nothing heavy is imported before `open`."""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from assistant.errors import IndexUnavailable
from assistant.protocols import MemoryIndex, StoredRows

if TYPE_CHECKING:
    from assistant.providers.milvus_index import IndexPlace

log = logging.getLogger(__name__)

LAG = (
    "The rows are deleted on the Milvus server and in no search any more; it removes them from its "
    "disk when it collects its garbage, some hours later by its defaults "
    "(dataCoord.gc.dropTolerance)."
)


class MilvusHome:
    """A folder of Milvus Lite, or a Milvus server when `uri` is set."""

    def __init__(
        self, path: Path, *, uri: str | None, token: str | None, user: Callable[[], str]
    ) -> None:
        """`user` says whose rows they are; it is asked when the index is opened."""
        self._path = path
        self._uri = uri
        self._token = token
        self._user = user

    @property
    def name(self) -> str:
        return f"{self._place} of {self._user()}"

    def open(self, embedder: str | None, dimension: int | None) -> MemoryIndex:
        """Takes seconds, most of them for importing pymilvus: leave it to the worker."""
        from assistant.providers.milvus_index import open_milvus_index

        return open_milvus_index(
            self._place, user=self._user(), embedder=embedder, dimension=dimension
        )

    def set_aside(self, stamp: str) -> str | None:
        """The folder gets another name, and is kept. A server sees to its own data."""
        return None if self._uri is not None else str(self._moved(stamp))

    def discard(self) -> bool:
        """Delete the folder, and what was set aside. False on a server, whose rows are deleted one
        by one; the folder that was used before it goes all the same."""
        import secrets  # here, because the prompt need not wait for them

        from assistant.providers.milvus_removal import remove_aside

        if self._path.exists():
            # Renamed first: a folder that another process has open stays, and says so.
            self._moved(f"discarded-{secrets.token_hex(4)}")
        remove_aside(self._path)
        return self._uri is None

    def stored(self, sessions: Collection[str] | None) -> StoredRows:
        """What the files of the folder hold, and what the server has of this user."""
        from assistant.providers.milvus_files import stored_rows

        stored = stored_rows(self._path, sessions)
        if self._uri is None:
            return stored
        from assistant.providers.milvus_server import rows_on_server

        there = rows_on_server(self._place, self._user(), sessions)
        return msgspec.structs.replace(stored, rows=[*stored.rows, *there])

    def erase(self, ids: Sequence[str] | None) -> bool:
        """Rewrite the files of the folder that hold these rows; where that can't be done, and for
        all rows, discard it. A server deletes them in the collections of every embedder."""
        if self._uri is not None:
            from assistant.providers.milvus_server import erase_on_server

            self.discard()
            erase_on_server(self._place, self._user(), ids)
            return True
        if ids is None or not self._rows_removed(ids):
            self.discard()
            return False
        return True

    def _rows_removed(self, ids: Sequence[str]) -> bool:
        from assistant.providers.milvus_removal import remove_aside, remove_rows

        try:
            done = remove_rows(self._path, set(ids))
        except OSError as error:
            log.warning("The files of the index can't be written anew: %s", error)
            return False
        remove_aside(self._path)
        return done

    def holding(self, words: str) -> Sequence[str]:
        from assistant.providers.milvus_files import holds, index_holding

        if self._uri is None:
            return index_holding(self._path, words)
        rows = self.stored(None).rows
        return [f"row {row.id}" for row in rows if holds(f"{row.user}\n{row.assistant}", words)]

    @property
    def in_use(self) -> bool:
        from assistant.providers.milvus_embedded import is_locked

        return self._uri is None and is_locked(self._path)

    @property
    def lag(self) -> str:
        return "" if self._uri is None else LAG

    @property
    def _place(self) -> IndexPlace:
        from assistant.providers.milvus_index import IndexPlace

        return IndexPlace(self._path, self._uri, self._token)

    def _moved(self, stamp: str) -> Path:
        from assistant.providers.milvus_embedded import set_aside

        try:
            return set_aside(self._path, stamp)
        except OSError as error:
            raise IndexUnavailable(
                f"The memory index at {self._path} can't be renamed: {error.strerror}. "
                "Recall goes by words alone meanwhile; your sessions are untouched."
            ) from error
