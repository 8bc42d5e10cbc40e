"""What the memory index in a folder costs, by the number of exchanges in it.

    python -m benchmarks.index [--sizes N,N] [--dimension N] [--rounds N] [--folder FOLDER]

Each size is filled, closed, opened again and searched in a process of its own. Times are CPU
seconds of the whole process, the embedded server's thread included: waiting is not counted, so a
busy machine disturbs them little. Vectors are random; words are drawn as in a language, without
the hundred most frequent, which no search asks for.
"""

from __future__ import annotations

import argparse
import os
import random
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from itertools import accumulate
from multiprocessing import get_context
from pathlib import Path
from typing import TYPE_CHECKING

from assistant.protocols import IndexRow
from assistant.providers.milvus_index import IndexPlace, MilvusIndex, open_milvus_index
from benchmarks.table import Aim, table_text

if TYPE_CHECKING:
    from assistant.protocols import Vector

SIZES = (1_000, 10_000)
DIMENSION = 384
ROWS_AT_ONCE = 200
WORDS_A_EXCHANGE = 100
WORDS_A_QUESTION = 10
VOCABULARY = 20_000
STOP_WORDS = 100
LIMIT = 50
"""What retrieval asks of each kind of search."""
FETCHED = 150
"""Rows it then reads: those found, and their neighbours."""
MB = 1_000_000


@dataclass(frozen=True)
class Figures:
    """One size. Times in milliseconds of CPU, but `opened_wall`."""

    exchanges: int
    upsert: float
    """A row."""
    flush: float
    """Of ROWS_AT_ONCE rows, on an average."""
    close: float
    imported: float
    opened: float
    """Most of it is the words' index, which is kept in memory alone."""
    opened_wall: float
    dense: float
    keyword: float
    rows: float
    count: float
    digests: float
    disk: float
    """Bytes an exchange."""
    memory: float
    """MB of the process, with the program and its libraries."""

    @property
    def recall(self) -> float:
        return self.dense + self.keyword + self.rows


