"""A file that several processes write: the lock they share, what is said when it fails, and how it
is replaced or removed so that the disk has it.
"""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Iterator
from pathlib import Path

from assistant.errors import EntriesUnreadable, NotSaved
from assistant.memory.files import make_folder, write_atomically
from assistant.memory.interrupts import interrupts_held

#: Seconds that a write waits for another process's.
LOCK_TIMEOUT = 5.0


@contextlib.contextmanager
def write_lock(path: Path, what: str, timeout: float = LOCK_TIMEOUT) -> Iterator[None]:
    """No other process writes the file while the block lasts, and Ctrl-C waits for its end.

    `what` names what is in it. Raises NotSaved when the lock can't be had in `timeout` seconds.
    """
    from filelock import FileLock, Timeout  # here, so that reading does not pay for it

    with interrupts_held(), contextlib.ExitStack() as stack:
        try:
            make_folder(path.parent)
            lock = FileLock(path.with_name(f".{path.name}.lock"), mode=0o600)
            stack.enter_context(lock.acquire(timeout=timeout))
        except Timeout as error:
            raise NotSaved(
                f"Nothing was saved: another program has been writing {what} for {timeout:g} "
                "seconds. Try again."
            ) from error
        except OSError as error:
            raise not_saved(path, error) from error
        yield


def not_saved(path: Path, error: OSError) -> NotSaved:
    return NotSaved(
        f"Nothing was saved: {path.name} can't be written ({error.strerror or error}). What was "
        "there before is unchanged."
    )


def unreadable(path: Path, error: OSError) -> EntriesUnreadable:
    return EntriesUnreadable(
        f"{path.name} can't be read ({error.strerror or error}). Nothing was changed. Check its "
        "permissions."
    )


def replace_file(path: Path, data: bytes) -> None:
    """Put other bytes in the place of a file, so that not even a power cut brings the old ones
    back. Where the path is a link, the link stays. Raises NotSaved.
    """
    place = Path(os.path.realpath(path))
    try:
        write_atomically(place, data)
    except OSError as error:
        raise not_saved(path, error) from error
    sync_folder(place.parent)


def remove_file(path: Path) -> None:
    """Remove a file, and what it links to. One that is not there is no error. Raises NotSaved."""
    place = Path(os.path.realpath(path))
    try:
        place.unlink(missing_ok=True)
        path.unlink(missing_ok=True)
    except OSError as error:
        raise not_saved(path, error) from error
    sync_folder(place.parent)


def temporary_of(path: Path) -> Iterator[Path]:
    """What processes that are writing a file, or were killed at it, have beside it."""
    written = re.compile(rf"\.{re.escape(path.name)}\.\d{{1,9}}\.tmp")
    return (one for one in path.parent.glob(".*.tmp") if written.fullmatch(one.name))


def sync_folder(folder: Path) -> None:
    """Have the disk take what was renamed or removed in a folder, where the system can."""
    with contextlib.suppress(OSError):
        fd = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(fd)
        finally:
            os.close(fd)
