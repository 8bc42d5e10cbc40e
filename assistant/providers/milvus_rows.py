"""What a collection holds: its name, its fields, and exchanges as its rows."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import msgspec

from assistant.errors import IndexMismatch
from assistant.protocols import IndexRow

if TYPE_CHECKING:
    from assistant.protocols import Vector

#: Part of each collection's name. Counts up when the fields or their meaning change: the index is
#: then another collection, filled from the logs.
SCHEMA_VERSION = 1

#: The most bytes of UTF-8 in one text. Milvus itself stops at 65,535, and Milvus Lite counts
#: characters where a server counts bytes.
LONGEST_TEXT = 60_000

#: Goes into filters of pymilvus, which puts ids there without quoting them.
_SAFE_ID = re.compile(r"[A-Za-z0-9_.:-]{1,100}")

_FIELDS = ("id", "session_id", "turn", "ts", "user_text", "assistant_text", "terms", "digest")


class Shape(msgspec.Struct, frozen=True):
    """Which searches a collection can do."""

    embedder: str | None
    dimension: int | None
    """Length of the vectors; None where there are none."""
    keyword: bool

    @property
    def fields(self) -> list[str]:
        """What is read back. The weights of the words are the server's own."""
        return [*_FIELDS, *(["dense"] if self.dimension else [])]


class Owner(msgspec.Struct, frozen=True):
    """Whose rows are meant, as it stands in names, keys and filters."""

    key: str

    @property
    def filter(self) -> str:
        return f'user_id == "{self.key}"'

    def row_key(self, id: str) -> str:
        """The primary key of an exchange: two users' sessions may have the same name.

        Raises IndexMismatch for an id that could be read as part of a filter.
        """
        if not _SAFE_ID.fullmatch(id):
            raise IndexMismatch(
                f"The memory index takes no exchange named {id!r}: only letters, digits and the "
                "marks . _ : - may stand in a session's name. Rename its file to have it recalled."
            )
        return f"{self.key}:{id}"

    def filter_of(self, sessions: Collection[str]) -> str:
        """What lets rows of these sessions through. Raises IndexMismatch for a name that could be
        read as part of it."""
        for session in sessions:
            self.row_key(session)
        return f"{self.filter} and session_id in {json.dumps(sorted(sessions))}"

    def id_of(self, row_key: str) -> str:
        return row_key.removeprefix(f"{self.key}:")


def owner_of(user: str) -> Owner:
    """The same for the same name, whatever it is made of."""
    return Owner(_hash(user, 16))


def collection_name(shape: Shape, owner: Owner | None = None) -> str:
    """A name that no other embedder, dimension or schema has; with an owner, no other user either.

    Vectors of different models must never meet, and a name is the one thing no server mixes up.
    """
    kinds = "" if shape.keyword else "_dense"
    if shape.embedder is None:
        made_of = "words"
    else:
        slug = re.sub(r"\W+", "_", shape.embedder.lower(), flags=re.ASCII)[:40].strip("_")
        made_of = f"{slug}_{_hash(shape.embedder, 8)}_{shape.dimension}"
    return f"{_prefix(owner)}v{SCHEMA_VERSION}_{made_of}{kinds}"


def is_of_owner(collection: str, owner: Owner) -> bool:
    """Whether a collection was made by us, in any version, for this user alone."""
    return re.fullmatch(rf"{re.escape(_prefix(owner))}v\d+_\w+", collection) is not None


def is_shared(collection: str) -> bool:
    """Whether a collection was made by us, in any version, for rows of many users."""
    return re.fullmatch(r"assistant_v\d+_\w+", collection) is not None


def _prefix(owner: Owner | None) -> str:
    return f"assistant_{owner.key}_" if owner else "assistant_"


def _hash(text: str, length: int) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:length]


