"""What was promised lately, by either side: for the first screen of the next session.

Kept in one small derived file, written after the turn, so that a start need not read sessions.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from pathlib import Path

import msgspec

from assistant.errors import NotSaved
from assistant.memory.erasing.erasures import goes
from assistant.memory.files import write_atomically
from assistant.memory.shared_file import remove_file, replace_file, write_lock
from assistant.messages import Message
from assistant.protocols import Erasure, Match

#: Promises that are kept, and for how long.
MOST = 20
LASTING = timedelta(days=14)

WHAT = "the promises"


class Promise(msgspec.Struct, frozen=True, omit_defaults=True):
    """A clause in which somebody promised something, word for word."""

    session: str
    turn: int
    by: str
    """`user` or `assistant`."""
    text: str
    said: datetime


promise_decoder = msgspec.json.Decoder(list[Promise])


class Promises:
    """The newest promises; unreadable, they are begun anew."""

    def __init__(
        self,
        path: Path,
        has_turn: Callable[[str, int], bool],
        has_message: Callable[[str, Message], bool],
    ) -> None:
        """`has_turn` says whether a session is still there and a turn part of its conversation;
        `has_message` whether a message stands in its file.
        """
        self._path = path
        self._has_turn = has_turn
        self._has_message = has_message

    def note(self, session: str, messages: Sequence[Message]) -> None:
        """Keep what is promised in the messages of a turn, unless they were erased meanwhile."""
        from assistant.memory.compaction.at_risk import (
            at_risk,  # here: its patterns take long to compile
        )

        said = [one for one in messages if one.role in ("user", "assistant")]
        found = [
            Promise(session, item.turn, item.role, item.text, ts)
            for item in at_risk(said)
            if item.kind == "promise" and (ts := _said(said, item.role)) is not None
        ]
        if not found:
            return
        told = (session, found[0].turn)
        # When it can't be written, the next start shows less. Whoever erases meanwhile is waited
        # for: what was read before would come back.
        with contextlib.suppress(OSError, NotSaved), write_lock(self._path, WHAT):
            if not all(self._has_message(session, one) for one in said):
                return
            known = [one for one in _read(self._path) if (one.session, one.turn) != told]
            write_atomically(self._path, msgspec.json.encode([*known, *found][-MOST:]))

    @property
    def any(self) -> bool:
        """Whether there may be some, without reading them."""
        return self._path.exists()

    def lately(self, now: datetime, *, not_in: str) -> Sequence[Promise]:
        """Those of other sessions that are not too long ago, the newest first."""
        return [
            one
            for one in reversed(_read(self._path))
            if one.session != not_in
            and now - one.said < LASTING
            and self._has_turn(one.session, one.turn)
        ]


class PromiseEraser:
    """An `Erasable` over the file of promises. One that can't be read goes whole."""

    name = "promises"

    def __init__(self, path: Path) -> None:
        self._path = path

    @property
    def files(self) -> Sequence[str]:
        return (f"data/{self._path.name}", f"data/.{self._path.name}.lock")

    def matches(self, erasure: Erasure) -> Sequence[Match]:
        return [
            Match("promise", f"{one.session}.{one.turn}", one.text)
            for one in _read(self._path)
            if _goes(one, erasure)
        ]

    def erase(self, erasure: Erasure, say: Callable[[str], None]) -> None:
        take_out(self._path, lambda one: _goes(one, erasure))

    def count(self, erasure: Erasure) -> int:
        return len(self.matches(erasure)) or int(
            self._path.exists() and (erasure.everything or not _read(self._path))
        )

    def left(self, erasure: Erasure) -> str:
        return ""


def take_out(path: Path, goes: Callable[[Promise], bool]) -> None:
    """Take promises out of the file. Raises NotSaved."""
    if not path.exists():
        return
    with write_lock(path, WHAT):
        promises = _read(path)
        kept = [one for one in promises if not goes(one)]
        if not kept:
            remove_file(path)
        elif kept != promises:
            replace_file(path, msgspec.json.encode(kept))


def _goes(promise: Promise, erasure: Erasure) -> bool:
    if erasure.everything or promise.turn in erasure.changed.get(promise.session, ()):
        return True
    return goes(erasure, f"{promise.session}.{promise.turn}")


def _read(path: Path) -> list[Promise]:
    try:
        return promise_decoder.decode(path.read_bytes())
    except (OSError, msgspec.MsgspecError, UnicodeDecodeError):
        return []


def _said(messages: Sequence[Message], role: str) -> datetime | None:
    return next((one.ts for one in messages if one.role == role), None)
