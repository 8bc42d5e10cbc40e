"""The memory index against the logs it was made from, without opening it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Set
from pathlib import Path

import msgspec

from assistant.errors import IndexBroken, IndexLocked, MemoryIndexError
from assistant.memory.checks.findings import Finding, Remedy
from assistant.memory.recall.indexer import digest
from assistant.memory.session_log import UNREADABLE
from assistant.memory.session_store import FileState, SessionStore


class _Compared(msgspec.Struct, frozen=True):
    file: FileState


class _Kept(msgspec.Struct, frozen=True):
    """Of what the indexer remembers: each session's file, as it was when all of it was indexed."""

    sessions: dict[str, _Compared] = {}


_kept_decoder = msgspec.json.Decoder(_Kept)


def check_index(
    indexed: Callable[[], Mapping[str, str] | None],
    discard: Callable[[], None],
    store: SessionStore,
    kept: Path,
) -> Iterator[Finding]:
    """Rows against exchanges. `indexed` gives the digest of each row that is found, by its id; or
    None where there is no index yet.

    `discard` deletes it; the next conversation makes it anew. `kept` is `data/index.json`.
    """
    remedy = removal(discard)
    try:
        rows = indexed()
    except IndexLocked as error:
        yield Finding("ok", f"Not compared: {error}")
    except IndexBroken as error:
        yield Finding("problem", str(error), remedy)
    except MemoryIndexError as error:
        yield Finding("warning", str(error))
    else:
        if rows is None:
            yield Finding("ok", "There is none yet; the next conversation makes it.")
        else:
            yield from _compared(rows, store, _settled(store, kept), remedy)


def removal(discard: Callable[[], None]) -> Remedy:
    """Nothing of an index needs a copy: all of it is made from the logs."""
    return Remedy(
        "The memory index is removed; the next conversation makes it anew.", lambda _: discard()
    )


def _compared(
    indexed: Mapping[str, str], store: SessionStore, settled: Set[str], remedy: Remedy
) -> Iterator[Finding]:
    """A difference is a fault only in sessions that were compared as they are now."""
    left = dict(indexed)
    wrong = to_do = exchanges = 0
    for name in store.files():
        for exchange in store.exchanges(name):
            exchanges += 1
            if left.pop(exchange.id, None) != digest(exchange):
                wrong += name in settled
                to_do += name not in settled
    changing = sum(id.rpartition(".")[0] not in settled for id in left)
    wrong += len(left) - changing
    if wrong:
        yield Finding(
            "problem",
            f"Rows of the memory index that are not what the session files say: {wrong:,}. "
            "Nothing is lost; recall may miss something, or bring up what is no more.",
            remedy,
        )
    if to_do or changing:
        yield Finding(
            "ok",
            f"Exchanges still to be added: {to_do:,}; rows to be taken out: {changing:,}. The next "
            "conversation does it.",
        )
    yield Finding("ok", f"Rows: {len(indexed):,}; exchanges: {exchanges:,}.")


def _settled(store: SessionStore, kept: Path) -> Set[str]:
    """Sessions that were indexed as their files are now."""
    try:
        known = _kept_decoder.decode(kept.read_bytes()).sessions
    except (OSError, *UNREADABLE):
        return frozenset()
    files = store.files()
    return {name for name, one in known.items() if files.get(name) == one.file}
