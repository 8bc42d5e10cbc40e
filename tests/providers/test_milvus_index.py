"""MilvusIndex in a folder, on a server of Milvus Lite, and on a real one; and what goes wrong."""

from __future__ import annotations

import fcntl
import math
import os
import shutil
import signal
import stat
import subprocess
import sys
import textwrap
import threading
import zlib
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest

from assistant.errors import (
    IndexBroken,
    IndexLocked,
    IndexMismatch,
    IndexUnavailable,
)
from assistant.protocols import Hit, IndexRow, MemoryIndex
from assistant.providers.milvus_index import (
    IndexPlace,
    MilvusIndex,
    open_milvus_index,
    set_aside,
)
from tests.providers.milvus_servers import (
    can_run_real_server,
    hanging_server,
    lite_server,
    real_server,
    refusing_server,
)

if TYPE_CHECKING:
    from assistant.protocols import Vector

ROOT = Path(__file__).parents[2]
STRESS = bool(os.environ.get("ASSISTANT_STRESS"))
SESSION = "20260304-050607-ab"
NOW = 1_772_600_000
DAY_MS = 86_400_000

Open = Callable[..., MilvusIndex]

stress = [
    pytest.mark.stress,
    pytest.mark.skipif(not STRESS, reason="a minute or more: ASSISTANT_STRESS=1 runs it"),
]


def vector(*numbers: float) -> Vector:
    made = np.asarray(numbers, dtype=np.float32)
    return made / np.linalg.norm(made)


def row(
    turn: int,
    said: str = "",
    *,
    like: Vector | None = None,
    terms: Sequence[str] | None = None,
    ts: int = NOW * 1_000,
) -> IndexRow:
    words = said.split() if terms is None else terms
    digest = f"{zlib.crc32(said.encode('utf-8', 'surrogatepass')):x}"
    return IndexRow(
        f"{SESSION}.{turn}", SESSION, turn, ts, said, f"Re: {said}", words, digest, like
    )


def ids(hits: Sequence[Hit]) -> list[int]:
    return [int(hit.id.rpartition(".")[2]) for hit in hits]


