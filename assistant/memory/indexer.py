"""Keeping the index true to the logs: opening it, catching up, adding, and starting over.

The logs are the truth and the index is derived from them. One thread writes to it, the worker's.
Whatever goes wrong with it, the conversation goes on and the log has every word: the next
comparison puts into the index what it misses.
"""

from __future__ import annotations

import contextlib
import logging
import threading
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypeAlias

import msgspec

from assistant.errors import (
    EmbedderError,
    EmbedderUnavailable,
    IndexBroken,
    IndexLocked,
    MemoryIndexError,
)
from assistant.memory.files import make_folder, write_atomically
from assistant.memory.session_store import FileState, SessionStore
from assistant.messages import Exchange
from assistant.protocols import Embedder, IndexHome, IndexRow, MemoryIndex

if TYPE_CHECKING:
    from assistant.memory.corpus_statistics import CorpusStatistics
    from assistant.protocols import Vector

log = logging.getLogger(__name__)

#: Exchanges embedded and written in one step; the embedded embedder takes 0.1 s for each.
STEP = 16
#: Rows after which what was added is put where searches are fast (milvus.md: 200).
FLUSH_EVERY = 200
#: Seconds after which an index that could not be opened is tried again.
RETRY_AFTER = 10.0

STOPPED = (
    "Indexing was stopped. What is indexed stays, and recall searches words alone until the rest "
    "is: the next start, or /index rebuild, goes on."
)

WORDS_IN_LOGS = "Words are looked for in the session files."

State: TypeAlias = Literal["closed", "catching up", "ready", "locked", "unavailable", "off"]


class IndexStatus(msgspec.Struct, frozen=True):
    """What `/index` shows."""

    state: State
    place: str
    embedder: str
    """Its name, or why words alone are searched."""
    indexed: int
    to_do: int
    """Exchanges in the logs that are still to be compared with the index."""
    detail: str
    """Why it is not ready, in words."""


class _Verified(msgspec.Struct, frozen=True):
    """A session all of whose exchanges are in the index, as its file was then."""

    size: int
    mtime_ns: int
    exchanges: int

    def is_of(self, file: FileState) -> bool:
        return (self.size, self.mtime_ns) == (file.size, file.mtime_ns)


class _Kept(msgspec.Struct):
    """What is remembered of the index between two runs. Derived, like the index."""

    contents: str = ""
    """The embedder and the dimension its vectors have."""
    sessions: dict[str, _Verified] = {}


_kept_decoder = msgspec.json.Decoder(_Kept)


