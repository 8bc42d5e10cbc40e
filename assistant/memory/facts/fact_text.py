"""Facts as the system message carries them: word for word, rules first, one a line."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import msgspec

from assistant.messages import Fact, Language

#: Facts in a row that found no room, after which no smaller one is looked for.
MOST_MISSES = 10


class FactsBlock(msgspec.Struct, frozen=True):
    """What of the facts stands in a prompt."""

    text: str
    """Empty when none does."""
    tokens: int
    used: tuple[Fact, ...]
    left_out: tuple[Fact, ...]
    """Those without room, in the order they were given."""


def facts_block(
    facts: Sequence[Fact], count: Callable[[str], int], room: int, language: Language
) -> FactsBlock:
    """As many whole facts, in the order given, as fit into `room` tokens, marked as background.

    `count` counts tokens. Rules are told apart, as a model is to keep them. A fact that is too
    long for what is left makes way for the next; costs no more for facts that have no room.
    """
    opening, rules, closing = _BLOCK[language]
    frame = count(f"{opening}\n{rules}\n{closing}")
    left, misses = room - frame, 0
    used: list[Fact] = []
    left_out: list[Fact] = []
    for fact in facts:
        # The line's end is counted with it: joined, the lines take no more than their sum.
        tokens = left + 1 if misses >= MOST_MISSES else count(fact_line(fact, language) + "\n") + 1
        if tokens <= left:
            used.append(fact)
            left, misses = left - tokens, 0
        else:
            left_out.append(fact)
            misses += 1
    text = _block(used, language)
    return FactsBlock(text, count(text) if text else 0, tuple(used), tuple(left_out))


def fact_line(fact: Fact, language: Language) -> str:
    """A fact as one line, with its dates where they say more than the text."""
    since, until, comma, opening, closing = _DATES[language]
    dates = [since.format(f"{fact.valid_from or fact.said:%Y-%m-%d}")]
    if fact.valid_until is not None:
        dates.append(until.format(f"{fact.valid_until:%Y-%m-%d}"))
    elif fact.kind == "rule":
        return f"- {fact.text}"
    return f"- {fact.text}{opening}{comma.join(dates)}{closing}"


def _block(facts: Sequence[Fact], language: Language) -> str:
    if not facts:
        return ""
    opening, rules, closing = _BLOCK[language]
    standing = [fact_line(fact, language) for fact in facts if fact.kind == "rule"]
    known = [fact_line(fact, language) for fact in facts if fact.kind != "rule"]
    return "\n".join([opening, *known, *([rules, *standing] if standing else []), closing])


_BLOCK: dict[Language, tuple[str, str, str]] = {
    "en": (
        "[Background: what the user has told you about themselves. Where two differ, the later "
        "one holds.]",
        "The user asks you to keep to these:",
        "[End of what is known about the user]",
    ),
    "zh": (
        "【背景：用户以前告诉你的关于自己的情况。若有不同，以较晚的为准。】",
        "用户要求你遵守：",
        "【用户情况结束】",
    ),
}
_DATES: dict[Language, tuple[str, str, str, str, str]] = {
    "en": ("since {}", "until {}", ", ", " (", ")"),
    "zh": ("自{}", "至{}", "，", "（", "）"),
}
