"""Which session a terminal had last."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from assistant.memory.last_sessions import MOST_TERMINALS, LastSessions, terminal_key


def test_a_terminal_is_named_by_its_device_and_window() -> None:
    controller, device = os.openpty()
    try:
        plain = terminal_key({}, device)
        assert plain == os.ttyname(device)
        pane = terminal_key({"TMUX_PANE": "%3", "WINDOWID": "9"}, device)
        assert pane == f"{os.ttyname(device)} TMUX_PANE=%3"
    finally:
        os.close(controller)
        os.close(device)


def test_without_a_terminal_there_is_no_key(tmp_path: Path) -> None:
    with (tmp_path / "file").open("w") as file:
        assert terminal_key({"TMUX_PANE": "%3"}, file.fileno()) is None


def test_the_last_session_is_kept_for_each_terminal(tmp_path: Path) -> None:
    last = LastSessions(tmp_path / "data" / "terminals.json")
    assert last.get("a") is None
    last.set("a", "s1")
    last.set("b", "s2")
    last.set("a", "s3")
    again = LastSessions(tmp_path / "data" / "terminals.json")
    assert (again.get("a"), again.get("b"), again.get("c")) == ("s3", "s2", None)


def test_only_the_latest_terminals_are_remembered(tmp_path: Path) -> None:
    last = LastSessions(tmp_path / "terminals.json")
    for number in range(MOST_TERMINALS + 5):
        last.set(f"t{number}", "s1")
    assert last.get("t4") is None
    assert last.get("t5") == "s1"


@pytest.mark.parametrize("content", [b"", b"[]", b"\xff"])
def test_a_broken_file_is_begun_anew(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "terminals.json").write_bytes(content)
    last = LastSessions(tmp_path / "terminals.json")
    last.set("a", "s1")
    assert last.get("a") == "s1"
