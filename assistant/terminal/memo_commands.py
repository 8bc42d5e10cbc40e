"""`assistant memo …`: memos outside a conversation."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from assistant.commands.memos import SHOWN, memo_excerpt, memo_table
from assistant.commands.outputs import Text
from assistant.terminal.command_app import command_app, may_delete
from assistant.terminal.exit_codes import ExitCode


def show_list(tag: str | None = None) -> int:
    with command_app() as (app, screen):
        found = app.stores.memos.search(tag=tag, most=SHOWN + 1)
        screen.show(memo_table(found, f"No memo has the tag #{tag}." if tag else "No memos yet."))
    return ExitCode.OK


def add(text: str, tags: Sequence[str] = ()) -> int:
    """Keep a text, or what is piped in where it is `-`; its id goes to stdout."""
    if text == "-":
        text = sys.stdin.read()
    with command_app() as (app, screen):
        written = app.stores.memos.save(text, tags)
        assert written.after is not None
        screen.show(Text(written.after.id))
    return ExitCode.OK


def search(words: str) -> int:
    with command_app() as (app, screen):
        found = app.stores.memos.search(words, most=SHOWN + 1)
        screen.show(memo_table(found, f"No memo has to do with this: {words}"))
    return ExitCode.OK


def delete(memo_id: str, yes: bool) -> int:
    with command_app() as (app, screen):
        memo = app.stores.memos.get(memo_id)
        if may_delete(screen, f"Delete the memo “{memo_excerpt(memo)}”?", yes):
            app.stores.memos.delete(memo.id)
            screen.say(f"Deleted: {memo.id}.")
    return ExitCode.OK
