"""What an erasure says of a turn or of a text, and files that go from the disk for good."""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Iterator
from pathlib import Path

from assistant.memory.files import write_atomically
from assistant.memory.shared_file import not_saved
from assistant.protocols import Erasure

#: Hexadecimal digits of SHA-256 that stand for a line that was typed, or an exported file.
DIGITS = 16


def goes(erasure: Erasure, source: str) -> bool:
    """Whether a turn, `<session>.<turn>`, is erased. What names no turn is not."""
    session, _, turn = source.rpartition(".")
    return session in erasure.sessions or (
        turn.isdecimal() and int(turn) in erasure.turns.get(session, ())
    )


def sessions_of(erasure: Erasure) -> set[str]:
    """The sessions that lose something."""
    return {
        *erasure.turns,
        *erasure.messages,
        *erasure.titles,
        *erasure.lines,
        *erasure.sessions,
    }


def sources(erasure: Erasure) -> set[str]:
    """The turns that are named one by one, each `<session>.<turn>`."""
    return {f"{session}.{turn}" for session, turns in erasure.turns.items() for turn in turns}


def text_digest(text: str) -> str:
    """16 hexadecimal digits that stand for a text; lone surrogates have their own."""
    return digest(text.encode("utf-8", "surrogatepass"))


def digest(data: bytes) -> str:
    """16 hexadecimal digits that stand for the bytes of a file."""
    import hashlib  # here, because the prompt need not wait for it

    return hashlib.sha256(data).hexdigest()[:DIGITS]


def replace_file(path: Path, data: bytes) -> None:
    """Put other bytes in the place of a file, so that not even a power cut brings the old ones
    back. Where the path is a link, the link stays. Raises NotSaved.
    """
    place = Path(os.path.realpath(path))
    try:
        write_atomically(place, data)
    except OSError as error:
        raise not_saved(path, error) from error
    sync_folder(place.parent)


def remove_file(path: Path) -> None:
    """Remove a file, and what it links to. One that is not there is no error. Raises NotSaved."""
    place = Path(os.path.realpath(path))
    try:
        place.unlink(missing_ok=True)
        path.unlink(missing_ok=True)
    except OSError as error:
        raise not_saved(path, error) from error
    sync_folder(place.parent)


def temporary_of(path: Path) -> Iterator[Path]:
    """What processes that are writing a file, or were killed at it, have beside it."""
    written = re.compile(rf"\.{re.escape(path.name)}\.\d{{1,9}}\.tmp")
    return (one for one in path.parent.glob(".*.tmp") if written.fullmatch(one.name))


def sync_folder(folder: Path) -> None:
    """Have the disk take what was renamed or removed in a folder, where the system can."""
    with contextlib.suppress(OSError):
        fd = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(fd)
        finally:
            os.close(fd)
