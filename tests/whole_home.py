"""A home in which everything is kept that can be, each thing under a mark that no other has."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import count, groupby
from pathlib import Path

import msgspec

from assistant.app import App, build_app
from assistant.memory.entry_log import EntryLog
from assistant.memory.erasing.exports import Exports
from assistant.memory.erasing.log_words import unescaped
from assistant.memory.facts.facts import (
    DecisionRecord,
    EndRecord,
    FactRecord,
    ProposalRecord,
    UndoneRecord,
    fact_decoder,
)
from assistant.memory.promises import Promise
from assistant.memory.recall.indexer import Indexer
from assistant.memory.recall.vector_cache import CachedEmbedder, VectorCache
from assistant.memory.session import Session
from assistant.memory.session_log import Record, load
from assistant.messages import Fact, KeptItem, Message, Summary, ToolCall
from assistant.protocols import FactProposal, IndexHome
from assistant.settings import load_settings
from tests.fakes import FakeClock, FakeIds, FakeIndexHome
from tests.memory.indexed_home import HashEmbedder

ADDRESS = {"OPENAI_BASE_URL": "http://127.0.0.1:9/v1"}
MARK = re.compile("码[0-9]+终")
MOST_SESSIONS = 4


def marks_of(text: str) -> set[str]:
    return set(MARK.findall(text))


def own_marks(message: Message) -> set[str]:
    """The marks of a message itself: below the first line of a result stands what it quotes."""
    first = message.text.partition("\n")[0] if message.role == "tool" else message.text
    marks = marks_of(f"{first} {(message.whole or '').partition(chr(10))[0]} {message.changed}")
    return marks.union(*(marks_of(unescaped(one.arguments)) for one in message.tool_calls))


@dataclass
class Made:
    """What was made of things said, and must go with them: by its own mark."""

    titles: dict[str, frozenset[str]] = field(default_factory=dict)
    """Automatic titles, and the marks of what was said before."""
    summaries: dict[str, frozenset[str]] = field(default_factory=dict)
    """Summaries, and the marks of what they stand for."""


class WholeHome:
    """One run of the program on a home, with words of its own everywhere."""

    def __init__(self, home: Path, *, real_index: bool = False) -> None:
        """Without `real_index` the index is in memory, and has vectors."""
        self.home = home
        self.data = home / "data"
        self.outside = home.parent / f"{home.name}-exports"
        self.clock = FakeClock()
        settings = load_settings(home, ADDRESS, {"memory.embedder": "none"})
        app = build_app(
            settings,
            titles="off",
            environment={},
            clock=self.clock,
            new_id=FakeIds(),
            new_letters=FakeIds(""),
        )
        self.index_home: IndexHome = app.index_home if real_index else FakeIndexHome()
        self.vectors = VectorCache(self.data / "vectors.sqlite3")
        self._jobs: list[Callable[[], None]] = []
        indexer = Indexer(
            self.index_home,
            lambda: None if real_index else CachedEmbedder(HashEmbedder(), self.vectors),
            app.store,
            self.data / "index.json",
            submit=lambda name, job: self._jobs.append(job),
            say=lambda sentence: None,
            clock=self.clock,
            monotonic=time.monotonic,
        )
        self.app: App = replace(app, indexer=indexer, index_home=self.index_home)
        self.store = app.store
        self.facts_log = EntryLog(self.data / "facts.jsonl", fact_decoder, "facts")
        self.open: dict[str, Session] = {}
        self.made = Made()
        self._marks = count(1)
        self._calls = count(1)
        self._exported = count(1)
        indexer.start()
        self.settle()

    # --- for steps ------------------------------------------------------------------------------

    def mark(self) -> str:
        return f"码{next(self._marks)}终"

    def tick(self) -> None:
        self.clock.advance(seconds=61)

    def settle(self) -> None:
        """Let the worker do what waits."""
        while self._jobs:
            self._jobs.pop(0)()

    def session(self, pick: int) -> Session:
        """One of the sessions, or, while there are few, a new one."""
        known = list(self.open.values())
        if not known or (pick % (len(known) + 1) == 0 and len(known) < MOST_SESSIONS):
            return self.adopt(self.store.create())
        return known[pick % len(known)]

    def adopt(self, session: Session) -> Session:
        self.open[session.id] = session
        return session

    def source(self, pick: int) -> str:
        """Some turn as a source; empty where nothing was said."""
        turns = [
            f"{name}.{turn}"
            for name, session in self.open.items()
            for turn in dict.fromkeys(one.turn for one in session.messages)
        ]
        return turns[pick % len(turns)] if turns else ""

    def call_id(self) -> str:
        return f"call-{next(self._calls)}"

    def typed(self, text: str) -> None:
        self.data.mkdir(parents=True, exist_ok=True)
        with (self.data / "prompt_history").open("ab") as file:
            lines = "".join(f"+{line}\n" for line in text.split("\n"))
            file.write(f"\n# {self.clock()}\n{lines}".encode())

    def export_path(self) -> Path:
        self.outside.mkdir(exist_ok=True)
        return self.outside / f"{next(self._exported)}.md"

    def close_sessions(self) -> None:
        for session in self.open.values():
            session.close()
        self.open.clear()

    def open_sessions(self) -> None:
        for name in self.store.files():
            self.adopt(self.store.open(name))

    def close(self) -> None:
        self.close_sessions()
        self.app.indexer.close()
        self.vectors.close()
        self.app.close()

    # --- what is there --------------------------------------------------------------------------

    def records(self) -> Mapping[str, Sequence[Record]]:
        return {name: self.store.records(name) for name in sorted(self.store.files())}

    def folded(self, name: str) -> Session:
        """A session as it is on the disk, in memory alone: it can be tried out."""
        session = Session(name, clock=self.clock, log=None, part=None)
        session.fold(load(self.home / "sessions" / f"{name}.jsonl"))
        return session

    def promises(self) -> Sequence[Promise]:
        path = self.data / "promises.json"
        return msgspec.json.decode(path.read_bytes(), type=list[Promise]) if path.exists() else []

    def files(self) -> Iterator[Path]:
        for folder in (self.home, self.outside):
            yield from (path for path in sorted(folder.rglob("*")) if path.is_file())

    def marks(self) -> set[str]:
        """Every mark that stands in a file or in the index, however it is written there."""
        found: set[str] = set()
        for path in self.files():
            data = path.read_bytes().replace(b"\r\n ", b"")
            found |= marks_of(unescaped(data.decode("utf-8", "replace")))
        for row in self.index_home.stored(None).rows:
            found |= marks_of(f"{row.user} {row.assistant} {row.terms}")
        return found


# --- what may be done in it -----------------------------------------------------------------------

Step = Callable[[WholeHome], None]


@dataclass(frozen=True)
class Round:
    """One round of tools: its calls, whether there is a text beside them, and what they find."""

    calls: int
    text: bool
    whole: bool
    quotes: int | None
    """Which exchange the first call recalls."""


@dataclass(frozen=True)
class Talk:
    where: int
    rounds: Sequence[Round]
    end: str
    """`reply`, `promise`, `none`, `failed` or `rejected`."""
    lines: int = 1

    def __call__(self, home: WholeHome) -> None:
        session = home.session(self.where)
        promise = "I promise to send it. " if self.end == "promise" else ""
        question = "\n".join([f"{promise}{home.mark()}", *(["and more"] * (self.lines - 1))])
        turn = session.ask(question).turn
        home.typed(question)
        for one in self.rounds:
            _round(home, session, turn, one)
        _end(home, session, turn, self.end)
        said = session.history.slice(session.history.turn(turn))
        home.app.promises.note(session.id, said)
        if exchange := session.exchange(turn):
            home.app.indexer.add(exchange)
        home.settle()


def _round(home: WholeHome, session: Session, turn: int, one: Round) -> None:
    exchanges = [found for name in home.open for found in home.store.exchanges(name)]
    exchanges = [found for found in exchanges if found.turn != turn or found.session != session.id]
    quoted = (
        exchanges[one.quotes % len(exchanges)] if one.quotes is not None and exchanges else None
    )
    calls = [
        ToolCall(home.call_id(), "recall" if quoted and not at else "look", _arguments(home))
        for at in range(one.calls)
    ]
    text = home.mark() if one.text else ""
    session.answer(Message("assistant", text, turn=turn, tool_calls=tuple(calls)))
    for call in calls:
        result = home.mark()
        if quoted and call.name == "recall":
            result = f"{result}\n2026-03-04 ({quoted.id})\n{quoted.text}"
        whole = f"{home.mark()} whole" if one.whole else None
        session.answer(
            Message("tool", result, turn=turn, tool_call_id=call.id, whole=whole, changed="")
        )


def _arguments(home: WholeHome) -> str:
    """As a model writes them: JSON with escapes."""
    return json.dumps({"what": home.mark()})


def _end(home: WholeHome, session: Session, turn: int, end: str) -> None:
    if end in ("reply", "promise"):
        session.answer(Message("assistant", home.mark(), turn=turn))
    elif end in ("failed", "rejected"):
        session.fail(turn, f"why {home.mark()}", rejected=end == "rejected")


@dataclass(frozen=True)
class LateReply:
    """The last question is asked again."""

    where: int

    def __call__(self, home: WholeHome) -> None:
        session = home.session(self.where)
        if unanswered := session.unanswered:
            session.close_calls("not known")
            session.answer(Message("assistant", home.mark(), turn=unanswered.turn))


@dataclass(frozen=True)
class Going:
    """`undo`, `redo` or `rewind`."""

    where: int
    how: str
    pick: int

    def __call__(self, home: WholeHome) -> None:
        session = home.session(self.where)
        turns = session.turn_numbers
        if self.how == "undo" and turns:
            session.go_to(session.turn_before(turns[-(self.pick % len(turns)) - 1]))
        elif self.how == "redo" and (forth := session.turn_forth):
            session.go_to(forth)
        elif self.how == "rewind":
            there = sorted({0, *(one.turn for one in session.messages)})
            session.go_to(there[self.pick % len(there)])
        home.app.indexer.refresh()
        home.settle()


@dataclass(frozen=True)
class Summarize:
    where: int
    pick: int

    def __call__(self, home: WholeHome) -> None:
        session = home.session(self.where)
        history = session.history.slice(range(len(session.history)))
        if not history:
            return
        covered = history[: self.pick % len(history) + 1]
        mark, kept = home.mark(), home.mark()
        item = KeptItem("code", kept, f"the code {kept}", covered[0].turn, "user")
        covers = (covered[0].id, covered[-1].id)
        summary = Summary(mark, covers, home.clock(), kept=(item,), watched=(item,))
        session.summarize(summary, after=session.summary)
        said = frozenset().union(*map(own_marks, covered))
        home.made.summaries |= {mark: said, kept: said}


@dataclass(frozen=True)
class UndoSummary:
    where: int

    def __call__(self, home: WholeHome) -> None:
        home.session(self.where).undo_summary()


@dataclass(frozen=True)
class Title:
    where: int
    by_user: bool

    def __call__(self, home: WholeHome) -> None:
        session, mark = home.session(self.where), home.mark()
        said = frozenset().union(*map(own_marks, session.messages))
        if self.by_user:
            session.rename(mark)
        elif session.rename(mark, by="auto"):
            home.made.titles[mark] = said


@dataclass(frozen=True)
class Fork:
    where: int
    pick: int | None

    def __call__(self, home: WholeHome) -> None:
        source = home.session(self.where)
        if len(home.open) >= MOST_SESSIONS or not source.messages:
            return
        there = sorted({0, *(one.turn for one in source.messages)})
        turn = None if self.pick is None else there[self.pick % len(there)]
        fork = home.store.fork(source, turn)
        if fork.messages or fork.title:
            home.adopt(fork)


@dataclass(frozen=True)
class KeepFact:
    sources: Sequence[int]
    then: str
    """`holds`, `ended` or `undone`."""

    def __call__(self, home: WholeHome) -> None:
        home.tick()
        now, mark = home.clock(), home.mark()
        sources = tuple(dict.fromkeys(filter(None, map(home.source, self.sources))))
        fact = Fact(f"f{mark[1:-1]}", f"My code is {mark}", "other", now, sources=sources)
        home.facts_log.append(FactRecord(fact, now))
        if self.then == "ended":
            home.facts_log.append(EndRecord(fact.id, now, now))
        elif self.then == "undone":
            home.facts_log.append(UndoneRecord(now, gone=(fact.id,)))


@dataclass(frozen=True)
class Propose:
    source: int
    decided: bool | None

    def __call__(self, home: WholeHome) -> None:
        source = home.source(self.source)
        if not source:
            return
        now, mark = home.clock(), home.mark()
        proposal = FactProposal(f"p{mark[1:-1]}", f"My name is {mark}", "about", now, source)
        home.facts_log.append(ProposalRecord(proposal, now))
        if self.decided is not None:
            home.facts_log.append(DecisionRecord(proposal.id, self.decided, now))
        if self.decided:
            fact = Fact(f"f{mark[1:-1]}", proposal.text, "about", now, sources=(source,))
            home.facts_log.append(FactRecord(fact, now))


@dataclass(frozen=True)
class KeepMemo:
    source: int | None
    then: str
    """`stays`, `changed` or `deleted`."""

    def __call__(self, home: WholeHome) -> None:
        source = "" if self.source is None else home.source(self.source)
        memos = home.app.stores.memos
        memo = memos.save(f"Note {home.mark()}", ["tag"], source=source).after
        assert memo is not None
        if self.then == "changed":
            memos.update(memo.id, text=f"Better {home.mark()}")
        elif self.then == "deleted":
            memos.delete(memo.id)


@dataclass(frozen=True)
class KeepEvent:
    source: int | None
    repeat: str

    def __call__(self, home: WholeHome) -> None:
        source = "" if self.source is None else home.source(self.source)
        home.app.stores.calendar.create(
            f"Meet {home.mark()} {'and everybody else who can come ' * 2}",
            home.clock(),
            notes=f"bring {home.mark()}; cake, too",
            repeat=self.repeat,
            source=source,
        )


@dataclass(frozen=True)
class Export:
    where: int

    def __call__(self, home: WholeHome) -> None:
        session, path = home.session(self.where), home.export_path()
        content = "\n".join(one.text for one in session.messages).encode()
        if content:
            register = Exports(home.data / "exports.json")
            register.note(path, session.id, home.clock(), content)
            path.write_bytes(content)


def turns_of(records: Sequence[Record]) -> Mapping[int, Sequence[Message]]:
    """The messages of a log, turn by turn."""
    messages = sorted(
        (one for one in records if isinstance(one, Message)), key=lambda one: (one.turn, one.id)
    )
    return {turn: list(told) for turn, told in groupby(messages, key=lambda one: one.turn)}
