"""What it takes to erase one exchange from a large index, down to the bytes.

    python -m benchmarks.erase [--exchanges N] [--folder FOLDER]

Sessions are real files, and each exchange in them is another one. The vectors are cheap and of the
embedded embedder's length, and are kept in the cache, as the program keeps them. Until the
index can be searched again, somebody asks a question every second.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import threading
import time
import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from assistant.memory.erasing.index_eraser import IndexEraser
from assistant.memory.files import write_atomically
from assistant.memory.recall.indexer import Indexer
from assistant.memory.recall.retriever import Retriever
from assistant.memory.recall.vector_cache import CachedEmbedder, VectorCache
from assistant.memory.session_log import Record, SessionRecord, encode
from assistant.memory.session_store import SessionStore
from assistant.messages import Message
from assistant.protocols import Erasure
from assistant.providers.milvus_files import index_holding
from assistant.providers.milvus_home import MilvusHome
from assistant.providers.tiktoken_counter import TiktokenCounter, encoding_for
from assistant.worker import Worker
from benchmarks.session_files import BEGUN, MODEL, PAUSE, texts
from benchmarks.table import Aim, table_text

if TYPE_CHECKING:
    from assistant.protocols import Vector

EXCHANGES = 10_000
A_SESSION = 100
DIMENSION = 384
ASKED_EVERY = 1.0
ROOM = 800
MB = 1_000_000


class CheapEmbedder:
    """Vectors without a meaning, the same for the same text."""

    name = "cheap"

    def dimension(self) -> int:
        return DIMENSION

    def embed_documents(self, texts: Sequence[str]) -> Sequence[Vector]:
        return [self.embed_query(text) for text in texts]

    def embed_query(self, text: str) -> Vector:
        import numpy as np

        drawn = np.random.default_rng(zlib.crc32(text.encode())).standard_normal(DIMENSION)
        return (drawn / np.linalg.norm(drawn)).astype(np.float32)

    def close(self) -> None:
        pass


def marker(number: int) -> str:
    """A word that stands in one exchange alone, and begins as no other does."""
    scrambled = number * 7_919 % 26**4
    return "".join(chr(97 + scrambled // 26**place % 26) for place in range(4)) + "zqzq"


def session_id(number: int) -> str:
    return f"20260101-{number:06}-abc"


def _records(session: int, exchanges: int) -> Iterator[Record]:
    yield SessionRecord(session_id(session), BEGUN, "assistant benchmark")
    said = texts()
    for turn in range(1, exchanges + 1):
        number = session * A_SESSION + turn
        ts = BEGUN + number * PAUSE
        question = f"{said[number % len(said)]} {marker(number)}"
        yield Message("user", question, id=2 * turn - 1, turn=turn, ts=ts)
        answer = f"{said[(number * 7) % len(said)]} {number}"
        yield Message("assistant", answer, id=2 * turn, turn=turn, ts=ts, finish_reason="stop")


class Memory:
    """Sessions and their index, wired as the program wires them."""

    def __init__(self, home: Path, exchanges: int) -> None:
        self.folder = home / "sessions"
        self.folder.mkdir()
        for session in range(exchanges // A_SESSION):
            lines = b"".join(encode(one) for one in _records(session, A_SESSION))
            self.path(session).write_bytes(lines)
        data = home / "data"
        self.index_path = data / "index.db"
        store = SessionStore(self.folder, data, clock=_now, new_id=lambda: "new")
        place = MilvusHome(self.index_path, uri=None, token=None, user=lambda: "local")
        self.worker = Worker()
        self.indexer = Indexer(
            place,
            lambda: CachedEmbedder(CheapEmbedder(), VectorCache(data / "vectors.sqlite3")),
            store,
            data / "index.json",
            submit=self.worker.submit,
            say=print,
            clock=_now,
            monotonic=time.monotonic,
        )
        self.eraser = IndexEraser(self.indexer, place, store)
        self.retriever = Retriever(
            self.indexer,
            store,
            TiktokenCounter(encoding_for(MODEL)),
            clock=_now,
            monotonic=time.monotonic,
            patience=0.0,
        )

    def path(self, session: int) -> Path:
        return self.folder / f"{session_id(session)}.jsonl"

    def wait(self) -> float:
        """Seconds until the index is ready."""
        began = time.perf_counter()
        while (status := self.indexer.status()).state in ("opening", "catching up"):
            time.sleep(0.05)
        if status.state != "ready":
            raise SystemExit(f"There is no index: {status.detail}")
        return time.perf_counter() - began

    def take_from_log(self, session: int, turn: int) -> None:
        """What is done before: the turn's messages leave the session file."""
        kept = [one for one in _records(session, A_SESSION) if getattr(one, "turn", 0) != turn]
        write_atomically(self.path(session), b"".join(map(encode, kept)))

    def close(self) -> None:
        self.worker.submit("close the index", self.indexer.close)
        self.worker.close(60.0)


