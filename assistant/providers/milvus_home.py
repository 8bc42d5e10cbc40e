"""MilvusHome: where the index is kept, as `IndexHome`. Nothing heavy is imported before `open`."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from assistant.errors import IndexUnavailable
from assistant.protocols import MemoryIndex


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
        from assistant.providers.milvus_index import IndexPlace

        return f"{IndexPlace(self._path, self._uri)} of {self._user()}"

    def open(self, embedder: str | None, dimension: int | None) -> MemoryIndex:
        """Takes seconds, most of them for importing pymilvus: leave it to the worker."""
        from assistant.providers.milvus_index import IndexPlace, open_milvus_index

        return open_milvus_index(
            IndexPlace(self._path, self._uri, self._token),
            user=self._user(),
            embedder=embedder,
            dimension=dimension,
        )

    def set_aside(self, stamp: str) -> str | None:
        """The folder gets another name, and is kept. A server sees to its own data."""
        if self._uri is not None:
            return None
        from assistant.providers.milvus_embedded import set_aside

        try:
            return str(set_aside(self._path, stamp))
        except OSError as error:
            raise IndexUnavailable(
                f"The unusable memory index at {self._path} can't be renamed: {error.strerror}. "
                "Recall goes by words alone meanwhile; your sessions are untouched."
            ) from error

    def discard(self) -> bool:
        """Delete the folder. False on a server, whose rows are to be deleted one by one."""
        if self._uri is not None:
            return False
        import secrets  # here, because the prompt need not wait for them
        import shutil

        if self._path.exists():
            # Renamed first: a folder that another process has open stays, and says so.
            aside = self.set_aside(f"discarded-{secrets.token_hex(4)}")
            assert aside is not None
            shutil.rmtree(aside, ignore_errors=True)
        return True
