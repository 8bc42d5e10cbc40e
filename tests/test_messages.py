"""Text as it is compared when words are looked for."""

from __future__ import annotations

import pytest

from assistant.messages import folded


@pytest.mark.parametrize(
    "text",
    [
        "0470 558 821",
        "0470558821",
        "0470-558-821",
        "0470 55 88 21",
        "(0470) 558.821",
        "call +32 470 558 821 now",
        "0470\u00a0558\n821",
    ],
)
def test_a_long_number_is_found_however_it_is_grouped(text: str) -> None:
    for words in ("0470 558 821", "0470558821", "0470-55-88-21"):
        assert folded(words) in folded(text)


@pytest.mark.parametrize(
    ("text", "words"),
    [("0470 558 822", "0470 558 821"), ("at 3 and 4", "34"), ("3 4", "34"), ("12:30", "1230")],
)
def test_other_numbers_and_short_ones_are_not(text: str, words: str) -> None:
    assert folded(words) not in folded(text)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("A  line\nand\tmore", "a line and MORE"),
        ("cafe\u0301", "caf\u00e9"),
        ("Straße", "STRASSE"),
        ("000000", "000000"),
    ],
)
def test_case_spacing_and_accents_make_no_difference(text: str, words: str) -> None:
    assert folded(words) in folded(text)
