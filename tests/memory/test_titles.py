"""Titles from first words and from a model's answer."""

from __future__ import annotations

import pytest

from assistant.memory.titles import MAX_TITLE, title_from_reply, title_from_words


@pytest.mark.parametrize(
    ("text", "title"),
    [
        ("Plan a trip", "Plan a trip"),
        ("  Plan\n a \t trip ", "Plan a trip"),
        ("我们做宫保鸡丁吧", "我们做宫保鸡丁吧"),
        (
            "Please help me to plan a long journey through the south of Japan in spring",
            "Please help me to plan a long journey through…",
        ),
    ],
)
def test_first_words(text: str, title: str) -> None:
    assert title_from_words(text) == title


@pytest.mark.parametrize("text", ["汉" * 200, "a" * 200, "word " * 50, "，" * 100])
def test_a_title_is_never_long(text: str) -> None:
    assert len(title_from_words(text)) <= MAX_TITLE


@pytest.mark.parametrize(
    ("reply", "title"),
    [
        ("Trip to Kyoto", "Trip to Kyoto"),
        ('"Trip to Kyoto."', "Trip to Kyoto"),
        ("Title: Trip to Kyoto\nMore text", "Trip to Kyoto"),
        ("标题：《京都之旅》", "京都之旅"),
        ("\n\n**Kyoto**\n", "Kyoto"),
        ("", None),
        ("...", None),
        ("x" * 500, None),
    ],
)
def test_what_a_model_answers(reply: str, title: str | None) -> None:
    assert title_from_reply(reply) == title
