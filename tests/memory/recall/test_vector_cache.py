"""VectorCache on real files: kept, forgotten, shared, damaged. CachedEmbedder over it."""

from __future__ import annotations

import os
import sqlite3
import stat
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from assistant.errors import EmbedderUnavailable
from assistant.memory.recall.vector_cache import KEPT_AT_ONCE, CachedEmbedder, VectorCache
from assistant.protocols import Embedder
from tests.fakes import FakeEmbedder

ROOT = Path(__file__).parents[3]
SECRET = "The code of the door is 4711."


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "data" / "vectors.sqlite3"


@pytest.fixture
def cache(path: Path) -> VectorCache:
    return VectorCache(path)


def vector(number: int, dimension: int = 8) -> NDArray[np.float32]:
    found = np.random.default_rng(number).normal(size=dimension).astype(np.float32)
    return found / np.linalg.norm(found)


def kept(cache: VectorCache, embedder: str, text: str) -> list[float] | None:
    (found,) = cache.get(embedder, [text])
    return None if found is None else list(found)


# Keeping


def test_what_was_put_comes_back_as_it_was(cache: VectorCache, path: Path) -> None:
    cache.put("letters", ["tea", "milk"], [vector(1), vector(2)])
    cache.close()

    tea, rye, milk = VectorCache(path).get("letters", ["tea", "rye", "milk"])

    assert rye is None
    assert tea is not None
    assert tea.dtype == np.float32
    assert tea.tobytes() == vector(1).tobytes()
    assert milk is not None
    assert milk.tobytes() == vector(2).tobytes()


def test_embedders_are_kept_apart(cache: VectorCache) -> None:
    cache.put("one", ["tea"], [vector(1)])
    cache.put("two", ["tea"], [vector(2)])
    assert kept(cache, "one", "tea") == list(vector(1))
    assert kept(cache, "two", "tea") == list(vector(2))
    assert kept(cache, "three", "tea") is None
    assert cache.count() == 2


def test_a_newer_vector_takes_the_place_of_the_old_one(cache: VectorCache) -> None:
    cache.put("one", ["tea"], [vector(1)])
    cache.put("one", ["tea"], [vector(2)])
    assert kept(cache, "one", "tea") == list(vector(2))
    assert cache.count() == 1


def test_any_text_and_any_number_of_them(cache: VectorCache) -> None:
    texts = ["", "\0", "\ud83d", "喝茶", "x" * 200_000, *(str(n) for n in range(2_000))]
    cache.put("one", texts, [vector(n) for n in range(len(texts))])
    found = cache.get("one", texts)
    assert [list(v) if v is not None else None for v in found] == [
        list(vector(n)) for n in range(len(texts))
    ]


def test_the_file_is_private_and_holds_no_text(cache: VectorCache, path: Path) -> None:
    old = os.umask(0)
    try:
        cache.put("one", [SECRET], [vector(1)])
    finally:
        os.umask(old)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    assert [file.name for file in path.parent.iterdir()] == [path.name]
    data = path.read_bytes()
    assert vector(1).tobytes() in data
    assert b"4711" not in data


def test_without_a_path_nothing_is_kept(tmp_path: Path) -> None:
    cache = VectorCache(None)
    cache.put("one", ["tea"], [vector(1)])
    assert kept(cache, "one", "tea") is None
    assert cache.count() == 0
    assert list(tmp_path.iterdir()) == []


# What can be wrong with the file


class closing_connection:
    """A connection of somebody else, closed at the end."""

    def __init__(self, path: Path) -> None:
        self._opened = sqlite3.connect(path, isolation_level=None)

    def __enter__(self) -> sqlite3.Connection:
        return self._opened

    def __exit__(self, *_: object) -> None:
        self._opened.close()


def test_a_locked_file_is_done_without_until_it_is_free(cache: VectorCache, path: Path) -> None:
    cache.put("one", ["tea"], [vector(1)])
    with closing_connection(path) as other:
        other.execute("BEGIN EXCLUSIVE")
        assert kept(cache, "one", "tea") is None
        cache.put("one", ["milk"], [vector(2)])
    assert kept(cache, "one", "tea") == list(vector(1))
    assert kept(cache, "one", "milk") is None


def truncated(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:5_000])


def overwritten(path: Path) -> None:
    path.write_bytes(b"This is no database. " * 1_000)


