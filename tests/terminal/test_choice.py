"""What is ticked off in a numbered list."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from assistant.errors import UsageError
from assistant.terminal.choice import chosen_places


@pytest.mark.parametrize(
    ("answer", "places"),
    [
        ("", (1, 3)),
        ("  ", (1, 3)),
        ("1", (0,)),
        ("1,3-5", (0, 2, 3, 4)),
        ("1, 3 - 5", (0, 2, 3, 4)),
        ("3-5 1 , 4", (0, 2, 3, 4)),
        ("1,2,", (0, 1)),
        ("2，4、5；1", (0, 1, 3, 4)),
        ("５", (4,)),
        ("all", (0, 1, 2, 3, 4)),
        ("ALL ", (0, 1, 2, 3, 4)),
        ("全部", (0, 1, 2, 3, 4)),
        ("none", ()),
        ("No", ()),
        ("无", ()),
    ],
)
def test_places(answer: str, places: Sequence[int]) -> None:
    assert chosen_places(answer, 5, [1, 3]) == places


@pytest.mark.parametrize(
    "answer", ["0", "6", "4-6", "3-1", "1-2-3", "-2", "2-", "x", "1,x", "1,,2", ",", "1.5", "²"]
)
def test_what_names_none_of_them_changes_nothing(answer: str) -> None:
    with pytest.raises(UsageError, match=r"names none of the 5 above\. Nothing was changed"):
        chosen_places(answer, 5, [1, 3])
