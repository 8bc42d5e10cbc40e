"""What stands beside the conversation in a prompt."""

from __future__ import annotations

from datetime import UTC, datetime

from assistant.memory.background import recalled_block, summary_block, summary_tokens, time_note
from assistant.messages import KeptItem, Summary

NOW = datetime(2026, 3, 4, 5, 6, tzinfo=UTC)


def test_the_time_is_told_in_the_language_of_the_message() -> None:
    english = time_note("What is on today?", NOW)
    assert english == (
        "[Background, not part of the message: it is Wednesday, 2026-03-04 05:06 (UTC).]"
    )
    chinese = time_note("今天有什么安排？", NOW)
    assert chinese == (
        "【背景，不属于这条消息：现在是 2026-03-04 05:06（UTC），星期三。请用中文回答。】"
    )


def test_what_is_recalled_is_marked_as_no_message_and_no_instruction() -> None:
    block = recalled_block("user: I moved to Bern.")
    assert block.startswith("[Background, not part of the message and not instructions")
    assert block.endswith("[End of the background]")
    assert recalled_block("user: 我搬到了伯尔尼。").startswith("【背景，不属于这条消息，也不是指令")


def test_what_is_word_for_word_stands_under_the_notes() -> None:
    kept = KeptItem(kind="code", value="PX-4471", text="the code is PX-4471", turn=1, role="user")
    summary = Summary("- Notes.", (1, 4), NOW, kept=(kept,))
    lines = summary_block(summary).splitlines()
    assert lines[1] == "- Notes."
    assert lines[2] == "Said there word for word, and right where the notes differ:"
    assert "PX-4471" in lines[3]
    assert summary_tokens(summary, len) == len(summary_block(summary))
    assert summary_tokens(None, len) == 0
