"""Erasing memos: every text they had goes, and no undo brings one back."""

from __future__ import annotations

from pathlib import Path

import pytest

from assistant.errors import EntryChanged, NoSuchEntry
from assistant.memory.erasing.entry_eraser import memo_eraser
from assistant.memory.memos import Memos
from assistant.messages import Memo
from assistant.protocols import Written
from tests.fakes import FakeClock, FakeIds
from tests.memory.test_erasables import erasure, quiet


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "data" / "memos.jsonl"


@pytest.fixture
def memos(path: Path, clock: FakeClock) -> Memos:
    return Memos(path, clock, FakeIds(""), lambda: None)


@pytest.fixture
def other(path: Path, clock: FakeClock) -> Memos:
    """The same memos in another terminal."""
    return Memos(path, clock, FakeIds("x"), lambda: None)


def erase(path: Path, **what: object) -> None:
    store, wanted = memo_eraser(path), erasure(**what)
    store.erase(wanted, quiet)
    assert store.count(wanted) == 0


def kept(written: Written[Memo]) -> Memo:
    assert written.after is not None
    return written.after


def test_every_text_it_had_goes_and_the_others_stay(
    memos: Memos, other: Memos, path: Path, clock: FakeClock
) -> None:
    memo = kept(memos.save("quagga one", ["quaggas"]))
    stays = kept(memos.save("zebra"))
    memos.update(memo.id, text="quagga two")
    memos.update(memo.id, tags=["quaggas-too"])
    memos.delete(memo.id).undo()
    assert len(other.search()) == 2
    erase(path, memos=[memo.id])
    assert b"quagga" not in path.read_bytes()
    assert memos.search() == other.search() == [stays]
    assert memos.search("quagga") == []
    with pytest.raises(NoSuchEntry, match="does not exist"):
        other.get(memo.id)


def test_a_deleted_one_is_erased_too(memos: Memos, path: Path) -> None:
    memo = kept(memos.save("quagga"))
    memos.delete(memo.id)
    assert [one.id for one in memo_eraser(path).matches(erasure(memos=[memo.id]))] == [memo.id]
    erase(path, memos=[memo.id])
    assert path.read_bytes() == b""


def test_of_the_others_only_the_name_of_the_turn_goes(memos: Memos, path: Path) -> None:
    one = kept(memos.save("zebra", source="s1.1"))
    two = kept(memos.save("okapi", source="s1.2"))
    erase(path, turns={"s1": [1]})
    assert [memos.get(memo.id).source for memo in (one, two)] == ["", "s1.2"]
    assert b"s1.1" not in path.read_bytes()


def test_no_undo_brings_an_erased_memo_back(memos: Memos, other: Memos, path: Path) -> None:
    made = memos.save("quagga one")
    memo = kept(made)
    changed = other.update(memo.id, text="quagga two")
    deleted = other.delete(memo.id)
    erase(path, memos=[memo.id])
    for written in (made, changed, deleted):
        with pytest.raises(EntryChanged):
            written.undo()
    assert b"quagga" not in path.read_bytes()


def test_a_torn_line_of_it_goes(memos: Memos, path: Path) -> None:
    memo = kept(memos.save("quagga"))
    with path.open("ab") as file:
        file.write(b'{"v":1,"type":"memo_changed","id":"%s","text":"qua' % memo.id.encode())
    erase(path, memos=[memo.id])
    assert path.read_bytes() == b""
