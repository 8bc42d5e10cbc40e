"""What a person ticks off in a numbered list, read from one line."""

from __future__ import annotations

import re
from collections.abc import Sequence

from assistant.errors import UsageError

_RANGE = re.compile(r"(\d{1,6})(?:-(\d{1,6}))?\Z")
_DASH = re.compile(r"\s*-\s*")
_SIGNS = ",，、;；"
_SEPARATOR = re.compile(rf"\s*[{_SIGNS}\s]\s*")


def chosen_places(answer: str, count: int, marked: Sequence[int]) -> Sequence[int]:
    """The places (from 0) that "1,3-5", "all" or "none" name in a list of `count` things.

    An empty answer means those that are marked. Raises UsageError for anything else.
    """
    answer = answer.strip().lower()
    if not answer:
        return tuple(marked)
    if answer in ("all", "全部"):
        return tuple(range(count))
    if answer in ("none", "no", "n", "无"):
        return ()
    places: set[int] = set()
    for part in _SEPARATOR.split(_DASH.sub("-", answer).rstrip(_SIGNS)):
        found = _RANGE.match(part)
        first = int(found[1]) if found else 0
        last = int(found[2] or found[1]) if found else 0
        if not 1 <= first <= last <= count:
            raise UsageError(f"“{part}” names none of the {count} above. Nothing was changed.")
        places.update(range(first - 1, last))
    return tuple(sorted(places))
