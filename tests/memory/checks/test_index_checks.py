"""The index against the logs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

import msgspec
import pytest

from assistant.errors import IndexBroken, IndexLocked, IndexUnavailable
from assistant.memory.checks.findings import Check, Copies, Result, looked, mended
from assistant.memory.checks.index_checks import check_index
from assistant.memory.recall.indexer import digest
from assistant.memory.session_store import SessionStore
from assistant.messages import Message


@pytest.fixture
def indexed(home: Path, store: SessionStore) -> dict[str, str]:
    """Rows as they should be for a session of two turns, which was compared as it is now."""
    session = store.create()
    for text in ("my order code is PX-4471", "thanks"):
        turn = session.ask(text).turn
        session.answer(Message("assistant", "fine", turn=turn))
    session.close()
    compared = {name: {"file": file, "exchanges": 2} for name, file in store.files().items()}
    kept = home / "data" / "index.json"
    kept.write_bytes(msgspec.json.encode({"sessions": compared}))
    return {one.id: digest(one) for one in store.exchanges("s1")}


def look(
    home: Path, store: SessionStore, rows: Callable[[], Mapping[str, str] | None]
) -> tuple[Result, list[str]]:
    discarded: list[str] = []
    kept = home / "data" / "index.json"
    check = Check("index", lambda: check_index(rows, lambda: discarded.append("gone"), store, kept))
    return looked(check), discarded


def test_an_index_that_says_what_the_logs_say_is_in_order(
    home: Path, store: SessionStore, indexed: dict[str, str]
) -> None:
    found, _ = look(home, store, lambda: indexed)
    assert found.state == "ok"
    assert found.findings[-1].text == "Rows: 2; exchanges: 2."


@pytest.mark.parametrize(
    "change",
    [
        lambda rows: rows.pop("s1.1"),
        lambda rows: rows.update({"s1.1": "another digest"}),
        lambda rows: rows.update({"s1.9": "of a turn that never was"}),
    ],
)
def test_rows_that_differ_from_the_logs_are_a_problem_and_go_with_the_index(
    home: Path, store: SessionStore, indexed: dict[str, str], change: Callable[[object], object]
) -> None:
    change(indexed)
    found, discarded = look(home, store, lambda: indexed)
    assert found.state == "problem"
    assert found.findings[0].text.startswith(
        "Rows of the memory index that are not what the session files say: 1."
    )
    assert discarded == []
    mended(found, Copies(home, "now"))
    assert discarded == ["gone"]


def test_what_the_next_conversation_does_by_itself_is_no_problem(
    home: Path, store: SessionStore, indexed: dict[str, str]
) -> None:
    session = store.open("s1")
    session.ask("one more")
    session.close()
    indexed["gone.1"] = "of a session that was deleted"
    found, _ = look(home, store, lambda: indexed)
    assert found.state == "ok"
    assert "still to be added: 1; rows to be taken out: 1" in found.findings[0].text
    assert look(home, store, lambda: None)[0].state == "ok"


@pytest.mark.parametrize(
    ("error", "state", "fixable"),
    [
        (IndexLocked("Another one has it."), "ok", False),
        (IndexUnavailable("It can't be read."), "warning", False),
        (IndexBroken("It is damaged."), "problem", True),
    ],
)
def test_an_index_that_can_not_be_read_says_so(
    home: Path, store: SessionStore, error: Exception, state: str, fixable: bool
) -> None:
    def rows() -> Mapping[str, str] | None:
        raise error

    found, _ = look(home, store, rows)
    assert found.state == state
    assert str(error) in found.findings[0].text
    assert bool(found.remedies) == fixable
