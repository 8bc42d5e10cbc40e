"""Erasing from the index: real files of Milvus Lite, read byte by byte afterwards."""

from __future__ import annotations

import contextlib
import os
import random
import shutil
import signal
import subprocess
import sys
import textwrap
import time
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from assistant.errors import IndexUnavailable
from assistant.memory.erasing.index_eraser import ELSEWHERE, IndexEraser
from assistant.memory.recall.retriever import Retriever
from assistant.protocols import StoredRows
from assistant.providers.milvus_files import index_holding
from tests.fakes import FakeClock, FakeCounter, FakeIndexHome
from tests.memory.indexed_home import MARKER, HashEmbedder, IndexedHome, erasing, files_with

if TYPE_CHECKING:
    from assistant.protocols import Vector

ROOT = Path(__file__).parents[3]
ROUNDS = 25 if os.environ.get("ASSISTANT_STRESS") else 3
EXCHANGES = 300
SESSION, TURN = "s2", 4
"""The exchange that is erased."""
SECRET = f"my word is {MARKER}"
THE_TURN = erasing(turns={SESSION: (TURN,)})


def quiet(text: str) -> None:
    """Progress that nobody reads."""


def secret_vector() -> Vector:
    return HashEmbedder().embed_query(f"{SECRET}\nre {SECRET}")


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home of 300 exchanges, the index of which was flushed and merged several times."""
    folder = tmp_path_factory.mktemp("template") / "home"
    home = IndexedHome(folder)
    for number in range(EXCHANGES // 10):
        texts = [f"line {number} {line} of the story" for line in range(10)]
        if number == 1:
            texts[TURN - 1] = SECRET
        if number == 2:
            texts[0] = "my bird is a quetzal"
        home.talk(*texts)
        if number % 5 == 0:
            index = home.ready()
            home.indexer.refresh()
            home.ready()
            index.flush()
    home.indexer.refresh()
    home.ready()
    home.close()
    assert files_with(folder / "data", MARKER, secret_vector())
    return folder


@pytest.fixture
def indexed(template: Path, tmp_path: Path) -> Iterator[IndexedHome]:
    """A copy of that home, the index of which is not open yet."""
    shutil.copytree(template, tmp_path / "copy")
    home = IndexedHome(tmp_path / "copy", "t")
    yield home
    home.close()


def nothing_left(home: IndexedHome) -> None:
    """No file holds it, and all the rest is found."""
    assert files_with(home.path.parent, MARKER, secret_vector()) == []
    assert index_holding(home.path, MARKER) == []
    assert home.eraser.count(THE_TURN) == 0
    index = home.ready()
    assert set(index.digests()) == home.expected()
    assert len(home.expected()) == EXCHANGES - 1
    assert [hit.id for hit in index.search(None, ["stori"], 500).keyword]


# --- physically ---------------------------------------------------------------------------------


@pytest.mark.parametrize("opened", [True, False])
def test_no_byte_of_an_erased_turn_is_left(indexed: IndexedHome, opened: bool) -> None:
    if opened:
        indexed.ready()
    assert [one.kind for one in indexed.eraser.matches(THE_TURN)] == ["index row"]
    assert indexed.eraser.matches(THE_TURN)[0].text == f"{SECRET}\nre {SECRET}"
    indexed.take_from_log(SESSION, TURN)
    assert indexed.eraser.count(THE_TURN) == 1
    indexed.eraser.erase(THE_TURN, quiet)
    assert files_with(indexed.path.parent, MARKER, secret_vector()) == []
    assert (indexed.eraser.count(THE_TURN), indexed.eraser.left(THE_TURN)) == (0, "")
    nothing_left(indexed)
    indexed.eraser.erase(THE_TURN, quiet)
    nothing_left(indexed)


def test_what_was_set_aside_goes_too(indexed: IndexedHome) -> None:
    for stamp in ("20260304-050607", "discarded-abc"):
        shutil.copytree(indexed.path, indexed.path.with_name(f"index.db.corrupt-{stamp}"))
    indexed.path.with_name("index.db.corrupt-old").write_text(SECRET)
    indexed.take_from_log(SESSION, TURN)
    assert indexed.eraser.count(THE_TURN) == 4
    indexed.eraser.erase(THE_TURN, quiet)
    assert list(indexed.data.glob("index.db*")) == [indexed.path]
    nothing_left(indexed)


@pytest.mark.parametrize("damage", ["rows cut", "log cut", "half written"])
def test_files_that_cant_be_read_are_thrown_away(indexed: IndexedHome, damage: str) -> None:
    (collection,) = (indexed.path / "collections").iterdir()
    file = next(iter(collection.rglob("*.parquet")))
    if damage == "rows cut":
        file.write_bytes(file.read_bytes()[:-20])
    elif damage == "log cut":
        (collection / "wal").mkdir(exist_ok=True)
        (collection / "wal" / "wal_data_000099.arrow").write_bytes(SECRET.encode())
    else:
        file.with_name(f".{file.name}.1.tmp").write_bytes(SECRET.encode())
    indexed.take_from_log(SESSION, TURN)
    assert indexed.eraser.count(THE_TURN) > 0
    indexed.eraser.erase(THE_TURN, quiet)
    nothing_left(indexed)


def test_a_turn_of_which_a_part_stays_is_told_by_its_digest(indexed: IndexedHome) -> None:
    indexed.ready()
    erasure = erasing(changed={SESSION: (TURN,)})
    assert [one.id for one in indexed.eraser.matches(erasure)] == [f"{SESSION}.{TURN}"]
    assert indexed.eraser.count(erasure) == 0
    log = indexed.folder / "sessions" / f"{SESSION}.jsonl"
    log.write_text(log.read_text().replace(SECRET, "[forgotten]"))
    assert indexed.eraser.count(erasure) == 1
    indexed.eraser.erase(erasure, quiet)
    assert indexed.eraser.count(erasure) == 0
    assert index_holding(indexed.path, MARKER) == []
    (row,) = indexed.ready().rows([f"{SESSION}.{TURN}"])
    assert (row.user, row.assistant) == ("[forgotten]", "re [forgotten]")
    assert indexed.eraser.count(erasure) == 0


def test_a_session_goes_with_all_its_rows(indexed: IndexedHome) -> None:
    erasure = erasing(sessions=(SESSION,))
    assert len(indexed.eraser.matches(erasure)) == 10
    indexed.store.rewrite(SESSION, lambda data: None)
    indexed.eraser.erase(erasure, quiet)
    assert indexed.eraser.count(erasure) == 0
    assert set(indexed.ready().digests()) == indexed.expected()


@pytest.mark.parametrize("opened", [True, False])
def test_everything_goes(indexed: IndexedHome, opened: bool) -> None:
    if opened:
        indexed.ready()
    erasure = erasing(everything=True)
    assert len(indexed.eraser.matches(erasure)) == EXCHANGES
    for name in indexed.store.files():
        indexed.store.rewrite(name, lambda data: None)
    indexed.eraser.erase(erasure, quiet)
    assert indexed.eraser.count(erasure) == 0
    assert index_holding(indexed.path, "line") == []
    assert indexed.ready().count() == 0
    indexed.talk("said after it")
    indexed.indexer.refresh()
    assert indexed.ready().count() == 1
    assert indexed.eraser.count(erasure) == 0


def test_what_is_in_no_index_is_no_matter(indexed: IndexedHome) -> None:
    before = sorted(indexed.data.rglob("*"))
    for erasure in (erasing(facts=("f1",)), erasing(turns={"s99": (1,)})):
        assert indexed.eraser.matches(erasure) == []
        indexed.eraser.erase(erasure, quiet)
        assert (indexed.eraser.count(erasure), indexed.eraser.left(erasure)) == (0, "")
    assert sorted(indexed.data.rglob("*")) == before


# --- another process ----------------------------------------------------------------------------


PRELUDE = f"""
import os, signal, sys
from pathlib import Path

