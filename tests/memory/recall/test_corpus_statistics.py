"""What is usual among all exchanges."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from assistant.memory.recall.corpus_statistics import SAMPLE, CorpusStatistics
from assistant.memory.recall.terms import terms
from assistant.protocols import IndexRow
from tests.memory.rows import row


def _spread(seed: int, count: int) -> list[IndexRow]:
    """Rows whose vectors share a direction, as those of every embedder do."""
    rng = np.random.default_rng(seed)
    return [row(f"word{number}", vector=1 + rng.normal(size=8)) for number in range(count)]


def test_rare_words_weigh_more_and_unknown_ones_most() -> None:
    statistics = CorpusStatistics.of([row("tea and cake"), row("tea"), row("tea, coffee")])
    assert 0 < statistics.rarity("tea") < statistics.rarity("cake") < statistics.rarity("unheard")
    assert statistics.rarity("unheard") == statistics.rarest
    assert statistics.share("tea") == 1


def test_rows_that_come_later_count_too() -> None:
    statistics = CorpusStatistics.of([row("tea")])
    statistics.add([row("milk"), row("milk cake")])
    assert statistics.rows == 3
    assert statistics.rarity("milk") < statistics.rarity("tea")
    assert statistics.mean_length == pytest.approx(4 / 3)


def test_it_rests_on_a_sample_only() -> None:
    statistics = CorpusStatistics.of(row("tea") for _ in range(SAMPLE + 5))
    assert statistics.rows == SAMPLE


def test_nothing_is_known_of_nothing() -> None:
    statistics = CorpusStatistics()
    assert statistics.share("tea") == 0
    assert statistics.mean_length == 1
    assert statistics.similarity(np.ones(8, np.float32)) == (0.0, 1.0)
    assert statistics.without_participants("Ask Anna") == "Ask Anna"


def test_the_usual_similarity_and_its_spread() -> None:
    rows = _spread(0, 500)
    question = rows[0].vector
    assert question is not None
    mean, spread = CorpusStatistics.of(rows).similarity(question)
    found = np.array([one.vector @ question for one in rows if one.vector is not None])
    assert mean == pytest.approx(found.mean(), abs=1e-4)
    assert spread == pytest.approx(found.std(), rel=0.05)


def test_a_few_alike_vectors_are_not_taken_for_the_whole_spread() -> None:
    rows = [row("a", vector=[1, 0, 0]), row("b", vector=[1, 0.01, 0])]
    _, spread = CorpusStatistics.of(rows).similarity(np.array([0.6, 0.8, 0], np.float32))
    assert spread > 0.02


def test_kinship_is_what_question_and_exchange_alone_have_in_common() -> None:
    rows = _spread(1, 200)
    alike, opposite = np.zeros(8), np.zeros(8)
    alike[0], opposite[0] = 2, -2
    asked = _unit(1 + alike)
    statistics = CorpusStatistics.of(rows, empty_questions=[_unit(np.ones(8))])
    vectors = np.stack([_unit(1 + alike), _unit(1 + opposite)])
    found = statistics.kinship(asked, vectors)
    assert found is not None
    # All of them are near each other; taking off what is usual tells them apart.
    assert asked @ vectors[1] > 0
    assert found[0] > 0.8
    assert found[1] < -0.5


def test_no_kinship_without_empty_questions_or_without_vectors() -> None:
    vectors = np.ones((1, 8), np.float32)
    assert CorpusStatistics.of(_spread(2, 9)).kinship(vectors[0], vectors) is None
    empty = [vectors[0]]
    assert CorpusStatistics.of([row("tea")], empty).kinship(vectors[0], vectors) is None


def test_names_of_those_who_take_part_are_taken_out_of_a_question() -> None:
    rows = [row(f"Hi Anna, about topic{n}" if n % 2 else f"thing{n} in Bern") for n in range(30)]
    rows += [row("Otto came")]
    statistics = CorpusStatistics.of(rows)
    assert statistics.without_participants("What did Anna's sister tell Otto?") == (
        "What did sister tell Otto?"
    )
    assert statistics.without_participants("Where is anna topic") == "Where is anna topic"
    # With nothing else left to go by, the name stays.
    assert statistics.without_participants("Who is Anna?") == "Who is Anna?"


def test_a_young_memory_has_no_participants_yet() -> None:
    statistics = CorpusStatistics.of([row("Hi Anna"), row("Anna is here")])
    assert statistics.without_participants("When did Anna go to Bern?") == (
        "When did Anna go to Bern?"
    )
    assert terms("Anna") == ["anna"]


def _unit(vector: NDArray[np.float64]) -> NDArray[np.float32]:
    length = float(np.linalg.norm(vector))
    return (vector / length).astype(np.float32)
