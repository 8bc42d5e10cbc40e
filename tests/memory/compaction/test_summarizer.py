"""Summaries: what the model is asked, and what of its answers is believed."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from datetime import UTC, datetime

import pytest

from assistant.errors import CompactionError, CompactionStopped, TimedOut
from assistant.memory.compaction.summarizer import (
    Summarizer,
    SummaryBounds,
    SummaryPrompts,
    cut_at_sentence,
    without_preamble,
)
from assistant.memory.language import length_in_words
from assistant.messages import Message, Role, Summary
from assistant.protocols import ReplyPart
from tests.fakes import FakeChatModel, FakeClock, FakeCounter, failing
from tests.sample import SAMPLE

PROMPTS = {
    "en": SummaryPrompts("Sum up in {words} words.", "Shorten to {words} words."),
    "zh": SummaryPrompts("用{words}字总结。", "缩短到{words}字。"),
}
TALK = (
    "Hello, I am Anna and I plan a trip to Lisbon with my brother in the spring.",
    "How nice! What do you need to know about Lisbon?",
    "We want to see tiles and eat well, and we do not like museums very much.",
    "Then walk through Alfama and have lunch at the market.",
)
ERRORS = [
    "Error: the service is overloaded",
    "HTTP 503 Service Unavailable",
    "429 Too Many Requests",
    '{"error": {"message": "quota"}}',
    "I'm sorry, but I can't help with that.",
    "Rate limit reached for requests",
    "抱歉，我无法完成这个请求。",
    "请求失败，请稍后再试",
    "upstream connect error or disconnect/reset before headers",
    "<html><head><title>502 Bad Gateway</title></head></html>",
    "",
    " \n … \n",
    "<think>they talk about a trip</think>",
]


def talk(texts: Sequence[str] = TALK, *, first_id: int = 1) -> list[Message]:
    roles: list[Role] = ["user", "assistant"]
    return [
        Message(
            role=roles[at % 2],
            content=text,
            id=first_id + at,
            turn=(first_id + at + 1) // 2,
            ts=datetime(2026, 3, 4, 9, tzinfo=UTC),
        )
        for at, text in enumerate(texts)
    ]


def summarizer(
    model: FakeChatModel, *, words: int = 60, window: int = 10_000, prompts: object = PROMPTS
) -> Summarizer:
    return Summarizer(
        lambda: model,
        FakeCounter(),
        prompts,  # type: ignore[arg-type]
        SummaryBounds(words=words, kept_tokens=400),
        window=lambda: window,
        clock=FakeClock(),
    )


def asked(model: FakeChatModel, at: int = -1) -> tuple[str, str]:
    system, user = model.sent[at]
    return system.text, user.text


def test_the_model_gets_the_labelled_transcript_and_its_answer_is_the_summary() -> None:
    model = FakeChatModel(["- Anna plans a trip to Lisbon."])
    summary = summarizer(model).summarize(talk(), None)
    assert (summary.text, summary.covers) == ("- Anna plans a trip to Lisbon.", (1, 4))
    assert (summary.language, summary.model) == ("en", "fake")
    system, user = asked(model)
    assert system == "Sum up in 30 words."  # half of what there is to sum up
    assert user.startswith("Messages:\n[2026-03-04]\nUser: Hello, I am Anna")
    assert "Assistant: How nice!" in user
    assert "Notes so far" not in user


def test_a_chinese_conversation_is_summarized_in_chinese() -> None:
    model = FakeChatModel(["- 李四是设计师。"])
    summary = summarizer(model).summarize(talk(SAMPLE), None)
    assert summary.language == "zh"
    system, user = asked(model)
    assert system == "用60字总结。"
    assert "用户：我叫李四" in user
    assert "助手：你好李四" in user


def test_a_summary_is_updated_with_what_came_after_it() -> None:
    model = FakeChatModel(["- Anna plans a trip.", "- Anna goes to Lisbon in May."])
    writer = summarizer(model)
    first = writer.summarize(talk(), None)
    second = writer.summarize(talk(["We fly in May.", "Noted, in May."], first_id=5), first)
    _, user = asked(model)
    assert user.startswith("Notes so far:\n- Anna plans a trip.\n\nMessages:\n")
    assert "We fly in May." in user
    assert "Hello, I am Anna" not in user
    assert second.covers == (1, 6)


def test_instructions_reach_the_model() -> None:
    model = FakeChatModel(["- Anna plans a trip."])
    summary = summarizer(model).summarize(talk(), None, "keep the budget figures")
    assert asked(model)[1].endswith("Pay attention to this above all: keep the budget figures")
    assert summary.instructions == "keep the budget figures"


def test_every_message_reaches_the_model_in_pieces_when_they_do_not_fit() -> None:
    texts = [f"fact number {at}: " + "word " * 40 for at in range(20)]
    model = FakeChatModel(["- some facts"] * 40)
    summarizer(model, words=20, window=600).summarize(talk(texts), None)
    assert len(model.sent) > 5
    read = "\n".join(user.text for _, user in model.sent)
    assert all(f"fact number {at}:" in read for at in range(20))
    assert asked(model)[1].startswith("Notes so far:\n- some facts")


def test_a_summary_that_is_too_long_is_asked_for_again_once() -> None:
    long = " ".join(["word"] * 40)
    model = FakeChatModel([long, "- Short."])
    summary = summarizer(model, words=30).summarize(talk(), None)
    assert summary.text == "- Short."
    assert asked(model) == ("Shorten to 30 words.", long)


def test_one_that_stays_too_long_is_cut_at_a_sentence() -> None:
    long = "\n".join(f"- Anna said this thing number {at}." for at in range(12))
    model = FakeChatModel([long, long])
    summary = summarizer(model, words=30).summarize(talk([*TALK, "x " * 400, "y"]), None)
    assert len(model.sent) == 2
    assert length_in_words(summary.text) <= 30
    assert summary.text.endswith("number 4.")


@pytest.mark.parametrize("answer", ERRORS)
def test_an_error_is_never_a_summary(answer: str) -> None:
    # s2b-dev/smart-second-brain#435: the provider's error text was stored as the summary.
    with pytest.raises(CompactionError, match="Nothing was changed"):
        summarizer(FakeChatModel([answer])).summarize(talk(), None)


@pytest.mark.parametrize(
    "answer",
    [
        "- 500 euros is the budget.",
        "- I can't eat nuts, said Anna.",
        "- Error rates fell in May.",
        "- 我不能吃花生。",
        "- 404 is the number of Anna's room.",
    ],
)
def test_a_fact_is_no_error(answer: str) -> None:
    texts = TALK if answer.isascii() else SAMPLE
    assert summarizer(FakeChatModel([answer])).summarize(talk(texts), None).text == answer


def test_braces_in_a_prompt_file_mean_nothing() -> None:
    model = FakeChatModel(["- Anna."])
    own = {"en": SummaryPrompts('At most {words}, as {"json"}.', "")}
    writer = summarizer(model, prompts=own)
    writer.summarize(talk(), None)
    assert asked(model)[0] == 'At most 30, as {"json"}.'


@pytest.mark.parametrize("answer", [*ERRORS, "- 安娜计划去里斯本旅行。"])
def test_a_useless_attempt_to_shorten_leaves_the_first_text_cut(answer: str) -> None:
    long = "\n".join(f"- Anna said this thing number {at}." for at in range(12))
    model = FakeChatModel([long, answer])
    summary = summarizer(model, words=30).summarize(talk([*TALK, "x " * 400, "y"]), None)
    assert summary.text.endswith("number 4.")


def test_a_summary_longer_than_what_it_stands_for_is_not_used() -> None:
    model = FakeChatModel([" ".join(["word"] * 50)] * 2)
    with pytest.raises(CompactionError, match="longer than what it stands for"):
        summarizer(model).summarize(talk(["Hi", "Hello"]), None)


def test_another_language_is_asked_for_again_and_then_refused() -> None:
    # anomalyco/opencode#20156: a conversation turned English after its compaction.
    model = FakeChatModel(["- Li Si is a designer.", "- 李四是设计师。"])
    assert summarizer(model).summarize(talk(SAMPLE), None).text == "- 李四是设计师。"
    model = FakeChatModel(["- Li Si is a designer."] * 2)
    with pytest.raises(CompactionError, match="another language"):
        summarizer(model).summarize(talk(SAMPLE), None)


def test_a_model_that_fails_is_named_and_nothing_is_made() -> None:
    model = FakeChatModel([failing(TimedOut("The model did not answer in time."))])
    with pytest.raises(CompactionError, match="did not answer in time"):
        summarizer(model).summarize(talk(), None)


@pytest.mark.parametrize("reason", ["content_filter"])
def test_a_filtered_summary_is_not_used(reason: str) -> None:
    model = FakeChatModel([[ReplyPart(text="- Anna"), ReplyPart(finish_reason=reason)]])
    with pytest.raises(CompactionError, match="refused"):
        summarizer(model).summarize(talk(), None)


def test_it_can_be_stopped_from_another_thread() -> None:
    model = FakeChatModel([[ReplyPart(text="- Anna"), ReplyPart(text=" plans")]])
    writer = summarizer(model)
    model.before_reply = lambda: _in_a_thread(writer.stop)
    with pytest.raises(CompactionStopped):
        writer.summarize(talk(), None)
    writer.ready()
    model.before_reply = lambda: None
    model.replies = ["- Anna plans a trip."]
    assert writer.summarize(talk(), None).text == "- Anna plans a trip."


def test_a_stop_just_before_it_begins_is_not_lost() -> None:
    writer = summarizer(FakeChatModel(["- Anna plans a trip."]))
    writer.stop()
    with pytest.raises(CompactionStopped):
        writer.summarize(talk(), None)


def _in_a_thread(action: object) -> None:
    thread = threading.Thread(target=action)  # type: ignore[arg-type]
    thread.start()
    thread.join()


def test_ctrl_c_passes_through() -> None:
    model = FakeChatModel([[ReplyPart(text="- Anna"), KeyboardInterrupt()]])
    with pytest.raises(KeyboardInterrupt):
        summarizer(model).summarize(talk(), None)


# --- what a summary lost ------------------------------------------------------------------------

PLANS = (
    "Remember: my order code is PX-4471 and the review is on 12 May 2026.",
    "Noted.",
    "From now on always answer in one sentence.",
    "I will.",
)
VAGUE = "- The user talked about several things."


def kept(summary: Summary) -> str:
    return "\n".join(item.text for item in summary.kept)


def test_what_the_text_lost_is_kept_word_for_word() -> None:
    summary = summarizer(FakeChatModel([VAGUE])).summarize(talk(PLANS), None)
    assert "PX-4471" in kept(summary)
    assert "12 May" in kept(summary)
    assert "one sentence" in kept(summary)
    assert summary.watched == ()


def test_what_the_text_has_is_not_kept_but_watched() -> None:
    text = "- Order code PX-4471; review on 12 May 2026; always answer in one sentence."
    summary = summarizer(FakeChatModel([text])).summarize(talk(PLANS), None)
    assert summary.kept == ()
    assert any(item.value == "PX-4471" for item in summary.watched)


def test_what_an_earlier_summary_had_can_not_be_lost_by_a_later_one() -> None:
    text = "- Order code PX-4471; review on 12 May 2026; always answer in one sentence."
    model = FakeChatModel([text, VAGUE, VAGUE])
    writer = summarizer(model)
    summary = writer.summarize(talk(PLANS), None)
    for round_ in (1, 2):
        more = talk(["And now the weather, please.", "Fine."], first_id=3 + 2 * round_)
        summary = writer.summarize(more, summary)
        assert "PX-4471" in kept(summary)
        assert "one sentence" in kept(summary)


def test_the_kept_section_stays_within_its_bound() -> None:
    texts = [f"The code of box {at} is QX-{1000 + at}, please remember it." for at in range(90)]
    summary = summarizer(FakeChatModel([VAGUE] * 9)).summarize(talk(texts), None)
    from assistant.memory.compaction.kept import kept_lines

    assert 0 < len(kept_lines(summary.kept)) <= 400


# --- reading a model's answer -------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("- a fact", "- a fact"),
        ("Here are the notes:\n- a fact", "- a fact"),
        ("Sure! Here is the summary:\n\n- a fact", "- a fact"),
        ("以下是记录：\n- 事实", "- 事实"),
        ("```markdown\n- a fact\n```", "- a fact"),
        ("<think>hm\nhm</think>\n- a fact", "- a fact"),
        ("<think>never ends", ""),
        ("Summary of the trip is what Anna wants", "Summary of the trip is what Anna wants"),
        ("Notes: Anna likes tea", "Notes: Anna likes tea"),
        ("Here is what Anna said: she goes\n- soon", "Here is what Anna said: she goes\n- soon"),
    ],
)
def test_what_stands_around_the_notes_goes(text: str, expected: str) -> None:
    assert without_preamble(text) == expected


@pytest.mark.parametrize(
    ("text", "words", "expected"),
    [
        ("One two. Three four. Five.", 4, "One two. Three four."),
        ("One two three four five", 3, "One two three"),
        ("一二三。四五六。七八九。", 7, "一二三。四五六。"),
        ("一二三四五六七", 3, "一二三"),
        ("short", 30, "short"),
    ],
)
def test_a_text_is_cut_at_a_sentence(text: str, words: int, expected: str) -> None:
    assert cut_at_sentence(text, words) == expected
