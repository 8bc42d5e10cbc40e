"""`assistant ask`: one question, its answer alone on stdout."""

from __future__ import annotations

import json
import re
import sys
from dataclasses import dataclass
from typing import TextIO

import msgspec

from assistant.app import App, build_app
from assistant.errors import UsageError
from assistant.memory.session import Session
from assistant.messages import BROKEN, INTERRUPTED, clean_text
from assistant.terminal.exit_codes import ExitCode
from assistant.terminal.render import Screen, one_shot_screen
from assistant.terminal.start import EXIT_PATIENCE, Options, open_session, read_settings
from assistant.turn import Changed, Event, Notice, TextArrived, Turn, Working, run_turn

ONLY_CLAIMED = (
    "Nothing was saved or changed, whatever the reply says: no tool wrote anything. Ask again with "
    "--yes, or in a conversation."
)


@dataclass(frozen=True)
class Question:
    """What was asked on the command line, and how the answer is wanted."""

    text: str | None
    as_json: bool
    stream: bool
    agrees: bool = False
    """Whether tools may change something without being confirmed: nobody can be asked."""


def ask_once(question: Question, options: Options) -> int:
    """Ask, print, end; returns the exit code."""
    screen = one_shot_screen()
    settings = read_settings(options.flags)
    for problem in settings.problems:
        screen.notice(problem)
    app = build_app(settings, private=options.private, one_shot=True, titles="words")
    try:
        if sentence := app.finish_erasing():
            screen.notice(sentence)
        text = question_text(question.text, sys.stdin)
        return _answer(app, open_session(app, options, screen), question, text, screen)
    finally:
        app.close()


def question_text(asked: str | None, piped: TextIO | None) -> str:
    """The question with what was piped in; the piped text is the context when there are both."""
    context = "" if piped is None or piped.closed or piped.isatty() else piped.read().strip()
    parts = [part for part in ((asked or "").strip(), context) if part]
    if not parts:
        raise UsageError('There is nothing to ask. Try: assistant ask "What is …?"')
    return clean_text("\n\n".join(parts))


def _answer(app: App, session: Session, question: Question, text: str, screen: Screen) -> int:
    try:
        turn = _ask(app, session, question, text, screen)
        if not question.stream:
            _print_whole(turn, session, question, screen)
        if session.unsaved:
            screen.error(f"This exchange could not be saved: {session.saving_failure}.")
            return ExitCode.SESSION
        return _code(turn)
    finally:
        try:
            app.worker.drain(timeout=EXIT_PATIENCE)
        finally:
            session.close()


def _ask(app: App, session: Session, question: Question, text: str, screen: Screen) -> Turn:
    context = app.context(session)
    notices: list[str] = []

    def confirm(wanted: str) -> bool:
        if not question.agrees:
            notices.append(f"Not done without --yes: {wanted}")
        return question.agrees

    try:
        with screen.reply() as view, app.progress.told_to(view.waiting):
            view.waiting("")
            app.learn_window()

            def on_event(event: Event) -> None:
                match event:
                    case TextArrived() if question.stream:
                        view.feed(event.text)
                    case Notice():
                        notices.append(event.text)
                    case Working():
                        view.working(event.text)
                    case Changed():
                        # On stderr, so that the answer alone is on stdout.
                        view.aside(f"✓ {event.change.text}")

            turn = run_turn(
                text,
                session,
                context.pipeline,
                on_event,
                confirm=confirm,
                pasted=text != clean_text((question.text or "").strip()),
            )
            view.finish(turn.reply.finish_reason if turn.reply else None)
            if turn.only_claimed:
                notices.append(ONLY_CLAIMED)
    finally:
        context.opened(session)
        for notice in (*notices, *app.asides.take()):
            screen.notice(notice)
    return turn


def _print_whole(turn: Turn, session: Session, question: Question, screen: Screen) -> None:
    reply = turn.reply
    if reply is None:
        return
    if not question.as_json:
        screen.answer(reply.text)
        return
    document = {
        "reply": reply.text,
        "session": None if session.private else session.id,
        "turn": reply.turn,
        "changes": [change.text for change in turn.changes],
        "not_done": list(turn.failures),
        "usage": msgspec.to_builtins(reply.usage) if reply.usage else None,
        "model": reply.model,
    }
    text = json.dumps(document, ensure_ascii=False)
    # JSON leaves these as they are; escaped, they reach the reader and not the terminal.
    screen.answer(re.sub(r"[\x7f-\x9f]", lambda found: f"\\u{ord(found[0]):04x}", text))


def _code(turn: Turn) -> int:
    if turn.reply is None or turn.reply.finish_reason == INTERRUPTED:
        return ExitCode.INTERRUPTED
    return ExitCode.MODEL if turn.reply.finish_reason == BROKEN else ExitCode.OK
