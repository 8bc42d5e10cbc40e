"""What a command hands back. The terminal draws it; a command never prints."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from assistant.messages import Message


@dataclass(frozen=True)
class Text:
    """Lines for the user, printed as they are."""

    text: str


@dataclass(frozen=True)
class Table:
    """Rows under headings; `note` stands below them."""

    columns: Sequence[str]
    rows: Sequence[Sequence[str]]
    title: str = ""
    note: str = ""


@dataclass(frozen=True)
class Share:
    """One part of a whole: a name, its size, and whether it is in use."""

    name: str
    size: int
    used: bool = True


@dataclass(frozen=True)
class Bar:
    """A whole and its parts, as figures and as a bar."""

    title: str
    shares: Sequence[Share]
    unit: str
    note: str = ""
    mark: str = ""
    """Stands before figures that are estimates: `~`."""


@dataclass(frozen=True)
class Transcript:
    """Messages of a conversation, as a person reads them."""

    messages: Sequence[Message]
    title: str = ""
    note: str = ""
    failures: dict[int, str] = field(default_factory=dict)
    """Turns whose reply failed, and why."""


@dataclass(frozen=True)
class Ask:
    """Ask the model this saved message, which has no reply yet."""

    message: Message


@dataclass(frozen=True)
class Confirm:
    """A question to the user; `then` runs when the answer is yes."""

    question: str
    then: Callable[[], Output]


@dataclass(frozen=True)
class Quit:
    """Leave the program."""


Output: TypeAlias = Text | Table | Bar | Transcript | Ask | Confirm | Quit
