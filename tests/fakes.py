"""Stand-ins simple enough to need no tests of their own."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import numpy as np

from assistant.errors import ChatModelError, IndexLocked
from assistant.messages import Message, ToolCall, Usage
from assistant.prompt import Recollection, ToolSchema
from assistant.protocols import Hit, Hits, IndexRow, ReplyPart, StoredRows

if TYPE_CHECKING:
    from assistant.memory.assembly import Shares
    from assistant.memory.session import Session
    from assistant.protocols import Vector


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

    def __init__(self, prefix: str = "s") -> None:
        self._prefix = prefix
        self._last = 0

    def __call__(self) -> str:
        self._last += 1
        return f"{self._prefix}{self._last}"


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
    may_call: list[bool] = field(default_factory=list)
    before_reply: Callable[[], None] = lambda: None

    def load(self) -> None:
        pass

    def tools_text(self, tools: Sequence[ToolSchema]) -> str:
        return " ".join(tool["function"]["name"] for tool in tools)

    def stream(
        self,
        messages: Sequence[Message],
        *,
        tools: Sequence[ToolSchema] = (),
        may_call: bool = True,
        max_tokens: int,
    ) -> Iterator[ReplyPart]:
        self.sent.append(tuple(messages))
        self.may_call.append(may_call)
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

    def another(self, name: str | None = None) -> FakeChatModel:
        return self

    def context_window(self) -> int | None:
        return self.window

    def close(self) -> None:
        pass


def calling(*calls: tuple[str, dict[str, object] | str], text: str = "") -> Reply:
    """A reply that asks for tools, after some text: each a name and its arguments."""
    return [
        *([ReplyPart(text=text)] if text else []),
        ReplyPart(
            tool_calls=tuple(
                ToolCall(
                    f"call_{at}",
                    name,
                    arguments if isinstance(arguments, str) else json.dumps(arguments),
                )
                for at, (name, arguments) in enumerate(calls)
            ),
            finish_reason="tool_calls",
        ),
    ]


END = ReplyPart(finish_reason="stop", usage=Usage(prompt_tokens=10, completion_tokens=2))


def failing(error: ChatModelError, *, after: str = "") -> Reply:
    """A reply that breaks, at once or after some text."""
    return [ReplyPart(text=after), error] if after else error


@dataclass
class FakeEmbedder:
    """A vector counts the letters of a text."""

    name: str = "letters"
    errors: list[Exception] = field(default_factory=list)
    """Raised instead of the next answers."""
    embedded: list[str] = field(default_factory=list)

    def dimension(self) -> int:
        return 26

    def embed_documents(self, texts: Sequence[str]) -> list[Vector]:
        if self.errors:
            raise self.errors.pop(0)
        self.embedded += texts
        return [self.embed_query(text) for text in texts]

    def embed_query(self, text: str) -> Vector:
        counts = np.array([text.lower().count(chr(97 + at)) for at in range(26)], dtype=np.float32)
        return counts / max(1.0, float(np.linalg.norm(counts)))

    def close(self) -> None:
        pass


@dataclass
class FakeIndex:
    """Rows in a dictionary. Words score by how many are shared."""

    stored: dict[str, IndexRow] = field(default_factory=dict)
    errors: list[Exception] = field(default_factory=list)
    """Raised instead of the next writes."""
    place: str = "memory"
    limits: str = ""
    closed: bool = False

    def search(self, vector: Vector | None, terms: Sequence[str], limit: int) -> Hits:
        rows = self.stored.values()
        dense = [] if vector is None else [Hit(row.id, _cosine(row, vector)) for row in rows]
        words = [Hit(row.id, float(len(set(terms) & set(row.terms)))) for row in rows]
        return Hits(_best(dense, limit), _best([hit for hit in words if hit.score], limit))

    def rows(self, ids: Sequence[str]) -> list[IndexRow]:
        return [self.stored[one] for one in ids if one in self.stored]

    def newest(self, limit: int) -> list[IndexRow]:
        return sorted(self.stored.values(), key=lambda row: -row.ts)[:limit]

    def count(self) -> int:
        return len(self.stored)

    def digests(self, sessions: Sequence[str] | None = None) -> Mapping[str, str]:
        rows = self.stored.values()
        return {row.id: row.digest for row in rows if sessions is None or row.session in sessions}

    def upsert(self, rows: Sequence[IndexRow]) -> None:
        if self.errors:
            raise self.errors.pop(0)
        self.stored.update({row.id: row for row in rows})

    def delete(self, ids: Sequence[str]) -> None:
        for one in ids:
            self.stored.pop(one, None)

    def flush(self) -> None:
        pass

    def close(self) -> None:
        self.closed = True


def _cosine(row: IndexRow, vector: Vector) -> float:
    return 0.0 if row.vector is None else float(np.dot(row.vector, vector))


def _best(hits: Sequence[Hit], limit: int) -> list[Hit]:
    return sorted(hits, key=lambda hit: -hit.score)[:limit]


@dataclass
class FakeIndexHome:
    """An index that is there whenever it is opened, with what was put in before."""

    index: FakeIndex = field(default_factory=FakeIndex)
    errors: list[Exception] = field(default_factory=list)
    """Raised instead of the next openings and erasings."""
    opened: list[tuple[str | None, int | None]] = field(default_factory=list)
    aside: list[str] = field(default_factory=list)
    discards: bool = True
    erased: list[str] = field(default_factory=list)
    locked: bool = False
    """Whether another process has it open."""
    lag: str = ""
    name: str = "fake"

    def open(self, embedder: str | None, dimension: int | None) -> FakeIndex:
        self.opened.append((embedder, dimension))
        if self.errors:
            raise self.errors.pop(0)
        self.index.closed = False
        return self.index

    def set_aside(self, stamp: str) -> str | None:
        self.index = FakeIndex()
        self.aside.append(stamp)
        return f"aside-{stamp}"

    def discard(self) -> bool:
        if self.locked:
            raise IndexLocked("In use elsewhere.")
        if self.discards:
            self.index = FakeIndex()
        return self.discards

    def stored(self, sessions: Collection[str] | None) -> StoredRows:
        rows = self.index.stored.values()
        return StoredRows([row for row in rows if sessions is None or row.session in sessions])

    def erase(self, ids: Sequence[str] | None) -> bool:
        if self.errors:
            raise self.errors.pop(0)
        if self.locked:
            raise IndexLocked("In use elsewhere.")
        self.erased += ids or []
        self.index.delete(list(self.index.stored) if ids is None else ids)
        return ids is not None

    def holding(self, words: str) -> Sequence[str]:
        return [one.id for one in self.stored(None).rows if words in f"{one.user} {one.assistant}"]

    @property
    def in_use(self) -> bool:
        return self.locked


@dataclass
class FakeRetriever:
    """Recalls what it was given, whatever is asked, and keeps what it was asked with."""

    recollection: Recollection = field(default_factory=Recollection)
    asked: list[Shares] = field(default_factory=list)

    def recall(self, session: Session, shares: Shares) -> Recollection:
        self.asked.append(shares)
        return self.recollection
