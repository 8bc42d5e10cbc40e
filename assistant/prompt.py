"""The prompt: exactly what is sent, section by section, with its tokens."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

import msgspec

from assistant.messages import Message

#: A tool as the chat API takes it: `{"type": "function", "function": {name, description, …}}`.
ToolSchema: TypeAlias = Mapping[str, Any]


class Section(msgspec.Struct, frozen=True):
    """A named part of the prompt and its tokens, as counted by us."""

    name: str
    tokens: int


class Prompt(msgspec.Struct, frozen=True):
    """What one request carries.

    `sections` are in the order they are sent and add up to `tokens`. `limit` is the model's window
    in its own tokens; `window` is as much of it as we fill, as counted by us: less where the model
    counts more than we do. `reserve` is left for the reply. `left_out` counts the older messages
    of the session that are not sent.
    """

    messages: tuple[Message, ...]
    sections: tuple[Section, ...]
    limit: int
    window: int
    reserve: int
    tools: Sequence[ToolSchema] = ()
    left_out: int = 0
    exact: bool = True
    """False when tokens are estimated without the tokenizer's ranks: shown with `~`."""

    @property
    def tokens(self) -> int:
        return sum(section.tokens for section in self.sections)

    @property
    def free(self) -> int:
        """Tokens of the window that neither the prompt nor the reply's reserve takes."""
        return max(0, self.window - self.reserve - self.tokens)
