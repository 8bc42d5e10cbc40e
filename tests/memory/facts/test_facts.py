"""Facts: what is kept, what takes whose place, and what is found again."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from itertools import count
from pathlib import Path
from threading import Thread

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from assistant.errors import EntryChanged, NoSuchEntry, WrongEntry
from assistant.memory.facts.fact_text import facts_block
from assistant.memory.facts.facts import Facts
from assistant.messages import Fact, FactKind, Moment

NOW = datetime(2026, 11, 30, 9, 0, tzinfo=UTC)  # a Monday


class Days:
    """Knows what time it is, and one word."""

    def __init__(self, now: datetime = NOW) -> None:
        self.time = now

    def now(self) -> datetime:
        return self.time

    def moment(self, text: str, now: datetime | None = None) -> Moment:
        if text.lower() != "tomorrow":
            raise WrongEntry("?", "")
        day = ((now or self.time) + timedelta(days=1)).replace(hour=0, minute=0)
        return Moment(day, day + timedelta(days=1), whole_day=True)

    def stretch(self, text: str) -> Moment:
        raise WrongEntry("?", "")

    def leading(self, text: str) -> tuple[Moment, str]:
        raise WrongEntry("?", "")

    def repeat(self, text: str) -> str:
        raise WrongEntry("?", "")


def letters() -> Callable[[], str]:
    numbers = count()
    return lambda: "".join("bcdfghjkmn"[int(digit)] for digit in f"{next(numbers):03}")


@pytest.fixture
def times() -> Days:
    return Days()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "data" / "facts.jsonl"


@pytest.fixture
def facts(path: Path, times: Days) -> Facts:
    return Facts(path, times=times, new_letters=letters())


def texts(found: Sequence[Fact]) -> list[str]:
    return [fact.text for fact in found]


def day(number: int) -> datetime:
    """So many days before now (negative) or after it."""
    return NOW + timedelta(days=number)


def remembered(facts: Facts, text: str, said: datetime = NOW) -> Fact:
    fact = facts.remember(text, said=said).after
    assert fact is not None
    return fact


# --- keeping ------------------------------------------------------------------------------------


def test_a_fact_is_kept_word_for_word_with_its_kind_and_source(facts: Facts, path: Path) -> None:
    written = facts.remember("Always answer in English", source="s1.4")
    fact = written.after
    assert written.before is None
    assert fact == Fact(
        id="fbbb", text="Always answer in English", kind="rule", said=NOW, sources=("s1.4",)
    )
    again = Facts(path, times=Days())
    assert again.get("fbbb") == fact
    assert again.get(" FBBB ") == fact


def test_another_process_sees_it_at_once(facts: Facts, path: Path) -> None:
    other = Facts(path, times=Days())
    assert other.in_force(NOW) == []
    remembered(facts, "I like tea")
    assert texts(other.in_force(NOW)) == ["I like tea"]


def test_a_given_kind_is_taken(facts: Facts) -> None:
    fact = facts.remember("I like tea", "other").after
    assert fact is not None
    assert fact.kind == "other"


def test_a_later_one_on_the_same_thing_takes_the_place(facts: Facts, times: Days) -> None:
    old = remembered(facts, "I live in Berlin")
    times.time = day(10)
    written = facts.remember("I moved to Munich")
    assert written.after is not None
    assert written.before is not None
    assert (written.before.id, written.before.valid_until) == (old.id, day(10))
    assert written.before.replaced_by == written.after.id
    assert texts(facts.in_force(day(9))) == ["I live in Berlin"]
    assert texts(facts.in_force(day(10))) == ["I moved to Munich"]
    assert texts(facts.history()) == ["I moved to Munich", "I live in Berlin"]


def test_the_old_one_holds_until_the_new_one_begins(facts: Facts) -> None:
    remembered(facts, "I work at Siemens")
    facts.remember("I work at Bosch", valid_from=day(30))
    assert texts(facts.in_force(day(29))) == ["I work at Siemens"]
    assert texts(facts.in_force(day(30))) == ["I work at Bosch"]


def test_one_said_earlier_and_written_later_ends_nothing_newer(facts: Facts) -> None:
    munich = remembered(facts, "I moved to Munich", day(0))
    berlin = remembered(facts, "I live in Berlin", day(-20))
    assert (berlin.valid_until, berlin.replaced_by) == (day(0), munich.id)
    rome = remembered(facts, "I live in Rome", day(-10))
    assert (rome.valid_until, rome.replaced_by) == (day(0), munich.id)
    assert facts.get(berlin.id).replaced_by == rome.id
    assert facts.get(berlin.id).valid_until == day(-10)
    assert facts.get(munich.id).valid_until is None


@settings(
    max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(order=st.permutations(range(5)))
def test_the_order_of_writing_makes_no_difference(order: list[int], tmp_path: Path) -> None:
    cities = ["Berlin", "Rome", "Paris", "Oslo", "Kiel"]
    path = tmp_path / ("".join(map(str, order))) / "facts.jsonl"
    path.unlink(missing_ok=True)
    facts = Facts(path, times=Days(day(9)))
    for number in order:
        facts.remember(f"I live in {cities[number]}", said=day(number))
    spans = {fact.text.split()[-1]: (fact.said, fact.valid_until) for fact in facts.history()}
    ends = [*(day(number) for number in range(1, 5)), None]
    assert spans == {city: (day(at), ends[at]) for at, city in enumerate(cities)}


def test_of_different_people_and_in_doubt_both_stay(facts: Facts) -> None:
    said = [
        "My birthday is 4 May",
        "Anna's birthday is 5 May",
        "Ben's birthday is 6 May",
        "I have a dog called Rex",
        "I have a dog called Max",
    ]
    for text in said:
        facts.remember(text)
    assert sorted(texts(facts.in_force(NOW))) == sorted(said)


def test_one_with_an_end_from_the_start_takes_no_place(facts: Facts) -> None:
    remembered(facts, "I live in Berlin")
    facts.remember("I live in Rome", valid_until=day(30))
    assert texts(facts.in_force(NOW)) == ["I live in Rome", "I live in Berlin"]
    assert texts(facts.in_force(day(30))) == ["I live in Berlin"]
    remembered(facts, "I live in Kiel", day(1))
    assert texts(facts.in_force(day(2))) == ["I live in Kiel", "I live in Rome"]


def test_one_that_is_named_is_replaced_whatever_the_wording(facts: Facts) -> None:
    old = remembered(facts, "I like long walks")
    written = facts.remember("Running is my thing", replaces=old.id)
    assert written.before is not None
    assert written.before.id == old.id
    assert texts(facts.in_force(NOW)) == ["Running is my thing"]


def test_what_is_known_word_for_word_is_not_written_again(facts: Facts, path: Path) -> None:
    known = remembered(facts, "I like tea")
    size = path.stat().st_size
    written = facts.remember("i like  tea.")
    assert written.before is written.after
    assert written.after == known
    written.undo()
    assert path.stat().st_size == size


def test_what_was_ended_is_not_brought_back_by_an_old_session(facts: Facts, times: Days) -> None:
    fact = remembered(facts, "I like tea", day(-5))
    facts.forget(fact.id)
    facts.remember("I like tea", said=day(-4))
    assert facts.in_force(NOW) == []
    times.time = day(1)
    facts.remember("I like tea")
    assert texts(facts.in_force(day(1))) == ["I like tea"]


@pytest.mark.parametrize("text", ["my card is 4111 1111 1111 1111", "我的密码是abc123"])
def test_a_secret_is_refused_and_nothing_is_written(facts: Facts, path: Path, text: str) -> None:
    with pytest.raises(WrongEntry, match="Nothing was kept") as caught:
        facts.remember(text)
    assert caught.value.field == "text"
    assert not path.exists() or path.read_bytes() == b""


@pytest.mark.parametrize(("text", "field"), [("", "text"), (" \n", "text"), ("a" * 1_001, "text")])
def test_what_is_no_fact_is_refused(facts: Facts, text: str, field: str) -> None:
    with pytest.raises(WrongEntry, match="Nothing was kept") as caught:
        facts.remember(text)
    assert caught.value.field == field


def test_an_end_before_the_beginning_is_refused(facts: Facts) -> None:
    with pytest.raises(WrongEntry) as caught:
        facts.remember("I live in Rome", valid_until=day(-1))
    assert caught.value.field == "valid_until"


def test_words_for_days_get_their_date_from_when_it_was_said(facts: Facts) -> None:
    assert remembered(facts, "I fly tomorrow", day(-10)).text == "I fly tomorrow (2026-11-21)"
    again = facts.remember("I fly tomorrow", said=day(-10))
    assert again.before is again.after


# --- ending and taking back ---------------------------------------------------------------------


def test_a_forgotten_fact_stays_in_the_history(facts: Facts, times: Days) -> None:
    fact = remembered(facts, "I like tea")
    times.time = day(3)
    written = facts.forget(fact.id)
    assert written.before == fact
    assert written.after is not None
    assert written.after.valid_until == day(3)
    assert facts.in_force(day(3)) == []
    assert texts(facts.history()) == ["I like tea"]
    with pytest.raises(WrongEntry, match="ended already"):
        facts.forget(fact.id)


def test_an_unknown_id_changes_nothing(facts: Facts) -> None:
    for call in (facts.get, facts.forget, facts.approve, facts.refuse):
        with pytest.raises(NoSuchEntry, match="Nothing was changed"):
            call("fzz")


def test_undo_brings_back_what_was_there(facts: Facts, path: Path) -> None:
    old = remembered(facts, "I live in Berlin", day(-3))
    written = facts.remember("I live in Munich")
    written.undo()
    assert facts.in_force(NOW) == [old]
    assert Facts(path, times=Days()).history() == [old]
    ended = facts.forget(old.id)
    ended.undo()
    assert facts.get(old.id) == old


def test_undo_is_refused_when_it_was_changed_since(facts: Facts, path: Path) -> None:
    written = facts.remember("I live in Berlin")
    remembered(Facts(path, times=Days()), "I live in Munich", day(1))
    with pytest.raises(EntryChanged, match="Nothing was changed"):
        written.undo()
    assert len(facts.history()) == 2


def test_the_id_of_what_was_taken_back_is_not_given_again(path: Path) -> None:
    given = iter(["b", "b", "c"])
    facts = Facts(path, times=Days(), new_letters=lambda: next(given))
    facts.remember("I like tea").undo()
    assert remembered(facts, "I like jazz").id == "fc"


def test_a_line_that_is_no_record_is_passed_over(facts: Facts, path: Path) -> None:
    remembered(facts, "I like tea")
    with path.open("ab") as file:
        file.write(b'{"v":1,"type":"strange"}\nnonsense\n')
        file.write(b'{"v":1,"type":"end","id":"fzz","until":"2026-01-01T00:00:00Z",')
        file.write(b'"ts":"2026-01-01T00:00:00Z"}\n')
        file.write(b'{"v":1,"type":"fact","ts":"2026-01-01T00:00:00Z","fact":{"id":"fz","text":')
        file.write(b'"I have no zone","kind":"about","said":"2026-01-01T00:00:00"}}\n')
    remembered(facts, "I like jazz")
    assert sorted(texts(facts.in_force(NOW))) == ["I like jazz", "I like tea"]


def test_a_file_put_in_its_place_is_read_anew(facts: Facts, path: Path) -> None:
    tea, jazz = remembered(facts, "I like tea"), remembered(facts, "I like jazz")
    line = path.read_bytes().splitlines(keepends=True)[1]
    new = path.with_suffix(".new")
    new.write_bytes(line)
    new.replace(path)
    assert texts(facts.in_force(NOW)) == [jazz.text]
    assert facts.near("tea") == []
    with pytest.raises(NoSuchEntry):
        facts.get(tea.id)


def test_threads_write_and_read_side_by_side(facts: Facts) -> None:
    def write(owner: str) -> None:
        for number in range(8):
            facts.remember(f"{owner} has book {number}")
            facts.in_force(NOW)

    writers = [Thread(target=write, args=(owner,)) for owner in ("Anna", "Ben")]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    assert len(facts.in_force(NOW)) == 16


# --- finding ------------------------------------------------------------------------------------


def test_rules_come_first_then_the_newest(facts: Facts) -> None:
    remembered(facts, "Never use emojis", day(-9))
    remembered(facts, "I like tea", day(-8))
    remembered(facts, "Call me Bob", day(-7))
    remembered(facts, "I like jazz", day(-6))
    assert texts(facts.in_force(NOW)) == [
        "Call me Bob",
        "Never use emojis",
        "I like jazz",
        "I like tea",
    ]


@pytest.mark.parametrize(
    ("question", "first"),
    [
        ("Which tea do I like?", "I like green tea"),
        ("我喜欢什么茶", "我喜欢乌龙茶"),
        ("Where do I live?", "I moved to Munich"),
        ("What is my job?", "I work as a nurse"),
        ("我住在哪里", "I moved to Munich"),
        ("What is my sister called", "My sister Anna studies law"),
    ],
)
def test_the_nearest_comes_first(facts: Facts, question: str, first: str) -> None:
    for text in (
        "I like green tea",
        "我喜欢乌龙茶",
        "I moved to Munich",
        "I work as a nurse",
        "My sister Anna studies law",
        "I like jazz",
        "我喜欢爬山",
    ):
        facts.remember(text)
    assert texts(facts.near(question))[0] == first
    assert facts.near("Quarks and gluons") == []
    assert len(facts.near("What do I like?", most=1)) == 1


def test_a_question_about_then_is_answered_from_what_held_then(facts: Facts) -> None:
    remembered(facts, "I live in Berlin", datetime(2026, 2, 1, tzinfo=UTC))
    remembered(facts, "I moved to Munich", datetime(2026, 9, 1, tzinfo=UTC))
    remembered(facts, "I like tea", datetime(2026, 2, 1, tzinfo=UTC))
    assert texts(facts.bearing_on("Where did I live in March?", NOW)) == ["I live in Berlin"]
    assert texts(facts.bearing_on("Where did I live last month?", NOW)) == ["I moved to Munich"]
    assert texts(facts.bearing_on("Where did I live before?", NOW)) == ["I live in Berlin"]
    assert texts(facts.bearing_on("我以前住在哪里？", NOW)) == ["I live in Berlin"]
    assert facts.bearing_on("Where do I live?", NOW) == []
    assert facts.bearing_on("Which car did I use to drive before?", NOW) == []


def test_what_was_said_at_that_time_bears_on_it_too(facts: Facts) -> None:
    march = datetime(2026, 3, 5, tzinfo=UTC)
    facts.remember("I live in Kiel", said=march, valid_from=day(10))
    assert texts(facts.bearing_on("What did I say on where I live in March?", NOW)) == [
        "I live in Kiel"
    ]


def test_the_history_is_searched_by_words(facts: Facts) -> None:
    remembered(facts, "I like green tea")
    remembered(facts, "I like jazz")
    assert texts(facts.history("LIKE tea")) == ["I like green tea"]


# --- proposals ----------------------------------------------------------------------------------


def test_a_proposal_waits_until_it_is_approved(facts: Facts, path: Path) -> None:
    old = remembered(facts, "I live in Berlin", day(-9))
    proposal = facts.propose("I live in Munich", "about", said=day(-1), source="s1.2")
    assert proposal is not None
    assert texts(facts.in_force(NOW)) == ["I live in Berlin"]
    assert Facts(path, times=Days()).pending() == [proposal]
    written = facts.approve(proposal.id)
    assert written.after is not None
    assert (written.after.said, written.after.sources) == (day(-1), ("s1.2",))
    assert facts.pending() == []
    assert texts(facts.in_force(NOW)) == ["I live in Munich"]
    written.undo()
    assert facts.pending() == [proposal]
    assert facts.in_force(NOW) == [old]


def test_a_refused_proposal_is_not_made_again(facts: Facts) -> None:
    proposal = facts.propose("I live in Munich", "about", said=NOW, source="s1.2")
    assert proposal is not None
    facts.refuse(proposal.id)
    assert facts.pending() == []
    assert facts.propose("I live in Munich.", "about", said=NOW, source="s1.3") is None
    assert facts.in_force(NOW) == []


def test_a_proposed_end_is_one_at_the_time_it_was_said(facts: Facts) -> None:
    tea = remembered(facts, "I like tea", day(-9))
    proposal = facts.propose(tea.text, tea.kind, said=day(-1), source="s1.2", ends=tea.id)
    assert proposal is not None
    facts.approve(proposal.id)
    assert facts.get(tea.id).valid_until == day(-1)


def test_what_is_known_or_a_secret_is_not_proposed(facts: Facts) -> None:
    remembered(facts, "I like tea")
    assert facts.propose("I like tea", "preference", said=NOW, source="s1.1") is None
    with pytest.raises(WrongEntry):
        facts.propose("my password is hunter2", "about", said=NOW, source="s1.1")


def test_how_far_a_session_was_looked_at_is_known_after_a_restart(facts: Facts, path: Path) -> None:
    assert facts.extracted("s1") == 0
    facts.looked_at("s1", 4)
    facts.looked_at("s1", 2)
    again = Facts(path, times=Days())
    assert again.extracted("s1") == 4
    assert again.extracted("s2") == 0


# --- in the prompt ------------------------------------------------------------------------------


def fact(text: str, kind: FactKind = "about", until: datetime | None = None) -> Fact:
    return Fact(id="f" + text[:2], text=text, kind=kind, said=NOW, valid_until=until)


FEW = [fact("Never use emojis", "rule"), fact("I live in Berlin"), fact("I fast", until=day(9))]


def test_facts_stand_whole_in_a_marked_block_with_their_dates() -> None:
    block = facts_block(FEW, len, 1_000, "en")
    assert block.text == (
        "[Background: what the user has told you about themselves. Where two differ, the later "
        "one holds.]\n"
        "- I live in Berlin (since 2026-11-30)\n"
        "- I fast (since 2026-11-30, until 2026-12-09)\n"
        "The user asks you to keep to these:\n"
        "- Never use emojis\n"
        "[End of what is known about the user]"
    )
    assert block.tokens == len(block.text)
    assert block.used == tuple(FEW)
    chinese = facts_block(FEW, len, 1_000, "zh").text
    assert "- I live in Berlin（自2026-11-30）" in chinese
    assert chinese.startswith("【背景")


def test_no_facts_make_no_block() -> None:
    assert facts_block([], len, 1_000, "en").text == ""
    assert facts_block(FEW, len, 20, "en").text == ""
    assert facts_block(FEW, len, 20, "en").left_out == tuple(FEW)


@given(
    st.lists(st.tuples(st.text(max_size=60), st.sampled_from(["rule", "about"])), max_size=30),
    st.integers(0, 900),
)
def test_the_block_keeps_within_its_room_and_loses_no_fact_unseen(
    given: list[tuple[str, FactKind]], room: int
) -> None:
    some = [fact(text, kind) for text, kind in given]
    block = facts_block(some, len, room, "en")
    assert block.tokens <= room
    assert len(block.used) + len(block.left_out) == len(some)
    assert all(one.text in block.text for one in block.used)


def test_a_long_fact_makes_way_for_the_next() -> None:
    some = [fact("I live in Berlin"), fact("x" * 900), fact("I like tea")]
    block = facts_block(some, len, 400, "en")
    assert texts(block.used) == ["I live in Berlin", "I like tea"]
    assert texts(block.left_out) == ["x" * 900]
