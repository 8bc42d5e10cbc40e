"""MilvusIndex: exchanges found by meaning and by words, in Milvus Lite or on a Milvus server."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import urlsplit

import msgspec

from assistant.errors import IndexBroken, IndexUnavailable
from assistant.protocols import Hit, Hits, IndexRow
from assistant.providers.milvus_embedded import EmbeddedServer, set_aside, start_embedded
from assistant.providers.milvus_errors import (
    NOTHING_LOST,
    grpc_status,
    import_pymilvus,
    said_by,
    translated,
)
from assistant.providers.milvus_rows import (
    Owner,
    Shape,
    check_vector,
    collection_name,
    from_milvus,
    is_of_owner,
    joined,
    owner_of,
    schema,
    to_milvus,
)

if TYPE_CHECKING:
    from assistant.protocols import Vector

__all__ = ["IndexPlace", "MilvusIndex", "open_milvus_index", "set_aside"]

T = TypeVar("T")

#: Seconds for a batch of rows, for making and loading a collection, and for a flush: none of them
#: is waited for at the prompt.
WRITING = 60.0
OPENING = 60.0
FLUSHING = 120.0

#: Seconds for indexing the words of a folder, which takes some 20 for 100,000 exchanges where
#: nothing else is going on.
INDEXING = 600.0

#: Seconds `close` waits for an operation that is still running.
CLOSING = 10.0

#: Rows written, ids asked for or deleted, and digests read with one request.
ROWS_AT_ONCE = 200
IDS_AT_ONCE = 1_000
DIGESTS_AT_ONCE = 5_000

#: The most rows a server gives in one answer.
MOST_ROWS = 16_384

#: Seconds after a write in which a server is asked to wait for it before it answers. Later, what
#: it has by itself includes the write: it lags five seconds at most, by its defaults.
OWN_WRITES = 10.0

#: How far back `newest` looks, in days, until it finds enough.
NEWEST_DAYS = (7, 60, 500)

_DAY_MS = 24 * 3_600_000
_SERVER_SCHEMES = ("http", "https", "tcp", "unix")

#: gRPC's word for never. A connection within the process isn't lost, needs no asking every ten
#: seconds whether it was, and must not be given up when idle: its socket has no name any more.
_NEVER = 2**31 - 1
_ONE_CONNECTION = {"grpc.keepalive_time_ms": _NEVER, "grpc.client_idle_timeout_ms": _NEVER}


class IndexPlace(msgspec.Struct, frozen=True):
    """Where the index is: a folder of ours, or a server's address and the token to it."""

    path: Path
    uri: str | None = None
    token: str | None = None

    def __str__(self) -> str:
        """In words for the user, without name and password."""
        if self.uri is None:
            return f"the folder {self.path}"
        if self.uri.startswith("unix:"):
            return f"the Milvus server at {self.uri}"
        address = self.uri.partition("://")[2].rpartition("@")[2].partition("/")[0]
        return f"the Milvus server at {address}"


def open_milvus_index(
    place: IndexPlace,
    *,
    user: str,
    embedder: str | None,
    dimension: int | None,
    timeout: float = 5.0,
    clock: Callable[[], float] = time.time,
) -> MilvusIndex:
    """Open a user's index, or make an empty one. Takes seconds: leave it to a worker.

    Each embedder has a collection of its own; None, and dimension None, makes one of words alone.
    In a folder the user's other collections are dropped, for they can be made again; on a server
    nothing is ever dropped. `timeout` is for a connection, and for each search; `clock` tells the
    seconds since 1970. Raises IndexLocked, IndexBroken and IndexUnavailable.
    """
    owner = owner_of(user)
    shape = Shape(embedder, dimension, keyword=True)
    with translated(str(place), on_disk=place.uri is None):
        if place.uri is None:
            opened = _open_folder(place, owner, shape, timeout)
        else:
            opened = _open_server(place, owner, shape, timeout)
    return MilvusIndex(opened, owner, place, timeout, clock)


