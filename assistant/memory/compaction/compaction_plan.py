"""When to compact, and what: decisions over plain data that change nothing.

A plan parts the messages after the summary in force into what would be summarized and what stays
word for word. The cut falls between turns; the two parts neither overlap nor leave a gap.
"""

from __future__ import annotations

from bisect import bisect_left

import msgspec

from assistant.memory.token_budget import History


class CompactionLimits(msgspec.Struct, frozen=True):
    """When compaction is due, and how much of the newest stays word for word."""

    tokens: int = 2_500
    """More tokens than this of summary and recent turns are too many."""
    keep_tokens: int = 1_250
    messages: int = 16
    """More recent messages than this are too many."""
    keep_messages: int = 8

    def within(self, room: int) -> CompactionLimits:
        """The same where summary and recent turns have no more than `room` tokens together."""
        if room >= self.tokens:
            return self
        keep = min(self.keep_tokens, room // 2)
        return msgspec.structs.replace(self, tokens=room, keep_tokens=keep)


class CompactionPlan(msgspec.Struct, frozen=True):
    """Indices in the session's history: `kept` begins where `covered` ends."""

    covered: range
    kept: range
    last: int = 0
    """Id of the last message covered: that it is still there says that the plan still holds."""


def plan_by_count(
    history: History, start: int, *, more_than: int, keep: int
) -> CompactionPlan | None:
    """From `start` on, when there are more than `more_than` messages: keep the last `keep`.

    None when nothing is to be done. Fewer are kept where `keep` would cut a turn, but the newest
    turn stays whole. O(log n).
    """
    if len(history) - start <= more_than:
        return None
    return _cut(history, start, len(history) - keep)


def plan_by_tokens(
    history: History, start: int, *, threshold: int, keep: int
) -> CompactionPlan | None:
    """From `start` on, when there are more than `threshold` tokens: keep the newest `keep` tokens.

    None when nothing is to be done. O(log n).
    """
    recent = range(start, len(history))
    if history.tokens(recent) <= threshold:
        return None
    return _cut(history, start, _first_within(history, start, keep))


def plan_compaction(
    history: History, start: int, summary_tokens: int, limits: CompactionLimits
) -> CompactionPlan | None:
    """By count or by tokens, whichever is due; when both are, what leaves less word for word."""
    plans = (
        plan_by_count(history, start, more_than=limits.messages, keep=limits.keep_messages),
        plan_by_tokens(
            history,
            start,
            threshold=max(0, limits.tokens - summary_tokens),
            keep=max(0, min(limits.keep_tokens, limits.tokens - summary_tokens)),
        ),
    )
    return max(
        (plan for plan in plans if plan is not None),
        key=lambda plan: plan.covered.stop,
        default=None,
    )


def plan_all(history: History, start: int, limits: CompactionLimits) -> CompactionPlan | None:
    """What `/compact` does, due or not: the newest turns stay, by the narrower limit."""
    by_tokens = _first_within(history, start, limits.keep_tokens)
    return _cut(history, start, max(by_tokens, len(history) - limits.keep_messages))


def _first_within(history: History, start: int, tokens: int) -> int:
    """The first message from which on the rest takes `tokens` at most."""
    indices = range(start, len(history))
    return start + bisect_left(
        indices, -tokens, key=lambda at: -history.tokens(range(at, len(history)))
    )


def _cut(history: History, start: int, wanted: int) -> CompactionPlan | None:
    """The cut at a turn's start, at `wanted` or after it; before the newest turn at the latest."""
    starts = history.turn_starts
    if not starts:
        return None
    at = starts[min(bisect_left(starts, wanted), len(starts) - 1)]
    if at <= start:
        return None
    return CompactionPlan(range(start, at), range(at, len(history)))
