"""Whether the embedded model could be started."""

from __future__ import annotations

from pathlib import Path

import pytest

from assistant.providers.local_readiness import embedded_problem
from assistant.providers.local_weights import Weights

NOT_INSTALLED = Weights("model.gguf", ("no-such-package-1", "no-such-package-2"), 4, "")


@pytest.fixture
def model(tmp_path: Path) -> Path:
    path = tmp_path / "model.gguf"
    path.write_bytes(b"GGUF")
    return path


def test_a_file_and_a_library_are_enough(model: Path) -> None:
    assert embedded_problem(NOT_INSTALLED, model.parent, None, library="json") == ""
    assert embedded_problem(NOT_INSTALLED, model.parent / "x", model, library="json") == ""


def test_missing_packages_are_counted(tmp_path: Path) -> None:
    said = embedded_problem(NOT_INSTALLED, tmp_path, None, library="json")
    assert "2 of its 2 packages are missing" in said
    assert "assistant setup" in said


def test_a_file_of_the_user_s_own_must_be_a_model(tmp_path: Path) -> None:
    said = embedded_problem(NOT_INSTALLED, tmp_path, tmp_path / "none.gguf", library="json")
    assert "none.gguf can't be read" in said


@pytest.mark.parametrize(
    ("program", "said"),
    [
        ("raise ImportError('libgomp.so.1: cannot open shared object file')", "libgomp.so.1"),
        ("import os; os.kill(os.getpid(), 4)", "AVX2"),
    ],
)
def test_a_library_that_can_not_be_loaded_says_why(
    program: str, said: str, model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (model.parent / "old_library.py").write_text(program)
    monkeypatch.setenv("PYTHONPATH", str(model.parent))
    assert said in embedded_problem(NOT_INSTALLED, model.parent, None, library="old_library")