class _Opened(msgspec.Struct, frozen=True):
    """A collection ready to be searched, and the way to it."""

    client: Any
    collection: str
    shape: Shape
    flushes: bool
    """Whether rows stay in memory until they are flushed; a full server sees to that itself."""
    embedded: EmbeddedServer | None = None


class MilvusIndex:
    """A `MemoryIndex` in one Milvus collection. Safe to share between threads: one acts at a time.

    What was written is seen by every later call of this object, and by other programs on the same
    server within about five seconds.

    After a write that failed nobody knows what the disk holds, so the index is `broken_off`: it
    can be searched, and takes no more writes. Close it, open it again, and compare it with the
    logs.
    """

    def __init__(
        self,
        opened: _Opened,
        owner: Owner,
        place: IndexPlace,
        timeout: float,
        clock: Callable[[], float],
    ) -> None:
        self._client: Any = opened.client
        self._collection = opened.collection
        self._shape = opened.shape
        self._flushes = opened.flushes
        self._embedded = opened.embedded
        self._owner = owner
        self._place = place
        self._timeout = timeout
        self._clock = clock
        self._lock = threading.RLock()
        self._own_writes_until = 0.0
        self._broken_off = False

    @property
    def place(self) -> str:
        return str(self._place)

    @property
    def limits(self) -> str:
        if not self._shape.keyword:
            return (
                "This Milvus server has no keyword search (2.5 and later have), so memories are "
                "found by meaning alone."
            )
        if not self._shape.dimension:
            return "There is no embedder, so memories are found by their words alone."
        return ""

    @property
    def broken_off(self) -> bool:
        """Whether a write failed, so that no other is taken."""
        return self._broken_off

    # --- Reading --------------------------------------------------------------------------------

    def search(self, vector: Vector | None, terms: Sequence[str], limit: int) -> Hits:
        """The nearest `limit` rows of each kind, at most MOST_ROWS.

        Raises IndexMismatch for a vector of another dimension, and IndexUnavailable when another
        thread's work isn't done within the timeout.
        """
        asked = check_vector(vector, self._shape.dimension) if vector is not None else None
        if limit < 1:
            return Hits()
        with self._reading() as left:
            dense = [] if asked is None else self._nearest(asked, limit, left)
            words = joined(terms) if self._shape.keyword else ""
            keyword = [] if not words else self._matching(words, limit, left)
        return Hits(dense=dense, keyword=keyword)

    def _nearest(self, vector: Vector, limit: int, left: Callable[[], float]) -> list[Hit]:
        hits = self._search(vector, "dense", "IP", limit, left)
        # A row without a vector has noughts in its place, and nought as its product with any.
        return [hit for hit in hits if hit.score != 0.0]

    def _matching(self, words: str, limit: int, left: Callable[[], float]) -> list[Hit]:
        hits = self._search(words, "sparse", "BM25", limit, left)
        # Milvus Lite gives BM25 with the sign of a distance.
        return [Hit(hit.id, abs(hit.score)) for hit in hits]

    def _search(
        self, asked: Vector | str, field: str, metric: str, limit: int, left: Callable[[], float]
    ) -> list[Hit]:
        (found,) = self._client.search(
            self._collection,
            data=[asked],
            anns_field=field,
            filter=self._owner.filter,
            limit=min(limit, MOST_ROWS),
            output_fields=["id"],
            search_params={"metric_type": metric},
            consistency_level=self._consistency(),
            timeout=left(),
        )
        return [Hit(self._owner.id_of(hit["id"]), float(hit["distance"])) for hit in found]

    def rows(self, ids: Sequence[str]) -> Sequence[IndexRow]:
        keys = [self._owner.row_key(id) for id in dict.fromkeys(ids)]
        with self._reading() as left:
            found = [
                fields
                for batch in _batches(keys, IDS_AT_ONCE)
                for fields in self._client.get(
                    self._collection,
                    ids=batch,
                    output_fields=self._shape.fields,
                    strict_float32=True,
                    consistency_level=self._consistency(),
                    timeout=left(),
                )
            ]
        return [from_milvus(fields, self._owner) for fields in found]

    def newest(self, limit: int) -> Sequence[IndexRow]:
        """Rows of the last days if there are enough of them, else of more days, else of all.

        Milvus gives them in no order: of more rows than `limit` in these days, some are left out.
        """
        if limit < 1:
            return []
        now = round(self._clock() * 1_000)
        since = [f" and ts >= {now - days * _DAY_MS}" for days in NEWEST_DAYS]
        found: Sequence[Mapping[str, Any]] = []
        with self._reading() as left:
            for window in (*since, ""):
                found = self._client.query(
                    self._collection,
                    filter=self._owner.filter + window,
                    output_fields=self._shape.fields,
                    limit=min(limit, MOST_ROWS),
                    strict_float32=True,
                    consistency_level=self._consistency(),
                    timeout=left(),
                )
                if len(found) >= limit:
                    break
        rows = [from_milvus(fields, self._owner) for fields in found]
        return sorted(rows, key=lambda row: row.ts, reverse=True)

    def count(self) -> int:
        # Milvus Lite reads every row a filter lets through, only to count them; and in a folder
        # the collection is the user's own.
        whose = "" if self._embedded else self._owner.filter
        with self._reading() as left:
            (answer,) = self._client.query(
                self._collection,
                filter=whose,
                output_fields=["count(*)"],
                consistency_level="Strong",
                timeout=left(),
            )
        return int(answer["count(*)"])

    def digests(self, sessions: Sequence[str] | None = None) -> Mapping[str, str]:
        """Each row's id and digest, or those of some sessions.

        Others may search between one batch and the next.
        """
        whose = self._owner.filter if sessions is None else self._owner.filter_of(sessions)
        # A server's iterator doesn't wait for what was just written, whatever it is asked; after a
        # count, which does, it is there.
        self.count()
        digests: dict[str, str] = {}
        with self._reading() as left:
            iterator = self._client.query_iterator(
                self._collection,
                batch_size=DIGESTS_AT_ONCE,
                filter=whose,
                output_fields=["id", "digest"],
                consistency_level="Strong",
                timeout=max(left(), WRITING),
            )
        try:
            while batch := self._next(iterator):
                digests.update((self._owner.id_of(row["id"]), row["digest"]) for row in batch)
        finally:
            iterator.close()
        return digests

    def _next(self, iterator: Any) -> Sequence[Mapping[str, Any]]:
        with self._reading():
            batch: Sequence[Mapping[str, Any]] = iterator.next()
            return batch

    def _consistency(self) -> str:
        """Own writes are waited for while a server may not have them yet; it costs 0.2 s there."""
        return "Strong" if self._clock() < self._own_writes_until else "Bounded"

    # --- Writing --------------------------------------------------------------------------------

    def upsert(self, rows: Sequence[IndexRow]) -> None:
        """Add rows, or replace those with the same id; of two with one id the last counts.

        Raises IndexMismatch before anything is written.
        """
        made = {row.id: to_milvus(row, self._owner, self._shape) for row in rows}
        for batch in _batches(list(made.values()), ROWS_AT_ONCE):
            with self._writing(WRITING) as left:
                self._client.upsert(self._collection, batch, timeout=left())

    def delete(self, ids: Sequence[str]) -> None:
        """Take rows out of every later search. Their bytes stay on the disk until it is rewritten:
        what is to be erased for good takes the whole index away, and makes it anew."""
        keys = [self._owner.row_key(id) for id in dict.fromkeys(ids)]
        for batch in _batches(keys, IDS_AT_ONCE):
            with self._writing(WRITING) as left:
                self._client.delete(self._collection, ids=batch, timeout=left())

    def flush(self) -> None:
        """Make searches over what was added lately fast, and put it on the disk.

        Searching a thousand rows that weren't flushed takes Milvus Lite as long as ten thousand
        that were. The first search for words afterwards indexes them, at 0.2 ms a new row, so it
        is made here. A full server decides itself when to do so, and this does nothing there.
        """
        if self._flushes:
            with self._writing(FLUSHING) as left:
                self._client.flush(self._collection, timeout=left())
                if self._shape.keyword:
                    self._matching("word", 1, left)

    def close(self) -> None:
        """Write what is only in memory, and free the lock. Nothing, the second time."""
        waited = self._lock.acquire(timeout=CLOSING)
        try:
            client, self._client = self._client, None
            if client is None:
                return
            with contextlib.suppress(Exception):
                client.close()
            if self._embedded is not None:
                self._embedded.close()
        finally:
            if waited:
                self._lock.release()

    # --- Taking turns ---------------------------------------------------------------------------

    @contextlib.contextmanager
    def _reading(self) -> Iterator[Callable[[], float]]:
        with self._turn(self._timeout) as left:
            yield left

    @contextlib.contextmanager
    def _writing(self, seconds: float) -> Iterator[Callable[[], float]]:
        with self._turn(seconds) as left:
            if self._broken_off:
                raise IndexUnavailable(
                    "The memory index takes nothing more, for something could not be written to it "
                    f"before. {NOTHING_LOST} It is brought up to date when it is opened again."
                )
            # What happened to the rows of a write that ended in any other way is unknown.
            self._broken_off = True
            self._require_folder()
            yield left
            self._broken_off = False
            self._own_writes_until = self._clock() + OWN_WRITES

    def _require_folder(self) -> None:
        """Files of a folder that was deleted can be written, and nobody will find them again."""
        if self._embedded is not None and not self._embedded.in_place:
            raise IndexBroken(
                f"The memory index can't be written: {self.place} was moved or deleted while it "
                f"was in use. {NOTHING_LOST} The index can be made anew from them."
            )

    @contextlib.contextmanager
    def _turn(self, seconds: float) -> Iterator[Callable[[], float]]:
        """Act alone, and be told how many of the seconds are left."""
        end = time.monotonic() + seconds
        if not self._lock.acquire(timeout=seconds):
            raise IndexUnavailable(
                f"The memory index is busy with something else. {NOTHING_LOST} Ask again in a "
                "moment."
            )
        try:
            if self._client is None:
                raise IndexUnavailable(f"The memory index was closed. {NOTHING_LOST}")
            with translated(self.place, on_disk=self._embedded is not None):
                yield lambda: max(0.05, end - time.monotonic())
        finally:
            self._lock.release()


