"""Rows taken out of the files of a closed index; Milvus Lite goes on with what is left."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest

from assistant.errors import IndexLocked
from assistant.protocols import IndexRow
from assistant.providers.milvus_files import index_holding
from assistant.providers.milvus_index import IndexPlace, MilvusIndex, open_milvus_index
from assistant.providers.milvus_removal import remove_aside, remove_rows

if TYPE_CHECKING:
    from assistant.protocols import Vector


def vector(turn: int) -> Vector:
    made = np.asarray([1, turn, 0], dtype=np.float32)
    return made / np.linalg.norm(made)


def row(turn: int, said: str = "") -> IndexRow:
    said = said or f"word{turn} red"
    return IndexRow(f"s1.{turn}", "s1", turn, 1, said, "", said.split(), f"d{turn}", vector(turn))


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "index.db"


def opened(path: Path) -> MilvusIndex:
    return open_milvus_index(IndexPlace(path), user="me", embedder="tiny", dimension=3)


def fill(path: Path, files: int) -> None:
    """Ten rows a file; from four small files on Milvus Lite merges them."""
    index = opened(path)
    for start in range(0, files * 10, 10):
        index.upsert([row(turn) for turn in range(start, start + 10)])
        index.flush()
    index.delete(["s1.2"])
    index.upsert([row(3, "another red")])
    index.close()


@pytest.mark.parametrize("files", [1, 3, 9])
def test_what_is_left_is_found_as_before(path: Path, files: int) -> None:
    fill(path, files)
    assert remove_rows(path, {"s1.2", "s1.3", "s1.7"})
    for word in ("word2 red", "word3 red", "another", "word7 red"):
        assert index_holding(path, word) == []
    index = opened(path)
    there = {f"s1.{turn}" for turn in range(files * 10)} - {"s1.2", "s1.3", "s1.7"}
    assert set(index.digests()) == there
    assert index.count() == len(there)
    assert {hit.id for hit in index.search(None, ["red"], 100).keyword} == there
    assert index.search(vector(5), (), 1).dense[0].id == "s1.5"
    # It goes on being written to, flushed and merged.
    for turn in range(200, 206):
        index.upsert([row(turn)])
        index.flush()
    index.close()
    assert opened_count(path) == len(there) + 6


def opened_count(path: Path) -> int:
    index = opened(path)
    try:
        return index.count()
    finally:
        index.close()


def test_a_file_can_lose_all_its_rows(path: Path) -> None:
    fill(path, 1)
    assert remove_rows(path, {f"s1.{turn}" for turn in range(10)})
    assert opened_count(path) == 0


def test_nothing_is_written_where_there_is_nothing_to_remove(path: Path) -> None:
    fill(path, 2)
    before = {file: file.stat().st_mtime_ns for file in path.rglob("*.parquet")}
    assert remove_rows(path, {"s1.99"})
    assert {file: file.stat().st_mtime_ns for file in path.rglob("*.parquet")} == before


def test_an_index_in_use_is_left_alone(path: Path) -> None:
    fill(path, 1)
    index = opened(path)
    with pytest.raises(IndexLocked):
        remove_rows(path, {"s1.1"})
    assert index.count() == 9
    index.close()


@pytest.mark.parametrize("how", ["no folder", "a file", "cut", "in the write-ahead log"])
def test_it_says_whether_it_could(path: Path, how: str) -> None:
    if how == "no folder":
        assert remove_rows(path, {"s1.1"})
        return
    if how == "a file":
        path.write_bytes(b"old")
    else:
        fill(path, 1)
        file = min(path.rglob("data_*.parquet"))
        if how == "cut":
            file.write_bytes(file.read_bytes()[:50])
        else:
            leave_in_log(path)
    assert not remove_rows(path, {"s1.55"})


def leave_in_log(path: Path) -> None:
    """A row that is in the write-ahead log alone, as a killed process leaves it."""
    index = opened(path)
    index.upsert([row(55)])
    (log,) = path.rglob("wal_data_*.arrow")
    written = log.read_bytes()
    index.close()
    file = log.with_name("wal_data_000099.arrow")
    file.parent.mkdir(exist_ok=True)
    file.write_bytes(written)


def test_what_a_killed_process_left_is_removed(path: Path) -> None:
    fill(path, 1)
    file = min(path.rglob("data_*.parquet"))
    left = file.with_name(f".{file.name}.1.tmp")
    left.write_bytes(b"word4")
    assert remove_rows(path, {"s1.99"})
    assert not left.exists()


def test_folders_and_files_set_aside_are_removed(path: Path) -> None:
    fill(path, 1)
    path.rename(path.with_name("index.db.corrupt-1"))
    path.with_name("index.db.corrupt-2").write_bytes(b"old")
    other = path.with_name("index.json")
    other.write_bytes(b"{}")
    remove_aside(path)
    assert list(path.parent.iterdir()) == [other]
