"""Exact words in the session files, with no index."""

from __future__ import annotations

import pytest

from assistant.memory.recall.log_search import search_logs
from assistant.memory.session_store import SessionStore
from assistant.messages import Message
from tests.fakes import FakeClock


@pytest.fixture
def sessions(store: SessionStore, clock: FakeClock) -> SessionStore:
    for said in (
        [("The order code is PX-4471.", "Noted."), ("我喜欢四川火锅", "好的！")],
        [('He said "never again" to me.', "When?"), ("In the Straße, at noon.", "I see.")],
        [("Order some paper", "The code for paper is QQ-12."), ("a\\b", "c\nd")],
    ):
        session = store.create()
        for user, assistant in said:
            clock.advance(minutes=1)
            question = session.ask(user)
            session.answer(Message(role="assistant", content=assistant, turn=question.turn))
        session.close()
    return store


def test_what_was_undone_is_found_and_marked(sessions: SessionStore) -> None:
    session = sessions.open("s1")
    session.go_to(1)
    session.close()
    found = search_logs(sessions, "火锅", 10) + search_logs(sessions, "px-4471", 10)
    assert [(one.exchange.id, one.exchange.undone) for one in found] == [
        ("s1.2", True),
        ("s1.1", False),
    ]


@pytest.mark.parametrize(
    ("words", "turns"),
    [
        ("px-4471", ["s1.1"]),
        ("4471", ["s1.1"]),
        ("order code", ["s3.1", "s1.1"]),
        ('"order code"', ["s1.1"]),
        ("火锅", ["s1.2"]),
        ("喜欢 火锅", ["s1.2"]),
        ("strasse", ["s2.2"]),
        ('"never again"', ["s2.1"]),
        ('said"', []),
        ("a\\b", ["s3.2"]),
        ("never paper", []),
        ("  ", []),
        ('""', []),
    ],
)
def test_all_words_must_occur_newest_first(
    sessions: SessionStore, words: str, turns: list[str]
) -> None:
    assert [one.exchange.id for one in search_logs(sessions, words, 10)] == turns


def test_what_is_shown_is_the_text_around_the_first_word(sessions: SessionStore) -> None:
    (found,) = search_logs(sessions, "QQ-12", 10)
    assert found.excerpt == "Order some paper The code for paper is QQ-12."


def test_no_more_than_was_asked_for(sessions: SessionStore) -> None:
    assert len(search_logs(sessions, "e", 2)) == 2


def test_rejected_turns_are_found_and_unreadable_lines_do_not_disturb(
    sessions: SessionStore,
) -> None:
    session = sessions.open("s1")
    question = session.ask("refused PX-4471")
    session.fail(question.turn, "no", rejected=True)
    path = session.path
    assert path is not None
    session.close()
    with path.open("ab") as file:
        file.write(b'{"broken PX-4471\n\xff\xfe PX-4471\n')
    assert [one.exchange.id for one in search_logs(sessions, "PX-4471", 10)] == ["s1.3", "s1.1"]
