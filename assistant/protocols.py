"""Every outside thing as the narrow shape we need."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from datetime import datetime
from typing import (
    TYPE_CHECKING,
    Generic,
    Literal,
    Protocol,
    TypeAlias,
    TypeVar,
    runtime_checkable,
)

import msgspec

from assistant.messages import Event, Fact, FactKind, Memo, Message, Moment, ToolCall, Usage
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

    def tools_text(self, tools: Sequence[ToolSchema]) -> str:
        """What the tools add to its prompt, for counting; empty when it takes none."""

    def stream(
        self,
        messages: Sequence[Message],
        *,
        tools: Sequence[ToolSchema] = (),
        may_call: bool = True,
        max_tokens: int,
    ) -> Iterator[ReplyPart]:
        """The reply in pieces. Closing the iterator ends the request.

        Calls of tools come whole, in the last part. Without `may_call` the tools are described all
        the same, as earlier messages may have used them, and the model must answer in text.

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


@runtime_checkable
class ReadsAhead(Protocol):
    """A model whose prompts are read slowly: all beginnings can be read before."""

    def read_ahead(self, messages: Sequence[Message], tools: Sequence[ToolSchema] = ()) -> None:
        """Read the messages that stand first, and the tools. Raises `ChatModelError`.

        The first reply that is wanted ends it: nobody waits for what may not be needed.
        """


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
    """What keyword search sees: the words of both texts as `memory/recall/terms.py` makes them."""
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


class StoredRows(msgspec.Struct, frozen=True):
    """What is stored of an index, whatever was deleted in it and whoever has it open."""

    rows: Sequence[IndexRow] = ()
    """Without terms and vectors; a row that was written again comes more than once."""
    unreadable: Sequence[str] = ()
    """Files that can't be read now: they may hold anything."""
    aside: Sequence[str] = ()
    """Unusable indexes that were moved out of the way, and what is left of discarded ones."""


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
        """Delete the whole index, which must be closed, and all that was moved out of its way.

        It can be made again from the logs. False when only its rows can be deleted, one by one.
        Raises IndexLocked when another process has it open.
        """

    def stored(self, sessions: Collection[str] | None) -> StoredRows:
        """What is stored of these sessions, or of all. Opens nothing, and takes no lock."""

    def holding(self, words: str) -> Sequence[str]:
        """Where these words stand, also in rows that were deleted: files, or rows of a server.

        Opens nothing, and takes no lock. Raises IndexUnavailable.
        """

    def erase(self, ids: Sequence[str] | None) -> bool:
        """Take these rows, or all, out of an index that is closed, down to the bytes.

        What was moved out of its way goes, too. False when it had to be discarded whole. May be
        done twice. Raises IndexLocked when another process has it open.
        """

    @property
    def in_use(self) -> bool:
        """Whether a process has the index open, and keeps others out; it may be this one."""

    @property
    def lag(self) -> str:
        """Why rows outlast their erasing for a while, in a sentence; empty when they don't."""


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

    def digests(self, sessions: Sequence[str] | None = None) -> Mapping[str, str]:
        """Each row's id and digest, or those of some sessions: for comparing with the logs."""

    def upsert(self, rows: Sequence[IndexRow]) -> None:
        """Add rows, or replace those with the same id."""

    def delete(self, ids: Sequence[str]) -> None:
        """Take rows out of every later search."""

    def flush(self) -> None:
        """Make searches over what was added lately fast, and put it on the disk."""

    def close(self) -> None:
        """Release it, and its lock. Nothing, the second time."""


# --- what the user keeps ------------------------------------------------------------------------

T = TypeVar("T")

#: What a change to a repeated event is about: the occurrence its id names, or all of them.
Scope: TypeAlias = Literal["this", "all"]


class Written(msgspec.Struct, Generic[T], frozen=True):
    """What a store has written: an entry before and after, and how to take it back."""

    before: T | None
    """None for a new entry."""
    after: T | None
    """None for one that is gone."""
    undo: Callable[[], None]
    """Puts back what was there. Raises EntryChanged when it was changed since, or NotSaved."""


class Change(msgspec.Struct, frozen=True):
    """Something that was written, in words made from what the store returned."""

    text: str
    """`event created: Review, Tue 2026-12-01 15:00–16:00`."""
    undo: Callable[[], None]


class EventChanges(msgspec.Struct, frozen=True, omit_defaults=True):
    """What is to be different in an event; None leaves a field as it is, "" empties it."""

    title: str | None = None
    start: datetime | None = None
    """Without `end` the event keeps its length."""
    end: datetime | None = None
    whole_day: bool | None = None
    location: str | None = None
    notes: str | None = None
    remind_before: int | None = None
    """Minutes; -1 for no reminder."""
    repeat: str | None = None


