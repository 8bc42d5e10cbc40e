"""What a turn costs beside the model and the embedder, stage by stage, and what LangGraph's costs.

    python -m benchmarks.turn [--turns N] [--large] [--peers FOLDER] [--folder FOLDER]

Real sessions and a real index, the pipeline as it is wired, a model that answers at once. Our own
stages go by the clock of the thread that waits for them; retrieval, and whatever is compared with
LangGraph, by the clock of the whole process, because other threads work for it.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import statistics
import subprocess
import tempfile
import time
import zlib
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import closing
from dataclasses import dataclass, field
from functools import cache
from itertools import accumulate
from multiprocessing import get_context
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias, get_args

from assistant.app import App, build_app, local_now
from assistant.memory.assembly import Shares
from assistant.memory.compaction.at_risk import at_risk
from assistant.memory.compaction.kept import keep, merged
from assistant.memory.recall.indexer import Indexer
from assistant.memory.recall.retriever import Retriever
from assistant.memory.session import Session
from assistant.memory.session_log import SessionRecord, encode
from assistant.memory.token_budget import TokenBudget
from assistant.messages import Message, Summary
from assistant.prompt import Recollection, ToolSchema
from assistant.protocols import ReplyPart
from assistant.providers.milvus_home import MilvusHome
from assistant.settings import load_settings
from assistant.turn import Event, Pipeline, Turn, run_turn
from benchmarks.instant_model import NOTES, InstantModel
from benchmarks.session_files import BEGUN, PAUSE, texts, write_session
from benchmarks.table import Aim, table_text

if TYPE_CHECKING:
    from assistant.protocols import Vector

#: In the order of `run_turn`; `keep` is saving the reply.
Stage: TypeAlias = Literal["save", "budget", "retrieve", "assemble", "stream", "keep", "hand over"]
STAGES: Sequence[Stage] = get_args(Stage)

SIZES = (100, 1_000, 5_000, 10_000, 100_000)
PEER_SIZES = (100, 1_000, 5_000)
INDEX_SIZES = (100, 1_000, 10_000)
LARGE_INDEX = 100_000
PEER_TURNS = 10
WARM_UP = 3
"""Turns before the first that counts."""
RECENT = 8
"""Messages that no summary stands for yet, where a long session is gone on with."""
# Nothing listens here, and nothing is asked: the model is replaced.
NOWHERE = {"OPENAI_BASE_URL": "http://127.0.0.1:9/v1"}

PEERS = Path(__file__).parents[1] / ".venv-peers"
PEER_SCRIPT = Path(__file__).parent / "peers" / "langgraph_turn.py"


def main() -> None:
    options = _options()
    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        sizes = measure_sizes(Path(folder) / "long", options.turns)
        _report_sizes(sizes, options.turns)
        peers = measure_peers(Path(folder) / "peers", options.peers)
        _report_peers(peers, sizes)
        chosen = (*INDEX_SIZES, LARGE_INDEX) if options.large else INDEX_SIZES
        indexes = list(measure_indexes(Path(folder) / "index", chosen, options.turns))
        _report_indexes(indexes)
    for aim in _aims(sizes, peers, indexes):
        print(aim)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.turn", description=__doc__)
    parser.add_argument("--turns", type=int, default=30, help="turns of each size that count")
    parser.add_argument("--large", action="store_true", help=f"also {LARGE_INDEX:,} exchanges")
    parser.add_argument("--peers", type=Path, default=PEERS, help="made by `make bench-peers`")
    parser.add_argument("--folder", type=Path, help="a folder on the disk to measure")
    return parser.parse_args()


# --- one turn, stage by stage -------------------------------------------------------------------


class CannotMeasure(Exception):
    """Why there are no figures, in words."""


class Moment(NamedTuple):
    """Three clocks, in seconds."""

    wall: float
    thread: float
    process: float

    @classmethod
    def now(cls) -> Moment:
        return cls(time.perf_counter(), time.thread_time(), time.process_time())

    def since(self, earlier: Moment) -> Moment:
        return Moment(*(now - then for now, then in zip(self, earlier, strict=True)))


@dataclass
class Stages:
    """The stages of a turn; each ends where the next begins."""

    spent: dict[Stage, Moment] = field(default_factory=dict)
    _stage: Stage = "save"
    _begun: Moment = field(default_factory=Moment.now)

    def begin(self) -> None:
        self.spent = {}
        self._stage, self._begun = "save", Moment.now()

    def reach(self, stage: Stage) -> None:
        """End the stage before this one. Nothing, the second time a turn comes by."""
        if stage != self._stage and stage not in self.spent:
            self.end()
            self._stage, self._begun = stage, Moment.now()

    def end(self) -> None:
        self.spent[self._stage] = Moment.now().since(self._begun)


class MeasuredModel(InstantModel):
    def __init__(self, stages: Stages) -> None:
        super().__init__()
        self._stages = stages

    def stream(
        self,
        messages: Sequence[Message],
        *,
        tools: Sequence[ToolSchema] = (),
        may_call: bool = True,
        max_tokens: int,
    ) -> Iterator[ReplyPart]:
        self._stages.reach("stream")
        yield from super().stream(messages, tools=tools, may_call=may_call, max_tokens=max_tokens)
        self._stages.reach("keep")


class MeasuredRetriever(Retriever):
    def __init__(self, retriever: Retriever, stages: Stages) -> None:
        self._retriever = retriever
        self._stages = stages

    def recall(self, session: Session, shares: Shares) -> Recollection:
        self._stages.reach("retrieve")
        recollection = self._retriever.recall(session, shares)
        self._stages.reach("assemble")
        return recollection


@dataclass
class MeasuredPipeline(Pipeline):
    """A pipeline whose parts tell the stages when a turn comes to them."""

    stages: Stages

    @classmethod
    def of(cls, pipeline: Pipeline) -> MeasuredPipeline:
        stages = Stages()

        def hand_over(session: Session, turn: Turn) -> None:
            stages.reach("hand over")
            pipeline.hand_over(session, turn)

        parts: dict[str, Any] = {
            **vars(pipeline),
            "model": MeasuredModel(stages),
            "retriever": MeasuredRetriever(pipeline.retriever, stages),
            "hand_over": hand_over,
        }
        return cls(**parts, stages=stages)

    def budget(self) -> TokenBudget:
        self.stages.reach("budget")
        return super().budget()


@dataclass
class Turns:
    """What the turns of one session spent."""

    size: int
    """Messages in the session, or exchanges in the index, before the first."""
    stages: list[dict[Stage, Moment]] = field(default_factory=list)
    whole: list[Moment] = field(default_factory=list)
    """Until the worker had done what it was handed."""
    recalled: list[int] = field(default_factory=list)
    """Tokens."""

    @property
    def warm(self) -> Turns:
        """The same without the first of them."""
        kept = slice(WARM_UP, None)
        return Turns(self.size, self.stages[kept], self.whole[kept], self.recalled[kept])

    def of_stage(self, stage: Stage) -> list[Moment]:
        return [spent[stage] for spent in self.stages]

    @property
    def own(self) -> list[float]:
        """CPU seconds of the thread that waits, without retrieval."""
        return [_own(spent).thread for spent in self.stages]

    @property
    def own_wall(self) -> list[float]:
        return [_own(spent).wall for spent in self.stages]

    @property
    def all_threads(self) -> list[float]:
        """CPU seconds of the whole process, what the worker did afterwards included."""
        return [spent.process for spent in self.whole]


def _own(spent: dict[Stage, Moment]) -> Moment:
    """What all stages took but retrieval."""
    own = [moment for stage, moment in spent.items() if stage != "retrieve"]
    return Moment(*(sum(clock) for clock in zip(*own, strict=True)))


class Bench:
    """A program whose turns are measured."""

    def __init__(self, app: App) -> None:
        self._app = app
        app.pipeline.model = InstantModel()
        app.pipeline.counter.count("")  # load the tokenizer
        self._pipeline = MeasuredPipeline.of(app.pipeline)

    def take(self, question: str, session: Session, turns: Turns) -> None:
        """One turn, with the worker idle before and after it."""
        stages, begun = self._pipeline.stages, Moment.now()
        stages.begin()
        turn = run_turn(question, session, self._pipeline, _ignore)
        stages.end()
        assert self._app.worker.drain(timeout=60.0)
        turns.whole.append(Moment.now().since(begun))
        if problem := turn.prompt.recollection.problem:
            raise CannotMeasure(problem)
        turns.stages.append(stages.spent)
        turns.recalled += [one.tokens for one in turn.prompt.sections if one.name == "recalled"]


def _ignore(event: Event) -> None:
    """Drawing is no part of this."""


# --- the session's length -----------------------------------------------------------------------


def measure_sizes(home: Path, turns: int) -> Sequence[Turns]:
    """Turns in sessions of each size, which take turns. Nothing is recalled."""
    for messages in SIZES:
        write_session(home / "sessions" / f"size-{messages}.jsonl", messages)
    settings = load_settings(home, NOWHERE, {"memory.index": False, "budget.recalled": 0})
    app = build_app(settings, titles="words", environment={})
    with closing(app):
        bench = Bench(app)
        sessions = [app.store.open(f"size-{messages}") for messages in SIZES]
        for session in sessions:
            _summarize(session, app.pipeline)
        measured = [Turns(messages) for messages in SIZES]
        for number in range(WARM_UP + turns):
            question = texts()[number % len(texts())]
            for session, spent in zip(sessions, measured, strict=True):
                bench.take(question, session, spent)
        for session in sessions:
            session.close()
    return [one.warm for one in measured]


def _summarize(session: Session, pipeline: Pipeline) -> None:
    """Put the summary in force that such a session has: its turns were summarized as they came."""
    history = session.history
    covered = history.slice(range(len(history) - RECENT))
    items = merged(at_risk(covered[-100:]))
    summary = Summary(
        text=NOTES["en"],
        covers=(covered[0].id, covered[-1].id),
        ts=local_now(),
        kept=keep(items, 400, pipeline.counter.count).items,
    )
    session.summarize(summary, after=None)


# --- the index ----------------------------------------------------------------------------------


EXCHANGES_A_SESSION = 20
VOCABULARY = 20_000
MOST_FREQUENT = 100
"""Words so frequent that no search goes by them, and that are not drawn."""
CHARACTERS = 1_000
"""Those that Chinese texts are mostly written in."""
QUESTION_WORDS, REPLY_WORDS, ASKED_WORDS = 25, 75, 8


class HashedWords:
    """An embedder that costs next to nothing: a text is the sum of its words' random vectors."""

    name = "hashed words"

    def dimension(self) -> int:
        return 384

    def embed_documents(self, texts: Sequence[str]) -> Sequence[Vector]:
        return [self.embed_query(text) for text in texts]

    def embed_query(self, text: str) -> Vector:
        import numpy as np

        total = sum((_word_vector(word) for word in text.split()), np.full(384, 1e-6, np.float32))
        return np.asarray(total / np.linalg.norm(total), dtype=np.float32)

    def close(self) -> None:
        """Nothing is open."""


