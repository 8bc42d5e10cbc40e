"""Every outside thing as the narrow shape we need."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Protocol, TypeAlias

import msgspec

from assistant.messages import Message, ToolCall, Usage
from assistant.prompt import ToolSchema

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    #: One text's place in an embedding space: float32, shape (dimension,), of length one.
    Vector: TypeAlias = NDArray[np.float32]


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

    def another(self, name: str | None = None) -> ChatModel:
        """The same model, or one named `name` at the same endpoint, over a connection of its own.

        Closing it breaks off its reply and no other.
        """

    def context_window(self) -> int | None:
        """The window the endpoint itself names for this model, in tokens; None if it doesn't."""

    def close(self) -> None:
        """Release the connection, or the process, behind it."""


class Embedder(Protocol):
    """Turns texts into vectors. Raises only `EmbedderError`s."""

    @property
    def name(self) -> str:
        """Stored with every vector: vectors of different names are never compared."""

    def dimension(self) -> int:
        """The length of its vectors; may load the model, or ask the endpoint, to find out."""

    def embed_documents(self, texts: Sequence[str]) -> Sequence[Vector]:
        """One vector for each text, in order. Any text is taken: empty, huge, only emoji."""

    def embed_query(self, text: str) -> Vector:
        """The vector of a question, to be compared with those of documents."""

    def close(self) -> None:
        """Release what it holds."""


class IndexRow(msgspec.Struct, frozen=True):
    """One exchange as the index holds it."""

    id: str
    """`<session>.<turn>`."""
    session: str
    turn: int
    ts: int
    """When it was said: milliseconds since 1970, UTC."""
    user: str
    assistant: str
    terms: Sequence[str]
    """What keyword search sees: the words of both texts as `memory/terms.py` makes them."""
    digest: str
    """Of the texts; a changed exchange has another one."""
    vector: Vector | None = None
    """None when no embedder made one."""


class Hit(msgspec.Struct, frozen=True):
    """What one search found: a row, and how well it fits. Scores compare within one search."""

    id: str
    score: float


class Hits(msgspec.Struct, frozen=True):
    """The best rows of each search, best first."""

    dense: Sequence[Hit] = ()
    """By cosine similarity."""
    keyword: Sequence[Hit] = ()
    """By BM25."""


class IndexHome(Protocol):
    """Where the index is kept, open or not. Raises only `MemoryIndexError`s."""

    @property
    def name(self) -> str:
        """What tells this index from others: its place, and whose it is. No secret is in it."""

    def open(self, embedder: str | None, dimension: int | None) -> MemoryIndex:
        """The index for vectors of this embedder and length; without one, for words alone.

        Made when it is not there; vectors of another embedder are never found in it.
        """

    def set_aside(self, stamp: str) -> str | None:
        """Move an unusable index out of the way, and say where it is now; None on a server."""

    def discard(self) -> bool:
        """Delete the whole index, which must be closed. It can be made again from the logs.

        False when only its rows can be deleted, one by one.
        """


class MemoryIndex(Protocol):
    """All exchanges of a user, found by meaning and by words. Derived from the logs.

    One process, one writer. Every call ends within its timeout. Raises only `MemoryIndexError`s.
    """

    @property
    def place(self) -> str:
        """Where it is, in words for the user; never with a secret in it."""

    @property
    def limits(self) -> str:
        """What this index can't do, in a sentence for the user; empty when it does everything."""

    def search(self, vector: Vector | None, terms: Sequence[str], limit: int) -> Hits:
        """The nearest `limit` rows of each kind; without a vector, or terms, that kind is empty."""

    def rows(self, ids: Sequence[str]) -> Sequence[IndexRow]:
        """The rows with these ids, those that are there, in any order."""

    def newest(self, limit: int) -> Sequence[IndexRow]:
        """Up to `limit` rows, the newest as far as the index can tell: a sample of all."""

    def count(self) -> int:
        """Rows in the index."""

    def digests(self) -> Mapping[str, str]:
        """Each row's id and digest: what a comparison with the logs needs."""

    def upsert(self, rows: Sequence[IndexRow]) -> None:
        """Add rows, or replace those with the same id."""

    def delete(self, ids: Sequence[str]) -> None:
        """Take rows out of every later search."""

    def flush(self) -> None:
        """Make searches over what was added lately fast, and put it on the disk."""

    def close(self) -> None:
        """Release it, and its lock. Nothing, the second time."""
