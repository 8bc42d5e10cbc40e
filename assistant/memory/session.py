"""A session: the fold of its log, and the only way to add to it."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from itertools import groupby
from pathlib import Path
from typing import Literal

import msgspec

from assistant.errors import CompactionStopped, SessionChanged, SessionError, SessionReadOnly
from assistant.memory.interrupts import interrupts_held
from assistant.memory.session_log import (
    EraseRecord,
    FailureRecord,
    Loaded,
    PartFile,
    PartHeader,
    Record,
    RewindRecord,
    SessionLog,
    SessionRecord,
    SummaryUndoneRecord,
    TitleRecord,
)
from assistant.memory.token_budget import History
from assistant.memory.turn_tree import TurnTree
from assistant.messages import (
    INTERRUPTED,
    Content,
    Exchange,
    Message,
    Summary,
    TokenCount,
    ToolCall,
    clean_content,
    clean_text,
)

Clock = Callable[[], datetime]

WENT_BACK = "The user went back before what was to be summarized. Nothing was changed."

#: No conversation has more; a number beyond is a slip of whoever wrote it, and no index takes it.
LAST_TURN = 2**31


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
        self._said_before_title = 0
        self.forked_from: str | None = None
        self.forked_at: int | None = None
        """The last turn that was copied, where one was named."""
        self.history = History()
        """The conversation: what was undone is no part of it."""
        self.messages: list[Message] = []
        """All messages in order of time, undone ones included."""
        self.erased: frozenset[int] = frozenset()
        """Turns of which nothing is left."""
        self.failures: dict[int, FailureRecord] = {}
        self.summaries: tuple[Summary, ...] = ()
        """Those of the conversation that are not taken back, oldest first; the last is in force."""
        self.summary_undone = False
        """Whether the user took the last one back, and none was made since."""
        self.notices: list[str] = []
        """What a person should know about how this session was opened."""
        self.read_only = False
        self.newer = False
        """Whether a later version of the program wrote to it: then it can only be read."""
        self.skipped = 0
        """Lines of the file that can't be read."""
        self._clock = clock
        self._log = log
        self._part = part
        self._next_id = 1
        self._next_turn = 1
        self._tree = TurnTree()
        self._written: list[tuple[Summary, int | None]] = []
        """Summaries that are not taken back, each with the newest turn when it was written."""
        # The worker sets titles while the main thread may do the same.
        self._titling = threading.Lock()
        # And it summarizes while the main thread adds messages or goes back: the order of the
        # records says what a summary belongs to.
        self._adding = threading.Lock()

    # --- opening and closing --------------------------------------------------------------------

    def fold(self, loaded: Loaded) -> None:
        """Take over what a log holds, and heal what a killed process left open."""
        self.newer = loaded.newer
        self.skipped = loaded.skipped
        self.read_only |= loaded.newer
        self._note_trouble(loaded)
        for record in loaded.records:
            if isinstance(record, Message):
                self.messages.append(record)
                self._tree.say(record.turn)
            else:
                self._fold_record(record)
        self._follow_tree()
        for message in self.messages:
            self._count_up(message)

    def _fold_record(self, record: Record) -> None:
        if isinstance(record, TitleRecord):
            if record.by == "user" or self.title_by == "auto":
                self._take_title(record.title, record.by)
        elif isinstance(record, FailureRecord):
            self.failures[record.turn] = self._still_rejected(record)
            self._next_turn = max(self._next_turn, record.turn + 1)
        elif isinstance(record, SessionRecord):
            self.forked_from, self.forked_at = record.forked_from, record.forked_at
        elif isinstance(record, Summary):
            # It can stand for nothing that was said after it, whatever the line says.
            first, last = record.covers
            last = min(last, self._last_id())
            if (record.text or record.kept) and 0 < first <= last:
                self._put_in_force(msgspec.structs.replace(record, covers=(first, last)))
        elif isinstance(record, SummaryUndoneRecord):
            self._take_back()
        elif isinstance(record, RewindRecord):
            self._tree.go_to(record.turn)
            self._choose_summaries()
        elif isinstance(record, EraseRecord):
            self.erased |= frozenset(record.turns)
            self._next_id = max([self._next_id, *(one + 1 for one in record.messages)])
            self._next_turn = max([self._next_turn, *(one + 1 for one in record.turns)])

    def _last_id(self) -> int:
        """Of the newest message of the conversation; 0 without any."""
        return next((one.id for one in reversed(self.messages) if self._tree.has(one.turn)), 0)

    def _put_in_force(self, summary: Summary) -> None:
        self._written.append((summary, self._tree.newest))
        self.summaries, self.summary_undone = (*self.summaries, summary), False

    def _take_back(self) -> None:
        undone = self.summary
        self._written = [one for one in self._written if one[0] is not undone]
        self.summaries, self.summary_undone = self.summaries[:-1], True

    def _choose_summaries(self) -> None:
        """Another conversation has other summaries: those that were written in it."""
        self.summaries = tuple(one for one, newest in self._written if self._tree.has(newest))

    def _follow_tree(self) -> None:
        """Make the history what the conversation is now."""
        history = History()
        history.extend_counted([one for one in self.messages if self._tree.has(one.turn)])
        self.history = history

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
        if message.role == "assistant" and not message.tool_calls and self.failures:
            self.failures.pop(message.turn, None)

    def settle(self) -> None:
        """Keep what came of a reply that nobody finished: the process was killed, or stopped.

        Called when a session is opened and closed, and after an interrupt outside the stream.
        """
        if self.read_only:
            return
        self.close_calls(
            "The program ended before it was known whether this was done. Look before doing it "
            "again."
        )
        if self._part is None:
            return
        left = self._part.read()
        if left is not None:
            header, text = left
            unanswered = self.unanswered
            # What a call stood behind is saved with it; the process was killed right after that.
            turn = self.history.slice(self.history.turn(header.turn))
            saved = [one.text for one in turn if one.role == "assistant"]
            if text and text not in saved and unanswered and unanswered.turn == header.turn:
                self.answer(
                    Message(
                        role="assistant",
                        content=text,
                        model=header.model,
                        finish_reason=INTERRUPTED,
                        turn=header.turn,
                    )
                )
        self._drop_part()

    def close(self) -> None:
        """Write what can still be written, and let other processes have the session.

        What can't be, because the file was changed under us, was said when it was tried first;
        the part of a reply stays beside the file, for whoever opens it next.
        """
        if self._log is None or self._log.closed:
            return
        try:
            with contextlib.suppress(SessionChanged):
                self._log.flush()
                self.settle()
        finally:
            self._log.close()

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
    def turn_numbers(self) -> Sequence[int]:
        """The turns of the conversation, the newest last. Undone and erased ones leave gaps."""
        return self._tree.path()

    def turn_before(self, turn: int) -> int:
        """The turn that a turn followed; 0 for none."""
        return self._tree.before(turn)

    @property
    def turn_forth(self) -> int | None:
        """The newest turn before the last going back; None once something new was said."""
        return self._tree.forth

    @property
    def undone(self) -> Mapping[int, Sequence[Message]]:
        """What is no part of the conversation because the user went back, by turn."""
        undone: dict[int, list[Message]] = {}
        for message in self.messages:
            if not self._tree.has(message.turn):
                undone.setdefault(message.turn, []).append(message)
        return undone

    @property
    def rejected(self) -> frozenset[int]:
        """Turns that are sent no more, because they would fail every later one."""
        return frozenset(
            turn for turn, one in self.failures.items() if one.rejected and self._tree.has(turn)
        )

    @property
    def failure_reasons(self) -> dict[int, str]:
        """Turns whose reply failed, and why."""
        return {turn: failure.reason for turn, failure in self.failures.items()}

    @property
    def summary(self) -> Summary | None:
        """The summary in force."""
        return self.summaries[-1] if self.summaries else None

    @property
    def summarized(self) -> int:
        """How many messages, from the first on, the summary in force stands for."""
        return self.summarized_by(self.summary)

    def summarized_by(self, summary: Summary | None) -> int:
        """How many messages, from the first on, a summary stands for.

        Whole turns, and never the newest, whatever the log says.
        """
        return messages_summarized(self.history, summary)

    def exchange(self, turn: int) -> Exchange | None:
        """What was said in a turn; None when it is not to be recalled, or there is none."""
        if turn in self.rejected:
            return None
        messages = self.history.slice(self.history.turn(turn))
        return exchange_of(self.id, messages)

    def exchanges(self, *, every: bool = False) -> list[Exchange]:
        """What was said in every turn that may be recalled, oldest first.

        With `every`, also in those that the endpoint did not take, and in undone ones.
        """
        rejected = frozenset() if every else self.rejected
        messages = self.messages if every else self.history.slice(range(len(self.history)))
        found = []
        for turn, group in groupby(messages, key=lambda one: one.turn):
            exchange = exchange_of(self.id, list(group), undone=not self._tree.has(turn))
            if exchange is not None and 0 < turn <= LAST_TURN and turn not in rejected:
                found.append(exchange)
        return found

    @property
    def unanswered(self) -> Message | None:
        """The user's last message, when no reply to it was saved; tools may have run for it."""
        starts = self.history.turn_starts
        last = self.history[-1] if starts else None
        if last is None or (last.role == "assistant" and not last.tool_calls):
            return None
        return self.history[starts[-1]]

    @property
    def open_calls(self) -> Sequence[ToolCall]:
        """Calls of the last turn that have no result."""
        if not self.history.turn_starts:
            return ()
        turn = self.history.slice(range(self.history.turn_starts[-1], len(self.history)))
        answered = {one.tool_call_id for one in turn if one.role == "tool"}
        calls = (call for one in turn for call in one.tool_calls)
        return [call for call in calls if call.id not in answered]

    # --- adding ---------------------------------------------------------------------------------

    def require_writable(self) -> None:
        """Raises SessionReadOnly when nothing can be added."""
        if self.newer:
            raise SessionReadOnly(
                "This session was written by a newer version of the program and is open for "
                "reading only. Nothing was added to it. /session new starts one you can write in."
            )
        if self.read_only:
            raise SessionReadOnly(
                "This session is open for reading only, so nothing was added to it. "
                "/session new starts one you can write in, /session fork goes on in a copy."
            )

    def require_unchanged(self) -> None:
        """Raises SessionReadOnly or SessionChanged when nothing could be added to it now."""
        self.require_writable()
        if self._log is not None:
            self._log.check_fence()

    def ask(self, content: Content, count: TokenCount | None = None) -> Message:
        """Save what the user says; it begins a turn."""
        message = Message(
            role="user", content=clean_content(content), turn=self._next_turn, count=count
        )
        return self.add(message)

    def answer(self, message: Message) -> Message:
        """Save the reply to a turn, or a tool's result within it, and drop its streamed part."""
        with interrupts_held():
            saved = self.add(message)
            self._drop_part()
            return saved

    def add(self, message: Message) -> Message:
        """Give a message its id and time, save it, and remember it."""
        with interrupts_held(), self._adding:
            stamped = msgspec.structs.replace(message, id=self._next_id, ts=self._clock())
            self._append(stamped)
            self.messages.append(stamped)
            self._tree.say(stamped.turn)
            if self._tree.has(stamped.turn):
                self.history.append(stamped)
            self._count_up(stamped)
            return stamped

    def close_calls(self, result: str) -> None:
        """Give every open call of the last turn this result: no model takes a call without one."""
        with interrupts_held():
            for call in self.open_calls:
                self.add(
                    Message(
                        role="tool",
                        content=result,
                        turn=self.history[-1].turn,
                        tool_call_id=call.id,
                    )
                )

    def stream_starts(self, turn: int, model: str) -> None:
        if self._part is not None:
            self._part.start(PartHeader(turn, model, self._clock()))

    def keep_part(self, text: str) -> None:
        """Put a piece of the reply on the disk, before it is shown."""
        if self._part is not None:
            self._part.add(text)

    def fail(self, turn: int, reason: str, *, rejected: bool = False) -> None:
        """Mark a turn as one whose reply failed. The user's line stays.

        A rejected one is not sent with later turns: it would fail them too, or nobody agreed to it.
        """
        with interrupts_held():
            record = FailureRecord(turn=turn, reason=reason, ts=self._clock(), rejected=rejected)
            record = self._still_rejected(record)
            self._append(record)
            self.failures[turn] = record
            self._drop_part()

    def rename(self, title: str, by: Literal["user", "auto"] = "user") -> bool:
        """Set the title, and say whether it was set.

        An automatic one never replaces one given by the user, and comes too late once the
        session is closed.
        """
        title = clean_text(title)
        with interrupts_held(), self._titling:
            if by == "auto" and self.title_by == "user" and self.title:
                return False
            try:
                self._append(TitleRecord(title=title, by=by, ts=self._clock()))
            except SessionReadOnly:
                if by == "user":
                    raise
                return False
            self._take_title(title, by)
            return True

    def _take_title(self, title: str, by: Literal["user", "auto"]) -> None:
        self.title, self.title_by = title, by
        self._said_before_title = len(self.messages)

    def title_at(self, turn: int | None) -> str | None:
        """The title of the conversation that ends with a turn, or of the present one.

        None where an automatic one may be made of what is no part of that.
        """
        turns = frozenset(self._tree.path(turn))
        before = self.messages[: self._said_before_title]
        if self.title_by == "user" or all(one.turn in turns for one in before):
            return self.title
        return None

    def summarize(self, summary: Summary, *, after: Summary | None) -> None:
        """Put a summary in force. Nothing of what it stands for is changed.

        `after` is the one it was written from: when another is in force by now, the user went back
        before what it stands for, or the session is closed, CompactionStopped is raised.
        """
        with interrupts_held(), self._adding:
            if self.summary is not after:
                raise CompactionStopped("The summary in force has changed. Nothing was changed.")
            if not self._has_message(summary.covers[1]):
                raise CompactionStopped(WENT_BACK)
            try:
                self._append(summary)
            except SessionReadOnly as error:
                raise CompactionStopped(str(error)) from error
            self._put_in_force(summary)

    def _has_message(self, message_id: int) -> bool:
        """Whether a message is part of the conversation; then all that it followed is, too."""
        after = self.history.index_after(message_id)
        return after > 0 and self.history[after - 1].id == message_id

    def undo_summary(self) -> Summary | None:
        """Take the newest summary back, and return it; None when there is none."""
        with interrupts_held(), self._adding:
            undone = self.summary
            if undone is not None:
                self._append(SummaryUndoneRecord(covers=undone.covers, ts=self._clock()))
                self._take_back()
            return undone

    def go_to(self, turn: int) -> None:
        """Go on from another turn: an earlier one, an undone one, or from nothing for 0.

        Nothing is deleted, and the summary that was in force there is in force again. Calls that
        nobody finished are closed first. Raises SessionError when there is no such turn, or the
        file can't be written; then the conversation is as it was.
        """
        self.require_writable()
        self.require_turn(turn)
        self.settle()
        with interrupts_held(), self._adding:
            self._append(RewindRecord(turn=turn, ts=self._clock()), at_once=True)
            self._tree.go_to(turn)
            self._choose_summaries()
            self._follow_tree()
            self._drop_part()

    def require_turn(self, turn: int) -> None:
        """Raises SessionError for a turn that is not in the log, be it undone; 0 is."""
        if turn in self.erased:
            raise SessionError(f"Turn {turn} was forgotten. Nothing was changed.")
        if turn and turn not in self._tree:
            raise SessionError(
                f"This session has no turn {turn}. Nothing was changed. /history all shows all of "
                "them with their numbers."
            )

    def copy_into(self, other: Session, turn: int | None = None) -> None:
        """Repeat this conversation in a new session, ids and turns as they are here.

        With `turn` it is the one that ends, or ended, there. Raises SessionReadOnly for a session
        of a newer version: what we can't read would be lost.
        """
        if self.newer:
            self.require_writable()
        records = self._records_to(turn)
        if records:
            other._append(*records)
        other.fold(Loaded(records, size=0))
        if self.skipped:
            other.notices.append(
                f"{self.skipped} lines of {self.id} can't be read; they are not in the copy."
            )

    def _records_to(self, turn: int | None) -> list[Record]:
        """What makes up the conversation that ends with a turn, or the present one."""
        turns = frozenset(self._tree.path(turn))
        messages = [one for one in self.messages if one.turn in turns]
        last = {one.turn: at for at, one in enumerate(messages)}
        # Behind the turns they belong to, and in their order: the last one is in force.
        summaries = [(one, last[newest]) for one, newest in self._written if newest in last]
        records: list[Record] = []
        for at, message in enumerate(messages):
            records.append(message)
            while summaries and summaries[0][1] <= at:
                records.append(summaries.pop(0)[0])
        return [*records, *(one for one in self.failures.values() if one.turn in turns)]

    def _still_rejected(self, record: FailureRecord) -> FailureRecord:
        """A rejected turn stays so when asking it again fails for another reason."""
        before = self.failures.get(record.turn)
        if before is not None and before.rejected:
            return msgspec.structs.replace(record, rejected=True)
        return record

    def _append(self, *records: Record, at_once: bool = False) -> None:
        self.require_writable()
        if self._log is not None:
            self._log.append(*records, at_once=at_once)

    def _drop_part(self) -> None:
        # While the disk refuses the reply, the part is the only copy outside of this process.
        if self._part is not None and not self.unsaved:
            self._part.remove()


def messages_summarized(history: History, summary: Summary | None) -> int:
    """How many messages of a history, from the first on, a summary stands for.

    Whole turns, and never the newest, whatever the log says.
    """
    if summary is None:
        return 0
    return history.turn_start_before(history.index_after(summary.covers[1]))


def exchange_of(
    session_id: str, messages: Sequence[Message], *, undone: bool = False
) -> Exchange | None:
    """What the user and the assistant said in one turn's messages; None without either."""
    user = "\n".join(one.text for one in messages if one.role == "user")
    assistant = "\n".join(one.text for one in messages if one.role == "assistant" and one.text)
    if not messages or not (user or assistant):
        return None
    return Exchange(session_id, messages[0].turn, messages[0].ts, user, assistant, undone)
