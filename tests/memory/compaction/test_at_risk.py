"""What a summary may lose, and what is ordinary talk."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assistant.memory.compaction.at_risk import (
    LONGEST_READ,
    MOST_ITEMS_OF_LONG,
    MOST_ITEMS_OF_TOOL,
    at_risk,
    count_by_kind,
)
from assistant.memory.compaction.clauses import LONGEST_HANZI, LONGEST_WORDS, length
from assistant.messages import KeptItem, Message, Role

MONDAY = datetime(2026, 3, 2, 9, 0, tzinfo=UTC)


def items(*texts: str, role: Role = "user") -> list[KeptItem]:
    return at_risk(
        [Message(role, text, turn=turn, ts=MONDAY) for turn, text in enumerate(texts, 1)]
    )


def kinds(text: str) -> set[str]:
    return {item.kind for item in items(text)}


@pytest.mark.parametrize(
    "text",
    [
        "From now on, answer in short bullet points.",
        "Please never use emojis in your replies.",
        "Don't use the word leverage.",
        "I want you to call me Captain.",
        "When I paste German text, translate it first.",
        "Please double-check every sum before you tell me.",
        "No more than three suggestions at a time, please.",
        "Prices should always include VAT.",
        "Could you please use British English from here on?",
        "以后给我写邮件都署名小林",
        "请不要在回复里用表情符号。",
        "订任何东西之前必须先问我。",
        "每次我问代码，请用Python。",
        "凡是涉及钱的事，先跟我确认",
    ],
)
def test_standing_rules(text: str) -> None:
    assert "rule" in kinds(text)


@pytest.mark.parametrize(
    "text",
    [
        "I always forget where I put my keys.",
        "It never works.",
        "Never mind, I found it.",
        "Don't worry about it.",
        "They always cheer me on.",
        "Keep it up!",
        "We'll keep going and never give up.",
        "我知道了，以后我也会注意这些细节",
        "别担心，别客气",
    ],
)
def test_habits_and_encouragement_are_no_rules(text: str) -> None:
    assert "rule" not in kinds(text)


def test_rules_are_the_users() -> None:
    assert items("Always answer in French.", role="assistant") == []
    assert items("You must never answer in French.", role="tool") == []


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        ("promise", "Remind me to renew the passport"),
        ("promise", "I told Rita I'd drive her to the airport"),
        ("promise", "I still have to hand the keys back to Sven"),
        ("promise", "周五之前要把合同寄给老李"),
        ("promise", "别忘了给妈妈打电话"),
        ("preference", "I'm allergic to peanuts"),
        ("preference", "I can't stand cilantro"),
        ("preference", "My wife is a vegetarian"),
        ("preference", "我中午以后不喝咖啡"),
        ("preference", "孩子对花生过敏"),
        ("about", "I'm a nurse at the children's hospital"),
        ("about", "我是一名设计师"),
        ("name", "My sister Anna teaches maths"),
        ("name", "你好，我叫李四"),
        ("name", "I was at Dr. Okafor again"),
        ("negation", "I don't have a car"),
    ],
)
def test_other_kinds(kind: str, text: str) -> None:
    assert kind in kinds(text)


@pytest.mark.parametrize(
    "text",
    [
        "I like that idea!",
        "I'd like to know what a tuple is",
        "Do you know what I like?",
        "See you tomorrow then.",
        "It rained the whole day yesterday.",
        "Two of them said the same today",
        "明天见！",
        "这个主意不错，我喜欢。",
    ],
)
def test_ordinary_talk_is_not_at_risk(text: str) -> None:
    assert items(text) == []


def test_what_is_said_by_the_way_is_marked() -> None:
    assert [item.passing for item in items("Lunch was 15 dollars today")] == [True]
    assert [item.passing for item in items("The rent is about 900 dollars")] == [False]
    assert [item.passing for item in items("Bake it at 230 °C", role="assistant")] == [True]


def test_the_clause_says_what_the_value_is() -> None:
    (item,) = items("By the way, the gate code for the barn is PX-4471, so come in whenever.")
    assert (item.kind, item.value) == ("code", "PX-4471")
    assert item.text == "the gate code for the barn is PX-4471"


def test_values_of_one_clause_share_its_text() -> None:
    found = items("对了，我的订单号是 TB-88213，预算是1.2万元。")
    assert [item.value for item in found] == ["TB-88213", "1.2万元"]
    assert {item.text for item in found} == {"我的订单号是 TB-88213，预算是1.2万元"}


def test_a_bare_answer_stands_with_its_question() -> None:
    found = at_risk(
        [
            Message("assistant", "Fine. When is the exam?", turn=1),
            Message("user", "March 4", turn=2),
        ]
    )
    assert [item.text for item in found] == ["When is the exam? March 4"]


def test_relative_days_stand_with_the_day_they_were_said() -> None:
    (item,) = items("Dentist tomorrow")
    assert (item.value, item.text) == ("tomorrow", "Dentist tomorrow (said 2026-03-02)")
    (item,) = items("下周二下午去医院复查")
    assert item.text == "下周二下午去医院复查 (said 2026-03-02)"


@pytest.mark.parametrize(
    ("text", "value", "old"),
    [
        ("Sorry, it's 4pm not 3pm", "4pm", "3pm"),
        ("改到周五了，不是周四", "周五", "周四"),
        ("The call is moved from 3pm to 4:30 pm", "4:30 pm", "3pm"),
        ("会议从周四改到周五", "周五", "周四"),
        ("It is GF-9886 instead of GF-9868", "GF-9886", "GF-9868"),
    ],
)
def test_what_a_correction_takes_back_is_named(text: str, value: str, old: str) -> None:
    (item,) = (one for one in items(text) if one.kind in ("time", "date", "code"))
    assert (item.value, item.replaces, item.corrects) == (value, old, True)


def test_a_span_of_time_takes_nothing_back() -> None:
    found = items("The shop is open from 9am to 5pm")
    assert [(item.value, item.replaces) for item in found] == [("9am", ""), ("5pm", "")]


def test_a_paste_cannot_fill_the_section() -> None:
    paste = "\n".join(f"row {row}: part AB-{row:05} costs ${row}.00" for row in range(5_000))
    assert len(paste) > 100_000
    found = items(f"The deadline for this is May 5.\n{paste}")
    assert len(found) <= MOST_ITEMS_OF_LONG
    assert "May 5" in [item.value for item in found]
    assert len(items(paste, role="tool")) <= MOST_ITEMS_OF_TOOL


def test_rules_in_pasted_text_are_not_the_users() -> None:
    licence = "Redistributions must always retain the notice. Never use the name. " * 60
    assert not any(item.kind == "rule" for item in items(f"What is this?\n{'x ' * 400}{licence}"
                                                         f"{'y ' * 400}"))  # fmt: skip
    fenced = "Why does it fail?\n```\n# Never call this from a thread.\ncall()\n```"
    assert items(fenced) == []


@pytest.mark.parametrize(
    "text",
    [
        "a" * 200_000,
        "1" * 200_000,
        "1,234 " * 33_000,
        "一" * 200_000,
        "a.b@" * 50_000,
        "code for a " * 18_000,
        "+1 (2" * 40_000,
        "\x00\ud83d" * 1_000,
        "never, " * 28_000,
    ],
    ids=lambda text: ascii(text[:8]),
)
def test_any_text_is_read(text: str) -> None:
    assert len(items(text)) <= MOST_ITEMS_OF_LONG


def test_of_a_very_long_text_both_ends_are_read() -> None:
    text = f"the pin is 4821\n{'lorem ipsum. ' * LONGEST_READ}\nthe code is PX-4471"
    assert {item.value for item in items(text)} == {"4821", "PX-4471"}


@given(st.text(max_size=300))
@settings(max_examples=150, deadline=None)
def test_every_item_is_a_short_clause_that_holds_its_value(text: str) -> None:
    for item in items(f"{text} the code is PX-4471 {text}"):
        assert item.value in item.text
        assert length(item.text) <= 1 + 8 / LONGEST_WORDS + len(item.value) / LONGEST_HANZI
        assert "\n" not in item.text


def test_scanning_again_gives_the_same() -> None:
    texts = ("From now on use euros.", "The rent is ¥3,200, due on April 5.", "我对花生过敏")
    assert items(*texts) == items(*texts)
    assert [item.turn for item in items(*texts)] == sorted(item.turn for item in items(*texts))


def test_counting_by_kind() -> None:
    counted = count_by_kind(items("The rent of ¥3,200 is due on April 5.", "Always use euros."))
    assert counted == {"rule": 1, "date": 1, "amount": 1, "promise": 1}
    assert next(iter(counted)) == "rule"
