"""Rows for a question from the session files alone."""

from __future__ import annotations

from pathlib import Path

import pytest

from assistant.memory.files import write_atomically
from assistant.memory.recall.log_rows import KEPT_SESSIONS, MOST_SESSIONS, LogRows
from assistant.memory.recall.terms import terms
from assistant.memory.session_store import SessionStore
from assistant.messages import Message


def talk(store: SessionStore, *texts: str) -> None:
    session = store.create()
    for text in texts:
        question = session.ask(text)
        session.answer(Message(role="assistant", content="I see.", turn=question.turn))
    session.close()


@pytest.mark.parametrize(
    ("question", "found"),
    [
        ("Where did I go running?", ["s1.1", "s1.2"]),
        ("PX-4471", ["s2.1"]),
        ("四川的火锅", ["s3.1"]),
        ("Where did I buy tea?", ["s2.1"]),
        ("What cost 1250?", ["s2.1"]),
        ("the of and", []),
        ("quantum chromodynamics", []),
        ("", []),
    ],
)
def test_sessions_that_may_hold_the_words_are_read_whole(
    store: SessionStore, question: str, found: list[str]
) -> None:
    talk(store, "Yesterday I ran along the river, and I like to run.", "It rained.")
    talk(store, "My order code is PX-4471, I bought it for 1,250 dollars.")
    talk(store, "我喜欢四川火锅")
    assert [row.id for row in LogRows(store).rows(terms(question))] == found


def test_a_session_that_has_grown_is_read_again(store: SessionStore) -> None:
    talk(store, "My order code is PX-4471.")
    rows = LogRows(store)
    assert len(rows.rows(["4471"])) == 1
    session = store.open("s1")
    session.ask("Another 4471")
    session.close()
    assert len(rows.rows(["4471"])) == 2


def test_what_was_erased_is_not_remembered(store: SessionStore, home: Path) -> None:
    talk(store, "My order code is PX-4471.", "It is 4471, as I said.")
    rows = LogRows(store)
    assert len(rows.rows(["4471"])) == 2
    log = home / "sessions" / "s1.jsonl"
    lines = log.read_bytes().splitlines(keepends=True)
    write_atomically(log, b"".join(line for line in lines if b'"turn":2,' not in line))
    assert [row.id for row in rows.rows(["4471"])] == ["s1.1"]


def test_only_the_newest_sessions_are_read(store: SessionStore) -> None:
    for _ in range(MOST_SESSIONS + 3):
        talk(store, "the same word")
    rows = LogRows(store).rows(["word"])
    assert len(rows) == MOST_SESSIONS < KEPT_SESSIONS
