"""Each store but sessions and index: what is erased is nowhere on the disk, all else is there."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from fnmatch import fnmatchcase
from pathlib import Path

import msgspec
import numpy as np
import pytest

from assistant.memory.calendar.calendar import CalendarFile
from assistant.memory.erasing.calendar_eraser import CalendarEraser
from assistant.memory.erasing.entry_eraser import fact_eraser, memo_eraser
from assistant.memory.erasing.exports import ExportFiles, Exports
from assistant.memory.erasing.plain_files import LeftOvers, WordlessFiles
from assistant.memory.erasing.prompt_history import PromptHistoryEraser, entry_digest
from assistant.memory.erasing.vector_eraser import VectorEraser
from assistant.memory.facts.facts import Facts
from assistant.memory.last_sessions import LastSessions
from assistant.memory.memos import Memos
from assistant.memory.promises import PromiseEraser, Promises
from assistant.memory.recall.vector_cache import VectorCache, vector_digest
from assistant.messages import Message
from assistant.protocols import Erasable, Erasure, Match
from tests.fakes import FakeClock, FakeIds
from tests.memory.facts.test_facts import Days

MARK = "quagga"
NOW = datetime(2026, 11, 30, 9, tzinfo=UTC)
DEAD_PROCESS = 999_999_999
VECTOR = np.eye(8, dtype=np.float32)

Make = Callable[[Path], Erasable]


def erasure(**what: object) -> Erasure:
    return msgspec.convert({"id": "x1", "ts": NOW, **what}, Erasure)


def quiet(text: str) -> None:
    pass


def always(*_: object) -> bool:
    return True


#: The stores, and what takes the marked entry out of each.
STORES: dict[str, tuple[Make, Erasure]] = {
    "facts": (lambda data: fact_eraser(data / "facts.jsonl"), erasure(turns={"s1": [2]})),
    "memos": (lambda data: memo_eraser(data / "memos.jsonl"), erasure(memos=["m1"])),
    "calendar": (lambda data: CalendarEraser(data / "calendar.ics"), erasure(events=["e1"])),
    "promises": (lambda data: PromiseEraser(data / "promises.json"), erasure(sessions=["s1"])),
    "typed": (
        lambda data: PromptHistoryEraser(data / "prompt_history"),
        erasure(typed=[entry_digest(f"the {MARK}\nis mine")]),
    ),
    "vectors": (
        lambda data: VectorEraser(data / "vectors.sqlite3"),
        erasure(texts=[vector_digest(MARK)]),
    ),
    "exports": (
        lambda data: ExportFiles(data / "exports.json"),
        erasure(exports=["{home}/out.md"]),
    ),
    "wordless": (lambda data: WordlessFiles(data), erasure(sessions=["s1"])),
    "left over": (lambda data: LeftOvers(data, data.parent / "config"), erasure()),
}


@pytest.fixture
def full(tmp_path: Path) -> Path:
    """A home in which each store holds something marked, and something else."""
    home = tmp_path / "home"
    data, clock = home / "data", FakeClock(NOW)
    (home / "config").mkdir(parents=True)
    facts = Facts(data / "facts.jsonl", times=Days(NOW))
    memos = Memos(data / "memos.jsonl", clock, FakeIds(""), lambda: None)
    calendar = CalendarFile(data / "calendar.ics", clock, FakeIds(""))
    vectors = VectorCache(data / "vectors.sqlite3")
    promises = Promises(data / "promises.json", always, always)
    exports = Exports(data / "exports.json")
    for turn, (session, name) in enumerate((("s2", "zebra"), ("s1", MARK)), 1):
        facts.remember(f"My {name} is called {name} Bob", source=f"{session}.{turn}")
        memos.save(f"feed the {name}", source=f"{session}.{turn}")
        calendar.create(f"Vet for the {name}", NOW, source=f"{session}.{turn}")
        vectors.put("letters", [name], [VECTOR[turn]])
        said = Message(role="user", content=f"I promise to feed the {name}.", turn=turn, ts=NOW)
        promises.note(session, [said])
        with (data / "prompt_history").open("ab") as file:
            file.write(f"\n# 2026-11-30\n+the {name}\n+is mine\n".encode())
        LastSessions(data / "terminals.json").set(f"tty{turn}", session)
        exported = home / ("out.md" if name == MARK else "other.md")
        exported.write_text(name)
        exports.note(exported, session, NOW, name.encode())
    list(calendar.between(NOW, NOW))  # makes its index
    vectors.close()
    for name in ("models.json", "last_said", "user"):
        (data / name).write_text("{}")
    (data / f".memos.jsonl.{DEAD_PROCESS}.tmp").write_text(MARK)
    (data / "facts.jsonl.corrupt-20261130").write_text(MARK)
    (home / "config" / f".assistant.toml.{DEAD_PROCESS}.tmp").write_text(MARK)
    return home


def wanted(name: str, home: Path) -> tuple[Erasable, Erasure]:
    make, what = STORES[name]
    exports = tuple(one.format(home=home) for one in what.exports)
    store = make(home / "data")
    if name == "memos":
        what = msgspec.structs.replace(what, memos=ids_of(store, home, "memo"))
    if name == "calendar":
        what = msgspec.structs.replace(what, events=ids_of(store, home, "event"))
    return store, msgspec.structs.replace(what, exports=exports)


def ids_of(store: Erasable, home: Path, kind: str) -> tuple[str, ...]:
    everything = store.matches(erasure(everything=True))
    return tuple(one.id for one in everything if one.kind == kind and MARK in one.text)


def contents(home: Path) -> dict[str, bytes]:
    """What each file holds; SQLite counts in its head how often it wrote."""
    return {
        str(path.relative_to(home)): path.read_bytes()[100 * (path.suffix == ".sqlite3") :]
        for path in sorted(home.rglob("*"))
        if path.is_file() and not path.name.endswith((".lock", ".erased"))
    }


def belongs(name: str, store: Erasable) -> bool:
    return any(fnmatchcase(name, pattern) for pattern in store.files) or (
        isinstance(store, ExportFiles) and name == "out.md"
    )


@pytest.mark.parametrize("name", STORES)
def test_what_is_erased_is_nowhere_and_all_else_is_as_it_was(full: Path, name: str) -> None:
    store, what = wanted(name, full)
    before = contents(full)
    assert store.matches(what)
    assert store.count(what)

    store.erase(what, quiet)

    assert store.matches(what) == []
    assert store.count(what) == 0
    assert store.left(what) == ""
    after = contents(full)
    mine = {one for one in before if belongs(one, store)}
    assert {one for one in before if before[one] != after.get(one)} <= mine
    assert not any(
        MARK.encode() in after.get(one, b"") or VECTOR[2].tobytes() in after.get(one, b"")
        for one in mine
    )
    if name not in ("left over", "exports"):
        assert any(one in after for one in mine)

    store.erase(what, quiet)
    assert contents(full) == after


@pytest.mark.parametrize("name", STORES)
def test_nothing_goes_that_was_not_named(full: Path, name: str) -> None:
    store, _ = wanted(name, full)
    other = erasure(
        turns={"s9": [1]}, sessions=["s8"], facts=["fxxxx"], memos=["mzz"], events=["e"]
    )
    before = contents(full)
    if name != "left over":  # goes in every erase
        assert store.matches(other) == []
        assert store.count(other) == 0
        store.erase(other, quiet)
        assert contents(full) == before


@pytest.mark.parametrize("name", STORES)
def test_everything_goes_and_stays_gone(full: Path, name: str) -> None:
    store, everything = wanted(name, full)[0], erasure(everything=True)
    before = contents(full)
    assert store.matches(everything)
    assert store.count(everything)

    for _ in range(2):
        store.erase(everything, quiet)
        assert store.count(everything) == 0
        left = contents(full)
        kept = {one for one in before if one.endswith(".md") or not belongs(one, store)}
        assert kept <= set(left)
        assert not [one for one in left if one not in kept]


@pytest.mark.parametrize("name", STORES)
def test_a_home_without_anything_has_nothing_to_erase(tmp_path: Path, name: str) -> None:
    store, what = wanted(name, tmp_path)
    for one in (what, erasure(everything=True)):
        assert store.matches(one) == []
        assert store.count(one) == 0
        store.erase(one, quiet)
        assert store.left(one) == ""
    assert contents(tmp_path) == {}


def test_every_file_belongs_to_a_store(full: Path) -> None:
    stores = [wanted(name, full)[0] for name in STORES]
    for store in stores:
        store.erase(erasure(turns={"s1": [2]}), quiet)
    written = [path for path in (full / "data").rglob("*") if path.is_file()]
    names = [str(path.relative_to(full)) for path in written]
    assert len(names) > len(STORES)
    assert [one for one in names if not any(belongs(one, store) for store in stores)] == []


def test_what_goes_is_shown_with_its_words(full: Path) -> None:
    shown: Sequence[Match] = [
        match
        for name in ("facts", "memos", "calendar", "promises", "typed")
        for match in (lambda store, what: store.matches(what))(*wanted(name, full))
    ]
    assert [one.kind for one in shown] == ["fact", "memo", "event", "promise", "typed line"]
    assert all(MARK in one.text for one in shown)
