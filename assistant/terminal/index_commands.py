"""`assistant index …`: the memory index, from the command line."""

from __future__ import annotations

from collections.abc import Callable

from assistant.app import App, build_app
from assistant.commands.recall import followed, status_table
from assistant.terminal.exit_codes import ExitCode
from assistant.terminal.render import one_shot_screen
from assistant.terminal.start import read_settings


def show_status() -> int:
    """How the index is once it has caught up; the exit code says whether it can be searched."""
    return _follow(lambda app: app.indexer.start())


def rebuild() -> int:
    """Make the index anew, and say how far it is."""
    return _follow(lambda app: app.indexer.start_over())


def _follow(begin: Callable[[App], None]) -> int:
    screen = one_shot_screen()
    settings = read_settings({})
    for problem in settings.problems:
        screen.notice(problem)
    app = build_app(settings)
    try:
        begin(app)
        with screen.working("Opening the memory index …") as say:
            status = followed(app.indexer, say)
        for sentence in app.asides.take():
            if sentence != status.detail:
                screen.notice(sentence)
        screen.show(status_table(status))
        return ExitCode.OK if status.state in ("ready", "off") else ExitCode.INDEX
    finally:
        app.close()
