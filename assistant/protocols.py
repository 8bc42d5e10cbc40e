"""Every outside thing as the narrow shape we need."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Protocol

import msgspec

from assistant.messages import Message, ToolCall, Usage
from assistant.prompt import ToolSchema


class TokenCounter(Protocol):
    """Counts tokens of text, offline, in bounded time, for any string."""

    @property
    def encoding(self) -> str:
        """The name stored beside each count."""

    @property
    def exact(self) -> bool:
        """False when counts are estimates."""

    @property
    def problem(self) -> str:
        """Why counts are estimates, in words for the user; empty when they are not."""

    @property
    def ready(self) -> bool:
        """Whether `count` answers at once, or has to load the tokenizer first."""

    def count(self, text: str) -> int: ...


class ReplyPart(msgspec.Struct, frozen=True):
    """A piece of a reply as it streams in: text first, the closing facts in the last ones."""

    text: str = ""
    tool_calls: tuple[ToolCall, ...] = ()
    finish_reason: str | None = None
    usage: Usage | None = None
    model: str | None = None


class ChatModel(Protocol):
    """A model that answers a list of messages. Raises only `ChatModelError`s."""

    @property
    def name(self) -> str:
        """The model's name, as sent to the endpoint."""

    @property
    def address(self) -> str:
        """The endpoint's address, or what stands for it; never with a secret in it."""

    def load(self) -> None:
        """Do ahead what the first request would have to wait for. Nothing, the second time."""

    def stream(
        self, messages: Sequence[Message], *, tools: Sequence[ToolSchema] = (), max_tokens: int
    ) -> Iterator[ReplyPart]:
        """The reply in pieces. Closing the iterator ends the request.

        A stream that ends without a finish reason raises `StreamBroken`; what came before it was
        yielded already.
        """

    def context_window(self) -> int | None:
        """The window the endpoint itself names for this model, in tokens; None if it doesn't."""

    def close(self) -> None:
        """Release the connection, or the process, behind it."""
