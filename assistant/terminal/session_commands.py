"""`assistant sessions …`: what can be done with sessions outside a conversation."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager

from assistant.app import App, build_app
from assistant.commands.outputs import Transcript, count_text
from assistant.commands.session import session_table
from assistant.errors import UsageError
from assistant.terminal.exit_codes import ExitCode
from assistant.terminal.line_editor import is_yes
from assistant.terminal.render import Screen, one_shot_screen
from assistant.terminal.start import read_settings


def show_list() -> int:
    with _app() as (app, screen):
        screen.show(session_table(app.store.list()))
    return ExitCode.OK


def show(reference: str) -> int:
    with _app() as (app, screen):
        session = app.store.open(app.store.find(reference).id, read_only=True)
        for notice in session.notices:
            screen.notice(notice)
        history = session.history
        screen.show(
            Transcript(
                history.slice(range(len(history))),
                title=session.title or session.id,
                failures=session.failure_reasons,
            )
        )
    return ExitCode.OK


def rename(reference: str, title: str) -> int:
    with _app() as (app, screen):
        info = app.store.find(reference)
        title = " ".join(title.split())
        if not title:
            raise UsageError("A title needs at least one character.")
        app.store.rename(info.id, title)
        screen.say(f"{info.id} is called “{title}” now.")
    return ExitCode.OK


def delete(reference: str, yes: bool) -> int:
    with _app() as (app, screen):
        info = app.store.find(reference, whole_title=True)
        if not yes:
            if not sys.stdin.isatty():
                raise UsageError("Deleting without a terminal needs --yes. Nothing was deleted.")
            turns = count_text(info.turns, "turn")
            screen.ask(f"Delete “{info.title or info.id}” ({turns}) for good? [y/N] ")
            if not is_yes(sys.stdin.readline()):
                screen.say("Nothing was deleted.")
                return ExitCode.OK
        app.store.delete(info.id)
        screen.say(f"Deleted: {info.id}.")
    return ExitCode.OK


@contextmanager
def _app() -> Iterator[tuple[App, Screen]]:
    screen = one_shot_screen()
    settings = read_settings({})
    for problem in settings.problems:
        screen.notice(problem)
    app = build_app(settings)
    try:
        yield app, screen
    finally:
        app.close()
