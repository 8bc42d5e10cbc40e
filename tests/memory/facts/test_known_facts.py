"""What is known about the user stands in every prompt, within its budget, whatever goes wrong."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import cast

from assistant.errors import EntriesUnreadable
from assistant.memory.assembly import Fixed, Known, assemble, share_out
from assistant.memory.facts.known_facts import KnownFacts
from assistant.memory.session import Session
from assistant.memory.token_budget import TokenBudget
from assistant.messages import Fact
from assistant.prompt import Recollection
from assistant.protocols import FactStore
from tests.fakes import FakeClock, FakeCounter


@dataclass
class Stored:
    """Facts in the order they are in force."""

    facts: list[Fact] = field(default_factory=list)
    error: EntriesUnreadable | None = None

    def in_force(self, moment: datetime) -> Sequence[Fact]:
        if self.error is not None:
            raise self.error
        return self.facts


def known(stored: Stored, clock: FakeClock, room: int, said: list[str] | None = None) -> Known:
    say = (said if said is not None else []).append
    return KnownFacts(lambda: cast(FactStore, stored), FakeCounter(), room, say).at(clock())


def facts(clock: FakeClock, number: int) -> Stored:
    return Stored([Fact(f"f{at}", f"I own boat {at}", "about", clock()) for at in range(number)])


def test_facts_stand_word_for_word_in_the_system_message(clock: FakeClock) -> None:
    session = Session("s1", clock=clock, log=None, part=None)
    session.ask("hello")
    fixed = Fixed("Be kind.", facts=known(facts(clock, 2), clock, 1_000))
    budget = TokenBudget.for_window(5_000, reserve=300, history=1_000, recent_messages=5)
    shares = share_out(session, fixed, budget, FakeCounter(), clock())
    prompt = assemble(session, shares, Recollection(), fixed, budget, FakeCounter())
    system = prompt.messages[0].text
    assert system.startswith("Be kind.\n\n[Background: what the user has told you")
    assert "- I own boat 0" in system
    assert [one.id for one in prompt.facts] == ["f0", "f1"]
    sizes = {section.name: section.tokens for section in prompt.sections}
    assert sizes["facts"] == len(system) - len("Be kind.")


def test_what_finds_no_room_is_named(clock: FakeClock) -> None:
    found = known(facts(clock, 50), clock, 400)
    assert len(found.text) <= 400
    assert found.facts
    assert found.left_out
    assert len(found.facts) + len(found.left_out) == 50
    assert known(facts(clock, 5), clock, 0) == Known(left_out=tuple(facts(clock, 5).facts))


def test_without_facts_nothing_stands_there(clock: FakeClock) -> None:
    assert known(Stored(), clock, 1_000) == Known()


def test_facts_that_can_not_be_read_are_said_once_and_cost_no_turn(clock: FakeClock) -> None:
    said: list[str] = []
    stored = Stored(error=EntriesUnreadable("facts.jsonl can't be read."))
    reader = KnownFacts(lambda: cast(FactStore, stored), FakeCounter(), 1_000, said.append)
    assert reader.at(clock()) == Known()
    assert reader.at(clock()) == Known()
    assert said == ["facts.jsonl can't be read."]
