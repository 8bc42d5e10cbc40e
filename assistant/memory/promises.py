"""What was promised lately, by either side: for the first screen of the next session.

Kept in one small derived file, written after the turn, so that a start need not read sessions.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from pathlib import Path

import msgspec

from assistant.memory.files import make_folder, write_atomically
from assistant.messages import Message

#: Promises that are kept, and for how long.
MOST = 20
LASTING = timedelta(days=14)


class Promise(msgspec.Struct, frozen=True, omit_defaults=True):
    """A clause in which somebody promised something, word for word."""

    session: str
    turn: int
    by: str
    """`user` or `assistant`."""
    text: str
    said: datetime


_decoder = msgspec.json.Decoder(list[Promise])


class Promises:
    """The newest promises; unreadable, they are begun anew."""

    def __init__(self, path: Path, has_session: Callable[[str], bool]) -> None:
        """`has_session` says whether a session is still there: what it held goes with it."""
        self._path = path
        self._has_session = has_session

    def note(self, session: str, messages: Sequence[Message]) -> None:
        """Keep what is promised in the messages of a turn."""
        from assistant.memory.at_risk import at_risk  # here: its patterns take long to compile

        said = [one for one in messages if one.role in ("user", "assistant")]
        found = [
            Promise(session, item.turn, item.role, item.text, ts)
            for item in at_risk(said)
            if item.kind == "promise" and (ts := _said(said, item.role)) is not None
        ]
        if not found:
            return
        known = [one for one in self._read() if (one.session, one.turn) != (session, found[0].turn)]
        # When it can't be written, the next start shows less.
        with contextlib.suppress(OSError):
            make_folder(self._path.parent)
            write_atomically(self._path, msgspec.json.encode([*known, *found][-MOST:]))

    @property
    def any(self) -> bool:
        """Whether there may be some, without reading them."""
        return self._path.exists()

    def lately(self, now: datetime, *, not_in: str) -> Sequence[Promise]:
        """Those of other sessions that are not too long ago, the newest first."""
        return [
            one
            for one in reversed(self._read())
            if one.session != not_in and now - one.said < LASTING and self._has_session(one.session)
        ]

    def _read(self) -> list[Promise]:
        try:
            return _decoder.decode(self._path.read_bytes())
        except (OSError, msgspec.MsgspecError, UnicodeDecodeError):
            return []


def _said(messages: Sequence[Message], role: str) -> datetime | None:
    return next((one.ts for one in messages if one.role == role), None)
