"""How many files this process may have open at once."""

from __future__ import annotations

import contextlib
import sys

#: Files that are open besides: the session, the index, the terminal, connections.
OTHERS = 200


def allow_open_files(wanted: int) -> None:
    """Raise this process's own limit where `wanted` more would go beyond it, as far as it may."""
    if sys.platform == "win32":
        return
    import resource

    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    needed = wanted + OTHERS
    if soft == resource.RLIM_INFINITY or soft >= needed:
        return
    most = needed if hard == resource.RLIM_INFINITY else min(needed, hard)
    # Where the system knows a lower limit of its own, opening the files tells.
    with contextlib.suppress(OSError, ValueError):
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))