def _batches(items: Sequence[T], size: int) -> Iterator[list[T]]:
    for start in range(0, len(items), size):
        yield list(items[start : start + size])


# --- Opening ------------------------------------------------------------------------------------


def _open_folder(place: IndexPlace, owner: Owner, shape: Shape, timeout: float) -> _Opened:
    embedded = start_embedded(place.path)
    client: Any = None
    try:
        pymilvus = import_pymilvus()
        client = pymilvus.MilvusClient(
            embedded.address, timeout=timeout, dedicated=True, grpc_options=_ONE_CONNECTION
        )
        embedded.shut_door()
        name = collection_name(shape, owner)
        _make_ready(pymilvus, client, name, shape, lite=True)
        _index_words(client, name, INDEXING)
        for other in client.list_collections(timeout=OPENING):
            if other != name and is_of_owner(other, owner):
                client.drop_collection(other, timeout=OPENING)
    except BaseException:
        if client is not None:
            client.close()
        embedded.close()
        raise
    return _Opened(client, name, shape, flushes=True, embedded=embedded)


def _open_server(place: IndexPlace, owner: Owner, shape: Shape, timeout: float) -> _Opened:
    client = connect(place, timeout)
    try:
        pymilvus = import_pymilvus()
        lite = client.get_server_version(timeout=timeout).startswith("milvus_lite")
        name, shape = _make_ready_on_server(pymilvus, client, shape, lite=lite)
    except BaseException:
        client.close()
        raise
    return _Opened(client, name, shape, flushes=lite)


