"""Which of the exchanges that were found bear on a question: one linear score, and a floor.

The weights were fitted on conversations with known evidence, each figure on conversations left out
of the fit, and rounded; benchmarks/recall.py measures what they come to. All figures compare within
one question and any embedder: similarities are counted in spreads from their usual, words in parts
of what the question's words weigh together.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, tzinfo
from typing import TYPE_CHECKING, Literal, TypeAlias

import msgspec
import numpy as np
from numpy.typing import NDArray

from assistant.memory.recall.corpus_statistics import YOUNG, CorpusStatistics
from assistant.memory.recall.terms import terms
from assistant.memory.times.date_ranges import DateRange
from assistant.protocols import Hit, IndexRow

if TYPE_CHECKING:
    from assistant.protocols import Vector

Speaker: TypeAlias = Literal["user", "assistant"]
Figures: TypeAlias = NDArray[np.float64]

# --- weights ------------------------------------------------------------------------------------

WORDS = 4.5
WORDS_AROUND = 9.0
MEANING = 0.7
MEANING_AROUND = 0.3
NAMED_DATE = 4.0
ASKED_SPEAKER = 1.0
IS_QUESTION = -1.5
NAMES = 1.0

#: BM25's usual parameters: how soon a word repeated counts no more, how much length matters.
_SATURATION, _LENGTH = 1.2, 0.75
#: What the words of the exchanges one and two away count, inside a session.
_AROUND = ((1, 0.5), (2, 0.25))

# --- the floor ----------------------------------------------------------------------------------

#: What kinship of meaning counts beside the share of the question's words.
_KINSHIP = 2.0
#: What many words in common count beside the share they are of the question.
_FOUND = 0.5
_DATE_FOUND = 1.0
#: A character or a pair is less than a word, and a Chinese word comes as three of them.
_UNSPACED_TERM = 0.5

FLOOR = 0.95
FLOOR_WORDS_ALONE = 0.6
#: How far below the floor an exchange may be where another one is above it.
ITEM_SLACK = 0.5
#: The more exchanges there are, the better the best of them fits by chance.
_CHANCE = 0.1


class Question(msgspec.Struct, frozen=True):
    """What is asked for."""

    terms: Sequence[str]
    vector: Vector | None = None
    dates: Sequence[DateRange] = ()
    """The days it names, in `zone`."""
    zone: tzinfo = UTC
    speaker: Speaker | None = None
    """Whose words are asked for, where the question says so."""


class Ranked(msgspec.Struct, frozen=True):
    """An exchange and how well it fits a question."""

    row: IndexRow
    score: float
    """That of the better one of its messages; `parts` add up to it."""
    parts: Mapping[str, float]
    relevance: float
    """How much of the question is found in it and around it, beyond chance: the floor's measure."""
    message_scores: tuple[float, float] = (0.0, 0.0)
    """Of the user's message, and of the assistant's."""
    shown: tuple[str, str] = ("", "")
    """As much of the two messages as is printed."""


def rank(
    question: Question, rows: Sequence[IndexRow], statistics: CorpusStatistics
) -> list[Ranked]:
    """All rows, best first. Rows that are neighbours in a session lend each other weight."""
    if not rows:
        return []
    rows = sorted(rows, key=lambda row: (row.session, row.turn))
    around = _Neighbours(rows)
    words = _Words(question, rows, around, statistics)
    meaning = _meaning(question, rows, statistics)
    named = _named_date(question, rows)
    parts = {
        "words": WORDS * words.of_message,
        "words around": _both(WORDS_AROUND * words.around),
        "meaning": _both(MEANING * meaning),
        "meaning around": _both(MEANING_AROUND * around.best(meaning)),
        "named date": _both(NAMED_DATE * named),
        "speaker": ASKED_SPEAKER * _asked_speaker(question, len(rows)),
        "is a question": IS_QUESTION * _is_question(rows),
        "names": NAMES * _names(rows, statistics),
    }
    scores = sum(parts.values(), np.zeros((len(rows), 2)))
    found = words.relevance + _DATE_FOUND * named + _KINSHIP * _kinship(question, rows, statistics)
    found -= _CHANCE * math.log(max(statistics.rows, YOUNG) / YOUNG)
    columns = np.stack(list(parts.values()), axis=2).tolist()
    ranked = [
        _ranked(*each, tuple(parts))
        for each in zip(rows, scores.tolist(), found.tolist(), columns, strict=True)
    ]
    return sorted(ranked, key=lambda one: (-one.score, -one.row.ts, one.row.id))