from assistant.memory.recall.indexer import index_row
from assistant.messages import Exchange
from tests.memory.indexed_home import HashEmbedder, IndexedHome, erasing

home = IndexedHome(Path(sys.argv[1]), "u")
erasure = erasing(turns={{"{SESSION}": ({TURN},)}})
said = Exchange("{SESSION}", {TURN}, None, "{SECRET}", "re {SECRET}")
row = index_row(said, HashEmbedder().embed_query(said.text))
"""


@contextlib.contextmanager
def process(home: IndexedHome, script: str) -> Iterator[subprocess.Popen[str]]:
    """Another process that works on the same home; it is killed at the end."""
    with subprocess.Popen(
        [sys.executable, "-c", PRELUDE + textwrap.dedent(script), str(home.folder)],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as started:
        try:
            yield started
        finally:
            started.kill()


def told(other: subprocess.Popen[str]) -> str:
    assert other.stdout is not None
    return other.stdout.readline().strip()


def tell(other: subprocess.Popen[str]) -> None:
    assert other.stdin is not None
    other.stdin.write("\n")
    other.stdin.flush()


def test_rows_in_the_write_ahead_log_go(indexed: IndexedHome) -> None:
    indexed.take_from_log(SESSION, TURN)
    indexed.eraser.erase(THE_TURN, quiet)
    script = """
    home.ready().upsert([row])
    os.kill(os.getpid(), signal.SIGKILL)
    """
    with process(indexed, script) as other:
        assert other.wait(60) == -signal.SIGKILL
    assert indexed.eraser.count(THE_TURN) == 1
    indexed.eraser.erase(THE_TURN, quiet)
    nothing_left(indexed)


def test_the_terminal_that_has_the_index_open_erases_from_it(indexed: IndexedHome) -> None:
    script = """
    home.ready()
    print("open", flush=True)
    sys.stdin.readline()
    home.eraser.erase(erasure, print)
    home.ready()
    print(home.eraser.count(erasure), flush=True)
    sys.stdin.readline()
    home.close()
    """
    with process(indexed, script) as other:
        assert told(other) == "open"
        indexed.take_from_log(SESSION, TURN)
        indexed.eraser.erase(THE_TURN, quiet)
        assert indexed.eraser.count(THE_TURN) == 1
        assert indexed.eraser.left(THE_TURN) == ELSEWHERE
        assert index_holding(indexed.path, MARKER)
        tell(other)
        assert told(other) == "0"
        assert index_holding(indexed.path, MARKER) == []
        assert (indexed.eraser.count(THE_TURN), indexed.eraser.left(THE_TURN)) == (0, "")
        tell(other)
        assert other.wait(60) == 0
    nothing_left(indexed)


def test_a_terminal_that_catches_up_brings_nothing_back(indexed: IndexedHome) -> None:
    shutil.rmtree(indexed.path)
    (indexed.data / "index.json").unlink()
    indexed.indexer.start()
    # It has read the session, and is somewhere on its way.
    while indexed.indexer.status().indexed < EXCHANGES // 4:
        time.sleep(0.005)
    indexed.take_from_log(SESSION, TURN)
    indexed.ready()
    assert index_holding(indexed.path, MARKER) == []
    nothing_left(indexed)


# --- killed -------------------------------------------------------------------------------------


@pytest.mark.stress
@pytest.mark.parametrize("seed", range(ROUNDS))
def test_killed_while_it_erases(indexed: IndexedHome, seed: int) -> None:
    chance = random.Random(seed)
    opened = seed % 2 == 0
    script = f"""
    {"home.ready()" if opened else "pass"}
    print("go", flush=True)
    home.eraser.erase(erasure, print)
    home.ready()
    sys.stdin.readline()
    """
    indexed.take_from_log(SESSION, TURN)
    with process(indexed, script) as other:
        assert told(other) == "go"
        # The files are written within the first moments, then the index is opened and compared.
        time.sleep(chance.uniform(0, 1.0 if opened else 2.0))
    indexed.eraser.erase(THE_TURN, quiet)
    nothing_left(indexed)


# --- telling ------------------------------------------------------------------------------------


def test_progress_is_told_until_it_can_be_searched(indexed: IndexedHome) -> None:
    indexed.ready()
    indexed.take_from_log(SESSION, TURN)
    indexed.eraser.erase(THE_TURN, quiet)
    lines: list[str] = []
    indexed.eraser.follow(lines.append)
    assert indexed.indexer.status().state == "ready"
    assert set(lines) <= {f"index: {n:,} of 299 exchanges" for n in range(300)}
    assert lines


def test_ctrl_c_ends_the_telling_alone(indexed: IndexedHome) -> None:
    indexed.ready()
    indexed.indexer.start_over()

    def interrupted(text: str) -> None:
        raise KeyboardInterrupt

    indexed.eraser.follow(interrupted)
    assert set(indexed.ready().digests()) == indexed.expected()


def test_words_are_found_in_the_session_files_meanwhile(indexed: IndexedHome) -> None:
    indexed.ready()
    retriever = Retriever(
        indexed.indexer,
        indexed.store,
        FakeCounter(),
        clock=FakeClock(),
        monotonic=time.monotonic,
        patience=0,
    )
    assert MARKER in retriever.look_up(MARKER, 2_000).text
    indexed.take_from_log(SESSION, TURN)
    indexed.indexer.start_over()
    found = retriever.look_up(f"{MARKER} quetzal", 2_000)
    assert "Words alone" in found.problem
    assert "quetzal" in found.text
    assert MARKER not in found.text


class Unreachable(FakeIndexHome):
    """A server that can't be reached."""

    def stored(self, sessions: Collection[str] | None) -> StoredRows:
        raise IndexUnavailable("Not reached.")


def test_a_server_out_of_reach_is_told_and_not_given_up(indexed: IndexedHome) -> None:
    eraser = IndexEraser(indexed.indexer, Unreachable(), indexed.store)
    eraser.erase(THE_TURN, quiet)
    assert eraser.count(THE_TURN) == 1
    assert eraser.left(THE_TURN) == "Not reached. Its rows are deleted when it can be reached."
    assert eraser.count(erasing(facts=("f1",))) == 0


def test_what_can_not_be_removed_is_named(indexed: IndexedHome) -> None:

    class Stuck(FakeIndexHome):
        def stored(self, sessions: Collection[str] | None) -> StoredRows:
            return StoredRows(unreadable=["data/x.parquet"], aside=["data/index.db.corrupt-1"])

    eraser = IndexEraser(indexed.indexer, Stuck(), indexed.store)
    eraser.erase(THE_TURN, quiet)
    assert eraser.count(THE_TURN) == 2
    assert "data/index.db.corrupt-1" in eraser.left(THE_TURN)
    assert "data/x.parquet" in eraser.left(THE_TURN)
