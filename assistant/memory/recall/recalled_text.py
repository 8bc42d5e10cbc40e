"""Recalled exchanges as they stand in the prompt: what fits, in the order of time.

One heading for each day, one line for each message:

    Mon 2023-05-08
    user: I've moved to Bern.
    assistant: Congratulations!

Evidence is mostly a single message, so messages are chosen one by one; what a heading or a label
costs is paid in messages that don't fit, so where each was said is kept beside the text, not in it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime, tzinfo

import msgspec

from assistant.memory.recall.ranking import Question, Ranked
from assistant.memory.recall.terms import terms
from assistant.protocols import IndexRow

#: Characters of a message that are shown; of a longer one, the stretch with most of the words.
LONGEST_SHOWN = 600

#: So many messages that don't fit, one after the other, and the room counts as full.
_MISSES = 25
_DAY = "%a %Y-%m-%d"
_SPEAKERS = ("user", "assistant")


def fill(
    question: Question, ranked: Sequence[Ranked], room: int, count: Callable[[str], int]
) -> list[Ranked]:
    """Messages in the order of their score while they fit `room` tokens.

    Returned are their exchanges, in the order of time, with what is `shown` of each.
    """
    shown: dict[str, list[str]] = {}
    headed: set[str] = set()
    misses = 0
    for _, which, one in _by_message(ranked):
        text = excerpt((one.row.user, one.row.assistant)[which], question.terms)
        heading = _heading(one.row, question.zone)
        tokens = count(f"{_SPEAKERS[which]}: {text}\n")
        if heading not in headed:
            tokens += count(f"{heading}\n")
        if tokens > room:
            misses += 1
            if misses == _MISSES:
                break
            continue
        misses = 0
        room -= tokens
        headed.add(heading)
        shown.setdefault(one.row.id, ["", ""])[which] = text
    chosen = [
        msgspec.structs.replace(one, shown=(shown[one.row.id][0], shown[one.row.id][1]))
        for one in ranked
        if one.row.id in shown
    ]
    return sorted(chosen, key=lambda one: (one.row.ts, one.row.session, one.row.turn))


def _by_message(ranked: Sequence[Ranked]) -> list[tuple[float, int, Ranked]]:
    messages = [
        (score, which, one)
        for one in ranked
        for which, score in enumerate(one.message_scores)
        if (one.row.user, one.row.assistant)[which].strip()
    ]
    return sorted(messages, key=lambda each: -each[0])


def recalled_text(chosen: Sequence[Ranked], zone: tzinfo = UTC) -> str:
    """What `fill` chose, as lines under headings."""
    return "\n".join(_lines(chosen, zone))


def _lines(chosen: Sequence[Ranked], zone: tzinfo) -> Iterator[str]:
    heading = ""
    for one in chosen:
        if (its_heading := _heading(one.row, zone)) != heading:
            heading = its_heading
            yield heading
        for speaker, text in zip(_SPEAKERS, one.shown, strict=True):
            if text:
                yield f"{speaker}: {text}"


def _heading(row: IndexRow, zone: tzinfo) -> str:
    if not row.ts:
        return "Day unknown"
    return f"{datetime.fromtimestamp(row.ts / 1000, zone):{_DAY}}"


def excerpt(text: str, wanted: Sequence[str]) -> str:
    """`text`, or LONGEST_SHOWN characters of it where most of the wanted terms are together.

    Lines after the first are indented, so that none can pass for another message's.
    """
    text = text.strip()
    if len(text) > LONGEST_SHOWN:
        text = _best_stretch(text, frozenset(wanted))
    return "\n  ".join(text.splitlines())


def _best_stretch(text: str, wanted: frozenset[str]) -> str:
    step = LONGEST_SHOWN // 3
    found = [wanted.intersection(terms(text[at : at + step])) for at in range(0, len(text), step)]
    together = [len(set().union(*found[at : at + 3])) for at in range(max(1, len(found) - 2))]
    start = together.index(max(together)) * step
    start = min(start, max(0, len(text) - LONGEST_SHOWN))
    stretch = text[start : start + LONGEST_SHOWN].strip()
    before, after = start > 0, start + LONGEST_SHOWN < len(text)
    return f"{'… ' if before else ''}{stretch}{' …' if after else ''}"