def scratched(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[4_096:8_192] = b"\xff" * 4_096
    path.write_bytes(data)


def of_another_kind(path: Path) -> None:
    path.unlink()
    with closing_connection(path) as other:
        other.execute("CREATE TABLE vectors (name TEXT)")


@pytest.mark.parametrize("damage", [truncated, overwritten, scratched, of_another_kind])
def test_a_damaged_file_is_made_anew(path: Path, damage: object) -> None:
    assert callable(damage)
    first = VectorCache(path)
    first.put("one", [str(n) for n in range(500)], [vector(n) for n in range(500)])
    first.close()
    damage(path)

    cache = VectorCache(path)
    assert cache.get("one", [str(n) for n in range(500)]) == [None] * 500
    cache.put("one", ["tea"], [vector(1)])
    assert kept(cache, "one", "tea") == list(vector(1))
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    cache.close()


@pytest.mark.parametrize("blob", [b"", b"odd", b"\0" * 32, b"\xff" * 32, b"\0\0\x80\x7f" * 8])
def test_what_is_no_vector_is_not_used(cache: VectorCache, path: Path, blob: bytes) -> None:
    cache.put("one", ["tea"], [vector(1)])
    with closing_connection(path) as other:
        other.execute("UPDATE vectors SET vector = ?", (blob,))
    assert kept(cache, "one", "tea") is None


def test_a_place_that_can_not_be_written_to_keeps_nothing(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    (tmp_path / "folder").mkdir()
    for path in (tmp_path / "file" / "vectors.sqlite3", tmp_path / "folder"):
        cache = VectorCache(path)
        cache.put("one", ["tea"], [vector(1)])
        assert kept(cache, "one", "tea") is None
        assert cache.count() == 0


def test_a_file_that_vanished_harms_nobody(cache: VectorCache, path: Path) -> None:
    cache.put("one", ["tea"], [vector(1)])
    path.unlink()
    cache.put("one", ["milk"], [vector(2)])
    cache.close()
    assert kept(cache, "one", "tea") is None


WRITER = """
import sys
from pathlib import Path
import numpy as np
from assistant.memory.recall.vector_cache import VectorCache
cache = VectorCache(Path(sys.argv[1]))
one = np.array([1, 0], dtype=np.float32)
for number in range(40):
    cache.put("one", [f"{sys.argv[2]} {number}"], [one])
    cache.get("one", ["a 0", "b 0"])
"""


def test_two_processes_write_at_once(path: Path) -> None:
    writers = [
        subprocess.Popen([sys.executable, "-c", WRITER, str(path), name], cwd=ROOT)
        for name in ("a", "b")
    ]
    assert [writer.wait(30) for writer in writers] == [0, 0]
    assert VectorCache(path).count() == 80


def test_threads_share_one(cache: VectorCache) -> None:
    def put(first: int) -> None:
        for number in range(first, first + 20):
            cache.put("one", [str(number)], [vector(number)])
            cache.get("one", [str(number)])

    threads = [threading.Thread(target=put, args=(first,)) for first in (0, 20, 40)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [kept(cache, "one", str(n)) for n in range(60)] == [list(vector(n)) for n in range(60)]


# The embedder over it


def test_only_what_is_missing_is_embedded(cache: VectorCache) -> None:
    letters = FakeEmbedder()
    embedder: Embedder = CachedEmbedder(letters, cache)
    embedder.embed_documents(["tea", "milk"])

    again = embedder.embed_documents(["milk", "rye", "tea", "rye"])

    assert letters.embedded == ["tea", "milk", "rye"]
    for text, found in zip(["milk", "rye", "tea", "rye"], again, strict=True):
        assert list(found) == list(letters.embed_query(text))


def test_is_the_embedder_it_was_given(cache: VectorCache) -> None:
    letters = FakeEmbedder()
    embedder = CachedEmbedder(letters, cache)
    assert (embedder.name, embedder.dimension()) == ("letters", 26)
    assert list(embedder.embed_query("tea")) == list(letters.embed_query("tea"))
    assert embedder.embed_documents([]) == []


def test_questions_leave_no_trace(cache: VectorCache) -> None:
    CachedEmbedder(FakeEmbedder(), cache).embed_query(SECRET)
    assert cache.count() == 0


def test_a_vector_of_another_dimension_is_made_anew(cache: VectorCache) -> None:
    cache.put("letters", ["tea"], [vector(1, dimension=25)])
    letters = FakeEmbedder()
    embedder = CachedEmbedder(letters, cache)
    assert len(embedder.embed_documents(["tea"])[0]) == 26
    assert letters.embedded == ["tea"]
    embedder.embed_documents(["tea"])
    assert letters.embedded == ["tea"]


def test_what_was_embedded_before_a_failure_is_kept(cache: VectorCache) -> None:
    texts = [f"text {chr(97 + n % 26)} {n}" for n in range(KEPT_AT_ONCE + 10)]

    class Failing(FakeEmbedder):
        def embed_documents(self, texts):  # type: ignore[no-untyped-def]
            if self.embedded:
                raise EmbedderUnavailable("gone")
            return super().embed_documents(texts)

    with pytest.raises(EmbedderUnavailable):
        CachedEmbedder(Failing(), cache).embed_documents(texts)
    assert cache.count() == KEPT_AT_ONCE

    letters = FakeEmbedder()
    CachedEmbedder(letters, cache).embed_documents(texts)
    assert letters.embedded == texts[KEPT_AT_ONCE:]


def test_without_a_usable_cache_it_still_embeds(tmp_path: Path) -> None:
    for path in (None, tmp_path):
        letters = FakeEmbedder()
        embedder = CachedEmbedder(letters, VectorCache(path))
        assert len(embedder.embed_documents(["tea"])) == 1
        embedder.close()


def test_imports_nothing_heavy() -> None:
    program = (
        "import sys, assistant.memory.recall.vector_cache\n"
        "print(sorted({'numpy', 'openai'} & set(sys.modules)))"
    )
    run = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert run.stdout == "[]\n"
