"""Keeping the index true to the logs: opening it, catching up, adding, and starting over.

The logs are the truth and the index is derived from them. One thread writes to it, the worker's.
Whatever goes wrong with it, the conversation goes on and the log has every word: the next
comparison puts into the index what it misses.

A log may be rewritten at any time, here or by another process, because something in it is erased.
What was read before that must not get into the index after it: each write is held against the logs
as they are just before it, and once more after it.
"""

from __future__ import annotations

import contextlib
import logging
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypeAlias

import msgspec

from assistant.errors import (
    AssistantError,
    EmbedderUnavailable,
    IndexBroken,
    IndexLocked,
    MemoryIndexError,
)
from assistant.memory.files import make_folder, write_atomically
from assistant.memory.interrupts import interrupts_held
from assistant.memory.session_log import UNREADABLE
from assistant.memory.session_store import FileState, SessionStore
from assistant.messages import Exchange
from assistant.protocols import Embedder, IndexHome, IndexRow, MemoryIndex

if TYPE_CHECKING:
    from assistant.memory.recall.corpus_statistics import CorpusStatistics
    from assistant.protocols import Vector

log = logging.getLogger(__name__)

#: Exchanges embedded and written in one step; the embedded embedder takes 0.1 s for each.
STEP = 16
#: Rows after which what was added is put where searches are fast (milvus.md: 200).
FLUSH_EVERY = 200
#: The year 9998: any zone can hold it.
LAST_MOMENT = 253_339_228_800_000
#: Sessions after which what was compared is put on the disk.
REMEMBERED_EVERY = 50
#: Seconds that a search waits for what was just said to be added.
MOMENT = 0.3
#: Seconds after which an index that could not be opened is tried again.
RETRY_AFTER = 10.0

STOPPED = (
    "Indexing was stopped. What is indexed stays, and recall searches words alone until the rest "
    "is: the next start, or /index rebuild, goes on."
)

WORDS_IN_LOGS = "Words are looked for in the session files."

State: TypeAlias = Literal["opening", "catching up", "ready", "locked", "unavailable", "off"]


class IndexStatus(msgspec.Struct, frozen=True):
    """What `/index` shows."""

    state: State
    place: str
    embedder: str
    """Its name; empty while it is not known yet."""
    indexed: int
    to_do: int
    """Exchanges in the logs that are still to be compared with the index."""
    detail: str
    """Why it is not ready, in words."""


class _Verified(msgspec.Struct, frozen=True):
    """A session all of whose exchanges are in the index, as its file was then."""

    file: FileState
    exchanges: int


class _Kept(msgspec.Struct):
    """What is remembered of the index between two runs. Derived, like the index."""

    embedder: str = ""
    contents: str = ""
    """The embedder, the dimension of its vectors, and which index they are in."""
    sessions: dict[str, _Verified] = {}


