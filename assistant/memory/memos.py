"""The user's memos: notes that are kept word for word, found again by words and by meaning."""

from __future__ import annotations

import itertools
import re
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeAlias

import msgspec

from assistant.errors import EntryChanged, NoSuchEntry, WrongEntry
from assistant.memory.entry_log import EntryLog
from assistant.messages import Memo, clean_text
from assistant.protocols import Embedder, Written

if TYPE_CHECKING:
    from assistant.memory.memo_search import MemoSearch

#: Bytes of UTF-8 that a memo may have.
MOST_BYTES = 100_000
#: Characters that a tag may have.
LONGEST_TAG = 50
#: Seconds that a search waits for the embedder.
PATIENCE = 0.7

#: Letters of an id after its "m", and how often others are drawn before there are more of them.
_ID_LETTERS = 3
_DRAWS = 8

_Time: TypeAlias = Annotated[datetime, msgspec.Meta(tz=True)]


class MemoSaved(msgspec.Struct, frozen=True, omit_defaults=True, tag_field="type", tag="memo"):
    """A memo as it is from now on: a new one, or one that is put back as it was."""

    id: str
    text: str
    written: _Time
    tags: tuple[str, ...] = ()
    changed: _Time | None = None
    source: str = ""


class MemoChanged(
    msgspec.Struct, frozen=True, omit_defaults=True, tag_field="type", tag="memo_changed"
):
    """What is different in a memo; None leaves it as it was."""

    id: str
    ts: _Time
    text: str | None = None
    tags: tuple[str, ...] | None = None


class MemoDeleted(
    msgspec.Struct, frozen=True, omit_defaults=True, tag_field="type", tag="memo_deleted"
):
    """A memo is gone from every list. Its text stays in the records before, until it is erased."""

    id: str
    ts: _Time


MemoRecord: TypeAlias = MemoSaved | MemoChanged | MemoDeleted

memo_decoder: msgspec.json.Decoder[MemoRecord] = msgspec.json.Decoder(MemoRecord)


