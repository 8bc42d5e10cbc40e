"""Erasing from the session files: what would go, what is gone, copies, quotations, words."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterable
from datetime import UTC, datetime
from fnmatch import fnmatch
from pathlib import Path
from typing import TypeVar

import pytest

from assistant.errors import SessionInUse, SessionReadOnly, SessionUnreadable
from assistant.memory.erasing.log_eraser import FORGOTTEN
from assistant.memory.erasing.log_lines import log_lines
from assistant.memory.erasing.log_words import Finding
from assistant.memory.erasing.session_files import SessionFiles, citing, copies, holding
from assistant.memory.session import Session
from assistant.memory.session_log import FailureRecord, PartFile, PartHeader, encode
from assistant.memory.session_store import SessionStore
from assistant.messages import Message, Summary, ToolCall
from assistant.protocols import Erasure, Match
from tests.fakes import FakeClock, FakeIds

AGREED = datetime(2026, 3, 5, tzinfo=UTC)
SECRET = "mark-of-what-goes"

ROUNDS = 20 if os.environ.get("ASSISTANT_STRESS") else 5

T = TypeVar("T")


@pytest.fixture
def files(store: SessionStore, home: Path) -> SessionFiles:
    return SessionFiles(store, home / "sessions", home / "data")


def erasure(**what: object) -> Erasure:
    return Erasure(id="e1", ts=AGREED, **what)  # type: ignore[arg-type]


def say(text: str) -> None:
    """Says nothing to anyone."""


def talk(store: SessionStore, clock: FakeClock, *questions: str) -> Session:
    """An open session of a few answered questions."""
    session = store.create()
    for question in questions:
        clock.advance(minutes=1)
        turn = session.ask(question).turn
        session.answer(Message("assistant", f"answer to {question}", turn=turn))
    return session


def grouped(pairs: Iterable[tuple[str, T]]) -> dict[str, tuple[T, ...]]:
    groups: dict[str, tuple[T, ...]] = {}
    for session_id, one in pairs:
        groups[session_id] = (*groups.get(session_id, ()), one)
    return groups


def found_in(home: Path, mark: str = SECRET) -> list[str]:
    """The files below the home that hold the mark."""
    return sorted(
        str(path.relative_to(home))
        for path in home.rglob("*")
        if path.is_file() and mark.encode() in path.read_bytes()
    )


@pytest.fixture
def full(store: SessionStore, clock: FakeClock) -> str:
    """A session whose second turn is to go, with all that may hold something of it."""
    session = talk(store, clock, "first", SECRET)
    session.summarize(Summary(f"sum {SECRET}", (1, 4), clock()), after=None)
    session.rename(f"title {SECRET}", by="auto")
    third = session.ask("third").turn
    session.fail(2, f"reason {SECRET}")
    session.answer(Message("assistant", "answer to third", turn=third))
    session.close()
    store.list()
    return session.id


# --- erasing ------------------------------------------------------------------------------------


def test_a_turn_goes_from_every_file(
    files: SessionFiles, store: SessionStore, home: Path, full: str
) -> None:
    what = erasure(turns={full: (2,)})
    found = files.matches(what)
    assert [(one.kind, one.id.rpartition(".")[0] or one.id) for one in found] == [
        ("message", f"{full}.2"),
        ("message", f"{full}.2"),
        ("summary", full),
        ("title", full),
        ("failure", full),
    ]
    assert all(SECRET in one.text for one in found)
    assert files.count(what) == 5
    assert found_in(home) == ["data/sessions.json", f"sessions/{full}.jsonl"]
    files.erase(what, say)
    assert (list(files.matches(what)), files.count(what), files.left(what)) == ([], 0, "")
    assert found_in(home) == []
    assert [info.title for info in store.list()] == ["first"]
    assert [one.user for one in store.exchanges(full)] == ["first", "third"]
    before = (home / "sessions" / f"{full}.jsonl").read_bytes()
    files.erase(what, say)
    assert (home / "sessions" / f"{full}.jsonl").read_bytes() == before


def test_what_is_not_named_stays_byte_for_byte(
    files: SessionFiles, store: SessionStore, clock: FakeClock, home: Path, full: str
) -> None:
    other = talk(store, clock, "other")
    other.close()
    path = home / "sessions" / f"{other.id}.jsonl"
    before = path.read_bytes(), path.stat().st_mtime_ns
    files.erase(erasure(turns={full: (2,)}, messages={full: (1,)}, titles=(full,)), say)
    assert (path.read_bytes(), path.stat().st_mtime_ns) == before


def test_a_session_goes_with_its_files(
    files: SessionFiles, store: SessionStore, clock: FakeClock, home: Path, full: str
) -> None:
    talk(store, clock, "other").close()
    (home / "sessions" / f"{full}.part").write_text("half a header " + SECRET)
    what = erasure(sessions=(full,))
    assert [one.kind for one in files.matches(what)][:2] == ["session", "message"]
    files.erase(what, say)
    assert files.count(what) == 0
    assert found_in(home) == []
    assert [info.id for info in store.list()] == ["s2"]
    assert not list((home / "data" / "locks").glob(f"{full}*"))
    files.erase(what, say)


def test_everything_goes(
    files: SessionFiles, store: SessionStore, clock: FakeClock, home: Path, full: str
) -> None:
    talk(store, clock, SECRET).close()
    store.list()
    (home / "sessions" / "README.md").write_text("What this folder is.")
    (home / "sessions" / "gone.part").write_text(SECRET)
    what = erasure(everything=True)
    assert files.count(what) > 8
    files.erase(what, say)
    assert files.count(what) == 0
    left = [path for path in home.rglob("*") if path.is_file()]
    assert left == [home / "sessions" / "README.md"]


@pytest.mark.parametrize(
    ("turn", "what", "stays"),
    [
        pytest.param(3, {"turns": {"s1": (3,)}}, False, id="of a turn that goes"),
        pytest.param(3, {"turns": {"s1": (2,)}}, True, id="of a turn that stays"),
        pytest.param(3, {"messages": {"s1": (5,)}}, False, id="of a question that goes"),
        pytest.param(9, {"turns": {"s1": (1,)}}, False, id="of a turn that is not there"),
        pytest.param(3, {"turns": {"s2": (1,)}}, True, id="of another session"),
    ],
)
def test_the_part_of_a_reply_goes_with_its_turn(
    files: SessionFiles,
    store: SessionStore,
    clock: FakeClock,
    home: Path,
    turn: int,
    what: dict[str, object],
    stays: bool,
) -> None:
    session = talk(store, clock, "one", "two")
    session.ask("three")
    session.close()
    talk(store, clock, "other").close()
    part = PartFile(home / "sessions" / "s1.part")
    part.start(PartHeader(turn, "m", clock()))
    part.add(SECRET)
    assert files.count(erasure(**what)) == len(files.matches(erasure(**what)))
    assert (Match("partial reply", "s1", SECRET) in files.matches(erasure(**what))) is not stays
    files.erase(erasure(**what), say)
    assert (found_in(home) == ["sessions/s1.part"]) is stays


def test_temporary_files_go_whoever_left_them(
    files: SessionFiles, store: SessionStore, clock: FakeClock, home: Path, full: str
) -> None:
    talk(store, clock, "other").close()
    held = talk(store, clock, "held")
    sessions, data = home / "sessions", home / "data"
    left = [
        sessions / f".{full}.jsonl.1.tmp",
        sessions / f".s2.jsonl.{os.getpid()}.tmp",
        sessions / ".gone.jsonl.999999.tmp",
        data / ".sessions.json.1.tmp",
    ]
    for path in left:
        path.write_text(SECRET)
    # Whoever has a session open may be writing this.
    theirs = sessions / f".{held.id}.jsonl.1.tmp"
    theirs.write_text("other words")
    what = erasure(turns={full: (2,)})
    assert files.count(what) == 6
    files.erase(what, say)
    assert found_in(home) == []
    assert theirs.exists()
    held.close()


def test_files_that_are_covered(files: SessionFiles, home: Path, full: str) -> None:
    names = [
        f"sessions/{full}.jsonl",
        f"sessions/{full}.part",
        f"sessions/.{full}.jsonl.12.tmp",
        "data/sessions.json",
        "data/.sessions.json.12.tmp",
    ]
    assert all(any(fnmatch(name, pattern) for pattern in files.files) for name in names)
    assert files.name == "session files"


def test_a_session_that_goes_on_is_no_trace(
    files: SessionFiles, store: SessionStore, full: str
) -> None:
    what = erasure(turns={full: (2,)})
    files.erase(what, say)
    session = store.open(full)
    session.ask("and then?")
    assert files.count(what) == 0
    session.close()


@pytest.mark.parametrize("text", ["", "not json", "[1]"])
def test_a_list_that_can_not_be_read_goes(
    files: SessionFiles, home: Path, full: str, text: str
) -> None:
    (home / "data" / "sessions.json").write_text(text + SECRET)
    files.erase(erasure(turns={full: (2,)}), say)
    assert found_in(home) == []


def test_a_list_that_is_not_kept_goes(home: Path, clock: FakeClock, full: str) -> None:
    store = SessionStore(
        home / "sessions", home / "data", clock=clock, new_id=str, keep_catalog=False
    )
    files = SessionFiles(store, home / "sessions", home / "data")
    files.erase(erasure(turns={full: (2,)}), say)
    assert not (home / "data" / "sessions.json").exists()


def test_an_erase_that_can_not_be_done_wholly_is_not_begun(
    files: SessionFiles, store: SessionStore, clock: FakeClock, home: Path, full: str
) -> None:
    newer, held = talk(store, clock, SECRET), talk(store, clock, SECRET)
    newer.close()
    path = home / "sessions" / f"{newer.id}.jsonl"
    with path.open("ab") as file:
        file.write(b'{"v":2,"type":"new"}\n')
    before = found_in(home)
    with pytest.raises(SessionInUse) as raised:
        files.erase(erasure(turns={full: (2,), held.id: (1,)}), say)
    assert raised.value.session_id == held.id
    with pytest.raises(SessionReadOnly, match="newer version"):
        files.erase(erasure(turns={full: (2,), newer.id: (1,)}), say)
    with pytest.raises(SessionReadOnly, match=f"Session {newer.id} was written by a newer version"):
        files.matches(erasure(turns={full: (2,), newer.id: (1,)}))
    assert found_in(home) == before
    held.close()
    # With its file it can go, whoever wrote it.
    files.erase(erasure(sessions=(newer.id, held.id), turns={full: (2,)}), say)
    assert found_in(home) == []


def test_unreadable_lines_are_told(files: SessionFiles, home: Path, full: str) -> None:
    path = home / "sessions" / f"{full}.jsonl"
    with path.open("ab") as file:
        file.write(b'{"torn mark-of-what-goes\n')
    what = erasure(turns={full: (2,)})
    files.erase(what, say)
    assert full in files.left(what)
    digest = log_lines(path.read_bytes())[-2].digest
    named = erasure(lines={full: (digest,)})
    assert [one.kind for one in files.matches(named)] == ["unreadable line"]
    files.erase(named, say)
    assert found_in(home) == []
    assert files.left(what) == ""


def test_it_says_how_far_it_is(files: SessionFiles, store: SessionStore, clock: FakeClock) -> None:
    for _ in range(60):
        talk(store, clock, SECRET).close()
    told: list[str] = []
    files.erase(erasure(turns={f"s{number}": (1,) for number in range(1, 61)}), told.append)
    assert told == ["session files: 25 of 60", "session files: 50 of 60"]


class OneUnreadable(SessionStore):
    """A store that may not read the session s1."""

    def data(self, session_id: str, most: int = -1) -> bytes:
        if session_id == "s1":
            raise SessionUnreadable("s1 can't be read.")
        return super().data(session_id, most)


def test_what_can_not_be_read_is_told(home: Path, clock: FakeClock, full: str) -> None:
    store = OneUnreadable(home / "sessions", home / "data", clock=clock, new_id=FakeIds("t"))
    files = SessionFiles(store, home / "sessions", home / "data")
    other = talk(store, clock, SECRET)
    other.close()
    for call in (files.matches, files.count, lambda what: files.erase(what, say)):
        with pytest.raises(SessionUnreadable):
            call(erasure(turns={full: (2,)}))
    first, *_ = holding(store, SECRET)
    assert first == Finding(Match("unreadable file", full), full)
    assert copies(store, {other.id: {1}}) == {other.id: {1}}
    assert citing(store, {other.id: {1}}) == {}


def test_ids_that_are_none_are_passed_over(files: SessionFiles, home: Path, full: str) -> None:
    outside = home / "outside.jsonl"
    outside.write_text(SECRET)
    files.erase(erasure(sessions=("../outside", "")), say)
    assert outside.exists()


# --- killed in the middle -----------------------------------------------------------------------

REWRITE = """
import sys
from pathlib import Path
from assistant.memory.session_store import SessionStore
from tests.fakes import FakeClock, FakeIds
home = Path(sys.argv[1])
store = SessionStore(home / "sessions", home / "data", clock=FakeClock(), new_id=FakeIds())
old, new = b"old line\\n" * 50_000, b"new one\\n" * 50_000
print("begun", flush=True)
while True:
    store.rewrite("s1", lambda data: new if data == old else old)
