"""The session files as the eraser sees them: what goes, its copies, and where words stand."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import TypeAlias

import msgspec

from assistant.errors import SessionInUse, SessionUnreadable
from assistant.memory.erasing.erasures import sessions_of
from assistant.memory.erasing.log_eraser import (
    FORGOTTEN,
    LogErasure,
    changes_for,
    require_known,
    without,
)
from assistant.memory.erasing.log_lines import log_lines
from assistant.memory.erasing.log_words import Finding, Phrase, found_in, line_match
from assistant.memory.session_log import UNREADABLE, PartFile, SessionRecord
from assistant.memory.session_store import SESSION_ID, SessionStore
from assistant.memory.shared_file import remove_file
from assistant.messages import Content, Message, Role
from assistant.protocols import Erasure, Match

#: Sessions between two words on how far it is.
STEP = 25
#: Bytes in which the first line of a log ends.
FIRST_LINE = 4_096

_CATALOG = "sessions.json"
_TEMPORARY = re.compile(r"\.(.+)\.jsonl\.\d+\.tmp")


class _CatalogEntry(msgspec.Struct):
    size: int
    mtime_ns: int


_catalog_decoder = msgspec.json.Decoder(dict[str, _CatalogEntry])


class SessionFiles:
    """The logs, the parts of replies beside them, and the list that is derived from them."""

    def __init__(self, store: SessionStore, folder: Path, data_folder: Path) -> None:
        """`folder` and `data_folder` are the store's."""
        self._store = store
        self._folder = folder
        self._data_folder = data_folder

    @property
    def name(self) -> str:
        return "session files"

    @property
    def files(self) -> Sequence[str]:
        return (
            "sessions/*.jsonl",
            "sessions/*.part",
            "sessions/.*.jsonl.*.tmp",
            f"data/{_CATALOG}",
            f"data/.{_CATALOG}.*.tmp",
        )

    def matches(self, erasure: Erasure) -> Sequence[Match]:
        """Messages, titles, failures, summaries, and parts of replies; for a session that goes
        with its files also itself. Raises SessionUnreadable, or SessionReadOnly as `erase` does.
        """
        found: list[Match] = []
        for session_id in self._sessions(erasure):
            lines = log_lines(self._store.data(session_id))
            going: Iterable[int] = range(len(lines))
            if _goes_whole(erasure, session_id):
                found.append(Match("session", session_id))
            else:
                require_known(lines, f"Session {session_id}")
                going = sorted(changes_for(lines, LogErasure.of(erasure, session_id)))
            found += filter(None, (line_match(session_id, lines[at]) for at in going))
        return [*found, *(match for _, match in self._parts(erasure))]

    def erase(self, erasure: Erasure, say: Callable[[str], None]) -> None:
        """Raises SessionInUse when a session is open somewhere, here too, or SessionReadOnly for
        one of a newer version: nothing was changed then. Raises other SessionErrors, or NotSaved.
        """
        # One that is done is in nobody's way: it may be open somewhere by now.
        sessions = [one for one in self._sessions(erasure) if self._loses_something(erasure, one)]
        with self._store.claimed(sessions):
            for path, _ in list(self._parts(erasure)):
                remove_file(path)
            for number, session_id in enumerate(sessions, 1):
                if number % STEP == 0:
                    say(f"session files: {number:,} of {len(sessions):,}")
                self._store.rewrite(session_id, _change(erasure, session_id))
            self._remove_temporary()
        self._refresh_catalog(erasure)

    def _loses_something(self, erasure: Erasure, session_id: str) -> bool:
        if _goes_whole(erasure, session_id):
            return True
        lines = log_lines(self._store.data(session_id))
        require_known(lines, f"Session {session_id}")
        parts = any(path.stem == session_id for path, _ in self._parts(erasure))
        return parts or bool(changes_for(lines, LogErasure.of(erasure, session_id)))

    def count(self, erasure: Erasure) -> int:
        """Records, parts, entries of the list, and temporary files that may hold something."""
        named = _named(erasure)
        temporary = [
            path
            for path, session_id in self._temporary()
            if erasure.everything or session_id in named
        ]
        stale = self._stale_entries(erasure)
        if stale:
            # Most often because somebody goes on with the session: that is no trace of anything.
            self._store.list()
            stale = self._stale_entries(erasure)
        return len(self.matches(erasure)) + len(stale) + len(temporary)

    def left(self, erasure: Erasure) -> str:
        """Of a line that can't be read nobody can tell what turn it belongs to."""
        names = []
        for session_id in self._sessions(erasure):
            if session_id in erasure.turns or session_id in erasure.messages:
                lines = log_lines(self._store.data(session_id))
                names += [session_id] if any(line.unreadable for line in lines) else []
        if not names:
            return ""
        return (
            f"Some lines of {', '.join(names)} can't be read and stay: nobody can tell what turn "
            "they belong to. /forget about finds them by their words."
        )

    # --- which files ----------------------------------------------------------------------------

    def _sessions(self, erasure: Erasure) -> Sequence[str]:
        """The sessions that lose something and are there."""
        if erasure.everything:
            return sorted(self._store.files())
        return sorted(filter(self._store.has, _named(erasure)))

    def _parts(self, erasure: Erasure) -> Iterator[tuple[Path, Match]]:
        """Parts of replies to turns that go, or that the log does not have."""
        named = _named(erasure)
        for path in sorted(self._folder.glob("*.part")):
            if path.stem in named or erasure.everything:
                header, text = PartFile(path).read() or (None, "")
                whole = _goes_whole(erasure, path.stem)
                if whole or header is None or header.turn not in self._staying(erasure, path.stem):
                    yield path, Match("partial reply", path.stem, text)

    def _staying(self, erasure: Erasure, session_id: str) -> Collection[int]:
        """The turns of which something stays."""
        lines = log_lines(self._store.data(session_id))
        changes = changes_for(lines, LogErasure.of(erasure, session_id))
        records = (changes.get(at, line.record) for at, line in enumerate(lines))
        return {one.turn for one in records if isinstance(one, Message)}

    def _temporary(self) -> Iterator[tuple[Path, str]]:
        """What processes that were killed left of logs being rewritten, and of which session."""
        for path in sorted(self._folder.glob(".*.tmp")):
            if found := _TEMPORARY.fullmatch(path.name):
                yield path, found[1]

    def _remove_temporary(self) -> None:
        """Whoever holds a session's lock may be rewriting it: what is theirs stays."""
        for path, session_id in self._temporary():
            with contextlib.suppress(SessionInUse), self._store.claimed([session_id]):
                remove_file(path)

    # --- the list -------------------------------------------------------------------------------

    def _refresh_catalog(self, erasure: Erasure) -> None:
        if self._stale_entries(erasure):
            self._store.list()
        # A list that is not kept, or can't be written, is none.
        if erasure.everything or self._stale_entries(erasure):
            remove_file(self._data_folder / _CATALOG)
        for path in self._data_folder.glob(f".{_CATALOG}.*.tmp"):
            remove_file(path)

    def _stale_entries(self, erasure: Erasure) -> Collection[str]:
        """Sessions of which the list says what their files do not say any more."""
        path = self._data_folder / _CATALOG
        try:
            entries = _catalog_decoder.decode(path.read_bytes())
        except FileNotFoundError:
            return ()
        except (OSError, *UNREADABLE):
            return (_CATALOG,)
        files = self._store.files()
        named = set(entries) if erasure.everything else _named(erasure) & set(entries)
        return [
            name
            for name in named
            if name not in files
            or (files[name].size, files[name].mtime_ns)
            != (entries[name].size, entries[name].mtime_ns)
        ]