def schema(pymilvus: Any, shape: Shape, *, partitioned: bool) -> Any:
    """The fields of a collection. `partitioned`: rows of many users, each found in its own part."""
    kinds = pymilvus.DataType
    made = pymilvus.MilvusClient.create_schema(auto_id=False, enable_dynamic_field=False)
    made.add_field("id", kinds.VARCHAR, is_primary=True, max_length=128)
    made.add_field("user_id", kinds.VARCHAR, max_length=64, is_partition_key=partitioned)
    made.add_field("session_id", kinds.VARCHAR, max_length=128)
    made.add_field("turn", kinds.INT64)
    made.add_field("ts", kinds.INT64)
    made.add_field("digest", kinds.VARCHAR, max_length=128)
    made.add_field("user_text", kinds.VARCHAR, max_length=65_535)
    made.add_field("assistant_text", kinds.VARCHAR, max_length=65_535)
    # Words are made by the caller; the analyzer only parts them at blanks. It is the one that does
    # the same on every kind of server.
    analyzer = {"tokenizer": "standard", "filter": ["lowercase"]} if shape.keyword else None
    made.add_field(
        "terms",
        kinds.VARCHAR,
        max_length=65_535,
        **({"enable_analyzer": True, "analyzer_params": analyzer} if analyzer else {}),
    )
    if shape.dimension:
        made.add_field("dense", kinds.FLOAT_VECTOR, dim=shape.dimension)
    if shape.keyword:
        made.add_field("sparse", kinds.SPARSE_FLOAT_VECTOR)
        made.add_function(
            pymilvus.Function(
                name="bm25",
                function_type=pymilvus.FunctionType.BM25,
                input_field_names=["terms"],
                output_field_names=["sparse"],
            )
        )
    return made


def to_milvus(row: IndexRow, owner: Owner, shape: Shape) -> dict[str, Any]:
    """The row as pymilvus takes it. Raises IndexMismatch for what the collection can't hold."""
    made: dict[str, Any] = {
        "id": owner.row_key(row.id),
        "user_id": owner.key,
        "session_id": row.session,
        "turn": row.turn,
        "ts": row.ts,
        "digest": row.digest,
        "user_text": shortened(row.user),
        "assistant_text": shortened(row.assistant),
        "terms": joined(row.terms),
    }
    if shape.dimension:
        made["dense"] = _vector_or_none(row.vector, shape.dimension)
    elif row.vector is not None:
        check_vector(row.vector, None)
    return made


def _vector_or_none(vector: Vector | None, dimension: int) -> Vector:
    import numpy as np

    # A field of vectors can't be left empty. Nought is like nothing: its inner product with any
    # vector is nought, and search leaves that out.
    if vector is None:
        return np.zeros(dimension, dtype=np.float32)
    return check_vector(vector, dimension)


def check_vector(vector: Vector, dimension: int | None) -> Vector:
    """The vector as float32. Raises IndexMismatch if it is of another length, or not finite."""
    import numpy as np

    checked = np.asarray(vector, dtype=np.float32)
    if dimension is None or checked.shape != (dimension,):
        holds = "none" if dimension is None else f"those of {dimension:,} numbers"
        raise IndexMismatch(
            f"The memory index got a vector of {checked.size:,} numbers, and holds {holds}. "
            "Nothing was written. The embedder must have changed: open the index again."
        )
    if not np.isfinite(checked).all():
        raise IndexMismatch(
            "The memory index got a vector that holds no numbers (NaN or infinity). Nothing was "
            "written. The embedder is at fault: try another one."
        )
    return checked


def from_milvus(fields: Mapping[str, Any], owner: Owner) -> IndexRow:
    return IndexRow(
        id=owner.id_of(fields["id"]),
        session=fields["session_id"],
        turn=fields["turn"],
        ts=fields["ts"],
        user=fields["user_text"],
        assistant=fields["assistant_text"],
        terms=fields["terms"].split(),
        digest=fields["digest"],
        vector=_read_vector(fields.get("dense")),
    )


def _read_vector(numbers: Sequence[float] | None) -> Vector | None:
    import numpy as np

    if numbers is None:
        return None
    vector = np.asarray(numbers, dtype=np.float32)
    return vector if vector.any() else None


_NOT_STORABLE = re.compile("[\x00\ud800-\udfff]")


def shortened(text: str) -> str:
    """At most LONGEST_TEXT bytes from its beginning; what no server takes is U+FFFD instead."""
    # No character takes more than four bytes, so that a huge text isn't encoded whole.
    clean = _NOT_STORABLE.sub("\N{REPLACEMENT CHARACTER}", text[:LONGEST_TEXT])
    return clean.encode()[:LONGEST_TEXT].decode("utf-8", "ignore")


def joined(terms: Sequence[str]) -> str:
    """Words with a blank between them; no word is cut where they are too many."""
    text = " ".join(terms)
    short = shortened(text)
    return short if len(short) == len(text) else short.rpartition(" ")[0]
