"""Which exchanges bear on a question, and whether any does."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date, timedelta, timezone

import numpy as np
import pytest
from numpy.typing import NDArray

from assistant.memory.recall.corpus_statistics import CorpusStatistics
from assistant.memory.recall.ranking import Question, Ranked, keyword_hits, rank, worth_recalling
from assistant.memory.recall.terms import terms
from assistant.memory.times.date_ranges import DateRange
from assistant.protocols import IndexRow
from tests.memory.rows import row

SMALL_TALK = [row(f"chatting about item{n}", f"fine, thing{n}", session=f"x{n}") for n in range(40)]


def _ranked(question: str | Question, *rows: IndexRow, others: bool = True) -> list[Ranked]:
    if isinstance(question, str):
        question = Question(terms(question))
    everything = [*rows, *SMALL_TALK] if others else list(rows)
    return rank(question, everything, CorpusStatistics.of(everything))


def _best(question: str | Question, *rows: IndexRow) -> str:
    return _ranked(question, *rows)[0].row.id


def test_the_rarer_word_decides() -> None:
    bern, fine = row("The clinic is in Bern"), row("Fine, fine, chatting about the thing")
    assert _best("chatting about Bern", fine, bern) == bern.id


def test_words_nearby_in_the_session_count() -> None:
    alone = row("It costs forty francs", session="a", turn=5)
    asked = row("How much is the piano tuner?", "Let me see", session="b", turn=7)
    answer = row("It costs forty francs", session="b", turn=8)
    order = [one.row.id for one in _ranked("piano tuner costs", alone, asked, answer)]
    assert order.index(answer.id) < order.index(alone.id)


def test_neighbours_of_another_session_do_not_count() -> None:
    other = row("How much is the piano tuner?", session="b", turn=7)
    near = row("It costs forty francs", session="c", turn=8)
    far = row("It costs forty francs", session="c", turn=80)
    scores = {one.row.id: one.score for one in _ranked("piano tuner costs", other, near, far)}
    assert scores[near.id] == pytest.approx(scores[far.id])


def test_meaning_counts_and_that_of_neighbours_a_little() -> None:
    rng = np.random.default_rng(3)
    crowd = [row(f"w{n}", vector=5 + rng.normal(size=16)) for n in range(60)]
    asked = 5 + rng.normal(size=16)
    same = row("same", vector=asked, session="b", turn=3)
    beside = row("beside", vector=crowd[0].vector, session="b", turn=4)
    question = Question((), (asked / np.linalg.norm(asked)).astype(np.float32))
    ranked = _ranked(question, same, beside, *crowd)
    assert ranked[0].row.id == same.id
    parts = {one.row.id: one.parts for one in ranked}
    assert parts[beside.id]["meaning around"] > 0
    assert "meaning around" not in parts[same.id] or parts[same.id]["meaning around"] >= 0


def test_a_named_day_counts_by_the_clock_on_the_wall() -> None:
    late = row("Chatting", at="2026-03-02T22:30:00")
    noon = row("Chatting", at="2026-03-02T12:00:00")
    third = DateRange(date(2026, 3, 3), date(2026, 3, 3))
    east = timezone(timedelta(hours=8))
    assert _best(Question((), dates=[third], zone=east), noon, late) == late.id
    assert _ranked(Question((), dates=[third]), noon, late)[0].score < 1


def test_who_is_asked_about_decides_which_half_counts() -> None:
    mine = row("Try the harbour walk", "Good idea")
    yours = row("Good idea", "Try the harbour walk")
    wanted = terms("harbour walk")
    assert _best(Question(wanted, speaker="assistant"), mine, yours) == yours.id
    assert _best(Question(wanted, speaker="user"), mine, yours) == mine.id


def test_the_half_with_the_words_scores_higher_and_a_question_lower() -> None:
    one = _ranked("harbour walk", row("Nice day", "The harbour walk is lovely"))[0]
    assert one.message_scores[1] > one.message_scores[0]
    asking, telling = row("Is the harbour walk long?"), row("Yes the harbour walk is long")
    assert _best("harbour walk", asking, telling) == telling.id


def test_a_message_with_names_in_it_tells_more() -> None:
    plain, named = row("we took the harbour walk there"), row("we took the Harbour walk There")
    assert _best("took walk", plain, named) == named.id


def test_parts_add_up_to_the_score() -> None:
    rows = [row("The clinic in Bern?", "In Bern, yes", session="b", turn=n) for n in range(4)]
    question = Question(terms("clinic Bern"), dates=[DateRange(date(2026, 3, 1), date(2026, 3, 4))])
    for one in _ranked(question, *rows):
        assert sum(one.parts.values()) == pytest.approx(one.score)


def test_the_order_does_not_depend_on_the_order_of_the_rows() -> None:
    rows = [row("same words", session=f"e{n}") for n in range(5)]
    first = [one.row.id for one in _ranked("same words", *rows)]
    assert first == [one.row.id for one in _ranked("same words", *reversed(rows))]


@pytest.mark.parametrize("question", [Question(()), Question(("a", "a")), Question(("zz",))])
@pytest.mark.parametrize(
    "rows", [[], [row("")], [row("\ud800 \0", "👍")], [row("a"), row("b", vector=[1, 0])]]
)
def test_odd_questions_and_rows_are_taken(question: Question, rows: Sequence[IndexRow]) -> None:
    assert len(rank(question, rows, CorpusStatistics.of(rows))) == len(rows)


def test_rows_without_vectors_rank_beside_those_with_them() -> None:
    rows = [row("a", vector=[1, 0]), row("b", vector=[0, 1]), row("the clinic in Bern")]
    question = Question(terms("clinic Bern"), np.array([0.6, 0.8], np.float32))
    assert rank(question, rows, CorpusStatistics.of(rows))[0].row is rows[2]


# --- the floor ----------------------------------------------------------------------------------


def _recalled(asked: str, *rows: IndexRow) -> list[str]:
    question = Question(terms(asked))
    return [one.row.user for one in worth_recalling(question, _ranked(question, *rows))]


def test_nothing_is_recalled_where_nothing_fits() -> None:
    bern = row("The clinic is in Bern, room 12")
    assert _recalled("Which vaccine did the pharmacist mention?", bern) == []
    assert _recalled("", bern) == []
    assert _recalled("chatting about the serial number of the boiler", bern) == []
    assert _recalled("我的血型是什么？", row("我在图书馆看了一本小说", "很好")) == []


def test_what_fits_is_recalled_and_what_is_far_from_it_is_not() -> None:
    assert _recalled(
        "Which room of the clinic in Bern?", row("The clinic is in Bern, room 12")
    ) == ["The clinic is in Bern, room 12"]
    assert _recalled("我在图书馆看了什么小说？", row("我在图书馆看了一本小说", "很好"))


def test_the_only_thing_ever_said_is_found_again() -> None:
    only = row("My dog is called Bruno and he hates the rain.", "Poor Bruno!")

    def recalled(asked: str) -> list[Ranked]:
        question = Question(terms(asked))
        return worth_recalling(question, _ranked(question, only, others=False))

    assert recalled("What is my dog's name?")
    assert recalled("Which vaccine did I get?") == []


def test_in_a_large_memory_it_takes_more_to_be_relevant() -> None:
    bern = row("The clinic is in Bern")
    question = Question(terms("clinic in Basel"))
    crowd = [row(f"chatting about item{n}", session=f"x{n}") for n in range(1_500)]
    small, large = (
        rank(question, [bern], CorpusStatistics.of([bern, *crowd[:size]]))[0].relevance
        for size in (200, 1_500)
    )
    assert large < small


def test_a_named_day_is_enough() -> None:
    question = Question((), dates=[DateRange(date(2026, 3, 2), date(2026, 3, 2))])
    ranked = _ranked(question, row("Hello", at="2026-03-02T08:00:00"), others=False)
    assert worth_recalling(question, ranked)
    elsewhere = _ranked(question, row("Hello", at="2026-03-05T08:00:00"), others=False)
    assert worth_recalling(question, elsewhere) == []


def test_kinship_of_meaning_lifts_over_the_floor_without_a_common_word() -> None:
    rng = np.random.default_rng(5)
    crowd = [row(f"w{n}", vector=4 + rng.normal(size=24)) for n in range(80)]
    topic = rng.normal(size=24)
    kin = row("felines", vector=4 + topic)
    empty = [(np.ones(24) / np.sqrt(24)).astype(np.float32)]
    statistics = CorpusStatistics.of([*crowd, kin], empty)

    def recalled(direction: NDArray[np.float64]) -> list[str]:
        vector = 4 + direction
        question = Question(("cat",), (vector / np.linalg.norm(vector)).astype(np.float32))
        ranked = rank(question, [*crowd, kin], statistics)
        return [one.row.user for one in worth_recalling(question, ranked)]

    assert recalled(topic)[0] == "felines"
    assert "felines" not in recalled(-topic)


# --- words alone --------------------------------------------------------------------------------


def test_keyword_hits_are_the_best_by_words_and_only_those_with_one() -> None:
    rows = [row("tea"), row("tea and rye cake"), row("coffee"), row("rye, rye, rye")]
    statistics = CorpusStatistics.of(rows)
    hits = keyword_hits(terms("rye cake and cake"), rows, statistics, 10)
    assert [hit.id for hit in hits] == [rows[1].id, rows[3].id]
    assert hits[0].score > hits[1].score > 0
    assert len(keyword_hits(terms("tea rye"), rows, statistics, 2)) == 2
    assert keyword_hits([], rows, statistics, 10) == []
    assert keyword_hits(["tea"], [], statistics, 10) == []
