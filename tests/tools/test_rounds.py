"""One turn's calls: who is asked before what, what fails, and when it is enough."""

from __future__ import annotations

import json

import pytest

from assistant.messages import ToolCall
from assistant.tools.rounds import MOST_CALLS, REFUSED, ConfirmPolicy, ToolLimits, ToolRounds
from tests.tools.shelf import Shelf, shelf_tools

PUT = ToolCall("1", "put", '{"thing": "cup"}')
LOOK = ToolCall("2", "look", "{}")


class Asker:
    """Answers questions, and keeps them."""

    def __init__(self, answer: bool) -> None:
        self.answer = answer
        self.questions: list[str] = []

    def __call__(self, question: str) -> bool:
        self.questions.append(question)
        return self.answer


def rounds(
    shelf: Shelf, asker: Asker, policy: ConfirmPolicy = "changes", max_rounds: int = 8
) -> ToolRounds:
    limits = ToolLimits(max_rounds, confirm=policy)
    return ToolRounds(shelf_tools(shelf), limits, asker, source="s1.1")


@pytest.mark.parametrize(
    ("policy", "told_by_others", "asked"),
    [
        ("changes", False, ["Put 1 cup on the shelf?"]),
        ("changes", True, ["Put 1 cup on the shelf?"]),
        ("never", False, []),
        ("never", True, ["Put 1 cup on the shelf?"]),
        (
            "always",
            False,
            ["Let the assistant look something up: look {}?", "Put 1 cup on the shelf?"],
        ),
    ],
)  # fmt: skip
def test_who_is_asked_before_what(
    policy: ConfirmPolicy, told_by_others: bool, asked: list[str]
) -> None:
    shelf, asker = Shelf(), Asker(True)
    turn = rounds(shelf, asker, policy)
    assert turn.begin(LOOK, told_by_others=told_by_others)().text == "The shelf is empty."
    assert turn.begin(PUT, told_by_others=told_by_others)().text == "Put 1 cup."
    assert asker.questions == asked
    assert shelf == ["1 cup (s1.1)"]
    assert [change.text for change in turn.changes] == ["put: cup"]


def test_a_no_changes_nothing_and_is_told_to_the_model() -> None:
    shelf = Shelf()
    turn = rounds(shelf, Asker(False), "always")
    assert turn.begin(PUT, told_by_others=False)().text == REFUSED
    assert turn.begin(LOOK, told_by_others=False)().text == REFUSED
    assert (shelf, shelf.reads, turn.changes) == ([], 0, [])


def test_nobody_is_asked_about_a_call_that_can_not_be_run() -> None:
    asker = Asker(True)
    wrong = ToolCall("1", "put", '{"thing": "cup", "number": -1}')
    assert "number: -1" in rounds(Shelf(), asker).begin(wrong, told_by_others=False)().text
    assert asker.questions == []


def test_what_the_store_refuses_is_told_and_is_no_change() -> None:
    shelf = Shelf()
    shelf.full = True
    turn = rounds(shelf, Asker(True))
    text = turn.begin(PUT, told_by_others=False)().text
    assert text == "put changed nothing: The shelf is full. Nothing was saved."
    assert turn.changes == []


def test_after_so_many_rounds_it_is_enough() -> None:
    turn = rounds(Shelf(), Asker(True), max_rounds=2)
    assert turn.may_call
    turn.begin_round()
    turn.begin_round()
    assert not turn.may_call


def test_three_identical_failures_are_enough_and_others_are_not() -> None:
    turn = rounds(Shelf(), Asker(True))
    for number in (1, 2, 3):
        assert turn.may_call
        turn.begin(ToolCall("1", "put", f'{{"number": {number}}}'), told_by_others=False)
    for _ in range(3):
        assert turn.may_call
        turn.begin(ToolCall("1", "pot", "{}"), told_by_others=False)
    assert not turn.may_call


def test_calls_that_say_the_same_are_told_apart_by_nothing() -> None:
    turn = rounds(Shelf(), Asker(True))
    for arguments in ('{"a": 1, "b": 2}', '{"b":2,"a":1}', '{ "a":1, "b":2 }'):
        turn.begin(ToolCall("1", "pot", arguments), told_by_others=False)
    assert not turn.may_call


def test_what_was_refused_or_done_is_not_asked_about_again() -> None:
    shelf, asker = Shelf(), Asker(False)
    turn = rounds(shelf, asker)
    for _ in range(3):
        assert turn.begin(PUT, told_by_others=False)().text == REFUSED
    assert len(asker.questions) == 1
    assert not turn.may_call
    asker.answer = True
    pot = ToolCall("1", "put", '{"thing": "pot"}')
    assert turn.begin(pot, told_by_others=False)().text == "Put 1 pot."
    assert turn.begin(pot, told_by_others=False)().text.startswith("Done already in this turn.")
    assert shelf == ["1 pot (s1.1)"]


def test_a_reply_with_very_many_calls_has_the_rest_of_them_refused() -> None:
    turn = rounds(Shelf(), Asker(True))
    turn.begin_round()
    results = [
        turn.begin(ToolCall("1", "look", f'{{"from": "{at}"}}'), told_by_others=False)().text
        for at in range(MOST_CALLS + 1)
    ]
    assert results[MOST_CALLS - 1] == "The shelf is empty."
    assert results[MOST_CALLS] == f"look was not run: a reply may have {MOST_CALLS} calls."


def test_a_question_is_one_line_and_no_text_can_pass_for_another() -> None:
    asker = Asker(False)
    thing = "cup\n✓ put: gold\r\n> \u202edlog" + "x" * 30_000
    call = ToolCall("1", "put", json.dumps({"thing": thing}))
    rounds(Shelf(), asker).begin(call, told_by_others=False)
    question = asker.questions[0]
    assert question.startswith("Put 1 cup ✓ put: gold > dlogxxx")
    assert question.endswith("more characters)")
    assert len(question) < 700


def test_what_changed_while_the_user_was_asked_is_left_alone() -> None:
    shelf = Shelf(["1 old cup"])

    def agree(question: str) -> bool:
        shelf[0] = "the only copy"
        return True

    limits = ToolLimits()
    turn = ToolRounds(shelf_tools(shelf), limits, agree, source="s1.1")
    text = turn.begin(ToolCall("1", "drop", "{}"), told_by_others=False)().text
    assert "was changed while the user was asked" in text
    assert shelf == ["the only copy"]


def test_a_guess_is_asked_about_whatever_the_policy_is() -> None:
    asker = Asker(False)
    guess = ToolCall("1", "drop", '{"guess": true}')
    rounds(Shelf(["x"]), asker, "never").begin(guess, told_by_others=False)
    assert len(asker.questions) == 1


def test_a_fault_in_a_tool_costs_its_call_alone() -> None:
    turn = rounds(Shelf(), Asker(True))
    for name in ("break_asking", "break_doing"):
        outcome = turn.begin(ToolCall("1", name, "{}"), told_by_others=False)()
        assert "a bug: ValueError" in outcome.text
        assert outcome.failure == outcome.text
    assert turn.may_call
