"""Whatever a home holds and whatever is erased from it: that is nowhere, and all else is as it was.

What is drawn is done through the real pieces. What must be gone is told by marks, each of which
stands for one thing that was said or kept, and is worked out here from the logs as they were.
"""

from __future__ import annotations

import itertools
import os
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeAlias, TypeVar

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from assistant.errors import NothingToErase
from assistant.memory.assembly import Fixed, assemble, share_out
from assistant.memory.erasing.forgetting import Forgetting, Wish
from assistant.memory.erasing.log_eraser import FORGOTTEN
from assistant.memory.erasing.log_lines import log_lines
from assistant.memory.erasing.prompt_history import entries, entry_digest
from assistant.memory.facts.facts import FactLogRecord, FactRecord
from assistant.memory.memos import MemoSaved, memo_decoder
from assistant.memory.promises import Promise
from assistant.memory.session import Session, exchange_of
from assistant.memory.session_log import FailureRecord, TitleRecord
from assistant.memory.token_budget import TokenBudget
from assistant.messages import Event, Fact, Memo, Message, Summary, ToolCall
from assistant.prompt import Prompt, Recollection
from assistant.protocols import Erasure, FactProposal
from tests.fakes import FakeClock, FakeCounter
from tests.memory.indexed_home import HashEmbedder
from tests.whole_home import (
    Export,
    Fork,
    Going,
    KeepEvent,
    KeepFact,
    KeepMemo,
    LateReply,
    Propose,
    Round,
    Step,
    Summarize,
    Talk,
    Title,
    UndoSummary,
    WholeHome,
    marks_of,
    own_marks,
    turns_of,
)

EXAMPLES = 1_000 if os.environ.get("ASSISTANT_STRESS") else 40

Entry = TypeVar("Entry", Memo, Event)

NOW = FakeClock().now

#: A session and the number of a turn.
Turn: TypeAlias = tuple[str, int]

# --- what is drawn --------------------------------------------------------------------------------

small = st.integers(0, 11)
maybe = st.none() | small
rounds = st.lists(
    st.builds(Round, st.integers(1, 2), st.booleans(), st.booleans(), maybe), max_size=2
)
talks = st.builds(
    Talk,
    small,
    rounds,
    st.sampled_from(["reply", "reply", "promise", "none", "failed", "rejected"]),
    st.integers(1, 2),
)
goings = st.builds(Going, small, st.sampled_from(["undo", "redo", "rewind"]), small)
steps: st.SearchStrategy[Step] = st.one_of(
    talks,
    talks,
    talks,
    goings,
    st.builds(LateReply, small),
    st.builds(Summarize, small, small),
    st.builds(UndoSummary, small),
    st.builds(Title, small, st.booleans()),
    st.builds(Fork, small, maybe),
    st.builds(KeepFact, st.lists(small, max_size=2), st.sampled_from(["holds", "ended", "undone"])),
    st.builds(Propose, small, st.none() | st.booleans()),
    st.builds(KeepMemo, maybe, st.sampled_from(["stays", "changed", "deleted"])),
    st.builds(KeepEvent, maybe, st.sampled_from(["", "FREQ=DAILY;COUNT=3"])),
    st.builds(Export, small),
)


@dataclass(frozen=True)
class Wanted:
    """One erasure, as numbers; what they mean depends on what the home holds then."""

    form: str
    pick: int
    more: int
    with_made: bool

    def wish(self, home: WholeHome, forgetting: Forgetting) -> Wish | None:
        """None where there is nothing of that kind."""
        names = sorted(home.store.files())
        said = [(name, one) for name in names for one in home.folded(name).messages]
        if not said:
            return None
        name, message = said[self.pick % len(said)]
        match self.form:
            case "turns":
                return forgetting.turns(name, message.turn, message.turn + self.more % 2)
            case "session":
                return Wish(sessions={name})
            case "since":
                return _unless_nothing(lambda: forgetting.between(message.ts, None))
            case "before":
                return _unless_nothing(lambda: forgetting.between(None, message.ts))
            case "about":
                return self._about(home, forgetting)
            case _:
                return forgetting.of_role(name, message.role)

    def _about(self, home: WholeHome, forgetting: Forgetting) -> Wish:
        # Exports are no place of their own: they go with what was exported.
        marks = sorted(home.marks())
        words = marks[self.pick % len(marks)]
        wish = Wish()
        for one in forgetting.about(words):
            wish.add(one.wish)
        return wish


