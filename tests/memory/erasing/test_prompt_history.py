"""Typed lines: read as the line editor reads them, erased while other terminals write."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from prompt_toolkit.history import FileHistory

from assistant.memory.erasing.prompt_history import PromptHistoryEraser, entries, entry_digest
from tests.memory.test_erasables import erasure, quiet


@pytest.fixture
def path(tmp_path: Path) -> Path:
    (tmp_path / "data").mkdir()
    return tmp_path / "data" / "prompt_history"


def typed(path: Path) -> list[str]:
    """What the line editor reads, oldest first."""
    return list(FileHistory(str(path)).load_history_strings())[::-1]


def erase(path: Path, *texts: str) -> None:
    store, wanted = PromptHistoryEraser(path), erasure(typed=[entry_digest(one) for one in texts])
    store.erase(wanted, quiet)
    assert store.count(wanted) == 0


LINES = st.lists(st.text(st.characters(exclude_categories=["Cs"]), max_size=12), max_size=6)


@given(lines=LINES, rubbish=st.binary(max_size=12))
def test_entries_are_what_the_line_editor_reads(
    tmp_path_factory: pytest.TempPathFactory, lines: list[str], rubbish: bytes
) -> None:
    path = tmp_path_factory.mktemp("typed") / "prompt_history"
    history = FileHistory(str(path))
    for line in lines:
        history.store_string(line)
    with path.open("ab") as file:
        file.write(rubbish)
    assert list(entries(path)) == typed(path)


@given(lines=LINES, gone=st.sets(st.integers(0, 5)))
def test_only_what_is_named_goes(
    tmp_path_factory: pytest.TempPathFactory, lines: list[str], gone: set[int]
) -> None:
    path = tmp_path_factory.mktemp("typed") / "prompt_history"
    history = FileHistory(str(path))
    for line in lines:
        history.store_string(line)
    before = typed(path) if path.exists() else []
    texts = {line for number, line in enumerate(before) if number in gone}
    erase(path, *texts)
    if path.exists():
        assert typed(path) == [line for line in before if line not in texts]


def test_several_lines_and_all_their_repetitions_go(path: Path) -> None:
    history = FileHistory(str(path))
    for line in ("kept", "the quagga\n\nis\r mine", "kept too", "the quagga\n\nis\r mine"):
        history.store_string(line)
    erase(path, "the quagga\n\nis\r mine")
    assert typed(path) == ["kept", "kept too"]
    assert b"quagga" not in path.read_bytes()
    assert path.read_bytes().count(b"# ") == 2
    assert path.stat().st_mode & 0o777 == 0o600


TYPE = """
import sys
from pathlib import Path
from assistant.terminal.typed_lines import KeptLines
history = KeptLines(Path(sys.argv[1]))
print("begun", flush=True)
for number in range(800):
    history.store_string(f"line {number}")
"""


def test_what_other_terminals_write_meanwhile_is_not_lost(path: Path) -> None:
    history = FileHistory(str(path))
    for number in range(60):
        history.store_string(f"quagga {number}")
    process = subprocess.Popen(
        [sys.executable, "-c", TYPE, str(path)], stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    process.stdout.readline()
    for number in range(60):
        erase(path, f"quagga {number}")
    process.communicate(timeout=60)
    assert sorted(typed(path)) == sorted(f"line {number}" for number in range(800))
