"""`assistant sessions …`: what can be done with sessions outside a conversation."""

from __future__ import annotations

import os

from assistant.commands.exports import export_path, write_export
from assistant.commands.outputs import Transcript
from assistant.commands.session import session_table
from assistant.errors import UsageError
from assistant.memory.erasing.exports import Exports
from assistant.terminal.command_app import command_app
from assistant.terminal.exit_codes import ExitCode


def show_list() -> int:
    with command_app() as (app, screen):
        screen.show(session_table(app.store.list()))
    return ExitCode.OK


def show(reference: str) -> int:
    with command_app() as (app, screen):
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


def export(reference: str, path: str, force: bool) -> int:
    with command_app() as (app, screen):
        session = app.store.open(app.store.find(reference).id, read_only=True)
        place = export_path(path, session.id)
        if os.path.exists(place) and not force:
            raise UsageError(f"{place} is there already. Nothing was written; --force overwrites.")
        exports = Exports(app.settings.data_folder / "exports.json")
        write_export(session, place, exports, app.clock(), overwrite=force)
        screen.say(f"Written: {place}")
    return ExitCode.OK


def rename(reference: str, title: str) -> int:
    with command_app() as (app, screen):
        info = app.store.find(reference)
        title = " ".join(title.split())
        if not title:
            raise UsageError("A title needs at least one character.")
        app.store.rename(info.id, title)
        screen.say(f"{info.id} is called “{title}” now.")
    return ExitCode.OK
