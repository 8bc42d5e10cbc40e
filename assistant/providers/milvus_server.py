"""A user's rows on a Milvus server, in the collections of every embedder: read, and erased.

Nothing of it needs the index to be open. A collection that is not loaded is loaded for it, and
released again.
"""

from __future__ import annotations

import contextlib
from collections.abc import Collection, Iterator, Sequence
from typing import Any

from assistant.protocols import IndexRow
from assistant.providers.milvus_errors import translated
from assistant.providers.milvus_index import (
    DIGESTS_AT_ONCE,
    FLUSHING,
    IDS_AT_ONCE,
    OPENING,
    WRITING,
    IndexPlace,
    connect,
)
from assistant.providers.milvus_rows import Shape, from_milvus, is_shared, owner_of

#: Seconds for a connection.
CONNECTING = 5.0

_FIELDS = Shape(None, None, keyword=False).fields


def rows_on_server(
    place: IndexPlace, user: str, sessions: Collection[str] | None
) -> Sequence[IndexRow]:
    """The user's rows of these sessions, or all, without their vectors. Raises IndexUnavailable."""
    owner = owner_of(user)
    whose = owner.filter if sessions is None else owner.filter_of(sessions)
    if sessions is not None and not sessions:
        return []
    with _collections(place) as (client, names):
        return [
            from_milvus(fields, owner)
            for name in names
            for fields in _queried(client, name, whose, _FIELDS)
        ]


def erase_on_server(place: IndexPlace, user: str, ids: Sequence[str] | None) -> None:
    """Delete the user's rows with these ids, or all, and have the server merge what is left.

    A collection that holds no rows of anybody is dropped when all are deleted. Raises
    IndexUnavailable.
    """
    owner = owner_of(user)
    with _collections(place) as (client, names):
        for name in names:
            if ids is None:
                keys = [row["id"] for row in _queried(client, name, owner.filter, ["id"])]
            else:
                keys = [owner.row_key(id) for id in ids]
            _delete(client, name, keys)
            if ids is None and not _count(client, name, ""):
                client.drop_collection(name, timeout=OPENING)


def _delete(client: Any, name: str, keys: Sequence[str]) -> None:
    for start in range(0, len(keys), IDS_AT_ONCE):
        client.delete(name, ids=list(keys[start : start + IDS_AT_ONCE]), timeout=WRITING)
    if keys:
        client.flush(name, timeout=FLUSHING)
        # It does so by itself, only later.
        with contextlib.suppress(Exception):
            client.compact(name, timeout=WRITING)


@contextlib.contextmanager
def _collections(place: IndexPlace) -> Iterator[tuple[Any, Iterator[str]]]:
    """A client, and the names of our collections: each is loaded when its turn comes."""
    with translated(str(place), on_disk=False):
        client = connect(place, CONNECTING)
        try:
            names = [name for name in client.list_collections(timeout=OPENING) if is_shared(name)]
            yield client, _loaded(client, names)
        finally:
            client.close()


def _loaded(client: Any, names: Sequence[str]) -> Iterator[str]:
    for name in names:
        state = client.get_load_state(name, timeout=OPENING)["state"]
        was_loaded = state.name == "Loaded"
        if not was_loaded:
            client.load_collection(name, timeout=OPENING)
        yield name
        if not was_loaded and client.has_collection(name, timeout=OPENING):
            client.release_collection(name, timeout=OPENING)


def _queried(client: Any, name: str, whose: str, fields: Sequence[str]) -> Iterator[dict[str, Any]]:
    # A server's iterator doesn't wait for what was just written; after a count, which does, it is
    # there.
    _count(client, name, whose)
    iterator = client.query_iterator(
        name,
        batch_size=DIGESTS_AT_ONCE,
        filter=whose,
        output_fields=list(fields),
        consistency_level="Strong",
        timeout=WRITING,
    )
    try:
        while batch := iterator.next():
            yield from batch
    finally:
        iterator.close()


def _count(client: Any, name: str, whose: str) -> int:
    (answer,) = client.query(
        name,
        filter=whose,
        output_fields=["count(*)"],
        consistency_level="Strong",
        timeout=WRITING,
    )
    return int(answer["count(*)"])
