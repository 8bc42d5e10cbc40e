"""Index rows for tests, made from little."""

from __future__ import annotations

from datetime import UTC, datetime
from itertools import count

import numpy as np
from numpy.typing import ArrayLike

from assistant.memory.recall.terms import terms
from assistant.protocols import IndexRow

_turns = count(1_000, step=10)


def row(
    user: str,
    assistant: str = "",
    *,
    at: str = "2026-03-02T12:00:00",
    session: str = "s1",
    turn: int | None = None,
    vector: ArrayLike | None = None,
) -> IndexRow:
    """An exchange; without `turn` it is nobody's neighbour."""
    turn = next(_turns) if turn is None else turn
    ts = int(datetime.fromisoformat(at).replace(tzinfo=UTC).timestamp() * 1000)
    unit = None
    if vector is not None:
        unit = np.asarray(vector, np.float32)
        unit = unit / np.linalg.norm(unit)
    words = terms(f"{user}\n{assistant}")
    return IndexRow(f"{session}.{turn}", session, turn, ts, user, assistant, words, "", unit)
