"""One turn's calls: who is asked before what, what fails, and when it is enough."""

from __future__ import annotations

import pytest

from assistant.messages import ToolCall
from assistant.tools.rounds import REFUSED, ConfirmPolicy, ToolLimits, ToolRounds
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
            ["Let the assistant look something up (look {})?", "Put 1 cup on the shelf?"],
        ),
    ],
)  # fmt: skip
def test_who_is_asked_before_what(
    policy: ConfirmPolicy, told_by_others: bool, asked: list[str]
) -> None:
    shelf, asker = Shelf(), Asker(True)
    turn = rounds(shelf, asker, policy)
    assert turn.begin(LOOK, told_by_others=told_by_others)() == "The shelf is empty."
    assert turn.begin(PUT, told_by_others=told_by_others)() == "Put 1 cup."
    assert asker.questions == asked
    assert shelf == ["1 cup (s1.1)"]
    assert [change.text for change in turn.changes] == ["put: cup"]


def test_a_no_changes_nothing_and_is_told_to_the_model() -> None:
    shelf = Shelf()
    turn = rounds(shelf, Asker(False), "always")
    assert turn.begin(PUT, told_by_others=False)() == REFUSED
    assert turn.begin(LOOK, told_by_others=False)() == REFUSED
    assert (shelf, shelf.reads, turn.changes) == ([], 0, [])


def test_nobody_is_asked_about_a_call_that_can_not_be_run() -> None:
    asker = Asker(True)
    wrong = ToolCall("1", "put", '{"thing": "cup", "number": -1}')
    assert "number: -1" in rounds(Shelf(), asker).begin(wrong, told_by_others=False)()
    assert asker.questions == []


def test_what_the_store_refuses_is_told_and_is_no_change() -> None:
    shelf = Shelf()
    shelf.full = True
    turn = rounds(shelf, Asker(True))
    text = turn.begin(PUT, told_by_others=False)()
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
