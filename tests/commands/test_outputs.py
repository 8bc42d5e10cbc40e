"""Words and numbers as commands say them."""

from __future__ import annotations

import pytest

from assistant.commands.outputs import count_text


@pytest.mark.parametrize(
    ("number", "thing", "said"),
    [
        (1, "turn", "1 turn"),
        (0, "turn", "0 turns"),
        (1_200, "turn", "1,200 turns"),
        (1, "summary", "1 summary"),
        (2, "summary", "2 summaries"),
        (2, "partial reply", "2 partial replies"),
        (2, "day", "2 days"),
    ],
)
def test_a_number_of_things(number: int, thing: str, said: str) -> None:
    assert count_text(number, thing) == said
