"""What comes out of an embedder, checked: float32, finite, of length one, all of one dimension."""

from __future__ import annotations

from typing import TYPE_CHECKING

from assistant.errors import BadVectors

if TYPE_CHECKING:
    from collections.abc import Sequence

    from assistant.protocols import Vector

WORDS_ALONE = "Nothing was lost, and recall goes on by words alone."


def checked_vectors(
    raw: object, *, count: int, dimension: int | None, name: str
) -> Sequence[Vector]:
    """The rows of `raw` as vectors: anything numpy takes for an array of shape (count, dimension).

    `dimension` is what they must have, None where that is not known yet. `name` is the embedder's,
    for the sentence. Raises `BadVectors`.
    """
    import numpy as np

    try:
        rows = np.asarray(raw, dtype=np.float64)
    except (ValueError, TypeError, OverflowError) as error:
        raise _bad(name, "not rows of numbers, all as long as each other") from error
    if rows.ndim != 2 or 0 in rows.shape:
        raise _bad(name, "not rows of numbers, all as long as each other")
    if len(rows) != count:
        raise _bad(name, f"{len(rows)} for {count} texts")
    if dimension is not None and rows.shape[1] != dimension:
        raise _bad(name, f"of {rows.shape[1]:,} numbers instead of {dimension:,}")
    with np.errstate(all="ignore"):
        lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    if not (np.isfinite(lengths) & (lengths > 0)).all():
        raise _bad(name, "without a direction (zero, infinite or not a number)")
    return list((rows / lengths).astype(np.float32))


def _bad(name: str, what: str) -> BadVectors:
    return BadVectors(
        f"The embedder {name} gave vectors that can't be used: {what}. {WORDS_ALONE} "
        "Choose another embedding model if this stays."
    )