class Material:
    """Exchanges and questions, the same in each run."""

    def __init__(self, dimension: int) -> None:
        import numpy as np

        self._chance = random.Random(1)
        self._numbers = np.random.default_rng(1)
        self._dimension = dimension
        weights = (1 / (rank + STOP_WORDS) for rank in range(VOCABULARY))
        self._weights = list(accumulate(weights))

    def words(self, count: int) -> Sequence[str]:
        numbers = self._chance.choices(range(VOCABULARY), cum_weights=self._weights, k=count)
        return [f"w{number}" for number in numbers]

    def vector(self) -> Vector:
        import numpy as np

        drawn = self._numbers.standard_normal(self._dimension)
        return (drawn / np.linalg.norm(drawn)).astype(np.float32)

    def rows(self, exchanges: int) -> Iterator[Sequence[IndexRow]]:
        for start in range(0, exchanges, ROWS_AT_ONCE):
            stop = min(exchanges, start + ROWS_AT_ONCE)
            yield [self._row(number) for number in range(start, stop)]

    def _row(self, number: int) -> IndexRow:
        words = self.words(WORDS_A_EXCHANGE)
        said, answered = words[: WORDS_A_EXCHANGE // 4], words[WORDS_A_EXCHANGE // 4 :]
        return IndexRow(
            id=exchange_id(number),
            session=exchange_id(number).partition(".")[0],
            turn=number % 100,
            ts=1_770_000_000_000 + number * 60_000,
            user=" ".join(said),
            assistant=" ".join(answered),
            terms=words,
            digest=f"{number:016x}",
            vector=self.vector(),
        )

    def ids(self, exchanges: int) -> Sequence[str]:
        return [exchange_id(self._chance.randrange(exchanges)) for _ in range(FETCHED)]


def exchange_id(number: int) -> str:
    return f"20260304-{number // 100:06}-ab.{number % 100}"


def measure(exchanges: int, dimension: int, rounds: int, parent: str | None) -> Figures:
    """Fill an index, and measure it. Run it in a process that has done nothing else."""
    from assistant.providers.milvus_errors import import_pymilvus

    imported = _cpu(import_pymilvus)
    material = Material(dimension)
    with tempfile.TemporaryDirectory(prefix="benchmark-", dir=parent) as folder:
        place = IndexPlace(Path(folder) / "index.db")
        upsert, flush, close = _fill(_open(place, dimension), material, exchanges)
        disk = sum(file.stat().st_size for file in place.path.rglob("*") if file.is_file())
        wall = time.perf_counter()
        before = time.process_time()
        index = _open(place, dimension)
        opened, opened_wall = time.process_time() - before, time.perf_counter() - wall
        ask = _Question(index, material, exchanges)
        figures = Figures(
            exchanges=exchanges,
            upsert=upsert,
            flush=flush,
            close=close,
            imported=imported,
            opened=opened * 1_000,
            opened_wall=opened_wall * 1_000,
            dense=_median(ask.dense, rounds),
            keyword=_median(ask.keyword, rounds),
            rows=_median(ask.rows, rounds),
            count=_median(index.count, 3),
            digests=_cpu(index.digests),
            disk=disk / exchanges,
            memory=_resident() / MB,
        )
        index.close()
    return figures


def _open(place: IndexPlace, dimension: int) -> MilvusIndex:
    return open_milvus_index(
        place, user="benchmark", embedder="random", dimension=dimension, timeout=60
    )


def _fill(index: MilvusIndex, material: Material, exchanges: int) -> tuple[float, float, float]:
    """Milliseconds: an upserted row, a flush, the closing."""
    upserts, flushes = 0.0, []
    for rows in material.rows(exchanges):
        upserts += _cpu(lambda rows=rows: index.upsert(rows))  # type: ignore[misc]
        flushes.append(_cpu(index.flush))
    return upserts / exchanges, statistics.fmean(flushes), _cpu(index.close)


@dataclass(frozen=True)
class _Question:
    index: MilvusIndex
    material: Material
    exchanges: int

    def dense(self) -> object:
        return self.index.search(self.material.vector(), (), LIMIT)

    def keyword(self) -> object:
        return self.index.search(None, self.material.words(WORDS_A_QUESTION), LIMIT)

    def rows(self) -> object:
        return self.index.rows(self.material.ids(self.exchanges))


def _cpu(act: Callable[[], object]) -> float:
    before = time.process_time()
    act()
    return (time.process_time() - before) * 1_000


def _median(act: Callable[[], object], rounds: int) -> float:
    return statistics.median(_cpu(act) for _ in range(rounds))


def _resident() -> int:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    sizes = ",".join(map(str, SIZES))
    parser.add_argument("--sizes", default=sizes, help=f"exchanges, with commas ({sizes})")
    parser.add_argument("--dimension", type=int, default=DIMENSION)
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--folder", help="where the index is made, instead of a temporary folder")
    chosen = parser.parse_args()

    measured = []
    for size in map(int, chosen.sizes.split(",")):
        with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as process:
            work = process.submit(measure, size, chosen.dimension, chosen.rounds, chosen.folder)
            measured.append(work.result())
    print(f"Milvus Lite, {chosen.dimension} dimensions, {chosen.rounds} rounds, medians\n")
    print(_writing_table(measured), _reading_table(measured), sep="\n\n")
    print()
    for figures in measured:
        text = f"a recall from {figures.exchanges:,} exchanges, at most 120 ms of CPU"
        if figures.exchanges <= 10_000:
            print(Aim(text, figures.recall, at_most=120))


def _writing_table(measured: Sequence[Figures]) -> str:
    heads = ("exchanges", "bytes each", "upsert ms", "flush ms", "close ms", "digests ms", "MB RAM")
    return table_text(
        heads,
        [
            (
                f"{each.exchanges:,}",
                f"{each.disk:,.0f}",
                f"{each.upsert:.2f}",
                f"{each.flush:,.0f}",
                f"{each.close:,.0f}",
                f"{each.digests:,.0f}",
                f"{each.memory:,.0f}",
            )
            for each in measured
        ],
    )


def _reading_table(measured: Sequence[Figures]) -> str:
    heads = (
        *("exchanges", "import ms", "open ms", "(wall)"),
        *("dense ms", "words ms", f"{FETCHED} rows ms", "count ms"),
    )
    return table_text(
        heads,
        [
            (
                f"{each.exchanges:,}",
                f"{each.imported:,.0f}",
                f"{each.opened:,.0f}",
                f"{each.opened_wall:,.0f}",
                f"{each.dense:.1f}",
                f"{each.keyword:.1f}",
                f"{each.rows:.1f}",
                f"{each.count:.1f}",
            )
            for each in measured
        ],
    )


if __name__ == "__main__":
    main()
