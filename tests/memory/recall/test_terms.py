"""The words that keyword search goes by."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assistant.memory.recall.terms import LONGEST_TERM, terms


@pytest.mark.parametrize(
    ("said", "asked"),
    [
        ("I bought two bicycles", "did I buy a bicycle"),
        ("She's been painting sunsets", "the sunset she painted"),
        ("We went to the café", "did we go to a CAFE"),
        ("Call 1,000 people", "1000 people"),
        ("It's on the 20th", "20"),
        ("Straße", "STRASSE"),
        ("ｆｕｌｌ ｗｉｄｔｈ", "full width"),
        ("Mum\u2019s dog", "mum's dog"),
        ("我买了一部相机", "相机是什么牌子"),
        ("iPhone15Pro多少钱", "iphone 15 pro"),
        ("東京タワーへ行きました", "タワー"),
        ("서울에서 만났어요", "서울"),
    ],
)
def test_what_is_asked_finds_what_was_said(said: str, asked: str) -> None:
    assert set(terms(said)) & set(terms(asked))


def test_every_term_of_a_question_is_there_in_its_inflected_answer() -> None:
    said = terms("Yesterday I finally sold the painted chairs and won the prizes.")
    assert set(terms("When did I sell the chair I was painting, and win a prize?")) <= set(said)


def test_function_words_say_nothing() -> None:
    assert terms("What was it that you and I were about to do with them?") == []
    assert terms("don't you'll we've it's I'm") == []
    assert terms("那是什么时候的？") == []
    assert terms("\n \t…!") == []


def test_a_code_is_one_term_and_its_parts() -> None:
    assert terms("PX-4471") == ["px4471", "px", "4471"]
    assert terms("build v2.1") == ["build", "v21", "v2", "v", "2", "1"]
    assert terms("2023-05-08") == ["2023", "05", "08"]
    assert terms("and/or well-known e.g. end.Begin") == ["well", "know", "e", "g", "end", "begin"]


def test_chinese_is_characters_and_pairs_but_not_over_a_function_word() -> None:
    assert terms("图书馆") == ["图", "图书", "书", "书馆", "馆"]
    assert terms("猫的名字") == ["猫", "名", "名字", "字"]


def test_words_come_as_often_as_they_stand_there() -> None:
    assert terms("tea, tea and more TEA") == ["tea", "tea", "tea"]


@given(st.text())
def test_any_analyzer_gives_the_terms_back(text: str) -> None:
    """Milvus splits at what is not alphanumeric, its embedded form not at underscores."""
    found = terms(text)
    sent = " ".join(found)
    assert re.findall(r"\w+", sent.lower()) == found
    assert re.findall(r"[^\W_]+", sent.lower()) == found
    assert all(len(term) <= LONGEST_TERM for term in found)
    sent.encode()


@given(st.text(alphabet="aß·İñ1٣,-._'’ 中のー한́"))
def test_mixed_scripts_and_marks_are_taken_apart_safely(text: str) -> None:
    assert re.findall(r"[^\W_]+", " ".join(terms(text)).lower()) == terms(text)


@pytest.mark.parametrize("text", ["\0", "\ud800", "👨‍👩‍👧", "_" * 10, "--", "\U0002ebff"])
def test_what_has_no_word_has_no_term(text: str) -> None:
    assert terms(text) == []


@pytest.mark.parametrize("piece", ["a-", "1,", "'s", "中", "\u0301a", "x1y", "word "])
def test_a_huge_text_is_taken(piece: str) -> None:
    text = (piece * 200_000)[:200_000]
    assert all(len(term) <= LONGEST_TERM for term in terms(text))
