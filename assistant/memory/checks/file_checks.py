"""Checks of the files of a home as files: who may read them, what is left over, how much room."""

from __future__ import annotations

import os
import re
import shutil
import stat
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from assistant.memory.checks.findings import COPIES, Copies, Finding, Remedy
from assistant.memory.files import is_running

#: Bytes of free space below which a conversation may soon not be saved.
LITTLE_ROOM = 100_000_000
#: Names that are shown of many.
SHOWN = 5

_TEMPORARY = re.compile(r"\..+\.(\d+)\.tmp")


def check_permissions(home: Path) -> Iterator[Finding]:
    """What others could read or write, and what belongs to somebody else."""
    known = list(_private(home))
    strange = [path for path, state in known if state.st_uid != _user(state)]
    if strange:
        yield Finding(
            "problem",
            f"{_named(home, strange)} belong to another user, perhaps since the program was run as "
            "root. Nothing is lost; give them back with chown.",
        )
    open_ones = [
        path for path, state in known if state.st_mode & 0o077 and state.st_uid == _user(state)
    ]
    if open_ones:
        named = _named(home, open_ones)
        yield Finding(
            "problem",
            f"Other users of this machine may read or change {named}. Nothing is lost.",
            Remedy(f"Closed to others: {named}.", lambda _: _close(open_ones)),
        )


def _user(state: os.stat_result) -> int:
    # Without users, as on Windows, every file is ours.
    return os.geteuid() if hasattr(os, "geteuid") else state.st_uid


def _private(home: Path) -> Iterator[tuple[Path, os.stat_result]]:
    """What is for its owner alone: `.env`, `data`, and `sessions` once there is one in it."""
    paths = [home / ".env"]
    sessions = [path for path in _listed(home / "sessions") if _is_private(path.name)]
    if sessions:
        paths += [home / "sessions", *sessions]
    paths += [home / "data", *_below(home / "data")]
    for path in paths:
        try:
            state = path.lstat()
        except FileNotFoundError:
            continue
        # What a link leads to is not ours to close.
        if not stat.S_ISLNK(state.st_mode):
            yield path, state


def _is_private(name: str) -> bool:
    """Whether a file in `sessions` is more than the notes that come with a checkout."""
    return name.endswith((".jsonl", ".part")) or _TEMPORARY.fullmatch(name) is not None


def _close(paths: Sequence[Path]) -> None:
    for path in paths:
        path.chmod(0o700 if path.is_dir() else 0o600)


def check_left_over(home: Path, running: Callable[[int], bool] | None = None) -> Iterator[Finding]:
    """What processes that died, and an index that broke, have left behind."""
    alive = running or is_running
    for folder in (home, home / "config", home / "sessions", home / "data", home / COPIES):
        for path in _listed(folder):
            found = _TEMPORARY.fullmatch(path.name)
            if found and not alive(int(found[1])):
                yield _left_over(home, path, "was being written by a process that is gone")
    for path in _listed(home / "data"):
        if ".corrupt-" in path.name or ".discarded-" in path.name:
            yield _left_over(home, path, "is an old memory index, put aside as it was unusable")


def _left_over(home: Path, path: Path, what: str) -> Finding:
    def remove(_: Copies) -> None:
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        else:
            path.unlink(missing_ok=True)

    name = path.relative_to(home)
    return Finding(
        "warning",
        f"{name} ({_megabytes(_size(path))}) {what}. It may hold what was said, and is of no use.",
        Remedy(f"{name} is removed.", remove),
    )


def check_room(home: Path, free: Callable[[Path], int] | None = None) -> Iterator[Finding]:
    """Free space where the home is."""
    folder = next(one for one in (home, *home.parents) if one.exists())
    left = (free or (lambda path: shutil.disk_usage(path).free))(folder)
    if left < LITTLE_ROOM:
        yield Finding(
            "warning",
            f"{_megabytes(left)} are free on the disk of {home}: soon nothing more can be saved. "
            "Make room there.",
        )
    else:
        yield Finding("ok", f"{_megabytes(left)} are free.")


def _listed(folder: Path) -> Sequence[Path]:
    try:
        return sorted(folder.iterdir())
    except (FileNotFoundError, NotADirectoryError):
        return ()


def _below(folder: Path) -> Iterator[Path]:
    """Everything in a folder, links not followed."""
    for path in _listed(folder):
        yield path
        if path.is_dir() and not path.is_symlink():
            yield from _below(path)


def _named(home: Path, paths: Sequence[Path]) -> str:
    shown = ", ".join(str(path.relative_to(home)) for path in paths[:SHOWN])
    more = f" and {len(paths) - SHOWN:,} more" if len(paths) > SHOWN else ""
    return f"{shown}{more}"


def _size(path: Path) -> int:
    if path.is_dir() and not path.is_symlink():
        return sum(one.lstat().st_size for one in _below(path))
    return path.lstat().st_size


def _megabytes(size: int) -> str:
    return f"{size / 1e6:,.0f} MB" if size >= 1_000_000 else f"{size:,} bytes"
