"""When to compact and where to cut: the mission's sample, and any conversation."""

from __future__ import annotations

from itertools import cycle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assistant.memory.compaction.compaction_plan import (
    CompactionLimits,
    CompactionPlan,
    plan_all,
    plan_by_count,
    plan_by_tokens,
    plan_compaction,
)
from assistant.memory.token_budget import History
from assistant.messages import Message, Role
from assistant.settings import BudgetSettings
from tests.sample import SAMPLE, SAMPLE_TOKENS


def history(roles: str, tokens: list[int] | None = None) -> History:
    """`uatua`: user, assistant, tool … of ten tokens each, unless told otherwise."""
    names: dict[str, Role] = {"u": "user", "a": "assistant", "t": "tool"}
    turns, messages = 0, []
    for at, letter in enumerate(roles):
        turns += letter == "u"
        messages.append(Message(role=names[letter], content=letter, id=at + 1, turn=turns))
    return History.of(messages, tokens or [10] * len(roles))


@pytest.fixture
def sample() -> History:
    roles = cycle(("user", "assistant"))
    messages = [
        Message(role=role, content=text, id=at)  # type: ignore[arg-type]
        for at, (role, text) in enumerate(zip(roles, SAMPLE, strict=False), 1)
    ]
    return History.of(messages, SAMPLE_TOKENS)


def parts(plan: CompactionPlan | None) -> tuple[int, int] | None:
    """How many messages are summarized and how many stay."""
    return (len(plan.covered), len(plan.kept)) if plan else None


def test_more_than_six_messages_keep_the_last_two(sample: History) -> None:
    assert parts(plan_by_count(sample, 0, more_than=6, keep=2)) == (6, 2)
    assert plan_by_count(sample, 0, more_than=8, keep=2) is None


def test_the_sample_by_tokens(sample: History) -> None:
    assert plan_by_tokens(sample, 0, threshold=200, keep=80) is None
    assert parts(plan_by_tokens(sample, 0, threshold=120, keep=80)) == (4, 4)


def test_at_the_threshold_itself_nothing_is_done(sample: History) -> None:
    assert plan_by_tokens(sample, 0, threshold=136, keep=80) is None
    assert plan_by_tokens(sample, 0, threshold=135, keep=80) is not None


def test_what_a_summary_stands_for_is_not_summarized_again(sample: History) -> None:
    plan = plan_by_count(sample, 4, more_than=2, keep=2)
    assert plan == CompactionPlan(range(4, 6), range(6, 8))


def test_a_turn_is_never_cut() -> None:
    with_tools = history("uauatatau")
    assert parts(plan_by_count(with_tools, 0, more_than=4, keep=3)) == (8, 1)
    assert parts(plan_by_count(with_tools, 0, more_than=4, keep=7)) == (2, 7)


def test_the_newest_turn_stays_however_large_it_is() -> None:
    huge = history("uauatata", [10, 10, 10, 500, 500, 500, 500, 500])
    assert parts(plan_by_tokens(huge, 0, threshold=100, keep=50)) == (2, 6)
    assert plan_by_tokens(huge, 2, threshold=100, keep=50) is None


def test_either_reason_will_do_and_the_one_that_leaves_less_wins() -> None:
    chat = history("ua" * 10)
    by_count = CompactionLimits(tokens=10_000, keep_tokens=5_000, messages=16, keep_messages=8)
    by_tokens = CompactionLimits(tokens=150, keep_tokens=60, messages=100, keep_messages=50)
    both = CompactionLimits(tokens=150, keep_tokens=60, messages=16, keep_messages=8)
    assert parts(plan_compaction(chat, 0, 0, by_count)) == (12, 8)
    assert parts(plan_compaction(chat, 0, 0, by_tokens)) == (14, 6)
    assert parts(plan_compaction(chat, 0, 0, both)) == (14, 6)


def test_the_summary_takes_its_tokens_from_the_same_limit() -> None:
    chat = history("ua" * 7)
    limits = CompactionLimits(tokens=150, keep_tokens=60, messages=100, keep_messages=50)
    assert plan_compaction(chat, 0, 10, limits) is None
    assert parts(plan_compaction(chat, 0, 20, limits)) == (8, 6)


def test_in_a_narrow_window_the_limits_shrink_with_it() -> None:
    assert CompactionLimits().within(1_000) == CompactionLimits(tokens=1_000, keep_tokens=500)
    assert CompactionLimits().within(9_000) == CompactionLimits()


def test_it_is_due_before_the_history_overflows() -> None:
    defaults = BudgetSettings()
    assert CompactionLimits().tokens == defaults.trigger
    assert 0.8 <= defaults.trigger / defaults.history <= 0.9
    assert 0.8 <= CompactionLimits().messages / defaults.recent_messages <= 0.9


def test_by_hand_all_but_the_newest_turns_are_summarized_due_or_not(sample: History) -> None:
    limits = CompactionLimits(tokens=1_000, keep_tokens=80, messages=16, keep_messages=8)
    assert parts(plan_all(sample, 0, limits)) == (4, 4)
    assert plan_all(sample, 4, limits) is None
    assert plan_all(History(), 0, limits) is None


@given(
    st.text("uat", max_size=40).map(lambda roles: "u" + roles),
    st.lists(st.integers(0, 60), min_size=41, max_size=41),
    st.integers(0, 400),
    st.integers(0, 400),
    st.integers(0, 30),
    st.integers(0, 30),
)
def test_the_parts_neither_overlap_nor_leave_a_gap(
    roles: str, sizes: list[int], threshold: int, keep: int, more_than: int, keep_messages: int
) -> None:
    chat = history(roles, sizes[: len(roles)])
    limits = CompactionLimits(threshold, keep, more_than, keep_messages)
    for plan in (
        plan_by_count(chat, 0, more_than=more_than, keep=keep_messages),
        plan_by_tokens(chat, 0, threshold=threshold, keep=keep),
        plan_compaction(chat, 0, 0, limits),
    ):
        if plan is None:
            continue
        assert plan.covered.start == 0
        assert plan.covered.stop == plan.kept.start
        assert plan.kept.stop == len(chat)
        assert plan.kept.start in chat.turn_starts
        assert plan.covered
        assert plan.kept
    by_tokens = plan_by_tokens(chat, 0, threshold=threshold, keep=keep)
    if by_tokens is not None and by_tokens.kept.start != chat.turn_starts[-1]:
        assert chat.tokens(by_tokens.kept) <= keep
