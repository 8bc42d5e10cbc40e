"""The prompt: exactly what is sent, section by section, with its tokens."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

import msgspec

from assistant.messages import Fact, Message, Recalled

#: A tool as the chat API takes it: `{"type": "function", "function": {name, description, …}}`.
ToolSchema: TypeAlias = Mapping[str, Any]


class Section(msgspec.Struct, frozen=True):
    """A named part of the prompt and its tokens, as counted by us."""

    name: str
    tokens: int


class Recollection(msgspec.Struct, frozen=True):
    """What retrieval brought for one question: the text that is sent, and where it came from."""

    query: str = ""
    """What was searched for: the message, with the exchange before it where it leans on that."""
    text: str = ""
    """The recalled exchanges as they stand in the prompt; empty when nothing is relevant."""
    items: tuple[Recalled, ...] = ()
    """Those in the text, in the order of time."""
    passed_over: tuple[Recalled, ...] = ()
    """The best of those that are not, best first."""
    facts: tuple[Fact, ...] = ()
    """Facts that held, or were said, at the time the question is about."""
    dates: str = ""
    """The days the question names, where it names any."""
    problem: str = ""
    """Why the search was not complete, in words for the user."""


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
    history_room: int = 0
    """What the summary and the recent turns may take together in a prompt like this."""
    recollection: Recollection = Recollection()
    facts: tuple[Fact, ...] = ()
    """What is known about the user and stands in it."""
    facts_left_out: tuple[Fact, ...] = ()
    """What holds as well and found no room."""
    exact: bool = True
    """False when tokens are estimated without the tokenizer's ranks: shown with `~`."""

    @property
    def tokens(self) -> int:
        return sum(section.tokens for section in self.sections)

    @property
    def free(self) -> int:
        """Tokens of the window that neither the prompt nor the reply's reserve takes."""
        return max(0, self.window - self.reserve - self.tokens)
