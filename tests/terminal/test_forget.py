"""A made-up number is said everywhere, and forgotten: no byte of it is left under the home."""

from __future__ import annotations

from collections.abc import Iterator
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

import pytest

from assistant.app import build_app
from assistant.memory.erasing.byte_search import files_with
from assistant.providers.milvus_files import index_holding
from assistant.settings import load_settings
from tests.endpoint import Endpoint
from tests.terminal.program import Terminal, run

NUMBER = "555 0199"
CLAUSE = f"My new phone number is {NUMBER}."
FILLING = "What else is there to say about it? " * 20


def answer(request: dict[str, Any]) -> str:
    """What a model would say, without noticing that anything is private."""
    asked = request["messages"][-1]["content"]
    system = request["messages"][0]["content"]
    if "ADD |" in system:
        return f"ADD | about | {CLAUSE}" if NUMBER in asked else "NOTHING"
    return f"I see: {NUMBER}." if NUMBER in asked else "I see."


@pytest.fixture
def endpoint(monkeypatch: pytest.MonkeyPatch, home: Path) -> Iterator[Endpoint]:
    with Endpoint() as endpoint:
        endpoint.respond = answer
        monkeypatch.setenv("OPENAI_BASE_URL", endpoint.url)
        monkeypatch.setenv("MODEL_NAME", "scripted")
        (home / "config").mkdir(parents=True)
        (home / "config" / "assistant.toml").write_text("[budget]\nhistory = 700\ntrigger = 500\n")
        yield endpoint


def converse(*lines: str, arguments: tuple[str, ...] = ()) -> str:
    done = run(*arguments, stdin="\n".join([*lines, ""]))
    assert done.returncode == 0, done.stderr
    return done.stdout + done.stderr


def say_it_everywhere(home: Path, exported: Path) -> None:
    """In three sessions, one of them compacted, in a fact, a memo, an event and an export."""
    fillings = [f"{number}. {FILLING}" for number in range(8)]
    told = converse(CLAUSE, *fillings, "/compact", f"/remember {CLAUSE}")
    assert "messages summarized" in told, told
    converse(f"Write {NUMBER} into the form.", f"/memo the plumber has {NUMBER}")
    converse(f"/schedule add tomorrow 3pm call {NUMBER}", f"Again: {NUMBER}!", "/fork")
    with Terminal() as terminal:
        terminal.wait_for("new session")
        terminal.type(f"My number, {NUMBER}, is a secret.\r")
        terminal.wait_for("I see:")
        terminal.type(f"/session export {exported}\r")
        terminal.wait_for("Written:")
        terminal.type("/exit\r")
        terminal.wait_for_end()


def holding(home: Path) -> list[str]:
    files = [str(hit.path.relative_to(home)) for hit in files_with(NUMBER, home)]
    return [*files, *index_holding(home / "data" / "index.db", NUMBER)]


def test_it_is_forgotten_everywhere(endpoint: Endpoint, home: Path, tmp_path: Path) -> None:
    exported = tmp_path / "export.md"
    say_it_everywhere(home, exported)
    before = holding(home)
    names = {Path(one).name for one in before}
    assert names >= {"facts.jsonl", "memos.jsonl", "calendar.ics", "prompt_history"}, before
    assert len([one for one in before if one.endswith(".jsonl") and "sessions" in one]) == 5
    done = run("forget", "about", NUMBER, "--yes", "--with-events", "--with-exports")
    assert done.returncode == 0, done.stderr
    assert "nothing left" in done.stdout
    assert holding(home) == []
    assert not exported.exists()
    verified = run("forget", "--verify", NUMBER)
    assert (verified.returncode, "nothing left" in verified.stdout) == (0, True)
    # What was said beside it stays.
    assert any("0. What else" in one.read_text() for one in (home / "sessions").glob("*.jsonl"))


def test_events_and_exports_stay_unless_they_are_named(
    endpoint: Endpoint, home: Path, tmp_path: Path
) -> None:
    exported = tmp_path / "export.md"
    converse(CLAUSE, f"/session export {exported}")
    (session,) = (home / "sessions").glob("*.jsonl")
    done = run("forget", f"{session.stem}.1", "--yes")
    assert done.returncode == 0, done.stderr
    assert NUMBER in exported.read_text()
    assert NUMBER not in session.read_text()


def check_every_file_is_reached(home: Path) -> None:
    """Whatever writes below the home has an eraser that knows its files."""
    patterns = [*build_app(load_settings(home, {}, {})).eraser().files, "config/*", ".env"]
    files = [one.relative_to(home).as_posix() for one in home.rglob("*") if one.is_file()]
    assert len(files) > 20
    unknown = [one for one in files if not any(fnmatch(one, pattern) for pattern in patterns)]
    assert unknown == [], "files that no eraser knows: add them to the store that writes them"


def test_everything_goes(endpoint: Endpoint, home: Path, tmp_path: Path) -> None:
    say_it_everywhere(home, tmp_path / "export.md")
    check_every_file_is_reached(home)
    done = run("forget", "everything", "--yes", "--with-exports")
    assert done.returncode == 0, done.stderr
    assert holding(home) == []
    left = {one.relative_to(home).as_posix() for one in home.rglob("*") if one.is_file()}
    # The settings are not erased, locks are empty, and the mark keeps an undo from undoing it.
    left = {one for one in left if not one.startswith("config/") and "lock" not in one}
    assert left == {"data/.calendar.ics.erased"}
    assert not (tmp_path / "export.md").exists()
