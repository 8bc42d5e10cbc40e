"""What an erasure says of a turn or of a file."""

from __future__ import annotations

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


def digest(data: bytes) -> str:
    """16 hexadecimal digits that stand for the bytes of a file."""
    import hashlib  # here, because the prompt need not wait for it

    return hashlib.sha256(data).hexdigest()[:DIGITS]