def _unless_nothing(find: Callable[[], Wish]) -> Wish | None:
    try:
        return find()
    except NothingToErase:
        return None


wanted = st.builds(
    Wanted,
    st.sampled_from(["turns", "turns", "session", "since", "before", "about", "about", "role"]),
    st.integers(0, 200),
    small,
    st.booleans(),
)


# --- what must be gone ----------------------------------------------------------------------------


@dataclass
class Gone:
    """What an erasure takes out of a home, as the logs were before it."""

    whole: set[Turn] = field(default_factory=set)
    """Turns of which nothing stays, those of erased sessions included."""
    touched: set[Turn] = field(default_factory=set)
    """Turns of which something goes."""
    retold: set[Turn] = field(default_factory=set)
    """Turns whose exchange is another one, or none, after it."""
    unsaid: set[str] = field(default_factory=set)
    """Turns, as sources, of which the user's words go."""
    asked: set[str] = field(default_factory=set)
    """What the user said in them."""
    ids: dict[str, set[int]] = field(default_factory=dict)
    """By session: messages that go or are changed."""
    marks: set[str] = field(default_factory=set)
    stays: set[str] = field(default_factory=set)
    """Marks that stand in what stays of the logs."""


class Oracle:
    """Works out what goes, in its own way."""

    def __init__(self, home: WholeHome, wish: Wish) -> None:
        self._home = home
        self.wish = wish
        self._logs = home.records()
        self._turns = {
            (name, turn): told
            for name, records in self._logs.items()
            for turn, told in turns_of(records).items()
        }

    def gone(self) -> Gone:
        gone = Gone()
        gone.whole = self._whole()
        named = self._named_messages()
        # First what is named, then the results that quote it.
        quoted = gone.whole | {
            turn for turn, ids in named.items() if self._exchange_loses(turn, ids)
        }
        for turn, ids in self._quoting(quoted):
            named.setdefault(turn, set()).update(ids)
        for turn, told in self._turns.items():
            self._take(gone, turn, told, named.get(turn, set()))
        self._take_lines(gone)
        self._take_kept(gone)
        gone.marks -= gone.stays
        for made in (self._home.made.titles, self._home.made.summaries):
            gone.marks |= {mark for mark, said in made.items() if said & gone.marks}
        return gone

    def _key(self, turn: Turn) -> tuple[int, object]:
        """The same for a turn and its copies: no two are begun at one moment."""
        return turn[1], self._turns[turn][0].ts

    def _whole(self) -> set[Turn]:
        wished = {
            self._key((name, number))
            for name, numbers in self.wish.turns.items()
            for number in numbers
        }
        return {
            turn
            for turn in self._turns
            if self._key(turn) in wished or turn[0] in self.wish.sessions
        }

    def _named_messages(self) -> dict[Turn, set[int]]:
        wished = {
            (self._key(turn), one.id, one.ts, one.role)
            for turn, told in self._turns.items()
            for one in told
            if one.id in self.wish.messages.get(turn[0], ())
        }
        return {
            turn: {one.id for one in told if (self._key(turn), one.id, one.ts, one.role) in wished}
            for turn, told in self._turns.items()
        }

    def _exchange_loses(self, turn: Turn, ids: set[int]) -> bool:
        return any(one.id in ids and one.role != "tool" for one in self._turns[turn])

    def _quoting(self, quoted: set[Turn]) -> Iterator[tuple[Turn, set[int]]]:
        places = [f"({name}.{number})" for name, number in quoted]
        for turn, told in self._turns.items():
            results = [one for one in told if one.role == "tool"]
            yield turn, {one.id for one in results if any(place in one.text for place in places)}

    def _take(self, gone: Gone, turn: Turn, told: Sequence[Message], named: set[int]) -> None:
        if turn in gone.whole:
            named = {one.id for one in told}
        lost = {str(one.tool_call_id) for one in told if one.role == "tool" and one.id in named}
        lost |= {call.id for one in told if one.id in named for call in one.tool_calls}
        for one in told:
            calls_left = [call for call in one.tool_calls if call.id not in lost]
            emptied = one.tool_calls and not calls_left and not one.text
            goes = one.id in named or one.tool_call_id in lost or emptied
            args = set().union(*(own_marks(_only(one, call)) for call in one.tool_calls))
            args_left = set().union(*(own_marks(_only(one, call)) for call in calls_left))
            if goes or len(calls_left) < len(one.tool_calls):
                gone.touched.add(turn)
                gone.ids.setdefault(turn[0], set()).add(one.id)
            if goes and one.text and one.role != "tool":
                gone.retold.add(turn)
            if goes and one.role == "user":
                gone.unsaid.add(f"{turn[0]}.{turn[1]}")
                gone.asked.add(one.text)
            gone.marks |= own_marks(one) if goes else args - args_left
            gone.stays |= set() if goes else own_marks(one) - (args - args_left)
        # What an earlier erasure left of a question goes with the last of its turn.
        ids = gone.ids.get(turn[0], set())
        if all(one.id in ids for one in told if one.text != FORGOTTEN):
            ids |= {one.id for one in told if turn in gone.touched}

    def _take_lines(self, gone: Gone) -> None:
        """Titles, failures and summaries that go by themselves or with their session."""
        for name in self._logs:
            named = self.wish.lines.get(name, ())
            for line in log_lines(self._home.store.data(name)):
                one = line.record
                match one:
                    case TitleRecord():
                        goes = name in self.wish.titles or name in self.wish.sessions
                    case FailureRecord():
                        goes = (name, one.turn) in gone.touched or line.digest in named
                    case Summary():
                        goes = line.digest in named or name in self.wish.sessions
                    case _:
                        continue
                where = gone.marks if goes else gone.stays
                where |= _line_marks(one)

    def _take_kept(self, gone: Gone) -> None:
        for one in self._home.facts_log.records():
            for fact in _facts_in(one):
                if self._fact_goes(gone, fact):
                    gone.marks |= marks_of(fact.text)
            if (proposal := getattr(one, "proposal", None)) and self._proposal_goes(gone, proposal):
                gone.marks |= marks_of(proposal.text)
        stores = self._home.app.stores
        sources = _memo_sources(self._home)
        there = {memo.id for memo in stores.memos.search(most=1_000)}
        for memo_id, texts in stores.memos.texts().items():
            deleted = memo_id not in there
            if memo_id in self.wish.memos or (deleted and self.loses(gone, sources[memo_id])):
                gone.marks |= marks_of(" ".join(texts))
        for event in stores.calendar.all():
            if event.id.partition("@")[0] in self.wish.events:
                gone.marks |= marks_of(f"{event.title} {event.notes}")

    def loses(self, gone: Gone, source: str) -> bool:
        name, _, number = source.rpartition(".")
        return name in self.wish.sessions or (name, int(number or 0)) in gone.whole

    def _unsaid(self, gone: Gone, source: str) -> bool:
        name, _, number = source.rpartition(".")
        told = self._turns.get((name, int(number)))
        before = bool(told) and told[0].text == FORGOTTEN
        return before or source in gone.unsaid or self.loses(gone, source)

    def _fact_goes(self, gone: Gone, fact: Fact) -> bool:
        concerned = any(source in gone.unsaid for source in fact.sources)
        lost = self._unsaid if concerned else self.loses
        return fact.id in self.wish.facts or (
            bool(fact.sources) and all(lost(gone, one) for one in fact.sources)
        )

    def _proposal_goes(self, gone: Gone, proposal: FactProposal) -> bool:
        approved = f"f{proposal.id[1:]}"
        return (
            proposal.id in self.wish.proposals
            or approved in self.wish.facts
            or proposal.source in gone.unsaid
            or self.loses(gone, proposal.source)
        )

    # --- what stays of each store ---------------------------------------------------------------

    def typed(self, gone: Gone, before: Sequence[str]) -> list[str]:
        return [
            one
            for one in before
            if one not in gone.asked and entry_digest(one) not in self.wish.typed
        ]

    def facts(self, gone: Gone, before: Sequence[Fact]) -> list[Fact]:
        return [
            msgspec.structs.replace(
                one, sources=tuple(s for s in one.sources if not self.loses(gone, s))
            )
            for one in before
            if not self._fact_goes(gone, one)
        ]

    def proposals(self, gone: Gone, before: Sequence[FactProposal]) -> list[FactProposal]:
        return [one for one in before if not self._proposal_goes(gone, one)]

    def memos(self, gone: Gone, before: Sequence[Memo]) -> list[Memo]:
        return [self._kept(gone, one) for one in before if one.id not in self.wish.memos]

    def events(self, gone: Gone, before: Sequence[Event]) -> list[Event]:
        return [
            self._kept(gone, one)
            for one in before
            if one.id.partition("@")[0] not in self.wish.events
        ]

    def _kept(self, gone: Gone, entry: Entry) -> Entry:
        if not entry.source or not self.loses(gone, entry.source):
            return entry
        return msgspec.structs.replace(entry, source="")


