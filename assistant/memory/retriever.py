"""Retrieval: from a message to the exchanges of all sessions that bear on it.

Candidates come from the index, by meaning and by words, with their neighbours; or, while the index
can't be searched, from the session files by words alone. One linear score ranks them (`ranking`),
a floor lets nothing be the answer, and what is left fills a token budget in the order of the
score, printed in the order of time.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Iterable, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import msgspec

from assistant.errors import EmbedderError, MemoryIndexError
from assistant.memory.assembly import Shares
from assistant.memory.indexer import Indexer, digest
from assistant.memory.session import Session
from assistant.memory.session_store import SessionStore
from assistant.messages import Exchange, Recalled
from assistant.prompt import Recollection
from assistant.protocols import Hits, IndexRow, TokenCounter

if TYPE_CHECKING:
    from assistant.memory.corpus_statistics import CorpusStatistics
    from assistant.memory.log_rows import LogRows
    from assistant.memory.query import Query
    from assistant.memory.ranking import Question, Ranked
    from assistant.protocols import MemoryIndex, Vector

log = logging.getLogger(__name__)

#: Candidates of each kind of search.
CANDIDATES = 50
#: Tokens below which no exchange can be told.
LEAST_ROOM = 60
#: Of those that were passed over, how many are shown.
PASSED_OVER = 5
#: Seconds that a turn waits for the index to be opened; later turns find it open.
PATIENCE = 2.0
#: Seconds without the embedder after it failed, so that not every turn waits for it.
EMBEDDER_PAUSE = 60.0


class _Candidates(msgspec.Struct, frozen=True):
    """What was found, before it is ranked."""

    rows: Sequence[IndexRow]
    hits: Hits
    statistics: CorpusStatistics
    vector: Vector | None = None
    problem: str = ""


class Retriever:
    """Finds what was said before. Whatever goes wrong, the turn goes on without it, and says so."""

    def __init__(
        self,
        indexer: Indexer,
        store: SessionStore,
        counter: TokenCounter,
        *,
        clock: Callable[[], datetime],
        monotonic: Callable[[], float],
        patience: float = PATIENCE,
    ) -> None:
        self._indexer = indexer
        self._store = store
        self._counter = counter
        self._clock = clock
        self._monotonic = monotonic
        self._patience = patience
        self._logs: LogRows | None = None
        self._embedder_again_at = float("-inf")

    def recall(self, session: Session, shares: Shares) -> Recollection:
        """What bears on the session's last message and is not sent word for word anyway."""
        from assistant.memory.query import query_of

        if shares.recalled_room < LEAST_ROOM:
            return Recollection()
        sent = [session.exchange(turn) for turn in shares.recent_turns]
        query = query_of(session)
        return self._recollect(query, shares.recalled_room, [one for one in sent if one])

    def look_up(self, text: str, room: int) -> Recollection:
        """What a question would bring up by itself, in `room` tokens."""
        from assistant.memory.query import Query

        return self._recollect(Query(text), room, [])
