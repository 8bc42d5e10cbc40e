"""Which rows of an index folder are in force, read from its files: nothing is opened or written.

Milvus Lite itself cleans up, and makes files, whenever it opens a folder. Its own readers of single
files are used here, and its rules of which row is in force: of one key the one with the highest
number, unless a deletion has a higher one.
"""

from __future__ import annotations

import contextlib
import logging
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from assistant.errors import IndexBroken, IndexLocked
from assistant.providers.milvus_errors import NOTHING_LOST, as_index_error, said_by
from assistant.providers.milvus_rows import is_of_owner, owner_of

_COLUMNS = ("id", "digest", "_seq")


def indexed_digests(path: Path, user: str) -> Mapping[str, str] | None:
    """The digest of each of a user's rows that a search could find, by its id.

    None when there is no folder. Importing the readers takes half a second. Raises IndexLocked
    while another process has it open, IndexBroken and IndexUnavailable.
    """
    if not path.exists():
        return None
    if not path.is_dir():
        raise IndexBroken(
            f"The memory index can't be used: {path} is a file, and a folder is needed there. "
            f"{NOTHING_LOST}"
        )
    owner = owner_of(user)
    digests: dict[str, str] = {}
    with _held(path), _quiet():
        for folder in sorted((path / "collections").glob("*")):
            if not is_of_owner(folder.name, owner):
                continue
            try:
                rows = _in_force(folder)
            except (ImportError, OSError) as error:
                raise as_index_error(error, f"the folder {path}", on_disk=True) from error
            # Whatever its readers make of a damaged file.
            except Exception as error:
                raise IndexBroken(
                    f"The memory index is damaged ({said_by(error)}). {NOTHING_LOST}"
                ) from error
            digests |= {owner.id_of(key): digest for key, digest in rows.items()}
    return digests


def _in_force(folder: Path) -> dict[str, str]:
    """The digests of a collection's rows in force, by their keys."""
    from milvus_lite.storage.data_file import read_data_file
    from milvus_lite.storage.delta_index import DeltaIndex
    from milvus_lite.storage.manifest import Manifest
    from milvus_lite.storage.wal import WAL

    manifest = Manifest.load(str(folder))
    deleted = DeltaIndex("id")
    for partition, names in manifest.get_all_delta_files().items():
        for name in names:
            deleted.add_table(read_data_file(str(folder / "partitions" / partition / name)))
    newest: dict[str, tuple[int, str]] = {}
    for partition, names in manifest.get_all_data_files().items():
        for name in names:
            _take(newest, _rows(read_data_file(str(folder / "partitions" / partition / name))))
    for number in WAL.find_wal_files(str(folder / "wal")):
        written, gone = WAL.recover(str(folder / "wal"), number)
        for batch in gone:
            deleted.add_batch(batch)
        for batch in written:
            _take(newest, _rows(batch))
    return {
        key: digest for key, (seq, digest) in newest.items() if not deleted.is_deleted(key, seq)
    }


def _rows(table: Any) -> Iterator[tuple[str, str, int]]:
    columns = (table.column(name).to_pylist() for name in _COLUMNS)
    yield from zip(*columns, strict=True)


def _take(newest: dict[str, tuple[int, str]], rows: Iterator[tuple[str, str, int]]) -> None:
    for key, digest, seq in rows:
        if key not in newest or newest[key][0] < seq:
            newest[key] = (seq, digest)


@contextlib.contextmanager
def _held(path: Path) -> Iterator[None]:
    """Keep others from opening the folder meanwhile. Raises IndexLocked."""
    try:
        import fcntl
    except ImportError:  # not on this system
        yield
        return
    try:
        lock = os.open(path / "LOCK", os.O_RDONLY)
    except FileNotFoundError:
        yield
        return
    try:
        try:
            fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise IndexLocked(
                f"Another running assistant has the memory index open ({path})."
            ) from error
        yield
    finally:
        os.close(lock)


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """Its readers say on the screen what they could not read."""
    logger = logging.getLogger("milvus_lite")
    before = logger.disabled, logger.propagate
    handler = logging.NullHandler()
    logger.addHandler(handler)
    logger.propagate = False
    try:
        yield
    finally:
        logger.removeHandler(handler)
        logger.disabled, logger.propagate = before
