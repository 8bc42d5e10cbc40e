"""Titles of sessions, made from the first exchange."""

from __future__ import annotations

import re

MAX_TITLE = 48


def title_from_words(text: str) -> str:
    """The first words of what the user said, as a title of at most 48 characters."""
    line = " ".join(text.split())
    if len(line) <= MAX_TITLE:
        return line
    cut = line[: MAX_TITLE - 1]
    # A title ends at a word where there are spaces; Chinese has none and ends anywhere.
    at_word = cut.rsplit(" ", 1)[0]
    return (at_word if len(at_word) > MAX_TITLE // 2 else cut).rstrip(" ,.;:，。；：、") + "…"


def title_from_reply(reply: str) -> str | None:
    """The title in a model's answer, or None when it holds nothing like one."""
    lines = [line for line in reply.splitlines() if line.strip()]
    if not lines:
        return None
    title = re.sub(r"^(title|标题)\s*[:：]\s*", "", lines[0].strip(), flags=re.IGNORECASE)
    title = title.strip(" \t#*\"'“”‘’「」《》.。")
    return title if 0 < len(title) <= 2 * MAX_TITLE else None
