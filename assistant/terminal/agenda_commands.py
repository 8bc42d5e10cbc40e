"""`assistant agenda`: what the next days hold, without a conversation."""

from __future__ import annotations

from datetime import timedelta

import msgspec

from assistant.commands.outputs import Text
from assistant.commands.schedule import agenda
from assistant.terminal.command_app import command_app
from assistant.terminal.exit_codes import ExitCode


def show_agenda(days: int, as_json: bool) -> int:
    """The events of so many days, today's included: a table, or a JSON array for programs."""
    with command_app() as (app, screen):
        now = app.stores.times.now()
        if as_json:
            today = now.replace(hour=0, minute=0, second=0, microsecond=0)
            events = app.stores.calendar.between(today, today + timedelta(days=days))
            screen.show(Text(msgspec.json.encode(events).decode("utf-8")))
        else:
            screen.show(agenda(app.stores.calendar, now, days))
        for problem in app.stores.calendar.problems:
            screen.notice(problem)
        return ExitCode.OK
