"""What was promised lately is kept for the next start, and goes with its session."""

from __future__ import annotations

from pathlib import Path

from assistant.memory.promises import LASTING, MOST, Promises
from assistant.memory.session_store import SessionStore
from assistant.messages import Message
from tests.fakes import FakeClock
from tests.memory.test_erasables import always


def said(clock: FakeClock, user: str, assistant: str, turn: int = 1) -> list[Message]:
    return [
        Message(role="user", content=user, turn=turn, ts=clock()),
        Message(role="tool", content="I promise to send it tomorrow.", turn=turn, ts=clock()),
        Message(role="assistant", content=assistant, turn=turn, ts=clock()),
    ]


def promises(folder: Path, gone: tuple[str, ...] = ()) -> Promises:
    return Promises(
        folder / "data" / "promises.json", lambda session, turn: session not in gone, always
    )


def test_what_both_sides_promise_is_kept_word_for_word(tmp_path: Path, clock: FakeClock) -> None:
    lines = said(
        clock, "I promised Anna to send her the contract by Friday.", "I'll remind you of it."
    )
    promises(tmp_path).note("s1", lines)
    found = promises(tmp_path).lately(clock(), not_in="s2")
    assert [(one.by, one.session) for one in found] == [("assistant", "s1"), ("user", "s1")]
    assert "send her the contract by Friday" in found[1].text
    assert (tmp_path / "data" / "promises.json").stat().st_mode & 0o077 == 0


def test_nothing_is_written_when_nothing_is_promised(tmp_path: Path, clock: FakeClock) -> None:
    promises(tmp_path).note("s1", said(clock, "What is the capital of Peru?", "Lima."))
    assert not (tmp_path / "data").exists()


def test_those_of_the_open_session_of_deleted_ones_and_of_long_ago_are_not_shown(
    tmp_path: Path, clock: FakeClock
) -> None:
    promises(tmp_path).note("s1", said(clock, "I promised Anna to call her.", "Good."))
    assert promises(tmp_path).lately(clock(), not_in="s1") == []
    assert promises(tmp_path, gone=("s1",)).lately(clock(), not_in="s2") == []
    clock.now += LASTING
    assert promises(tmp_path).lately(clock(), not_in="s2") == []


def test_those_of_undone_turns_are_not_shown(
    tmp_path: Path, store: SessionStore, clock: FakeClock
) -> None:
    kept = Promises(tmp_path / "data" / "promises.json", store.has_turn, store.has_message)
    session = store.create()
    session.ask("I promised Anna to call her.")
    session.answer(Message(role="assistant", content="Good.", turn=1))
    kept.note(session.id, session.messages)
    session.go_to(0)
    assert kept.lately(clock(), not_in="") == []
    session.go_to(1)
    assert len(kept.lately(clock(), not_in="")) == 1
    session.close()


def test_what_was_erased_before_it_could_be_noted_is_not_noted(
    tmp_path: Path, store: SessionStore
) -> None:
    kept = Promises(tmp_path / "data" / "promises.json", store.has_turn, store.has_message)
    session = store.create()
    session.ask("I promised Anna to call her.")
    session.answer(Message(role="assistant", content="Good.", turn=1))
    session.close()
    first, *_ = store.data(session.id).splitlines(keepends=True)
    store.rewrite(session.id, lambda data: first)
    kept.note(session.id, session.messages)
    assert not kept.any


def test_a_turn_told_twice_is_kept_once_and_only_the_newest_stay(
    tmp_path: Path, clock: FakeClock
) -> None:
    kept = promises(tmp_path)
    for _ in range(2):
        kept.note("s1", said(clock, "I promised Anna to call her.", "Good."))
    assert len(kept.lately(clock(), not_in="")) == 1
    for turn in range(2, 2 * MOST):
        kept.note("s1", said(clock, f"I promised Anna to call her {turn} times.", "Good.", turn))
    assert len(kept.lately(clock(), not_in="")) == MOST


def test_a_file_that_can_not_be_read_is_begun_anew(tmp_path: Path, clock: FakeClock) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "promises.json").write_bytes(b"\xff{")
    kept = promises(tmp_path)
    assert kept.lately(clock(), not_in="") == []
    kept.note("s1", said(clock, "I promised Anna to call her.", "Good."))
    assert len(kept.lately(clock(), not_in="")) == 1
