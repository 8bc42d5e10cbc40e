"""`assistant sessions export`."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.endpoint import Endpoint
from tests.terminal.program import run


@pytest.fixture
def endpoint(monkeypatch: pytest.MonkeyPatch) -> Iterator[Endpoint]:
    with Endpoint() as endpoint:
        monkeypatch.setenv("OPENAI_BASE_URL", endpoint.url)
        monkeypatch.setenv("MODEL_NAME", "test-model")
        yield endpoint


def test_a_session_is_exported_and_nothing_overwritten_unasked(
    endpoint: Endpoint, home: Path, tmp_path: Path
) -> None:
    endpoint.reply("Green, mostly.")
    run("ask", "what is tea")
    out = tmp_path / "tea.md"
    done = run("sessions", "export", "what is tea", str(out))
    assert (done.returncode, done.stdout) == (0, "")
    assert f"Written: {out}" in "".join(done.stderr.split("\n"))
    assert "**Assistant:**\n\nGreen, mostly.\n" in out.read_text("utf-8")
    assert json.loads((home / "data" / "exports.json").read_bytes())[0]["path"] == str(out)

    out.write_text("mine")
    again = run("sessions", "export", "what is tea", str(out))
    assert again.returncode == 2
    assert "is there already" in " ".join(again.stderr.split())
    assert out.read_text() == "mine"
    assert run("sessions", "export", "what is tea", str(out), "--force").returncode == 0
    assert "Green, mostly." in out.read_text("utf-8")
