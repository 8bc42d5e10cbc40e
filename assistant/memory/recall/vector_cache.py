"""Vectors of texts seen before, so that an index can be made anew without embedding all again.

Derived data: a cache that is locked, full, damaged or read-only only makes the program slower.
"""

from __future__ import annotations

import hashlib
import logging
import os
import sqlite3
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from assistant.memory.files import make_folder
from assistant.protocols import Embedder

if TYPE_CHECKING:
    from assistant.protocols import Vector

log = logging.getLogger(__name__)

#: Bytes of the SHA-256 of a text that stand for it.
DIGEST_SIZE = 16

#: Seconds to wait for another process; then it is done without the cache, this once.
PATIENCE = 1.0

#: Parameters of one statement; SQLite takes 999 at the least.
ASKED_AT_ONCE = 500

#: Texts embedded before their vectors are kept: what an interruption can lose.
KEPT_AT_ONCE = 64

_TABLE = """
CREATE TABLE IF NOT EXISTS vectors (
    digest BLOB NOT NULL,
    embedder TEXT NOT NULL,
    vector BLOB NOT NULL,
    PRIMARY KEY (digest, embedder)
)
"""
_INSERT = "INSERT OR REPLACE INTO vectors (digest, embedder, vector) VALUES (?, ?, ?)"

T = TypeVar("T")


class VectorCache:
    """Vectors by embedder and text, in one file that holds digests of texts and never a text.

    Safe to share between threads, and the file between processes. Nothing here raises.
    """

    def __init__(self, path: Path | None) -> None:
        """None keeps nothing, for sessions that leave no trace. Nothing is opened before use."""
        self._path = path
        self._lock = threading.Lock()
        self._opened: sqlite3.Connection | None = None
        self._unusable = False

    def get(self, embedder: str, texts: Sequence[str]) -> Sequence[Vector | None]:
        """The vector of each text in order, None for those not kept."""
        digests = [_digest(text) for text in texts]
        kept: dict[bytes, bytes] = {}
        kept = self._with_file(lambda file: dict(_rows(file, embedder, digests)), kept)
        return [_vector(kept.get(digest, b"")) for digest in digests]

    def put(self, embedder: str, texts: Sequence[str], vectors: Sequence[Vector]) -> None:
        """Keep one vector for each text, in place of those that were kept for them."""
        rows = [
            (_digest(text), embedder, vector.astype("<f4").tobytes())
            for text, vector in zip(texts, vectors, strict=True)
        ]

        def insert(file: sqlite3.Connection) -> None:
            with file:
                file.executemany(_INSERT, rows)

        self._with_file(insert, None)

    def count(self) -> int:
        """Vectors kept, of all embedders."""
        query = "SELECT count(*) FROM vectors"
        return self._with_file(lambda file: int(file.execute(query).fetchone()[0]), 0)

    def close(self) -> None:
        """Close the file; it is opened again when it is needed."""
        with self._lock:
            self._release()

    def _with_file(self, use: Callable[[sqlite3.Connection], T], otherwise: T) -> T:
        """What `use` makes of the file; `otherwise` when there is none, or it can't be used now.

        A damaged one is removed and made anew. One that can't be used for another reason than
        that another process is writing is not tried again.
        """
        with self._lock:
            if self._path is None or self._unusable:
                return otherwise
            try:
                return self._used(use, self._path)
            except (sqlite3.Error, OSError) as error:
                self._release()
                self._unusable = not is_busy(error)
                log.warning("Done without the vector cache %s: %s", self._path, error)
                return otherwise

    def _used(self, use: Callable[[sqlite3.Connection], T], path: Path) -> T:
        try:
            return use(self._file(path))
        except sqlite3.Error as error:
            if _code(error) not in _DAMAGED:
                raise
            log.warning("The vector cache %s is damaged (%s) and made anew", path, error)
        self._release()
        for part in parts(path):
            part.unlink(missing_ok=True)
        return use(self._file(path))

    def _file(self, path: Path) -> sqlite3.Connection:
        if self._opened is None:
            make_folder(path.parent)
            # SQLite itself would make it readable for all.
            os.close(os.open(path, os.O_RDWR | os.O_CREAT, 0o600))
            self._opened = sqlite3.connect(path, timeout=PATIENCE, check_same_thread=False)
            # What is deleted is overwritten. A write-ahead log would keep it for a while, so
            # there is none.
            self._opened.execute("PRAGMA secure_delete = ON")
            self._opened.execute(_TABLE)
        return self._opened

    def _release(self) -> None:
        if self._opened is not None:
            with suppress(sqlite3.Error):
                self._opened.close()
        self._opened = None


