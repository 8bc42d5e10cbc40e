"""`assistant index …` as scripts call it, and /index in a conversation."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.endpoint import Endpoint
from tests.terminal.program import run


@pytest.fixture
def endpoint(home: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Endpoint]:
    config = home / "config"
    config.mkdir(parents=True)
    (config / "assistant.toml").write_text('[memory]\nembedder = "none"\n')
    with Endpoint() as endpoint:
        monkeypatch.setenv("OPENAI_BASE_URL", endpoint.url)
        yield endpoint


def test_status_catches_up_and_says_how_it_is(endpoint: Endpoint, home: Path) -> None:
    run("ask", "my order code is PX-4471")
    run("ask", "and the other one is QX-12")
    done = run("index", "status")
    assert done.returncode == 0
    assert "ready" in done.stdout
    assert "2 exchanges" in done.stdout
    assert str(home / "data" / "index.db") in "".join(done.stdout.split())
    assert done.stderr == ""
    assert {path.stat().st_mode & 0o077 for path in (home / "data").rglob("*")} == {0}


def test_rebuild_makes_it_anew_from_whatever_is_left(endpoint: Endpoint, home: Path) -> None:
    run("ask", "my order code is PX-4471")
    assert run("index", "status").returncode == 0
    (home / "data" / "index.json").write_text("rubbish")
    done = run("index", "rebuild")
    assert done.returncode == 0
    assert "1 exchange" in done.stdout
    assert not list((home / "data").glob("index.db.*"))


def test_what_can_not_be_used_is_set_aside_and_made_anew(endpoint: Endpoint, home: Path) -> None:
    run("ask", "my order code is PX-4471")
    index = home / "data" / "index.db"
    index.write_text("an index of long ago")
    done = run("index", "status")
    assert done.returncode == 0
    assert "made again from your sessions" in " ".join(done.stderr.split())
    (aside,) = (home / "data").glob("index.db.corrupt-*")
    assert aside.read_text() == "an index of long ago"


def test_trouble_ends_with_its_own_code_and_a_sentence(
    endpoint: Endpoint, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run("ask", "my order code is PX-4471")
    monkeypatch.setenv("MILVUS_URI", "http://127.0.0.1:9")
    done = run("index", "status")
    assert done.returncode == 7
    assert "unavailable" in done.stdout
    assert "127.0.0.1:9" in done.stdout


def test_sessions_that_can_not_be_read_do_not_hold_it_for_ever(
    endpoint: Endpoint, home: Path
) -> None:
    home.joinpath("sessions").write_text("a file where a folder should be")
    done = run("index", "status")
    assert done.returncode == 7
    assert "sessions" in " ".join(done.stdout.split())
