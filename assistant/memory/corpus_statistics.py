"""stub by lead until the ranking is there"""

from __future__ import annotations

from typing import Any


class CorpusStatistics:
    @classmethod
    def of(cls, sample: Any, total: int) -> CorpusStatistics:
        return cls()

    def add(self, rows: Any) -> None:
        pass
