"""The user's editor: which one, and what becomes of the text."""

from __future__ import annotations

import signal
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from assistant.errors import UsageError
from assistant.memory.erasing.plain_files import LeftOvers
from assistant.terminal.text_editor import edited
from tests.memory.test_erasables import erasure, quiet


@pytest.fixture(autouse=True)
def no_editor(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("VISUAL", "EDITOR"):
        monkeypatch.delenv(name, raising=False)


def script(folder: Path, name: str, body: str) -> Path:
    path = folder / name
    path.write_text(f"#!/bin/sh\n{body}\n")
    path.chmod(stat.S_IRWXU)
    return path


@pytest.mark.parametrize(
    ("body", "text"),
    [
        ("true", "原来的 text"),
        ("printf '%s' 'a new one\n' > \"$1\"", "a new one\n"),
        ("printf '\\377' > \"$1\"", "\ufffd"),
        ('rm "$1"', ""),
    ],
)
def test_what_the_editor_leaves_is_the_text(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, body: str, text: str
) -> None:
    monkeypatch.setenv("EDITOR", f"'{script(tmp_path, 'an editor', body)}'")
    assert edited("原来的 text", tmp_path) == text


@pytest.mark.parametrize("visual", ["/no/such/editor", "'unbalanced", ""])
def test_one_that_can_not_be_started_is_passed_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, visual: str
) -> None:
    monkeypatch.setenv("VISUAL", visual)
    script(tmp_path, "vi", "printf 'by vi' > \"$1\"")
    monkeypatch.setenv("PATH", str(tmp_path))
    assert edited("text", tmp_path) == "by vi"


def test_without_any_editor_that_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(UsageError, match="No editor was found: set EDITOR"):
        edited("text", tmp_path)


def test_arguments_are_given_and_nothing_is_left(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    editor = script(
        tmp_path, "ed", f'echo "$1" > "$2"; echo "$2" > "{tmp_path}/place"; touch "$2~"'
    )
    monkeypatch.setenv("VISUAL", f"{editor} --wait")
    assert edited("text", tmp_path) == "--wait\n"
    assert not Path((tmp_path / "place").read_text().strip()).parent.exists()


def test_where_no_file_can_be_kept_that_is_said(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="No file for the editor can be kept in"):
        edited("text", tmp_path / "none")


def test_what_a_killed_process_left_is_found_by_an_erase(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("EDITOR", str(script(tmp_path, "ed", 'kill -9 "$PPID"')))
    code = "import sys, pathlib; from assistant.terminal.text_editor import edited; " + (
        'edited("quagga", pathlib.Path(sys.argv[1]))'
    )
    done = subprocess.run((sys.executable, "-c", code, str(tmp_path)), check=False)
    assert done.returncode == -signal.SIGKILL
    (left,) = tmp_path.glob(".*.tmp")
    assert (left / "question.txt").read_text() == "quagga"
    LeftOvers(tmp_path, tmp_path).erase(erasure(), quiet)
    assert not left.exists()
