"""What a command hands back. The terminal draws it; a command never prints."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Literal, TypeAlias

import msgspec

from assistant.messages import Content, Message

#: Things in a list to choose from.
MOST_LISTED = 200


def local_time(moment: datetime | None) -> str:
    """A moment in the user's zone, to the minute; empty for none, and for one no zone can hold."""
    try:
        return f"{moment.astimezone():%Y-%m-%d %H:%M}" if moment else ""
    except (OverflowError, OSError, ValueError):
        return ""


def count_text(number: int, thing: str) -> str:
    """`1 turn`, `1,200 turns`."""
    if number == 1:
        return f"1 {thing}"
    ends_in_y = thing.endswith("y") and thing[-2:-1] not in "aeiou"
    return f"{number:,} {thing[:-1]}ies" if ends_in_y else f"{number:,} {thing}s"


def excerpt(text: str, length: int) -> str:
    """The beginning of a text, on one line."""
    line = " ".join(text[: 4 * length].split())
    whole = len(text) <= 4 * length and len(line) <= length
    return line if whole else f"{line[: length - 1]}…"


class Text(msgspec.Struct, frozen=True):
    """Lines for the user, printed as they are."""

    text: str


class Table(msgspec.Struct, frozen=True):
    """Rows under headings; `note` stands below them."""

    columns: Sequence[str]
    rows: Sequence[Sequence[str]]
    title: str = ""
    note: str = ""
    incomplete: bool = False
    """Whether what was to be done is not all done: in a script the exit code says so."""


class Share(msgspec.Struct, frozen=True):
    """One part of a whole: a name, its size, and whether it is in use."""

    name: str
    size: int
    used: bool = True


class Bar(msgspec.Struct, frozen=True):
    """A whole and its parts, as figures and as a bar."""

    title: str
    shares: Sequence[Share]
    unit: str
    note: str = ""
    mark: str = ""
    """Stands before figures that are estimates: `~`."""


class Transcript(msgspec.Struct, frozen=True):
    """Messages of a conversation, as a person reads them."""

    messages: Sequence[Message]
    title: str = ""
    note: str = ""
    failures: dict[int, str] = {}
    """Turns whose reply failed, and why."""
    undone: frozenset[int] = frozenset()
    """Turns that are no part of the conversation any more."""


class Ask(msgspec.Struct, frozen=True):
    """Ask the model this saved message, which has no reply yet."""

    message: Message
    model: str | None = None
    """Another one of the same endpoint, for this turn."""


class Say(msgspec.Struct, frozen=True):
    """Say this to the model, as the user."""

    content: Content
    model: str | None = None
    """Another one of the same endpoint, for this turn."""
    without_reply: Callable[[], Output] | None = None
    """Runs when no reply came of it."""


class Edit(msgspec.Struct, frozen=True):
    """A text that the user may change in an editor; `then` gets what they make of it."""

    text: str
    then: Callable[[str], Output]


class Confirm(msgspec.Struct, frozen=True):
    """A question to the user; `then` runs when the answer is yes."""

    question: str
    then: Callable[[], Output]
    otherwise: Callable[[], Output] | None = None
    """Runs when it is no; without it nothing is changed."""
    shown: Text | None = None
    """What the question is about, shown before it."""
    word: str = ""
    """What has to be typed out for a yes, where a slip of the finger would cost too much."""
    aside: Literal["", "entries", "exports", "copies"] = ""
    """Of a question beside the main one: what it is about."""


class Choose(msgspec.Struct, frozen=True):
    """Things to choose from; `then` gets the places of those that were chosen."""

    title: str
    items: Sequence[str]
    marked: Sequence[int]
    """The places of those that are chosen unless the user says otherwise."""
    then: Callable[[Sequence[int]], Output]
    question: str = "Which? Enter for those marked, or 1,3-5, all, none: "

    def lines(self) -> Sequence[str]:
        """The things, numbered, with their marks; of very many the first."""
        lines = [
            f"[{'x' if place in self.marked else ' '}] {place + 1}  {item}"
            for place, item in enumerate(self.items[:MOST_LISTED])
        ]
        more = len(self.items) - len(lines)
        return [*lines, f"… and {more:,} more"] if more else lines


class Work(msgspec.Struct, frozen=True):
    """Something that takes a while: `run` is given what says how far it is, and Ctrl-C ends it."""

    text: str
    """What is being done, for the waiting sign."""
    run: Callable[[Callable[[str], None]], Output]


class Quit(msgspec.Struct, frozen=True):
    """Leave the program."""


Output: TypeAlias = (
    Text | Table | Bar | Transcript | Ask | Say | Edit | Confirm | Choose | Work | Quit
)
