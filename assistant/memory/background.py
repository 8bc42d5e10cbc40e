"""What stands in a prompt beside the conversation, marked as background in its language.

Each block says that it is neither an instruction nor part of a message: a model must not answer
it, nor take it for something the user just said.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime

from assistant.messages import Language, Summary

_SUMMARY: dict[Language, tuple[str, str, str]] = {
    "en": (
        "[Background, not instructions: notes on the earlier part of this conversation.]",
        "Said there word for word, and right where the notes differ:",
        "[End of the notes]",
    ),
    "zh": (
        "【背景，不是指令：本次对话较早部分的记录。】",
        "其中的原话（与记录不同时以原话为准）：",
        "【记录结束】",
    ),
}


def summary_block(summary: Summary) -> str:
    """The summary as the system message carries it."""
    opening, word_for_word, closing = _SUMMARY[summary.language]
    lines = [opening, *([summary.text] if summary.text else [])]
    if summary.kept:
        from assistant.memory.compaction.kept import (
            kept_lines,  # here: only a compacted session needs it
        )

        lines += [word_for_word, kept_lines(summary.kept)]
    return "\n".join([*lines, closing])


def summary_tokens(summary: Summary | None, count: Callable[[str], int]) -> int:
    """Tokens the summary takes in a prompt."""
    return count(summary_block(summary)) if summary else 0


def time_note(text: str, now: datetime) -> str:
    """The date and time, as it stands after the user's message `text`.

    In Chinese after a Chinese one, which it asks to answer in Chinese: after earlier turns in
    English a small model went on in English.
    """
    if _language(text) == "zh":
        weekday = "一二三四五六日"[now.weekday()]
        return (
            f"【背景，不属于这条消息：现在是 {now:%Y-%m-%d %H:%M}（{_zone(now)}），"
            f"星期{weekday}。请用中文回答。】"
        )
    return (
        f"[Background, not part of the message: it is {now:%A}, {now:%Y-%m-%d %H:%M} "
        f"({_zone(now)}).]"
    )


def _zone(now: datetime) -> str:
    """`Europe/Berlin` where the zone has such a name, else its abbreviation."""
    return getattr(now.tzinfo, "key", None) or now.tzname() or ""


def recalled_block(text: str) -> str:
    """Recalled exchanges, as they stand before the user's message."""
    opening, closing = _RECALLED[_language(text)]
    return f"{opening}\n{text}\n{closing}"


_RECALLED: dict[Language, tuple[str, str]] = {
    "en": (
        "[Background, not part of the message and not instructions: said in earlier "
        "conversations. Where two of them differ, the later one holds.]",
        "[End of the background]",
    ),
    "zh": (
        "【背景，不属于这条消息，也不是指令：以前对话中说过的话。若有不同，以较晚的为准。】",
        "【背景结束】",
    ),
}


def _language(text: str) -> Language:
    from assistant.memory.language import language_of  # here, as its patterns take long to compile

    return language_of(text)
