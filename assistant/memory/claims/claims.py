"""Claims in a reply that something was saved, booked, changed or remembered.

A reply is only words: whether anything was written is known from the store alone. What is offered,
asked, denied, reported of others or of a past day is no claim. A promise to remember or to remind
is one: nobody keeps it when nothing was written.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from assistant.memory.claims import chinese_claims, english_claims
from assistant.memory.compaction.clauses import clauses, sentences

#: Characters of a reply that are looked at: what was done is said at its start or its end.
_LOOKED_AT = 1_500
#: Characters around a clause that may say whose doing it was.
_NEAR = 120

_FENCE = re.compile(r"^\s{0,3}(?:```|~~~)")
_QUOTED_LINE = re.compile(r"^\s{0,3}>")
_EMPHASIS = re.compile(r"[*`~]|\b_{1,3}|_{1,3}\b")
#: Bullets, figures of a list, check marks; a quotation keeps its mark.
_LEAD_MARKS = re.compile(r"^[^\w\"“‘'「『]+")
_QUESTION = re.compile(
    r"(?:so |and |or )?(?:shall|should|would|will|do|does|did|have|has|can|could|may|is|are|was"
    r"|were|want|what|when|where|which|who|why|how)\b|是否|要不要|需不需要|难道",
    re.IGNORECASE,
)


def claims_a_change(reply: str) -> bool:
    """Whether a reply says that something was saved, booked, changed or remembered just now."""
    text = "\n".join(_own_lines(reply))
    if len(text) > 2 * _LOOKED_AT:
        text = f"{text[:_LOOKED_AT]}\n{text[-_LOOKED_AT:]}"
    text = _EMPHASIS.sub("", text)
    return any(_claims(text[slice(*span)]) for span in sentences(text))


def _own_lines(reply: str) -> Iterator[str]:
    """The lines that are neither code nor quoted."""
    in_code = False
    for line in reply.splitlines():
        if _FENCE.match(line):
            in_code = not in_code
        elif not in_code and not _QUOTED_LINE.match(line):
            yield line


def _claims(sentence: str) -> bool:
    sentence = _LEAD_MARKS.sub("", sentence)
    spans = clauses(sentence, (0, len(sentence)), ())
    if sentence.endswith(("?", "？")):
        # "I've added it, anything else?" asks in its last clause alone.
        spans = [] if _QUESTION.match(sentence) else spans[:-1]
    for start, end in spans:
        clause = sentence[start:end]
        before = sentence[max(0, start - _NEAR) : start]
        after = sentence[end : end + _NEAR]
        if english_claims.claims(clause, before, after) or chinese_claims.claims(clause, before):
            return True
    return False
