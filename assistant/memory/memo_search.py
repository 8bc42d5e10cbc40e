"""Finding memos: by their words at once, by meaning as far as the embedder has come.

The two are not simply mixed: where a memo has most of what was asked for in so many words, it
stands first, so that a name or a code is never outranked by something alike. The others follow by
reciprocal ranks, as scores of different kinds do not compare.
"""

from __future__ import annotations

import heapq
import logging
import math
import threading
from collections import Counter
from collections.abc import Callable, Mapping, Sequence, Set
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

import msgspec

from assistant.errors import EmbedderError
from assistant.memory.recall.terms import terms
from assistant.messages import Memo
from assistant.protocols import Embedder, IndexRow

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from assistant.memory.recall.corpus_statistics import CorpusStatistics
    from assistant.protocols import Vector

log = logging.getLogger(__name__)

#: Memos of each kind of search.
FOUND = 200
#: A memo that has this part of what the words of a question weigh was meant by them.
MEANT = 0.5
#: A memo that has less of it than this has the words by chance.
BY_CHANCE = 0.12
#: How far a memo and a question must differ from the usual in the same direction (a cosine, see
#: CorpusStatistics.kinship). Measured by benchmarks/memos.py with both local embedders.
KINSHIP = 0.36
#: How long it is done without the embedder after it failed.
PAUSE = timedelta(seconds=60)
#: Memos embedded between two looks at whether somebody asks.
EMBEDDED_AT_ONCE = 16

#: BM25's usual parameters: how soon a word repeated counts no more, how much length matters.
_SATURATION, _LENGTH = 1.2, 0.75
#: Among fewer memos than this no word is rare yet: they weigh as if there were so many.
_YOUNG = 200
#: A character or a pair is less than a word, and a Chinese word comes as three of them.
_UNSPACED_TERM = 0.5
#: What a rank further down is worth less; the usual constant of reciprocal rank fusion.
_RANKS = 60

#: Words that ask for a memo and do not say which one.
_ASKING = frozenset(
    terms(
        "memo memos note notes noted find found look show search tell say said write wrote written "
        "save saved remember like want need please get got make know thing things anything "
        "something 备忘录 备忘 笔记 记录 记下 记得 帮 请 找 找找 看看 查 查查 说 写 关于"
    )
)


class MemoSearch:
    """Words and vectors of all memos, kept up as they change. Safe to share between threads."""

    def __init__(
        self,
        embedder: Callable[[], Embedder | None],
        clock: Callable[[], datetime],
        patience: float,
    ) -> None:
        self._words = MemoWords()
        self._meaning = MemoMeaning(embedder, clock, patience)
        self._lock = threading.Lock()

    def put(self, memo_id: str, memo: Memo | None) -> None:
        """A memo is new or was changed; None: it is gone."""
        with self._lock:
            self._words.put(memo_id, memo)
            self._meaning.put(memo_id, memo.text if memo else None)

    def best(self, query: str) -> Sequence[str]:
        """Ids of the memos that bear on it, best first. Empty when none does."""
        near = self._meaning.near(query)
        with self._lock:
            words = self._words.found(query)
        meant = dict.fromkeys(one.id for one in words if one.share >= MEANT)
        ranks: dict[str, float] = {}
        for ids in ([one.id for one in words], near):
            for rank, one in enumerate(ids):
                ranks[one] = ranks.get(one, 0.0) + 1 / (_RANKS + rank)
        others = [one for one in sorted(ranks, key=lambda one: -ranks[one]) if one not in meant]
        return [*meant, *others]


class WordHit(msgspec.Struct, frozen=True):
    """A memo with words of a question in it."""

    id: str
    score: float
    """By BM25."""
    share: float
    """The part it has of what the question's words weigh together: 0 to 1."""