@cache
def _word_vector(word: str) -> Vector:
    import numpy as np

    numbers = np.random.default_rng(zlib.crc32(word.encode()))
    return numbers.standard_normal(384, dtype=np.float32)


def measure_indexes(folder: Path, sizes: Sequence[int], turns: int) -> Iterator[Turns]:
    """Turns beside an index of each size, in a process of its own, which has no other one open."""
    for exchanges in sizes:
        with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as process:
            work = process.submit(measure_index, folder / f"{exchanges}", exchanges, turns)
            try:
                yield work.result()
            except CannotMeasure as error:
                print(f"An index of {exchanges:,} exchanges was not measured: {error}\n")


def measure_index(home: Path, exchanges: int, turns: int) -> Turns:
    """Turns of a new session, beside an index of many exchanges of others."""
    for start in range(0, exchanges, EXCHANGES_A_SESSION):
        _write_exchanges(home / "sessions", range(start, start + EXCHANGES_A_SESSION))
    settings = load_settings(home, NOWHERE, {"memory.index": False})
    app = build_app(settings, titles="words", environment={})
    with closing(app):
        indexer = _indexed(app, home)
        measured, bench, session = Turns(exchanges), Bench(app), app.store.create()
        chance = random.Random(exchanges)
        for _ in range(WARM_UP + turns):
            bench.take(_question(chance.randrange(exchanges)), session, measured)
        session.close()
        indexer.close()
    return measured.warm


