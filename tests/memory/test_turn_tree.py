"""The turns of a log: what the conversation is after going back and forth, whatever is named."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assistant.memory.turn_tree import TurnTree


def tree(*steps: int | str) -> TurnTree:
    """Turns that are said, as numbers; `<3` goes to turn 3."""
    made = TurnTree()
    for step in steps:
        if isinstance(step, int):
            made.say(step)
        else:
            made.go_to(int(step.removeprefix("<")))
    return made


@pytest.mark.parametrize(
    ("steps", "path", "forth"),
    [
        ((), [], None),
        ((1, 2, 3), [1, 2, 3], None),
        ((1, 1, 2, 1), [1, 2], None),
        ((1, 2, 3, "<2"), [1, 2], 3),
        ((1, 2, 3, "<2", "<1", "<0"), [], 1),
        ((1, 2, 3, "<2", "<1", "<2"), [1, 2], 3),
        ((1, 2, 3, "<1", "<2"), [1, 2], 3),
        ((1, 2, 3, "<1", "<3"), [1, 2, 3], None),
        ((1, 2, 3, "<1", 4), [1, 4], None),
        ((1, 2, 3, "<1", 4, "<3"), [1, 2, 3], None),
        ((1, 2, 3, "<1", 4, "<1"), [1], 4),
        ((1, 2, 3, "<0", 4, 5), [4, 5], None),
        ((1, 2, "<2"), [1, 2], None),
        ((0, 1, "<0", "<1"), [0, 1], None),
    ],
)
def test_going_back_and_forth(
    steps: tuple[int | str, ...], path: list[int], forth: int | None
) -> None:
    made = tree(*steps)
    assert (list(made.path()), made.forth) == (path, forth)
    assert made.newest == (path[-1] if path else None)


def test_a_turn_that_is_not_there_stands_for_the_last_one_before_it() -> None:
    assert list(tree(1, 3, 5, "<4").path()) == [1, 3]
    assert list(tree(3, 5, "<2").path()) == []
    assert list(tree(1, 2, "<99").path()) == [1, 2]
    assert list(tree(1, 2, "<-7").path()) == []


def test_what_is_known_of_turns_that_are_out() -> None:
    made = tree(1, 2, 3, "<1", 4)
    assert [made.has(turn) for turn in (1, 2, 3, 4, 5)] == [True, False, False, True, False]
    assert [turn in made for turn in (3, 4, 5)] == [True, True, False]
    assert list(made.path(3)) == [1, 2, 3]
    assert [made.before(turn) for turn in (1, 3, 4, 9)] == [0, 2, 1, 0]


@given(st.lists(st.tuples(st.booleans(), st.integers(-2, 9)), max_size=30))
def test_whatever_a_log_says_there_is_a_path(steps: list[tuple[bool, int]]) -> None:
    made = TurnTree()
    for said, turn in steps:
        (made.say if said else made.go_to)(turn)
        path = made.path()
        assert len(set(path)) == len(path)
        assert {one for one in range(-2, 10) if made.has(one)} == set(path)
        assert made.newest == (path[-1] if path else None)
        assert made.forth is None or (made.forth in made and not made.has(made.forth))
