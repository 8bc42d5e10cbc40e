"""Looking for facts in conversations, on the worker: when they are summarized or left."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime, timedelta
from functools import cached_property
from typing import TYPE_CHECKING

from assistant.errors import ChatModelError, EntryError, SessionError
from assistant.memory.session_store import SessionStore
from assistant.messages import Exchange
from assistant.worker import Job

if TYPE_CHECKING:
    from assistant.memory.facts.fact_extractor import Extraction, FactExtractor
    from assistant.memory.facts.facts import Facts

log = logging.getLogger(__name__)

#: Sessions left in earlier runs that are looked at after a start, and how old they may be.
MOST_LEFT = 5
LATELY = timedelta(days=30)


class Learner:
    """Has the extractor look at sessions, one after the other. What it finds is said aside."""

    def __init__(
        self,
        make_extractor: Callable[[], FactExtractor],
        facts: Callable[[], Facts],
        store: SessionStore,
        *,
        submit: Callable[[str, Job], None],
        say: Callable[[str], None],
        clock: Callable[[], datetime],
        on: bool,
        gives_way: bool,
    ) -> None:
        """`gives_way`: the model can't answer beside it, so a turn comes first."""
        self._make_extractor = make_extractor
        self._facts = facts
        self._store = store
        self._submit = submit
        self._say = say
        self._clock = clock
        self._on = on
        self._gives_way = gives_way
        self._interrupted: set[str] = set()
        """Sessions whose look gave way to a reply."""

    @cached_property
    def _extractor(self) -> FactExtractor:
        return self._make_extractor()

    def look_at(self, session_id: str) -> None:
        """Look at what a session has that was not looked at yet."""
        if self._on:
            self._submit("learn facts", lambda: self._learn(session_id))

    def look_at_left(self, *, not_at: str) -> None:
        """Look at the sessions that were left lately, the one that is open excepted."""
        if self._on:
            self._submit("look for sessions that were left", lambda: self._find_left(not_at))

    def go_on(self) -> None:
        """Look again at what gave way to a reply."""
        while self._interrupted:
            self.look_at(self._interrupted.pop())

    @contextmanager
    def giving_way(self) -> Iterator[None]:
        """While a reply is wanted, nothing is looked for where both need one model."""
        if not self._gives_way or not self._on:
            yield
            return
        self._extractor.stop()
        try:
            yield
        finally:
            self._extractor.ready()

    def stop(self) -> None:
        """End the look that is under way, for good: the next run goes on from there."""
        if "_extractor" in self.__dict__:
            self._extractor.stop()

    def _find_left(self, open_session: str) -> None:
        since = self._clock() - LATELY
        left = [
            info
            for info in self._store.list()[: MOST_LEFT + 1]
            if info.id != open_session and info.changed >= since
        ]
        for info in left[:MOST_LEFT]:
            if self._facts().extracted(info.id) < info.last_turn:
                self.look_at(info.id)

    def _learn(self, session_id: str) -> None:
        try:
            found = self._extractor.extract(
                session_id, self._store.exchanges(session_id), still_said=self._still_said
            )
        except (ChatModelError, EntryError, SessionError) as error:
            # Nothing is lost: what was not looked at is looked at the next time.
            log.warning("No facts were looked for: %s", type(error).__name__)
            return
        if found.stopped:
            self._interrupted.add(session_id)
        for sentence in _told(found):
            self._say(sentence)

    def _still_said(self, exchange: Exchange) -> bool:
        """Whether nothing of it was erased or taken back while the model wrote."""
        return exchange in self._store.exchanges(exchange.session)


def _told(found: Extraction) -> Sequence[str]:
    """What was found, in sentences for the user."""
    told = []
    new = [one.after.text for one in found.kept if one.after and not one.before]
    if new:
        told.append(f"Remembered about you: {'; '.join(new)}. /memory shows all.")
    for one in found.kept:
        if one.before and one.after:
            now = "it has ended" if one.after.id == one.before.id else f"now: {one.after.text}"
            told.append(f"Changed about you: {one.before.text} → {now}. /memory history shows it.")
    if found.pending:
        told.append(f"{len(found.pending)} facts wait for your word: /memory pending shows them.")
    return told
