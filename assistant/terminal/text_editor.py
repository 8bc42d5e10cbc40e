"""A text in the user's own editor: $VISUAL, $EDITOR, or one that is there."""

from __future__ import annotations

import os
import shlex
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO

from assistant.errors import UsageError

#: Tried in this order where the environment names none that can be started.
EDITORS = ("editor", "nano", "vi", "notepad")


def edited(text: str, place: Path) -> str:
    """The text as the user leaves it; "" when they delete its file. Raises UsageError.

    The file is theirs alone, in a folder of its own in `place`, which goes with all the editor left
    in it. It is named as temporary files of the home are: where we are killed, an erase finds it.
    """
    suffix = f".{os.getpid()}.tmp"
    try:
        with tempfile.TemporaryDirectory(prefix=".question.", suffix=suffix, dir=place) as folder:
            path = Path(folder) / "question.txt"
            path.touch(mode=0o600)
            path.write_text(text, "utf-8")
            _run_editor(path)
            return path.read_text("utf-8", "replace") if path.exists() else ""
    except OSError as error:
        raise UsageError(
            f"No file for the editor can be kept in {place}: {error.strerror}. Nothing was changed."
        ) from error


def _run_editor(path: Path) -> None:
    for editor in (os.environ.get("VISUAL"), os.environ.get("EDITOR"), *EDITORS):
        try:
            code = subprocess.call([*shlex.split(editor or ""), str(path)]) if editor else None
        except (OSError, ValueError):
            continue
        if code == 0:
            return
        if code is not None:
            raise UsageError(f"The editor {editor} failed (code {code}). Nothing was changed.")
    raise UsageError("No editor was found: set EDITOR to one. Nothing was changed.")


@contextmanager
def keys_echoed(stream: TextIO) -> Iterator[None]:
    """Give the terminal to another program as it expects it: whole lines, and keys are echoed."""
    try:
        import termios
    except ImportError:  # Windows
        yield
        return
    try:
        before = termios.tcgetattr(stream.fileno())
    except (OSError, ValueError, termios.error):
        yield
        return
    usual = [*before]
    usual[3] |= termios.ECHO | termios.ICANON
    termios.tcsetattr(stream.fileno(), termios.TCSANOW, usual)
    try:
        yield
    finally:
        termios.tcsetattr(stream.fileno(), termios.TCSANOW, before)