def connect(place: IndexPlace, timeout: float) -> Any:
    """A client of the server. Raises IndexUnavailable for an address that is none, and whatever
    pymilvus raises: it belongs into `translated`."""
    uri = place.uri or ""
    _check_uri(uri)
    return import_pymilvus().MilvusClient(
        uri, token=place.token or "", timeout=timeout, dedicated=True
    )


def _index_words(client: Any, collection: str, timeout: float) -> None:
    """Have Milvus Lite index the words now, and not while somebody waits for the first search.

    It keeps that index in memory alone: ten thousand exchanges take it two seconds.
    """
    metric = {"metric_type": "BM25"}
    client.search(
        collection, ["a"], anns_field="sparse", limit=1, search_params=metric, timeout=timeout
    )


def _check_uri(uri: str) -> None:
    """Raises IndexUnavailable. The address isn't repeated: a password may stand in it."""
    try:
        parts = urlsplit(uri)
        usable = parts.scheme in _SERVER_SCHEMES and (parts.port is None or parts.port > 0)
    except ValueError:
        usable = False
    if not usable or uri.endswith(".db"):
        raise IndexUnavailable(
            "The memory index can't be used: MILVUS_URI is not the address of a server, such as "
            f"http://localhost:19530. {NOTHING_LOST} Mend it, or leave it empty: the index is then "
            "kept in a folder of its own."
        )