def _now() -> datetime:
    return datetime.now(UTC)


@dataclass
class Asker:
    """Asks about something that is not erased, every second, and keeps what came of it."""

    memory: Memory
    about: int
    seconds: list[float] = field(default_factory=list)
    found: int = 0
    from_files: int = 0
    _over: threading.Event = field(default_factory=threading.Event)

    def run(self) -> None:
        while not self._over.wait(ASKED_EVERY):
            began = time.perf_counter()
            answer = self.memory.retriever.look_up(f"What was {marker(self.about)}?", ROOM)
            self.seconds.append(time.perf_counter() - began)
            self.found += marker(self.about) in answer.text
            self.from_files += answer.problem.startswith("Words alone")

    def stop(self) -> None:
        self._over.set()


@dataclass(frozen=True)
class Figures:
    exchanges: int
    disk: float
    """MB of the index."""
    built: float
    """Seconds for the first index, vectors included."""
    erased: float
    """Seconds until no byte of it is in the index any more."""
    whole: float
    """Seconds until all others can be searched in the index again."""
    steps: int
    """How often progress was told."""
    asker: Asker
    before: int
    """Files of the index that held the exchange."""
    after: int
    left: int


def measure(exchanges: int, home: Path) -> Figures:
    memory = Memory(home, exchanges)
    memory.indexer.start()
    built = memory.wait()
    session, turn = exchanges // A_SESSION // 2, A_SESSION // 2
    word = marker(session * A_SESSION + turn)
    before = len(index_holding(memory.index_path, word))
    disk = sum(one.stat().st_size for one in memory.index_path.rglob("*") if one.is_file())
    memory.take_from_log(session, turn)
    erasure = Erasure("e", _now(), turns={session_id(session): (turn,)})
    asker = Asker(memory, about=A_SESSION + 7)
    asking = threading.Thread(target=asker.run)
    asking.start()
    told: list[str] = []
    erased = _wall(lambda: memory.eraser.erase(erasure, told.append))
    whole = erased + _wall(lambda: memory.eraser.follow(told.append))
    asker.stop()
    asking.join()
    memory.wait()
    left = memory.eraser.count(erasure)
    memory.close()
    after = len(index_holding(memory.index_path, word))
    steps = len(set(told))
    return Figures(exchanges, disk / MB, built, erased, whole, steps, asker, before, after, left)


def _wall(act: Callable[[], object]) -> float:
    began = time.perf_counter()
    act()
    return time.perf_counter() - began


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--exchanges", type=int, default=EXCHANGES)
    parser.add_argument("--folder", help="where the home is made, instead of a temporary folder")
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="benchmark-", dir=chosen.folder) as folder:
        figures = measure(chosen.exchanges, Path(folder))
    asker = figures.asker
    print(f"One exchange of {figures.exchanges:,}, Milvus Lite, {DIMENSION} dimensions\n")
    print(
        table_text(
            ("exchanges", "MB", "built s", "erased s", "open again s", "progress told"),
            [
                (
                    f"{figures.exchanges:,}",
                    f"{figures.disk:.1f}",
                    f"{figures.built:.1f}",
                    f"{figures.erased:.2f}",
                    f"{figures.whole:.1f}",
                    f"{figures.steps}",
                )
            ],
        )
    )
    print()
    print(
        table_text(
            ("asked meanwhile", "found", "from session files", "median ms", "at most ms"),
            [
                (
                    f"{len(asker.seconds)}",
                    f"{asker.found}",
                    f"{asker.from_files}",
                    f"{statistics.median(asker.seconds or [0.0]) * 1_000:,.0f}",
                    f"{max(asker.seconds or [0.0]) * 1_000:,.0f}",
                )
            ],
        )
    )
    print(f"\nFiles of the index that hold it: {figures.before} before, {figures.after} after\n")
    print(Aim("erased, and open again, in seconds at most 60", figures.whole, at_most=60))
    print(Aim("what is left of it", float(figures.after + figures.left), at_most=0))
    unanswered = len(asker.seconds) - asker.found
    print(Aim("questions that found nothing meanwhile", float(unanswered), at_most=0))


if __name__ == "__main__":
    main()
