"""All sessions of a home: create, open, find, list, rename, delete, fork."""

from __future__ import annotations

import contextlib
import os
import re
import stat
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from assistant.errors import (
    SessionAmbiguous,
    SessionError,
    SessionInUse,
    SessionNotFound,
    SessionUnreadable,
)
from assistant.memory.files import make_folder, write_atomically
from assistant.memory.interrupts import interrupts_held
from assistant.memory.open_files import allow_open_files
from assistant.memory.session import Clock, Session
from assistant.memory.session_log import (
    UNREADABLE,
    PartFile,
    Record,
    Release,
    SessionLog,
    SessionRecord,
    load,
)
from assistant.memory.shared_file import sync_folder
from assistant.memory.titles import title_from_words
from assistant.memory.turn_tree import TurnTree
from assistant.messages import Exchange, Message

if TYPE_CHECKING:
    from filelock import BaseFileLock

SESSION_ID = re.compile(r"[a-z0-9][a-z0-9-]{0,63}")


class SessionInfo(msgspec.Struct, frozen=True, omit_defaults=True):
    """A session as a list shows it."""

    id: str
    title: str
    turns: int
    last_turn: int
    """The number of the newest turn: undone and erased ones leave gaps."""
    changed: datetime


class FileState(msgspec.Struct, frozen=True):
    """A file that still has this size and time is taken to be unchanged."""

    size: int
    mtime_ns: int


class _Line(msgspec.Struct):
    """The little of a record that a list needs; message bodies are passed over undecoded."""

    type: str = ""
    role: str = ""
    title: str = ""
    by: str = "auto"
    turn: int = 0
    content: msgspec.Raw = msgspec.Raw(b'""')

    @property
    def is_question(self) -> bool:
        return self.type == "message" and self.role == "user"


class _Entry(msgspec.Struct):
    """A catalog entry; true as long as the file's size and time are these."""

    size: int
    mtime_ns: int
    title: str
    turns: int
    last_turn: int


_first_decoder = msgspec.json.Decoder(SessionRecord)
_line_decoder = msgspec.json.Decoder(_Line)
_catalog_decoder = msgspec.json.Decoder(dict[str, _Entry])