def _named(erasure: Erasure) -> set[str]:
    return {one for one in sessions_of(erasure) if SESSION_ID.fullmatch(one)}


def _goes_whole(erasure: Erasure, session_id: str) -> bool:
    return erasure.everything or session_id in erasure.sessions


def _change(erasure: Erasure, session_id: str) -> Callable[[bytes], bytes | None]:
    what = LogErasure.of(erasure, session_id)
    whole = _goes_whole(erasure, session_id)
    return lambda data: None if whole else without(data, what)


# --- words --------------------------------------------------------------------------------------


def holding(store: SessionStore, words: str) -> Sequence[Finding]:
    """Every record of every session that holds the words, one right after the other.

    Case, spacing and the way accents are composed make no difference. A file that can't be read is
    found, too, for nobody can tell.
    """
    phrase = Phrase(words)
    found: list[Finding] = []
    for session_id in sorted(store.files()) if phrase else ():
        try:
            data = store.data(session_id)
        except SessionUnreadable:
            found.append(Finding(Match("unreadable file", session_id), session_id))
            continue
        if phrase.may_be_in(data):
            found += found_in(session_id, data, phrase)
    return found


# --- copies -------------------------------------------------------------------------------------


def copies(store: SessionStore, turns: Mapping[str, Collection[int]]) -> Mapping[str, set[int]]:
    """The turns, and the same ones in forks, in what they were forked from, and so on.

    The same are those with the same number, said by the user at the same time in the same words.
    """
    return _copies(store, turns, _asked)


def message_copies(
    store: SessionStore, messages: Mapping[str, Collection[int]]
) -> Mapping[str, set[int]]:
    """The messages, by id, and the same ones in forks and so on: copies are what turns have."""
    return _copies(store, messages, _told)


