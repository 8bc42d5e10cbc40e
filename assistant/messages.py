"""The words of a conversation, as plain data: what is stored, sent and shown."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping
from datetime import datetime
from typing import Literal, TypeAlias

import msgspec

Role: TypeAlias = Literal["system", "user", "assistant", "tool"]

#: Languages that summaries and their labels are written in; others get the English instructions.
Language: TypeAlias = Literal["en", "zh"]

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


class ToolCall(msgspec.Struct, frozen=True, omit_defaults=True):
    """A tool the model asks for. `arguments` is the JSON text exactly as the model wrote it."""

    id: str
    name: str
    arguments: str
    extra_content: str = ""
    """What the endpoint sent beside the call and wants back unchanged, as JSON text."""


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
    whole: str | None = None
    """Of a tool's result that was cut for the prompt: all of it."""
    changed: str = ""
    """Of a tool's result: what the tool wrote, in words; empty when it wrote nothing."""
    secondhand: bool = False
    """Of a reply: text that the user did not type, recalled or found by a tool, was before it."""
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


class Exchange(msgspec.Struct, frozen=True):
    """What was said in one turn: the unit that is indexed and recalled.

    `assistant` is empty while there is no reply. Tool calls and results are no part of it.
    """

    session: str
    turn: int
    ts: datetime | None
    user: str
    assistant: str
    undone: bool = False
    """Whether the user went back before it, so that it is no part of the conversation."""

    @property
    def id(self) -> str:
        """`<session>.<turn>`: names the exchange for ever."""
        return f"{self.session}.{self.turn}"

    @property
    def text(self) -> str:
        """Both sides together."""
        return f"{self.user}\n{self.assistant}"


class Recalled(msgspec.Struct, frozen=True):
    """An exchange that retrieval looked at for one question, and why it was taken or not."""

    exchange: Exchange
    score: float
    parts: Mapping[str, float]
    """What the score is made of; its parts add up to it."""
    left_out: str = ""
    """Why it does not stand in the prompt, in words; empty when it does."""


#: What a fact says: who the user is, what they like, what always holds, or anything else.
FactKind: TypeAlias = Literal["about", "preference", "rule", "other"]


class Fact(msgspec.Struct, frozen=True, omit_defaults=True):
    """One thing known about the user, across sessions."""

    id: str
    text: str
    kind: FactKind
    said: datetime
    """When the user said it."""
    valid_from: datetime | None = None
    """Since when it holds; None: since it was said."""
    valid_until: datetime | None = None
    """Until when, exclusive; None: it still holds."""
    sources: tuple[str, ...] = ()
    """The turns it comes from, each `<session>.<turn>`; empty for one typed in by hand."""
    replaced_by: str | None = None
    """The fact that holds instead; empty text where that one was erased."""

    def holds(self, moment: datetime) -> bool:
        """Whether it was, is, or will be so at a moment."""
        since = self.valid_from or self.said
        return since <= moment and (self.valid_until is None or moment < self.valid_until)


class Event(msgspec.Struct, frozen=True, omit_defaults=True):
    """An appointment in the calendar: a single one, a repeated one, or one occurrence of it."""

    id: str
    """Short and typed by hand; of an occurrence of a repeated event `<id>@<date>`."""
    title: str
    start: datetime
    """With its zone. Of a whole day: midnight in the user's zone."""
    end: datetime
    """Exclusive. Equal to `start` where the event has no length."""
    whole_day: bool = False
    location: str = ""
    notes: str = ""
    remind_before: int | None = None
    """Minutes before the start."""
    repeat: str = ""
    """A recurrence rule as in RFC 5545, section 3.3.10: `FREQ=WEEKLY;BYDAY=MO`."""
    source: str = ""
    """The turn it was made in, `<session>.<turn>`; empty for one of a person or another program."""


class Memo(msgspec.Struct, frozen=True, omit_defaults=True):
    """A note the user wants kept, word for word."""

    id: str
    text: str
    written: datetime
    tags: tuple[str, ...] = ()
    changed: datetime | None = None
    source: str = ""
    """The turn it was made in, `<session>.<turn>`; empty for one typed in by hand."""


class Moment(msgspec.Struct, frozen=True):
    """A point in time, or a stretch of it, that an expression names."""

    start: datetime
    """In the user's zone."""
    end: datetime | None = None
    """Exclusive, where the expression names an end or a stretch; of a whole day its end."""
    whole_day: bool = False
    """Whether days are named and no time of day."""
    dated: bool = True
    """Whether the expression names a day; a time of day alone is the next such time."""
    note: str = ""
    """What a person should know of how it was read; empty when there was no doubt."""


#: What a summary may lose that a person would miss.
Kind: TypeAlias = Literal[
    "rule",
    "code",
    "date",
    "amount",
    "promise",
    "preference",
    "time",
    "about",
    "link",
    "name",
    "number",
    "negation",
]


class KeptItem(msgspec.Struct, frozen=True, omit_defaults=True):
    """Something said that must outlive a summary, word for word."""

    kind: Kind
    value: str
    """The thing itself: a code, a date, an amount; for a rule and its like the whole clause."""
    text: str
    """A short clause, as it was said, that holds the value and says what it is."""
    turn: int
    """Where it was said, or said again."""
    role: Role
    said: int = 1
    """How often."""
    passing: bool = False
    """Mentioned by the way: it is the first to go."""
    corrects: bool = False
    """Said in words that take something back ("actually", "改成") that is not found yet."""
    replaces: str = ""
    """The value it takes back."""


class Summary(msgspec.Struct, frozen=True, omit_defaults=True, tag_field="type", tag="summary"):
    """The rolling summary of a session's oldest messages. They stay in the log."""

    text: str
    covers: tuple[int, int]
    """Ids of the first and the last message it stands for."""
    ts: datetime
    kept: tuple[KeptItem, ...] = ()
    """What the text lost; it stands under it in the prompt."""
    watched: tuple[KeptItem, ...] = ()
    """What the text holds now, so that the next one can't lose it unseen."""
    language: Language = "en"
    model: str = ""
    instructions: str = ""
    """What the user asked it to pay attention to."""
    v: int = 1


def one_line(text: str, most: int = 300) -> str:
    """A text on one line, as it stands in a sentence of ours: it can't pass for another line.

    Shortened to `most` characters, without invisible ones that turn the direction of writing.
    """
    line = " ".join("".join(c for c in text[: 4 * most] if c not in _INVISIBLE).split())
    more = len(text) - most
    return line if len(line) <= most else f"{line[:most].rstrip()}… (and {more:,} more characters)"


_INVISIBLE = frozenset("\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")


#: A telephone number, an account, a date: six digits or more, however they are grouped.
_NUMBER = r"\d(?:[\s().\-/]{0,2}\d){5,}"


def folded(text: str) -> str:
    """A text as it is compared when words are looked for, one right after the other.

    Case, spacing and the way accents are composed don't count, nor how a long number is grouped
    and whether zeros lead it: 0470 558 821, 0470-55-88-21, and the end of +32 470 558 821.
    """
    line = " ".join(unicodedata.normalize("NFC", text).casefold().split())
    return re.sub(_NUMBER, lambda one: re.sub(r"\D", "", one[0]).lstrip("0") or one[0], line)


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
