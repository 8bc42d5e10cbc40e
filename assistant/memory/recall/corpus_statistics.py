"""What is usual among all exchanges, so that what is special about a few of them shows."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from assistant.memory.recall.terms import terms
from assistant.protocols import IndexRow

if TYPE_CHECKING:
    from assistant.protocols import Vector

#: Rows that the figures rest on; later ones would hardly move them.
SAMPLE = 2_000

#: With fewer rows than this a memory is young: they don't tell yet which words are rare.
YOUNG = 200

#: Questions about nothing. What a question has in common with these is only that it is one.
EMPTY_QUESTIONS = (
    "What did I say about it?",
    "When was that?",
    "Who was there?",
    "How did it go?",
    "我说过什么？",
    "那是什么时候？",
    "你给我推荐了什么？",
    "后来怎么样了？",
)

# A name that stands in a tenth of all exchanges is that of someone who takes part in them.
_COMMON_NAME = 0.1
# Before there are so many exchanges, a word is in a tenth of them by chance.
_ENOUGH = 30
# Similarities of a few vectors say little about how far they spread: until there are more, they
# count as spread over this part of the way from their mean to 1, as much as so many rows do.
_USUAL_SPREAD = 0.13
_WEIGHT_OF_USUAL = 8

_NAME = re.compile(r"\b([^\W\d_a-z][^\W\d_]+)(?:['\u2019]s)?(?![^\W_])")


class CorpusStatistics:
    """How often words occur, how long exchanges are, and how near vectors are to each other."""

    def __init__(self, empty_questions: Sequence[Vector] = ()) -> None:
        """`empty_questions` are the vectors of EMPTY_QUESTIONS, where there is an embedder."""
        self.rows = 0
        """How many the figures rest on."""
        self._with_term: Counter[str] = Counter()
        self._length = 0
        self._vectors: list[Vector] = []
        self._stacked: NDArray[np.float32] | None = None
        self._no_question = np.mean(empty_questions, axis=0) if len(empty_questions) else None

    @classmethod
    def of(
        cls, sample: Iterable[IndexRow], empty_questions: Sequence[Vector] = ()
    ) -> CorpusStatistics:
        statistics = cls(empty_questions)
        statistics.add(sample)
        return statistics

    def add(self, rows: Iterable[IndexRow]) -> None:
        """Take more rows into account, up to SAMPLE of them."""
        for row in rows:
            if self.rows == SAMPLE:
                return
            self.rows += 1
            self._with_term.update(set(row.terms))
            self._length += len(row.terms)
            if row.vector is not None:
                self._vectors.append(row.vector)
                self._stacked = None

    @property
    def mean_length(self) -> float:
        """Terms an exchange has; at least 1."""
        return max(1.0, self._length / max(1, self.rows))

    @property
    def rarest(self) -> float:
        """The weight of a word that never occurred."""
        return self.rarity("")

    def rarity(self, term: str) -> float:
        """The weight of a word: BM25's inverse document frequency.

        In a young memory every word stands in a good part of the exchanges. There they weigh as if
        there were YOUNG of them.
        """
        rows, occurs = max(self.rows, YOUNG), self._with_term[term]
        return math.log(1 + (rows - occurs + 0.5) / (occurs + 0.5))

    def share(self, term: str) -> float:
        """The part of the exchanges that have this term: 0 to 1."""
        return self._with_term[term] / max(1, self.rows)

    def similarity(self, question: Vector) -> tuple[float, float]:
        """The mean and the spread of the cosine similarities between a question and all."""
        sample = self._sample()
        if not len(sample):
            return 0.0, 1.0
        found = sample @ question
        mean = float(found.mean())
        usual = (_USUAL_SPREAD * (1 - mean)) ** 2
        rows = len(found)
        variance = (rows * float(found.var()) + _WEIGHT_OF_USUAL * usual) / (
            rows + _WEIGHT_OF_USUAL
        )
        return mean, math.sqrt(max(variance, 1e-12))

    def kinship(self, question: Vector, vectors: NDArray[np.float32]) -> NDArray[np.float32] | None:
        """How far a question and exchanges differ from the usual in the same direction: −1 to 1.

        These are cosines after what all questions, and all exchanges, have in common was taken
        off; unlike plain ones they mean about the same with every embedder. None where the empty
        questions, or enough exchanges, are missing.
        """
        sample = self._sample()
        if self._no_question is None or not len(sample):
            return None
        asked = question - self._no_question
        # A few exchanges have more in common than all will have.
        known = _WEIGHT_OF_USUAL * self._no_question + sample.sum(axis=0)
        said = vectors - known / (_WEIGHT_OF_USUAL + len(sample))
        lengths = np.linalg.norm(asked) * np.linalg.norm(said, axis=1)
        found: NDArray[np.float32] = (said @ asked) / np.maximum(lengths, 1e-6)
        return found

    def without_participants(self, text: str) -> str:
        """`text` without the names of those who take part in the exchanges.

        They stand in so many exchanges that they say nothing about which is meant, and draw the
        text's vector towards all of them.
        """
        if self.rows < _ENOUGH:
            return text
        left = _NAME.sub(lambda found: "" if self.is_participant(found[1]) else found[0], text)
        return " ".join(left.split()) if terms(left) else text

    def is_participant(self, name: str) -> bool:
        """Whether a name stands in so many exchanges that it must be a participant's."""
        found = terms(name)
        return bool(found) and all(self.share(term) >= _COMMON_NAME for term in found)

    def _sample(self) -> NDArray[np.float32]:
        if self._stacked is None:
            vectors = self._vectors
            self._stacked = np.stack(vectors) if vectors else np.zeros((0, 0), np.float32)
        return self._stacked