class _Place(msgspec.Struct, frozen=True):
    """What a turn or a message and its copies have in common."""

    number: int
    ts: datetime | None
    turn: int
    role: Role


#: What of a session is compared, and its words.
_Compared: TypeAlias = Iterator[tuple[_Place, Content]]


def _copies(
    store: SessionStore,
    numbers: Mapping[str, Collection[int]],
    compared: Callable[[SessionStore, str], _Compared],
) -> Mapping[str, set[int]]:
    found = {session_id: set(some) for session_id, some in numbers.items() if some}
    families = _Families(store) if found else None
    for session_id, some in list(found.items()):
        wanted = {at: text for at, text in compared(store, session_id) if at.number in some}
        for other in families.of(session_id) if families and wanted else ():
            for at, text in compared(store, other):
                if at in wanted and (text == wanted[at] or FORGOTTEN in (text, wanted[at])):
                    found.setdefault(other, set()).add(at.number)
    return found


def _asked(store: SessionStore, session_id: str) -> _Compared:
    """What the user said in each turn of a session, undone ones included."""
    for one in store.records(session_id):
        if isinstance(one, Message) and one.role == "user":
            yield _Place(one.turn, one.ts, one.turn, one.role), one.content


def _told(store: SessionStore, session_id: str) -> _Compared:
    """Every message of a session, undone ones included."""
    for one in store.records(session_id):
        if isinstance(one, Message):
            yield _Place(one.id, one.ts, one.turn, one.role), one.content


class _Families:
    """Which sessions may have turns of each other: forks, and what they were forked from."""

    def __init__(self, store: SessionStore) -> None:
        self._there = sorted(store.files())
        self._kin: dict[str, set[str]] = {}
        for session_id in self._there:
            if source := _forked_from(store, session_id):
                self._kin.setdefault(session_id, set()).add(source)
                self._kin.setdefault(source, set()).add(session_id)
        self._deleted = self._kin.keys() - set(self._there)
        self._bereft = {one for source in self._deleted for one in self._family(source)}

    def of(self, session_id: str) -> Iterable[str]:
        """The others. Where the session between two is deleted, anyone may be the other one."""
        family = self._family(session_id)
        if family & self._deleted:
            family = set(self._there)
        return sorted((family | self._bereft) - self._deleted - {session_id})

    def _family(self, session_id: str) -> set[str]:
        family, new = {session_id}, [session_id]
        while new:
            kin = self._kin.get(new.pop(), set()) - family
            family |= kin
            new += kin
        return family


def _forked_from(store: SessionStore, session_id: str) -> str | None:
    first, _, _ = _data(store, session_id, FIRST_LINE).partition(b"\n")
    try:
        return _first_decoder.decode(first).forked_from
    except UNREADABLE:
        return None


def _data(store: SessionStore, session_id: str, most: int = -1) -> bytes:
    """Empty for a file that can't be read: nothing can be erased from it either."""
    try:
        return store.data(session_id, most)
    except SessionUnreadable:
        return b""


_first_decoder = msgspec.json.Decoder(SessionRecord)


# --- quotations ---------------------------------------------------------------------------------

#: The line over an exchange that the tool `recall` found: its day, and where it was said.
_PLACE = re.compile(r"\(([a-z0-9][a-z0-9-]*)\.([0-9]{1,10})\)$", re.MULTILINE)
_RECALL = "recall"


def citing(store: SessionStore, turns: Mapping[str, Collection[int]]) -> Mapping[str, set[int]]:
    """Ids of results of `recall`, in any session, that quote one of the turns."""
    wanted = {(session_id, turn) for session_id, numbers in turns.items() for turn in numbers}
    found: dict[str, set[int]] = {}
    for session_id in sorted(store.files()) if wanted else ():
        if f'"{_RECALL}"'.encode() in _data(store, session_id):
            ids = {one.id for one in _recalled(store, session_id) if _quoted(one) & wanted}
            if ids:
                found[session_id] = ids
    return found


def _recalled(store: SessionStore, session_id: str) -> Iterator[Message]:
    """The results of `recall`, and those whose call can't be read."""
    calls: dict[tuple[int, str | None], str] = {}
    for one in store.records(session_id):
        if isinstance(one, Message):
            calls |= {(one.turn, call.id): call.name for call in one.tool_calls}
            name = calls.get((one.turn, one.tool_call_id), _RECALL)
            if one.role == "tool" and name == _RECALL:
                yield one


def _quoted(result: Message) -> set[tuple[str, int]]:
    """The turns that a result names, also where that was cut off for the prompt."""
    text = f"{result.text}\n{result.whole or ''}"
    return {(session_id, int(turn)) for session_id, turn in _PLACE.findall(text)}
