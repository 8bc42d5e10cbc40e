"""Retrieval: from a message to the exchanges of all sessions that bear on it.

Candidates come from the index, by meaning and by words, with their neighbours; or, while the index
can't be searched, from the session files by words alone. One linear score ranks them (`ranking`),
a floor lets nothing be the answer, and what is left fills a token budget in the order of the score
and is printed in the order of time (`recalled_text`).
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence, Set
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import msgspec

from assistant.errors import EmbedderError, EntryError, MemoryIndexError
from assistant.memory.assembly import Shares
from assistant.memory.recall.indexer import Indexer, digest
from assistant.memory.session import Session
from assistant.memory.session_store import SessionStore
from assistant.messages import Exchange, Fact, Recalled
from assistant.prompt import Recollection
from assistant.protocols import IndexRow, TokenCounter

if TYPE_CHECKING:
    from assistant.memory.recall.corpus_statistics import CorpusStatistics
    from assistant.memory.recall.log_rows import LogRows
    from assistant.memory.recall.query import Query
    from assistant.memory.recall.ranking import Question, Ranked
    from assistant.memory.times.date_ranges import DateRange
    from assistant.protocols import MemoryIndex, Vector

log = logging.getLogger(__name__)

#: Candidates of each kind of search.
CANDIDATES = 50
#: The same where most of them turned out to be copies of others.
MORE_CANDIDATES = 200
#: Exchanges on either side of a candidate, which lend it weight.
REACH = 2
#: Tokens below which no exchange can be told.
LEAST_ROOM = 60
#: Tokens of what a second look may find; a tool's result is cut to its own limit after that.
FOUND_ROOM = 1_500
#: Characters of each side of an exchange that a second look shows.
FOUND_LENGTH = 600
#: Of those that were passed over, how many are shown.
PASSED_OVER = 5
#: Seconds that a turn waits for the index to be opened; later turns find it open.
PATIENCE = 2.0
#: Seconds without the embedder after it failed, so that not every turn waits for it.
EMBEDDER_PAUSE = 60.0


class _Candidates(msgspec.Struct, frozen=True):
    """What was found, before it is ranked."""

    rows: Sequence[IndexRow]
    statistics: CorpusStatistics
    words: Sequence[str]
    """The question's terms, without the names of those who take part."""
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
        facts_then: Callable[[str, datetime], Sequence[Fact]] = lambda question, now: (),
        clock: Callable[[], datetime],
        monotonic: Callable[[], float],
        patience: float = PATIENCE,
    ) -> None:
        self._indexer = indexer
        self._store = store
        self._counter = counter
        self._facts_then = facts_then
        self._clock = clock
        self._monotonic = monotonic
        self._patience = patience
        self._logs: LogRows | None = None
        self._embedder_again_at = float("-inf")

    def recall(self, session: Session, shares: Shares) -> Recollection:
        """What bears on the session's last message and is not sent word for word anyway."""
        from assistant.memory.recall.query import query_of

        if shares.recalled_room < LEAST_ROOM:
            return Recollection()
        sent = [session.exchange(turn) for turn in shares.recent_turns]
        return self._recollect(
            query_of(session),
            shares.recalled_room,
            digests={digest(one) for one in sent if one},
            ids={f"{session.id}.{turn}" for turn in (*shares.recent_turns, *session.rejected)},
        )

    def look_up(self, text: str, room: int) -> Recollection:
        """What a question would bring up by itself, in `room` tokens."""
        from assistant.memory.recall.query import Query

        return self._recollect(Query(text), room, digests=set(), ids=set())

    def found(
        self, question: str, start: datetime | None, end: datetime | None, *, not_in: str
    ) -> Sequence[str]:
        """The exchanges that bear on a question and were said in that time, in order of time.

        Not the turn `not_in`, which asks. Where the search was not complete, that is said.
        """
        from assistant.memory.recall.query import Query

        # Those of another time are left out afterwards: more is looked at where that will be many.
        room = FOUND_ROOM if start is None and end is None else 10 * FOUND_ROOM
        recollection = self._recollect(Query(question), room, digests=set(), ids={not_in})
        said = [one.exchange for one in recollection.items]
        told = [_with_place(one) for one in said if _within(one.ts, start, end)]
        then = [f"{one.said.astimezone():%a %Y-%m-%d}: {one.text}" for one in recollection.facts]
        problem = [f"(The search was not complete: {recollection.problem})"]
        return [*then, *told, *(problem if recollection.problem else [])]

    # --- from question to recollection ----------------------------------------------------------

    def _recollect(
        self, query: Query, room: int, *, digests: Set[str], ids: Set[str]
    ) -> Recollection:
        """`digests` and `ids` are those of exchanges that are not to be recalled."""
        try:
            return self._searched(query, room, digests, ids)
        except Exception as error:
            # A fault in here must not cost anyone a turn.
            log.exception("Nothing could be recalled")
            bug = f"Recall failed (a bug: {type(error).__name__}); the log file has the details."
            self._indexer.say_once(bug)
            return Recollection(query.whole, problem=bug)

    def _searched(self, query: Query, room: int, digests: Set[str], ids: Set[str]) -> Recollection:
        from assistant.memory.recall.query import asked_speaker
        from assistant.memory.recall.ranking import Question, rank, worth_recalling
        from assistant.memory.recall.recalled_text import recalled_text
        from assistant.memory.times.named_dates import named_dates

        now = self._clock()
        zone = now.tzinfo or UTC
        candidates = self._candidates(query.whole)
        question = Question(
            candidates.words,
            candidates.vector,
            named_dates(query.text, now),
            zone,
            asked_speaker(query.text),
        )
        rows = self._allowed(candidates.rows, digests, ids)
        ranked = rank(question, rows, candidates.statistics)
        relevant = worth_recalling(question, ranked)
        facts, told = self._told_then(query.text, now, room)
        chosen = self._fitting(question, relevant, room - self._counter.count(told))
        return Recollection(
            query=query.whole,
            text="\n".join(part for part in (told, recalled_text(chosen, zone)) if part),
            facts=facts,
            items=tuple(_recalled(one) for one in chosen),
            passed_over=_passed_over(ranked, relevant, chosen),
            dates=", ".join(map(_days, question.dates)),
            problem=candidates.problem,
        )

    def _told_then(self, question: str, now: datetime, room: int) -> tuple[tuple[Fact, ...], str]:
        """For a question about then: the facts of that time, and as lines with their dates."""
        from assistant.memory.facts.fact_text import fact_line
        from assistant.memory.language import language_of

        try:
            found = self._facts_then(question, now)
        except EntryError as error:
            self._indexer.say_once(str(error))
            return (), ""
        facts: list[Fact] = []
        lines: list[str] = []
        for fact in found:
            line = fact_line(fact, language_of(fact.text))
            if self._counter.count("\n".join([*lines, line])) <= room // 2:
                facts.append(fact)
                lines.append(line)
        return tuple(facts), "\n".join(lines)

    def _allowed(
        self, rows: Sequence[IndexRow], digests: Set[str], ids: Set[str]
    ) -> list[IndexRow]:
        """Rows of sessions that are still there, each text once, without those named.

        A fork has the same exchanges as the session it was made from.
        """
        seen = set(digests)
        there = {one for one in {row.session for row in rows} if self._store.has(one)}
        left = []
        for row in sorted(rows, key=lambda row: row.ts):
            if row.id not in ids and row.digest not in seen and row.session in there:
                seen.add(row.digest)
                left.append(row)
        return left

    def _fitting(self, question: Question, relevant: Sequence[Ranked], room: int) -> list[Ranked]:
        """What fits the room as it stands in the prompt, with the block around it."""
        from assistant.memory.background import recalled_block
        from assistant.memory.recall.recalled_text import fill, recalled_text

        def tokens(chosen: Sequence[Ranked]) -> int:
            return count(f"\n\n{recalled_block(recalled_text(chosen, question.zone))}")

        count = self._counter.count
        chosen = fill(question, relevant, room - tokens(()), count)
        # Headings that come again, and tokens that differ where lines meet, may still be too much.
        while chosen and tokens(chosen) > room:
            worst = min(chosen, key=lambda one: one.score)
            chosen = [one for one in chosen if one is not worst]
        return chosen

    # --- candidates -----------------------------------------------------------------------------

    def _candidates(self, text: str) -> _Candidates:
        index, statistics = self._indexer.searchable(self._patience), self._indexer.statistics
        if index is None or statistics is None:
            why = f"Words alone were looked for: {self._indexer.why_not()}"
            return msgspec.structs.replace(self._from_logs(text), problem=why)
        try:
            return self._from_index(index, statistics, text)
        except MemoryIndexError as error:
            self._indexer.failed(error)
            return msgspec.structs.replace(self._from_logs(text), problem=str(error))

    def _from_index(
        self, index: MemoryIndex, statistics: CorpusStatistics, text: str
    ) -> _Candidates:
        from assistant.memory.recall.terms import terms

        asked = statistics.without_participants(text)
        words = terms(asked)
        vector, problem = self._vector(asked)
        rows: Sequence[IndexRow] = ()
        for limit in (CANDIDATES, MORE_CANDIDATES):
            hits = index.search(vector, words, limit)
            found = {hit.id for hit in (*hits.dense, *hits.keyword)}
            rows = index.rows(sorted({near for one in found for near in _around(one)}))
            # Copies of one text, as forks have them, would leave no room for others.
            texts = {row.digest for row in rows if row.id in found}
            if len(texts) > len(found) // 2 or len(found) < limit:
                break
        return _Candidates(rows, statistics, words, vector, problem)

    def _vector(self, text: str) -> tuple[Vector | None, str]:
        """The question's vector, or why there is none: then words alone are searched."""
        embedder = self._indexer.embedder
        if embedder is None or self._monotonic() < self._embedder_again_at:
            return None, ""
        try:
            return embedder.embed_query(text), ""
        except EmbedderError as error:
            self._embedder_again_at = self._monotonic() + EMBEDDER_PAUSE
            self._indexer.say_once(str(error))
            return None, str(error)

    def _from_logs(self, text: str) -> _Candidates:
        """By words alone, from the session files, which are complete whatever the index is."""
        from assistant.memory.recall.corpus_statistics import CorpusStatistics
        from assistant.memory.recall.log_rows import LogRows
        from assistant.memory.recall.ranking import keyword_hits
        from assistant.memory.recall.terms import terms

        if self._logs is None:
            self._logs = LogRows(self._store)
        rows = self._logs.rows(terms(text))
        statistics = CorpusStatistics.of(rows)
        words = terms(statistics.without_participants(text))
        hits = keyword_hits(words, rows, statistics, CANDIDATES)
        ids = {near for hit in hits for near in _around(hit.id)}
        return _Candidates([row for row in rows if row.id in ids], statistics, words)


