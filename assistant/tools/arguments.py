"""Arguments that several tools take: the times a model passes, read by code."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import TypeVar

from assistant.errors import WrongEntry
from assistant.protocols import Times

T = TypeVar("T")


def named(field: str, read: Callable[[], T]) -> T:
    """What `read` gives. A WrongEntry it raises is about the argument `field`."""
    try:
        return read()
    except WrongEntry as error:
        raise WrongEntry(str(error), error.field or field) from error


def stretch_of(times: Times, start: str, end: str) -> tuple[datetime | None, datetime | None]:
    """The bounds that two expressions name; the first alone may be a stretch itself.

    None where nothing bounds it.
    """
    first = named("from", lambda: times.stretch(start)) if start else None
    last = named("to", lambda: times.stretch(end)) if end else first
    return (first.start if first else None), (last.end if last else None)