"""


@pytest.mark.stress
@pytest.mark.parametrize("round_", range(ROUNDS))
def test_a_kill_leaves_the_old_file_or_the_new_one(
    round_: int, files: SessionFiles, store: SessionStore, home: Path
) -> None:
    old, new = b"old line\n" * 50_000, b"new one\n" * 50_000
    path = home / "sessions" / "s1.jsonl"
    path.parent.mkdir(parents=True)
    path.write_bytes(old)
    command = [sys.executable, "-c", REWRITE, str(home)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "begun\n"
        with pytest.raises(subprocess.TimeoutExpired):
            process.wait(0.01 + 0.003 * round_)
        process.kill()
    assert path.read_bytes() in (old, new)
    files.erase(erasure(turns={"s1": (1,)}), say)
    assert [one.name for one in path.parent.iterdir()] == ["s1.jsonl"]


# --- copies -------------------------------------------------------------------------------------


@pytest.fixture
def forks(store: SessionStore, clock: FakeClock) -> SessionStore:
    """s1 with turns 1 and 2, s2 forked from it, s3 from s2; each goes on with a turn 3 of its own.

    s4 is a stranger with the same words.
    """
    source = talk(store, clock, "one", "two")
    for number in (2, 3):
        fork = store.fork(source)
        assert fork.id == f"s{number}"
        source.close()
        source = fork
    source.close()
    for session_id in ("s1", "s2", "s3"):
        session = store.open(session_id)
        session.ask("three")
        session.close()
        clock.advance(seconds=1)
    clock.advance(hours=-1)
    talk(store, clock, "one", "two").close()
    return store


@pytest.mark.parametrize("where", ["s1", "s2", "s3"])
def test_copies_in_forks_are_found_in_both_directions(forks: SessionStore, where: str) -> None:
    assert copies(forks, {where: {2}}) == {"s1": {2}, "s2": {2}, "s3": {2}}
    # Each has a third turn of its own.
    assert copies(forks, {where: [1, 3]}) == {"s1": {1}, "s2": {1}, "s3": {1}, where: {1, 3}}


def test_copies_are_found_when_the_session_between_is_deleted(forks: SessionStore) -> None:
    forks.rewrite("s2", lambda data: None)
    assert copies(forks, {"s1": {1}}) == {"s1": {1}, "s3": {1}}
    assert copies(forks, {"s3": {1}}) == {"s1": {1}, "s3": {1}}
    assert copies(forks, {"s4": {1}}) == {"s4": {1}}


def test_a_copy_of_which_the_question_is_forgotten_is_one_still(
    forks: SessionStore, home: Path
) -> None:
    files = SessionFiles(forks, home / "sessions", home / "data")
    files.erase(erasure(messages={"s2": (1,)}), say)
    assert forks.exchanges("s2")[0].user == FORGOTTEN
    assert copies(forks, {"s1": {1}}) == {"s1": {1}, "s2": {1}, "s3": {1}}
    assert copies(forks, {"s2": {1}}) == {"s1": {1}, "s2": {1}, "s3": {1}}


def test_undone_turns_have_copies(store: SessionStore, clock: FakeClock) -> None:
    session = talk(store, clock, "one", "two")
    fork = store.fork(session)
    fork.go_to(1)
    fork.close()
    session.close()
    assert copies(store, {"s1": {2}}) == {"s1": {2}, "s2": {2}}


@pytest.mark.parametrize("turns", [{}, {"s1": set()}, {"nobody": {1}}, {"s1": {9}}])
def test_what_has_no_copies(forks: SessionStore, turns: dict[str, set[int]]) -> None:
    assert copies(forks, turns) == {name: numbers for name, numbers in turns.items() if numbers}


def test_a_first_line_that_can_not_be_read_disturbs_nothing(
    forks: SessionStore, home: Path
) -> None:
    (home / "sessions" / "s5.jsonl").write_bytes(b"\xff\n")
    (home / "sessions" / "s6.jsonl").write_bytes(b"")
    assert copies(forks, {"s1": {1}}) == {"s1": {1}, "s2": {1}, "s3": {1}}


# --- quotations ---------------------------------------------------------------------------------


def looked_up(store: SessionStore, name: str, *results: tuple[str, str | None]) -> str:
    """A session in which a tool was called; each result as it was sent, and whole."""
    session = store.create()
    turn = session.ask("What did I say?").turn
    calls = tuple(ToolCall(f"c{at}", name, "{}") for at in range(len(results)))
    session.add(Message("assistant", "", turn=turn, tool_calls=calls))
    for call, (text, whole) in zip(calls, results, strict=True):
        session.add(Message("tool", text, turn=turn, tool_call_id=call.id, whole=whole))
    session.close()
    return session.id


QUOTED = (
    "Tue 2026-03-03 (s1.2)\nuser: the secret\nassistant: I see\nWed 2026-03-04 (s1.12)\nuser: x"
)


@pytest.mark.parametrize(
    ("turns", "ids"),
    [
        ({"s1": {2}}, {3, 4}),
        ({"s1": {12}}, {3}),
        ({"s9": {7}}, {5}),
        ({"s1": {1, 22}, "s2": {2}}, set()),
        ({}, set()),
    ],
)
def test_results_that_quote_a_turn_are_found(
    store: SessionStore, turns: dict[str, set[int]], ids: set[int]
) -> None:
    session_id = looked_up(
        store,
        "recall",
        (QUOTED, None),
        ("Tue 2026-03-03 … cut", "Tue 2026-03-03 (s1.2)\nuser: the secret"),
        ("at an unknown time (s9.7)\nuser: y", None),
        ("Nothing was found.", None),
    )
    looked_up(store, "other_tool", (QUOTED, None))
    assert citing(store, turns) == ({session_id: ids} if ids else {})


def test_a_result_whose_call_is_lost_is_looked_at(store: SessionStore, home: Path) -> None:
    looked_up(store, "recall", (QUOTED, None))
    path = home / "sessions" / "s1.jsonl"
    lines = path.read_bytes().splitlines(keepends=True)
    broken = [line[:-9] + b"\n" if b'"tool_calls"' in line else line for line in lines]
    path.write_bytes(b"".join(broken))
    assert citing(store, {"s1": {2}}) == {"s1": {3}}


# --- words --------------------------------------------------------------------------------------


def test_words_are_found_in_all_sessions(
    store: SessionStore, clock: FakeClock, full: str, home: Path
) -> None:
    session = talk(store, clock, "nothing of it", f"a {SECRET.upper()}")
    session.go_to(1)
    session.close()
    found = holding(store, SECRET)
    assert [(one.match.kind, one.session) for one in found] == [
        *(("message", full), ("message", full), ("summary", full)),
        *(("title", full), ("failure", full)),
        *(("message", session.id), ("message", session.id)),
    ]
    assert holding(store, " ") == []
    assert holding(store, "no such words") == []


def test_what_is_found_can_be_erased(
    store: SessionStore, files: SessionFiles, clock: FakeClock, home: Path, full: str
) -> None:
    arguments = json.dumps({"what": SECRET})
    session = talk(store, clock, "one")
    turn = session.ask("two").turn
    session.add(Message("assistant", "", turn=turn, tool_calls=(ToolCall("c", "x", arguments),)))
    session.add(Message("tool", "none", turn=turn, tool_call_id="c", whole=SECRET))
    session.summarize(Summary(SECRET, (1, 2), clock()), after=None)
    session.close()
    with (home / "sessions" / f"{session.id}.jsonl").open("ab") as file:
        file.write(encode(FailureRecord(turn, SECRET, clock(), rejected=True)))
        file.write(b'{"torn mark-of-what-goes')
    found = holding(store, SECRET)
    files.erase(
        erasure(
            turns=grouped((one.session, one.turn) for one in found if one.turn),
            lines=grouped((one.session, one.line) for one in found if one.line),
            titles=tuple(one.session for one in found if one.title),
        ),
        say,
    )
    assert holding(store, SECRET) == []
    assert found_in(home) == []
    again = store.open(session.id)
    assert (again.turns, again.rejected) == (1, frozenset())
    again.close()
