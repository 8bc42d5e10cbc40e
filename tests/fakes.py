"""Stand-ins simple enough to need no tests of their own."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

from assistant.errors import ChatModelError
from assistant.messages import Message, Usage
from assistant.prompt import ToolSchema
from assistant.protocols import ReplyPart


class FakeClock:
    """A clock that stands still until it is told to go on."""

    def __init__(self, now: datetime | None = None) -> None:
        self.now = now or datetime(2026, 3, 4, 5, 6, 7, tzinfo=UTC)

    def __call__(self) -> datetime:
        return self.now

    def advance(self, **delta: float) -> None:
        self.now += timedelta(**delta)


class FakeIds:
    """Ids that count up."""

    def __init__(self) -> None:
        self._last = 0

    def __call__(self) -> str:
        self._last += 1
        return f"s{self._last}"


@dataclass
class FakeCounter:
    """One token a character."""

    encoding: str = "characters"
    exact: bool = True
    ready: bool = True
    problem: str = ""

    def count(self, text: str) -> int:
        return len(text)


Reply = str | Sequence[ReplyPart | BaseException] | BaseException


@dataclass
class FakeChatModel:
    """Gives the queued replies in order, and keeps what it was sent."""

    replies: list[Reply] = field(default_factory=list)
    name: str = "fake"
    address: str = "nowhere"
    window: int | None = None
    sent: list[tuple[Message, ...]] = field(default_factory=list)
    max_tokens: list[int] = field(default_factory=list)
    before_reply: Callable[[], None] = lambda: None

    def load(self) -> None:
        pass

    def stream(
        self, messages: Sequence[Message], *, tools: Sequence[ToolSchema] = (), max_tokens: int
    ) -> Iterator[ReplyPart]:
        self.sent.append(tuple(messages))
        self.max_tokens.append(max_tokens)
        self.before_reply()
        reply = self.replies.pop(0) if self.replies else "fine"
        if isinstance(reply, BaseException):
            raise reply
        if isinstance(reply, str):
            reply = [*(ReplyPart(text=piece) for piece in reply.split("|")), END]
        for part in reply:
            if isinstance(part, BaseException):
                raise part
            yield part

    def context_window(self) -> int | None:
        return self.window

    def close(self) -> None:
        pass


END = ReplyPart(finish_reason="stop", usage=Usage(prompt_tokens=10, completion_tokens=2))


def failing(error: ChatModelError, *, after: str = "") -> Reply:
    """A reply that breaks, at once or after some text."""
    return [ReplyPart(text=after), error] if after else error
