"""What happens to a finished turn while the user reads the reply."""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Literal

from assistant.errors import ChatModelError, CompactionError, CompactionStopped
from assistant.learning import Learner
from assistant.memory.compaction.compaction_plan import CompactionPlan
from assistant.memory.promises import Promises
from assistant.memory.recall.indexer import Indexer
from assistant.memory.session import Session
from assistant.memory.titles import title_from_reply, title_from_words
from assistant.messages import Message
from assistant.turn import Pipeline, Turn
from assistant.worker import Worker

log = logging.getLogger(__name__)

TITLE_TOKENS = 40


class Asides:
    """Sentences for the user from jobs in the background, until there is a moment to show them."""

    def __init__(self) -> None:
        self._sentences: deque[str] = deque()

    def say(self, text: str) -> None:
        """From any thread."""
        self._sentences.append(text)

    def take(self) -> Iterator[str]:
        """All that were not shown yet, each once."""
        while self._sentences:
            yield self._sentences.popleft()


@dataclass(frozen=True)
class Afterwards:
    """Hands on what the next prompt need not wait for."""

    pipeline: Pipeline
    worker: Worker
    indexer: Indexer
    learner: Learner
    promises: Promises
    asides: Asides
    title_by: Literal["model", "words", "off"]
    title_prompt: str
    plans_ahead: bool
    """Whether older turns are summarized in the background."""
    finish_erasing: Callable[[], str]
    """Goes on with an erase that another terminal could not finish, and says what came of it."""

    def take(self, session: Session, turn: Turn) -> None:
        self.worker.submit("finish an erase", self._finish_erasing)
        for number in (session.turn_before(turn.question.turn), turn.question.turn):
            # The one before, too, when it got no reply: nothing was handed over then.
            exchange = session.exchange(number)
            unanswered = exchange is not None and not exchange.assistant
            if exchange and not session.private and (unanswered or number == turn.question.turn):
                self.indexer.add(exchange)
        reply, model = turn.reply, self.pipeline.model
        if reply is None:
            return
        if usage := reply.usage:
            self.worker.submit(
                "compare token counts",
                lambda: self.pipeline.profiles.measured(
                    model.address,
                    model.name,
                    ours=turn.prompt.tokens,
                    theirs=usage.prompt_tokens,
                ),
            )
        if session.title is None and not session.private and self.title_by != "off":
            session.rename(title_from_words(turn.question.text), by="auto")
            if self.title_by == "model" and not reply.cut_short:
                self.worker.submit("title the session", lambda: self._title(session, turn))
        if not session.private:
            said = session.history.slice(session.history.turn(turn.question.turn))
            self.worker.submit("note promises", lambda: self.promises.note(session.id, said))
        # Last, because it takes longest.
        compactor = self.pipeline.compactor
        plan = compactor.plan_ahead(session, turn.prompt.history_room) if self.plans_ahead else None
        if plan is not None:
            self.worker.submit("summarize older turns", lambda: self._compact(session, plan))
        self.learner.go_on()

    def _finish_erasing(self) -> None:
        if sentence := self.finish_erasing():
            self.asides.say(sentence)

    def _compact(self, session: Session, plan: CompactionPlan) -> None:
        try:
            done = self.pipeline.compactor.compact(session, plan)
        except CompactionStopped as stopped:
            log.info("%s", stopped)
        except CompactionError as error:
            self.asides.say(str(error))
        else:
            self.asides.say(
                f"{done.messages} older messages are summarized ({done.tokens_before:,} tokens → "
                f"{done.tokens_after:,}). /compact show shows it, /compact undo takes it back."
            )
            if not session.private:
                self.learner.look_at(session.id)

    def _title(self, session: Session, turn: Turn) -> None:
        question, reply = turn.question.text, turn.reply.text if turn.reply else ""
        messages = (
            Message(role="system", content=self.title_prompt),
            Message(role="user", content=f"User: {question[:2000]}\n\nAssistant: {reply[:2000]}"),
        )
        parts = self.pipeline.model.stream(messages, max_tokens=TITLE_TOKENS)
        try:
            title = title_from_reply("".join(part.text for part in parts))
        except ChatModelError as error:
            log.warning("No title from the model: %s", type(error).__name__)
            return
        if title:
            session.rename(title, by="auto")