class Indexer:
    """Opens the index and keeps it up to date, step by step on the worker.

    `submit` queues a job on the worker. `say` takes a sentence that the user should read once.
    """

    def __init__(
        self,
        home: IndexHome,
        make_embedder: Callable[[], Embedder | None],
        store: SessionStore,
        kept_path: Path,
        *,
        submit: Callable[[str, Callable[[], None]], None],
        say: Callable[[str], None],
        clock: Callable[[], datetime],
        monotonic: Callable[[], float],
        off: str = "",
    ) -> None:
        """`make_embedder` may take a second, so it is called on the worker.

        `off` says why the index is left alone: words are looked for in the logs then.
        """
        self.embedder: Embedder | None = None
        """Known once the index was opened; None where words alone are searched."""
        self._make_embedder: Callable[[], Embedder | None] | None = make_embedder
        self.statistics: CorpusStatistics | None = None
        self._home = home
        self._store = store
        self._kept_path = kept_path
        self._submit = submit
        self._say = say
        self._clock = clock
        self._monotonic = monotonic
        self._index: MemoryIndex | None = None
        self._state: State = "off" if off else "closed"
        self._detail = f"{off} {WORDS_IN_LOGS}" if off else ""
        self._kept = _Kept()
        self._to_do = 0
        self._indexed = 0
        self._unflushed = 0
        self._tried_at = float("-inf")
        self._said: set[str] = set()
        self._set_aside = False
        self._emptying = False
        """Whether all rows go before anything else: the index is made anew where it is."""
        self._stopped = threading.Event()
        self._settled = threading.Event()
        """Set once the first attempt to open is over, whatever came of it."""
        if off:
            self._settled.set()

    # --- for any thread -------------------------------------------------------------------------

    @property
    def state(self) -> State:
        return self._state

    def searchable(self, patience: float) -> MemoryIndex | None:
        """The index, when everything is in it that should be; waits `patience` seconds for it."""
        self._settled.wait(patience)
        if self._state in ("locked", "unavailable"):
            self.start()
        return self._index if self._state == "ready" else None

    def status(self) -> IndexStatus:
        """How it is with the index now. Asks nobody, so it answers at once."""
        return IndexStatus(
            self._state,
            self._index.place if self._index else "",
            self.embedder.name if self.embedder else "none",
            self._indexed,
            self._to_do,
            self._detail or (self._index.limits if self._index else ""),
        )

    def start(self) -> None:
        """Open the index and compare it with the logs, in the background."""
        now = self._monotonic()
        if (
            self._state not in ("off", "ready", "catching up")
            and now - self._tried_at > RETRY_AFTER
        ):
            self._tried_at = now
            self._submit("open the index", self._open)

    def add(self, exchange: Exchange) -> None:
        """A turn is over: put it into the index, in the background.

        While the index is not open nothing is queued: its comparison with the logs finds it.
        """
        if self._state in ("ready", "catching up"):
            self._submit("index an exchange", lambda: self._add(exchange))
        else:
            self.start()

    def refresh(self) -> None:
        """A session was deleted or changed: compare again, in the background.

        Until that is done nothing is searched in the index.
        """
        if self._state == "ready":
            self._state = "catching up"
            self._submit("catch up with the logs", lambda: self._run(self._catching_up()))

    def start_over(self) -> None:
        """Delete the index and make it again from the logs, in the background."""
        self._stopped.clear()
        self._submit("make the index anew", self._discard)

    def stop(self) -> None:
        """Go no further with catching up. What is in the index stays; a later start goes on."""
        self._stopped.set()

    def close(self) -> None:
        """Release the index. For the worker, or when the worker has ended."""
        index, self._index, self._state = self._index, None, "closed"
        if index is not None:
            index.close()

    # --- on the worker --------------------------------------------------------------------------

    def _open(self) -> None:
        if self._index is not None:
            return
        try:
            name, dimension = self._vectors()
            self._index = self._home.open(name, dimension)
            if self._emptying:
                self._index.delete(list(self._index.digests()))
                self._emptying = False
            self._indexed = self._index.count()
            self._kept = self._read_kept(f"{name}/{dimension}")
            self._gather()
        except IndexLocked as error:
            self._not_open("locked", str(error))
        except IndexBroken as error:
            self._start_anew(error)
        except (MemoryIndexError, EmbedderError) as error:
            self._not_open("unavailable", str(error))
        else:
            self._state, self._detail = "catching up", ""
            self._run(self._catching_up())
        finally:
            self._settled.set()

    def _vectors(self) -> tuple[str | None, int | None]:
        """The embedder's name and dimension, or neither when words alone are searched."""
        if self._make_embedder is not None:
            make, self._make_embedder = self._make_embedder, None
            try:
                self.embedder = make()
            except EmbedderUnavailable as error:
                self._say_once(str(error))
        if self.embedder is None:
            return None, None
        return self.embedder.name, self.embedder.dimension()

    def _gather(self) -> None:
        # numpy is loaded here.
        from assistant.memory.corpus_statistics import EMPTY_QUESTIONS, SAMPLE, CorpusStatistics

        assert self._index is not None
        embedder = self.embedder
        empty = [embedder.embed_query(one) for one in EMPTY_QUESTIONS] if embedder else []
        self.statistics = CorpusStatistics.of(self._index.newest(SAMPLE), empty_questions=empty)

    def _not_open(self, state: State, detail: str) -> None:
        self.close()
        self._state, self._detail = state, detail
        self._say_once(detail)

    def _say_once(self, sentence: str) -> None:
        if sentence not in self._said:
            self._said.add(sentence)
            self._say(sentence)

    def _start_anew(self, error: IndexBroken) -> None:
        """What is on the disk can't be used: put it aside, and make it again from the logs."""
        self.close()
        log.warning("The index is unusable: %s", error)
        if self._set_aside:
            self._not_open("off", f"{error} It broke twice; recall searches words alone now.")
            return
        self._set_aside = True
        try:
            place = self._home.set_aside(f"{self._clock():%Y%m%d-%H%M%S}")
        except MemoryIndexError as refusal:
            self._not_open("unavailable", str(refusal))
            return
        where = f" (the old one is {place})" if place else ""
        self._say(
            f"The memory index could not be read and is made again from your sessions{where}. "
            "Nothing was lost."
        )
        self._open()

    def _discard(self) -> None:
        self.close()
        try:
            discarded = self._home.discard()
        except MemoryIndexError as error:
            self._not_open(
                "locked" if isinstance(error, IndexLocked) else "unavailable", str(error)
            )
            return
        self._set_aside = False
        self._emptying = not discarded
        with contextlib.suppress(OSError):
            self._kept_path.unlink(missing_ok=True)
        self._open()

    def _run(self, steps: Iterator[None]) -> None:
        """One step now, the next when the worker has done what came in between."""
        if self._stopped.is_set():
            self._not_open("unavailable", STOPPED)
            return
        try:
            next(steps)
        except StopIteration:
            return
        except (MemoryIndexError, EmbedderError) as error:
            self._failed(error)
        else:
            self._submit("catch up with the logs", lambda: self._run(steps))

    def _failed(self, error: MemoryIndexError | EmbedderError) -> None:
        """A write or an embedding failed: start from the comparison with the logs again, later."""
        if isinstance(error, IndexBroken):
            self._start_anew(error)
            return
        self._tried_at = self._monotonic()
        self._not_open("unavailable", str(error))

    # --- comparing with the logs ----------------------------------------------------------------

    def _catching_up(self) -> Iterator[None]:
        """Put into the index what the logs have and it hasn't, the newest sessions first."""
        assert self._index is not None
        # Again for what was said meanwhile, until nothing was.
        while changed := self._changed():
            turns = {info.id: info.turns for info in self._store.list()}
            self._to_do = sum(turns.get(name, 0) for name in changed)
            for name, file in changed.items():
                yield from self._compare_session(name, file)
                self._to_do = max(0, self._to_do - turns.get(name, 0))
        expected = sum(one.exchanges for one in self._kept.sessions.values())
        if self._index.count() != expected:
            yield from self._compare_all()
        self._flush()
        self._indexed = self._index.count()
        self._gather()
        # The first search by words prepares them: better here than while somebody waits.
        self._index.search(None, ["warm"], 1)
        self._state, self._to_do = "ready", 0

    def _changed(self) -> dict[str, FileState]:
        """The sessions whose file is not as it was when all of it was indexed, newest first."""
        files, verified = self._store.files(), self._kept.sessions
        for name in [one for one in verified if one not in files]:
            del verified[name]
        return {
            name: files[name]
            for name in sorted(files, reverse=True)
            if name not in verified or not verified[name].is_of(files[name])
        }

    def _compare_session(self, name: str, file: FileState) -> Iterator[None]:
        assert self._index is not None
        exchanges = self._store.exchanges(name)
        known = {row.id: row.digest for row in self._index.rows([one.id for one in exchanges])}
        missing = [one for one in exchanges if known.get(one.id) != digest(one)]
        yield from self._put(missing)
        self._kept.sessions[name] = _Verified(file.size, file.mtime_ns, len(exchanges))
        self._write_kept()

    def _compare_all(self) -> Iterator[None]:
        """Every row against every exchange: what is missing is added, what is too much deleted."""
        assert self._index is not None
        indexed = dict(self._index.digests())
        for name, file in sorted(self._store.files().items(), reverse=True):
            exchanges = self._store.exchanges(name)
            yield from self._put(
                [one for one in exchanges if indexed.pop(one.id, None) != digest(one)]
            )
            self._kept.sessions[name] = _Verified(file.size, file.mtime_ns, len(exchanges))
        if indexed:
            self._index.delete(list(indexed))
        self._write_kept()

    def _put(self, exchanges: Sequence[Exchange]) -> Iterator[None]:
        """Write exchanges in small steps, so that other jobs get their turn between them."""
        for start in range(0, len(exchanges), STEP):
            self._write(exchanges[start : start + STEP])
            yield

    def _add(self, exchange: Exchange) -> None:
        if self._index is None:
            return
        try:
            self._write([exchange])
        except (MemoryIndexError, EmbedderError) as error:
            self._failed(error)

    def _write(self, exchanges: Sequence[Exchange]) -> None:
        assert self._index is not None
        rows = self._rows(exchanges)
        self._index.upsert(rows)
        self._indexed += len(rows)
        self._unflushed += len(rows)
        if self.statistics is not None:
            self.statistics.add(rows)
        if self._unflushed >= FLUSH_EVERY:
            self._flush()

    def _rows(self, exchanges: Sequence[Exchange]) -> list[IndexRow]:
        texts = [embedded_text(one) for one in exchanges]
        vectors = self.embedder.embed_documents(texts) if self.embedder else [None] * len(texts)
        return [
            index_row(exchange, vector) for exchange, vector in zip(exchanges, vectors, strict=True)
        ]

    def _flush(self) -> None:
        assert self._index is not None
        if self._unflushed:
            self._index.flush()
            self._unflushed = 0

    # --- what is remembered between two runs ----------------------------------------------------

    def _read_kept(self, contents: str) -> _Kept:
        try:
            kept = _kept_decoder.decode(self._kept_path.read_bytes())
        except (OSError, msgspec.MsgspecError, UnicodeDecodeError):
            return _Kept(contents)
        return kept if kept.contents == contents else _Kept(contents)

    def _write_kept(self) -> None:
        # Without it the next start compares more than it must.
        with contextlib.suppress(OSError):
            make_folder(self._kept_path.parent)
            write_atomically(self._kept_path, msgspec.json.encode(self._kept))


def embedded_text(exchange: Exchange) -> str:
    """What of an exchange is turned into a vector: both sides together."""
    return f"{exchange.user}\n{exchange.assistant}".strip()


def digest(exchange: Exchange) -> str:
    """16 hexadecimal digits of SHA-256 that change when the exchange does."""
    import hashlib  # here and below, because the prompt need not wait for it

    said = msgspec.json.encode([exchange.user, exchange.assistant])
    return hashlib.sha256(said).hexdigest()[:16]


def index_row(exchange: Exchange, vector: Vector | None) -> IndexRow:
    """An exchange as the index holds it."""
    from assistant.memory.terms import terms

    return IndexRow(
        id=exchange.id,
        session=exchange.session,
        turn=exchange.turn,
        ts=int(exchange.ts.timestamp() * 1000) if exchange.ts else 0,
        user=exchange.user,
        assistant=exchange.assistant,
        terms=terms(f"{exchange.user}\n{exchange.assistant}"),
        digest=digest(exchange),
        vector=vector,
    )
