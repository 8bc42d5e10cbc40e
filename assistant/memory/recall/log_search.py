"""Searching the session files themselves: exact words, with no index and nothing prepared."""

from __future__ import annotations

import re
from collections.abc import Sequence

import msgspec

from assistant.memory.session_store import SessionStore
from assistant.messages import Exchange

#: Characters shown on either side of the first word found.
AROUND = 60


class Found(msgspec.Struct, frozen=True):
    """An exchange that holds the words, and the place of the first one."""

    exchange: Exchange
    excerpt: str


def search_logs(store: SessionStore, words: str, limit: int) -> list[Found]:
    """The newest `limit` exchanges of all sessions that hold all the words, newest first.

    Case makes no difference; "quoted words" must stand together. A word is found within longer
    ones too: Chinese has no spaces, and half a code may be all one remembers.
    """
    wanted = [one.casefold() for one in _wanted(words)]
    if not wanted:
        return []
    found: list[Found] = []
    for session_id in sorted(store.files(), reverse=True):
        if not _may_hold(store.text(session_id), wanted):
            continue
        for exchange in store.exchanges(session_id, every=True):
            text = exchange.text
            folded = text.casefold()
            if all(word in folded for word in wanted):
                found.append(Found(exchange, _excerpt(text, folded, wanted[0])))
    found.sort(
        key=lambda one: one.exchange.ts.timestamp() if one.exchange.ts else 0.0, reverse=True
    )
    return found[:limit]


def _wanted(words: str) -> Sequence[str]:
    pairs = re.findall(r'"([^"]+)"|“([^”]+)”|(\S+)', words)
    return [quoted or curly or plain for quoted, curly, plain in pairs]


def _may_hold(file: str, wanted: Sequence[str]) -> bool:
    """Whether a file is worth reading line by line: JSON escapes quotes, backslashes, newlines."""
    folded = file.casefold()
    return all(word in folded for word in wanted if not re.search(r'["\\\x00-\x1f]', word))


def _excerpt(text: str, folded: str, word: str) -> str:
    """The text around the first word, on one line."""
    at = folded.find(word)
    start, end = max(0, at - AROUND), at + len(word) + AROUND
    before, after = "…" if start else "", "…" if end < len(text) else ""
    return before + " ".join(text[start:end].split()) + after
