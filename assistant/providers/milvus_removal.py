"""Rows taken out of the files of a Milvus Lite folder that nobody has open, down to the bytes.

Milvus Lite only marks deleted rows. Its Parquet files are written once and never changed, and are
read whole when they are opened: one that lacks rows is to it as if it had merged them away itself.
"""

from __future__ import annotations

import contextlib
import os
import shutil
from collections.abc import Collection
from pathlib import Path
from typing import Any

from assistant.providers.milvus_embedded import reserved
from assistant.providers.milvus_files import COLUMNS, aside, stored_rows


def remove_rows(path: Path, ids: Collection[str]) -> bool:
    """Write the files that hold rows with these ids anew, without them, each in one step.

    A second run goes on where a killed one stopped. False when that can't be done for all of them,
    because something is unreadable, or rows stand where Milvus Lite alone may write: the folder is
    to be discarded then. Raises IndexLocked while a process has it open, and OSError.
    """
    if not path.is_dir():
        return not path.exists()
    with reserved(path):
        _remove_left_over(path)
        sessions = {id.rpartition(".")[0] for id in ids}
        if stored_rows(path, sessions).unreadable:
            return False
        for file in sorted(path.rglob("*.parquet")):
            _rewrite(file, ids)
        return not any(row.id in ids for row in stored_rows(path, sessions).rows)


def remove_aside(path: Path) -> None:
    """Delete what was set aside, and what is left of discarded folders, as far as that goes."""
    for one in aside(path):
        if one.is_dir():
            shutil.rmtree(one, ignore_errors=True)
        else:
            one.unlink(missing_ok=True)


def _remove_left_over(path: Path) -> None:
    """What a killed process left of a file, and indexes, which refer to rows by their place."""
    for file in path.rglob("*.tmp"):
        file.unlink()
    for folder in path.glob("collections/*/partitions/*/indexes"):
        shutil.rmtree(folder)


def _rewrite(file: Path, ids: Collection[str]) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    with pq.ParquetFile(file) as opened:
        if not set(COLUMNS) <= set(opened.schema_arrow.names):
            return
        kept = [id.partition(":")[2] not in ids for id in opened.read(["id"])["id"].to_pylist()]
        if all(kept):
            return
        table = opened.read()
    _replace(file, table.filter(pa.array(kept)))


def _replace(file: Path, table: Any) -> None:
    import pyarrow.parquet as pq

    temporary = file.with_name(f".{file.name}.{os.getpid()}.tmp")
    with open(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as opened:
        pq.write_table(table, opened)
        opened.flush()
        os.fsync(opened.fileno())
    temporary.replace(file)
    _sync_folder(file.parent)


def _sync_folder(folder: Path) -> None:
    """Not even a power cut may bring the old file back, where the system can see to that."""
    with contextlib.suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