class Calendar(Protocol):
    """Events in an iCalendar file that other programs open, too. Raises only `EntryError`s.

    Every method sees what other processes wrote. Times that are given have a zone.
    """

    def create(
        self,
        title: str,
        start: datetime,
        end: datetime | None = None,
        *,
        whole_day: bool = False,
        location: str = "",
        notes: str = "",
        remind_before: int | None = None,
        repeat: str = "",
        source: str = "",
    ) -> Written[Event]:
        """Add an event. Without `end` it takes an hour, or one day. Raises WrongEntry for an end
        before the start, a rule that is none, a year a calendar can't hold.
        """

    def between(self, start: datetime, end: datetime, most: int = 1_000) -> Sequence[Event]:
        """All that takes place then, occurrences of repeated events one by one, in order of start.

        What ends exactly at `start` or begins exactly at `end` does not count.
        """

    def search(
        self, query: str, start: datetime | None = None, end: datetime | None = None
    ) -> Sequence[Event]:
        """Events with all the words of `query` in title, place or notes, in order of start.

        A repeated one is given once, as its next occurrence within the bounds (or its last).
        """

    def all(self) -> Sequence[Event]:
        """Every event, and every occurrence that was changed, as they stand in the file."""

    def get(self, event_id: str) -> Event:
        """An event, or one occurrence of it, by its id. Raises NoSuchEntry."""

    def update(
        self, event_id: str, changes: EventChanges, scope: Scope | None = None
    ) -> Written[Event]:
        """Change an event. Of a repeated one `scope` says which: without it the id must name an
        occurrence (then it is that one), else WrongEntry asks for it.
        """

    def cancel(self, event_id: str, scope: Scope | None = None) -> Written[Event]:
        """Take an event, or one occurrence of it, out of the calendar."""

    def to_dos(self) -> Sequence[tuple[str, datetime | None]]:
        """Tasks in the file that are not done, as other programs put them there: title and due."""


class MemoStore(Protocol):
    """The user's memos. Raises only `EntryError`s. Every method sees what other processes wrote."""

    def save(self, text: str, tags: Sequence[str] = (), *, source: str = "") -> Written[Memo]: ...

    def update(
        self, memo_id: str, *, text: str | None = None, tags: Sequence[str] | None = None
    ) -> Written[Memo]: ...

    def delete(self, memo_id: str) -> Written[Memo]: ...

    def get(self, memo_id: str) -> Memo: ...

    def search(
        self,
        query: str = "",
        start: datetime | None = None,
        end: datetime | None = None,
        *,
        tag: str | None = None,
        most: int = 20,
    ) -> Sequence[Memo]:
        """The memos that fit best, by words and by meaning; without a query the newest first.

        `start` and `end` (exclusive) bound when they were written.
        """

    def texts(self) -> Mapping[str, Sequence[str]]:
        """By id all that every memo says or ever said, tags too, also of those that were deleted:
        the file holds it until it is erased.
        """

    def deleted_in(self) -> Mapping[str, str]:
        """By id of those that were deleted: the turn in which each was made."""


class FactProposal(msgspec.Struct, frozen=True, omit_defaults=True):
    """What was learnt from a conversation and waits for the user's word."""

    id: str
    text: str
    """The new fact; of a proposal to end one, that fact's text."""
    kind: FactKind
    said: datetime
    source: str
    """The turn it comes from, `<session>.<turn>`."""
    replaces: str | None = None
    """The fact that the new one takes the place of, where that was said."""
    ends: str | None = None
    """The fact that is to end, without another in its place."""


class FactStore(Protocol):
    """What is known about the user. Raises only `EntryError`s. Sees what others wrote."""

    def remember(
        self,
        text: str,
        kind: FactKind | None = None,
        *,
        valid_from: datetime | None = None,
        valid_until: datetime | None = None,
        source: str = "",
        said: datetime | None = None,
        replaces: str | None = None,
    ) -> Written[Fact]:
        """Keep a fact. Of one on the same thing, said earlier, it takes the place: that one gets an
        end date and is the result's `before`. Raises WrongEntry for a secret: a key, a card number,
        a password. What is known already word for word is written no second time (`before` is
        `after` then). `said` is now unless given; `replaces` names a fact that it takes the place
        of, whatever the wording.
        """

    def forget(self, fact_id: str, *, at: datetime | None = None) -> Written[Fact]:
        """End a fact, now unless told when. It stays in the history; erasing is another thing."""

    def get(self, fact_id: str) -> Fact: ...

    def in_force(self, moment: datetime) -> Sequence[Fact]:
        """What holds at a moment: rules first, then the newest."""

    def near(self, text: str, most: int = 5) -> Sequence[Fact]:
        """The facts nearest to a text, ended ones included, best first; empty when none is."""

    def bearing_on(self, question: str, now: datetime, most: int = 5) -> Sequence[Fact]:
        """For a question about then, the facts near it that held, or were said, at that time.

        Best first, ended ones included. Empty for a question that names no time in the past.
        """

    def history(self, words: str = "") -> Sequence[Fact]:
        """All facts, the newest first, ended ones included; with words, those that hold all."""

    def pending(self) -> Sequence[FactProposal]:
        """What waits for the user's word, in the order it was learnt."""

    def ever_kept(self) -> Sequence[Fact]:
        """All facts that the file holds, each as often as it is written there, also those that
        were taken back: they are there until they are erased.
        """

    def ever_proposed(self) -> Sequence[FactProposal]:
        """All proposals that the file holds, also those that were decided on."""

    def approve(self, proposal_id: str) -> Written[Fact]:
        """Keep what was proposed. Raises NoSuchEntry when nothing with that id waits."""

    def refuse(self, proposal_id: str) -> FactProposal:
        """Drop what was proposed; it is not proposed again."""