def _around(row_id: str) -> Sequence[str]:
    """An exchange, and the two before and after it in its session."""
    session, _, turn = row_id.rpartition(".")
    return [f"{session}.{int(turn) + step}" for step in range(-REACH, REACH + 1)]


def _days(named: DateRange) -> str:
    return str(named.start) if named.start == named.end else f"{named.start} to {named.end}"


def _recalled(one: Ranked, left_out: str = "") -> Recalled:
    row = one.row
    ts = datetime.fromtimestamp(row.ts / 1000, UTC) if row.ts else None
    exchange = Exchange(row.session, row.turn, ts, row.user, row.assistant)
    return Recalled(exchange, one.score, one.parts, left_out)


def _passed_over(
    ranked: Sequence[Ranked], relevant: Sequence[Ranked], chosen: Sequence[Ranked]
) -> tuple[Recalled, ...]:
    """The best of what does not stand in the prompt, and why."""
    above = {one.row.id for one in relevant}
    taken = {one.row.id for one in chosen}
    left = [one for one in ranked if one.row.id not in taken]
    return tuple(
        _recalled(one, "no room" if one.row.id in above else "not relevant enough")
        for one in left[:PASSED_OVER]
    )


def _within(said: datetime | None, start: datetime | None, end: datetime | None) -> bool:
    if start is None and end is None:
        return True
    return said is not None and (start is None or start <= said) and (end is None or said < end)


def _with_place(exchange: Exchange) -> str:
    """An exchange with its day and its id, in lines for a model."""
    day = f"{exchange.ts.astimezone():%a %Y-%m-%d}" if exchange.ts else "at an unknown time"
    sides = (("user", exchange.user), ("assistant", exchange.assistant))
    said = (f"{who}: {' '.join(text.split())[:FOUND_LENGTH]}" for who, text in sides if text)
    return "\n".join([f"{day} ({exchange.id})", *said])
