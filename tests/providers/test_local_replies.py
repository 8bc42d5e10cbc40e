"""What is said of the results that the tools really give."""

from __future__ import annotations

from pathlib import Path

import pytest

from assistant.errors import EntryError
from assistant.memory.claims.claims import claims_a_change
from assistant.messages import Language, Message
from assistant.providers.local_replies import answer_grammar, language_of, told
from assistant.tools.registry import BadCall
from assistant.tools.rounds import REFUSED
from benchmarks.utterances import ExpectedCall, Kept, Utterance, utterances

CORPUS = [one for one in utterances() if one.calls]


@pytest.mark.parametrize("said", CORPUS, ids=lambda one: one.id)
def test_every_result_of_the_corpus_but_of_recall_is_told_without_ids(
    said: Utterance, tmp_path: Path
) -> None:
    kept = Kept(tmp_path, said)
    for call in said.passed:
        result = Message("tool", kept.run(call))
        english, chinese = told([result], "en"), told([result], "zh")

        assert bool(english) is bool(chinese) is (call.name != "recall")
        assert "with the id" not in english + chinese
        assert not chinese.isascii() or not chinese


@pytest.mark.parametrize(
    ("result", "english", "chinese"),
    [
        (REFUSED, "All right, nothing was changed.", "好的，什么都没有改。"),
        (
            "No events on Mon 2026-11-30.",
            "Nothing is planned on Mon 2026-11-30.",
            "2026-11-30（周一）没有安排。",
        ),
        (
            "2 events from Mon 2026-11-30 to Sun 2026-12-06:\n"
            "ek3f9 · Review · Tue 2026-12-01 15:00\n"
            "ew7q2@2026-12-02 · Standup · Wed 2026-12-02",
            "Planned from Mon 2026-11-30 to Sun 2026-12-06:\n- Review · Tue 2026-12-01 15:00\n"
            "- Standup · Wed 2026-12-02",
            "2026-11-30（周一）到2026-12-06（周日）的安排：\n- Review · 周二 2026-12-01 15:00\n"
            "- Standup · 周三 2026-12-02",
        ),
        (
            "m4x2 · 2026-11-30 · toner #ink",
            "In your memos:\n- 2026-11-30 · toner #ink",
            "备忘里有：\n- 2026-11-30 · toner #ink",
        ),
    ],
)
def test_results_are_told_in_both_languages(result: str, english: str, chinese: str) -> None:
    assert told([Message("tool", result)], "en") == english
    assert told([Message("tool", result)], "zh") == chinese


@pytest.mark.parametrize("words", ["standup", "lunch"])
def test_what_was_not_done_is_told_with_the_reason(words: str, tmp_path: Path) -> None:
    kept = Kept(tmp_path, CORPUS[0])
    for hour in (9, 10):
        kept.calendar.create("Standup", kept.now.replace(hour=hour))
    with pytest.raises((BadCall, EntryError)) as refused:
        kept.run(ExpectedCall("cancel_event", {"id": words}))

    said = told([Message("tool", str(refused.value))], "en")

    assert words in said
    assert ("Which one" in said, "Nothing was found" in said) == (
        words == "standup",
        words == "lunch",
    )
    assert said.count("Standup · ") == (2 if words == "standup" else 0)


def test_a_result_that_was_cut_for_the_prompt_is_told_whole() -> None:
    whole = "2 events on Mon 2026-11-30:\ne1 · A\ne2 · B"

    said = told([Message("tool", "2 events on Mon 2026-11-30:\n…", whole=whole)], "en")

    assert said.splitlines()[1:] == ["- A", "- B"]


def test_nothing_that_changed_nothing_claims_a_change() -> None:
    results = (REFUSED, "No events on Mon 2026-11-30.", "cancel_event was not run: id: what?")

    languages: tuple[Language, ...] = ("en", "zh")
    for language in languages:
        for result in results:
            assert not claims_a_change(told([Message("tool", result)], language))


def test_where_one_result_is_the_models_to_tell_it_tells_all() -> None:
    assert told([Message("tool", "No memo fits."), Message("tool", "2026: Lisbon")], "en") == ""


@pytest.mark.parametrize(
    ("text", "language"), [("你好", "zh"), ("Hi", "en"), ("把dentist改到4pm", "zh"), ("", "en")]
)
def test_the_language_is_that_of_the_words(text: str, language: str) -> None:
    assert language_of(text) == language


def test_an_answer_has_no_json_and_begins_in_its_language() -> None:
    assert answer_grammar("zh") == "root ::= [\u4e00-\u9fff] [^{}`\\x00]*"
    assert answer_grammar("en").startswith("root ::= [A-Za-z0-9] ")
