"""Which session each terminal had last, for `--continue`."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Collection, Mapping
from pathlib import Path

import msgspec

from assistant.memory.files import make_folder, write_atomically
from assistant.memory.shared_file import replace_file

# Terminals come and go; only the latest are remembered.
MOST_TERMINALS = 200
# Variables that name one window or pane, from the most exact to the least.
WINDOW_VARIABLES = ("TMUX_PANE", "STY", "KITTY_WINDOW_ID", "WEZTERM_PANE", "TERM_SESSION_ID",
                    "WT_SESSION", "WINDOWID")  # fmt: skip

_decoder = msgspec.json.Decoder(dict[str, str])


def terminal_key(environment: Mapping[str, str], fd: int = 0) -> str | None:
    """A name for the terminal window at `fd`, stable while it is open; None without a terminal."""
    try:
        device = os.ttyname(fd)
    except (OSError, AttributeError):
        return None
    windows = [f"{name}={environment[name]}" for name in WINDOW_VARIABLES if name in environment]
    return " ".join([device, *windows[:1]])


class LastSessions:
    """Terminal → session id, kept in one small derived file; unreadable, it is begun anew."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def get(self, terminal: str) -> str | None:
        return self._read().get(terminal)

    def set(self, terminal: str, session_id: str) -> None:
        known = self._read()
        known.pop(terminal, None)
        known[terminal] = session_id
        latest = dict(list(known.items())[-MOST_TERMINALS:])
        # When it can't be written, --continue falls back to the session used last anywhere.
        with contextlib.suppress(OSError):
            make_folder(self._path.parent)
            write_atomically(self._path, msgspec.json.encode(latest))

    def of(self, sessions: Collection[str]) -> Collection[str]:
        """Those of the sessions that are remembered for some terminal."""
        return set(self._read().values()) & set(sessions)

    def forget(self, sessions: Collection[str]) -> None:
        """Remember these sessions for no terminal. Raises NotSaved."""
        if self.of(sessions):
            known = self._read()
            kept = {key: one for key, one in known.items() if one not in sessions}
            replace_file(self._path, msgspec.json.encode(kept))

    def _read(self) -> dict[str, str]:
        try:
            return _decoder.decode(self._path.read_bytes())
        except (OSError, msgspec.MsgspecError, UnicodeDecodeError):
            return {}
