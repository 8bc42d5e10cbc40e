"""Which rows of an index folder are in force, by its files alone, as Milvus Lite has them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from assistant.errors import IndexBroken, IndexLocked
from assistant.protocols import IndexRow
from assistant.providers.milvus_folder import indexed_digests
from assistant.providers.milvus_index import IndexPlace, MilvusIndex, open_milvus_index


def row(turn: int, digest: str) -> IndexRow:
    return IndexRow(f"s1.{turn}", "s1", turn, 0, "said", "answered", ("said",), digest)


def opened(path: Path) -> MilvusIndex:
    return open_milvus_index(IndexPlace(path), user="local", embedder=None, dimension=None)


def files(path: Path) -> Mapping[str, tuple[int, int]]:
    return {
        str(one): (one.stat().st_size, one.stat().st_mtime_ns) for one in sorted(path.rglob("*"))
    }


@pytest.mark.parametrize("flushed", [True, False])
def test_rows_are_those_that_the_index_itself_has(tmp_path: Path, flushed: bool) -> None:
    path = tmp_path / "index.db"
    index = opened(path)
    index.upsert([row(1, "a"), row(2, "b"), row(3, "c")])
    if flushed:
        index.flush()
    index.upsert([row(2, "new")])
    index.delete(["s1.3"])
    if flushed:
        index.flush()
    index.upsert([row(4, "d")])
    expected = dict(index.digests())
    with pytest.raises(IndexLocked):
        indexed_digests(path, "local")
    index.close()
    before = files(path)
    assert indexed_digests(path, "local") == expected == {"s1.1": "a", "s1.2": "new", "s1.4": "d"}
    assert indexed_digests(path, "somebody else") == {}
    assert files(path) == before


def test_what_a_killed_process_left_is_read_from_its_write_ahead_log(tmp_path: Path) -> None:
    path, copy = tmp_path / "index.db", tmp_path / "killed.db"
    index = opened(path)
    index.upsert([row(1, "a"), row(2, "b")])
    index.upsert([row(1, "new")])
    index.delete(["s1.2"])
    # As the disk is before anything is flushed or closed.
    import shutil

    shutil.copytree(path, copy)
    index.close()
    assert indexed_digests(copy, "local") == {"s1.1": "new"}


def test_no_folder_is_no_index_and_a_file_is_a_broken_one(tmp_path: Path) -> None:
    assert indexed_digests(tmp_path / "index.db", "local") is None
    (tmp_path / "index.db").write_text("an index of long ago")
    with pytest.raises(IndexBroken):
        indexed_digests(tmp_path / "index.db", "local")


@pytest.mark.parametrize("name", ["manifest.json*", "*.parquet"])
def test_damage_is_said(tmp_path: Path, name: str, capfd: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "index.db"
    index = opened(path)
    index.upsert([row(1, "a")])
    index.flush()
    index.close()
    for file in path.rglob(name):
        file.write_text("rubbish")
    with pytest.raises(IndexBroken):
        indexed_digests(path, "local")
    assert capfd.readouterr() == ("", "")
