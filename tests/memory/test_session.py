"""Going back in a session, and forth: the file has all, the conversation what is in force."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from assistant.errors import CompactionStopped, SessionChanged, SessionError, SessionReadOnly
from assistant.memory.assembly import paired
from assistant.memory.session import Session
from assistant.memory.session_log import EraseRecord, RewindRecord, encode
from assistant.memory.session_store import SessionStore
from assistant.messages import Message, Summary, ToolCall
from tests.fakes import FakeClock, FakeIds

NOW = FakeClock()()


def say(session: Session, *questions: str) -> None:
    """A turn for each question, answered with `re: ` before it."""
    for question in questions:
        asked = session.ask(question)
        session.answer(Message(role="assistant", content=f"re: {question}", turn=asked.turn))


def summarize(session: Session, text: str) -> None:
    """A summary of all but the newest turn."""
    last = session.history[session.history.turn_starts[-1] - 1]
    session.summarize(Summary(text, (session.history[0].id, last.id), NOW), after=session.summary)


def asked(session: Session) -> list[str]:
    history = session.history
    return [history[start].text for start in history.turn_starts]


def reopened(store: SessionStore, session: Session) -> Session:
    session.close()
    return store.open(session.id)


@pytest.fixture
def session(store: SessionStore) -> Iterator[Session]:
    session = store.create()
    yield session
    session.close()


# --- going ------------------------------------------------------------------------------------


def test_what_was_undone_is_out_of_everything_and_stays_in_the_file(
    store: SessionStore, session: Session
) -> None:
    say(session, "one", "two", "three")
    session.go_to(1)
    assert asked(session) == ["one"]
    assert session.turns == 1
    assert [one.user for one in session.exchanges()] == ["one"]
    assert session.exchange(2) is None
    assert {turn: said[0].text for turn, said in session.undone.items()} == {2: "two", 3: "three"}
    every = session.exchanges(every=True)
    assert [(one.user, one.undone) for one in every] == [
        ("one", False),
        ("two", True),
        ("three", True),
    ]
    assert "three" in store.text(session.id)


def test_new_turns_get_new_numbers_and_ids(store: SessionStore, session: Session) -> None:
    say(session, "one", "two")
    session.go_to(1)
    say(session, "other")
    assert [(one.id, one.turn) for one in session.history.slice(range(2, 4))] == [(5, 3), (6, 3)]
    again = reopened(store, session)
    assert asked(again) == ["one", "other"]
    assert again.turn_before(3) == 1
    again.close()


def test_an_undone_turn_comes_back_with_all_that_led_to_it(session: Session) -> None:
    say(session, "one", "two", "three")
    session.go_to(1)
    say(session, "other")
    session.go_to(3)
    assert asked(session) == ["one", "two", "three"]
    assert list(session.undone) == [4]


def test_redo_goes_to_where_the_last_undo_left_also_after_a_restart(
    store: SessionStore, session: Session
) -> None:
    say(session, "one", "two", "three")
    session.go_to(2)
    session.go_to(1)
    session = reopened(store, session)
    assert session.turn_forth == 2
    session.go_to(2)
    assert session.turn_forth == 3
    say(session, "new")
    assert session.turn_forth is None
    session.close()


def test_the_first_turn_undone_leaves_it_empty_as_new(
    store: SessionStore, session: Session
) -> None:
    say(session, "one")
    session.go_to(0)
    assert (asked(session), session.turns, session.unanswered, session.summary) == (
        [],
        0,
        None,
        None,
    )
    again = reopened(store, session)
    assert asked(again) == []
    say(again, "anew")
    assert again.turn_before(2) == 0
    again.close()


def test_an_unanswered_question_and_open_calls_go_with_their_turn(
    store: SessionStore, session: Session
) -> None:
    say(session, "one")
    session.ask("look it up")
    call = ToolCall("c1", "look", "{}")
    session.add(Message(role="assistant", content="", turn=2, tool_calls=(call,)))
    session.go_to(1)
    assert session.unanswered is None
    assert [one.role for one in session.undone[2]] == ["user", "assistant", "tool"]
    again = reopened(store, session)
    assert again.unanswered is None
    again.close()


def test_the_part_of_a_turn_that_was_undone_is_dropped(
    store: SessionStore, session: Session, home: Path
) -> None:
    say(session, "one", "two")
    session.go_to(1)
    session._log.close()  # type: ignore[union-attr] - as kill -9 leaves it
    part = home / "sessions" / f"{session.id}.part"
    part.write_text('{"turn":2,"model":"m","ts":"2026-01-01T00:00:00Z"}\nonce more')
    again = store.open(session.id)
    assert asked(again) == ["one"]
    assert not part.exists()
    assert "once more" not in store.text(session.id)
    again.close()


def test_the_part_of_a_turn_is_saved_with_it_before_it_is_undone(
    store: SessionStore, session: Session, home: Path
) -> None:
    say(session, "one")
    session.ask("two")
    session.stream_starts(2, "m")
    session.keep_part("half a rep")
    session.go_to(1)
    assert not (home / "sessions" / f"{session.id}.part").exists()
    assert session.undone[2][-1].text == "half a rep"


def test_failures_of_undone_turns_do_not_count(store: SessionStore, session: Session) -> None:
    say(session, "one")
    session.ask("refused")
    session.fail(2, "no", rejected=True)
    assert session.rejected == {2}
    session.go_to(1)
    assert session.rejected == frozenset()
    session.go_to(2)
    assert session.rejected == {2}


@pytest.mark.parametrize("turn", [9, -1, 2**40])
def test_a_turn_that_is_not_there_is_refused(session: Session, turn: int) -> None:
    say(session, "one")
    with pytest.raises(SessionError, match="no turn"):
        session.go_to(turn)
    assert asked(session) == ["one"]


# --- where nothing can be written ---------------------------------------------------------------


def test_a_private_session_goes_back_in_memory(store: SessionStore, home: Path) -> None:
    session = store.create(private=True)
    say(session, "one", "two")
    session.go_to(1)
    assert asked(session) == ["one"]
    session.go_to(2)
    assert asked(session) == ["one", "two"]
    assert not list(home.rglob("*.jsonl"))


def test_a_session_open_for_reading_does_not_go_back(store: SessionStore, session: Session) -> None:
    say(session, "one", "two")
    read = store.open(session.id, read_only=True)
    with pytest.raises(SessionReadOnly):
        read.go_to(1)
    assert asked(read) == ["one", "two"]
    read.close()


def test_a_full_disk_changes_nothing(store: SessionStore, home: Path) -> None:
    session = store.create()
    (home / "sessions").mkdir(parents=True)
    (home / "sessions" / "s1.jsonl").symlink_to("/dev/full")
    say(session, "one", "two")
    waiting = session.unsaved
    with pytest.raises(SessionError, match="No space left"):
        session.go_to(1)
    assert asked(session) == ["one", "two"]
    assert session.unsaved == waiting
    session.close()


def test_a_file_that_was_changed_under_us_changes_nothing(session: Session) -> None:
    say(session, "one", "two")
    assert session.path is not None
    with session.path.open("ab") as file:
        file.write(b"\n")
    with pytest.raises(SessionChanged):
        session.go_to(1)
    assert asked(session) == ["one", "two"]


# --- summaries ----------------------------------------------------------------------------------


def test_the_summary_of_that_time_is_in_force_again(store: SessionStore, session: Session) -> None:
    say(session, "one", "two", "three")
    summarize(session, "first")
    say(session, "four", "five")
    summarize(session, "second")
    in_force = {}
    for turn in (5, 4, 3, 2, 5):
        session.go_to(turn)
        in_force[turn] = [one.text for one in session.summaries]
        session = reopened(store, session)
        assert [one.text for one in session.summaries] == in_force[turn]
    assert in_force == {5: ["first", "second"], 4: ["first"], 3: ["first"], 2: []}
    session.close()


def test_a_summary_that_was_taken_back_stays_so(store: SessionStore, session: Session) -> None:
    say(session, "one", "two", "three")
    summarize(session, "first")
    say(session, "four")
    summarize(session, "second")
    session.go_to(3)
    session.undo_summary()
    session.go_to(4)
    assert [one.text for one in session.summaries] == ["second"]
    again = reopened(store, session)
    assert [one.text for one in again.summaries] == ["second"]
    again.close()


def test_no_summary_of_what_is_out_comes_into_force(session: Session) -> None:
    say(session, "one", "two", "three", "four")
    late = Summary("- Notes.", (1, 6), NOW)
    session.go_to(2)
    with pytest.raises(CompactionStopped, match="went back"):
        session.summarize(late, after=None)
    assert session.summaries == ()


def test_a_summary_and_a_message_come_in_the_order_of_the_file(
    store: SessionStore, session: Session
) -> None:
    """What a summary belongs to is told by what stands before it."""
    say(session, "one", "two")
    for turn in range(3, 20):
        writing = threading.Thread(target=summarize, args=(session, f"at {turn}"))
        writing.start()
        session.ask(f"turn {turn}")
        writing.join()
    in_force = {}
    for turn in (*range(18, 2, -1), 19):
        session.go_to(turn)
        in_force[turn] = [one.text for one in session.summaries]
    for turn in (*range(18, 2, -1), 19):
        session.go_to(turn)
        session = reopened(store, session)
        assert [one.text for one in session.summaries] == in_force[turn]
    session.close()


# --- logs that say anything ---------------------------------------------------------------------


def folded(home: Path, store: SessionStore, *records: object) -> Session:
    path = home / "sessions" / "s9.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"".join(encode(one) for one in records))  # type: ignore[arg-type]
    return store.open("s9")


def message(turn: int, number: int, role: str = "user") -> Message:
    return Message(role=role, content=f"m{number}", id=number, turn=turn, ts=NOW)  # type: ignore[arg-type]


def test_a_rewind_to_a_turn_that_is_gone_goes_to_the_one_before_it(
    home: Path, store: SessionStore
) -> None:
    session = folded(
        home,
        store,
        message(1, 1),
        message(3, 5),
        message(4, 7),
        RewindRecord(2, NOW),
    )
    assert asked(session) == ["m1"]
    session.close()


def test_no_number_that_was_erased_is_given_again(home: Path, store: SessionStore) -> None:
    session = folded(home, store, message(1, 1), EraseRecord((7, 8), (4,), NOW))
    new = session.ask("new")
    assert (new.id, new.turn) == (9, 5)
    assert session.erased == {4}
    with pytest.raises(SessionError, match="was forgotten"):
        session.go_to(4)
    session.close()


# --- copies -------------------------------------------------------------------------------------


def test_a_copy_up_to_a_turn_has_its_path_its_summary_and_its_failures(
    store: SessionStore, session: Session
) -> None:
    say(session, "one", "two", "three")
    summarize(session, "first")
    session.ask("refused")
    session.fail(4, "no", rejected=True)
    say(session, "five")
    summarize(session, "second")
    session.go_to(3)
    say(session, "six")
    copy = store.fork(session, 5)
    copy = reopened(store, copy)
    assert asked(copy) == ["one", "two", "three", "refused", "five"]
    assert [one.text for one in copy.summaries] == ["first", "second"]
    assert copy.rejected == {4}
    assert (copy.forked_from, copy.forked_at) == (session.id, 5)
    copy.go_to(4)
    assert [one.text for one in copy.summaries] == ["first"]
    copy.close()


def test_the_old_one_stays_byte_for_byte_and_both_know(
    store: SessionStore, session: Session
) -> None:
    say(session, "one", "two")
    before = store.text(session.id)
    store.fork(session, 1).close()
    store.fork(session).close()
    assert store.text(session.id) == before
    assert list(store.forks(session.id)) == ["s2", "s3"]
    assert list(store.forks("s2")) == []


def test_a_copy_up_to_a_turn_that_is_not_there_is_refused(
    store: SessionStore, session: Session
) -> None:
    say(session, "one")
    with pytest.raises(SessionError, match="no turn 2"):
        store.fork(session, 2)
    assert [info.id for info in store.list()] == ["s1"]


# --- any sequence -------------------------------------------------------------------------------

STEPS = ("say", "ask", "tools", "fail", "refuse", "summarize", "undo summary", "go", "forth")


def step(session: Session, kind: str, number: int) -> None:
    starts = session.history.turn_starts
    turns = sorted({one.turn for one in session.messages})
    match kind:
        case "say":
            say(session, f"said {number}")
        case "ask":
            session.ask(f"asked {number}")
        case "tools":
            turn = session.ask(f"tools {number}").turn
            calls = tuple(ToolCall(f"c{number}{at}", "look", "{}") for at in range(number % 3 + 1))
            session.add(Message(role="assistant", content="", turn=turn, tool_calls=calls))
            session.add(Message(role="tool", content="found", turn=turn, tool_call_id=calls[0].id))
            session.close_calls("not run")
            if number % 2:
                session.answer(Message(role="assistant", content="so", turn=turn))
        case "fail" | "refuse":
            turn = session.ask(f"failed {number}").turn
            session.fail(turn, "no", rejected=kind == "refuse")
        case "summarize" if len(starts) > 1:
            summarize(session, f"notes {number}")
        case "undo summary":
            session.undo_summary()
        case "go":
            session.go_to([0, *turns][number % (len(turns) + 1)])
        case "forth" if session.turn_forth is not None:
            session.go_to(session.turn_forth)


def state(session: Session) -> object:
    return (
        session.history.slice(range(len(session.history))),
        session.undone,
        session.turn_numbers,
        session.turn_forth,
        session.summaries,
        session.summarized,
        session.rejected,
        session.failure_reasons,
        session.unanswered,
        session.exchanges(every=True),
    )


def roles_are_valid(messages: Sequence[Message]) -> bool:
    """Starts with the user, and every call has its result right behind it."""
    if messages and messages[0].role != "user":
        return False
    wanted: list[str] = []
    for one in messages:
        if one.role == "tool":
            if not wanted or one.tool_call_id != wanted.pop(0):
                return False
        elif wanted:
            return False
        wanted += [call.id for call in one.tool_calls]
    return not wanted


@settings(deadline=None, max_examples=60, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(st.tuples(st.sampled_from(STEPS), st.integers(0, 20), st.booleans()), max_size=25))
def test_the_fold_of_the_file_is_the_live_session(steps: list[tuple[str, int, bool]]) -> None:
    with TemporaryDirectory() as folder:
        home = Path(folder)
        clock = FakeClock()
        store = SessionStore(home / "sessions", home / "data", clock=clock, new_id=FakeIds())
        session = store.create()
        ids: set[int] = set()
        for kind, number, reopen in steps:
            step(session, kind, number)
            history = session.history.slice(range(len(session.history)))
            path = list(dict.fromkeys(one.turn for one in history))
            assert path == list(session.turn_numbers) == sorted(path)
            assert roles_are_valid(paired(history))
            assert all(covers_are_in(session, one) for one in session.summaries)
            new = {one.id for one in session.messages} - ids
            assert all(one > max(ids, default=0) for one in new)
            ids |= new
            if reopen and session.messages:
                before = state(session)
                session = reopened(store, session)
                assert state(session) == before
        if session.messages:
            info = store.list()[0]
            assert (info.turns, info.last_turn) == (
                session.turns,
                (session.turn_numbers or (0,))[-1],
            )
            copy = store.fork(session)
            assert state(copy)[:1] == state(session)[:1]  # type: ignore[index]
            assert copy.summaries == session.summaries
            assert copy.rejected == session.rejected
            before = state(copy)
            if copy.messages:
                copy = reopened(store, copy)
            assert state(copy) == before
            copy.close()
        session.close()


def covers_are_in(session: Session, summary: Summary) -> bool:
    """What a summary in force stands for is part of the conversation."""
    ids = {one.id for one in session.history.slice(range(len(session.history)))}
    return summary.covers[0] in ids and summary.covers[1] in ids
