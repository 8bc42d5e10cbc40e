"""A file that several processes write: the lock they share, and what is said when it fails."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

from assistant.errors import EntriesUnreadable, NotSaved
from assistant.memory.files import make_folder
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
