"""Session logs that are broken in every way known, and what is done about each."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import msgspec
import pytest

from assistant.memory.assembly import NO_RESULT
from assistant.memory.checks.findings import Check, Copies, Result, looked, mended
from assistant.memory.checks.log_checks import check_logs, check_parts, faults, is_locked
from assistant.memory.checks.log_checks import mended as mended_log
from assistant.memory.session_log import (
    EraseRecord,
    Record,
    RewindRecord,
    SessionRecord,
    encode,
    load,
)
from assistant.memory.session_store import SessionStore
from assistant.messages import Message, ToolCall

NOW = datetime(2026, 3, 4, 5, 6, 7, tzinfo=UTC)
FIRST = SessionRecord("s1", NOW)


def user(number: int, turn: int, text: str = "hello") -> Message:
    return Message("user", text, number, turn, NOW)


def reply(number: int, turn: int, text: str = "fine") -> Message:
    return Message("assistant", text, number, turn, NOW)


def calls(number: int, turn: int, *ids: str) -> Message:
    asked = tuple(ToolCall(one, "list_events", "{}") for one in ids)
    return Message("assistant", "", number, turn, NOW, tool_calls=asked)


def result(number: int, turn: int, call: str, text: str = "none") -> Message:
    return Message("tool", text, number, turn, NOW, tool_call_id=call)


def log(*records: Record | bytes) -> bytes:
    return b"".join(one if isinstance(one, bytes) else encode(one) for one in records)


SOUND = log(FIRST, user(1, 1), calls(2, 1, "a"), result(3, 1, "a"), reply(4, 1), user(5, 2))


def texts(data: bytes) -> str:
    return " ".join(one.text for one in faults(data, NOW))


def test_a_sound_log_has_no_faults_and_stays_byte_for_byte() -> None:
    assert faults(SOUND, NOW) == []
    assert mended_log(SOUND, NOW) == SOUND


@pytest.mark.parametrize(
    ("broken", "said", "whole"),
    [
        (
            log(FIRST, user(1, 1), b'{"v":1,"type":"mess\n', reply(3, 1)),
            "Line 3 can't be read",
            log(FIRST, user(1, 1), reply(3, 1)),
        ),
        (
            log(FIRST, b"\xff\xfe\n", user(1, 1), b"[" * 100_000 + b"\n"),
            "Line 2, 4 can't be read",
            log(FIRST, user(1, 1)),
        ),
        (log(FIRST, user(1, 1))[:-1], "The last line has no end", log(FIRST, user(1, 1))),
        (
            log(FIRST, user(1, 1), b'\n  \n{"v":1,"type":"mess'),
            "Line 5 can't be read",
            log(FIRST, user(1, 1), b"\n  \n"),
        ),
        (
            log(FIRST, user(1, 1), reply(2, 1), user(1, 1), reply(2, 1)),
            "Line 4, 5 stands there a second time",
            log(FIRST, user(1, 1), reply(2, 1)),
        ),
        (
            log(FIRST, user(3, 2), reply(4, 2), user(1, 1), reply(2, 1)),
            "the order of their numbers",
            log(FIRST, user(1, 1), reply(2, 1), user(3, 2), reply(4, 2)),
        ),
        (
            log(FIRST, user(1, 1), result(2, 1, "gone"), reply(3, 1)),
            "Line 3 is a result that no call",
            log(FIRST, user(1, 1), reply(3, 1)),
        ),
        (
            log(FIRST, user(1, 1), calls(2, 1, "a", "b"), result(3, 1, "a")),
            "Line 3 calls a tool and has no result",
            log(
                FIRST,
                user(1, 1),
                calls(2, 1, "a", "b"),
                result(3, 1, "a"),
                result(4, 1, "b", NO_RESULT),
            ),
        ),
        (
            log(FIRST, user(1, 1), calls(2, 1, "a"), b'{"role":"tool\n', reply(4, 1)),
            "Line 4 can't be read",
            log(FIRST, user(1, 1), calls(2, 1, "a"), result(3, 1, "a", NO_RESULT), reply(4, 1)),
        ),
    ],
)
def test_a_broken_log_is_told_and_mended(broken: bytes, said: str, whole: bytes) -> None:
    assert said in texts(broken)
    assert mended_log(broken, NOW) == whole
    assert not any(one.remedy for one in faults(whole, NOW))


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (log(FIRST, user(1, 1), user(1, 2, "other")), "Different messages have the number 1"),
        (
            log(FIRST, user(2, 1), user(1, 2), RewindRecord(1, NOW)),
            "the order of their numbers",
        ),
        (log(FIRST, reply(2, 1), user(3, 2)), "The question of turn 1 is missing"),
        (
            log(FIRST, user(1, 1), calls(2, 1, "a"), reply(3, 1)),
            "Line 3 calls a tool and has no result. The model is told so",
        ),
        (
            log(FIRST, user(1, 1), msgspec.structs.replace(reply(2, 1), ts=NOW.replace(year=2027))),
            "Line 3 has a time that is still to come",
        ),
    ],
)
def test_what_can_not_be_mended_is_only_told(data: bytes, said: str) -> None:
    assert said in texts(data)
    assert mended_log(data, NOW) == data


def test_no_number_of_what_was_erased_is_given_again() -> None:
    data = log(FIRST, user(1, 1), calls(2, 1, "a"), EraseRecord((3, 4), (), NOW))
    added = load_messages(mended_log(data, NOW))[-1]
    assert (added.id, added.text) == (5, NO_RESULT)
    between = log(FIRST, user(1, 1), calls(2, 1, "a"), reply(4, 1), EraseRecord((3,), (), NOW))
    assert mended_log(between, NOW) == between


def test_a_question_that_was_erased_is_not_missed() -> None:
    data = log(FIRST, reply(2, 1), user(3, 2), EraseRecord((1,), (), NOW))
    assert faults(data, NOW) == []


def load_messages(data: bytes) -> list[Message]:
    lines = (
        msgspec.json.decode(line, type=Message)
        for line in data.splitlines()
        if b'"message"' in line
    )
    return list(lines)


# --- files, copies and locks --------------------------------------------------------------------


@pytest.fixture
def broken(home: Path) -> Path:
    path = home / "sessions" / "s1.jsonl"
    path.parent.mkdir(parents=True)
    path.write_bytes(log(FIRST, user(1, 1), b"rubbish\n", reply(3, 1)))
    return path


def look(store: SessionStore, home: Path) -> Result:
    def is_open(session_id: str) -> bool:
        return is_locked(home / "data" / "locks" / f"{session_id}.lock")

    return looked(Check("logs", lambda: check_logs(home / "sessions", is_open, store.rewrite, NOW)))


def test_a_log_is_mended_under_its_lock_and_a_copy_keeps_it(
    store: SessionStore, home: Path, broken: Path
) -> None:
    before = broken.read_bytes()
    found = look(store, home)
    assert found.state == "problem"
    assert broken.read_bytes() == before
    copies = Copies(home, "20260304-050607")
    assert mended(found, copies).state == "fixed"
    assert load(broken).skipped == 0
    (copy,) = copies.made
    assert copy.read_bytes() == before
    assert store.open("s1").turns == 1


def test_a_session_that_is_open_elsewhere_is_looked_at_and_not_touched(
    store: SessionStore, home: Path, broken: Path
) -> None:
    before = broken.read_bytes()
    session = store.open("s1")
    found = look(store, home)
    assert found.state == "problem"
    assert "open in another terminal" in found.findings[0].text
    assert found.remedies == []
    session.close()
    assert look(store, home).remedies
    assert broken.read_bytes() == before


def test_one_that_was_opened_since_it_was_looked_at_is_not_touched(
    store: SessionStore, home: Path, broken: Path
) -> None:
    found = look(store, home)
    before = broken.read_bytes()
    session = store.open("s1")
    copies = Copies(home, "now")
    result = mended(found, copies)
    assert result.state == "problem"
    assert broken.read_bytes() == before
    assert copies.made == []
    session.close()


def test_what_is_under_way_in_an_open_session_is_no_fault(store: SessionStore, home: Path) -> None:
    session = store.create()
    session.ask("what is on today?")
    session.add(calls(0, 1, "a"))
    assert look(store, home).state == "ok"
    session.close()


def test_a_newer_version_s_file_is_told_and_never_touched(
    store: SessionStore, home: Path, broken: Path
) -> None:
    data = broken.read_bytes() + b'{"v":2,"type":"dream"}\n'
    broken.write_bytes(data)
    found = look(store, home)
    assert found.state == "warning"
    assert "newer version" in found.findings[0].text
    assert found.remedies == []
    assert mended_log(data, NOW) == data


def test_parts_of_replies_are_told_unless_they_are_just_coming(home: Path, broken: Path) -> None:
    part = broken.with_suffix(".part")
    part.write_text("{}\nhalf")
    (finding,) = check_parts(home / "sessions", lambda _: False)
    assert "kept when its session is opened" in finding.text
    assert list(check_parts(home / "sessions", lambda _: True)) == []
    broken.unlink()
    (finding,) = check_parts(home / "sessions", lambda _: False)
    assert "whose session is gone" in finding.text
