"""What a folder of Milvus Lite holds, read from its files: nothing is opened, no lock is taken.

A row that is deleted there stays in its file until the file is written anew. Rows stand in Parquet
files, whose columns are compressed, and before that in an Arrow stream, the write-ahead log.
Another process may be writing all the while.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterator, Sequence
from pathlib import Path
from typing import Any, TypeVar

from assistant.messages import folded
from assistant.protocols import IndexRow, StoredRows

T = TypeVar("T")

#: Looks at the folder, when files come and go while they are read, and seconds before the next
#: one when a file was only half written.
LOOKS = 5
PAUSE = 0.1

#: A file with these columns holds exchanges; others hold what was deleted.
COLUMNS = ("id", "session_id", "turn", "ts", "digest", "user_text", "assistant_text")


def stored_rows(path: Path, sessions: Collection[str] | None) -> StoredRows:
    """The rows of these sessions, or all, in every file of the folder, deleted ones included."""

    def read(file: Path) -> Sequence[IndexRow]:
        return [row for table in _tables(file, COLUMNS) for row in _rows(table, sessions)]

    beside = [str(one) for one in aside(path)]
    if path.is_file():
        # What older versions of Milvus Lite made.
        return StoredRows(unreadable=[str(path)], aside=beside)
    found, unreadable = _read_all(path, read, suffixes=(".parquet", ".arrow", ".tmp"))
    rows = [row for some in found.values() for row in some or ()]
    return StoredRows(rows, [str(file) for file in unreadable], beside)


def index_holding(path: Path, words: str) -> list[str]:
    """The files of the index, and of all that was set aside of it, that hold these words.

    They must stand together; case, and how accents are composed, make no difference. Parquet files
    are unpacked, of all others the bytes are looked at. Files that can't be unpacked are among
    them, for they may hold anything.
    """
    wanted = folded(words)
    if not wanted:
        return []
    held: list[str] = []
    for folder in (path, *aside(path)):
        found, unreadable = _read_all(folder, lambda file: wanted in _text(file))
        held += [str(file) for file in found if found[file] or file in unreadable]
    return sorted(held)


def holds(text: str, words: str) -> bool:
    """Whether a text holds these words, as `index_holding` looks for them."""
    return folded(words) in folded(text)


def aside(path: Path) -> list[Path]:
    """What stands beside the folder under its name: set aside, or left of one that was discarded.

    All of it was an index once, so that it holds what was said.
    """
    return sorted(path.parent.glob(f"{path.name}.*"))


def _read_all(
    path: Path, read: Callable[[Path], T], suffixes: tuple[str, ...] = ()
) -> tuple[dict[Path, T | None], list[Path]]:
    """What `read` makes of each file; and those that it can't make anything of, with None.

    What is merged into another file meanwhile would be missed, so that it is looked again until
    all files are the same before and after.
    """
    found: dict[Path, T | None] = {}
    unreadable: list[Path] = []
    for _ in range(LOOKS):
        before = _files(path, suffixes)
        found, unreadable = {}, []
        for file in before:
            try:
                found[file] = read(file)
            except FileNotFoundError:
                continue
            except Exception:
                # pyarrow raises what it likes for bytes that make no sense to it.
                found[file] = None
                unreadable.append(file)
        if unreadable:
            time.sleep(PAUSE)
        elif _files(path, suffixes) == before:
            break
    return found, unreadable


def _files(path: Path, suffixes: tuple[str, ...]) -> list[Path]:
    there = [path] if path.is_file() else path.rglob("*")
    return sorted(
        file for file in there if file.is_file() and (not suffixes or file.suffix in suffixes)
    )


def _tables(file: Path, columns: Collection[str] | None = None) -> Iterator[Any]:
    """The file's tables of rows: one with other columns than these has none."""
    # 0.4 s with numpy, which the prompt need not wait for.
    import pyarrow as pa
    import pyarrow.parquet as pq

    if file.suffix == ".parquet":
        with pq.ParquetFile(file) as opened:
            if columns is None or set(columns) <= set(opened.schema_arrow.names):
                yield opened.read(None if columns is None else list(columns))
        return
    if file.suffix != ".arrow":
        raise ValueError(f"{file.name} is a file half written")
    if not file.stat().st_size:
        return
    with pa.OSFile(str(file), "rb") as source, pa.ipc.open_stream(source) as stream:
        if columns is None or set(columns) <= set(stream.schema.names):
            for batch in stream:
                yield pa.Table.from_batches([batch])


def _rows(table: Any, sessions: Collection[str] | None) -> Iterator[IndexRow]:
    import pyarrow as pa
    import pyarrow.compute as pc

    if sessions is not None:
        wanted = pa.array(sorted(sessions), pa.string())
        table = table.filter(pc.is_in(table["session_id"], value_set=wanted))
    for row in table.select(list(COLUMNS)).to_pylist():
        yield IndexRow(
            # The user's key stands before it.
            id=row["id"].partition(":")[2],
            session=row["session_id"],
            turn=row["turn"],
            ts=row["ts"],
            user=row["user_text"],
            assistant=row["assistant_text"],
            terms=(),
            digest=row["digest"],
        )


def _text(file: Path) -> str:
    """All that the file says in any column, folded; of a file without columns, its bytes."""
    if file.suffix != ".parquet":
        return folded(file.read_bytes().decode("utf-8", "replace"))
    return "\n".join(
        folded(value if isinstance(value, str) else value.decode("utf-8", "replace"))
        for table in _tables(file)
        for column in table.columns
        for value in column.to_pylist()
        if isinstance(value, str | bytes)
    )
