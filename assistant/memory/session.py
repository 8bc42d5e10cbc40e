"""A session: the fold of its log, and the only way to add to it."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Literal

import msgspec

from assistant.errors import SessionReadOnly
from assistant.memory.session_log import (
    FailureRecord,
    Loaded,
    PartFile,
    PartHeader,
    Record,
    SessionLog,
    SessionRecord,
    TitleRecord,
)
from assistant.memory.token_budget import History
from assistant.messages import INTERRUPTED, Content, Message, TokenCount, clean_content

Clock = Callable[[], datetime]


class Session:
    """One conversation. Everything added is in the file before the method returns.

    A private session has no log: it lives in memory and is gone with the process.
    """

    def __init__(
        self, session_id: str, *, clock: Clock, log: SessionLog | None, part: PartFile | None
    ) -> None:
        self.id = session_id
        self.title: str | None = None
        self.title_by: Literal["user", "auto"] = "auto"
        self.forked_from: str | None = None
        self.history = History()
        self.failures: dict[int, FailureRecord] = {}
        self.notices: list[str] = []
        """What a person should know about how this session was opened."""
        self.read_only = False
        self._clock = clock
        self._log = log
        self._part = part
        self._next_id = 1
        self._next_turn = 1
        self._release: Callable[[], None] = lambda: None
        self._lock_first: Callable[[], Callable[[], None]] | None = None

    # --- opening and closing --------------------------------------------------------------------

    def fold(self, loaded: Loaded) -> None:
        """Take over what a log holds, and heal what a killed process left open."""
        self.read_only |= loaded.newer
        self._note_trouble(loaded)
        messages: list[Message] = []
        for record in loaded.records:
            if isinstance(record, Message):
                messages.append(record)
            else:
                self._fold_record(record)
        self.history.extend_counted(messages)
        for message in messages:
            self._count_up(message)

    def _fold_record(self, record: Record) -> None:
        if isinstance(record, TitleRecord):
            self.title, self.title_by = record.title, record.by
        elif isinstance(record, FailureRecord):
            self.failures[record.turn] = record
            self._next_turn = max(self._next_turn, record.turn + 1)
        elif isinstance(record, SessionRecord):
            self.forked_from = record.forked_from

    def _note_trouble(self, loaded: Loaded) -> None:
        if loaded.newer:
            self.notices.append(
                "This session was written by a newer version of the program. It is opened for "
                "reading only, so that nothing in it is lost; update the program to go on with it, "
                "or /session new starts another."
            )
        elif loaded.skipped:
            lines = "1 line" if loaded.skipped == 1 else f"{loaded.skipped} lines"
            self.notices.append(
                f"{lines} of the session file can't be read and were skipped. They stay in the "
                "file as they are; everything before and after them is here."
            )

    def _count_up(self, message: Message) -> None:
        self._next_id = max(self._next_id, message.id + 1)
        self._next_turn = max(self._next_turn, message.turn + 1)
        if message.role == "assistant" and self.failures:
            self.failures.pop(message.turn, None)

    def settle(self) -> None:
        """Keep what came of a reply that nobody finished: the process was killed, or stopped.

        Called when a session is opened, and after an interrupt outside the stream.
        """
        if self._part is None or self.read_only:
            return
        left = self._part.read()
        if left is not None:
            header, text = left
            if text and self.unanswered is not None and self.unanswered.turn == header.turn:
                self.answer(
                    Message(
                        role="assistant",
                        content=text,
                        model=header.model,
                        finish_reason=INTERRUPTED,
                        turn=header.turn,
                    )
                )
        self._part.remove()

    def lock_later(self, lock: Callable[[], Callable[[], None]]) -> None:
        """Take the lock with the first record: until then there is nothing to write to."""
        self._lock_first = lock

    def hold(self, release: Callable[[], None]) -> None:
        """Tie the session to the lock that keeps other processes from writing to it."""
        self._release = release

    def close(self) -> None:
        if self._log is not None:
            self._log.flush()
            self._log.close()
        self._release()
        self._release = lambda: None

    # --- what it says of itself -----------------------------------------------------------------

    @property
    def private(self) -> bool:
        return self._log is None

    @property
    def path(self) -> Path | None:
        return self._log.path if self._log else None

    @property
    def unsaved(self) -> int:
        """Records that are only in memory because the disk refused them."""
        return self._log.waiting if self._log else 0

    @property
    def saving_failure(self) -> str | None:
        """Why saving fails at the moment, in the system's words."""
        return self._log.failure if self._log else None

    @property
    def turns(self) -> int:
        return len(self.history.turn_starts)

    @property
    def unanswered(self) -> Message | None:
        """The user's last message, when no reply to it was saved."""
        if len(self.history) and self.history[-1].role == "user":
            return self.history[-1]
        return None

    # --- adding ---------------------------------------------------------------------------------

    def ask(self, content: Content, count: TokenCount | None = None) -> Message:
        """Save what the user says; it begins a turn."""
        message = Message(
            role="user", content=clean_content(content), turn=self._next_turn, count=count
        )
        return self.add(message)

    def answer(self, message: Message) -> Message:
        """Save the reply to a turn, or a tool's result within it, and drop its streamed part."""
        saved = self.add(message)
        self.failures.pop(message.turn, None)
        if self._part is not None:
            self._part.remove()
        return saved

    def add(self, message: Message) -> Message:
        """Give a message its id and time, save it, and remember it."""
        stamped = msgspec.structs.replace(message, id=self._next_id, ts=self._clock())
        self._append(stamped)
        self.history.append(stamped)
        self._count_up(stamped)
        return stamped

    def stream_starts(self, turn: int, model: str) -> None:
        if self._part is not None:
            self._part.start(PartHeader(turn, model, self._clock()))

    def keep_part(self, text: str) -> None:
        """Put a piece of the reply on the disk, before it is shown."""
        if self._part is not None:
            self._part.add(text)

    def fail(self, turn: int, reason: str, *, rejected: bool = False) -> None:
        """Mark a turn as one whose reply failed. The user's line stays."""
        record = FailureRecord(turn=turn, reason=reason, ts=self._clock(), rejected=rejected)
        self._append(record)
        self.failures[turn] = record
        if self._part is not None:
            self._part.remove()

    def rename(self, title: str, by: Literal["user", "auto"] = "user") -> bool:
        """Set the title, and say whether it was set.

        An automatic one never replaces one given by the user, and comes too late once the
        session is closed.
        """
        if by == "auto" and self.title_by == "user" and self.title:
            return False
        try:
            self._append(TitleRecord(title=title, by=by, ts=self._clock()))
        except SessionReadOnly:
            if by == "user":
                raise
            return False
        self.title, self.title_by = title, by
        return True

    def _append(self, record: Record) -> None:
        if self.read_only:
            raise SessionReadOnly(
                "This session is open for reading only, so nothing was added to it. "
                "/session new starts one you can write in, /session fork goes on in a copy."
            )
        if self._lock_first is not None:
            self._release = self._lock_first()
            self._lock_first = None
        if self._log is not None:
            self._log.append(record)

    def copy_into(self, other: Session) -> None:
        """Repeat this session in a new one, ids and turns as they are here."""
        messages = self.history.slice(range(len(self.history)))
        records: list[Record] = [*messages, *self.failures.values()]
        if other._log is not None and records:
            for record in records[:-1]:
                other._log.hold(record)
            other._append(records[-1])
        other.fold(Loaded(records, size=0))
