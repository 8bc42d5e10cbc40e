"""`assistant index …`: the memory index, from the command line."""

from __future__ import annotations

from collections.abc import Callable

from assistant.app import App
from assistant.commands.recall import followed, status_table
from assistant.terminal.command_app import command_app
from assistant.terminal.exit_codes import ExitCode


def show_status() -> int:
    """How the index is once it has caught up; the exit code says whether it can be searched."""
    return _follow(lambda app: app.indexer.start())


def rebuild() -> int:
    """Make the index anew, and say how far it is."""
    return _follow(lambda app: app.indexer.start_over())


def _follow(begin: Callable[[App], None]) -> int:
    with command_app() as (app, screen):
        begin(app)
        with screen.working("Opening the memory index …") as say:
            status = followed(app.indexer, say)
        for sentence in app.asides.take():
            if sentence != status.detail:
                screen.notice(sentence)
        screen.show(status_table(status))
        return ExitCode.OK if status.state in ("ready", "off") else ExitCode.INDEX