def _ranked(
    row: IndexRow,
    scores: list[float],
    relevance: float,
    parts: list[list[float]],
    names: tuple[str, ...],
) -> Ranked:
    spoken = [which for which, text in enumerate((row.user, row.assistant)) if text.strip()]
    better = max(spoken or [0], key=scores.__getitem__)
    return Ranked(
        row,
        scores[better],
        {name: part for name, part in zip(names, parts[better], strict=True) if part},
        relevance,
        (scores[0], scores[1]),
    )


def worth_recalling(question: Question, ranked: Sequence[Ranked]) -> list[Ranked]:
    """Those of `ranked` that bear on the question, in their order; none, if no one clearly does."""
    floor = FLOOR_WORDS_ALONE if question.vector is None else FLOOR
    if not any(one.relevance >= floor for one in ranked):
        return []
    return [one for one in ranked if one.relevance >= floor - ITEM_SLACK and one.score > 0]


def keyword_hits(
    wanted: Sequence[str], rows: Sequence[IndexRow], statistics: CorpusStatistics, limit: int
) -> list[Hit]:
    """The best rows by BM25, best first; rows without any of the terms are none."""
    unique = list(dict.fromkeys(wanted))
    counts, lengths = _counts(unique, rows)
    scores = _bm25(counts, lengths, _rarities(unique, statistics), statistics.mean_length)
    best = np.argsort(-scores, kind="stable")[:limit]
    return [Hit(rows[index].id, float(scores[index])) for index in best if scores[index] > 0]


# --- words --------------------------------------------------------------------------------------


class _Words:
    """What of the question's words is found, as parts of what they weigh together."""

    def __init__(
        self,
        question: Question,
        rows: Sequence[IndexRow],
        around: _Neighbours,
        statistics: CorpusStatistics,
    ) -> None:
        wanted = list(dict.fromkeys(question.terms))
        rarities = _rarities(wanted, statistics)
        all_of_it = max(float(rarities.sum()), 1e-9)
        counts, lengths = _counts(wanted, rows)
        message_counts, message_lengths = _message_counts(wanted, rows, counts, lengths)
        usual = statistics.mean_length
        best_possible = all_of_it * (_SATURATION + 1)
        self.of_message = (
            _bm25(message_counts, message_lengths, rarities, usual / 2) / best_possible
        )
        near_counts, near_lengths = around.blended(counts), around.blended(lengths)
        usual_near = usual * (1 + 2 * sum(weight for _, weight in _AROUND))
        self.around = _bm25(near_counts, near_lengths, rarities, usual_near) / best_possible
        found = np.minimum(near_counts, 1) * rarities
        word_weights = np.array([1.0 if one.isascii() else _UNSPACED_TERM for one in wanted])
        self.relevance = found.sum(axis=1) / all_of_it + _FOUND * np.log1p(
            (found * word_weights).sum(axis=1) / statistics.rarest
        )


def _rarities(wanted: Sequence[str], statistics: CorpusStatistics) -> Figures:
    return np.array([statistics.rarity(term) for term in wanted], dtype=np.float64)


def _counts(wanted: Sequence[str], rows: Sequence[IndexRow]) -> tuple[Figures, Figures]:
    """How often each row has each term, shape (rows, terms), and how many terms each row has."""
    column = {term: index for index, term in enumerate(wanted)}
    counts = np.zeros((len(rows), len(wanted)))
    for index, row in enumerate(rows):
        for term in row.terms:
            if term in column:
                counts[index, column[term]] += 1
    return counts, np.array([len(row.terms) for row in rows], dtype=np.float64)


def _message_counts(
    wanted: Sequence[str], rows: Sequence[IndexRow], counts: Figures, lengths: Figures
) -> tuple[Figures, Figures]:
    """The same for each message, shapes (rows, 2, terms) and (rows, 2).

    Only rows that have any of the terms are looked at again; lengths are shared out by characters.
    """
    column = {term: index for index, term in enumerate(wanted)}
    users = np.zeros_like(counts)
    for index in np.flatnonzero(counts.any(axis=1)).tolist():
        for term in terms(rows[index].user):
            if term in column:
                users[index, column[term]] += 1
    users = np.minimum(users, counts)
    shares = np.array([_user_share(row) for row in rows])
    return (
        np.stack([users, counts - users], axis=1),
        np.stack([lengths * shares, lengths * (1 - shares)], axis=1),
    )


def _user_share(row: IndexRow) -> float:
    return len(row.user) / max(1, len(row.user) + len(row.assistant))


