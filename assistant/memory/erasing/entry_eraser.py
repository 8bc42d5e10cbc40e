"""Erasing from the logs of entries: facts and memos."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Generic, Protocol, TypeVar

from assistant.memory.entry_log import EntryLog
from assistant.memory.erasing.erased_facts import ErasedFacts
from assistant.memory.erasing.erased_memos import ErasedMemos
from assistant.memory.facts.facts import FactLogRecord, fact_decoder
from assistant.memory.memos import MemoRecord, memo_decoder
from assistant.protocols import Erasure, Match

R = TypeVar("R")


class Erased(Protocol[R]):
    """What an erasure means for the records of one log."""

    def matches(self) -> Sequence[Match]:
        """The entries that go, each once."""

    def changed(self, record: R) -> R | None:
        """A record without what is erased: None where nothing is left, itself where all is."""

    def names(self, line: bytes) -> bool:
        """Whether a line that can't be read speaks of an entry that goes."""


class EntryEraser(Generic[R]):
    """An `Erasable` over one log of entries."""

    def __init__(
        self,
        name: str,
        log: Callable[[], EntryLog[R]],
        path: Path,
        erased: Callable[[Erasure, Sequence[R]], Erased[R]],
    ) -> None:
        """`log` gives the log as it is now; `erased` decides over its records."""
        self.name = name
        self._log = log
        self._path = path
        self._erased = erased

    @property
    def files(self) -> Sequence[str]:
        return (f"data/{self._path.name}", f"data/.{self._path.name}.lock")

    def matches(self, erasure: Erasure) -> Sequence[Match]:
        return self._erased(erasure, self._log().records()).matches()

    def erase(self, erasure: Erasure, say: Callable[[str], None]) -> None:
        if not self._path.exists():
            return
        log = self._log()
        if erasure.everything:
            log.remove()
            return
        # Nothing is added between deciding and writing.
        with log.exclusively():
            erased = self._erased(erasure, log.records())
            log.rewrite(erased.changed, erased.names)

    def count(self, erasure: Erasure) -> int:
        log = self._log()
        records = log.records()
        if erasure.everything:
            return len(records) + log.skipped or int(self._path.exists())
        erased = self._erased(erasure, records)
        return log.touched(erased.changed, erased.names)

    def left(self, erasure: Erasure) -> str:
        return ""


def fact_eraser(path: Path) -> EntryEraser[FactLogRecord]:
    """Erases from `data/facts.jsonl`."""
    return EntryEraser("facts", lambda: EntryLog(path, fact_decoder, "facts"), path, ErasedFacts)


def memo_eraser(path: Path) -> EntryEraser[MemoRecord]:
    """Erases from `data/memos.jsonl`."""
    return EntryEraser("memos", lambda: EntryLog(path, memo_decoder, "memos"), path, ErasedMemos)
