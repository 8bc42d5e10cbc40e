"""Control sequences in text of users, models, files and errors: taken out before it is shown."""

from __future__ import annotations

import re

from assistant.messages import clean_text

_CONTROL = re.compile(
    r"(?:\x1b\[|\x9b)[0-?]{0,64}[ -/]{0,64}[@-~]?"
    r"|(?:\x1b[\]PX^_]|[\x9d\x90\x98\x9e\x9f])[^\x07\x1b\x9c\n]{0,4096}(?:\x07|\x1b\\|\x9c)"
    r"|\x1b[ -/]{0,64}[0-~]?"
    r"|[\x00-\x08\x0b-\x1f\x7f-\x9f]"
)
_UNFINISHED = re.compile(
    r"(?:(?:\x1b\[|\x9b)[0-?]{0,64}[ -/]{0,64}"
    r"|(?:\x1b[\]PX^_]|[\x9d\x90\x98\x9e\x9f])[^\x07\x1b\x9c\n]{0,4096}\x1b?"
    r"|\x1b[ -/]{0,64}"
    r"|[\ud800-\udbff])\Z"
)


class ControlFilter:
    """Takes control sequences out of a text that comes in pieces, and mends split surrogates.

    A string sequence that no terminator ends is not taken for one: only its start goes, or a
    single stray character would swallow the rest of the reply.
    """

    def __init__(self) -> None:
        self._held = ""

    def feed(self, piece: str) -> str:
        text = self._held + piece
        unfinished = _UNFINISHED.search(text)
        end = unfinished.start() if unfinished else len(text)
        self._held = text[end:]
        return without_control(text[:end])

    def finish(self) -> str:
        rest, self._held = self._held, ""
        return without_control(rest)


def without_control(text: str) -> str:
    """Whole text as it may go to a terminal: of control characters only tab and newline stay."""
    return clean_text(_CONTROL.sub("", text))
