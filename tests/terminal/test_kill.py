"""Killed with -9 at any moment: what was shown is there on resume, and the next turn works."""

from __future__ import annotations

import os
import random
import re
import signal
import time
from pathlib import Path

import pytest

from assistant.memory.session_store import SessionStore
from tests.endpoint import Endpoint
from tests.fakes import FakeClock, FakeIds
from tests.terminal.program import Terminal, run

ROUNDS = 60 if os.environ.get("ASSISTANT_STRESS") else 6
WORDS = 80


@pytest.mark.stress
@pytest.mark.parametrize("seed", range(ROUNDS))
def test_killed_at_a_random_moment(seed: int, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    chance = random.Random(seed)
    # Titles by the model would take the replies meant for the questions.
    (home / "config").mkdir(parents=True)
    (home / "config" / "assistant.toml").write_text('[session]\ntitle = "words"\n')
    with Endpoint() as endpoint:
        monkeypatch.setenv("OPENAI_BASE_URL", endpoint.url)
        finished = chance.randrange(3)
        with Terminal(rows=40) as terminal:
            terminal.wait_for("new session")
            for number in range(finished):
                endpoint.reply(f"reply{number} is whole.")
                terminal.type(f"question{number}\r")
                terminal.wait_for(f"reply{number} is whole.")
            endpoint.reply(" ".join(f"word{number}" for number in range(WORDS)), delay=0.01)
            terminal.type(f"question{finished}\r")
            kill_at = time.monotonic() + chance.uniform(0, 1.2)
            terminal.wait(lambda: time.monotonic() > kill_at, "the moment")
            terminal.process.kill(signal.SIGKILL)
            terminal.wait_for_end()
        asked = len(endpoint.requests) > finished
    shown = " ".join(re.findall(r"\bword\d+", terminal.text()))
    sessions = list((home / "sessions").glob("*.jsonl"))
    if not sessions:
        assert (finished, asked, shown) == (0, False, "")
        return
    check_what_was_kept(home, sessions[0].stem, finished, asked, shown)
    # Another endpoint: the killed process may have left its reply in the first one's queue.
    with Endpoint() as endpoint:
        monkeypatch.setenv("OPENAI_BASE_URL", endpoint.url)
        endpoint.reply("On we go.")
        again = run("ask", "--session", sessions[0].stem, "and now?")
    assert (again.returncode, again.stdout) == (0, "On we go.\n"), again.stderr


def check_what_was_kept(
    home: Path, session_id: str, finished: int, asked: bool, shown: str
) -> None:
    """Every whole exchange, the question once it was sent, and each letter that was shown."""
    store = SessionStore(home / "sessions", home / "data", clock=FakeClock(), new_id=FakeIds())
    session = store.open(session_id)
    texts = [one.text for one in session.history.slice(range(len(session.history)))]
    session.close()
    for number in range(finished):
        assert texts[2 * number : 2 * number + 2] == [
            f"question{number}",
            f"reply{number} is whole.",
        ]
    rest = texts[2 * finished :]
    if asked or shown:
        assert rest[0] == f"question{finished}"
    if shown:
        assert rest[1].startswith(shown)
    assert session.notices == []
