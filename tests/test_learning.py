"""Sessions are looked at for facts when they are left, and a turn goes before that."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from typing import cast

import pytest

from assistant.errors import Unreachable
from assistant.learning import LATELY, Learner
from assistant.memory.facts.fact_extractor import Extraction, FactExtractor
from assistant.memory.facts.facts import Facts
from assistant.memory.session_store import SessionStore
from assistant.messages import Exchange, Fact, Message
from assistant.protocols import Written
from tests.fakes import FakeClock


@dataclass
class FakeExtractor:
    """Finds what it was given, and keeps what it was shown."""

    found: list[Extraction | Exception] = field(default_factory=list)
    shown: list[tuple[str, int]] = field(default_factory=list)
    calls: list[str] = field(default_factory=list)
    meanwhile: Callable[[], None] = lambda: None
    still_said: list[bool] = field(default_factory=list)

    def extract(
        self,
        session: str,
        exchanges: Sequence[Exchange],
        *,
        still_said: Callable[[Exchange], bool],
    ) -> Extraction:
        assert all(map(still_said, exchanges))
        self.meanwhile()
        self.still_said = [still_said(one) for one in exchanges]
        self.shown.append((session, len(exchanges)))
        found = self.found.pop(0) if self.found else Extraction()
        if isinstance(found, Exception):
            raise found
        return found

    def stop(self) -> None:
        self.calls.append("stop")

    def ready(self) -> None:
        self.calls.append("ready")


@dataclass
class FakeLooks:
    """How far each session was looked at."""

    done: dict[str, int] = field(default_factory=dict)

    def extracted(self, session: str) -> int:
        return self.done.get(session, 0)


@dataclass
class Learning:
    learner: Learner
    extractor: FakeExtractor
    looks: FakeLooks
    said: list[str]


@pytest.fixture
def learning(store: SessionStore, clock: FakeClock) -> Callable[..., Learning]:
    def make(*, on: bool = True, gives_way: bool = True) -> Learning:
        extractor, looks, said = FakeExtractor(), FakeLooks(), list[str]()
        learner = Learner(
            lambda: cast(FactExtractor, extractor),
            lambda: cast(Facts, looks),
            store,
            submit=lambda name, job: job(),
            say=said.append,
            clock=clock,
            on=on,
            gives_way=gives_way,
        )
        return Learning(learner, extractor, looks, said)

    return make


def talked(store: SessionStore, turns: int = 1) -> str:
    session = store.create()
    for turn in range(1, turns + 1):
        session.ask(f"I am number {turn}.")
        session.add(Message(role="assistant", content="Good.", turn=turn))
    session.close()
    return session.id


def fact(fact_id: str, text: str, clock: FakeClock) -> Fact:
    return Fact(fact_id, text, "about", clock())


def test_the_extractor_is_told_what_was_erased_or_taken_back_meanwhile(
    store: SessionStore, learning: Callable[..., Learning]
) -> None:
    work = learning()
    name = talked(store, turns=2)
    session = store.open(name)
    work.extractor.meanwhile = lambda: session.go_to(1)
    work.learner.look_at(name)
    assert work.extractor.still_said == [True, False]
    session.close()
    work.extractor.meanwhile = lambda: store.rewrite(name, lambda data: None)
    work.learner.look_at(name)
    assert work.extractor.still_said == [False]


def test_what_is_found_is_said(
    store: SessionStore, clock: FakeClock, learning: Callable[..., Learning]
) -> None:
    work = learning()
    bern, basel = fact("f1", "I live in Bern", clock), fact("f2", "I live in Basel", clock)
    new = Written(None, bern, lambda: None)
    changed = Written(bern, basel, lambda: None)
    ended = Written(basel, basel, lambda: None)
    work.extractor.found = [Extraction(kept=(new, changed, ended))]
    session = talked(store, turns=2)
    work.learner.look_at(session)
    assert work.extractor.shown == [(session, 2)]
    assert work.said == [
        "Remembered about you: I live in Bern. /memory shows all.",
        "Changed about you: I live in Bern → now: I live in Basel. /memory history shows it.",
        "Changed about you: I live in Basel → it has ended. /memory history shows it.",
    ]


def test_sessions_left_lately_are_looked_at_as_far_as_they_were_not(
    store: SessionStore, clock: FakeClock, learning: Callable[..., Learning]
) -> None:
    work = learning()
    looked_at, new, open_one = talked(store), talked(store, turns=2), talked(store)
    work.looks.done = {looked_at: 1, new: 1}
    work.learner.look_at_left(not_at=open_one)
    assert work.extractor.shown == [(new, 2)]
    work.extractor.shown.clear()
    clock.now = max(info.changed for info in store.list()) + LATELY + timedelta(days=1)
    work.learner.look_at_left(not_at=open_one)
    assert work.extractor.shown == []


def test_turns_after_undone_ones_are_looked_at_too(
    store: SessionStore, learning: Callable[..., Learning]
) -> None:
    work = learning()
    session = store.open(talked(store, turns=3))
    session.go_to(1)
    question = session.ask("something new")
    session.answer(Message(role="assistant", content="I see.", turn=question.turn))
    session.close()
    work.looks.done = {session.id: 3}
    work.learner.look_at_left(not_at="")
    assert work.extractor.shown == [(session.id, 2)]


def test_a_model_that_fails_costs_nothing_but_the_look(
    store: SessionStore, learning: Callable[..., Learning]
) -> None:
    work = learning()
    work.extractor.found = [Unreachable("Nothing listens there.")]
    work.learner.look_at(talked(store))
    assert work.said == []


def test_a_look_that_gave_way_goes_on_after_the_turn(
    store: SessionStore, learning: Callable[..., Learning]
) -> None:
    work = learning()
    work.extractor.found = [Extraction(stopped=True), Extraction()]
    session = talked(store)
    work.learner.look_at(session)
    with work.learner.giving_way():
        assert work.extractor.calls == ["stop"]
    assert work.extractor.calls == ["stop", "ready"]
    work.learner.go_on()
    work.learner.go_on()
    assert work.extractor.shown == [(session, 1), (session, 1)]


def test_nothing_is_looked_at_when_it_is_off_and_nothing_stopped_that_need_not(
    store: SessionStore, learning: Callable[..., Learning]
) -> None:
    off, endpoint = learning(on=False), learning(gives_way=False)
    off.learner.look_at(talked(store))
    off.learner.look_at_left(not_at="")
    with endpoint.learner.giving_way():
        assert endpoint.extractor.calls == []
    endpoint.learner.stop()
    assert off.extractor.shown == []
    assert endpoint.extractor.calls == []
