"""What was erased and stands somewhere again."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import msgspec
import pytest

from assistant.memory.calendar.calendar import CalendarFile
from assistant.memory.checks.erasure_checks import (
    check_erased_logs,
    check_erased_stores,
    check_unfinished,
)
from assistant.memory.checks.findings import Check, Copies, Result, looked, mended
from assistant.memory.erasing.log_eraser import FORGOTTEN
from assistant.memory.facts.facts import FactRecord, ProposalRecord
from assistant.memory.memos import Memos
from assistant.memory.promises import Promise
from assistant.memory.session_log import (
    EraseRecord,
    FailureRecord,
    Record,
    SessionRecord,
    encode,
)
from assistant.memory.session_store import SessionStore
from assistant.messages import Fact, KeptItem, Message, Summary, ToolCall
from assistant.protocols import Erasure, FactProposal, IndexRow, StoredRows
from tests.fakes import FakeClock, FakeIds

NOW = datetime(2026, 3, 4, 5, 6, 7, tzinfo=UTC)
TOMBSTONE = EraseRecord((3, 4, 5, 6), (2,), NOW)
ERASED = IndexRow("s1.2", "s1", 2, 0, "PX-4471", "", (), "digest")


@pytest.fixture
def log(home: Path) -> Callable[..., Path]:
    """Writes the log of a session whose second turn, and parts of its third, were erased."""

    def write(*back: Record) -> Path:
        path = home / "sessions" / "s1.jsonl"
        path.parent.mkdir(parents=True, exist_ok=True)
        records = (
            SessionRecord("s1", NOW),
            Message("user", "hello", 1, 1, NOW),
            Message("user", FORGOTTEN, 5, 3, NOW),
            Message("assistant", "done", 6, 3, NOW, tool_calls=(ToolCall("a", "x", "{}"),)),
            *back,
            TOMBSTONE,
        )
        path.write_bytes(b"".join(map(encode, records)))
        return path

    return write


def look(home: Path, store: SessionStore) -> Result:
    check = Check("logs", lambda: check_erased_logs(home / "sessions", store.rewrite))
    return looked(check)


@pytest.mark.parametrize(
    "back",
    [
        Message("user", "my code is PX-4471", 3, 2, NOW),
        Message("tool", "PX-4471", 4, 1, NOW, tool_call_id="a"),
        Message("user", "what was the code?", 5, 3, NOW),
        FailureRecord(2, "PX-4471 was refused", NOW),
        Summary("A code.", (1, 2), NOW, kept=(KeptItem("code", "PX-4471", "PX-4471", 2, "user"),)),
    ],
)
def test_what_is_in_its_log_again_is_erased_again_without_a_copy(
    back: Record, log: Callable[..., Path], home: Path, store: SessionStore
) -> None:
    path = log(back)
    found = look(home, store)
    assert found.state == "problem"
    copies = Copies(home, "now")
    assert mended(found, copies).state == "fixed"
    assert path.read_bytes() == log().read_bytes()
    assert copies.made == []


def test_what_is_left_of_erased_messages_is_in_order(
    log: Callable[..., Path], home: Path, store: SessionStore
) -> None:
    log(Summary("They said hello.", (1, 6), NOW))
    assert look(home, store).state == "ok"


def test_an_erase_that_was_not_finished_is_a_problem(home: Path) -> None:
    (home / "data").mkdir(parents=True)
    assert list(check_unfinished(home / "data")) == []
    erasure = msgspec.json.encode(Erasure("e1", datetime(2026, 11, 30, tzinfo=UTC)))
    (home / "data" / "erasing.json").write_bytes(b'{"stage":"begun","erasure":%s}' % erasure)
    (finding,) = check_unfinished(home / "data")
    assert finding.state == "problem"
    assert "assistant forget --resume" in finding.text


# --- everywhere else ----------------------------------------------------------------------------


def put_facts(data: Path) -> None:
    fact = Fact("fabcd", "Their code is PX-4471.", "other", NOW, sources=("s1.2", "s2.1"))
    proposal = FactProposal("pabcd", "They like codes.", "other", NOW, "s1.2")
    records = (FactRecord(fact, NOW), ProposalRecord(proposal, NOW))
    (data / "facts.jsonl").write_bytes(b"rubbish\n" + b"\n".join(map(msgspec.json.encode, records)))


def put_memo(data: Path) -> None:
    Memos(data / "memos.jsonl", FakeClock(), FakeIds("m"), lambda: None).save(
        "PX-4471", source="s1.2"
    )


def put_event(data: Path) -> None:
    calendar = CalendarFile(data / "calendar.ics", FakeClock(), FakeIds(), lambda: "uid")
    calendar.create("PX-4471 arrives", NOW, source="s1.2")


def put_promises(data: Path) -> None:
    promises = [
        Promise("s1", 2, "user", "I will call about PX-4471.", NOW),
        Promise("s1", 1, "user", "I will call.", NOW),
    ]
    (data / "promises.json").write_bytes(msgspec.json.encode(promises))


def look_elsewhere(home: Path, *rows: IndexRow) -> tuple[Result, list[str]]:
    discarded: list[str] = []
    check = Check(
        "elsewhere",
        lambda: check_erased_stores(
            home / "data",
            home / "sessions",
            UTC,
            lambda: StoredRows(() if discarded else rows),
            lambda: discarded.append("gone"),
        ),
    )
    return looked(check), discarded


@pytest.mark.parametrize(
    ("put", "said"),
    [
        (put_facts, "Facts come from turns that were erased: fabcd, pabcd."),
        (put_memo, "Memos come from turns that were erased"),
        (put_event, "Events come from turns that were erased"),
    ],
)
def test_what_was_made_of_an_erased_turn_is_told(
    put: Callable[[Path], None], said: str, log: Callable[..., Path], home: Path
) -> None:
    (home / "data").mkdir(parents=True)
    put(home / "data")
    log()
    found, _ = look_elsewhere(home)
    assert found.state == "problem"
    assert said in found.findings[0].text
    assert found.remedies == []


def test_promises_of_an_erased_turn_are_taken_out(log: Callable[..., Path], home: Path) -> None:
    (home / "data").mkdir(parents=True)
    put_promises(home / "data")
    log()
    found, _ = look_elsewhere(home)
    assert mended(found, Copies(home, "now")).state == "fixed"
    kept = (home / "data" / "promises.json").read_text()
    assert "PX-4471" not in kept
    assert "I will call." in kept


def test_rows_of_an_erased_turn_go_with_the_index(log: Callable[..., Path], home: Path) -> None:
    log()
    found, discarded = look_elsewhere(home, ERASED)
    assert found.state == "problem"
    assert "s1.2" in found.findings[0].text
    assert mended(found, Copies(home, "now")).state == "fixed"
    assert discarded == ["gone"]


def test_without_an_erasing_nothing_is_looked_for(home: Path) -> None:
    (home / "data").mkdir(parents=True)
    put_facts(home / "data")
    assert look_elsewhere(home, ERASED)[0].state == "ok"


def test_an_unfinished_erase_that_can_not_be_read_is_told_as_such(tmp_path: Path) -> None:
    (tmp_path / "erasing.json").write_text("{")
    (finding,) = check_unfinished(tmp_path)
    assert "Remove that file" in finding.text
    erasure = Erasure("e1", datetime(2026, 11, 30, tzinfo=UTC), memos=("m1",))
    written = {"stage": "begun", "erasure": erasure}
    (tmp_path / "erasing.json").write_bytes(msgspec.json.encode(written))
    (finding,) = check_unfinished(tmp_path)
    assert "The next start finishes it" in finding.text
