"""Writing a session to a file: what stands in it, and what is never overwritten unasked."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from assistant.commands.context import CommandContext
from assistant.commands.exports import as_markdown
from assistant.commands.outputs import Confirm, Text
from assistant.commands.session import group
from assistant.errors import SessionError, UsageError
from assistant.memory.erasing.exports import Exports
from assistant.memory.session import Session
from assistant.memory.session_store import SessionStore
from assistant.messages import Message, ToolCall
from tests.commands.contexts import context_of
from tests.fakes import FakeClock


@pytest.fixture
def session(store: SessionStore) -> Session:
    """Two turns, of which the first asked for a tool and the second has no reply."""
    session = store.create()
    session.ask("What about 茶?\nTell me.")
    call = ToolCall("call_1", "recall", '{"question": "tea"}')
    session.add(Message(role="assistant", content="", turn=1, tool_calls=(call,)))
    session.add(Message(role="tool", content="tea\n\nis green", turn=1, tool_call_id="call_1"))
    session.add(Message(role="assistant", content="It is **green**.", turn=1, model="fake"))
    session.rename("Tea and\nmore")
    session.ask("Thanks")
    return session


@pytest.fixture
def context(
    session: Session, store: SessionStore, home: Path, clock: FakeClock, tmp_path: Path
) -> CommandContext:
    context = context_of(session, store, group)
    return replace(
        context,
        settings=cast(Any, SimpleNamespace(data_folder=home / "data")),
        pipeline=cast(Any, SimpleNamespace(clock=clock)),
    )


def test_markdown_is_a_transcript(context: CommandContext, session: Session, home: Path) -> None:
    path = home.parent / "out.md"
    assert context.registry.run(f"/session export {path}", context) == Text(f"Written: {path}")
    text = path.read_text("utf-8")
    assert text == as_markdown(session)
    assert text.startswith("# Tea and more\n\n2026-03-04 ")
    assert f"· 2 turns · session {session.id}\n" in text
    parts = (
        "## 1 · 2026-03-04 ",
        "**You:**\n\nWhat about 茶?\nTell me.\n",
        '**Asked for the tool recall:**\n\n> {"question": "tea"}\n',
        "**Result:**\n\n> tea\n>\n> is green\n",
        "**Assistant:**\n\nIt is **green**.\n",
        "## 2 · 2026-03-04 ",
        "**You:**\n\nThanks\n",
    )
    places = [text.index(part) for part in parts]
    assert places == sorted(places)
    assert path.stat().st_mode & 0o777 == 0o600
    assert Exports(home / "data" / "exports.json").of([session.id]) == [str(path)]


def test_json_holds_the_messages(context: CommandContext, session: Session, home: Path) -> None:
    path = home.parent / "Out.JSON"
    context.registry.run(f'/session export "{path}"', context)
    document = json.loads(path.read_text("utf-8"))
    assert (document["session"], document["title"]) == (session.id, "Tea and\nmore")
    roles = [one["role"] for one in document["messages"]]
    assert roles == ["user", "assistant", "tool", "assistant", "user"]
    assert document["messages"][0]["content"] == "What about 茶?\nTell me."
    assert document["messages"][1]["tool_calls"][0]["name"] == "recall"
    assert "茶" in path.read_text("utf-8")


def test_a_folder_gets_a_file_named_by_the_session(
    context: CommandContext,
    session: Session,
    home: Path,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    folder = tmp_path / "my exports"
    folder.mkdir()
    context.registry.run(f"/session export {folder}", context)
    assert (folder / f"{session.id}.md").exists()
    monkeypatch.chdir(tmp_path)
    context.registry.run("/session export", context)
    assert (tmp_path / f"{session.id}.md").exists()


def test_a_file_that_is_there_is_asked_about(context: CommandContext, tmp_path: Path) -> None:
    path = tmp_path / "mine.md"
    path.write_text("mine")
    path.chmod(0o644)
    output = context.registry.run(f"/session export {path}", context)
    assert isinstance(output, Confirm)
    assert path.read_text() == "mine"
    assert output.then() == Text(f"Written: {path}")
    assert "Thanks" in path.read_text()
    assert path.stat().st_mode & 0o777 == 0o600


def test_nothing_is_written_where_that_can_not_be(context: CommandContext, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no folder"):
        context.registry.run(f"/session export {tmp_path}/none/out.md", context)
    with pytest.raises(UsageError, match="is no file"):
        context.registry.run("/session export /dev/null", context)
    with pytest.raises(SessionError, match="can't be written"):
        context.registry.run(f"/session export {tmp_path}/{'x' * 300}.md", context)


def test_a_private_session_leaves_no_trace(
    context: CommandContext, store: SessionStore, tmp_path: Path
) -> None:
    context.session = store.create(private=True)
    with pytest.raises(UsageError, match="leaves no trace"):
        context.registry.run(f"/session export {tmp_path}/out.md", context)
    assert not (tmp_path / "out.md").exists()


def test_a_session_that_is_read_along_is_exported_as_its_file_is_by_now(
    context: CommandContext, session: Session, store: SessionStore, tmp_path: Path
) -> None:
    session.close()
    context.session = store.open(session.id, read_only=True)
    without = [line for line in store.data(session.id).splitlines(True) if b"Thanks" not in line]
    store.rewrite(session.id, lambda data: b"".join(without))
    path = tmp_path / "out.md"
    context.registry.run(f"/session export {path}", context)
    assert "Tell me." in path.read_text()
    assert "Thanks" not in path.read_text()
