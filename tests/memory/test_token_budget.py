"""The cuts, on the exact figures of the mission, and their options."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assistant.memory.token_budget import (
    IMAGE_TOKENS,
    LOW_DETAIL_IMAGE_TOKENS,
    MESSAGE_OVERHEAD,
    TOOL_CALL_OVERHEAD,
    TOOLS_OVERHEAD,
    History,
    TokenBudget,
    content_tokens,
    counted,
    fit_tokens,
    last_messages,
    last_turns,
    message_tokens,
    newest_turns,
    oldest_turns,
    shorten_message,
    shorten_text,
    tools_tokens,
)
from assistant.messages import ImagePart, ImageUrl, Message, Role, TextPart, TokenCount, ToolCall
from assistant.providers.tiktoken_counter import TiktokenCounter
from tests.sample import SAMPLE, SAMPLE_TOKENS


def sample_messages() -> list[Message]:
    return [
        Message(role="user" if index % 2 == 0 else "assistant", content=text)
        for index, text in enumerate(SAMPLE)
    ]


def sample() -> History:
    return History.of(sample_messages(), SAMPLE_TOKENS)


def history(roles: str, tokens: int = 10) -> History:
    """`u`ser, `a`ssistant, `c`all (an assistant message with a tool call), `t`ool, `s`ystem."""
    return History.of([message(letter) for letter in roles], [tokens] * len(roles))


def message(letter: str) -> Message:
    calls = (ToolCall("c1", "list_events", "{}"),) if letter == "c" else ()
    roles: dict[str, Role] = {
        "u": "user", "a": "assistant", "c": "assistant", "t": "tool", "s": "system",
    }  # fmt: skip
    return Message(role=roles[letter], content=letter, tool_calls=calls)


def kept(whole: History, part: range) -> str:
    return "".join(str(one.content) for one in whole.slice(part))


def test_the_sample_counts_as_the_mission_says() -> None:
    counter = TiktokenCounter("cl100k_base")
    counts = [content_tokens(one, counter.count) for one in sample_messages()]
    assert counts == SAMPLE_TOKENS
    assert sum(counts) == 136


def test_by_count_keeps_the_last_two_exchanges_of_the_sample() -> None:
    assert last_messages(sample(), 4) == range(4, 8)


def test_by_tokens_keeps_the_last_four_of_the_sample_at_78_tokens() -> None:
    fitted = fit_tokens(sample(), 100)
    assert [one.content for one in fitted.messages] == list(SAMPLE[4:])
    assert fitted.tokens == 78


def test_by_tokens_from_the_oldest_end() -> None:
    fitted = fit_tokens(sample(), 100, strategy="first")
    assert [one.content for one in fitted.messages] == list(SAMPLE[:4])
    assert fitted.tokens == 58


COUNT_CASES = [
    ("odd number falls to the turn border", "uauaua", 3, "ua"),
    ("all fit", "uaua", 10, "uaua"),
    ("exactly all", "uaua", 4, "uaua"),
    ("a tool turn is not split", "uauctta", 4, "uctta"),
    ("the newest turn stays whole when it alone is longer", "uauctta", 2, "uctta"),
    ("a greeting before the first turn is no turn", "aua", 3, "ua"),
    ("an open question counts", "uauau", 3, "uau"),
    ("none asked for", "uaua", 0, ""),
    ("nothing there", "", 5, ""),
    ("no user message at all", "aa", 5, ""),
]


@pytest.mark.parametrize(
    ("roles", "n", "expected"),
    [case[1:] for case in COUNT_CASES],
    ids=[case[0] for case in COUNT_CASES],
)
def test_by_count(roles: str, n: int, expected: str) -> None:
    whole = history(roles)
    assert kept(whole, last_messages(whole, n)) == expected


@pytest.mark.parametrize(
    ("roles", "n", "expected"),
    [
        ("uauaua", 2, "uaua"),
        ("uauaua", 9, "uauaua"),
        ("uauctta", 1, "uctta"),
        ("uaua", 0, ""),
        ("", 3, ""),
    ],
)
def test_by_turns(roles: str, n: int, expected: str) -> None:
    whole = history(roles)
    assert kept(whole, last_turns(whole, n)) == expected


TOKEN_CASES = [
    ("whole turns", "uauaua", 45, "uaua"),
    ("a turn that would fit in part is left out", "uauctta", 30, ""),
    ("a tool turn fits whole or not at all", "uauctta", 50, "uctta"),
    ("exactly", "uaua", 40, "uaua"),
    ("nothing fits", "uaua", 5, ""),
    ("zero", "uaua", 0, ""),
    ("less than zero", "uaua", -5, ""),
    ("empty", "", 50, ""),
]


@pytest.mark.parametrize(
    ("roles", "budget", "expected"),
    [case[1:] for case in TOKEN_CASES],
    ids=[case[0] for case in TOKEN_CASES],
)
def test_by_tokens(roles: str, budget: int, expected: str) -> None:
    whole = history(roles)
    assert kept(whole, newest_turns(whole, budget)) == expected


@pytest.mark.parametrize(
    ("roles", "budget", "expected"),
    [
        ("uauaua", 45, "uaua"),
        ("ucttaua", 45, ""),
        ("ucttaua", 50, "uctta"),
        ("ua", 20, "ua"),
        ("ua", 19, ""),
        ("", 10, ""),
    ],
)
def test_by_tokens_from_the_oldest(roles: str, budget: int, expected: str) -> None:
    whole = history(roles)
    assert kept(whole, oldest_turns(whole, budget)) == expected


def contents(messages: Sequence[Message]) -> str:
    return "".join(str(one.content) for one in messages)


def test_the_system_message_is_kept_and_counted_unless_told_otherwise() -> None:
    whole = history("suaua")
    assert contents(fit_tokens(whole, 30).messages) == "sua"
    assert fit_tokens(whole, 30).tokens == 30
    assert contents(fit_tokens(whole, 40, keep_system=False).messages) == "uaua"


def test_without_start_on_the_cut_falls_between_messages_but_never_inside_a_tool_group() -> None:
    whole = history("uauctta")
    assert contents(fit_tokens(whole, 10, start_on=None).messages) == "a"
    assert contents(fit_tokens(whole, 30, start_on=None).messages) == "a"
    assert contents(fit_tokens(whole, 40, start_on=None).messages) == "ctta"
    assert contents(fit_tokens(whole, 45, strategy="first", start_on=None).messages) == "uau"
    assert contents(fit_tokens(whole, 50, strategy="first", start_on=None).messages) == "uau"
    assert contents(fit_tokens(whole, 60, strategy="first", start_on=None).messages) == "uauctt"


def test_start_on_another_role() -> None:
    whole = history("uauaua")
    assert contents(fit_tokens(whole, 45, start_on="assistant").messages) == "aua"
    fitted = fit_tokens(whole, 40, strategy="first", start_on="assistant")
    assert contents(fitted.messages) == "aua"


def test_end_on_drops_the_newest_until_the_role_fits() -> None:
    whole = history("uauau")
    assert contents(fit_tokens(whole, 100, end_on=["assistant"]).messages) == "uaua"
    assert fit_tokens(whole, 100, end_on=["assistant"]).tokens == 40
    assert contents(fit_tokens(whole, 100, end_on=["system"]).messages) == ""
    assert contents(fit_tokens(history("uauctt"), 100, end_on=["assistant"]).messages) == "ua"


def test_a_partial_turn_on_request() -> None:
    long = Message(role="user", content="x" * 100)
    whole = History.of([long, message("a"), message("u"), message("a")], [100, 10, 10, 10])

    def shorten(one: Message, tokens: int) -> tuple[Message, int]:
        return Message(role=one.role, content="x" * tokens), tokens

    fitted = fit_tokens(whole, 60, shorten=shorten)
    assert [len(str(one.content)) for one in fitted.messages] == [30, 1, 1, 1]
    assert fitted.tokens == 60
    too_little = fit_tokens(whole, 40, shorten=shorten)
    assert contents(too_little.messages) == "ua"


def test_a_partial_turn_from_the_oldest_end() -> None:
    long = Message(role="assistant", content="x" * 100)
    whole = History.of([message("u"), message("a"), message("u"), long], [10, 10, 10, 100])
    fitted = fit_tokens(
        whole,
        60,
        strategy="first",
        shorten=lambda one, tokens: (Message(role=one.role, content="x" * tokens), tokens),
    )
    assert [len(str(one.content)) for one in fitted.messages] == [1, 1, 1, 30]


@given(st.text("uuaacts", max_size=40), st.integers(-5, 500), st.sampled_from(["last", "first"]))
def test_no_cut_ever_splits_a_turn_or_exceeds_its_budget(
    roles: str, budget: int, strategy: str
) -> None:
    whole = history(roles.replace("s", ""))
    fitted = fit_tokens(whole, budget, strategy="last" if strategy == "last" else "first")
    assert fitted.tokens <= max(0, budget)
    assert len(fitted.messages) * 10 == fitted.tokens
    if fitted.messages:
        assert fitted.messages[0].role == "user"
    text, joined = contents(fitted.messages), contents(whole.slice(range(len(whole))))
    starts = [0, *[index for index in whole.turn_starts], len(whole)]
    spans = {joined[start:] for start in starts} | {joined[starts[1] : end] for end in starts[1:]}
    assert not text or text in spans


def test_a_cut_looks_at_a_handful_of_sums_however_long_the_history() -> None:
    class Watched(History):
        looks = 0

        def sum_before(self, index: int) -> int:
            Watched.looks += 1
            return super().sum_before(index)

    whole = Watched()
    for _ in range(50_000):
        whole.append(message("u"), 10)
        whole.append(message("a"), 10)
    assert len(newest_turns(whole, 3_000)) == 300
    assert Watched.looks <= 20


def test_counts_are_taken_once_and_only_as_far_as_they_can_be_sent() -> None:
    asked: list[str] = []

    def count(one: Message) -> int:
        asked.append(str(one.content))
        return 10

    whole = History()
    whole.extend_counted([Message(role="user", content=str(index)) for index in range(100)])
    whole.count_newest("new", count, room=45)
    assert asked == ["99", "98", "97", "96", "95", "94"]
    assert whole.tokens(range(94, 100)) == 60
    whole.count_newest("new", count, room=45)
    assert len(asked) == 6
    whole.append(Message(role="user", content="100"))
    whole.count_newest("new", count, room=45)
    assert asked[6:9] == ["100", "99", "98"]


def test_the_current_message_and_rejected_turns_take_no_room_from_what_is_recounted() -> None:
    whole = History()
    whole.extend_counted([Message(role="user", content=str(at), turn=at) for at in range(100)])
    whole.count_newest("new", lambda one: 1_000 if one.turn >= 98 else 10, 45, passed_over={98})
    assert whole.tokens(range(93, 98)) == 50


def test_the_newest_earlier_turn_is_recounted_whole_however_little_room_there_is() -> None:
    whole = History()
    whole.extend_counted([message(letter) for letter in "uauctta"])
    whole.append(message("u"), 10)
    whole.count_newest("new", lambda one: 10, room=0)
    assert whole.tokens(range(2, 8)) == 60


def test_a_border_turn_that_can_not_be_cut_enough_is_left_out() -> None:
    whole = History.of([message("u"), message("a"), message("u"), message("a")], [900, 10, 10, 10])
    fitted = fit_tokens(whole, 100, shorten=lambda one, tokens: (one, 900))
    assert contents(fitted.messages) == "ua"


def test_a_count_in_the_same_encoding_is_taken_as_it_was_saved() -> None:
    whole = History()
    saved = [counted(Message(role="user", content="x"), "new", 7) for _ in range(10)]
    whole.extend_counted(saved)
    whole.count_newest("new", lambda one: pytest.fail("counted again"), room=1_000)
    assert whole.tokens() == 70


def test_changed_counts_move_the_sums_behind_them() -> None:
    whole = History()
    old = [Message(role="user", content="x", count=TokenCount("old", 50)) for _ in range(4)]
    whole.extend_counted(old)
    whole.append(counted(Message(role="assistant", content="y"), "new", 3))
    whole.count_newest("new", lambda one: 10, room=25)
    assert whole.tokens(range(4, 5)) == 3
    assert whole.tokens(range(2, 5)) == 23
    assert whole.tokens() == 50 + 3 + 10 * 3


# --- counting -----------------------------------------------------------------------------------


def test_a_message_counts_its_overhead_calls_and_images() -> None:
    parts = (
        TextPart("four"),
        ImagePart(ImageUrl("data:image/png;base64,AAAA")),
        ImagePart(ImageUrl("https://example.org/x.png", detail="low")),
    )
    seen = Message(role="user", content=parts)
    assert message_tokens(seen, len) == (
        MESSAGE_OVERHEAD + 4 + IMAGE_TOKENS + LOW_DETAIL_IMAGE_TOKENS
    )
    calling = Message(role="assistant", content="", tool_calls=(ToolCall("c1", "name", '{"a":1}'),))
    assert message_tokens(calling, len) == MESSAGE_OVERHEAD + TOOL_CALL_OVERHEAD + 4 + 7


def test_tools_cost_their_text_and_no_tools_cost_nothing() -> None:
    assert tools_tokens("abc", len) == 3 + TOOLS_OVERHEAD
    assert tools_tokens("", len) == 0


# --- the window ---------------------------------------------------------------------------------


def budget(window: int) -> TokenBudget:
    return TokenBudget.for_window(window, reserve=1_000, history=3_000, recent_messages=20)


def test_the_history_takes_its_share_while_the_window_is_large() -> None:
    assert budget(100_000).history_room(fixed=500, current=200) == 3_000


def test_the_history_shrinks_before_the_current_message_does() -> None:
    assert budget(4_000).history_room(fixed=500, current=2_000) == 500
    assert budget(4_000).history_room(fixed=500, current=2_500) == 0
    assert budget(4_000).input_room(fixed=500) == 2_500


@pytest.mark.parametrize("window", [0, 1, 10, 300, 1_000])
def test_a_reserve_larger_than_the_window_leaves_room_all_the_same(window: int) -> None:
    assert budget(window).input_room(fixed=0) >= 1


# --- shortening ---------------------------------------------------------------------------------


def test_shortened_text_keeps_both_ends_and_says_what_is_missing() -> None:
    text = "BEGIN " + "x" * 5_000 + " END"
    short = shorten_text(text, 200, len)
    assert len(short) <= 200
    assert short.startswith("BEGIN")
    assert short.endswith("END")
    assert "characters left out here" in short


def test_text_that_fits_is_left_alone() -> None:
    assert shorten_text("short", 10, len) == "short"


def test_a_shortened_message_keeps_its_images() -> None:
    image = ImagePart(ImageUrl("https://example.org/x.png", detail="low"))
    long = Message(role="user", content=(TextPart("x" * 3_000), image))
    short = shorten_message(long, 400, len)
    assert message_tokens(short, len) <= 400
    assert short.content[1] == image


@given(st.text(min_size=1, max_size=3_000), st.integers(0, 400))
def test_shortened_text_never_exceeds_its_room(text: str, room: int) -> None:
    assert len(shorten_text(text, room, len)) <= room
