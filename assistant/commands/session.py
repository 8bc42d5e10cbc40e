"""/session and its verbs."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from assistant.commands.context import CommandContext
from assistant.commands.outputs import (
    Output,
    Table,
    Text,
    Transcript,
    count_text,
    local_time,
)
from assistant.commands.registry import CommandGroup
from assistant.errors import UsageError
from assistant.memory.session import Session
from assistant.memory.session_store import SessionInfo
from assistant.memory.token_budget import last_turns

group = CommandGroup("Sessions")

VERBS = {
    "list": "all sessions, the last used first",
    "new": "start another session",
    "switch": "go on with another session: id, start of an id, or title",
    "rename": "give this session a title",
    "delete": "delete a session for good",
    "info": "about this session",
    "fork": "go on in a copy of this session, or of it up to a turn",
    "export": "write this session to a file: Markdown, or JSON to a .json",
}


def _complete(context: CommandContext, typed: str) -> Iterable[tuple[str, str]]:
    verb, space, _ = typed.partition(" ")
    if not space:
        return list(VERBS.items())
    if verb in ("switch", "delete"):
        return [(f"{verb} {info.id}", info.title) for info in context.store.list()]
    return []


@group.command(
    "session",
    "[list | new | switch | rename | delete | info | fork | export]",
    complete=_complete,
)
def session(context: CommandContext, argument: str) -> Output:
    """List, start, switch, rename, delete, copy or export sessions.

    /session alone lists them. switch and delete take an id, the unique start of one, or a title;
    rename takes the new title; fork takes the turn that the copy ends with, if not the last.
    export takes the path to write to, else it is <id>.md in this folder.
    """
    verb, _, rest = argument.partition(" ")
    rest = rest.strip()
    match verb:
        case "" | "list":
            return session_table(context.store.list(), context)
        case "new":
            private = context.session.private
            context.switch_to(context.store.create(private=private))
            kept = "gone: it was private" if private else "kept in the old one"
            return Text(f"A new session. What was said before is {kept}.")
        case "switch":
            return _switch(context, rest)
        case "rename":
            return _rename(context, rest)
        case "delete":
            return _delete(context, rest)
        case "info":
            return Text(info_text(context.session, context.store.forks(context.session.id)))
        case "fork":
            return fork_session(context, rest)
        case "export":
            from assistant.commands.exports import export  # the prompt need not wait for it

            return export(context, rest)
        case _:
            raise UsageError(f"/session does not know “{verb}”.")


def session_table(
    sessions: Sequence[SessionInfo], context: CommandContext | None = None
) -> Text | Table:
    """Sessions as rows: the one at hand is marked."""
    if not sessions:
        return Text("There are no sessions yet.")
    at_hand = context.session.id if context else None
    return Table(
        ("", "Id", "Title", "Turns", "Last used"),
        [
            (
                "•" if info.id == at_hand else "",
                info.id,
                info.title or "(no title)",
                str(info.turns),
                local_time(info.changed),
            )
            for info in sessions
        ],
    )


def _switch(context: CommandContext, reference: str) -> Output:
    if not reference:
        raise UsageError("Which session?")
    if context.session.private:
        raise UsageError("A private conversation stays private: leave it to go on with another.")
    info = context.store.find(reference)
    if info.id == context.session.id and not context.session.unsaved:
        # Read anew: another program may have changed it.
        context.session.close()
    context.switch_to(context.store.open(info.id))
    return recap(context.session, context.settings.values.session.recap)


def _rename(context: CommandContext, title: str) -> Output:
    if not title:
        raise UsageError("What should the title be? Like this: /session rename My title.")
    context.session.rename(" ".join(title.split()))
    return Text(f"The session is called “{context.session.title}” now.")


def _delete(context: CommandContext, reference: str) -> Output:
    """As /forget session: what is deleted leaves nothing behind."""
    from assistant.commands.erasing import session_erased

    return session_erased(context, reference)


def fork_session(context: CommandContext, turn: str) -> Output:
    """Go on in a copy of the session at hand; where a turn is named, of what led to it."""
    source = context.session
    if source.private:
        raise UsageError("A private session can't be copied: it leaves no trace.")
    at = turn_number(turn) if turn else None
    context.switch_to(context.store.fork(source, at))
    upto = "" if at is None else f" up to turn {at}"
    done = f"You go on in a copy{upto}, {context.session.id}; {source.id} stays as it is."
    return Text("\n".join([done, *context.session.notices]))


def turn_number(text: str) -> int:
    """The turn that a person names. Raises UsageError."""
    if not re.fullmatch(r"\d{1,9}", text, re.ASCII):
        raise UsageError(f"“{text}” is no number of a turn.")
    return int(text)


def info_text(session: Session, forks: Sequence[str]) -> str:
    """A session's facts, a line each; `forks` are the copies that were made of it."""
    where = str(session.path) if session.path else "in memory only (private)"
    lines = [
        f"Id: {session.id}",
        f"Title: {session.title or '(no title)'}",
        f"Turns: {session.turns}, messages: {len(session.history)}",
        f"File: {where}",
    ]
    if session.summary:
        lines.append(f"Summary: stands for the first {session.summarized} messages (/compact show)")
    if session.undone:
        lines.append(f"Undone: {count_text(len(session.undone), 'turn')} (/history all)")
    if session.forked_from:
        upto = "" if session.forked_at is None else f", up to turn {session.forked_at}"
        lines.append(f"Copied from: {session.forked_from}{upto}")
    if forks:
        lines.append(f"Copies: {', '.join(forks)}")
    if session.read_only:
        lines.append("Open for reading only.")
    if session.unsaved:
        lines.append(f"NOT SAVED: {session.unsaved} records ({session.saving_failure}).")
    return "\n".join(lines)


def recap(session: Session, exchanges: int) -> Transcript:
    """The last exchanges of a session that is resumed."""
    history = session.history
    doing = "Reading" if session.read_only else "Going on with"
    return Transcript(
        history.slice(last_turns(history, exchanges)),
        title=f"{doing} “{session.title or session.id}” ({count_text(session.turns, 'turn')})",
        failures=session.failure_reasons,
    )
