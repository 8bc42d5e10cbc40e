"""Which language a text is in, and how long it is."""

from __future__ import annotations

import pytest

from assistant.memory.language import language_of, length_in_words


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("", "en"),
        ("👋🏽 42", "en"),
        ("When is the review?", "en"),
        ("我是一名设计师", "zh"),
        ("明天下午和 Anna 开 budget 会议", "zh"),
        ("My teacher is called 张伟 and she lives in the old town of Basel.", "en"),
        ("Ich wohne in Köln.", "en"),
    ],
)
def test_the_language_is_that_of_most_words(text: str, language: str) -> None:
    assert language_of(text) == language


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", 0),
        ("one two-three 4", 4),
        ("我是设计师", 5),
        ("UI/UX 设计非常重要。", 8),
        ("… 👋🏽 —", 0),
    ],
)
def test_a_chinese_character_counts_as_a_word(text: str, words: int) -> None:
    assert length_in_words(text) == words
