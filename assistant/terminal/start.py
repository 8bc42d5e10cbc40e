"""Starting a conversation: settings, the session, the line editor; and leaving it."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from datetime import datetime
from pathlib import Path
from typing import Any

import msgspec

from assistant import __version__
from assistant.app import App, build_app
from assistant.commands.context import CommandContext
from assistant.commands.outputs import local_time
from assistant.commands.session import recap
from assistant.errors import SessionInUse, UsageError
from assistant.memory.session import Session
from assistant.settings import LoadedSettings, find_home, load_settings
from assistant.terminal.exit_codes import ExitCode
from assistant.terminal.render import Screen, one_shot_screen, terminal_screen

#: Seconds that leaving waits for what the worker is just doing.
EXIT_PATIENCE = 0.3


class Options(msgspec.Struct, frozen=True):
    """What the command line asked for."""

    session: str | None = None
    continue_last: bool = False
    private: bool = False
    flags: Mapping[str, Any] = {}
    """Settings given as flags, by dotted name."""


def read_settings(flags: Mapping[str, Any]) -> LoadedSettings:
    return load_settings(find_home(os.environ), os.environ, flags)


def chat(options: Options) -> int:
    """Hold a conversation in this terminal; returns the exit code."""
    if sys.stdin is None or sys.stdin.closed:
        raise UsageError(
            'There is no input to read from. `assistant ask "…"` asks one question without a '
            "terminal."
        )
    screen = terminal_screen() if sys.stdin.isatty() else one_shot_screen()
    settings = read_settings(options.flags)
    for problem in settings.problems:
        screen.notice(problem)
    app = build_app(settings, private=options.private)
    try:
        if sentence := app.finish_erasing(screen.say):
            screen.notice(sentence)
        session = _session_or_choice(app, options, screen)
        if session is not None:
            converse(app, session, screen)
        return ExitCode.OK
    finally:
        app.close()


def converse(app: App, session: Session, screen: Screen) -> None:
    """From the greeting to the command that resumes."""
    from assistant.terminal.line_editor import keys_held
    from assistant.terminal.repl import Repl

    context = app.context(session)
    greet(app, session, screen)
    try:
        editor = _editor(app, context)
        with ended_by_signals(), keys_held(sys.stdin, sys.stdout), closing(editor):
            Repl(app, context, editor, screen).run()
    finally:
        # Each of these is done, whatever interrupts the one before.
        try:
            app.worker.drain(timeout=EXIT_PATIENCE)
        finally:
            try:
                context.session.close()
            finally:
                farewell(context.session, screen)


@contextmanager
def ended_by_signals() -> Iterator[None]:
    """Let a closed window and `kill` end us as leaving does: the terminal is put right again."""

    def end(number: int, frame: object) -> None:
        sys.exit(128 + number)

    numbers = [signal.SIGTERM, *([signal.SIGHUP] if hasattr(signal, "SIGHUP") else [])]
    before = [signal.signal(number, end) for number in numbers]
    try:
        yield
    finally:
        for number, handler in zip(numbers, before, strict=True):
            signal.signal(number, handler)


def open_session(app: App, options: Options, screen: Screen) -> Session:
    """The session the options ask for. Raises SessionInUse when another process has it."""
    if options.private:
        return app.store.create(private=True)
    if options.session is not None:
        session_id = app.store.find(options.session).id
    elif options.continue_last:
        session_id, own = app.last_session_id()
        if not own:
            screen.notice("This window has no session yet: going on with the one used last.")
    else:
        return app.store.create()
    return app.store.open(session_id)


def _session_or_choice(app: App, options: Options, screen: Screen) -> Session | None:
    """Two terminals, one session: read along, go on in a copy, or leave it (None)."""
    try:
        return open_session(app, options, screen)
    except SessionInUse as error:
        if not sys.stdin.isatty():
            raise
        screen.notice(str(error))
        screen.ask("[r]ead it, [c]opy it and go on there, or anything else to leave: ")
        choice = sys.stdin.readline().strip().lower()
        if choice not in ("r", "c"):
            return None
        session = app.store.open(error.session_id, read_only=True)
        return session if choice == "r" else app.store.fork(session)


def greet(app: App, session: Session, screen: Screen) -> None:
    """Two lines: what answers, and where help is; on resume the end of what was said."""
    model = app.pipeline.model
    private = " · private: nothing of this is kept" if session.private else ""
    screen.say(f"assistant {__version__} · {model.name}{private} · /help")
    if not app.settings.values.uses_endpoint:
        screen.say(
            "This is a small model that runs inside the program: fine for trying things out, slow, "
            f"and wrong more often than a large one. `{command()} setup` sets a better one."
        )
    for notice in session.notices:
        screen.notice(notice)
    if session.turns:
        screen.recap(recap(session, app.settings.values.session.recap))
        screen.say(_ago(session, app.clock()))
    for line in _due(app, session):
        screen.say(line)
    if session.unanswered is not None and not session.read_only:
        screen.notice("Your last message has no reply. /retry asks it again.")


def _due(app: App, session: Session) -> Sequence[str]:
    """What is due and what was promised; nothing of that in a session that goes on."""
    if not app.settings.values.session.digest or session.turns:
        return ()
    if not app.stores.has_calendar and not app.promises.any:
        return ()  # finding out the zone would only delay the prompt
    from assistant.commands.digest import digest

    calendar = app.stores.calendar if app.stores.has_calendar else None
    now = app.clock()
    return digest(calendar, app.promises.lately(now, not_in=session.id), now)


def _ago(session: Session, now: datetime) -> str:
    from humanize import naturaltime

    last = session.history[len(session.history) - 1].ts
    if last is None or not local_time(last):
        return ""
    return f"Last said {naturaltime(last, when=now)}."


def farewell(session: Session, screen: Screen) -> None:
    """The command that resumes; and what could not be saved."""
    if session.unsaved:
        screen.error(
            f"{session.unsaved} records could not be saved ({session.saving_failure}) and are lost "
            "with this window. Copy what you need from it."
        )
    if session.turns and not session.private:
        screen.say(f"To go on: {resume_command(session.id)}")


def resume_command(session_id: str) -> str:
    """A command line that goes on with a session."""
    return f"{command()} --session {session_id}"


def command() -> str:
    """What starts this program from the folder we stand in."""
    import shlex
    import shutil

    try:
        here = Path.cwd()
    except OSError:  # the folder we stand in was deleted
        return shlex.quote(sys.argv[0])
    started = here / sys.argv[0]
    found = shutil.which(started.name)
    if found is not None and Path(found).absolute() == started:
        return started.name
    path = started.relative_to(here) if started.is_relative_to(here) else started
    return shlex.quote(str(path))


def _editor(app: App, context: CommandContext) -> Any:
    from assistant.terminal.completion import SlashCompleter
    from assistant.terminal.line_editor import PipedLines, PromptLineEditor

    if not sys.stdin.isatty() or not sys.stdout.isatty():
        return PipedLines(sys.stdin, one_shot_screen().notice)
    history = None if context.session.private else app.settings.data_folder / "prompt_history"
    editor = PromptLineEditor(
        history=history,
        open_editor=not context.session.private,
        completer=SlashCompleter(lambda: context),
        toolbar=lambda: toolbar_parts(context),
    )
    context.forgotten = lambda erasure: editor.forget(
        None if erasure is None or erasure.everything else erasure.typed
    )
    return editor


def toolbar_parts(context: CommandContext) -> list[str]:
    """Title, model and budget, the most important first; a narrow window shows fewer."""
    session, turn = context.session, context.last_turn
    parts = [session.title or "new session"]
    if session.private:
        parts.insert(0, "PRIVATE")
    if session.read_only:
        parts.insert(0, "READING ONLY")
    if session.unsaved:
        parts.insert(0, "NOT SAVED")
    if turn is not None:
        mark = "" if turn.prompt.exact else "~"
        parts.append(f"{mark}{turn.prompt.tokens:,} of {turn.prompt.limit:,} tokens")
    parts.append(context.pipeline.model.name)
    return parts
