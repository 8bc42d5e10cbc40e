"""`assistant agenda`: what the next days hold, without a conversation."""

from __future__ import annotations

from datetime import timedelta

import msgspec

from assistant.app import build_app
from assistant.commands.outputs import Text
from assistant.commands.schedule import agenda
from assistant.terminal.exit_codes import ExitCode
from assistant.terminal.render import one_shot_screen
from assistant.terminal.start import read_settings


def show_agenda(days: int, as_json: bool) -> int:
    """The events of so many days, today's included: a table, or a JSON array for programs."""
    screen = one_shot_screen()
    settings = read_settings({})
    for problem in settings.problems:
        screen.notice(problem)
    app = build_app(settings)
    try:
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
    finally:
        app.close()
