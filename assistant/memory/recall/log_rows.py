"""Exchanges that share words with a question, read from the session files: recall with no index.

The logs are complete whatever has become of the index: while it is locked, broken or still being
made, words are looked for here.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from assistant.memory.recall.indexer import index_row
from assistant.memory.recall.terms import other_forms
from assistant.memory.session_store import FileState, SessionStore
from assistant.protocols import IndexRow

#: Sessions that are read for one question at most, the newest ones that may hold its words.
MOST_SESSIONS = 200
#: Sessions whose rows are kept in memory, so that the next question need not make them again.
KEPT_SESSIONS = 400

_LATIN = re.compile(r"[a-z0-9]+\Z")


class LogRows:
    """Rows of sessions that may hold a question's words, made when they are asked for."""

    def __init__(self, store: SessionStore) -> None:
        self._store = store
        self._made: dict[str, tuple[FileState, Sequence[IndexRow]]] = {}

    def rows(self, terms: Sequence[str]) -> list[IndexRow]:
        """All exchanges of the newest sessions in which one of the terms may occur."""
        found: list[IndexRow] = []
        wanted = _pattern(terms)
        if wanted is None:
            return found
        sessions = 0
        for name, file in sorted(self._store.files().items(), reverse=True):
            if wanted.search(self._store.text(name)):
                found += self._rows_of(name, file)
                sessions += 1
                if sessions == MOST_SESSIONS:
                    break
        return found

    def _rows_of(self, name: str, file: FileState) -> Sequence[IndexRow]:
        known = self._made.get(name)
        if known is not None and known[0] == file:
            return known[1]
        rows = [index_row(exchange, None) for exchange in self._store.exchanges(name)]
        self._made.pop(name, None)
        while len(self._made) >= KEPT_SESSIONS:
            del self._made[next(iter(self._made))]
        self._made[name] = (file, rows)
        return rows


def _pattern(terms: Sequence[str]) -> re.Pattern[str] | None:
    """What stands in a text that has one of the terms, as far as its letters tell.

    A stem differs from its words in its last letters, and an accent may have been taken off: the
    pattern finds a little too much, which ranking sorts out.
    """
    spelt = {form for term in terms for form in (term, *other_forms(term))}
    # Where there are pairs of Chinese characters, single ones would find nearly every session.
    spelt = {one for one in spelt if len(one) > 1} or spelt
    if not spelt:
        return None
    return re.compile("|".join(sorted(map(_start, spelt))), re.IGNORECASE)


def _start(term: str) -> str:
    if term.isdigit():
        return ",?".join(term)
    return re.escape(term[: max(3, len(term) - 2)] if _LATIN.match(term) else term)