class _Read(msgspec.Struct):
    """Sessions as they were when exchanges of theirs were read."""

    files: dict[str, FileState | None]
    since: dict[str, Mapping[str, str]] = {}
    """Of sessions that have changed since: the digest of each exchange they have now, by its id."""


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
        self._sign_path = kept_path.with_name("last_said")
        self._seen = 0
        """When something was said last, as far as we have looked."""
        self._submit = submit
        self._say = say
        self._clock = clock
        self._monotonic = monotonic
        self._index: MemoryIndex | None = None
        self._off = off
        self._state: State = "off" if off else "opening"
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
        self._live: str | None = None
        """The session at hand: its turns are added one by one, so its file need not be compared."""
        self._to_add = 0
        """Finished turns that wait for the worker to add them."""
        self._progress = threading.Condition()
        """Tells whoever waits in `searchable` that something was done."""
        self._acting = threading.RLock()
        """Held by whoever opens, closes or writes the index: the worker, or an erase."""
        self._steps: Iterator[None] | None = None
        """What is being caught up with; steps of anything else go no further."""
        self._again = False
        """Whether something changed while it was caught up with."""
        self._settled = threading.Event()
        """Set once the first attempt to open is over, whatever came of it."""
        if off:
            self._settled.set()

    # --- for any thread -------------------------------------------------------------------------

    @property
    def state(self) -> State:
        return self._state

    @property
    def is_open(self) -> bool:
        """Whether this process has the index."""
        return self._index is not None

    def searchable(self, patience: float) -> MemoryIndex | None:
        """The index, when everything is in it that should be.

        Waits `patience` seconds for it to be opened, and a moment for what was just said.
        """
        self._settled.wait(patience)
        if self._state in ("locked", "unavailable"):
            self.start()
        self._notice_others()
        with self._progress:
            self._progress.wait_for(lambda: not self._is_behind(), min(patience, MOMENT))
        return self._index if self._state == "ready" else None

    def _is_behind(self) -> bool:
        """Whether the worker will soon have put in what is missing."""
        return self._state == "catching up" or (self._state == "ready" and self._to_add > 0)

    def why_not(self) -> str:
        """Why the index can't be searched now, in a sentence."""
        if self._state in ("opening", "catching up"):
            return f"the memory index is just {self._state}."
        return self._detail

    def status(self) -> IndexStatus:
        """How it is with the index now. Asks nobody, so it answers at once."""
        return IndexStatus(
            self._state,
            self._index.place if self._index else "",
            self._embedder_name(),
            self._indexed,
            self._to_do,
            self._detail or (self._index.limits if self._index else ""),
        )

    def _notice_others(self) -> None:
        """Catch up with what another terminal said in the meantime.

        Looking at all sessions takes the longer the more there are, so each terminal leaves a sign.
        """
        sign = self._sign()
        if self._state != "ready" or sign == self._seen:
            return
        self._seen = sign
        if any(name != self._live for name in self._changed()) or self._gone():
            self._look_again()

    def _leave_sign(self) -> None:
        """Let other terminals see, at the cost of one look, that something was said."""
        # Without it they hear of it when they start the next time.
        with contextlib.suppress(OSError):
            make_folder(self._sign_path.parent)
            self._sign_path.touch(mode=0o600)
        self._seen = self._sign()

    def _sign(self) -> int:
        try:
            return self._sign_path.stat().st_mtime_ns
        except OSError:
            return 0

    def _embedder_name(self) -> str:
        if self.embedder is not None:
            return self.embedder.name
        return "" if self._make_embedder else "none: words alone"

    def start(self) -> None:
        """Open the index and compare it with the logs, in the background. Not after `stop`."""
        now = self._monotonic()
        busy = self._stopped.is_set() or self._state in ("off", "ready", "catching up")
        if not busy and now - self._tried_at > RETRY_AFTER:
            self._tried_at = now
            self._submit("open the index", self._open)

    def add(self, exchange: Exchange) -> None:
        """A turn is over: put it into the index, in the background.

        While the index is not open nothing is queued: its comparison with the logs finds it.
        """
        self._live = exchange.session
        self._leave_sign()
        if self._state in ("ready", "catching up"):
            with self._progress:
                self._to_add += 1
            read = _Read({exchange.session: self._store.state(exchange.session)})
            self._submit("index an exchange", lambda: self._add(exchange, read))
        else:
            self.start()

    def failed(self, error: MemoryIndexError) -> None:
        """A search failed: close the index, and open and compare it again later."""
        if self._state == "ready":
            self._state = "unavailable"
            self._submit("close the index", lambda: self._failed(error))

    def say_once(self, sentence: str) -> None:
        """Tell the user, unless they were told in this run."""
        if sentence not in self._said:
            self._said.add(sentence)
            self._say(sentence)

    def refresh(self) -> None:
        """A session was deleted or changed here: compare again, in the background.

        Until that is done nothing is searched in the index. Other terminals notice it, too.
        """
        if self._state != "off":
            self._leave_sign()
            self._look_again()

    def _look_again(self) -> None:
        with self._progress:
            self._again = True
            if self._state != "ready":
                return
            self._state = "catching up"
        self._submit("catch up with the logs", self._catch_up)

    def start_over(self) -> None:
        """Delete the index and make it again from the logs, in the background."""
        if self._state == "off" and self._off:
            return
        self._stopped.clear()
        # From now on: whoever follows it must not find the state of the old one.
        self._state, self._indexed = "catching up", 0
        self._to_do = sum(info.turns for info in self._store.list())
        self._submit("make the index anew", self._discard)

    def erase(self, ids: Sequence[str] | None) -> None:
        """Have rows, or all, gone from the disk when this returns.

        The index is closed for it, and opened and compared with the logs again in the background:
        what stays but had to go with them comes back from there. Waits for the step that the worker
        is in; Ctrl-C meanwhile leaves it to the worker. Raises MemoryIndexError when nothing could
        be done: IndexLocked when another process has it open.
        """
        self._leave_sign()
        try:
            with self._acting:
                self._erase(ids)
        except KeyboardInterrupt:
            self._submit("erase from the index", lambda: self._erase_later(ids))

    def finish_step(self) -> None:
        """Wait for the step that the worker is in; later ones see the logs as they are now.

        What was read before, and vectors of it, is used up then.
        """
        with self._acting:
            pass

    def stop(self) -> None:
        """Go no further with catching up. What is in the index stays; a later start goes on."""
        self._stopped.set()

    def close(self) -> None:
        """Release the index and the embedder, for good. For the worker."""
        self._close_index()
        if self.embedder is not None:
            self.embedder.close()

    def _close_index(self) -> None:
        index, self._index = self._index, None
        if index is not None:
            index.close()

    # --- on the worker --------------------------------------------------------------------------

    def _open(self) -> None:
        with self._acting:
            if self._index is not None or self._stopped.is_set():
                return
            try:
                self._opened()
            except Exception as error:
                self._failed(error)
            else:
                self._state, self._detail = "catching up", ""
                self._catch_up()
            finally:
                self._settled.set()

    def _opened(self) -> None:
        name, dimension = self._vectors()
        self._index = self._home.open(name, dimension)
        if self._index.limits:
            self.say_once(self._index.limits)
        if self._emptying:
            self._index.delete(list(self._index.digests()))
            self._emptying = False
        self._indexed = self._index.count()
        self._read_kept(name or "words alone", f"{name}/{dimension} in {self._home.name}")

    def _vectors(self) -> tuple[str | None, int | None]:
        """The embedder's name and dimension, or neither when words alone are searched."""
        if self._make_embedder is not None:
            make, self._make_embedder = self._make_embedder, None
            try:
                self.embedder = make()
            except EmbedderUnavailable as error:
                self.say_once(str(error))
        if self.embedder is None:
            return None, None
        return self.embedder.name, self.embedder.dimension()

    def _gather(self) -> None:
        """What is usual among all exchanges; nothing is searched before it is known."""
        # numpy is loaded here.
        from assistant.memory.recall.corpus_statistics import (
            EMPTY_QUESTIONS,
            SAMPLE,
            CorpusStatistics,
        )

        assert self._index is not None
        embedder = self.embedder
        empty = [embedder.embed_query(one) for one in EMPTY_QUESTIONS] if embedder else []
        self.statistics = CorpusStatistics.of(self._index.newest(SAMPLE), empty_questions=empty)

    def _not_open(self, state: State, detail: str) -> None:
        self._state, self._detail = state, detail
        self._close_index()
        self.say_once(detail)

    def _start_anew(self, error: IndexBroken) -> None:
        """What is on the disk can't be used: put it aside, and make it again from the logs."""
        self._close_index()
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
        with self._acting:
            self._shut()
            try:
                discarded = self._home.discard()
            except MemoryIndexError as error:
                self._failed(error)
                return
            self._set_aside = False
            self._emptying = not discarded
            self._forget_kept()
            self._open()

    def _shut(self) -> None:
        """Close the index; nothing that was read from it, or for it, is used any more."""
        self._steps, self.statistics = None, None
        self._close_index()

    def _forget_kept(self) -> None:
        with contextlib.suppress(OSError):
            self._kept_path.unlink(missing_ok=True)

    def _erase(self, ids: Sequence[str] | None) -> None:
        was_open = self._index is not None
        try:
            # Half closed it would keep its lock.
            with interrupts_held():
                self._shut()
            if not self._home.erase(ids):
                self._forget_kept()
        except MemoryIndexError as error:
            if was_open:
                self._failed(error)
            raise
        except KeyboardInterrupt:
            self._open_again(was_open)
            raise
        self._open_again(was_open)

    def _open_again(self, was_open: bool) -> None:
        if was_open and not self._stopped.is_set():
            self._state, self._indexed = "catching up", 0
            self._to_do = sum(info.turns for info in self._store.list())
            self._submit("make the index anew", self._open)

    def _erase_later(self, ids: Sequence[str] | None) -> None:
        with self._acting:
            try:
                self._erase(ids)
            except MemoryIndexError as error:
                log.warning("Nothing was erased from the index: %s", error)

    def _catch_up(self) -> None:
        self._steps = self._catching_up()
        self._run(self._steps)

    def _run(self, steps: Iterator[None]) -> None:
        """One step now, the next when the worker has done what came in between."""
        with self._acting:
            if steps is not self._steps:
                return
            if self._stopped.is_set():
                self._not_open("unavailable", STOPPED)
                return
            try:
                next(steps)
            except StopIteration:
                return
            except Exception as error:
                self._failed(error)
            else:
                self._submit("catch up with the logs", lambda: self._run(steps))

    def _failed(self, error: Exception) -> None:
        """Whatever failed, the next try starts from the comparison with the logs again."""
        self._tried_at = self._monotonic()
        match error:
            case IndexBroken():
                self._start_anew(error)
            case IndexLocked():
                self._not_open("locked", str(error))
            case AssistantError():
                self._not_open("unavailable", str(error))
            case _:
                log.error("The index met a fault", exc_info=error)
                self._not_open(
                    "unavailable",
                    f"The memory index met a fault (a bug: {type(error).__name__}); the log file "
                    f"has the details. {WORDS_IN_LOGS}",
                )

    # --- comparing with the logs ----------------------------------------------------------------

    def _catching_up(self) -> Iterator[None]:
        """Put into the index what the logs have and it hasn't, the newest sessions first."""
        assert self._index is not None
        while True:
            self._again = False
            # Again for what was said meanwhile, until nothing was.
            while changed := self._changed():
                yield from self._compare(changed)
            self._forget_gone()
            expected = sum(one.exchanges for one in self._kept.sessions.values())
            if self._index.count() != expected:
                yield from self._compare_all()
            self._write_kept()
            self._flush()
            self._indexed = self._index.count()
            self._gather()
            self._seen = self._seen or self._sign()
            with self._progress:
                if not self._again:
                    self._state, self._to_do = "ready", 0
                    self._progress.notify_all()
                    return

    def _changed(self) -> dict[str, FileState]:
        """The sessions whose file is not as it was when all of it was indexed, newest first."""
        files, verified = self._store.files(), self._kept.sessions
        return {
            name: files[name]
            for name in sorted(files, reverse=True)
            if name not in verified or verified[name].file != files[name]
        }

    def _gone(self) -> set[str]:
        """The sessions that were indexed and whose file is not there any more."""
        return set(self._kept.sessions) - self._store.files().keys()

    def _forget_gone(self) -> None:
        assert self._index is not None
        gone = self._gone()
        for names in _batches(sorted(gone), REMEMBERED_EVERY):
            self._index.delete(list(self._index.digests(names)))
        self._kept.sessions = {
            name: one for name, one in self._kept.sessions.items() if name not in gone
        }

    def _compare(self, sessions: Mapping[str, FileState]) -> Iterator[None]:
        """Put in what the index misses of these sessions, and take out what they don't have.

        Many small ones are written in one step.
        """
        assert self._index is not None
        turns = {info.id: info.turns for info in self._store.list()}
        self._to_do = sum(turns.get(name, 0) for name in sessions)
        empty = self._index.count() == 0
        missing: list[Exchange] = []
        compared: dict[str, _Verified] = {}
        for names in _batches(list(sessions), REMEMBERED_EVERY):
            known = {} if empty else dict(self._index.digests(names))
            for name in names:
                exchanges = self._store.exchanges(name)
                missing += [one for one in exchanges if known.pop(one.id, "") != digest(one)]
                compared[name] = _Verified(sessions[name], len(exchanges))
                if len(missing) >= STEP:
                    yield from self._settle(missing, compared)
                self._to_do = max(0, self._to_do - turns.get(name, 0))
            if known:
                self._index.delete(list(known))
            yield from self._settle(missing, compared)

    def _settle(self, missing: list[Exchange], compared: dict[str, _Verified]) -> Iterator[None]:
        """Write what is missing, then remember that these sessions are in the index as they are."""
        yield from self._put(missing, _Read({name: one.file for name, one in compared.items()}))
        self._kept.sessions |= compared
        self._write_kept()
        missing.clear()
        compared.clear()

    def _compare_all(self) -> Iterator[None]:
        """Every row against every exchange: what is missing is added, what is too much deleted."""
        assert self._index is not None
        indexed = dict(self._index.digests())
        for name, file in sorted(self._store.files().items(), reverse=True):
            exchanges = self._store.exchanges(name)
            missing = [one for one in exchanges if indexed.pop(one.id, None) != digest(one)]
            yield from self._put(missing, _Read({name: file}))
            self._kept.sessions[name] = _Verified(file, len(exchanges))
        if indexed:
            self._index.delete(list(indexed))
        self._write_kept()

    def _put(self, exchanges: Sequence[Exchange], read: _Read) -> Iterator[None]:
        """Write exchanges in small steps, so that other jobs get their turn between them."""
        for start in range(0, len(exchanges), STEP):
            self._write(exchanges[start : start + STEP], read)
            self._indexed += len(exchanges[start : start + STEP])
            yield

    def _add(self, exchange: Exchange, read: _Read) -> None:
        with self._acting:
            try:
                if self._index is not None:
                    self._write([exchange], read)
                    self._indexed = self._index.count() if self._index else 0
            except Exception as error:
                self._failed(error)
            finally:
                with self._progress:
                    self._to_add -= 1
                    self._progress.notify_all()

    def _write(self, exchanges: Sequence[Exchange], read: _Read) -> None:
        """Write those of the exchanges that are in the logs still, which `read` is about."""
        assert self._index is not None
        exchanges = self._still_there(exchanges, read)
        rows = self._rows(exchanges)
        # Making vectors takes a while.
        there = {one.id for one in self._still_there(exchanges, read)}
        rows = [row for row in rows if row.id in there]
        if not rows:
            return
        self._index.upsert(rows)
        if len(self._still_there([one for one in exchanges if one.id in there], read)) < len(rows):
            # Erased in just that moment, by an eraser that had no reason to wait for us.
            self._erase([row.id for row in rows])
            return
        self._unflushed += len(rows)
        if self.statistics is not None:
            self.statistics.add(rows)
        if self._unflushed >= FLUSH_EVERY:
            self._flush()

    def _still_there(self, exchanges: Sequence[Exchange], read: _Read) -> Sequence[Exchange]:
        """Those that the logs have as they are; a log that has changed is read again."""
        for session in {one.session for one in exchanges}:
            state = self._store.state(session)
            if state != read.files.get(session):
                there = self._store.exchanges(session)
                read.files[session] = state
                read.since[session] = {one.id: digest(one) for one in there}
        return [
            one
            for one in exchanges
            if one.session not in read.since or read.since[one.session].get(one.id) == digest(one)
        ]

    def _rows(self, exchanges: Sequence[Exchange]) -> list[IndexRow]:
        texts = [one.text.strip() for one in exchanges]
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

    def _read_kept(self, embedder: str, contents: str) -> None:
        """What the last run knew, when it was of the same index."""
        kept = _Kept()
        with contextlib.suppress(OSError, *UNREADABLE):
            kept = _kept_decoder.decode(self._kept_path.read_bytes())
        if kept.embedder and kept.embedder != embedder:
            self.say_once(
                f"The embedding model changed from {kept.embedder} to {embedder}: the memory index "
                "is made anew, in the background. Until then recall looks for words alone."
            )
        self._kept = kept if kept.contents == contents else _Kept(embedder, contents)

    def _write_kept(self) -> None:
        # Without it the next start compares more than it must.
        with contextlib.suppress(OSError):
            make_folder(self._kept_path.parent)
            write_atomically(self._kept_path, msgspec.json.encode(self._kept))


def _batches(names: Sequence[str], size: int) -> Iterator[Sequence[str]]:
    for start in range(0, len(names), size):
        yield names[start : start + size]


def digest(exchange: Exchange) -> str:
    """16 hexadecimal digits of SHA-256 that change when the exchange does."""
    import hashlib  # here and below, because the prompt need not wait for it

    said = msgspec.json.encode([exchange.user, exchange.assistant])
    return hashlib.sha256(said).hexdigest()[:16]


def index_row(exchange: Exchange, vector: Vector | None) -> IndexRow:
    """An exchange as the index holds it."""
    from assistant.memory.recall.terms import terms

    return IndexRow(
        id=exchange.id,
        session=exchange.session,
        turn=exchange.turn,
        ts=_milliseconds(exchange.ts),
        user=exchange.user,
        assistant=exchange.assistant,
        terms=terms(exchange.text),
        digest=digest(exchange),
        vector=vector,
    )


def _milliseconds(moment: datetime | None) -> int:
    """Since 1970; 0 where none is known, or none that every zone can hold."""
    milliseconds = int(moment.timestamp() * 1000) if moment else 0
    return milliseconds if 0 < milliseconds < LAST_MOMENT else 0