class MemoWords:
    """Which memos have which terms."""

    def __init__(self) -> None:
        self._memos: dict[str, Memo] = {}
        self._terms: dict[str, tuple[str, ...]] = {}
        self._lengths: dict[str, int] = {}
        self._with_term: dict[str, dict[str, int]] = {}
        self._length = 0

    def put(self, memo_id: str, memo: Memo | None) -> None:
        """A memo is new or was changed; None: it is gone."""
        self._memos.pop(memo_id, None)
        self._length -= self._lengths.pop(memo_id, 0)
        for term in self._terms.pop(memo_id, ()):
            with_term = self._with_term[term]
            del with_term[memo_id]
            if not with_term:
                del self._with_term[term]
        if memo is None:
            return
        counts = Counter(terms("\n".join((memo.text, *memo.tags))))
        self._memos[memo_id], self._terms[memo_id] = memo, tuple(counts)
        self._lengths[memo_id] = counts.total()
        self._length += counts.total()
        for term, count in counts.items():
            self._with_term.setdefault(term, {})[memo_id] = count

    def found(self, query: str) -> Sequence[WordHit]:
        """Memos with words of a question in them, best first, of equals the newest.

        A question without any word, such as "C++" or "我的", is looked for as it stands.
        """
        asked = dict.fromkeys(terms(query))
        wanted = [term for term in asked if term not in _ASKING] or list(asked)
        if not wanted:
            return self._as_it_stands(query)
        whole = _whole_words(wanted)
        able = set[str]().union(*(self._with_term.get(one, ()) for one in whole))
        weights = {term: self._weight(term) for term in wanted}
        shares = self._shares(weights)
        able = {one for one in able if shares[one] >= BY_CHANCE}
        scores = self._scores(weights, able)
        best = heapq.nlargest(FOUND, able, key=lambda one: (scores[one], self._age(one)))
        return [WordHit(one, scores[one], shares[one]) for one in best]

    def _as_it_stands(self, query: str) -> Sequence[WordHit]:
        asked = query.casefold().strip()
        hits = [
            WordHit(one, 1.0, 1.0)
            for one, memo in self._memos.items()
            if asked and asked in memo.text.casefold()
        ]
        return heapq.nlargest(FOUND, hits, key=lambda hit: self._age(hit.id))

    def _age(self, memo_id: str) -> datetime:
        return self._memos[memo_id].written

    def _weight(self, term: str) -> float:
        memos, occurs = max(len(self._memos), _YOUNG), len(self._with_term.get(term, ()))
        rarity = math.log(1 + (memos - occurs + 0.5) / (occurs + 0.5))
        return rarity if term.isascii() else _UNSPACED_TERM * rarity

    def _scores(self, weights: Mapping[str, float], able: Set[str]) -> dict[str, float]:
        usual = max(1.0, self._length / max(1, len(self._memos)))
        dampened = {
            one: _SATURATION * (1 - _LENGTH + _LENGTH * self._lengths[one] / usual) for one in able
        }
        scores = dict.fromkeys(able, 0.0)
        for term, weight in weights.items():
            for one, count in self._with_term.get(term, {}).items():
                if one in able:
                    scores[one] += weight * count * (_SATURATION + 1) / (count + dampened[one])
        return scores

    def _shares(self, weights: Mapping[str, float]) -> dict[str, float]:
        together = sum(weights.values())
        shares: dict[str, float] = {}
        for term, weight in weights.items():
            for one in self._with_term.get(term, ()):
                shares[one] = shares.get(one, 0.0) + weight / together
        return shares


def _whole_words(wanted: Sequence[str]) -> Sequence[str]:
    """The terms of which one alone says something: no character that is a part of a pair."""
    in_pairs = {character for term in wanted if _is_pair(term) for character in term}
    return [term for term in wanted if term not in in_pairs]


def _is_pair(term: str) -> bool:
    return len(term) == 2 and not term.isascii()


class _Asked:
    """A question on its way to the embedder."""

    def __init__(self, query: str) -> None:
        self.query = query
        self.vector: Vector | None = None
        self.answered = threading.Event()


