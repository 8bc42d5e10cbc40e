"""What was typed: what is kept of it, and what arrow up brings back after an erase."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from prompt_toolkit.completion import DummyCompleter
from prompt_toolkit.input import PipeInput, create_pipe_input
from prompt_toolkit.output import DummyOutput

from assistant.errors import UsageError
from assistant.memory.erasing.prompt_history import PromptHistoryEraser, entries, entry_digest
from assistant.terminal.line_editor import PromptLineEditor
from assistant.terminal.typed_lines import TypedLines, may_be_kept, typed_lines
from tests.memory.test_erasables import erasure, quiet

UP = "\x1b[A"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "data" / "prompt_history"


def loaded(lines: TypedLines) -> list[str]:
    """The lines as a prompt takes them in, the newest first."""

    async def load() -> list[str]:
        return [line async for line in lines.load()]

    return asyncio.run(load())


def erase(path: Path, *texts: str) -> None:
    wanted = erasure(typed=[entry_digest(text) for text in texts])
    PromptHistoryEraser(path).erase(wanted, quiet)


@pytest.mark.parametrize(
    ("line", "kept"),
    [
        ("hello", True),
        ("", True),
        ("my password is hunter2", True),
        ("/forget last 2", False),
        ("/session delete My diagnosis", False),
        ("/session info", True),
        ("/forget about the quagga", False),
        (" /Forget  VERIFY quagga", False),
        ("/forget about", False),
        ("/remember I like tea", True),
        ("/remember", True),
        ("/remember my password is hunter2", False),
        ("/REMEMBER 我的密码是hunter2", False),
        ("/memory add the PIN of my card is 4711", False),
        ("/memory edit fbcdf my password is hunter2", False),
        ("/memory history password", True),
    ],
)
@pytest.mark.parametrize("in_file", [True, False])
def test_what_may_not_be_kept_is_kept_nowhere(
    path: Path, line: str, kept: bool, in_file: bool
) -> None:
    assert may_be_kept(line) is kept
    lines = typed_lines(path if in_file else None)
    loaded(lines)
    lines.append_string(line)
    assert loaded(lines) == [line] * kept
    if in_file:
        assert entries(path) == [line] * kept
        assert path.stat().st_mode & 0o777 == 0o600


def test_what_another_terminal_erased_is_gone_at_the_next_prompt(path: Path) -> None:
    here, there = typed_lines(path), typed_lines(path)
    assert loaded(here) == []
    for line in ("one", "the quagga", "two"):
        here.append_string(line)
    there.append_string("another's")
    erase(path, "the quagga")
    # What others typed stays theirs.
    assert loaded(here) == ["two", "one"]
    here.append_string("three")
    assert loaded(here) == ["three", "two", "one"]
    assert entries(path) == ["one", "two", "another's", "three"]


def test_it_is_gone_too_when_a_line_was_typed_in_between(path: Path) -> None:
    lines = typed_lines(path)
    loaded(lines)
    for line in ("the quagga", "one"):
        lines.append_string(line)
    erase(path, "the quagga")
    lines.append_string("two")
    assert loaded(lines) == ["two", "one"]


def test_a_disk_that_refuses_a_line_costs_only_the_search(path: Path) -> None:
    lines = typed_lines(path)
    loaded(lines)
    path.unlink()
    path.mkdir()
    lines.append_string("one")
    assert loaded(lines) == ["one"]


Typing = Callable[[str], str]


@contextmanager
def editing(path: Path | None) -> Iterator[tuple[PromptLineEditor, Typing]]:
    """The line editor, and what types at it and gives the line that comes of it."""

    def typing(editor: PromptLineEditor, keys: PipeInput, text: str) -> str:
        keys.send_text(f"{text}\r")
        return editor.read(lambda: None)

    with create_pipe_input() as keys:
        editor = PromptLineEditor(
            history=path,
            open_editor=False,
            completer=DummyCompleter(),
            toolbar=lambda: [],
            keys=keys,
            screen=DummyOutput(),
        )
        yield editor, lambda text: typing(editor, keys, text)
        editor.close()


@pytest.mark.parametrize("in_file", [True, False])
def test_arrow_up_does_not_bring_back_what_is_forgotten(path: Path, in_file: bool) -> None:
    with editing(path if in_file else None) as (editor, typing):
        assert [typing(line) for line in ("one", "the quagga")] == ["one", "the quagga"]
        assert typing(UP) == "the quagga"
        editor.forget([entry_digest("the quagga")])
        assert typing(UP) == "one"
        editor.forget(None)
        assert typing(f"{UP}two") == "two"


def test_nor_what_was_erased_from_the_file_meanwhile(path: Path) -> None:
    with editing(path) as (_, typing):
        for line in ("one", "the quagga", "/forget about quagga"):
            typing(line)
        erase(path, "the quagga")
        assert typing(UP) == "one"


def test_without_a_history_nothing_is_put_in_a_file_for_an_editor() -> None:
    with editing(None) as (editor, _), pytest.raises(UsageError, match="Nothing was changed"):
        editor.edit("text")
