"""A user's rows on a server: those of every embedder, and nobody else's."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from assistant.errors import IndexMismatch, IndexUnavailable
from assistant.protocols import IndexRow
from assistant.providers.milvus_errors import import_pymilvus
from assistant.providers.milvus_home import MilvusHome
from assistant.providers.milvus_index import IndexPlace, open_milvus_index
from assistant.providers.milvus_server import erase_on_server, rows_on_server
from tests.providers.milvus_servers import can_run_real_server, lite_server, real_server

stress = [
    pytest.mark.stress,
    pytest.mark.skipif(
        not os.environ.get("ASSISTANT_STRESS"), reason="a minute: ASSISTANT_STRESS=1 runs it"
    ),
]


def row(id: str) -> IndexRow:
    session, _, turn = id.rpartition(".")
    vector = np.asarray([1, 0, 0], dtype=np.float32)
    return IndexRow(id, session, int(turn), 1, f"said {id}", "yes", ["said"], "d", vector)


@pytest.fixture(params=["lite", pytest.param("real", marks=stress)])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[IndexPlace]:
    """A server with rows of two users; one of them has used two embedders."""
    if request.param == "real" and not can_run_real_server():
        pytest.skip("a network namespace takes Linux and root")
    server = {"lite": lite_server, "real": real_server}[request.param]
    with server(tmp_path) as uri:
        place = IndexPlace(tmp_path / "data" / "index.db", uri)
        for user, embedder in (("me", "first"), ("me", "second"), ("you", "second")):
            index = open_milvus_index(place, user=user, embedder=embedder, dimension=3, timeout=30)
            index.upsert([row("s1.1"), row("s1.2"), row("s2.1")])
            index.flush()
            index.close()
        yield place


def ids(place: IndexPlace, user: str) -> list[str]:
    return sorted(one.id for one in rows_on_server(place, user, None))


def collections(place: IndexPlace) -> list[str]:
    client: Any = import_pymilvus().MilvusClient(place.uri, dedicated=True)
    try:
        return sorted(client.list_collections())
    finally:
        client.close()


def test_rows_go_in_the_collections_of_every_embedder(place: IndexPlace) -> None:
    assert [one.user for one in rows_on_server(place, "me", ["s2"])] == ["said s2.1"] * 2
    assert rows_on_server(place, "me", []) == []
    erase_on_server(place, "me", ["s1.2", "s9.1"])
    assert ids(place, "me") == ["s1.1", "s1.1", "s2.1", "s2.1"]
    assert ids(place, "you") == ["s1.1", "s1.2", "s2.1"]
    erase_on_server(place, "me", ["s1.2"])
    assert ids(place, "me") == ["s1.1", "s1.1", "s2.1", "s2.1"]


def test_a_collection_that_is_nobody_elses_is_dropped_with_everything(place: IndexPlace) -> None:
    assert len(collections(place)) == 2
    erase_on_server(place, "me", None)
    assert ids(place, "me") == []
    assert ids(place, "you") == ["s1.1", "s1.2", "s2.1"]
    assert len(collections(place)) == 1


def test_a_home_on_a_server_erases_there_and_what_was_in_a_folder_before(
    place: IndexPlace,
) -> None:
    place.path.mkdir(parents=True)
    home = MilvusHome(place.path, uri=place.uri, token=None, user=lambda: "me")
    assert {one.id for one in home.stored({"s1"}).rows} == {"s1.1", "s1.2"}
    assert home.erase(["s1.2"])
    assert {one.id for one in home.stored({"s1"}).rows} == {"s1.1"}
    assert not place.path.exists()
    assert "garbage" in home.lag
    assert not home.in_use


def test_names_that_could_be_read_as_a_filter_are_refused(place: IndexPlace) -> None:
    with pytest.raises(IndexMismatch):
        rows_on_server(place, "me", ['s1"] or true'])


def test_a_server_that_is_not_there(tmp_path: Path) -> None:
    place = IndexPlace(tmp_path / "index.db", "unix:/nowhere/at/all")
    with pytest.raises(IndexUnavailable):
        erase_on_server(place, "me", ["s1.1"])