def _indexed(app: App, home: Path) -> Indexer:
    """All exchanges in an index, whose embedder is ours, and a pipeline that uses it."""
    indexer = Indexer(
        MilvusHome(home / "data" / "index.db", uri=None, token=None, user=lambda: "benchmark"),
        HashedWords,
        app.store,
        home / "data" / "index.json",
        submit=app.worker.submit,
        say=lambda sentence: None,
        clock=local_now,
        monotonic=time.monotonic,
    )
    indexer.start()
    while indexer.state != "ready":
        app.worker.drain(timeout=60.0)
        if indexer.state not in ("closed", "catching up", "ready"):
            raise CannotMeasure(indexer.status().detail)
    pipeline = app.pipeline
    pipeline.retriever = Retriever(
        indexer, app.store, pipeline.counter, clock=local_now, monotonic=time.monotonic
    )
    others = pipeline.hand_over

    def hand_over(session: Session, turn: Turn) -> None:
        exchange = session.exchange(turn.question.turn)
        assert exchange is not None
        indexer.add(exchange)
        others(session, turn)

    pipeline.hand_over = hand_over
    return indexer


def _write_exchanges(folder: Path, numbers: range) -> None:
    session = f"20260101-{numbers.start:06}-abc"
    records = [encode(SessionRecord(session, BEGUN, "assistant benchmark"))]
    for turn, number in enumerate(numbers, 1):
        user, reply = _exchange(number)
        ts = BEGUN + number * PAUSE
        records.append(encode(Message("user", user, id=2 * turn - 1, turn=turn, ts=ts)))
        records.append(encode(Message("assistant", reply, id=2 * turn, turn=turn, ts=ts)))
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{session}.jsonl").write_bytes(b"".join(records))


