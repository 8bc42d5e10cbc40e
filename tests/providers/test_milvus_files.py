"""Reading the files of an index that is open, closed, damaged, or none."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from assistant.protocols import IndexRow
from assistant.providers.milvus_files import index_holding, stored_rows
from assistant.providers.milvus_index import IndexPlace, MilvusIndex, open_milvus_index


def row(turn: int, said: str, session: str = "s1") -> IndexRow:
    terms = said.lower().split()
    return IndexRow(f"{session}.{turn}", session, turn, 1, said, "yes", terms, f"d{turn}")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "data" / "index.db"


@pytest.fixture
def index(path: Path) -> Iterator[MilvusIndex]:
    """One row deleted and one replaced after they were flushed; one that was not flushed."""
    index = open_milvus_index(IndexPlace(path), user="me", embedder=None, dimension=None)
    index.upsert([row(1, "Café au lait"), row(2, "a DELETED thing"), row(1, "black tea", "s2")])
    index.flush()
    index.delete(["s1.2"])
    index.upsert([row(1, "green tea", "s2"), row(3, "not flushed")])
    yield index
    index.close()


@pytest.mark.parametrize("closed", [False, True])
def test_every_row_is_read_whoever_has_it_open(
    index: MilvusIndex, path: Path, closed: bool
) -> None:
    if closed:
        index.close()
    stored = stored_rows(path, None)
    assert sorted((one.id, one.user) for one in stored.rows) == [
        ("s1.1", "Café au lait"),
        ("s1.2", "a DELETED thing"),
        ("s1.3", "not flushed"),
        ("s2.1", "black tea"),
        ("s2.1", "green tea"),
    ]
    assert {one.id for one in stored_rows(path, ["s2", "s9"]).rows} == {"s2.1"}
    assert (stored.unreadable, stored.aside) == ([], [])
    (first,) = (one for one in stored.rows if one.id == "s1.1")
    assert (first.session, first.turn, first.assistant, first.digest) == ("s1", 1, "yes", "d1")


@pytest.mark.parametrize("closed", [False, True])
@pytest.mark.parametrize(
    ("words", "files"),
    [
        ("deleted THING", 1),
        ("CAFE\N{COMBINING ACUTE ACCENT} au", 1),
        ("not flushed", 1),
        ("tea", 2),
        ("au thing", 0),
        ("", 0),
    ],
)
def test_words_are_found_in_every_file(
    index: MilvusIndex, path: Path, closed: bool, words: str, files: int
) -> None:
    if closed:
        index.close()
    assert len(index_holding(path, words)) == files


def test_what_was_set_aside_is_looked_at_too(index: MilvusIndex, path: Path) -> None:
    index.close()
    shutil.copytree(path, path.with_name("index.db.corrupt-1"))
    path.with_name("index.db.corrupt-2").write_bytes(b"\xff\xfe a Deleted Thing \x00")
    assert len(index_holding(path, "deleted thing")) == 3
    assert len(stored_rows(path, []).aside) == 2


def test_what_cant_be_read_may_hold_anything(index: MilvusIndex, path: Path) -> None:
    index.close()
    file = min(path.rglob("data_*.parquet"))
    file.write_bytes(file.read_bytes()[:50])
    assert stored_rows(path, ["s9"]).unreadable == [str(file)]
    assert index_holding(path, "no such words") == [str(file)]


@pytest.mark.parametrize("there", [False, True])
def test_no_folder(path: Path, there: bool) -> None:
    path.parent.mkdir(parents=True)
    if there:
        path.write_bytes(b"SQLite format 3\x00 old words")
    assert stored_rows(path, None).unreadable == ([str(path)] if there else [])
    assert index_holding(path, "old words") == ([str(path)] if there else [])
