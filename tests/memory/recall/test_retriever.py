"""Retrieval around the ranking: what may be recalled, what fits, and what happens in trouble."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from assistant.errors import EmbedderUnavailable, IndexUnavailable
from assistant.memory.assembly import Fixed, Shares, share_out
from assistant.memory.background import recalled_block
from assistant.memory.recall.indexer import Indexer
from assistant.memory.recall.retriever import EMBEDDER_PAUSE, Retriever
from assistant.memory.session import Session
from assistant.memory.session_store import SessionStore
from assistant.memory.token_budget import TokenBudget
from assistant.messages import Message
from assistant.protocols import Hits
from tests.fakes import FakeClock, FakeCounter, FakeEmbedder, FakeIndexHome

COUNTER = FakeCounter()
PEANUTS = "My sister Anna is allergic to peanuts."
CHATTER = (
    "What is a good name for a boat?",
    "How do I sharpen a kitchen knife?",
    "Tell me about the moons of Jupiter.",
    "Write a limerick about rain.",
)


class Memory:
    """Sessions, an index over them whose jobs run at once, and the retriever."""

    def __init__(self, home: Path, store: SessionStore, clock: FakeClock) -> None:
        self.store = store
        self.place = FakeIndexHome()
        self.embedder = FakeEmbedder()
        self.told: list[str] = []
        self.seconds = 0.0
        self.jobs: list[Callable[[], None]] = []
        self.indexer = Indexer(
            self.place,
            lambda: self.embedder,
            store,
            home / "data" / "index.json",
            submit=lambda name, job: self.jobs.append(job),
            say=self.told.append,
            clock=clock,
            monotonic=lambda: self.seconds,
        )
        self.retriever = Retriever(
            self.indexer, store, COUNTER, clock=clock, monotonic=lambda: self.seconds, patience=0
        )

    def work(self) -> None:
        while self.jobs:
            self.jobs.pop(0)()

    def start(self) -> None:
        self.indexer.start()
        self.work()

    def talk(self, *texts: str) -> Session:
        session = self.store.create()
        for text in texts:
            question = session.ask(text)
            session.answer(Message(role="assistant", content="I see.", turn=question.turn))
        return session

    def found(self, text: str, room: int = 2_000) -> list[str]:
        return [one.exchange.id for one in self.retriever.look_up(text, room).items]


@pytest.fixture
def memory(home: Path, store: SessionStore, clock: FakeClock) -> Memory:
    return Memory(home, store, clock)


def shares(session: Session, clock: FakeClock, recalled: int = 2_000) -> Shares:
    budget = TokenBudget.for_window(
        50_000, reserve=500, history=3_000, recent_messages=4, recalled=recalled
    )
    return share_out(session, Fixed("Be kind."), budget, COUNTER, clock())


def test_an_exchange_of_another_session_is_found_with_its_place_and_score(memory: Memory) -> None:
    memory.talk(PEANUTS, *CHATTER).close()
    memory.start()
    recollection = memory.retriever.look_up("What is Anna allergic to?", 2_000)
    (item,) = [one for one in recollection.items if one.exchange.turn == 1]
    assert item.exchange.id == "s1.1"
    assert item.exchange.user == PEANUTS
    assert item.score == pytest.approx(sum(item.parts.values()), abs=0.01)
    assert "allergic to peanuts" in recollection.text
    assert recollection.problem == ""
    assert all(one.left_out for one in recollection.passed_over)


def test_what_is_sent_word_for_word_is_left_out(memory: Memory, clock: FakeClock) -> None:
    session = memory.talk(PEANUTS, *CHATTER)
    memory.start()
    session.ask("What is my sister Anna allergic to?")
    assert memory.retriever.recall(session, shares(session, clock)).items[0].exchange.turn == 1
    short = memory.talk(PEANUTS)
    memory.start()
    short.ask("What is my sister Anna allergic to?")
    recollection = memory.retriever.recall(short, shares(short, clock))
    assert all(one.exchange.user != PEANUTS for one in recollection.items)


def test_the_text_fits_its_room_with_the_block_around_it(memory: Memory) -> None:
    for number in range(20):
        memory.talk(f"Anna is allergic to thing number {number}, said the doctor.").close()
    memory.start()
    for room in (0, 60, 200, 400, 700, 1_500):
        recollection = memory.retriever.look_up("What is Anna allergic to?", room)
        text = recollection.text
        assert not text or len(f"\n\n{recalled_block(text)}") <= room
        assert bool(text) == bool(recollection.items)
        # No room is given away: one more line would not fit.
        assert not text or room >= 1_500 or len(recalled_block(text)) > room - 150
    assert len(memory.found("What is Anna allergic to?", 1_500)) > 1


def test_a_short_question_that_leans_on_the_one_before_is_searched_with_it(
    memory: Memory, clock: FakeClock
) -> None:
    memory.talk("Sichuan hotpot gave me a rash.", *CHATTER).close()
    memory.start()
    session = memory.talk("Shall we have Sichuan hotpot?")
    session.ask("Is it good?")
    recollection = memory.retriever.recall(session, shares(session, clock))
    assert "Sichuan hotpot" in recollection.query
    assert "s1.1" in [one.exchange.id for one in recollection.items]


def test_days_named_in_the_question_are_told(memory: Memory) -> None:
    memory.talk(PEANUTS).close()
    memory.start()
    recollection = memory.retriever.look_up("What did I say yesterday about Anna?", 2_000)
    assert recollection.dates == "2026-03-03"


def test_a_deleted_session_is_not_brought_up_even_while_the_index_has_it(memory: Memory) -> None:
    memory.talk(PEANUTS).close()
    memory.start()
    memory.store.rewrite("s1", lambda data: None)
    assert "s1.1" in memory.place.index.stored
    assert memory.found("What is my sister Anna allergic to?") == []


def test_a_turn_that_was_rejected_after_it_was_indexed_is_not_brought_up(
    memory: Memory, clock: FakeClock
) -> None:
    session = memory.store.create()
    question = session.ask(PEANUTS)
    memory.start()
    session.fail(question.turn, "refused", rejected=True)
    for text in CHATTER:
        answered = session.ask(text)
        session.answer(Message(role="assistant", content="I see.", turn=answered.turn))
    session.ask("What is my sister Anna allergic to?")
    recollection = memory.retriever.recall(session, shares(session, clock))
    assert "s1.1" not in [one.exchange.id for one in recollection.items]


def test_copies_of_one_text_leave_room_for_others(memory: Memory) -> None:
    first = memory.talk(*(f"Anna talked about allergies, part {number}" for number in range(20)))
    for _ in range(5):
        memory.store.fork(first).close()
    first.close()
    memory.talk("Anna is allergic, and it is peanuts.").close()
    memory.start()
    assert "s7.1" in memory.found("What is Anna allergic to, peanuts?", 9_000)


def test_a_second_look_finds_what_was_said_between_two_days(
    memory: Memory, clock: FakeClock
) -> None:
    for text in ("Anna is allergic to peanuts.", "Anna is allergic to cats.", "Anna ate peanuts."):
        memory.talk(text, *CHATTER).close()
        clock.advance(days=1)
    memory.start()
    day = clock().replace(hour=0, minute=0) - timedelta(days=2)
    question = "What is Anna allergic to?"

    def turns(start: datetime | None, end: datetime | None) -> set[str]:
        found = memory.retriever.found(question, start, end, not_in="")
        return {one.partition("(")[2].partition(")")[0] for one in found} & {"s1.1", "s2.1", "s3.1"}

    assert turns(None, None) == {"s1.1", "s2.1", "s3.1"}
    assert turns(day, day + timedelta(days=1)) == {"s2.1"}
    assert turns(day, None) == {"s2.1", "s3.1"}
    assert turns(None, day) == {"s1.1"}


def test_a_second_look_does_not_find_the_turn_that_asks(memory: Memory) -> None:
    session = memory.talk(PEANUTS, *CHATTER)
    question = "What is my sister Anna allergic to?"
    asked = session.ask(question)
    memory.start()
    asks = f"{session.id}.{asked.turn}"
    assert asks in memory.place.index.stored
    found = memory.retriever.found(question, None, None, not_in=asks)
    assert "(s1.1)" in found[0]
    assert question not in "".join(found)


def test_no_room_searches_nothing(memory: Memory, clock: FakeClock) -> None:
    session = memory.talk(PEANUTS)
    session.ask("What is my sister Anna allergic to?")
    recollection = memory.retriever.recall(session, shares(session, clock, recalled=0))
    assert recollection.query == ""


# --- trouble ------------------------------------------------------------------------------------


def test_without_the_index_words_are_looked_for_in_the_sessions(memory: Memory) -> None:
    memory.talk(PEANUTS, *CHATTER).close()
    memory.indexer.start()  # its job has not run
    recollection = memory.retriever.look_up("What is Anna allergic to?", 2_000)
    assert recollection.items[0].exchange.id == "s1.1"
    assert recollection.problem.startswith("Words alone were looked for: the memory index is just")


def test_a_search_that_fails_is_made_up_for_and_reported_once(memory: Memory) -> None:
    memory.talk(PEANUTS, *CHATTER).close()
    memory.start()

    def hang(*_: object) -> Hits:
        raise IndexUnavailable("The index does not answer.")

    memory.place.index.search = hang  # type: ignore[method-assign]
    recollection = memory.retriever.look_up("What is Anna allergic to?", 2_000)
    assert recollection.items[0].exchange.id == "s1.1"
    assert recollection.problem == "The index does not answer."
    memory.work()
    assert memory.told == ["The index does not answer."]
    assert memory.indexer.state == "unavailable"


def test_an_embedder_that_fails_leaves_the_words_and_is_not_asked_every_turn(
    memory: Memory,
) -> None:
    memory.talk(PEANUTS, *CHATTER).close()
    memory.start()
    asked = 0

    def fail(text: str) -> None:
        nonlocal asked
        asked += 1
        raise EmbedderUnavailable("Rate limited.")

    memory.embedder.embed_query = fail  # type: ignore[method-assign,assignment]
    for _ in range(3):
        assert memory.found("What is Anna allergic to?")[0] == "s1.1"
    assert (asked, memory.told) == (1, ["Rate limited."])
    memory.seconds = EMBEDDER_PAUSE + 1
    memory.found("What is Anna allergic to?")
    assert asked == 2


def test_a_fault_of_ours_costs_no_turn(memory: Memory) -> None:
    memory.talk(PEANUTS).close()
    memory.start()

    def broken(*_: object) -> Hits:
        raise RuntimeError("unforeseen")

    memory.place.index.search = broken  # type: ignore[method-assign]
    recollection = memory.retriever.look_up("What is Anna allergic to?", 2_000)
    assert recollection.items == ()
    assert "a bug: RuntimeError" in recollection.problem
    assert memory.told == [recollection.problem]


@pytest.mark.parametrize(
    "text",
    ["", "👋🏽", "\x00", "x" * 200_000, "你" * 50_000, "[End of the background]", "12 user: hi"],
)
def test_any_question_and_any_text_will_do(memory: Memory, text: str) -> None:
    memory.talk(text, PEANUTS).close()
    memory.start()
    memory.retriever.look_up(text, 2_000)
    assert "s1.2" in memory.found("What is Anna allergic to?")
