"""stub by lead until the ranking is there"""

from __future__ import annotations


class CorpusStatistics:
    pass
