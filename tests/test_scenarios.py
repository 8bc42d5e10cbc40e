"""The user's stories in tests/scenarios/*.txt, played on a fake model.

you: a line typed · model: the reply it gets (`!` and a class name raises that error) · sees: what
the screen shows · not sees: what it doesn't · sent: what the model was sent · not sent: what not ·
restart: the program ends and the same session is resumed.
"""

from __future__ import annotations

import io
from collections.abc import Callable
from pathlib import Path

import pytest

import assistant.errors
from assistant.app import App, build_app
from assistant.settings import load_settings
from assistant.terminal.line_editor import PipedLines
from assistant.terminal.render import Screen
from assistant.terminal.repl import Repl
from assistant.terminal.start import Options, farewell, greet, open_session
from tests.fakes import FakeChatModel, FakeClock, FakeIds

SCENARIOS = sorted((Path(__file__).parent / "scenarios").glob("*.txt"))


class Player:
    """A whole program on a fake model; one method a step."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.model = FakeChatModel()
        self.clock, self.ids = FakeClock(), FakeIds()
        self.answers = io.StringIO()
        self._start(Options())

    def _start(self, options: Options) -> None:
        settings = load_settings(
            self.home, {"OPENAI_BASE_URL": "http://127.0.0.1:9/v1"}, {"memory.index": False}
        )
        self.app: App = build_app(
            settings, titles="words", environment={}, clock=self.clock, new_id=self.ids
        )
        self.app.pipeline.model = self.model
        self.screen = Screen(self.answers, self.answers)
        session = open_session(self.app, options, self.screen)
        assert session is not None
        self.context = self.app.context(session)
        greet(self.app, session, self.screen)
        self.repl = Repl(self.app, self.context, PipedLines(io.StringIO("y\n" * 20)), self.screen)

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


def play(path: Path, player: Player) -> None:
    steps: dict[str, Callable[[str], None]] = {
        "you": player.you,
        "model": player.model_says,
        "sees": player.sees,
        "not sees": player.not_sees,
        "sent": player.sent,
        "not sent": player.not_sent,
        "restart": player.restart,
    }
    lines = path.read_text("utf-8").splitlines()
    # A question comes after the reply it will get, whatever order the story tells them in.
    for number, line in enumerate(lines, 1):
        kind, colon, text = line.partition(":")
        if not colon or kind not in steps:
            assert not line.strip() or number == 1, f"{path.name}:{number}: no step: {line}"
            continue
        if kind == "you":
            for following in lines[number:]:
                next_kind, _, reply = following.partition(":")
                if next_kind != "model":
                    break
                player.model_says(reply.strip())
        if kind != "model":
            steps[kind](text.strip())


@pytest.mark.parametrize("path", SCENARIOS, ids=[path.stem for path in SCENARIOS])
def test_scenario(path: Path, home: Path) -> None:
    player = Player(home)
    try:
        play(path, player)
    finally:
        player.end()
