"""Folders and files as the program makes them: private to their owner, whole or not at all."""

from __future__ import annotations

import contextlib
import os
import sys
from pathlib import Path


def make_folder(folder: Path) -> None:
    """Make a folder, and those above it that are missing, for its owner alone (0700).

    One that is there is closed to others. Raises OSError.
    """
    if not folder.parent.exists():
        make_folder(folder.parent)
    folder.mkdir(mode=0o700, exist_ok=True)
    if folder.stat().st_mode & 0o077:
        # Where it is somebody else's, they decide who may look in.
        with contextlib.suppress(PermissionError):
            folder.chmod(0o700)


def is_running(pid: int) -> bool:
    """Whether there is a process with this number. Windows can't be asked without risk."""
    if sys.platform == "win32":
        return True
    try:
        os.kill(pid, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except OSError:
        return True  # somebody else's
    return True


def write_atomically(path: Path, data: bytes) -> None:
    """Replace a file in one step (0600): a reader sees the old one or the new one, whole.

    Raises OSError, and leaves the old file as it was.
    """
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        with open(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    except OSError:
        temporary.unlink(missing_ok=True)
        raise
