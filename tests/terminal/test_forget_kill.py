"""Killed with -9 in the middle of an erase: after the next start all of it is there, or none."""

from __future__ import annotations

import os
import random
import shutil
import signal
import subprocess
import time
from collections.abc import Sequence
from datetime import timedelta
from pathlib import Path

import pytest

from assistant.memory.erasing.byte_search import files_with
from assistant.memory.session_store import SessionStore
from assistant.messages import Message
from assistant.providers.milvus_files import index_holding
from tests.fakes import FakeClock, FakeIds
from tests.terminal.program import COMMAND, run

ROUNDS = 100 if os.environ.get("ASSISTANT_STRESS") else 3
SESSIONS = 50
MARKER = "xylographer 0199"
FORGET = ("forget", "about", MARKER, "--yes", "--with-events")


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home with fifty sessions, each of which says it once, and whatever else can hold it."""
    home = tmp_path_factory.mktemp("template")
    (home / "config").mkdir()
    # Rows of words: what is erased is the same, and nothing waits for the embedder.
    (home / "config" / "assistant.toml").write_text('[memory]\nembedder = "none"\n')
    clock = FakeClock()
    store = SessionStore(home / "sessions", home / "data", clock=clock, new_id=FakeIds("s"))
    for number in range(SESSIONS):
        session = store.create()
        for text in (f"Good morning, day {number}.", f"My neighbour, the {MARKER}.", "Thank you."):
            question = session.ask(text)
            session.answer(Message(role="assistant", content=f"Yes: {text}", turn=question.turn))
            clock.now += timedelta(minutes=1)
        session.close()
    with pytest.MonkeyPatch.context() as environment:
        environment.setenv("ASSISTANT_HOME", str(home))
        for command in (
            ("memo", "add", f"Ask the {MARKER} for paper"),
            ("index", "rebuild"),
        ):
            done = run(*command)
            assert done.returncode == 0, done.stderr
    (home / "data" / "prompt_history").write_text(f"\n# 2026-11-30\n+My neighbour, the {MARKER}.\n")
    return home


def holding(home: Path) -> Sequence[str]:
    """Everything in which it stands."""
    files = [str(hit.path.relative_to(home)) for hit in files_with(MARKER, home)]
    return [*files, *index_holding(home / "data" / "index.db", MARKER)]


@pytest.fixture(scope="module")
def duration(template: Path, tmp_path_factory: pytest.TempPathFactory) -> float:
    """Seconds a whole erase takes here; it leaves nothing."""
    home = tmp_path_factory.mktemp("whole") / "home"
    shutil.copytree(template, home)
    with pytest.MonkeyPatch.context() as environment:
        environment.setenv("ASSISTANT_HOME", str(home))
        begun = time.monotonic()
        done = run(*FORGET)
        took = time.monotonic() - begun
    assert (done.returncode, holding(home)) == (0, []), done.stdout + done.stderr
    return took


@pytest.mark.stress
@pytest.mark.parametrize("seed", range(ROUNDS))
def test_killed_while_it_erases(seed: int, home: Path, template: Path, duration: float) -> None:
    chance = random.Random(seed)
    shutil.copytree(template, home)
    # Nothing is erased in the first half: that is how long the program takes to start and to look.
    with subprocess.Popen(
        (*COMMAND, *FORGET), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    ) as process:
        time.sleep(duration * chance.uniform(0.3, 1.1))
        process.send_signal(signal.SIGKILL)
    begun = (home / "data" / "erasing.json").exists()
    after = run("sessions", "list")
    assert after.returncode == 0, after.stderr
    left = holding(home)
    if left:
        sessions = [name for name in left if name.startswith("sessions/")]
        assert len([name for name in sessions if name.endswith(".jsonl")]) == SESSIONS
        assert not begun or "nothing was erased" in after.stderr
    elif begun:
        assert "is finished: nothing left" in " ".join(after.stderr.split())
    assert not (home / "data" / "erasing.json").exists()
    kept = run("sessions", "show", "s1")
    assert "Thank you." in kept.stdout
