"""`assistant memo …`: memos outside a conversation."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from assistant.app import App, build_app
from assistant.commands.memos import SHOWN, memo_excerpt, memo_table
from assistant.commands.outputs import Text
from assistant.errors import UsageError
from assistant.terminal.exit_codes import ExitCode
from assistant.terminal.line_editor import is_yes
from assistant.terminal.render import Screen, one_shot_screen
from assistant.terminal.start import read_settings


def show_list(tag: str | None = None) -> int:
    with _app() as (app, screen):
        found = app.stores.memos.search(tag=tag, most=SHOWN + 1)
        screen.show(memo_table(found, f"No memo has the tag #{tag}." if tag else "No memos yet."))
    return ExitCode.OK


def add(text: str, tags: Sequence[str] = ()) -> int:
    """Keep a text, or what is piped in where it is `-`; its id goes to stdout."""
    if text == "-":
        text = sys.stdin.read()
    with _app() as (app, screen):
        written = app.stores.memos.save(text, tags)
        assert written.after is not None
        screen.show(Text(written.after.id))
    return ExitCode.OK


def search(words: str) -> int:
    with _app() as (app, screen):
        found = app.stores.memos.search(words, most=SHOWN + 1)
        screen.show(memo_table(found, f"No memo has to do with this: {words}"))
    return ExitCode.OK


def delete(memo_id: str, yes: bool) -> int:
    with _app() as (app, screen):
        memo = app.stores.memos.get(memo_id)
        if not yes:
            if not sys.stdin.isatty():
                raise UsageError("Deleting without a terminal needs --yes. Nothing was deleted.")
            screen.ask(f"Delete the memo “{memo_excerpt(memo)}”? [y/N] ")
            if not is_yes(sys.stdin.readline()):
                screen.say("Nothing was deleted.")
                return ExitCode.OK
        app.stores.memos.delete(memo.id)
        screen.say(f"Deleted: {memo.id}.")
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
