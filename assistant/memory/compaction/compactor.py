"""Compaction: when it is due, one at a time, in the background or while the user waits."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property
from typing import TYPE_CHECKING

import msgspec

from assistant.errors import ALL_KEPT, CompactionError, CompactionStopped, SessionError
from assistant.memory.background import summary_tokens
from assistant.memory.compaction.compaction_plan import (
    CompactionLimits,
    CompactionPlan,
    plan_all,
    plan_compaction,
)
from assistant.memory.session import WENT_BACK, Session, messages_summarized
from assistant.memory.token_budget import History, message_tokens
from assistant.messages import Kind, Message, Summary
from assistant.protocols import TokenCounter

if TYPE_CHECKING:
    from assistant.memory.compaction.summarizer import Summarizer

#: A summary of fewer tokens may be larger than a few very short messages that it stands for.
SMALL = 300
#: Tokens of history below which no summary would find room.
LEAST_ROOM = 100
#: Attempts that made nothing smaller, after which only the user starts another.
MOST_ATTEMPTS = 3


class Compacted(msgspec.Struct, frozen=True):
    """What a compaction did. Tokens are those of what stands for the messages in a prompt."""

    summary: Summary
    messages: int
    """How many messages were summarized now."""
    tokens_before: int
    tokens_after: int


class Preview(msgspec.Struct, frozen=True):
    """What a compaction would do, without any model."""

    covered: tuple[Message, ...]
    kept: tuple[Message, ...]
    tokens: int
    """Of the covered messages."""
    at_risk: dict[Kind, int]
    """What a summary could lose, counted by kind; it is kept word for word where it does."""


class Compactor:
    """Summarizes a session's oldest turns when they are too many, one session at a time."""

    def __init__(
        self,
        make_summarizer: Callable[[], Summarizer],
        counter: TokenCounter,
        limits: CompactionLimits,
        *,
        gives_way: bool = False,
    ) -> None:
        """The summarizer is made when it is first needed: most conversations stay short.

        `gives_way`: its model can't answer beside it, so a turn comes first.
        """
        self.limits = limits
        self._make_summarizer = make_summarizer
        self._counter = counter
        self._gives_way = gives_way
        # Held while a summary is written.
        self._busy = threading.Lock()
        # Guards the two below: a stop that comes a moment early or late must hit the right one.
        self._state = threading.Lock()
        self._writing = False
        self._replying = False
        self._attempts: dict[str, int] = {}
        """Session → attempts in a row that came to nothing."""

    @cached_property
    def _summarizer(self) -> Summarizer:
        return self._make_summarizer()

    # --- deciding -------------------------------------------------------------------------------

    def plan_ahead(self, session: Session, room: int) -> CompactionPlan | None:
        """What is to be summarized in the background now; None when nothing is.

        After an undo nothing is, until turns would go unsent: it would only be done again.
        """
        return None if session.summary_undone else self.plan(session, room)

    def plan(self, session: Session, room: int) -> CompactionPlan | None:
        """What is due to be summarized; None when nothing is, or too many attempts failed.

        `room` is what summary and recent turns may take together. For the thread that adds
        messages.
        """
        if session.read_only or self.given_up(session) or room < LEAST_ROOM:
            return None
        summary = summary_tokens(session.summary, self._counter.count)
        limits = self.limits.within(room)
        return self._planned(session, lambda history: plan_compaction(history, 0, summary, limits))

    def plan_all(self, session: Session) -> CompactionPlan | None:
        """What `compact_now` would do; None when there is nothing to summarize."""
        return self._planned(session, lambda history: plan_all(history, 0, self.limits))

    def _planned(
        self, session: Session, plan: Callable[[History], CompactionPlan | None]
    ) -> CompactionPlan | None:
        """A plan over what follows the summary, rejected turns aside: they are never sent."""
        start, history, rejected = session.summarized, session.history, session.rejected
        history.count_newest(
            self._counter.encoding,
            lambda one: message_tokens(one, self._counter.count),
            self.limits.tokens,
            passed_over=rejected,
        )
        sendable = [at for at in range(start, len(history)) if history[at].turn not in rejected]
        planned = plan(history.picked(sendable))
        if planned is None:
            return None
        cut = sendable[planned.kept.start]
        return CompactionPlan(range(start, cut), range(cut, len(history)), history[cut - 1].id)

    def given_up(self, session: Session) -> bool:
        """Whether so many attempts failed that only `/compact` tries again."""
        return self._attempts.get(session.id, 0) >= MOST_ATTEMPTS

    def preview(self, session: Session) -> Preview | None:
        """What `compact_now` would do, and what is at risk; None when there is nothing to do."""
        # Here, as in the summarizer.
        from assistant.memory.compaction.at_risk import at_risk, count_by_kind
        from assistant.memory.compaction.kept import merged

        plan = self.plan_all(session)
        if plan is None:
            return None
        history = session.history
        covered = history.slice(plan.covered)
        return Preview(
            covered,
            history.slice(plan.kept),
            history.tokens(plan.covered),
            count_by_kind(merged(at_risk(said(session, covered)))),
        )

    # --- doing ----------------------------------------------------------------------------------

    def compact(self, session: Session, plan: CompactionPlan) -> Compacted:
        """Summarize what was planned ahead, and put the summary in force.

        Waits for a summary that is just being written. What is said meanwhile is not covered and
        stays as it is. Raises CompactionError, and then everything is as it was; so it is after
        Ctrl-C.
        """
        session.require_writable()
        with self._one_at_a_time():
            if session.summary_undone:
                raise CompactionStopped("The last summary was taken back. Nothing was changed.")
            return self._compact(session, plan, "")

    def compact_due(self, session: Session, room: int) -> Compacted | None:
        """Summarize what is due, and None when nothing is, or no more: the turn waits for it.

        When one that was under way fails meanwhile, no other is tried at once.
        """
        failed = self._attempts.get(session.id, 0)
        with self._one_at_a_time():
            if self._attempts.get(session.id, 0) > failed:
                raise CompactionError(f"The summary that was under way failed. {ALL_KEPT}")
            plan = self.plan(session, room)
            return None if plan is None else self._compact(session, plan, "")

    def compact_now(self, session: Session, instructions: str = "") -> Compacted:
        """Summarize all but the newest turns, due or not."""
        session.require_writable()
        before = session.summary
        with self._one_at_a_time():
            plan = self.plan_all(session)
            if plan is None and session.summary is not before:
                raise CompactionStopped(
                    "A summary was being written already, and is in force now: /compact show."
                )
            if plan is None:
                raise CompactionError(
                    "There is nothing to summarize yet: the newest turns stay word for word."
                )
            return self._compact(session, plan, instructions)

    @contextmanager
    def giving_way(self) -> Iterator[None]:
        """While a reply is wanted, none is written in the background where both need one model."""
        if not self._gives_way:
            yield
            return
        with self._state:
            self._replying = True
            self._stop()
        try:
            yield
        finally:
            with self._state:
                self._replying = False

    @property
    def writing(self) -> bool:
        """Whether a summary is just being written."""
        return self._writing

    def stop(self) -> None:
        """End the summary that is just being written, if any. Everything stays as it was."""
        with self._state:
            self._stop()

    def _stop(self) -> None:
        if self._writing:
            self._summarizer.stop()

    @contextmanager
    def _one_at_a_time(self) -> Iterator[None]:
        """Wait for a summary that is being written; Ctrl-C while waiting ends that one."""
        try:
            self._busy.acquire()
        except KeyboardInterrupt:
            self.stop()
            raise
        try:
            with self._state:
                if self._replying:
                    raise CompactionStopped("A reply comes first. Nothing was changed.")
                self._writing = True
            yield
        finally:
            with self._state:
                self._writing = False
                self._summarizer.ready()
            self._busy.release()

    def _compact(self, session: Session, plan: CompactionPlan, instructions: str) -> Compacted:
        # Each looked at once: the user may go back at any moment.
        history, previous, count = session.history, session.summary, self._counter.count
        if plan.covered.start != messages_summarized(history, previous):
            raise CompactionStopped("Another summary came first. Nothing was changed.")
        covered = history.slice(plan.covered)
        if not covered or covered[-1].id != plan.last:
            raise CompactionStopped(WENT_BACK)
        before = history.tokens(plan.covered) + summary_tokens(previous, count)
        try:
            summary = self._summarizer.summarize(said(session, covered), previous, instructions)
            summary = msgspec.structs.replace(summary, covers=(history[0].id, covered[-1].id))
            after = summary_tokens(summary, count)
            if after >= max(before, SMALL):
                raise CompactionError(
                    f"The summary takes more room than what it stands for ({after:,} tokens "
                    f"instead of {before:,}). {ALL_KEPT}"
                )
            session.summarize(summary, after=previous)
        except CompactionStopped:
            raise
        except SessionError as error:
            raise CompactionError(f"The summary can't be saved: {error}") from error
        except CompactionError as error:
            self._attempts[session.id] = self._attempts.get(session.id, 0) + 1
            if self.given_up(session):
                raise CompactionError(f"{error} {self._what_fills(session)}".rstrip()) from error
            raise
        self._attempts.pop(session.id, None)
        return Compacted(summary, len(covered), before, after)

    def _what_fills(self, session: Session) -> str:
        """What a user should know when summarizing is given up; empty once they went back."""
        history = session.history
        recent = range(session.summarized, len(history))
        if not recent:
            return ""
        largest = max(recent, key=lambda at: history.tokens(range(at, at + 1)))
        tokens = history.tokens(range(largest, largest + 1))
        return (
            f"It failed {MOST_ATTEMPTS} times and is not tried again by itself: /compact does. "
            f"{len(recent)} messages with {history.tokens(recent):,} tokens wait to be summarized; "
            f"the largest is in turn {history[largest].turn} ({tokens:,} tokens)."
        )


def said(session: Session, messages: Sequence[Message]) -> list[Message]:
    """Messages without turns that were rejected: a model would refuse them again."""
    rejected = session.rejected
    return [one for one in messages if one.turn not in rejected]