def _only(message: Message, call: ToolCall) -> Message:
    """A call alone."""
    return Message("assistant", "", tool_calls=(call,))


def _line_marks(record: TitleRecord | FailureRecord | Summary) -> set[str]:
    match record:
        case TitleRecord():
            return marks_of(record.title)
        case FailureRecord():
            return marks_of(record.reason)
        case Summary():
            return marks_of(f"{record.text} {record.kept}")


def _facts_in(record: FactLogRecord) -> Sequence[Fact]:
    return [record.fact] if isinstance(record, FactRecord) else getattr(record, "restored", ())


def _memo_sources(home: WholeHome) -> Mapping[str, str]:
    lines = (home.data / "memos.jsonl").read_bytes().splitlines() if _has_memos(home) else []
    saved = (memo_decoder.decode(line) for line in lines)
    return {one.id: one.source for one in saved if isinstance(one, MemoSaved)}


def _has_memos(home: WholeHome) -> bool:
    return (home.data / "memos.jsonl").exists()


# --- what is there ----------------------------------------------------------------------------


@dataclass(frozen=True)
class Seen:
    """All that a home shows."""

    sessions: Mapping[str, Session]
    facts: Sequence[Fact]
    proposals: Sequence[FactProposal]
    memos: Sequence[Memo]
    events: Sequence[Event]
    promises: Sequence[Promise]
    typed: Sequence[str]
    marks: set[str]

    @classmethod
    def of(cls, home: WholeHome) -> Seen:
        stores = home.app.stores
        return cls(
            {name: home.folded(name) for name in sorted(home.store.files())},
            stores.facts.history(),
            stores.facts.pending(),
            stores.memos.search(most=1_000),
            stores.calendar.all(),
            home.promises(),
            entries(home.data / "prompt_history"),
            home.marks(),
        )


