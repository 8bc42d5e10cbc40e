"""Writing a session to a file: Markdown to read, or JSON for other programs."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from datetime import datetime
from itertools import groupby
from pathlib import Path
from typing import Any

import msgspec

from assistant.commands.context import CommandContext
from assistant.commands.outputs import Confirm, Output, Text, count_text, local_time
from assistant.errors import SessionError, UsageError
from assistant.memory.erasing.exports import Exports
from assistant.memory.files import write_atomically
from assistant.memory.session import Session
from assistant.messages import Message, clean_text

#: What a message keeps in a JSON document: what was said, when, by whom.
_FIELDS = (
    "role",
    "content",
    "id",
    "turn",
    "ts",
    "tool_calls",
    "tool_call_id",
    "model",
    "finish_reason",
)


def export(context: CommandContext, argument: str) -> Output:
    """`/session export [path]`: asks before a file is overwritten."""
    session = context.session
    if session.private:
        raise UsageError("A private session can't be exported: it leaves no trace.")
    if session.read_only:
        # Whoever may write to it may have erased from it since it was read.
        session = context.store.open(session.id, read_only=True)
    path = export_path(argument, session.id)
    exports = Exports(context.settings.data_folder / "exports.json")

    def write(overwrite: bool) -> Output:
        write_export(session, path, exports, context.pipeline.clock(), overwrite=overwrite)
        return Text(f"Written: {path}")

    if os.path.exists(path):
        return Confirm(f"{path} is there already. Overwrite it?", lambda: write(True))
    return write(False)


def export_path(typed: str, session_id: str) -> Path:
    """Where to write, as an absolute path: what was typed, or `<id>.md` in this folder, or in the
    one that was named. Raises UsageError where there is no such folder.
    """
    name = clean_text(typed.strip())
    if len(name) > 1 and name[0] == name[-1] and name[0] in "\"'":
        name = name[1:-1]
    try:
        path = Path(os.path.realpath(Path(name).expanduser()))
    except (OSError, RuntimeError, ValueError) as error:
        raise UsageError(f"“{name}” is no place to write to: {error}.") from error
    # Of os.path, which takes what can't be asked about for what is not there.
    if os.path.isdir(path):
        path /= f"{session_id}.md"
    if not os.path.isdir(path.parent):
        raise UsageError(f"There is no folder {path.parent}. Nothing was written.")
    if os.path.exists(path) and not os.path.isfile(path):
        raise UsageError(f"{path} is no file. Nothing was written.")
    return path


def write_export(
    session: Session, path: Path, exports: Exports, now: datetime, *, overwrite: bool
) -> None:
    """Write a session for its owner alone (0600): JSON to `.json`, Markdown to all else.

    It is noted down first, so that erasing finds it. Raises SessionError when the file can't be
    written, or is there and is not to be overwritten.
    """
    make = as_json if path.suffix.lower() == ".json" else as_markdown
    content = make(session).encode()
    exports.note(path, session.id, now, content)
    try:
        if overwrite:
            write_atomically(path, content)
        else:
            _write_new(path, content)
    except FileExistsError as error:
        raise SessionError(f"{path} is there already. Nothing was written.") from error
    except OSError as error:
        raise SessionError(
            f"{path} can't be written: {error.strerror or error}. Name another place."
        ) from error


def as_json(session: Session) -> str:
    """A document with the session's messages."""
    document = {
        "session": session.id,
        "title": session.title or "",
        "messages": [_plain(one) for one in _messages(session)],
    }
    return msgspec.json.format(msgspec.json.encode(document), indent=2).decode() + "\n"


def as_markdown(session: Session) -> str:
    """A transcript that is read, turn by turn, with the days and times of the user's zone."""
    messages = _messages(session)
    times = [one.ts for one in messages if one.ts is not None]
    dates = f"{local_time(times[0])} to {local_time(times[-1])} · " if times else ""
    head = [
        f"# {' '.join((session.title or session.id).split())}",
        f"{dates}{count_text(session.turns, 'turn')} · session {session.id}",
    ]
    turns = (
        _turn(number, list(said), session.failure_reasons.get(number, ""))
        for number, said in groupby(messages, lambda one: one.turn)
    )
    return "\n\n".join([*head, *(part for turn in turns for part in turn)]) + "\n"


def _messages(session: Session) -> Sequence[Message]:
    return session.history.slice(range(len(session.history)))


def _turn(number: int, messages: Sequence[Message], failure: str) -> Iterator[str]:
    yield f"## {number} · {local_time(messages[0].ts)}".rstrip(" ·")
    for message in messages:
        yield from _said(message)
    if failure:
        yield f"*No reply: {' '.join(failure.split())}*"


def _said(message: Message) -> Iterator[str]:
    match message.role:
        case "user":
            yield f"**You:**\n\n{message.text}"
        case "tool":
            yield "**Result:**\n\n" + _quoted(message.whole or message.text)
        case _:
            if message.text:
                yield f"**Assistant:**\n\n{message.text}"
            if message.cut_short:
                yield "*The reply ended here before it was complete.*"
            for call in message.tool_calls:
                yield f"**Asked for the tool {call.name}:**\n\n" + _quoted(call.arguments)


def _quoted(text: str) -> str:
    return "\n".join(f"> {line}".rstrip() for line in text.splitlines() or [""])


def _plain(message: Message) -> dict[str, Any]:
    fields = msgspec.to_builtins(message)
    return {name: fields[name] for name in _FIELDS if fields.get(name)}


def _write_new(path: Path, content: bytes) -> None:
    """Make a file that is not there yet. Raises FileExistsError, OSError."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
    with open(os.open(path, flags, 0o600), "wb") as file:
        try:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        except OSError:
            path.unlink(missing_ok=True)
            raise
