"""The words of a conversation, as plain data: what is stored, sent and shown."""

from __future__ import annotations

from datetime import datetime
from typing import Literal, TypeAlias

import msgspec

Role: TypeAlias = Literal["system", "user", "assistant", "tool"]

#: Our own finish reasons, beside the endpoint's `stop`, `length`, `tool_calls`, `content_filter`.
INTERRUPTED = "interrupted"
BROKEN = "broken"


class ImageUrl(msgspec.Struct, frozen=True, omit_defaults=True):
    """Where an image is: a web address or a `data:` URL."""

    url: str
    detail: Literal["auto", "low", "high"] = "auto"


class TextPart(msgspec.Struct, frozen=True, tag_field="type", tag="text"):
    text: str


class ImagePart(msgspec.Struct, frozen=True, tag_field="type", tag="image_url"):
    image_url: ImageUrl


Part: TypeAlias = TextPart | ImagePart
Content: TypeAlias = str | tuple[Part, ...]


class ToolCall(msgspec.Struct, frozen=True):
    """A tool the model asks for. `arguments` is the JSON text exactly as the model wrote it."""

    id: str
    name: str
    arguments: str


class Usage(msgspec.Struct, frozen=True, omit_defaults=True):
    """What the endpoint counted for one reply, in the model's own tokens."""

    prompt_tokens: int
    completion_tokens: int
    cached_tokens: int = 0


class TokenCount(msgspec.Struct, frozen=True):
    """Tokens of one message, overhead included, and the encoding they were counted in."""

    encoding: str
    tokens: int


class Message(
    msgspec.Struct,
    frozen=True,
    omit_defaults=True,
    gc=False,
    tag_field="type",
    tag="message",
):
    """One utterance.

    `id` counts up within the session and `turn` numbers the exchange it belongs to; both are 0
    until the message is saved. An assistant message keeps the model, its usage and why it ended.
    """

    role: Role
    content: Content
    id: int = 0
    turn: int = 0
    ts: datetime | None = None
    tool_calls: tuple[ToolCall, ...] = ()
    tool_call_id: str | None = None
    model: str | None = None
    usage: Usage | None = None
    finish_reason: str | None = None
    count: TokenCount | None = None
    v: int = 1

    @property
    def text(self) -> str:
        """What a person reads of it; an image is shown as a word in brackets."""
        if isinstance(self.content, str):
            return self.content
        return "\n".join(
            part.text if isinstance(part, TextPart) else "[image]" for part in self.content
        )

    @property
    def cut_short(self) -> bool:
        """Whether the reply is only the part that came before it was stopped or broke."""
        return self.finish_reason in (INTERRUPTED, BROKEN)


def clean_text(text: str) -> str:
    """Text that UTF-8 can hold: surrogate pairs joined, a lone surrogate becomes U+FFFD.

    Terminals and pipes hand over undecodable bytes as lone surrogates (PEP 383); neither a file
    nor a request can carry them.
    """
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


def clean_content(content: Content) -> Content:
    """The same for content in parts."""
    if isinstance(content, str):
        return clean_text(content)
    return tuple(
        TextPart(clean_text(part.text)) if isinstance(part, TextPart) else part for part in content
    )