def check_rest(oracle: Oracle, gone: Gone, before: Seen, after: Seen) -> None:
    """All that was not meant is as it was."""
    assert list(after.facts) == oracle.facts(gone, before.facts)
    assert list(after.proposals) == oracle.proposals(gone, before.proposals)
    assert list(after.memos) == oracle.memos(gone, before.memos)
    assert list(after.events) == oracle.events(gone, before.events)
    assert list(after.promises) == [
        one for one in before.promises if (one.session, one.turn) not in gone.retold
    ]
    assert list(after.typed) == oracle.typed(gone, before.typed)
    assert set(after.sessions) == set(before.sessions) - oracle.wish.sessions
    for name, session in after.sessions.items():
        check_session(before.sessions[name], session, oracle.wish, gone)


def check_session(before: Session, after: Session, wish: Wish, gone: Gone) -> None:
    ids = gone.ids.get(before.id, set())
    assert [one for one in after.messages if one.id not in ids] == [
        one for one in before.messages if one.id not in ids
    ]
    left = {one.turn for one in after.messages}
    assert list(after.turn_numbers) == [turn for turn in before.turn_numbers if turn in left]
    assert {turn for turn in after.undone} == {turn for turn in before.undone if turn in left}
    if before.title_by == "user" and before.id not in wish.titles:
        assert (after.title, after.title_by) == (before.title, before.title_by)
    kept = [one for one in before.summaries if not marks_of(one.text) & gone.marks]
    assert [one.text for one in after.summaries] == [one.text for one in kept]
    replied = {one.turn for one in after.messages if one.role == "assistant" and not one.tool_calls}
    assert after.rejected == {turn for turn in before.rejected if turn in left - replied}


