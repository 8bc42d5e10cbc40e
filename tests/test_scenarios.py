"""The user's stories in tests/scenarios/*.txt, played on a fake model.

you: a line typed · model: the reply it gets (`!` and a class name raises that error) · sees: what
the screen shows · not sees: what it doesn't · sent: what the model was sent · not sent: what not ·
calls: the tool the model asks for instead, with its arguments · answers: yes or no, to all that is
asked from then on · now: the moment it is · restart: the program ends and the same session is
resumed · begins: the program ends and a new session begins.
"""

from __future__ import annotations

import io
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest

import assistant.errors
from assistant.app import App, build_app
from assistant.settings import load_settings
from assistant.terminal.line_editor import PipedLines
from assistant.terminal.render import Screen
from assistant.terminal.repl import Repl
from assistant.terminal.start import Options, farewell, greet, open_session
from tests.fakes import FakeChatModel, FakeClock, FakeIds, calling

SCENARIOS = sorted((Path(__file__).parent / "scenarios").glob("*.txt"))


class Player:
    """A whole program on a fake model; one method a step."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.model = FakeChatModel()
        self.clock, self.ids = FakeClock(), FakeIds()
        self.letters = FakeIds("k")
        self.answers = io.StringIO()
        self.says_yes = True
        self._start(Options())

    def _start(self, options: Options) -> None:
        settings = load_settings(
            self.home, {"OPENAI_BASE_URL": "http://127.0.0.1:9/v1"}, {"memory.index": False}
        )
        self.app: App = build_app(
            settings,
            titles="words",
            environment={},
            clock=self.clock,
            new_id=self.ids,
            new_letters=self.letters,
        )
        self.app.pipeline.model = self.model
        self.screen = Screen(self.answers, self.answers)
        session = open_session(self.app, options, self.screen)
        assert session is not None
        self.context = self.app.context(session)
        greet(self.app, session, self.screen)
        self.repl = Repl(self.app, self.context, _Answers(self), self.screen)
        # Of what begins with the prompt; the rest loads what no scenario needs.
        self.app.learner.look_at_left(not_at=session.id)
        self.app.worker.drain(5)
        # The first job queues others.
        self.app.worker.drain(5)

    def you(self, text: str) -> None:
        self._clear()
        self.repl.handle(text.replace("\\n", "\n"))
        self.app.worker.drain(5)

    def model_says(self, text: str) -> None:
        if text.startswith("!"):
            error = getattr(assistant.errors, text[1:])(f"The model failed: {text[1:]}.")
            self.model.replies.append(error)
        else:
            self.model.replies.append(text.replace("\\n", "\n"))

    def calls(self, text: str) -> None:
        name, _, arguments = text.partition(" ")
        self.model.replies.append(calling((name, arguments)))

    def answers_with(self, text: str) -> None:
        self.says_yes = text == "yes"

    def now(self, text: str) -> None:
        moment, _, zone = text.rpartition(" ")
        self.clock.now = datetime.fromisoformat(moment).replace(tzinfo=ZoneInfo(zone))

    def begins(self, text: str) -> None:
        self.end()
        self._clear()
        self._start(Options())

    def sees(self, text: str) -> None:
        assert text in self.answers.getvalue()

    def not_sees(self, text: str) -> None:
        assert text not in self.answers.getvalue()

    def sent(self, text: str) -> None:
        assert text in self._last_sent()

    def not_sent(self, text: str) -> None:
        assert text not in self._last_sent()

    def restart(self, text: str) -> None:
        self.end()
        self._clear()
        reference = text or self.context.session.id
        self._start(Options(session=reference))

    def end(self) -> None:
        self.app.close()
        self.context.session.close()
        farewell(self.context.session, self.screen)

    def _clear(self) -> None:
        """What is seen is what came since the last line typed."""
        self.answers.seek(0)
        self.answers.truncate()

    def _last_sent(self) -> str:
        return "\n".join(message.text for message in self.model.sent[-1])


class _Answers(PipedLines):
    """Answers every question as the scenario says."""

    def __init__(self, player: Player) -> None:
        super().__init__(io.StringIO())
        self._player = player

    def confirm(self, question: str) -> bool:
        self._player.screen.say(question)
        return self._player.says_yes


def play(path: Path, player: Player) -> None:
    steps: dict[str, Callable[[str], None]] = {
        "you": player.you,
        "sees": player.sees,
        "not sees": player.not_sees,
        "sent": player.sent,
        "not sent": player.not_sent,
        "answers": player.answers_with,
        "now": player.now,
        "restart": player.restart,
        "begins": player.begins,
    }
    replies = {"model": player.model_says, "calls": player.calls}
    lines = path.read_text("utf-8").splitlines()
    # A question comes after the reply it will get, whatever order the story tells them in.
    for number, line in enumerate(lines, 1):
        kind, colon, text = line.partition(":")
        if not colon or kind not in (*steps, *replies):
            assert not line.strip() or number == 1, f"{path.name}:{number}: no step: {line}"
            continue
        if kind == "you":
            for following in lines[number:]:
                next_kind, _, reply = following.partition(":")
                if next_kind not in replies:
                    break
                replies[next_kind](reply.strip())
        if kind not in replies:
            steps[kind](text.strip())


@pytest.mark.parametrize("path", SCENARIOS, ids=[path.stem for path in SCENARIOS])
def test_scenario(path: Path, home: Path) -> None:
    player = Player(home)
    try:
        play(path, player)
    finally:
        player.end()