class CachedEmbedder:
    """An embedder that embeds only those documents whose vectors are not in the cache yet.

    Questions are embedded each time and leave no trace.
    """

    def __init__(
        self, embedder: Embedder, cache: VectorCache, *, for_questions: Embedder | None = None
    ) -> None:
        """`for_questions` is the same embedder with less patience: somebody waits for those."""
        self._embedder = embedder
        self._cache = cache
        self._for_questions = for_questions or embedder

    @property
    def name(self) -> str:
        return self._embedder.name

    def dimension(self) -> int:
        return self._embedder.dimension()

    def embed_documents(self, texts: Sequence[str]) -> Sequence[Vector]:
        """One vector for each text, in order. A text that comes twice is embedded once."""
        dimension = self._embedder.dimension()
        known = {
            text: vector
            for text, vector in zip(texts, self._cache.get(self.name, texts), strict=True)
            if vector is not None and len(vector) == dimension
        }
        missing = [text for text in dict.fromkeys(texts) if text not in known]
        for start in range(0, len(missing), KEPT_AT_ONCE):
            step = missing[start : start + KEPT_AT_ONCE]
            vectors = self._embedder.embed_documents(step)
            self._cache.put(self.name, step, vectors)
            known.update(zip(step, vectors, strict=True))
        return [known[text] for text in texts]

    def embed_query(self, text: str) -> Vector:
        return self._for_questions.embed_query(text)

    def close(self) -> None:
        self._embedder.close()
        self._for_questions.close()
        self._cache.close()


def parts(path: Path) -> Sequence[Path]:
    """The file, and what SQLite keeps beside it while it writes."""
    return [path, path.with_name(f"{path.name}-journal")]


def is_busy(error: Exception) -> bool:
    """Whether SQLite only says that another process is writing."""
    return _code(error) in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)


#: What SQLite says of a file that is none of ours, or no longer.
_DAMAGED = (sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_ERROR)


def _code(error: Exception) -> int | None:
    """SQLite's own code, without what it adds in the higher bits."""
    code = getattr(error, "sqlite_errorcode", None)
    return None if code is None else code & 0xFF


def vector_digest(text: str) -> str:
    """What stands for a text in `Erasure.texts`: the digest it has here, in hexadecimal."""
    return _digest(text).hex()


def _digest(text: str) -> bytes:
    # Lone surrogates too: each text has a digest of its own.
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()[:DIGEST_SIZE]


def _rows(
    file: sqlite3.Connection, embedder: str, digests: Sequence[bytes]
) -> Iterator[tuple[bytes, bytes]]:
    for start in range(0, len(digests), ASKED_AT_ONCE):
        asked = digests[start : start + ASKED_AT_ONCE]
        marks = ", ".join("?" * len(asked))
        query = f"SELECT digest, vector FROM vectors WHERE embedder = ? AND digest IN ({marks})"
        yield from file.execute(query, (embedder, *asked))


def _vector(blob: bytes) -> Vector | None:
    """The vector in `blob`; None unless it is one of length one."""
    import numpy as np

    if not blob or len(blob) % 4:
        return None
    vector = np.frombuffer(blob, dtype="<f4").astype(np.float32)
    with np.errstate(all="ignore"):
        of_length_one = bool(abs(np.linalg.norm(vector) - 1) < 1e-3)
    return vector if of_length_one else None