# --- what could be sent -----------------------------------------------------------------------


BUDGETS = [
    TokenBudget.for_window(100_000, reserve=100, history=50_000, recent_messages=50),
    TokenBudget.for_window(900, reserve=100, history=250, recent_messages=3),
]


def check_sendable(home: WholeHome, name: str) -> None:
    """At every turn, and after each undo and redo from there, whatever is sent next is valid."""
    whole = home.folded(name)
    for turn in sorted({0, *(one.turn for one in whole.messages)}):
        session = home.folded(name)
        session.go_to(turn)
        if session.unanswered is not None:
            check_prompts(session)
        session.ask("What now?")
        check_prompts(session)
    for undone in range(len(whole.turn_numbers)):
        session = home.folded(name)
        for _ in range(undone + 1):
            session.go_to(session.turn_before(session.turn_numbers[-1]))
        for _ in range(undone + 1):
            assert session.turn_forth is not None
            session.go_to(session.turn_forth)
        assert session.turn_numbers == whole.turn_numbers
        assert session.summaries == whole.summaries


def check_prompts(session: Session) -> None:
    session.close_calls("Not known.")
    fixed, counter = Fixed("Be kind."), FakeCounter()
    for budget in BUDGETS:
        shares = share_out(session, fixed, budget, counter, NOW, cut_message=True)
        check_prompt(assemble(session, shares, Recollection(), fixed, budget, counter))


def check_prompt(prompt: Prompt) -> None:
    """One system message, then the user; roles alternate; each call has its result behind it."""
    open_calls: list[str] = []
    roles: list[str] = []
    for one in prompt.messages:
        if one.role == "tool":
            open_calls.remove(str(one.tool_call_id))
            continue
        assert not open_calls
        open_calls = [call.id for call in one.tool_calls]
        roles.append("calls" if one.tool_calls else one.role)
    assert not open_calls
    assert roles[:2] == ["system", "user"]
    assert "system" not in roles[1:]
    assert not [one for one, other in itertools.pairwise(roles) if one == other != "calls"]


# --- the erasing ------------------------------------------------------------------------------


def quiet(text: str) -> None:
    """Says nothing to anyone."""


def erase(home: WholeHome, wanted: Wanted) -> None:
    """One erasure, and all that must hold after it."""
    home.close_sessions()
    forgetting, eraser = home.app.forgetting(), home.app.eraser()
    wish = wanted.wish(home, forgetting)
    if wish is None:
        return
    if wanted.with_made:
        made = forgetting.made_in(wish)
        wish.add(
            Wish(
                events={one.id.partition("@")[0] for one in made.events},
                memos={one.id for one in made.memos},
            )
        )
    wish.exports |= set(forgetting.exported(wish))
    oracle = Oracle(home, wish)
    before, gone = Seen.of(home), oracle.gone()
    numbers = {name: highest(home.folded(name)) for name in before.sessions}
    erasure = forgetting.erasure(wish)
    receipt = eraser.erase(erasure, quiet)
    assert receipt.nothing_left, receipt.remaining
    check_vectors(home, before, gone)
    check_nothing_to_do(home, erasure)
    home.settle()
    after = Seen.of(home)
    left, lost = after.marks & gone.marks, before.marks - gone.marks - after.marks
    assert (left, lost) == (set(), set())
    for mark in sorted(gone.marks & before.marks)[:3]:
        assert forgetting.places(mark, home.home) == []
    check_rest(oracle, gone, before, after)
    for name in after.sessions:
        check_sendable(home, name)
    check_nothing_comes_back(home, gone.marks & before.marks)
    check_numbers(home, numbers)


def highest(session: Session) -> tuple[int, int]:
    """The last message id and turn that were given, erased ones included."""
    asked = session.ask("What would be next?")
    return asked.id - 1, asked.turn - 1