@pytest.fixture(scope="module")
def lite_uri(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with lite_server(tmp_path_factory.mktemp("lite")) as uri:
        yield uri


@pytest.fixture(scope="module")
def real_uri(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    if not can_run_real_server():
        pytest.skip("a network namespace takes Linux and root")
    with real_server(tmp_path_factory.mktemp("real")) as uri:
        yield uri


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "data" / "index.db"


@pytest.fixture
def closing() -> Iterator[list[MilvusIndex]]:
    opened: list[MilvusIndex] = []
    yield opened
    for index in opened:
        index.close()


@pytest.fixture
def open_folder(path: Path, closing: list[MilvusIndex]) -> Open:
    """Opens the index in `path`; with vectors of three numbers, if nothing else is asked for."""
    return _opener(IndexPlace(path), "me", closing)


@pytest.fixture(params=["folder", "lite", pytest.param("real", marks=stress)])
def open_index(request: pytest.FixtureRequest, path: Path, closing: list[MilvusIndex]) -> Open:
    """Opens the index of this test, on each kind of place."""
    if request.param == "folder":
        return _opener(IndexPlace(path), "me", closing)
    uri = request.getfixturevalue(f"{request.param}_uri")
    return _opener(IndexPlace(path, uri=uri), request.node.name, closing)


def _opener(place: IndexPlace, user: str, closing: list[MilvusIndex]) -> Open:
    def open_index(
        user: str = user,
        embedder: str | None = "tiny",
        dimension: int | None = 3,
        timeout: float = 5.0,
    ) -> MilvusIndex:
        index = open_milvus_index(
            place,
            user=user,
            embedder=embedder,
            dimension=dimension,
            timeout=timeout,
            clock=lambda: NOW,
        )
        closing.append(index)
        return index

    return open_index


@pytest.fixture
def index(open_index: Open) -> MilvusIndex:
    return open_index()


def with_words(index: MilvusIndex) -> MilvusIndex:
    if "no keyword search" in index.limits:
        pytest.skip("this server finds by meaning alone")
    return index


# --- What it is for -----------------------------------------------------------------------------


def test_finds_by_meaning(index: MemoryIndex) -> None:
    vectors = [vector(1, 0, 0), vector(1, 1, 0), vector(0, 1, 0.1), vector(-1, 0.2, 0)]
    index.upsert([row(turn, like=like) for turn, like in enumerate(vectors)])

    hits = index.search(vector(1, 0.1, 0), [], 10).dense

    assert ids(hits) == [0, 1, 2, 3]
    expected = [float(vector(1, 0.1, 0) @ like) for like in vectors]
    assert [hit.score for hit in hits] == pytest.approx(expected, abs=1e-3)
    assert ids(index.search(vector(1, 0.1, 0), [], 2).dense) == [0, 1]


def test_finds_by_words(index: MilvusIndex) -> None:
    with_words(index).upsert(
        [
            row(1, "we bought a red bicycle", like=vector(1, 0, 0)),
            row(2, "花 生 花生 过 敏 过敏", like=vector(0, 1, 0)),
            row(3, "the red red house", like=vector(0, 0, 1)),
            row(4, "nothing of it", like=vector(1, 1, 0)),
        ]
    )

    hits = index.search(None, ["red", "bicycle"], 10).keyword
    assert ids(hits) == [1, 3]
    assert hits[0].score > hits[1].score > 0
    assert ids(index.search(None, ["花生", "过敏"], 10).keyword) == [2]
    assert ids(index.search(None, ["red"], 1).keyword) == [3]
    assert index.search(None, ["zebra"], 10).keyword == []


def test_nothing_is_found_by_nothing(index: MilvusIndex) -> None:
    index.upsert([row(1, "red", like=vector(1, 0, 0))])
    found = index.search(None, [], 10)
    assert (found.dense, found.keyword) == ([], [])
    found = index.search(vector(1, 0, 0), ["red"], 0)
    assert (list(found.dense), list(found.keyword)) == ([], [])


def test_an_empty_index_finds_nothing(index: MilvusIndex) -> None:
    found = index.search(vector(1, 0, 0), ["red"], 10)
    assert (found.dense, found.keyword) == ([], [])
    assert (index.count(), dict(index.digests()), index.newest(10)) == (0, {}, [])


def test_rows_come_back_as_they_went_in(index: MilvusIndex) -> None:
    kept = row(7, 'He said "hi" \\ it\'s 你好 👋\n', like=vector(1, 2, 3), ts=1_700_000_000_123)
    index.upsert([kept, row(8, "other", like=vector(1, 0, 0))])

    (back,) = index.rows([kept.id, kept.id, f"{SESSION}.99"])

    assert (back.id, back.session, back.turn, back.ts) == (kept.id, SESSION, 7, kept.ts)
    assert (back.user, back.assistant, back.digest) == (kept.user, kept.assistant, kept.digest)
    assert list(back.terms) == list(kept.terms)
    assert back.vector == pytest.approx(kept.vector)
    assert index.rows([]) == []


def test_a_row_without_a_vector_is_found_by_its_words_alone(index: MilvusIndex) -> None:
    with_words(index).upsert([row(1, "red"), row(2, "red", like=vector(1, 0, 0))])

    found = index.search(vector(-1, 0.1, 0), ["red"], 10)

    assert ids(found.dense) == [2]
    assert sorted(ids(found.keyword)) == [1, 2]
    (back,) = index.rows([f"{SESSION}.1"])
    assert back.vector is None


def test_the_same_id_replaces(index: MilvusIndex) -> None:
    index.upsert([row(1, "red", like=vector(1, 0, 0)), row(2, "blue", like=vector(0, 1, 0))])
    index.flush()
    again = [row(1, "white", like=vector(0, 0, 1)), row(1, "green", like=vector(0, 0, 1))]
    index.upsert(again)

    assert index.count() == 2
    assert index.digests()[f"{SESSION}.1"] == again[1].digest
    assert ids(index.search(vector(0, 0, 1), [], 1).dense) == [1]
    assert index.search(vector(1, 0, 0), ["red"], 10).keyword == []
    assert [found.user for found in index.rows([f"{SESSION}.1"])] == ["green"]


def test_what_is_deleted_is_in_no_later_search(index: MilvusIndex) -> None:
    index.upsert([row(turn, "red", like=vector(1, turn, 0)) for turn in range(4)])
    index.flush()
    index.upsert([row(4, "red", like=vector(1, 4, 0))])

    index.delete([f"{SESSION}.{turn}" for turn in (1, 4, 77)])

    found = index.search(vector(1, 1, 0), ["red"], 10)
    assert sorted(ids(found.dense)) == [0, 2, 3]
    assert sorted(ids(found.keyword)) in ([0, 2, 3], [])
    assert index.count() == 3
    assert index.rows([f"{SESSION}.1"]) == []
    assert sorted(index.digests()) == [f"{SESSION}.{turn}" for turn in (0, 2, 3)]


def test_newest_gives_all_of_a_few_and_the_last_days_of_many(index: MilvusIndex) -> None:
    old = [row(turn, like=vector(1, 1, 1), ts=(NOW * 1_000 - 900 * DAY_MS)) for turn in range(6)]
    new = [row(turn, like=vector(1, 1, 1), ts=NOW * 1_000 - turn) for turn in range(6, 10)]
    index.upsert([*old, *new])
    index.flush()

    assert [found.turn for found in index.newest(4)] == [6, 7, 8, 9]
    assert len(index.newest(7)) == 7
    assert sorted(found.turn for found in index.newest(50)) == list(range(10))
    assert index.newest(0) == []


def test_users_never_see_each_other(open_index: Open) -> None:
    mine, other = open_index(), None
    mine.upsert([row(1, "red", like=vector(1, 0, 0))])
    if "folder" in mine.place:
        mine.close()
    other = open_index(user="小红")

    found = other.search(vector(1, 0, 0), ["red"], 10)
    assert (found.dense, found.keyword) == ([], [])
    assert (other.count(), dict(other.digests())) == (0, {})
    assert (other.rows([f"{SESSION}.1"]), other.newest(5)) == ([], [])

    other.upsert([row(1, "blue", like=vector(0, 1, 0))])
    other.delete([f"{SESSION}.1"])
    other.close()
    assert open_index().count() == 1


def test_another_embedder_has_an_index_of_its_own(open_index: Open) -> None:
    first = open_index()
    first.upsert([row(1, "red", like=vector(1, 0, 0))])
    first.close()

    assert open_index(embedder="tiny 2").count() == 0


@pytest.mark.parametrize(
    "bad",
    [
        np.ones(2, dtype=np.float32),
        np.ones((3, 1), dtype=np.float32),
        np.asarray([1, 0, math.nan], dtype=np.float32),
        np.asarray([math.inf, 0, 0], dtype=np.float32),
    ],
    ids=["too short", "two-dimensional", "NaN", "infinite"],
)
def test_a_vector_that_does_not_fit_is_refused(index: MilvusIndex, bad: Vector) -> None:
    with pytest.raises(IndexMismatch, match="Nothing was written"):
        index.upsert([row(1, "red", like=vector(1, 0, 0)), row(2, "blue", like=bad)])
    with pytest.raises(IndexMismatch):
        index.search(bad, [], 5)
    assert index.count() == 0
    index.upsert([row(1, "red", like=vector(1, 0, 0))])
    assert index.count() == 1


@pytest.mark.parametrize(
    ("said", "back"),
    [
        ("", ""),
        ("👩‍👩‍👧‍👦🏳️‍🌈", "👩‍👩‍👧‍👦🏳️‍🌈"),
        ("a\x00b", "a�b"),
        ("a\ud83db", "a�b"),
        ("x" * 200_000, "x" * 60_000),
        ("记" * 100_000, "记" * 20_000),
        ('"\\' * 50_000, '"\\' * 30_000),
    ],
    ids=["empty", "emoji", "NUL", "lone surrogate", "200 kB", "300 kB of Chinese", "quotes"],
)
def test_any_text_is_taken(index: MilvusIndex, said: str, back: str) -> None:
    words = ["word", "字", *(f"w{number}" for number in range(len(said) // 5))]
    index.upsert([row(1, said, like=vector(1, 0, 0), terms=words)])

    (found,) = index.rows([f"{SESSION}.1"])

    assert found.user == back
    assert found.assistant.startswith(f"Re: {back[:100]}")
    assert len(found.assistant.encode()) <= 60_000
    assert list(found.terms) == words[: len(found.terms)]
    assert len(found.terms) == len(words) or len(" ".join(found.terms).encode()) > 59_000
    if index.limits == "":
        assert ids(index.search(None, words, 5).keyword) == [1]


@pytest.mark.parametrize(
    "bad", ['s".1', "s'.1", "s\\.1", "s.1 or true", "s\n.1", "会.1", "", "s" * 101]
)
def test_ids_that_could_be_read_as_a_filter_are_refused(index: MilvusIndex, bad: str) -> None:
    with pytest.raises(IndexMismatch, match="letters"):
        index.upsert([IndexRow(bad, "s", 1, 1, "", "", (), "", vector(1, 0, 0))])
    with pytest.raises(IndexMismatch):
        index.rows([bad])
    with pytest.raises(IndexMismatch):
        index.delete([bad])
    assert index.count() == 0


def test_without_an_embedder_words_alone_are_found(open_index: Open) -> None:
    with_vectors = open_index()
    with_vectors.close()
    if "no keyword search" in with_vectors.limits:
        with pytest.raises(IndexUnavailable, match="no keyword search"):
            open_index(embedder=None, dimension=None)
        return
    index = open_index(user="words", embedder=None, dimension=None)
    assert "no embedder" in index.limits
    index.upsert([row(1, "red"), row(2, "blue")])
    index.flush()

    assert ids(index.search(None, ["blue"], 5).keyword) == [2]
    assert {found.vector for found in index.newest(5)} == {None}
    with pytest.raises(IndexMismatch):
        index.upsert([row(3, "green", like=vector(1, 0, 0))])
    with pytest.raises(IndexMismatch):
        index.search(vector(1, 0, 0), [], 5)


@pytest.mark.parametrize("flushed", [True, False])
def test_everything_is_there_when_it_is_opened_again(open_index: Open, flushed: bool) -> None:
    index = open_index()
    index.upsert([row(turn, "red", like=vector(1, turn, 0)) for turn in range(5)])
    if flushed:
        index.flush()
    index.delete([f"{SESSION}.0"])
    index.close()

    again = open_index()

    assert again.count() == 4
    assert ids(again.search(vector(1, 1, 0), [], 1).dense) == [1]


def test_a_closed_index_says_so(index: MilvusIndex) -> None:
    index.close()
    index.close()
    for ask in (index.count, index.digests, lambda: index.upsert([row(1)])):
        with pytest.raises(IndexUnavailable, match="closed"):
            ask()


def test_one_thread_searches_while_another_writes(index: MilvusIndex) -> None:
    index.upsert([row(0, "red", like=vector(1, 0, 0))])
    written = threading.Event()

    def write() -> None:
        for start in range(0, 600, 50):
            many = range(start + 1, start + 51)
            index.upsert([row(turn, "blue", like=vector(0, 1, turn)) for turn in many])
            index.flush()
        written.set()

    writer = threading.Thread(target=write)
    writer.start()
    searches = 0
    while not written.is_set() or not searches:
        assert ids(index.search(vector(1, 0, 0), ["red"], 1).dense) == [0]
        searches += 1
        if not writer.is_alive():
            break
    writer.join()
    assert written.is_set()
    assert index.count() == 601


@pytest.mark.stress
@pytest.mark.skipif(not STRESS, reason="half a minute: ASSISTANT_STRESS=1 runs it")
def test_digests_of_more_rows_than_a_server_gives_at_once(open_index: Open) -> None:
    index = open_index()
    rows = [row(turn, "a", like=vector(1, turn, 0)) for turn in range(17_000)]
    for start in range(0, 17_000, 1_000):
        index.upsert(rows[start : start + 1_000])
    index.flush()
    assert index.digests() == {each.id: each.digest for each in rows}
    assert index.count() == 17_000


# --- The folder ---------------------------------------------------------------------------------


def test_opening_with_another_embedder_drops_what_the_last_one_made(
    open_folder: Open, path: Path
) -> None:
    for embedder, dimension in (("tiny", 3), ("tiny", 4), ("other", 3), (None, None)):
        open_folder(embedder=embedder, dimension=dimension).close()
        mine = list((path / "collections").iterdir())
        assert len(mine) == 1
    open_folder(user="you").close()
    assert len(list((path / "collections").iterdir())) == 2


def test_nobody_else_can_reach_it(open_folder: Open, path: Path) -> None:
    open_folder()
    assert stat.S_IMODE(path.stat().st_mode) == 0o700

    own = set()
    for descriptor in Path("/proc/self/fd").iterdir():
        if (target := os.path.realpath(descriptor)).startswith(f"/proc/{os.getpid()}/fd/socket:"):
            own.add(target.rpartition("[")[2].rstrip("]"))
    assert own
    for table in ("tcp", "tcp6"):
        lines = Path("/proc/self/net", table).read_text().splitlines()[1:]
        listening = {line.split()[9] for line in lines if line.split()[3] == "0A"}
        assert not own & listening


def test_a_folder_in_use_is_locked(open_folder: Open, path: Path) -> None:
    index = open_folder()
    with pytest.raises(IndexLocked, match="Another running assistant") as raised:
        open_folder()
    assert "Nothing is lost" in str(raised.value)
    with pytest.raises(IndexLocked):
        set_aside(path, "1")
    index.upsert([row(1, like=vector(1, 0, 0))])
    assert index.count() == 1


def test_the_lock_is_asked_for_before_pymilvus_is_imported(path: Path) -> None:
    path.mkdir(parents=True)
    with open(path / "LOCK", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        out = run(
            """
            try:
                open_index()
            except IndexLocked:
                print(sorted({"pymilvus", "milvus_lite", "grpc", "numpy"} & set(sys.modules)))
            """,
            path,
        )
    assert out == "[]\n"


def test_another_process_can_open_it_as_soon_as_it_is_closed(open_folder: Open, path: Path) -> None:
    index = open_folder()
    index.upsert([row(1, like=vector(1, 0, 0))])
    index.close()
    out = run("index = open_index(); print(index.count()); index.close()", path)
    assert out == "1\n"
    assert open_folder().count() == 1


def test_rows_of_a_process_that_was_killed_are_there(open_folder: Open, path: Path) -> None:
    run(
        """
        index = open_index()
        index.upsert([row(1), row(2)])
        index.flush()
        index.upsert([row(3)])
        os.kill(os.getpid(), signal.SIGKILL)
        """,
        path,
        code=-signal.SIGKILL,
    )
    assert open_folder().count() == 3
    assert not list(path.parent.parent.glob("assistant-*"))


def test_nothing_is_ever_printed(path: Path) -> None:
    damaged = path.with_name("damaged.db")
    out = run(
        f"""
        index = open_index()
        index.upsert([row(1)])
        index.flush()
        for act in (
            lambda: index.upsert([row("a b")]),
            lambda: open_index(),
            lambda: open_index(uri="unix:/nowhere/at/all"),
            lambda: open_index(uri="http://127.0.0.1:1"),
            lambda: open_index(path=Path({str(damaged)!r})),
        ):
            try:
                act()
            except MemoryIndexError:
                continue
            raise AssertionError(act)
        shutil.rmtree(index._place.path)
        try:
            index.upsert([row(2)])
        except MemoryIndexError:
            sys.exit(0)  # Without closing it.
        """,
        path,
        before=lambda: damage(damaged, "collection folder without a schema"),
    )
    assert out == ""


def test_pymilvus_reads_no_settings_of_its_own(path: Path, tmp_path: Path) -> None:
    (tmp_path / ".env").write_text("STRAY=1\nMILVUS_CONN_TIMEOUT=long\n")
    out = run(
        """
        index = open_index()
        index.close()
        print("STRAY" in os.environ, os.environ["MILVUS_URI"], os.environ["MILVUS_CONN_TIMEOUT"])
        print("PYTHON_DOTENV_DISABLED" in os.environ)
        """,
        path,
        MILVUS_URI="nonsense",
        MILVUS_CONN_TIMEOUT="long",
    )
    assert out == "False nonsense long\nFalse\n"


@pytest.mark.parametrize("library", ["pymilvus", "milvus_lite"])
def test_a_library_that_is_missing_is_no_damage(path: Path, library: str) -> None:
    out = run(
        f"""
        sys.modules[{library!r}] = None
        try:
            open_index()
        except IndexUnavailable as error:
            print(error)
        """,
        path,
    )
    assert "Install pymilvus and milvus-lite" in out


DAMAGES = [
    "a file in its place",
    "both manifests cut",
    "schema cut",
    "collection folder without a schema",
    "rows cut",
]


def damage(path: Path, how: str) -> None:
    """Make an index with a few rows, and do to it what crashes and other programs do."""
    index = open_milvus_index(IndexPlace(path), user="me", embedder="tiny", dimension=3)
    index.upsert([row(turn, "red", like=vector(1, turn, 0)) for turn in range(5)])
    index.close()
    (collection,) = (path / "collections").iterdir()
    if how == "a file in its place":
        shutil.rmtree(path)
        path.write_bytes(b"SQLite format 3\x00")
    elif how == "both manifests cut":
        for manifest in collection.glob("manifest.json*"):
            manifest.write_bytes(manifest.read_bytes()[:20])
    elif how == "schema cut":
        (collection / "schema.json").write_bytes(b'{"fields": [')
    elif how == "collection folder without a schema":
        (collection / "schema.json").unlink()
    elif how == "rows cut":
        (rows,) = collection.glob("partitions/*/data/*.parquet")
        rows.write_bytes(rows.read_bytes()[:100])


@pytest.mark.parametrize("how", DAMAGES)
def test_what_is_damaged_can_be_set_aside_and_made_anew(
    open_folder: Open, path: Path, how: str
) -> None:
    damage(path, how)
    with pytest.raises(IndexBroken) as raised:
        open_folder()
    assert "Nothing is lost" in str(raised.value)

    aside = set_aside(path, "20260304T050607")

    assert aside.name == "index.db.corrupt-20260304T050607"
    assert aside.exists()
    assert not path.exists()
    index = open_folder()
    assert index.count() == 0
    index.upsert([row(1, like=vector(1, 0, 0))])


def test_a_folder_deleted_while_it_is_open_takes_no_more(open_folder: Open, path: Path) -> None:
    out = run(
        """
        index = open_index()
        index.upsert([row(1)])
        shutil.rmtree(index._place.path)
        for write in (lambda: index.upsert([row(2)]), lambda: index.delete([row(1).id])):
            try:
                write()
            except MemoryIndexError as error:
                print(type(error).__name__, error)
        print(index.broken_off, len(index.search(VECTOR, [], 5).dense))
        index.close()
        """,
        path,
    )
    deleted, broken_off, still_found = out.splitlines()
    assert deleted.startswith("IndexBroken")
    assert "deleted while it was in use" in deleted
    assert broken_off.startswith("IndexUnavailable")
    assert "opened again" in broken_off
    assert still_found == "True 1"
    assert not path.exists()
    assert open_folder().count() == 0


def test_a_disk_that_is_full_is_no_damage(path: Path, open_folder: Open) -> None:
    out = run(
        """
        import resource

        index = open_index()
        index.upsert([row(turn) for turn in range(10)])
        wal = max(path.stat().st_size for path in index._place.path.glob("**/wal/*"))
        resource.setrlimit(resource.RLIMIT_FSIZE, (wal + 2_000, resource.RLIM_INFINITY))
        for turn in (20, 21):
            try:
                index.upsert([row(turn, "x" * 50_000)])
            except IndexUnavailable as error:
                print(error)
        print(index.broken_off, len(index.search(VECTOR, [], 50).dense))
        resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY,) * 2)
        index.close()
        """,
        path,
    )
    full, broken_off, still_found = out.splitlines()
    assert "is full" in full
    assert "takes nothing more" in broken_off
    assert still_found == "True 10"
    index = open_folder()
    assert index.count() == 10
    index.upsert([row(20, like=vector(1, 0, 0))])


def test_a_folder_that_can_not_be_written_is_no_damage(
    tmp_path: Path, closing: list[MilvusIndex]
) -> None:
    disk = tmp_path / "disk"
    disk.mkdir()
    if os.geteuid() == 0:
        # Rights don't bind root; a disk that is mounted for reading does.
        if subprocess.run(
            ["mount", "-t", "tmpfs", "none", disk], stderr=subprocess.DEVNULL
        ).returncode:
            pytest.skip("mounting is not allowed here")
        close_disk = ["mount", "-o", "remount,ro", disk]
        give_back = ["umount", disk]
    else:
        close_disk, give_back = ["chmod", "-R", "a-w", disk], ["chmod", "-R", "u+w", disk]
    try:
        for name in ("old", "new"):
            open_folder = _opener(IndexPlace(disk / name / "index.db"), "me", closing)
            if name == "old":
                open_folder().close()
                subprocess.run(close_disk, check=True)
            with pytest.raises(IndexUnavailable, match="can't be read or written"):
                open_folder()
    finally:
        subprocess.run(give_back, check=True)


# --- The server ---------------------------------------------------------------------------------


def test_a_server_is_named_without_its_password() -> None:
    place = IndexPlace(Path("x"), uri="https://me:secret@example.org:19530/db", token="secret")
    assert str(place) == "the Milvus server at example.org:19530"


@pytest.mark.parametrize(
    "uri",
    [
        "localhost:19530",
        "secret",
        "http://me:secret@host:port",
        "./secret.db",
        "ftp://secret",
        "http://[secret",
    ],
)
def test_an_address_that_is_none_is_told_without_repeating_it(path: Path, uri: str) -> None:
    with pytest.raises(IndexUnavailable, match="MILVUS_URI is not the address") as raised:
        open_milvus_index(IndexPlace(path, uri=uri), user="me", embedder="tiny", dimension=3)
    assert "secret" not in str(raised.value)


@pytest.mark.parametrize("uri", ["unix:/nowhere/at/all", "http://127.0.0.1:1"])
def test_a_server_that_is_not_there(path: Path, uri: str) -> None:
    with pytest.raises(IndexUnavailable, match="can't be reached") as raised:
        open_milvus_index(IndexPlace(path, uri=uri), user="me", embedder="tiny", dimension=3)
    assert "Nothing is lost" in str(raised.value)


def test_a_server_that_takes_no_token(path: Path, tmp_path: Path) -> None:
    with refusing_server(tmp_path) as uri:
        place = IndexPlace(path, uri=uri, token="secret")
        with pytest.raises(IndexUnavailable, match="refused the token") as raised:
            open_milvus_index(place, user="me", embedder="tiny", dimension=3)
    assert "secret" not in str(raised.value)


def test_a_server_that_never_answers(path: Path, tmp_path: Path) -> None:
    with hanging_server(tmp_path) as uri:
        place = IndexPlace(path, uri=uri)
        with pytest.raises(IndexUnavailable, match=r"in time|can't be reached"):
            open_milvus_index(place, user="me", embedder="tiny", dimension=3, timeout=0.3)


def test_a_server_that_stops_answering_is_given_up(
    tmp_path: Path, path: Path, closing: list[MilvusIndex]
) -> None:
    with lite_server(tmp_path) as uri:
        index = _opener(IndexPlace(path, uri=uri), "me", closing)(timeout=0.3)
        index.upsert([row(1, "red", like=vector(1, 0, 0))])
        (server,) = children(str(tmp_path / "lite.db"))
        os.kill(server, signal.SIGSTOP)
        try:
            with pytest.raises(IndexUnavailable, match="in time"):
                index.search(vector(1, 0, 0), ["red"], 5)
            writer = threading.Thread(target=index.upsert, args=([row(2, like=vector(1, 0, 0))],))
            writer.start()
            with pytest.raises(IndexUnavailable, match=r"busy|in time"):
                index.search(vector(1, 0, 0), ["red"], 5)
        finally:
            os.kill(server, signal.SIGCONT)
        writer.join()
        assert index.count() == 2


# --- Helpers ------------------------------------------------------------------------------------


def children(word: str) -> list[int]:
    """The processes this one started that have a word in their command."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            parent = int(folder.joinpath("stat").read_text().rpartition(")")[2].split()[1])
            if parent == os.getpid() and word in folder.joinpath("cmdline").read_text():
                found.append(int(folder.name))
        except OSError:
            continue
    return found


PRELUDE = f"""
import os, shutil, signal, sys
from pathlib import Path

from assistant.errors import IndexLocked, IndexUnavailable, MemoryIndexError
from assistant.protocols import IndexRow
from assistant.providers.milvus_index import IndexPlace, open_milvus_index

VECTOR = [1.0, 0.0, 0.0]

def open_index(path=Path(sys.argv[1]), uri=None):
    place = IndexPlace(path, uri=uri)
    return open_milvus_index(place, user="me", embedder="tiny", dimension=3)

def row(turn, said="red"):
    id = f"{SESSION}.{{turn}}"
    return IndexRow(id, "{SESSION}", turn, 1, said, "", [said[:10]], "d", VECTOR)
"""


def run(
    program: str,
    path: Path,
    *,
    code: int = 0,
    before: Callable[[], None] = lambda: None,
    **environment: str,
) -> str:
    """What another process prints that runs `program`; it may not print anything to stderr."""
    before()
    folder = path.parent.parent
    done = subprocess.run(
        [sys.executable, "-c", PRELUDE + textwrap.dedent(program), str(path)],
        capture_output=True,
        text=True,
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT), "TMPDIR": str(folder), **environment},
        timeout=60,
    )
    assert (done.returncode, done.stderr) == (code, "")
    return done.stdout
