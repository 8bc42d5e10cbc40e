"""Which of our two languages a text is written in, for labels and prompts."""

from __future__ import annotations

import re

from assistant.messages import Language

#: As much of a text as is looked at.
LOOKED_AT = 20_000

_HAN = re.compile(r"[\u3400-\u9fff\uf900-\ufaff]")
_WORD = re.compile(r"[A-Za-z\u00c0-\u024f]+")


def language_of(text: str) -> Language:
    """`zh` when at least a third of the words are Chinese, a character counting as one."""
    looked_at = text[:LOOKED_AT]
    han, words = len(_HAN.findall(looked_at)), len(_WORD.findall(looked_at))
    return "zh" if han and 2 * han >= words else "en"


def length_in_words(text: str) -> int:
    """Words, a Chinese character counting as one: what a summary's length is bounded in."""
    return len(_HAN.findall(text)) + len(_WORD_OR_NUMBER.findall(text))


_WORD_OR_NUMBER = re.compile(r"[^\W\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]+")
