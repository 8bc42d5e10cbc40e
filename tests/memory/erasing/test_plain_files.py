"""Files without words, and files that were left lying about."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from filelock import FileLock

from assistant.memory.erasing.plain_files import STALE, LeftOvers, MendedCopies, WordlessFiles
from assistant.memory.last_sessions import LastSessions
from tests.memory.test_erasables import erasure, quiet


@pytest.fixture
def data(tmp_path: Path) -> Path:
    (tmp_path / "config").mkdir()
    (tmp_path / "data").mkdir()
    return tmp_path / "data"


@pytest.fixture
def living() -> Iterator[int]:
    """The number of a process that is not ours."""
    process = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    yield process.pid
    process.communicate()


def left_overs(data: Path, age: float = 0.0, *linked: Path) -> LeftOvers:
    return LeftOvers(data, data.parent / "config", linked, now=lambda: time.time() + age)


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_a_terminal_forgets_the_sessions_that_are_erased(data: Path) -> None:
    terminals = LastSessions(data / "terminals.json")
    for terminal, session in (("a", "s1"), ("b", "s2"), ("c", "s1")):
        terminals.set(terminal, session)
    WordlessFiles(data).erase(erasure(sessions=["s1"]), quiet)
    assert [terminals.get(one) for one in "abc"] == [None, "s2", None]


def test_logs_and_locks_go_with_everything_and_those_that_are_held_stay(data: Path) -> None:
    (data / "locks").mkdir()
    (data / "logs").mkdir()
    (data / "logs" / "assistant.log").write_text("a traceback")
    (data / "locks" / "s1.lock").touch()
    (data / ".memos.jsonl.lock").touch()
    with FileLock(data / "locks" / "s2.lock"), FileLock(data / ".erasing.json.lock"):
        store, wanted = WordlessFiles(data), erasure(everything=True)
        store.erase(wanted, quiet)
        assert store.count(wanted) == 0
        assert names(data) == [".erasing.json.lock", "locks", "logs"]
        assert names(data / "locks") == ["s2.lock"]
        assert names(data / "logs") == []


def test_what_dead_processes_left_goes_and_what_living_ones_write_stays(
    data: Path, living: int
) -> None:
    config = data.parent / "config"
    (data / ".facts.jsonl.999999999.tmp").touch()
    (data / f".memos.jsonl.{os.getpid()}.tmp").touch()
    (data / f".index.json.{living}.tmp").touch()
    (config / ".assistant.toml.999999999.tmp").touch()
    others = (".tmp", "notes.tmp", ".a.b.tmp", "memos.jsonl")
    for name in others:
        (data / name).touch()
    store = left_overs(data)
    store.erase(erasure(), quiet)
    assert names(config) == []
    assert names(data) == sorted([*others, f".index.json.{living}.tmp"])
    assert store.count(erasure()) == 0
    assert f".index.json.{living}.tmp; it is removed" in store.left(erasure())


def test_a_number_that_another_process_has_by_now_protects_nothing(data: Path, living: int) -> None:
    (data / f".index.json.{living}.tmp").touch()
    store = left_overs(data, STALE + 1)
    store.erase(erasure(), quiet)
    assert store.left(erasure()) == ""
    assert names(data) == []


def test_what_was_set_aside_goes_but_for_the_index(data: Path) -> None:
    (data / "memos.jsonl.corrupt-20261130").touch()
    (data / "index.db.corrupt-20261130").mkdir()
    folder = data / "old.discarded-1f" / "deep"
    folder.mkdir(parents=True)
    (folder / "file").touch()
    (folder.parent / "link").symlink_to(data / "index.db.corrupt-20261130")
    left_overs(data).erase(erasure(), quiet)
    assert names(data) == ["index.db.corrupt-20261130"]


def test_what_was_written_beside_a_linked_file_goes(data: Path, tmp_path: Path) -> None:
    elsewhere = tmp_path / "shared"
    elsewhere.mkdir()
    (data / "calendar.ics").symlink_to(elsewhere / "mine.ics")
    (elsewhere / ".mine.ics.999999999.tmp").touch()
    (elsewhere / ".other.ics.999999999.tmp").touch()
    left_overs(data, 0.0, data / "calendar.ics").erase(erasure(), quiet)
    assert names(elsewhere) == [".other.ics.999999999.tmp"]


def test_copies_of_a_session_go_with_what_is_erased_of_it(data: Path) -> None:
    copies = data / "before-doctor"
    copies.mkdir()
    for name in ("s1.jsonl.before-1", "s1.jsonl.before-1-2", "s2.jsonl.before-1"):
        (copies / name).write_text("what was said")
    store, wanted = MendedCopies(copies), erasure(turns={"s1": [3]})
    assert [one.id for one in store.matches(wanted)] == ["s1.jsonl.before-1", "s1.jsonl.before-1-2"]
    store.erase(wanted, quiet)
    assert (store.count(wanted), names(copies)) == (0, ["s2.jsonl.before-1"])
    store.erase(erasure(everything=True), quiet)
    assert names(copies) == []
    MendedCopies(data / "none").erase(wanted, quiet)


def test_a_copy_that_was_killed_in_the_making_goes_too(data: Path) -> None:
    copies = data / "before-doctor"
    copies.mkdir()
    (copies / ".s1.jsonl.before-1.999999999.tmp").write_text("what was said")
    store, wanted = MendedCopies(copies), erasure(turns={"s1": [3]})
    assert store.count(wanted) == 1
    store.erase(wanted, quiet)
    assert (store.count(wanted), names(copies)) == (0, [])


@pytest.mark.parametrize("dead", [True, False])
def test_a_question_in_an_editor_stays_as_long_as_its_process_lives(
    data: Path, living: int, dead: bool
) -> None:
    folder = data / f".question.k3.{999999999 if dead else living}.tmp"
    folder.mkdir()
    (folder / "question.txt").write_text("what was said")
    store = left_overs(data, STALE + 1)
    store.erase(erasure(), quiet)
    assert folder.exists() is not dead
    assert (folder.name in store.left(erasure())) is not dead
