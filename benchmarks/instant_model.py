"""A model that takes no time: what a turn takes is then ours."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from itertools import cycle

from assistant.memory.language import language_of
from assistant.messages import Language, Message, Usage
from assistant.prompt import ToolSchema
from assistant.protocols import ChatModel, ReplyPart
from benchmarks.session_files import MODEL, texts

# What a summary mostly is, at about its usual length.
NOTES: dict[Language, str] = {
    "en": "- The user asked how to go about it, and settled on the first of the plans.\n" * 10,
    "zh": "- 用户问了这件事怎么安排，最后决定按第一个方案来做。\n" * 10,
}


class InstantModel:
    """Answers at once, word by word, with one reply after the other and around again.

    Summaries are written by another one, which `another` gives, as the program asks for it.
    """

    name = MODEL
    address = "nowhere"

    def __init__(self, replies: Sequence[str] = ()) -> None:
        self._replies = cycle(replies or texts()[:1])

    def load(self) -> None:
        pass

    def tools_text(self, tools: Sequence[ToolSchema]) -> str:
        return json.dumps(tools)

    def stream(
        self,
        messages: Sequence[Message],
        *,
        tools: Sequence[ToolSchema] = (),
        may_call: bool = True,
        max_tokens: int,
    ) -> Iterator[ReplyPart]:
        for word in next(self._replies).split(" "):
            yield ReplyPart(f"{word} ")
        yield ReplyPart(
            finish_reason="stop", usage=Usage(prompt_tokens=1_500, completion_tokens=99)
        )

    def another(self, name: str | None = None) -> ChatModel:
        return InstantSummarizer()

    def context_window(self) -> int | None:
        return None

    def close(self) -> None:
        """Nothing is open."""


class InstantSummarizer(InstantModel):
    """Answers with notes of an ordinary length, in the language it is asked in."""

    def stream(
        self,
        messages: Sequence[Message],
        *,
        tools: Sequence[ToolSchema] = (),
        may_call: bool = True,
        max_tokens: int,
    ) -> Iterator[ReplyPart]:
        # No two summaries are the same, as no two of a model's are.
        size = f"- {len(messages[-1].text)}\n"
        yield ReplyPart(size + NOTES[language_of(messages[0].text)], finish_reason="stop")