class SessionStore:
    """The sessions in one folder.

    The list is read from a catalog that is derived from the files and checked against their size
    and time, so that listing reads no bodies; it can be deleted at any time. Locks lie outside
    `folder`, which holds sessions and nothing else.
    """

    def __init__(
        self,
        folder: Path,
        data_folder: Path,
        *,
        clock: Clock,
        new_id: Callable[[], str],
        program: str = "",
        keep_catalog: bool = True,
    ) -> None:
        """`keep_catalog` False leaves no catalog behind: listing is slower then."""
        self._folder = folder
        self._locks = data_folder / "locks"
        self._catalog_path = data_folder / "sessions.json"
        self._clock = clock
        self._new_id = new_id
        self._program = program
        self._keep_catalog = keep_catalog
        self._held: set[str] = set()
        """Sessions that are claimed."""

    # --- creating and opening -------------------------------------------------------------------

    def create(
        self,
        *,
        private: bool = False,
        forked_from: str | None = None,
        forked_at: int | None = None,
    ) -> Session:
        """A new session. Its file is made with its first message; a private one never has any."""
        session_id = self._unused_id()
        if private:
            return Session(session_id, clock=self._clock, log=None, part=None)
        log = SessionLog(
            self._path(session_id),
            first=lambda: SessionRecord(
                session_id,
                self._clock(),
                self._program,
                forked_from=forked_from,
                forked_at=forked_at,
            ),
            # Nobody else knows the id before the file is there: the lock can wait until then.
            acquire=lambda: self._claim(session_id),
        )
        session = self._build(session_id, log)
        session.forked_from, session.forked_at = forked_from, forked_at
        return session

    def open(self, session_id: str, *, read_only: bool = False) -> Session:
        """Open a session by its exact id and read it once.

        Raises SessionInUse when another process writes to it; `read_only` opens it all the same.
        """
        self._require(session_id)
        path = self._path(session_id)
        if read_only:
            loaded = load(path)
            session = Session(session_id, clock=self._clock, log=SessionLog(path), part=None)
            session.read_only = True
            session.fold(loaded)
            return session
        release = self._claimed(session_id)
        try:
            loaded = load(path)
            log = SessionLog(
                path,
                size=loaded.size,
                needs_newline=not loaded.ends_cleanly,
                release=release,
            )
            session = self._build(session_id, log)
            session.fold(loaded)
            if not loaded.records and not loaded.skipped:
                session.notices.append("The session file was empty: the conversation starts here.")
            session.settle()
        except BaseException:
            release()
            raise
        return session

    def fork(self, source: Session, turn: int | None = None) -> Session:
        """A new session that begins with the conversation of `source`, which stays as it is.

        With `turn` it is the one that ends, or ended, there. Raises SessionError without that turn,
        or SessionNotFound when the source was deleted meanwhile.
        """
        if source.read_only:
            # Whoever may write to it may have erased from it since it was read.
            source = self.open(source.id, read_only=True)
        if turn is not None:
            source.require_turn(turn)
        copy = self.create(forked_from=source.id, forked_at=turn)
        source.copy_into(copy, turn)
        if title := source.title_at(turn):
            copy.rename(f"{title} (copy)", by=source.title_by)
        return copy

    # --- finding --------------------------------------------------------------------------------

    def find(self, reference: str, *, whole_title: bool = False) -> SessionInfo:
        """The session with this id, unique start of an id, title, or words of a title.

        `whole_title` asks for the title as it is. Raises SessionNotFound, or SessionAmbiguous with
        the candidates named.
        """
        wanted = reference.strip().casefold()
        # A session without a title is not what an empty word means.
        sessions = self.list() if wanted else ()
        for matches in (
            [info for info in sessions if info.id == wanted],
            [info for info in sessions if info.title.casefold() == wanted],
            [info for info in sessions if info.id.startswith(wanted)],
            [info for info in sessions if not whole_title and wanted in info.title.casefold()],
        ):
            if len(matches) == 1:
                return matches[0]
            if matches:
                raise SessionAmbiguous(_candidates(reference, matches))
        raise SessionNotFound(
            f"No session has the id or title “{reference}”. /session list (or `assistant sessions "
            "list`) shows all of them."
        )

    def list(self) -> Sequence[SessionInfo]:
        """All sessions, the one changed last first."""
        known = self._read_catalog()
        entries: dict[str, _Entry] = {}
        for session_id, state in self._scan():
            entry = known.get(session_id)
            if entry is None or (entry.size, entry.mtime_ns) != (state.st_size, state.st_mtime_ns):
                entry = self._read_entry(session_id, state)
            if entry is not None:
                entries[session_id] = entry
        if entries != known and self._keep_catalog:
            self._write_catalog(entries)
        newest_first = sorted(
            entries.items(), key=lambda item: (item[1].mtime_ns, item[0]), reverse=True
        )
        return [
            SessionInfo(
                session_id,
                entry.title,
                entry.turns,
                entry.last_turn,
                datetime.fromtimestamp(entry.mtime_ns / 1e9, UTC),
            )
            for session_id, entry in newest_first
        ]

    # --- reading without opening ----------------------------------------------------------------

    def files(self) -> Mapping[str, FileState]:
        """The size and time of each session's file: what is unchanged need not be read again."""
        return {name: FileState(one.st_size, one.st_mtime_ns) for name, one in self._scan()}

    def state(self, session_id: str) -> FileState | None:
        """The size and time of one session's file; None when it is not there."""
        try:
            found = self._path(session_id).stat()
        except OSError:
            return None
        return FileState(found.st_size, found.st_mtime_ns)

    def has(self, session_id: str) -> bool:
        """Whether there is a session of this id."""
        return SESSION_ID.fullmatch(session_id) is not None and self._path(session_id).is_file()

    def text(self, session_id: str) -> str:
        """A session's file as it stands, empty when it can't be read now."""
        try:
            return self._path(session_id).read_bytes().decode("utf-8", "replace")
        except OSError:
            return ""

    def records(self, session_id: str) -> Sequence[Record]:
        """Every record in a session's file that can be read, in order; none when it can't be."""
        try:
            return load(self._path(session_id)).records
        except SessionError:
            return ()

    def data(self, session_id: str, most: int = -1) -> bytes:
        """A session's file byte for byte, or its first `most` bytes; empty when there is none.

        Raises SessionUnreadable.
        """
        try:
            with open(self._path(session_id), "rb") as file:
                return file.read(most)
        except FileNotFoundError:
            return b""
        except OSError as error:
            raise SessionUnreadable(
                f"The session file {session_id}.jsonl can't be read: {error.strerror}. Nothing was "
                "changed. Check its permissions."
            ) from error

    def exchanges(self, session_id: str, *, every: bool = False) -> Sequence[Exchange]:
        """What was said in a session, turn by turn, as far as it may be recalled, or all of it.

        Empty when its file can't be read now. Whatever another process has open is read too.
        """
        session = Session(session_id, clock=self._clock, log=None, part=None)
        try:
            session.fold(load(self._path(session_id)))
        except SessionError:
            return ()
        return session.exchanges(every=every)

    def has_turn(self, session_id: str, turn: int) -> bool:
        """Whether a turn is part of a conversation: its session is there, and it is not undone.

        Looks first for a going back or an erasing, which few sessions have.
        """
        if not self.has(session_id):
            return False
        try:
            data = self._path(session_id).read_bytes()
        except OSError:
            return False
        if b'"rewind"' not in data and b'"erase"' not in data:
            return True
        return _tree_of(_lines(data)).has(turn)

    def has_message(self, session_id: str, message: Message) -> bool:
        """Whether a message stands in a session's file in the same words, be it undone."""
        return any(
            isinstance(one, Message) and (one.id, one.content) == (message.id, message.content)
            for one in self.records(session_id)
        )

    def forks(self, session_id: str) -> Sequence[str]:
        """The sessions that were copied from one, by id, the oldest first. Reads first lines."""
        return sorted(name for name, _ in self._scan() if self._origin(name) == session_id)

    def _origin(self, session_id: str) -> str | None:
        """The session that one was copied from."""
        with contextlib.suppress(OSError, *UNREADABLE), self._path(session_id).open("rb") as file:
            return _first_decoder.decode(file.readline()).forked_from
        return None

    # --- changing -------------------------------------------------------------------------------

    def rename(self, session_id: str, title: str) -> None:
        """Give a session that is not open here a title. Raises SessionError when that fails."""
        session = self.open(session_id)
        try:
            session.rename(title)
            if session.unsaved:
                raise SessionError(
                    f"The title can't be saved: {session.saving_failure}. Nothing was changed."
                )
        finally:
            session.close()

    @contextlib.contextmanager
    def claimed(self, session_ids: Iterable[str]) -> Iterator[None]:
        """Keep other processes out of several sessions while the block lasts: `rewrite` works.

        All of them or none: raises SessionInUse for the first that is open somewhere, here too, or
        SessionError. Ids that have no file are passed over.
        """
        wanted = sorted(one for one in {*session_ids} - self._held if self.has(one))
        allow_open_files(len(wanted))
        with contextlib.ExitStack() as stack:
            for session_id in wanted:
                stack.callback(self._claimed(session_id))
                stack.callback(self._held.discard, session_id)
                self._held.add(session_id)
            yield

    def rewrite(self, session_id: str, change: Callable[[bytes], bytes | None]) -> None:
        """Replace a session's file by what `change` makes of its bytes; None removes its files.

        It is not open here: its lock is taken for it, unless it is claimed. A reader sees the old
        file or the new one, whole, also after a power cut. Raises SessionInUse, or SessionError
        and what `change` does; the file is as it was then.
        """
        self._require(session_id)
        with self.claimed([session_id]), interrupts_held():
            before = self.data(session_id)
            after = change(before)
            if after == before:
                return
            # Where the file is a link, what it leads to is what holds the words.
            place = Path(os.path.realpath(self._path(session_id)))
            try:
                if after is None:
                    self._part_path(session_id).unlink(missing_ok=True)
                    place.unlink(missing_ok=True)
                    self._path(session_id).unlink(missing_ok=True)
                    self._lock_path(session_id).unlink(missing_ok=True)
                else:
                    write_atomically(place, after)
            except OSError as error:
                raise SessionError(
                    f"The session file {session_id}.jsonl can't be rewritten: {error.strerror}. It "
                    "is as it was. Check its permissions and the room on its disk."
                ) from error
            sync_folder(self._folder)
            sync_folder(place.parent)

    # --- files ----------------------------------------------------------------------------------

    def _build(self, session_id: str, log: SessionLog) -> Session:
        part = PartFile(self._part_path(session_id))
        return Session(session_id, clock=self._clock, log=log, part=part)

    def _path(self, session_id: str) -> Path:
        return self._folder / f"{session_id}.jsonl"

    def _part_path(self, session_id: str) -> Path:
        return self._folder / f"{session_id}.part"

    def _lock_path(self, session_id: str) -> Path:
        return self._locks / f"{session_id}.lock"

    def _require(self, session_id: str) -> None:
        # Only an id ever becomes a path: "../x" and the like are no ids.
        if not self.has(session_id):
            raise SessionNotFound(
                f"There is no session {session_id!r}. /session list (or `assistant sessions list`) "
                "shows all of them."
            )

    def _unused_id(self) -> str:
        while True:
            session_id = self._new_id()
            if not self._path(session_id).exists():
                return session_id

    def _claimed(self, session_id: str) -> Release:
        """The lock of a session that is there. Raises SessionInUse, or SessionError without it."""
        try:
            return self._claim(session_id)
        except OSError as error:
            raise SessionError(
                f"The session {session_id} can't be locked: {error.strerror}. Nothing was changed. "
                f"Check the permissions of {self._locks} and the room on its disk."
            ) from error

    def _claim(self, session_id: str) -> Release:
        for folder in (self._folder, self._locks.parent, self._locks):
            make_folder(folder)
        return self._lock(session_id)

    def _lock(self, session_id: str) -> Release:
        import filelock  # here, so that listing sessions does not pay for it

        # The system drops the lock when its process ends, however it ends.
        lock: BaseFileLock = filelock.FileLock(self._lock_path(session_id), mode=0o600)
        try:
            lock.acquire(blocking=False)
        except filelock.Timeout:
            raise SessionInUse(
                f"Session {session_id} is open in another terminal. Nothing was changed. Close it "
                f"there first; `assistant --session {session_id}` offers to read it here, or to "
                "go on in a copy.",
                session_id,
            ) from None
        return lock.release

    def _scan(self) -> Sequence[tuple[str, os.stat_result]]:
        found = []
        try:
            with os.scandir(self._folder) as entries:
                for entry in entries:
                    session_id = entry.name.removesuffix(".jsonl")
                    if session_id != entry.name and SESSION_ID.fullmatch(session_id):
                        # Deleted in this moment, or a link to nowhere: no session, and no trouble.
                        with contextlib.suppress(OSError):
                            state = entry.stat()
                            if stat.S_ISREG(state.st_mode):
                                found.append((session_id, state))
        except FileNotFoundError:
            return []
        except OSError as error:
            raise SessionError(
                f"The folder {self._folder} can't be read: {error.strerror}. Check its permissions."
            ) from error
        return found

    def _read_entry(self, session_id: str, state: os.stat_result) -> _Entry | None:
        """None when the file can't be read now: it is looked at again the next time."""
        try:
            lines = _lines(self._path(session_id).read_bytes())
        except OSError:
            return None
        title, by = "", "auto"
        for line in lines:
            if line.type == "title" and (line.by == "user" or by == "auto"):
                title, by = line.title, line.by
        tree = _tree_of(lines)
        asked = [one for one in lines if one.is_question and tree.has(one.turn)]
        return _Entry(
            state.st_size,
            state.st_mtime_ns,
            title or next((words for one in asked if (words := _words(one.content))), ""),
            turns=len(asked),
            last_turn=tree.newest or 0,
        )

    def _read_catalog(self) -> dict[str, _Entry]:
        try:
            return _catalog_decoder.decode(self._catalog_path.read_bytes())
        except (OSError, *UNREADABLE):
            return {}

    def _write_catalog(self, entries: dict[str, _Entry]) -> None:
        # Derived and made again from the files: when it can't be written, listing is only slower.
        with contextlib.suppress(OSError):
            make_folder(self._catalog_path.parent)
            write_atomically(self._catalog_path, msgspec.json.encode(entries))


def _lines(data: bytes) -> list[_Line]:
    """The records of a file that can be read, each with the little that is needed of it."""
    lines = []
    for line in data.split(b"\n"):
        with contextlib.suppress(*UNREADABLE):
            lines.append(_line_decoder.decode(line))
    return lines


def _tree_of(lines: Iterable[_Line]) -> TurnTree:
    tree = TurnTree()
    for line in lines:
        if line.type == "message":
            tree.say(line.turn)
        elif line.type == "rewind":
            tree.go_to(line.turn)
    return tree


def _words(content: msgspec.Raw) -> str:
    """What a session without a title is listed as: the first words said in it."""
    text = msgspec.json.decode(content)
    return title_from_words(text) if isinstance(text, str) else ""


def _candidates(reference: str, matches: Sequence[SessionInfo]) -> str:
    shown = "\n".join(f"  {info.id}  {info.title or '(no title)'}" for info in matches[:10])
    more = f"\n  … and {len(matches) - 10} more" if len(matches) > 10 else ""
    return f"“{reference}” fits {len(matches)} sessions. Which one?\n{shown}{more}"
