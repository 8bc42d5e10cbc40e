"""A home with sessions and a real index, for tests of what is left of them on the disk."""

from __future__ import annotations

import time
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from assistant.memory.erasing.index_eraser import IndexEraser
from assistant.memory.files import write_atomically
from assistant.memory.recall.indexer import Indexer
from assistant.memory.session_store import SessionStore
from assistant.messages import Message
from assistant.protocols import Erasure, MemoryIndex
from assistant.providers.milvus_home import MilvusHome
from assistant.worker import Worker
from tests.fakes import FakeClock, FakeIds

if TYPE_CHECKING:
    from assistant.protocols import Vector

MARKER = "xylographer"
WAITING = 120.0


class HashEmbedder:
    """Each text has a vector that no other has."""

    name = "hash"

    def dimension(self) -> int:
        return 16

    def embed_documents(self, texts: Sequence[str]) -> list[Vector]:
        return [self.embed_query(text) for text in texts]

    def embed_query(self, text: str) -> Vector:
        drawn = np.random.default_rng(zlib.crc32(text.encode())).standard_normal(16)
        return (drawn / np.linalg.norm(drawn)).astype(np.float32)

    def close(self) -> None:
        pass


class IndexedHome:
    """A home, and one run of what keeps its index."""

    def __init__(self, folder: Path, prefix: str = "s") -> None:
        self.folder = folder
        self.data = folder / "data"
        self.path = self.data / "index.db"
        self.store = SessionStore(
            folder / "sessions", self.data, clock=FakeClock(), new_id=FakeIds(prefix)
        )
        self.place = MilvusHome(self.path, uri=None, token=None, user=lambda: "local")
        self.worker = Worker()
        self.told: list[str] = []
        self.indexer = Indexer(
            self.place,
            HashEmbedder,
            self.store,
            self.data / "index.json",
            submit=self.worker.submit,
            say=self.told.append,
            clock=FakeClock(),
            monotonic=time.monotonic,
        )
        self.eraser = IndexEraser(self.indexer, self.place, self.store)

    def talk(self, *texts: str) -> str:
        """A session in which this was said; its id."""
        session = self.store.create()
        for text in texts:
            question = session.ask(text)
            session.answer(Message(role="assistant", content=f"re {text}", turn=question.turn))
        session.close()
        return session.id

    def take_from_log(self, session: str, turn: int) -> None:
        """What is done before the index is erased from."""
        path = self.folder / "sessions" / f"{session}.jsonl"
        lines = path.read_bytes().splitlines(keepends=True)
        kept = [line for line in lines if b'"turn":%d,' % turn not in line]
        assert len(kept) < len(lines)
        write_atomically(path, b"".join(kept))

    def ready(self) -> MemoryIndex:
        """The index, once all of it can be searched."""
        self.indexer.start()
        end = time.monotonic() + WAITING
        while self.indexer.status().state in ("opening", "catching up"):
            assert time.monotonic() < end, self.indexer.status()
            time.sleep(0.02)
        index = self.indexer.searchable(0)
        assert index is not None, self.indexer.status()
        return index

    def expected(self) -> set[str]:
        """The ids of all exchanges in the logs."""
        return {one.id for name in self.store.files() for one in self.store.exchanges(name)}

    def close(self) -> None:
        self.worker.submit("close the index", self.indexer.close)
        self.worker.close(60.0)


def erasing(erasure_id: str = "e1", **what: Any) -> Erasure:
    return Erasure(erasure_id, FakeClock().now, **what)


def files_with(folder: Path, word: str, vector: Vector) -> list[str]:
    """The files below a folder that hold a word or a vector, as bytes or in a column."""
    raw = (word.encode(), vector.tobytes())
    return [
        str(file.relative_to(folder))
        for file in sorted(folder.rglob("*"))
        if file.is_file()
        and (
            any(one in file.read_bytes() for one in raw)
            or (file.suffix == ".parquet" and _holds(pq.read_table(file), word, vector))
        )
    ]


def _holds(table: pa.Table, word: str, vector: Vector) -> bool:
    return any(
        word in value if isinstance(value, str) else value == vector.tolist()
        for value in _values(table)
    )


def _values(table: pa.Table) -> Iterator[Any]:
    for column in table.columns:
        yield from (one for one in column.to_pylist() if isinstance(one, str | list))