class MemoMeaning:
    """Which memos mean about the same. Embeds on a thread of its own, and lets nobody wait long.

    The thread ends when nothing is left to embed. An embedder that failed is left alone a while.
    """

    def __init__(
        self,
        embedder: Callable[[], Embedder | None],
        clock: Callable[[], datetime],
        patience: float,
    ) -> None:
        self._embedder = embedder
        self._clock = clock
        self._patience = patience
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None
        self._asked: list[_Asked] = []
        self._again_at: datetime | None = None
        self._texts: dict[str, str] = {}
        self._missing: dict[str, None] = {}
        self._of = ""
        self._vectors: dict[str, Vector] = {}
        self._stacked: tuple[list[str], NDArray[np.float32]] | None = None
        self._statistics: CorpusStatistics | None = None

    def put(self, memo_id: str, text: str | None) -> None:
        """A memo is new or was changed; None: it is gone. Nothing is embedded yet."""
        with self._lock:
            if text is not None and self._texts.get(memo_id) == text:
                return
            self._vectors.pop(memo_id, None)
            self._missing.pop(memo_id, None)
            self._texts.pop(memo_id, None)
            self._stacked = None
            if text is not None:
                self._texts[memo_id] = text
                self._missing[memo_id] = None

    def near(self, query: str) -> Sequence[str]:
        """Ids of the memos that mean about the same as a question, the nearest first.

        Among those that are embedded by now; empty when the question could not be, in time.
        """
        asked = _Asked(query)
        with self._lock:
            if not self._texts or (self._again_at and self._clock() < self._again_at):
                return ()
            self._asked.append(asked)
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="memos", daemon=True)
                self._thread.start()
        asked.answered.wait(self._patience)
        with self._lock:
            return () if asked.vector is None else self._nearest(asked.vector)

    def _nearest(self, question: Vector) -> Sequence[str]:
        import numpy as np

        if not self._vectors or self._statistics is None:
            return ()
        if self._stacked is None:
            self._stacked = list(self._vectors), np.stack(list(self._vectors.values()))
        ids, vectors = self._stacked
        kinship = self._statistics.kinship(question, vectors)
        if kinship is None:
            return ()
        best = np.argsort(-kinship, kind="stable")[:FOUND]
        return [ids[at] for at in best if kinship[at] >= KINSHIP]

    # --- on the thread --------------------------------------------------------------------------

    def _run(self) -> None:
        waiting: list[_Asked] = []
        try:
            embedder = self._embedder()
            while True:
                with self._lock:
                    asked, self._asked = self._asked, []
                    waiting += asked
                    missing = list(self._missing)[:EMBEDDED_AT_ONCE]
                    if embedder is None or not (asked or missing):
                        break
                self._embed(embedder, asked, missing)
                with self._lock:
                    done = not self._missing
                if done:
                    _answer(waiting)
        except EmbedderError as error:
            log.info("Memos are searched by words alone: %s", error)
            self._pause()
        except Exception:
            # A fault in here must not cost anyone the words.
            log.exception("Memos are searched by words alone")
            self._pause()
        finally:
            with self._lock:
                self._thread = None
                waiting += self._asked
                self._asked = []
            _answer(waiting)

    def _pause(self) -> None:
        self._again_at = self._clock() + PAUSE

    def _embed(self, embedder: Embedder, asked: Sequence[_Asked], missing: Sequence[str]) -> None:
        from assistant.memory.recall.corpus_statistics import EMPTY_QUESTIONS, CorpusStatistics

        statistics = self._statistics
        if statistics is None or embedder.name != self._of:
            empty = [embedder.embed_query(one) for one in EMPTY_QUESTIONS]
            statistics = CorpusStatistics(empty)
            with self._lock:
                # Vectors of another embedder are never compared with these.
                self._of, self._statistics = embedder.name, statistics
                self._vectors, self._stacked = {}, None
                self._missing = dict.fromkeys(self._texts)
        for question in asked:
            question.vector = embedder.embed_query(question.query)
        with self._lock:
            texts = {one: self._texts[one] for one in missing if one in self._texts}
        if not texts:
            return
        vectors = embedder.embed_documents(list(texts.values()))
        with self._lock:
            for (one, text), vector in zip(texts.items(), vectors, strict=True):
                if self._texts.get(one) == text:
                    self._missing.pop(one, None)
                    self._vectors[one] = vector
                    statistics.add([IndexRow(one, "", 0, 0, text, "", (), "", vector)])
            self._stacked = None


def _answer(waiting: list[_Asked]) -> None:
    for one in waiting:
        one.answered.set()
    waiting.clear()
