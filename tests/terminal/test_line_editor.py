"""Lines that are piped in: which of them answer a question, and which are messages."""

from __future__ import annotations

import io

import pytest

from assistant.terminal.line_editor import PipedLines


def read_all(lines: PipedLines) -> list[str]:
    read = []
    while True:
        try:
            read.append(lines.read(lambda: None))
        except EOFError:
            return read


@pytest.mark.parametrize(
    ("piped", "agreed", "answer", "messages"),
    [
        ("y\nnext\n", True, "y", ["next"]),
        (" YES \nnext\n", True, "yes", ["next"]),
        ("好\nnext\n", True, "好", ["next"]),
        ("n\nnext\n", False, "n", ["next"]),
        ("否\nnext\n", False, "否", ["next"]),
        ("what is next?\nnext\n", False, "no", ["what is next?", "next"]),
        ("yes please\n", False, "no", ["yes please"]),
        ("\nnext\n", False, "no", ["", "next"]),
        ("", False, "no", []),
        ("y", True, "y", []),
    ],
)
def test_a_line_that_is_no_answer_is_the_next_message(
    piped: str, agreed: bool, answer: str, messages: list[str]
) -> None:
    told: list[str] = []
    lines = PipedLines(io.StringIO(piped), told.append)
    assert lines.confirm("Add it?") is agreed
    assert told == [f"Add it? [y/N] {answer}"]
    assert read_all(lines) == messages


def test_a_line_that_answers_nothing_answers_no_later_question_either() -> None:
    lines = PipedLines(io.StringIO("what is next?\ny\n"))
    assert [lines.confirm("Add it?"), lines.confirm("And that?")] == [False, False]
    assert read_all(lines) == ["what is next?", "y"]
