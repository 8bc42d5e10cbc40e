"""The command line, declared once with typer."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Annotated

import typer

from assistant import __version__
from assistant.terminal.boundary import guarded
from assistant.terminal.exit_codes import ExitCode

EXIT_CODES = (
    "Exit codes: 0 done, 1 a bug, 2 wrong usage, 3 configuration, 4 session, 5 model or endpoint, "
    "6 message too big, 7 memory index, 8 calendar, memo or fact, 9 not (all) erased, "
    "10 the doctor found a problem, 130 stopped."
)

cli = typer.Typer(
    name="assistant",
    help="A personal assistant that lives in the terminal and does not forget.",
    epilog=EXIT_CODES,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    add_completion=False,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 90},
)
sessions = typer.Typer(
    help="List, show, export, rename and delete sessions.",
    rich_markup_mode=None,
    no_args_is_help=True,
)
cli.add_typer(sessions, name="sessions")
index = typer.Typer(
    help="Look at the memory index, or make it anew.", rich_markup_mode=None, no_args_is_help=True
)
cli.add_typer(index, name="index")

memo = typer.Typer(help="Keep, find and delete memos.", rich_markup_mode=None, no_args_is_help=True)
cli.add_typer(memo, name="memo")

SessionOption = Annotated[
    str | None,
    typer.Option("--session", "-s", help="Go on with this one: id, its start, or title."),
]
ModelOption = Annotated[str | None, typer.Option("--model", "-m", help="The model to ask.")]
PrivateOption = Annotated[
    bool, typer.Option("--private", help="Keep this conversation in memory only: no trace on disk.")
]


@cli.callback(invoke_without_command=True)
def start(
    context: typer.Context,
    session: SessionOption = None,
    continue_last: Annotated[
        bool, typer.Option("--continue", "-c", help="Go on with this window's last session.")
    ] = False,
    private: PrivateOption = False,
    model: ModelOption = None,
    version: Annotated[bool, typer.Option("--version", help="Show the version.")] = False,
) -> None:
    """A personal assistant that lives in the terminal and does not forget.

    Without a command it starts a conversation.
    """
    if version:
        typer.echo(f"assistant {__version__}")
        raise typer.Exit
    if context.invoked_subcommand is not None:
        if session is not None or continue_last or private or model is not None:
            raise typer.BadParameter(
                f"Options of a conversation stand behind the command: assistant "
                f"{context.invoked_subcommand} … (--help shows which it takes). Nothing was done."
            )
        return
    from assistant.terminal.start import Options, chat

    if sum((session is not None, continue_last, private)) > 1:
        raise typer.BadParameter("--session, --continue and --private exclude each other.")
    options = Options(session, continue_last, private, flags={"model.name": model})
    raise typer.Exit(guarded(lambda: chat(options)))


@cli.command()
def ask(
    question: Annotated[
        str | None, typer.Argument(help="What to ask; piped text is context.")
    ] = None,
    session: SessionOption = None,
    continue_last: Annotated[
        bool, typer.Option("--continue", "-c", help="Ask in this window's last session.")
    ] = False,
    new: Annotated[
        bool,
        typer.Option("--new", help="Ask in a new session, as without any of these."),
    ] = False,
    private: PrivateOption = False,
    model: ModelOption = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="One object: reply, session, turn, changes …")
    ] = False,
    no_stream: Annotated[
        bool, typer.Option("--no-stream", help="Print the reply when it is whole.")
    ] = False,
    yes: Annotated[
        bool, typer.Option("--yes", "-y", help="Let tools change calendar, memos and facts.")
    ] = False,
) -> None:
    """Ask one question; the answer alone goes to stdout."""
    from assistant.terminal.one_shot import Question, ask_once
    from assistant.terminal.start import Options

    if sum((session is not None, continue_last, new, private)) > 1:
        raise typer.BadParameter("--session, --continue, --new and --private exclude each other.")
    options = Options(session, continue_last, private, flags={"model.name": model})
    asked = Question(question, as_json, stream=not (no_stream or as_json), agrees=yes)
    raise typer.Exit(guarded(lambda: ask_once(asked, options)))


@cli.command()
def agenda(
    days: Annotated[int, typer.Option("--days", "-n", min=1, max=3660, help="How many.")] = 7,
    as_json: Annotated[bool, typer.Option("--json", help="A list of events.")] = False,
) -> None:
    """What the calendar holds from today on."""
    from assistant.terminal import agenda_commands

    _finish(lambda: agenda_commands.show_agenda(days, as_json))


@cli.command()
def forget(
    what: Annotated[
        list[str] | None,
        typer.Argument(help="last 2 · 12-15 · ID.4 · about WORDS · since DAY · session ID …"),
    ] = None,
    session: Annotated[
        str | None, typer.Option("--session", "-s", help="The session that turns are of.")
    ] = None,
    yes: Annotated[
        bool, typer.Option("--yes", "-y", help="Do not ask; events, memos and exports stay.")
    ] = False,
    with_events: Annotated[
        bool, typer.Option("--with-events", help="Events and memos made there go, too.")
    ] = False,
    with_exports: Annotated[
        bool, typer.Option("--with-exports", help="Files exported from it go, too.")
    ] = False,
    with_copies: Annotated[
        bool, typer.Option("--with-copies", help="Of a session: its turns in forks go, too.")
    ] = False,
    verify: Annotated[
        str | None, typer.Option("--verify", help="Look for words in every byte that is kept.")
    ] = None,
    resume: Annotated[
        bool, typer.Option("--resume", help="Go on with an erase that was broken off.")
    ] = False,
) -> None:
    """Erase for good: turns, words, days, sessions, or everything."""
    from assistant.terminal import forget_command

    if (what is not None) + (verify is not None) + resume != 1:
        raise typer.BadParameter("Say what to forget, or give --verify or --resume.")
    if verify is not None:
        _finish(lambda: forget_command.verify(verify))
    if resume:
        _finish(forget_command.go_on)
    answers = forget_command.Answers(yes, with_events, with_exports, with_copies)
    _finish(lambda: forget_command.erase(what or (), session, answers))


@cli.command()
def setup() -> None:
    """Choose which model answers, try it, and write it down."""
    from assistant.terminal.setup import run_setup

    raise typer.Exit(guarded(run_setup))


@cli.command()
def doctor(
    fix: Annotated[bool, typer.Option("--fix", help="Mend what can be, after a question.")] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="All findings as one object.")] = False,
    offline: Annotated[bool, typer.Option("--offline", help="Do not ask the endpoint.")] = False,
) -> None:
    """Look whether everything is in order: files, memory, model, terminal."""
    if yes and not fix:
        raise typer.BadParameter("--yes goes with --fix. Nothing was done.")
    from assistant.terminal import doctor_command

    _finish(lambda: doctor_command.examine(fix, yes, as_json, offline))


@sessions.command("list")
def list_sessions() -> None:
    """All sessions, the last used first."""
    from assistant.terminal import session_commands

    _finish(session_commands.show_list)


@sessions.command("show")
def show_session(session: Annotated[str, typer.Argument(help="Id, its start, or title.")]) -> None:
    """The whole conversation."""
    from assistant.terminal import session_commands

    _finish(lambda: session_commands.show(session))


@sessions.command("export")
def export_session(
    session: Annotated[str, typer.Argument(help="Id, its start, or title.")],
    path: Annotated[
        str, typer.Argument(help="A file (.json: messages; else Markdown) or a folder.")
    ] = "",
    force: Annotated[
        bool, typer.Option("--force", "-f", help="Overwrite a file that is there.")
    ] = False,
) -> None:
    """Write a session to a file."""
    from assistant.terminal import session_commands

    _finish(lambda: session_commands.export(session, path, force))


@sessions.command("rename")
def rename_session(
    session: Annotated[str, typer.Argument(help="Id, its start, or title.")],
    title: Annotated[str, typer.Argument(help="The new title.")],
) -> None:
    """Give a session a title."""
    from assistant.terminal import session_commands

    _finish(lambda: session_commands.rename(session, title))


@sessions.command("delete")
def delete_session(
    session: Annotated[str, typer.Argument(help="Id, its start, or title.")],
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
) -> None:
    """Delete a session for good, as `forget session` does."""
    from assistant.terminal import forget_command

    answers = forget_command.Answers(yes)
    _finish(lambda: forget_command.erase(["session", session], None, answers))


@index.command("status")
def index_status() -> None:
    """Open the index, catch up with the sessions, and say how it is."""
    from assistant.terminal import index_commands

    _finish(index_commands.show_status)


@index.command("rebuild")
def rebuild_index() -> None:
    """Make the index anew from the sessions. Ctrl-C stops; the rest is done later."""
    from assistant.terminal import index_commands

    _finish(index_commands.rebuild)


@memo.command("list")
def list_memos(
    tag: Annotated[
        str | None, typer.Option("--tag", "-t", help="Only those filed under it.")
    ] = None,
) -> None:
    """The newest memos."""
    from assistant.terminal import memo_commands

    _finish(lambda: memo_commands.show_list(tag))


@memo.command("add")
def add_memo(
    text: Annotated[str, typer.Argument(help="What to keep; - takes what is piped in.")],
    tags: Annotated[
        list[str] | None, typer.Option("--tag", "-t", help="File it under this; more than once.")
    ] = None,
) -> None:
    """Keep a memo; its id goes to stdout."""
    from assistant.terminal import memo_commands

    _finish(lambda: memo_commands.add(text, tags or ()))


@memo.command("search")
def search_memos(words: Annotated[str, typer.Argument(help="What it is about.")]) -> None:
    """Find memos, by words and by meaning."""
    from assistant.terminal import memo_commands

    _finish(lambda: memo_commands.search(words))


@memo.command("delete")
def delete_memo(
    memo_id: Annotated[str, typer.Argument(metavar="ID", help="As `memo list` gives it.")],
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
) -> None:
    """Delete a memo."""
    from assistant.terminal import memo_commands

    _finish(lambda: memo_commands.delete(memo_id, yes))


def _finish(action: Callable[[], int]) -> None:
    raise typer.Exit(guarded(action))


def run(arguments: Sequence[str]) -> int:
    """Run the command line; returns the exit code."""
    try:
        cli(args=list(arguments), prog_name="assistant")
    except SystemExit as end:
        return int(end.code or ExitCode.OK)
    return ExitCode.OK