def _exchange(number: int) -> tuple[str, str]:
    """A question and its reply; every other one is Chinese."""
    chance = random.Random(number)
    drawn = chance.choices(
        range(VOCABULARY), cum_weights=_weights(), k=QUESTION_WORDS + REPLY_WORDS
    )
    words = [_chinese(word) if number % 2 else _english(word) for word in drawn]
    return " ".join(words[:QUESTION_WORDS]), " ".join(words[QUESTION_WORDS:])


def _question(number: int) -> str:
    """Some words of an exchange, so that there is something to recall."""
    user, reply = _exchange(number)
    return " ".join(random.Random(number).sample([*user.split(), *reply.split()], ASKED_WORDS))


@cache
def _weights() -> Sequence[float]:
    """Words are as frequent as they are in a language."""
    return list(accumulate(1 / (rank + MOST_FREQUENT) for rank in range(VOCABULARY)))


def _english(number: int) -> str:
    syllables = [consonant + vowel for consonant in "bdfgklmnprstvz" for vowel in "aeiou"]
    word = ""
    while number or not word:
        number, last = divmod(number, len(syllables))
        word += syllables[last]
    return word


def _chinese(number: int) -> str:
    """Two of CHARACTERS, spread over all words."""
    return chr(0x4E00 + number * 7_919 % CHARACTERS) + chr(0x4E00 + number * 104_729 % CHARACTERS)


# --- LangGraph ----------------------------------------------------------------------------------


class PeerTurns(NamedTuple):
    """What LangGraph's turns spent, used in one way on a thread of one size."""

    variant: str
    messages: int
    cpu: list[float]
    """Seconds of the whole process, whose other threads write its checkpoints."""
    wall: list[float]


def measure_peers(folder: Path, environment: Path) -> Sequence[PeerTurns]:
    """LangGraph on the same messages, with its own interpreter; nothing where that is missing."""
    python = environment / "bin" / "python"
    if not python.exists():
        print(f"LangGraph was not measured: {environment} is missing. `make bench-peers` makes it.")
        return ()
    files = [folder / f"size-{messages}.jsonl" for messages in PEER_SIZES]
    for file, messages in zip(files, PEER_SIZES, strict=True):
        write_session(file, messages)
    command: list[str | Path] = [python, PEER_SCRIPT, *files]
    command += ["--folder", folder, "--turns", str(PEER_TURNS)]
    kept = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    done = subprocess.run(
        command, env={**kept, "LANGSMITH_TRACING": "false"}, capture_output=True, text=True
    )
    if done.returncode:
        last = done.stderr.strip().rpartition("\n")[2]
        print(f"LangGraph was not measured: exit code {done.returncode}: {last}")
        return ()
    return [PeerTurns(**one) for one in json.loads(done.stdout)]


def _cheapest(peers: Sequence[PeerTurns], messages: int) -> PeerTurns | None:
    same = [one for one in peers if one.messages == messages]
    return min(same, key=lambda one: statistics.median(one.cpu), default=None)