def _bm25(counts: Figures, lengths: Figures, rarities: Figures, usual_length: float) -> Figures:
    """Okapi BM25 over the last axis of `counts`."""
    dampened = _SATURATION * (1 - _LENGTH + _LENGTH * lengths / usual_length)
    weighted = rarities * counts * (_SATURATION + 1) / (counts + dampened[..., None] + 1e-12)
    total: Figures = weighted.sum(axis=-1)
    return total


# --- neighbours ---------------------------------------------------------------------------------


class _Neighbours:
    """Which rows stand near each other in a session, as far as they were fetched."""

    def __init__(self, rows: Sequence[IndexRow]) -> None:
        place = {(row.session, row.turn): index for index, row in enumerate(rows)}
        self._at = {
            distance: np.array(
                [place.get((row.session, row.turn + distance), -1) for row in rows], dtype=np.intp
            )
            for steps, _ in _AROUND
            for distance in (-steps, steps)
        }

    def blended(self, figures: Figures) -> Figures:
        """Each row's figures, and its neighbours' with the weight of their distance."""
        total = figures.copy()
        for steps, weight in _AROUND:
            for distance in (-steps, steps):
                total += weight * self._moved(figures, distance)
        return total

    def best(self, figures: Figures) -> Figures:
        """The better of the two direct neighbours' figures; one that is missing counts 0."""
        better: Figures = np.maximum(self._moved(figures, -1), self._moved(figures, 1))
        return better

    def _moved(self, figures: Figures, distance: int) -> Figures:
        at = self._at[distance]
        moved = np.zeros_like(figures)
        moved[at >= 0] = figures[at[at >= 0]]
        return moved


# --- meaning, dates, speakers -------------------------------------------------------------------


def _meaning(question: Question, rows: Sequence[IndexRow], statistics: CorpusStatistics) -> Figures:
    """Each row's similarity in spreads above the usual one; 0 where a vector is missing."""
    figures = np.zeros(len(rows))
    at, vectors = _vectors(rows)
    if question.vector is not None and len(at):
        usual, spread = statistics.similarity(question.vector)
        figures[at] = (vectors @ question.vector - usual) / spread
    return figures


def _kinship(question: Question, rows: Sequence[IndexRow], statistics: CorpusStatistics) -> Figures:
    figures = np.zeros(len(rows))
    at, vectors = _vectors(rows)
    if question.vector is not None and len(at):
        found = statistics.kinship(question.vector, vectors)
        if found is not None:
            figures[at] = found
    return figures


def _vectors(rows: Sequence[IndexRow]) -> tuple[NDArray[np.intp], NDArray[np.float32]]:
    at = [index for index, row in enumerate(rows) if row.vector is not None]
    vectors = [row.vector for row in rows if row.vector is not None]
    return np.array(at, dtype=np.intp), np.stack(vectors) if vectors else np.zeros(
        (0, 0), np.float32
    )


def _named_date(question: Question, rows: Sequence[IndexRow]) -> Figures:
    if not question.dates:
        return np.zeros(len(rows))
    days = [datetime.fromtimestamp(row.ts / 1000, question.zone).date() for row in rows]
    named = [any(one.start <= day <= one.end for one in question.dates) for day in days]
    return np.array(named, dtype=np.float64)


def _asked_speaker(question: Question, rows: int) -> Figures:
    figures = np.zeros((rows, 2))
    if question.speaker is not None:
        figures[:, 0 if question.speaker == "user" else 1] = 1
    return figures


_ENDS_WITH_QUESTION = re.compile(r"[?？]\W*\Z")


def _is_question(rows: Sequence[IndexRow]) -> Figures:
    """1 for a message that ends by asking: the answer stands in another one."""
    return np.array(
        [
            [bool(_ENDS_WITH_QUESTION.search(text[-20:])) for text in (row.user, row.assistant)]
            for row in rows
        ],
        dtype=np.float64,
    )


# A capital letter that begins no sentence; English and its relatives write names so.
_NAME = re.compile(r"[A-ZÀ-Þ](?<=[^\s.!?:] .)[^\W\d_]+")


def _names(rows: Sequence[IndexRow], statistics: CorpusStatistics) -> Figures:
    """How many names a message has besides the participants', dampened: it tells particulars."""
    known: dict[str, bool] = {}

    def is_particular(name: str) -> bool:
        if name not in known:
            known[name] = not statistics.is_participant(name)
        return known[name]

    return np.log1p(
        [
            [sum(map(is_particular, _NAME.findall(text))) for text in (row.user, row.assistant)]
            for row in rows
        ]
    )


def _both(figures: Figures) -> Figures:
    """An exchange's figures for both of its messages."""
    return np.stack([figures, figures], axis=1)
