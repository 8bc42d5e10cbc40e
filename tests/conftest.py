"""Fixtures all tests share: a home in a temporary folder, and no settings from outside."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from assistant.app import log_to
from assistant.memory.session_store import SessionStore
from tests.fakes import FakeClock, FakeIds

SETTING_VARIABLES = ("OPENAI_API_KEY", "OPENAI_BASE_URL", "MODEL_NAME", "ASSISTANT_LOCAL_MODEL")


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The user's home of this test, also for the processes it starts."""
    for name in SETTING_VARIABLES:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("ASSISTANT_HOME", str(tmp_path / "home"))
    yield tmp_path / "home"
    log_to(None)


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def store(home: Path, clock: FakeClock) -> SessionStore:
    return SessionStore(home / "sessions", home / "data", clock=clock, new_id=FakeIds())
