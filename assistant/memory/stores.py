"""What the user keeps: calendar, memos and facts, each opened when it is first needed."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from assistant.protocols import Embedder

if TYPE_CHECKING:
    from assistant.memory.calendar.calendar import CalendarFile
    from assistant.memory.facts.facts import Facts
    from assistant.memory.memos import Memos
    from assistant.memory.times.times import Times


class HomeStores:
    """The stores of one home. What reads each is imported with it: a start needs none of it."""

    def __init__(
        self,
        folder: Path,
        *,
        clock: Callable[[], datetime],
        new_letters: Callable[[], str],
        embedder: Callable[[], Embedder | None],
    ) -> None:
        """`new_letters` gives letters for an id; `embedder` is for finding memos by meaning."""
        self._folder = folder
        self._clock = clock
        self._new_letters = new_letters
        self._embedder = embedder

    @property
    def has_calendar(self) -> bool:
        return (self._folder / "calendar.ics").exists()

    @cached_property
    def calendar(self) -> CalendarFile:
        from assistant.memory.calendar.calendar import CalendarFile

        path = self._folder / "calendar.ics"
        return CalendarFile(path, clock=self._clock, new_id=self._new_letters)

    @cached_property
    def memos(self) -> Memos:
        from assistant.memory.memos import Memos

        path = self._folder / "memos.jsonl"
        return Memos(path, self._clock, self._new_letters, self._embedder)

    @cached_property
    def facts(self) -> Facts:
        from assistant.memory.facts.facts import Facts

        path = self._folder / "facts.jsonl"
        return Facts(path, times=self.times, new_letters=self._new_letters)

    @cached_property
    def times(self) -> Times:
        from assistant.memory.times.times import Times

        return Times(self._clock)