class Memos:
    """The memos in one file, which is the log of what was done with them.

    Every method sees what other processes wrote. Deleting appends a record, like everything else:
    the text stays in the file until it is erased, so that a deletion can be taken back. Safe to
    share between threads.
    """

    def __init__(
        self,
        path: Path,
        clock: Callable[[], datetime],
        new_id: Callable[[], str],
        embedder: Callable[[], Embedder | None],
        patience: float = PATIENCE,
    ) -> None:
        """`new_id` gives ids that end in random letters; `embedder` is asked at the first search,
        on another thread, and may raise EmbedderError. A search waits `patience` seconds for it.
        """
        self._log = EntryLog(path, memo_decoder, "memos")
        self._clock = clock
        self._new_id = new_id
        self._embedder = embedder
        self._patience = patience
        self._lock = threading.RLock()
        self._folded = 0
        self._generation = 0
        self._memos: dict[str, Memo] = {}
        self._deleted: dict[str, datetime] = {}
        self._newest: Sequence[Memo] | None = None
        self._search: MemoSearch | None = None
        self._unsearched: set[str] = set()
        """Memos that changed since the search last saw them."""

    # --- writing --------------------------------------------------------------------------------

    def save(self, text: str, tags: Sequence[str] = (), *, source: str = "") -> Written[Memo]:
        """Keep a memo. Raises WrongEntry for an empty text, or one of more than MOST_BYTES."""
        text, tags = _checked_text(text), normal_tags(tags)
        with self._writing():
            new = MemoSaved(self._unused_id(), text, self._clock(), tags, source=clean_text(source))
            return self._write(new, None)

    def update(
        self, memo_id: str, *, text: str | None = None, tags: Sequence[str] | None = None
    ) -> Written[Memo]:
        """Change the text, or the tags, or both. What makes no difference is not written."""
        if text is None and tags is None:
            raise WrongEntry("Neither a new text nor new tags were given. Nothing changed.", "text")
        new_text = None if text is None else _checked_text(text)
        new_tags = None if tags is None else normal_tags(tags)
        with self._writing():
            old = self._known(memo_id)
            if new_text in (None, old.text) and new_tags in (None, old.tags):
                return Written(old, old, lambda: None)
            return self._write(MemoChanged(old.id, self._clock(), new_text, new_tags), old)

    def delete(self, memo_id: str) -> Written[Memo]:
        """Take a memo out of every list. Its text stays in the file until it is erased."""
        with self._writing():
            old = self._known(memo_id)
            return self._write(MemoDeleted(old.id, self._clock()), old)

    # --- reading --------------------------------------------------------------------------------

    def get(self, memo_id: str) -> Memo:
        """The memo with this id. Raises NoSuchEntry."""
        with self._lock:
            self._catch_up()
            return self._known(memo_id)

    def deleted_in(self) -> Mapping[str, str]:
        """As MemoStore says."""
        with self._lock:
            self._catch_up()
            there = set(self._memos)
        saved = (one for one in self._log.records() if isinstance(one, MemoSaved))
        return {one.id: one.source for one in saved if one.id not in there}

    def texts(self) -> Mapping[str, Sequence[str]]:
        """As MemoStore says."""
        texts: dict[str, list[str]] = {}
        for record in self._log.records():
            if not isinstance(record, MemoDeleted):
                said = [*([] if record.text is None else [record.text]), *(record.tags or ())]
                texts.setdefault(record.id, []).extend(said)
        return texts

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

        Empty when none has anything to do with the query. `start` and `end` (exclusive) bound when
        they were written. Words alone answer where the embedder is missing, slow or broken.
        """
        wanted = normal_tags([tag]) if tag else ()

        def fits(memo: Memo) -> bool:
            return (
                (start is None or memo.written >= start)
                and (end is None or memo.written < end)
                and (not wanted or wanted[0] in memo.tags)
            )

        query = clean_text(query).strip()
        with self._lock:
            self._catch_up()
            if not query:
                return _first(most, filter(fits, self._newest_first()))
            search = self._searched()
            by_id = self._memos.copy()
        # Without the lock: whoever saves a memo need not wait until the embedder has answered.
        found = (by_id[one] for one in search.best(query) if one in by_id)
        return _first(most, filter(fits, found))

    # --- the log and its fold -------------------------------------------------------------------

    @contextmanager
    def _writing(self) -> Iterator[None]:
        """Nobody else writes, and all that others wrote is known."""
        with self._lock, self._log.exclusively():
            self._catch_up()
            yield

    def _write(self, record: MemoRecord, before: Memo | None) -> Written[Memo]:
        self._log.append(record)
        self._catch_up()
        now = self._state(record.id)

        def undo() -> None:
            with self._writing():
                if self._state(record.id) != now:
                    raise EntryChanged(
                        f"The memo {record.id} was changed since, so this was not taken back. "
                        "Nothing was changed."
                    )
                self._log.append(
                    MemoDeleted(record.id, self._clock())
                    if before is None
                    else MemoSaved(**msgspec.structs.asdict(before))
                )
                self._catch_up()

        return Written(before, self._memos.get(record.id), undo)

    def _state(self, memo_id: str) -> Memo | datetime | None:
        """A memo as it is, or when it was deleted."""
        return self._memos.get(memo_id) or self._deleted.get(memo_id)

    def _known(self, memo_id: str) -> Memo:
        memo_id = memo_id.strip().lower()
        memo = self._memos.get(memo_id)
        if memo is None:
            was = "was deleted" if memo_id in self._deleted else "does not exist"
            raise NoSuchEntry(
                f"The memo “{memo_id}” {was}. Nothing was changed. Look for the id of the one that "
                "is meant among the memos."
            )
        return memo

    def _unused_id(self) -> str:
        letters = ""
        for draws in itertools.count(1):
            drawn = re.sub(r"[^a-z0-9]", "", self._new_id().lower())[-_ID_LETTERS:]
            letters = drawn if draws <= _DRAWS else letters + drawn
            if self._state(f"m{letters}") is None:
                break
        return f"m{letters}"

    def _catch_up(self) -> None:
        records = self._log.records(self._folded)
        if self._log.generation != self._generation:
            self._generation = self._log.generation
            self._memos, self._deleted, self._folded = {}, {}, 0
            self._newest, self._search, self._unsearched = None, None, set()
            records = self._log.records()
        for record in records:
            self._fold(record)
        self._folded += len(records)

    def _fold(self, record: MemoRecord) -> None:
        match record:
            case MemoSaved():
                self._deleted.pop(record.id, None)
                self._memos[record.id] = Memo(**msgspec.structs.asdict(record))
            case MemoChanged() if record.id in self._memos:
                old = self._memos[record.id]
                self._memos[record.id] = msgspec.structs.replace(
                    old,
                    text=old.text if record.text is None else record.text,
                    tags=old.tags if record.tags is None else record.tags,
                    changed=record.ts,
                )
            case MemoDeleted():
                self._memos.pop(record.id, None)
                self._deleted[record.id] = record.ts
        self._unsearched.add(record.id)
        self._newest = None

    # --- finding --------------------------------------------------------------------------------

    def _newest_first(self) -> Sequence[Memo]:
        if self._newest is None:
            # Of two that were written at once the later one in the file is the newer.
            self._newest = sorted(self._memos.values(), key=lambda memo: memo.written)[::-1]
        return self._newest

    def _searched(self) -> MemoSearch:
        """What finds memos, told of all that changed since it was last asked."""
        from assistant.memory.memo_search import MemoSearch  # here, so that a start is quick

        if self._search is None:
            self._search = MemoSearch(self._embedder, self._clock, self._patience)
        for memo_id in self._unsearched:
            self._search.put(memo_id, self._memos.get(memo_id))
        self._unsearched.clear()
        return self._search


def normal_tags(tags: Iterable[str]) -> tuple[str, ...]:
    """Tags as they are kept: without #, in lower case, without spaces, each once.

    Raises WrongEntry for one that is too long.
    """
    normal = []
    for tag in tags:
        one = "-".join(clean_text(tag).lower().strip().lstrip("#＃").split())
        if len(one) > LONGEST_TAG:
            raise WrongEntry(
                f"A tag has at most {LONGEST_TAG} characters; this one has {len(one)}. Nothing was "
                "saved. Put what is longer into the text.",
                "tags",
            )
        normal.append(one)
    return tuple(dict.fromkeys(filter(None, normal)))


def _checked_text(text: str) -> str:
    text = clean_text(text).strip()
    size = len(text.encode())
    if not text:
        raise WrongEntry("A memo needs a text. Nothing was saved.", "text")
    if size > MOST_BYTES:
        raise WrongEntry(
            f"A memo holds {MOST_BYTES:,} bytes; this text has {size:,}. Nothing was saved. Save "
            "it in several parts.",
            "text",
        )
    return text


def _first(most: int, memos: Iterable[Memo]) -> Sequence[Memo]:
    return list(itertools.islice(memos, max(0, most)))
