"""Entries that words fit: for a model that knows what is meant, and not its id."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import TypeVar

T = TypeVar("T")

#: Words that tell no entry from another.
_FILLING = frozenset(
    "a about an and appointment at event for from in is it memo my note of on our that the "
    "this to with".split()
)
_WORD = re.compile(r"[^\W_\u3400-\u9fff]+")
_HAN = re.compile(r"[\u3400-\u9fff]+")


def best_fits(words: str, entries: Sequence[T], text: Callable[[T], str]) -> Sequence[T]:
    """The entries with the most of the words in their text, in their order; none without any.

    Chinese is compared by pairs of characters. Where one text is just the words, it alone fits.
    """
    wanted = _terms(words)
    shared = [len(wanted & _terms(text(one))) for one in entries]
    most = max(shared, default=0)
    if not most:
        return []
    best = [one for one, count in zip(entries, shared, strict=True) if count == most]
    same = [one for one in best if text(one).casefold().strip() == words.casefold().strip()]
    return same or best


def _terms(text: str) -> frozenset[str]:
    plain = text.casefold().replace("'s", "").replace("’s", "")
    words = {word.removesuffix("s") for word in _WORD.findall(plain) if word not in _FILLING}
    pairs = {run[at : at + 2] for run in _HAN.findall(plain) for at in range(max(1, len(run) - 1))}
    return frozenset(words | pairs)
