"""What commands outside a conversation share: the app, its screen, a yes before a deletion."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager

from assistant.app import App, build_app
from assistant.errors import UsageError
from assistant.terminal.line_editor import is_yes
from assistant.terminal.render import Screen, one_shot_screen
from assistant.terminal.start import read_settings


@contextmanager
def command_app(*, finish_erasing: bool = True) -> Iterator[tuple[App, Screen]]:
    """The app of one command, which ends with it; what is wrong with the settings is said.

    An erase that was broken off is finished first, unless the command does so itself.
    """
    screen = one_shot_screen()
    settings = read_settings({})
    for problem in settings.problems:
        screen.notice(problem)
    app = build_app(settings)
    try:
        if finish_erasing and (sentence := app.finish_erasing()):
            screen.notice(sentence)
        yield app, screen
    finally:
        app.close()


def may_delete(screen: Screen, question: str, yes: bool) -> bool:
    """Whether the user agrees, said with `--yes` or asked in the terminal.

    Raises UsageError where nobody can be asked.
    """
    if yes:
        return True
    if not sys.stdin.isatty():
        raise UsageError("Deleting without a terminal needs --yes. Nothing was deleted.")
    screen.ask(f"{question} [y/N] ")
    if is_yes(sys.stdin.readline()):
        return True
    screen.say("Nothing was deleted.")
    return False