def check_vectors(home: WholeHome, before: Seen, gone: Gone) -> None:
    """No vector of a text that went, nor of a question that was embedded alone."""
    path = home.data / "vectors.sqlite3"
    data = path.read_bytes() if path.exists() else b""
    embedder = HashEmbedder()
    for name, number in gone.whole:
        told = [one for one in before.sessions[name].messages if one.turn == number]
        for said in (told, [one for one in told if one.role == "user"]):
            if exchange := exchange_of(name, said):
                assert embedder.embed_query(exchange.text.strip()).tobytes() not in data


def check_nothing_to_do(home: WholeHome, erasure: Erasure) -> None:
    """The same erasure once more changes nothing."""
    contents = files_of(home)
    eraser = home.app.eraser()
    assert eraser.preview(erasure) == []
    assert all(one.gone == 0 for one in eraser.erase(erasure, quiet).stores)
    assert files_of(home) == contents


def files_of(home: WholeHome) -> Mapping[str, bytes]:
    """What each file holds; SQLite counts in its head how often it wrote."""
    return {
        str(path): path.read_bytes()[100 * (path.suffix == ".sqlite3") :]
        for path in home.files()
        if not path.name.endswith(".lock")
    }


def check_nothing_comes_back(home: WholeHome, marks: set[str]) -> None:
    """Whatever is done with what is left, on a copy of it."""
    with copied(home) as copy:
        copy.open_sessions()
        for session in list(copy.open.values()):
            fork = copy.store.fork(session)
            while session.undo_summary():
                pass
            turns = session.turn_numbers
            if turns:
                session.go_to(session.turn_before(turns[0]))
            while (forth := session.turn_forth) is not None:
                session.go_to(forth)
            for turn in {one.turn for one in session.messages}:
                session.go_to(turn)
                copy.store.fork(session, turn).close()
            fork.close()
        copy.app.indexer.start_over()
        copy.settle()
        assert not marks & copy.marks()


def check_numbers(home: WholeHome, numbers: Mapping[str, tuple[int, int]]) -> None:
    """What is said next has numbers that nothing had before."""
    for name in home.store.files():
        asked = home.folded(name).ask("What now?")
        message, turn = numbers[name]
        assert asked.id > message
        assert asked.turn > turn


@contextmanager
def copied(home: WholeHome) -> Iterator[WholeHome]:
    place = home.home.with_name(f"{home.home.name}-copy")
    shutil.copytree(home.home, place)
    copy = WholeHome(place)
    try:
        yield copy
    finally:
        copy.close()
        shutil.rmtree(place)


@settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    st.lists(steps, min_size=8, max_size=22),
    wanted,
    st.lists(steps, max_size=5),
    st.none() | wanted,
)
def test_what_is_erased_is_nowhere_and_all_else_is_as_it_was(
    tmp_path_factory: pytest.TempPathFactory,
    first: list[Step],
    erasure: Wanted,
    second: list[Step],
    another: Wanted | None,
) -> None:
    folder = tmp_path_factory.mktemp("everywhere")
    home = WholeHome(folder / "home")
    try:
        run(home, first)
        erase(home, erasure)
        home.open_sessions()
        run(home, second)
        if another is not None:
            erase(home, another)
    finally:
        home.close()
        shutil.rmtree(folder)


EVERYTHING: Sequence[Step] = [
    Talk(0, [], "reply"),
    Talk(1, [Round(2, True, True, None)], "promise"),
    Summarize(1, 2),
    Fork(1, None),
    Talk(2, [Round(1, False, True, 1)], "reply"),
    Title(1, False),
    Going(1, "undo", 0),
    Talk(1, [], "none"),
    KeepFact([0, 1], "holds"),
    KeepMemo(1, "stays"),
    KeepEvent(1, ""),
    Export(1),
]


@pytest.mark.parametrize("form", ["turns", "about"])
def test_the_same_with_the_index_on_the_disk(tmp_path: Path, form: str) -> None:
    home = WholeHome(tmp_path / "home", real_index=True)
    try:
        run(home, EVERYTHING)
        assert home.app.indexer.status().state == "ready"
        erase(home, Wanted(form, 1, 1, with_made=True))
        home.open_sessions()
        run(home, EVERYTHING[:3])
        erase(home, Wanted(form, 3, 0, with_made=False))
    finally:
        home.close()


def run(home: WholeHome, steps: Iterable[Step]) -> None:
    for step in steps:
        home.tick()
        step(home)