# --- reporting ----------------------------------------------------------------------------------


def _report_sizes(sizes: Sequence[Turns], turns: int) -> None:
    shortest = sizes[0]
    print(f"One turn, medians of {turns}: ms of CPU of the thread that waits, by stage.\n")
    stages = [stage for stage in STAGES if stage != "retrieve"]
    heads = ("messages", *stages, "all", f"x {shortest.size}", "wall ms", "all threads")
    rows = [
        (
            f"{one.size:,}",
            *(_milliseconds([spent.thread for spent in one.of_stage(stage)]) for stage in stages),
            _milliseconds(one.own),
            f"{_ratio(one.own, shortest.own):.2f}",
            _milliseconds(one.own_wall),
            _milliseconds(one.all_threads),
        )
        for one in sizes
    ]
    print(table_text(heads, rows), end="\n\n")


def _report_peers(peers: Sequence[PeerTurns], sizes: Sequence[Turns]) -> None:
    if not peers:
        return
    ours = {one.size: one for one in sizes}
    print(f"One turn of LangGraph, medians of {PEER_TURNS}: ms of CPU of all threads.\n")
    heads = ("", "messages", "CPU ms", "x ours", "wall ms", "x ours")
    rows = []
    for one in sorted(peers, key=lambda one: one.variant):
        own = ours[one.messages]
        wall = [spent.wall for spent in own.whole]
        rows.append(
            (
                one.variant,
                f"{one.messages:,}",
                _milliseconds(one.cpu),
                f"{_ratio(one.cpu, own.all_threads):.0f}",
                _milliseconds(one.wall),
                f"{_ratio(one.wall, wall):.0f}",
            )
        )
    print(table_text(heads, rows), end="\n\n")


def _report_indexes(indexes: Sequence[Turns]) -> None:
    if not indexes:
        return
    smallest = indexes[0]
    print("One turn beside an index, medians: ms of CPU of all threads while it retrieves.\n")
    heads = (
        *("exchanges", "retrieve", "highest", "on its own thread", "wall ms", "recalled tokens"),
        *("other stages", f"x {smallest.size}"),
    )
    print(table_text(heads, [_index_row(one, smallest) for one in indexes]), end="\n\n")


def _index_row(one: Turns, smallest: Turns) -> Sequence[str]:
    retrieval = one.of_stage("retrieve")
    return (
        f"{one.size:,}",
        _milliseconds([spent.process for spent in retrieval]),
        f"{max(spent.process for spent in retrieval) * 1e3:,.2f}",
        _milliseconds([spent.thread for spent in retrieval]),
        _milliseconds([spent.wall for spent in retrieval]),
        f"{statistics.median(one.recalled):,.0f}",
        _milliseconds(one.own),
        f"{_ratio(one.own, smallest.own):.2f}",
    )


def _aims(
    sizes: Sequence[Turns], peers: Sequence[PeerTurns], indexes: Sequence[Turns]
) -> Iterator[Aim]:
    shortest, longest = sizes[0], sizes[-1]
    text = f"our own part at {longest.size:,} messages, at most 1.3 x at {shortest.size}"
    yield Aim(text, _ratio(longest.own, shortest.own), at_most=1.3)
    messages = PEER_SIZES[-1]
    ours = next(one for one in sizes if one.size == messages)
    peer = _cheapest(peers, messages)
    text = f"LangGraph at {messages:,} messages, at its cheapest, at least 20 x ours"
    yield Aim(text, _ratio(peer.cpu, ours.all_threads) if peer else None, at_least=20)
    exchanges = INDEX_SIZES[-1]
    text = f"retrieval from {exchanges:,} exchanges, at most 150 ms of CPU"
    spent = [
        moment for one in indexes if one.size == exchanges for moment in one.of_stage("retrieve")
    ]
    cpu = statistics.median(moment.process for moment in spent) * 1e3 if spent else None
    yield Aim(text, cpu, at_most=150)


def _milliseconds(seconds: Sequence[float]) -> str:
    return f"{statistics.median(seconds) * 1e3:,.2f}"


def _ratio(seconds: Sequence[float], baseline: Sequence[float]) -> float:
    return statistics.median(seconds) / statistics.median(baseline)


if __name__ == "__main__":
    main()
