"""What is searched for: the message alone, or together with what it leans on."""

from __future__ import annotations

import pytest

from assistant.memory.recall.query import asked_speaker, leans_on_previous, query_of
from assistant.memory.session_store import SessionStore
from assistant.messages import Message


@pytest.mark.parametrize(
    "text",
    [
        "好吃吗？",
        "那第二个呢？",
        "and the second one?",
        "Why?",
        "How much does it cost?",
        "what about them",
        "然后呢",
        "👍",
    ],
)
def test_short_messages_that_point_back_lean_on_what_came_before(text: str) -> None:
    assert leans_on_previous(text)


@pytest.mark.parametrize(
    "text",
    [
        "What is my dog's name?",
        "我的订单编号是多少？",
        "Which restaurant in Basel did you recommend?",
        "When does the course on sourdough bread begin, and is it the same teacher as last year?",
    ],
)
def test_others_stand_for_themselves(text: str) -> None:
    assert not leans_on_previous(text)


def test_the_exchange_before_joins_the_search(store: SessionStore) -> None:
    session = store.create()
    session.ask("Tell me about Sichuan hotpot.")
    assert query_of(session).whole == "Tell me about Sichuan hotpot."
    session.answer(Message(role="assistant", content="It is hot. " + "x" * 900, turn=1))
    session.ask("好吃吗？")
    query = query_of(session)
    assert query.text == "好吃吗？"
    assert query.before.startswith("Tell me about Sichuan hotpot.\nIt is hot.")
    assert len(query.before) < 420
    assert query.whole.endswith("\n好吃吗？")


@pytest.mark.parametrize(
    ("text", "speaker"),
    [
        ("What did I say about the budget?", "user"),
        ("我曾经和你推荐过一部科幻电影，它的名字是？", "user"),
        ("Which restaurant did you recommend?", "assistant"),
        ("你推荐过哪本书？", "assistant"),
        ("What was your advice on knives?", "assistant"),
        ("When is the review?", None),
        ("我的订单编号是多少？", None),
    ],
)
def test_a_question_may_say_whose_words_it_asks_for(text: str, speaker: str | None) -> None:
    assert asked_speaker(text) == speaker