def _make_ready_on_server(
    pymilvus: Any, client: Any, shape: Shape, *, lite: bool
) -> tuple[str, Shape]:
    """The collection with all kinds of search; with vectors alone where the server refuses that.

    Nothing but trying tells what a server can do: versions are told in many ways.
    """
    name = collection_name(shape)
    try:
        _make_ready(pymilvus, client, name, shape, lite=lite)
    except pymilvus.MilvusException as error:
        if grpc_status(error):
            raise
        if not shape.dimension:
            raise IndexUnavailable(
                "The memory index can't be used: the Milvus server has no keyword search (it said "
                f"{said_by(error)}), and there is no embedder to search by meaning. {NOTHING_LOST} "
                "Set an embedder, or use Milvus 2.5 or later."
            ) from error
        shape = msgspec.structs.replace(shape, keyword=False)
        name = collection_name(shape)
        _make_ready(pymilvus, client, name, shape, lite=lite)
    return name, shape


def _make_ready(pymilvus: Any, client: Any, name: str, shape: Shape, *, lite: bool) -> None:
    """Make the collection if need be, and load it: after a start none can be searched."""
    made = not client.has_collection(name, timeout=OPENING)
    if made:
        # A key by which a user's rows stand together. Milvus 2.3, which has no keyword search,
        # puts upserted rows where it doesn't look for them; Milvus Lite gains nothing by it.
        partitioned = shape.keyword and not lite
        fields = schema(pymilvus, shape, partitioned=partitioned)
        client.create_collection(name, schema=fields, consistency_level="Bounded", timeout=OPENING)
    try:
        _make_indexes(client, name, shape, lite=lite)
    except pymilvus.MilvusException as error:
        if made and not grpc_status(error):
            client.drop_collection(name, timeout=OPENING)
        raise
    client.load_collection(name, timeout=OPENING)


def _make_indexes(client: Any, name: str, shape: Shape, *, lite: bool) -> None:
    """The indexes that are missing; a program may have ended before it made them.

    Vectors are of length one, so their inner product is their cosine, and cheaper. Milvus Lite
    needs no index for them: it compares all of them either way, and keeps no second copy then.
    """
    wanted: dict[str, dict[str, Any]] = {}
    if shape.dimension and not lite:
        wanted["dense"] = {"index_type": "AUTOINDEX", "metric_type": "IP"}
    if shape.keyword:
        wanted["sparse"] = {
            "index_type": "SPARSE_INVERTED_INDEX",
            "metric_type": "BM25",
            "params": {"bm25_k1": 1.2, "bm25_b": 0.75},
        }
    there = client.list_indexes(name, timeout=OPENING)
    missing = client.prepare_index_params()
    for field in wanted.keys() - set(there):
        missing.add_index(field, index_name=field, **wanted[field])
    if len(missing):
        # Waiting for a new index of no rows takes Milvus Lite half a second.
        client.create_index(name, missing, timeout=OPENING, sync=not lite)
