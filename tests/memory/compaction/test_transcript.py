"""What the summarizer reads: labels in the conversation's language, and nothing left out."""

from __future__ import annotations

from datetime import UTC, datetime

from hypothesis import given
from hypothesis import strategies as st

from assistant.memory.compaction.transcript import transcript_pieces
from assistant.messages import Message, ToolCall
from tests.sample import SAMPLE

MARCH_4 = datetime(2026, 3, 4, 9, tzinfo=UTC)
MARCH_5 = datetime(2026, 3, 5, 9, tzinfo=UTC)


def test_each_line_has_a_label_and_each_day_a_date() -> None:
    messages = [
        Message(role="user", content="Hello", ts=MARCH_4),
        Message(role="assistant", content="Hi", ts=MARCH_4),
        Message(role="user", content="What is on?", ts=MARCH_5),
        Message(
            role="assistant",
            content="",
            ts=MARCH_5,
            tool_calls=(ToolCall("1", "list_events", '{"from": "2026-03-05"}'),),
        ),
        Message(role="tool", content="09:00 dentist", ts=MARCH_5),
    ]
    assert transcript_pieces(messages, "en", 1_000, len) == [
        "[2026-03-04]\n"
        "User: Hello\n"
        "Assistant: Hi\n"
        "[2026-03-05]\n"
        "User: What is on?\n"
        'Assistant: [list_events {"from": "2026-03-05"}]\n'
        "Tool: 09:00 dentist"
    ]


def test_chinese_conversations_have_chinese_labels() -> None:
    roles = ["user", "assistant"] * 4
    messages = [
        Message(role=role, content=text)  # type: ignore[arg-type]
        for role, text in zip(roles, SAMPLE, strict=True)
    ]
    (piece,) = transcript_pieces(messages, "zh", 1_000, len)
    assert piece.splitlines()[:2] == [f"用户：{SAMPLE[0]}", f"助手：{SAMPLE[1]}"]
    tool = Message(role="tool", content="晴")
    assert transcript_pieces([tool], "zh", 100, len) == ["工具：晴"]


@given(st.lists(st.text(max_size=300), min_size=1, max_size=8), st.integers(20, 120))
def test_no_character_is_left_out_and_no_piece_is_too_long(texts: list[str], tokens: int) -> None:
    messages = [Message(role="user", content=text) for text in texts]
    pieces = transcript_pieces(messages, "en", tokens, len)
    assert all(len(piece) <= tokens for piece in pieces)
    assert "".join(pieces).replace("User: ", "").replace("\n", "") == "".join(texts).replace(
        "User: ", ""
    ).replace("\n", "")
