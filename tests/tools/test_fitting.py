"""Which entries words fit."""

from __future__ import annotations

import pytest

from assistant.tools.fitting import best_fits

ENTRIES = ("Product review", "Review", "Dentist appointment", "产品评审", "和王总的饭局", "年会")


@pytest.mark.parametrize(
    ("words", "fitting"),
    [
        ("the product review meeting", ["Product review"]),
        ("review", ["Review"]),
        ("reviews", ["Product review", "Review"]),
        ("dentist's", ["Dentist appointment"]),
        ("appointment with my doctor", []),
        ("产品评审会议", ["产品评审"]),
        ("王总", ["和王总的饭局"]),
        ("年会", ["年会"]),
        ("牙医", []),
        ("", []),
    ],
)
def test_those_with_the_most_words_in_common_fit(words: str, fitting: list[str]) -> None:
    assert best_fits(words, ENTRIES, lambda one: one) == fitting
