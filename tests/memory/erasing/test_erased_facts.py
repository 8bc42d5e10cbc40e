"""Erasing facts: what names them goes, what they ended stays ended, nothing brings them back."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from datetime import timedelta
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from assistant.errors import EntryChanged, NoSuchEntry
from assistant.memory.erasing.entry_eraser import fact_eraser
from assistant.memory.facts.facts import Facts
from assistant.messages import Fact
from assistant.protocols import Written
from tests.memory.facts.test_facts import NOW, Days, letters
from tests.memory.test_erasables import erasure, quiet

LATER = NOW + timedelta(days=400)
TOWNS = ("Bern", "Lima", "Oslo", "Rome", "Kyiv", "Cork", "Nice")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "data" / "facts.jsonl"


@pytest.fixture
def times() -> Days:
    return Days()


@pytest.fixture
def new_letters() -> Callable[[], str]:
    return letters()


@pytest.fixture
def facts(path: Path, times: Days, new_letters: Callable[[], str]) -> Facts:
    return Facts(path, times=times, new_letters=new_letters)


@pytest.fixture
def other(path: Path, times: Days, new_letters: Callable[[], str]) -> Facts:
    """The same facts in another terminal."""
    return Facts(path, times=times, new_letters=new_letters)


def erase(path: Path, **what: object) -> None:
    store, wanted = fact_eraser(path), erasure(**what)
    store.erase(wanted, quiet)
    assert store.count(wanted) == 0
    assert store.matches(wanted) == []
    before = path.read_bytes()
    store.erase(wanted, quiet)
    assert path.read_bytes() == before


def kept(written: Written[Fact]) -> Fact:
    assert written.after is not None
    return written.after


def test_a_fact_that_took_anothers_place_does_not_bring_that_one_back(
    facts: Facts, other: Facts, path: Path, times: Days
) -> None:
    old = kept(facts.remember("I live in Bern", source="s1.1"))
    times.time += timedelta(days=1)
    new = kept(facts.remember("I live in Quito", source="s1.2"))
    assert facts.get(old.id).replaced_by == new.id
    until = facts.get(old.id).valid_until
    assert len(other.history()) == 2

    erase(path, facts=[new.id])

    for one in (facts, other):
        assert one.in_force(LATER) == []
        assert one.get(old.id).valid_until == until
        assert not one.get(old.id).replaced_by
        with pytest.raises(NoSuchEntry):
            one.get(new.id)
    assert b"Quito" not in path.read_bytes()
    assert new.id.encode() not in path.read_bytes()


def test_one_that_was_said_earlier_and_learnt_later_stays_ended_and_goes_on_counting(
    facts: Facts, path: Path
) -> None:
    new = kept(facts.remember("I live in Quito", source="s1.2"))
    middle = facts.remember("I live in Bern", source="s1.1", said=NOW - timedelta(days=5))
    assert kept(middle).replaced_by == new.id
    erase(path, turns={"s1": [2]})
    first = kept(facts.remember("I live in Lima", said=NOW - timedelta(days=9)))
    assert facts.in_force(LATER) == []
    assert first.replaced_by == kept(middle).id


def test_sources_that_stay_keep_a_fact(facts: Facts, path: Path) -> None:
    fact = kept(facts.remember("I like tea", source="s1.1"))
    line = path.read_bytes().replace(b'["s1.1"]', b'["s1.1","s2.7"]')
    path.write_bytes(line)
    erase(path, turns={"s1": [1]}, sessions=["s3"])
    assert facts.get(fact.id).sources == ("s2.7",)
    assert b"s1.1" not in path.read_bytes()
    erase(path, sessions=["s2"])
    assert facts.history() == []
    assert path.read_bytes() == b""


def test_one_typed_in_by_hand_goes_only_when_it_is_named(facts: Facts, path: Path) -> None:
    fact = kept(facts.remember("I like tea"))
    erase(path, turns={"s1": [1, 2]}, sessions=["s1", ""])
    assert facts.get(fact.id) == fact
    erase(path, facts=[fact.id])
    assert facts.history() == []


def test_what_was_taken_back_goes_too(facts: Facts, path: Path, times: Days) -> None:
    old = kept(facts.remember("I live in Bern", source="s1.1"))
    times.time += timedelta(days=1)
    written = facts.remember("I live in Quito", source="s1.2")
    written.undo()
    erase(path, turns={"s1": [2]})
    assert b"Quito" not in path.read_bytes()
    assert [one.id for one in facts.in_force(LATER)] == [old.id]
    erase(path, turns={"s1": [1]})
    assert path.read_bytes() == b""


# --- taking back --------------------------------------------------------------------------------


def test_no_undo_brings_an_erased_fact_back(
    facts: Facts, other: Facts, path: Path, times: Days
) -> None:
    made = facts.remember("I live in Bern", source="s1.1")
    times.time += timedelta(days=1)
    moved = other.remember("I live in Quito", source="s2.1")
    ended = other.forget(kept(moved).id)

    erase(path, facts=[kept(made).id, kept(moved).id])

    for written in (made, moved, ended):
        with pytest.raises(EntryChanged):
            written.undo()
    assert facts.history() == other.history() == []
    assert path.read_bytes() == b""


def test_an_undo_names_nothing_that_was_erased_meanwhile(
    facts: Facts, path: Path, times: Days
) -> None:
    old = kept(facts.remember("I live in Bern", source="s1.1"))
    times.time += timedelta(days=2)
    new = kept(facts.remember("I live in Quito", source="s1.2"))
    until = facts.get(old.id).valid_until
    ended_earlier = facts.forget(old.id, at=NOW + timedelta(days=1))
    erase(path, facts=[new.id])
    ended_earlier.undo()
    assert facts.get(old.id).valid_until == until
    assert not facts.get(old.id).replaced_by
    assert new.id.encode() not in path.read_bytes()


# --- proposals ----------------------------------------------------------------------------------


def test_proposals_of_an_erased_turn_go_with_their_decisions(facts: Facts, path: Path) -> None:
    for number, text in enumerate(("I like Quito", "I like Lima", "I like Bern"), 1):
        facts.propose(text, "preference", said=NOW, source=f"s1.{number}")
    one, two, three = facts.pending()
    facts.refuse(one.id)
    facts.approve(two.id)
    erase(path, turns={"s1": [1, 2]})
    assert [waiting.id for waiting in facts.pending()] == [three.id]
    assert facts.history() == []
    data = path.read_bytes()
    assert not any(one in data for one in (b"Quito", b"Lima", one.id.encode(), two.id.encode()))


def test_a_fact_that_goes_takes_the_proposal_it_was_made_of_and_those_to_end_it(
    facts: Facts, path: Path, times: Days
) -> None:
    facts.propose("I fly to Quito tomorrow", "other", said=NOW, source="s1.1")
    fact = kept(facts.approve(facts.pending()[0].id))
    facts.propose(fact.text, "other", said=NOW, source="s1.2", ends=fact.id)
    facts.propose("I fly to Bern", "other", said=NOW, source="s1.3", replaces=fact.id)
    erase(path, facts=[fact.id])
    (waiting,) = facts.pending()
    assert (waiting.text, waiting.replaces) == ("I fly to Bern", None)
    assert b"Quito" not in path.read_bytes()


def test_a_fact_that_is_named_takes_proposals_of_the_same_words(facts: Facts, path: Path) -> None:
    fact = kept(facts.remember("I like Quito"))
    facts.forget(fact.id)
    facts.propose("I like Quito!", "preference", said=NOW + timedelta(days=1), source="s1.1")
    assert len(facts.pending()) == 1
    erase(path, facts=[fact.id])
    assert facts.pending() == []
    assert b"Quito" not in path.read_bytes()


def test_an_undo_does_not_reopen_an_erased_proposal(facts: Facts, path: Path) -> None:
    fact = kept(facts.remember("I like Bern", source="s2.1"))
    facts.propose(fact.text, "preference", said=NOW, source="s1.1", ends=fact.id)
    ended = facts.approve(facts.pending()[0].id)
    erase(path, turns={"s1": [1]})
    ended.undo()
    assert facts.pending() == []
    assert [one.id for one in facts.in_force(LATER)] == [fact.id]


def test_a_single_proposal_is_erased_by_its_id(facts: Facts, path: Path) -> None:
    facts.propose("I like Quito", "preference", said=NOW, source="s1.1")
    erase(path, proposals=[facts.pending()[0].id])
    assert path.read_bytes() == b""


# --- whatever was done --------------------------------------------------------------------------

#: What is done in a turn, how many days ago it was said, and whether the turn is erased.
DOINGS = st.lists(
    st.tuples(
        st.sampled_from(("live", "live", "like", "propose", "approve", "end", "undo")),
        st.integers(0, 9),
        st.booleans(),
    ),
    min_size=2,
    max_size=14,
)


def marked(turn: int) -> str:
    """A word of this turn alone."""
    return f"{TOWNS[turn % len(TOWNS)]}{'abc'[turn // len(TOWNS)]}x"


def do(facts: Facts, undos: list[Callable[[], None]], what: str, turn: int, ago: int) -> None:
    source, said = f"s1.{turn}", NOW - timedelta(days=ago)
    waiting, held = facts.pending(), facts.in_force(LATER)
    match what:
        case "live" | "like":
            text = f"I {what} {'in' if what == 'live' else 'the town'} {marked(turn)}"
            undos.append(facts.remember(text, source=source, said=said).undo)
        case "propose":
            facts.propose(f"I live in {marked(turn)}", "about", said=said, source=source)
        case "approve" if waiting:
            undos.append(facts.approve(waiting[0].id).undo)
        case "end" if held:
            undos.append(facts.forget(held[0].id, at=LATER).undo)
        case "undo" if undos:
            with suppress(EntryChanged):
                undos.pop()()


@settings(suppress_health_check=[HealthCheck.too_slow], deadline=None)
@given(doings=DOINGS)
def test_nothing_of_an_erased_turn_is_left_and_nothing_ended_comes_back(
    tmp_path_factory: pytest.TempPathFactory,
    doings: list[tuple[str, int, bool]],
) -> None:
    path = tmp_path_factory.mktemp("facts") / "facts.jsonl"
    facts = Facts(path, times=Days(), new_letters=letters())
    undos: list[Callable[[], None]] = []
    gone = [turn for turn, (*_, erased) in enumerate(doings, 1) if erased]
    for turn, (what, ago, _) in enumerate(doings, 1):
        do(facts, undos, what, turn, ago)
    before = {fact.id: fact for fact in facts.history()}
    waiting = [one for one in facts.pending() if int(one.source[3:]) not in gone]
    if path.exists():
        erase(path, turns={"s1": gone})

    after = {fact.id: fact for fact in facts.history()}
    stay = {one for one, fact in before.items() if int(fact.sources[0][3:]) not in gone}
    assert after.keys() == stay
    for one, fact in after.items():
        assert replace(fact, replaced_by=None) == replace(before[one], replaced_by=None)
        assert fact.replaced_by in (before[one].replaced_by, "")
        assert not fact.replaced_by or fact.replaced_by in stay
    # One that was to end a fact goes with that.
    assert [one.id for one in facts.pending()] == [one.id for one in waiting]

    for undo in undos:
        with suppress(EntryChanged):
            undo()
    data = path.read_bytes() if path.exists() else b""
    assert not [turn for turn in gone if marked(turn).encode() in data]


# --- the rest -----------------------------------------------------------------------------------


def test_how_far_a_session_was_looked_at_goes_with_the_session_alone(
    facts: Facts, path: Path
) -> None:
    facts.looked_at("s1", 4)
    facts.looked_at("s2", 5)
    erase(path, turns={"s1": [1, 2, 3, 4]}, sessions=["s2"])
    assert (facts.extracted("s1"), facts.extracted("s2")) == (4, 0)


def test_a_line_that_can_not_be_read_goes_when_it_names_what_goes(facts: Facts, path: Path) -> None:
    fact = kept(facts.remember("I like Quito", source="s1.1"))
    facts.remember("I like Bern", source="s1.2")
    with path.open("ab") as file:
        file.write(b'{"v":1,"type":"fact","fact":{"id":"%s","text":"I like Qu\n' % fact.id.encode())
        file.write(b"rubbish\n")
    erase(path, turns={"s1": [1]})
    assert b"Qu" not in path.read_bytes()
    assert path.read_bytes().endswith(b"rubbish\n")