class Times(Protocol):
    """Reads expressions of time, in English, Chinese or ISO 8601, against now.

    Raises WrongEntry, whose `field` is "" and is filled in by who knows it.
    """

    def now(self) -> datetime:
        """In the user's zone, which is an IANA zone where the system names one."""

    def moment(self, text: str, now: datetime | None = None) -> Moment:
        """When something is to be: "2026-12-01T15:00", "tomorrow 3pm", 明天下午3点到5点.

        What names no date is the next such time (`dated` is False); what names no year is in the
        future. With `now` it is read against another moment than the present.
        """

    def stretch(self, text: str) -> Moment:
        """From when to when to look: "today", "next week", 这周末, "March", "2026-03-01".

        `end` is always there.
        """

    def leading(self, text: str) -> tuple[Moment, str]:
        """The moment named at the beginning or the end of a text, and the rest of it: for
        "tomorrow 3pm product review" and 明天下午3点产品评审.
        """

    def repeat(self, text: str) -> str:
        """A recurrence rule from itself, or from words: "every Monday", 每周一, "daily".

        The empty text gives the empty rule.
        """


class Stores(Protocol):
    """All that the user keeps."""

    @property
    def calendar(self) -> Calendar: ...

    @property
    def memos(self) -> MemoStore: ...

    @property
    def facts(self) -> FactStore: ...

    @property
    def times(self) -> Times: ...


class Recaller(Protocol):
    """Finds what was said in earlier conversations, for a question that needs a second look."""

    def found(
        self, question: str, start: datetime | None, end: datetime | None, *, not_in: str
    ) -> Sequence[str]:
        """The exchanges that bear on it, one text each with its date and place, oldest first.

        `start` and `end` (exclusive) bound when they were said; `not_in` is the turn that asks.
        Never raises for want of an index: where the search was not complete, it says so.
        """


# --- erasing ------------------------------------------------------------------------------------


class Erasure(msgspec.Struct, frozen=True, omit_defaults=True):
    """What is to be erased: numbers, ids and digests alone.

    It is kept in a file while it is being done, so that the next start can finish it; no word that
    is erased may stand in it.
    """

    id: str
    ts: datetime
    """When the user agreed to it."""
    turns: Mapping[str, tuple[int, ...]] = {}
    """By session: turns that go whole."""
    messages: Mapping[str, tuple[int, ...]] = {}
    """By session: ids of messages that go, each call with its result and the other way round."""
    changed: Mapping[str, tuple[int, ...]] = {}
    """By session: turns of which something stays, and whose exchange is another one after it."""
    titles: tuple[str, ...] = ()
    """Sessions whose title goes, whoever gave it."""
    lines: Mapping[str, tuple[str, ...]] = {}
    """By session: digests of lines of its file that go: unreadable ones, summaries, failures."""
    sessions: tuple[str, ...] = ()
    """Sessions that go with their files."""
    facts: tuple[str, ...] = ()
    proposals: tuple[str, ...] = ()
    """Facts that wait for the user's word."""
    memos: tuple[str, ...] = ()
    events: tuple[str, ...] = ()
    typed: tuple[str, ...] = ()
    """Digests of entries of the prompt history."""
    texts: tuple[str, ...] = ()
    """Digests of texts whose vectors go."""
    exports: tuple[str, ...] = ()
    """Paths of files that were written on request."""
    everything: bool = False
    """All that the program holds of the user."""


class Match(msgspec.Struct, frozen=True):
    """Something that an erasure takes out of a store."""

    kind: str
    """What it is, in the singular: `message`, `exchange`, `fact`, `index row`."""
    id: str
    """What it is called where it stands."""
    text: str = ""
    """Its words, for the user to see; empty where it holds none."""


class Erasable(Protocol):
    """One store, as the eraser sees it. Raises only `AssistantError`s.

    Each call reads the store anew; none relies on what an earlier one found.
    """

    @property
    def name(self) -> str:
        """What a receipt calls it: `session files`."""

    @property
    def files(self) -> Sequence[str]:
        """Patterns of all files it writes, relative to the home, as `fnmatch` has them."""

    def matches(self, erasure: Erasure) -> Sequence[Match]:
        """What would go."""

    def erase(self, erasure: Erasure, say: Callable[[str], None]) -> None:
        """Erase it from the disk. What is gone already is no error: it may run a second time.

        `say` takes how far it is, for what takes longer than a moment.
        """

    def count(self, erasure: Erasure) -> int:
        """How much of it is still there."""

    def left(self, erasure: Erasure) -> str:
        """Why something stays that is out of our reach, in a sentence; empty when nothing does."""
